package notification

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

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

// statuses are the filters of deliveries, in turn; the first is all of them.
var statuses = []string{"", "dead", "pending", "held", "suppressed", "grouped", "superseded", "delivered"}

func (s *screen) deliveryNeed(v view.Context) state.Need {
	return state.Need{Query: state.QueryNotifyDeliveries, Of: state.NotifyQuestion{Owner: s.owner(v), Status: s.status}.Of(), Period: deliveryPeriod}
}

// shownDeliveries are the deliveries of the filter, newest first.
func (s *screen) shownDeliveries(v view.Context) []api.NotificationDelivery {
	if n := s.deliveryNeed(v); v.Site.Wanted(n.Query) != n.Of {
		return nil
	}
	return v.Site.Notify.Deliveries.Data
}

func (s *screen) delivery(v view.Context, id string) *api.NotificationDelivery {
	return widget.Find(s.shownDeliveries(v), func(d api.NotificationDelivery) bool { return deliveryID(d) == id })
}

// deliveryID is the id of a row: of the delivery, or of the message without one.
func deliveryID(d api.NotificationDelivery) string { return cmp.Or(d.DeliveryID, d.EntryID) }

func (s *screen) deliveries() *widget.Tab {
	l := widget.NewTab(tabDeliveries)
	l.Empty = "No messages of this status. Press w to see who would be notified of an alarm, f for the next status."
	l.Needs = func(v view.Context) []state.Need { return []state.Need{s.deliveryNeed(v), s.configNeed(v)} }
	l.Status = func(v view.Context) widget.ValueStatus {
		return statusOf(v, s.deliveryNeed(v), v.Site.Notify.Deliveries, len(s.shownDeliveries(v)) == 0)
	}
	l.Head = func(r terminal.Region, v view.Context, _ string) int {
		return v.Paragraph(r, 0, 0, fmt.Sprintf("Messages of %s: %s (f). enter explains the alarm.", s.ownerText(v), cmp.Or(s.status, "all")), themes.Dim)
	}
	l.Columns = deliveryColumns
	l.Rows = func(v view.Context) []widget.Row { return deliveryRows(v, s.config(v), s.shownDeliveries(v)) }
	l.Detail = func(v view.Context, id string) []widget.Detail {
		if d := s.delivery(v, id); d != nil {
			return deliveryDetail(v, s.config(v), *d)
		}
		return nil
	}
	return l
}

func deliveryColumns(view.Context) []widget.Column {
	return []widget.Column{{Title: "time", Width: 12, Min: 5}, {Title: "to", Width: 14, Min: 8}, {Title: "channel", Width: 10, Rank: 2}, {Title: "status", Width: 10}, {Title: "message", Min: 18}, {Title: "reason", Width: 22, Min: 14, Rank: 1}}
}

func deliveryRows(v view.Context, c api.NotificationConfig, list []api.NotificationDelivery) []widget.Row {
	rows := make([]widget.Row, 0, len(list))
	for _, d := range list {
		to := recipientWords(c, cmp.Or(d.Recipient, "all of the route"))
		title := cmp.Or(d.Title, strings.ReplaceAll(d.Kind, "_", " "))
		rows = append(rows, widget.Row{ID: deliveryID(d), Sort: []any{d.PlannedAt.String(), to, d.ChannelID, d.Status, title, whyWords(v, d)}, Cells: []widget.Cell{
			widget.QuietText(display.When(d.PlannedAt.Time, v.Now, v.Zone())), widget.Text(to), widget.QuietText(d.ChannelID), {Text: d.Status, Role: statusRole(d.Status)}, widget.Text(title), widget.QuietText(whyWords(v, d))}})
	}
	return rows
}

func statusRole(status string) themes.Role {
	switch status {
	case "dead":
		return themes.Warning
	case "pending", "held":
		return themes.Notice
	case "suppressed", "superseded", "grouped":
		return themes.Muted
	}
	return themes.Text
}

// whyWords is why a message was sent, held or not sent, or what went wrong.
func whyWords(v view.Context, d api.NotificationDelivery) string {
	text := d.Reason
	if d.Failure != "" {
		text = fmt.Sprintf("%s (%s)", d.Failure, display.CountOf(d.Attempts, "attempt", "attempts"))
	}
	if !d.Until.IsZero() {
		text += ", until " + display.When(d.Until.Time, v.Now, v.Zone())
	}
	return text
}

func deliveryDetail(v view.Context, c api.NotificationConfig, d api.NotificationDelivery) []widget.Detail {
	lines := []widget.Detail{{Heading: cmp.Or(d.Title, strings.ReplaceAll(d.Kind, "_", " "))}, {Label: "status", Text: d.Status, Role: statusRole(d.Status)}}
	add := widget.FactsOf(&lines)
	at := func(t api.Time) string {
		if t.IsZero() {
			return ""
		}
		return display.DateTimeSeconds(t.In(v.Zone()))
	}
	add("to", recipientWords(c, cmp.Or(d.Recipient, "all of the route")))
	add("by", strings.TrimSpace(d.ChannelID+" "+d.Address))
	add("why", whyWords(v, d))
	if d.RouteID != "" {
		add("route", fmt.Sprintf("%s, step %d", d.RouteID, d.Step))
	}
	add("planned", at(d.PlannedAt))
	add("sent", at(d.DeliveredAt))
	add("response", d.Detail)
	add("last try", at(d.LastAttemptAt))
	add("next try", at(d.NextAttemptAt))
	add("summary", d.SummaryID)
	add("site", d.SiteID)
	add("alarms", strings.Join(d.AlertIDs[:min(len(d.AlertIDs), 5)], ", "))
	if n := len(d.AlertIDs); n > 5 {
		add("", "and "+display.CountOf(n-5, "further alarm", "further alarms"))
	}
	add("incident", d.IncidentID)
	return lines
}

// decisionDetail says what each route does with an alarm.
func decisionDetail(c api.NotificationConfig, list []api.NotificationDecision) []widget.Detail {
	lines := []widget.Detail{{Heading: "Routes"}}
	if len(list) == 0 {
		return append(lines, widget.Detail{Text: "There is no route: no one is notified.", Role: themes.Warning})
	}
	for _, d := range list {
		text, role := "does not select it: "+d.Reason, themes.Dim
		if d.Selects {
			text, role = "selects it", themes.Text
			if len(d.Recipients) > 0 {
				text += ", notified " + recipients(c, d.Recipients)
			}
			if d.Reason != "" {
				text += "; " + d.Reason
			}
		}
		lines = append(lines, widget.Detail{Label: d.RouteID, Text: text, Role: role})
	}
	return lines
}

// noMessage is the row of an explanation without a message, whose details are the routes.
const noMessage = "-"

// explanation is a screen about the messages of one alarm.
func explanation(heading, empty string, query state.Query, q state.NotifyQuestion, about func(v view.Context) string, of func(v view.Context) state.Value[state.Explanation]) *widget.TableView {
	name := q.Of()
	config := func(v view.Context) api.NotificationConfig {
		if v.Site == nil {
			return api.NotificationConfig{}
		}
		return v.Site.Notify.Config.Data
	}
	known := func(v view.Context) (state.Explanation, bool) {
		if v.Site == nil || v.Site.Wanted(query) != name || of(v).At.IsZero() {
			return state.Explanation{}, false
		}
		return of(v).Data, true
	}
	return &widget.TableView{
		Heading: heading, Query: query, Of: name, Period: deliveryPeriod, Keys: keymap.NotifyList, Columns: deliveryColumns(view.Context{}), List: widget.List{SortBy: -1},
		Empty: empty,
		More: func(view.Context, string) []state.Need {
			return []state.Need{{Query: state.QueryNotifyConfig, Of: state.NotifyQuestion{Owner: q.Owner}.Of(), Period: configPeriod, Focused: true}}
		},
		Head: func(r terminal.Region, v view.Context) int {
			return v.Paragraph(r, 0, 0, about(v), themes.Dim) + 1
		},
		Status: func(v view.Context) widget.ValueStatus {
			e, ok := known(v)
			if v.Site == nil || v.Site.Wanted(query) != name {
				return widget.ValueStatus{Status: state.Loading}
			}
			return widget.StatusOf(of(v), v.Now, ok && len(e.Deliveries)+len(e.Decisions) == 0)
		},
		Rows: func(v view.Context) []widget.Row {
			e, ok := known(v)
			if ok && len(e.Deliveries) == 0 {
				return []widget.Row{{ID: noMessage, Sort: []any{nil, nil, nil, nil, empty, nil}, Cells: []widget.Cell{{}, {}, {}, {}, widget.Text(empty)}}}
			}
			return deliveryRows(v, config(v), e.Deliveries)
		},
		Detail: func(v view.Context, id string) []widget.Detail {
			e, _ := known(v)
			lines := []widget.Detail{}
			if d := widget.Find(e.Deliveries, func(d api.NotificationDelivery) bool { return deliveryID(d) == id }); d != nil {
				lines = deliveryDetail(v, config(v), *d)
			}
			return append(lines, decisionDetail(config(v), e.Decisions)...)
		},
		Reason: func(a keymap.Action, _ string, _ view.Context) string {
			if a == keymap.NotifyWho && query == state.QuerySimulation || a == keymap.Open {
				return ""
			}
			return "not on this screen"
		},
	}
}

// NewExplanation explains the notifications of an alarm: what was sent to whom and when, or what
// held or suppressed it. A person narrows it.
func NewExplanation(owner, alertID, person string) view.View {
	q := state.NotifyQuestion{Owner: owner, AlertID: alertID, PersonID: person}
	return explanation("Explain an alarm", "No message about this alarm was planned.", state.QueryExplanation, q, func(v view.Context) string {
		text := "Alarm " + alertWords(v, alertID)
		if person != "" && v.Site != nil {
			text += ", messages to " + personName(v.Site.Notify.Config.Data, person)
		}
		return text + ": each message in order, and what the routes do with the alarm now."
	}, func(v view.Context) state.Value[state.Explanation] { return v.Site.Notify.Explanation })
}

// NewSimulation says who would be notified of an alarm that is not acknowledged.
func NewSimulation(owner string, q state.NotifyQuestion) view.View {
	t := explanation("Who would be notified", "No one would be notified.", state.QuerySimulation, q, func(v view.Context) string {
		at := "now"
		if !q.At.IsZero() {
			at = display.DateTime(q.At.In(v.Zone()))
		}
		where := q.SiteID
		if q.AssetID != "" {
			where += ", " + q.AssetID
		}
		return fmt.Sprintf("If %s of priority %s were raised at %s, %s, and it were not acknowledged: the messages of two days. Nothing is sent. w changes the question.",
			widget.Family(q.Family), widget.AlarmPriority(q.Priority), where, at)
	}, func(v view.Context) state.Value[state.Explanation] { return v.Site.Notify.Simulation })
	t.Act = func(a keymap.Action, _ string, v view.Context) view.Request {
		if a == keymap.NotifyWho {
			return view.OpenDialog{Dialog: NewWhoForm(v, owner, q)}
		}
		return nil
	}
	return t
}

// alertWords names an alarm of the site by family and unit; its id if it is not known.
func alertWords(v view.Context, id string) string {
	if v.Site != nil {
		for _, list := range [][]api.Alert{v.Site.Alerts.Data.Alerts, v.Site.AlertLog.Data} {
			if a := widget.Find(list, func(a api.Alert) bool { return a.AlertID == id }); a != nil {
				return alarmWords(v, *a)
			}
		}
	}
	return id
}

func alarmWords(v view.Context, a api.Alert) string {
	return strings.Join(strings.Fields(widget.Family(a.AlertType)+" "+a.AssetID), " ") + ", " + display.When(a.Timestamp.Time, v.Now, v.Zone())
}

// openDelivery explains the alarm of a delivery.
func openDelivery(owner string, d api.NotificationDelivery) view.Request {
	if len(d.AlertIDs) == 0 {
		return view.Notify{Text: "This message is about no alarm.", Role: themes.Dim}
	}
	return view.OpenScreen{Screen: NewExplanation(owner, d.AlertIDs[0], ""), Over: true}
}

// retry makes a dead delivery pending again.
func retry(id string) view.Request {
	return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		if _, err := client.Call(ctx, c, api.RetryNotification, api.NotificationsRequest{DeliveryID: id}); err != nil {
			return view.Result{}, err
		}
		return view.Result{Row: id, Notice: view.Notice("The message waits to be sent again."), Refresh: []state.Query{state.QueryNotifyDeliveries}}, nil
	}}
}

// sendTest sends a test message and shows the result of each address.
func sendTest(owner string, person bool, id string) view.Request {
	r := api.NotificationsRequest{CustomerID: state.OwnerID(owner), ChannelID: id}
	if person {
		r.ChannelID, r.PersonID = "", id
	}
	return view.Batch{view.Notify{Text: "Sending a test message to " + id + " …", Role: themes.Dim}, view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		out, err := client.Call(ctx, c, api.TestNotification, r)
		if err != nil {
			return view.Result{}, err
		}
		failed := 0
		for _, one := range out.Results {
			if !one.Delivered {
				failed++
			}
		}
		notice := "The test message was delivered."
		if failed > 0 {
			notice = fmt.Sprintf("%d of %s did not take the test message.", failed, display.CountOf(len(out.Results), "address", "addresses"))
		}
		return view.Result{Open: NewTestResults(id, out.Results), Notice: view.Notice(notice)}, nil
	}}}
}

// TestResults shows the result of a test message for each address.
type TestResults struct {
	view.Base
	of      string
	results []api.NotificationResult
}

// NewTestResults shows the results of a test message to a channel or person.
func NewTestResults(of string, results []api.NotificationResult) *TestResults {
	clean := slices.Clone(results)
	for i := range clean {
		for _, text := range []*string{&clean[i].Address, &clean[i].ChannelID, &clean[i].Kind, &clean[i].Detail, &clean[i].Failure} {
			*text = terminal.Printable(*text)
		}
	}
	return &TestResults{of: of, results: clean}
}

// Title names the test.
func (d *TestResults) Title() string { return "Test message to " + d.of }

// Size fits the results.
func (d *TestResults) Size(w, h int) (int, int) {
	return min(76, w-4), min(3*max(len(d.results), 1)+3, h-2)
}

// Draw draws a line for each address, and what its receiver returned.
func (d *TestResults) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := 0
	if len(d.results) == 0 {
		y = v.Paragraph(r, 0, y, "There is no address.", themes.Warning)
	}
	for _, one := range d.results {
		if y >= h-2 {
			break
		}
		text, role := "delivered", themes.Text
		detail := one.Detail
		if !one.Delivered {
			text, role, detail = "failed", themes.Warning, one.Failure
			if one.Permanent {
				text = "refused"
			}
		}
		y = v.Paragraph(r, 0, y, strings.Join(strings.Fields(one.ChannelID+" "+one.Address), " ")+": "+text, role)
		if detail != "" {
			y = v.Paragraph(r, 2, y, detail, themes.Dim)
		}
	}
	widget.KeyLine(r, h-1, v, "esc", "back")
}

// Key closes the dialog.
func (d *TestResults) Key(k tea.KeyMsg, v view.Context) view.Request {
	if a, _, _ := v.Keys.Match(k.String(), keymap.Dialog); a == keymap.Dismiss || a == keymap.Accept {
		return view.Close{}
	}
	return nil
}
