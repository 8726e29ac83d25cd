package forecast

import (
	"math"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// outlook is weather on the grid of a model's step: its columns as they came,
// and what follows from them of the light.
type outlook struct {
	start   int64       // tick
	n       int         // ticks a value
	columns [][]float32 // by the model's columns, then by interval
	ghi     []float32   // W/m²
	index   []float32   // of the clear sky; NaN where it is dark or unknown
	plane   []float32   // light that reaches the cells, shares of 1000 W/m²
	power   []float32   // of the physical chain: plane, less the heat's toll
}

// faintGHI is the clear-sky irradiance in W/m² below which an index is not
// meaningful.
const faintGHI = 10

// look resamples columns to count intervals of n ticks from start.
func look(loc solar.Location, g geometry, s *sky, columns []weather.Column, start int64, n, count int) *outlook {
	step := time.Duration(n) * tick
	o := &outlook{start: start, n: n, columns: make([][]float32, len(columns))}
	grids := make([]series.Series, len(columns))
	for j, c := range columns {
		grids[j] = plausibleWeather(c)
		if c.Series.Step < step {
			grids[j] = resample(grids[j], step)
		}
		o.columns[j] = make([]float32, count)
	}
	o.ghi, o.index, o.plane, o.power = nans(count), nans(count), nans(count), nans(count)
	for i := range count {
		at := tickTime(start + int64(i*n))
		known, poa := weather.Unknown(), math.NaN()
		for j, c := range columns {
			v := grids[j].At(at)
			o.columns[j][i] = float32(v)
			if c.Quantity == weather.POA && math.IsNaN(poa) {
				poa = v
			}
			known.SetIfUnknown(c.Quantity, v)
		}
		o.derive(loc, g, s, i, known, poa)
	}
	return o
}

// plausibleWeather is a column's series without what it cannot have been.
func plausibleWeather(c weather.Column) series.Series {
	s := c.Series
	s.Values = make([]float64, len(c.Series.Values))
	for i, v := range c.Series.Values {
		s.Values[i] = c.Quantity.Plausible(v)
	}
	return s
}

// derive fills in the light of interval i.
func (o *outlook) derive(loc solar.Location, g geometry, s *sky, i int, known weather.Conditions, poa float64) {
	from := o.start + int64(i*o.n)
	clear := float64(s.mean(s.ghi, from, o.n))
	if clear < faintGHI {
		o.ghi[i] = float32(known.GHI) // the sun is too low for more
		return
	}
	middle := tickTime(from).Add(time.Duration(o.n) * tick / 2)
	pos := solar.At(middle, loc)
	sky, extra := solar.ClearSky(middle, pos, loc, 0), solar.Extraterrestrial(middle)
	if math.IsNaN(known.GHI) && !math.IsNaN(poa) {
		// The plane-of-array irradiance relative to that of a clear sky
		// gives the same index.
		if all := g.plane.HayDavies(pos, sky, extra, groundAlbedo).Global(); all > faintGHI {
			known.GHI = clear * min(max(poa/all, 0), topIndex)
		}
	}
	known = known.Complete(middle, loc)
	if math.IsNaN(known.GHI) {
		return
	}
	ghi := min(max(known.GHI, 0), topIndex*clear)
	o.ghi[i], o.index[i] = float32(ghi), float32(ghi/clear)
	irr, _ := solar.Erbs(ghi, pos.ZenithDeg, extra)
	plane := effective(g.plane, pos, irr, extra)
	cell := solar.FaimanC(1000*plane, or(known.TemperatureC, 15), or(known.WindSpeedMS, weather.DefaultWindMS))
	o.plane[i], o.power[i] = float32(plane), float32(plane*(1+heatPerK*(cell-25)))
}

// heatPerK is what a module loses by a degree of heat: typical of silicon.
const heatPerK = -0.0037

func or(v, otherwise float64) float64 {
	if math.IsNaN(v) {
		return otherwise
	}
	return v
}

func nans(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = nan32()
	}
	return out
}

// at is a value of the interval that holds tick t.
func (o *outlook) at(v []float32, t int64) float32 {
	if i := floorDiv(t-o.start, int64(o.n)); i >= 0 && i < int64(len(v)) {
		return v[i]
	}
	return nan32()
}

// mean returns the mean of the known values from tick a to tick b, both
// included.
func (o *outlook) mean(v []float32, a, b int64) float32 {
	var sum, n float32
	for i := max(0, floorDiv(a-o.start, int64(o.n))); i <= min(int64(len(v))-1, floorDiv(b-o.start, int64(o.n))); i++ {
		if x := v[i]; x == x {
			sum, n = sum+x, n+1
		}
	}
	if n == 0 {
		return nan32()
	}
	return sum / n
}

// outlookNames are the features every outlook gives; its columns follow.
var outlookNames = []string{"wx_ghi", "wx_index", "wx_index_before", "wx_index_after", "wx_index_around", "wx_index_day", "wx_plane", "wx_power", "wx_index_power"}

// features appends the weather of the target of n ticks at t.
func (o *outlook) features(dst []float32, clear float32, t int64) []float32 {
	k := o.at(o.index, t)
	dst = append(dst, o.at(o.ghi, t)/1000, k,
		o.at(o.index, t-ticksPerHour), o.at(o.index, t+ticksPerHour),
		o.mean(o.index, t-ticksPerHour, t+ticksPerHour), o.mean(o.index, t-4*ticksPerHour, t+4*ticksPerHour),
		o.at(o.plane, t), o.at(o.power, t), k*clear)
	for _, c := range o.columns {
		dst = append(dst, o.at(c, t))
	}
	return dst
}
