package availability

import (
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// gridSeconds is the step of the grid on which the sun is described.
const gridSeconds = 15 * 60

// mean is a mean over the time of each interval of a grid.
type mean struct{ sum, seconds []float64 }

func newMean(n int) mean { return mean{make([]float64, n), make([]float64, n)} }

// at returns the mean of an interval; NaN if less than half of it is known.
func (m mean) at(i int) float64 {
	if 2*m.seconds[i] < gridSeconds {
		return math.NaN()
	}
	return m.sum[i] / m.seconds[i]
}

func (m mean) clear() {
	clear(m.sum)
	clear(m.seconds)
}

// samples collects the samples of a site's units in a window: what they show of
// the sun.
type samples struct {
	site             api.Site
	zone             *time.Location
	from, to         time.Time
	readFrom, readTo time.Time // includes the neighbours of the samples at the ends
	start            int64     // of the grid
	n                int

	light     mean
	unit      mean      // power of the unit that is added
	best      []float64 // share of its rating that the best unit made
	reporting []int     // units with power
	power     []float64 // site, kW
	ratedKW   float64
	end       time.Time // of the last sample
}

func newSamples(site api.Site, from, to time.Time) *samples {
	p := &samples{site: site, zone: record.Zone(site.Timezone), from: from, to: to, readFrom: from, readTo: to}
	// At a midnight there is nothing to know about the neighbours.
	if !series.Midnight(from, p.zone).Equal(from) {
		p.readFrom = from.Add(-late)
	}
	if !series.Midnight(to, p.zone).Equal(to) {
		p.readTo = to.Add(late)
	}
	p.start = from.Unix() - from.Unix()%gridSeconds
	p.n = int((to.Unix() - p.start + gridSeconds - 1) / gridSeconds)
	p.light, p.unit = newMean(p.n), newMean(p.n)
	p.best, p.reporting, p.power = make([]float64, p.n), make([]int, p.n), make([]float64, p.n)
	return p
}

// spread adds a value that holds from a to before b.
func (p *samples) spread(m mean, a, b int64, value float64) {
	a, b = max(a, p.start), min(b, p.start+int64(p.n)*gridSeconds)
	for a < b {
		i := (a - p.start) / gridSeconds
		end := min(b, p.start+(i+1)*gridSeconds)
		m.sum[i] += value * float64(end-a)
		m.seconds[i] += float64(end - a)
		a = end
	}
}

// add adds the samples of a unit and returns in which spans it ran or was stopped.
// Without a rating a unit is compared with its own peak.
func (p *samples) add(f series.Frame, ratedKW float64) []kpi.Observed {
	if f.Len() == 0 {
		return nil
	}
	seconds := Intervals(f)
	power := powerOf(f, seconds)
	rated := ratedKW
	if !(rated > 0) {
		for _, kW := range power {
			if kW > rated {
				rated = kW
			}
		}
	} else {
		p.ratedKW += rated
	}
	light := f.Values(series.IrradianceWM2)
	p.unit.clear()
	var out []kpi.Observed
	for i, t := range f.Times {
		end := t + seconds[i]
		if light != nil && !math.IsNaN(light[i]) {
			p.spread(p.light, t, end, light[i])
		}
		kW := power[i]
		if math.IsNaN(kW) {
			continue
		}
		p.spread(p.unit, t, end, kW)
		p.end = record.Later(p.end, time.Unix(end, 0))
		runs := kW >= kpi.DownShare*rated && kW > 0
		if n := len(out); n > 0 && out[n-1].To == t && out[n-1].Running == runs {
			out[n-1].To = end
			continue
		}
		out = append(out, kpi.Observed{Span: kpi.Span{From: t, To: end}, Running: runs})
	}
	for i := range p.n {
		kW := p.unit.at(i)
		if math.IsNaN(kW) {
			continue
		}
		p.power[i] += kW
		if ratedKW > 0 {
			p.reporting[i]++
			p.best[i] = max(p.best[i], kW/ratedKW)
		}
	}
	return out
}

// powerOf returns the mean power of each sample: as reported, else from the energy
// of its interval, else from the lifetime counter; NaN where none is known.
func powerOf(f series.Frame, seconds []int64) []float64 {
	out := make([]float64, f.Len())
	power, energy, counter := f.Values(series.PowerKW), f.Values(series.EnergyKWh), f.Values(series.EnergyCounterKWh)
	for i := range out {
		out[i] = math.NaN()
		if power != nil {
			out[i] = power[i]
		}
		if math.IsNaN(out[i]) && energy != nil {
			out[i] = energy[i] * 3600 / float64(seconds[i])
		}
		if math.IsNaN(out[i]) && counter != nil && i+1 < len(out) && f.Times[i+1]-f.Times[i] == seconds[i] {
			out[i] = (counter[i+1] - counter[i]) * 3600 / float64(seconds[i])
		}
	}
	return out
}

// Intervals returns for how many seconds each sample holds, by [series.Intervals]; a
// sample without neighbours covers a quarter of an hour. A sample whose source
// states a step or what it covers holds until the next stamp with power at most.
func Intervals(f series.Frame) []int64 {
	stated, steps, power := f.Values(series.CoveredS), f.Values(series.StepS), f.Values(series.PowerKW)
	out := series.Intervals(nil, series.Span{Times: f.Times, Steps: steps, Usual: gridSeconds})
	if stated == nil && steps == nil || power == nil {
		return out
	}
	var s series.Span
	var index []int
	for i, t := range f.Times {
		if math.IsNaN(power[i]) {
			continue
		}
		index, s.Times = append(index, i), append(s.Times, t)
		s.Stated, s.Steps = append(s.Stated, valueAt(stated, i)), append(s.Steps, valueAt(steps, i))
	}
	for k, covered := range series.Intervals(nil, s) {
		if !math.IsNaN(s.Stated[k]) || !math.IsNaN(s.Steps[k]) {
			out[index[k]] = covered
		}
	}
	return out
}

func valueAt(column []float64, i int) float64 {
	if column == nil {
		return math.NaN()
	}
	return column[i]
}
