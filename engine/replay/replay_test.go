package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/engine/replay/metric"
	"app.sunloop/engine/series"
)

var regexpPower = regexp.MustCompile(`(?m)^([^,]*),[^,]*,`)

// still is a clock that does not move.
func still() time.Time { return time.Unix(0, 0) }

// sunny writes hourly power of days under skies that change by the day, with a
// weather forecast that contains half of the information; from hour changed all
// values are different.
func sunny(days, changed int) string {
	var b strings.Builder
	b.WriteString("time,kw,cloud,sensor\n")
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	for h := range days * 24 {
		day := h / 24
		sky := 0.6 + 0.4*math.Sin(float64(day*day))
		cloud := 100 * (1 - sky)
		if h >= changed {
			sky = 0.3 + 0.2*math.Cos(float64(h))
		}
		sun := math.Max(0, math.Sin(math.Pi*(float64(h%24)-7)/10))
		fmt.Fprintf(&b, "%s,%.4f,%.1f,%.1f\n", from.Add(time.Duration(h)*time.Hour).Format("2006-01-02 15:04"), 9*sun*sky, cloud, 900*sun*sky)
	}
	return b.String()
}

const sunnySite = `[site]
name = "Sunny"
latitude = 47
longitude = 0
capacity_kw = 10
[data]
files = ["sunny.csv"]
time = "time"
power = "kw"
[weather.cloud]
quantity = "cloud_cover"
kind = "forecast"
unit = "%"
[weather.sensor]
quantity = "ghi"
kind = "measured"
unit = "W/m2"
[backtest]
quantiles = 3
`

func sunnyReplay(t testing.TB, table, text string) Replay {
	t.Helper()
	p, err := Parse("sunny.toml", []byte(sunnySite+table))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load(folder{"sunny.csv": text}.open, p)
	if err != nil {
		t.Fatal(err)
	}
	return Replay{Plan: p, Data: d}
}

// A forecast is the same whatever comes after its issue: power or measured
// weather. With actuals = "refit" it is the same whatever power comes after the
// refit.
func TestNothingIsSeenBeforeItsTime(t *testing.T) {
	if testing.Short() {
		t.Skip("trains models")
	}
	original := map[time.Time]engine{}
	for _, c := range []struct {
		name, table string
		changed     int // hour from which the other history differs
		issue       int // day of the forecast, after a fit on day 70
	}{
		{"before the issue", "first_test = \"2024-05-10\"\n", 75 * 24, 75},
		{"at the fit", "first_test = \"2024-05-10\"\n", 70 * 24, 70},
		{"before the refit", "first_test = \"2024-05-10\"\nactuals = \"refit\"\n", 70 * 24, 75},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said [2][]quantileForecast
			var references [2][]float64
			for n, changed := range []int{1e9, c.changed} {
				s := sunnyReplay(t, c.table, sunny(80, changed))
				if got := s.Power.At(s.Power.Time(78*24 + 12)); n == 1 && math.Abs(got-9*0.3) > 9*0.21 {
					t.Fatalf("the other history is not another: %g", got)
				}
				fitted := s.Protocol.First
				if want := s.Power.Time(70 * 24); !fitted.Equal(want) {
					t.Fatalf("first test at %v, want %v", fitted, want)
				}
				issue := s.Power.Time(c.issue * 24)
				e, known := original[fitted]
				var err error
				if n == 1 || !known {
					if e, err = fit(context.Background(), &s, fitted, 2); err != nil {
						t.Fatal(err)
					}
					if e.unfit != nil {
						t.Fatalf("not trained: %v", e.unfit)
					}
				}
				if n == 0 {
					original[fitted] = e
				}
				if said[n], err = e.forecast(&s, issue); err != nil {
					t.Fatal(err)
				}
				k, err := learnKnown(s.Site, s.Power, s.Power, fitted, 1)
				if err != nil {
					t.Fatal(err)
				}
				end := index(s.Power, issue)
				if s.Protocol.PastOnly {
					end = index(s.Power, fitted)
				}
				o, past := k.look(end, k.dayCorrelation(end)), k.climateBefore(end)
				for i := c.issue * 24; i < c.issue*24+24; i++ {
					d := o.ensemble(i, past.at(k, i))
					references[n] = append(references[n], o.persistence(i), o.smart(i), o.mix(i, past.at(k, i)), d.Mean())
				}
			}
			if diff := cmp.Diff(said[0], said[1], cmp.AllowUnexported(quantileForecast{})); diff != "" {
				t.Errorf("the engine saw what came later: %s", diff)
			}
			if diff := cmp.Diff(references[0], references[1]); diff != "" {
				t.Errorf("a reference saw what came later: %s", diff)
			}
			top := 0.0
			for _, f := range said[0] {
				top = max(top, f.power.Median())
			}
			if len(said[0]) != 24 || top < 0.1 {
				t.Errorf("%d intervals, at most %g", len(said[0]), top)
			}
		})
	}
}

// References by hand: two days of three intervals each, the sun up in two.
func TestReferencesByHand(t *testing.T) {
	nan := math.NaN()
	k := &siteHistory{slots: 3, clear: []float64{0, 0.5, 0.4, 0, 0.5, 0.4, 0, 0.6, 0.4, 0, 0.5, 0.4},
		power: series.Series{Start: time.Unix(0, 0), Step: 8 * time.Hour, Values: []float64{0, 0.25, 0.2, 0, 0.4, nan, 0, nan, nan, 0, nan, nan}}}
	o := k.look(6, 0.25)
	past := k.climateBefore(6)
	// The second day: 0.4 of 0.5, the rest unknown but less than half of it.
	if math.Abs(o.last-0.8) > 1e-12 {
		t.Errorf("yesterday's index is %g, want 0.8", o.last)
	}
	if diff := cmp.Diff(climate{nil, {0.5, 0.8}, {0.5}}, past, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	d := o.ensemble(7, past.at(k, 7))
	got := []float64{
		o.persistence(7),        // yesterday's
		o.persistence(8),        // the day before: yesterday's is missing
		o.smart(7),              // 0.8 · 0.6
		o.mix(7, past.at(k, 7)), // (0.25·0.8 + 0.75·0.65) · 0.6
		d.Median(), d[0], d[98], // 0.65, 0.503 and 0.797 of 0.6
		o.persistence(10), // two days ahead: what was known of this time
		past.at(k, 6)[0],  // the nearest time of day with any
	}
	want := []float64{0.4, 0.2, 0.48, 0.4125, 0.39, 0.3018, 0.4782, 0.4, 0.5}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	// A dead day is looked past.
	if o := k.look(9, 0.25); math.Abs(o.last-0.8) > 1e-12 {
		t.Errorf("after a dead day the index is %g, want 0.8", o.last)
	}
}

func TestDayCorrelation(t *testing.T) {
	for _, c := range []struct {
		name  string
		days  []float64
		least float64
		most  float64
	}{
		{"spells", []float64{0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.9, 0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.9}, 0.5, 0.8},
		{"there and back", []float64{0.2, 0.9, 0.2, 0.9, 0.2, 0.9, 0.2, 0.9}, 0, 0},
		{"too few", []float64{0.2, 0.9}, 0.5, 0.5},
		{"the same", []float64{0.7, 0.7, 0.7, 0.7, 0.7, 0.7}, 0.5, 0.5},
	} {
		k := &siteHistory{slots: 1, power: series.Series{Step: 24 * time.Hour, Values: c.days}}
		for range c.days {
			k.clear = append(k.clear, 1)
		}
		if got := k.dayCorrelation(len(c.days)); got < c.least-1e-9 || got > c.most+1e-9 {
			t.Errorf("%s: %g, want %g to %g", c.name, got, c.least, c.most)
		}
	}
}

// The parts of a test: months if models are refitted, one part otherwise.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		table string
		want  string // issues of each part, refits in it
	}{
		{"first_test = \"2024-04-20\"\n", "11/1 9/1"},
		{"first_test = \"2024-04-20\"\nlast_test = \"2024-04-25\"\n", "6/1"},
		{"first_test = \"2024-04-20\"\nrefit = \"daily\"\n", "11/11 9/9"},
		{"first_test = \"2024-04-20\"\nrefit = \"never\"\n", "20/1"},
	} {
		s := sunnyReplay(t, c.table, sunny(70, 1e9))
		parts, err := s.parts(0)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, p := range parts {
			refits := 0
			for _, i := range p.issues {
				if i.refit {
					refits++
				}
			}
			words = append(words, fmt.Sprintf("%d/%d", len(p.issues), refits))
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s: parts %s, want %s", c.table, got, c.want)
		}
	}
}

// Issues follow the site's clock over a change of it.
func TestIssuesFollowTheClock(t *testing.T) {
	text := strings.Replace(sunnySite, "capacity_kw", "timezone = \"Europe/Berlin\"\ncapacity_kw", 1)
	p, err := Parse("x.toml", []byte(text+"issue = \"06:00\"\nfirst_test = \"2024-03-30\"\nlast_test = \"2024-03-31\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load(folder{"sunny.csv": sunny(40, 1e9)}.open, p)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := (&Replay{Plan: p, Data: d}).parts(0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range parts[0].issues {
		got = append(got, i.at.UTC().Format(time.RFC3339))
	}
	if diff := cmp.Diff([]string{"2024-03-30T05:00:00Z", "2024-03-31T04:00:00Z"}, got); diff != "" {
		t.Error(diff)
	}
}

// A site with short history, replayed: the result does not depend on the number
// of goroutines, the figures are consistent, and JSON has no null.
func TestRun(t *testing.T) {
	s := sunnyReplay(t, "first_test = \"2024-03-25\"\nlast_test = \"2024-04-03\"\nrefit = \"daily\"\nhistory_days = 20\n", sunny(40, 1e9))
	var all [2][]*Result
	for n, jobs := range []int{1, 3} {
		var err error
		if all[n], err = Run(context.Background(), []Replay{s, s}, Options{Jobs: jobs, Now: still}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" {
		t.Errorf("three goroutines say another thing than one: %s", diff)
	}
	if diff := cmp.Diff(all[0][0], all[0][1]); diff != "" {
		t.Errorf("one site, two results: %s", diff)
	}
	r := all[0][0]
	if r.FirstTest != "2024-03-25" || r.LastTest != "2024-04-03" || r.Fits != 10 || len(r.ByMonth) != 2 || len(r.References) != 4 {
		t.Errorf("%+v", r)
	}
	if r.N != r.ByMonth[0].N+r.ByMonth[1].N || r.N < 80 || r.N > 110 {
		t.Errorf("%d intervals, %d and %d by month", r.N, r.ByMonth[0].N, r.ByMonth[1].N)
	}
	if len(r.Notes) == 0 || !strings.HasPrefix(r.Notes[len(r.Notes)-1], "10 of 10 models are of a site with short history: train site Sunny: history cannot be learned from: 20 days") {
		t.Errorf("notes %q", r.Notes)
	}
	base := r.References[smartPersistence].NRMSE
	if math.Abs(*r.Skill-(1-r.NRMSE/base)) > 1e-12 || *r.References[smartPersistence].Skill != 0 {
		t.Errorf("skill %g, RMSE %g against %g", *r.Skill, r.NRMSE, base)
	}
	for name, ref := range r.References {
		if ref.N != r.N {
			t.Errorf("%s is scored on %d intervals, the engine on %d", name, ref.N, r.N)
		}
	}
	if p := r.References[persistence]; math.Abs(p.CRPS-p.NMAE) > 1e-12 {
		t.Errorf("CRPS of a sure forecast is %g, its error %g", p.CRPS, p.NMAE)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("JSON has a null: %s", text)
	}
	mean := Mean(all[0])
	if diff := cmp.Diff(r.Scores, mean.Scores, cmpopts.EquateApprox(0, 1e-12), cmpopts.IgnoreFields(metric.Scores{}, "N")); diff != "" || mean.N != 2*r.N || mean.Fits != 20 || len(mean.ByMonth) != 2 {
		t.Errorf("the mean of two alike: %s, %d, %d fits", diff, mean.N, mean.Fits)
	}
}

func TestRunStops(t *testing.T) {
	s := sunnyReplay(t, "first_test = \"2024-03-25\"\nrefit = \"daily\"\n", sunny(40, 1e9))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, []Replay{s}, Options{Now: still}); err == nil || !strings.Contains(err.Error(), "Sunny: context canceled") {
		t.Errorf("got %v", err)
	}
}

func TestNothingToScore(t *testing.T) {
	text := sunny(40, 1e9)
	cut := strings.Index(text, "2024-04-01")
	hole := regexpPower.ReplaceAllString(text[cut:], "$1,,")
	s := sunnyReplay(t, "first_test = \"2024-04-01\"\nlast_test = \"2024-04-03\"\n", text[:cut]+hole)
	if _, err := Run(context.Background(), []Replay{s}, Options{Now: still}); err == nil || !strings.Contains(err.Error(), "Sunny: from 2024-04-01 to 2024-04-03 there is no measured power to score") {
		t.Errorf("got %v", err)
	}
}

// The peer's trees use the weather forecast, which contains the sky of each
// day.
func TestPeerLearns(t *testing.T) {
	s := sunnyReplay(t, "first_test = \"2024-05-20\"\n", sunny(90, 1e9))
	k, err := learnKnown(s.Site, s.Power, s.Power, s.Protocol.First, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := fitPeer(context.Background(), &s, k, s.Protocol.First, 1)
	if err != nil {
		t.Fatal(err)
	}
	var trees, smart metric.Tally
	for day := index(s.Power, s.Protocol.First); day < s.Power.Len(); day += k.slots {
		o := k.look(day, 0.5)
		var rows []int
		for i := day; i < day+k.slots; i++ {
			if k.bright[i] {
				rows = append(rows, i)
			}
		}
		for n, d := range p.forecast(k, day, rows) {
			at, sure := metric.Interval{Issue: s.Power.Time(day), Day: s.Power.Time(day).Format(time.DateOnly)}, metric.Certain(o.smart(rows[n]))
			trees.Add(at, &d, k.power.Values[rows[n]])
			smart.Add(at, &sure, k.power.Values[rows[n]])
		}
	}
	if a, b := trees.Scores(), smart.Scores(); a.N < 80 || a.Pinball > 0.4*b.Pinball || a.NMAE > 0.5*b.NMAE {
		t.Errorf("quantile trees %+v, smart persistence %+v", a, b)
	}
}
