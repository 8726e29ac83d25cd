package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// categorySign is how a category is drawn in a bar: a letter, which a terminal
// without colours shows too, and a colour.
type categorySign struct {
	letter rune
	role   themes.Role
	name   string
}

var categorySigns = map[string]categorySign{
	api.AvailabilityFull:          {'=', themes.Dim, "full performance"},
	api.AvailabilityPartial:       {'~', themes.Notice, "partial performance"},
	api.AvailabilityEnvironment:   {'e', themes.Muted, "out of environment"},
	api.AvailabilityRequested:     {'r', themes.Dim, "requested shutdown"},
	api.AvailabilityGrid:          {'g', themes.Warning, "out of grid"},
	api.AvailabilityScheduled:     {'m', themes.Notice, "scheduled maintenance"},
	api.AvailabilityPlanned:       {'p', themes.Warning, "planned corrective"},
	api.AvailabilityForced:        {'X', themes.Critical, "forced outage"},
	api.AvailabilitySuspended:     {'s', themes.Warning, "suspended"},
	api.AvailabilityForceMajeure:  {'f', themes.Dim, "force majeure"},
	api.AvailabilityNoInformation: {'?', themes.Critical, "information unavailable"},
}

func categoryName(category string) string {
	if s, ok := categorySigns[category]; ok {
		return s.name
	}
	return strings.ReplaceAll(category, "_", " ")
}

// drawCategories draws the sun-up hours of each category as a bar. Each category
// that has any takes a cell at least.
func drawCategories(r terminal.Region, v view.Context, list []api.AvailabilityAmount) {
	w, _ := r.Size()
	all, shown := 0.0, 0
	for _, a := range list {
		if a.SunUpHours > 0 {
			all, shown = all+a.SunUpHours, shown+1
		}
	}
	if shown == 0 || w < shown {
		return
	}
	x, sum, left := 0, 0.0, shown
	for _, a := range list {
		if a.SunUpHours <= 0 {
			continue
		}
		left--
		sum += a.SunUpHours
		end := min(max(int(math.Round(sum/all*float64(w))), x+1), w-left)
		sign := categorySigns[a.Category]
		for ; x < end; x++ {
			r.PutRune(x, 0, sign.letter, v.Style(sign.role))
		}
	}
}

// legend explains the letters of the categories that occur.
func legend(list []api.AvailabilityAmount) string {
	var words []string
	for _, a := range list {
		if a.SunUpHours > 0 {
			words = append(words, fmt.Sprintf("%c %s %s h", categorySigns[a.Category].letter, categoryName(a.Category), display.Significant(a.SunUpHours)))
		}
	}
	return strings.Join(words, ", ")
}

func shareOf(p *float64) string {
	if p == nil {
		return "–"
	}
	return display.Percentage(100 * *p)
}

func sortShare(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

// newAvailability lists the units with their sun-up time by category.
func newAvailability(p *period) *widget.Tab {
	l := widget.NewTab("availability")
	l.Needs = func(v view.Context) []state.Need {
		needs := []state.Need{{Query: state.QueryAvailability, Of: p.of(v), Period: 5 * time.Minute}}
		if id := l.List.Current(); l.RestDrawn() && id != "" {
			needs = append(needs, state.Need{Query: state.QueryStretches, Of: stretchesOf(p, v, id), Period: 5 * time.Minute})
		}
		return needs
	}
	l.Detail, l.Aside = unitDetail, true
	l.Rest = func(r terminal.Region, v view.Context, id string) { categoryDays(r, v, p, id) }
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.OfUnits, v.Now, len(v.Site.OfUnits.Data.Units) == 0)
	}
	l.Empty = "No unit was installed in this period."
	l.Head = func(r terminal.Region, v view.Context, _ string) int {
		a := v.Site.OfUnits.Data
		y := v.Paragraph(r, 0, 0, p.words(v), themes.Dim)
		y = v.Paragraph(r, 0, y, fmt.Sprintf("Site: contractual %s of %s, operational %s, by energy %s, data %s.", shareOf(a.Site.ContractualAvailability), display.Percentage(100*a.Contract.Target),
			shareOf(a.Site.TimeAvailability), shareOf(a.Site.EnergyAvailability), shareOf(a.Site.DataAvailability)), themes.Text)
		return v.Paragraph(r, 0, y, "Sun-up time: "+legend(a.Site.Categories), themes.Dim)
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "unit", Width: 20, Min: 8, IDs: true}, {Title: "sun-up time", Min: 16}, {Title: "contract", Width: 9, Right: true},
			{Title: "oper.", Width: 8, Right: true, Rank: 1}, {Title: "energy", Width: 8, Right: true, Rank: 2}, {Title: "data", Width: 8, Right: true, Rank: 1}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		units := v.Site.OfUnits.Data.Units
		rows := make([]widget.Row, 0, len(units))
		for _, u := range units {
			contract := widget.Text(shareOf(u.ContractualAvailability))
			if c := u.ContractualAvailability; c != nil && *c < v.Site.OfUnits.Data.Contract.Target {
				contract.Role = themes.Warning
			}
			rows = append(rows, widget.Row{ID: u.AssetID, Sort: []any{u.AssetID, sortShare(u.TimeAvailability), sortShare(u.ContractualAvailability), sortShare(u.TimeAvailability), sortShare(u.EnergyAvailability), sortShare(u.DataAvailability)},
				Cells: []widget.Cell{widget.Text(u.AssetID), {Draw: func(r terminal.Region) { drawCategories(r, v, u.Categories) }}, contract,
					widget.Text(shareOf(u.TimeAvailability)), widget.QuietText(shareOf(u.EnergyAvailability)), widget.QuietText(shareOf(u.DataAvailability))}})
		}
		return rows
	}
	return l
}

// stretchesOf names the stretches of a unit as a query.
func stretchesOf(p *period, v view.Context, unit string) string { return p.of(v) + "|" + unit }

// newStretches lists the stretches of the unit that is selected in units, the newest
// first, without those of nights.
func newStretches(p *period, units *widget.Tab) *widget.Tab {
	l := widget.NewTab("categories")
	l.Detail, l.Aside = stretchDetail, true
	unit := func(v view.Context) string {
		list := v.Site.OfUnits.Data.Units
		if slices.ContainsFunc(list, func(u api.UnitAvailability) bool { return u.AssetID == units.List.Selected }) {
			return units.List.Selected
		}
		if len(list) > 0 {
			return list[0].AssetID
		}
		return ""
	}
	l.Needs = func(v view.Context) []state.Need {
		needs := units.Needs(v)
		if id := unit(v); id != "" {
			needs = append(needs, state.Need{Query: state.QueryStretches, Of: stretchesOf(p, v, id), Period: 5 * time.Minute})
		}
		return needs
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		if unit(v) == "" {
			return units.Status(v)
		}
		return widget.StatusOf(v.Site.Stretches, v.Now, len(stretches(v)) == 0)
	}
	l.Empty = "The unit had no sun-up time in this period."
	l.Head = func(r terminal.Region, v view.Context, _ string) int {
		y := v.Paragraph(r, 0, 0, unit(v)+": sun-up time by category; nights are not listed.", themes.Dim)
		return v.Paragraph(r, 0, y, p.words(v), themes.Dim)
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "from", Width: 16}, {Title: "to", Width: 16}, {Title: "category", Min: 18}, {Title: "sun-up", Width: 8, Right: true}, {Title: "expected", Width: 9, Right: true, Rank: 2}, {Title: "by", Width: 10, Rank: 1}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		list := stretches(v)
		rows := make([]widget.Row, 0, len(list))
		for _, s := range slices.Backward(list) {
			sign := categorySigns[s.Category]
			rows = append(rows, widget.Row{ID: s.From.String(), Sort: []any{s.From.String(), s.To.String(), s.Category, s.SunUpHours, s.ExpectedKWh, s.Source}, Cells: []widget.Cell{
				widget.QuietText(display.DateTime(s.From.In(v.Site.Zone))), widget.QuietText(display.DateTime(s.To.In(v.Site.Zone))), {Text: categoryName(s.Category), Role: sign.role},
				widget.Text(display.Significant(s.SunUpHours) + " h"), widget.QuietText(display.Energy(s.ExpectedKWh)), widget.QuietText(strings.ReplaceAll(s.Source, "_", " ")),
			}})
		}
		return rows
	}
	return l
}

// stretches returns the stretches of the unit that was asked for with sun-up time.
func stretches(v view.Context) (list []api.AvailabilityStretch) {
	for _, u := range v.Site.Stretches.Data.Units {
		for _, s := range u.Stretches {
			if s.SunUpHours > 0 {
				list = append(list, s)
			}
		}
	}
	return list
}

// stretchAt returns the stretch of a row with its unit; nil if there is none.
func stretchAt(v view.Context, id string) (unit string, stretch *api.AvailabilityStretch) {
	for _, u := range v.Site.Stretches.Data.Units {
		if s := widget.Find(u.Stretches, func(s api.AvailabilityStretch) bool { return s.From.String() == id }); s != nil {
			return u.AssetID, s
		}
	}
	return "", nil
}

// availabilityReason returns why a change of availability is not possible.
func availabilityReason(l *widget.Tab, a keymap.Action, v view.Context) string {
	switch a {
	case keymap.ChangeAvailability:
		if l.Name != "availability" && l.Name != "categories" {
			return "select a unit or a period of the availability first"
		}
	case keymap.RevokeAvailability:
		if _, s := stretchAt(v, l.List.Current()); l.Name != "categories" || s == nil || s.Source != "change" {
			return "select a period with an assigned category first"
		}
	}
	return ""
}

// availabilityAct opens the form of a change.
func availabilityAct(p *period, l *widget.Tab, a keymap.Action, v view.Context) view.Request {
	if availabilityReason(l, a, v) != "" {
		return nil
	}
	unit, stretch := stretchAt(v, l.List.Current())
	switch {
	case a == keymap.RevokeAvailability:
		return view.OpenDialog{Dialog: NewRevokeAvailability(v, *stretch)}
	case l.Name == "categories" && stretch != nil:
		return view.OpenDialog{Dialog: NewChangeAvailability(v, unit, stretch.From.Time, stretch.To.Time, stretch.Category)}
	case l.Name == "availability" && l.List.Current() != "":
		from, to := p.ends(v)
		return view.OpenDialog{Dialog: NewChangeAvailability(v, l.List.Current(), from, to, "")}
	}
	return nil
}

// changedAvailability returns the result of a change.
func changedAvailability(answer *api.AvailabilityChangeResponse, err error) (view.Result, error) {
	if err != nil {
		return view.Result{}, err
	}
	return view.Result{Notice: view.Notice(answer.Message + ": " + categoryName(answer.Change.Category) + "."),
		Refresh: []state.Query{state.QueryAvailability, state.QueryStretches, state.QueryKPIs, state.QueryActivities}}, nil
}

// contractDefault is the treatment and the time base that a contract does not
// set.
const contractDefault = "default"

// NewContract asks how the contract of a site defines availability: target, time
// that counts, and treatment of each category.
func NewContract(site api.Site) *widget.FieldsForm {
	was := api.AvailabilityContract{}
	if site.Availability != nil {
		was = *site.Availability
	}
	target := ""
	if was.Target > 0 {
		target = display.Number(math.Round(was.Target*1e6) / 1e4)
	}
	bases := map[string]string{api.TimeBaseSunUp: "sun-up time", api.TimeBaseAll: "24 hours a day"}
	d := &widget.FieldsForm{Heading: "Availability contract of " + site.SiteID, Verb: "change",
		Intro: "How the contract counts each category of time. The new contract replaces the former as a whole; past reports keep their revision."}
	add := func(name string, f widget.Field) { d.Names, d.Fields = append(d.Names, name), append(d.Fields, f) }
	add("site.availability.target", widget.NewField("Target %", "empty: 98", target))
	add("site.availability.time_base", widget.ChoiceField("Time", []string{contractDefault, api.TimeBaseSunUp, api.TimeBaseAll}, func(s string) string {
		if words := bases[s]; words != "" {
			return words
		}
		return s
	}, was.TimeBase))
	for _, category := range api.AvailabilityCategories() {
		label := categoryName(category)
		add("site.availability.rules."+category, widget.ChoiceField(strings.ToUpper(label[:1])+label[1:], append([]string{contractDefault}, api.Treatments()...), widget.Verbatim, was.Rules[category]))
	}
	d.Accept = func() view.Request {
		share, ok := d.Number("site.availability.target")
		if !ok {
			return nil
		}
		contract := &api.AvailabilityContract{Rules: map[string]string{}}
		if share != nil {
			contract.Target = *share / 100
		}
		if base := d.Value("site.availability.time_base"); base != contractDefault {
			contract.TimeBase = base
		}
		for _, category := range api.AvailabilityCategories() {
			if treatment := d.Value("site.availability.rules." + category); treatment != contractDefault {
				contract.Rules[category] = treatment
			}
		}
		d.Busy, d.Wrong = true, ""
		return widget.SendSite(d, api.Site{SiteID: site.SiteID, CustomerID: site.CustomerID, Availability: contract})
	}
	return d
}

// NewChangeAvailability asks for the category of a time of a unit, with a reason.
func NewChangeAvailability(v view.Context, unit string, from, to time.Time, was string) *widget.StepForm {
	site := v.Site.Ref()
	d := &widget.StepForm{Heading: "Change the category of " + unit, Verb: "change", Intro: []string{"The change is kept with your name and the reason. Of changes that overlap, the newest counts."}}
	d.Zone = v.Site.Zone
	d.Add("category", widget.ChoiceField("Category", api.AvailabilityCategories(), categoryName, was))
	d.Add("from", widget.NewField("From", "date and time of the site", display.DateTime(from.In(v.Site.Zone))))
	d.Add("to", widget.NewField("To", "date and time of the site", display.DateTime(to.In(v.Site.Zone))))
	d.Add("reason", widget.NewField("Reason", "why, such as the number of a notice", ""))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		begin, ok := d.Date("from", "The start", from)
		if !ok {
			return view.Call{}, false
		}
		end, ok := d.Date("to", "The end", to)
		if !ok || !d.Need("reason", "Why? The reason is kept with the change.") {
			return view.Call{}, false
		}
		r := api.AvailabilityRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, AssetIDs: []string{unit}, From: begin, To: end, Category: d.Value("category"), Reason: d.Value("reason")}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			return changedAvailability(client.Call(ctx, c, api.SetAvailability, r))
		}}, true
	}
	return d
}

// NewRevokeAvailability asks for the reason of revoking the change of a stretch.
func NewRevokeAvailability(v view.Context, s api.AvailabilityStretch) *widget.StepForm {
	site := v.Site.Ref()
	d := &widget.StepForm{Heading: "Revoke " + categoryName(s.Category), Verb: "revoke", Intro: []string{"The whole change is revoked, for all its units. Readings, findings and work orders decide again."}}
	d.Add("reason", widget.NewField("Reason", "why the change is revoked", ""))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		if !d.Need("reason", "Why? The reason is kept with the change.") {
			return view.Call{}, false
		}
		r := api.AvailabilityRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, ChangeID: s.SourceID, Reason: d.Value("reason")}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			return changedAvailability(client.Call(ctx, c, api.RevokeAvailability, r))
		}}, true
	}
	return d
}
