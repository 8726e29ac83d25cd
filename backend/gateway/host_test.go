package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

// running runs a Poller until the function is called.
func (p *Poller) running(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// topics are those that clients have published to.
func (b *testBroker) topics() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.published)
}

const hostFile = `[[mqtt]]
address = "mqtt://%s"
dialect = "sparkplug"
protocol = "%s"
%s
[[mqtt.device]]
id = "sunsim/plant1/inv1"
asset = "I1"
kind = "inverter"
`

// TestSparkplugHost: as a primary host, Sunloop says retained that it is there, says so
// again if another message denies it, and that it is gone at its end, each with the time of
// the connection. Without an id it publishes no state.
func TestSparkplugHost(t *testing.T) {
	for _, version := range []string{"5", "3.1.1"} {
		b := startBroker(t, "127.0.0.1:0", nil)
		type state struct {
			Online    bool
			Timestamp int64
		}
		var mu sync.Mutex
		var states []state
		err := b.Subscribe("spBv1.0/STATE/#", 1, func(_ *broker.Client, _ packets.Subscription, p packets.Packet) {
			var s state
			if err := json.Unmarshal(p.Payload, &s); err != nil || p.TopicName != "spBv1.0/STATE/sunloop" {
				t.Errorf("%s: %q, %v", p.TopicName, p.Payload, err)
			}
			mu.Lock()
			defer mu.Unlock()
			states = append(states, s)
		})
		if err != nil {
			t.Fatal(err)
		}
		last := func() (s state, n int) {
			mu.Lock()
			defer mu.Unlock()
			if n = len(states); n > 0 {
				s = states[n-1]
			}
			return s, n
		}
		now := noon
		p, _ := feedPoller(t, fmt.Sprintf(hostFile, b.address, version, `host_id = "sunloop"`), &now)
		stop := p.running(t)
		until(t, "state", func() bool { s, _ := last(); return s.Online })
		if s, _ := last(); s.Timestamp != noon.UnixMilli() {
			t.Errorf("%+v", s)
		}
		b.publish(t, "spBv1.0/STATE/sunloop", `{"online":false,"timestamp":1}`, true)
		until(t, "correction", func() bool { s, n := last(); return s.Online && n >= 3 })
		stop()
		until(t, "end", func() bool { s, _ := last(); return !s.Online && s.Timestamp == noon.UnixMilli() })
		if kept := b.Topics.Messages("spBv1.0/STATE/sunloop"); len(kept) != 1 || !strings.Contains(string(kept[0].Payload), `"online":false`) {
			t.Errorf("retained: %+v", kept)
		}
		if n := p.messages(); n != 0 {
			t.Errorf("its own state counts as %d messages of devices", n)
		}

		before := b.topics()
		p, _ = feedPoller(t, fmt.Sprintf(hostFile, b.address, version, ""), &now)
		p.receiving(t)
		if got := b.topics()[len(before):]; len(got) > 0 {
			t.Errorf("without an id %q were published", got)
		}
	}
	for text, want := range map[string]string{
		"host_id = \"a/b\"": "invalid id",
		"host_id = \"sunloop\"\nhome_assistant = \"homeassistant\"": "one will",
	} {
		if _, err := Parse(fmt.Appendf(nil, "[site]\nid = \"roof\"\n"+hostFile, "127.0.0.1", "5", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Parse(fmt.Appendf(nil, "[site]\nid = \"roof\"\n"+strings.Replace(hostFile, "sparkplug", "opendtu", 1), "127.0.0.1", "5", "host_id = \"x\"")); err == nil || !strings.Contains(err.Error(), "only with the dialect sparkplug") {
		t.Error(err)
	}
}

// TestPrimaryHost: an edge node of another program that waits for its primary host sends
// nothing to a gateway that is none, and its data to one that is.
func TestPrimaryHost(t *testing.T) {
	longtest.Mark(t)
	t.Parallel()
	simulator, err := filepath.Abs("../../../shared/tools/plant-mqtt")
	if err != nil || !isFile(simulator) {
		t.Skip("the simulator of publishers is not there")
	}
	requirePython(t, "paho.mqtt.client")
	port := startMosquitto(t)
	startProgram(t, exec.Command(simulator, "--port", strconv.Itoa(port), "--dialects", "sparkplug", "--interval", "0.2", "--primary-host", "sunloop", "--start", time.Now().UTC().Format("2006-01-02T15:04:05")))
	poller := func(more string) (*Poller, *memory) {
		c, err := Parse(fmt.Appendf(nil, "poll = \"1s\"\nstep = \"1s\"\ncommit = \"1s\"\n[site]\nid = \"roof\"\n"+hostFile, fmt.Sprintf("127.0.0.1:%d", port), "auto", more))
		if err != nil {
			t.Fatal(err)
		}
		m := new(memory)
		p, err := NewPoller(Options{Config: c, Store: m, Log: slog.New(slog.DiscardHandler), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		return p, m
	}
	p, m := poller("")
	stop := p.running(t)
	time.Sleep(3 * time.Second) // in which an edge node that does not wait sends its births and ten messages
	stop()
	if n := p.messages(); n != 0 || m.frames["I1"].Len() != 0 {
		t.Errorf("%d messages without a primary host", n)
	}
	p, m = poller(`host_id = "sunloop"`)
	stop = p.running(t)
	for limit := time.Now().Add(3 * time.Minute); p.Status().Devices[0].Reads < 3; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no readings: %+v", p.Status())
		}
	}
	stop()
	if f := m.frames["I1"]; f.Len() == 0 || len(f.Values(series.PowerKW)) == 0 {
		t.Errorf("%+v", f)
	}
}
