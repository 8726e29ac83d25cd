package detect

import (
	"math"

	"app.sunloop/engine/solar"
)

// modules is how the site's modules lie and which light on them is known.
type modules struct {
	location      *solar.Location
	plane         solar.Plane
	tracker       bool
	known         bool
	inPlane, flat float64   // sunny days that indicate a sensor in the plane of the modules, and for a flat one
	sensed        bool      // there is a sensor
	clear         []float64 // clear sky in the plane of each cell of the day, W/m²
	fitted        fitting
}

// lightSource is where the light on the modules is known from.
type lightSource int

const (
	noLight     lightSource = iota
	sensorLight             // a sensor in their plane
	clearLight              // a clear sky, on the clearest hours
)

func (l lightSource) words() string {
	if l == sensorLight {
		return "measured light"
	}
	return "the light of a clear sky"
}

// newModules takes the way that most units lie.
func newModules(in Input) modules {
	m := modules{location: in.Site.Location}
	count := map[solar.Plane]int{}
	trackers := 0
	for _, u := range in.Units {
		switch {
		case u.Tracker:
			trackers++
		case u.Plane != nil:
			count[*u.Plane]++
			if !m.known || count[*u.Plane] > count[m.plane] {
				m.plane, m.known = *u.Plane, true
			}
		}
	}
	if 2*trackers > len(in.Units) {
		m.tracker, m.known = true, true
	}
	return m
}

// trackerReachDeg is how far a tracker is taken to turn from flat.
const trackerReachDeg = 55

// at is the plane under a sun: a tracker on a horizontal axis from north to
// south turns to it.
func (m *modules) at(p solar.Position) solar.Plane {
	if !m.tracker {
		return m.plane
	}
	zen, az := p.ApparentZenithDeg*math.Pi/180, p.AzimuthDeg*math.Pi/180
	angle := math.Atan2(-math.Sin(zen)*math.Sin(az), math.Cos(zen)) * 180 / math.Pi
	angle = min(max(angle, -trackerReachDeg), trackerReachDeg)
	if angle < 0 {
		return solar.Plane{TiltDeg: -angle, AzimuthDeg: 90}
	}
	return solar.Plane{TiltDeg: angle, AzimuthDeg: 270}
}

// learn adds a day: the clear sky on the modules, and whether a sensor has the
// modules' orientation, by its profile on clear days.
func (m *modules) learn(v *view, s *session) {
	if m.location == nil {
		return
	}
	if !m.known {
		best, ok := m.fitted.learn(v, s)
		if m.known = ok; !ok {
			return
		}
		m.plane, m.tracker = best.plane, best.tracker
	}
	fit(&m.clear, v.cells)
	linke := solar.LinkeTurbidity(*m.location, v.date.Month())
	var asIs, raised, rise []float64
	for i := range v.cells {
		m.clear[i] = 0
		if v.clear[i] <= 0 {
			continue
		}
		t := v.middle(i)
		p := solar.At(t, *m.location)
		irr := solar.ClearSky(t, p, *m.location, linke)
		m.clear[i] = m.at(p).Isotropic(p, irr, 0.2).Global()
		g, share := v.light[i], v.share[i]
		m.sensed = m.sensed || g > 50
		// Under cloud, tilted and horizontal sensors read nearly the
		// same; only direct sun distinguishes them.
		if v.clear[i] < 0.12 || !(g > sunlit*min(m.clear[i], irr.GHI)) || !(share > 0.05 && share < 0.85) {
			continue
		}
		rise = append(rise, m.clear[i]/irr.GHI)
		asIs = append(asIs, share/lightYield(g, v.tempC[i]))
		raised = append(raised, share/lightYield(g*m.clear[i]/irr.GHI, v.tempC[i]))
	}
	if float64(len(rise))*v.hours() < 2 || len(rise) < 4 || relativeSpread(rise) < tellingRise {
		return
	}
	const clearly, steady = 0.7, 0.15
	switch a, b := relativeSpread(asIs), relativeSpread(raised); {
	case a < clearly*b && a < steady:
		m.inPlane++
	case b < clearly*a && b < steady:
		m.flat++
	}
}

// The orientation of a sensor is determined on sunny days: the units' power is
// proportional to the irradiance on their modules.
const (
	sunlit      = 0.6 // of a clear sky's light
	tellingRise = 0.1 // spread over the day of the light in the plane against that on the ground
	tellingDays = 4
)

// flatTilt is the tilt below which a flat sensor and one in plane see nearly
// the same.
const flatTilt = 8

func relativeSpread(values []float64) float64 {
	low, high := quantile(values, 0.1), quantile(values, 0.9)
	return (high - low) / median(values)
}

// source is where the light is known from: a sensor once it is known to lie as
// the modules do.
func (m *modules) source() lightSource {
	switch {
	case m.location == nil || !m.known:
		return noLight
	case !m.sensed:
		return clearLight
	case !m.tracker && m.plane.TiltDeg < flatTilt:
		return sensorLight
	case m.inPlane+m.flat < tellingDays:
		return noLight // the orientation of the sensor is not known yet
	case m.inPlane > 2*m.flat:
		return sensorLight
	}
	return clearLight
}

// light on the modules at a cell, W/m².
func (m *modules) light(v *view, i int, source lightSource) float64 {
	if source == sensorLight {
		return v.light[i]
	}
	return m.clear[i]
}

// fitting finds how a site's modules lie from the shape of its clear days.
type fitting struct {
	days  int
	error [len(candidates)]float64
}

// candidates are the ways that most sites lie: a tracker, and planes by tilt
// and by how far they turn from the equator.
var candidates = [...]struct {
	tracker    bool
	tilt, turn float64
}{
	{true, 0, 0},
	{false, 5, 0}, {false, 15, 0}, {false, 25, 0}, {false, 35, 0},
	{false, 15, -45}, {false, 15, 45}, {false, 30, -45}, {false, 30, 45}, {false, 15, -90}, {false, 15, 90},
}

// fittingDays is how many clear days a fit needs.
const fittingDays = 8

// learn adds a clear day. ok reports that the fit is complete.
func (f *fitting) learn(v *view, s *session) (best modules, ok bool) {
	if !v.sky.bright || !v.sky.complete {
		return best, false
	}
	loc := *s.in.Site.Location
	equator := 180.0
	if loc.LatitudeDeg < 0 {
		equator = 0
	}
	var ways [len(candidates)]modules
	for c, lie := range candidates {
		ways[c] = modules{tracker: lie.tracker, plane: solar.Plane{TiltDeg: lie.tilt, AzimuthDeg: math.Mod(equator+lie.turn+360, 360)}}
	}
	linke := solar.LinkeTurbidity(loc, v.date.Month())
	shares := make([]float64, 0, len(v.units))
	var ratios [len(candidates)][]float64
	for i := range v.cells {
		if v.clear[i] < 0.2 {
			continue
		}
		shares = shares[:0]
		for k := range v.units {
			if r := s.rating(k); r > 0 && v.units[k].power[i] < 0.95*r {
				shares = append(shares, v.units[k].power[i]/r)
			}
		}
		if len(shares) == 0 {
			continue
		}
		p, t := median(shares), v.middle(i)
		pos := solar.At(t, loc)
		irr := solar.ClearSky(t, pos, loc, linke)
		for c := range ways {
			ratios[c] = append(ratios[c], p/lightYield(ways[c].at(pos).Isotropic(pos, irr, 0.2).Global(), v.tempC[i]))
		}
	}
	if float64(len(ratios[0]))*v.hours() < 3 {
		return best, false
	}
	f.days++
	least := 0
	for c := range ratios {
		if f.error[c] += relativeSpread(ratios[c]); f.error[c] < f.error[least] {
			least = c
		}
	}
	return ways[least], f.days >= fittingDays
}
