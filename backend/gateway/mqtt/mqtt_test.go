package mqtt

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestPermitted: nothing is published that a device could take for a command.
func TestPermitted(t *testing.T) {
	rebirth := []byte("\x08\x01\x12\x1a\x0a\x14Node Control/Rebirth\x20\x0b\x70\x01")
	for _, tt := range []struct {
		message Message
		want    bool
	}{
		{Message{Topic: "spBv1.0/g/NCMD/e", Payload: rebirth}, true},
		{Message{Topic: "spBv1.0/g/NCMD/e", Payload: rebirth, Retain: true}, false},
		{Message{Topic: "spBv1.0/g/NCMD/e", Payload: []byte("Node Control/Reboot")}, false},
		{Message{Topic: "spBv1.0/g/NCMD/e", Payload: append([]byte("Node Control/Reboot"), rebirth...)}, false},
		{Message{Topic: "spBv1.0/g/DCMD/e/d", Payload: rebirth}, false},
		{Message{Topic: "R/c0ffee000001/keepalive"}, true},
		{Message{Topic: "W/c0ffee000001/settings/0/Settings/CGwacs/AcPowerSetPoint", Payload: []byte(`{"value":0}`)}, false},
		{Message{Topic: "R/c0ffee000001/system/0/Serial"}, false},
		{Message{Topic: "solar/114100000001/cmd/power", Payload: []byte("1")}, false},
		{Message{Topic: "cmnd/plug/POWER", Payload: []byte("OFF")}, false},
		{Message{Topic: "sunloop/roof/state", Retain: true}, true},
		{Message{Topic: "homeassistant/device/sunloop_roof/config", Retain: true}, true},
		{Message{Topic: "homeassistant/device/other/config", Retain: true}, false},
		{Message{Topic: "homeassistant/switch/sunloop_roof/set"}, false},
		{Message{Topic: "spBv1.0/#"}, false},
		{Message{Topic: "spBv1.0/STATE/sunloop", Payload: []byte(`{"online":true,"timestamp":1780000000000}`), Retain: true, Acknowledged: true}, true},
		{Message{Topic: "spBv1.0/STATE/sunloop", Payload: []byte(`{"online":false,"timestamp":0}`), Retain: true, Acknowledged: true}, true},
		{Message{Topic: "spBv1.0/STATE/sunloop", Payload: []byte(`{"online":true,"timestamp":1,"x":1}`), Retain: true, Acknowledged: true}, false},
		{Message{Topic: "spBv1.0/STATE/sunloop", Payload: []byte(`{"online":true,"timestamp":1}`), Retain: true}, false},
		{Message{Topic: "spBv1.0/STATE/sunloop", Payload: []byte(`{"online":true,"timestamp":1}`), Acknowledged: true}, false},
		{Message{Topic: "spBv1.0/STATE/scada", Payload: []byte(`{"online":true,"timestamp":1}`), Retain: true, Acknowledged: true}, false},
		{Message{Topic: "STATE/sunloop", Payload: []byte("ONLINE"), Retain: true, Acknowledged: true}, false},
	} {
		if got := permitted(tt.message, "sunloop"); got != tt.want {
			t.Errorf("%s %q: %t", tt.message.Topic, tt.message.Payload, got)
		}
		if permitted(tt.message, "") && strings.Contains(tt.message.Topic, "STATE") {
			t.Errorf("%s without a host is permitted", tt.message.Topic)
		}
		c := Client{config: Config{Host: "sunloop"}}
		if err := c.Publish(context.Background(), tt.message); errors.Is(err, ErrNotConnected) != tt.want {
			t.Errorf("%s: %v", tt.message.Topic, err)
		}
	}
}

// TestPause: attempts to connect come after 1 s at first and after a minute at most.
func TestPause(t *testing.T) {
	for attempt := range 100 {
		if d := pause(attempt); d < leastPause/2 || d > mostPause || attempt > 8 && d < mostPause/2 {
			t.Errorf("attempt %d: %s", attempt, d)
		}
	}
}
