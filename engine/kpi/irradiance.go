package kpi

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Role is what a sensor of irradiance measures.
type Role string

// Roles. A satellite's irradiance is horizontal, unless its plane is given.
const (
	PlaneOfArray  Role = "plane_of_array"
	ReferenceCell Role = "reference_cell" // in the plane of the modules
	Horizontal    Role = "horizontal"
	Satellite     Role = "satellite"
)

// Roles returns all roles, from the one that a performance ratio needs to the
// least suitable one.
func Roles() []Role { return []Role{PlaneOfArray, ReferenceCell, Horizontal, Satellite} }

// Description is the role as it is written in sentences.
func (r Role) Description() string { return strings.ReplaceAll(string(r), "_", " ") }

// Expanded uncertainties (95 %) of insolation, as shares: of hourly totals of
// pyranometers of the monitoring classes A and B of IEC 61724-1 (high and good
// quality of the WMO guide), and of monthly totals from satellites.
var (
	classUncertainty      = map[string]float64{"A": 0.03, "B": 0.08}
	satelliteUncertainty  = 0.10
	transpositionExpanded = 2 * solar.TranspositionUncertainty
)

// Sky is the sun over the intervals of a grid at a place.
type Sky struct {
	at         []skyPoint
	pressurePa float64
}

type skyPoint struct {
	pos              solar.Position
	extraterrestrial float64 // W/m²
	clear            solar.Irradiance
}

// NewSky returns the sun in the middle of n intervals of grid's step from its
// start.
func NewSky(grid series.Series, n int, loc solar.Location) *Sky {
	s := &Sky{at: make([]skyPoint, n), pressurePa: solar.Pressure(loc.AltitudeM)}
	for i := range s.at {
		t := grid.Time(i).Add(grid.Step / 2)
		pos := solar.At(t, loc)
		s.at[i] = skyPoint{pos: pos}
		if pos.ApparentZenithDeg < 90 {
			s.at[i].extraterrestrial, s.at[i].clear = solar.Extraterrestrial(t), solar.ClearSky(t, pos, loc, 0)
		}
	}
	return s
}

// Elevation is that of the sun in an interval, in degrees.
func (s *Sky) Elevation(i int) float64 { return 90 - s.at[i].pos.ApparentZenithDeg }

// Clear is the clear-sky irradiance on a plane in an interval, W/m²; on a
// horizontal one for nil.
func (s *Sky) Clear(i int, p *solar.Plane) float64 {
	a := s.at[i]
	if p == nil || a.clear.GHI <= 0 {
		return a.clear.GHI
	}
	return p.Perez(a.pos, a.clear, a.extraterrestrial, solar.DefaultAlbedo).Global()
}

// Sensor is a column of irradiance with what is known of it.
type Sensor struct {
	ID       string
	Role     Role // "" is unknown and counts as plane of array
	Inferred bool // the role was inferred, or assumed
	Class    string
	Plane    *solar.Plane // of the sensor; nil: that of its role
	Modules  *solar.Plane // of the modules that it is measured for; nil: unknown
	Tracked  bool         // these modules follow the sun
	Values   series.Series
}

// Health is the state of a sensor in a window.
type Health string

// States of sensors. Those that are silent, dead, stuck or deviating are not
// used.
const (
	Healthy   Health = "ok"
	Silent    Health = "silent"    // no reading by day
	Dead      Health = "dead"      // nothing above 5 W/m² by day
	Stuck     Health = "stuck"     // the same value for hours while the sun moves
	Low       Health = "low"       // never near the clear sky: dirty, shaded, or of another scale
	High      Health = "high"      // above the clear sky: of another scale or plane
	Deviating Health = "deviating" // unlike the other sensors of its role
)

// Bounds of the checks of sensors.
const (
	deadWM2         = 5
	deadHours       = 3
	stuckHours      = 12   // of one value, whatever the sun does
	stuckInSunHours = 3    // of one value while the clear sky changes by stuckSunChange
	stuckSunChange  = 0.3  // as a share
	clearDays       = 20   // that hold a clear hour almost surely
	clearElevation  = 15.0 // degrees
	lowShare        = 0.5  // of the clear sky
	highShare       = 1.3
	deviatingShare  = 0.8 // of the median sensor
	planeTiltWithin = 5.0 // degrees between a sensor's plane and the modules'
	planeTurnWithin = 15.0
)

// Check returns the health of a sensor. due reports whether a reading is due in
// an interval, as by day; sky may be nil where the place is unknown.
func (s Sensor) Check(sky *Sky, due func(i int) bool) Health {
	hours := s.Values.Step.Hours()
	n, readings, most := 0, 0, 0.0
	for i, g := range s.Values.Values {
		if !due(i) {
			continue
		}
		n++
		if !math.IsNaN(g) {
			readings, most = readings+1, max(most, g)
		}
	}
	switch {
	case n > 0 && readings == 0:
		return Silent
	case float64(readings)*hours >= deadHours && most < deadWM2:
		return Dead
	case s.stuck(sky):
		return Stuck
	}
	return s.scale(sky)
}

// stuck reports whether the sensor repeats a value for longer than the sun
// allows.
func (s Sensor) stuck(sky *Sky) bool {
	v := s.Values.Values
	for i := 0; i < len(v); {
		j := i + 1
		for j < len(v) && v[j] == v[i] {
			j++
		}
		if hours := float64(j-i) * s.Values.Step.Hours(); v[i] > deadWM2 && hours >= stuckInSunHours {
			if hours >= stuckHours {
				return true
			}
			if sky != nil {
				a, b := sky.Clear(i, nil), sky.Clear(j-1, nil)
				mid := sky.Clear((i+j)/2, nil)
				if least, most := min(a, b, mid), max(a, b, mid); least < (1-stuckSunChange)*most {
					return true
				}
			}
		}
		i = j
	}
	return false
}

// scale compares the sensor's clear hours with the clear sky.
func (s Sensor) scale(sky *Sky) Health {
	if sky == nil || s.Tracked || float64(len(s.Values.Values))*s.Values.Step.Hours() < clearDays*24 {
		return Healthy
	}
	var ratios []float64
	for i, g := range s.Values.Values {
		if clear := sky.Clear(i, s.plane()); !math.IsNaN(g) && sky.Elevation(i) > clearElevation && clear > 0 {
			ratios = append(ratios, g/clear)
		}
	}
	switch q := quantile(ratios, 0.95); {
	case q < lowShare:
		return Low
	case q > highShare:
		return High
	}
	return Healthy
}

// plane is the plane that the sensor measures in; nil is horizontal.
func (s Sensor) plane() *solar.Plane {
	switch {
	case s.Plane != nil:
		return s.Plane
	case s.Role == Horizontal || s.Role == Satellite:
		return nil
	}
	return s.Modules
}

// inModules reports whether the sensor measures in the plane of the modules.
func (s Sensor) inModules() bool {
	switch {
	case s.Role == Horizontal:
		return false
	case s.Plane == nil:
		return s.Role != Satellite
	case s.Tracked:
		return false
	case s.Modules == nil:
		return s.Role != Satellite
	}
	turn := math.Abs(math.Remainder(s.Plane.AzimuthDeg-s.Modules.AzimuthDeg, 360))
	return math.Abs(s.Plane.TiltDeg-s.Modules.TiltDeg) <= planeTiltWithin && (turn <= planeTurnWithin || s.Modules.TiltDeg <= planeTiltWithin)
}

// SensorState is what was found about a sensor.
type SensorState struct {
	ID       string
	Role     Role
	Inferred bool
	Health   Health
	Used     bool
}

// Irradiance is the irradiance in the plane of the modules, with its source.
type Irradiance struct {
	Series      series.Series // W/m²; all NaN if Note is not empty
	Role        Role          // of the sensors that are used
	Inferred    bool          // the role of one of these is inferred
	Transposed  bool          // from horizontal, by DISC and Perez
	Class       string        // monitoring class of IEC 61724-1; empty: unknown, or not one class
	Uncertainty float64       // of the insolation, as a share (95 %); NaN if unknown
	Sensors     []SensorState
	Note        string // why it is unknown, in a sentence; empty if it is known
}

// InPlane makes the irradiance in the plane of the modules of a site's sensors,
// on the grid of n intervals: the mean of the healthy sensors that measure in
// that plane; else of reference cells; else of horizontal sensors, transposed
// to the plane of each one's modules; else of satellites. sky may be nil where
// the place is unknown.
func InPlane(sensors []Sensor, grid series.Series, n int, sky *Sky, due func(i int) bool) Irradiance {
	out := Irradiance{Uncertainty: math.NaN(), Series: grid}
	out.Series.Values = make([]float64, n)
	groups := map[Role][]int{}
	for _, s := range sensors {
		state := SensorState{ID: s.ID, Role: s.Role, Inferred: s.Inferred || s.Role == "", Health: s.Check(sky, due)}
		if state.Role == "" {
			state.Role = PlaneOfArray
		}
		out.Sensors = append(out.Sensors, state)
	}
	markDeviating(sensors, out.Sensors)
	reason := "No irradiance is measured."
	for i, s := range out.Sensors {
		switch {
		case s.Health == Silent || s.Health == Dead || s.Health == Stuck || s.Health == Deviating:
			if len(groups) == 0 {
				reason = fmt.Sprintf("The irradiance sensor of %s is %s.", s.ID, s.Health)
			}
		default:
			groups[s.Role] = append(groups[s.Role], i)
		}
	}
	for _, role := range Roles() {
		var values [][]float64
		for _, i := range groups[role] {
			v, transposed, why := sensors[i].toModules(sky)
			if why != "" {
				reason = why
				continue
			}
			values = append(values, v)
			out.Sensors[i].Used = true
			out.use(out.Sensors[i], sensors[i].Class, transposed, len(values) == 1)
		}
		if len(values) > 0 {
			out.Series.Values = meanOf(values, n)
			return out
		}
	}
	for i := range out.Series.Values {
		out.Series.Values[i] = math.NaN()
	}
	out.Note = reason
	return out
}

// use adds a sensor to the source.
func (r *Irradiance) use(s SensorState, class string, transposed, first bool) {
	r.Role, r.Inferred, r.Transposed = s.Role, r.Inferred || s.Inferred, r.Transposed || transposed
	if first {
		r.Class = class
	} else if r.Class != class {
		r.Class = ""
	}
	own, known := classUncertainty[r.Class]
	if r.Role == Satellite {
		own, known = satelliteUncertainty, true
	}
	switch {
	case r.Transposed:
		r.Uncertainty = math.Hypot(own, transpositionExpanded)
	case known:
		r.Uncertainty = own
	default:
		r.Uncertainty = math.NaN()
	}
}

// toModules is the sensor's irradiance in the plane of its modules. why says
// why it cannot be made.
func (s Sensor) toModules(sky *Sky) (values []float64, transposed bool, why string) {
	if s.inModules() {
		return s.Values.Values, false, ""
	}
	what := "horizontal"
	if s.Plane != nil {
		what = fmt.Sprintf("at a tilt of %g° and an azimuth of %g°", s.Plane.TiltDeg, s.Plane.AzimuthDeg)
	}
	only := "The irradiance of " + s.ID + " is " + what
	switch {
	case s.Plane != nil && s.Plane.TiltDeg > planeTiltWithin:
		return nil, false, only + ", which is not the plane of the modules."
	case s.Tracked:
		return nil, false, only + ", and the modules follow the sun: a sensor on the tracker is needed."
	case s.Modules == nil:
		return nil, false, only + ", and the tilt and azimuth of the modules are unknown."
	case sky == nil:
		return nil, false, only + ", and the latitude and longitude of the site are unknown."
	}
	values = make([]float64, len(s.Values.Values))
	for i, g := range s.Values.Values {
		a := sky.at[i]
		switch {
		case math.IsNaN(g):
			values[i] = g
		case a.extraterrestrial > 0:
			values[i] = s.Modules.FromHorizontal(a.pos, max(g, 0), a.extraterrestrial, sky.pressurePa, solar.DefaultAlbedo).Global()
		}
	}
	return values, true, ""
}

// markDeviating marks sensors that differ from the median of at least three
// healthy ones of their role, over the intervals that all of these have.
func markDeviating(sensors []Sensor, states []SensorState) {
	for _, role := range Roles() {
		var of []int
		for i, s := range states {
			if s.Role == role && s.Health == Healthy {
				of = append(of, i)
			}
		}
		if len(of) < 3 {
			continue
		}
		sums := make([]float64, len(of))
		for i := range sensors[of[0]].Values.Values {
			if slices.ContainsFunc(of, func(k int) bool { return math.IsNaN(sensors[k].Values.Values[i]) }) {
				continue
			}
			for j, k := range of {
				sums[j] += max(sensors[k].Values.Values[i], 0)
			}
		}
		middle := median(sums)
		for j, k := range of {
			if sums[j] < deviatingShare*middle || sums[j] > middle/deviatingShare {
				states[k].Health = Deviating
			}
		}
	}
}

func meanOf(values [][]float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		sum, k := 0.0, 0
		for _, v := range values {
			if !math.IsNaN(v[i]) {
				sum, k = sum+v[i], k+1
			}
		}
		out[i] = sum / float64(k) // 0/0 is NaN
	}
	return out
}

// Bounds of the inference of roles.
const (
	roleLeastTilt   = 10.0 // degrees, below which both roles are alike
	roleLeastHours  = 3.75 // of data in an hour of the day
	roleLeastBins   = 4
	roleLeastClear  = 150.0 // W/m²
	roleMargin      = 0.03
	roleWorstSpread = 0.35
)

// InferRole infers from readings whether a sensor measures in the plane of the
// modules or horizontally: of the two clear skies the one that the highest
// readings of each hour of the day follow more evenly. ok is false if the data
// do not show it, as where the modules are nearly horizontal.
func InferRole(values series.Series, sky *Sky, modules solar.Plane) (role Role, ok bool) {
	if modules.TiltDeg < roleLeastTilt {
		return PlaneOfArray, false
	}
	// How far the tops of the hours are from the clear sky: their spread, and how
	// far from 1 they are, hours weighted by their clear sky.
	spread := func(p *solar.Plane) float64 {
		var ratios, clears [24][]float64
		for i, g := range values.Values {
			if clear := sky.Clear(i, p); !math.IsNaN(g) && sky.Elevation(i) > clearElevation && clear > roleLeastClear {
				hour := values.Time(i).Add(values.Step / 2).UTC().Hour()
				ratios[hour], clears[hour] = append(ratios[hour], g/clear), append(clears[hour], clear)
			}
		}
		var sum, squares, weight float64
		n := 0
		for hour, list := range ratios {
			if float64(len(list))*values.Step.Hours() < roleLeastHours {
				continue
			}
			top, w := quantile(list, 0.9), mean(clears[hour])
			sum, squares, weight, n = sum+w*top, squares+w*top*top, weight+w, n+1
		}
		if n < roleLeastBins {
			return math.NaN()
		}
		m := sum / weight
		return math.Sqrt(max(squares/weight-m*m, 0))/m + math.Abs(m-1)/2
	}
	tilted, flat := spread(&modules), spread(nil)
	if !(min(tilted, flat) < roleWorstSpread) || !(math.Abs(tilted-flat) > roleMargin) {
		return PlaneOfArray, false
	}
	if flat < tilted {
		return Horizontal, true
	}
	return PlaneOfArray, true
}

// quantile of values, which it leaves in their order; NaN of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return s[int(q*float64(len(s)-1)+0.5)]
}
