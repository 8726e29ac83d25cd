package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/solar"
)

// soiling finds a site whose yield on the measured light sinks day by day: dirt
// on the modules. The figure of a day is the median over the units of power on
// light against each unit's own first weeks; a robust slope over weeks finds
// the decline, a jump up ends it: rain or a wash. It needs a sensor that lies
// in the plane of the modules, for the season bends everything else.
type soiling struct {
	sensor    sensorPlane
	reference []float64 // yield of each unit in its first weeks; NaN until known
	early     []ring
	points    []point
	record    *record
	clean     float64 // the day's figure when the decline began
}

// point is the figure of a day.
type point struct {
	day   float64 // days since 1970
	start int64
	yield float64
}

// Figures of the rule.
const (
	soilingLight   = 400   // W/m² that a sample needs
	soilingLoss    = 0.03  // least loss worth an event
	soilingSlope   = -4e-4 // least decline in a day
	soilingCertain = -2e-4 // the same at the edge of the 95 % band
	soilingJump    = 0.012 // least jump up that is a cleaning
	soilingDays    = 90    // of history kept
)

func newSoiling(s *session) *soiling {
	o := &soiling{reference: make([]float64, len(s.in.Units)), early: make([]ring, len(s.in.Units))}
	for k := range o.reference {
		o.reference[k] = math.NaN()
	}
	o.sensor = newSensorPlane(s.in)
	return o
}

func (o *soiling) look(v *view, s *session) {
	o.sensor.learn(v)
	yield, ok := o.figure(v, s)
	if !ok || v.cells == 0 {
		return
	}
	if o.record != nil {
		o.record.lost += o.missing(v)
	}
	now := point{float64(v.first) / 86400, v.first, yield}
	if n := len(o.points); n >= 3 {
		before := medianYield(o.points[n-3:])
		jump := soilingJump
		if o.record != nil {
			jump = max(jump, 0.5*(o.clean-before))
		}
		if yield-before > jump {
			if o.record != nil {
				o.record.end = now.start
				o.record = nil
			}
			o.points = append(o.points[:0], now)
			return
		}
	}
	if o.points = append(o.points, now); len(o.points) > soilingDays {
		o.points = slices.Delete(o.points, 0, 1)
	}
	end := v.first + int64(v.cells)*v.step
	if o.record != nil {
		o.record.lastSeen = end
		o.record.fraction = max((o.clean-medianYield(o.points[max(len(o.points)-3, 0):]))/o.clean, 0)
		o.record.seen.days++
		return
	}
	if o.sensor.inPlane() {
		o.judge(s, end)
	}
}

// judge looks for a decline over the last three to six weeks.
func (o *soiling) judge(s *session, end int64) {
	for _, days := range []int{20, 40} {
		now := o.points[len(o.points)-1]
		from := len(o.points) - 1
		for from > 0 && now.day-o.points[from-1].day <= float64(days) {
			from--
		}
		window := o.points[from:]
		span := now.day - window[0].day
		if len(window) < 10 || span < 10 {
			continue
		}
		slope, upper := decline(window)
		if loss := -slope * span; slope > soilingSlope || upper > soilingCertain || loss < soilingLoss {
			continue
		}
		last := medianYield(window[len(window)-3:])
		o.clean = last - slope*span
		f := newFacts()
		f.days, f.level, f.spread = len(window), slope, upper
		r := &record{family: Soiling, start: window[0].start, detected: end, lastSeen: end, fraction: (o.clean - last) / o.clean, seen: f}
		for k := range s.in.Units {
			r.units = append(r.units, k)
			r.seen.rating += s.rating(k)
		}
		o.record = s.open(r)
		return
	}
}

// decline is the Theil-Sen slope of the points for each day and the upper end
// of its 95 % band (Sen 1968: the rank of the pairwise slopes by Kendall's
// variance).
func decline(points []point) (slope, upper float64) {
	var slopes []float64
	for i, a := range points {
		for _, b := range points[i+1:] {
			slopes = append(slopes, (b.yield-a.yield)/(b.day-a.day))
		}
	}
	slices.Sort(slopes)
	n := float64(len(points))
	half := 1.96 * math.Sqrt(n*(n-1)*(2*n+5)/18)
	rank := int(math.Ceil((float64(len(slopes)) + half) / 2))
	return quantile(slopes, 0.5), slopes[min(rank, len(slopes)-1)]
}

func medianYield(points []point) float64 {
	var values []float64
	for _, p := range points {
		values = append(values, p.yield)
	}
	return median(values)
}

// figure is the site's yield of the day on measured light against its first
// weeks; ok is false on days with less than an hour and a half of good light.
func (o *soiling) figure(v *view, s *session) (float64, bool) {
	var all []float64
	for k := range s.in.Units {
		u, rating := &v.units[k], s.rating(k)
		var yields []float64
		for i := range v.cells {
			p, g := u.power[i], v.light[i]
			if g > soilingLight && u.claimed[i] == "" && p > 0.1*rating && p < 0.93*rating {
				yields = append(yields, p/rating/lightYield(g, v.tempC[i]))
			}
		}
		if float64(len(yields))*v.hours() < 1.5 {
			continue
		}
		yield := median(yields)
		if math.IsNaN(o.reference[k]) {
			if o.early[k].remember(yield, 15); len(o.early[k].values) < 15 {
				continue
			}
			o.reference[k] = o.early[k].quantile(0.5, 1, yield)
		}
		all = append(all, yield/o.reference[k])
	}
	if len(all) == 0 {
		return 0, false
	}
	return median(all), true
}

// missing is what the dirt took from the day's energy.
func (o *soiling) missing(v *view) float64 {
	var made float64
	for k := range v.units {
		u := &v.units[k]
		for i, p := range u.power[:v.cells] {
			if p > 0 && u.claimed[i] == "" {
				made += p * v.hours()
			}
		}
	}
	f := o.record.fraction
	return made * f / (1 - f)
}

// sensorPlane tells from the shape of clear days whether the irradiance sensor
// lies in the plane of the modules or flat.
type sensorPlane struct {
	location     *solar.Location
	plane        solar.Plane
	known        bool
	tilted, flat ring // daily spread of the reading against either
}

// newSensorPlane takes the plane that most units have.
func newSensorPlane(in Input) sensorPlane {
	count := map[solar.Plane]int{}
	sp := sensorPlane{location: in.Site.Location}
	for _, u := range in.Units {
		if u.Plane == nil {
			continue
		}
		count[*u.Plane]++
		if !sp.known || count[*u.Plane] > count[sp.plane] {
			sp.plane, sp.known = *u.Plane, true
		}
	}
	return sp
}

func (sp *sensorPlane) learn(v *view) {
	if sp.location == nil || !sp.known || sp.plane.TiltDeg < flatTilt {
		return
	}
	linke := solar.LinkeTurbidity(*sp.location, v.date.Month())
	var tilted, flat []float64
	for i := range v.cells {
		if v.clear[i] < 0.3 || !(v.light[i] > 50) {
			continue
		}
		t := v.time(i)
		p := solar.At(t, *sp.location)
		irr := solar.ClearSky(t, p, *sp.location, linke)
		poa := sp.plane.Isotropic(p, irr, 0.2)
		tilted = append(tilted, v.light[i]/poa.Global())
		flat = append(flat, v.light[i]/irr.GHI)
	}
	if float64(len(tilted))*v.hours() < 4 {
		return
	}
	sp.tilted.remember(relativeSpread(tilted), usualDays)
	sp.flat.remember(relativeSpread(flat), usualDays)
}

// flatTilt is the tilt below which a flat sensor and one in plane see nearly
// the same.
const flatTilt = 8

func relativeSpread(values []float64) float64 {
	low, high := quantile(values, 0.1), quantile(values, 0.9)
	return (high - low) / median(values)
}

// inPlane compares the clearest days of the last month.
func (sp *sensorPlane) inPlane() bool {
	if sp.location == nil || !sp.known {
		return false
	}
	if sp.plane.TiltDeg < flatTilt {
		return true
	}
	return sp.tilted.quantile(0.2, 10, math.Inf(1)) < 0.8*sp.flat.quantile(0.2, 10, 0)
}

func soilingEvidence(r *record) []observation {
	f := &r.seen
	return []observation{
		shows("yield_slope", 100*f.level, 100*f.spread, "%/day", "Yield on measured light sank by %.2f %% a day over the weeks before it was noticed, at least %.2f %% with 95 %% certainty.",
			-100*f.level, -100*f.spread).weigh(2, nil),
		shows("loss_now", 100*r.fraction, 100*soilingLoss, "%", "It now stands %.1f %% below the start of the decline, after %d days of good light.", 100*r.fraction, f.days).weigh(0.7, nil),
		shows("all_units", float64(len(r.units)), float64(len(r.units)), "units", "The figure is the median of the site's units: no single one explains it.").weigh(0.5, nil),
	}
}
