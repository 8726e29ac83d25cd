package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"app.sunloop/backend/gateway/mqtt"
)

// hostState is the message that says whether Sunloop is there as a host application of
// Sparkplug 3.0. Edge nodes that wait for it publish their births then.
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

// runHost publishes that the host is there, after each connection and when a will of a
// former one says that it is not, until ctx ends.
func (p *Poller) runHost(ctx context.Context, f *feed) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.host:
		}
		if err := f.client.Publish(ctx, hostState(f.HostID, true, f.hostAt.Load())); err != nil && ctx.Err() == nil {
			p.options.Log.Warn("state of the host is not published", "broker", f.Address, "error", err.Error())
		}
	}
}

// wantHost makes the state of the host due to be published.
func (f *feed) wantHost() {
	select {
	case f.host <- struct{}{}:
	default: // there is no host, or it is due already
	}
}

// isHostState reports whether a message is the state of the host that Sunloop is. One that
// says that it is not there is corrected.
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
