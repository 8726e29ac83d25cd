package points

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

var now = time.Date(2026, 4, 14, 12, 0, 0, 0, time.UTC)

// texts writes a batch as a line for each point.
func texts(b Batch) string {
	var out strings.Builder
	for _, u := range b.Units {
		for i, t := range u.Frame.Times {
			for _, c := range u.Frame.Columns {
				if v := c.Values[i]; !math.IsNaN(v) {
					fmt.Fprintf(&out, "%s %d %s %g\n", u.AssetID, t-now.Unix(), c.Quantity, v)
				}
			}
		}
	}
	if b.Ignored > 0 {
		fmt.Fprintf(&out, "%d ignored\n", b.Ignored)
	}
	return out.String()
}

func TestJSON(t *testing.T) {
	n := strconv.FormatInt(now.Unix(), 10)
	for _, c := range []struct{ name, body, want string }{
		{"points", `{"points":[{"asset_id":"A","timestamp":"2026-04-14T11:59:00Z","quantity":"power_kw","value":41.5},{"value":2e1,"quantity":"power","timestamp":` + n + `,"asset_id":"A"}]}`, "A -60 power_kw 41.5\nA 0 power_kw 20\n"},
		{"several values", `{"points":[{"asset_id":"A","timestamp":"2026-04-14T14:00:00+02:00","values":{"power_kw":1,"inverter_state":4,"soc":null}}]}`, "A 0 power_kw 1\nA 0 inverter_state 4\n"},
		{"columns", `{"units":[{"values":{"power_kw":[1,null],"dc_voltage_2_v":[600,601.25]},"asset_id":"B\u00fc","timestamps":[` + n + `,"2026-04-14T12:01:00Z"]}]}`, "Bü 0 power_kw 1\nBü 0 dc_voltage_2_v 600\nBü 60 dc_voltage_2_v 601.25\n"},
		{"out of order, and twice", `{"points":[{"asset_id":"A","timestamp":` + n + `,"quantity":"power_kw","value":1},{"asset_id":"A","timestamp":1776167940.9,"quantity":"power_kw","value":2},{"asset_id":"A","timestamp":` + n + `,"quantity":"power_kw","value":3}]}`, "A -60 power_kw 2\nA 0 power_kw 3\n"},
		{"nothing", `{}`, ""},
		{"field not an object", `[]`, "body: it is not JSON at byte 0: an object is expected"},
		{"cut", `{"points":[`, "body: it is not JSON at byte 11: an object is expected"},
		{"more", `{} {}`, "body: it is not JSON at byte 3: nothing after the object is expected"},
		{"unknown field", `{"point":[]}`, "point: unknown field: the body has points, units or both"},
		{"unknown field of a point", `{"points":[{"asset":"A"}]}`, "points[0].asset: unknown field: a point has asset_id, timestamp, and quantity with value, or values"},
		{"unknown quantity", `{"points":[{"asset_id":"A","timestamp":` + n + `,"quantity":"watts","value":1}]}`, `points[0].quantity: unknown quantity "watts"`},
		{"no unit", `{"points":[{"timestamp":` + n + `,"quantity":"power_kw","value":1}]}`, "points[0].asset_id: it is missing"},
		{"no time", `{"points":[{"asset_id":"A","quantity":"power_kw","value":1}]}`, "points[0].timestamp: it is missing"},
		{"no value", `{"points":[{"asset_id":"A","timestamp":` + n + `,"quantity":"power_kw"}]}`, "points[0].value: it is missing"},
		{"a text", `{"points":[{"asset_id":"A","timestamp":` + n + `,"quantity":"power_kw","value":"1"}]}`, "points[0].value: it is not a number"},
		{"a number for a unit", `{"points":[{"asset_id":1}]}`, "points[0].asset_id: it is not an id in quotes"},
		{"not JSON's number", `{"points":[{"asset_id":"A","timestamp":` + n + `,"quantity":"power_kw","value":01}]}`, "points[0].value: it is not a number"},
		{"too large", `{"points":[{"asset_id":"A","timestamp":` + n + `,"quantity":"power_kw","value":1e400}]}`, "points[0].value: it is not a number that can be represented"},
		{"no such power", `{"points":[{"asset_id":"A","timestamp":` + n + `,"quantity":"power_kw","value":1e300}]}`, "points[0].value: power_kw is from -1e+12 to 1e+12, not 1e+300"},
		{"half a state", `{"points":[{"asset_id":"A","timestamp":` + n + `,"values":{"inverter_state":4.5}}]}`, "points[0].values.inverter_state: inverter_state is a whole number, not 4.5"},
		{"the future", `{"points":[{"asset_id":"A","timestamp":"2026-04-14T12:05:01Z","quantity":"power_kw","value":1}]}`, "points[0].timestamp: the time is more than 5m0s ahead of the service: the clock of the sender is wrong, or the precision is another one"},
		{"the past", `{"points":[{"asset_id":"A","timestamp":"1970-01-02T12:05:01Z","quantity":"power_kw","value":1}]}`, "points[0].timestamp: the time is before the year 2000: the clock of the sender is not set, or the precision is another one"},
		{"milliseconds", `{"points":[{"asset_id":"A","timestamp":1776168000000,"quantity":"power_kw","value":1}]}`, "points[0].timestamp: it is not a number of seconds since 1970"},
		{"no offset", `{"points":[{"asset_id":"A","timestamp":"2026-04-14 12:00","quantity":"power_kw","value":1}]}`, "points[0].timestamp: it is not a time such as 2026-04-14T12:00:00Z"},
		{"twice", `{"points":[],"points":[]}`, "points: it is there twice"},
		{"a quantity twice", `{"points":[{"asset_id":"A","timestamp":` + n + `,"values":{"power_kw":1,"power_kw":2}}]}`, "power_kw: it is there twice"},
		{"fewer values", `{"units":[{"asset_id":"A","timestamps":[` + n + `],"values":{"power_kw":[]}}]}`, "units[0].values.power_kw: it has 0 values for 1 timestamp"},
		{"more values", `{"units":[{"asset_id":"A","timestamps":[` + n + `],"values":{"power_kw":[1,2]}}]}`, "units[0].values.power_kw: it has more values than the 1 timestamp"},
		{"control character", `{"points":[{"asset_id":"A\u001b[2J"}]}`, "points[0].asset_id: the id of the unit has characters that cannot be printed, or spaces around it"},
		{"not UTF-8", "{\"points\xff\":[]}", "body: it is not UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := JSON([]byte(c.body), Options{Now: now})
			got := texts(b)
			if err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"fields", "inverter,host=gw,asset_id=INV\\ 1 power_kw=41.5,inverter_state=4i,run_state=t,name=\"a b\" 1776168000000000000\n\n# a comment\r\n", "INV 1 0 power_kw 41.5\nINV 1 0 inverter_state 4\nINV 1 0 run_state 1\n"},
		{"measurement", "power_kw,asset_id=A value=3e1 1776167999999999999", "A -1 power_kw 30\n"},
		{"now", "x,asset_id=A power_kw=1", "A 0 power_kw 1\n"},
		{"a newline in a text", "x,asset_id=A text=\"a\nb\",power_kw=1\nx,asset_id=B power_kw=2", "A 0 power_kw 1\nB 0 power_kw 2\n"},
		{"no unit", "x power_kw=1", "line 1: it has no tag asset_id with the id of the unit"},
		{"no fields", "\nx,asset_id=A", "line 2: it has no fields"},
		{"no value", "x,asset_id=A power_kw", "line 1: a field has no value"},
		{"half a text", `x,asset_id=A text="a`, "line 1: a text has no end"},
		{"no number", "x,asset_id=A power_kw=NaN", "line 1: the field power_kw has no value of line protocol"},
		{"no time", "x,asset_id=A power_kw=1 noon", "line 1: the time is not a whole number"},
		{"seconds", "x,asset_id=A power_kw=1 1776168000", "line 1: the time is before the year 2000: the clock of the sender is not set, or the precision is another one"},
		{"unknown", "x,asset_id=A watts=1", `line 1: unknown quantity "watts"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := Line([]byte(c.body), Options{Now: now})
			got := texts(b)
			if err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	b, err := Line([]byte("x,inv=A watts=1,power=2 1776168000000"), Options{Now: now, Precision: time.Millisecond, AssetTag: "inv", SkipUnknown: true})
	if got := texts(b); err != nil || got != "A 0 power_kw 2\n1 ignored\n" {
		t.Errorf("%s, %v", got, err)
	}
}

// TestSkip leaves out what is wrong and reads the rest.
func TestSkip(t *testing.T) {
	n := strconv.FormatInt(now.Unix(), 10)
	body := `{"points":[{"asset_id":"A","timestamp":1,"quantity":"power_kw","value":1},{"asset_id":"A","timestamp":` + n + `,"values":{"watts":1,"power_kw":2,"soc":101}}],
		"units":[{"asset_id":"B","timestamps":["noon",` + n + `],"values":{"power_kw":[1,2],"run_state":[0,7]}}]}`
	var left []string
	b, err := JSON([]byte(body), Options{Now: now, Skip: func(e Error) { left = append(left, e.Field) }})
	if got := texts(b); err != nil || got != "A 0 power_kw 2\nB 0 power_kw 2\n" {
		t.Errorf("%s, %v", got, err)
	}
	if d := cmp.Diff([]string{"points[0].timestamp", "points[1].values.watts", "points[1].values.soc_percent", "units[0].timestamps[0]", "units[0].values.run_state[1]"}, left); d != "" {
		t.Error(d)
	}
}

// message writes a TimeSeries of remote write.
func message(labels map[string]string, samples map[int64]float64) []byte {
	var s []byte
	part := func(to []byte, field protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), b)
	}
	for name, v := range labels {
		s = part(s, 1, part(part(nil, 1, []byte(name)), 2, []byte(v)))
	}
	for at, v := range samples {
		b := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(v))
		b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(at))
		s = part(s, 2, b)
	}
	return part(nil, 1, s)
}

func TestRemoteWrite(t *testing.T) {
	at := now.UnixMilli()
	body := bytes.Join([][]byte{
		message(map[string]string{"__name__": "power_kw", "asset_id": "A", "job": "x"}, map[int64]float64{at: 41.5, at - 60_000: 40}),
		message(map[string]string{"__name__": "up", "asset_id": "A"}, map[int64]float64{at: 1}),
		message(map[string]string{"__name__": "power_kw"}, map[int64]float64{at: 1}),
		message(map[string]string{"__name__": "power_kw", "asset_id": "B"}, map[int64]float64{at: math.NaN()}),
	}, nil)
	b, err := RemoteWrite(body, Options{Now: now})
	if got := texts(b); err != nil || got != "A -60 power_kw 40\nA 0 power_kw 41.5\n2 ignored\n" {
		t.Errorf("%s, %v", got, err)
	}
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"cut":        {body[:20], "body: it is not a message prometheus.WriteRequest"},
		"no message": {[]byte("hello"), "body: it is not a message prometheus.WriteRequest"},
		"infinite":   {message(map[string]string{"__name__": "power_kw", "asset_id": "A"}, map[int64]float64{at: math.Inf(1)}), "series 1: power_kw is from -1e+12 to 1e+12, not +Inf"},
		"seconds":    {message(map[string]string{"__name__": "power_kw", "asset_id": "A"}, map[int64]float64{at / 1000: 1}), "series 1: the time is before the year 2000: the clock of the sender is not set, or the precision is another one"},
	} {
		if _, err := RemoteWrite(c.body, Options{Now: now}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestSameInAllFormats writes the same points in each format.
func TestSameInAllFormats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type point struct {
			Asset string  `json:"asset_id"`
			At    int64   `json:"timestamp"`
			Name  string  `json:"quantity"`
			Value float64 `json:"value"`
		}
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) point {
			return point{rapid.SampledFrom([]string{"A", "B,=x", "Ü 1"}).Draw(t, "asset"), now.Unix() - rapid.Int64Range(0, 20).Draw(t, "age"),
				rapid.SampledFrom([]string{"power_kw", "energy_counter_kwh", "dc_current_1_a"}).Draw(t, "quantity"), rapid.Float64Range(-1e9, 1e9).Draw(t, "value")}
		}), 0, 40).Draw(t, "points")
		body, err := json.Marshal(map[string]any{"points": list})
		if err != nil {
			t.Fatal(err)
		}
		var lines, proto []byte
		escape := strings.NewReplacer(" ", `\ `, ",", `\,`, "=", `\=`)
		for _, p := range list {
			lines = fmt.Appendf(lines, "m,asset_id=%s %s=%s %d\n", escape.Replace(p.Asset), p.Name, strconv.FormatFloat(p.Value, 'g', -1, 64), p.At)
			proto = append(proto, message(map[string]string{"__name__": p.Name, "asset_id": p.Asset}, map[int64]float64{p.At * 1000: p.Value})...)
		}
		a, err := JSON(body, Options{Now: now})
		b, err2 := Line(lines, Options{Now: now, Precision: time.Second})
		c, err3 := RemoteWrite(proto, Options{Now: now})
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		if texts(a) != texts(b) || texts(a) != texts(c) {
			t.Fatalf("JSON\n%s\nline protocol\n%s\nremote write\n%s", texts(a), texts(b), texts(c))
		}
		for _, u := range a.Units {
			if err := u.Frame.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,7})?`).Draw(t, "number")
		if v, ok := decimal([]byte(text)); ok {
			if want, err := strconv.ParseFloat(text, 64); err != nil || v != want {
				t.Fatalf("%s is %v, want %v", text, v, want)
			}
		}
	})
}

// fuzz checks what any bytes become.
func fuzz(f *testing.F, read func([]byte, Options) (Batch, error), seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, skip := range []bool{false, true} {
			batch, err := read(b, Options{Now: now, SkipUnknown: skip})
			var e *Error
			if err != nil && (!errors.As(err, &e) || len(err.Error()) > 400) {
				t.Fatalf("error %v", err)
			}
			for _, u := range batch.Units {
				if err := u.Frame.Check(); err != nil || wrongID(u.AssetID) != "" || u.Frame.Len() == 0 {
					t.Fatalf("unit %q: %v", u.AssetID, err)
				}
				for _, c := range u.Frame.Columns {
					for _, v := range c.Values {
						if !math.IsNaN(v) && wrongValue(c.Quantity, v) != "" {
							t.Fatalf("%s has %g", c.Quantity, v)
						}
					}
				}
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	fuzz(f, JSON, []byte(`{"points":[{"asset_id":"A","timestamp":"2026-04-14T11:59:00Z","values":{"power_kw":41.5}}]}`),
		[]byte(`{"units":[{"asset_id":"\u0041","timestamps":[1776168000],"values":{"power_kw":[1e1]}}]}`), []byte(`{"points":[{"a\"`))
}

func FuzzLine(f *testing.F) {
	fuzz(f, Line, []byte("inverter,asset_id=A power_kw=41.5,x=\"a\" 1776168000000000000"), []byte("a,asset_id=\\"))
}

func FuzzRemoteWrite(f *testing.F) {
	fuzz(f, RemoteWrite, message(map[string]string{"__name__": "power_kw", "asset_id": "A"}, map[int64]float64{now.UnixMilli(): 1}))
}

// BenchmarkRead reads 100,000 points: an hour of 100 units at 12 values in 5 minutes.
func BenchmarkRead(b *testing.B) {
	var list, units, lines bytes.Buffer
	var proto []byte
	list.WriteString(`{"points":[`)
	units.WriteString(`{"units":[`)
	n := 0
	for u := range 100 {
		times, values := "", map[string]string{}
		for i := range 100 {
			at := now.Add(time.Duration(i-100) * time.Minute)
			if n > 0 {
				list.WriteByte(',')
			}
			fmt.Fprintf(&list, `{"asset_id":"INV-%d","timestamp":"%s","values":{`, u, at.Format(time.RFC3339))
			fmt.Fprintf(&lines, "inverter,asset_id=INV-%d ", u)
			for k, q := range []series.Quantity{1, 3, 5, 6, 10, 12, 13, 15, 65, 97} {
				v := float64(n%40) / 40
				if k == 6 || k == 7 {
					v = 4
				}
				n++
				sep := ","
				if k == 0 {
					sep = ""
				}
				fmt.Fprintf(&list, `%s"%s":%g`, sep, q, v)
				fmt.Fprintf(&lines, `%s%s=%g`, sep, q, v)
				values[q.String()] += fmt.Sprintf(",%g", v)
				proto = append(proto, message(map[string]string{"__name__": q.String(), "asset_id": "INV-" + strconv.Itoa(u)}, map[int64]float64{at.UnixMilli(): v})...)
			}
			list.WriteString("}}")
			fmt.Fprintf(&lines, " %d\n", at.UnixNano())
			times += fmt.Sprintf(",%d", at.Unix())
		}
		if u > 0 {
			units.WriteByte(',')
		}
		fmt.Fprintf(&units, `{"asset_id":"INV-%d","timestamps":[%s],"values":{`, u, times[1:])
		sep := ""
		for q, v := range values {
			fmt.Fprintf(&units, `%s"%s":[%s]`, sep, q, v[1:])
			sep = ","
		}
		units.WriteString("}}")
	}
	list.WriteString("]}")
	units.WriteString("]}")
	for _, c := range []struct {
		name string
		body []byte
		read func([]byte, Options) (Batch, error)
	}{{"points", list.Bytes(), JSON}, {"units", units.Bytes(), JSON}, {"line", lines.Bytes(), Line}, {"remote", proto, RemoteWrite}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				batch, err := c.read(c.body, Options{Now: now})
				if err != nil || batch.Points != MaxPoints {
					b.Fatal(err, batch.Points)
				}
			}
			b.ReportMetric(float64(MaxPoints)*float64(b.N)/b.Elapsed().Seconds(), "points/s")
		})
	}
}
