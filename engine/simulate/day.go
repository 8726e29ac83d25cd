package simulate

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
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
	index   int
	startS  int64
	cells   int
	units   []curve
	sensor  curve     // plane-of-array irradiance, W/m²
	tempC   []float64 // at nodes
	traces  []entry   // what each fault that acts on the day does
	clipped []int     // cells in which each unit is at its rating
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

// at returns the day from the cache, or generates it. The caller holds mu.
func (s *Site) at(index int) *day {
	if d := s.days[index]; d != nil {
		return d
	}
	d := s.generate(index, s.Faults)
	if len(d.traces) > 0 {
		s.ledger[index] = d.traces
	}
	s.clipped[index] = d.clipped
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
