// Package notification is the screen of notifications: who is notified of alarms by
// which routes, who is on call, what was sent or suppressed, and the channels.
package notification

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Names of the tabs.
const (
	tabRoutes     = "routes"
	tabRotations  = "rotations"
	tabDeliveries = "deliveries"
	tabChannels   = "channels"
	tabPeople     = "people"
)

// How often the service is asked.
const (
	configPeriod   = 20 * time.Second
	deliveryPeriod = 10 * time.Second
	shiftPeriod    = 30 * time.Second
)

// screen is what the tabs share: whose configuration is shown, and how.
type screen struct {
	operator bool   // the configuration of the operator of the service
	status   string // of the deliveries that are shown; empty: all
	calendar calendar
}

// NewScreen shows the routes, rotations, deliveries, channels and people of the customer
// of the site on screen.
func NewScreen() *widget.TabView {
	s := &screen{}
	b := &widget.TabView{Heading: "Notifications", Keys: keymap.NotifyList, Tabs: []*widget.Tab{s.routes(), s.rotations(), s.deliveries(), s.channels(), s.people()}}
	b.Act, b.Reason = s.act, s.reason
	return b
}

// owner is whose configuration is shown.
func (s *screen) owner(v view.Context) string {
	if s.operator {
		return api.Every
	}
	return v.Site.CustomerID
}

// ownerText names the owner.
func (s *screen) ownerText(v view.Context) string {
	if s.operator {
		return "the operator of the service: its routes may select alarms of all customers"
	}
	return "customer " + v.Site.CustomerID
}

func (s *screen) config(v view.Context) api.NotificationConfig { return v.Site.Notify.Config.Data }

func (s *screen) configNeed(v view.Context) state.Need {
	return state.Need{Query: state.QueryNotifyConfig, Of: state.NotifyQuestion{Owner: s.owner(v)}.Of(), Period: configPeriod}
}

// statusOf is the status of a value about a question; another question is loading.
func statusOf[T any](v view.Context, n state.Need, value state.Value[T], empty bool) widget.ValueStatus {
	if v.Site.Wanted(n.Query) != n.Of {
		return widget.ValueStatus{Status: state.Loading}
	}
	return widget.StatusOf(value, v.Now, empty)
}

// configTab is a tab about a list of the configuration.
func (s *screen) configTab(name, empty string, count func(api.NotificationConfig) int) *widget.Tab {
	l := widget.NewTab(name)
	l.Empty = empty
	l.Needs = func(v view.Context) []state.Need { return []state.Need{s.configNeed(v)} }
	l.Status = func(v view.Context) widget.ValueStatus {
		return statusOf(v, s.configNeed(v), v.Site.Notify.Config, count(s.config(v)) == 0)
	}
	return l
}

// rowsOf makes rows of the configuration, none if it is of another owner.
func (s *screen) rowsOf(v view.Context, rows func(c api.NotificationConfig) []widget.Row) []widget.Row {
	if v.Site.Wanted(state.QueryNotifyConfig) != s.configNeed(v).Of {
		return nil
	}
	return rows(s.config(v))
}

func (s *screen) routes() *widget.Tab {
	l := s.configTab(tabRoutes, "No routes: no one is notified of alarms. Add channels and people first (left, right), then a route with c.", func(c api.NotificationConfig) int { return len(c.Routes) })
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "route", Width: 14, Min: 8}, {Title: "alarms", Width: 34, Min: 16}, {Title: "notified", Min: 16}, {Title: "state", Width: 8, Rank: 1}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		return s.rowsOf(v, func(c api.NotificationConfig) []widget.Row {
			rows := make([]widget.Row, 0, len(c.Routes))
			for _, r := range c.Routes {
				selects, steps, enabled := selection(r), stepsWords(c, r), onOff(r.Disabled)
				rows = append(rows, widget.Row{ID: r.RouteID, Sort: []any{r.RouteID, selects, steps, enabled.Text}, Cells: []widget.Cell{widget.Text(r.RouteID), widget.Text(selects), widget.Text(steps), enabled}})
			}
			return rows
		})
	}
	l.Detail = func(v view.Context, id string) []widget.Detail {
		c := s.config(v)
		r := widget.Find(c.Routes, func(r api.NotificationRoute) bool { return r.RouteID == id })
		if r == nil {
			return nil
		}
		lines := []widget.Detail{{Heading: cmp.Or(r.Name, r.RouteID)}}
		add := widget.FactsOf(&lines)
		add("alarms", selection(*r))
		add("hours", withZone(hoursText(r.Hours), r.Timezone))
		for n, step := range r.Steps {
			add("step "+itoa(n+1), stepWords(c, n, step))
		}
		add("then", repeatWords(*r))
		add("quiet", "alarms from "+widget.AlarmPriority(cmp.Or(r.UrgentFrom, api.AlertCritical))+" on are sent in quiet hours too")
		add("state", onOff(r.Disabled).Text)
		add("changed", changedWords(v, r.UpdatedAt, r.UpdatedBy, r.Version))
		add("owner", s.ownerText(v))
		return append(lines, widget.Detail{Text: "w: who would be notified now if an alarm were raised.", Role: themes.Dim})
	}
	return l
}

func (s *screen) channels() *widget.Tab {
	l := s.configTab(tabChannels, "No channels. Press c to add e-mail, a chat, a push service, a webhook or an Alertmanager.", func(c api.NotificationConfig) int { return len(c.Channels) })
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "channel", Width: 16, Min: 8}, {Title: "kind", Width: 12}, {Title: "address", Min: 12}, {Title: "credentials", Width: 14, Rank: 1}, {Title: "state", Width: 8}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		return s.rowsOf(v, func(c api.NotificationConfig) []widget.Row {
			rows := make([]widget.Row, 0, len(c.Channels))
			for _, ch := range c.Channels {
				enabled := onOff(ch.Disabled)
				rows = append(rows, widget.Row{ID: ch.ChannelID, Sort: []any{ch.ChannelID, ch.Kind, ch.Address, secretWords(ch), enabled.Text}, Cells: []widget.Cell{
					widget.Text(ch.ChannelID), widget.Text(ch.Kind), widget.QuietText(ch.Address), widget.QuietText(secretWords(ch)), enabled}})
			}
			return rows
		})
	}
	l.Detail = func(v view.Context, id string) []widget.Detail {
		c := s.config(v)
		ch := widget.Find(c.Channels, func(ch api.NotificationChannel) bool { return ch.ChannelID == id })
		if ch == nil {
			return nil
		}
		lines := []widget.Detail{{Heading: cmp.Or(ch.Name, ch.ChannelID)}}
		add := widget.FactsOf(&lines)
		add("kind", ch.Kind)
		add("address", ch.Address)
		add("secrets", secretWords(*ch))
		add("limit", itoa(cmp.Or(ch.Limit, 3))+" messages to the channel itself in ten minutes")
		var users []string
		for _, p := range c.People {
			if slices.ContainsFunc(p.Addresses, func(a api.NotificationAddress) bool { return a.ChannelID == id }) {
				users = append(users, cmp.Or(p.Name, p.PersonID))
			}
		}
		add("people", strings.Join(users, ", "))
		add("state", onOff(ch.Disabled).Text)
		add("changed", changedWords(v, ch.UpdatedAt, ch.UpdatedBy, ch.Version))
		return append(lines, widget.Detail{Text: "t: send a test message, and see its result.", Role: themes.Dim})
	}
	return l
}

func (s *screen) people() *widget.Tab {
	l := s.configTab(tabPeople, "No people. Press c to add one; its channels come first.", func(c api.NotificationConfig) int { return len(c.People) })
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "person", Width: 14, Min: 8}, {Title: "addresses", Min: 16}, {Title: "time zone", Width: 18, Min: 10, Rank: 2}, {Title: "quiet", Width: 14, Rank: 1}, {Title: "from", Width: 9}, {Title: "state", Width: 8}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		return s.rowsOf(v, func(c api.NotificationConfig) []widget.Row {
			rows := make([]widget.Row, 0, len(c.People))
			for _, p := range c.People {
				enabled, name, least := onOff(p.Disabled), cmp.Or(p.Name, p.PersonID), "all"
				if p.Threshold != "" {
					least = widget.AlarmPriority(p.Threshold)
				}
				rows = append(rows, widget.Row{ID: p.PersonID, Sort: []any{name, addressesText(p.Addresses), p.Timezone, hoursText(p.QuietHours), least, enabled.Text}, Cells: []widget.Cell{
					widget.Text(name), widget.Text(addressesText(p.Addresses)), widget.QuietText(cmp.Or(p.Timezone, "UTC")), widget.QuietText(hoursText(p.QuietHours)), widget.QuietText(least), enabled}})
			}
			return rows
		})
	}
	l.Detail = func(v view.Context, id string) []widget.Detail {
		c := s.config(v)
		p := widget.Find(c.People, func(p api.NotificationPerson) bool { return p.PersonID == id })
		if p == nil {
			return nil
		}
		lines := []widget.Detail{{Heading: cmp.Or(p.Name, p.PersonID)}}
		add := widget.FactsOf(&lines)
		add("id", p.PersonID)
		add("user", p.Username)
		for _, a := range p.Addresses {
			add(a.ChannelID, addressWords(a))
		}
		add("zone", cmp.Or(p.Timezone, "UTC"))
		add("working", hoursText(p.WorkingHours))
		add("quiet", hoursText(p.QuietHours))
		if p.Threshold != "" {
			add("from", "alarms of priority "+widget.AlarmPriority(p.Threshold)+" on")
		}
		add("limit", itoa(cmp.Or(p.Limit, 3))+" messages in ten minutes, the last of which is a summary")
		add("reports", strings.Join(p.Reports, ", "))
		add("state", onOff(p.Disabled).Text)
		add("changed", changedWords(v, p.UpdatedAt, p.UpdatedBy, p.Version))
		return append(lines, widget.Detail{Text: "t: send a test message to each address, and see the results.", Role: themes.Dim})
	}
	return l
}

// canOperate is why a person may not see the configuration of the operator.
func canOperate(v view.Context) string {
	if v.User != nil && !slices.Contains(v.User.CustomerIDs, api.Every) {
		return "your account does not cover all customers"
	}
	return ""
}

// reason is why an action of the screen is not available.
func (s *screen) reason(l *widget.Tab, a keymap.Action, v view.Context) string {
	item, selected := itemKind(l.Name), l.List.Current() != ""
	switch a {
	case keymap.NotifyAdd, keymap.NotifyEdit, keymap.NotifyRemove:
		switch {
		case item == "":
			return "deliveries are not edited"
		case !s.known(v):
			return "the configuration is not known yet"
		case a != keymap.NotifyAdd && !selected:
			return "nothing is selected"
		}
	case keymap.NotifyTest:
		if l.Name != tabChannels && l.Name != tabPeople || !selected {
			return "select a channel or a person first"
		}
	case keymap.NotifySpan, keymap.NotifyEarlier, keymap.NotifyLater:
		if l.Name != tabRotations {
			return "only rotations have a calendar"
		}
	case keymap.NotifyOverride, keymap.NotifyAbsence, keymap.NotifyClear:
		if l.Name != tabRotations || !selected {
			return "select a rotation first"
		}
		if r := s.rotation(v, l.List.Current()); a == keymap.NotifyClear && (r == nil || len(r.Overrides)+len(r.Absences) == 0) {
			return "the rotation has neither overrides nor absences"
		}
	case keymap.NotifyRetry:
		if d := s.delivery(v, l.List.Current()); l.Name != tabDeliveries || d == nil || d.Status != "dead" {
			return "select a dead delivery first"
		}
	case keymap.NotifyStatus:
		if l.Name != tabDeliveries {
			return "only deliveries have a status"
		}
	case keymap.NotifyOwner:
		return canOperate(v)
	case keymap.NotifyExplain:
		if len(v.Site.AlertLog.Data)+len(v.Site.Alerts.Data.Alerts) == 0 && s.delivery(v, l.List.Current()) == nil {
			return "the site has no alarm to explain"
		}
	}
	return ""
}

func (s *screen) known(v view.Context) bool {
	return v.Site.Wanted(state.QueryNotifyConfig) == s.configNeed(v).Of && !v.Site.Notify.Config.At.IsZero()
}

// itemKind is the kind of the items of a tab; empty if it has none.
func itemKind(tab string) string {
	return map[string]string{tabRoutes: api.NotificationRouteKind, tabRotations: api.NotificationRotationKind, tabChannels: api.NotificationChannelKind, tabPeople: api.NotificationPersonKind}[tab]
}

// act is what a key of the screen leads to.
func (s *screen) act(l *widget.Tab, a keymap.Action, v view.Context) view.Request {
	if s.reason(l, a, v) != "" {
		return nil
	}
	id, c := l.List.Current(), s.config(v)
	switch a {
	case keymap.NotifyOwner:
		s.operator = !s.operator
	case keymap.NotifySpan:
		s.calendar.month, s.calendar.shift = !s.calendar.month, 0
	case keymap.NotifyEarlier:
		s.calendar.shift--
	case keymap.NotifyLater:
		s.calendar.shift++
	case keymap.NotifyStatus:
		s.status = statuses[(slices.Index(statuses, s.status)+1)%len(statuses)]
	case keymap.NotifyWho:
		return view.OpenDialog{Dialog: NewWhoForm(v, s.owner(v), state.NotifyQuestion{})}
	case keymap.NotifyExplain:
		return view.OpenDialog{Dialog: NewExplainForm(v, s.owner(v), c, s.delivery(v, id))}
	case keymap.NotifyTest:
		return sendTest(s.owner(v), l.Name == tabPeople, id)
	case keymap.NotifyRetry:
		return retry(id)
	case keymap.NotifyOverride:
		return view.OpenDialog{Dialog: NewOverrideForm(v, s.owner(v), c, *s.rotation(v, id), false)}
	case keymap.NotifyAbsence:
		return view.OpenDialog{Dialog: NewOverrideForm(v, s.owner(v), c, *s.rotation(v, id), true)}
	case keymap.NotifyClear:
		return view.OpenDialog{Dialog: NewClearForm(s.owner(v), c, *s.rotation(v, id))}
	case keymap.NotifyAdd:
		return view.OpenDialog{Dialog: newItemForm(itemKind(l.Name), s.owner(v), c, "")}
	case keymap.NotifyEdit:
		return view.OpenDialog{Dialog: newItemForm(itemKind(l.Name), s.owner(v), c, id)}
	case keymap.NotifyRemove:
		return view.OpenDialog{Dialog: NewRemove(itemKind(l.Name), s.owner(v), c, id)}
	case keymap.Open:
		if d := s.delivery(v, id); l.Name == tabDeliveries && d != nil {
			return openDelivery(s.owner(v), *d)
		}
	}
	return nil
}

func (s *screen) rotation(v view.Context, id string) *api.NotificationRotation {
	return widget.Find(s.config(v).Rotations, func(r api.NotificationRotation) bool { return r.RotationID == id })
}
