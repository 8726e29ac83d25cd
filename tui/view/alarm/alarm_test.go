package alarm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
)

func TestGroupAlarms(t *testing.T) {
	p := plant.New()
	flood := p.Flood(stage.Noon)
	at := func(minutes int, kind, unit string) api.Alert {
		return api.Alert{AlertID: fmt.Sprintf("%s-%s-%d", kind, unit, minutes), AlertType: kind, AssetID: unit, Timestamp: api.At(stage.Noon.Add(time.Duration(minutes) * time.Minute)), AlertSeverity: api.AlertMajor, State: api.AlertUnacknowledged, EnergyAtRiskKW: 10}
	}
	for _, tt := range []struct {
		name   string
		alerts []api.Alert
		want   string // members of each group
	}{
		{"none", nil, ""},
		{"the site's breaker", flood, "9"},
		{"two of a kind", []api.Alert{at(0, "inverter_outage", "A"), at(1, "inverter_outage", "B")}, "1 1"},
		{"three of a kind", []api.Alert{at(0, "inverter_outage", "A"), at(1, "inverter_outage", "B"), at(9, "inverter_outage", "C")}, "3"},
		{"a third that came later", []api.Alert{at(0, "inverter_outage", "A"), at(1, "inverter_outage", "B"), at(11, "inverter_outage", "C")}, "1 1 1"},
		{"of other kinds", []api.Alert{at(0, "inverter_outage", "A"), at(1, "soiling", "B"), at(2, "snow_cover", "C")}, "1 1 1"},
		{"a fault before the breaker", append([]api.Alert{at(-300, "soiling", "INV-01")}, flood...), "1 9"},
	} {
		var sizes []string
		for _, g := range GroupAlerts(tt.alerts) {
			sizes = append(sizes, fmt.Sprint(len(g.Alerts)))
		}
		if got := strings.Join(sizes, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	g := GroupAlerts(flood)[0]
	if g.Alerts[0].AlertID != "alt_site" || g.Worst().AlertSeverity != api.AlertCritical || g.units() != 8 || g.Risk() != 320 || g.state() != api.AlertUnacknowledged {
		t.Errorf("the flood: first out %s, %s, %d units, %g kW, %s", g.Alerts[0].AlertID, g.Worst().AlertSeverity, g.units(), g.Risk(), g.state())
	}
	g.Alerts[3].State = api.AlertAcknowledged
	if got := g.state(); got != "unack 8/9" {
		t.Errorf("one of nine is acknowledged: %s", got)
	}
}

// Whatever the alarms, each is in one group, and each group is in order of
// time.
func TestGroupsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var alerts []api.Alert
		for i := range rapid.IntRange(0, 40).Draw(t, "n") {
			a := api.Alert{AlertID: fmt.Sprint(i), AlertType: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "type"), AssetID: rapid.SampledFrom([]string{"", "U1", "U2", "U3"}).Draw(t, "unit"),
				Timestamp: api.At(stage.Noon.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "at")) * time.Minute)), AlertSeverity: rapid.SampledFrom(api.AlertSeverities()).Draw(t, "severity"), State: api.AlertUnacknowledged}
			if rapid.Bool().Draw(t, "several") {
				a.Metadata = &api.AlertMetadata{AssetIDs: []string{"U1", "U2"}}
			}
			alerts = append(alerts, a)
		}
		seen := map[string]bool{}
		for _, g := range GroupAlerts(alerts) {
			for i, a := range g.Alerts {
				if seen[a.AlertID] {
					t.Fatalf("alarm %s is in two groups", a.AlertID)
				}
				seen[a.AlertID] = true
				if i > 0 && a.Timestamp.Before(g.Alerts[i-1].Timestamp.Time) {
					t.Fatalf("alarm %s came before the one above it", a.AlertID)
				}
			}
		}
		if len(seen) != len(alerts) {
			t.Fatalf("%d of %d alarms are seen", len(seen), len(alerts))
		}
	})
}

// An alarm comes with what to check first, what waiting costs and how long it can
// wait; one that is over has no advice.
func TestResponse(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	for _, a := range v.Site.Alerts.Data.Alerts {
		text := ""
		for _, l := range Response(v, a) {
			text += l.Label + ": " + l.Text + "\n"
		}
		switch {
		case a.State == api.AlertCleared || a.Resolved:
			if text != "" {
				t.Errorf("%s is over:\n%s", a.AlertID, text)
			}
		case FindingOf(a) == "f-dead":
			for _, want := range []string{"check first: Read the event codes and try a remote restart.", "if it waits: 42.5 kW mean daylight loss, ZAR 662 a day", "can wait: no: respond now"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
		default:
			if !strings.Contains(text, "can wait: ") {
				t.Errorf("%s: %q", a.AlertID, text)
			}
		}
	}
}

// The alarm of a fault of any family has all three parts of the advice, also if it costs
// no energy.
func TestResponseToEachFamily(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	f := &v.Site.Findings.Data[0]
	f.RecommendedActions, f.RevenueAtRisk = []api.Action{{Priority: api.PriorityLow, Action: "Read the log."}}, 0
	for family := range consequences {
		f.FaultFamily = family
		for _, severity := range []string{api.AlertCritical, api.AlertMajor, api.AlertModerate, api.AlertMinor, api.AlertNormal} {
			var labels []string
			for _, l := range Response(v, api.Alert{AlertID: "a", AlertType: family, AlertSeverity: severity, State: api.AlertUnacknowledged, Metadata: &api.AlertMetadata{SummaryID: f.SummaryID}}) {
				if l.Text != "" {
					labels = append(labels, l.Label)
				}
			}
			if got := strings.Join(labels, ", "); got != "check first, if it waits, can wait" {
				t.Errorf("%s, %s: %s", family, severity, got)
			}
		}
	}
}

// A finding has the priority of its alarm, so that a pane of findings and a list of
// alarms never differ.
func TestFindingHasThePriorityOfItsAlarm(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	f := v.Site.Findings.Data[0]
	for severity, want := range map[string]string{api.AlertMajor: "high", api.AlertMinor: "low"} {
		list := v.Site.Alerts.Data
		list.Alerts = []api.Alert{{AlertID: "a", AlertSeverity: severity, State: api.AlertUnacknowledged, Metadata: &api.AlertMetadata{SummaryID: f.SummaryID}}}
		v.Site.Alerts.Set(list, stage.Noon)
		if got := FindingPriority(v, f); got != want {
			t.Errorf("%s: %s, want %s", severity, got, want)
		}
	}
	v.Site.Alerts.Set(state.AlertList{}, stage.Noon)
	if got := FindingPriority(v, f); got != "critical" {
		t.Errorf("without an alarm: %s", got)
	}
}
