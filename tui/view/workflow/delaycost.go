package workflow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// delayCost is the cost of a finding until it is fixed.
type delayCost struct {
	kWhDay   float64
	moneyDay float64 // 0 where the site has no tariff
	currency string
}

// delayCostOf is energy at risk x price, a day. Where the money is not known, the
// energy is the share that is lost of what the forecast expects of the units.
func delayCostOf(v view.Context, f api.Finding, days []ForecastDay) delayCost {
	b := delayCost{moneyDay: f.RevenueAtRisk, currency: f.Currency}
	tariff := v.Site.TariffPerKWh
	if tariff > 0 && f.RevenueAtRisk > 0 && f.Currency == v.Site.Currency {
		b.kWhDay = f.RevenueAtRisk / tariff
		return b
	}
	sum, n := 0.0, 0
	for _, d := range days {
		if d.Complete {
			sum += d.P50
			n++
		}
	}
	if n == 0 || v.Site.CapacityKW <= 0 {
		return b
	}
	ids := f.AssetIDs
	if len(ids) == 0 {
		ids = []string{f.AssetID}
	}
	units := 0.0
	for _, a := range v.Site.Assets.Data {
		for _, id := range ids {
			if a.AssetID == id {
				units += a.CapacityKW
			}
		}
	}
	b.kWhDay = f.LossFraction * sum / float64(n) * min(units/v.Site.CapacityKW, 1)
	if b.moneyDay == 0 && tariff > 0 {
		b.moneyDay, b.currency = b.kWhDay*tariff, v.Site.Currency
	}
	return b
}

// CostText is money and energy together, as far as each is known.
func CostText(money, kwh float64, currency string) string {
	if currency != "" && (money > 0 || kwh == 0) {
		return display.Money(money, currency)
	}
	return display.Energy(kwh)
}

// Choice is one option for the selection, with all its costs.
type Choice struct {
	Name       string
	Begin      time.Time
	Window     *api.WorkWindow // nil: none is known then
	WaitKWh    float64         // lost until then
	Wait       float64         // its price
	Parts      float64
	PartsMoney string // the currency of the parts
	Currency   string // of all else
	Plans      int    // other work on that day
}

// Total returns what waiting, parts and window cost together; ok is false where
// they are not of one currency, or no price is known.
func (c Choice) Total() (total float64, ok bool) {
	total = c.Wait
	if c.Window != nil {
		total += c.Window.Cost
	}
	if c.Parts > 0 {
		if c.PartsMoney != c.Currency {
			return 0, false
		}
		total += c.Parts
	}
	return total, c.Currency != ""
}

// waitDays returns the days from now to a time, each hour weighted by the energy that the
// forecast expects in it: a night costs nothing. Time after the forecast counts by its length.
func waitDays(v view.Context, days []ForecastDay, until time.Time) float64 {
	now := v.SiteNow
	if !until.After(now) {
		return 0
	}
	mean, n := 0.0, 0
	for _, d := range days {
		if d.Complete {
			mean, n = mean+d.P50, n+1
		}
	}
	energy, end := 0.0, now
	for _, part := range [][]api.ForecastValue{v.Site.Forecast.Data.Today, v.Site.Forecast.Data.Forecasts} {
		for _, f := range part {
			from, to := f.Timestamp.Time, f.Timestamp.Add(time.Hour)
			if from.After(end) { // a gap: the energy between is unknown
				break
			}
			if from.Before(end) {
				from = end
			}
			if to.After(until) {
				to = until
			}
			if to.After(from) {
				energy, end = energy+to.Sub(from).Hours()*f.PredictedPowerKW, to
			}
		}
	}
	if n == 0 || mean <= 0 {
		return until.Sub(now).Hours() / 24
	}
	return energy/(mean/float64(n)) + until.Sub(end).Hours()/24
}

// Choices are options for the selection, side by side: the best window, the
// first one, the chosen day's, and waiting.
func Choices(v view.Context, chosen time.Time) []Choice {
	days := ForecastDays(v)
	f := SelectedFinding(v)
	var b delayCost
	if f != nil && f.Active {
		b = delayCostOf(v, *f, days)
	}
	bill := WorkflowFor(v).Bill
	choice := func(name string, d ForecastDay) Choice {
		c := Choice{Name: name, Begin: d.Day.Add(7 * time.Hour), Window: d.Window, Currency: b.currency, Plans: len(d.Plans)}
		if d.Window != nil {
			c.Begin = d.Window.Start.Time
			if c.Currency == "" {
				c.Currency = v.Site.Windows.Data.Currency
			}
		}
		wait := waitDays(v, days, c.Begin)
		c.WaitKWh, c.Wait = wait*b.kWhDay, wait*b.moneyDay
		if bill != nil {
			c.Parts, c.PartsMoney = bill.TotalCost, bill.Currency
		}
		return c
	}
	var out []Choice
	seen := map[int]bool{}
	add := func(name string, i int) {
		if i >= 0 && i < len(days) && !seen[i] {
			seen[i] = true
			out = append(out, choice(name, days[i]))
		}
	}
	if !chosen.IsZero() {
		for i, d := range days {
			if d.Day.Equal(chosen) {
				add("chosen day", i)
			}
		}
	}
	add("least energy", BestDay(days))
	for i, d := range days {
		if d.Window != nil && !d.Window.Windy {
			add("soonest", i)
			break
		}
	}
	add("in a week", 7)
	add("in a month", 30)
	return out
}

// DrawCosts draws the cost of delay and the cost of the work.
func DrawCosts(r terminal.Region, v view.Context, y int, f api.Finding, days []ForecastDay, chosen time.Time) int {
	b := delayCostOf(v, f, days)
	v.Heading(r, y, "Cost of waiting and of the work", CostText(b.moneyDay, b.kWhDay, b.currency)+" a day")
	y++
	columns := []widget.Column{{Title: "", Width: 12}, {Title: "begin", Width: 12}, {Title: "waiting", Width: 10, Min: 9, Right: true}, {Title: "parts", Width: 9, Right: true, Rank: 1}, {Title: "window", Width: 9, Right: true}, {Title: "total", Width: 10, Min: 9, Right: true}}
	var rows []widget.Row
	for _, c := range Choices(v, chosen) {
		parts, window, all := "–", "–", "–"
		if c.Parts > 0 {
			parts = display.Money(c.Parts, c.PartsMoney)
		}
		if c.Window != nil {
			window = CostText(c.Window.Cost, c.Window.EnergyKWh, c.Currency)
		}
		if total, ok := c.Total(); ok {
			all = display.Money(total, c.Currency)
		}
		role := themes.Dim
		if len(rows) == 0 {
			role = themes.Text
		}
		rows = append(rows, widget.Row{ID: c.Name, Cells: []widget.Cell{{Text: c.Name, Role: role}, {Text: display.DayMonthClock(c.Begin.In(v.Site.Zone)), Role: role},
			{Text: CostText(c.Wait, c.WaitKWh, c.Currency), Role: role}, {Text: parts, Role: role}, {Text: window, Role: role}, {Text: all, Role: role}}})
	}
	y = drawTable(r, v, y, columns, rows)
	if bill := WorkflowFor(v).Bill; bill != nil && bill.Currency == b.currency && b.moneyDay > 0 {
		y = v.Paragraph(r, 0, y, fmt.Sprintf("The parts cost as much as %.3g days of the loss.", bill.TotalCost/b.moneyDay), themes.Dim)
	}
	return y
}

// drawTable draws a table without selection, and returns the y after it.
func drawTable(r terminal.Region, v view.Context, y int, columns []widget.Column, rows []widget.Row) int {
	w, _ := r.Size()
	l := widget.List{SortBy: -1}
	l.Draw(r.Region(terminal.Rect{Y: y, W: w, H: len(rows) + 1}), v, columns, rows)
	return y + len(rows) + 1
}

// stockOf returns a part with its stock, nil when it is not known.
func stockOf(v view.Context, number string) *api.Part {
	if i := slices.IndexFunc(v.Site.Parts.Data, func(p api.Part) bool { return p.PartNumber == number }); i >= 0 {
		return &v.Site.Parts.Data[i]
	}
	return nil
}

// DrawBill draws a bill of materials with what is in stock of each line, and
// what is short.
func DrawBill(r terminal.Region, v view.Context, y int) int {
	way := WorkflowFor(v)
	if way.Bill == nil {
		if way.Finding == nil || way.Order != nil {
			return y
		}
		v.Heading(r, y, "Bill of materials")
		return v.Paragraph(r, 0, y+1, "None yet. Press n to create it as the next step, or o to create it with the work order.", themes.Dim)
	}
	b := *way.Bill
	if d := v.Site.BOM.Data; d.BOMID == b.BOMID {
		b = d
	}
	v.Heading(r, y, "Bill of materials", display.Money(b.TotalCost, b.Currency)+", "+display.Hours(b.EstimatedHours))
	y++
	if len(b.Items) == 0 {
		return v.Paragraph(r, 0, y, "Asking for its lines …", themes.Dim)
	}
	columns := []widget.Column{{Title: "part", Width: 14, Min: 8, Rank: 3}, {Title: "description", Min: 12}, {Title: "qty", Width: 3, Right: true}, {Title: "unit price", Width: 10, Right: true, Rank: 2},
		{Title: "price", Width: 9, Right: true, Rank: 1}, {Title: "stock", Width: 5, Right: true}, {Title: "short", Width: 5, Right: true}}
	var rows []widget.Row
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
			name += view.Drawable(" · needed to start", v.ASCII)
		}
		rows = append(rows, widget.Row{ID: i.PartNumber, Cells: []widget.Cell{{Text: i.PartNumber, Role: themes.Dim}, {Text: name, Role: themes.Text}, {Text: fmt.Sprint(i.Quantity), Role: themes.Text},
			{Text: display.Significant(i.UnitCost), Role: themes.Dim}, {Text: display.Significant(i.TotalCost), Role: themes.Text}, {Text: stock, Role: themes.Dim}, {Text: short, Role: role}}})
	}
	return drawTable(r, v, y, columns, rows)
}

// lackOf returns how many pieces of a line are short: for the bill of an order, as the
// order states, because pieces reserved for it are not free.
func lackOf(v view.Context, way Workflow, i api.BOMItem, stock api.Part) int {
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

// DrawConstraints draws the constraints of the work (crew, parts, weather) and other
// work that the same visit could include.
func DrawConstraints(r terminal.Region, v view.Context, y int, d ForecastDay) int {
	v.Heading(r, y, "Crew and constraints")
	y = v.Paragraph(r, 0, y+1, fmt.Sprintf("Windows are within the crew's hours and daylight; those with wind above %d m/s come last.", api.WindForWork), themes.Dim)
	var busy []string
	for _, o := range v.Site.Orders.Data {
		if IsOpen(o) && !o.PlannedStart.Before(d.Day) && o.PlannedStart.Before(d.Day.AddDate(0, 0, 1)) {
			busy = append(busy, o.AssignedTechnician+" at "+o.AssetID)
		}
	}
	if len(busy) > 0 {
		y = v.Paragraph(r, 0, y, "On that day: "+strings.Join(busy, ", ")+".", themes.Text)
	}
	if lack := shortParts(v); lack != "" {
		y = v.Paragraph(r, 0, y, "Short of "+lack+": it starts with a note, or waits for them.", themes.Warning)
	}
	if bundle := v.Site.Windows.Data.Bundle; len(bundle) > 0 && selectedWindows(v) != nil {
		var near []string
		for _, b := range bundle[:min(len(bundle), 4)] {
			near = append(near, b.AssetID+" "+display.DayMonth(b.Date.In(v.Site.Zone)))
		}
		y = v.Paragraph(r, 0, y, "The same visit could include: "+strings.Join(near, ", ")+".", themes.Dim)
	}
	return y
}

// shortParts returns the essential parts that the selected bill lacks.
func shortParts(v view.Context) string {
	way := WorkflowFor(v)
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

// WindowLoser names the unit or the site whose energy the proposed windows lose,
// as in " at INV-07"; empty while that is not known.
func WindowLoser(v view.Context) string {
	switch of := v.Site.Windows.Data; {
	case selectedWindows(v) == nil:
		return ""
	case of.CostOf == api.CostOfUnit && of.AssetID != "":
		return " at " + v.ShortID(of.AssetID, 16)
	case of.CostOf == api.CostOfSite:
		return " at the whole site"
	}
	return ""
}

// DrawWindows draws the best windows of different days, and what each costs
// against the best.
func DrawWindows(r terminal.Region, v view.Context, y int, days []ForecastDay) int {
	note := display.Hours(v.Site.WorkHours(v.Selection.AssetID)) + " of work"
	if loser := WindowLoser(v); loser != "" {
		note += ", lost" + loser
	}
	v.Heading(r, y, "Best windows", note)
	y++
	best := slices.DeleteFunc(slices.Clone(days), func(d ForecastDay) bool { return d.Window == nil })
	if len(best) == 0 {
		return v.Paragraph(r, 0, y, "No window: no hours of the forecast fit the work.", themes.Dim)
	}
	slices.SortStableFunc(best, func(a, b ForecastDay) int { return a.Rank - b.Rank })
	currency := v.Site.Windows.Data.Currency
	columns := []widget.Column{{Title: "day", Width: 10}, {Title: "hours", Width: 11}, {Title: "it loses", Width: 9, Right: true}, {Title: "cost", Width: 9, Right: true, Rank: 1}, {Title: "over the best", Width: 13, Right: true}, {Title: "sun W/m²", Width: 8, Right: true, Rank: 3}, {Title: "wind m/s", Width: 8, Right: true, Rank: 2}}
	to := view.Drawable("–", v.ASCII)
	var rows []widget.Row
	for _, d := range best[:min(len(best), 5)] {
		w := d.Window
		role, wind := themes.Dim, themes.Dim
		over := CostText(w.ExtraCost, w.ExtraKWh, currency)
		if d.Rank == 1 {
			role = themes.Text
		}
		if w.ExtraKWh == 0 && w.ExtraCost == 0 {
			over = "the best"
		}
		if w.Windy {
			wind = themes.Warning
		}
		rows = append(rows, widget.Row{ID: d.Day.String(), Cells: []widget.Cell{{Text: display.Day(d.Day), Role: role}, {Text: display.Clock(w.Start.In(v.Site.Zone)) + to + display.Clock(w.End.In(v.Site.Zone)), Role: role},
			{Text: display.Energy(w.EnergyKWh), Role: role}, {Text: display.Money(w.Cost, currency), Role: role}, {Text: over, Role: role},
			{Text: fmt.Sprintf("%.0f", w.IrradianceWM2), Role: role}, {Text: fmt.Sprintf("%.1f", w.WindMS), Role: wind}}})
	}
	return drawTable(r, v, y, columns, rows)
}
