package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"syscall"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/drop"
	"app.sunloop/backend/gateway/forward"
	"app.sunloop/backend/gateway/modbus"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/backend/store"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/registermap"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/sunspec"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
)

// Store keeps what was read.
type Store interface {
	// Register creates the site and the units that are missing. A unit without a
	// capacity gets one that follows its power.
	Register(ctx context.Context, site api.Site, units []api.Asset) error
	// Append stores samples of units of a registered site. urgent: a unit reports a
	// fault, which detection should see soon.
	Append(ctx context.Context, siteID string, frames []store.AssetFrame, urgent bool) error
}

// Forward sends what was read to another service.
type Forward interface {
	// Append keeps samples of units on stable storage until they are sent.
	Append(frames []store.AssetFrame) error
	Status() forward.Status
}

// SendFiles sends the files that were taken in to another service.
type SendFiles interface {
	Queue() *spool.Files
	Status() forward.FileStatus
}

// Options are what a Poller works with. All fields but Forward, Files, Facts, Intake and Search are required.
type Options struct {
	Config  Config
	Store   Store
	Forward Forward   // nil: nothing is sent
	Files   SendFiles // nil: no files are sent
	// Facts returns what is known of the site, for Home Assistant; nil: nothing is announced.
	Facts func(ctx context.Context, site Site) (Facts, error)
	// Intake takes in the files of folders, servers and mailboxes; required if there are any.
	Intake drop.Intake
	// Search searches for devices when the console asks; nil: none can be searched for.
	Search *Searcher
	Now    func() time.Time
	Log    *slog.Logger
}

// Poller reads the devices of a configuration and stores their samples.
type Poller struct {
	options Options
	lines   []*line
	feeds   []*feed
	drops   []*drop.Source
	sending *sendingIntake  // nil: no files are sent
	units   map[string]bool // assets whose samples are stored

	mu      sync.Mutex // of the devices' fields below, and of weather
	weather reading.Sample
	stored  struct{ commits, failures, lost int }
	lastErr error
}

// line is a connection with its devices.
type line struct {
	address string
	reader  modbus.Reader
	close   func()
	devices []*device
}

// device is a device that is polled.
type device struct {
	Device
	address string
	regs    registerMap
	mapped  *mapped // nil: the device has SunSpec, or publishes messages
	checker reading.Checker

	blocks   []sunspec.Block // nil: the map is to be read
	version  string
	verified time.Time
	failed   int // consecutive failures
	nextTry  time.Time

	raw      []response // of the last reading
	measured []sunspec.Measured
	last     reading.Sample // last one that was read and believed
	lastRead time.Time
	lastErr  error
	errorAt  time.Time
	marks    map[reading.Mark]int
	reads    int
	times    []time.Time // of the last ten readings
	errors   int
	asleep   bool
	dropped  bool       // nothing of the last reading was believed
	pending  []interval // not stored, or still changing

	// Of devices that publish to a broker.
	incoming  []incoming
	gone      bool    // the publisher says that it cannot be reached
	updated   float64 // when the publisher read it last, by its own clock
	updatedAt time.Time
	spacing   time.Duration   // between two samples; 0: not known
	gaps      []time.Duration // the last ones
	done      map[int64]bool  // intervals that are stored and not kept, of the last two days
}

// interval are the readings of one stored sample.
type interval struct {
	at      time.Time
	samples []reading.Sample
	touched time.Time // when the last reading came
	version int       // number of changes
	kept    int       // version that is kept for another service
	changed bool
	urgent  bool
}

// maxPending bounds the intervals of a device that wait for a store that does not
// accept them: two days at one a minute.
const maxPending = 2880

// NewPoller returns a Poller, which reads while Run runs.
func NewPoller(o Options) (*Poller, error) {
	p := &Poller{options: o, units: map[string]bool{}}
	byAddress := map[string]*line{}
	inverters := false
	for _, s := range o.Config.Sources {
		l := byAddress[s.Address]
		if l == nil {
			timeout, settle, err := s.manners()
			if err != nil {
				return nil, err
			}
			m, err := modbus.New(modbus.Config{URL: s.Address, Timeout: timeout, Pause: time.Duration(s.Pause), Settle: settle, Now: o.Now})
			if err != nil {
				return nil, err
			}
			l = &line{address: s.Address, reader: m, close: m.Close}
			byAddress[s.Address] = l
			p.lines = append(p.lines, l)
		}
		limit := sunspec.MaxRegisters
		if s.Registers > 0 {
			limit = s.Registers
		}
		for _, d := range s.Devices {
			limit := limit
			if d.Registers > 0 {
				limit = d.Registers
			}
			inverters = inverters || d.Kind == reading.Inverter
			is := &device{Device: d, address: s.Address, marks: map[reading.Mark]int{}, last: reading.Sample{Measurement: reading.None()},
				regs: registerMap{line: l.reader, unit: uint8(d.Unit), limit: limit}, checker: reading.Checker{RatingW: d.CapacityKW * 1000}}
			if d.Map != "" {
				m, err := registermap.Load(d.Map)
				if err != nil {
					return nil, fmt.Errorf("map of %s: %w", d.Asset, err)
				}
				is.mapped = &mapped{Map: m, line: l.reader, unit: uint8(d.Unit), absent: map[int]bool{}}
			}
			l.devices = append(l.devices, is)
		}
	}
	for _, m := range o.Config.MQTT {
		f, err := p.newFeed(m)
		if err != nil {
			return nil, err
		}
		for _, d := range m.Devices {
			inverters = inverters || d.Kind == reading.Inverter
			f.devices[d.ID] = &device{Device: d, address: m.Address, marks: map[reading.Mark]int{}, last: reading.Sample{Measurement: reading.None()},
				checker: reading.Checker{RatingW: d.CapacityKW * 1000}, updated: math.NaN(), done: map[int64]bool{}}
		}
		p.feeds = append(p.feeds, f)
	}
	if o.Config.hasDrops() && o.Intake == nil {
		return nil, errors.New("folders, SFTP servers and mailboxes are not read by this program")
	}
	if o.Files != nil && o.Intake != nil {
		p.sending = &sendingIntake{Intake: o.Intake, files: o.Files.Queue(), now: o.Now, log: o.Log}
		o.Intake = p.sending
	}
	p.drops = o.Config.drops(drop.Options{Intake: o.Intake, Now: o.Now, Log: o.Log})
	for d := range p.devices() {
		// The power of a plant meter is that of its inverters: it is stored only without them.
		p.units[d.Asset] = d.Kind == reading.Inverter || d.Kind == reading.Meter && !inverters
	}
	return p, nil
}

// manners are the time-out and the pause after connecting that the maps of the devices
// of a source need, unless the file has others; 0: the default.
func (s *Source) manners() (timeout, settle time.Duration, err error) {
	timeout, settle = time.Duration(s.Timeout), time.Duration(s.Settle)
	for _, d := range s.Devices {
		if d.Map == "" {
			continue
		}
		m, err := registermap.Load(d.Map)
		if err != nil {
			return 0, 0, fmt.Errorf("map of %s: %w", d.Asset, err)
		}
		if s.Timeout == 0 {
			timeout = max(timeout, m.Timeout)
		}
		if s.Settle == 0 {
			settle = max(settle, m.Settle)
		}
	}
	return timeout, settle, nil
}

// devices yields all devices.
func (p *Poller) devices() func(func(*device) bool) {
	return func(yield func(*device) bool) {
		for _, l := range p.lines {
			for _, d := range l.devices {
				if !yield(d) {
					return
				}
			}
		}
		for _, f := range p.feeds {
			for _, is := range f.Devices {
				if !yield(f.devices[is.ID]) {
					return
				}
			}
		}
	}
}

// register creates the site and its units.
func (p *Poller) register(ctx context.Context) error {
	s := p.options.Config.Site
	site := api.Site{SiteID: s.ID, CustomerID: s.Customer, Name: s.Name, Timezone: s.Timezone, Latitude: s.Latitude, Longitude: s.Longitude}
	var units []api.Asset
	for d := range p.devices() {
		if !p.units[d.Asset] {
			continue
		}
		name := d.Name
		if name == "" {
			name = d.Asset
		} else if d.Serial != "" {
			name += " " + d.Serial
		}
		a := api.Asset{AssetID: d.Asset, Name: name, Type: "solar_" + string(d.Kind), CapacityKW: d.CapacityKW, RatedPowerKW: d.CapacityKW, ACRatingKW: d.CapacityKW,
			SiteID: s.ID, CustomerID: s.Customer, Timezone: s.Timezone, Latitude: s.Latitude, Longitude: s.Longitude}
		if d.Manufacturer != "" && d.Model != "" && d.Serial != "" {
			a.Components = []api.Component{{OEM: d.Manufacturer, Model: d.Model, Serial: d.Serial}}
		}
		units = append(units, a)
		site.CapacityKW += d.CapacityKW
	}
	if len(units) == 0 && p.options.Config.hasDrops() {
		return nil // the first file makes the site
	}
	if len(units) == 0 && p.options.Search != nil {
		p.options.Log.Warn("no device is configured; search for devices in the console (g y) or with sunloop gateway discover")
		return p.options.Store.Register(ctx, site, nil)
	}
	if len(units) == 0 {
		return errors.New("register units: the sources have no inverter and no meter")
	}
	return p.options.Store.Register(ctx, site, units)
}

// Run registers the units and reads until ctx ends; then it stores what is left.
func (p *Poller) Run(ctx context.Context) error {
	if err := p.register(ctx); err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, l := range p.lines {
		running.Go(func() {
			defer l.close()
			p.each(ctx, time.Duration(p.options.Config.Poll), func(at time.Time) { p.poll(ctx, l, at) })
		})
	}
	for _, f := range p.feeds {
		running.Go(func() { p.runFeed(ctx, f) })
		if f.greet != nil {
			running.Go(func() { p.runAnnouncements(ctx, f) })
		}
		if f.host != nil {
			running.Go(func() { p.runHost(ctx, f) })
		}
	}
	if p.sending != nil {
		if err := p.sending.settle(ctx); err != nil { // tried again before the next file is taken in
			p.options.Log.Warn("confirming pending files failed", "error", err.Error())
		}
	}
	for _, d := range p.drops {
		running.Go(func() { d.Run(ctx) })
	}
	p.each(ctx, time.Duration(p.options.Config.Commit), func(at time.Time) { p.commit(ctx, at) })
	running.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	p.commit(end, p.options.Now())
	return nil
}

// each calls do at whole multiples of a period until ctx ends. If do takes longer, the
// times that passed are left out.
func (p *Poller) each(ctx context.Context, period time.Duration, do func(at time.Time)) {
	for {
		now := p.options.Now()
		at := now.Truncate(period).Add(period)
		if clock.Sleep(ctx, at.Sub(now)) != nil {
			return
		}
		do(at)
	}
}

// poll reads the devices of a connection one after the other.
func (p *Poller) poll(ctx context.Context, l *line, at time.Time) {
	for _, d := range l.devices {
		if ctx.Err() != nil {
			return
		}
		if now := p.options.Now().Truncate(time.Duration(p.options.Config.Poll)); now.After(at) {
			at = now // the devices before took longer than a period
		}
		p.mu.Lock()
		resting := at.Before(d.nextTry)
		p.mu.Unlock()
		if !resting {
			p.pollDevice(ctx, d, at)
		}
	}
}

// Times between readings.
const (
	verifyEvery = 24 * time.Hour  // of the map of a device
	nightPause  = 5 * time.Minute // between attempts to reach a device that sleeps
	verifyAfter = 3               // failures after which the map is read again
)

// pollDevice takes one reading.
func (p *Poller) pollDevice(ctx context.Context, d *device, at time.Time) {
	if !d.isPlanned() || at.Sub(d.verified) >= verifyEvery || at.Before(d.verified) {
		if err := p.verify(ctx, d, at); err != nil {
			p.fail(ctx, d, at, err)
			return
		}
	}
	began := p.options.Now()
	var measured []sunspec.Measured
	var words []uint16
	var raw []response
	var err error
	var m reading.Measurement
	var byMap mappedReading
	if d.mapped != nil {
		m, words, byMap, err = d.mapped.measure(ctx)
	} else {
		measured, words, raw, err = d.regs.readBlocks(ctx, d.blocks)
		m = sunspec.Measure(measured)
	}
	if err != nil {
		p.fail(ctx, d, at, err)
		return
	}
	// A response that came late is of the time at which it came.
	middle := began.Add(p.options.Now().Sub(began) / 2)
	if late := middle.Truncate(time.Duration(p.options.Config.Poll)); late.After(at) {
		at = late
	}
	s := reading.Sample{Device: d.Asset, At: at, Measurement: m}
	if d.Kind == reading.Meter && d.ImportIsPlus {
		s.PowerW, s.EnergyWh, s.ImportWh = -s.PowerW, s.ImportWh, s.EnergyWh
	}
	r := d.checker.Check(d.Kind, s, words)
	p.mu.Lock()
	defer p.mu.Unlock()
	d.raw, d.measured = raw, measured
	if d.mapped != nil {
		d.mapped.last = byMap
	}
	d.reads, d.failed, d.lastRead, d.nextTry = d.reads+1, 0, at, time.Time{}
	d.asleep = s.State == reading.StateSleeping || s.State == reading.StateOff && p.isNight(at)
	p.accept(d, r, at)
}

// accept keeps what the checks left of a reading.
func (p *Poller) accept(d *device, r reading.Result, now time.Time) {
	d.dropped = len(r.Store) == 0 && !r.Held
	if d.times = append(d.times, now); len(d.times) > 10 {
		d.times = d.times[1:]
	}
	for _, m := range r.Marks {
		d.marks[m]++
	}
	for _, s := range r.Store {
		urgent := isFault(&s.Measurement) && !isFault(&d.last.Measurement)
		if before := d.last; d.done != nil && s.At.Sub(before.At) <= p.stale(d) { // it publishes values one by one
			before.Merge(&s.Measurement)
			before.At = s.At
			d.last = before
		} else {
			d.last = s
		}
		if d.Kind == reading.Weather {
			p.weather = d.last
		}
		if !p.units[d.Asset] {
			continue
		}
		p.addWeather(&s)
		d.add(s, time.Duration(p.options.Config.Step), urgent, now)
	}
}

// isFault reports whether a unit says that it is faulty.
func isFault(m *reading.Measurement) bool { return m.State == reading.StateFault || m.Events > 0 }

// addWeather adds the values of the site's weather station, if they are fresh.
func (p *Poller) addWeather(s *reading.Sample) {
	w := p.weather
	if w.At.IsZero() || s.At.Sub(w.At).Abs() > 3*time.Duration(p.options.Config.Poll) {
		return
	}
	for _, v := range []struct {
		to   *float64
		from float64
	}{{&s.IrradianceWM2, w.IrradianceWM2}, {&s.AmbientC, w.AmbientC}, {&s.ModuleC, w.ModuleC}, {&s.WindMS, w.WindMS}} {
		if math.IsNaN(*v.to) {
			*v.to = v.from
		}
	}
}

// add adds a reading to the interval that it belongs to. A reading of a time that the
// interval has is the same one, with more values or received again.
func (d *device) add(s reading.Sample, step time.Duration, urgent bool, now time.Time) {
	at := s.At.Truncate(step)
	for i := len(d.pending) - 1; i >= 0; i-- {
		in := &d.pending[i]
		if !in.at.Equal(at) {
			continue
		}
		in.changed, in.urgent, in.touched, in.version = true, in.urgent || urgent, now, in.version+1
		k, same := slices.BinarySearchFunc(in.samples, s.At, func(is reading.Sample, at time.Time) int { return is.At.Compare(at) })
		if same {
			in.samples[k].Merge(&s.Measurement)
		} else {
			in.samples = slices.Insert(in.samples, k, s)
		}
		return
	}
	i, _ := slices.BinarySearchFunc(d.pending, at, func(in interval, at time.Time) int { return in.at.Compare(at) })
	if i > 0 && i == len(d.pending) {
		d.space(at.Sub(d.pending[i-1].at))
	}
	d.pending = slices.Insert(d.pending, i, interval{at: at, samples: []reading.Sample{s}, touched: now, version: 1, changed: true, urgent: urgent})
}

// space notes the time between two samples: the shortest one of the last few, since
// messages get lost.
func (d *device) space(gap time.Duration) {
	if d.gaps = append(d.gaps, gap); len(d.gaps) > 5 {
		d.gaps = d.gaps[1:]
	}
	d.spacing = slices.Min(d.gaps)
}

// isPlanned reports whether it is known what to read of a device.
func (d *device) isPlanned() bool {
	if d.mapped != nil {
		return d.mapped.requests != nil
	}
	return d.blocks != nil
}

// verify reads the map of a device and compares its serial number.
func (p *Poller) verify(ctx context.Context, d *device, at time.Time) error {
	if d.mapped != nil {
		return p.verifyMapped(ctx, d, at)
	}
	devices, err := sunspec.Walk(uint16(d.Base), d.regs.read(ctx))
	if err != nil {
		return err
	}
	if d.Index >= len(devices) {
		return fmt.Errorf("the map has %s; device %d is configured", display.CountOf(len(devices), "device", "devices"), d.Index+1)
	}
	dev := devices[d.Index]
	if d.Serial != "" && dev.Serial != d.Serial {
		return fmt.Errorf("the device has the serial number %q; %q is configured", dev.Serial, d.Serial)
	}
	polled := dev.Polled()
	if len(polled) == 0 {
		return errors.New("the map has no model with measurements")
	}
	rated, _, _, err := d.regs.readBlocks(ctx, static(dev))
	if err != nil && !errors.Is(err, modbus.ErrRefused) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d.blocks, d.version, d.verified = polled, dev.Version, at
	if w := sunspec.RatingW(rated); w > 0 {
		d.checker.RatingW = w
	}
	for _, m := range rated {
		if v, ok := m.Number("VNomRtg"); ok && v > 0 {
			d.checker.NominalV = v // between lines: more than to neutral
		}
	}
	return nil
}

// fail records a failure and when the device is asked again.
func (p *Poller) fail(ctx context.Context, d *device, at time.Time, err error) {
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	first := d.failed == 0
	// A read that was not attempted is counted only as the first failure of this
	// device: another device of the connection has seen the error.
	var paused *modbus.PausedError
	isPaused := errors.As(err, &paused)
	if isPaused {
		err = paused.Cause
	}
	if !isPaused || first {
		d.errors, d.failed, d.lastErr, d.errorAt = d.errors+1, d.failed+1, err, at
	}
	if d.failed >= verifyAfter || errors.Is(err, modbus.ErrRefused) {
		d.blocks = nil // it may have another map now
		if d.mapped != nil {
			d.mapped.requests = nil
		}
	}
	wasAsleep := d.asleep
	d.asleep = p.isAsleep(d, at, err)
	if d.asleep && d.failed >= verifyAfter {
		d.nextTry = at.Add(nightPause)
	}
	switch {
	case d.asleep && !wasAsleep:
		p.options.Log.Info("device asleep", "device", d.Asset)
	case first && !d.asleep:
		p.options.Log.Warn("device not read", "device", d.Asset, "address", d.address, "unit", d.Unit, "error", err.Error())
	}
}

// producedBefore is how long after a reading with power silence is a failure, at night
// too.
const producedBefore = 10 * time.Minute

// isAsleep reports whether the failure of a device is expected: at night, or, if the
// site has no location, after a reading without power. It is not if the device produced
// power just before; and without a location a connection that is refused or reset is
// expected only of a device that said that it was off.
func (p *Poller) isAsleep(d *device, at time.Time, err error) bool {
	if d.Kind != reading.Inverter {
		return false
	}
	low := 0.02 * d.checker.RatingW
	if !d.last.At.IsZero() && d.last.PowerW > low && at.Sub(d.last.At) < producedBefore {
		return false
	}
	if s := p.options.Config.Site; s.Latitude != nil {
		return p.isNight(at)
	}
	if d.last.At.IsZero() || !(d.last.PowerW <= low) {
		return false
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) {
		return d.last.State == reading.StateSleeping || d.last.State == reading.StateOff
	}
	return true
}

// isNight reports whether the sun is below -1 degree; false if the site has no
// location.
func (p *Poller) isNight(at time.Time) bool {
	s := p.options.Config.Site
	if s.Latitude == nil {
		return false
	}
	return solar.At(at, solar.Location{LatitudeDeg: *s.Latitude, LongitudeDeg: *s.Longitude}).ApparentZenithDeg > 91
}

// commit stores what has changed, in one write. What cannot be stored stays for the
// next one. It is kept for another service first: what a process that is killed in between
// has stored would be missing there for ever.
func (p *Poller) commit(ctx context.Context, now time.Time) {
	var frames, unsent []store.AssetFrame
	urgent := false
	type sent struct {
		d       *device
		at      time.Time
		version int
	}
	var all []sent
	p.mu.Lock()
	for d := range p.devices() {
		var samples, later []reading.Sample
		for _, in := range d.pending {
			if in.changed {
				s := reading.Combine(in.samples, in.at)
				samples = append(samples, s)
				if p.options.Forward != nil && in.kept != in.version {
					later = append(later, s)
				}
				all = append(all, sent{d, in.at, in.version})
				urgent = urgent || in.urgent
			}
		}
		if len(samples) > 0 {
			frames = append(frames, p.frame(d, samples))
		}
		if len(later) > 0 {
			unsent = append(unsent, p.frame(d, later))
		}
	}
	if len(frames) == 0 {
		p.prune(now)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	var err error
	if len(unsent) > 0 {
		err = p.options.Forward.Append(unsent)
	}
	kept := err == nil
	if kept {
		err = p.options.Store.Append(ctx, p.options.Config.Site.ID, frames, urgent)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil && p.lastErr == nil:
		p.options.Log.Error("samples not stored", "error", err.Error())
	case err == nil && p.lastErr != nil:
		p.options.Log.Info("samples stored again")
	}
	p.lastErr = err
	if err != nil {
		p.stored.failures++
	} else {
		p.stored.commits++
	}
	for _, s := range all {
		for i := range s.d.pending {
			in := &s.d.pending[i]
			if !in.at.Equal(s.at) {
				continue
			}
			if kept {
				in.kept = s.version
			}
			if err == nil && in.version == s.version {
				in.changed, in.urgent = false, false
			}
		}
	}
	p.prune(now)
}

// frame returns samples of a device as they are stored, with the time that each is of.
func (p *Poller) frame(d *device, samples []reading.Sample) store.AssetFrame {
	step := time.Duration(p.options.Config.Step)
	if d.done != nil && d.spacing > step {
		step = min(d.spacing, longestSpacing)
	}
	f := reading.Frame(samples)
	steps := make([]float64, f.Len())
	for i := range steps {
		steps[i] = step.Seconds()
	}
	f.Set(series.StepS, steps)
	return store.AssetFrame{AssetID: d.Asset, Frame: f}
}

// prune forgets intervals that are stored and over; p.mu is held.
func (p *Poller) prune(now time.Time) {
	step := time.Duration(p.options.Config.Step)
	for d := range p.devices() {
		kept := d.pending[:0]
		for _, in := range d.pending {
			if in.changed || !in.at.Add(step).Add(reading.FrozenAfter).Before(now) || d.done != nil && now.Sub(in.touched) < reading.FrozenAfter {
				kept = append(kept, in)
			} else if d.done != nil {
				d.done[in.at.Unix()] = true
			}
		}
		if n := len(kept) - maxPending; n > 0 {
			p.stored.lost += n
			kept = append(kept[:0], kept[n:]...)
		}
		clear(d.pending[len(kept):])
		d.pending = kept
		for at := range d.done {
			if len(d.done) > maxPending && time.Unix(at, 0).Before(now.Add(-48*time.Hour)) {
				delete(d.done, at)
			}
		}
	}
}
