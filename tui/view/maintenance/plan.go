package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// outline is what a form of planned work is filled with: the bill of materials
// and the window.
type outline struct {
	site      api.Site
	zone      *time.Location
	now       time.Time // the site's
	me        string
	selection view.Selection
	finding   *api.Finding  // selected; nil for none
	plan      *api.Schedule // made already; nil for none
	bill      *api.BOM      // known, or asked for; nil for none
	day       time.Time     // selected by the user; zero: the best one
	windows   *api.ProposeResponse
}

// outlineOf copies what a form needs of the view. day is the site's day that
// the person has chosen, the zero time without one.
func outlineOf(v view.Context, day time.Time) outline {
	o := outline{site: v.Site.Site, zone: v.Site.Zone, now: v.SiteNow, me: me(v), selection: v.Selection, day: day}
	way := workflow.WorkflowFor(v)
	if way.Finding != nil {
		f := *way.Finding
		o.finding = &f
	}
	if way.Plan != nil && way.Order == nil {
		p := *way.Plan
		o.plan = &p
	}
	// Without a selected finding the fault may have changed meanwhile.
	if way.Bill != nil && way.Order == nil && v.Selection.FindingID != "" {
		b := *way.Bill
		o.bill = &b
	}
	return o
}

// propose asks for the windows of work so many hours long.
func (o *outline) propose(ctx context.Context, c *client.Client, kind, maintenanceType string, hours float64) error {
	r := api.ScheduleRequest{CustomerID: o.site.CustomerID, SiteID: o.site.SiteID, AssetID: o.selection.AssetID, Kind: kind,
		MaintenanceType: maintenanceType, EstimatedDurationHours: cmp.Or(hours, state.VisitHours), Page: api.Page{Limit: api.MaxLimit}}
	windows, err := c.Propose(ctx, r)
	if err != nil && !errors.Is(err, api.ErrNoForecastResult) {
		return err
	}
	o.windows = windows
	return nil
}

// begin returns the start of the work and its reason: the best window of the selected
// day, else the best of all, else the next morning.
func (o *outline) begin() (at time.Time, why string) {
	if o.plan != nil && o.plan.ScheduledDate.After(o.now) && o.day.IsZero() {
		return o.plan.ScheduledDate.Time, "As it is planned: " + o.plan.Reason + "."
	}
	if o.windows != nil {
		for _, w := range o.windows.Windows {
			if o.day.IsZero() {
				return w.Start.Time, workflow.WindowWords(w, o.windows.Currency, len(o.windows.Windows))
			}
			if !w.Start.Before(o.day) && w.Start.Before(o.day.AddDate(0, 0, 1)) {
				return w.Start.Time, workflow.DayWindowWords(w, o.windows.Currency)
			}
		}
	}
	if !o.day.IsZero() {
		if at := o.day.Add(7 * time.Hour); at.After(o.now) {
			return at, "No window on the selected day: its morning is proposed."
		}
	}
	return nextMorning(o.now), "No window: the next morning is proposed."
}

// nextMorning is seven o'clock of the next working day.
func nextMorning(now time.Time) time.Time {
	y, mo, d := now.Date()
	for {
		d++
		t := time.Date(y, mo, d, 7, 0, 0, 0, now.Location())
		if t.Weekday() != time.Saturday && t.Weekday() != time.Sunday {
			return t
		}
	}
}

// kindOfWork returns the kind of work of a bill, which decides about the hours of
// day.
func kindOfWork(b *api.BOM) string {
	if b != nil && b.Measuring && !b.Isolating {
		return api.WorkMeasuring
	}
	return api.WorkIsolating
}

// filled returns a form whose defaults are requested: it opens at once, and fill
// completes it when they arrive.
func filled(d *widget.StepForm, o outline, ask func(ctx context.Context, c *client.Client, o *outline) error, fill func(d *widget.StepForm, o outline)) view.Request {
	d.Zone = o.zone
	return view.Batch{view.OpenDialog{Dialog: d}, view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		if err := ask(ctx, c, &o); err != nil {
			return view.Result{}, err
		}
		return view.Result{Apply: func(*state.Site) { fill(d, o) }}, nil
	}}}
}

// NewOrderForm returns the form of a work order for the selection. The bill of
// materials of the repair is made, unless there is one.
func NewOrderForm(v view.Context, day time.Time) view.Request {
	o := outlineOf(v, day)
	d := &widget.StepForm{Heading: "Work order for " + o.selection.AssetID, Verb: "create the order", Waits: "Asking for parts and for the best time …"}
	return filled(d, o, func(ctx context.Context, c *client.Client, o *outline) error {
		if o.bill == nil {
			r := api.BOMRequest{CustomerID: o.site.CustomerID, SiteID: o.site.SiteID, AssetID: o.selection.AssetID}
			if o.plan != nil {
				r.ScheduleID = o.plan.ScheduleID
			}
			answer, err := c.GenerateBOM(ctx, r)
			if err != nil {
				return err
			}
			o.bill = answer.BOM
		}
		return o.propose(ctx, c, kindOfWork(o.bill), o.bill.MaintenanceType, o.bill.EstimatedHours)
	}, fillOrder)
}

func fillOrder(d *widget.StepForm, o outline) {
	bill := *o.bill
	parts := fmt.Sprintf("%s, %s", display.CountOf(bill.ItemCount, "item", "items"), display.Money(bill.TotalCost, bill.Currency))
	if bill.FaultFamily != "" {
		parts = widget.Family(bill.FaultFamily) + ": " + parts
	}
	if bill.Isolating {
		parts += "; the unit is down during it"
	}
	begin, why := o.begin()
	d.Intro = []string{terminal.Printable(parts) + ".", terminal.Printable(why)}
	d.Add("planned_start", widget.NewField("Begin", display.DateTimeLayout+", by the site's clock", display.DateTime(begin.In(o.zone))))
	d.Add("estimated_duration_hours", widget.NewField("Hours", "of work at the unit", display.Number(bill.EstimatedHours)))
	d.Add("priority", widget.NewField("Priority", "empty: from the finding; high, medium or low", ""))
	d.Add("assigned_technician", widget.NewField("Technician", "empty: unassigned", o.me))
	d.Add("note", widget.NewField("Note", "", ""))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		r := api.OrderRequest{Action: api.ActionCreate, CustomerID: o.site.CustomerID, SiteID: o.site.SiteID, AssetID: bill.AssetID, BOMID: bill.BOMID,
			Priority: strings.ToLower(d.Value("priority")), AssignedTechnician: d.Value("assigned_technician"), Note: d.Value("note")}
		if o.plan != nil {
			r.ScheduleID = o.plan.ScheduleID
		}
		var ok bool
		if r.PlannedStart, ok = d.Date("planned_start", "The begin", begin); !ok {
			return view.Call{}, false
		}
		r.EstimatedDurationHours, ok = d.Hours("estimated_duration_hours")
		return sendOrder(d, r), ok
	}
}

// NewPartsForm returns the form of the bill of materials of a repair.
func NewPartsForm(v view.Context) *widget.StepForm {
	o := outlineOf(v, time.Time{})
	kind, family := api.MaintenanceCorrective, ""
	if o.plan != nil {
		kind = o.plan.MaintenanceType
	}
	if o.finding != nil {
		family = o.finding.FaultFamily
	}
	d := &widget.StepForm{Heading: "Parts for " + o.selection.AssetID, Verb: "create the bill of materials",
		Intro: []string{"What the repair requires: parts by the fault, the unit's size and its components, and hours of work."}}
	d.Add("maintenance_type", widget.ChoiceField("Maintenance", api.MaintenanceTypes(), widget.Verbatim, kind))
	d.Add("fault_family", widget.NewField("Fault", "empty: the worst finding of the unit", family))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		r := api.BOMRequest{CustomerID: o.site.CustomerID, SiteID: o.site.SiteID, AssetID: o.selection.AssetID,
			MaintenanceType: d.Value("maintenance_type"), FaultFamily: strings.ReplaceAll(d.Value("fault_family"), " ", "_")}
		if o.plan != nil {
			r.ScheduleID = o.plan.ScheduleID
		}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := c.GenerateBOM(ctx, r)
			if err != nil {
				return view.Result{}, err
			}
			b := *answer.BOM
			return view.Result{Refresh: workQueries(), Focus: view.Decide, Apply: func(s *state.Site) { s.KnowBOM(b) },
				Notice: view.Notice(fmt.Sprintf("%s: %s, %s, %s h of work.", b.AssetID, display.CountOf(b.ItemCount, "item", "items"), display.Money(b.TotalCost, b.Currency), display.Number(b.EstimatedHours)))}, nil
		}}, true
	}
	return d
}

// NewPlanForm returns the form of planned maintenance of the selected unit: the
// work that the finding requires, at the best window, or at that of the chosen
// day.
func NewPlanForm(v view.Context, day time.Time) view.Request {
	o := outlineOf(v, day)
	o.plan = nil
	d := &widget.StepForm{Heading: "Plan maintenance of " + o.selection.AssetID, Verb: "plan it", Waits: "Asking for the best time …"}
	hours := v.Site.WorkHours(o.selection.AssetID)
	return filled(d, o, func(ctx context.Context, c *client.Client, o *outline) error {
		return o.propose(ctx, c, kindOfWork(o.bill), api.MaintenanceCorrective, hours)
	}, fillPlan)
}

func fillPlan(d *widget.StepForm, o outline) {
	kind, priority, reason := api.MaintenancePreventive, api.PriorityLow, ""
	if f := o.finding; f != nil && f.Active {
		kind, reason = api.MaintenanceCorrective, f.Summary
		priority = map[string]string{api.SeverityCritical: api.PriorityHigh, api.SeverityWarning: api.PriorityMedium}[f.SeverityLabel]
	}
	begin, why := o.begin()
	d.Intro = []string{terminal.Printable(why)}
	d.Add("maintenance_type", widget.ChoiceField("Maintenance", api.MaintenanceTypes(), widget.Verbatim, kind))
	d.Add("scheduled_date", widget.NewField("Date", display.DateTimeLayout+", by the site's clock", display.DateTime(begin.In(o.zone))))
	d.Add("priority", widget.ChoiceField("Priority", api.Priorities(), widget.Verbatim, priority))
	d.Add("reason", widget.Paragraph(widget.NewField("Reason", "the work, and its reason", reason), 3))
	if reason == "" {
		d.At = len(d.Fields) - 1
	}
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		r := api.ScheduleRequest{CustomerID: o.site.CustomerID, SiteID: o.site.SiteID, AssetID: o.selection.AssetID, MaintenanceType: d.Value("maintenance_type"),
			Priority: d.Value("priority"), Reason: d.Value("reason")}
		var ok bool
		if r.ScheduledDate, ok = d.Date("scheduled_date", "The date", begin); !ok {
			return view.Call{}, false
		}
		return sendSchedule(d, api.ActionCreate, r), d.Need("reason", "What work is planned, and why?")
	}
}

// NewRecurringForm returns the form of recurring preventive work.
func NewRecurringForm(v view.Context, day time.Time) *widget.StepForm {
	o := outlineOf(v, day)
	o.plan = nil
	first := nextMorning(o.now)
	if !day.IsZero() && day.Add(7*time.Hour).After(o.now) {
		first = day.Add(7 * time.Hour)
	}
	const days, months = "days", "months"
	d := &widget.StepForm{Heading: "Recurring maintenance of " + o.selection.AssetID, Verb: "plan it", ServerForm: widget.ServerForm{Zone: o.zone},
		Intro: []string{"The next date is counted from the day on which the one before was completed."}}
	d.Add("task", widget.NewField("Task", "as filters, thermography, yearly inspection", ""))
	d.Add("scheduled_date", widget.NewField("First date", display.DateTimeLayout+", by the site's clock", display.DateTime(first.In(o.zone))))
	d.Add("every", widget.NewField("Every", "a whole number", "6"))
	d.Add("unit", widget.NewChoice("of", []string{months, days}, widget.Verbatim))
	d.Add("priority", widget.ChoiceField("Priority", api.Priorities(), widget.Verbatim, api.PriorityLow))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		r := api.ScheduleRequest{CustomerID: o.site.CustomerID, SiteID: o.site.SiteID, AssetID: o.selection.AssetID, MaintenanceType: api.MaintenancePreventive,
			Priority: d.Value("priority"), Task: d.Value("task"), Reason: d.Value("task")}
		if !d.Need("task", "What work is done each time?") {
			return view.Call{}, false
		}
		var ok bool
		if r.ScheduledDate, ok = d.Date("scheduled_date", "The first date", first); !ok {
			return view.Call{}, false
		}
		n, ok := d.Count("every", "The number of "+d.Value("unit"), 1)
		if d.Value("unit") == days {
			r.EveryDays = n
		} else {
			r.EveryMonths = n
		}
		return sendSchedule(d, api.ActionCreate, r), ok
	}
	return d
}

// sendSchedule asks the service to make or to move a schedule.
func sendSchedule(from view.Caller, action string, r api.ScheduleRequest) view.Call {
	r.Action = action
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := c.MoveSchedule(ctx, r)
		if err != nil {
			return view.Result{}, err
		}
		done := view.Result{Refresh: workQueries(), Row: answer.ScheduleID}
		p := *answer.Schedule
		done.Apply = func(s *state.Site) { s.KnowSchedule(p) }
		done.Notice = func(v view.Context) view.Notify {
			return view.Notify{Text: answer.Message + ": " + p.AssetID + ", " + display.When(p.ScheduledDate.Time, v.SiteNow, v.Zone()) + ".", Role: themes.Accent}
		}
		if action == api.ActionCreate {
			done.Focus = view.Decide
		}
		return done, nil
	}}
}

// NewPlanMove returns the dialog of a move of a schedule.
func NewPlanMove(p api.Schedule, action string, v view.Context) *widget.StepForm {
	base := api.ScheduleRequest{ScheduleID: p.ScheduleID, Version: p.Version}
	d := &widget.StepForm{ServerForm: widget.ServerForm{Zone: v.Zone()}}
	facts := p.MaintenanceType + " " + p.AssetID + ", " + display.When(p.ScheduledDate.Time, v.SiteNow, v.Zone())
	if p.Reason != "" {
		facts += ": " + p.Reason
	}
	d.Intro = []string{facts + "."}
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		r := base
		r.Reason = d.Value("reason")
		return sendSchedule(d, action, r), true
	}
	switch action {
	case api.ActionConfirm:
		d.Heading, d.Verb = "Confirm the plan", "confirm"
		d.Add("reason", widget.NewField("Note", "who does it, what is booked", ""))
	case api.ActionComplete:
		d.Heading, d.Verb = "Complete the plan", "complete"
		d.Add("completed_at", widget.NewField("Done at", "empty: now; else "+display.DateTimeLayout, ""))
		d.Add("reason", widget.NewField("Note", "what was done", ""))
		if p.EveryDays > 0 || p.EveryMonths > 0 {
			d.Intro = append(d.Intro, "The next date follows: "+workflow.Recurs(p)+".")
		}
		d.Send = func(d *widget.StepForm) (view.Call, bool) {
			r := base
			r.Reason = d.Value("reason")
			ok := true
			if d.Value("completed_at") != "" {
				r.CompletedAt, ok = d.Date("completed_at", "The time", v.SiteNow)
			}
			return sendSchedule(d, action, r), ok
		}
	case api.ActionCancel:
		const goesOn, ends = "continues", "ends"
		d.Heading, d.Verb = "Cancel the plan", "cancel it"
		d.Add("reason", widget.NewField("Reason", "", ""))
		if p.EveryDays > 0 || p.EveryMonths > 0 {
			d.Add("end_series", widget.NewChoice("The series", []string{goesOn, ends}, widget.Verbatim))
		}
		d.Send = func(d *widget.StepForm) (view.Call, bool) {
			r := base
			r.Reason = d.Value("reason")
			r.EndSeries = slices.Contains(d.Names, "end_series") && d.Value("end_series") == ends
			return sendSchedule(d, action, r), d.Need("reason", "Why?")
		}
	}
	return d
}

// Diagnose requests a diagnosis of the selected finding.
func Diagnose(v view.Context) view.Call {
	hand, site := v.Selection, v.Site.Site
	return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		r, err := c.Diagnose(ctx, api.DiagnoseRequest{AssetID: hand.AssetID, SiteID: site.SiteID, CustomerID: site.CustomerID})
		if err != nil {
			return view.Result{}, err
		}
		words := hand.AssetID + ": " + r.RootCause
		if r.Confidence != nil && *r.Confidence > 0 {
			words += ", " + display.Percent(*r.Confidence)
		}
		return view.Result{Notice: view.Notice(words + "."), Focus: view.Orient, Refresh: []state.Query{state.QueryFindings, state.QueryActivities}, Apply: func(s *state.Site) {
			if s.Diagnosed == nil {
				s.Diagnosed = map[string]bool{}
			}
			s.Diagnosed[hand.FindingID] = true
		}}, nil
	}}
}

// workQueries returns what a step of work changes.
func workQueries() []state.Query {
	return []state.Query{state.QueryOrders, state.QueryOrder, state.QuerySchedules, state.QuerySchedule, state.QueryBOMs, state.QueryParts, state.QueryActivities}
}

// me returns who is signed in; empty when that is not known.
func me(v view.Context) string {
	if v.User == nil {
		return ""
	}
	return v.User.Username
}
