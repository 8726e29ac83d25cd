package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// leastTrend is the least height of a chart of energy by day with its heading, in cells.
const leastTrend = 9

// kpiRest draws the energy by day of a period below the list of a tab, and its losses above that.
type kpiRest struct {
	tab       *widget.Tab
	period    *period
	losses    bool
	waterfall chart.Waterfall
	trend     chart.Trend
}

// needs returns the needs of the tab, with those of the rest where that has room.
func (k *kpiRest) needs(own func(view.Context) []state.Need) func(view.Context) []state.Need {
	return func(v view.Context) []state.Need {
		needs := own(v)
		if k.tab.RestDrawn() {
			needs = append(needs, dailyNeeds(k.period)(v)...)
		}
		return needs
	}
}

func (k *kpiRest) draw(r terminal.Region, v view.Context, _ string) {
	w, h := r.Size()
	y := 0
	if losses := lossesOf(v, k.period); k.losses && losses != nil {
		if rows := operations.LossSteps(*losses); rows+1 <= h {
			v.Heading(r, 0, "Losses", k.of())
			operations.DrawLosses(&k.waterfall, r.Region(terminal.Rect{Y: 1, W: w, H: rows}), v, *losses)
			y = rows + 2
		}
	}
	if h-y >= leastTrend {
		drawEnergyByDay(&k.trend, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, k.period, k.of())
	}
}

// of names the period in a heading.
func (k *kpiRest) of() string {
	if k.period.year {
		return "twelve months"
	}
	return "last " + display.CountOf(k.period.days(), "whole day", "whole days")
}

// mostTrend is the height above which a trend is no easier to read.
const mostTrend = 32

// drawEnergyByDay draws the energy of the days of a period against the forecasts for them, or
// why it is not known.
func drawEnergyByDay(t *chart.Trend, r terminal.Region, v view.Context, p *period, of string) {
	w, h := r.Size()
	v.Heading(r, 0, "Energy by day", of)
	list := results(v, p)
	if len(list) < 2 {
		need := state.Need{Query: state.QueryDaily, Of: p.of(v), Period: 30 * time.Minute}
		words, role := widget.NoneKnown(v, need, "energy by day", "No complete day of this period has data.")
		v.Paragraph(r, 0, 1, words, role)
		return
	}
	y := 1
	if slices.ContainsFunc(list, func(d dayResult) bool { return d.backcast && !math.IsNaN(d.p10) }) {
		y = v.Paragraph(r, 0, y, "P10 to P90 of days without an issued forecast are those of a backcast from their midnight.", themes.Dim)
	}
	resultTrend(t, r.Region(terminal.Rect{Y: y, W: w, H: min(h-y, mostTrend)}), v, list, "")
}

// lossDetail returns the findings of a family of faults in a period, with what each lost.
func lossDetail(v view.Context, p *period, family string) []widget.Detail {
	from, to := p.ends(v)
	at := widget.TimesOf(v)
	lines := []widget.Detail{{Heading: "Findings of " + widget.Family(family)}}
	for _, f := range v.Site.Findings.Data {
		if f.FaultFamily != family || !f.StartedAt.Before(to) || !f.EndedAt.IsZero() && !f.EndedAt.After(from) {
			continue
		}
		until := "active"
		if !f.Active {
			until = "until " + at(f.EndedAt)
		}
		lines = append(lines, widget.Detail{Label: at(f.StartedAt), Text: fmt.Sprintf("%s, %s: %s lost in all, %s sure", operations.UnitName(f), until, widget.FamilyEnergy(family, f.LostKWh), display.Percent(f.Confidence)), Role: themes.Text})
	}
	if len(lines) > 1 {
		return lines
	}
	words, role := widget.NoneKnown(v, state.Need{Query: state.QueryFindings, Period: 30 * time.Second}, "findings", "None of the findings that are listed is of this period.")
	return append(lines, widget.Detail{Text: words, Role: role})
}

// unitDetail returns the availability of a unit and its time by category.
func unitDetail(v view.Context, id string) []widget.Detail {
	u := widget.Find(v.Site.OfUnits.Data.Units, func(u api.UnitAvailability) bool { return u.AssetID == id })
	if u == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: id}}
	add := widget.FactsOf(&lines)
	if u.Name != id {
		add("name", u.Name)
	}
	add("rating", display.Power(u.WeightKW))
	add("contract", shareOf(u.ContractualAvailability)+" of "+display.Percentage(100*v.Site.OfUnits.Data.Contract.Target))
	lines = append(lines, widget.Detail{Heading: "Sun-up time by category"})
	for _, a := range u.Categories {
		if a.SunUpHours > 0 {
			words := display.Significant(a.SunUpHours) + " h, " + display.Energy(a.ExpectedKWh) + " expected"
			if a.Treatment != api.TreatmentAvailable {
				words += "; counted as " + a.Treatment
			}
			lines = append(lines, widget.Detail{Label: categoryName(a.Category), Text: words, Role: themes.Text})
		}
	}
	return lines
}

// stretchDetail returns the facts of a stretch of one category.
func stretchDetail(v view.Context, id string) []widget.Detail {
	unit, s := stretchAt(v, id)
	if s == nil {
		return nil
	}
	at := widget.TimesOf(v)
	lines := []widget.Detail{{Heading: categoryName(s.Category) + " of " + unit}}
	add := widget.FactsOf(&lines)
	add("from", at(s.From))
	add("to", at(s.To)+", "+display.Hours(s.Hours))
	add("sun-up", display.Hours(s.SunUpHours))
	add("expected", display.Energy(s.ExpectedKWh))
	add("by", categorySource(s.Source))
	add("its id", s.SourceID)
	return lines
}

// categorySource returns the words for what decided on a category.
func categorySource(source string) string {
	switch source {
	case "reading":
		return "readings of the unit"
	case "work_order":
		return "a work order"
	case "finding", "change":
		return "a " + source
	}
	return source
}

// categoryDays draws the days of a unit as lines of its categories by the hour, the newest
// first.
func categoryDays(r terminal.Region, v view.Context, p *period, unit string) {
	w, h := r.Size()
	v.Heading(r, 0, "Categories of "+unit+" by day", "nights are empty")
	u := widget.Find(v.Site.Stretches.Data.Units, func(u api.UnitAvailability) bool { return u.AssetID == unit })
	if u == nil || v.Site.Wanted(state.QueryStretches) != stretchesOf(p, v, unit) {
		words, role := widget.NoneKnown(v, state.Need{Query: state.QueryStretches, Of: stretchesOf(p, v, unit), Period: 5 * time.Minute}, "periods of the unit", "The unit had no sun-up time in this period.")
		v.Paragraph(r, 0, 1, words, role)
		return
	}
	const left = 12
	cell := 4 // of an hour
	for cell > 1 && left+24*cell > w {
		cell--
	}
	if left+24*cell > w {
		return
	}
	for hour := 0; hour < 24; hour += 2 {
		v.Put(r, left+hour*cell, 1, fmt.Sprintf("%02d", hour), themes.Dim)
	}
	from, to := p.ends(v)
	for y := 2; y < h && to.After(from); y++ {
		day := to.AddDate(0, 0, -1)
		v.Put(r, 0, y, display.Day(day), themes.Dim)
		for _, s := range u.Stretches {
			if s.SunUpHours <= 0 || !s.To.After(day) || !s.From.Before(to) {
				continue
			}
			sign := categorySigns[s.Category]
			begin, end := max(int(s.From.Sub(day).Hours()*float64(cell)), 0), min(int(s.To.Sub(day).Hours()*float64(cell)), 24*cell)
			for x := begin; x < max(end, begin+1) && x < 24*cell; x++ {
				r.PutRune(left+x, y, sign.letter, v.Style(sign.role))
			}
		}
		to = day
	}
}
