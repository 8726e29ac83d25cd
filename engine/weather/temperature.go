package weather

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Temperature is a site's own temperature climate, fitted to what it measured.
type Temperature struct {
	loc          solar.Location
	coefficients []float64
	recent       series.Series // hourly means of what was measured, for the anomaly
}

// ErrTooLittleHistory is the answer of [FitTemperature] to under three days of values.
var ErrTooLittleHistory = errors.New("fewer than three days of temperature")

const (
	fitMinimumHours    = 72
	fitPullHours       = 4
	fitSeasonHours     = 300 * 24 // from here on the history has the seasons itself
	anomalyMemory      = 48 * time.Hour
	anomalyWindow      = 24 * time.Hour
	anomalyLeastValues = 6
)

// FitTemperature fits the difference between a measured air temperature (°C;
// any step) and [TypicalTemperatureC] at loc by least squares: level and
// course of the day, and from 300 days on the course of the year and how the
// day changes with it. Before that the seasons stay the table's.
func FitTemperature(loc solar.Location, measured series.Series) (*Temperature, error) {
	hourly := hourlyMeans(measured)
	n := 0
	for _, v := range hourly.Values {
		if !math.IsNaN(v) {
			n++
		}
	}
	if n < fitMinimumHours {
		return nil, ErrTooLittleHistory
	}
	size := allFeatures
	switch {
	case measured.Step > 3*time.Hour: // such values do not show the course of a day
		size = 1
	case n < fitSeasonHours:
		size = dailyFeatures
	}
	normal, right := mat.NewSymDense(size, nil), mat.NewVecDense(size, nil)
	for i, v := range hourly.Values {
		if math.IsNaN(v) {
			continue
		}
		t := hourly.Time(i).Add(hourly.Step / 2)
		all := features(loc, t)
		x := all[:size]
		y := v - TypicalTemperatureC(loc, t)
		for a := range x {
			right.SetVec(a, right.AtVec(a)+x[a]*y)
			for b := a; b < size; b++ {
				normal.SetSym(a, b, normal.At(a, b)+x[a]*x[b])
			}
		}
	}
	// A little pull to zero keeps terms that the data do not show (a sensor
	// that reports by day only) from running away.
	for a := range size {
		normal.SetSym(a, a, normal.At(a, a)+fitPullHours)
	}
	var chol mat.Cholesky
	var beta mat.VecDense
	if !chol.Factorize(normal) { //nolint:misspell // gonum's spelling
		return nil, errors.New("temperature history cannot be fitted")
	}
	if err := chol.SolveVecTo(&beta, right); err != nil {
		return nil, fmt.Errorf("fitting a temperature history: %w", err)
	}
	for _, c := range beta.RawVector().Data {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return nil, errors.New("temperature history holds values that are not finite")
		}
	}
	return &Temperature{loc: loc, coefficients: beta.RawVector().Data, recent: hourly}, nil
}

// How many [features] there are, and how many of them need no seasons.
const (
	allFeatures   = 13
	dailyFeatures = 5
)

// features are the terms of the fit at t: level, two harmonics of the day, two
// of the year, and the day's first harmonic times the year's.
func features(loc solar.Location, t time.Time) [allFeatures]float64 {
	s1, c1 := math.Sincos(2 * math.Pi * solarHour(loc, t) / 24)
	s2, c2 := 2*s1*c1, c1*c1-s1*s1
	sy, cy := math.Sincos(yearAngle(t))
	sy2, cy2 := 2*sy*cy, cy*cy-sy*sy
	return [allFeatures]float64{1, s1, c1, s2, c2, sy, cy, sy2, cy2, s1 * sy, s1 * cy, c1 * sy, c1 * cy}
}

// hourlyMeans also sees to it that a 5-minute history costs no more to fit.
func hourlyMeans(s series.Series) series.Series {
	if s.Step == time.Hour || s.Len() == 0 {
		return s
	}
	return s.Resample(time.Hour)
}

// At is the fitted climate at t, °C.
func (m *Temperature) At(t time.Time) float64 {
	v := TypicalTemperatureC(m.loc, t)
	x := features(m.loc, t)
	for i, c := range m.coefficients {
		v += c * x[i]
	}
	return v
}

// AnomalyC is how much warmer than the fit the day before issue was, K; 0
// where fewer than six hours of it were measured. Nothing from issue on is
// looked at.
func (m *Temperature) AnomalyC(issue time.Time) float64 {
	var sum float64
	n := 0
	day := m.recent.Slice(issue.Add(-anomalyWindow), issue.Add(-m.recent.Step+1))
	for i, v := range day.Values {
		if !math.IsNaN(v) {
			sum += v - m.At(day.Time(i).Add(day.Step/2))
			n++
		}
	}
	if n < anomalyLeastValues {
		return 0
	}
	return sum / float64(n)
}

func fade(lead time.Duration) float64 {
	return math.Exp(-max(0, lead.Hours()) / anomalyMemory.Hours())
}
