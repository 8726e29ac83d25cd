package maintenance

import (
	"fmt"
	"strings"
	"time"

	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/workflow"
)

// PlanChoices shows the options for the selection side by side, with the cost
// of each.
type PlanChoices struct {
	view.Base
	day  time.Time // selected by the user; zero: none
	at   int       // the selected option
	cols []terminal.Rect
}

// NewPlanChoices begins with the chosen day, or with the best window.
func NewPlanChoices(day time.Time) *PlanChoices { return &PlanChoices{day: day} }

// Title names the screen.
func (s *PlanChoices) Title() string { return "Options" }

// choiceRows returns the lines of a way, with their names.
func choiceRows(v view.Context, c workflow.Choice, best float64) [][2]string {
	none := view.Drawable("–", v.ASCII)
	window, price, over, sun, wind := none, none, none, none, none
	if w := c.Window; w != nil {
		window = display.Clock(w.Start.In(v.Site.Zone)) + none + display.Clock(w.End.In(v.Site.Zone))
		price = display.Energy(w.EnergyKWh)
		if w.Cost > 0 && c.Currency != "" {
			price += ", " + display.Money(w.Cost, c.Currency)
		}
		over = display.Energy(w.ExtraKWh)
		if w.ExtraKWh == 0 && w.ExtraCost == 0 {
			over = "the best"
		}
		if w.ExtraCost > 0 && c.Currency != "" {
			over += ", " + display.Money(w.ExtraCost, c.Currency)
		}
		sun = view.Drawable(display.Irradiance(w.IrradianceWM2), v.ASCII)
		wind = display.Wind(w.WindMS)
		if w.Windy {
			wind += ", too strong"
		}
	}
	wait := display.Energy(c.WaitKWh)
	if f := workflow.SelectedFinding(v); f == nil || !f.Active { // nothing is known to be lost
		wait = none
	}
	if c.Wait > 0 && c.Currency != "" {
		wait += ", " + display.Money(c.Wait, c.Currency)
	}
	parts, all, more := none, none, none
	if c.Parts > 0 {
		parts = display.Money(c.Parts, c.PartsMoney)
	}
	if total, ok := c.Total(); ok {
		all = display.Money(total, c.Currency)
		more = display.Money(total-best, c.Currency)
		if total == best {
			more = "the least"
		}
	}
	return [][2]string{
		{"begin", display.DayClock(c.Begin.In(v.Site.Zone))}, {"window", window}, {"window loses", price}, {"over the best", over},
		{"waiting until then", wait}, {"parts", parts}, {"total", all}, {"over the least", more},
		{"sun", sun}, {"wind", wind}, {"other work that day", fmt.Sprint(c.Plans)},
	}
}

// Draw draws the ways as columns.
func (s *PlanChoices) Draw(r terminal.Region, v view.Context) {
	s.cols = s.cols[:0]
	if v.Site == nil {
		return
	}
	w, h := r.Size()
	choices := workflow.Choices(v, s.day)
	title := "Work at the whole site"
	if v.Selection.AssetID != "" {
		title = "Work at " + v.Selection.AssetID
	}
	if loser := workflow.WindowLoser(v); loser != "" {
		title += "; energy and cost of windows are those lost" + loser
	}
	y := v.Paragraph(r, 0, 0, title, themes.Title)
	if len(choices) == 0 {
		v.Paragraph(r, 0, y, "No options yet.", themes.Dim)
		return
	}
	s.at = min(max(s.at, 0), len(choices)-1)
	best, label := 0.0, 0
	for i, c := range choices {
		if total, ok := c.Total(); ok && (i == 0 || total < best) {
			best = total
		}
	}
	rows := make([][][2]string, len(choices))
	for i, c := range choices {
		rows[i] = choiceRows(v, c, best)
		for _, row := range rows[i] {
			label = max(label, terminal.Width(row[0])+1)
		}
	}
	width := 1
	for i, c := range choices {
		width = max(width, terminal.Width(c.Name)+2)
		for _, row := range rows[i] {
			width = max(width, terminal.Width(row[1])+2)
		}
	}
	shown := max(min((w-label)/width, len(choices)), 1)
	first := min(max(s.at-shown+1, 0), len(choices)-shown)
	y++
	for k, row := range rows[0] {
		r.PutIn(0, y+1+k, label, row[0], v.Palette.Style(themes.Dim), v.ASCII)
	}
	for i := first; i < first+shown; i++ {
		x := label + (i-first)*width
		col := terminal.Rect{X: x, Y: y, W: min(width-1, w-x), H: len(rows[i]) + 1}
		s.cols = append(s.cols, col)
		r.PutIn(x, y, col.W, choices[i].Name, v.Palette.Style(themes.Title), v.ASCII)
		for k, row := range rows[i] {
			role := themes.Text
			if strings.HasSuffix(row[1], "too strong") {
				role = themes.Warning
			}
			r.PutIn(x, y+1+k, col.W, row[1], v.Palette.Style(role), v.ASCII)
		}
		if i == s.at {
			r.Shade(col, v.Palette.Style(themes.Selection))
		}
	}
	y += len(rows[0]) + 2
	if y < h {
		words := "left right: another option; enter: the work order, or the plan, on that day"
		if len(choices) > shown {
			words = fmt.Sprintf("%d of %d; ", s.at+1, len(choices)) + words
		}
		v.Paragraph(r, 0, y, words+".", themes.Dim)
	}
}

// Do goes through the ways; enter opens the form of the next step on its day.
func (s *PlanChoices) Do(a keymap.Action, v view.Context) view.Request {
	switch a {
	case keymap.Left, keymap.Up:
		s.at--
	case keymap.Right, keymap.Down:
		s.at++
	case keymap.Open:
		choices := workflow.Choices(v, s.day)
		switch {
		case v.ReadOnly != "":
			return view.Notify{Text: "Unavailable: " + v.ReadOnly + ".", Role: themes.Dim}
		case v.Selection.AssetID == "":
			return view.ChooseUnit{What: "plan maintenance", Then: view.Run{Action: keymap.Open}}
		case s.at >= len(choices):
			return nil
		}
		begin := choices[s.at].Begin.In(v.Site.Zone)
		y, m, d := begin.Date()
		day := time.Date(y, m, d, 0, 0, 0, 0, v.Site.Zone)
		if way := workflow.WorkflowFor(v); way.Next == workflow.StepOrder || way.Next == workflow.StepParts {
			return NewOrderForm(v, day)
		}
		return NewPlanForm(v, day)
	}
	return nil
}

// Click takes the way under it.
func (s *PlanChoices) Click(x, y int, _ view.Context) view.Request {
	for i, col := range s.cols {
		if col.Contains(x, y) {
			s.at = i
		}
	}
	return nil
}

// Wheel goes through the ways.
func (s *PlanChoices) Wheel(_, _, by int, _ view.Context) view.Request {
	s.at += by
	return nil
}

// Queries returns what the costs are made of.
func (s *PlanChoices) Queries(v view.Context) []state.Need { return operations.NewDecide().Queries(v) }

// Export returns a row a way.
func (s *PlanChoices) Export(v view.Context) [][]string {
	if v.Site == nil {
		return nil
	}
	rows := [][]string{{"way", "begin (UTC)", "window (kWh)", "window_cost", "waiting (kWh)", "waiting_cost", "parts", "parts_currency", "currency"}}
	for _, c := range workflow.Choices(v, s.day) {
		row := []string{c.Name, c.Begin.UTC().Format(time.RFC3339), "", "", display.Number(c.WaitKWh), display.Number(c.Wait), display.Number(c.Parts), c.PartsMoney, c.Currency}
		if c.Window != nil {
			row[2], row[3] = display.Number(c.Window.EnergyKWh), display.Number(c.Window.Cost)
		}
		rows = append(rows, row)
	}
	return rows
}
