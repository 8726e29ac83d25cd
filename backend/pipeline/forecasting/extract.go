package forecasting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	domain "app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// extractBucket has, by site, what GET /forecast of a customer answers of the newest stored forecast:
// the hourly values as whole thousandths and the energies of days, which take 400 scenarios each to
// compute. A site whose extract is missing or out of date is answered from its records.
const extractBucket = "forecast-extracts"

// extractVersion is that of the format; another one is as none.
const extractVersion = 1

// thousandths are values of three decimals, as they are sent.
type thousandths = int64

// hour is one hourly value: its columns by their places.
type hour [7]thousandths

// The columns of an hour.
const (
	hourP50 = iota
	hourP10
	hourP90
	hourTemperature
	hourGHI
	hourWind
	hourClear
)

// energies are the quantiles of the energy of a day, in Wh.
type energies struct{ p10, p50, p90 thousandths }

// extractDay is a day of the site.
type extractDay struct {
	midnight, end int64  // Unix seconds
	first         int64  // the start of its first issued hour, Unix seconds
	hours         []hour // as they were issued, see [domain.Day]
	whole         energies
	// part has the energies of the hours of the forecast in the day, of the first one, the first two, and so on.
	part                 []energies
	firstKWh             thousandths // see [domain.Day]
	firstIssued          int64
	partFirst, partHours int64 // the start of the first of these hours, and their number
}

// extract is the stored answer of a site.
type extract struct {
	sequence              int64 // of the model
	points                int64
	accuracy              float64
	forecastID, model     string
	version, source, zone string
	issued, start         int64 // Unix seconds
	hours                 []hour
	days                  []extractDay
}

func thousandth(v float64) thousandths { return int64(math.Round(record.Known(v) * 1e3)) }

func hourOf(v api.ForecastValue) hour {
	return hour{hourP50: thousandth(v.PredictedPowerKW), hourP10: thousandth(v.ConfidenceInterval.Lower), hourP90: thousandth(v.ConfidenceInterval.Upper),
		hourTemperature: thousandth(v.WeatherConditions.TemperatureC), hourGHI: thousandth(v.WeatherConditions.IrradianceWM2), hourWind: thousandth(v.WeatherConditions.WindSpeedMS),
		hourClear: thousandth(v.ClearSkyKW)}
}

func energiesOf(d api.ForecastDay) energies {
	return energies{thousandth(d.P10KWh), thousandth(d.P50KWh), thousandth(d.P90KWh)}
}

// mostKW is above what a plant can have.
const mostKW = 1e9

// evenHours returns values as hours, false if they are not one an hour or too large.
func evenHours(values []api.ForecastValue) ([]hour, bool) {
	out := make([]hour, len(values))
	for i, v := range values {
		if i > 0 && v.Timestamp.Unix() != values[0].Timestamp.Unix()+3600*int64(i) {
			return nil, false
		}
		for _, x := range []float64{v.PredictedPowerKW, v.ConfidenceInterval.Lower, v.ConfidenceInterval.Upper, v.ClearSkyKW, v.WeatherConditions.TemperatureC, v.WeatherConditions.IrradianceWM2, v.WeatherConditions.WindSpeedMS} {
			if math.Abs(x) > mostKW {
				return nil, false
			}
		}
		out[i] = hourOf(v)
	}
	return out, true
}

// partEnergies returns the energies of the first of values, the first two, and so on.
func partEnergies(values []api.ForecastValue, band domain.Band) []energies {
	out := make([]energies, len(values))
	points := make([]forecast.Point, 0, len(values))
	for i, v := range values {
		points = append(points, pointOf(v))
		if i > 0 && v.ConfidenceInterval.Upper <= 0 {
			out[i] = out[i-1] // an hour without power does not change them
			continue
		}
		e := forecast.DayBand(band).Apply(forecast.EnergyOf(points))
		out[i] = energies{thousandth(e.P10), thousandth(e.P50), thousandth(e.P90)}
	}
	return out
}

// putExtract stores the extract of a forecast that was added in the same transaction, or deletes
// that of the former one if a forecast cannot be stored in this form.
func putExtract(tx store.Tx, days *domain.Service, f domain.Forecast, m model.Model, zone *time.Location, parts map[int64][]energies) error {
	f = f.AsStored()
	e := extract{sequence: int64(m.Sequence), points: int64(m.Points), accuracy: m.ModelAccuracy, forecastID: f.ForecastID, model: m.ModelName, version: m.ModelVersion,
		source: f.Source, zone: zone.String(), issued: f.IssuedAt.Unix()}
	values := f.Values(time.Time{}, math.MaxInt)
	drop := func() error { return tx.Delete(extractBucket, store.Key(f.SiteID)) }
	if len(values) == 0 || m.Sequence == 0 || f.HasGaps() {
		return drop()
	}
	e.start = values[0].Timestamp.Unix()
	even := false
	if e.hours, even = evenHours(values); !even {
		return drop()
	}
	for from, to := range series.Days(values[0].Timestamp.Time, values[len(values)-1].Timestamp.Add(time.Hour), zone) {
		is, err := days.DayIn(tx, f.SiteID, from, zone)
		if errors.Is(err, store.ErrNotFound) {
			return drop()
		}
		if err != nil {
			return err
		}
		d := extractDay{midnight: from.Unix(), end: to.Unix(), firstKWh: thousandth(is.FirstP50KWh)}
		if !is.FirstIssuedAt.IsZero() {
			d.firstIssued = is.FirstIssuedAt.Unix()
		}
		issued := is.Values()
		if len(issued) == 0 {
			return drop()
		}
		if d.hours, even = evenHours(issued); !even {
			return drop()
		}
		d.first = issued[0].Timestamp.Unix()
		whole := forecastDays(zone, map[string]domain.Band{is.Day: is.Band}, f.Band, issued)
		if len(whole) != 1 {
			return drop()
		}
		d.whole = energiesOf(whole[0])
		own := within(values, from, to)
		if len(own) > 0 {
			d.partFirst, d.partHours = own[0].Timestamp.Unix(), int64(len(own))
			if d.part = parts[d.midnight]; len(d.part) != len(own) {
				d.part = partEnergies(own, f.Band)
			}
		}
		e.days = append(e.days, d)
	}
	return tx.Put(extractBucket, store.Key(f.SiteID), e.encode())
}

// partsOf computes the energies of the parts of days of a forecast before its transaction, by the
// midnights of the days.
func partsOf(f domain.Forecast, zone *time.Location) map[int64][]energies {
	f = f.AsStored()
	values := f.Values(time.Time{}, math.MaxInt)
	parts := map[int64][]energies{}
	if len(values) == 0 {
		return parts
	}
	for from, to := range series.Days(values[0].Timestamp.Time, values[len(values)-1].Timestamp.Add(time.Hour), zone) {
		parts[from.Unix()] = partEnergies(within(values, from, to), f.Band)
	}
	return parts
}

// within returns the values that begin in a span.
func within(values []api.ForecastValue, from, to time.Time) []api.ForecastValue {
	for len(values) > 0 && values[0].Timestamp.Before(from) {
		values = values[1:]
	}
	for len(values) > 0 && !values[len(values)-1].Timestamp.Before(to) {
		values = values[:len(values)-1]
	}
	return values
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendHours appends the number of hours and their columns, each as differences.
func appendHours(b []byte, hours []hour) []byte {
	b = binary.AppendUvarint(b, uint64(len(hours)))
	for c := range len(hour{}) {
		former := thousandths(0)
		for i := range hours {
			v := hours[i][c]
			b = binary.AppendVarint(b, v-former)
			former = v
		}
	}
	return b
}

func (e *extract) encode() []byte {
	b := []byte{extractVersion}
	for _, n := range []int64{e.sequence, e.points, e.issued, e.start} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(e.accuracy))
	for _, s := range []string{e.forecastID, e.model, e.version, e.source, e.zone} {
		b = appendText(b, s)
	}
	b = appendHours(b, e.hours)
	b = binary.AppendUvarint(b, uint64(len(e.days)))
	for _, d := range e.days {
		for _, n := range []int64{d.midnight, d.end, d.first, d.firstKWh, d.firstIssued, d.partFirst, d.partHours, d.whole.p10, d.whole.p50, d.whole.p90} {
			b = binary.AppendVarint(b, n)
		}
		b = appendHours(b, d.hours)
		former := energies{}
		for _, p := range d.part {
			b = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(b, p.p10-former.p10), p.p50-former.p50), p.p90-former.p90)
			former = p
		}
	}
	return b
}

// extractReader reads what encode wrote. After an error all that it reads is zero.
type extractReader struct {
	b      []byte
	failed bool
}

func (r *extractReader) int() int64 {
	var u uint64
	for i, x := range r.b {
		if i == binary.MaxVarintLen64 {
			break
		}
		u |= uint64(x&0x7f) << (7 * i)
		if x < 0x80 {
			r.b = r.b[i+1:]
			return int64(u>>1) ^ -int64(u&1) //nolint:gosec // G115: zigzag encoding
		}
	}
	r.b, r.failed = nil, true
	return 0
}

// count is a length of at most what is left.
func (r *extractReader) count() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > uint64(len(r.b)) {
		r.b, r.failed = nil, true
		return 0
	}
	r.b = r.b[n:]
	if v > uint64(len(r.b)) {
		r.b, r.failed = nil, true
		return 0
	}
	return int(v) //nolint:gosec // at most the length of the slice
}

func (r *extractReader) text() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *extractReader) hours(to []hour) []hour {
	n := r.count()
	if cap(to) < n {
		to = make([]hour, n)
	}
	to = to[:n]
	for c := range len(hour{}) {
		former := thousandths(0)
		for i := range to {
			former += r.int()
			to[i][c] = former
		}
	}
	return to
}

// decode reads an extract into e, whose memory it reuses.
func (e *extract) decode(b []byte) error {
	if len(b) < 1 || b[0] != extractVersion {
		return fmt.Errorf("read the extract of a forecast: version %v", b[:min(len(b), 1)])
	}
	r := &extractReader{b: b[1:]}
	e.sequence, e.points, e.issued, e.start = r.int(), r.int(), r.int(), r.int()
	if len(r.b) < 8 {
		return errors.New("read the extract of a forecast: it is too short")
	}
	e.accuracy = math.Float64frombits(binary.BigEndian.Uint64(r.b))
	r.b = r.b[8:]
	e.forecastID, e.model, e.version, e.source, e.zone = r.text(), r.text(), r.text(), r.text(), r.text()
	e.hours = r.hours(e.hours)
	n := r.count()
	if cap(e.days) < n {
		e.days = make([]extractDay, n)
	}
	e.days = e.days[:n]
	for i := range e.days {
		d := &e.days[i]
		d.midnight, d.end, d.first, d.firstKWh, d.firstIssued = r.int(), r.int(), r.int(), r.int(), r.int()
		d.partFirst, d.partHours = r.int(), r.int()
		d.whole = energies{r.int(), r.int(), r.int()}
		d.hours = r.hours(d.hours)
		if d.partHours < 0 || d.partHours > int64(len(r.b)) {
			return errors.New("read the extract of a forecast: wrong number of hours")
		}
		d.part = d.part[:0]
		former := energies{}
		for range d.partHours {
			former = energies{former.p10 + r.int(), former.p50 + r.int(), former.p90 + r.int()}
			d.part = append(d.part, former)
		}
	}
	if r.failed || len(r.b) > 0 {
		return errors.New("read the extract of a forecast: it is damaged")
	}
	return nil
}
