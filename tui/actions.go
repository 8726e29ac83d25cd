package tui

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/admin"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/analysis"
	"app.sunloop/tui/view/app"
	"app.sunloop/tui/view/maintenance"
	"app.sunloop/tui/view/notification"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// action performs an action of the console. It returns a request, a command, or
// neither.
type action func(m *Model) (view.Request, tea.Cmd)

// actions are the console's own actions; all others belong to the view that has the
// keys. A package variable cannot refer to the code that performs actions, so an
// action leads to another only by its request.
var actions = map[keymap.Action]action{
	keymap.FocusObserve: focus(layout.Observe),
	keymap.FocusOrient:  focus(layout.Orient),
	keymap.FocusDecide:  focus(layout.Decide),
	keymap.FocusAct:     focus(layout.Act),
	keymap.FocusNext:    do(func(m *Model) { m.nav.goTo(m.nav.focus.Next()) }),
	keymap.FocusPrev:    do(func(m *Model) { m.nav.goTo(m.nav.focus.Previous()) }),
	keymap.Zoom:         do(func(m *Model) { m.nav.zoom = !m.nav.zoom }),
	keymap.Back:         request((*Model).back),

	keymap.Alarms:        open(func(*Model) view.View { return alarm.NewScreen() }),
	keymap.APIKeys:       open(func(m *Model) view.View { return admin.NewAPIKeys(m.o.Now) }),
	keymap.Assets:        open(func(*Model) view.View { return plant.NewAssets() }),
	keymap.Audit:         open(func(*Model) view.View { return admin.NewAudit() }),
	keymap.Fleet:         open(func(*Model) view.View { return plant.NewFleet() }),
	keymap.Forecast:      open(func(*Model) view.View { return analysis.NewForecast() }),
	keymap.Gaps:          open(func(*Model) view.View { return analysis.NewGaps() }),
	keymap.History:       open(func(*Model) view.View { return plant.NewHistory(time.Time{}, time.Time{}) }),
	keymap.KPIs:          open(func(*Model) view.View { return analysis.NewKPIs() }),
	keymap.Log:           open(func(m *Model) view.View { return admin.NewLog(m.o.LogLines) }),
	keymap.Models:        open(func(*Model) view.View { return analysis.NewModels() }),
	keymap.Notifications: open(func(*Model) view.View { return notification.NewScreen() }),
	keymap.OpenUnit:      open(func(m *Model) view.View { return analysis.NewUnit(m.nav.selection.AssetID) }),
	keymap.OrderWhole:    open(func(*Model) view.View { return maintenance.NewOrderScreen() }),
	keymap.PlanChoices:   open(func(m *Model) view.View { return maintenance.NewPlanChoices(m.chosenDay()) }),
	keymap.Runs:          open(func(*Model) view.View { return analysis.NewRuns() }),
	keymap.Schedules:     open(func(*Model) view.View { return maintenance.NewSchedules() }),
	keymap.Settings:      open(func(m *Model) view.View { return app.NewSettings(m.configured) }),
	keymap.Shift:         open(func(*Model) view.View { return operations.NewShift() }),
	keymap.Sources:       open(func(*Model) view.View { return plant.NewSources() }),
	keymap.Stock:         open(func(*Model) view.View { return maintenance.NewStock() }),
	keymap.Subscriptions: open(func(*Model) view.View { return maintenance.NewSubscriptions() }),
	keymap.Uploads: open(func(m *Model) view.View {
		return plant.NewUploads(func(name string) string { return m.data.paths[name] })
	}),
	keymap.Users: open(func(*Model) view.View { return admin.NewUsers() }),

	keymap.Columns:      request((*Model).chooseColumns),
	keymap.Help:         dialog((*Model).helpDialog),
	keymap.Palette:      dialog((*Model).paletteDialog),
	keymap.Presets:      dialog((*Model).presetDialog),
	keymap.RecurPlan:    dialog(func(m *Model) view.Dialog { return maintenance.NewRecurringForm(m.context(), m.chosenDay()) }),
	keymap.ResolveIssue: dialog(func(m *Model) view.Dialog { return maintenance.NewResolve(m.orderOnScreen()) }),
	keymap.Sites:        dialog((*Model).siteDialog),
	keymap.Themes:       dialog((*Model).themeDialog),
	keymap.Upload:       dialog(func(m *Model) view.Dialog { return m.importForm() }),

	keymap.AssignOrder:   changeOrder(api.ActionAssign),
	keymap.StartOrder:    changeOrder(api.ActionStart),
	keymap.HoldOrder:     changeOrder(api.ActionHold),
	keymap.ResumeOrder:   changeOrder(api.ActionResume),
	keymap.CompleteOrder: changeOrder(api.ActionComplete),
	keymap.CancelOrder:   changeOrder(api.ActionCancel),
	keymap.ReopenOrder:   changeOrder(api.ActionReopen),
	keymap.CancelPlan:    changePlan(api.ActionCancel),
	keymap.CompletePlan:  changePlan(api.ActionComplete),
	keymap.ConfirmPlan:   changePlan(api.ActionConfirm),
	keymap.TakeIssue:     changeIssue(maintenance.NewTakeIssue),
	keymap.CloseIssue:    changeIssue(maintenance.NewCloseIssue),
	keymap.MakeOrder:     request((*Model).makeOrder),
	keymap.MakePlan:      request((*Model).makePlan),
	keymap.RunDetection:  request((*Model).detect),
	keymap.NextFinding:   do((*Model).nextFinding),
	keymap.NextStep:      request((*Model).nextStep),

	keymap.Copy:       do((*Model).copySelection),
	keymap.CopyShown:  do((*Model).copyShown),
	keymap.Export:     do(func(m *Model) { m.export(asCSV) }),
	keymap.ExportJSON: do(func(m *Model) { m.export(asJSON) }),
	keymap.Filter:     do((*Model).startFilter),
	keymap.Refresh:    command((*Model).refresh),
	keymap.Silence:    do((*Model).silence),
	keymap.Mouse:      command((*Model).toggleMouse),
	keymap.SignOut:    command((*Model).signOut),
	keymap.Suspend:    command(func(*Model) tea.Cmd { return tea.Suspend }),
	keymap.Quit:       (*Model).quit,
	keymap.QuitNow:    command((*Model).quitTwice),
}

// do returns an action that changes the console alone.
func do(f func(m *Model)) action {
	return func(m *Model) (view.Request, tea.Cmd) { f(m); return nil, nil }
}

// command returns an action that starts a command.
func command(f func(m *Model) tea.Cmd) action {
	return func(m *Model) (view.Request, tea.Cmd) { return nil, f(m) }
}

// request returns an action that makes a request; nil for none.
func request(f func(m *Model) view.Request) action {
	return func(m *Model) (view.Request, tea.Cmd) { return f(m), nil }
}

// open returns an action that opens a screen.
func open(f func(m *Model) view.View) action {
	return request(func(m *Model) view.Request { return view.OpenScreen{Screen: f(m)} })
}

// dialog returns an action that opens a dialog.
func dialog(f func(m *Model) view.Dialog) action {
	return request(func(m *Model) view.Request { return view.OpenDialog{Dialog: f(m)} })
}

// focus returns an action that goes to a pane.
func focus(p layout.Pane) action { return do(func(m *Model) { m.nav.goTo(p) }) }

// changeOrder returns an action that changes the status of the order on screen.
func changeOrder(to string) action {
	return request(func(m *Model) view.Request { return maintenance.MoveOrder(m.orderOnScreen(), to, m.context()) })
}

// changePlan returns an action that changes the schedule that Decide shows.
func changePlan(to string) action {
	return request(func(m *Model) view.Request {
		if p := m.nav.decide.SelectedPlan(m.context()); p != nil {
			return view.OpenDialog{Dialog: maintenance.NewPlanMove(*p, to, m.context())}
		}
		return nil
	})
}

// changeIssue returns an action that opens a form about the issue of the selected
// finding.
func changeIssue(form func(api.Issue, api.Finding) *widget.StepForm) action {
	return request(func(m *Model) view.Request {
		v := m.context()
		if f := workflow.SelectedFinding(v); f != nil {
			if i := operations.IssueOf(v, f.SummaryID); i != nil {
				return view.OpenDialog{Dialog: form(*i, *f)}
			}
		}
		return nil
	})
}

// back undoes one step: the filter, the screen, the change of pane by enter, the day,
// the zoom, and last the selection.
func (m *Model) back() view.Request {
	list := m.list()
	switch n := len(m.nav.trail); {
	case list != nil && list.Filter() != "":
		list.SetFilter("")
	case m.nav.screen() != nil:
		return view.Close{}
	case m.nav.panes[m.nav.focus].Back():
	case n > 0:
		m.nav.focus, m.nav.trail = m.nav.trail[n-1], m.nav.trail[:n-1]
	case m.data.Site != nil && !m.data.Site.PastDate.IsZero():
		m.data.ShowDay(time.Time{})
	case m.nav.zoom:
		m.nav.zoom = false
	default:
		m.nav.selection = view.Selection{}
	}
	return nil
}

// refresh requests the data on screen again.
func (m *Model) refresh() tea.Cmd {
	m.data.Planner.Invalidate(m.visibleQueries()...)
	return m.poll()
}

// quit leaves the screen, or the console.
func (m *Model) quit() (view.Request, tea.Cmd) {
	if m.nav.screen() != nil {
		return view.Close{}, nil
	}
	return nil, tea.Quit
}

// quitTwice leaves when pressed twice within two seconds.
func (m *Model) quitTwice() tea.Cmd {
	now := m.o.Now()
	if now.Sub(m.quits) < 2*time.Second {
		return tea.Quit
	}
	m.quits = now
	m.notify("Press ctrl+c again to leave.", themes.Text)
	return nil
}

// chooseColumns opens the choice of columns of the list that has the keys.
func (m *Model) chooseColumns() view.Request {
	list := m.list()
	if list == nil || len(list.Titles()) == 0 {
		return view.Notify{Text: "There is no list with columns here.", Role: themes.Dim}
	}
	return view.OpenDialog{Dialog: widget.NewColumns(list)}
}

// helpDialog shows the keys that are active now, then the others.
func (m *Model) helpDialog() view.Dialog {
	if s := m.nav.screen(); s != nil {
		return app.NewHelp(s.Title(), s.Scope(), [][2]string{{"esc", "back to the panes"}}, m.o.Keys)
	}
	p := m.nav.panes[m.nav.focus]
	return app.NewHelp(p.Title(), p.Scope(), p.Help(), m.o.Keys)
}

// orderOnScreen returns the order whose details Act shows, with its details if they are known.
func (m *Model) orderOnScreen() api.Order {
	return workflow.KnownOrder(m.context(), workflow.CurrentOrder(m.context()))
}

// chosenDay returns the day that was chosen in Decide; the zero time without one.
func (m *Model) chosenDay() time.Time { return m.nav.decide.ChosenDay(m.context()) }

// nextFinding selects the active finding after the selected one.
func (m *Model) nextFinding() {
	if m.data.Site == nil {
		return
	}
	var active []api.Finding
	at := -1
	for _, f := range m.data.Site.Findings.Data {
		if !f.Active {
			continue
		}
		if f.SummaryID == m.nav.selection.FindingID {
			at = len(active)
		}
		active = append(active, f)
	}
	if len(active) == 0 {
		m.notify("There is no active finding on this site.", themes.Dim)
		return
	}
	f := active[(at+1)%len(active)]
	m.nav.selection = view.Selection{AssetID: f.AssetID, FindingID: f.SummaryID}
	m.notes.notice = notice{}
}

// detect runs the detector on the selected unit.
func (m *Model) detect() view.Request {
	asset, site := m.nav.selection.AssetID, m.data.siteRecord()
	return view.Batch{
		view.Notify{Text: "Running detection on " + asset + " …", Role: themes.Dim},
		view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			words, role := asset+": detection found nothing abnormal.", themes.Dim
			switch r, err := c.Detect(ctx, api.AssetRef{AssetID: asset, SiteID: site.SiteID, CustomerID: site.CustomerID}, 0); {
			case err != nil:
				words, role = asset+": "+state.Sentence(err), themes.Warning
			case r.AnomaliesDetected != nil && *r.AnomaliesDetected > 0:
				words, role = asset+": detection found "+display.CountOf(*r.AnomaliesDetected, "anomaly", "anomalies")+".", themes.Accent
			}
			return view.Result{
				Notice:  func(view.Context) view.Notify { return view.Notify{Text: words, Role: role} },
				Refresh: []state.Query{state.QueryFindings, state.QueryActivities},
			}, nil
		}},
	}
}

// makeOrder opens the form of an order for the selected finding or unit. If the
// finding has an open order, that is selected instead.
func (m *Model) makeOrder() view.Request {
	if m.data.Site == nil {
		return nil
	}
	if o := m.data.Site.OpenOrder(m.nav.selection.FindingID); o != nil {
		m.nav.focus = layout.Act
		selection := m.nav.selection
		selection.OrderID = o.OrderID
		return view.Batch{view.Select{Selection: selection}, view.Notify{Text: "This finding has a work order already; here it is.", Role: themes.Text}}
	}
	return maintenance.NewOrderForm(m.context(), m.chosenDay())
}

// makePlan opens the form of planned maintenance of the selected unit.
func (m *Model) makePlan() view.Request {
	if m.data.Site == nil {
		return nil
	}
	return maintenance.NewPlanForm(m.context(), m.chosenDay())
}

// nextStep performs the next step from a finding to a verified repair, with a form
// that is filled in.
func (m *Model) nextStep() view.Request {
	v := m.context()
	way := workflow.WorkflowFor(v)
	dim := func(text string) view.Request { return view.Notify{Text: text, Role: themes.Dim} }
	switch {
	case way.Next == workflow.StepNone:
		return dim("There is no next step: " + way.Why + ".")
	case way.Next == workflow.StepTake:
		worst, _ := workflow.Worst(v)
		m.notes.notice = notice{}
		return view.Select{Selection: worst}
	case v.ReadOnly != "":
		return dim("Unavailable: " + v.ReadOnly + ".")
	case m.data.Link.Down:
		return dim("Unavailable: the service is not responding.")
	}
	if way.Finding != nil { // only a unit may have been selected
		m.nav.selection.FindingID = way.Finding.SummaryID
	}
	if way.Order != nil {
		m.nav.selection.OrderID = way.Order.OrderID
	}
	switch way.Next {
	case workflow.StepDetect:
		return m.detect()
	case workflow.StepDiagnose:
		return view.Batch{dim("Requesting the diagnosis …"), maintenance.Diagnose(m.context())}
	case workflow.StepPlan:
		return m.makePlan()
	case workflow.StepParts:
		return view.OpenDialog{Dialog: maintenance.NewPartsForm(m.context())}
	case workflow.StepOrder:
		return m.makeOrder()
	case workflow.StepResolve:
		return view.OpenDialog{Dialog: maintenance.NewResolve(m.orderOnScreen())}
	}
	m.nav.focus, m.nav.screens = layout.Act, nil
	return maintenance.MoveOrder(m.orderOnScreen(), way.Move, m.context())
}
