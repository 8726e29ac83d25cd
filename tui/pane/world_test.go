package pane

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// noon is when all tests of this package happen: 11:30 at the plant.
var noon = time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)

// siteOf is a plant as the console holds it, heard of just now.
func siteOf(p *plant.Plant, now time.Time) *state.Site {
	s := &state.Site{Site: p.Site(), Zone: p.Zone}
	start := p.Midnight(now)
	day := state.Day{Start: start, End: start.AddDate(0, 0, 1)}
	s.Assets.Good(p.Assets(), now)
	s.Day.Good(day.With(p.Records(day.Start, day.End, now)), now)
	s.Summary.Good(p.Summary(now), now)
	s.Forecast.Good(p.Forecast(now), now)
	s.Findings.Good(p.Findings(now), now)
	s.Alerts.Good(state.AlertList{Alerts: p.Alerts(now), Counts: plant.Counts(p.Alerts(now))}, now)
	s.AlertLog.Good(p.AlertLog(now), now)
	s.Uploads.Good(p.Uploads(now), now)
	s.Activities.Good(p.Activities(now), now)
	s.Models.Good(p.Models(now), now)
	s.Orders.Good(p.Orders(now), now)
	s.Schedules.Good(p.Schedules(now), now)
	s.BOMs.Good([]api.BOM{p.Bill(now, p.UnitID(plant.DeadUnit))}, now)
	store := state.Store{Site: s}
	s.Issues.Good(p.Issues(now), now)
	s.KPIs.Good(p.KPIs(now), now)
	store.Want(state.QueryWindows, p.UnitID(plant.DeadUnit))
	s.BOM.Good(p.Bill(now, p.UnitID(plant.DeadUnit)), now)
	s.Parts.Good(p.Parts(now), now)
	s.Windows.Good(p.Windows(now, p.UnitID(plant.DeadUnit)), now)
	return s
}

func paletteOf(t testing.TB, name string, profile terminal.Profile) *terminal.Palette {
	t.Helper()
	theme, ok := themes.Find(themes.Builtin(), name)
	if !ok {
		t.Fatalf("no theme %s", name)
	}
	return terminal.NewPalette(&theme, profile)
}

func viewOf(t testing.TB, s *state.Site) view.Context {
	t.Helper()
	return view.Context{
		Site: s, Now: noon, SiteNow: noon.In(s.Zone), Focused: true, Palette: paletteOf(t, themes.ControlRoom, themes.TrueColor),
		Pen: chart.Braille, Keys: keymap.Default(),
	}
}

// drawn is what draw puts on a panel of that size.
func drawn(v view.Context, w, h int, draw func(terminal.Region, view.Context)) *terminal.Grid {
	g := terminal.NewGrid(w, h)
	g.All().Clear(v.Palette.Style(themes.Panel))
	draw(g.All(), v)
	return g
}

func panes() map[string]view.Pane {
	return map[string]view.Pane{"observe": NewObserve(), "orient": NewOrient(), "decide": NewDecide(), "act": NewAct()}
}
