package simulate

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// cell is the grid of the simulation: between its nodes power is linear in
// time. Faults begin and end on it.
const (
	cell      = 5 * time.Minute
	cellS     = int64(cell / time.Second)
	cellHours = float64(cellS) / 3600
)

// cachedDays is how many generated days a site keeps.
const cachedDays = 8

// day is one site day, generated whole.
type day struct {
	index  int
	startS int64
	cells  int
	units  []curve
	sensor curve     // plane-of-array irradiance, W/m²
	tempC  []float64 // at nodes
}

// curve is linear in each cell, from left to right, and may jump between
// cells; cum is its integral in units × hours up to each node.
type curve struct{ left, right, cum []float64 }

func newCurve(cells int) curve {
	all := make([]float64, 3*cells+1)
	return curve{all[:cells:cells], all[cells : 2*cells : 2*cells], all[2*cells:]}
}

func (c curve) integrate() {
	for i := range c.left {
		c.cum[i+1] = c.cum[i] + 0.5*(c.left[i]+c.right[i])*cellHours
	}
}

// upTo is the integral from the day's start to a number of seconds later.
func (c curve) upTo(s int64) float64 {
	i := int(s / cellS)
	if i >= len(c.left) {
		return c.cum[len(c.left)]
	}
	f := float64(s%cellS) / float64(cellS)
	return c.cum[i] + f*(c.left[i]+0.5*f*(c.right[i]-c.left[i]))*cellHours
}

func (c curve) total() float64 { return c.cum[len(c.left)] }

// dayIndex counts the site's civil days since 1970-01-01.
func (s *Site) dayIndex(t time.Time) int {
	y, m, d := t.In(s.Zone).Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// dayStart is the first instant of a civil day.
func (s *Site) dayStart(index int) time.Time {
	y, m, d := time.Unix(int64(index)*86400, 0).UTC().Date()
	return series.Midnight(time.Date(y, m, d, 12, 0, 0, 0, s.Zone), s.Zone)
}

// at is the day, from the cache or made. The caller holds mu.
func (s *Site) at(index int) *day {
	if d := s.days[index]; d != nil {
		return d
	}
	d := s.generate(index, s.Faults)
	if len(s.recent) == cachedDays {
		delete(s.days, s.recent[0])
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.days[index], s.recent = d, append(s.recent, index)
	return d
}

// counters are the units' lifetime counters at the start of a day, in kWh. The
// caller holds mu. Days are integrated from the site's start once.
func (s *Site) counters(index int) []float64 {
	first := s.dayIndex(s.Start)
	if s.totals == nil {
		initial := make([]float64, len(s.Units))
		for i, u := range s.Units {
			years := 0.5 + 6*s.chance(i, "age")
			initial[i] = math.Round(u.CapacityKW * 1700 * years)
		}
		s.totals = [][]float64{initial}
	}
	for len(s.totals) <= index-first {
		last := s.totals[len(s.totals)-1]
		d := s.at(first + len(s.totals) - 1)
		next := make([]float64, len(last))
		for i := range last {
			next[i] = last[i] + d.units[i].total()
		}
		s.totals = append(s.totals, next)
	}
	return s.totals[max(index-first, 0)]
}

// scene is the light of one day on one plane, at nodes: what a clear sky gives.
type scene struct {
	beam    []float64 // direct light in the plane for a clear sky, W/m²
	skyView float64   // share of the diffuse light that the plane sees
	ground  float64   // share of the global light that the ground adds
}

// generate makes a day from the given faults alone.
func (s *Site) generate(index int, faults []Fault) *day {
	start, end := s.dayStart(index), s.dayStart(index+1)
	n := int(end.Sub(start) / cell)
	d := &day{index: index, startS: start.Unix(), cells: n, units: make([]curve, len(s.Units)), sensor: newCurve(n)}
	buf := make([]float64, 8*(n+1))
	take := func() []float64 {
		out := buf[: n+1 : n+1]
		buf = buf[n+1:]
		return out
	}
	d.tempC = take()
	ghi, dhi, horizontal, azimuth, zSite := take(), take(), take(), take(), take()
	cosZ, dni := take(), take()

	temperature := s.temperature(index)
	linke := solar.LinkeTurbidity(s.Location, start.Month())
	positions := make([]solar.Position, n+1)
	dawn, dusk := n+1, 0 // nodes with sun: [dawn, dusk)
	for i := range n + 1 {
		t := start.Add(time.Duration(i) * cell)
		d.tempC[i] = temperature(float64(i) / float64(n))
		p := solar.At(t, s.Location)
		positions[i], azimuth[i] = p, p.AzimuthDeg
		if p.ApparentZenithDeg >= 89.5 {
			continue
		}
		irr := solar.ClearSky(t, p, s.Location, linke)
		ghi[i], dhi[i], dni[i] = irr.GHI, irr.DHI, irr.DNI
		cosZ[i] = math.Cos(p.ApparentZenithDeg * math.Pi / 180)
		horizontal[i] = irr.DNI * cosZ[i]
		dawn, dusk = min(dawn, i), i+1
	}
	scenes := map[solar.Plane]scene{}
	for _, u := range s.Units {
		if _, ok := scenes[u.Plane]; !ok {
			scenes[u.Plane] = look(u.Plane, positions, dni, n)
		}
	}

	kind := s.skyOf(index)
	haze := 1 - 0.05*s.chance(index, "haze")
	clouds(s.random(index, "clouds"), zSite)
	light := func(sc scene, z []float64, i int) (beam, rest float64) {
		k := haze * cloudTransmission(kind, z[i])
		direct := min(max((k-0.25)/0.72, 0), 1) // the beam goes first, diffuse light grows under cloud
		global := k * ghi[i]
		diffuse := max(global-direct*horizontal[i], 0.05*global)
		return direct * sc.beam[i], diffuse*sc.skyView + global*sc.ground
	}

	if len(s.Units) > 0 {
		r, sc := s.random(index, "sensor"), scenes[s.Units[0].Plane]
		for i := dawn; i < dusk; i++ {
			beam, rest := light(sc, zSite, i)
			d.sensor.set(i, (beam+rest)*(1+0.01*r.NormFloat64()))
		}
	}
	d.sensor.integrate()

	z := make([]float64, n+1)
	own := make([]float64, n+1)
	for k, u := range s.Units {
		r := s.random(index, u.AssetID)
		clouds(r, own)
		for i := range z {
			z[i] = cloudShare*zSite[i] + math.Sqrt(1-cloudShare*cloudShare)*own[i]
		}
		c := newCurve(n)
		acting := s.acting(faults, u, index, d.startS, start, end)
		sc := scenes[u.Plane]
		for i := dawn; i < dusk; i++ {
			beam, rest := light(sc, z, i)
			noise := 1 + unitNoise*r.NormFloat64()
			if len(acting) == 0 {
				c.set(i, u.acKW(beam, rest, d.tempC[i], noise, effect{array: 1, beam: 1, limitKW: u.CapacityKW}))
				continue
			}
			// A node belongs to the cell on its left and to the one on its
			// right, and a fault may act on only one of them.
			if i > 0 {
				c.right[i-1] = u.acKW(beam, rest, d.tempC[i], noise, combined(acting, u, i-1, azimuth[i], d.tempC[i]))
			}
			if i < n {
				c.left[i] = u.acKW(beam, rest, d.tempC[i], noise, combined(acting, u, i, azimuth[i], d.tempC[i]))
			}
		}
		c.integrate()
		d.units[k] = c
	}
	return d
}

// set gives both cells that share node i its value.
func (c curve) set(i int, v float64) {
	if i > 0 {
		c.right[i-1] = v
	}
	if i < len(c.left) {
		c.left[i] = v
	}
}

// look is how a plane sees the day: the beam by the angle of incidence, the
// rest isotropic, ground albedo 0.2.
func look(p solar.Plane, positions []solar.Position, dni []float64, n int) scene {
	const albedo = 0.2
	tilt := p.TiltDeg * math.Pi / 180
	sc := scene{make([]float64, n+1), (1 + math.Cos(tilt)) / 2, albedo * (1 - math.Cos(tilt)) / 2}
	for i, d := range dni {
		if d <= 0 {
			continue
		}
		zen, az := positions[i].ApparentZenithDeg*math.Pi/180, (positions[i].AzimuthDeg-p.AzimuthDeg)*math.Pi/180
		incidence := math.Cos(zen)*math.Cos(tilt) + math.Sin(zen)*math.Sin(tilt)*math.Cos(az)
		sc.beam[i] = d * max(incidence, 0)
	}
	return sc
}

func cloudTransmission(kind sky, z float64) float64 {
	t := transmission[kind]
	return t.low + (t.high-t.low)/(1+math.Exp((t.edge-z)/t.width))
}

// effect is what the faults of a moment do to a unit.
type effect struct {
	array, beam float64 // share of the array's power and of the beam that remain
	limitKW     float64
	off         bool
}

// acKW is a unit's AC power under the light of its plane: array power with a
// temperature coefficient of -0.37 %/K, 4 % wiring and mismatch loss, inverter
// efficiency 97.5 %, no feed-in below 0.3 % of the rating.
func (u Unit) acKW(beam, rest, ambientC, noise float64, e effect) float64 {
	if e.off {
		return 0
	}
	poa := beam*e.beam + rest
	cellC := ambientC + 0.03*poa // ambient + NOCT rise of 24 K at 800 W/m²
	p := u.CapacityKW * u.DCRatio * poa / 1000 * (1 - 0.0037*(cellC-25)) * 0.96 * 0.975 * e.array * noise
	if p < 0.003*u.CapacityKW {
		return 0
	}
	return min(p, e.limitKW)
}

// action is a fault as it acts on one unit on one day.
type action struct {
	Fault
	from, to int // cells [from, to)
	array    float64
}

// acting are the faults that change what the unit produces on a day.
func (s *Site) acting(faults []Fault, u Unit, index int, startS int64, start, end time.Time) []action {
	var out []action
	for _, f := range faults {
		if !f.Overlaps(start, end) || !f.Concerns(u.AssetID) || f.Kind == CommunicationGap || f.Kind == StuckSensor {
			continue
		}
		a := action{Fault: f, from: int(max(f.From.Unix()-startS, 0) / cellS), to: math.MaxInt, array: 1}
		if !f.To.IsZero() {
			a.to = int((f.To.Unix() - startS + cellS - 1) / cellS)
		}
		switch f.Kind {
		case StringLoss:
			a.array = 1 - f.Severity
		case Soiling:
			a.array = max(1-f.Severity*float64(s.dryDays(index, s.dayIndex(f.From))), 0.7)
		case Degradation:
			a.array = math.Pow(1-f.Severity, max(start.Sub(f.From).Hours(), 0)/8766)
		}
		out = append(out, a)
	}
	return out
}

// combined is the effect of all faults that act in a cell.
func combined(acting []action, u Unit, cell int, azimuthDeg, ambientC float64) effect {
	e := effect{array: 1, beam: 1, limitKW: u.CapacityKW}
	for _, a := range acting {
		if cell < a.from || cell >= a.to {
			continue
		}
		e.array *= a.array
		switch a.Kind {
		case UnitOutage, SiteOutage:
			e.off = true
		case Curtailment:
			e.limitKW = min(e.limitKW, a.Severity*u.CapacityKW)
		case Derating:
			// A healthy cabinet runs 15 K above ambient; from 45 °C in it on
			// the inverter gives way by 2 % of its rating for each kelvin.
			hot := ambientC + 15 + a.Severity - 45
			e.limitKW = min(e.limitKW, u.CapacityKW*max(1-0.02*max(hot, 0), 0.3))
		case PartialShade:
			if off := math.Mod(azimuthDeg-a.AzimuthDeg+720, 360); off < a.WidthDeg {
				e.beam *= 1 - a.Severity
			}
		}
	}
	return e
}
