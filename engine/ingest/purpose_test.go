package ingest

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// Values of a day by the quarter of an hour, for the columns and units below.
var daily = map[string]func(hour float64) float64{
	"sun":    func(h float64) float64 { return 8 * math.Max(0, math.Sin((h-6)*math.Pi/12)) },
	"model":  func(h float64) float64 { return 8.4 * math.Max(0, math.Sin((h-5.8)*math.Pi/12.4)) },
	"steady": func(h float64) float64 { return 1 + 0.3*math.Sin(h) },
	"minus":  func(h float64) float64 { return -8 * math.Max(0, math.Sin((h-6)*math.Pi/12)) },
	"input":  func(h float64) float64 { return 8 / 1.94 * math.Max(0, math.Sin((h-6)*math.Pi/12)) },
	"third":  func(h float64) float64 { return 8. / 3 * math.Max(0, math.Sin((h-6)*math.Pi/12)) },
	"double": func(h float64) float64 { return 16 * math.Max(0, math.Sin((h-6)*math.Pi/12)) },
}

// sumOfSun is the sum of the power of "sun" over two days.
const sumOfSun = 488.8

// twoDays calls f with each quarter of an hour of two days.
func twoDays(f func(stamp string, hour float64)) {
	start := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	for i := range 2 * 96 {
		f(start.Add(time.Duration(i)*15*time.Minute).Format(time.RFC3339), float64(i%96)/4)
	}
}

// wide returns a file with a column for each of the names, "name=values".
func wide(columns ...string) string {
	var b strings.Builder
	b.WriteString("time")
	for _, c := range columns {
		name, _, _ := strings.Cut(c, "=")
		b.WriteString("," + name)
	}
	twoDays(func(stamp string, h float64) {
		b.WriteString("\n" + stamp)
		for _, c := range columns {
			_, values, _ := strings.Cut(c, "=")
			fmt.Fprintf(&b, ",%.3f", daily[values](h))
		}
	})
	return b.String() + "\n"
}

// long returns a file with a row for each unit and time.
func long(header string, units ...string) string {
	var b strings.Builder
	b.WriteString(header)
	twoDays(func(stamp string, h float64) {
		for _, u := range units {
			name, values, _ := strings.Cut(u, "=")
			fmt.Fprintf(&b, "\n%s,%s,%.3f", name, stamp, daily[values](h))
		}
	})
	return b.String() + "\n"
}

// archive returns a ZIP file of tables by name.
func archive(t *testing.T, names []string, texts []string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, name := range names {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(texts[i]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPurposes asserts that only the measured production of the plant is read where the names of columns, units and
// tables say that others are forecasts, consumers, another plant, inputs or phases.
func TestPurposes(t *testing.T) {
	const device, direction = "device,time,power_kw", "direction,time,power_kw"
	for what, c := range map[string]struct {
		text   string
		assets []string
		sum    float64 // in suns
		left   int     // rows of units that are left out
		warn   string
	}{
		"quantiles":         {text: wide("P10=model", "P50=model", "P90=model", "measured=sun"), warn: "kW was assumed"},
		"quantiles and kW":  {text: wide("P10 (kW)=model", "P90 (kW)=model", "Roof (kW)=sun")},
		"numbered units":    {text: wide("P1 (kW)=sun", "P2 (kW)=model"), assets: []string{"P1", "P2"}, sum: -1},
		"weather models":    {text: wide("GFS (kW)=model", "ECMWF (kW)=model", "SCADA (kW)=sun")},
		"estimate":          {text: wide("PV estimate (kW)=model", "PV power (kW)=sun")},
		"budget":            {text: wide("Clear-sky power (kW)=model", "Budget (kW)=model", "Available power (kW)=model", "Plant power (kW)=sun")},
		"reference":         {text: wide("Reference plant (kW)=model", "Neighbour (kW)=model", "Our plant (kW)=sun"), warn: "another plant or a reference"},
		"consuming columns": {text: wide("Inverter (kW)=sun", "Pool pump (kW)=model", "Air conditioning (kW)=steady")},
		"Wärmepumpe":        {text: wide("WR (kW)=sun", "Wärmepumpe (kW)=steady", "Wallbox (kW)=model")},
		"forecast rows":     {text: long("series,time,value", "forecast=model", "actual=sun"), left: 192, warn: "kW was assumed"},
		"directions":        {text: long(direction, "consumption=steady", "generation=sun"), assets: []string{"generation"}, left: 192},
		"load":              {text: long(device, "Building load=steady", "PV roof=sun"), assets: []string{"PV roof"}, left: 192},
		"wallbox":           {text: long(device, "PV=sun", "wallbox=steady"), assets: []string{"PV"}, left: 192},
		"heat pump":         {text: long(device, "inv-1=sun", "heatpump=steady"), assets: []string{"inv-1"}, left: 192},
		"home that is dark": {text: long(device, "Home=sun", "Barn=sun"), assets: []string{"Home", "Barn"}, sum: 2},
		"home that is not":  {text: long(device, "Home=steady", "Barn=sun"), assets: []string{"Barn"}, left: 192},
		"only a consumer":   {text: long(device, "wallbox=sun"), assets: []string{"wallbox"}, warn: "consumer"},
		"types": {
			text:   long("device_name,device_type,time,power_w", "Roof A,inverter=sun", "Tesla,ev_charger=steady", "Main,meter=steady"),
			assets: []string{"Roof A"}, left: 384, sum: 1e-3,
		},
		"inputs":         {text: wide("PV1 Power (kW)=input", "PV2 Power (kW)=input", "AC Output (kW)=sun")},
		"phases":         {text: wide("Power L1 (kW)=third", "Power L2 (kW)=third", "Power L3 (kW)=third")},
		"named plants":   {text: wide("Plant North [kW]=sun", "Plant South [kW]=sun", "Sum [kW]=double"), assets: []string{"Plant North", "Plant South"}, sum: 2},
		"sign":           {text: wide("PV power (kW)=minus"), warn: "negative all day"},
		"forecast table": {text: archive(t, []string{"actual.csv", "forecast.csv"}, []string{wide("power_kw=sun"), wide("power_kw=model")}), left: 192},
		"Verbrauch":      {text: archive(t, []string{"Erzeugung.csv", "Verbrauch.csv"}, []string{wide("Leistung [kW]=sun"), wide("Haus [kW]=steady")}), left: 192},
	} {
		t.Run(what, func(t *testing.T) {
			s := read(t, c.text, Options{Now: now})
			sum := Summarize(s, nil)
			if !slices.Equal(sum.Assets, c.assets) {
				t.Errorf("units %q, want %q", sum.Assets, c.assets)
			}
			want := sumOfSun
			if c.sum != 0 {
				want *= c.sum
			}
			if c.sum >= 0 && math.Abs(sum.SumPowerKW/want-1) > 0.01 {
				t.Errorf("sum of power %.1f, want %.1f", sum.SumPowerKW, want)
			}
			if s.Rows.Skipped[SkipLeftOut] != c.left || s.Rows.Read != s.Rows.Used+c.left {
				t.Errorf("rows %+v, want %d left out", s.Rows, c.left)
			}
			if warned := strings.Join(sum.Warnings, "\n"); c.warn == "" && warned != "" || !strings.Contains(warned, c.warn) {
				t.Errorf("warnings %q, want %q", warned, c.warn)
			}
		})
	}
}

// TestUnitsThatAddUp asserts that a unit is not left out because its power happens
// to be that of the others together: constant power within one per cent, and
// ratings of 10, 20 and 30 kW under one sky.
func TestUnitsThatAddUp(t *testing.T) {
	for name, c := range map[string]struct {
		names [3]string
		kW    func(unit int, hour float64) float64
		want  int
	}{
		"constant power": {[3]string{"inv-1", "inv-2", "roof"}, func(i int, h float64) float64 {
			return [3]float64{41.497, 20.591, 61.589}[i] * math.Ceil(daily["sun"](h)/100)
		}, 3},
		"one sky, numbered":      {[3]string{"inv-1", "inv-2", "inv-3"}, func(i int, h float64) float64 { return float64(i+1) * daily["sun"](h) }, 3},
		"one sky, nearly alike":  {[3]string{"east", "west", "south"}, func(i int, h float64) float64 { return [3]float64{1, 2, 3.02}[i] * daily["sun"](h) }, 3},
		"computed, without name": {[3]string{"east", "west", "all of it"}, func(i int, h float64) float64 { return float64(i+1) * daily["sun"](h) }, 2},
	} {
		var b strings.Builder
		b.WriteString("timestamp,asset_id,power_kw\n")
		twoDays(func(stamp string, h float64) {
			for i, unit := range c.names {
				fmt.Fprintf(&b, "%s,%s,%.3f\n", stamp, unit, c.kW(i, h))
			}
		})
		r, err := Read(strings.NewReader(b.String()), Options{Now: now})
		if err != nil || len(r.Assets) != c.want {
			t.Errorf("%s: %d units, want %d, %v", name, len(r.Assets), c.want, err)
		}
	}
}

// TestDoubtfulRefused asserts that estimates alone are refused, and that the refusal of a column without a unit says
// how it can be read.
func TestDoubtfulRefused(t *testing.T) {
	for text, want := range map[string]string{
		wide("pv_estimate=sun", "pv_estimate10=model", "pv_estimate90=model"): `"pv_estimate" says that it is a forecast, an estimate or a plan`,
		wide("p_ac=sun"):                 `"p_ac" may be production`,
		wide("P_PV=sun"):                 "--capacity-kw",
		wide("Output=sun", "Soll=model"): "--map",
	} {
		_, err := Read(strings.NewReader(text), Options{Now: now})
		var r *Refusal
		if !errors.As(err, &r) || r.Kind != NoPowerOrEnergy || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestReasons asserts that columns are ignored for what they are.
func TestReasons(t *testing.T) {
	res := read(t, wide("Brightness=model", "Forecast (kW)=model", "Target (kW)=model", "dc power (kW)=model", "Power (kW)=sun"), Options{Now: now})
	for title, want := range map[string]string{"Brightness": "name is unknown", "Forecast (kW)": "a forecast or model", "Target (kW)": "a rating, limit or target", "dc power (kW)": "says DC"} {
		i := slices.IndexFunc(res.Columns, func(c Column) bool { return c.Title == title })
		if i < 0 || res.Columns[i].Role != RoleIgnored || !strings.Contains(res.Columns[i].Reason, want) {
			t.Errorf("%s: %+v, want %q", title, res.Columns, want)
		}
	}
}
