package forecast

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/learn/backtest"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/longtest"
)

// fleet returns three other sites within 150 km of the test site, of other
// sizes, with a sky of their own, up to end.
func fleet(end time.Time, days int, columns bool) []Sibling {
	var out []Sibling
	for i, s := range []Site{
		{ID: "barn", Location: solar.Location{LatitudeDeg: 45.4, LongitudeDeg: 9.5, AltitudeM: 90}, CapacityKW: 5},
		{ID: "hall", Location: solar.Location{LatitudeDeg: 44.2, LongitudeDeg: 8.2, AltitudeM: 300}, CapacityKW: 300},
		{ID: "field", Location: solar.Location{LatitudeDeg: 45.1, LongitudeDeg: 10.4, AltitudeM: 60}, CapacityKW: 1200},
	} {
		h := synthetic(s, end.AddDate(0, 0, -days), days, time.Hour, uint64(31+i))
		if !columns {
			h.Weather = nil
		}
		out = append(out, Sibling{s, h})
	}
	return out
}

// shortHistory is 30 days of a site's past and 30 of what came then.
func shortHistory(columns bool) (past, all History, end time.Time) {
	all = synthetic(testSite, testStart, 60, time.Hour, 17)
	end = testStart.AddDate(0, 0, 30)
	past.Power = all.Power.Slice(testStart, end)
	if columns {
		past.Weather = []weather.Column{all.Weather[0]}
		past.Weather[0].Series = all.Weather[0].Series.Slice(testStart, end)
	}
	past.Siblings = fleet(end, 400, columns)
	return past, all, end
}

// score is the mean pinball loss and the coverage of P10 to P90 of day-ahead
// forecasts over 30 days from a time on, in daylight, shares of the capacity.
func score(t *testing.T, m *Model, all History, from time.Time, columns bool) (loss, coverage float64) {
	var actual, said []float32
	in := 0
	for d := range 30 {
		issue := from.AddDate(0, 0, d)
		wx := weather.Forecast{}
		if columns {
			wx = cloudy(all, issue, 24*time.Hour)
		}
		points, err := m.Forecast(issue, all.Power.Slice(testStart, issue), wx, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		checkPoints(t, testSite, points)
		for _, p := range points {
			if y := all.Power.At(p.Time); p.ClearSkyKW > 0.02*testSite.CapacityKW {
				actual = append(actual, float32(y/testSite.CapacityKW))
				for _, v := range []float64{p.P10KW, p.P50KW, p.P90KW} {
					said = append(said, float32(v/testSite.CapacityKW))
				}
				if p.P10KW <= y && y <= p.P90KW {
					in++
				}
			}
		}
	}
	return backtest.Loss(defaultQuantiles, actual, said), float64(in) / float64(len(actual))
}

// The fleet's response to weather improves the forecasts of a site with short
// history. The days of the synthetic skies all follow one another alike, so
// that without weather there is nothing to learn from peers; in that case
// pooling must not cost much.
func TestJoinLearnsFromTheFleet(t *testing.T) {
	for _, c := range []struct {
		columns bool
		better  float64 // at most this share of the loss without a fleet
	}{{false, 1.05}, {true, 0.9}} {
		past, all, end := shortHistory(c.columns)
		alone, _, err := ColdStart(t.Context(), testSite, past, Options{})
		if err != nil {
			t.Fatal(err)
		}
		joined, rep, err := TrainPooled(context.Background(), testSite, past, Options{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		without, _ := score(t, alone, all, end, c.columns)
		with, coverage := score(t, joined, all, end, c.columns)
		t.Logf("weather %v: pinball %.4f alone, %.4f with the fleet, coverage %.2f", c.columns, without, with, coverage)
		if with > c.better*without || coverage < 0.65 || coverage > 0.92 {
			t.Errorf("weather %v: pinball %.4f alone, %.4f with the fleet, coverage %.2f", c.columns, without, with, coverage)
		}
		if !slices.Equal(rep.Siblings, []string{"barn", "hall", "field"}) || rep.FleetShare != 1 || rep.Days != 30 || rep.Score.N == 0 {
			t.Errorf("weather %v: report of %v, share %g, %d days, %d scored", c.columns, rep.Siblings, rep.FleetShare, rep.Days, rep.Score.N)
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	past, all, end := shortHistory(true)
	other := slices.Clone(past.Siblings)
	for i := range other {
		other[i].History.Weather = nil
	}
	wrong := slices.Clone(past.Siblings)
	wrong[0].Site.CapacityKW /= 10
	for name, h := range map[string]History{
		"no siblings":                 {Power: past.Power, Weather: past.Weather},
		"one sibling":                 {Power: past.Power, Weather: past.Weather, Siblings: past.Siblings[:1]},
		"siblings of 50 days":         {Power: past.Power, Weather: past.Weather, Siblings: fleet(end, 50, true)},
		"siblings without weather":    {Power: past.Power, Weather: past.Weather, Siblings: other},
		"a sibling's capacity wrong":  {Power: past.Power, Weather: past.Weather, Siblings: wrong[:2]},
		"five days of the site's own": {Power: all.Power.Slice(testStart, testStart.AddDate(0, 0, 5)), Weather: past.Weather, Siblings: past.Siblings},
	} {
		if _, _, err := TrainPooled(context.Background(), testSite, h, Options{}); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := TrainPooled(ctx, testSite, past, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A site that trains on its own data blends in the pooled learners until it has
// data of each season twice. The model survives encoding, and does not depend
// on the number of workers.
func TestTrainBlendsTheFleetIn(t *testing.T) {
	longtest.Mark(t)
	end := testStart.AddDate(0, 0, 75)
	h := synthetic(testSite, testStart, 75, time.Hour, 5)
	h.Siblings = fleet(end, 200, true)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var hashes []string
	for _, workers := range []int{1, 3} {
		runtime.GOMAXPROCS(workers)
		m, rep, err := Train(context.Background(), testSite, h, Options{Seed: 9, Workers: workers, Origins: 1})
		if err != nil {
			t.Fatal(err)
		}
		if want := 240.0 / (240 + 75); len(rep.Siblings) != 3 || rep.FleetShare < want-1e-6 || rep.FleetShare > want+1e-6 {
			t.Errorf("%d siblings with a share of %g", len(rep.Siblings), rep.FleetShare)
		}
		a, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(a)
		if err != nil {
			t.Fatal(err)
		}
		wx := cloudy(h, end.AddDate(0, 0, -2), 48*time.Hour)
		want, err := m.Forecast(end.AddDate(0, 0, -2), series.Series{}, wx, 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		checkPoints(t, testSite, want)
		got, err := back.Forecast(end.AddDate(0, 0, -2), series.Series{}, wx, 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if want[i].P10KW != got[i].P10KW || want[i].P50KW != got[i].P50KW || want[i].P90KW != got[i].P90KW {
				t.Fatalf("point %d: %+v, %+v", i, want[i], got[i])
			}
		}
		hashes = append(hashes, a.Hash())
		for name, spoil := range map[string][2]string{
			"no share":           {`"fleet_share": `, `"fleet_less": `},
			"no site next to it": {`"fleet": true`, `"fleet": false`},
			"another weather":    {`"weather": true`, `"weather": false`},
		} {
			b := a
			if b.Config = bytes.ReplaceAll(a.Config, []byte(spoil[0]), []byte(spoil[1])); bytes.Equal(b.Config, a.Config) {
				t.Fatalf("%s: %s is not in the config", name, spoil[0])
			}
			if _, err := Decode(b); !errors.Is(err, artifact.ErrMalformed) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if hashes[0] != hashes[1] {
		t.Error("another model with other workers")
	}
	without := h
	without.Siblings = h.Siblings[:1]
	_, rep, err := Train(context.Background(), testSite, without, Options{Origins: -1})
	if err != nil || rep.Siblings != nil || rep.FleetShare != 0 {
		t.Errorf("one sibling: %v taught, %v", rep.Siblings, err)
	}
}
