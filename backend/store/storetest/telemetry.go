package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests on any machine

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// Telemetry asserts what store.Telemetry promises.
func Telemetry(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, tt *telemetryTest)
	}{
		{"absent", telemetryAbsent},
		{"refused", telemetryRefused},
		{"merge", telemetryMerge},
		{"day by day", telemetryDayByDay},
		{"daily", telemetryDaily},
		{"energy", telemetryEnergy},
		{"daily in odd zones", telemetryZones},
		{"future stamp", telemetryFuture},
		{"change of zone", telemetryRezone},
		{"rewrite", telemetryRewrite},
		{"closed days keep their step", telemetryClosedDay},
		{"read while writing", telemetryReadWriting},
		{"concurrent", telemetryConcurrent},
		{"cancelled", telemetryCancelled},
		{"together", telemetryTogether},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock()
			c.run(t, &telemetryTest{t, open(t, clock.Now), clock, map[string]series.Frame{}})
		})
	}
	t.Run("model", func(t *testing.T) { telemetryModel(t, open) })
}

// telemetryTest is a store and a model of it: one merged frame an asset.
type telemetryTest struct {
	t       testing.TB
	storage Store
	clock   *clock
	model   map[string]series.Frame
}

// zone is a zone that must be there.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// power is a frame of power each step from a time on.
func power(from time.Time, step time.Duration, kW ...float64) series.Frame {
	var f series.Frame
	for i := range kW {
		f.Times = append(f.Times, from.Add(time.Duration(i)*step).Unix())
	}
	f.Set(series.PowerKW, kW)
	return f
}

func (tt *telemetryTest) append(site store.SiteKey, frames ...store.AssetFrame) {
	tt.t.Helper()
	if err := tt.storage.Append(context.Background(), site, frames); err != nil {
		tt.t.Fatal(err)
	}
	for _, f := range frames {
		tt.model[f.AssetID] = energy.Merge(tt.model[f.AssetID], f.Frame)
	}
}

// samples are a frame's values by time and quantity, the missing ones left out;
// a stamp without values is in too.
func samples(f series.Frame) map[int64]map[string]float64 {
	out := map[int64]map[string]float64{}
	f = energy.WithoutDerived(f, math.MinInt64, math.MaxInt64) // the store states them itself
	for i, at := range f.Times {
		out[at] = map[string]float64{}
		for _, c := range f.Columns {
			if v := c.Values[i]; !math.IsNaN(v) {
				out[at][c.Quantity.String()] = v
			}
		}
	}
	return out
}

func (tt *telemetryTest) read(site, asset string, from, to time.Time, qs ...series.Quantity) series.Frame {
	tt.t.Helper()
	last := int64(math.MinInt64)
	f, err := store.Collect(func(yield func(series.Frame, error) bool) {
		for f, err := range tt.storage.Read(context.Background(), site, asset, from, to, qs...) {
			if err == nil && (f.Check() != nil || f.Len() == 0 || f.Times[0] <= last) {
				tt.t.Fatalf("Read yields a frame out of order, empty or unsound: %v after %d", f, last)
			}
			if err == nil {
				last = f.Times[f.Len()-1]
			}
			if !yield(f, err) {
				return
			}
		}
	})
	if err != nil {
		tt.t.Fatal(err)
	}
	tt.together(site, []string{"no such asset", asset}, from, to, []map[int64]map[string]float64{{}, samples(f)}, qs...)
	return f
}

// together holds what ReadUnits yields against what Read has.
func (tt *telemetryTest) together(site string, ids []string, from, to time.Time, want []map[int64]map[string]float64, qs ...series.Quantity) {
	tt.t.Helper()
	i := 0
	for f, err := range tt.storage.ReadUnits(context.Background(), site, ids, from, to, qs...) {
		if err != nil || f.AssetID != ids[i] || f.Frame.Check() != nil {
			tt.t.Fatalf("ReadUnits yields %s, %v in place %d of %v", f.AssetID, err, i, ids)
		}
		if diff := cmp.Diff(want[i], samples(f.Frame)); diff != "" {
			tt.t.Errorf("ReadUnits has other samples of %s than Read:\n%s", f.AssetID, diff)
		}
		i++
	}
	if i != len(ids) {
		tt.t.Fatalf("ReadUnits yields %d of %d assets", i, len(ids))
	}
}

var (
	longAgo = time.Unix(-1<<34, 0)
	farOff  = time.Unix(1<<34, 0)
)

// check compares all data of a site in the store with the model.
func (tt *telemetryTest) check(site store.SiteKey) {
	tt.t.Helper()
	ctx := context.Background()
	ids := slices.Sorted(func(yield func(string) bool) {
		for id, f := range tt.model {
			if f.Len() > 0 && !yield(id) {
				return
			}
		}
	})
	var days []store.DaySum
	var latest []store.AssetFrame
	for _, id := range ids {
		want := tt.model[id]
		if diff := cmp.Diff(samples(want), samples(tt.read(site.ID, id, longAgo, farOff))); diff != "" {
			tt.t.Fatalf("samples of %s: %s", id, diff)
		}
		first, last, ok, err := tt.storage.Period(ctx, site.ID, id)
		if n := want.Len(); err != nil || !ok || first.Unix() != want.Times[0] || last.Unix() != want.Times[n-1] {
			tt.t.Fatalf("period of %s: %v to %v, %v, %v; want %d to %d", id, first, last, ok, err, want.Times[0], want.Times[n-1])
		}
		newest := want.Slice(want.Times[want.Len()-1], math.MaxInt64)
		latest = append(latest, store.AssetFrame{AssetID: id, Frame: newest})
		days = append(days, dailyOf(id, want, site.Zone, tt.clock.Now().Unix())...)
	}
	got, err := tt.storage.Latest(ctx, site.ID)
	if err != nil || len(got) != len(latest) {
		tt.t.Fatalf("latest: %v, %v", got, err)
	}
	for i := range got {
		if got[i].AssetID != latest[i].AssetID || !cmp.Equal(samples(got[i].Frame), samples(latest[i].Frame)) {
			tt.t.Fatalf("latest of %s: %v, want %v", got[i].AssetID, got[i], latest[i])
		}
	}
	stored, err := tt.storage.Daily(ctx, site.ID, longAgo, farOff)
	if err != nil {
		tt.t.Fatal(err)
	}
	// What a few samples without a common step cover depends on the usual step
	// of the asset, which its other data show.
	type day struct {
		asset string
		at    int64
	}
	open := map[day]bool{}
	for _, d := range days {
		open[day{d.AssetID, d.Day.Unix()}] = !evenDay(tt.model[d.AssetID], d.Day.Unix(), series.NextMidnight(d.Day, site.Zone).Unix())
	}
	for _, sums := range [][]store.DaySum{days, stored} {
		for i := range sums {
			if s := &sums[i]; open[day{s.AssetID, s.Day.Unix()}] {
				*s = store.DaySum{AssetID: s.AssetID, Day: s.Day, PeakKW: s.PeakKW, Samples: s.Samples}
			}
		}
	}
	if diff := cmp.Diff(days, stored, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty(), equalInstants); diff != "" {
		tt.t.Fatalf("day sums: %s", diff)
	}
}

var equalInstants = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Format(time.RFC3339) == b.Format(time.RFC3339) })

// evenDay reports whether the stamps of a day have one step and all have a power.
func evenDay(f series.Frame, from, to int64) bool {
	f = f.Slice(from, to)
	if slices.ContainsFunc(f.Values(series.PowerKW), math.IsNaN) {
		return false
	}
	times := f.Times
	for i := 2; i < len(times); i++ {
		if times[i]-times[i-1] != times[1]-times[0] {
			return false
		}
	}
	return len(times) > 2
}

// dailyOf sums each day of one read of all stamps.
func dailyOf(id string, f series.Frame, zone *time.Location, now int64) []store.DaySum {
	var out []store.DaySum
	for start, end := range series.Days(time.Unix(f.Times[0], 0), time.Unix(f.Times[f.Len()-1]+1, 0), zone) {
		in := energy.FrameInput(f.Slice(start.Unix(), end.Unix()), start.Unix(), end.Unix(), 0)
		if now < end.Unix() {
			in.Now = now
		}
		s := new(energy.Integrator).Sum(in)
		if s.Samples > 0 {
			out = append(out, store.DaySum{AssetID: id, Day: start, EnergyKWh: s.ProductionKWh, ConsumptionKWh: s.ConsumptionKWh, PeakKW: s.PeakKW, Samples: s.Samples, CoveredS: s.CoveredS})
		}
	}
	return out
}

func telemetryAbsent(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	for range 2 {
		if f := tt.read("site", "none", longAgo, farOff); f.Len() > 0 {
			t.Errorf("read %v", f)
		}
		if _, _, ok, err := tt.storage.Period(t.Context(), "site", "none"); ok || err != nil {
			t.Errorf("period: %v, %v", ok, err)
		}
		if days, err := tt.storage.Daily(t.Context(), "site", longAgo, farOff, "none"); len(days) > 0 || err != nil {
			t.Errorf("daily: %v, %v", days, err)
		}
		if latest, err := tt.storage.Latest(t.Context(), "other"); len(latest) > 0 || err != nil {
			t.Errorf("latest: %v, %v", latest, err)
		}
		// An empty frame stores nothing; another asset changes nothing.
		tt.append(site)
		tt.append(site, store.AssetFrame{AssetID: "empty"})
		tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(tt.clock.Now(), time.Minute, 1)})
	}
	tt.check(site)
}

func telemetryRefused(t *testing.T, tt *telemetryTest) {
	good := store.AssetFrame{AssetID: "a", Frame: power(tt.clock.Now(), time.Minute, 1)}
	for name, c := range map[string]struct {
		site   store.SiteKey
		frames []store.AssetFrame
	}{
		"no site":   {store.SiteKey{Zone: time.UTC}, []store.AssetFrame{good}},
		"no zone":   {store.SiteKey{ID: "s"}, []store.AssetFrame{good}},
		"no place":  {store.SiteKey{ID: "s", Zone: time.FixedZone("here", 3600)}, []store.AssetFrame{good}},
		"no asset":  {store.SiteKey{ID: "s", Zone: time.UTC}, []store.AssetFrame{good, {Frame: good.Frame}}},
		"disorder":  {store.SiteKey{ID: "s", Zone: time.UTC}, []store.AssetFrame{good, {AssetID: "b", Frame: series.Frame{Times: []int64{2, 1}}}}},
		"too early": {store.SiteKey{ID: "s", Zone: time.UTC}, []store.AssetFrame{good, {AssetID: "b", Frame: series.Frame{Times: []int64{-1 << 41}}}}},
	} {
		if err := tt.storage.Append(t.Context(), c.site, c.frames); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, ok, err := tt.storage.Period(t.Context(), "s", ""); ok || err != nil {
		t.Errorf("a refused append has left something, %v", err)
	}
}

// telemetryMerge repeats and corrects, in the open day and in an old one.
func telemetryMerge(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: zone(t, "Africa/Johannesburg")}
	now := tt.clock.Now()
	for _, from := range []time.Time{now.Add(-time.Hour), now.AddDate(0, -2, 0)} {
		first := power(from, 5*time.Minute, 1, math.NaN(), 3)
		first.Set(series.TemperatureC, []float64{20, 21, 22})
		tt.append(site, store.AssetFrame{AssetID: "a", Frame: first})
		tt.append(site, store.AssetFrame{AssetID: "a", Frame: first}) // again
		tt.check(site)
		tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(from.Add(5*time.Minute), 5*time.Minute, 2, math.NaN(), 4)},
			store.AssetFrame{AssetID: "b", Frame: power(from, time.Minute, 7)},
			store.AssetFrame{AssetID: "a", Frame: power(from.Add(-10*time.Minute), 150*time.Second, 9, 8, 7)}) // twice in a call
		tt.check(site)
	}
	// Parts, by quantity and by time.
	whole := tt.model["a"]
	for _, from := range []int64{whole.Times[0] - 1, whole.Times[0], whole.Times[0] + 1, whole.Times[3]} {
		for _, to := range []int64{whole.Times[1], whole.Times[4] + 1, whole.Times[whole.Len()-1], whole.Times[whole.Len()-1] + 1} {
			got := tt.read("site", "a", time.Unix(from, 0), time.Unix(to, 0))
			if diff := cmp.Diff(samples(whole.Slice(from, to)), samples(got)); diff != "" {
				t.Errorf("from %d to %d: %s", from, to, diff)
			}
		}
	}
	only := tt.read("site", "a", longAgo, farOff, series.TemperatureC)
	for _, c := range only.Columns {
		if c.Quantity != series.TemperatureC {
			t.Errorf("asked for temperature, got %v", c.Quantity)
		}
	}
	if !slices.Equal(only.Times, whole.Times) {
		t.Errorf("stamps %v, want %v", only.Times, whole.Times)
	}
}

// telemetryDayByDay lives through weeks, a step at a time, so that days are
// sealed and months end; one unit falls silent, one joins late.
func telemetryDayByDay(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: zone(t, "Europe/Berlin")}
	const step = 3 * time.Hour
	for i := range 40 * 8 {
		at := tt.clock.advance(step)
		frames := []store.AssetFrame{{AssetID: "a", Frame: power(at, step, float64(i%8))}}
		if i < 100 {
			frames = append(frames, store.AssetFrame{AssetID: "silent", Frame: power(at, step, 1)})
		}
		if i > 200 {
			frames = append(frames, store.AssetFrame{AssetID: "late", Frame: power(at, step, 2)})
		}
		tt.append(site, frames...)
		if i%37 == 0 {
			tt.check(site)
		}
	}
	tt.check(site)
}

// telemetryDaily has a day whose sums are known by hand.
func telemetryDaily(t *testing.T, tt *telemetryTest) {
	z := zone(t, "Africa/Johannesburg")
	site := store.SiteKey{ID: "site", Zone: z}
	midnight := time.Date(2026, 3, 20, 0, 0, 0, 0, z)
	hours := make([]float64, 48)
	for i := range hours {
		hours[i] = float64(i)
	}
	// One kW more each hour; then a gap of an hour in a day of 5 minutes.
	tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(midnight, time.Hour, hours...)})
	tt.append(site, store.AssetFrame{AssetID: "b", Frame: power(midnight.Add(time.Hour), 5*time.Minute, 12, 12, 12)},
		store.AssetFrame{AssetID: "b", Frame: power(midnight.Add(130*time.Minute), 5*time.Minute, 24, math.NaN(), 24)})
	energy := series.Frame{Times: []int64{midnight.Unix(), midnight.Add(time.Hour).Unix()}}
	energy.Set(series.EnergyKWh, []float64{3, 5})
	tt.append(site, store.AssetFrame{AssetID: "c", Frame: energy})
	second := midnight.AddDate(0, 0, 1)
	// One mean a day.
	tt.append(site, store.AssetFrame{AssetID: "d", Frame: power(midnight, 24*time.Hour, 10, 20)})
	want := []store.DaySum{
		{AssetID: "a", Day: midnight, EnergyKWh: 23 * 24 / 2, PeakKW: 23, Samples: 24},
		{AssetID: "a", Day: second, EnergyKWh: 24*24 + 23*24/2, PeakKW: 47, Samples: 24},
		// 12 kW for 5 + 5 + 5 minutes, 24 kW for 5 + 5.
		{AssetID: "b", Day: midnight, EnergyKWh: 12*15/60 + 24*10/60., PeakKW: 24, Samples: 5},
		{AssetID: "c", Day: midnight, EnergyKWh: 8, PeakKW: 5, Samples: 2},
		{AssetID: "d", Day: midnight, EnergyKWh: 240, PeakKW: 10, Samples: 1},
		{AssetID: "d", Day: second, EnergyKWh: 480, PeakKW: 20, Samples: 1},
	}
	for _, c := range []struct {
		from, to time.Time
		ids      []string
		want     []store.DaySum
	}{
		{midnight, second.Add(1), nil, want},
		{midnight, second, nil, []store.DaySum{want[0], want[2], want[3], want[4]}},
		{midnight.Add(1), farOff, nil, []store.DaySum{want[1], want[5]}},
		{longAgo, farOff, []string{"b", "none"}, want[2:3]},
		{longAgo, midnight, nil, nil},
	} {
		got, err := tt.storage.Daily(t.Context(), "site", c.from, c.to, c.ids...)
		for i := range got {
			got[i].CoveredS, got[i].Sources = 0, nil
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty(), equalInstants); diff != "" || err != nil {
			t.Errorf("%v to %v, %v: %v %s", c.from, c.to, c.ids, err, diff)
		}
	}
}

// telemetryEnergy has days whose energy counters and corrections change: in a
// sealed day and in the open one, and across midnight.
func telemetryEnergy(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	today := series.Midnight(tt.clock.Now(), time.UTC)
	for days, name := range []string{"open", "closed"} {
		start := today.AddDate(0, 0, -40*days)
		fine := power(start, 5*time.Minute, slices.Repeat([]float64{110}, 12)...)
		tt.append(site, store.AssetFrame{AssetID: name, Frame: fine})
		hour := power(start, time.Hour, 120)
		hour.Set(series.EnergyKWh, []float64{120})
		tt.append(site, store.AssetFrame{AssetID: name, Frame: hour})
		got, err := tt.storage.Daily(t.Context(), "site", start, start.Add(time.Hour), name)
		if err != nil || len(got) != 1 || math.Abs(got[0].EnergyKWh-120) > 1e-9 {
			t.Errorf("%s day with a corrected hour: %+v, %v", name, got, err)
		}
	}
	// A counter that ran while nothing was sent from 15:00 until 10:00 of the day
	// after the next one.
	start := today.AddDate(0, 0, -20)
	counter := func(from, to int) series.Frame {
		f := power(start.Add(time.Duration(from)*time.Hour), time.Hour, slices.Repeat([]float64{10}, to-from)...)
		values := make([]float64, f.Len())
		for i := range values {
			values[i] = 4000 + 10*float64(from+i)
		}
		f.Set(series.EnergyCounterKWh, values)
		return f
	}
	tt.append(site, store.AssetFrame{AssetID: "counter", Frame: counter(0, 16)})
	tt.append(site, store.AssetFrame{AssetID: "counter", Frame: counter(58, 96)})
	for from := range 4 {
		for to := from + 1; to <= 4; to++ {
			got, err := tt.storage.Daily(t.Context(), "site", start.AddDate(0, 0, from), start.AddDate(0, 0, to), "counter")
			if err != nil || len(got) != to-from {
				t.Fatalf("days %d to %d: %+v, %v", from, to, got, err)
			}
			for _, d := range got {
				if math.Abs(d.EnergyKWh-240) > 1e-6 {
					t.Errorf("days %d to %d: %+v", from, to, d)
				}
			}
		}
	}
}

// telemetryZones crosses changes of the clock: days of 23, 24.5 and 25 hours, a
// midnight that does not exist, one that exists twice.
func telemetryZones(t *testing.T, tt *telemetryTest) {
	for _, c := range []struct{ zone, from string }{
		{"Europe/Berlin", "2025-03-28"}, {"Europe/Berlin", "2025-10-24"},
		{"Australia/Lord_Howe", "2025-04-03"}, {"America/Sao_Paulo", "2018-11-01"},
		{"America/Havana", "2025-10-30"}, {"Asia/Kolkata", "2025-12-30"}, {"Pacific/Apia", "2011-12-27"},
	} {
		z := zone(t, c.zone)
		from, err := time.ParseInLocation(time.DateOnly, c.from, z)
		ok(tt.t.(*testing.T), err)
		kW := make([]float64, 7*96)
		for i := range kW {
			kW[i] = float64(i%96) / 8
		}
		id := c.zone + c.from
		one := &telemetryTest{t, tt.storage, tt.clock, map[string]series.Frame{}}
		one.append(store.SiteKey{ID: id, Zone: z}, store.AssetFrame{AssetID: "a", Frame: power(from, 15*time.Minute, kW...)})
		one.check(store.SiteKey{ID: id, Zone: z})
	}
}

// telemetryFuture has a stamp from a wrong clock: it neither disturbs today nor
// is lost.
func telemetryFuture(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(tt.clock.Now(), time.Minute, 1, 2)})
	tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(tt.clock.Now().AddDate(73, 0, 0), time.Minute, 9)})
	for range 60 {
		at := tt.clock.advance(time.Hour)
		tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(at, time.Minute, 3)})
	}
	f := tt.read("site", "a", longAgo, farOff)
	if diff := cmp.Diff(samples(tt.model["a"]), samples(f)); diff != "" {
		t.Error(diff)
	}
}

func telemetryRezone(t *testing.T, tt *telemetryTest) {
	kW := make([]float64, 24*40)
	for i := range kW {
		kW[i] = float64(i % 7)
	}
	frames := []store.AssetFrame{
		{AssetID: "a", Frame: power(tt.clock.Now().AddDate(0, 0, -40), time.Hour, kW...)},
		{AssetID: "b", Frame: power(tt.clock.Now().AddDate(0, 0, -20), time.Hour, kW[:300]...)},
	}
	tt.append(store.SiteKey{ID: "site", Zone: time.UTC}, frames...)
	tt.check(store.SiteKey{ID: "site", Zone: time.UTC})
	for _, name := range []string{"Pacific/Auckland", "America/Lima"} {
		site := store.SiteKey{ID: "site", Zone: zone(t, name)}
		tt.append(site, store.AssetFrame{AssetID: "c", Frame: power(tt.clock.Now(), time.Minute, 5)})
		tt.check(site)
	}
}

// telemetryClosedDay: the energy of a day with one sample, whose source states no
// step, does not change when later data of other days have another step.
func telemetryClosedDay(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	first := time.Date(2025, 6, 5, 0, 0, 0, 0, time.UTC) // of a run of four days
	even := func(n int) []float64 {
		kW := make([]float64, n)
		for i := range kW {
			kW[i] = 10
		}
		return kW
	}
	noon := first.AddDate(0, 0, 1).Add(12 * time.Hour)
	sum := func(name string, want float64) {
		t.Helper()
		days, err := tt.storage.Daily(t.Context(), "site", noon.Add(-12*time.Hour), noon, "a")
		ok(t, err)
		if len(days) != 1 || math.Abs(days[0].EnergyKWh-want) > 1e-9 {
			t.Fatalf("%s: %+v, want %v kWh", name, days, want)
		}
	}
	ok(t, tt.storage.Append(t.Context(), site, []store.AssetFrame{{AssetID: "a", Frame: power(first, 15*time.Minute, even(96)...)}}))
	ok(t, tt.storage.Append(t.Context(), site, []store.AssetFrame{{AssetID: "a", Frame: power(noon, time.Minute, 10)}}))
	sum("one sample", 2.5)
	for later := range 2 { // the second one closes the first, which is of the same block
		ok(t, tt.storage.Append(t.Context(), site, []store.AssetFrame{{AssetID: "a", Frame: power(first.AddDate(0, 0, 2+later), 5*time.Minute, even(288)...)}}))
		sum("with finer days after it", 2.5)
	}
	ok(t, tt.storage.Append(t.Context(), site, []store.AssetFrame{{AssetID: "a", Frame: power(noon.Add(5*time.Minute), 5*time.Minute, even(5)...)}}))
	sum("with finer samples after it", 5)
}

// telemetryRewrite removes values, renames an asset, changes the zone, and then
// removes all.
func telemetryRewrite(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	kW := make([]float64, 24*20)
	for i := range kW {
		kW[i] = float64(i % 5)
	}
	start := tt.clock.Now().AddDate(0, 0, -20)
	tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(start, time.Hour, kW...)}, store.AssetFrame{AssetID: "b", Frame: power(start, time.Hour, kW...)})
	site.Zone = zone(t, "America/Lima")
	cut := start.AddDate(0, 0, 10).Unix()
	edit := func(frames []store.AssetFrame) ([]store.AssetFrame, error) {
		if len(frames) != 2 || frames[0].AssetID != "a" || frames[1].AssetID != "b" || frames[0].Frame.Len() != len(kW) {
			return nil, fmt.Errorf("edit gets %d frames", len(frames))
		}
		return []store.AssetFrame{{AssetID: "c", Frame: frames[0].Frame}, {AssetID: "b", Frame: frames[1].Frame.Slice(cut, math.MaxInt64)}}, nil
	}
	read, err := tt.storage.ReadSite(t.Context(), site.ID)
	if err != nil || len(read) != 2 {
		t.Fatalf("the site as a whole: %d frames, %v", len(read), err)
	}
	for i, id := range []string{"a", "b"} {
		if want := tt.model[id]; read[i].AssetID != id || !slices.Equal(read[i].Frame.Times, want.Times) || !slices.Equal(read[i].Frame.Values(series.PowerKW), want.Values(series.PowerKW)) {
			t.Errorf("frame %d of the site is %s with %d samples, not %s with %d", i, read[i].AssetID, read[i].Frame.Len(), id, want.Len())
		}
	}
	if none, err := tt.storage.ReadSite(t.Context(), "unknown"); err != nil || len(none) != 0 {
		t.Errorf("an unknown site: %d frames, %v", len(none), err)
	}
	ok(t, tt.storage.Rewrite(t.Context(), site, edit))
	tt.model["c"], tt.model["b"] = tt.model["a"], tt.model["b"].Slice(cut, math.MaxInt64)
	delete(tt.model, "a")
	tt.check(site)
	tt.append(site, store.AssetFrame{AssetID: "b", Frame: power(tt.clock.Now(), time.Hour, 7)})
	tt.check(site)

	refusal := errors.New("the edit failed")
	if err := tt.storage.Rewrite(t.Context(), site, func([]store.AssetFrame) ([]store.AssetFrame, error) { return nil, refusal }); !errors.Is(err, refusal) {
		t.Errorf("an edit that fails: %v", err)
	}
	tt.check(site)
	none := func([]store.AssetFrame) ([]store.AssetFrame, error) { return nil, nil }
	ok(t, tt.storage.Rewrite(t.Context(), site, none))
	if _, _, there, err := tt.storage.Period(t.Context(), "site", ""); there || err != nil {
		t.Errorf("telemetry remains: %v", err)
	}
	ok(t, tt.storage.Rewrite(t.Context(), store.SiteKey{ID: "unknown", Zone: time.UTC}, none))
}

// telemetryReadWriting appends inside a Read, which must not stop it: days that
// are sealed meanwhile are neither lost nor doubled.
func telemetryReadWriting(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	kW := make([]float64, 24*200)
	for i := range kW {
		kW[i] = float64(i)
	}
	start := tt.clock.Now().AddDate(0, 0, -200)
	tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(start, time.Hour, kW...)})
	want := tt.model["a"].Len()
	got := 0
	for f, err := range tt.storage.Read(t.Context(), "site", "a", start, tt.clock.Now()) {
		if err != nil {
			t.Fatal(err)
		}
		got += f.Len()
		at := tt.clock.advance(6 * time.Hour)
		tt.append(site, store.AssetFrame{AssetID: "a", Frame: power(at, time.Hour, 1)}, store.AssetFrame{AssetID: "b", Frame: power(at, time.Hour, 1)})
		ok(t, tt.storage.Update(t.Context(), func(tx store.Tx) error { return tx.Put("b", []byte("k"), nil) }))
	}
	// What was appended at the clock's later times is beyond the range, which was
	// fixed before.
	if got != want {
		t.Errorf("read %d samples, want %d", got, want)
	}
	tt.check(site)
}

// telemetryConcurrent has loggers of one site report separately, over midnight.
func telemetryConcurrent(t *testing.T, tt *telemetryTest) {
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	start := tt.clock.Now().Add(11 * time.Hour)
	tt.clock.advance(14 * time.Hour)
	const loggers, steps = 12, 24
	var wg sync.WaitGroup
	for l := range loggers {
		id := fmt.Sprintf("unit %02d", l)
		kW := make([]float64, steps)
		for i := range kW {
			kW[i] = float64(l + i)
		}
		tt.model[id] = power(start, 5*time.Minute, kW...)
		wg.Go(func() {
			for i := range steps {
				f := power(start.Add(time.Duration(i)*5*time.Minute), 0, kW[i])
				if err := tt.storage.Append(t.Context(), site, []store.AssetFrame{{AssetID: id, Frame: f}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	tt.check(site)
}

func telemetryCancelled(t *testing.T, tt *telemetryTest) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	f := []store.AssetFrame{{AssetID: "a", Frame: power(tt.clock.Now(), time.Minute, 1)}}
	if err := tt.storage.Append(ctx, site, f); err == nil {
		t.Error("append with a cancelled context")
	}
	tt.append(site, f...)
	if _, err := store.Collect(tt.storage.Read(ctx, "site", "a", longAgo, farOff)); err == nil {
		t.Error("read with a cancelled context")
	}
}
