package kpi

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRatings(t *testing.T) {
	for _, c := range []struct {
		name  string
		site  RatingInput
		units []RatingInput
		want  []Rating
	}{
		{"capacity only", RatingInput{}, []RatingInput{{CapacityKW: 50}, {CapacityKW: 30, Estimated: true}},
			[]Rating{{50, 50, RatingCapacity, RatingCapacity}, {30, 30, RatingEstimate, RatingEstimate}}},
		{"given", RatingInput{}, []RatingInput{{CapacityKW: 50, DCKW: 60, ACKW: 50}}, []Rating{{60, 50, RatingSet, RatingSet}}},
		{"the ratio of the other unit", RatingInput{}, []RatingInput{{CapacityKW: 50, DCKW: 60}, {CapacityKW: 100}},
			[]Rating{{60, 50, RatingSet, RatingCapacity}, {120, 100, RatingRatio, RatingCapacity}}},
		// 200 kW of DC less 60, by 1 : 3.
		{"the site's rest", RatingInput{DCKW: 200, ACKW: 160}, []RatingInput{{CapacityKW: 40, DCKW: 60}, {CapacityKW: 20}, {CapacityKW: 60}},
			[]Rating{{60, 160.0 / 3, RatingSet, RatingSiteShare}, {35, 160.0 / 6, RatingSiteShare, RatingSiteShare}, {105, 80, RatingSiteShare, RatingSiteShare}}},
		{"the capacity where only AC is given", RatingInput{}, []RatingInput{{CapacityKW: 55, ACKW: 50}}, []Rating{{55, 50, RatingCapacity, RatingSet}}},
		{"unknown", RatingInput{}, []RatingInput{{}}, []Rating{{0, 0, RatingUnknown, RatingUnknown}}},
	} {
		got := Ratings(c.site, c.units)
		if !slices.EqualFunc(got, c.want, func(a, b Rating) bool {
			return math.Abs(a.DCKW-b.DCKW) < 1e-9 && math.Abs(a.ACKW-b.ACKW) < 1e-9 && a.DCSource == b.DCSource && a.ACSource == b.ACSource
		}) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	sum := SumRatings([]Rating{{60, 50, RatingSet, RatingSet}, {30, 30, RatingEstimate, RatingCapacity}})
	if sum != (Rating{90, 80, RatingEstimate, RatingCapacity}) || sum.DCRatio() != 1.125 {
		t.Errorf("the sum is %+v", sum)
	}
	if dc, ac := sum.Inferred(); !dc || !ac {
		t.Error("an inferred rating is not marked")
	}
	if none := SumRatings(nil); none.DCSource != RatingUnknown || !math.IsNaN(none.DCRatio()) {
		t.Errorf("of no units: %+v", none)
	}
}

// The units' ratings add up to the site's where it is given and above those of
// the units, and only given ratings are not marked as inferred.
func TestRatingsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) RatingInput {
			u := RatingInput{CapacityKW: rapid.Float64Range(1, 100).Draw(t, "capacity")}
			if rapid.Bool().Draw(t, "given") {
				u.DCKW = rapid.Float64Range(1, 120).Draw(t, "DC")
			}
			return u
		}), 1, 6).Draw(t, "units")
		site, all := RatingInput{}, true
		for _, u := range units {
			site.DCKW += u.DCKW
			all = all && u.DCKW > 0
		}
		given := site.DCKW
		site.DCKW += rapid.Float64Range(1, 500).Draw(t, "rest")
		got := Ratings(site, units)
		for i, r := range got {
			if dc, _ := r.Inferred(); dc == (units[i].DCKW > 0) || !(r.DCKW > 0) || !(r.ACKW > 0) {
				t.Fatalf("unit %d of %+v: %+v", i, units[i], r)
			}
		}
		want := site.DCKW
		if all {
			want = given
		}
		if sum := SumRatings(got); math.Abs(sum.DCKW-want) > 1e-6 {
			t.Fatalf("%v kW of %v", sum.DCKW, want)
		}
	})
}
