package forecast

import (
	"math"
	"time"

	"app.sunloop/engine/weather"
)

// Point is the forecast of one interval, labelled at its start: the power that
// is exceeded with 90, 50 and 10 % probability, and the clear-sky power. 0 <=
// P10KW <= P50KW <= P90KW <= capacity, and all are zero at night. Weather is
// the assumed weather: that of the given forecast or, if that is only the
// climate, the irradiance that corresponds to the forecast power.
type Point struct {
	Time                time.Time
	Step                time.Duration
	P10KW, P50KW, P90KW float64
	ClearSkyKW          float64
	Weather             weather.Conditions
}

// MeanKW is the expected power by Swanson's rule (0.3, 0.4 and 0.3 of the
// three): the right value for energy and squared errors, as P50KW is for
// absolute ones.
func (p Point) MeanKW() float64 { return 0.3*p.P10KW + 0.4*p.P50KW + 0.3*p.P90KW }

// Hourly joins points of less than an hour into hours of the UTC clock. The
// bands of an hour's parts are averaged, as if its parts erred together: a band
// that is rather too wide than too narrow. Hours of which points cover less
// than half are left out.
func Hourly(points []Point) []Point {
	var out []Point
	for i := 0; i < len(points); {
		hour := points[i].Time.Truncate(time.Hour)
		sum := Point{Time: hour, Step: time.Hour}
		var covered time.Duration
		var wx mean
		for ; i < len(points) && points[i].Time.Truncate(time.Hour).Equal(hour); i++ {
			p := points[i]
			share := p.Step.Hours()
			covered += p.Step
			sum.P10KW += p.P10KW * share
			sum.P50KW += p.P50KW * share
			sum.P90KW += p.P90KW * share
			sum.ClearSkyKW += p.ClearSkyKW * share
			wx.add(p.Weather)
		}
		if 2*covered < time.Hour {
			continue
		}
		k := time.Hour.Hours() / covered.Hours()
		sum.P10KW, sum.P50KW, sum.P90KW, sum.ClearSkyKW = sum.P10KW*k, sum.P50KW*k, sum.P90KW*k, sum.ClearSkyKW*k
		sum.Weather = wx.conditions()
		out = append(out, sum)
	}
	return out
}

// mean averages conditions field by field over the known values.
type mean struct {
	sum [6]float64
	n   [6]int
}

func (m *mean) add(c weather.Conditions) {
	for i, v := range [6]float64{c.GHI, c.DNI, c.DHI, c.TemperatureC, c.WindSpeedMS, c.CloudCover} {
		if !math.IsNaN(v) {
			m.sum[i], m.n[i] = m.sum[i]+v, m.n[i]+1
		}
	}
}

func (m *mean) conditions() weather.Conditions {
	var v [6]float64
	for i := range v {
		v[i] = m.sum[i] / float64(m.n[i]) // 0/0 is NaN: unknown
	}
	return weather.Conditions{GHI: v[0], DNI: v[1], DHI: v[2], TemperatureC: v[3], WindSpeedMS: v[4], CloudCover: v[5]}
}
