package tui

import "testing"

// The screen of sources shows each device with its state, age and last error, the values
// and registers of the selected one, the sources of files with their errors, and the gateways
// that send data.
func TestSources(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 48}} {
		d := start(t, size[0], size[1], nil)
		d.press("g", "y")
		d.shows("devices", "gateways", "reading", "not responding", "41.5 kW", "90 min")
		d.press("right")
		d.pass(1)
		d.shows("exports", "portal", "not responding", "96")
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
	d.press("right", "down")
	d.pass(1)
	d.shows("sftp://plant@portal.example:22/out", "connection refused", "next try", "11:35")
}
