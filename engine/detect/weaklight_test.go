package detect_test

import (
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// bells are three units of 50 kW at the equator, whose day is a bell from 6 to 18 o'clock,
// without a sensor.
func bells(days int) detect.Input {
	in := plantOf(3, days, 15*time.Minute)
	in.Site.Location = &solar.Location{}
	for k := range in.Units {
		f := in.Units[k].Frame
		f.Columns = []series.Column{{Quantity: series.PowerKW, Values: f.Values(series.PowerKW)}}
		in.Units[k].Frame = f
	}
	return in
}

// A unit whose reading is frozen over the evening is no sign that the sun shines: the
// others, which end their day, are in no outage.
func TestFrozenPeerAtDusk(t *testing.T) {
	in := bells(24)
	p := in.Units[0].Frame.Values(series.PowerKW)
	for i := range p {
		if h := i / 4; h >= 20*24+15 && h < 22*24+12 {
			p[i] = 31.2
		}
	}
	if n := familiesOf(run(t, in))[detect.InverterOutage]; n > 0 {
		t.Errorf("%d outages of the others", n)
	}
}

// A unit that makes 0.9 % of its rating where its peers let 6 % be expected is no unit
// without power; one that makes nothing is.
func TestWeakLightIsNoOutage(t *testing.T) {
	for share, want := range map[float64]int{0.15: 0, 0: 1} {
		in := bells(24)
		for k := range in.Units {
			p := in.Units[k].Frame.Values(series.PowerKW)
			for i := range p {
				if h := i / 4; h >= 20*24+8 && h < 20*24+16 {
					p[i] = 0.06 * 50
					if k == 1 {
						p[i] *= share
					}
				}
			}
		}
		if n := familiesOf(run(t, in))[detect.InverterOutage]; n != want {
			t.Errorf("%.2f of what is expected gives %d outages, want %d", share, n, want)
		}
	}
}
