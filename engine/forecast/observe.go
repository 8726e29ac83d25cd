package forecast

import (
	"fmt"
	"math"
	"time"

	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// Observe updates the model's calibration with the measurements of a forecast it issued:
// the same arguments as of [Model.Forecast], and the power measured since, kW,
// any step up to an hour. Call it once for each interval, in the order of time,
// when its actual is there; it changes nothing but how wide later bands are. Each
// set of learners learns from the intervals that it answered. It returns how many intervals counted.
func (m *Model) Observe(issue time.Time, recent series.Series, wx weather.Forecast, horizon time.Duration, actual series.Series) (int, error) {
	if actual.Len() == 0 {
		return 0, nil
	}
	if actual.Step <= 0 || actual.Step > m.step && m.step%actual.Step != 0 {
		return 0, fmt.Errorf("observe: actuals in steps of %v for a model of %v", actual.Step, m.step)
	}
	f, err := m.prepareForecast(issue, recent, wx, horizon)
	if err != nil {
		return 0, err
	}
	if f.pulled {
		return 0, nil // what physics said is not the learners' to answer for
	}
	actual = resample(actual, m.step)
	shifts := map[*learners]quantile.Shifts{}
	for _, l := range m.sets() {
		shifts[l] = l.calibrator.Shifts()
	}
	k, n := len(m.quantiles), 0
	for i := range f.count {
		y := actual.At(tickTime(f.start + int64(i*f.n)))
		l := f.by[i]
		if math.IsNaN(y) || f.clear[i] <= daylight || l == nil {
			continue
		}
		l.calibrator.Observe(shifts[l], f.raw[i*k:i*k+k], float32(min(max(y, 0), m.site.CapacityKW)/m.peakKW))
		l.seen++
		n++
	}
	return n, nil
}
