package forecast

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// Model is a trained site. Its methods may be called concurrently, except
// [Model.Observe], which needs exclusive access.
type Model struct {
	site      Site
	geometry  geometry
	step      time.Duration
	peakKW    float64
	quantiles []float64
	env       *envelope
	memory    *history // the history it was trained on, by the hour
	later     afterwards

	plain       *learners // in a young model without fitted members
	withWeather *learners // nil where no weather was given in training
	report      Report
}

// MaximumHorizon is the longest forecast.
const MaximumHorizon = 720 * time.Hour

// Site is the site the model was trained for.
func (m *Model) Site() Site { return m.site }

// Step is the length of the intervals it forecasts.
func (m *Model) Step() time.Duration { return m.step }

// Report is what its training measured.
func (m *Model) Report() Report { return m.report }

// Quantiles are the probabilities it was trained for.
func (m *Model) Quantiles() []float64 { return append([]float64(nil), m.quantiles...) }

// Forecast returns the expected power from issue, in the model's steps aligned
// to UTC. The first interval is the first that begins at or after issue. recent
// is the power measured before issue in kW, at any step up to an hour; it has
// priority over the stored history, and values at or after issue are ignored.
// It may be empty. wx is the weather forecast; if it has no cloud information
// (weather.Offline, or none) the model uses the sun's position and the past. No
// point is NaN, negative or above the capacity, and power at night is zero.
func (m *Model) Forecast(issue time.Time, recent series.Series, wx weather.Forecast, horizon time.Duration) ([]Point, error) {
	f, err := m.prepareForecast(issue, recent, wx, horizon)
	if err != nil {
		return nil, err
	}
	low, high := quantileAt(m.quantiles, 0.1), quantileAt(m.quantiles, 0.9)
	k := len(m.quantiles)
	points := make([]Point, f.count)
	for i := range points {
		q := f.said[i*k : i*k+k]
		p := Point{Time: tickTime(f.start + int64(i*f.n)), Step: m.step, P10KW: m.kw(q[low]), P50KW: m.kw(q[k/2]), P90KW: m.kw(q[high]),
			ClearSkyKW: m.kw(min(f.clear[i], m.capacity())), Weather: weather.Unknown()}
		if len(f.conditions) > 0 {
			p.Weather = f.conditions[i]
			if !f.cloudy && p.ClearSkyKW > 0 {
				// The clear sky of the climate, reduced to the expected power.
				ghi := p.Weather.GHI * min(1, p.P50KW/p.ClearSkyKW)
				p.Weather.GHI, p.Weather.DNI, p.Weather.DHI = ghi, math.NaN(), math.NaN()
				p.Weather = p.Weather.Complete(p.Time.Add(m.step/2), m.site.Location)
			}
		}
		points[i] = p
	}
	return points, nil
}

// ForecastQuantiles is [Model.Forecast] with all the quantiles the model was
// trained for: one row a point, ascending, kW.
func (m *Model) ForecastQuantiles(issue time.Time, recent series.Series, wx weather.Forecast, horizon time.Duration) (times []time.Time, rows [][]float64, err error) {
	f, err := m.prepareForecast(issue, recent, wx, horizon)
	if err != nil {
		return nil, nil, err
	}
	k := len(m.quantiles)
	for i := range f.count {
		row := make([]float64, k)
		for j, v := range f.said[i*k : i*k+k] {
			row[j] = m.kw(v)
		}
		times, rows = append(times, tickTime(f.start+int64(i*f.n))), append(rows, row)
	}
	return times, rows, nil
}

// ClearSkyKW returns the clear-sky power at t, by the learned envelope.
func (m *Model) ClearSkyKW(t time.Time) float64 {
	at := tickOf(t)
	s := lookUp(m.site.Location, m.geometry, at, at+1, 1)
	return m.kw(min(m.env.share(at, s.base[0]), m.capacity()))
}

func (m *Model) capacity() float32 { return float32(m.site.CapacityKW / m.peakKW) }

// kw turns a share of the peak into kW within the capacity: the rounding of
// float32 must not carry it above.
func (m *Model) kw(share float32) float64 {
	return min(max(float64(share)*m.peakKW, 0), m.site.CapacityKW)
}

// forecastState is a forecast in the making, shares of the peak.
type forecastState struct {
	start      int64 // tick
	n, count   int
	clear      []float32
	raw        []float32   // as the learners said it, before calibration
	said       []float32   // as it is issued
	by         []*learners // who said each point; nil at night
	conditions []weather.Conditions
	cloudy     bool // the weather forecast knows of clouds
	pulled     bool // said by physics in part
}

// nightSine is the sine of an elevation of -1°: below it there is no power,
// unless the site has shown some at that hour.
const nightSine = -0.01745

func (m *Model) prepareForecast(issue time.Time, recent series.Series, wx weather.Forecast, horizon time.Duration) (*forecastState, error) {
	switch {
	case horizon <= 0 || horizon > MaximumHorizon:
		return nil, fmt.Errorf("forecast: a horizon of %v is not within 0 and %v", horizon, MaximumHorizon)
	case recent.Len() > 0 && (recent.Step <= 0 || recent.Step > time.Hour):
		return nil, fmt.Errorf("forecast: recent power in steps of %v; they must be at most an hour", recent.Step)
	case issue.IsZero():
		return nil, errors.New("forecast: no issue time")
	}
	n := int(m.step / tick)
	f := &forecastState{n: n, start: -floorDiv(-tickCeil(issue), int64(n)) * int64(n)}
	f.count = int((horizon + m.step - 1) / m.step)
	k := len(m.quantiles)
	f.clear, f.said, f.raw, f.by = make([]float32, f.count), make([]float32, f.count*k), make([]float32, f.count*k), make([]*learners, f.count)
	w := m.world(issue, recent, f.start, f.start+int64(f.count*n))
	f.readWeather(m, wx)
	if f.cloudy {
		w.wx = m.outlook(wx, w, f)
	}
	v := w.view(floorDiv(issue.Unix(), 3600))
	// Points whose clouds are known go to the learners of weather.
	var plain, cloudy []int
	for i := range f.count {
		t := f.start + int64(i*n)
		f.clear[i] = w.env.over(&w.sky, t, n)
		switch {
		case f.clear[i] <= dusk && (f.clear[i] <= 0 || w.sky.sine[t-w.sky.start+int64(n)/2] < nightSine):
		case f.clear[i] > dusk && f.cloudy && m.withWeather != nil && known(w.wx.at(w.wx.ghi, t)):
			cloudy = append(cloudy, i)
		default:
			plain = append(plain, i)
		}
	}
	m.answer(f, w, v, m.plain, plain)
	if len(cloudy) > 0 {
		m.answer(f, w, v, m.withWeather, cloudy)
	} else if f.cloudy {
		m.shrinkToClearSky(f, w, plain)
	}
	for i := range f.count {
		limit(f.said[i*k:i*k+k], w.top(f.by[i], f.clear[i], f.start+int64(i*n), n, m.capacity()))
	}
	return f, nil
}

func known(v float32) bool { return v == v }

// answer predicts the given points with one set of learners. At dusk, on which
// no learner was trained, only the analogs are used.
func (m *Model) answer(f *forecastState, w *siteContext, v *issueView, l *learners, at []int) {
	if len(at) == 0 {
		return
	}
	k, width := len(m.quantiles), len(l.spec.names())
	rows := make([]float32, 0, len(at)*width)
	scale, analog := make([]float32, len(at)), make([]float32, len(at)*k)
	for j, i := range at {
		t := f.start + int64(i*f.n)
		rows, scale[j] = w.row(rows, l.spec, v, t, f.n)
		if !l.spec.Weather {
			w.analog(v, t, f.clear[i], m.quantiles, analog[j*k:j*k+k])
		}
	}
	said := l.forecast(rows, scale, analog)
	if l.spec.Perfect {
		m.blendNoWeather(f, w, v, at, said)
	}
	shifts := l.calibrator.Shifts()
	for j, i := range at {
		raw, out := f.raw[i*k:i*k+k], f.said[i*k:i*k+k]
		f.by[i] = l
		if f.clear[i] <= dusk {
			copy(raw, analog[j*k:j*k+k])
			copy(out, raw)
			continue
		}
		copy(raw, said[j*k:j*k+k])
		copy(out, raw)
		shifts.Adjust(out)
	}
}

// Learners of measured weather take a forecast for as good as a measurement.
// Until so many of their forecasts came true, the others speak along: half at
// first, whose bands know nothing of clouds and are as wide.
const (
	doubtAtFirst   = 0.5
	doubtIntervals = 600
)

// blendNoWeather blends the predictions of the learners without weather into
// said.
func (m *Model) blendNoWeather(f *forecastState, w *siteContext, v *issueView, at []int, said []float32) {
	share := float32(doubtAtFirst * max(0, 1-float64(m.withWeather.seen)/doubtIntervals))
	if share == 0 {
		return
	}
	k := len(m.quantiles)
	own := &forecastState{start: f.start, n: f.n, clear: f.clear, raw: make([]float32, len(f.raw)), said: make([]float32, len(f.said)), by: make([]*learners, len(f.by))}
	m.answer(own, w, v, m.plain, at)
	for j, i := range at {
		for q := range k {
			said[j*k+q] += share * (own.said[i*k+q] - said[j*k+q])
		}
	}
}

// physicsWeight is how far a forecast of clouds pulls a model that never saw
// one in training.
const physicsWeight = 0.65

// pulledWidth is the remaining width of the band of such a model, since a cloud
// forecast errs too. With it, three in four actuals lie within P10 and P90 on
// plants with a numerical forecast, at the lowest loss (docs/forecasting.md,
// site without peers and with short history). With 0.35, the width that the
// shift itself leaves, two in five do.
const pulledWidth = 0.85

// shrinkToClearSky shifts the quantiles towards the clear-sky power times the
// forecast's clear-sky index, the best estimate while the site's response to
// weather is unknown.
func (m *Model) shrinkToClearSky(f *forecastState, w *siteContext, at []int) {
	k := len(m.quantiles)
	for _, i := range at {
		index := w.wx.at(w.wx.index, f.start+int64(i*f.n))
		if !known(index) {
			continue
		}
		said := f.said[i*k : i*k+k]
		median := said[k/2]
		pulled := median + physicsWeight*(min(index, 1)*f.clear[i]-median)
		for j, v := range said {
			said[j] = pulled + pulledWidth*(v-median)
		}
	}
	f.pulled = true
}

// contextHours on either side of the horizon are looked at with it.
const contextHours = 5

// outlook is wx as the learners of weather see it; where there are none, as
// physics does.
func (m *Model) outlook(wx weather.Forecast, w *siteContext, f *forecastState) *outlook {
	var specs []columnSpec
	if m.withWeather != nil {
		specs = m.withWeather.spec.Columns
	}
	lead := int64(contextHours * ticksPerHour)
	o := look(m.site.Location, m.geometry, &w.sky, resolve(specs, wx), f.start-lead, f.n, f.count+int(2*lead)/f.n)
	// Irradiance that the columns do not contain may follow from the
	// conditions.
	for i, c := range f.conditions {
		at := i + int(lead)/f.n
		if !known(o.ghi[at]) && !math.IsNaN(c.GHI) {
			o.derive(m.site.Location, m.geometry, &w.sky, at, c, math.NaN())
		}
	}
	return o
}

// readWeather reads the weather of the points from wx.
func (f *forecastState) readWeather(m *Model, wx weather.Forecast) {
	if wx.Step <= 0 || len(wx.Conditions) == 0 {
		return
	}
	aligned := wx.Align(m.site.Location, tickTime(f.start), m.step, f.count)
	f.conditions = aligned.Conditions
	if strings.HasPrefix(wx.Source, weather.SourceClimatology) {
		return
	}
	for i := range f.conditions {
		mid := aligned.Time(i).Add(m.step / 2)
		f.conditions[i] = f.conditions[i].Complete(mid, m.site.Location)
		if !math.IsNaN(f.conditions[i].GHI) {
			f.cloudy = true
		}
	}
}

// world returns what the model knows at issue: its stored history overlaid with
// recent, and the sun's position from there to the end of the horizon.
func (m *Model) world(issue time.Time, recent series.Series, start, end int64) *siteContext {
	cut := floorDiv(issue.Unix(), 3600)
	p := m.recentHistory(recent, cut)
	w := &siteContext{longitudeDeg: m.site.Location.LongitudeDeg, env: m.env, past: p}
	// The sun's position is needed for the horizon and for the neighbouring
	// hours.
	w.sky = lookUp(m.site.Location, m.geometry, start-contextHours*ticksPerHour, end+contextHours*ticksPerHour, 1)
	return w
}

// tickCeil is the first tick that begins at or after t.
func tickCeil(t time.Time) int64 {
	k := tickOf(t)
	if tickTime(k).Before(t) {
		k++
	}
	return k
}
