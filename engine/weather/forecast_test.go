package weather

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"app.sunloop/engine/solar"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var noon = time.Date(2024, 6, 21, 11, 7, 0, 0, time.UTC)

func TestOffline(t *testing.T) {
	f, err := Offline{}.Forecast(t.Context(), berlin, noon, 48*time.Hour, 15*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if !f.IssuedAt.Equal(noon) || f.Source != "built-in climatology (not measured weather)" {
		t.Errorf("issued %v by %q", f.IssuedAt, f.Source)
	}
	if !f.Start.Equal(noon.Truncate(15*time.Minute)) || f.End().Before(noon.Add(48*time.Hour)) || len(f.Conditions) != 193 {
		t.Errorf("%v to %v in %d intervals", f.Start, f.End(), len(f.Conditions))
	}
	for i, c := range f.Conditions {
		mid := f.Time(i).Add(f.Step / 2)
		want := solar.ClearSky(mid, solar.At(mid, berlin), berlin, 0)
		if diff := cmp.Diff(want, c.Irradiance()); diff != "" {
			t.Fatalf("%v: %s", mid, diff)
		}
		near(t, "temperature", c.TemperatureC, TypicalTemperatureC(berlin, mid), 0)
		near(t, "wind", c.WindSpeedMS, DefaultWindMS, 0)
		if !math.IsNaN(c.CloudCover) {
			t.Fatalf("claims to know the clouds: %v", c.CloudCover)
		}
	}
	// An hour's mean is not its middle: near sunrise the sun is up for part of it.
	hourly, err := Offline{}.Forecast(t.Context(), berlin, f.Start, 24*time.Hour, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	quarter, err := Offline{}.Forecast(t.Context(), berlin, f.Start, 24*time.Hour, 15*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var a, b float64
	for _, c := range hourly.Conditions {
		a += c.GHI
	}
	for _, c := range quarter.Conditions {
		b += c.GHI / 4
	}
	near(t, "energy of hours and quarters", a, b, 0.005*b)
}

func TestOfflineWithOwnTemperature(t *testing.T) {
	s := made(400, time.Hour)
	fit, err := FitTemperature(berlin, s)
	if err != nil {
		t.Fatal(err)
	}
	issue := s.End()
	f, err := Offline{Temperature: fit}.Forecast(t.Context(), berlin, issue, 24*time.Hour, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if want := "built-in climatology (not measured weather), temperature from the site's own history"; f.Source != want {
		t.Errorf("source %q, want %q", f.Source, want)
	}
	for i, c := range f.Conditions {
		near(t, "temperature", c.TemperatureC, fit.Expected(issue, f.Time(i).Add(f.Step/2)), 1e-12)
	}
}

func TestOfflineRefuses(t *testing.T) {
	for _, c := range []struct{ horizon, step time.Duration }{{0, time.Hour}, {-time.Hour, time.Hour}, {time.Hour, 0}, {time.Hour, -1}, {1e6 * time.Hour, time.Minute}} {
		if _, err := (Offline{}).Forecast(t.Context(), berlin, noon, c.horizon, c.step); err == nil {
			t.Errorf("horizon %v in steps of %v is answered", c.horizon, c.step)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Offline{}).Forecast(ctx, berlin, noon, time.Hour, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestForecastAt(t *testing.T) {
	f := Forecast{Start: noon, Step: time.Hour, Conditions: []Conditions{{GHI: 1}, {GHI: 2}}}
	for _, c := range []struct {
		after time.Duration
		want  float64
		ok    bool
	}{{-1, 0, false}, {0, 1, true}, {time.Hour - 1, 1, true}, {time.Hour, 2, true}, {2 * time.Hour, 0, false}} {
		got, ok := f.At(noon.Add(c.after))
		if ok != c.ok || ok && got.GHI != c.want || !ok && !math.IsNaN(got.GHI) {
			t.Errorf("after %v: %v %v", c.after, got.GHI, ok)
		}
	}
	if _, ok := (Forecast{}).At(noon); ok {
		t.Error("an empty forecast answers")
	}
}

func TestComplete(t *testing.T) {
	pos := solar.At(noon, berlin)
	cosZ := math.Cos(pos.ApparentZenithDeg * math.Pi / 180)
	clear := solar.ClearSky(noon, pos, berlin, 0)
	with := func(set func(*Conditions)) Conditions {
		c := Unknown()
		set(&c)
		return c.Complete(noon, berlin)
	}
	near(t, "cloudless", with(func(c *Conditions) { c.CloudCover = 0 }).GHI, clear.GHI, 1e-9)
	near(t, "overcast", with(func(c *Conditions) { c.CloudCover = 1 }).GHI, clear.GHI/4, 1e-9)
	erbs, _ := solar.Erbs(600, pos.ZenithDeg, solar.Extraterrestrial(noon))
	got := with(func(c *Conditions) { c.GHI = 600 })
	if diff := cmp.Diff(erbs, got.Irradiance()); diff != "" {
		t.Error(diff)
	}
	near(t, "direct from diffuse", with(func(c *Conditions) { c.GHI, c.DHI = 600, 200 }).DNI, 400/cosZ, 1e-9)
	near(t, "diffuse from direct", with(func(c *Conditions) { c.GHI, c.DNI = 600, 400 }).DHI, 600-400*cosZ, 1e-9)
	near(t, "global from both", with(func(c *Conditions) { c.DNI, c.DHI = 400, 200 }).GHI, 400*cosZ+200, 1e-9)
	if diff := cmp.Diff(Unknown(), Unknown().Complete(noon, berlin), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// cloudy is a forecast with a cloud share that differs by interval.
func cloudy(t *rapid.T, step time.Duration) Forecast {
	f, err := Offline{}.Forecast(context.Background(), berlin, time.Date(2024, 4, rapid.IntRange(1, 28).Draw(t, "day"), 0, 0, 0, 0, time.UTC), 48*time.Hour, step)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Conditions {
		share := rapid.Float64Range(0, 1.2).Draw(t, "share")
		c := &f.Conditions[i]
		c.GHI, c.DNI, c.DHI = c.GHI*share, c.DNI*share, c.DHI*share
	}
	return f
}

func energy(f Forecast) (ghi, dni, dhi float64) {
	for _, c := range f.Conditions {
		h := f.Step.Hours()
		ghi, dni, dhi = ghi+c.GHI*h, dni+c.DNI*h, dhi+c.DHI*h
	}
	return ghi, dni, dhi
}

func TestAlignKeepsEnergy(t *testing.T) {
	steps := []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		f := cloudy(t, rapid.SampledFrom(steps).Draw(t, "from"))
		step := rapid.SampledFrom(steps).Draw(t, "to")
		g := f.Align(berlin, f.Start, step, int(f.End().Sub(f.Start)/step))
		if !g.IssuedAt.Equal(f.IssuedAt) || g.Source != f.Source || g.Step != step {
			t.Fatalf("lost who issued it: %+v", g)
		}
		a, b, c := energy(f)
		x, y, z := energy(g)
		near(t, "GHI", x, a, 1e-6*(a+1))
		near(t, "DNI", y, b, 1e-6*(b+1))
		near(t, "DHI", z, c, 1e-6*(c+1))
		for i, c := range g.Conditions {
			if c.GHI < 0 || c.DNI < 0 || c.DHI < 0 {
				t.Fatalf("interval %d: %+v", i, c)
			}
		}
	})
}

func TestAlignFollowsTheSun(t *testing.T) {
	f, err := Offline{}.Forecast(t.Context(), berlin, time.Date(2024, 6, 21, 0, 0, 0, 0, time.UTC), 24*time.Hour, 3*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	g := f.Align(berlin, f.Start, 15*time.Minute, 96)
	for i, c := range g.Conditions {
		mid := g.Time(i).Add(g.Step / 2)
		want := solar.ClearSky(mid, solar.At(mid, berlin), berlin, 0).GHI
		near(t, "GHI at "+mid.Format("15:04"), c.GHI, want, 0.01*want+0.5)
	}
}

func TestAlignEdges(t *testing.T) {
	start := time.Date(2024, 6, 21, 10, 0, 0, 0, time.UTC)
	f := Forecast{Start: start, Step: time.Hour, Conditions: []Conditions{
		{GHI: 600, DNI: 500, DHI: 150, TemperatureC: 20, WindSpeedMS: 2, CloudCover: 0},
		{GHI: 300, DNI: 100, DHI: 200, TemperatureC: 24, WindSpeedMS: 4, CloudCover: math.NaN()},
	}}
	same := f.Align(berlin, start.Add(time.Hour), time.Hour, 2)
	if same.Conditions[0].GHI != 300 || !math.IsNaN(same.Conditions[1].GHI) {
		t.Errorf("on its own grid: %+v", same.Conditions)
	}
	g := f.Align(berlin, start.Add(-time.Hour), 30*time.Minute, 8)
	var temperatures []float64
	for _, c := range g.Conditions {
		temperatures = append(temperatures, c.TemperatureC)
	}
	nan := math.NaN()
	if diff := cmp.Diff([]float64{nan, nan, 20, 21, 23, 24, nan, nan}, temperatures, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if !math.IsNaN(g.Conditions[1].GHI) || math.IsNaN(g.Conditions[2].GHI) || !math.IsNaN(g.Conditions[6].GHI) {
		t.Errorf("outside the forecast: %+v", g.Conditions)
	}
	// An interval that is covered for half only is unknown.
	if c := f.Align(berlin, start.Add(-time.Hour), 2*time.Hour, 1).Conditions[0]; !math.IsNaN(c.GHI) {
		t.Errorf("half covered: %+v", c)
	}
	if n := len(f.Align(berlin, start, time.Minute, -1).Conditions); n != 0 {
		t.Errorf("%d intervals", n)
	}
	// Odd offsets find a common grid.
	if c := f.Align(berlin, start.Add(7*time.Minute), 10*time.Minute, 1).Conditions[0]; math.IsNaN(c.GHI) || c.GHI < 500 {
		t.Errorf("odd offset: %+v", c)
	}
	f.Conditions[0].GHI, f.Conditions[0].DNI, f.Conditions[0].DHI = nan, nan, nan
	if c := f.Align(berlin, start, 2*time.Hour, 1).Conditions[0]; !math.IsNaN(c.GHI) {
		t.Errorf("half known: %+v", c)
	}
}

func BenchmarkOffline48hHourly(b *testing.B) {
	for b.Loop() {
		if _, err := (Offline{}).Forecast(context.Background(), berlin, noon, 48*time.Hour, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAlignHourlyTo5Min(b *testing.B) {
	f, err := Offline{}.Forecast(context.Background(), berlin, noon, 48*time.Hour, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f.Align(berlin, f.Start, 5*time.Minute, 48*12)
	}
}
