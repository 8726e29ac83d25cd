package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/engine/series"
)

// read imports text and asserts what holds for every result.
func read(t *testing.T, text string, o Options) *Result {
	t.Helper()
	res, err := Read(strings.NewReader(text), o)
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	checkFrames(t, res)
	return res
}

// powers returns the usable powers of a frame.
func powers(f series.Frame) []float64 {
	var out []float64
	for _, v := range f.Values(series.PowerKW) {
		if !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

func TestRefusals(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		kind Kind
		line int
	}{
		"zip":                {"PK\x03\x04\x14\x00", NotText, 0},
		"gzip":               {"\x1f\x8b\x08\x00", NotText, 0},
		"binary":             {strings.Repeat("ab\x00\x01\x02\x03", 50), NotText, 1},
		"html":               {"<!doctype html><title>Login</title>", NoDataRows, 0},
		"json":               {`{"energy": 1}`, NoDataRows, 0},
		"prose":              {"Dear customer\nthe report is attached\n", NotCSV, 1},
		"empty":              {"", NoDataRows, 0},
		"blank":              {"\n \n\n", NoDataRows, 0},
		"header only":        {"timestamp,power_kw\n", NoDataRows, 1},
		"header and units":   {"timestamp;power\n;[kW]\n", NoDataRows, 1},
		"no header":          {"2024-06-01 10:00,3\n2024-06-01 11:00,4\n", NoHeader, 1},
		"numbers":            {"1,2\n3,4\n", NoHeader, 1},
		"no time":            {"inverter,power_kw\nA,3\nB,4\n", NoTimestampColumn, 1},
		"unreadable times":   {"timestamp,power_kw\nsoon,3\nlater,4\n", NoTimestampColumn, 2},
		"weather":            {"time,ghi\n2024-06-01 10:00,300\n", NoPowerOrEnergy, 1},
		"unquoted commas":    {"time,power (kW)\n2024-06-01 10:00,1,5\n2024-06-01 11:00,2,5\n", InconsistentColumns, 2},
		"all missing":        {"time,power (kW)\n2024-06-01 10:00,-\n2024-06-01 11:00,n/a\n", NoDataRows, 2},
		"two delimiters":     {"time,power (kW)\n" + strings.Repeat("2024-06-01 10:00,1\n2024-06-01 10:15;2\n", 10), InconsistentColumns, 3},
		"two files":          {"time,power (kW)\n" + strings.Repeat("2024-06-01 10:00,1\n", 9) + "Zeit;Leistung [W]\n" + strings.Repeat("01.06.2024 12:00;1000\n", 9), InconsistentColumns, 2},
		"another header":     {"time,power (kW),energy (kWh)\n2024-06-01 10:00,1,7\n2024-06-01 10:15,1,8\ntime,energy (kWh),power (kW)\n2024-06-01 10:30,9,1\n", InconsistentColumns, 4},
		"the future":         {"time,power (kW)\n2031-06-01 10:00,1\n2031-06-01 11:00,2\n", NoDataRows, 2},
		"before solar power": {"time,power (kW)\n1970-01-01 10:00,1\n1970-01-01 11:00,2\n", NoDataRows, 2},
	} {
		res, err := Read(strings.NewReader(c.text), Options{Now: now})
		var r *Refusal
		if !errors.As(err, &r) || res != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if r.Kind != c.kind || r.Line != c.line || r.Message == "" {
			t.Errorf("%s: %s in line %d (%s), want %s in line %d", what, r.Kind, r.Line, r, c.kind, c.line)
		}
		if s := Summarize(res, err); s.Accept || s.ErrorKind != c.kind || s.Error != r.Error() {
			t.Errorf("%s: %+v", what, s)
		}
	}
	_, err := Read(strings.NewReader("time,power (kW)\n2024-06-01 10:00,1\n"), Options{MaxBytes: 20})
	if r := new(Refusal); !errors.As(err, &r) || r.Kind != TooLarge || !strings.Contains(r.Message, "20 bytes") {
		t.Errorf("too large: %v", err)
	}
	if _, err := Read(iotest.ErrReader(os.ErrDeadlineExceeded), Options{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reader's error is %v", err)
	}
}

// TestDoubtfulCounter asserts that a few rising values, one a day, leave a doubt,
// and that a counter far above its steps does not.
func TestDoubtfulCounter(t *testing.T) {
	for first, doubts := range map[int]int{20: 1, 52000: 0} {
		text := "Date;kWh\n"
		for d := range 20 {
			text += fmt.Sprintf("%02d.03.2024;%d\n", d+1, first+5*d)
		}
		res := read(t, text, Options{Now: now})
		if res.ValueKind != KindCounter || len(res.Warnings) != doubts {
			t.Errorf("from %d on: %s, %v", first, res.ValueKind, res.Warnings)
		}
	}
}

// TestLayouts are shapes of files that the cases do not hold.
func TestLayouts(t *testing.T) {
	const first, second = "2024-06-01T10:00:00Z", "2024-06-01T11:00:00Z"
	for what, c := range map[string]struct {
		text    string
		names   []string
		powerKW [][]float64
		from    string
	}{
		"hours by number": {"day;" + hourNames("H") + "\n01.06.2024;" + hourValues + "\n02.06.2024;" + hourValues + "\n", []string{""},
			[][]float64{append(hourSlots(), hourSlots()...)}, "2024-06-01T00:00:00Z"},
		"parts of the date": {"Year,Month,Day,Hour,Minute,AC power (kW)\n2024,6,1,10,0,1\n2024,6,1,11,0,2\n", []string{""}, [][]float64{{1, 2}}, first},
		"hour in a column":  {"Date;Hour;Power kW\n01.06.2024;10;1\n01.06.2024;11;2\n", []string{""}, [][]float64{{1, 2}}, first},
		"quantity in a column": {"device,parameter,unit,time,value\nA,P_AC power,W,2024-06-01 10:00,1000\nA,ambient temperature,°C,2024-06-01 10:00,21\nA,P_AC power,W,2024-06-01 11:00,2000\nB,P_AC power,kW,2024-06-01 10:00,3\n",
			[]string{"A", "B"}, [][]float64{{1, 2}, {3}}, first},
		"devices above the columns": {"Plant;North;North;South\nTime;Power;Energy;Power\n;kW;kWh;W\n01.06.2024 10:00;1;9;3000\n01.06.2024 11:00;2;9;4000\n", []string{"North", "South"}, [][]float64{{1, 2}, {3, 4}}, first},
		"roofs by name":             {"Time,North roof (kW),South roof (kW)\n2024-06-01 10:00,1,3\n2024-06-01 11:00,2,4\n", []string{"North roof", "South roof"}, [][]float64{{1, 2}, {3, 4}}, first},
		"preamble of two columns":   {"Site,Rooftop 7\nExported,today\n\nTime,Power (kW)\n2024-06-01 10:00,1\n2024-06-01 11:00,2\n", []string{""}, [][]float64{{1, 2}}, first},
		"plant with its devices":    {"Time,Inverter 1 Power (kW),Inverter 2 Power (kW),Total power (kW)\n2024-06-01 10:00,1,3,4\n2024-06-01 11:00,2,4,6\n", []string{"Inverter 1", "Inverter 2"}, [][]float64{{1, 2}, {3, 4}}, first},
		"units below bare letters":  {"Time;P;E\nyyyy-mm-dd hh:mm;W;kWh\n2024-06-01 10:00;1000;7\n2024-06-01 11:00;2000;8\n", []string{""}, [][]float64{{1, 2}}, first},
		"units below names":         {"Time;Device;AC Power\n;;W\n2024-06-01 10:00;A;1000\n2024-06-01 10:00;B;3000\n2024-06-01 11:00;A;2000\n2024-06-01 11:00;B;4000\n", []string{"A", "B"}, [][]float64{{1, 2}, {3, 4}}, first},
		"units behind numbers":      {"Time,WR1 W,WR2 W\n2024-06-01 10:00,1000,3000\n2024-06-01 11:00,2000,4000\n", []string{"WR1", "WR2"}, [][]float64{{1, 2}, {3, 4}}, first},
		"hundreds of watts":         {"Time,Power (x100 W)\n2024-06-01 10:00,10\n2024-06-01 11:00,20\n", []string{""}, [][]float64{{1, 2}}, first},
		"blanks between thousands":  {"Time;Power (W)\n2024-06-01 10:00;1 000 000,5\n2024-06-01 11:00;2 000 000,5\n", []string{""}, [][]float64{{1000.0005, 2000.0005}}, first},
		"a sum amid the data":       {"Time,Power (kW)\n2024-06-01 10:00,1\nTotal 2024-06-01,33\nSat 2024-06-01 11:00,2\n", []string{""}, [][]float64{{1, 2}}, first},
		"lines in quotes":           {"\"Time,Power (kW)\"\n\"2024-06-01 10:00,1\"\n\"2024-06-01 11:00,\"\"2\"\"\"\n", []string{""}, [][]float64{{1, 2}}, first},
		"only a total":              {"Time,Total power (kW)\n2024-06-01 10:00,4\n2024-06-01 11:00,6\n", []string{""}, [][]float64{{4, 6}}, first},
		"power that stopped":        {"Time,Power (kW),Energy (kWh)\n2024-06-01 10:00,,3\n2024-06-01 11:00,,2\n2024-06-01 12:00,1,1\n", []string{""}, [][]float64{{3, 2, 1}}, first},
		"logger portal":             {"System\tTest field\nPeriod\tJune\n\n\tP1\tP2\tG_M1\n\tW\tW\tW/m²\n\tMean\tMean\tMean\n01.06.2024 10:00\t1000\t-\t13\n01.06.2024 11:00\t2000\t3000,5\t14\n", []string{"P1", "P2"}, [][]float64{{1, 2}, {3.0005}}, first},
		"channels with their mode":  {"Time;AC power INV 1;AC power INV 2\n;kW;kW\n;Mean;Mean\n01.06.2024 10:00;1;3\n01.06.2024 11:00;2;4\n", []string{"INV 1", "INV 2"}, [][]float64{{1, 2}, {3, 4}}, first},
		"comments":                  {"# exported\nTime,Power (kW)\n# sunny\n2024-06-01 10:00,1\n2024-06-01 11:00,2\n", []string{""}, [][]float64{{1, 2}}, first},
		"stray quote":               {"Time,Remark,Power (kW)\n2024-06-01 10:00,\"5 inch,1\n2024-06-01 11:00,,2\n", []string{""}, [][]float64{{1, 2}}, first},
		"mac newlines":              {"Time,Power (kW)\r2024-06-01 10:00,1\r2024-06-01 11:00,2\r", []string{""}, [][]float64{{1, 2}}, first},
		"latest first, twice":       {"Time,Power (kW)\n2024-06-01 12:00,5\n2024-06-01 11:00,7\n2024-06-01 11:00,2\n2024-06-01 10:00,1\n", []string{""}, [][]float64{{1, 2, 5}}, first},
		"month first by custom":     {"Time,Power (kW)\n6/1/2024 10:00,1\n6/1/2024 11:00,2\n", []string{""}, [][]float64{{1, 2}}, "2024-01-06T10:00:00Z"},
		"full feed-in":              {"Zeit;Einspeisung (kW)\n01.06.2024 10:00;1\n01.06.2024 11:00;2\n", []string{""}, [][]float64{{1, 2}}, first},
		"end of the hour only":      {"Date/Time End;Power (kW)\n01.06.2024 10:00;1\n01.06.2024 11:00;2\n", []string{""}, [][]float64{{1, 2}}, "2024-06-01T09:00:00Z"},
		"gbk":                       {"\xca\xb1\xbc\xe4,\xd3\xd0\xb9\xa6\xb9\xa6\xc2\xca(kW)\n2024-06-01 11:00,1\n2024-06-01 12:00,2\n", []string{""}, [][]float64{{1, 2}}, second},
	} {
		res := read(t, c.text, Options{Now: now})
		var names []string
		var got [][]float64
		for _, a := range res.Assets {
			names = append(names, a.Name)
			got = append(got, powers(a.Frame))
		}
		if diff := cmp.Diff(c.names, names); diff != "" {
			t.Errorf("%s: assets want -, got +\n%s%v", what, diff, res.Decisions)
		}
		if diff := cmp.Diff(c.powerKW, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s: power want -, got +\n%s%v", what, diff, res.Decisions)
		}
		if at := res.First.Format(time.RFC3339); at != c.from {
			t.Errorf("%s: starts %s, want %s", what, at, c.from)
		}
	}
}

// hourValues are 24 cells, of which the 13th hour is 5 and the others 0 or 1.
var hourValues = strings.Repeat("0;", 6) + strings.Repeat("1;", 6) + "5;" + strings.Repeat("1;", 5) + strings.Repeat("0;", 5) + "0"

func hourNames(prefix string) string {
	var names []string
	for h := 1; h <= 24; h++ {
		names = append(names, prefix+string(rune('0'+h/10))+string(rune('0'+h%10)))
	}
	return strings.Join(names, ";")
}

func hourSlots() []float64 {
	out := make([]float64, 24)
	for h := 6; h < 18; h++ {
		out[h] = 1
	}
	out[12] = 5
	return out
}

// TestCounts asserts that every record is accounted for, by reason.
func TestCounts(t *testing.T) {
	res := read(t, `Time;Power (kW)
01.06.2024 10:00;1
01.06.2024 10:00;1,5
01.06.2024 11:00;-

Time;Power (kW)
31.02.2024 11:00;2
01.06.2094 11:00;2
# a remark
Summe;2
01.06.2024 12:00;3;9
01.06.2024 12:00;3
01.06.2024 13:00;3
01.06.2024 14:00;3
01.06.2024 15:00;3
`, Options{Now: now})
	want := Rows{Read: 13, Used: 6, Stored: 5, Missing: 1, Skipped: map[string]int{
		SkipDuplicate: 1, SkipRepeatedHeader: 1, SkipImpossibleDate: 1, SkipFuture: 1, SkipComment: 1, SkipSummary: 1, SkipTooManyCells: 1}}
	if diff := cmp.Diff(want, res.Rows); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	sum := res.Rows.Stored + res.Rows.Missing
	for _, n := range res.Rows.Skipped {
		sum += n
	}
	if sum != res.Rows.Read {
		t.Errorf("%d of %d records are accounted for", sum, res.Rows.Read)
	}
	if got := powers(res.Assets[0].Frame); got[0] != 1.5 {
		t.Errorf("the earlier of two lines won: %v", got)
	}
}

// TestDoubts asserts that a second interpretation that fits as well is
// reported.
func TestDoubts(t *testing.T) {
	for topic, text := range map[string]string{
		"unit": "Time,Power\n2024-06-01 10:00,1.5\n2024-06-01 11:00,2\n",
		"date": "Time,Power (kW)\n01/02/2024 10:00,1.5\n01/02/2024 11:00,2\n",
	} {
		res := read(t, text, Options{})
		if len(res.Warnings) != 1 || res.Warnings[0].Topic != topic {
			t.Errorf("%s: %v", topic, res.Warnings)
		}
	}
	if res := read(t, "Time,Power\n2024-06-01 10:00,1.5\n2024-06-01 11:00,2\n", Options{CapacityKW: 3, Asset: "Roof"}); len(res.Warnings) != 0 || res.Assets[0].Name != "Roof" {
		t.Errorf("%v %q", res.Warnings, res.Assets[0].Name)
	}
}

// TestWrongCapacity asserts that a capacity that cannot be does not empty a
// file, while single readings beyond it count as missing.
func TestWrongCapacity(t *testing.T) {
	text := "Time,Power (kW),x\n2024-06-01 09:00,40\n2024-06-01 10:00,45\n2024-06-01 11:00,50\n2024-06-01 12:00,48\n2024-06-01 13:00,900\n"
	if res := read(t, text, Options{CapacityKW: 0.05}); res.Rows.Stored != 5 || len(res.Warnings) != 1 {
		t.Errorf("%+v %v", res.Rows, res.Warnings)
	}
	if res := read(t, text, Options{CapacityKW: 50}); res.Rows.Stored != 4 || res.Rows.Missing != 1 || len(res.Warnings) != 1 {
		t.Errorf("%+v %v", res.Rows, res.Warnings)
	}
}

// TestSummaryJSON asserts the field names that scripts read, against a golden
// file.
func TestSummaryJSON(t *testing.T) {
	res := read(t, "Time;INV-01 (kW);INV-02 (kW)\n2024-06-25 10:00;54.99;64.03\n2024-06-25 10:15;64.36;\n", Options{Now: now})
	got, err := json.MarshalIndent(Summarize(res, nil), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "summary.json")
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestCharts reads the series of charts: names and units as of columns, a series that
// begins later, a time that a series has twice, and the share of a rating.
func TestCharts(t *testing.T) {
	const chart = `[{"name":"INV1 Power (W)","data":[[1780300800000,1200],[1780301700000,2200],[1780302600000,3200]]},
		{"name":"INV2 Power (W)","data":[[1780301700000,2100],[1780302600000,null],[1780303500000,3100]]}]`
	res := read(t, chart, Options{Now: now})
	for i, want := range []struct {
		name  string
		times []int64
		power []float64
	}{{"INV1", []int64{1780300800, 1780301700, 1780302600}, []float64{1.2, 2.2, 3.2}}, {"INV2", []int64{1780301700, 1780303500}, []float64{2.1, 3.1}}} {
		a := res.Assets[i]
		var times []int64
		var power []float64
		for k, v := range a.Frame.Values(series.PowerKW) {
			if v == v {
				times, power = append(times, a.Frame.Times[k]), append(power, v)
			}
		}
		if a.Name != want.name || !slices.Equal(times, want.times) || !slices.Equal(power, want.power) {
			t.Errorf("%s: %v at %v, want %+v", a.Name, power, times, want)
		}
	}
	if _, err := Read(strings.NewReader("time,Power (% of 10 kW)\n2026-06-01 08:00,12\n2026-06-01 08:15,22\n2026-06-01 08:30,33\n"), Options{Now: now}); err == nil {
		t.Error("a share of the rating is read as kW")
	}
}

// Rows in the future are left out with a reason of their own; a file that is mostly in
// the future is read with a warning that says until when it is.
func TestFutureRows(t *testing.T) {
	file := func(future int) string {
		text := "Time;Power (kW)\n1999-05-01 12:00;1\n"
		for i := range 300 {
			text += fmt.Sprintf("%s;%d\n", now.Add(-time.Duration(300-i)*time.Hour).UTC().Format("2006-01-02 15:04"), i%9+1)
		}
		for i := range future {
			text += fmt.Sprintf("%s;%d\n", now.Add(time.Duration(48+i)*time.Hour).UTC().Format("2006-01-02 15:04"), i%9+1)
		}
		return text
	}
	for _, tt := range []struct {
		future int
		warns  bool
	}{{0, false}, {2, false}, {200, true}} {
		res := read(t, file(tt.future), Options{Zone: time.UTC, Now: now})
		if got := res.Rows.Skipped[SkipFuture]; got != tt.future {
			t.Errorf("%d rows in the future: %d are left out as such", tt.future, got)
		}
		if got := res.Rows.Skipped[SkipEarly]; got != 1 {
			t.Errorf("%d rows before the year 2000 are left out as such", got)
		}
		mentions := func(all []Decision) bool {
			return slices.ContainsFunc(all, func(d Decision) bool {
				last := now.Add(time.Duration(47+tt.future) * time.Hour).UTC().Truncate(time.Minute).Format(time.RFC3339)
				return strings.Contains(d.Text, fmt.Sprintf("%d of %d rows left out: times in the future, up to %s", tt.future, 301+tt.future, last))
			})
		}
		if mentions(res.Warnings) != tt.warns || mentions(res.Decisions) != (tt.future > 0 && !tt.warns) {
			t.Errorf("%d rows in the future: decisions %v, warnings %v", tt.future, res.Decisions, res.Warnings)
		}
	}
}
