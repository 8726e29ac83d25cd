package loss

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)

func at(hours float64) int64 { return noon.Unix() + int64(3600*hours) }

func near(t interface {
	Helper()
	Errorf(string, ...any)
}, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s: %v kWh, want %v", what, got, want)
	}
}

// From 11:30 to 14:00 fifty kWh are lost evenly: 10 in the first half hour and 20
// in each hour that follows.
func TestAddDividesByHours(t *testing.T) {
	var l Ledger
	l.Add(at(-0.5), at(2), 50)
	l.Add(at(-0.5), at(0), math.NaN())
	l.Add(at(5), at(5), 3)
	l.Add(at(5), at(6), -3)
	want := []Span{{at(-0.5), at(0), 10}, {at(0), at(1), 20}, {at(1), at(2), 20}}
	if diff := cmp.Diff(want, l.Spans()); diff != "" {
		t.Error(diff)
	}
	near(t, "total", l.Total(), 50)
	near(t, "the hour before noon holds half an hour of loss", l.Between(noon.Add(-time.Hour), noon), 10)
	near(t, "a quarter of an hour of it", l.Between(noon.Add(-time.Hour), noon.Add(-15*time.Minute)), 5)
	near(t, "before 12:30", l.Before(at(0.5)).Total(), 20)
	l.Add(at(-1), at(-0.75), 4) // earlier in an hour that has a loss
	near(t, "by the earlier start", l.Between(noon.Add(-time.Hour), noon), 14)
}

// Hours of 35 days stay, a day before them is one span from its first hour to its
// last, and what is older than 400 days is in pieces of 28 days.
func TestCondensed(t *testing.T) {
	zone := time.FixedZone("", 5*3600+1800)
	var l Ledger
	day := func(ago int) int64 { return noon.AddDate(0, 0, -ago).Add(-7 * time.Hour).Unix() } // 05:00 UTC
	for _, ago := range []int{900, 899, 500, 100, 99, 2} {
		l.Add(day(ago), day(ago)+8*3600, 80)
	}
	c := l.Condensed(noon, zone)
	near(t, "total", c.Total(), l.Total())
	for ago, spans := range map[int]int{100: 1, 99: 1, 2: 8} {
		n := 0
		for _, s := range c.Spans() {
			if s.From >= day(ago) && s.To <= day(ago)+8*3600 {
				n++
			}
		}
		if n != spans {
			t.Errorf("%d days ago: %d spans, want %d", ago, n, spans)
		}
		from := time.Unix(day(ago), 0).Add(-10 * time.Hour)
		near(t, "a day's loss", c.Between(from, from.AddDate(0, 0, 1)), 80)
	}
	again := c.Condensed(noon, zone)
	if diff := cmp.Diff(c.Spans(), again.Spans()); diff != "" {
		t.Errorf("condensing twice changes it: %s", diff)
	}
	var long Ledger
	for ago := range 1100 {
		long.Add(day(ago)-3600, day(ago)+13*3600, 14)
	}
	if n := len(long.Condensed(noon, zone).Spans()); n > 35*15+366+26 {
		t.Errorf("three years need %d spans", n)
	}
}

func TestRevised(t *testing.T) {
	var former Ledger
	former.Add(at(0), at(3), 30) // 10 in each hour
	estimate := func(kWh ...float64) (l Ledger) {
		for i, x := range kWh {
			l.Add(at(float64(i)), at(float64(i+1)), x)
		}
		return l
	}
	for _, c := range []struct {
		name          string
		latest        Ledger
		from, settled float64
		lasting       bool
		want          []float64
	}{
		{"a small difference of a settled hour is none", estimate(10.4, 9.6, 10.4, 5), 0, 2, true, []float64{10, 10, 10.4, 5}},
		{"the hour that was not over takes the new value", estimate(10, 10, 15, 2), 0, 2.5, true, []float64{10, 10, 15, 2}},
		{"an active loss never falls", estimate(3, 0, 1), 0, 2, true, []float64{10, 10, 10, 0}},
		{"an ended one is corrected", estimate(3, 0, 10.1), 0, 3, false, []float64{3, 0, 10, 0}},
		{"late data raise it", estimate(12, 10, 10), 0, 3, true, []float64{12, 10, 10, 0}},
		{"a run that begins later leaves the hours before", estimate(0, 0, 14), 2, 3, false, []float64{10, 10, 14, 0}},
	} {
		got := Revised(former, c.latest, at(c.from), at(c.settled), c.lasting)
		for i, want := range c.want {
			near(t, c.name, got.Between(noon.Add(time.Duration(i)*time.Hour), noon.Add(time.Duration(i+1)*time.Hour)), want)
		}
		near(t, c.name+", total", got.Total(), got.Between(noon, noon.Add(time.Hour*4)))
	}
}

// Whatever is added in whatever order: any split of a window sums alike, the whole
// is the total, condensing keeps it, and revisions of an active event never fall.
func TestLedgerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l, other Ledger
		sum := 0.0
		for range rapid.IntRange(0, 30).Draw(t, "adds") {
			from := noon.Unix() + int64(rapid.IntRange(-60*24*12, 0).Draw(t, "from"))*300
			length := int64(rapid.IntRange(1, 40).Draw(t, "length")) * 300
			kWh := rapid.Float64Range(0, 50).Draw(t, "kWh")
			l.Add(from, from+length, kWh)
			sum += kWh
			if rapid.Bool().Draw(t, "also") {
				other.Add(from, from+length, rapid.Float64Range(0, 50).Draw(t, "later kWh"))
			}
		}
		near(t, "total", l.Total(), sum)
		begin, end := noon.AddDate(0, 0, -61), noon.AddDate(0, 0, 1)
		cut := begin.Add(time.Duration(rapid.Int64Range(0, int64(end.Sub(begin))).Draw(t, "cut")))
		near(t, "a split", l.Between(begin, cut)+l.Between(cut, end), sum)
		near(t, "scaled", l.Scaled(0.25).Total(), sum/4)
		near(t, "sum", Sum(l, other).Total(), l.Total()+other.Total())
		near(t, "read again", FromSpans(l.Spans()).Total(), sum)
		condensed := l.Condensed(noon, time.UTC)
		near(t, "condensed", condensed.Total(), sum)
		for i, s := range condensed.Spans() {
			if i > 0 && condensed.Spans()[i-1].To > s.From || s.To <= s.From || s.KWh <= 0 {
				t.Fatalf("spans %v", condensed.Spans())
			}
		}
		settled := noon.Add(-time.Duration(rapid.IntRange(0, 60*24).Draw(t, "settled")) * time.Hour)
		from := hourOf(begin.Unix() + int64(rapid.IntRange(0, 61*24).Draw(t, "seen from"))*3600)
		for _, former := range []Ledger{l, condensed} {
			if got := Revised(former, other, from, settled.Unix(), true); got.Total() < former.Total()-1e-9 {
				t.Fatalf("an active loss falls from %v to %v", former.Total(), got.Total())
			}
		}
		once := Revised(l, other, from, settled.Unix(), false)
		if diff := cmp.Diff(once.Spans(), Revised(once, other, from, noon.Unix(), false).Spans()); diff != "" {
			t.Fatalf("the same estimate again changes the losses: %s", diff)
		}
	})
}
