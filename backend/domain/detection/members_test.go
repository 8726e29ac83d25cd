package detection_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
)

// group is an outage of several units, by the starts and ends of each.
func group(now time.Time, parts ...api.FindingMember) finding.Event {
	e := domaintest.Outage(parts[0].AssetID, parts[0].StartedAt.Time, now)
	e.Units, e.Members, e.LostKWh = nil, nil, 0
	open := false
	for _, p := range parts {
		e.Units = append(e.Units, p.AssetID)
		e.Members = append(e.Members, p)
		e.LostKWh += p.LostKWh
		open = open || p.EndedAt.IsZero()
		if !open && p.EndedAt.After(e.End) {
			e.End = p.EndedAt.Time
		}
	}
	if open {
		e.End = time.Time{}
	}
	if len(parts) == 1 {
		e.Members = nil
	}
	return e
}

// A group keeps its id while its units join, recover, and are found again by later runs. A
// unit that stops for another reason has another finding.
func TestFindingOfSeveralUnits(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock.Add(-time.Hour)
	part := func(unit string, lost float64) api.FindingMember {
		return api.FindingMember{AssetID: unit, StartedAt: api.At(start), LastSeenAt: api.At(d.Clock), LossFraction: 1, LostKWh: lost}
	}
	record := func(events ...finding.Event) (list []api.Finding, out finding.RunResult) {
		out = d.RecordRun(site, events...)
		return d.ListFindings(), out
	}

	list, _ := record(group(d.Clock, part("INV-1", 10)))
	id := list[0].SummaryID

	// Another unit stopped at the same time; it had lost too little to be announced at once.
	d.Clock = d.Clock.Add(time.Hour)
	list, out := record(group(d.Clock, part("INV-1", 20), part("INV-2", 5)))
	if len(list) != 1 || list[0].SummaryID != id || len(out.Opened)+len(out.Ended) != 0 || !slices.Equal(list[0].AssetIDs, []string{"INV-1", "INV-2"}) {
		t.Fatalf("joined: %+v, %+v", list, out)
	}
	if m := list[0].Members; len(m) != 2 || m[0].LostKWh != 20 || m[1].LostKWh != 5 {
		t.Errorf("the members are %+v", m)
	}

	if issues := d.ListIssues(); len(issues) != 1 || issues[0].SummaryID != id || !slices.Equal(issues[0].AssetIDs, list[0].AssetIDs) {
		t.Errorf("the issues are %+v", issues)
	}

	// One of them recovers.
	d.Clock = d.Clock.Add(time.Hour)
	back := part("INV-1", 25)
	back.EndedAt = api.At(d.Clock.Add(-30 * time.Minute))
	list, _ = record(group(d.Clock, back, part("INV-2", 10)))
	if len(list) != 1 || !list[0].Active || list[0].Affects("INV-1") || !list[0].Affects("INV-2") {
		t.Errorf("one has recovered: %+v", list)
	}

	// It stops again, while the other one is still out: that is another finding.
	d.Clock = d.Clock.Add(time.Hour)
	again := domaintest.Outage("INV-1", d.Clock.Add(-10*time.Minute), d.Clock)
	list, out = record(group(d.Clock, back, part("INV-2", 15)), again)
	if len(list) != 2 || len(out.Opened) != 1 || out.Opened[0].SummaryID == id || out.Opened[0].AssetID != "INV-1" {
		t.Errorf("it stops again: %+v, %+v", list, out)
	}

	if issues := d.ListIssues(); len(issues) != 2 {
		t.Errorf("the issues of both are %+v", issues)
	}

	// A run that no longer reads the recovered one continues the group.
	d.Clock = d.Clock.Add(time.Hour)
	list, out = record(group(d.Clock, part("INV-2", 20)), again)
	i := slices.IndexFunc(list, func(f api.Finding) bool { return f.SummaryID == id })
	if len(list) != 2 || len(out.Opened)+len(out.Ended) != 0 || len(list[i].Members) != 2 {
		t.Fatalf("without the recovered one: %+v, %+v", list, out)
	}
	sum := 0.0
	for _, m := range list[i].Members {
		sum += m.LostKWh
	}
	if math.Abs(sum-list[i].LostKWh) > 1e-3 {
		t.Errorf("the members lost %v, the finding %v", sum, list[i].LostKWh)
	}

	// When nothing is seen any more, all have ended.
	d.Clock = d.Clock.Add(time.Hour)
	list, out = record()
	if len(out.Ended) != 2 || slices.ContainsFunc(list, func(f api.Finding) bool {
		return f.Active || slices.ContainsFunc(f.Members, func(m api.FindingMember) bool { return m.EndedAt.IsZero() })
	}) {
		t.Errorf("at the end: %+v, %+v", list, out)
	}
	if issues := d.ListIssues(); len(issues) != 2 || slices.ContainsFunc(issues, func(i api.Issue) bool { return i.Status != api.IssueResolved }) {
		t.Errorf("at the end the issues are %+v", issues)
	}
	if alerts := d.ListAlerts(""); len(alerts) != 2 {
		t.Errorf("%d alerts, want 2", len(alerts))
	}
}

// Two groups of the same family at the same time are two findings, with an issue each.
func TestTwoGroups(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	at := func(unit string, hours time.Duration) api.FindingMember {
		return api.FindingMember{AssetID: unit, StartedAt: api.At(d.Clock.Add(-hours * time.Hour)), LastSeenAt: api.At(d.Clock), LossFraction: 1, LostKWh: 1}
	}
	a, b := group(d.Clock, at("INV-1", 3), at("INV-2", 3)), group(d.Clock, at("INV-3", 2), at("INV-4", 2))
	for range 2 {
		d.RecordRun(site, a, b)
		if list := d.ListFindings(); len(list) != 2 || len(list[0].AssetIDs) != 2 || len(list[1].AssetIDs) != 2 {
			t.Fatalf("%+v", list)
		}
		issues := d.ListIssues()
		for _, f := range d.ListFindings() {
			if len(issues) != 2 || !slices.ContainsFunc(issues, func(i api.Issue) bool {
				return i.SummaryID == f.SummaryID && slices.Equal(i.AssetIDs, f.AssetIDs) && len(i.History) == 1
			}) {
				t.Errorf("%s is not among the issues %+v", f.SummaryID, issues)
			}
		}
	}
}
