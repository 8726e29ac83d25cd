package plausible_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/plausible"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

var graz = solar.Location{LatitudeDeg: 47.07, LongitudeDeg: 15.44}

// plant is a result with the production of days of a plant in Graz, with its times later by some hours.
func plant(days int, shift time.Duration) *ingest.Result {
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	var f series.Frame
	var power []float64
	for i := range days * 96 {
		at := start.Add(time.Duration(i) * 15 * time.Minute)
		f.Times = append(f.Times, at.Add(shift).Unix())
		power = append(power, 10*math.Max(0, math.Cos(solar.At(at, graz).ZenithDeg*math.Pi/180))*(1-0.0001*float64(i%97)))
	}
	f.Set(series.PowerKW, power)
	return &ingest.Result{Assets: []ingest.Asset{{Name: "a", Frame: f}}, First: time.Unix(f.Times[0], 0), Last: time.Unix(f.Times[len(f.Times)-1], 0)}
}

// daily is a result with the mean power of each of some days.
func daily(days int) *ingest.Result {
	r := plant(1, 0)
	var f series.Frame
	var power []float64
	for i := range days {
		f.Times = append(f.Times, r.First.Unix()+int64(i)*24*3600)
		power = append(power, 3)
	}
	f.Set(series.PowerKW, power)
	return &ingest.Result{Assets: []ingest.Asset{{Frame: f}}, Interval: 24 * time.Hour, First: r.First, Last: time.Unix(f.Times[days-1], 0)}
}

func TestCheck(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r    *ingest.Result
		site plausible.Site
		want []string // parts of the doubts, in order
	}{
		"right":          {plant(3, 0), plausible.Site{Location: &graz, Zone: vienna, CapacityKW: 10}, nil},
		"nothing known":  {plant(3, 5*time.Hour), plausible.Site{}, nil},
		"zone of Tokyo":  {plant(3, -7*time.Hour), plausible.Site{Location: &graz, Zone: tokyo}, []string{"Europe/Vienna would fit", "Asia/Tokyo and the longitude 15.4°"}},
		"wrong offset":   {plant(3, 6*time.Hour), plausible.Site{Location: &graz, Zone: vienna}, []string{"UTC+8"}},
		"too small":      {plant(3, 0), plausible.Site{CapacityKW: 5}, []string{"181 % of the capacity of 5.00 kW"}},
		"far too large":  {plant(40, 0), plausible.Site{CapacityKW: 9000}, []string{"never exceeds"}},
		"energy of days": {daily(60), plausible.Site{Location: &graz, Zone: vienna}, nil},
		"a few bad days": {plant(3, 0), plausible.Site{CapacityKW: 9000}, nil},
	} {
		doubts := plausible.Check(c.r, c.site)
		if len(doubts) != len(c.want) {
			t.Errorf("%s: %v", name, doubts)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(doubts[i].Text, want) {
				t.Errorf("%s: %q does not contain %q", name, doubts[i].Text, want)
			}
		}
	}
}

func TestSame(t *testing.T) {
	a, b := plant(1, 0).Assets[0].Frame, plant(2, 0).Assets[0].Frame
	if !plausible.Same(a, b) {
		t.Error("the same values are another unit's")
	}
	other := b.Slice(b.Times[0], b.Times[b.Len()-1]+1)
	values := append([]float64(nil), b.Values(series.PowerKW)...)
	for i := range values {
		values[i] *= 1.01
	}
	other.Columns = nil
	other.Set(series.PowerKW, values)
	if plausible.Same(a, other) {
		t.Error("other values are the same unit's")
	}
	if plausible.Same(a.Slice(a.Times[0], a.Times[10]), b) {
		t.Error("a night shows that two units are one")
	}
}
