package forecast

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/longtest"
)

// damages are what histories suffer in the field; each spoils a series of
// hours in place. Several befall the same history.
var damages = map[string]func(r *rand.Rand, v []float64){
	"gaps": func(r *rand.Rand, v []float64) {
		share := 0.6 * r.Float64()
		for i := 0; i < len(v); {
			n := 1 + r.IntN(60)
			if r.Float64() < share {
				fill(v[i:min(i+n, len(v))], math.NaN())
			}
			i += n
		}
	},
	"a month missing": func(r *rand.Rand, v []float64) {
		from := r.IntN(len(v))
		fill(v[from:min(from+30*24, len(v))], math.NaN())
	},
	"clock shift": func(r *rand.Rand, v []float64) {
		tail := v[r.IntN(len(v)):]
		by := 1 + r.IntN(min(12, len(tail)))
		copy(tail, slices.Clone(tail[by%len(tail):]))
	},
	"stuck": func(r *rand.Rand, v []float64) {
		from := r.IntN(len(v))
		fill(v[from:min(from+r.IntN(40*24)+1, len(v))], v[from])
	},
	"dead for weeks": func(r *rand.Rand, v []float64) {
		from := r.IntN(len(v))
		fill(v[from:min(from+r.IntN(40*24)+1, len(v))], 0)
	},
	"above capacity": func(r *rand.Rand, v []float64) { scale(v, 1.05+0.2*r.Float64()) },
	"unit changed":   func(r *rand.Rand, v []float64) { scale(v[r.IntN(len(v)):], []float64{0.001, 0.1, 10, 1000}[r.IntN(4)]) },
	"spikes": func(r *rand.Rand, v []float64) {
		for range 1 + r.IntN(20) {
			v[r.IntN(len(v))] = []float64{1e9, -1e9, math.Inf(1), math.Inf(-1), math.MaxFloat64, -3}[r.IntN(6)]
		}
	},
	"constant": func(r *rand.Rand, v []float64) { fill(v, []float64{0, 7, 50, -1, math.NaN()}[r.IntN(5)]) },
}

func fill(v []float64, by float64) {
	for i := range v {
		v[i] = by
	}
}

func scale(v []float64, by float64) {
	for i := range v {
		v[i] *= by
	}
}

// damaged is a copy of s that one to three damages befell, with their names.
// What is constant learns nothing more from others, so that it is rare.
func damaged(r *rand.Rand, s series.Series) (series.Series, string) {
	names := make([]string, 0, len(damages))
	for name := range damages {
		if name != "constant" || r.IntN(4) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+r.IntN(3)]
	s.Values = slices.Clone(s.Values)
	for _, name := range names {
		damages[name](r, s.Values)
	}
	return s, strings.Join(names, ", ")
}

// Whatever befell power and weather, a site is trained, and its forecasts keep
// their promises up to 720 h, or it is refused with a reason.
func TestDamagedHistories(t *testing.T) {
	longtest.Mark(t)
	const cases = 32
	trained := 0
	for seed := range cases {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		site := testSite
		h := synthetic(site, testStart, 75+r.IntN(60), time.Hour, uint64(seed))
		var words, weatherWords string
		h.Power, words = damaged(r, h.Power)
		switch r.IntN(3) {
		case 0:
			h.Weather = nil
		case 1:
			h.Weather[0].Series, weatherWords = damaged(r, h.Weather[0].Series)
		case 2:
			h.Weather[0].Measured = true
		}
		if r.IntN(5) == 0 {
			site.CapacityKW *= []float64{0.1, 10}[r.IntN(2)]
		}
		name := fmt.Sprintf("seed %d, capacity %g kW: %s; weather (%d columns): %s", seed, site.CapacityKW, words, len(h.Weather), weatherWords)
		m, _, err := Train(context.Background(), site, h, Options{Workers: 2, Origins: r.IntN(2)*2 - 1})
		if err != nil {
			if !errors.Is(err, ErrUnfit) || strings.HasSuffix(err.Error(), ErrUnfit.Error()) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		trained++
		issue := h.Power.End().Add(time.Duration(r.IntN(24)-12) * time.Hour)
		for _, wx := range []weather.Forecast{{}, weather.FromColumns(issue, "test", issue, time.Hour, 48, h.Weather)} {
			points, err := m.Forecast(issue, h.Power, wx, 720*time.Hour)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if len(points) != 720 {
				t.Errorf("%s: %d points", name, len(points))
			}
			if strings.Contains(words, "clock shift") {
				checkBands(named{t, name}, site, points) // it is night by another clock
			} else {
				checkPoints(named{t, name}, site, points)
			}
		}
	}
	// A test that only sees refusals would see nothing.
	if trained < cases/3 {
		t.Errorf("%d of %d histories were learned from", trained, cases)
	}
}

// named is a test case with its name.
type named struct {
	t    *testing.T
	name string
}

func (n named) Fatalf(format string, a ...any) {
	n.t.Helper()
	n.t.Fatalf(n.name+": "+format, a...)
}

// Beyond the weather a band is the climate's: what a month of real skies does
// falls into it as often as it should, and it is not wider for being later.
func TestClimateBands(t *testing.T) {
	h := synthetic(testSite, testStart, 300, time.Hour, 21)
	h.Weather = nil
	cut := testStart.AddDate(0, 0, 240)
	m, _, err := Train(context.Background(), testSite, History{Power: h.Power.Slice(testStart, cut)}, Options{Workers: 2, Origins: 2})
	if err != nil {
		t.Fatal(err)
	}
	in, n := 0, 0
	var widths [2]float64
	for k := range 5 {
		issue := cut.AddDate(0, 0, 5*k)
		points, err := m.Forecast(issue, h.Power, weather.Forecast{}, 720*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range points {
			if i < 72 || p.ClearSkyKW < 0.1*testSite.CapacityKW {
				continue
			}
			n++
			if v := h.Power.At(p.Time); v >= p.P10KW && v <= p.P90KW {
				in++
			}
			if i < 240 {
				widths[0] += (p.P90KW - p.P10KW) / p.ClearSkyKW
			} else if i >= 480 && i < 648 {
				widths[1] += (p.P90KW - p.P10KW) / p.ClearSkyKW
			}
		}
	}
	if c := float64(in) / float64(n); c < 0.7 || c > 0.9 {
		t.Errorf("%.0f %% of %d intervals beyond three days lie in the 80 %% band", 100*c, n)
	}
	if ratio := widths[1] / widths[0]; ratio < 0.8 || ratio > 1.25 {
		t.Errorf("the band of the fourth week is %.2f times the second week's, as a share of the clear sky", ratio)
	}
}
