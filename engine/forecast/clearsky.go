package forecast

import (
	"fmt"
	"math"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// ClearSky is the clear-sky power of a site as learned from power only: the
// orientation of its modules, and by week of the year and hour of the day the
// ratio of its power to the irradiance in their plane. It is the model's
// envelope for callers that need no forecast. It is plain data.
type ClearSky struct {
	Location  solar.Location
	Plane     solar.Plane
	LateTicks int       // quarters of an hour that power is stamped behind the sun
	Ratios    []float32 // power by light, shares of the peak, [ClearSkyLevels] of them
	Dim       []float32 // power where there is hardly any light
}

// ClearSkyLevels is how many levels each table of a [ClearSky] has: weeks of
// the year by hours of the day, the hour running fastest.
const ClearSkyLevels = weeks * hours

// Plausible is the power of a site in shares of its peak (the 99.9th percentile
// of what shines), which it returns in kW, with notes. Negative power
// is zero, spikes beyond any plausible power are missing. Errors wrap
// [ErrUnfit].
func Plausible(site Site, power series.Series) (share series.Series, peakKW float64, notes []string, err error) {
	return plausible(site, power)
}

// LearnClearSky learns from plausible power in shares of the peak.
func LearnClearSky(site Site, share series.Series, workers int) *ClearSky {
	hourly := newHistory(share)
	g := fitGeometry(site, hourly, resample(share, stepFor(share.Step, 0)))
	light := lookUp(site.Location, g, hourly.start*ticksPerHour, hourly.end()*ticksPerHour, workers)
	e := learnEnvelope(&light, hourly, hourly.end())
	return &ClearSky{Location: site.Location, Plane: g.plane, LateTicks: g.late, Ratios: e.ratios[:], Dim: e.dim[:]}
}

// Check returns an error if c cannot be used. It makes a ClearSky decoded from
// untrusted bytes safe.
func (c *ClearSky) Check() error {
	switch {
	case !(math.Abs(c.Location.LatitudeDeg) <= 90) || !(math.Abs(c.Location.LongitudeDeg) <= 180) || !(math.Abs(c.Location.AltitudeM) <= 10000):
		return fmt.Errorf("no place at %g, %g, %g m", c.Location.LatitudeDeg, c.Location.LongitudeDeg, c.Location.AltitudeM)
	case !(c.Plane.TiltDeg >= 0 && c.Plane.TiltDeg <= 90) || !(math.Abs(c.Plane.AzimuthDeg) <= 360) || c.LateTicks < -maximumLate || c.LateTicks > maximumLate:
		return fmt.Errorf("a plane of %g, %g, late by %d", c.Plane.TiltDeg, c.Plane.AzimuthDeg, c.LateTicks)
	case len(c.Ratios) != ClearSkyLevels || len(c.Dim) != ClearSkyLevels:
		return fmt.Errorf("a clear sky of %d and %d levels", len(c.Ratios), len(c.Dim))
	}
	for _, v := range [][]float32{c.Ratios, c.Dim} {
		for _, r := range v {
			if !(r >= 0 && r <= topRatio) {
				return fmt.Errorf("a clear-sky level of %g", r)
			}
		}
	}
	return nil
}

// ClearSkyInputs is the clear sky over the intervals of a series: GHI in W/m² by the
// true clock; Base, the plane-of-array irradiance as a share of 1000 W/m², and
// Share, the site's clear-sky power as a share of its peak, both by the clock
// of the site's power.
type ClearSkyInputs struct{ GHI, Base, Share []float32 }

// Over is the light over n intervals of step from start on. Intervals longer
// than a quarter of an hour hold the mean of their quarters; in shorter ones
// light runs straight between the middles of quarters.
func (c *ClearSky) Over(start time.Time, step time.Duration, n, workers int) ClearSkyInputs {
	e := &envelope{}
	copy(e.ratios[:], c.Ratios)
	copy(e.dim[:], c.Dim)
	e.note()
	from, to := tickOf(start)-1, tickOf(start.Add(time.Duration(n)*step))+2
	s := lookUp(c.Location, geometry{c.Plane, c.LateTicks}, from, to, workers)
	share := make([]float32, len(s.base))
	for i, b := range s.base {
		share[i] = e.share(from+int64(i), b)
	}
	out := ClearSkyInputs{make([]float32, n), make([]float32, n), make([]float32, n)}
	parts := int(max(1, (step+tick/2)/tick))
	for i := range n {
		for p := range parts {
			middle := start.Add(time.Duration(i)*step + step*time.Duration(2*p+1)/time.Duration(2*parts))
			at := float64(middle.Sub(tickTime(from)))/float64(tick) - 0.5
			k := int(at)
			f := float32(at - float64(k))
			mix := func(v []float32) float32 { return (v[k] + float32(f*(v[k+1]-v[k]))) / float32(parts) }
			out.GHI[i] += mix(s.ghi)
			out.Base[i] += mix(s.base)
			out.Share[i] += mix(share)
		}
	}
	return out
}
