package simulate

import (
	"math"
	"time"

	"app.sunloop/engine/solar"
)

// generate makes a day from the given faults only.
func (s *Site) generate(index int, faults []Fault) *day {
	start, end := s.dayStart(index), s.dayStart(index+1)
	n := int(end.Sub(start) / cell)
	d := &day{index: index, startS: start.Unix(), cells: n, units: make([]curve, len(s.Units)), sensor: newCurve(n), tempC: make([]float64, n+1), clipped: make([]int, len(s.Units))}
	temperature := s.temperature(index)
	for i := range d.tempC {
		d.tempC[i] = temperature(float64(i) / float64(n))
	}
	sun := s.clearDay(start, n)
	kind := s.skyOf(index)
	haze := 1 - 0.05*s.chance(index, "haze")
	through := func(z float64) float64 { return haze * cloudTransmission(kind, z) }

	zSite := make([]float64, n+1)
	clouds(s.random(index, "clouds"), zSite)
	if len(s.Units) > 0 {
		r, sc := s.random(index, "sensor"), sun.scene(s.Units[0].aim())
		for i := sun.dawn; i < sun.dusk; i++ {
			beam, rest := sun.light(sc, through(zSite[i]), i)
			d.sensor.set(i, (beam+rest)*(1+0.01*r.NormFloat64()))
		}
	}
	d.sensor.integrate()

	own, share, noise := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
	book := newBook(faults, s.Units, start, end)
	for k := range s.Units {
		u := &s.Units[k]
		r := s.random(index, u.AssetID)
		clouds(r, own)
		for i := sun.dawn; i < sun.dusk; i++ {
			share[i] = through(cloudShare*zSite[i] + math.Sqrt(1-cloudShare*cloudShare)*own[i])
			noise[i] = 1 + unitNoise*r.NormFloat64()
			if s.yield != nil {
				noise[i] *= s.yield(u.AssetID, index, sun.mass(i))
			}
		}
		c := newCurve(n)
		acting := s.acting(faults, *u, index, sun, start, end)
		power := func(i int, e effect) float64 {
			if e.off {
				return 0
			}
			a := u.aim()
			if e.stuck != nil {
				a = *e.stuck
			}
			beam, rest := sun.light(sun.scene(a), share[i], i)
			return u.acKW(beam, rest, d.tempC[i], noise[i], e)
		}
		if len(acting) == 0 {
			for i := sun.dawn; i < sun.dusk; i++ {
				c.set(i, power(i, effect{array: 1, beam: 1, limitKW: u.CapacityKW}))
			}
		} else {
			// A node belongs to the cell on its left and to the one on its
			// right, and a fault may act on only one of them.
			for i := max(sun.dawn-1, 0); i < min(sun.dusk, n); i++ {
				mean := func(left int) float64 {
					var both [2]float64
					for side := range both {
						if j := i + side; j >= sun.dawn && j < sun.dusk {
							both[side] = power(j, combined(acting, left, *u, i, sun.azimuth(j), d.tempC[j]))
						}
					}
					if left == noFault {
						c.left[i], c.right[i] = both[0], both[1]
					}
					return (both[0] + both[1]) / 2
				}
				made := mean(noFault)
				for a := range acting {
					if i >= acting[a].from && i < acting[a].to {
						book.lost(acting[a].index, u.CapacityKW, i, mean(a), made)
					}
				}
			}
		}
		c.integrate()
		d.units[k] = c
		d.clipped[k] = u.atLimit(c)
		book.hidden(u, c, d.startS)
	}
	d.traces = book.entries()
	return d
}

// clearDay holds the sun's position and the clear sky at the nodes of a day.
func (s *Site) clearDay(start time.Time, n int) *clearDay {
	buf := make([]float64, 4*(n+1))
	take := func() []float64 {
		out := buf[: n+1 : n+1]
		buf = buf[n+1:]
		return out
	}
	c := &clearDay{positions: make([]solar.Position, n+1), ghi: take(), dhi: take(), dni: take(), horizontal: take(), dawn: n + 1, scenes: map[aim]scene{}}
	linke := solar.LinkeTurbidity(s.Location, start.Month())
	for i := range n + 1 {
		t := start.Add(time.Duration(i) * cell)
		p := solar.At(t, s.Location)
		c.positions[i] = p
		if p.ApparentZenithDeg >= 89.5 {
			continue
		}
		irr := solar.ClearSky(t, p, s.Location, linke)
		c.ghi[i], c.dhi[i], c.dni[i] = irr.GHI, irr.DHI, irr.DNI
		c.horizontal[i] = irr.DNI * math.Cos(p.ApparentZenithDeg*math.Pi/180)
		c.dawn, c.dusk = min(c.dawn, i), i+1
	}
	return c
}

// mass is the air mass at a node by day, over that of a sun overhead.
func (c *clearDay) mass(i int) float64 {
	return min(1/max(math.Cos(c.positions[i].ApparentZenithDeg*math.Pi/180), 0.1), 8)
}

func (c *clearDay) azimuth(i int) float64 { return c.positions[i].AzimuthDeg }

// set gives both cells that share node i its value.
func (c curve) set(i int, v float64) {
	if i > 0 {
		c.right[i-1] = v
	}
	if i < len(c.left) {
		c.left[i] = v
	}
}

func cloudTransmission(kind sky, z float64) float64 {
	t := transmission[kind]
	return t.low + (t.high-t.low)/(1+math.Exp((t.edge-z)/t.width))
}
