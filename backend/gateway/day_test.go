package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/modbus"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// Ways in which the devices of a day misbehave, each for a quarter of an hour.
const (
	daySound = iota
	dayZeros
	daySilent
	dayDamaged
	dayFrozen
	dayCounter
	dayScale
	dayRefused
	dayModes
)

const (
	dayPoll = 5 * time.Second
	daySlot = 15 * time.Minute
)

// dayPlant serves the registers of inverters by a clock, and what of them should be stored.
type dayPlant struct {
	start time.Time
	now   *time.Time
	units []dayUnit

	stored, invented, twice, wrongCounter int
	calls                                 map[string]int
}

// dayUnit is an inverter with what it served.
type dayUnit struct {
	words   []uint16
	at      time.Time // of words
	wh      float64
	watts   float32
	served  []float32 // W by poll; NaN: nothing that should be stored
	counter []float64 // that it really had when it was read, kWh, by poll
	stored  []bool
}

// newDayPlant is a plant with devices that are read so many times.
func newDayPlant(now *time.Time, devices, polls int) *dayPlant {
	p := &dayPlant{start: *now, now: now, units: make([]dayUnit, devices), calls: map[string]int{}}
	for u := range p.units {
		p.units[u] = dayUnit{wh: 1e6, served: make([]float32, polls), counter: make([]float64, polls), stored: make([]bool, polls)}
		for k := range polls {
			p.units[u].served[k] = float32(math.NaN())
		}
	}
	return p
}

// poller reads the plant, and stores and forwards what it read.
func (p *dayPlant) poller(t *testing.T, to Store, forward Forward) *Poller {
	t.Helper()
	var text strings.Builder
	text.WriteString("poll = \"5s\"\nstep = \"5s\"\ncommit = \"10s\"\n[site]\nid = \"roof\"\ntimezone = \"UTC\"\nlatitude = 48.0\nlongitude = 11.0\n")
	for u := range p.units {
		if u%20 == 0 {
			fmt.Fprintf(&text, "[[source]]\naddress = \"tcp://192.0.2.%d:502\"\n", u/20+1)
		}
		fmt.Fprintf(&text, "[[source.device]]\nasset = \"I%03d\"\nkind = \"inverter\"\nunit = %d\nbase = %d\ncapacity_kw = 30\n", u, u%20+1, base)
	}
	config, err := Parse([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	is, err := NewPoller(Options{Config: config, Store: to, Forward: forward, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return *p.now }})
	if err != nil {
		t.Fatal(err)
	}
	for n, l := range is.lines {
		l.close()
		l.reader = dayLine{p, 20 * n}
		for _, d := range l.devices {
			d.regs.line = l.reader
		}
	}
	if err := is.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return is
}

// check compares what was stored with what was served, and logs both.
func (p *dayPlant) check(t *testing.T, label string) {
	t.Helper()
	should, missing := 0, 0
	for u := range p.units {
		for k, w := range p.units[u].served {
			if math.IsNaN(float64(w)) {
				continue
			}
			if should++; !p.units[u].stored[k] {
				if missing++; missing < 5 {
					t.Errorf("unit %d at %v: %g W is missing", u, p.start.Add(time.Duration(k)*dayPoll), w)
				}
			}
		}
	}
	t.Logf("%s: %d served that should be stored, %d stored, %d missing, %d invented, %d twice, %d wrong counters; %v", label, should, p.stored, missing, p.invented, p.twice, p.wrongCounter, p.calls)
	if missing > 0 || p.invented > 0 || p.twice > 0 || p.wrongCounter > 0 || should < len(p.units)*len(p.units[0].served)/4 || p.calls["function 4"] > 0 {
		t.Error("not all was stored once and right")
	}
}

func (p *dayPlant) mode(u int, at time.Time) int {
	if at.Sub(p.start) < time.Minute {
		return daySound // nothing says of a first counter that it is wrong
	}
	return (int(at.Sub(p.start)/daySlot) + u) % dayModes
}

// image returns the registers of a unit now.
func (p *dayPlant) image(u int) []uint16 {
	d, now := &p.units[u], *p.now
	if d.at.Equal(now) {
		return d.words
	}
	mode := p.mode(u, now)
	if mode == dayFrozen && d.words != nil && p.mode(u, d.at) == dayFrozen {
		d.at = now
		return d.words
	}
	hour := now.Sub(now.Truncate(24 * time.Hour)).Hours()
	tick := now.Unix() / 5
	sun := max(0, math.Sin(math.Pi*(hour-4)/15)) * (0.8 + 0.2*math.Sin(float64(tick%97)+float64(u)))
	watts := math.Round(28_000 * sun)
	seconds := 0.0
	if !d.at.IsZero() {
		seconds = now.Sub(d.at).Seconds()
	}
	d.at, d.wh, d.watts = now, d.wh+watts*seconds/3600, float32(watts)
	state, wh, sf, volts, hz := uint16(4), d.wh, uint16(0), uint16(2300+tick%7), uint16(5000+tick%5)
	if watts == 0 {
		state = 2
	}
	w, amps := uint16(watts), uint16(watts/62)
	vsf, hsf := uint16(0xFFFF), uint16(0xFFFE)
	switch mode {
	case dayZeros: // a data manager that lost its inverter
		w, wh, volts, hz, state, sf, vsf, hsf = 0, 0, 0, 0, 7, 0, 0, 0
	case dayCounter:
		if tick%3 == 0 {
			wh += 5e7
		}
	case dayScale:
		sf = 20
	}
	d.words = chain(common("INT", fmt.Sprintf("I%03d", u)), model(120, 26, map[int]uint16{3: 30_000, 4: 0}),
		model(103, 50, map[int]uint16{10: volts, 11: volts, 12: volts, 13: vsf, 14: w, 15: sf, 16: hz, 17: hsf, 24: uint16(uint32(wh) >> 16), 25: uint16(uint32(wh)), 26: 0, 38: state, 40: 0, 41: 0}),
		model(160, 48, map[int]uint16{2: 0xFFFF, 3: 0xFFFF, 8: 2, 19: amps, 20: 6200, 39: amps / 2, 40: 6200}))
	return d.words
}

// dayLine is a connection of a dayPlant with 20 units from first on. It serves registers, or
// misbehaves.
type dayLine struct {
	*dayPlant
	first int
}

func (l dayLine) ReadInput(context.Context, uint8, uint16, int) ([]uint16, error) {
	l.calls["function 4"]++
	return nil, modbus.ErrRefused
}

func (l dayLine) ReadHolding(_ context.Context, unit uint8, address uint16, count int) ([]uint16, error) {
	u := l.first + int(unit) - 1
	mode := l.mode(u, *l.now)
	switch {
	case mode == daySilent:
		return nil, modbus.ErrSilent
	case mode == dayDamaged && (l.now.Unix()/5)%2 == 0:
		return nil, modbus.ErrDamaged
	case mode == dayRefused && (l.now.Unix()/5)%4 == 0:
		return nil, modbus.ErrRefused
	}
	words := l.image(u)
	from := int(address) - base
	if from < 0 || from+count > len(words) {
		return nil, modbus.ErrRefused
	}
	l.calls["function 3"]++
	// The power is at 14 of model 103, which follows marker, common model and model 120.
	if power := 2 + 68 + 28 + 14; from <= power && power < from+count && count > 20 {
		w := l.units[u].watts
		if mode == dayZeros || mode == dayScale || mode == dayFrozen && w > 0 { // without sun all registers of a device rest
			w = float32(math.NaN())
		}
		k := int(l.now.Sub(l.start) / dayPoll)
		l.units[u].served[k], l.units[u].counter[k] = w, l.units[u].wh/1000
	}
	return words[from : from+count], nil
}

// Register and Append make a dayPlant a Store, which compares each sample with what was
// served.
func (p *dayPlant) Register(context.Context, api.Site, []api.Asset) error { return nil }

func (p *dayPlant) Append(_ context.Context, _ string, frames []store.AssetFrame, _ bool) error {
	for _, f := range frames {
		u, err := strconv.Atoi(strings.TrimPrefix(f.AssetID, "I"))
		if err != nil {
			return err
		}
		d := &p.units[u]
		power, counter := f.Frame.Values(series.PowerKW), f.Frame.Values(series.EnergyCounterKWh)
		for i, at := range f.Frame.Times {
			k := int((at - p.start.Unix()) / int64(dayPoll/time.Second))
			if counter != nil && math.Abs(counter[i]-d.counter[k]) > 0.0011 { // registers have whole Wh
				p.wrongCounter++
			}
			if power == nil || math.IsNaN(power[i]) {
				continue
			}
			frozen := p.mode(u, time.Unix(at, 0)) == dayFrozen && p.mode(u, time.Unix(at, 0).Add(-dayPoll)) != dayFrozen // the first one
			switch w := float64(d.served[k]); {
			case math.Abs(power[i]*1000-w) < 0.01:
			case frozen:
				continue
			default:
				p.invented++
			}
			if d.stored[k] {
				p.twice++
				continue
			}
			d.stored[k] = true
			p.stored++
		}
	}
	return nil
}

// TestDay reads inverters at 5 s over a day of their clock, in which each misbehaves in
// turn, eight ways a quarter of an hour each. Each power that was served and should be
// stored is stored once and right, and nothing else. SUNLOOP_TEST_DAY_DEVICES and
// SUNLOOP_TEST_DAY_HOURS change the 4 devices and 4 hours of the usual run.
func TestDay(t *testing.T) {
	devices, hours := 4, 4
	for name, to := range map[string]*int{"DEVICES": &devices, "HOURS": &hours} {
		if n, err := strconv.Atoi(os.Getenv("SUNLOOP_TEST_DAY_" + name)); err == nil && n > 0 {
			*to = n
		}
	}
	now := time.Date(2026, 6, 15, 8, 0, 0, 0, time.UTC)
	polls := hours * int(time.Hour/dayPoll)
	plant := newDayPlant(&now, devices, polls)
	p := plant.poller(t, plant, nil)
	for range polls {
		for _, l := range p.lines {
			p.poll(t.Context(), l, now)
		}
		now = now.Add(dayPoll)
		if now.Unix()%10 == 0 {
			p.commit(t.Context(), now)
		}
	}
	p.commit(t.Context(), now)
	plant.check(t, fmt.Sprintf("%d devices, %d h", devices, hours))
}
