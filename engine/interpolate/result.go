package interpolate

import (
	"context"
	"fmt"
	"math"
	"time"

	"app.sunloop/engine/series"
)

// Result is a series with its gaps filled.
type Result struct {
	Power      series.Series // kW; samples that were measured are what they were
	Filled     []Filled      // gaps with daylight in them, in time order
	Statistics Statistics
	Method     Method        // that filled most of the daylight; empty without gaps
	Methods    []MethodCount // all that filled any
	// Expected is the error to be expected of what was filled: scores of the
	// training's hold-out for gaps of about these lengths, weighted by steps.
	// Without a score its Samples are 0.
	Expected Score
	// Means over the daylight that was filled, NaN where not known.
	MeanTemperatureC, MeanIrradianceWM2 float64
}

// Statistics of the gaps. A gap lasts from its first to its last daylight:
// night is no gap, as many loggers sleep then.
type Statistics struct {
	TotalGaps                  int
	AverageMinutes             float64
	LargestMinutes             float64
	CoverageImprovementPercent float64 // of all daylight steps, those that were filled
}

// MethodCount is how much a method filled.
type MethodCount struct {
	Method      Method
	Gaps, Steps int // steps in daylight
}

// Complete fills all gaps of a power series, kW, in the steps the model was
// trained for.
func (m *Model) Complete(ctx context.Context, power series.Series, wx Weather, workers int) (Result, error) {
	g, err := m.open(power, wx, workers)
	if err != nil {
		return Result{}, fmt.Errorf("fill gaps of %s: %w", m.site.ID, err)
	}
	gaps := power.Gaps()
	filled := make([]Filled, len(gaps))
	at := func(k int) gapSteps {
		return gapSteps{int(gaps[k].From.Sub(power.Start) / power.Step), int(gaps[k].To.Sub(power.Start) / power.Step)}
	}
	if err := each(ctx, len(gaps), workers, func(k int) { filled[k] = g.fill(at(k)) }); err != nil {
		return Result{}, fmt.Errorf("fill gaps of %s: %w", m.site.ID, err)
	}
	r := Result{Power: series.Series{Start: power.Start, Step: power.Step, Values: append([]float64(nil), power.Values...)}}
	counts := make(map[Method]*MethodCount)
	var minutes, largest float64
	var steps int
	for k, f := range filled {
		copy(r.Power.Values[at(k).from:], f.KW)
		if f.Daylight == 0 {
			continue
		}
		r.Filled = append(r.Filled, f)
		d := g.span(at(k)).Minutes()
		minutes, largest, steps = minutes+d, max(largest, d), steps+f.Daylight
		c := counts[f.Method]
		if c == nil {
			c = &MethodCount{Method: f.Method}
			counts[f.Method] = c
		}
		c.Gaps, c.Steps = c.Gaps+1, c.Steps+f.Daylight
	}
	most := 0
	for _, method := range methods {
		if c := counts[method]; c != nil {
			r.Methods = append(r.Methods, *c)
			if c.Steps > most {
				most, r.Method = c.Steps, method
			}
		}
	}
	r.Statistics = Statistics{TotalGaps: len(r.Filled), LargestMinutes: largest}
	if n := len(r.Filled); n > 0 {
		r.Statistics.AverageMinutes = minutes / float64(n)
		r.Statistics.CoverageImprovementPercent = 100 * float64(steps) / float64(len(g.fine.lit))
	}
	r.Expected = m.expect(r.Filled, power.Step)
	r.MeanTemperatureC, r.MeanIrradianceWM2 = g.meanDuring(r.Filled, wx.TemperatureC), g.meanDuring(r.Filled, wx.GHI)
	return r, nil
}

// meanDuring is the mean of s over the daylight of filled gaps.
func (g *fillState) meanDuring(filled []Filled, s series.Series) float64 {
	var sum, n float64
	for _, f := range filled {
		from := g.fine.stepFrom(f.Gap.From)
		for i := range f.KW {
			if g.fine.clear[from+i] > daylight {
				if v := s.At(g.fine.time(from + i)); finite(v) {
					sum, n = sum+v, n+1
				}
			}
		}
	}
	if n == 0 {
		return nan
	}
	return sum / n
}

// expect weighs the scores of the lengths nearest to the gaps.
func (m *Model) expect(filled []Filled, step time.Duration) Score {
	var out Score
	var absolute, squares, spread, in float64
	for _, f := range filled {
		s, ok := m.scoreOf(time.Duration(f.Daylight)*step, f.Sky)
		if !ok {
			continue
		}
		w := float64(f.Daylight)
		out.Samples += f.Daylight
		absolute += w * s.MAEKW
		squares += w * s.RMSEKW * s.RMSEKW
		in += w * s.Coverage80
		if s.R2 < 1 {
			spread += w * s.RMSEKW * s.RMSEKW / (1 - s.R2)
		}
	}
	if out.Samples == 0 {
		return out
	}
	n := float64(out.Samples)
	out.MAEKW, out.RMSEKW, out.Coverage80 = absolute/n, math.Sqrt(squares/n), in/n
	out.NRMSEPercent = 100 * out.RMSEKW / m.site.CapacityKW
	if spread > 0 {
		out.R2 = 1 - squares/spread
	}
	return out
}

// scoreOf is the hold-out's score of the gap length nearest to d by ratio.
func (m *Model) scoreOf(d time.Duration, sight SkyInfo) (best Score, ok bool) {
	nearest := math.Inf(1)
	for _, l := range m.report.Lengths {
		a, b := max(d, l.Length), min(d, l.Length)
		if l.Sky != sight || l.Filled.Samples == 0 || b <= 0 {
			continue
		}
		if ratio := float64(a) / float64(b); ratio < nearest {
			best, ok, nearest = l.Filled, true, ratio
		}
	}
	return best, ok
}
