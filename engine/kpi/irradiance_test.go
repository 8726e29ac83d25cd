package kpi

import (
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/realdata"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"pgregory.net/rapid"
)

var (
	vienna = solar.Location{LatitudeDeg: 48.2, LongitudeDeg: 16.4, AltitudeM: 200}
	south  = solar.Plane{TiltDeg: 35, AzimuthDeg: 180}
)

// clearDaysOf are quarter hours of a plane's clear-sky irradiance from a day of
// the year on; every third day is overcast.
func clearDaysOf(yearDay, days int, p *solar.Plane) (series.Series, *Sky) {
	grid := series.Series{Start: time.Date(2026, 1, yearDay, 0, 0, 0, 0, time.UTC), Step: 15 * time.Minute}
	n := days * 96
	sky := NewSky(grid, n, vienna)
	for i := range n {
		g := sky.Clear(i, p)
		if i/96%3 == 2 {
			g *= 0.2
		}
		grid.Values = append(grid.Values, g)
	}
	return grid, sky
}

func byDayOf(sky *Sky) func(int) bool { return func(i int) bool { return sky.Elevation(i) > 5 } }

func TestInferRole(t *testing.T) {
	for _, season := range []int{10, 100, 180, 260} {
		tilted, sky := clearDaysOf(season, 20, &south)
		flat, _ := clearDaysOf(season, 20, nil)
		if role, ok := InferRole(tilted, sky, south); role != PlaneOfArray || !ok {
			t.Errorf("in the plane, from day %d: %s, %v", season, role, ok)
		}
		if role, ok := InferRole(flat, sky, south); role != Horizontal || !ok {
			t.Errorf("horizontal, from day %d: %s, %v", season, role, ok)
		}
		if _, ok := InferRole(flat, sky, solar.Plane{TiltDeg: 5, AzimuthDeg: 180}); ok {
			t.Error("the role at modules that are almost horizontal is inferred")
		}
	}
	short, sky := clearDaysOf(100, 2, nil)
	if _, ok := InferRole(short, sky, south); ok {
		t.Error("the role is inferred from two days")
	}
}

// Five days of NREL's RMIS station: its horizontal sensor, and that in a plane of
// 40° to the south.
func TestInferRoleMeasured(t *testing.T) {
	rows := realdata.Rows(t, "data/pvanalytics-quality/irradiance_RMIS_NREL.csv.gz")
	plane := solar.Plane{TiltDeg: 40, AzimuthDeg: 180}
	for column, want := range map[int]Role{3: Horizontal, 5: PlaneOfArray} {
		var times []int64
		var values []float64
		for _, row := range rows[1:] {
			if at, err := time.Parse("1/2/2006 15:04", row[0]); err == nil {
				times, values = append(times, at.Add(7*time.Hour).Unix()), append(values, realdata.Number(row[column]))
			}
		}
		s := series.Resample(times, values, 15*time.Minute, 0)
		sky := NewSky(s, len(s.Values), solar.Location{LatitudeDeg: 39.742, LongitudeDeg: -105.18, AltitudeM: 1830})
		if role, ok := InferRole(s, sky, plane); role != want || !ok {
			t.Errorf("%s is %s, %v, want %s", rows[0][column], role, ok, want)
		}
	}
}

func TestSensorHealth(t *testing.T) {
	good, sky := clearDaysOf(150, 21, &south)
	due := byDayOf(sky)
	change := func(f func(i int, g float64) float64) series.Series {
		s := good
		s.Values = make([]float64, len(good.Values))
		for i, g := range good.Values {
			s.Values[i] = f(i, g)
		}
		return s
	}
	for want, s := range map[Health]series.Series{
		Healthy: good,
		Silent:  change(func(int, float64) float64 { return nan }),
		Dead:    change(func(int, float64) float64 { return 1.5 }),
		Low:     change(func(_ int, g float64) float64 { return 0.4 * g }),
		High:    change(func(_ int, g float64) float64 { return 1.6 * g }),
		Stuck: change(func(i int, g float64) float64 {
			if i/96 == 4 && i%96 > 24 && i%96 < 44 { // five hours of a morning
				return 431.5
			}
			return g
		}),
	} {
		if got := (Sensor{Role: PlaneOfArray, Modules: &south, Values: s}).Check(sky, due); got != want {
			t.Errorf("a sensor that is %s is found %s", want, got)
		}
	}
	stuck := change(func(int, float64) float64 { return 431.5 })
	if got := (Sensor{Values: stuck}).Check(nil, due); got != Stuck {
		t.Errorf("a sensor of an unknown place that repeats a value for days is %s", got)
	}
}

func TestInPlane(t *testing.T) {
	tilted, sky := clearDaysOf(60, 3, &south)
	flat, _ := clearDaysOf(60, 3, nil)
	dead := flat
	dead.Values = make([]float64, len(flat.Values))
	due := byDayOf(sky)
	n := len(flat.Values)
	poa := Sensor{ID: "A", Role: PlaneOfArray, Class: "A", Modules: &south, Values: tilted}
	ghi := Sensor{ID: "B", Role: Horizontal, Modules: &south, Values: flat}
	broken := Sensor{ID: "C", Role: PlaneOfArray, Modules: &south, Values: dead}
	for name, c := range map[string]struct {
		sensors    []Sensor
		sky        *Sky
		role       Role
		transposed bool
		yield      float64 // of that of the plane
		within     float64
		note       string
	}{
		"plane of array before horizontal":   {[]Sensor{ghi, poa}, sky, PlaneOfArray, false, 1, 1e-9, ""},
		"horizontal where that is dead":      {[]Sensor{broken, ghi}, sky, Horizontal, true, 1, 0.1, ""},
		"dead":                               {[]Sensor{broken}, sky, "", false, 0, 0, "The irradiance sensor of C is dead."},
		"nothing":                            {nil, sky, "", false, 0, 0, "No irradiance is measured."},
		"horizontal without a place":         {[]Sensor{ghi}, nil, "", false, 0, 0, "latitude and longitude of the site are unknown"},
		"horizontal without a plane":         {[]Sensor{{ID: "B", Role: Horizontal, Values: flat}}, sky, "", false, 0, 0, "tilt and azimuth of the modules are unknown"},
		"horizontal under trackers":          {[]Sensor{{ID: "B", Role: Horizontal, Modules: &south, Tracked: true, Values: flat}}, sky, "", false, 0, 0, "follow the sun"},
		"a sensor in another plane":          {[]Sensor{{ID: "B", Role: PlaneOfArray, Plane: &solar.Plane{TiltDeg: 35, AzimuthDeg: 90}, Modules: &south, Values: flat}}, sky, "", false, 0, 0, "not the plane of the modules"},
		"a satellite in the plane":           {[]Sensor{{ID: "S", Role: Satellite, Plane: &south, Modules: &south, Values: tilted}}, sky, Satellite, false, 1, 1e-9, ""},
		"a role that is unknown is taken so": {[]Sensor{{ID: "U", Modules: &south, Values: tilted}}, sky, PlaneOfArray, false, 1, 1e-9, ""},
	} {
		got := InPlane(c.sensors, flat, n, c.sky, due)
		if got.Role != c.role || got.Transposed != c.transposed || (got.Note == "") != (c.note == "") || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %s, transposed %v, %q", name, got.Role, got.Transposed, got.Note)
		}
		if len(got.Series.Values) != n || len(got.Sensors) != len(c.sensors) {
			t.Errorf("%s: %d values, %+v", name, len(got.Series.Values), got.Sensors)
		}
		want := ReferenceYield(tilted, nil).Hours
		if yield := ReferenceYield(got.Series, nil).Hours; c.note == "" && math.Abs(yield/want-c.yield) > c.within || c.note != "" && !math.IsNaN(yield) {
			t.Errorf("%s: a reference yield of %v, in the plane %v", name, yield, want)
		}
	}
	if got := InPlane([]Sensor{poa}, flat, n, sky, due); got.Class != "A" || got.Uncertainty != 0.03 || got.Inferred {
		t.Errorf("a sensor of class A: %+v", got)
	}
	if got := InPlane([]Sensor{ghi}, flat, n, sky, due); got.Uncertainty != 0.1 {
		t.Errorf("a transposed irradiance is uncertain by %v", got.Uncertainty)
	}
	off := tilted
	off.Values = make([]float64, n)
	for i, g := range tilted.Values {
		off.Values[i] = 0.6 * g
	}
	second, third := poa, poa
	second.ID, third.ID, third.Values = "D", "E", off
	got := InPlane([]Sensor{poa, second, third}, flat, n, sky, due)
	if got.Sensors[2].Health != Deviating || got.Sensors[2].Used || !got.Sensors[0].Used {
		t.Errorf("of three sensors one that reads low: %+v", got.Sensors)
	}
}

// No transposition turns light into darkness or back, and horizontal modules
// get the horizontal irradiance.
func TestTranspositionOfSensors(t *testing.T) {
	flat, sky := clearDaysOf(170, 1, nil)
	rapid.Check(t, func(t *rapid.T) {
		p := solar.Plane{TiltDeg: rapid.Float64Range(0, 80).Draw(t, "tilt"), AzimuthDeg: rapid.Float64Range(0, 360).Draw(t, "azimuth")}
		got := InPlane([]Sensor{{ID: "B", Role: Horizontal, Modules: &p, Values: flat}}, flat, 96, sky, byDayOf(sky))
		for i, g := range got.Series.Values {
			if (g > 0) != (flat.Values[i] > 0) || g > 1500 {
				t.Fatalf("interval %d: %v W/m² of %v", i, g, flat.Values[i])
			}
		}
	})
	level := InPlane([]Sensor{{ID: "B", Role: Horizontal, Modules: &solar.Plane{}, Values: flat}}, flat, 96, sky, byDayOf(sky))
	a, b := ReferenceYield(level.Series, nil).Hours, ReferenceYield(flat, nil).Hours
	if math.Abs(a/b-1) > 0.005 {
		t.Errorf("horizontal modules get %v of %v h", a, b)
	}
}
