package widget

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
)

func TestFigureFacts(t *testing.T) {
	at := api.At(time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC))
	when := func(t api.Time) string { return t.Format("02 Jan") }
	share := 0.953
	got := FigureFacts(api.KPI{
		Formula: "PR = Yf / Yr", Source: "IEC", From: api.At(at.AddDate(0, 0, -2)), To: at, AsOf: at, Revision: 2, Basis: "mean power", DataAvailability: &share, Covered: &share,
		Rating: &api.FigureRating{KW: 120, Side: "dc", Source: api.RatingCapacity, Inferred: true}, Irradiance: &api.Irradiance{Description: "plane of array, class A, ±3 %"},
		Energy: &api.EnergyShares{Power: 0.25, Counter: 0.7, Extrapolated: 0.05}, Difference: &api.EnergyDifference{Share: 0.02, ComparedKWh: 200, Flagged: true}, Excluded: []api.ExcludedHours{{Category: "no_power", Hours: 1.5}, {Category: "no_irradiance", Hours: 2}},
	}, when)
	want := []Fact{
		{"formula", "PR = Yf / Yr"}, {"source", "IEC"}, {"window", "13 Jun to 15 Jun"}, {"as of", "15 Jun, revision 2"}, {"rating", "120 kW DC, inferred from the capacity"},
		{"irradiance", "plane of array, class A, ±3 %"}, {"energy", "70 % from counters, 25 % from power, 5 % extrapolated"}, {"difference", "counters and interval energy differ from power by +2.0 %, more than 0.5 %"}, {"covered", "95 % of the insolation due"},
		{"data", "95 % of what was due arrived"}, {"excluded", "1.50 h no power, 2.00 h no irradiance"}, {"basis", "mean power"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if words := RevisionWords(at, 0, when); words != "15 Jun, not final" {
		t.Errorf("an open window: %q", words)
	}
	if words := RatingWords("ac", 100, api.RatingSet, false); words != "100 kW AC" {
		t.Errorf("a rating that is set: %q", words)
	}
}
