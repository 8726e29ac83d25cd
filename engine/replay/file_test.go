package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// whole is a site file with all that is needed.
const whole = `[site]
name = "Roof"
latitude = 47
longitude = 15
timezone = "Europe/Vienna"
capacity_kw = 10

[data]
files = ["power.csv"]
time = "time"
power = "kw"

[weather.cloud]
quantity = "cloud_cover"
kind = "forecast"
unit = "%"

[backtest]
first_test = "2024-06-01"
`

func TestParse(t *testing.T) {
	p, err := Parse("roof.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	want := Protocol{Horizon: 24 * time.Hour, Resolution: time.Hour, First: time.Date(2024, 6, 1, 0, 0, 0, 0, vienna), Refit: Monthly,
		Levels: []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}}
	if diff := cmp.Diff(want, p.Protocol); diff != "" {
		t.Error(diff)
	}
	if p.Site.ID != "Roof" || p.Site.CapacityKW != 10 || p.Site.Plane != nil || p.power.column != "kw" || p.weather[0].of(50, time.Hour) != 0.5 {
		t.Errorf("%+v", p)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"an unknown key", `time = "time"`, "time = \"time\"\ncolour = \"red\"", "line 11: data.colour is not a known key"},
		{"an unknown key of a column", `kind = "forecast"`, "kind = \"forecast\"\nlevel = 2", "line 16: weather.cloud.level is not a known key"},
		{"an unknown table", "[backtest]", "[plant]\nx = 1\n[backtest]", "plant is not a known key"},
		{"no TOML", `name = "Roof"`, `name = Roof`, "line 2, column 8"},
		{"a wrong type", `capacity_kw = 10`, `capacity_kw = "10"`, "line 6, column 15"},
		{"no name", `name = "Roof"`, ``, "site.name is missing"},
		{"no latitude", `latitude = 47`, ``, "site.latitude is missing"},
		{"no longitude", `longitude = 15`, ``, "site.longitude is missing"},
		{"a latitude beyond the pole", `latitude = 47`, `latitude = 147`, "site.latitude is 147; it lies within -90 and 90"},
		{"no capacity", `capacity_kw = 10`, ``, "site.capacity_kw is 0; it must be above 0"},
		{"half a plane", `capacity_kw = 10`, "capacity_kw = 10\ntilt_deg = 3", "only valid together"},
		{"an impossible plane", `capacity_kw = 10`, "capacity_kw = 10\ntilt_deg = 93\nazimuth_deg = 1", "site.tilt_deg is 93"},
		{"an unknown zone", `"Europe/Vienna"`, `"Vienna"`, `site.timezone: there is no time zone "Vienna"`},
		{"no files", `files = ["power.csv"]`, ``, "data.files is missing"},
		{"no time", `time = "time"`, ``, "data.time is missing"},
		{"no power", `power = "kw"`, ``, "data.power is missing"},
		{"an unknown unit", `power = "kw"`, "power = \"kw\"\nunit = \"GW\"", `data.unit is "GW"; it is one of MW, W, Wh, fraction, kW, kWh`},
		{"an unknown label", `power = "kw"`, "power = \"kw\"\nlabel = \"middle\"", `data.label is "middle"; it is one of start, end`},
		{"an unknown format", `power = "kw"`, "power = \"kw\"\ntime_format = \"DD.MM. HH:mm\"", `data.time_format is "DD.MM. HH:mm": it has no YYYY`},
		{"an unknown quantity", `"cloud_cover"`, `"clouds"`, `weather.cloud.quantity is "clouds"`},
		{"an unknown kind", `kind = "forecast"`, `kind = "guess"`, `weather.cloud.kind is "guess"; it is one of forecast, measured`},
		{"no kind", `kind = "forecast"`, ``, "weather.cloud.kind is missing"},
		{"no unit of weather", `unit = "%"`, ``, "weather.cloud.unit is missing"},
		{"a unit of something else", `unit = "%"`, `unit = "K"`, `weather.cloud.unit is "K"; it is one of %, fraction, okta`},
		{"an unknown accumulation", `unit = "%"`, "unit = \"%\"\naccumulated = \"hour\"", `weather.cloud.accumulated is "hour"`},
		{"no first test", `first_test = "2024-06-01"`, ``, "backtest.first_test is missing"},
		{"no day", `"2024-06-01"`, `"June"`, `backtest.first_test is "June"; it is a day such as`},
		{"a last test before the first", `"2024-06-01"`, "\"2024-06-01\"\nlast_test = \"2024-05-01\"", "backtest.last_test is 2024-05-01, before first_test"},
		{"no time of day", `[backtest]`, "[backtest]\nissue = \"noon\"", `backtest.issue is "noon"`},
		{"a long horizon", `[backtest]`, "[backtest]\nhorizon_hours = 721", "backtest.horizon_hours is 721; it lies within 1 and 720"},
		{"a fine resolution", `[backtest]`, "[backtest]\nresolution_minutes = 5", "backtest.resolution_minutes is 5; it is 15, 30 or 60"},
		{"an unknown refit", `[backtest]`, "[backtest]\nrefit = \"weekly\"", `backtest.refit is "weekly"; it is one of monthly, daily, never`},
		{"unknown quantiles", `[backtest]`, "[backtest]\nquantiles = 20", "backtest.quantiles is 20; it is 3, 9, 19 or 99"},
		{"an unknown score", `[backtest]`, "[backtest]\nscore = \"night\"", `backtest.score is "night"; it is one of daylight, all`},
		{"unknown actuals", `[backtest]`, "[backtest]\nactuals = \"all\"", `backtest.actuals is "all"; it is one of issue, refit`},
		{"a negative history", `[backtest]`, "[backtest]\nhistory_days = -1", "backtest.history_days is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(whole, c.from, c.to, 1)
			if text == whole {
				t.Fatal("nothing was replaced")
			}
			_, err := Parse("roof.toml", []byte(text))
			if err == nil || !strings.HasPrefix(err.Error(), "roof.toml: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("[site]\nname = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("x.toml", text)
		if err == nil && (!(p.Site.CapacityKW > 0) || p.Site.Zone == nil || len(p.Protocol.Levels) == 0 || p.Protocol.First.IsZero()) {
			t.Fatalf("accepted %+v", p)
		}
	})
}
