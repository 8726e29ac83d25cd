package operations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/workflow"
)

// withEvidence answers what a finding's evidence window asks for.
func withEvidence(v view.Context, f api.Finding) view.Context {
	p := plant.New()
	from, to := caseWindow(v, f)
	store := state.Store{Site: v.Site}
	need := caseNeed(v, f)
	store.Want(need.Query, need.Of)
	records := p.Records(from, to, stage.Noon)
	if step, _ := state.SpanStep(to.Sub(from)); step == time.Hour {
		records = p.Hours(from, to, stage.Noon)
	}
	v.Site.Evidence.Set(state.Day{Start: from, End: to}.With(records), stage.Noon)
	return v
}

// A finding over its evidence window, against its peers, with the strip of the
// residual, at the sizes of the console, dark, light and without colours.
func TestOrientCaseGolden(t *testing.T) {
	for _, size := range []struct{ w, h int }{{78, 20}, {118, 26}, {198, 55}} {
		for id, unit := range map[string]int{"f-dead": plant.DeadUnit, "f-weak": plant.WeakUnit} {
			texts := map[string]bool{}
			for _, look := range []struct {
				theme   string
				profile terminal.Profile
			}{{themes.ControlRoom, themes.TrueColor}, {themes.Daylight, themes.Colors256}} {
				v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
				v.Palette = stage.PaletteOf(t, look.theme, look.profile)
				v.Selection = view.Selection{AssetID: plant.New().UnitID(unit), FindingID: id}
				v = withEvidence(v, *workflow.SelectedFinding(v))
				text := picture.Text(stage.DrawnBy(v, size.w, size.h, NewOrient().Draw))
				texts[text] = true
				if look.theme == themes.ControlRoom {
					picture.Golden(t, fmt.Sprintf("orient-case-%s-%dx%d", id, size.w, size.h), text)
				}
			}
			if len(texts) != 1 {
				t.Errorf("%s at %d×%d: dark and light differ in more than colours", id, size.w, size.h)
			}
		}
		v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
		o := NewOrient()
		for range 2 {
			o.Do(keymap.ShowLosses, v)
		}
		store := state.Store{Site: v.Site}
		for _, n := range o.Queries(v) {
			store.Want(n.Query, n.Of)
		}
		v.Site.KPIs.Set(plant.New().KPIs(stage.Noon), stage.Noon)
		picture.Golden(t, fmt.Sprintf("orient-losses-%dx%d", size.w, size.h), picture.Text(stage.DrawnBy(v, size.w, size.h, o.Draw)))
	}
}

// A window has a day before and after the finding, is made of whole days, ends
// with today and is bounded by what a service can be asked for.
func TestCaseWindow(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	today := plant.New().Midnight(stage.Noon)
	at := func(days int) api.Time { return api.At(today.AddDate(0, 0, days).Add(10 * time.Hour)) }
	for name, tt := range map[string]struct {
		f        api.Finding
		units    int
		from, to int // days from today
	}{
		"of today":           {api.Finding{StartedAt: at(0)}, 8, -1, 1},
		"over":               {api.Finding{StartedAt: at(-9), EndedAt: at(-7)}, 8, -10, -5},
		"a year long":        {api.Finding{StartedAt: at(-365)}, 8, -30, 1},
		"on a hundred units": {api.Finding{StartedAt: at(-365)}, 100, -7, 1},
	} {
		v.Site.Assets.Data = make([]api.Asset, tt.units)
		from, to := caseWindow(v, tt.f)
		if !from.Equal(today.AddDate(0, 0, tt.from)) || !to.Equal(today.AddDate(0, 0, tt.to)) {
			t.Errorf("%s: %s to %s, want days %d to %d", name, from, to, tt.from, tt.to)
		}
	}
}

// The waterfall has a step for the expected energy, for each cause, for what no finding
// explains and for the measured energy.
func TestLossSteps(t *testing.T) {
	l := api.Losses{ExpectedBy: api.ExpectedByForecast, ByCause: []api.LossCause{{FaultFamily: "soiling", LostKWh: 7}}}
	if LossSteps(l) != 4 {
		t.Errorf("%d steps by a forecast", LossSteps(l))
	}
	if l.ExpectedBy = api.ExpectedByLosses; LossSteps(l) != 3 {
		t.Errorf("%d steps without one", LossSteps(l))
	}
}

// Similar findings are of the same family, the unit's own first, and what they
// turned out to be is what was done, else why the issue was closed.
func TestSimilarFindings(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	at := func(days int) api.Time { return api.At(stage.Noon.AddDate(0, 0, -days)) }
	f := api.Finding{SummaryID: "now", AssetID: "INV-03", FaultFamily: "inverter_outage", Active: true}
	v.Site.Findings.Data = []api.Finding{
		f,
		{SummaryID: "other", AssetID: "INV-01", FaultFamily: "inverter_outage", StartedAt: at(3), EndedAt: at(2)},
		{SummaryID: "own", AssetID: "INV-03", FaultFamily: "inverter_outage", StartedAt: at(90), EndedAt: at(89)},
		{SummaryID: "family", AssetID: "INV-03", FaultFamily: "soiling", StartedAt: at(9)},
	}
	v.Site.Orders.Data = []api.Order{{SummaryID: "own", Status: api.OrderCompleted, CompletionNotes: "fuse replaced", Verification: &api.Verification{State: api.VerificationVerified}}}
	v.Site.Issues.Data = []api.Issue{{SummaryID: "other", Status: api.IssueResolved, History: []api.IssueMove{{To: api.IssueResolved, Note: "no fault: the grid was down"}}}}
	list := similar(v, f)
	if len(list) != 2 || list[0].SummaryID != "own" || list[1].SummaryID != "other" {
		t.Fatalf("%v", list)
	}
	if got := resolutionText(v, list[0]); !strings.HasPrefix(got, "fuse replaced, ") {
		t.Errorf("fixed: %q", got)
	}
	if got := resolutionText(v, list[1]); got != "no fault: the grid was down" {
		t.Errorf("closed: %q", got)
	}
}

// An issue is taken on while it is new, and closed until it is resolved; what
// is not possible says why.
func TestOrientWhy(t *testing.T) {
	for id, want := range map[string][2]string{
		"":       {"select a finding first", "select a finding first"},
		"f-dead": {"", ""},
		"f-weak": {"its issue is in progress already", ""},
		"f-over": {"its issue is resolved already", "its issue is resolved already"},
	} {
		v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
		v.Selection = view.Selection{AssetID: "INV-01", FindingID: id}
		o := NewOrient()
		if got := [2]string{o.Disabled(keymap.TakeIssue, v), o.Disabled(keymap.CloseIssue, v)}; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
