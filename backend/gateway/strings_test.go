package gateway

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/solar"
)

// TestStringByRegisters reads the registers of an inverter with 20 strings (model 160) over
// nine days, one of which loses its current on the eighth: the finding names it. A bit of
// Evt1 says so at the next reading.
func TestStringByRegisters(t *testing.T) {
	p := &plant{maps: map[uint8][]uint16{}, limit: map[uint8]int{}, gone: map[uint8]bool{}, longest: map[uint8]int{}}
	address := serveRegisters(t, p)
	start := time.Date(2026, 6, 8, 0, 0, 0, 0, time.UTC)
	broken := start.AddDate(0, 0, 7).Add(9 * time.Hour)
	const lost = 13
	wh := 1e6
	set := func(at time.Time) {
		sun := max(0, math.Sin(math.Pi*(at.Sub(at.Truncate(24*time.Hour)).Hours()-5)/14))
		amps, state, events := 9*sun, uint16(4), uint16(0)
		if sun == 0 {
			state = 2
		}
		inputs := map[int]uint16{2: 0xFFFE, 3: 0xFFFF, 8: 20}
		sum := 0.0
		for k := range 20 {
			a := amps * (1 + 0.01*math.Sin(float64(k)+at.Sub(start).Hours()))
			if k+1 == lost && !at.Before(broken) {
				a, events = 0, 1<<12
			}
			inputs[10+20*k+9], inputs[10+20*k+10] = uint16(100*a), 6200
			sum += a
		}
		watts := uint16(0.97 * 620 * sum / 10)
		wh += 10 * float64(watts) / 4
		inverter := model(103, 50, map[int]uint16{10: 2300 + watts%7, 13: 0xFFFF, 14: watts, 15: 1, 16: 5000 + watts%3, 17: 0xFFFE, 24: uint16(uint32(wh) >> 16), 25: uint16(uint32(wh)), 26: 0, 38: state, 40: 0, 41: events})
		p.mu.Lock()
		defer p.mu.Unlock()
		p.maps[1] = chain(common("INT", "I1"), model(120, 26, map[int]uint16{3: 15000, 4: 1}), inverter, model(160, 8+20*20, inputs))
	}
	now := start
	set(now)
	file := filepath.Join(t.TempDir(), "sources.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "poll = \"15m\"\nstep = \"15m\"\n[site]\nid = \"roof\"\n[[source]]\naddress = \"tcp://%s\"\n[[source.device]]\nasset = \"I1\"\nkind = \"inverter\"\nunit = 1\nbase = 40000\ncapacity_kw = 150\n", address), 0o600); err != nil {
		t.Fatal(err)
	}
	poller, m := newPoller(t, file, &now)
	for ; now.Before(start.AddDate(0, 0, 9)); now = now.Add(15 * time.Minute) {
		if sun := now.Sub(now.Truncate(24 * time.Hour)).Hours(); sun < 4 || sun > 20 {
			continue
		}
		set(now)
		for _, l := range poller.lines {
			poller.poll(t.Context(), l, now)
		}
		poller.commit(t.Context(), now.Add(time.Second))
		if now.Equal(broken) {
			in := detect.Input{Site: detect.Site{Location: &solar.Location{LatitudeDeg: 48, LongitudeDeg: 11}}, Now: now.Add(time.Minute), Units: []detect.Unit{{AssetID: "I1", CapacityKW: 150, Frame: m.frames["I1"]}}}
			found := diagnose.Explain(in, detect.Report{Events: detect.Reported(in), RatingKW: map[string]float64{"I1": 150}})
			if len(found) != 1 || !strings.Contains(found[0].Summary, "no current from DC input 13 ") {
				t.Errorf("at the reading: %+v", found)
			}
		}
	}
	in := detect.Input{Now: now, Units: []detect.Unit{{AssetID: "I1", CapacityKW: 150, Frame: m.frames["I1"]}}}
	r, err := detect.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	found := diagnose.Explain(in, r)
	if len(found) != 1 || !strings.Contains(found[0].Summary, "no current from DC input 13 ") || found[0].DetectedAt.Sub(broken) > 3*time.Hour || math.Abs(found[0].LossFraction-0.05) > 0.01 {
		t.Errorf("%+v", found)
	}
}
