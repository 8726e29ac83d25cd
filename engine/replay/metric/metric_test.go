package metric

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var close9 = cmpopts.EquateApprox(0, 1e-9)

// uniform is the distribution with quantile p at p·top.
func uniform(top float64) (d Distribution) {
	for i := range d {
		d[i] = top * Level(i)
	}
	return d
}

func TestPinballByHand(t *testing.T) {
	ladder := uniform(1)
	for _, c := range []struct {
		name         string
		d            Distribution
		actual       float64
		all, deciles float64
	}{
		// Half the absolute error, whatever the side: the grid is symmetric.
		{"sure, too low", Certain(0.3), 0.5, 0.1, 0.1},
		{"sure, too high", Certain(0.9), 0.5, 0.2, 0.2},
		{"sure, right", Certain(0.5), 0.5, 0, 0},
		// Quantile p at p, actual 0: each loses (1-p)·p. The mean over deciles is
		// 0.1·9·5/9 - (0.01+0.04+…+0.81)/9 = 0.5 - 2.85/9; over hundredths
		// 0.5 - (0.01² · 99·100·199/6)/99.
		{"ladder, actual at its foot", ladder, 0, 0.5 - 0.0001*100*199/6, 0.5 - 2.85/9},
		// Actual 0.5: level p loses p·(0.5-p) below and (1-p)·(p-0.5) above. Over
		// deciles 2·(0.04+0.06+0.06+0.04)/9.
		{"ladder, actual in its middle", ladder, 0.5, 2 * (0.5*0.01*49*50/2 - 0.0001*49*50*99/6) / 99, 0.4 / 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, deciles := c.d.Pinball(c.actual)
			if diff := cmp.Diff([]float64{c.all, c.deciles}, []float64{all, deciles}, close9); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The CRPS of a uniform distribution on 0..1 is known in closed form:
// x² - x + 1/3 for an actual x in it. The grid comes within a thousandth.
func TestCRPSOfTheUniform(t *testing.T) {
	d := uniform(1)
	for _, x := range []float64{0, 0.2, 0.5, 0.9, 1} {
		all, _ := d.Pinball(x)
		if want := x*x - x + 1.0/3; math.Abs(2*all-want) > 0.004 {
			t.Errorf("actual %g: CRPS %.4f, want %.4f", x, 2*all, want)
		}
	}
}

func TestSpread(t *testing.T) {
	d := Spread([]float64{0.1, 0.5, 0.9}, []float64{1, 3, 11})
	got := []float64{d[0], d[low], d[29], d[middle], d[69], d[high], d[98]}
	if diff := cmp.Diff([]float64{1, 1, 2, 3, 7, 11, 11}, got, close9); diff != "" {
		t.Error(diff)
	}
	// A sum that rounds up past the upper quantile.
	if d := Spread([]float64{Level(0), Level(1)}, []float64{0.06250000000000017, 0.5625000000000003}); !slices.IsSorted(d[:]) {
		t.Errorf("not ascending: %v", d)
	}
	if got := Spread([]float64{0.5}, []float64{2}); got != Certain(2) {
		t.Errorf("one quantile: %v", got[:3])
	}
}

func TestSpreadKeepsOrderAndKnots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfNDistinct(rapid.IntRange(0, Levels-1), 1, 20, rapid.ID[int]).Draw(t, "at")
		values := rapid.SliceOfN(rapid.Float64Range(0, 1), len(at), len(at)).Draw(t, "values")
		slices.Sort(at)
		slices.Sort(values)
		p := make([]float64, len(at))
		for i, k := range at {
			p[i] = Level(k)
		}
		d := Spread(p, values)
		if !slices.IsSorted(d[:]) {
			t.Fatalf("not ascending: %v", d)
		}
		for i, k := range at {
			if math.Abs(d[k]-values[i]) > 1e-12 {
				t.Fatalf("quantile %g is %g, want %g", p[i], d[k], values[i])
			}
		}
	})
}

func issue(day int) time.Time { return time.Date(2024, 1, day, 0, 0, 0, 0, time.UTC) }

// Two days, three intervals, one of them at night.
func TestTallyByHand(t *testing.T) {
	var a Tally
	d := Spread([]float64{0.1, 0.9}, []float64{0.2, 0.6})
	mean := d.Mean()
	a.Add(Interval{Issue: issue(31), Day: "2024-01-31", Bright: true}, &d, 0.5)
	a.Add(Interval{Issue: issue(31), Day: "2024-01-31", Bright: false}, &d, 0.3)
	sure := Certain(0.4)
	a.Add(Interval{Issue: issue(32), Day: "2024-02-01", Bright: true}, &sure, 0.8)

	got := a.Scores()
	want := Scores{
		N:    3,
		NMAE: (0.1 + 0.1 + 0.4) / 3, // the median of d is 0.4
		NMBE: (mean - 0.5 + mean - 0.3 + 0.4 - 0.8) / 3, NRMSE: math.Sqrt(((mean-0.5)*(mean-0.5) + (mean-0.3)*(mean-0.3) + 0.16) / 3),
		Coverage80: 0.5, Width80: 0.2, // of the two in daylight
		// Days: 2·mean against 0.8, 0.4 against 0.8.
		DailyEnergyError: (math.Abs(2*mean-0.8) + 0.4) / 1.6,
	}
	if diff := cmp.Diff(want, got, close9, cmpopts.IgnoreFields(Scores{}, "Pinball", "PinballDeciles", "CRPS")); diff != "" {
		t.Error(diff)
	}
	if math.Abs(got.CRPS-2*got.Pinball) > 1e-15 || got.Pinball <= 0.4/2/3 {
		t.Errorf("pinball %g, CRPS %g", got.Pinball, got.CRPS)
	}
	months := a.Months()
	if len(months) != 2 || months[0].Month != "2024-01" || months[0].N != 2 || months[1].Month != "2024-02" || math.Abs(months[1].NMAE-0.4) > 1e-12 {
		t.Errorf("months %+v", months)
	}
	if math.Abs(months[1].DailyEnergyError-0.5) > 1e-12 {
		t.Errorf("February's energy is off by %g, want 0.5", months[1].DailyEnergyError)
	}
}

func TestMergeIsTheWhole(t *testing.T) {
	var whole, left, right Tally
	for day := 1; day <= 40; day++ {
		part := &left
		if day > 23 {
			part = &right
		}
		for h := range 5 {
			d := Spread([]float64{0.1, 0.5, 0.9}, []float64{0.1, 0.1 + 0.01*float64(day), 0.7})
			at := Interval{Issue: issue(day), Day: issue(day).Format(time.DateOnly), Bright: h > 0}
			y := 0.5 + 0.3*math.Sin(float64(day*5+h))
			whole.Add(at, &d, y)
			part.Add(at, &d, y)
		}
	}
	var both Tally
	both.Merge(&left)
	both.Merge(&right)
	if diff := cmp.Diff([]any{whole.Scores(), whole.Months()}, []any{both.Scores(), both.Months()}, close9); diff != "" {
		t.Error(diff)
	}
	if both.Len() != 200 {
		t.Errorf("%d intervals", both.Len())
	}
}

func TestSkillAndMean(t *testing.T) {
	a := Scores{N: 10, NRMSE: 0.09, NMAE: 0.02}.Against(Scores{NRMSE: 0.1})
	b := Scores{N: 30, NRMSE: 0.08, NMAE: 0.04}.Against(Scores{NRMSE: 0.1})
	none := Scores{N: 1}.Against(Scores{})
	if none.Skill != nil {
		t.Errorf("a skill of %g against nothing", *none.Skill)
	}
	m := Mean([]Scores{a, b, none})
	if m.N != 41 || math.Abs(m.NMAE-0.02) > 1e-12 || m.Skill == nil || math.Abs(*m.Skill-0.15) > 1e-12 {
		t.Errorf("mean %+v", m)
	}
	if (&Tally{}).Scores() != (Scores{}) {
		t.Error("an empty tally has figures")
	}
}
