package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"app.sunloop/backend/gateway/mqtt"
	"app.sunloop/engine/dialect"
	"app.sunloop/engine/reading"
)

// feed is a broker with the devices that publish to it.
type feed struct {
	MQTT
	reader  dialect.Source
	client  *mqtt.Client
	devices map[string]*device // by id
	greet   chan struct{}      // something waits for what the site consists of; nil: nothing is announced

	host   chan struct{} // the state of the host is to be published; nil: Sunloop is none
	hostAt atomic.Int64  // time of the state, ms

	connected bool
	silent    bool // the publisher of all devices said that it is gone
	lastErr   error
	errorAt   time.Time
	messages  int
	refused   map[string]int  // messages that were not read, by reason
	strangers map[string]bool // devices of messages that are not configured
}

// incoming are the values of one time that may still be incomplete: a device publishes
// its values one by one.
type incoming struct {
	at      time.Time
	touched time.Time // when the last value came
	own     bool      // the publisher said when it measured
	past    bool      // marked as historical
	values  reading.Measurement
}

// Times and bounds of messages.
const (
	completeAfter  = time.Second      // without a further value a reading is complete
	flushEvery     = time.Second      // between two looks for complete readings
	heldValues     = 10 * time.Minute // after which values of a device that is not read any more are old
	maxAhead       = 5 * time.Minute  // of the publisher's clock
	maxBehind      = 45 * 24 * time.Hour
	maxIncoming    = 10_000 // readings of a device that wait
	maxStrangers   = 100
	longestSpacing = 15 * time.Minute // between two samples whose power holds in between
)

var (
	errGone   = errors.New("its publisher says that the device cannot be reached")
	errSilent = errors.New("its publisher is not connected to the broker")
)

// newFeed returns the feed of a broker; the caller adds its devices.
func (p *Poller) newFeed(m MQTT) (*feed, error) {
	f := &feed{MQTT: m, devices: map[string]*device{}, refused: map[string]int{}, strangers: map[string]bool{}}
	var err error
	if f.reader, err = m.source(p.options.Config.Site); err != nil {
		return nil, err
	}
	c := m.connection()
	if c.ClientID == "" {
		b := make([]byte, 4)
		_, _ = rand.Read(b) // never fails
		c.ClientID = "sunloop-" + hex.EncodeToString(b)
	}
	c.Filters = f.reader.Filters()
	if m.HomeAssistant != "" && p.options.Facts != nil {
		f.greet = make(chan struct{}, 1)
		will := p.will()
		c.Will, c.Filters = func() *mqtt.Message { return &will }, append(c.Filters, f.homeAssistantStatus())
	}
	if m.HostID != "" {
		f.host = make(chan struct{}, 1)
		c.Will, c.Filters = func() *mqtt.Message { return p.hostWill(f) }, append(c.Filters, mqtt.StateTopic(m.HostID))
	}
	c.Receive = func(topic string, payload []byte, retained bool) { p.receive(f, topic, payload, retained) }
	c.TooLong = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		f.messages++
		f.refused["messages of more than 256 KiB"]++
	}
	c.Up = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		f.reader.Connected()
	}
	c.Ready = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		f.connected = true
		p.options.Log.Info("receiving messages", "broker", f.Address, "dialect", f.Dialect, "mqtt", f.client.Version())
		f.wantGreeting()
		f.wantHost()
	}
	c.Down = func(err error) { p.disconnected(f, err) }
	if f.client, err = mqtt.New(c); err != nil {
		return nil, err
	}
	return f, nil
}

// homeAssistantStatus is the topic on which Home Assistant says that it began.
func (f *feed) homeAssistantStatus() string { return f.HomeAssistant + "/status" }

// wantGreeting makes what the site consists of due to be published.
func (f *feed) wantGreeting() {
	select {
	case f.greet <- struct{}{}:
	default: // nothing is announced, or it is due already
	}
}

// disconnected records that a broker is not reached.
func (p *Poller) disconnected(f *feed, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.lastErr == nil || f.connected {
		p.options.Log.Warn("broker not reached", "broker", f.Address, "error", err.Error())
	}
	f.connected, f.lastErr, f.errorAt = false, err, p.options.Now()
}

// receive takes a message of a broker. A retained message is of an unknown time:
// it says whether a device can be reached, and is a reading only if it has a time of now.
func (p *Poller) receive(f *feed, topic string, payload []byte, retained bool) {
	now := p.options.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.greet != nil && topic == f.homeAssistantStatus() {
		if string(payload) == "online" && !retained {
			f.wantGreeting()
		}
		return
	}
	if f.isHostState(topic, payload) {
		return
	}
	f.messages++
	list, err := f.reader.Handle(now, topic, payload)
	if err != nil {
		f.refused[err.Error()]++
		return
	}
	for i := range list {
		m := &list[i]
		if m.Device == "" {
			if m.Online != dialect.OnlineUnknown {
				f.silent = m.Online == dialect.OnlineNo
			}
			continue
		}
		d := f.devices[m.Device]
		if d == nil {
			if m.HasValues && len(f.strangers) < maxStrangers {
				f.strangers[m.Device] = true
			}
			continue
		}
		if reason := p.take(f, d, m, now, retained); reason != "" {
			f.refused[reason]++
		}
	}
}

// take takes what a message says of a device, and returns why its values are not taken.
func (p *Poller) take(f *feed, d *device, m *dialect.Message, now time.Time, retained bool) string {
	if m.Online != dialect.OnlineUnknown {
		d.gone = m.Online == dialect.OnlineNo
		if d.gone { // what it published just now was of before
			d.incoming = slices.DeleteFunc(d.incoming, func(i incoming) bool { return !i.own })
		}
	}
	if !math.IsNaN(m.Updated) && m.Updated != d.updated {
		d.updated, d.updatedAt = m.Updated, now
	}
	if !m.HasValues {
		return ""
	}
	at, own := m.At, !m.At.IsZero()
	switch {
	case retained && (!own || now.Sub(at).Abs() > p.stale(d)):
		return "retained values of before"
	case d.gone:
		return "values of a device that cannot be reached"
	case !own && !d.updatedAt.IsZero() && now.Sub(d.updatedAt) > heldValues:
		return "values of a device that was not read for ten minutes"
	case own && at.After(now.Add(maxAhead)):
		return "times ahead of the clock"
	case own && at.Before(now.Add(-maxBehind)):
		return "times of more than 45 days ago"
	case !own:
		at = now
	}
	if !retained {
		f.silent = false
	}
	at = at.Truncate(time.Second)
	i := slices.IndexFunc(d.incoming, func(in incoming) bool { return in.at.Equal(at) })
	if i < 0 {
		if len(d.incoming) >= maxIncoming {
			return "more readings than can be stored"
		}
		d.incoming = append(d.incoming, incoming{at: at, own: own, past: m.Historical, values: reading.None()})
		i = len(d.incoming) - 1
	}
	d.incoming[i].touched = now
	d.incoming[i].values.Merge(&m.Values)
	return ""
}

// stale is the age from which a device is not responding.
func (p *Poller) stale(d *device) time.Duration {
	return max(3*time.Duration(p.options.Config.Poll)+10*time.Second, min(3*d.spacing, time.Hour))
}

// flush passes the readings that are complete to the checks, and returns what is to be
// published.
func (p *Poller) flush(f *feed, now time.Time) []dialect.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range f.devices {
		var ready []incoming
		d.incoming = slices.DeleteFunc(d.incoming, func(in incoming) bool {
			if since := now.Sub(in.touched); since < completeAfter && since >= 0 {
				return false
			}
			ready = append(ready, in)
			return true
		})
		slices.SortFunc(ready, func(a, b incoming) int { return a.at.Compare(b.at) })
		for i := range ready {
			p.readMessage(d, &ready[i], now)
		}
		p.judge(f, d, now)
	}
	return f.reader.Requests(now)
}

// readMessage checks and keeps one reading.
func (p *Poller) readMessage(d *device, in *incoming, now time.Time) {
	s := reading.Sample{Device: d.Asset, At: in.at, Measurement: in.values}
	if d.Kind == reading.Meter && d.ImportIsPlus {
		s.PowerW, s.EnergyWh, s.ImportWh = -s.PowerW, s.ImportWh, s.EnergyWh
	}
	d.reads++
	step := time.Duration(p.options.Config.Step)
	if d.done[s.At.Truncate(step).Unix()] {
		d.marks[reading.MarkLate]++
		return
	}
	if in.past || s.At.Before(d.lastRead) {
		r := d.checker.CheckPast(d.Kind, s)
		for _, m := range r.Marks {
			d.marks[m]++
		}
		for _, s := range r.Store {
			if p.units[d.Asset] {
				d.add(s, step, false, now)
			}
		}
		return
	}
	var words []uint16
	if !in.own && !math.IsNaN(s.PowerW) && (!math.IsNaN(s.VoltageV) || !math.IsNaN(s.FrequencyHz)) {
		words = bitsOf(&s.Measurement)
	}
	r := d.checker.Check(d.Kind, s, words)
	if d.failed > 0 {
		p.options.Log.Info("device read again", "device", d.Asset)
	}
	d.failed, d.lastRead = 0, s.At
	p.accept(d, r, now)
	d.asleep = d.last.State == reading.StateSleeping || d.last.State == reading.StateOff && p.isNight(s.At)
}

// bitsOf are the values of a measurement as words, to see whether they repeat.
func bitsOf(m *reading.Measurement) []uint16 {
	values := m.Values()
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []uint16
	for _, name := range names {
		b := math.Float64bits(values[name])
		out = append(out, uint16(b), uint16(b>>16), uint16(b>>32), uint16(b>>48))
	}
	return out
}

// judge says whether a device that publishes nothing is asleep or does not respond. Its
// silence is never a zero.
func (p *Poller) judge(f *feed, d *device, now time.Time) {
	var err error
	switch {
	case d.gone:
		err = errGone
	case f.silent:
		err = errSilent
	case !f.connected && f.lastErr != nil:
		err = f.lastErr
	case !d.lastRead.IsZero() && now.Sub(d.lastRead) > p.stale(d):
		err = fmt.Errorf("nothing was published for %s", now.Sub(d.lastRead).Round(time.Second))
	default:
		return
	}
	if d.failed == 0 {
		d.errors++
		if d.asleep = p.isAsleep(d, now, err); !d.asleep {
			p.options.Log.Warn("device not read", "device", d.Asset, "broker", f.Address, "error", err.Error())
		}
	}
	d.failed, d.lastErr, d.errorAt = 1, err, now
	d.asleep = p.isAsleep(d, now, err)
}

// runFeed receives the messages of a broker until ctx ends.
func (p *Poller) runFeed(ctx context.Context, f *feed) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.client.Run(ctx); err != nil && ctx.Err() == nil {
			p.disconnected(f, err)
		}
	}()
	p.each(ctx, flushEvery, func(at time.Time) {
		for _, r := range p.flush(f, at) {
			p.publish(ctx, f, r)
		}
	})
	<-done
	p.flush(f, p.options.Now().Add(completeAfter))
}

// publish sends a request to a publisher. One that is lost is repeated when it is due
// again.
func (p *Poller) publish(ctx context.Context, f *feed, r dialect.Request) {
	err := f.client.Publish(ctx, mqtt.Message{Topic: r.Topic, Payload: r.Payload})
	if err != nil && ctx.Err() == nil && !errors.Is(err, mqtt.ErrNotConnected) {
		p.options.Log.Warn("request to a publisher not sent", "broker", f.Address, "topic", r.Topic, "error", err.Error())
	}
}
