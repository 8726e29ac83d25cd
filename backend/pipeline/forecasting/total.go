package forecasting

import (
	"math"

	"gonum.org/v1/gonum/blas/gonum"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
)

// total adds the forecasts of sites: medians by the hour and by the day, and their bands by the
// distance of the sites: the errors are joined by a Gaussian copula, with the distances of P10 and
// P90 from the median as standard deviations. Hours and days that a site lacks are left
// out. It keeps the widths of the bands of each site, 8 bytes each.
type total struct {
	c        *Customer
	places   []*[3]float64 // on the unit sphere; nil: not known
	metadata api.ForecastMetadata
	accuracy float64
	sources  map[string]bool
	versions map[string]bool
	todayKWh float64

	first  int64 // of the hours, Unix seconds
	hours  []hourSum
	days   []api.ForecastDay // P50KWh is the sum
	counts []int             // of the sites that have the day
	widths []float64         // of each site: of hours and days below the median, then above
}

type hourSum struct {
	n                           int // of the sites that have the hour
	p50, clear                  thousandths
	temperature, ghi, windSpeed thousandths
}

func (c *Customer) newTotal(sites int) *total {
	return &total{c: c, places: make([]*[3]float64, 0, sites), sources: map[string]bool{}, versions: map[string]bool{}}
}

// columns is the number of widths of a site.
func (t *total) columns() int { return 2 * (len(t.hours) + len(t.days)) }

// add adds a site.
func (t *total) add(site api.Site, p totalPart) {
	if len(t.places) == 0 {
		t.metadata.ModelType, t.metadata.ModelAccuracy, t.first = p.model, p.accuracy, p.first
		t.hours, t.days, t.counts = make([]hourSum, len(p.hours)), make([]api.ForecastDay, len(p.days)), make([]int, len(p.days))
		for i, d := range p.days {
			t.days[i] = api.ForecastDay{Day: p.dates[i], Hours: float64(d.hours), Complete: true}
		}
		t.widths = make([]float64, 0, t.columns()*cap(t.places))
	}
	t.places = append(t.places, placeOf(site))
	n := float64(p.points)
	t.accuracy += n * p.accuracy
	t.metadata.TrainingDataPoints += p.points
	t.sources[p.source], t.versions[p.version] = true, true
	t.todayKWh += p.todayKWh

	at := len(t.widths)
	t.widths = append(t.widths, make([]float64, t.columns())...)
	lower, upper := t.widths[at:at+t.columns()/2], t.widths[at+t.columns()/2:]
	for i := range min(len(t.hours), len(p.hours)) {
		if p.first != t.first {
			break
		}
		h, sum := &p.hours[i], &t.hours[i]
		sum.n++
		sum.p50, sum.clear = sum.p50+h[hourP50], sum.clear+h[hourClear]
		sum.temperature, sum.ghi, sum.windSpeed = sum.temperature+h[hourTemperature], sum.ghi+h[hourGHI], sum.windSpeed+h[hourWind]
		lower[i], upper[i] = float64(h[hourP50]-h[hourP10])/1e3, float64(h[hourP90]-h[hourP50])/1e3
	}
	for i, date := range p.dates {
		for k := range t.days {
			if d := &t.days[k]; d.Day == date {
				e := p.days[i]
				t.counts[k]++
				d.Hours, d.Complete = min(d.Hours, float64(e.hours)), d.Complete && e.complete
				d.P50KWh += float64(e.p50) / 1e3
				lower[len(t.hours)+k], upper[len(t.hours)+k] = float64(e.p50-e.p10)/1e3, float64(e.p90-e.p50)/1e3
			}
		}
	}
}

// sum is the forecast of the sites together.
func (t *total) sum() api.GeneratedForecast {
	c := t.c
	out := api.GeneratedForecast{ForecastID: record.NewID("fc", c.now), CustomerID: c.query.CustomerID, GeneratedAt: api.At(c.now), HorizonHours: c.query.HorizonHours,
		StepMinutes: 60, Metadata: t.metadata, TodayP50KWh: sitedata.Round(t.todayKWh)}
	if out.Metadata.TrainingDataPoints > 0 {
		out.Metadata.ModelAccuracy = t.accuracy / float64(out.Metadata.TrainingDataPoints)
	}
	out.Metadata.WeatherSource, out.Metadata.ModelVersion = joined(t.sources), joined(t.versions)
	out.ModelInfo = &api.ModelInfo{ModelType: out.Metadata.ModelType, ModelVersion: out.Metadata.ModelVersion, ModelAccuracy: out.Metadata.ModelAccuracy, AggregationMethod: api.AggregationSum}
	squares := squaresOf(t.places, t.widths)
	half := t.columns() / 2
	band := func(i int, p50 float64) (low, high float64) {
		return sitedata.Round(max(p50-math.Sqrt(max(squares[i], 0)), 0)), sitedata.Round(p50 + math.Sqrt(max(squares[half+i], 0)))
	}
	n := int64(len(t.places))
	mean := func(sum thousandths) float64 { return sitedata.Round(float64(sum) / 1e3 / float64(n)) }
	for i, h := range t.hours {
		if h.n != len(t.places) {
			continue
		}
		p50 := float64(h.p50) / 1e3
		low, high := band(i, p50)
		out.Forecasts = append(out.Forecasts, api.ForecastValue{Timestamp: api.Unix(t.first + 3600*int64(i)), PredictedPowerKW: p50,
			ConfidenceInterval: api.Interval{Lower: low, Upper: high}, ClearSkyKW: float64(h.clear) / 1e3,
			WeatherConditions: api.WeatherConditions{TemperatureC: mean(h.temperature), IrradianceWM2: mean(h.ghi), WindSpeedMS: mean(h.windSpeed)}})
	}
	for i, d := range t.days {
		if t.counts[i] == len(t.places) {
			d.P10KWh, d.P90KWh = band(len(t.hours)+i, d.P50KWh)
			d.P50KWh = sitedata.Round(d.P50KWh)
			out.Days = append(out.Days, d)
		}
	}
	return out
}

// squaresOf returns, for each column of the widths of sites, the square of the width of the sum:
// of errors that correlate by the distance of each two sites.
func squaresOf(places []*[3]float64, widths []float64) []float64 {
	columns := len(widths) / max(len(places), 1)
	used := make([]int, 0, columns) // those with a width, which those of nights are not
	for k := range columns {
		for i := range places {
			if widths[i*columns+k] != 0 {
				used = append(used, k)
				break
			}
		}
	}
	m := len(used)
	packed := make([]float64, m*len(places))
	for i := range places {
		for n, k := range used {
			packed[i*m+n] = widths[i*columns+k]
		}
	}
	sums, before := make([]float64, m), make([]float64, m)
	blas := gonum.Implementation{}
	for i, place := range places {
		clear(before)
		for j, other := range places[:i] {
			blas.Daxpy(m, correlation(place, other), packed[j*m:(j+1)*m], 1, before, 1)
		}
		for n, x := range packed[i*m : (i+1)*m] {
			sums[n] += x * (x + 2*before[n])
		}
	}
	out := make([]float64, columns)
	for n, k := range used {
		out[k] = sums[n]
	}
	return out
}

// fadeKM is the distance over which the correlation of two sites' errors falls to 1/e.
const fadeKM = 250

// earthKM is the radius of the Earth.
const earthKM = 6371

// fades is the correlation of two sites by the distance of their places through the Earth, in
// steps; between them it is linear, within 1e-6.
var fades = func() (table [nearSteps + 2]float64) {
	for i := range table {
		table[i] = fade(float64(i) * nearest / nearSteps)
	}
	return table
}()

const (
	nearest   = 0.5 // of the radius
	nearSteps = 8192
)

func fade(chord float64) float64 {
	return math.Exp(-2 * earthKM * math.Asin(min(chord/2, 1)) / fadeKM)
}

// placeOf is the place of a site on the unit sphere, nil if it is not known.
func placeOf(s api.Site) *[3]float64 {
	if s.Latitude == nil || s.Longitude == nil {
		return nil
	}
	sinLat, cosLat := math.Sincos(*s.Latitude * math.Pi / 180)
	sinLon, cosLon := math.Sincos(*s.Longitude * math.Pi / 180)
	return &[3]float64{cosLat * cosLon, cosLat * sinLon, sinLat}
}

// correlation is that of the errors of two sites: e^(−distance/250 km), and full if the place of
// one is not known. Errors of an hour correlate less than those of a day, so that bands of hours that
// are added in this way are rather too wide than too narrow.
func correlation(a, b *[3]float64) float64 {
	if a == nil || b == nil {
		return 1
	}
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	chord := math.Sqrt(x*x + y*y + z*z)
	if chord >= nearest {
		return fade(chord)
	}
	at := chord * (nearSteps / nearest)
	i := int(at)
	return fades[i] + (at-float64(i))*(fades[i+1]-fades[i])
}

// partOf is what the sum takes of a site's forecast that does not come from an extract.
func partOf(g *api.GeneratedForecast) totalPart {
	p := totalPart{points: g.Metadata.TrainingDataPoints, accuracy: g.Metadata.ModelAccuracy, version: g.Metadata.ModelVersion, model: g.Metadata.ModelType,
		source: g.Metadata.WeatherSource, todayKWh: g.TodayP50KWh}
	for i, v := range g.Forecasts {
		if i == 0 {
			p.first = v.Timestamp.Unix()
		}
		if v.Timestamp.Unix() != p.first+3600*int64(i) {
			break
		}
		p.hours = append(p.hours, hourOf(v))
	}
	for _, d := range g.Days {
		p.days = append(p.days, dayEnergy{hours: int64(d.Hours), complete: d.Complete, energies: energiesOf(d)})
		p.dates = append(p.dates, d.Day)
	}
	return p
}
