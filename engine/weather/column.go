package weather

import (
	"math"
	"time"

	"app.sunloop/engine/series"
)

// Quantity is what a [Column] holds; each has one unit.
type Quantity string

// The quantities and their units.
const (
	GHI            Quantity = "ghi"           // global horizontal irradiance, W/m²
	DNI            Quantity = "dni"           // direct normal irradiance, W/m²
	DHI            Quantity = "dhi"           // diffuse horizontal irradiance, W/m²
	POA            Quantity = "poa"           // irradiance in the modules' plane, W/m²
	AirTemperature Quantity = "temperature"   // °C
	WindSpeed      Quantity = "wind_speed"    // m/s
	CloudCover     Quantity = "cloud_cover"   // share of the sky, 0..1
	Humidity       Quantity = "humidity"      // relative, %
	Pressure       Quantity = "pressure"      // hPa
	Precipitation  Quantity = "precipitation" // mm
	Other          Quantity = "other"         // whatever its source says, in the source's unit
)

// limits of what a quantity can be anywhere on Earth, with some room for the
// offset and the noise of an instrument.
var limits = map[Quantity][2]float64{
	GHI: {-20, 2000}, DNI: {-20, 1600}, DHI: {-20, 1400}, POA: {-20, 2200},
	AirTemperature: {-90, 65}, WindSpeed: {0, 120}, CloudCover: {-0.05, 1.05},
	Humidity: {-1, 110}, Pressure: {300, 1100}, Precipitation: {0, 2000},
	Other: {-1e9, 1e9},
}

// Plausible is v, or NaN where it lies outside of what the quantity can be.
func (q Quantity) Plausible(v float64) float64 {
	if l := limits[q]; v >= l[0] && v <= l[1] {
		return v
	}
	return math.NaN()
}

// Column is one quantity of weather over time: what sensors or a satellite
// measured, or what was forecast, each value as last known before it. NaN is
// missing.
type Column struct {
	Name     string // distinguishes the columns of one forecast
	Quantity Quantity
	Measured bool
	Series   series.Series
}

// contextBefore is how much of the time before its start a [Forecast] keeps:
// learners use the hours around an hour.
const contextBefore = 24 * time.Hour

// FromColumns returns a forecast made of columns: n intervals of step from
// start, whose Conditions are the first column of each quantity that covers
// them. The columns are kept by name, from a day before start to the end; of
// measured ones only the part before issuedAt, which is not used in Conditions.
func FromColumns(issuedAt time.Time, source string, start time.Time, step time.Duration, n int, columns []Column) Forecast {
	f := Forecast{IssuedAt: issuedAt, Start: start, Step: step, Source: source, Conditions: make([]Conditions, max(n, 0))}
	for i := range f.Conditions {
		f.Conditions[i] = Unknown()
	}
	for _, c := range columns {
		to := f.End()
		if c.Measured && issuedAt.Before(to) {
			to = issuedAt
		}
		c.Series = c.Series.Slice(start.Add(-contextBefore), to)
		f.Columns = append(f.Columns, c)
		if c.Measured {
			continue
		}
		values := onGrid(c.Series, step)
		for i := range f.Conditions {
			f.Conditions[i].SetIfUnknown(c.Quantity, values.At(f.Time(i)))
		}
	}
	return f
}

// Forecasted returns the first forecast (not measured) column of a quantity. ok
// is false without a match.
func (f Forecast) Forecasted(q Quantity) (s series.Series, ok bool) {
	for _, c := range f.Columns {
		if c.Quantity == q && !c.Measured {
			return c.Series, true
		}
	}
	return s, false
}

// onGrid is s in means over steps of step where its own are shorter.
func onGrid(s series.Series, step time.Duration) series.Series {
	if s.Step >= step || s.Len() == 0 {
		return s
	}
	return s.Resample(step)
}

// field is where conditions keep a quantity; nil where they do not.
func (c *Conditions) field(q Quantity) *float64 {
	switch q {
	case GHI:
		return &c.GHI
	case DNI:
		return &c.DNI
	case DHI:
		return &c.DHI
	case AirTemperature:
		return &c.TemperatureC
	case WindSpeed:
		return &c.WindSpeedMS
	case CloudCover:
		return &c.CloudCover
	}
	return nil
}

// SetIfUnknown sets the quantity to v if Conditions has it and it is unknown.
func (c *Conditions) SetIfUnknown(q Quantity, v float64) {
	if at := c.field(q); at != nil && math.IsNaN(*at) {
		*at = v
	}
}

// Value returns the quantity in these conditions; NaN if it is unknown or not one
// of them.
func (c Conditions) Value(q Quantity) float64 {
	if at := c.field(q); at != nil {
		return *at
	}
	return math.NaN()
}
