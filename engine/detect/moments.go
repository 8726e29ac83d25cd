package detect

import (
	"math"
	"time"

	"app.sunloop/engine/solar"
)

// moments is the day's sun in steps of a quarter of an hour, or of the grid
// where that is coarser: the resolution at which a unit's power is modelled.
type moments struct {
	n          int   // moments of the day
	first      int64 // Unix time of the first
	per        int   // cells of a moment
	hours      float64
	elevation  []float64 // degrees, of the middle of the moment
	turn       []float64 // degrees of azimuth from solar noon, negative before it
	x, y, z    []float64 // unit vector to the sun: east, north, up
	clear      []float64 // horizontal irradiance of a clear sky, W/m²
	extra      []float64 // irradiance outside the atmosphere on a horizontal surface, W/m²
	noSun      bool      // the place is unknown
	brightness float64   // highest clear of the day
}

// momentLength is the shortest moment in seconds.
const momentLength = 900

// lay fills the moments of the day on the view.
func (m *moments) lay(v *view, loc *solar.Location) {
	m.noSun = loc == nil
	if m.noSun {
		m.n = 0
		return
	}
	m.per = max(int(momentLength/v.step), 1)
	m.n = (v.cells + m.per - 1) / m.per
	m.hours, m.first = float64(m.per)*v.hours(), v.first
	for _, c := range []*[]float64{&m.elevation, &m.turn, &m.x, &m.y, &m.z, &m.clear, &m.extra} {
		fit(c, m.n)
	}
	doy := float64(v.date.YearDay())
	outside := 1361 * (1 + 0.033*math.Cos(2*math.Pi*(doy-3)/365.25))
	noon := 180.0
	if loc.LatitudeDeg < 0 {
		noon = 0
	}
	m.brightness = 0
	for j := range m.n {
		t := time.Unix(v.first+int64(j*m.per)*v.step+int64(m.per)*v.step/2, 0).UTC()
		p := solar.At(t, *loc)
		el := 90 - p.ZenithDeg
		turn := math.Mod(p.AzimuthDeg-noon+540, 360) - 180
		if loc.LatitudeDeg < 0 {
			turn = -turn
		}
		m.elevation[j], m.turn[j] = el, turn
		sinEl, cosEl := math.Sincos(el * math.Pi / 180)
		sinAz, cosAz := math.Sincos(p.AzimuthDeg * math.Pi / 180)
		m.x[j], m.y[j], m.z[j] = cosEl*sinAz, cosEl*cosAz, sinEl
		m.clear[j], m.extra[j] = clearHorizontal(sinEl), outside*max(sinEl, 0.05)
		m.brightness = max(m.brightness, m.clear[j])
	}
}

// span returns the start and the end of moment j in Unix seconds.
func (m *moments) span(j int) (from, to int64) {
	length := int64(math.Round(m.hours * 3600))
	return m.first + int64(j)*length, m.first + int64(j+1)*length
}

// clearHorizontal returns the horizontal irradiance of a clear sky in W/m² by
// the sine of the sun's elevation (Haurwitz 1945). It ignores haze, which
// changes with the month; the difference is learned from the unit's own past.
func clearHorizontal(sinEl float64) float64 {
	if sinEl <= 0 {
		return 0
	}
	return 1098 * sinEl * math.Exp(-0.057/sinEl)
}

// diffuseShare is the diffuse part of horizontal irradiance by the clearness
// index (Erbs, Klein and Duffie 1982).
func diffuseShare(kt float64) float64 {
	switch {
	case kt <= 0.22:
		return 1 - 0.09*kt
	case kt <= 0.8:
		return 0.9511 + kt*(-0.1604+kt*(4.388+kt*(-16.638+kt*12.336)))
	}
	return 0.165
}
