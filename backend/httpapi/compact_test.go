package httpapi_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

const compactSpan = "&start=2025-09-30T22:00:00Z&end=2025-10-01T21:59:59Z"

// row is a record of a compact form, whatever the form; null fields are absent.
type row map[string]string

// rows reads the records of a response in a compact form.
func rows(t *testing.T, r *httptest.ResponseRecorder) (list []row) {
	t.Helper()
	if r.Code != http.StatusOK {
		t.Fatalf("HTTP %d %s", r.Code, r.Body)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch media := r.Header().Get("Content-Type"); media {
	case api.MediaColumns:
		var v api.ColumnsResponse
		if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		for _, c := range v.Chunks {
			at := c.Start.Unix()
			for i := range c.Count {
				one := row{"asset_id": c.AssetID, "timestamp": api.Unix(at).String()}
				for name, values := range c.Values {
					if len(values) != c.Count {
						t.Fatalf("%s has %d values in a chunk of %d", name, len(values), c.Count)
					}
					if values[i] != nil {
						one[name] = number(*values[i])
					}
				}
				list = append(list, one)
				if at += c.StepS; c.StepS == 0 && i < len(c.DeltasS) {
					at += c.DeltasS[i]
				}
			}
		}
	case api.MediaCSV:
		lines, err := csv.NewReader(r.Body).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[1:] {
			one := row{}
			for i, text := range line {
				if text != "" {
					one[lines[0][i]] = text
				}
			}
			list = append(list, one)
		}
	case api.MediaNDJSON:
		for line := range strings.Lines(r.Body.String()) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			one := row{}
			for name, value := range v {
				switch value := value.(type) {
				case string:
					one[name] = value
				case float64:
					one[name] = number(value)
				}
			}
			list = append(list, one)
		}
	case api.MediaArrow:
		stream, err := ipc.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		for stream.Next() {
			batch := stream.RecordBatch()
			for i := range int(batch.NumRows()) {
				one := row{}
				for k := range int(batch.NumCols()) {
					name := batch.ColumnName(k)
					if batch.Column(k).IsNull(i) {
						continue
					}
					switch column := batch.Column(k).(type) {
					case *array.Dictionary:
						one[name] = column.Dictionary().(*array.String).Value(column.GetValueIndex(i))
					case *array.Timestamp:
						one[name] = api.Unix(int64(column.Value(i))).String()
					case *array.Float64:
						one[name] = number(column.Value(i))
					case *array.Int32:
						one[name] = strconv.Itoa(int(column.Value(i)))
					}
				}
				list = append(list, one)
			}
		}
		if stream.Err() != nil {
			t.Fatal(stream.Err())
		}
	default:
		t.Fatalf("content type %q", media)
	}
	return list
}

var compactForms = []string{api.FormatColumns, api.FormatCSV, api.FormatNDJSON, api.FormatArrow}

// All forms have the records of the form records.
func TestCompactForms(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	url := api.PathInverter + "?site_id=" + ownSite + "&asset_id=" + ownAsset + compactSpan
	var want []row
	cursor := ""
	for {
		var page api.RecordsResponse
		if r := w.as("own", http.MethodGet, url+"&limit=200"+cursor, ""); json.Unmarshal(r.Body.Bytes(), &page) != nil {
			t.Fatal(r.Body)
		}
		for _, v := range page.Records {
			number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
			want = append(want, row{"asset_id": v.AssetID, "timestamp": v.Timestamp.String(), "power": number(v.Power), "kWh": number(v.KWh),
				"inverter_state": strconv.Itoa(v.InverterState), "run_state": strconv.Itoa(v.RunState), "temperature": number(*v.Temperature), "error_code": strconv.FormatInt(*v.ErrorCode, 10)})
		}
		if len(page.Records) < 200 {
			break
		}
		cursor = "&cursor=" + page.Records[199].Cursor
	}
	if len(want) != 288 {
		t.Fatalf("%d records", len(want))
	}
	media := map[string]string{api.FormatColumns: api.MediaColumns, api.FormatCSV: api.MediaCSV, api.FormatNDJSON: api.MediaNDJSON, api.FormatArrow: api.MediaArrow}
	for _, form := range compactForms {
		byFormat := w.as("own", http.MethodGet, url+"&format="+form, "")
		whole := byFormat.Body.String()
		if diff := cmp.Diff(want, rows(t, byFormat)); diff != "" {
			t.Errorf("%s:\n%s", form, diff)
		}
		byAccept := w.as("own", http.MethodGet, url, "", "Accept", "text/html;q=0.9, application/json;q=0.5, "+media[form])
		if byAccept.Body.String() != whole || byAccept.Header().Get("Vary") == "" {
			t.Errorf("%s by Accept differs from format, Vary %q", form, byAccept.Header().Get("Vary"))
		}
		tag := byAccept.Header().Get("Etag")
		if r := w.as("own", http.MethodGet, url+"&format="+form, "", "If-None-Match", tag); tag == "" || r.Code != http.StatusNotModified {
			t.Errorf("%s with the tag %q: HTTP %d", form, tag, r.Code)
		}
		zipped := w.as("own", http.MethodGet, url+"&format="+form, "", "Accept-Encoding", "gzip")
		if plain, err := gzip.NewReader(zipped.Body); err != nil || zipped.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %v, %v", form, zipped.Header(), err)
		} else if b := new(bytes.Buffer); true {
			if _, err := b.ReadFrom(plain); err != nil || b.String() != whole {
				t.Errorf("%s with gzip differs, %v", form, err)
			}
		}
		packed := w.as("own", http.MethodGet, url+"&format="+form, "", "Accept-Encoding", "zstd")
		if plain, err := zstd.NewReader(packed.Body); err != nil || packed.Header().Get("Content-Encoding") != "zstd" {
			t.Errorf("%s: %v, %v", form, packed.Header(), err)
		} else if b := new(bytes.Buffer); true {
			if _, err := b.ReadFrom(plain); err != nil || b.String() != whole {
				t.Errorf("%s with zstd differs, %v", form, err)
			}
		}
		site := w.as("own", http.MethodGet, strings.NewReplacer(api.PathInverter, api.PathSiteData, "&asset_id="+ownAsset, "").Replace(url)+"&format="+form, "")
		if diff := cmp.Diff(want, rows(t, site)); diff != "" {
			t.Errorf("%s of the site:\n%s", form, diff)
		}
		if none := rows(t, w.as("own", http.MethodGet, api.PathInverter+"?site_id="+ownSite+"&asset_id="+ownAsset+"&start=2020-01-01&end=2020-01-02&format="+form, "")); len(none) != 0 {
			t.Errorf("%s of no data: %v", form, none)
		}
	}
	if r := w.as("own", http.MethodGet, url, "", "Accept", "text/csv;q=0.2, */*"); r.Header().Get("Content-Type") != "application/json" {
		t.Errorf("a client that prefers JSON gets %s", r.Header().Get("Content-Type"))
	}
}

// irregular stores two units: one with gaps, values without power and an uneven step, one
// with a counter that shows the energy of a day without samples.
func irregular(t testing.TB, w *world) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.domain.Sites.SetSite(context.Background(), api.Unlimited("test"), api.Site{SiteID: "Clock", CustomerID: ownCustomer, Name: "Clock", Timezone: "Europe/Berlin"}); err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	var a, b series.Frame
	var power, kWh, temperature, counter, counted []float64
	start := time.Date(2025, 10, 25, 22, 0, 0, 0, time.UTC) // of the day of 25 hours
	for i := range 4 * 24 * 6 {
		at := start.Unix() + int64(i)*600
		if i%50 == 7 {
			at += 13
		}
		if i%31 < 2 {
			continue
		}
		a.Times = append(a.Times, at)
		power, kWh, temperature = append(power, float64(i%17)), append(kWh, nan), append(temperature, 20+float64(i%5))
		if i%20 == 3 { // energy without power
			power[len(power)-1], kWh[len(kWh)-1] = nan, 1.25
		}
		if i < 150 || i >= 294 { // the second day of the site is missing
			b.Times = append(b.Times, at)
			counted, counter = append(counted, 6), append(counter, float64(i))
		}
	}
	a.Set(series.PowerKW, power)
	a.Set(series.EnergyKWh, kWh)
	a.Set(series.TemperatureC, temperature)
	b.Set(series.PowerKW, counted)
	b.Set(series.EnergyCounterKWh, counter)
	for _, id := range []string{"A", "B-2"} {
		if _, err := w.domain.Sites.AddAsset(context.Background(), api.Unlimited("test"), api.Asset{AssetID: id, SiteID: "Clock", CustomerID: ownCustomer, Name: id, Type: "inverter", CapacityKW: 30, Location: "roof"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.store.Append(context.Background(), store.SiteKey{ID: "Clock", Zone: zone}, []store.AssetFrame{{AssetID: "A", Frame: a}, {AssetID: "B-2", Frame: b}}); err != nil {
		t.Fatal(err)
	}
}

const clockSpan = api.PathSiteData + "?site_id=Clock&start=2025-10-25T22:00:00Z&end=2025-10-29T22:59:59Z"

func float(t testing.TB, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A step keeps all energy, whatever the aggregate, and never has values of two days.
func TestCompactSteps(t *testing.T) {
	w := newWorld(t, nil)
	irregular(t, w)
	zone, _ := time.LoadLocation("Europe/Berlin")
	read := func(more string) []row { return rows(t, w.as("customer", http.MethodGet, clockSpan+more, "")) }
	raw := read("&format=ndjson")
	type key struct{ unit, at string }
	for _, step := range []string{"900", "1h", "7h", "12h"} {
		length, err := api.ParseStep(step)
		if err != nil {
			t.Fatal(err)
		}
		energy, powers := map[key]float64{}, map[key][]float64{}
		for _, r := range raw {
			at, _ := time.Parse(api.TimeLayout, r["timestamp"])
			midnight := series.Midnight(at, zone)
			k := key{r["asset_id"], api.At(midnight.Add(at.Sub(midnight) / length * length)).String()}
			energy[k] += float(t, r["kWh"])
			if r["power"] != "" {
				powers[k] = append(powers[k], float(t, r["power"]))
			}
		}
		for _, aggregate := range []string{"mean", "min", "max", "sum", "last"} {
			got := read("&format=csv&fields=power,kWh&aggregate=" + aggregate + "&step=" + step)
			if len(got) != len(energy) {
				t.Errorf("%s %s: %d records, want %d", aggregate, step, len(got), len(energy))
			}
			for _, r := range got {
				k := key{r["asset_id"], r["timestamp"]}
				if math.Abs(float(t, r["kWh"])-energy[k]) > 1e-5 {
					t.Errorf("%s %s %v: %s kWh, want %v", aggregate, step, k, r["kWh"], energy[k])
				}
				values := powers[k]
				if (len(values) == 0) != (r["power"] == "") {
					t.Fatalf("%s %s %v: power %q of %v", aggregate, step, k, r["power"], values)
				}
				if len(values) == 0 {
					continue
				}
				want := values[len(values)-1]
				for _, v := range values[:len(values)-1] {
					switch aggregate {
					case "min":
						want = min(want, v)
					case "max":
						want = max(want, v)
					case "sum":
						want += v
					}
				}
				if aggregate != "mean" && math.Abs(float(t, r["power"])-want) > 1e-5 {
					t.Errorf("%s %s %v: power %s, want %v of %v", aggregate, step, k, r["power"], want, values)
				}
			}
		}
	}
}

// A step of a day has the energy of the stored day, also of a day that only a counter shows.
func TestCompactDays(t *testing.T) {
	w := newWorld(t, nil)
	irregular(t, w)
	daily := rows(t, w.as("customer", http.MethodGet, clockSpan+"&format=columns&resolution=daily", ""))
	for _, form := range compactForms {
		steps := rows(t, w.as("customer", http.MethodGet, clockSpan+"&step=1d&aggregate=max&format="+form, ""))
		if len(daily) != 8 || len(steps) != len(daily) {
			t.Fatalf("%s: %d and %d days", form, len(steps), len(daily))
		}
		empty := 0
		for i, r := range steps {
			if r["timestamp"] != daily[i]["timestamp"] || r["kWh"] != daily[i]["kWh"] || r["counter_kwh"] != daily[i]["counter_kwh"] {
				t.Errorf("%s: %v, want the energy of %v", form, r, daily[i])
			}
			if r["power"] == "" {
				empty++
				if r["kWh"] == "0" {
					t.Error("the counter's energy of a day without samples is missing")
				}
			}
		}
		if empty != 1 {
			t.Errorf("%s: %d days without power, want the one that only the counter shows", form, empty)
		}
	}
}

// Pages of the forms that have pages join to the whole.
func TestCompactPages(t *testing.T) {
	w := newWorld(t, nil)
	irregular(t, w)
	whole := rows(t, w.as("customer", http.MethodGet, clockSpan+"&format=columns&fields=power,temperature", ""))
	for _, form := range []string{api.FormatColumns, api.FormatNDJSON} {
		var got []row
		cursor := ""
		for page := 0; page == 0 || cursor != ""; page++ {
			r := w.as("customer", http.MethodGet, clockSpan+"&limit=333&fields=power,temperature&format="+form+"&cursor="+cursor, "")
			var v api.ColumnsResponse
			cursor = ""
			if form == api.FormatColumns && json.Unmarshal(r.Body.Bytes(), &v) == nil {
				cursor = v.NextCursor
			}
			part := rows(t, r)
			for _, one := range part {
				if one["cursor"] != "" {
					cursor = one["cursor"]
				}
				delete(one, "cursor")
			}
			if got = append(got, part...); page > 5 {
				t.Fatal("no end of pages")
			}
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("%s:\n%s", form, diff)
		}
	}
}

// What a form does not take is refused by name.
func TestCompactRefusals(t *testing.T) {
	w := newWorld(t, nil)
	url := api.PathInverter + "?site_id=" + ownSite + "&asset_id=" + ownAsset + compactSpan
	for query, name := range map[string]string{
		"&format=xml": "format", "&fields=power": "fields", "&step=1h": "step", "&format=csv&limit=5": "limit", "&format=arrow&cursor=x": "cursor",
		"&format=csv&fields=power,volts": "fields", "&format=csv&fields=power,power": "fields", "&format=csv&fields=,": "fields",
		"&format=csv&step=0": "step", "&format=csv&step=2d": "step", "&format=csv&step=-5": "step", "&format=csv&step=1w": "step", "&format=csv&step=1.5h": "step", "&format=csv&step=99999999999": "step",
		"&format=csv&step=1h&aggregate=median": "aggregate", "&format=csv&aggregate=min": "aggregate", "&format=csv&step=1h&resolution=daily": "step",
	} {
		r := w.as("own", http.MethodGet, url+query, "")
		if r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), name) {
			t.Errorf("%s: HTTP %d %s, want a 400 that names %s", query, r.Code, r.Body, name)
		}
	}
	if r := w.as("own", http.MethodGet, api.PathInverter+"?site_id="+foreignSite+"&asset_id="+foreignAsset+compactSpan+"&format=csv", ""); r.Code != http.StatusForbidden {
		t.Errorf("another customer's unit: HTTP %d", r.Code)
	}
}

// year stores a year of 5 minutes.
func year(t testing.TB, w *world) {
	zone, err := time.LoadLocation("Africa/Johannesburg")
	if err != nil {
		t.Fatal(err)
	}
	var f series.Frame
	var power, temperature []float64
	start := time.Date(2024, 9, 30, 22, 0, 0, 0, time.UTC).Unix()
	for i := range 365 * 288 {
		f.Times = append(f.Times, start+int64(i)*300)
		up := math.Max(0, math.Sin(float64(i%288)/288*2*math.Pi-math.Pi/2))
		power = append(power, math.Round(1000*40*up*(0.7+0.3*math.Sin(float64(i)*12.9898)))/1000)
		temperature = append(temperature, 20+float64(i%70)/10)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.TemperatureC, temperature)
	if err := w.store.Append(context.Background(), store.SiteKey{ID: ownSite, Zone: zone}, []store.AssetFrame{{AssetID: ownAsset, Frame: f}}); err != nil {
		t.Fatal(err)
	}
}

const yearRead = api.PathInverter + "?site_id=" + ownSite + "&asset_id=" + ownAsset + "&start=2024-09-30T22:00:00Z&end=2025-09-30T21:59:59Z"

// counter is a ResponseWriter that counts bytes, and the most that were alive.
type counter struct {
	sink
	bytes, most int
}

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	c.most = max(c.most, len(p))
	return len(p), nil
}

// A long response leaves in parts, so that it takes the memory of some chunks.
func TestCompactIsStreamed(t *testing.T) {
	w := newWorld(t, nil)
	year(t, w)
	for _, form := range []string{api.FormatNDJSON, api.FormatArrow, api.FormatCSV} {
		q := httptest.NewRequest(http.MethodGet, yearRead+"&format="+form, nil)
		q.Header.Set("Authorization", "Bearer "+w.keys["own"])
		c := &counter{sink: sink{header: http.Header{}}}
		w.handler.ServeHTTP(c, q)
		if c.bytes < 5<<20 || c.most > 6<<20 {
			t.Errorf("%s: %d bytes, the largest part %d", form, c.bytes, c.most)
		}
	}
}

// BenchmarkCompact reads a unit's year of 5 minutes: what VictoriaMetrics is compared
// with (make peers-telemetry).
func BenchmarkCompact(b *testing.B) {
	w := newWorld(b, func(d *httpapiDeps) { d.KeyRate = 1 << 20; d.UserRate = 1 << 20 })
	year(b, w)
	for _, query := range []string{"format=columns&fields=power", "format=columns", "format=arrow&fields=power", "format=csv&fields=power", "format=ndjson&fields=power", "format=ndjson", "format=columns&step=1h", "limit=1000"} {
		b.Run(query, func(b *testing.B) {
			q := httptest.NewRequest(http.MethodGet, yearRead+"&"+query, nil)
			q.Header.Set("Authorization", "Bearer "+w.keys["own"])
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				c := &counter{sink: sink{header: http.Header{}}}
				w.handler.ServeHTTP(c, q)
				if n = c.bytes; c.status != http.StatusOK {
					b.Fatal(c.status)
				}
				if b.N%30 == 0 {
					w.clock.add(time.Minute)
				}
			}
			b.ReportMetric(float64(n), "bytes")
		})
	}
}
