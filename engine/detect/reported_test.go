package detect_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// TestReported reads faults from the newest samples of units: by bits and state, with the
// time since when, never at night and never by a vendor's word alone.
func TestReported(t *testing.T) {
	noon, midnight := time.Date(2026, 6, 15, 11, 0, 0, 0, time.UTC), time.Date(2026, 6, 15, 23, 0, 0, 0, time.UTC)
	type sample struct{ state, code, vendor, kW float64 }
	none := math.NaN()
	sound := sample{4, 0, 0, 30}
	for name, tt := range map[string]struct {
		at    time.Time
		units [][]sample // a minute apart, the last one at the time
		want  []string   // family and units
		says  string
		since int // minutes
	}{
		"nothing":               {noon, [][]sample{{sound}}, nil, "", 0},
		"unknown":               {noon, [][]sample{{{none, none, none, 30}}}, nil, "", 0},
		"fault":                 {noon, [][]sample{{sound, {7, 0, 0, 0}, {7, none, 0, 0}}, {sound}}, []string{"inverter_outage A"}, "reports the state fault", 1},
		"ground fault":          {noon, [][]sample{{{7, 1, 0, 0}}, {sound}}, []string{"ground_or_insulation_fault A"}, "GROUND_FAULT", 0},
		"arc":                   {noon, [][]sample{{sound, {7, series.ArcDetected, 0, 0}}, {sound}}, []string{"arc_fault A"}, "ARC_DETECTED", 0},
		"arc, running":          {noon, [][]sample{{{4, series.ArcDetected | 1<<13, 0, 28}}, {sound}}, []string{"arc_fault A"}, "ARC_DETECTED, UNDER_TEMP", 0},
		"arc at night":          {midnight, [][]sample{{{2, series.ArcDetected, 0, 0}}, {{2, 0, 0, 0}}}, []string{"arc_fault A"}, "danger of fire", 0},
		"arc to ground":         {noon, [][]sample{{{7, series.ArcDetected | 1, 0, 0}}, {sound}}, []string{"arc_fault A", "ground_or_insulation_fault A"}, "ARC_DETECTED, GROUND_FAULT", 0},
		"a vendor's long word":  {noon, [][]sample{{{4, series.ArcDetected | 1<<16, 0, 28}}, {sound}}, nil, "", 0},
		"a vendor's bit 15":     {noon, [][]sample{{{4, 0x80000000, 0, 28}}, {sound}}, nil, "", 0},
		"grid, still off":       {noon, [][]sample{{{1, 1 << 4, 0, 0}}, {sound}}, []string{"inverter_outage A"}, "GRID_DISCONNECT", 0},
		"grid, running":         {noon, [][]sample{{{4, 1 << 10, 0, 20}}, {sound}}, nil, "", 0},
		"too hot":               {noon, [][]sample{{{5, 1 << 7, 0, 20}}, {sound}}, []string{"thermal_derating A"}, "too hot", 0},
		"string fuse":           {noon, [][]sample{{{4, 1 << 12, 0, 28}}, {sound}}, []string{"string_outage A"}, "no current from DC input 7", 0},
		"too cold":              {noon, [][]sample{{{4, 1 << 13, 0, 28}}, {sound}}, nil, "", 0},
		"not implemented":       {noon, [][]sample{{{4, 0xFFFF, 0, 28}}, {sound}}, nil, "", 0},
		"not implemented, long": {noon, [][]sample{{{4, 0xFFFFFFFF, 0, 28}}, {sound}}, nil, "", 0},
		"bit 15 alone":          {noon, [][]sample{{{1, 0x8000, 0, 0}}, {sound}}, []string{"inverter_outage A"}, "HW_TEST_FAILURE", 0},
		"a vendor's word":       {noon, [][]sample{{{4, 0, 1, 28}}, {sound}}, nil, "", 0},
		"it with a fault":       {noon, [][]sample{{{7, 0, 385, 0}}, {sound}}, []string{"inverter_outage A"}, "vendor's event code 385", 0},
		"over":                  {noon, [][]sample{{{7, 1, 0, 0}, sound}, {sound}}, nil, "", 0},
		"asleep, disconnected":  {midnight, [][]sample{{{2, 1 << 2, 0, 0}}, {{2, 0, 0, 0}}}, nil, "", 0},
		"standby at night":      {midnight, [][]sample{{{8, 1 << 4, 0, 0}}, {{2, 0, 0, 0}}}, nil, "", 0},
		"a fault at night":      {midnight, [][]sample{{{7, 1 << 14, 0, 0}}, {{2, 0, 0, 0}}}, []string{"inverter_outage A"}, "MEMORY_LOSS", 0},
		"all at once":           {noon, [][]sample{{{7, 1 << 4, 0, 0}}, {{7, 1 << 4, 0, 0}}, {sound}}, []string{"site_outage_grid A B"}, "2 of 3 units", 0},
		"one of two by itself":  {noon, [][]sample{{{7, 0, 0, 0}}, {sound}}, []string{"inverter_outage A"}, "reports the state fault", 0},
		"two faults of a unit":  {noon, [][]sample{{{4, 1<<7 | 1<<12, 0, 20}}, {sound}}, []string{"string_outage A", "thermal_derating A"}, "OVER_TEMP", 0},
		"a sample without code": {noon, [][]sample{{{7, 1, 0, 0}, {none, none, none, 0}}, {sound}}, []string{"ground_or_insulation_fault A"}, "GROUND_FAULT", 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := detect.Input{Site: detect.Site{Location: &solar.Location{LatitudeDeg: 48, LongitudeDeg: 11}}, Now: tt.at.Add(time.Minute)}
			for k, list := range tt.units {
				f := series.Frame{}
				columns := map[series.Quantity][]float64{}
				for i, s := range list {
					f.Times = append(f.Times, tt.at.Add(time.Duration(i-len(list)+1)*time.Minute).Unix())
					for q, v := range map[series.Quantity]float64{series.InverterState: s.state, series.ErrorCode: s.code, series.VendorCode: s.vendor, series.PowerKW: s.kW} {
						columns[q] = append(columns[q], v)
					}
					for n := 1; n <= 20; n++ {
						amps := 8.0
						if n == 7 {
							amps = 0
						}
						columns[series.DCCurrent(n)], columns[series.DCVoltage(n)] = append(columns[series.DCCurrent(n)], amps), append(columns[series.DCVoltage(n)], 600)
					}
				}
				for q, v := range columns {
					f.Set(q, v)
				}
				in.Units = append(in.Units, detect.Unit{AssetID: string(rune('A' + k)), CapacityKW: 50, Frame: f})
			}
			events := detect.Reported(in)
			var got []string
			said := ""
			for _, f := range diagnose.Explain(in, detect.Report{Events: events, RatingKW: map[string]float64{"A": 50, "B": 50, "C": 50}}) {
				got = append(got, string(f.Family)+" "+strings.Join(f.Units, " "))
				said += f.Summary
				for _, e := range f.Evidence {
					said += e.Text
				}
				if f.End != nil || f.Start.After(tt.at.Add(-time.Duration(tt.since)*time.Minute)) || !f.LastSeen.After(f.Start) && tt.since > 0 {
					t.Errorf("%+v", f.Event)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) || !strings.Contains(said, tt.says) {
				t.Errorf("reported %q: %s; want %q with %q", got, said, tt.want, tt.says)
			}
		})
	}
}

// TestCovered: what a unit reports has no second event if one says the same of it.
func TestCovered(t *testing.T) {
	ended := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	event := func(f detect.Family, units ...string) detect.Event { return detect.Event{Family: f, Units: units} }
	over := event(detect.InverterOutage, "A")
	over.End = &ended
	for i, tt := range []struct {
		events   []detect.Event
		reported detect.Event
		want     bool
	}{
		{nil, event(detect.InverterOutage, "A"), false},
		{[]detect.Event{event(detect.InverterOutage, "A")}, event(detect.InverterOutage, "A"), true},
		{[]detect.Event{over}, event(detect.InverterOutage, "A"), false},
		{[]detect.Event{event(detect.GroundFault, "A")}, event(detect.InverterOutage, "A"), true},
		{[]detect.Event{event(detect.InverterOutage, "A")}, event(detect.GroundFault, "A"), false},
		{[]detect.Event{event(detect.ArcFault, "A")}, event(detect.InverterOutage, "A"), true},
		{[]detect.Event{event(detect.InverterOutage, "A"), event(detect.GroundFault, "A")}, event(detect.ArcFault, "A"), false},
		{[]detect.Event{event(detect.SiteOutage, "A", "B")}, event(detect.InverterOutage, "B"), true},
		{[]detect.Event{event(detect.InverterOutage, "A"), event(detect.GroundFault, "B")}, event(detect.SiteOutage, "A", "B"), true},
		{[]detect.Event{event(detect.InverterOutage, "A")}, event(detect.SiteOutage, "A", "B"), false},
		{[]detect.Event{event(detect.InverterOutage, "A")}, event(detect.ThermalDerating, "A"), false},
	} {
		if got := detect.Covered(tt.events, tt.reported); got != tt.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}
