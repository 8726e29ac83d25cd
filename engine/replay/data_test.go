package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// folder are files by name.
type folder map[string]string

func (f folder) open(name string) (io.ReadCloser, error) {
	text, ok := f[name]
	if !ok {
		return nil, errors.New("there is no file " + name)
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// What a table reads as: times in UTC, and the first column.
func TestRead(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, "time,kw\n2024-05-01 00:00,1\n2024-05-01 01:00,2\n"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, table, file, text, want string }{
		{"as it is", ``, "power.csv", "time,kw\n2024-05-01 00:00,1.5\n2024-05-01 01:00,\n2024-05-01 02:00,-\n", "0501T0000=1.5 0501T0100=NaN 0501T0200=NaN"},
		{"gzip", `files = ["power.csv.gz"]`, "power.csv.gz", packed.String(), "0501T0000=1 0501T0100=2"},
		{"semicolons, a mark, decimal commas", ``, "power.csv", "\ufefftime;other;kw\r\n01.05.2024 00:00;7;1,5\r\n01.05.2024 00:10;7;2,5\r\n", "0501T0000=1.5 0501T0010=2.5"},
		{"tabs", ``, "power.csv", "time\tkw\n2024/05/01 00:00:00\t1\n2024/05/01 00:30:00\t2\n", "0501T0000=1 0501T0030=2"},
		{"the end of intervals", `label = "end"`, "power.csv", "time,kw\n20240501 01:00,1\n20240501 02:00,2\n20240501 03:00,3\n", "0501T0000=1 0501T0100=2 0501T0200=3"},
		{"days before months", ``, "power.csv", "time,kw\n01/05/2024 00:00,1\n01/05/2024 01:00,2\n", "0501T0000=1 0501T0100=2"},
		{"months before days, proved by a row", ``, "power.csv", "time,kw\n05/01/2024 00:00,1\n05/01/2024 01:00,1\n05/13/2024 00:00,2\n", "0501T0000=1 0501T0100=1 0513T0000=2"},
		{"months before days, as said", `time_format = "MM/DD/YYYY HH:mm"`, "power.csv", "time,kw\n05/01/2024 00:00,1\n05/01/2024 01:00,2\n", "0501T0000=1 0501T0100=2"},
		{"stamps with an offset", ``, "power.csv", "time,kw\n2024-05-01T02:00+02:00,1\n2024-05-01T03:00+02:00,2\n", "0501T0000=1 0501T0100=2"},
		{"a zone", `time_zone = "America/New_York"`, "power.csv", "time,kw\n2024-05-01 00:00,1\n2024-05-01 01:00,2\n", "0501T0400=1 0501T0500=2"},
		{"clocks fall back", `time_zone = "Europe/Berlin"`, "power.csv", "time,kw\n2024-10-27 01:30,1\n2024-10-27 02:00,2\n2024-10-27 02:30,3\n2024-10-27 02:00,4\n2024-10-27 02:30,5\n2024-10-27 03:00,6\n",
			"1026T2330=1 1027T0000=2 1027T0030=3 1027T0100=4 1027T0130=5 1027T0200=6"},
		{"out of order and doubled", ``, "power.csv", "time,kw\n2024-05-01 01:00,2\n2024-05-01 00:00,1\n2024-05-01 01:00,9\n2024-05-01 02:00,3\n", "0501T0000=1 0501T0100=2 0501T0200=3"},
		{"some rows", `where = {sensor = "a"}`, "power.csv", "time,sensor,kw\n2024-05-01 00:00,a,1\n2024-05-01 00:00,b,7\n2024-05-01 01:00,a,2\n", "0501T0000=1 0501T0100=2"},
		{"a column by its place", `time = "#1"`, "power.csv", ",kw\n2024-05-01 00:00,1\n2024-05-01 01:00,2\n", "0501T0000=1 0501T0100=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := whole
			for line := range strings.Lines(c.table) {
				key, _, _ := strings.Cut(line, " ")
				for old := range strings.Lines(whole) {
					if strings.HasPrefix(old, key+" ") {
						text = strings.Replace(text, old, "", 1)
					}
				}
			}
			p, err := Parse("x.toml", []byte(strings.Replace(text, "[data]\n", "[data]\n"+c.table+"\n", 1)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.power.read(folder{c.file: c.text}.open, []string{"kw"})
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for i, at := range got.times {
				words = append(words, fmt.Sprintf("%s=%g", time.Unix(at, 0).UTC().Format("0102T1504"), got.values[0][i]))
			}
			if diff := cmp.Diff(c.want, strings.Join(words, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	p, err := Parse("x.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "power.csv is empty"},
		{"no rows", "time,kw\n", "there is no row of data"},
		{"one row", "time,kw\n2024-05-01 00:00,1\n", "one row says nothing of the interval"},
		{"no column", "time,power\n2024-05-01 00:00,1\n", `power.csv: there is no column "kw"; there are time, power`},
		{"a short row", "time,x,kw\n2024-05-01 00:00,1,1\n\n2024-05-01 01:00,2\n", "power.csv line 4 has 2 cells; kw is the 3rd"},
		{"no number", "time,kw\n2024-05-01 00:00,1\n2024-05-01 01:00,offline\n", `power.csv line 3: kw is "offline", not a number`},
		{"no time", "time,kw\nyesterday,1\n", `power.csv line 2: time is "yesterday": it is no time that is understood`},
		{"another time", "time,kw\n2024-05-01 00:00,1\nyesterday,1\n", `power.csv line 3: time is "yesterday"; the others are written as 2024-05-01 00:00`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := p.power.read(folder{"power.csv": c.text}.open, []string{"kw"})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

func TestAccumulated(t *testing.T) {
	s := source{sheet: sheet{zone: time.UTC}, convert: irradiance["J/m2"], accumulated: true}
	day := time.Date(2024, 5, 1, 22, 0, 0, 0, time.UTC).Unix()
	// Labels of interval starts: 22:00 and 23:00 end the day's count, 00:00
	// starts a new one; 03:00 follows a missing value.
	c := s.take(table{times: []int64{day, day + 3600, day + 7200, day + 10800, day + 18000}, step: time.Hour,
		values: [][]float64{{720000, 1080000, 360000, 1080000, 3600000}}}, 0)
	if diff := cmp.Diff([]float64{200, 100, 100, 200, math.NaN()}, c.values, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
}

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		units    map[string]convert
		unit     string
		v, wants float64
	}{
		{powerUnits, "MW", 2, 2000}, {powerUnits, "W", 2000, 2}, {powerUnits, "kWh", 1, 4}, {powerUnits, "Wh", 500, 2},
		{irradiance, "kWh/m2", 0.1, 400}, {irradiance, "Wh/m2", 100, 400}, {irradiance, "kJ/m2", 360, 400},
		{weatherUnits["temperature"], "K", 300, 26.85}, {weatherUnits["temperature"], "F", 212, 100},
		{weatherUnits["wind_speed"], "km/h", 36, 10}, {weatherUnits["wind_speed"], "kn", 1, 0.514444444},
		{weatherUnits["cloud_cover"], "okta", 4, 0.5}, {weatherUnits["pressure"], "Pa", 101325, 1013.25}, {weatherUnits["precipitation"], "m", 0.002, 2},
	} {
		if got := c.units[c.unit].of(c.v, 15*time.Minute); math.Abs(got-c.wants) > 1e-6 {
			t.Errorf("%g %s is %g, want %g", c.v, c.unit, got, c.wants)
		}
	}
}

// hours writes hourly power as a file.
func hours(from time.Time, values ...float64) string {
	var b strings.Builder
	b.WriteString("time,kw\n")
	for i, v := range values {
		fmt.Fprintf(&b, "%s,%g\n", from.Add(time.Duration(i)*time.Hour).Format("2006-01-02 15:04"), v)
	}
	return b.String()
}

func TestLoadPower(t *testing.T) {
	text := strings.NewReplacer("[weather.cloud]\nquantity = \"cloud_cover\"\nkind = \"forecast\"\nunit = \"%\"\n", "", `"2024-06-01"`, `"2024-05-02"`).Replace(whole)
	p, err := Parse("x.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	day := make([]float64, 48)
	for i := range day {
		day[i] = math.NaN()
	}
	day[10], day[11], day[12] = -0.1, 13.1, 9
	for i := range 150 { // so that one spike is rare
		day = append(day, float64(i%7+1))
	}
	d, err := Load(folder{"power.csv": hours(from, day...)}.open, p)
	if err != nil {
		t.Fatal(err)
	}
	// Midnight is dark and therefore zero; a missing morning stays missing, a
	// negative value is zero, a spike is missing.
	got := []float64{d.Power.Values[0], d.Power.Values[9], d.Power.Values[10], d.Power.Values[11], d.Power.Values[12]}
	if diff := cmp.Diff([]float64{0, math.NaN(), 0, math.NaN(), 9}, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "1 value above 1.3 times the capacity, up to 13.1 kW") {
		t.Errorf("notes %q", d.Notes)
	}

	for _, c := range []struct {
		name, text, want string
	}{
		{"ten times the capacity", hours(from, 20, 80, 90, 1, 2, 3), "reaches 90.0 kW, and 3 of 6 values lie above 1.3 times site.capacity_kw, 10"},
		{"nothing", hours(from, 0, 0, 0), "kw is never above 0"},
		{"days", "time,kw\n2024-05-01 00:00,1\n2024-05-02 00:00,1\n", "kw comes every 24h0m0s; steps of at most an hour"},
		{"data before the test", hours(from, 1, 2, 3), "backtest.first_test is 2024-05-02; the data of power.csv end on 2024-05-01"},
		{"data after the test", hours(from.AddDate(0, 1, 0), 1, 2, 3), "backtest.first_test is 2024-05-02; the data of power.csv begin on 2024-06-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Load(folder{"power.csv": c.text}.open, p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"time,kw\n2024-05-01 00:00,1\n2024-05-01 01:00,2\n", "time;kw\n1.5.2024;2,5\n", "\ufefftime\tkw\n\"", "time,kw\n0000-01-01 00:00,1e999\n9999-12-31 23:59,-\n"} {
		f.Add([]byte(text))
	}
	p, err := Parse("x.toml", []byte(whole))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := p.power.read(folder{"power.csv": string(text)}.open, []string{"kw"})
		if err != nil {
			return
		}
		for i, v := range got.values[0] {
			if i > 0 && got.times[i] <= got.times[i-1] || math.IsInf(v, 0) {
				t.Fatalf("row %d: %d after %v, value %g", i, got.times[i], got.times[:i], v)
			}
		}
	})
}
