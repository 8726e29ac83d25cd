package pane

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// stockOf is a part with its stock, nil when it is not known.
func stockOf(v view.Context, number string) *api.Part {
	if i := slices.IndexFunc(v.Site.Parts.Data, func(p api.Part) bool { return p.PartNumber == number }); i >= 0 {
		return &v.Site.Parts.Data[i]
	}
	return nil
}

// drawBill draws a bill of materials with what is in stock of each line, and
// what is short.
func drawBill(r terminal.Region, v view.Context, y int) int {
	way := WayOf(v)
	if way.Bill == nil {
		if way.Finding == nil || way.Order != nil {
			return y
		}
		v.Heading(r, y, "Bill of materials")
		return v.Paragraph(r, 0, y+1, "Not made yet; n comes to it, o makes it with the work order.", themes.Dim)
	}
	b := *way.Bill
	if d := v.Site.BOM.Data; d.BOMID == b.BOMID {
		b = d
	}
	v.Heading(r, y, "Bill of materials", fmt.Sprintf("%s, %.3g h", Money(b.TotalCost, b.Currency), b.EstimatedHours))
	y++
	if len(b.Items) == 0 {
		return v.Paragraph(r, 0, y, "Asking for its lines …", themes.Dim)
	}
	columns := []Column{{Title: "part", Width: 14, Min: 8, Rank: 3}, {Title: "description", Min: 12}, {Title: "qty", Width: 3, Right: true}, {Title: "unit price", Width: 10, Right: true, Rank: 2},
		{Title: "price", Width: 9, Right: true, Rank: 1}, {Title: "stock", Width: 5, Right: true}, {Title: "short", Width: 5, Right: true}}
	var rows []Row
	for _, i := range b.Items {
		stock, short, role := "–", "", themes.Dim
		if p := stockOf(v, i.PartNumber); p != nil && p.Counted {
			stock = fmt.Sprint(p.Available)
			if lack := lackOf(v, way, i, *p); lack > 0 {
				short, role = fmt.Sprint(lack), themes.Warning
			}
		}
		name := i.Description
		if i.Essential {
			name += view.Words(" · needed to begin", v.ASCII)
		}
		rows = append(rows, Row{ID: i.PartNumber, Cells: []Cell{{Text: i.PartNumber, Role: themes.Dim}, {Text: name, Role: themes.Text}, {Text: fmt.Sprint(i.Quantity), Role: themes.Text},
			{Text: Significant(i.UnitCost), Role: themes.Dim}, {Text: Significant(i.TotalCost), Role: themes.Text}, {Text: stock, Role: themes.Dim}, {Text: short, Role: role}}})
	}
	return drawTable(r, v, y, columns, rows)
}

// lackOf is how many pieces of a line are short: of a bill that an order has
// taken, what the order says, for its own pieces are not free any more.
func lackOf(v view.Context, way Way, i api.BOMItem, stock api.Part) int {
	if way.Order == nil {
		return i.Quantity - stock.Available
	}
	for _, p := range KnownOrder(v, *way.Order).Parts {
		if p.PartNumber == i.PartNumber {
			return p.Short
		}
	}
	return 0
}

// drawConstraints draws what bounds the work: the crew, the parts, the weather,
// and what one journey could do too.
func drawConstraints(r terminal.Region, v view.Context, y int, d dayAhead) int {
	v.Heading(r, y, "Crew and constraints")
	y = v.Paragraph(r, 0, y+1, fmt.Sprintf("Windows lie in the crew's hours and in daylight; wind above %d m/s puts one last.", api.WindForWork), themes.Dim)
	var busy []string
	for _, o := range v.Site.Orders.Data {
		if openOrder(o) && !o.PlannedStart.Before(d.day) && o.PlannedStart.Before(d.day.AddDate(0, 0, 1)) {
			busy = append(busy, o.AssignedTechnician+" at "+o.AssetID)
		}
	}
	if len(busy) > 0 {
		y = v.Paragraph(r, 0, y, "On that day: "+strings.Join(busy, ", ")+".", themes.Text)
	}
	if lack := shortParts(v); lack != "" {
		y = v.Paragraph(r, 0, y, "Short of "+lack+": it begins with a note, or waits for them.", themes.Warning)
	}
	if bundle := v.Site.Windows.Data.Bundle; len(bundle) > 0 && windowsInHand(v) != nil {
		var near []string
		for _, b := range bundle[:min(len(bundle), 4)] {
			near = append(near, b.AssetID+" "+b.Date.In(v.Site.Zone).Format("02 Jan"))
		}
		y = v.Paragraph(r, 0, y, "One journey could do too: "+strings.Join(near, ", ")+".", themes.Dim)
	}
	return y
}

// shortParts are the essential parts that the bill in hand lacks.
func shortParts(v view.Context) string {
	way := WayOf(v)
	if way.Bill == nil || v.Site.BOM.Data.BOMID != way.Bill.BOMID {
		return ""
	}
	var out []string
	for _, i := range v.Site.BOM.Data.Items {
		p := stockOf(v, i.PartNumber)
		if !i.Essential || p == nil || !p.Counted {
			continue
		}
		if lack := lackOf(v, way, i, *p); lack > 0 {
			out = append(out, fmt.Sprintf("%d × %s", lack, i.Description))
		}
	}
	return strings.Join(out, ", ")
}

// drawWindows draws the best windows of different days, and what each costs
// against the best.
func drawWindows(r terminal.Region, v view.Context, y int, days []dayAhead) int {
	v.Heading(r, y, "Best windows", fmt.Sprintf("%.3g h of work", v.Site.WorkHours(v.Selection.AssetID)))
	y++
	best := slices.DeleteFunc(slices.Clone(days), func(d dayAhead) bool { return d.window == nil })
	if len(best) == 0 {
		return v.Paragraph(r, 0, y, "None is known: there is no forecast of hours in which the work fits.", themes.Dim)
	}
	slices.SortStableFunc(best, func(a, b dayAhead) int { return a.rank - b.rank })
	currency := v.Site.Windows.Data.Currency
	columns := []Column{{Title: "day", Width: 10}, {Title: "hours", Width: 11}, {Title: "it loses", Width: 9, Right: true}, {Title: "cost", Width: 9, Right: true, Rank: 1}, {Title: "over the best", Width: 13, Right: true}, {Title: "sun W/m2", Width: 8, Right: true, Rank: 3}, {Title: "wind m/s", Width: 8, Right: true, Rank: 2}}
	to := view.Words("–", v.ASCII)
	var rows []Row
	for _, d := range best[:min(len(best), 5)] {
		w := d.window
		role, wind := themes.Dim, themes.Dim
		if d.rank == 1 {
			role = themes.Text
		}
		if w.Windy {
			wind = themes.Warning
		}
		rows = append(rows, Row{ID: d.day.String(), Cells: []Cell{{Text: d.day.Format("Mon 02 Jan"), Role: role}, {Text: w.Start.In(v.Site.Zone).Format("15:04") + to + w.End.In(v.Site.Zone).Format("15:04"), Role: role},
			{Text: Energy(w.EnergyKWh), Role: role}, {Text: Money(w.Cost, currency), Role: role}, {Text: amount(w.ExtraCost, w.ExtraKWh, currency), Role: role},
			{Text: fmt.Sprintf("%.0f", w.IrradianceWM2), Role: role}, {Text: fmt.Sprintf("%.1f", w.WindMS), Role: wind}}})
	}
	return drawTable(r, v, y, columns, rows)
}
