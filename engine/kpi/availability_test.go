package kpi

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const hour = 3600

// sunOf returns a Sun of hours from 0 on; daylight is where the share is not 0.
func sunOf(share ...float64) *Sun {
	day := make([]bool, len(share))
	for i, v := range share {
		day[i] = v != 0
	}
	return NewSun(0, hour, share, day)
}

// observedHours returns the spans of hourly readings: 'r' runs, 's' is stopped, any
// other byte is silent.
func observedHours(readings string) (out []Observed) {
	for i, b := range []byte(readings) {
		if b == 'r' || b == 's' {
			out = append(out, Observed{Span{int64(i) * hour, int64(i+1) * hour}, b == 'r'})
		}
	}
	return out
}

// shown writes stretches as from-to category source id.
func shown(list []Stretch) (out []string) {
	for _, s := range list {
		out = append(out, fmt.Sprintf("%g-%g %s %s%s", float64(s.From)/hour, float64(s.To)/hour, s.Category, s.Source, s.ID))
	}
	return out
}

func TestCategorise(t *testing.T) {
	hours := func(from, to float64) Span { return Span{int64(from * hour), int64(to * hour)} }
	outage := func(from, to float64) Explanation {
		return Explanation{Span: hours(from, to), Stopped: ForcedOutage, Silent: ForcedOutage, Source: FromFinding, ID: "f1"}
	}
	work := func(from, to float64, c Category) Explanation {
		return Explanation{Span: hours(from, to), Stopped: c, Silent: c, Source: FromWork, ID: "o1"}
	}
	person := func(from, to float64, c Category, order int64) Explanation {
		return Explanation{Span: hours(from, to), Stopped: c, Running: c, Silent: c, Source: FromPerson, ID: fmt.Sprint("c", order), Order: order}
	}
	for _, c := range []struct {
		name     string
		readings string
		causes   []Explanation
		want     []string
	}{
		{"readings alone", "-rrs-s", nil, []string{"0-1 out_of_environment reading", "1-3 full_performance reading", "3-4 forced_outage reading", "4-5 information_unavailable reading", "5-6 out_of_environment reading"}},
		{"an outage is explained, also while the unit is silent and at night", "-rrs-s", []Explanation{outage(3, 9)},
			[]string{"0-1 out_of_environment reading", "1-3 full_performance reading", "3-6 forced_outage findingf1"}},
		{"a unit that produces is in service whatever is recorded", "-rrrrr", []Explanation{outage(1, 3), work(1, 4, ScheduledMaintenance)},
			[]string{"0-1 out_of_environment reading", "1-6 full_performance reading"}},
		{"work overrides the finding that it causes", "-rssr-", []Explanation{outage(2, 4), work(2, 3.5, ScheduledMaintenance)},
			[]string{"0-1 out_of_environment reading", "1-2 full_performance reading", "2-3.5 scheduled_maintenance work_ordero1", "3.5-4 forced_outage findingf1", "4-5 full_performance reading", "5-6 out_of_environment reading"}},
		{"a hold suspends the work", "-rsss-", []Explanation{work(2, 5, ScheduledMaintenance), work(3, 4, Suspended)},
			[]string{"0-1 out_of_environment reading", "1-2 full_performance reading", "2-3 scheduled_maintenance work_ordero1", "3-4 suspended work_ordero1", "4-5 scheduled_maintenance work_ordero1", "5-6 out_of_environment reading"}},
		{"a person overrides all, and the newest of two", "-rsss-", []Explanation{work(2, 5, ScheduledMaintenance), person(2, 6, ForceMajeure, 1), person(3, 4, Suspended, 2), person(1, 3, ForcedOutage, 0)},
			[]string{"0-1 out_of_environment reading", "1-2 forced_outage changec0", "2-3 force_majeure changec1", "3-4 suspended changec2", "4-6 force_majeure changec1"}},
		{"a part fails while the unit runs", "-rrsr-", []Explanation{{Span: hours(2, 5), Running: PartialPerformance, Source: FromFinding, ID: "f2"}},
			[]string{"0-1 out_of_environment reading", "1-2 full_performance reading", "2-3 partial_performance findingf2", "3-4 forced_outage reading", "4-5 partial_performance findingf2", "5-6 out_of_environment reading"}},
		{"a cause without an end", "-rsss-", []Explanation{{Span: Span{2 * hour, math.MaxInt64}, Stopped: OutOfGrid, Silent: OutOfGrid, Source: FromFinding, ID: "f3"}},
			[]string{"0-1 out_of_environment reading", "1-2 full_performance reading", "2-6 out_of_grid findingf3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := History{Span{0, 6 * hour}, observedHours(c.readings), c.causes}
			if got := shown(Categorise(h, sunOf(0, 0.2, 0.5, 0.5, 0.2, 0))); !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
	if got := Categorise(History{}, sunOf(1)); got != nil {
		t.Errorf("an empty history has %v", got)
	}
}

// TestCategoriseCovers draws histories: the stretches cover each exactly once, differ
// from their neighbours, and sum to the window; a part of a history has the categories
// that the whole has there.
func TestCategoriseCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const end = 48 * hour
		shares := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.04, 0.3, 0.9, math.NaN()}), 48, 48).Draw(t, "sun")
		sun := sunOf(shares...)
		span := func(name string) Span {
			from := rapid.Int64Range(-hour, end).Draw(t, name)
			return Span{from, from + rapid.Int64Range(1, 20*hour).Draw(t, name+" length")}
		}
		h := History{Span: Span{rapid.Int64Range(0, 5*hour).Draw(t, "from"), end}}
		for at := int64(-hour); at < end+hour; {
			length := rapid.Int64Range(60, 4*hour).Draw(t, "sample")
			if rapid.Bool().Draw(t, "arrived") {
				h.Observed = append(h.Observed, Observed{Span{at, at + length}, rapid.Bool().Draw(t, "runs")})
			}
			at += length
		}
		category := rapid.SampledFrom(append(Categories(), ""))
		for i := range rapid.IntRange(0, 6).Draw(t, "causes") {
			h.Causes = append(h.Causes, Explanation{span("cause"), category.Draw(t, "stopped"), category.Draw(t, "running"), category.Draw(t, "silent"),
				rapid.SampledFrom([]Source{FromFinding, FromWork, FromPerson}).Draw(t, "source"), fmt.Sprint(i), int64(i)})
		}
		all := Categorise(h, sun)
		at := h.From
		for i, s := range all {
			if s.From != at || s.To <= s.From || !slices.Contains(Categories(), s.Category) {
				t.Fatalf("stretch %d is %+v, want it to begin at %d", i, s, at)
			}
			if i > 0 && all[i-1].Category == s.Category && all[i-1].Source == s.Source && all[i-1].ID == s.ID {
				t.Fatalf("stretches %d and %d are one", i-1, i)
			}
			at = s.To
		}
		if at != h.To {
			t.Fatalf("the stretches end at %d of %d", at, h.To)
		}
		total := 0.0
		for _, a := range sun.Sum(all, 10) {
			total += a.Hours
		}
		if math.Abs(total-float64(h.To-h.From)/hour) > 1e-9 {
			t.Fatalf("the categories sum to %v h of %v", total, float64(h.To-h.From)/hour)
		}
		cut := rapid.Int64Range(h.From+1, h.To-1).Draw(t, "cut")
		first, second := h, h
		first.To, second.From = cut, cut
		sums := sun.Sum(slices.Concat(Categorise(first, sun), Categorise(second, sun)), 10)
		for c, want := range sun.Sum(all, 10) {
			if got := sums[c]; math.Abs(got.Hours-want.Hours) > 1e-9 || math.Abs(got.SunUpHours-want.SunUpHours) > 1e-9 || math.Abs(got.ExpectedKWh-want.ExpectedKWh) > 1e-6 {
				t.Fatalf("%s of two parts is %+v, of the whole %+v", c, got, want)
			}
		}
	})
}

// A unit of 100 kW in a window of six hours, four of them with the sun up at 20, 50, 50
// and 20 %: it runs for the first two, is in a forced outage for one and in planned
// maintenance for one.
func TestAvailabilityByTimeAndEnergy(t *testing.T) {
	sun := sunOf(0, 0.2, 0.5, 0.5, 0.2, 0)
	h := History{Span{0, 6 * hour}, observedHours("srrsss"), []Explanation{{Span: Span{4 * hour, 5 * hour}, Stopped: ScheduledMaintenance, Source: FromWork, ID: "o"}}}
	a := sun.Sum(Categorise(h, sun), 100)
	if got, want := a[FullPerformance], (Amount{2, 2, 70}); got != want {
		t.Errorf("in service %+v, want %+v", got, want)
	}
	if got, want := a[OutOfEnvironment], (Amount{2, 0, 0}); got != want {
		t.Errorf("at night %+v, want %+v", got, want)
	}
	operational, contract := OperationalRules(), ContractRules()
	near(t, "operational time", operational.Share(a, SunUpHours), 2.0/4)
	near(t, "operational time, 24 h", operational.Share(a, Hours), 2.0/4)
	near(t, "operational energy", operational.Share(a, ExpectedKWh), 70.0/140)
	near(t, "contractual time", contract.Share(a, SunUpHours), 2.0/3)
	near(t, "contractual energy", contract.Share(a, ExpectedKWh), 70.0/120)
	contract[ScheduledMaintenance], contract[OutOfEnvironment] = TreatUnavailable, TreatAvailable
	near(t, "another contract, 24 h", contract.Share(a, Hours), 4.0/6)
	near(t, "of nothing", contract.Share(Amounts{}, Hours), nan)
	// A unit that reports nothing is not available.
	silent := sun.Sum(Categorise(History{Span: Span{0, 6 * hour}}, sun), 100)
	near(t, "a silent unit", operational.Share(silent, SunUpHours), 0)
	near(t, "a silent unit by contract", ContractRules().Share(silent, SunUpHours), 0)
}

// Half a day of quarter hours and half a day of five minutes cover all of the day: what
// counts is the time, not the number of samples.
func TestDataAvailability(t *testing.T) {
	sun := sunOf(0, 0.2, 0.5, 0.5, 0.2, 0)
	var mixed []Observed
	for at := int64(0); at < 3*hour; at += 900 {
		mixed = append(mixed, Observed{Span{at, at + 900}, true})
	}
	for at := int64(3 * hour); at < 6*hour; at += 300 {
		mixed = append(mixed, Observed{Span{at, at + 300}, true})
	}
	whole := Span{0, 6 * hour}
	near(t, "mixed steps", sun.DataAvailability(History{Span: whole, Observed: mixed}), 1)
	near(t, "one of four hours of daylight", sun.DataAvailability(History{Span: whole, Observed: observedHours("rr")}), 0.25)
	near(t, "a unit that never reported", sun.DataAvailability(History{Span: whole}), 0)
	near(t, "at night", sun.DataAvailability(History{Span: Span{0, hour}, Observed: mixed}), nan)
}
