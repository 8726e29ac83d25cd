package pane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

func TestGroupAlarms(t *testing.T) {
	p := plant.New()
	flood := p.Flood(noon)
	at := func(minutes int, kind, unit string) api.Alert {
		return api.Alert{AlertID: fmt.Sprintf("%s-%s-%d", kind, unit, minutes), AlertType: kind, AssetID: unit, Timestamp: api.At(noon.Add(time.Duration(minutes) * time.Minute)), AlertSeverity: api.AlertMajor, State: api.AlertUnacknowledged, EnergyAtRiskKW: 10}
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
		for _, g := range GroupAlarms(tt.alerts) {
			sizes = append(sizes, fmt.Sprint(len(g.Alerts)))
		}
		if got := strings.Join(sizes, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	g := GroupAlarms(flood)[0]
	if g.Alerts[0].AlertID != "alt_site" || g.worst().AlertSeverity != api.AlertCritical || g.units() != 8 || g.risk() != 320 || g.state() != api.AlertUnacknowledged {
		t.Errorf("the flood: first out %s, %s, %d units, %g kW, %s", g.Alerts[0].AlertID, g.worst().AlertSeverity, g.units(), g.risk(), g.state())
	}
	g.Alerts[3].State = api.AlertAcknowledged
	if got := g.state(); got != "unack 8/9" {
		t.Errorf("one of nine is acknowledged: %s", got)
	}
}

// Whatever the alarms, each stands in one group, and each group is in order of
// time.
func TestGroupsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var alerts []api.Alert
		for i := range rapid.IntRange(0, 40).Draw(t, "n") {
			a := api.Alert{AlertID: fmt.Sprint(i), AlertType: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "type"), AssetID: rapid.SampledFrom([]string{"", "U1", "U2", "U3"}).Draw(t, "unit"),
				Timestamp: api.At(noon.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "at")) * time.Minute)), AlertSeverity: rapid.SampledFrom(api.AlertSeverities()).Draw(t, "severity"), State: api.AlertUnacknowledged}
			if rapid.Bool().Draw(t, "several") {
				a.Metadata = &api.AlertMetadata{AssetIDs: []string{"U1", "U2"}}
			}
			alerts = append(alerts, a)
		}
		seen := map[string]bool{}
		for _, g := range GroupAlarms(alerts) {
			for i, a := range g.Alerts {
				if seen[a.AlertID] {
					t.Fatalf("alarm %s stands twice", a.AlertID)
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

// What an action on alarms is about: the chosen line, all of a group, or the
// unit in hand; and why it is not possible.
func TestChosenAlarms(t *testing.T) {
	p := plant.New()
	for _, tt := range []struct {
		name  string
		hand  string
		keys  []keymap.Action
		do    keymap.Action
		flood bool
		want  string
	}{
		{"nothing in hand", "", nil, keymap.Acknowledge, false, ""},
		{"the unit in hand", "INV-03", nil, keymap.Acknowledge, false, "alt_dead"},
		{"acknowledged already", "INV-05", nil, keymap.Acknowledge, false, ""},
		{"and can be shelved", "INV-05", nil, keymap.Shelve, false, "alt_weak"},
		{"what is shelved comes back", "INV-02", nil, keymap.Unshelve, false, "alt_shelf"},
		{"what was not shelved does not", "INV-03", nil, keymap.Unshelve, false, ""},
		{"what is gone is not shelved", "INV-06", nil, keymap.Shelve, false, ""},
		{"the chosen line", "", []keymap.Action{keymap.OtherList, keymap.Down}, keymap.Acknowledge, false, "alt_back"},
		{"a group", "", []keymap.Action{keymap.OtherList}, keymap.Acknowledge, true, "alt_site alt_f0 alt_f1 alt_f2 alt_f3 alt_f4 alt_f5 alt_f6 alt_f7"},
		{"one of a group", "", []keymap.Action{keymap.OtherList, keymap.Open, keymap.Down, keymap.Down}, keymap.Acknowledge, true, "alt_f0"},
	} {
		v := viewOf(t, siteOf(p, noon))
		if tt.flood {
			v.Site.Alerts.Good(state.AlertList{Alerts: p.Flood(noon)}, noon)
		}
		v.Selection.AssetID = tt.hand
		var got []string
		o := NewObserve()
		o.Request = func(_ keymap.Action, alerts []api.Alert) view.Request {
			for _, a := range alerts {
				got = append(got, a.AlertID)
			}
			return nil
		}
		for _, a := range tt.keys {
			drawn(v, 118, 40, o.Draw)
			if i, ok := o.Do(a, v).(view.Select); ok {
				v.Selection = i.Selection
			}
		}
		drawn(v, 118, 40, o.Draw)
		if why := o.Disabled(tt.do, v); (why == "") != (tt.want != "") {
			t.Errorf("%s: why not %q", tt.name, why)
		}
		o.Do(tt.do, v)
		if ids := strings.Join(got, " "); ids != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, ids, tt.want)
		}
	}
}

// Twenty units down with the site's breaker are one line, which opens, with
// what came first on top.
func TestFloodIsOneLine(t *testing.T) {
	p := plant.New()
	p.Units = 20
	v := viewOf(t, siteOf(p, noon))
	v.Site.Alerts.Good(state.AlertList{Alerts: p.Flood(noon)}, noon)
	o := NewObserve()
	text := picture.Text(drawn(v, 118, 40, o.Draw))
	if !strings.Contains(text, "+ 20 units") || strings.Count(text, "▲C") != 1 || strings.Contains(text, "▲M") {
		t.Errorf("the flood is not one line:\n%s", text)
	}
	o.Do(keymap.OtherList, v)
	o.Do(keymap.Open, v)
	lines := strings.Split(picture.Text(drawn(v, 118, 60, o.Draw)), "\n")
	at := 0
	for i, line := range lines {
		if strings.Contains(line, "- 20 units") {
			at = i
		}
	}
	if at == 0 || !strings.Contains(lines[at+1], "first out: site outage") || !strings.Contains(lines[at+2], "inverter outage") {
		t.Errorf("the open group:\n%s", strings.Join(lines, "\n"))
	}
}
