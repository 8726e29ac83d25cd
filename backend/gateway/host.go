package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"app.sunloop/backend/gateway/mqtt"
)

// hostState is the STATE message of a host application of Sparkplug 3.0: whether it is
// online. Edge nodes that wait for it publish their births when it is.
func hostState(id string, online bool, ms int64) mqtt.Message {
	return mqtt.Message{Topic: mqtt.StateTopic(id), Payload: fmt.Appendf(nil, `{"online":%t,"timestamp":%d}`, online, ms), Retain: true, Acknowledged: true}
}

// hostWill is the will of a new connection; the state that is published then has the same
// time.
func (p *Poller) hostWill(f *feed) *mqtt.Message {
	ms := p.options.Now().UnixMilli()
	f.hostAt.Store(ms)
	will := hostState(f.HostID, false, ms)
	return &will
}

// runHost publishes that the host is online, after each connection and when the will of a
// former one has published that it is offline, until ctx ends.
func (p *Poller) runHost(ctx context.Context, f *feed) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.host:
		}
		if err := f.client.Publish(ctx, hostState(f.HostID, true, f.hostAt.Load())); err != nil && ctx.Err() == nil {
			p.options.Log.Warn("host state not published", "broker", f.Address, "error", err.Error())
		}
	}
}

// wantHost makes the state of the host due to be published.
func (f *feed) wantHost() {
	select {
	case f.host <- struct{}{}:
	default: // no host is configured, or it is due already
	}
}

// isHostState reports whether a message is the state of Sunloop's own host application. If
// it says that the host is offline, the state is published again.
func (f *feed) isHostState(topic string, payload []byte) bool {
	if f.HostID == "" || topic != mqtt.StateTopic(f.HostID) {
		return false
	}
	var s struct {
		Online *bool `json:"online"`
	}
	if f.connected && (json.Unmarshal(payload, &s) != nil || s.Online == nil || !*s.Online) {
		f.wantHost()
	}
	return true
}
