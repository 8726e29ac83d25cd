package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// SunSpec operating states (models 101 to 103) for units that report none.
const (
	stateSleeping = 2
	stateMPPT     = 4
	stateFault    = 7
)

// optional are the columns behind the optional numbers of a record, in the
// order in which [api.Record] has them.
var optional = [...]struct {
	quantity series.Quantity
	key      string
	lasting  bool // of several samples the last one holds, not the mean
}{
	{series.ReactiveKVArh, `,"kVArh":`, false},
	{series.ApparentKVA, `,"kVA":`, false},
	{series.PowerFactor, `,"PF":`, false},
	{series.TemperatureC, `,"temperature":`, false},
	{series.IrradianceWM2, `,"irradiance":`, false},
	{series.StateOfCharge, `,"soc":`, true},
	{series.StateOfHealth, `,"soh":`, true},
	{series.VoltageV, `,"voltage":`, false},
	{series.EnergyCounterKWh, `,"energy_counter_kwh":`, true},
}

// sample is one record before it is written. NaN is absent.
type sample struct {
	at         int64 // Unix seconds
	powerKW    float64
	energyKWh  float64
	state, run float64
	optional   [len(optional)]float64
	errorCode  float64
	source     energy.Source
	day        *store.DaySum // of the day that the sample is; nil: it is none
}

// recordWriter appends records of one unit as [api.Record] encodes, at a
// fraction of the cost of reflection.
type recordWriter struct {
	head    []byte // {"asset_id":…,"site_id":…,"timestamp":"
	assetID string
	day     int64  // whose date is
	date    []byte // 2006-01-02T
}

func newRecordWriter(siteID, assetID string) *recordWriter {
	w := &recordWriter{assetID: assetID, day: math.MinInt64}
	w.head = append(w.head, `{"asset_id":`...)
	w.head = appendString(w.head, assetID)
	w.head = append(w.head, `,"site_id":`...)
	w.head = appendString(w.head, siteID)
	w.head = append(w.head, `,"timestamp":"`...)
	return w
}

// append adds a record; with a cursor when it is the last of a part.
func (w *recordWriter) append(b []byte, s *sample, cursor bool) []byte {
	b = append(b, w.head...)
	b = w.appendTime(b, s.at)
	b = append(b, `","power":`...)
	b = appendNumber(b, s.powerKW)
	b = append(b, `,"kWh":`...)
	b = appendNumber(b, s.energyKWh)
	state, run := s.states()
	b = append(b, `,"inverter_state":`...)
	b = strconv.AppendInt(b, int64(state), 10)
	b = append(b, `,"run_state":`...)
	b = strconv.AppendInt(b, int64(run), 10)
	for i, v := range s.optional {
		if finite(v) {
			b = append(b, optional[i].key...)
			b = appendNumber(b, v)
		}
	}
	if finite(s.errorCode) {
		b = append(b, `,"error_code":`...)
		b = strconv.AppendInt(b, int64(s.errorCode), 10)
		b = append(b, `,"error_type":"`...)
		b = append(b, errorType(s.errorCode, state)...)
		b = append(b, '"')
	}
	b = s.appendEnergy(b)
	if cursor {
		b = append(b, `,"cursor":"`...)
		b = append(b, cursorAt(w.assetID, s.at)...)
		b = append(b, '"')
	}
	return append(b, '}')
}

// appendEnergy adds where the energy comes from, unless all of it was measured
// as power, and of a day its consumption and its parts.
func (s *sample) appendEnergy(b []byte) []byte {
	source, day := s.source, energy.Sum{}
	if s.day != nil {
		day = s.day.Energy()
		source = day.Source()
	}
	if source > energy.Power {
		b = append(b, `,"energy_source":"`...)
		b = append(b, source.String()...)
		b = append(b, '"')
	}
	if s.day == nil {
		return b
	}
	for _, part := range [...]struct {
		key string
		kWh float64
	}{
		{`,"consumption_kwh":`, day.ConsumptionKWh}, {`,"counter_kwh":`, day.CounterKWh}, {`,"interval_kwh":`, day.IntervalKWh},
		{`,"extrapolated_kwh":`, day.ExtrapolatedKWh},
	} {
		if v := rounded(part.kWh); v > 0 {
			b = append(b, part.key...)
			b = appendNumber(b, v)
		}
	}
	if share, ok := day.Difference(); ok {
		b = append(b, `,"energy_difference_pct":`...)
		b = appendNumber(b, math.Round(share*1e4)/100)
	}
	return b
}

// states are as reported; a unit that reports none is judged by its power.
func (s *sample) states() (state, run int) {
	state, run = stateSleeping, 0
	if s.powerKW > 0 {
		state, run = stateMPPT, 1
	}
	if finite(s.state) {
		state = int(s.state)
	}
	if finite(s.run) {
		run = int(s.run)
	}
	return state, run
}

func errorType(code float64, state int) string {
	switch {
	case code == 0:
		return "normal"
	case state == stateFault:
		return "fault"
	}
	return "unknown" // vendors number as they like
}

func finite(v float64) bool { return v-v == 0 } // NaN for NaN and infinities

const daySeconds = 24 * 60 * 60

// appendTime writes api.TimeLayout; the date is made once a day.
func (w *recordWriter) appendTime(b []byte, at int64) []byte {
	day := at / daySeconds
	if at%daySeconds < 0 {
		day--
	}
	if day != w.day {
		w.day = day
		w.date = time.Unix(day*daySeconds, 0).UTC().AppendFormat(w.date[:0], "2006-01-02T")
	}
	b = append(b, w.date...)
	sec := at - day*daySeconds
	b = appendTwo(b, sec/3600)
	b = append(b, ':')
	b = appendTwo(b, sec/60%60)
	b = append(b, ':')
	b = appendTwo(b, sec%60)
	return append(b, 'Z')
}

func appendTwo(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) } //nolint:gosec // n has two digits

// appendNumber writes v as encoding/json does. Measured values have few
// decimals: a decimal of at most 15 digits that reads back as v is the
// shortest there is, so it needs no search.
func appendNumber(b []byte, v float64) []byte {
	const scale = 1e6
	if scaled := math.RoundToEven(v * scale); math.Abs(scaled) < 1e15 && scaled/scale == v && (scaled != 0 || !math.Signbit(v)) {
		n := int64(scaled)
		if n < 0 {
			b = append(b, '-')
			n = -n
		}
		b = strconv.AppendInt(b, n/scale, 10)
		part, decimals := uint32(n%scale), 6 //nolint:gosec // below scale
		if part == 0 {
			return b
		}
		if part%1000 == 0 {
			part, decimals = part/1000, 3
		}
		for part%10 == 0 {
			part, decimals = part/10, decimals-1
		}
		var digits [7]byte
		for i := decimals; i > 0; i-- {
			digits[i] = byte('0' + part%10)
			part /= 10
		}
		digits[0] = '.'
		return append(b, digits[:decimals+1]...)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, 64)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 is e-9 in JSON
		b = b[:n-1]
	}
	return b
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always encodes
		return append(b, `""`...)
	}
	return append(b, text...)
}

// rounded cuts what was computed to what can be meant: a milliwatt.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// position is a cursor of the telemetry in plain.
type position struct {
	AssetID   string   `json:"asset_id"`
	Timestamp api.Time `json:"timestamp"`
}

func cursorAt(assetID string, at int64) string {
	b, err := json.Marshal(position{assetID, api.Unix(at)})
	if err != nil { // two strings always encode
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// readCursor returns the time after which to continue; another unit's cursor is
// refused.
func readCursor(cursor, assetID string) (int64, error) {
	p, err := readPosition(cursor)
	if err == nil && p.AssetID != assetID {
		err = api.InvalidParameter("cursor", "of another asset")
	}
	if err != nil {
		return 0, err
	}
	return p.Timestamp.Unix(), nil
}

func readPosition(cursor string) (p position, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Timestamp.IsZero() || p.AssetID == "" {
		return position{}, api.InvalidParameter("cursor", "not a cursor of this service")
	}
	return p, nil
}
