package httpapi

import (
	"encoding/json"
	"math"
	"testing"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plain is the record of a sample.
func plain(siteID, assetID string, s sample) api.Record {
	number := func(v float64) *float64 {
		if !finite(v) {
			return nil
		}
		return &v
	}
	state, run := s.states()
	r := api.Record{AssetID: assetID, SiteID: siteID, Timestamp: api.Unix(s.at), Power: s.powerKW, KWh: s.energyKWh, InverterState: state, RunState: run}
	for i, to := range []**float64{&r.KVArh, &r.KVA, &r.PF, &r.Temperature, &r.Irradiance, &r.SoC, &r.SoH, &r.Voltage, &r.EnergyCounterKWh} {
		*to = number(s.optional[i])
	}
	if finite(s.errorCode) {
		code := int64(s.errorCode)
		r.ErrorCode, r.ErrorType = &code, errorType(s.errorCode, state)
	}
	return r
}

func numbers() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Custom(func(r *rapid.T) float64 { return float64(rapid.IntRange(-1e6, 1e7).Draw(r, "milli")) / 1000 }),
		rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 1e-7, 1e20, 1e21, 1e15, 999999999999999, 0.1, 0.3, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, -1e-9, 123456789.123456}),
	)
}

func maybe(g *rapid.Generator[float64]) *rapid.Generator[float64] {
	return rapid.OneOf(g, rapid.Just(math.NaN()))
}

// TestRecordsEncodeAsJSON: the fast encoder writes what encoding/json writes.
func TestRecordsEncodeAsJSON(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		site, asset := rapid.String().Draw(r, "site"), rapid.String().Draw(r, "asset")
		w := newRecordWriter(site, asset)
		for range rapid.IntRange(1, 4).Draw(r, "records") {
			s := sample{
				at:      rapid.Int64Range(-1e9, 4e9).Draw(r, "at"),
				powerKW: numbers().Draw(r, "power"), energyKWh: numbers().Draw(r, "energy"),
				state: maybe(rapid.SampledFrom([]float64{1, 2, 4, 7})).Draw(r, "state"), run: maybe(rapid.SampledFrom([]float64{0, 1})).Draw(r, "run"),
				errorCode: maybe(rapid.SampledFrom([]float64{0, 17, -4, 65535})).Draw(r, "code"),
			}
			for i := range s.optional {
				s.optional[i] = maybe(numbers()).Draw(r, "optional")
			}
			want := plain(site, asset, s)
			cursor := rapid.Bool().Draw(r, "cursor")
			if cursor {
				want.Cursor = cursorAt(asset, s.at)
			}
			text, err := json.Marshal(want)
			if err != nil {
				r.Fatal(err)
			}
			if d := cmp.Diff(string(text), string(w.append(nil, &s, cursor))); d != "" {
				r.Fatal(d)
			}
		}
	})
}

func TestCursor(t *testing.T) {
	c := cursorAt("INV-1", 1_759_276_800)
	if at, err := readCursor(c, "INV-1"); err != nil || at != 1_759_276_800 {
		t.Errorf("%d, %v", at, err)
	}
	for name, bad := range map[string]string{"of another asset": cursorAt("INV-2", 1), "empty object": "e30", "no base64": "?", "no JSON": "YWJj"} {
		if _, err := readCursor(bad, "INV-1"); err == nil {
			t.Errorf("a cursor %s was taken", name)
		}
	}
}

func day288() []sample {
	list := make([]sample, 288)
	for i := range list {
		s := sample{at: 1_759_276_800 + int64(i)*300, powerKW: math.Round(40000*math.Sin(float64(i)/92)) / 1000, state: 4, run: 1, errorCode: math.NaN()}
		s.energyKWh = rounded(s.powerKW / 12)
		for k := range s.optional {
			s.optional[k] = math.NaN()
		}
		s.optional[3] = 20.5
		list[i] = s
	}
	return list
}

func BenchmarkEncodeDay(b *testing.B) {
	list := day288()
	b.Run("append", func(b *testing.B) {
		buf := make([]byte, 0, 64<<10)
		for b.Loop() {
			w := newRecordWriter("Sibaya", "INV-1000000054495190")
			buf = buf[:0]
			for i := range list {
				buf = w.append(buf, &list[i], false)
			}
		}
		b.SetBytes(int64(len(buf)))
	})
	b.Run("encoding_json", func(b *testing.B) {
		n := 0
		for b.Loop() {
			r := api.RecordsResponse{Records: make([]api.Record, len(list))}
			for i, s := range list {
				r.Records[i] = plain("Sibaya", "INV-1000000054495190", s)
			}
			text, err := json.Marshal(r)
			if err != nil {
				b.Fatal(err)
			}
			n = len(text)
		}
		b.SetBytes(int64(n))
	})
}
