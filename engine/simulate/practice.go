package simulate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Light is where the irradiance of a site comes from.
type Light int

// The sources of irradiance.
const (
	NoLight        Light = iota // power alone
	SatelliteLight              // horizontal, half-hourly means of a satellite
	FlatLight                   // a horizontal pyranometer
	PlaneLight                  // a sensor in the plane of the first unit
)

// Measuring is what measured plants have and [Scored] fleets lack: a yield that wanders
// from day to day, haze, weak light that inverters use badly, readings in whole steps
// and with jitter, an irradiance with errors, and missing rows.
type Measuring struct {
	Light Light
	Meter string // asset id of one meter for all units; empty if each unit is read
	plant measuredPlant
}

// measuredPlant holds what was fitted to a measured plant (docs/faults.md): standard
// deviations in the logarithm.
type measuredPlant struct {
	day, wander, days float64 // yield for its irradiance: of a day, over days, forgotten after
	haze, hazeDays    float64 // more of it by the clear sky alone, for a sun overhead
	weak              float64 // share of the rating at which half of the power of weak light is lost
	jitter            float64 // of a sample
	quantum           float64 // of the rating: step of the readings
	gaps, gapHours    float64 // gaps a year, and their mean length
}

// measuredPlants are the plants that the figures were fitted to: four in Hebei, Golden,
// Madrid, one in Austria, Réunion.
var measuredPlants = []measuredPlant{
	{0.019, 0.079, 8, 0.01, 2, 0.006, 0.004, 1. / 1391, 2.4, 12},
	{0.013, 0.021, 5, 0.093, 5, 0.006, 0.004, 1. / 1119, 0.5, 12},
	{0.011, 0.015, 5, 0.052, 2, 0.006, 0.018, 1. / 1110, 1, 120},
	{0.016, 0.054, 2, 0.127, 5, 0.008, 0.006, 0, 5.6, 48},
	{0.010, 0.014, 12, 0.033, 5, 0.012, 0.006, 0, 22.7, 8},
	{0.0095, 0.018, 30, 0.041, 5, 0.010, 0.005, 0, 12, 2},
	{0.020, 0.030, 5, 0.110, 5, 0.010, 0.020, 0, 60, 0.5},
	{0.011, 0.015, 5, 0.035, 5, 0.010, 0.006, 1. / 87, 13, 1.2},
}

// practiceKind is a kind of site with its share.
type practiceKind struct {
	share        float64
	units        int
	meter        bool
	light        []Light
	least, most  float64 // kW a unit
	name         string
	orientations int
}

var practiceKinds = []practiceKind{
	{0.35, 1, false, []Light{NoLight, NoLight, SatelliteLight}, 3, 15, "Home", 1},
	{0.20, 1, false, []Light{NoLight, SatelliteLight, FlatLight}, 20, 60, "Roof", 1},
	{0.15, 3, false, []Light{NoLight, SatelliteLight, FlatLight}, 10, 30, "Farm", 2},
	{0.20, 3, true, []Light{NoLight, SatelliteLight, FlatLight, FlatLight, PlaneLight}, 200, 2000, "Plant", 3},
	{0.10, 8, false, []Light{SatelliteLight, PlaneLight}, 20, 100, "Park", 2},
}

// The extent of a seed of [Practice].
const (
	practiceSites = 4
	practiceDays  = 400
)

// Practice returns four sites of a seed as they occur in practice: mostly one unit or
// one meter, with power alone, satellite values or a pyranometer, and with what
// measured plants have besides faults. One of the four has no fault.
func Practice(seed uint64, start time.Time) (out []Case) {
	for i := range practiceSites {
		r := rand.New(rand.NewPCG(seed, uint64(300+i)))
		s := Clean(mix(seed, uint64(i)), start, 1).Sites[r.IntN(3)]
		kind := drawKind(r)
		m := &Measuring{Light: kind.light[r.IntN(len(kind.light))], plant: measuredPlants[r.IntN(len(measuredPlants))]}
		s.ID = fmt.Sprintf("%s-%d", kind.name, i+1)
		s.Name = s.ID
		tilt, azimuth := 5+30*r.Float64(), 180+60*(r.Float64()-0.5)
		planes := []solar.Plane{{TiltDeg: tilt, AzimuthDeg: azimuth}, {TiltDeg: tilt, AzimuthDeg: azimuth - 90}, {TiltDeg: tilt, AzimuthDeg: azimuth + 90}}[:kind.orientations]
		size := kind.least + (kind.most-kind.least)*r.Float64()*r.Float64()
		sizes := make([]float64, kind.units)
		for k := range sizes {
			sizes[k] = math.Round(10*size*(0.8+0.4*r.Float64())) / 10
		}
		s.Units = units(s.ID+"-", 5000000000000000+int64(seed%1e6)*1000, "Make Model", 12, sizes, planes)
		s.Portal = BarePortal // for the kinds of faults
		s = NewSite(mix(seed, uint64(i)), start, s)
		c := Case{Site: s, Step: []time.Duration{5 * time.Minute, 15 * time.Minute, 15 * time.Minute, time.Hour}[r.IntN(4)], Until: s.Start.AddDate(0, 0, practiceDays), Clean: uint64(i) == seed%practiceSites, Plain: true, Measuring: m}
		if kind.meter {
			m.Meter = s.ID + "-meter"
		}
		s.yield = m.yields(s, practiceDays+2)
		if !c.Clean {
			c.Site.SetFaults(practiceFaults(r, s, kind))
		}
		s.Portal = UsualPortal
		out = append(out, c)
	}
	return out
}

func drawKind(r *rand.Rand) practiceKind {
	x := r.Float64()
	for _, k := range practiceKinds {
		if x -= k.share; x < 0 {
			return k
		}
	}
	return practiceKinds[len(practiceKinds)-1]
}

// practiceFaults draws the faults of a site. Behind a meter they concern all units,
// as one of many would not be seen there.
func practiceFaults(r *rand.Rand, s *Site, kind practiceKind) []Fault {
	if !kind.meter {
		return schedule(r, s, practiceDays)
	}
	whole := NewSite(0, s.Start, &Site{ID: s.ID, Location: s.Location, Zone: s.Zone, Climate: s.Climate, Portal: s.Portal, Units: s.Units[:1]})
	whole.seed = s.seed // the same weather
	faults := schedule(r, whole, practiceDays)
	for i := range faults {
		faults[i].Units = nil
	}
	return faults
}

// Units of the case as its telemetry has them.
func (c Case) Units() []Unit {
	if c.Measuring == nil || c.Measuring.Meter == "" {
		return c.Site.Units
	}
	one := Unit{AssetID: c.Measuring.Meter, Type: "meter", CapacityKW: c.Site.CapacityKW()}
	return []Unit{one}
}

// Truth of the case: faults behind a meter are those of the meter. Gaps of the logger are
// on the list as faults that need not be found.
func (c Case) Truth() []Truth {
	truth := c.Site.TruthBetween(c.Site.Start, c.Until)
	if c.Measuring == nil {
		return truth
	}
	for i, g := range c.Measuring.gaps(c.Site, c.Until) {
		f := Fault{ID: fmt.Sprintf("%s-gap-%d", c.Site.ID, i+1), SiteID: c.Site.ID, Kind: CommunicationGap, From: time.Unix(g[0], 0).UTC(), To: time.Unix(g[1], 0).UTC(), Cause: "the logger"}
		for _, u := range c.Site.Units {
			f.Units = append(f.Units, u.AssetID)
		}
		truth = append(truth, Truth{Fault: f, Family: f.Kind.Family()})
	}
	slices.SortStableFunc(truth, func(a, b Truth) int { return a.From.Compare(b.From) })
	if c.Measuring.Meter != "" {
		for i := range truth {
			truth[i].Units = []string{c.Measuring.Meter}
		}
	}
	return truth
}

// Frames returns the telemetry of the case by asset id.
func (c Case) Frames() map[string]series.Frame {
	frames := c.Site.Frames(c.Site.Start, c.Until, c.Step)
	if c.Measuring == nil {
		return frames
	}
	m := c.Measuring
	ratings := map[string]float64{}
	for _, u := range c.Units() {
		ratings[u.AssetID] = u.CapacityKW
	}
	if m.Meter != "" {
		frames = map[string]series.Frame{m.Meter: sumOf(c.Site, frames)}
	}
	out := make(map[string]series.Frame, len(frames))
	for _, id := range slices.Sorted(maps.Keys(frames)) {
		out[id] = m.measure(c.Site, id, ratings[id], frames[id])
	}
	return out
}

// sumOf adds up the power of all units, at the stamps that each has.
func sumOf(s *Site, frames map[string]series.Frame) series.Frame {
	first := frames[s.Units[0].AssetID].Clone()
	sum := first.Values(series.PowerKW)
	for _, u := range s.Units[1:] {
		f, j := frames[u.AssetID], 0
		power := f.Values(series.PowerKW)
		for i, t := range first.Times {
			for j < f.Len() && f.Times[j] < t {
				j++
			}
			if j < f.Len() && f.Times[j] == t {
				sum[i] += power[j]
			}
		}
	}
	return first
}

// wander is an Ornstein-Uhlenbeck process of unit variance over days.
type wander struct {
	s       *Site
	purpose string
	days    float64
	index   int
	value   float64
}

func (w *wander) at(index int) float64 {
	if w.index == 0 {
		w.index, w.value = index, w.s.normal(index, w.purpose)
	}
	keep := math.Exp(-1 / w.days)
	for w.index < index {
		w.index++
		w.value = keep*w.value + math.Sqrt(1-keep*keep)*w.s.normal(w.index, w.purpose)
	}
	return w.value
}

// Errors of irradiance: a satellite's of an hour and over days, and a pyranometer's.
const (
	satelliteHour  = 0.10
	satelliteDays  = 0.028
	satelliteHolds = 1800
	flatDays       = 0.006
	peersDay       = 0.004 // of units that are compared with each other
	peersWander    = 0.012
)

// yields returns what a plant makes of its irradiance on so many days: the share of the
// power that the simulation gives the array of a unit, before any limit, on a day of
// [Site.dayIndex] under so much air.
func (m *Measuring) yields(s *Site, days int) func(assetID string, index int, mass float64) float64 {
	p, first := m.plant, s.dayIndex(s.Start)
	units := map[string][]float64{}
	for _, u := range s.Units {
		id := u.AssetID
		if m.Meter != "" {
			id = m.Meter
		}
		common, own := &wander{s: s, purpose: "yield", days: p.days}, &wander{s: s, purpose: "yield " + id, days: 12}
		for day := first; day < first+days; day++ {
			units[u.AssetID] = append(units[u.AssetID], math.Exp(p.wander*common.at(day)+p.day*s.normal(day, "day")+peersWander*own.at(day)+peersDay*s.normal(day, "day "+id)))
		}
	}
	haze := m.haze(s, first, days)
	return func(assetID string, index int, mass float64) float64 {
		day := min(max(index-first, 0), days-1)
		return units[assetID][day] * math.Exp(-haze[day]*mass)
	}
}

// haze returns for so many days from one on what haze absorbs of the light, by air mass.
func (m *Measuring) haze(s *Site, first, days int) []float64 {
	w, out := &wander{s: s, purpose: "haze", days: m.plant.hazeDays}, make([]float64, days)
	for i := range out {
		out[i] = max(m.plant.haze*(1+w.at(first+i)), 0)
	}
	return out
}

// measure returns a unit's frame as a real plant's: power, and the irradiance and the
// temperature that the site has.
func (m *Measuring) measure(s *Site, id string, rating float64, f series.Frame) series.Frame {
	p, first := m.plant, s.dayIndex(s.Start)
	haze, seen := m.haze(s, first, practiceDays+2), &wander{s: s, purpose: "sensor", days: 12}
	jitter := s.random(0, "jitter "+id)
	power, light := f.Values(series.PowerKW), slices.Clone(f.Values(series.IrradianceWM2))
	out := make([]float64, f.Len())
	index, dim, gain := math.MinInt, 0.0, 1.0
	var sky skyDay
	for i, t := range f.Times {
		if day := s.dayIndex(time.Unix(t, 0)); day != index {
			index = day
			dim = haze[min(max(day-first, 0), len(haze)-1)]
			gain = math.Exp(m.lightError() * seen.at(day))
			sky = s.skyDay(day)
		}
		through, flat := sky.at(t)
		through = math.Exp(-dim * through)
		factor := s.scaled(id, t) // the plant's power is measured, then it is delivered in a wrong unit
		v, noise := power[i]/factor, jitter.NormFloat64()
		same := i > 0 && power[i] == power[i-1]
		switch {
		case !(v > 0) || v > 2*rating: // night, or a sentinel
		case same && s.stuck(id, t):
			v = out[i-1] / factor
		case same || i+1 < len(power) && power[i] == power[i+1] || v > 0.999*rating: // at a limit
		default:
			x := v / rating
			v = min(v*x/(x+p.weak)*(1+p.weak)*(1+p.jitter*noise), rating)
			if q := p.quantum * rating; q > 0 {
				v = math.Round(v/q) * q
			}
		}
		out[i] = v * factor
		if light != nil {
			switch m.Light {
			case SatelliteLight, FlatLight:
				light[i] *= through * gain * flat
			case PlaneLight:
				light[i] *= through * gain
			}
		}
	}
	g := series.Frame{Times: f.Times}
	g.Set(series.PowerKW, out)
	if m.Light != NoLight && light != nil {
		if m.Light == SatelliteLight {
			satellite(s, f.Times, light)
		}
		for i := range light {
			light[i] = math.Round(10*max(light[i], 0)) / 10
		}
		g.Set(series.IrradianceWM2, light)
		g.Set(series.TemperatureC, f.Values(series.TemperatureC))
	}
	return m.lose(s, g)
}

// stuck reports whether a reading of a unit, or of the meter of all, is frozen.
func (s *Site) stuck(id string, t int64) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool {
		return f.Kind == StuckSensor && f.within(t) && (f.Concerns(id) || len(f.Units) == len(s.Units))
	})
}

// scaled is the factor on the readings of a unit, or of the meter of all: 1 without a
// wrong unit of measurement.
func (s *Site) scaled(id string, t int64) float64 {
	factor := 1.0
	for _, f := range s.Faults {
		if f.Kind == ScaleError && f.within(t) && (f.Concerns(id) || len(f.Units) == len(s.Units)) {
			factor *= f.Severity
		}
	}
	return factor
}

func (m *Measuring) lightError() float64 {
	if m.Light == SatelliteLight {
		return satelliteDays
	}
	return flatDays
}

// satellite turns readings into half-hourly means with an error that lasts for about an
// hour.
func satellite(s *Site, times []int64, light []float64) {
	r := s.random(0, "satellite")
	e := 0.0
	for i := 0; i < len(times); {
		j, sum := i, 0.0
		for j < len(times) && times[j]/satelliteHolds == times[i]/satelliteHolds {
			sum += light[j]
			j++
		}
		const keep = 0.6
		e = keep*e + math.Sqrt(1-keep*keep)*satelliteHour*r.NormFloat64()
		for k := i; k < j; k++ {
			light[k] = sum / float64(j-i) * math.Exp(e)
		}
		i = j
	}
}

// skyDay holds the clear sky of a day at nodes.
type skyDay struct {
	startS int64
	mass   []float64 // air mass over that of a sun overhead
	flat   []float64 // clear irradiance on the ground over that in the plane of the first unit
}

func (s *Site) skyDay(index int) skyDay {
	start, end := s.dayStart(index), s.dayStart(index+1)
	n := int(end.Sub(start) / cell)
	sun := s.clearDay(start, n)
	d := skyDay{startS: start.Unix(), mass: make([]float64, n+1), flat: make([]float64, n+1)}
	sc := sun.scene(s.Units[0].aim())
	for i := range d.mass {
		d.flat[i] = 1
		if i < sun.dawn || i >= sun.dusk {
			continue
		}
		d.mass[i] = sun.mass(i)
		beam, rest := sun.light(sc, 1, i)
		d.flat[i] = min(max(sun.ghi[i]/max(beam+rest, 1), 0.2), 4)
	}
	return d
}

// at returns the air mass and the ratio of the ground's irradiance at a stamp.
func (d *skyDay) at(t int64) (mass, flat float64) {
	i := min(max(int((t-d.startS)/cellS), 0), len(d.mass)-1)
	return d.mass[i], d.flat[i]
}

// lose leaves out the rows that a logger did not deliver.
func (m *Measuring) lose(s *Site, f series.Frame) series.Frame {
	if f.Len() == 0 {
		return f
	}
	gaps := m.gaps(s, time.Unix(f.Times[f.Len()-1]+1, 0))
	keep := make([]int, 0, f.Len())
	for i, t := range f.Times {
		if !slices.ContainsFunc(gaps, func(g [2]int64) bool { return t >= g[0] && t < g[1] }) {
			keep = append(keep, i)
		}
	}
	return rows(f, keep)
}

// gaps are the spans until a time in which the logger delivers nothing, in Unix seconds.
func (m *Measuring) gaps(s *Site, until time.Time) (out [][2]int64) {
	p := m.plant
	if p.gaps == 0 {
		return nil
	}
	r := s.random(0, "gaps")
	year := 365.25 * 86400.0
	for at := float64(s.Start.Unix()) + year/p.gaps*r.ExpFloat64(); at < float64(until.Unix()); at += year / p.gaps * r.ExpFloat64() {
		out = append(out, [2]int64{int64(at), int64(at + 3600*p.gapHours*r.ExpFloat64())})
	}
	return out
}
