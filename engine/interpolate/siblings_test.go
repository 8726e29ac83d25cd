package interpolate

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/engine/series"
)

// siblingPower returns the power of siblings of the synthetic site: same sky, other
// size, and a tenth less in the morning.
func siblingPower(power series.Series) series.Series {
	s := hidden(power, 0, 0)
	for i := range s.Values {
		s.Values[i] *= 7
		if s.Time(i).Hour() < 10 {
			s.Values[i] *= 0.9
		}
	}
	return s
}

// unit is the fixture's model for a unit with siblings.
func unit(t *testing.T, workers int) (*Model, Report, fixture, Weather) {
	t.Helper()
	f := trainedOnce(t)
	wx := Weather{Siblings: siblingPower(f.power)}
	m, rep, err := f.model.ForUnits(context.Background(), []Unit{{f.power, wx}}, Options{Workers: workers, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	return m, rep, f, wx
}

// Siblings under the same sky reproduce a gap of two cloudy days almost
// exactly, whatever their size, and the report has measured that on hidden
// samples.
func TestSiblingsFill(t *testing.T) {
	m, rep, f, wx := unit(t, 2)
	from, to := 24*30+11, 24*32+11
	gap := series.Gap{From: f.power.Time(from), To: f.power.Time(to)}
	wrong := func(x Filled) (share float64) {
		var sum float64
		for i, v := range x.KW {
			share += math.Abs(v - f.power.Values[from+i])
			sum += f.power.Values[from+i]
		}
		return share / sum
	}
	got, err := m.Fill(hidden(f.power, from, to), gap, wx)
	if err != nil {
		t.Fatal(err)
	}
	if got.Method != Siblings || got.Sky != SkyFromPeers || wrong(got) > 0.06 {
		t.Errorf("by %s knowing %s: error of %.1f %%", got.Method, got.Sky, 100*wrong(got))
	}
	possible(t, m, got)
	alone, err := m.Fill(hidden(f.power, from, to), gap, Weather{})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Method == Siblings || alone.Sky != SkyUnknown || wrong(alone) < 2*wrong(got) {
		t.Errorf("without siblings by %s knowing %s: error of %.1f %%", alone.Method, alone.Sky, 100*wrong(alone))
	}
	scored := map[SkyInfo]float64{}
	for _, l := range rep.Lengths {
		if l.Length == 24*time.Hour {
			scored[l.Sky] = l.Filled.MAEKW
		}
	}
	if !rep.Siblings || !(scored[SkyFromPeers] > 0 && scored[SkyFromPeers] < scored[SkyUnknown]/3) {
		t.Errorf("a day's gap: %.3g kW with siblings, %.3g kW without", scored[SkyFromPeers], scored[SkyUnknown])
	}
}

// Siblings that fall silent in the middle of a gap help where they speak;
// silent in most of it, they are not what fills.
func TestSilentSiblings(t *testing.T) {
	m, _, f, wx := unit(t, 1)
	from, to := 24*30, 24*34
	gap := series.Gap{From: f.power.Time(from), To: f.power.Time(to)}
	power := hidden(f.power, from, to)
	silent := func(a, b int) Filled {
		x, err := m.Fill(power, gap, Weather{Siblings: hidden(wx.Siblings, a, b)})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	part := silent(24*31+12, 24*32+12)
	for i, v := range part.KW {
		at := from + i
		if d := math.Abs(v - f.power.Values[at]); (at < 24*31+8 || at > 24*32+16) && d > 0.1*testSite.CapacityKW {
			t.Errorf("%s: %.1f kW, was %.1f", f.power.Time(at), v, f.power.Values[at])
		}
	}
	if x := silent(24*30, 24*33); x.Method == Siblings || x.Sky != SkyUnknown {
		t.Errorf("siblings silent for three days of four fill, %s by %s", x.Sky, x.Method)
	}
}

// ForUnits gives the same result for any number of workers and does not change
// the model; the artefact keeps its choices.
func TestForUnits(t *testing.T) {
	m, rep, f, _ := unit(t, 1)
	again, rep2, _, _ := unit(t, 3)
	if diff := cmp.Diff(rep, rep2); diff != "" || m.choices != again.choices {
		t.Errorf("three workers choose otherwise: %s", diff)
	}
	if f.model.siblings || f.model.report.Siblings {
		t.Error("the site's own model was changed")
	}
	a, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	if !back.siblings || back.choices != m.choices {
		t.Error("the choices came back otherwise")
	}
	if _, _, err := f.model.ForUnits(context.Background(), []Unit{{Power: series.Series{Start: testStart, Step: time.Minute, Values: []float64{1}}}}, Options{}); err == nil {
		t.Error("power in other steps is taken")
	}
}

func TestTogether(t *testing.T) {
	of := func(late int, v ...float64) series.Series {
		return series.Series{Start: testStart.Add(time.Duration(late) * time.Hour), Step: time.Hour, Values: v}
	}
	got := Together(of(1, 5, 10, nan), series.Series{}, of(0, 2, 4, nan, nan), of(2, 0, -1))
	want := of(0, 0.5, (0.5+1)/2., 1, nan)
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if none := Together(); none.Len() != 0 {
		t.Errorf("nothing together is %v", none)
	}
}
