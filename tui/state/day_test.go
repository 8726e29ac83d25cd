package state

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
)

func record(minutes int, kw float64) api.Record {
	return api.Record{Timestamp: api.At(start.Add(time.Duration(minutes) * time.Minute)), Power: kw}
}

func testDay() Day {
	zone := time.FixedZone("", 0)
	return Day{Start: midnight(start, zone), End: nextMidnight(start, zone)}
}

func TestDayTakesNewRecordsOverOld(t *testing.T) {
	day := testDay().With(map[string][]api.Record{"B": {record(0, 1), record(15, 2)}, "A": {record(0, 5)}})
	day = day.With(map[string][]api.Record{"B": {record(15, 3), record(30, 4)}, "C": nil})
	got := map[string][]float64{}
	var order []string
	for _, u := range day.Units {
		order = append(order, u.AssetID)
		for _, r := range u.Records {
			got[u.AssetID] = append(got[u.AssetID], r.Power)
		}
	}
	want := map[string][]float64{"A": {5}, "B": {1, 3, 4}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"A", "B"}, order); d != "" {
		t.Error(d)
	}
	if !day.Last().Equal(start.Add(30 * time.Minute)) {
		t.Errorf("last %v", day.Last())
	}
	if day.Step() != 15*time.Minute {
		t.Errorf("step %v", day.Step())
	}
}

func TestDayLeavesOtherDaysOut(t *testing.T) {
	day := testDay().With(map[string][]api.Record{"A": {record(-13*60, 1), record(0, 2), record(13*60, 3)}})
	if n := len(day.Units[0].Records); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

func TestSlotsAreMeansWithGaps(t *testing.T) {
	day := testDay().With(map[string][]api.Record{"A": {record(0, 2), record(15, 4), record(60, 8)}, "B": {record(15, 1)}})
	units := day.Slots(30 * time.Minute)
	if len(units) != 2 || len(units[0]) != 48 {
		t.Fatalf("%d units of %d slots", len(units), len(units[0]))
	}
	for i, want := range map[int]float64{24: 3, 25: math.NaN(), 26: 8} {
		if got := units[0][i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("slot %d: %v, want %v", i, got, want)
		}
	}
	total := Total(units)
	if total[24] != 4 || !math.IsNaN(total[25]) {
		t.Errorf("total %v %v, want 4 and a gap", total[24], total[25])
	}
}

func TestCleanedReachesEveryString(t *testing.T) {
	dirty := "a\x1b[31mb\u202ec\x07"
	type inner struct {
		Name string
		At   api.Time
	}
	in := map[string][]*inner{dirty: {{Name: dirty, At: api.At(start)}, nil}}
	got := cleaned(in)
	for key, list := range got {
		for _, s := range []string{key, list[0].Name} {
			if s != "a[31mbc" {
				t.Errorf("%q is not clean", s)
			}
		}
		if !list[0].At.Equal(start) || list[1] != nil {
			t.Errorf("what is no text changed: %+v", list)
		}
	}
	if in[dirty][0].Name != dirty {
		t.Error("the original changed")
	}
}

// Units' days are added up by the site's days; a day of silence has no energy,
// which is not zero.
func TestDailyOf(t *testing.T) {
	zone := time.FixedZone("UTC+2", 2*3600)
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, zone) }
	rec := func(d int, kwh float64) api.Record { return api.Record{Timestamp: api.At(day(d)), KWh: kwh} }
	got := dailyOf(map[string][]api.Record{"a": {rec(1, 5), rec(3, 0)}, "b": {rec(1, 7), rec(9, 100)}}, day(1), day(4), zone)
	if len(got) != 3 || got[0].KWh != 12 || got[0].Units != 2 || !math.IsNaN(got[1].KWh) || got[1].Units != 0 || got[2].KWh != 0 || got[2].Units != 1 {
		t.Errorf("%+v", got)
	}
}

// A record of a longer interval fills all slots of it, a gap none.
func TestSlotsOfLongerIntervals(t *testing.T) {
	start := time.Date(2026, 6, 21, 0, 0, 0, 0, time.UTC)
	day := Day{Start: start, End: start.Add(2 * time.Hour)}
	unit := UnitDay{AssetID: "a"}
	for _, m := range []int{0, 15, 30, 35, 40, 45, 60, 65, 70} {
		unit.Records = append(unit.Records, api.Record{Timestamp: api.At(start.Add(time.Duration(m) * time.Minute)), Power: float64(m)})
	}
	day.Units = []UnitDay{unit}
	got := day.Slots(5 * time.Minute)[0]
	want := []float64{0, 0, 0, 15, 15, 15, 30, 35, 40, 45, math.NaN(), math.NaN(), 60, 65, 70, math.NaN()}
	for i, v := range want {
		if got[i] != v && !(math.IsNaN(v) && math.IsNaN(got[i])) {
			t.Errorf("slot %d is %v, want %v", i, got[i], v)
		}
	}
}
