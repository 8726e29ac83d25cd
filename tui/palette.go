package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/app"
	"app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// paletteDialog lists every action, site, unit, alarm, finding, order, plan,
// setting, layout and theme; recent choices are first.
func (m *Model) paletteDialog() view.Dialog {
	var choices []widget.Choice
	add := func(id string, c widget.Choice) {
		c.Do = view.Batch{view.Remember{ID: id}, c.Do}
		c.Recent = slices.Contains(m.places.recent, id)
		c.Order = slices.Index(m.places.recent, id)
		choices = append(choices, c)
	}
	for _, e := range m.paletteActions() {
		add("do "+string(e.Action), widget.Choice{
			Text: e.Binding.Help().Desc, Key: e.Binding.Help().Key, Terms: paletteWords(e.Action), Why: m.disabled(e), Quiet: m.never(e), Do: view.Run{Action: e.Action},
		})
	}
	for _, e := range m.o.Keys.Entries() { // those of other panes and screens open these
		opens, ok := scopeOpens[e.Scope]
		if !ok || e.Scope == m.nav.scopes()[0] {
			continue
		}
		opener, _ := m.o.Keys.Entry(opens)
		then := view.Request(view.Run{Action: e.Action})
		if e.Dangerous {
			then = view.Notify{Text: "Select an object first, then press " + e.Binding.Help().Key + ": " + e.Binding.Help().Desc + ".", Role: themes.Text}
		}
		if through, inner := scopeThrough[e.Scope]; inner {
			step, _ := m.o.Keys.Entry(through)
			then = view.Notify{Text: "Select a row and press " + step.Binding.Help().Key + ", then " + e.Binding.Help().Key + ": " + e.Binding.Help().Desc + ".", Role: themes.Text}
		}
		add("do "+string(e.Action), widget.Choice{
			Text: e.Binding.Help().Desc, Key: strings.TrimSpace(opener.Binding.Help().Key + ", " + e.Binding.Help().Key), Terms: paletteWords(e.Action), Why: m.disabled(opener), Quiet: true,
			Do: view.Batch{view.Run{Action: opens}, then},
		})
	}
	for _, s := range m.data.Sites.Data {
		add("site "+m.data.siteLabel(s), widget.Choice{Text: "site " + m.data.siteLabel(s), Detail: s.Name, Do: view.OpenSite{Site: s.Ref()}})
	}
	m.paletteThings(add)
	for _, s := range settings.All() {
		add("set "+s.Name, widget.Choice{Text: "setting " + s.Title, Detail: m.prefs.value(s.Name), Terms: s.Group + " " + s.Name, Do: m.openSetting(s.Name)})
	}
	for _, name := range m.presetNames() {
		a, _ := m.preset(name)
		add("panes "+name, widget.Choice{Text: "layout " + name, Detail: a.String(), Do: view.Preview{Name: settings.Preset, Value: a.String()}})
	}
	for _, t := range m.o.Themes {
		add("theme "+t.Name, widget.Choice{Text: "theme " + t.Name, Detail: t.Title, Do: view.Set{Name: settings.Theme, Value: t.Name}})
	}
	slices.SortStableFunc(choices, func(a, b widget.Choice) int {
		switch {
		case a.Recent != b.Recent && a.Recent:
			return -1
		case a.Recent != b.Recent:
			return 1
		case a.Recent:
			return cmp.Compare(a.Order, b.Order)
		}
		return 0
	})
	return widget.NewChooser("Palette", "type what you want to do or find", choices, nil)
}

// scopeOpens are the actions that open the pane or screen of a scope.
var scopeOpens = map[keymap.Scope]keymap.Action{
	keymap.InObserve: keymap.FocusObserve, keymap.InOrient: keymap.FocusOrient, keymap.InDecide: keymap.FocusDecide, keymap.InAct: keymap.FocusAct,
	keymap.AlarmList: keymap.Alarms, keymap.AssetList: keymap.Assets, keymap.UploadList: keymap.Uploads, keymap.UserList: keymap.Users, keymap.FleetList: keymap.Fleet, keymap.ShiftLog: keymap.Shift, keymap.KeyList: keymap.APIKeys, keymap.SourceList: keymap.Sources,
	keymap.AuditList: keymap.Audit, keymap.InLog: keymap.Log, keymap.ModelList: keymap.Models, keymap.KPIList: keymap.KPIs, keymap.StockList: keymap.Stock,
	keymap.SubscriptionList: keymap.Subscriptions, keymap.PlanList: keymap.Schedules, keymap.NotifyList: keymap.Notifications, keymap.InSettings: keymap.Settings, keymap.RunList: keymap.Runs, keymap.ComponentList: keymap.Assets, keymap.DeliveryList: keymap.Subscriptions,
}

// scopeThrough are the actions that open, from a row of the screen of scopeOpens, the
// screen of a scope.
var scopeThrough = map[keymap.Scope]keymap.Action{keymap.ComponentList: keymap.Components, keymap.DeliveryList: keymap.Open}

// userWords are further words by which people look for actions.
var userWords = map[keymap.Action]string{
	keymap.AddUser: "new user, create account", keymap.EditUser: "role, permission", keymap.BlockUser: "lock account", keymap.ResetFactor: "mfa totp authenticator", keymap.CreateKey: "new token, api key",
	keymap.Upload: "import csv data", keymap.ImportFile: "upload csv data", keymap.Gaps: "interpolation", keymap.Sources: "gateway, modbus, mqtt, connections", keymap.Models: "ai", keymap.TrainNow: "retrain, learn again", keymap.ForecastNow: "new forecast, predict", keymap.FillNow: "interpolate now", keymap.DetectNow: "find faults, history, past", keymap.BackcastNow: "hindcast, forecasts of past days, yesterday", keymap.PromoteModel: "activate, deploy model",
	keymap.RunDetection: "detect now, find faults", keymap.Fleet: "portfolio, all sites", keymap.History: "summary of the past, look back, all findings, former faults", keymap.Assets: "inverters, devices", keymap.KPIs: "report, energy of last month, month, year, performance ratio, PR, yield, availability", keymap.Export: "report, export, save, spreadsheet, download",
	keymap.EditSite: "DC AC rating, pyranometer, sensor", keymap.EditContract: "guarantee, contractual", keymap.Stock: "spare parts, inventory", keymap.Subscriptions: "webhook", keymap.Audit: "history, who did",
	keymap.MakeOrder: "new work order, ticket, repair", keymap.AssignOrder: "technician", keymap.MakePlan: "schedule maintenance", keymap.Acknowledge: "ack alarm", keymap.Shelve: "snooze, mute alarm", keymap.Alarms: "shelved, snoozed, suppressed, cleared alarms",
	keymap.Notifications: "escalation, on-call, pager, oncall rota, schedule, email, e-mail, mail, sms, push", keymap.NotifyWho: "simulate, dry run, what if", keymap.NotifyTest: "try channel", keymap.NotifyExplain: "why was I not notified",
	keymap.Shift: "handover, changeover, what is new", keymap.HandOver: "hand over, handover, end of shift", keymap.AddNote: "comment, log book", keymap.MarkSeen: "mark as read",
	keymap.Themes: "colors, dark, light", keymap.Forecast: "prediction, tomorrow", keymap.SignOut: "logout", keymap.Quit: "exit, leave", keymap.Silence: "mute, sound",
}

// paletteWords returns the words that find an action in addition to its description.
func paletteWords(a keymap.Action) string {
	return strings.ReplaceAll(string(a), "-", " ") + " " + userWords[a]
}

// paletteActions returns the actions that the palette lists: those for the palette,
// and the own ones of the pane or the screen that has the keys.
func (m *Model) paletteActions() []keymap.Entry {
	own := m.nav.scopes()[0]
	var out []keymap.Entry
	for _, e := range m.o.Keys.Entries() {
		switch {
		case m.nav.screen() != nil && e.Scope == keymap.Panes: // not while a further screen has the keys
		case e.Palette || e.Scope == own && own != "":
			out = append(out, e)
		}
	}
	return out
}

// never reports whether the user's role cannot perform an action. Such an action is
// found in a search, with the reason, but is not listed otherwise.
func (m *Model) never(e keymap.Entry) bool {
	return e.Needs&keymap.NeedsWrite != 0 && m.context().ReadOnly != "" ||
		e.Needs&keymap.NeedsUsers != 0 && !m.session.may(api.PermissionUsers) || e.Needs&keymap.NeedsAudit != 0 && !m.session.may(api.PermissionAudit)
}

// paletteThings adds the objects of the site on screen.
func (m *Model) paletteThings(add func(id string, c widget.Choice)) {
	site := m.data.Site
	if site == nil {
		return
	}
	for _, a := range site.Assets.Data {
		add("unit "+a.AssetID, widget.Choice{Text: "unit " + a.AssetID, Detail: a.Name, Do: view.Select{Selection: view.Selection{AssetID: a.AssetID}}})
	}
	for _, a := range site.Alerts.Data.Alerts {
		if a.AssetID == "" {
			continue
		}
		hand := view.Selection{AssetID: a.AssetID}
		if a.Metadata != nil {
			hand.FindingID = a.Metadata.SummaryID
		}
		add("alarm "+a.AlertID, widget.Choice{Text: "alarm " + widget.Family(a.AlertType) + " " + a.AssetID, Detail: a.State, Terms: widget.AlarmPriority(a.AlertSeverity) + " " + a.Message, Do: view.Select{Selection: hand, Focus: view.Observe}})
	}
	for _, f := range site.Findings.Data {
		add("finding "+f.SummaryID, widget.Choice{
			Text: "finding " + widget.Family(f.FaultFamily) + " " + f.AssetID, Detail: findingDetail(f), Terms: f.SummaryID,
			Do: view.Select{Selection: view.Selection{AssetID: f.AssetID, FindingID: f.SummaryID}},
		})
	}
	for _, o := range site.Orders.Data {
		add("order "+o.OrderID, widget.Choice{
			Text: "order " + o.AssetID + " " + o.MaintenanceType, Detail: workflow.OrderStatus(o.Status), Terms: o.OrderID + " " + o.AssignedTechnician + " " + o.FaultFamily,
			Do: view.Select{Selection: view.Selection{AssetID: o.AssetID, FindingID: o.SummaryID, OrderID: o.OrderID}, Focus: view.Act},
		})
	}
	for _, s := range site.Schedules.Data {
		add("plan "+s.ScheduleID, widget.Choice{
			Text: "plan " + s.AssetID + " " + s.MaintenanceType, Detail: display.When(s.ScheduledDate.Time, m.siteNow(), site.Zone), Terms: s.ScheduleID + " " + s.Status + " " + s.Reason,
			Do: view.Select{Selection: view.Selection{AssetID: s.AssetID, OrderID: s.OrderID}, Focus: view.Decide},
		})
	}
}

// openSetting goes to a setting on its screen.
func (m *Model) openSetting(name string) view.Request {
	s := app.NewSettings(m.configured)
	s.SelectRow(app.SettingID(name))
	return view.OpenScreen{Screen: s}
}

func findingDetail(f api.Finding) string {
	if !f.Active {
		return "over"
	}
	return widget.FindingPriority(f)
}

func (m *Model) themeDialog() view.Dialog {
	var choices []widget.Choice
	for _, t := range m.o.Themes {
		choices = append(choices, widget.Choice{
			Text: t.Name, Detail: t.Title, Do: view.Set{Name: settings.Theme, Value: t.Name}, Seen: view.Preview{Name: settings.Theme, Value: t.Name},
		})
	}
	d := widget.NewChooser("Theme", "", choices, view.Preview{Name: settings.Theme, Value: m.prefs.theme.Name})
	d.Mark(m.prefs.theme.Name)
	return d
}

// unitDialog asks for the unit of an action that needs one, the unit that loses most first;
// without units it says that one is missing.
func (m *Model) unitDialog(r view.ChooseUnit) view.Request {
	if m.data.Site == nil || len(m.data.Site.Assets.Data) == 0 {
		return view.Notify{Text: "Unavailable: " + selectUnit + ".", Role: themes.Dim}
	}
	worst := map[string]api.Finding{}
	for _, f := range m.data.Site.Findings.Data {
		if was, ok := worst[f.AssetID]; f.Active && (!ok || f.EnergyAtRiskKW > was.EnergyAtRiskKW) {
			worst[f.AssetID] = f
		}
	}
	units := slices.Clone(m.data.Site.Assets.Data)
	slices.SortStableFunc(units, func(a, b api.Asset) int {
		return cmp.Compare(worst[b.AssetID].EnergyAtRiskKW, worst[a.AssetID].EnergyAtRiskKW)
	})
	var choices []widget.Choice
	for _, a := range units {
		detail, selected := a.Name, view.Selection{AssetID: a.AssetID}
		if f, ok := worst[a.AssetID]; ok {
			detail, selected.FindingID = widget.Family(f.FaultFamily)+", "+display.Power(f.EnergyAtRiskKW), f.SummaryID
		}
		choices = append(choices, widget.Choice{Text: a.AssetID, Terms: a.Name, Detail: detail, Do: view.Batch{view.Select{Selection: selected}, r.Then}})
	}
	what, _, _ := strings.Cut(r.What, " the selected ")
	for _, preposition := range []string{" of", " on", " for"} {
		what = strings.TrimSuffix(what, preposition)
	}
	return view.OpenDialog{Dialog: widget.NewChooser("Unit: "+what, "type a part of its name", choices, nil)}
}

func (m *Model) siteDialog() view.Dialog {
	var choices []widget.Choice
	sites, fleet := m.data.Sites.Data, map[api.SiteRef]api.FleetSite{}
	label := state.SiteLabels(sites)
	for _, f := range m.data.Admin.Fleet.Data {
		fleet[f.Ref()] = f
	}
	for _, s := range sites {
		choice := widget.Choice{Text: label(s.Ref()), Terms: s.Name, Do: view.OpenSite{Site: s.Ref()}}
		if f, ok := fleet[s.Ref()]; ok {
			choice.Detail, choice.Strip = plant.SiteFacts(f), func(r terminal.Region, v view.Context) { plant.DrawHours(r, f.Hours, v) }
		} else {
			choice.Detail = fmt.Sprintf("%s, %s, %s", s.Name, display.Power(s.CapacityKW), display.CountOf(s.AssetCount, "unit", "units"))
		}
		choices = append(choices, choice)
	}
	d := widget.NewChooser("Site", "", choices, nil)
	d.Mark(m.data.siteLabel(m.data.siteRecord()))
	return d
}
