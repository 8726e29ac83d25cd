package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	wire "github.com/simonvetter/modbus"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/forward"
	"app.sunloop/backend/gateway/modbus"
	"app.sunloop/backend/store"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/series"
)

// plant is a Modbus server with SunSpec devices: unit 1 has an inverter (101, 120, 160)
// with a meter behind it, unit 126 a DER (701, 702) that takes 32 registers at most,
// unit 4 a weather station; units 2 and 3 answer as unit 1.
type plant struct {
	mu      sync.Mutex
	maps    map[uint8][]uint16
	limit   map[uint8]int
	gone    map[uint8]bool // no response, as behind a gateway
	writes  int
	longest map[uint8]int
}

const base = 40000

func (p *plant) HandleHoldingRegisters(r *wire.HoldingRegistersRequest) ([]uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.maps[r.UnitId]
	from := int(r.Addr) - base
	switch {
	case r.IsWrite:
		p.writes++
		return nil, wire.ErrIllegalFunction
	case !ok || p.gone[r.UnitId]:
		return nil, wire.ErrGWTargetFailedToRespond
	case from < 0 || from+int(r.Quantity) > len(m), p.limit[r.UnitId] > 0 && int(r.Quantity) > p.limit[r.UnitId]:
		return nil, wire.ErrIllegalDataAddress
	}
	p.longest[r.UnitId] = max(p.longest[r.UnitId], int(r.Quantity))
	return slices.Clone(m[from : from+int(r.Quantity)]), nil
}
func (p *plant) HandleInputRegisters(*wire.InputRegistersRequest) ([]uint16, error) {
	return nil, wire.ErrIllegalFunction
}
func (p *plant) HandleCoils(r *wire.CoilsRequest) ([]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	return nil, wire.ErrIllegalFunction
}
func (p *plant) HandleDiscreteInputs(*wire.DiscreteInputsRequest) ([]bool, error) {
	return nil, wire.ErrIllegalFunction
}

func model(id uint16, length int, at map[int]uint16) []uint16 {
	words := make([]uint16, length+2)
	for i := range words {
		words[i] = 0xFFFF
	}
	words[0], words[1] = id, uint16(length)
	for k, v := range at {
		words[k] = v
	}
	return words
}

func common(model, serial string) []uint16 {
	words := make([]uint16, 68)
	words[0], words[1] = 1, 66
	put := func(at int, text string) {
		for i := range len(text) {
			words[at+i/2] |= uint16(text[i]) << (8 * (1 - i%2))
		}
	}
	put(2, "Sunny")
	put(18, model)
	put(50, serial)
	return words
}

func chain(models ...[]uint16) []uint16 {
	return append(append([]uint16{0x5375, 0x6E53}, slices.Concat(models...)...), 0xFFFF, 0)
}

// set changes the inverter of unit 1: power, counter, state, event bits.
func (p *plant) set(watts, wh uint16, state, events uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sf := uint16(0)
	inverter := model(103, 50, map[int]uint16{10: 2300 + watts%10, 11: 2301, 12: 2302, 13: 0xFFFF, 14: watts, 15: sf, 16: 5000, 17: 0xFFFE, 24: 0, 25: wh, 26: 0, 38: state, 39: 999, 40: 0, 41: events, 44: 0, 45: 3, 46: 0, 47: 0})
	mppt := model(160, 48, map[int]uint16{2: 0xFFFE, 3: 0xFFFF, 8: 2, 19: watts / 10, 20: 6000, 39: watts / 20, 40: 5000})
	meter := model(203, 105, map[int]uint16{18: watts, 22: 0, 38: 0, 39: wh, 54: 0})
	words := chain(common("INT", "I1"), model(120, 26, map[int]uint16{3: 1000, 4: 1}), inverter, mppt, common("METER", "M1"), meter)
	p.maps[1], p.maps[2], p.maps[3] = words, words, words
}

func startPlant(t *testing.T) (*plant, string) {
	t.Helper()
	p := &plant{maps: map[uint8][]uint16{}, limit: map[uint8]int{126: 32}, gone: map[uint8]bool{}, longest: map[uint8]int{}}
	p.set(5000, 1000, 4, 0)
	p.maps[126] = chain(common("DER", "D1"), model(701, 153, map[int]uint16{4: 3, 6: 0, 7: 0, 10: 7000, 116: 0, 16: 2300, 114: 0xFFFF, 17: 0, 18: 5000, 115: 0xFFFE, 19: 0, 20: 0, 21: 1, 22: 5, 120: 0}),
		model(702, 50, map[int]uint16{2: 150, 45: 2}))
	p.maps[4] = chain(common("METEO", "W1"), model(307, 11, map[int]uint16{2: 215, 5: 3}), model(302, 5, map[int]uint16{2: 700, 3: 800}))
	return p, serveRegisters(t, p)
}

// serveRegisters serves registers over Modbus TCP.
func serveRegisters(t *testing.T, p wire.RequestHandler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	srv, err := wire.NewServer(&wire.ServerConfiguration{URL: "tcp://" + address, MaxClients: 4, Logger: log.New(io.Discard, "", 0)}, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Stop() })
	return address
}

// memory is a Store that keeps the last value of each sample.
type memory struct {
	site   api.Site
	units  []api.Asset
	frames map[string]series.Frame
	writes int
	urgent int
	err    error
}

func (m *memory) Register(_ context.Context, s api.Site, units []api.Asset) error {
	m.site, m.units, m.frames = s, units, map[string]series.Frame{}
	return nil
}

func (m *memory) Append(_ context.Context, _ string, frames []store.AssetFrame, urgent bool) error {
	if m.err != nil {
		return m.err
	}
	m.writes++
	if urgent {
		m.urgent++
	}
	for _, f := range frames {
		m.frames[f.AssetID] = series.Merge(m.frames[f.AssetID], f.Frame)
	}
	return nil
}

// discovered finds the devices of a plant and writes them into a file.
func discovered(t *testing.T, address string) (found []Found, file string) {
	t.Helper()
	d := Discovery{Targets: []string{address}, Pause: time.Nanosecond, Timeout: 5 * time.Second, Now: time.Now}
	found, _, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "sources.toml")
	lat, lon := 48.0, 11.0
	if n, err := Add(file, Site{ID: "roof", Timezone: "Europe/Berlin", Latitude: &lat, Longitude: &lon}, 10*time.Second, Sources(found)); err != nil || n != 4 {
		t.Fatalf("%d devices added: %v", n, err)
	}
	return found, file
}

func TestDiscover(t *testing.T) {
	p, address := startPlant(t)
	found, file := discovered(t, address)
	var got []string
	for _, f := range found {
		got = append(got, f.Device.Asset+" "+string(f.Device.Kind))
	}
	if want := []string{"I1 inverter", "M1 meter", "D1 inverter", "W1 weather"}; !slices.Equal(got, want) {
		t.Fatalf("found %v, want %v; unit 2 answers as unit 1", got, want)
	}
	if f := found[0]; f.Device.CapacityKW != 10 || *f.PowerW != 5000 || f.State != 4 || !slices.Equal(f.Polled, []int{103, 160}) {
		t.Errorf("%+v", f)
	}
	if f := found[2]; f.Device.CapacityKW != 15 || f.Limit > 32 || *f.PowerW != 7000 || f.Device.Unit != 126 {
		t.Errorf("%+v", f)
	}
	if p.writes != 0 || p.longest[126] > 32 {
		t.Errorf("%d writes, up to %d registers of unit 126", p.writes, p.longest[126])
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Add(file, Site{}, 0, Sources(found)); n != 0 || err != nil {
		t.Errorf("added again: %d, %v", n, err)
	}
	if _, err := Add(file, Site{ID: "other"}, 0, Sources(found)); err == nil || !strings.Contains(err.Error(), `the devices of site "roof"`) {
		t.Errorf("added to the file of another site: %v", err)
	}
	after, _ := os.ReadFile(file)
	if string(before) != string(after) {
		t.Error("the file changed although no device is new")
	}
	c, err := Load(file)
	if err != nil || len(c.Sources) != 1 || len(c.Sources[0].Devices) != 4 || c.Sources[0].Devices[2].Registers != 32 || c.Sources[0].Devices[0].Registers != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// newPoller returns a Poller over a plant, on a clock that the test moves.
func newPoller(t *testing.T, file string, now *time.Time) (*Poller, *memory) {
	t.Helper()
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Sources {
		c.Sources[i].Pause, c.Sources[i].Timeout = Duration(time.Nanosecond), Duration(5*time.Second)
	}
	m := new(memory)
	p, err := NewPoller(Options{Config: c, Store: m, Now: func() time.Time { return *now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, l := range p.lines {
			l.close()
		}
	})
	return p, m
}

// noon is a time with sun at the plant.
var noon = time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)

// run polls and commits every 10 s.
func run(t *testing.T, p *Poller, now *time.Time, times int, each func(i int)) {
	t.Helper()
	for i := range times {
		if each != nil {
			each(i)
		}
		for _, l := range p.lines {
			p.poll(t.Context(), l, *now)
		}
		*now = now.Add(10 * time.Second)
		p.commit(t.Context(), *now)
	}
}

// TestPoll stores means of a minute, event words, inputs and the weather, and neither
// the meter nor anything else twice.
func TestPoll(t *testing.T) {
	pl, address := startPlant(t)
	_, file := discovered(t, address)
	now := noon
	p, m := newPoller(t, file, &now)
	if len(m.units) != 2 || m.units[0].AssetID != "I1" || m.units[0].CapacityKW != 10 || m.units[0].Components[0].Serial != "I1" || m.site.CapacityKW != 25 {
		t.Fatalf("units %+v of %+v", m.units, m.site)
	}
	run(t, p, &now, 12, func(i int) {
		events := uint16(0)
		if i == 8 {
			events = 0x80
		}
		pl.set(5000+uint16(100*i), 1000+uint16(i), 4, events)
	})
	f := m.frames["I1"]
	if f.Len() != 2 || f.Times[0] != noon.Unix() || f.Times[1] != noon.Unix()+60 {
		t.Fatalf("stamps %v", f.Times)
	}
	for _, tt := range []struct {
		q    series.Quantity
		i    int
		want float64
	}{{series.PowerKW, 1, 5.85}, {series.EnergyCounterKWh, 1, 1.011}, {series.ErrorCode, 0, 0}, {series.ErrorCode, 1, 128}, {series.VendorCode, 0, 3}, {series.VendorState, 0, 999},
		{series.InverterState, 0, 4}, {series.RunState, 0, 1}, {series.DCVoltage(1), 0, 600}, {series.DCVoltage(2), 0, 500}, {series.IrradianceWM2, 1, 800}, {series.TemperatureC, 1, 21.5}, {series.StepS, 1, 60}} {
		if got := f.At(tt.q, tt.i); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s of sample %d is %v, want %v", tt.q, tt.i, got, tt.want)
		}
	}
	if d := m.frames["D1"]; d.At(series.PowerKW, 0) != 7 || d.At(series.InverterState, 0) != 4 || d.At(series.EnergyCounterKWh, 0) != 65.541 {
		t.Errorf("D1: %+v", d)
	}
	if len(m.frames) != 2 || m.urgent != 1 || pl.writes != 0 || m.writes != 12 {
		t.Errorf("%d units, %d urgent of %d commits, %d writes to devices", len(m.frames), m.urgent, m.writes, pl.writes)
	}
	s := p.Status()
	if s.Devices[0].State == "" || len(s.Devices) != 4 {
		t.Errorf("%+v", s)
	}
	list, err := p.Sources("I1")
	if err != nil || list.Count != 4 || !list.Reads || list.Sources[1].Protocol != "SunSpec" || list.Sources[1].Connection != "tcp://"+address+" unit 1" || *list.Sources[1].PerMinute != 6 || *list.Sources[1].PowerKW != 6.1 || len(list.Registers) == 0 ||
		!slices.ContainsFunc(list.Values, func(v api.SourceValue) bool { return v.Name == "103.W" && *v.Value == 6100 }) {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := p.Sources("other"); !errors.Is(err, api.ErrSourceNotFound) {
		t.Error(err)
	}
	e, ok := p.Explain("i1")
	if !ok || len(e.Blocks) != 2 || e.Blocks[0].Points["W"] != 6100 || e.Blocks[1].Points["2.DCV"] != 500 || len(e.Blocks[0].Requests) != 1 {
		t.Errorf("%+v", e)
	}
}

// TestSilence: a device that does not respond leaves a gap and hinders no other one; at
// night it is asleep; a zero frame is dropped.
func TestSilence(t *testing.T) {
	pl, address := startPlant(t)
	_, file := discovered(t, address)
	now := noon
	p, m := newPoller(t, file, &now)
	state := func() DeviceStatus { return p.Status().Devices[1] } // I1
	run(t, p, &now, 2, func(i int) { pl.set(5000+uint16(i), 1000, 4, 0) })
	if s := state(); s.Asset != "I1" || s.State != StateReading || *s.AgeS != 10 {
		t.Fatalf("%+v", s)
	}
	pl.gone[1] = true
	run(t, p, &now, 30, nil)
	if s := state(); s.State != StateUnreachable || s.PowerW != nil || !strings.Contains(s.Error, "no response") || *s.AgeS != 310 {
		t.Errorf("%+v", s)
	}
	if n, other := m.frames["I1"].Len(), m.frames["D1"].Len(); n != 1 || other < 1 {
		t.Errorf("%d samples of the silent unit, %d of the other", n, other)
	}
	pl.gone[1] = false
	run(t, p, &now, 8, func(i int) { pl.set(5000+uint16(i), 1100, 4, 0) })
	if s := state(); s.State != StateReading {
		t.Errorf("after it came back: %+v", s)
	}
	power := m.frames["I1"].Len()
	pl.mu.Lock()
	words := slices.Clone(pl.maps[1])
	at := 2 + 68 + 28
	for i := at + 2; i < at+52; i++ {
		words[i] = 0
	}
	words[at+38] = 7
	pl.maps[1] = words
	pl.mu.Unlock()
	run(t, p, &now, 7, nil)
	if s := state(); s.Marks[reading.MarkZeros] != 7 || s.State != StateSuspect {
		t.Errorf("%+v", s)
	}
	if n := m.frames["I1"].Len(); n != power {
		t.Errorf("%d samples of zero frames were stored", n-power)
	}
	pl.gone[1] = true
	now = time.Date(2026, 6, 15, 23, 0, 0, 0, time.UTC)
	run(t, p, &now, 40, nil)
	if s := state(); s.State != StateAsleep {
		t.Errorf("at night: %+v", s)
	}
}

// TestAsleep: only silence that is expected is sleep, no last power is shown, and each
// device of a connection has its error.
func TestAsleep(t *testing.T) {
	pl, address := startPlant(t)
	_, file := discovered(t, address)
	night := time.Date(2026, 6, 15, 23, 0, 0, 0, time.UTC)
	refusal := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, tt := range map[string]struct {
		at      time.Time
		watts   uint16
		state   uint16
		after   time.Duration
		nowhere bool
		err     error
		want    string
	}{
		"producing just before, at night": {night, 5000, 4, time.Minute, false, refusal, StateUnreachable},
		"producing long before, at night": {night, 5000, 4, time.Hour, false, refusal, StateAsleep},
		"without power at night":          {night, 0, 4, time.Minute, false, refusal, StateAsleep},
		"refused by day":                  {noon, 0, 4, time.Minute, false, refusal, StateUnreachable},
		"refused without a location":      {noon, 0, 4, time.Minute, true, refusal, StateUnreachable},
		"off without a location":          {noon, 0, 2, time.Minute, true, refusal, StateAsleep},
		"silent without a location":       {noon, 0, 4, time.Minute, true, modbus.ErrSilent, StateAsleep},
	} {
		now := tt.at
		p, _ := newPoller(t, file, &now)
		if tt.nowhere {
			p.options.Config.Site.Latitude, p.options.Config.Site.Longitude = nil, nil
		}
		pl.set(tt.watts, 1000, tt.state, 0)
		run(t, p, &now, 1, nil)
		now = now.Add(tt.after)
		l := p.lines[0]
		for i, d := range l.devices[:2] { // the inverter, and the meter behind it
			err := tt.err
			if i > 0 {
				err = fmt.Errorf("read model 203: %w", &modbus.PausedError{Cause: tt.err})
			}
			p.fail(t.Context(), d, now, err)
		}
		s := p.Status()
		inverter, meter := s.Devices[1], s.Devices[2]
		if inverter.State != tt.want || inverter.PowerW != nil {
			t.Errorf("%s: %s, power %v", name, inverter.State, inverter.PowerW)
		}
		if meter.Asset != "M1" || meter.State != StateUnreachable || meter.Error != tt.err.Error() || meter.PowerW != nil {
			t.Errorf("%s: meter %+v", name, meter)
		}
		l.close()
	}
}

// TestRefusedConnection: each device of a connection that is refused has its error.
func TestRefusedConnection(t *testing.T) {
	_, address := startPlant(t)
	_, file := discovered(t, address)
	now := noon
	p, _ := newPoller(t, file, &now)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	line, err := modbus.New(modbus.Config{URL: "tcp://" + l.Addr().String(), Pause: time.Nanosecond, Now: p.options.Now})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range p.lines[0].devices {
		d.regs.line = line
	}
	run(t, p, &now, 3, nil)
	for _, d := range p.lines[0].devices {
		if !errors.Is(d.lastErr, syscall.ECONNREFUSED) || errors.Is(d.lastErr, modbus.ErrPaused) {
			t.Errorf("%s: %v", d.Asset, d.lastErr)
		}
	}
	for _, s := range p.Status().Devices {
		if s.State != StateUnreachable || s.Error == "" {
			t.Errorf("%+v", s)
		}
	}
}

// TestStoreFails: samples that cannot be stored are stored later, once.
func TestStoreFails(t *testing.T) {
	pl, address := startPlant(t)
	_, file := discovered(t, address)
	now := noon
	p, m := newPoller(t, file, &now)
	m.err = errors.New("disk full")
	run(t, p, &now, 120, func(i int) { pl.set(5000+uint16(i), 1000+uint16(i), 4, 0) })
	if s := p.Status(); s.Failures != 120 || s.Error != "disk full" {
		t.Errorf("%+v", s)
	}
	m.err = nil
	run(t, p, &now, 1, nil)
	if f := m.frames["I1"]; f.Len() != 20 || f.At(series.PowerKW, 0) != 5.0025 || m.writes != 1 {
		t.Errorf("%d samples in %d writes", f.Len(), m.writes)
	}
	if n := len(p.lines[0].devices[0].pending); n > 13 {
		t.Errorf("%d intervals are kept", n)
	}
}

// kept is a Forward that notes what it was given, and how much was stored then.
type kept struct {
	store   *memory
	samples int
	before  []int
}

func (k *kept) Status() forward.Status { return forward.Status{} }
func (k *kept) Append(frames []store.AssetFrame) error {
	for _, f := range frames {
		k.samples += f.Frame.Len()
	}
	k.before = append(k.before, k.store.writes)
	return nil
}

// TestKeptBeforeStored: samples are kept for another service before they are stored, so
// that a process that is killed has stored none that are not sent; and once, though they
// cannot be stored for a while.
func TestKeptBeforeStored(t *testing.T) {
	pl, address := startPlant(t)
	_, file := discovered(t, address)
	now := noon
	p, m := newPoller(t, file, &now)
	k := &kept{store: m}
	p.options.Forward, p.options.Config.Step = k, p.options.Config.Poll
	run(t, p, &now, 3, func(i int) { pl.set(5000+uint16(i), 1000+uint16(i), 4, 0) })
	if !slices.Equal(k.before, []int{0, 1, 2}) || k.samples != 4 {
		t.Errorf("kept %d samples, when %v writes were stored", k.samples, k.before)
	}
	m.err = errors.New("disk full")
	run(t, p, &now, 3, func(i int) { pl.set(6000+uint16(i), 1010+uint16(i), 4, 0) })
	m.err = nil
	run(t, p, &now, 1, nil)
	if f := m.frames["I1"]; f.Len() != 6 || k.samples != 7 {
		t.Errorf("%d samples stored, %d kept, with one of the unit that repeats itself", f.Len(), k.samples)
	}
}

func TestAddresses(t *testing.T) {
	for target, want := range map[string]string{
		"192.0.2.1": "tcp://192.0.2.1:502", "192.0.2.1:1502": "tcp://192.0.2.1:1502", "plant.example": "tcp://plant.example:502", "rtu:///dev/ttyS0": "rtu:///dev/ttyS0",
		"10.0.0.0/30:1502": "tcp://10.0.0.0:1502", "10.0.0.0/23": "", "8.8.8.0/28": "", "10.0.0.0/33": "", "192.0.2.1:0": "", "": "", "a b": "", "ftp://x": "",
	} {
		d := Discovery{Targets: []string{target}}
		all, _, err := d.addresses()
		if (err != nil) != (want == "") || err == nil && all[0] != want {
			t.Errorf("%s: %v, %v", target, all, err)
		}
	}
	for _, port := range []int{-1, 65536 + 502} {
		d := Discovery{Targets: []string{"10.0.0.0/30"}, Port: port}
		if all, _, err := d.addresses(); err == nil {
			t.Errorf("port %d: %v", port, all)
		}
	}
	if units, err := ParseUnits("1-3, 126"); err != nil || !slices.Equal(units, []int{1, 2, 3, 126}) {
		t.Errorf("%v, %v", units, err)
	}
	for _, text := range []string{"", "a", "3-1", "256", "1--2"} {
		if _, err := ParseUnits(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	good := "[site]\nid = \"a\"\n[[source]]\naddress = \"tcp://192.0.2.1:502\"\n[[source.device]]\nasset = \"x\"\nkind = \"inverter\"\nunit = 1\nbase = 40000\n"
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"id = \"a\"", "", "site.id: required"}, {"id =", "idd =", "unknown key site.idd"}, {"unit = 1", "unit = 256", "unit of x"}, {"tcp://192.0.2.1:502", "192.0.2.1", "must begin with tcp://"},
		{"[site]", "poll = \"7s\"\n[site]", "step: invalid value 1m0s"}, {"[site]", "poll = \"10ms\"\n[site]", "poll: invalid value 10ms"}, {"inverter", "toaster", "kind of x"}, {"asset = \"x\"", "", "asset of unit 1"},
		{"[site]", "[site]\ntimezone = \"Mars\"", "site.timezone"}, {"[site]", "[site]\nlatitude = 1.0", "one needs the other"}, {"[site]", "[site]\nlatitude = 91.0\nlongitude = 0.0", "site.latitude: invalid value 91: from -90 to 90"},
		{"[site]", "[site]\nlatitude = 9\nlongitude = nan", "site.longitude: invalid value NaN"}, {"unit = 1", "unit = \"two\"", "line 8: unit must be a whole number"}, {"unit = 1", "unit = 1.5", "line 8: unit must be a whole number"},
		{"[site]", "poll = 10\n[site]", "poll: invalid value 10ns"}, {"[site]", "poll = \"soon\"\n[site]", `line 1: poll must be a duration`}, {"asset = \"x\"", "asset = 7", "line 6: asset must be a text in quotes"},
		{"[[source]]", "[[source]]\ntimeout = 2", `timeout of tcp://192.0.2.1:502: must be a duration such as "10s"`}, {"id = \"a\"", "id = ", "line 2, column"}, {"[site]\n", "site.latitude = \"x\"\n[sites]\n", "line 1: latitude must be a number"}, {"unit = 1", "unit = 99999999999999999999", "line 8"},
		{"[site]", "commit = \"1h\"\n[site]", "commit"},
	} {
		if _, err := Parse([]byte(strings.Replace(good, tt.old, tt.new, 1))); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "gateway.") || strings.Contains(err.Error(), " of type ") {
			t.Errorf("%q: %v", tt.new, err)
		}
	}
}

// TestSocket asks a gateway of another process, as the commands do.
func TestSocket(t *testing.T) {
	_, address := startPlant(t)
	_, file := discovered(t, address)
	now := noon
	p, _ := newPoller(t, file, &now)
	run(t, p, &now, 1, nil)
	folder, err := os.MkdirTemp("", "gw") // a short path: a socket has at most 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if _, err := AskStatus(t.Context(), folder); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a gateway: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, folder) }()
	var s Status
	for range 200 {
		if s, err = AskStatus(t.Context(), folder); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil || len(s.Devices) != 4 {
		t.Errorf("%+v, %v", s, err)
	}
	if info, err := os.Stat(filepath.Join(folder, socketName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if e, err := AskExplain(t.Context(), folder, "Sunny INT"); err != nil || e.Asset != "I1" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := AskExplain(t.Context(), folder, "x&y"); !errors.Is(err, ErrNoDevice) {
		t.Errorf("%v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// slowReader moves the clock during each request, as a slow line does.
type slowReader struct {
	modbus.Reader
	now *time.Time
}

func (r slowReader) ReadHolding(ctx context.Context, unit uint8, address uint16, count int) ([]uint16, error) {
	*r.now = r.now.Add(8 * time.Second)
	return r.Reader.ReadHolding(ctx, unit, address, count)
}

// TestLateResponse: a sample has the time at which the device was read, not that at
// which its turn would have been.
func TestLateResponse(t *testing.T) {
	pl, address := startPlant(t)
	_, file := discovered(t, address)
	now := noon
	p, m := newPoller(t, file, &now)
	run(t, p, &now, 1, nil) // reads the maps
	pl.set(9000, 1001, 4, 0)
	l := p.lines[0]
	d := l.devices[0]
	d.regs.line = slowReader{l.reader, &now}
	p.options.Config.Step = p.options.Config.Poll
	now = noon.Add(10 * time.Minute)
	p.pollDevice(t.Context(), d, now)
	p.commit(t.Context(), now)
	f := m.frames["I1"]
	if at := f.Times[f.Len()-1]; at != noon.Add(10*time.Minute).Unix() || f.At(series.PowerKW, f.Len()-1) != 9 {
		t.Errorf("two requests of 8 s: a sample of %v", time.Unix(at, 0).UTC())
	}
	d.regs.limit = 32 // more requests
	pl.set(9001, 1002, 4, 0)
	now = noon.Add(20 * time.Minute)
	p.pollDevice(t.Context(), d, now)
	p.commit(t.Context(), now)
	f = m.frames["I1"]
	if at := f.Times[f.Len()-1]; at <= noon.Add(20*time.Minute).Unix() {
		t.Errorf("seven requests of 8 s: a sample of %v", time.Unix(at, 0).UTC())
	}
}
