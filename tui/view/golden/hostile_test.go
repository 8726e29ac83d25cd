package golden

import (
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/analysis"
	"app.sunloop/tui/view/operations"
)

// hostile are parts of names as an attacker, or another language, may use
// them.
var hostile = []string{"\x1b[31m", "\x1b]0;x\a", "日本語", "🙂👨‍👩‍👧‍👦", "é́́", "\u202e", "ﷺ", "A", " ", "\x00", "\xff", "ｗｉｄｅ", "INV-1000000054495190", "\u200b", "🇩🇪"}

func draw(t *rapid.T) string {
	return terminal.Printable(rapid.Custom(func(t *rapid.T) string {
		s := ""
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			s += rapid.OneOf(rapid.SampledFrom(hostile), rapid.String()).Draw(t, "piece")
		}
		return s
	}).Draw(t, "text"))
}

// No name, sentence or size breaks a frame: the cells around a pane's region
// stay as they were, and no cell in it holds anything but what the terminal
// shows in its width.
func TestNothingBreaksAFrame(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	frame := terminal.Style{FG: themes.RGB(1, 2, 3), BG: themes.RGB(4, 5, 6)}
	rapid.Check(t, func(t *rapid.T) {
		p := plant.New()
		name := draw(t)
		p.Name = func(i int) string { return name + string(rune('a'+i)) }
		site := stage.SiteOf(p, stage.Noon)
		for i := range site.Findings.Data {
			f := &site.Findings.Data[i]
			f.Summary, f.FaultFamily, f.ModelVersion, f.Currency = draw(t), draw(t), draw(t), draw(t)
			for k := range f.Evidence {
				f.Evidence[k].Text = draw(t)
			}
		}
		for i := range site.Uploads.Data {
			site.Uploads.Data[i].Filename, site.Uploads.Data[i].Error = draw(t), draw(t)
		}
		for i := range site.Activities.Data {
			site.Activities.Data[i].Title, site.Activities.Data[i].Description = draw(t), draw(t)
		}
		for i := range site.Orders.Data {
			o := &site.Orders.Data[i]
			o.AssignedTechnician, o.FaultFamily, o.HoldReason, o.CompletionNotes = draw(t), draw(t), draw(t), draw(t)
		}
		site.Windows.Data.Currency = draw(t)
		for i := range site.Alerts.Data.Alerts {
			a := &site.Alerts.Data.Alerts[i]
			a.AlertType, a.AlertSeverity, a.AcknowledgedBy = draw(t), draw(t), draw(t)
			for k := range a.History {
				a.History[k].Actor, a.History[k].Reason = draw(t), draw(t)
			}
		}
		v.Site = site
		v.Selection = view.Selection{AssetID: p.UnitID(plant.DeadUnit), FindingID: "f-dead"}
		w, h := rapid.IntRange(1, 130).Draw(t, "w"), rapid.IntRange(1, 40).Draw(t, "h")
		for id, pane := range map[string]view.Pane{"observe": operations.NewObserve(), "orient": operations.NewOrient(), "decide": operations.NewDecide(), "act": operations.NewAct()} {
			for part, draw := range map[string]func(terminal.Region, view.Context){"pane": pane.Draw, "strip": pane.Strip, "unit": analysis.NewUnitView(p.UnitID(plant.WeakUnit)).Draw} {
				if part == "unit" && id != "observe" {
					continue // it belongs to Observe
				}
				g := terminal.NewGrid(w+2, h+2)
				g.All().Fill(g.All().Bounds(), '#', frame)
				inside := g.All().Inset(1)
				inside.Clear(v.Palette.Style(themes.Panel))
				draw(inside, v)
				for y := range h + 2 {
					cells := 0
					for x := range w + 2 {
						c := g.Cell(x, y)
						cells += int(c.Width)
						edge := x == 0 || y == 0 || x == w+1 || y == h+1
						if edge && (c.Text != "#" || c.Style != frame) {
							t.Fatalf("%s of %s drew over its frame at %d,%d: %q", part, id, x, y, c.Text)
						}
						if c.Width > 0 && terminal.Width(c.Text) != int(c.Width) {
							t.Fatalf("%s of %s: %q at %d,%d takes %d cells, not %d", part, id, c.Text, x, y, terminal.Width(c.Text), c.Width)
						}
					}
					if cells != w+2 {
						t.Fatalf("%s of %s: line %d has %d cells of %d", part, id, y, cells, w+2)
					}
				}
			}
		}
	})
}
