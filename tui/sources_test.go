package tui

import (
	"strings"
	"testing"
)

// The screen of sources shows each device with its state, age and last error, the values
// and registers of the selected one, the sources of files and the brokers with their errors, and
// the gateways that send data.
func TestSources(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 48}} {
		d := start(t, size[0], size[1], nil)
		d.press("g", "y")
		d.shows("devices", "gateways", "reading", "not responding", "41.5 kW", "1 h")
		d.press("right")
		d.pass(1)
		d.shows("192.168.1.0/28: ended, 16 of 16 addresses, 3 devices, unit ids 1-3", "S-0003", "50.0 kW", "not able")
		d.press("right")
		d.pass(1)
		d.shows("exports", "portal", "not responding", "96")
		d.press("right")
		d.pass(1)
		d.shows("mqtts://broker", "opendtu", "MQTT 5", "victron", "not connected")
		d.press("right")
		d.pass(1)
		d.shows("roof gateway", "off by 75")
	}
	d := start(t, 160, 48, nil)
	d.press("g", "y")
	d.pass(1)
	d.shows("tcp://192.0.2.10:502 unit 1, SunSpec", "Values as read", "103.PhVphA", "230.25", "103.TmpOt", "not there", "40070", "0067 0032 08fc")
	d.press("down")
	d.pass(1)
	d.shows("read model 103: no response", "frozen 3")
	d.press("right", "right", "down")
	d.pass(1)
	d.shows("sftp://plant@portal.example:22/out", "connection refused", "next try", "11:35")
	d.press("right")
	d.pass(1)
	d.shows("51840 since the start", "not a number: 2", "114100000009")
	d.press("down")
	d.shows("connection refused: not authorized")
}

// Devices are searched for and added, gateways invited and revoked, by keys.
func TestSearchByKeys(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		d := start(t, size[0], size[1], nil)
		d.press("g", "y", "right")
		d.pass(1)
		d.press("d")
		d.shows("Search for devices", "only read", "at most 256 addresses")
		d.press("enter")
		d.shows("Name an address")
		d.press(strings.Split("192.168.1.0/28", "")...)
		d.press("enter")
		d.pass(1)
		d.shows("The search has begun")
		d.press("c")
		d.pass(1)
		d.shows("1 device is read from now on")
		d.press("right", "right", "right", "i")
		d.shows("Invite a gateway")
		d.press(strings.Split("roof", "")...)
		d.press("enter")
		d.pass(1)
		d.shows("ABCD-EFGH-JKLM-NPQR", "It works once, until", "sunloop gateway join https://")
		d.press("y", "enter")
		d.pass(1)
		d.press("X")
		d.shows("Revoke the key key_7", "with a new code")
	}
}
