package pane

import (
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// burden is what a finding costs as long as it is not mended.
type burden struct {
	kWhDay   float64
	moneyDay float64 // 0 where the site has no tariff
	currency string
}

// burdenOf is energy at risk x price, a day. Where the money is not known, the
// energy is the share that is lost of what the forecast expects of the units.
func burdenOf(v view.Context, f api.Finding, days []dayAhead) burden {
	b := burden{moneyDay: f.RevenueAtRisk, currency: f.Currency}
	tariff := v.Site.TariffPerKWh
	if tariff > 0 && f.RevenueAtRisk > 0 && f.Currency == v.Site.Currency {
		b.kWhDay = f.RevenueAtRisk / tariff
		return b
	}
	sum, n := 0.0, 0
	for _, d := range days {
		if d.complete {
			sum += d.p50
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

// amount is money and energy together, as far as each is known.
func amount(money, kwh float64, currency string) string {
	if money > 0 && currency != "" {
		return Money(money, currency)
	}
	return Energy(kwh)
}

// Choice is one way to deal with the thing in hand, with all that it costs.
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

// Total is what waiting, parts and window cost together; ok is false where
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

// Choices are ways to deal with the thing in hand, side by side: the best
// window, the first one that there is, the chosen day's, and to let it wait.
func Choices(v view.Context, chosen time.Time) []Choice {
	days := ahead(v)
	f := SelectedFinding(v)
	var b burden
	if f != nil && f.Active {
		b = burdenOf(v, *f, days)
	}
	bill := WayOf(v).Bill
	choice := func(name string, d dayAhead) Choice {
		c := Choice{Name: name, Begin: d.day.Add(7 * time.Hour), Window: d.window, Currency: b.currency, Plans: len(d.plans)}
		if d.window != nil {
			c.Begin = d.window.Start.Time
			if c.Currency == "" {
				c.Currency = v.Site.Windows.Data.Currency
			}
		}
		wait := max(c.Begin.Sub(v.SiteNow).Hours()/24, 0)
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
			if d.day.Equal(chosen) {
				add("chosen day", i)
			}
		}
	}
	add("least energy", bestDay(days))
	for i, d := range days {
		if d.window != nil && !d.window.Windy {
			add("soonest", i)
			break
		}
	}
	add("in a week", 7)
	add("in a month", 30)
	return out
}

// drawCosts draws what waiting costs against what doing does.
func drawCosts(r terminal.Region, v view.Context, y int, f api.Finding, days []dayAhead, chosen time.Time) int {
	b := burdenOf(v, f, days)
	v.Heading(r, y, "Cost of waiting and of doing", amount(b.moneyDay, b.kWhDay, b.currency)+" a day")
	y++
	columns := []Column{{Title: "", Width: 12}, {Title: "begin", Width: 12}, {Title: "waiting", Width: 10, Min: 9, Right: true}, {Title: "parts", Width: 9, Right: true, Rank: 1}, {Title: "window", Width: 9, Right: true}, {Title: "in all", Width: 10, Min: 9, Right: true}}
	var rows []Row
	for _, c := range Choices(v, chosen) {
		parts, window, all := "–", "–", "–"
		if c.Parts > 0 {
			parts = Money(c.Parts, c.PartsMoney)
		}
		if c.Window != nil {
			window = amount(c.Window.Cost, c.Window.EnergyKWh, c.Currency)
		}
		if total, ok := c.Total(); ok {
			all = Money(total, c.Currency)
		}
		role := themes.Dim
		if len(rows) == 0 {
			role = themes.Text
		}
		rows = append(rows, Row{ID: c.Name, Cells: []Cell{{Text: c.Name, Role: role}, {Text: c.Begin.In(v.Site.Zone).Format("02 Jan 15:04"), Role: role},
			{Text: amount(c.Wait, c.WaitKWh, c.Currency), Role: role}, {Text: parts, Role: role}, {Text: window, Role: role}, {Text: all, Role: role}}})
	}
	y = drawTable(r, v, y, columns, rows)
	if bill := WayOf(v).Bill; bill != nil && bill.Currency == b.currency && b.moneyDay > 0 {
		y = v.Paragraph(r, 0, y, fmt.Sprintf("The parts are paid for by %.3g days of what it loses.", bill.TotalCost/b.moneyDay), themes.Dim)
	}
	return y
}

// drawTable draws a table that nobody moves in, and answers the y after it.
func drawTable(r terminal.Region, v view.Context, y int, columns []Column, rows []Row) int {
	w, _ := r.Size()
	l := List{SortBy: -1}
	l.Draw(r.Region(terminal.Rect{Y: y, W: w, H: len(rows) + 1}), v, columns, rows)
	return y + len(rows) + 1
}
