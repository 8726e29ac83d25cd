package interpolate

import (
	"context"
	"fmt"
	"time"

	"app.sunloop/engine/series"
)

// Evaluation is what [Model.Evaluate] measures by. The zero value hides a
// hundred-odd gaps of each length anywhere in the power.
type Evaluation struct {
	From, To time.Time // zero is all of the power
	Gaps     int       // of each length; long ones are fewer. 0 is 120
	Seed     uint64
	Workers  int
}

// Evaluate hides measured samples of power, fills them and returns the errors,
// by gap length and overall. Samples outside From..To are used but never
// hidden. The model should not have been trained on the hidden samples:
// [Report] has the figures of a training's own hold-out.
func (m *Model) Evaluate(ctx context.Context, power series.Series, wx Weather, e Evaluation) ([]LengthScore, Score, error) {
	g, err := m.open(power, wx, e.Workers)
	if err != nil {
		return nil, Score{}, fmt.Errorf("evaluate gap filling of %s: %w", m.site.ID, err)
	}
	trials, lengths, err := g.evaluate(ctx, e)
	if err != nil {
		return nil, Score{}, fmt.Errorf("evaluate gap filling of %s: %w", m.site.ID, err)
	}
	scores, overall := m.scores(trials, lengths)
	return scores, overall, nil
}

func (g *fillState) evaluate(ctx context.Context, e Evaluation) ([]*trial, []time.Duration, error) {
	s := g.fine
	from, to := s.start, s.time(len(s.power))
	if !e.From.IsZero() && e.From.After(from) {
		from = e.From
	}
	if !e.To.IsZero() && e.To.Before(to) {
		to = e.To
	}
	if to.Sub(from) < 2*day {
		return nil, nil, unfit("%v are too short to hide gaps in", to.Sub(from))
	}
	if e.Gaps <= 0 {
		e.Gaps = scoringGaps
	}
	p := only(from, to, toScore)
	lengths := measuredLengths(g.m.step, p.longestHole())
	trials, err := g.try(ctx, p, toScore, lengths, e.Gaps, e.Seed, e.Workers)
	return trials, lengths, err
}

// open prepares the series in which the model fills gaps.
func (m *Model) open(power series.Series, wx Weather, workers int) (*fillState, error) {
	if power.Step != m.step {
		return nil, unfit("power in steps of %v for a model of steps of %v", power.Step, m.step)
	}
	if err := checkWeather(wx); err != nil {
		return nil, err
	}
	if !m.weather {
		wx.GHI = series.Series{}
	}
	if !m.siblings {
		wx.Siblings = series.Series{}
	}
	share := series.Series{Start: power.Start, Step: power.Step, Values: make([]float64, power.Len())}
	for i, v := range power.Values {
		share.Values[i] = m.share(v)
	}
	return m.stage(newScene(m.sky, share, wx, workers)), nil
}

// share returns power in shares of the peak, or NaN if the power is not
// plausible.
func (m *Model) share(kw float64) float64 {
	v := max(kw, 0) / m.peakKW // NaN stays
	if !(v <= 1.3*max(1, float64(m.capacity()))) {
		return nan
	}
	return v
}
