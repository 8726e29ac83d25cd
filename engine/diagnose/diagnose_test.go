package diagnose_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

var start = time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)

// labelled returns a fleet's site with its findings.
func labelled(t *testing.T, seed uint64, days int, kinds ...simulate.Kind) (detect.Input, []diagnose.Finding) {
	t.Helper()
	s := simulate.Labelled(seed, start, 6, days, kinds...).Sites[1]
	now := s.Start.AddDate(0, 0, days)
	frames := s.Frames(s.Start, now, 15*time.Minute)
	in := detect.Input{Site: detect.Site{ID: s.ID, Location: &s.Location, Zone: s.Zone}, Now: now}
	for _, u := range s.Units {
		in.Units = append(in.Units, detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Plane: &u.Plane, Strings: u.Strings, Frame: frames[u.AssetID]})
	}
	report, err := detect.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return in, diagnose.Explain(in, report)
}

// What a finding promises holds of every one: caps of the confidence, causes
// and alternatives in order and within it, a sentence, actions.
func TestFindingInvariants(t *testing.T) {
	_, findings := labelled(t, 1, 60, simulate.UnitOutage, simulate.CommunicationGap, simulate.SiteOutage, simulate.StuckSensor, simulate.ScaleError)
	if len(findings) < 8 {
		t.Fatalf("only %d findings", len(findings))
	}
	for _, f := range findings {
		favour, code := 0, false
		for _, v := range f.Evidence {
			if v.Supports() && !strings.HasPrefix(v.Kind, "duration") {
				favour++
			}
			code = code || v.Kind == "event_code"
		}
		limit := 0.95
		switch {
		case favour < 2:
			limit = 0.6
		case code:
			limit = 0.99
		}
		if f.Confidence > limit || f.Confidence <= 0 {
			t.Errorf("%s with %d pieces of evidence, code %v: confidence %v", f.Family, favour, code, f.Confidence)
		}
		var causes, families float64
		for i, c := range f.Causes {
			causes += c.Confidence
			if i > 0 && c.Confidence > f.Causes[i-1].Confidence {
				t.Errorf("causes are not ordered: %v", f.Causes)
			}
		}
		for _, a := range f.Families {
			families += a.Confidence
		}
		if causes > f.Confidence+0.01 || families > 1.01 || f.Families[0].Family != f.Family || len(f.Families) < 2 {
			t.Errorf("%s, confidence %v: causes %v, families %v", f.Family, f.Confidence, f.Causes, f.Families)
		}
		if len(f.Causes) == 0 || len(f.Actions) == 0 || !strings.HasSuffix(f.Summary, ".") || f.Severity.Label == "" {
			t.Errorf("%s: %d causes, %d actions, %q, %+v", f.Family, len(f.Causes), len(f.Actions), f.Summary, f.Severity)
		}
		if math.IsNaN(f.EnergyAtRiskKW) || f.EnergyAtRiskKW < 0 {
			t.Errorf("%s: %v kW at risk", f.Family, f.EnergyAtRiskKW)
		}
	}
}

// Every family has priors that sum to one, a sentence and actions.
func TestEveryFamilyIsExplained(t *testing.T) {
	families := []detect.Family{
		detect.DataQuality, detect.TimeShift, detect.StuckSensor, detect.IrradianceSensor, detect.SiteOutage, detect.InverterOutage, detect.CommunicationGap,
		detect.GroundFault, detect.ArcFault, detect.IntermittentTrip, detect.Clipping, detect.Curtailment, detect.ThermalDerating, detect.SnowCover, detect.TrackerFault,
		detect.StringOutage, detect.CapacityChange, detect.PartialShading, detect.Soiling, detect.Degradation, detect.Underperformance,
		detect.DataSilence, detect.RepeatedData,
	}
	in := detect.Input{Now: start.AddDate(0, 0, 9)}
	for _, f := range families {
		event := detect.Event{Family: f, Units: []string{"A"}, Start: start, DetectedAt: start.Add(time.Hour), LastSeen: start.Add(50 * time.Hour), LossFraction: 0.2, LostKWh: 12,
			Evidence: []detect.Evidence{{Kind: "first", Weight: 2, Text: "One."}, {Kind: "second", Weight: 2, Text: "Two."}}}
		got := diagnose.Explain(in, detect.Report{Events: []detect.Event{event}, RatingKW: map[string]float64{"A": 50, "B": 50}})[0]
		if len(got.Causes) == 0 || len(got.Actions) == 0 || !strings.Contains(got.Summary, "2025-10-01") && f != detect.Degradation || !strings.HasSuffix(got.Summary, ".") {
			t.Errorf("%s: causes %v, actions %v, %q", f, got.Causes, got.Actions, got.Summary)
		}
	}
}

// A frozen reading that could be a limit has that as its first alternative, another one a
// gap of the data.
func TestAlternativesOfFrozenReading(t *testing.T) {
	for kind, want := range map[string]detect.Family{"like_limit": detect.Curtailment, "other": detect.CommunicationGap} {
		event := detect.Event{Family: detect.StuckSensor, Units: []string{"A"}, Start: start, DetectedAt: start.Add(5 * time.Hour), LastSeen: start.Add(3 * time.Hour),
			Evidence: []detect.Evidence{{Kind: "equal_readings", Weight: 2.5}, {Kind: "stands_jump", Weight: 1.5}, {Kind: kind, Weight: -0.5}}}
		got := diagnose.Explain(detect.Input{Now: start.AddDate(0, 0, 1)}, detect.Report{Events: []detect.Event{event}, RatingKW: map[string]float64{"A": 50}})[0].Families
		if len(got) < 2 || got[0].Family != detect.StuckSensor || got[1].Family != want || got[1].Confidence > got[0].Confidence {
			t.Errorf("with %s: alternatives %v, want %s second", kind, got, want)
		}
	}
}

// An event code turns the ranking of causes: an open DC disconnect is named
// first with its code and a dead array, hardware without.
func TestCodesTurnTheCauses(t *testing.T) {
	event := func(evidence ...detect.Evidence) detect.Report {
		return detect.Report{RatingKW: map[string]float64{"A": 50, "B": 50, "C": 50}, Events: []detect.Event{{
			Family: detect.InverterOutage, Units: []string{"A"}, Start: start, DetectedAt: start, LastSeen: start.Add(3 * time.Hour), LossFraction: 1,
			Evidence: append([]detect.Evidence{{Kind: "power_zero", Weight: 2.5}, {Kind: "irradiance", Weight: 0.8}}, evidence...),
		}}}
	}
	in := detect.Input{Now: start.Add(4 * time.Hour)}
	for _, c := range []struct {
		evidence []detect.Evidence
		first    string
	}{
		{nil, "inverter_hardware"},
		{[]detect.Evidence{{Kind: "event_code", Weight: 1.5, Value: 1 << 3}, {Kind: "dc_voltage_absent", Weight: 0.3}}, "dc_disconnect_open"},
		{[]detect.Evidence{{Kind: "event_code", Weight: 1.5, Value: 1 << 6}}, "manual_stop"},
		{[]detect.Evidence{{Kind: "neighbours", Weight: 0.3}}, "ac_breaker_open"},
	} {
		if got := diagnose.Explain(in, event(c.evidence...))[0].Causes[0].Name; got != c.first {
			t.Errorf("with %v: first cause %s, want %s", c.evidence, got, c.first)
		}
	}
}

func TestEnergyAtRisk(t *testing.T) {
	for _, c := range []struct {
		family             detect.Family
		fraction, rating   float64
		daylightKW, wantKW float64
	}{
		{detect.InverterOutage, 1, 50, 22.5, 22.5},
		{detect.StringOutage, 0.12, 50, 22.5, 2.7},
		{detect.InverterOutage, 1, 50, 80, 50}, // never above the rating
		{detect.CommunicationGap, 1, 50, 22.5, 0},
		{detect.StuckSensor, 0, 50, 22.5, 0},
		{detect.GroundFault, 0.1, 50, 22.5, 22.5}, // it will be switched off
		{detect.ArcFault, 0, 50, 22.5, 22.5},
	} {
		if got := diagnose.EnergyAtRiskKW(c.family, c.fraction, c.rating, c.daylightKW); math.Abs(got-c.wantKW) > 1e-9 {
			t.Errorf("%s, %v of %v kW: %v kW at risk, want %v", c.family, c.fraction, c.rating, got, c.wantKW)
		}
	}
}

// A forecast of the next day determines the energy at risk: 120 kW on average
// by day for a site of 200 kW is 30 kW for a unit of 50.
func TestForecastSetsEnergyAtRisk(t *testing.T) {
	p50 := series.Series{Start: start, Step: time.Hour, Values: make([]float64, 24)}
	for h := 8; h < 16; h++ {
		p50.Values[h] = 120
	}
	report := detect.Report{RatingKW: map[string]float64{"A": 50, "B": 50, "C": 50, "D": 50}, Events: []detect.Event{{
		Family: detect.InverterOutage, Units: []string{"A"}, Start: start.Add(-time.Hour), DetectedAt: start, LastSeen: start, LossFraction: 1,
	}}}
	if got := diagnose.Explain(detect.Input{Now: start, Forecast: p50}, report)[0].EnergyAtRiskKW; got != 30 {
		t.Errorf("%v kW at risk, want 30", got)
	}
}

func TestSeverity(t *testing.T) {
	hour := time.Hour
	for _, c := range []struct {
		name  string
		stake diagnose.Exposure
		want  string
	}{
		{"ground fault, whatever the energy", diagnose.Exposure{Family: detect.GroundFault, RatingKW: 10, SiteKW: 1000, SiteUnits: 12, Lasted: hour}, "Critical"},
		{"arc, whatever the energy", diagnose.Exposure{Family: detect.ArcFault, RatingKW: 10, SiteKW: 1000, SiteUnits: 12, Lasted: 1}, "Critical"},
		{"site outage", diagnose.Exposure{Family: detect.SiteOutage, LossFraction: 1, RatingKW: 500, SiteKW: 500, SiteUnits: 8, Lasted: hour}, "Critical"},
		{"a third of the site", diagnose.Exposure{Family: detect.InverterOutage, LossFraction: 1, RatingKW: 40, SiteKW: 100, SiteUnits: 4, Lasted: hour, Confidence: 0.9}, "Critical"},
		{"one unit for two days", diagnose.Exposure{Family: detect.InverterOutage, LossFraction: 1, RatingKW: 10, SiteKW: 100, SiteUnits: 8, Lasted: 48 * hour, Confidence: 0.9}, "Critical"},
		{"one unit for an hour", diagnose.Exposure{Family: detect.InverterOutage, LossFraction: 1, RatingKW: 10, SiteKW: 100, SiteUnits: 8, Lasted: hour, Confidence: 0.9}, "High"},
		{"perhaps one unit", diagnose.Exposure{Family: detect.InverterOutage, LossFraction: 1, RatingKW: 10, SiteKW: 100, SiteUnits: 8, Lasted: hour, Confidence: 0.5}, "Medium"},
		{"a string for a week", diagnose.Exposure{Family: detect.StringOutage, LossFraction: 0.1, RatingKW: 10, SiteKW: 100, SiteUnits: 8, Lasted: 168 * hour}, "Medium"},
		{"a string since yesterday", diagnose.Exposure{Family: detect.StringOutage, LossFraction: 0.1, RatingKW: 10, SiteKW: 100, SiteUnits: 8, Lasted: 24 * hour}, "Low"},
		{"a silent day", diagnose.Exposure{Family: detect.CommunicationGap, RatingKW: 10, SiteKW: 100, SiteUnits: 8, Lasted: 30 * hour}, "Medium"},
		{"snow on all", diagnose.Exposure{Family: detect.SnowCover, LossFraction: 1, RatingKW: 100, SiteKW: 100, SiteUnits: 8, EnergyAtRiskKW: 45, Lasted: 30 * hour}, "Low"},
		{"curtailed", diagnose.Exposure{Family: detect.Curtailment, LossFraction: 0.5, RatingKW: 100, SiteKW: 100, SiteUnits: 8, EnergyAtRiskKW: 20, Lasted: 3 * hour}, "Low"},
		{"a site of one unit out for an hour", diagnose.Exposure{Family: detect.InverterOutage, LossFraction: 1, RatingKW: 10, SiteKW: 10, SiteUnits: 1, Lasted: hour, Confidence: 0.9}, "High"},
	} {
		if got := diagnose.SeverityOf(c.stake).Partner; got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}

// Events of sites of one or two units have lines of their own, which are measured shares:
// the limit for a single piece of evidence is that of fleets.
func TestConfidenceOfFewUnits(t *testing.T) {
	event := detect.Event{Family: detect.InverterOutage, Units: []string{"A"}, Start: start, DetectedAt: start, LastSeen: start.Add(time.Hour),
		Evidence: []detect.Evidence{{Kind: "power_zero", Weight: 3, Text: "No power."}}}
	report := detect.Report{Events: []detect.Event{event}, RatingKW: map[string]float64{"A": 10}}
	of := func(units ...string) float64 {
		in := detect.Input{Site: detect.Site{ID: "S"}, Now: start.Add(2 * time.Hour)}
		for _, id := range units {
			in.Units = append(in.Units, detect.Unit{AssetID: id, CapacityKW: 10})
		}
		return diagnose.Explain(in, report)[0].Confidence
	}
	if one, fleet := of("A"), of("A", "B", "C"); one <= 0.6 || one > 0.95 || fleet > 0.6 {
		t.Errorf("confidence %.2f of one unit, %.2f of three", one, fleet)
	}
	if got := diagnose.TierOf(detect.Event{Basis: "irradiance"}, 1); got != "irradiance" {
		t.Errorf("basis %q", got)
	}
	if got := diagnose.TierOf(detect.Event{}, 3); got != "" {
		t.Errorf("basis %q of a fleet", got)
	}
}

// No confidence exceeds what the events behind it support: those that it was fitted on, all
// right, or for a model of a unit's past on a basis without any, a single piece of
// evidence.
func TestConfidenceIsSupported(t *testing.T) {
	explain := func(family detect.Family, basis string, units int) float64 {
		in := detect.Input{Now: start.Add(time.Hour)}
		for range units {
			in.Units = append(in.Units, detect.Unit{AssetID: string(rune('A' + len(in.Units))), CapacityKW: 10})
		}
		e := detect.Event{Family: family, Units: []string{"A"}, Start: start, DetectedAt: start, LastSeen: start, LossFraction: 0.2, Basis: basis}
		for range 9 {
			e.Evidence = append(e.Evidence, detect.Evidence{Kind: "other", Weight: 3})
		}
		return diagnose.Explain(in, detect.Report{Events: []detect.Event{e}})[0].Confidence
	}
	c := diagnose.Calibrated()
	few := 0
	for key, line := range c.Tiers {
		family, basis, _ := strings.Cut(key, " on ")
		units := 8
		if basis == diagnose.FewUnits {
			basis, units = "", 1
		}
		limit := float64(line.N+1) / float64(line.N+2)
		if limit < 0.95 {
			few++
		}
		if got := explain(detect.Family(family), basis, units); got > limit+0.005 {
			t.Errorf("%s: confidence %v by %d events, which support %.2f", key, got, line.N, limit)
		}
	}
	if few == 0 {
		t.Error("no line has so few events that they limit it")
	}
	for family := range c.Families {
		if _, fitted := c.Tiers[diagnose.TierKey(family, "peers")]; fitted {
			continue
		}
		if got := explain(family, "peers", 8); got > 0.6 {
			t.Errorf("%s by a model on peers, which no event supports: confidence %v", family, got)
		}
	}
}

// The sentence of an event whose losses are not known says so, and never states 0 kWh.
func TestSummaryOfUnknownLosses(t *testing.T) {
	in := detect.Input{Site: detect.Site{ID: "roof", Zone: time.UTC}, Now: start.Add(12 * time.Hour), Units: []detect.Unit{{AssetID: "A", CapacityKW: 10}, {AssetID: "B", CapacityKW: 10}}}
	end := start.Add(13 * time.Hour)
	for _, test := range []struct {
		lost float64
		end  *time.Time
		want string
	}{
		{0, nil, "A has made no power since 2025-10-01 12:00; the lost energy is not yet known."},
		{0, &end, "A made no power from 2025-10-01 12:00 for 1 h; the lost energy is not known."},
		{4.26, nil, "A has made no power since 2025-10-01 12:00; 4.26 kWh lost so far."},
		{4.26, &end, "A made no power from 2025-10-01 12:00 for 1 h; 4.26 kWh lost."},
	} {
		e := detect.Event{Family: detect.InverterOutage, Units: []string{"A"}, Start: in.Now, DetectedAt: in.Now, LastSeen: in.Now, End: test.end, LossFraction: 1, LostKWh: test.lost}
		got := diagnose.Explain(in, detect.Report{Events: []detect.Event{e}, RatingKW: map[string]float64{"A": 10, "B": 10}})
		if len(got) != 1 || got[0].Summary != test.want {
			t.Errorf("summary of %v kWh: %+v, want %q", test.lost, got, test.want)
		}
	}
}
