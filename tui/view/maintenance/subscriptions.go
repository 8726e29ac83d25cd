package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// Subscriptions is the sheet of webhook subscriptions; the chosen one
// comes with its deliveries.
type Subscriptions struct{ *widget.TableView }

// NewSubscriptions lists the site's subscriptions, failing ones first.
func NewSubscriptions() *Subscriptions {
	return &Subscriptions{&widget.TableView{
		Heading: "Subscriptions", Query: state.QuerySubscriptions, Period: workPeriod, Keys: keymap.SubscriptionList,
		Empty: "No webhook subscriptions. Press c to send signed status events of a work order to a URL.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "address", Min: 20}, {Title: "state", Width: 9}, {Title: "order of", Width: 16, Min: 10, Rank: 1}, {Title: "last received", Width: 13, Rank: 2}, {Title: "made", Width: 12, Rank: 3},
		},
		Rows: subscriptionRows, Detail: subscriptionDetail, Act: subscriptionAct,
		Status: func(v view.Context) widget.ValueStatus {
			return siteStatus(v, func(s *state.Site) widget.ValueStatus {
				return workStatus(v, s.Subscriptions, len(s.Subscriptions.Data) == 0)
			})
		},
		Reason: func(a keymap.Action, id string, v view.Context) string {
			return subscriptionWhy(a, subscriptionByID(v, id), v)
		},
	}}
}

// Queries also asks for the deliveries of the chosen one.
func (s *Subscriptions) Queries(v view.Context) []state.Need {
	return withAudit(append(s.TableView.Queries(v), state.Need{Query: state.QueryDeliveries, Of: s.List.Current(), Period: workPeriod, Focused: true},
		state.Need{Query: state.QueryOrders, Period: time.Minute, Focused: true}), v)
}

func subscriptionByID(v view.Context, id string) *api.Subscription {
	if v.Site == nil {
		return nil
	}
	return widget.Find(v.Site.Subscriptions.Data, func(s api.Subscription) bool { return s.SubscriptionID == id })
}

// subscriptionWhy returns why an action on a subscription is not possible.
func subscriptionWhy(a keymap.Action, s *api.Subscription, v view.Context) string {
	switch {
	case a == keymap.Subscribe && (v.Site == nil || len(v.Site.Orders.Data) == 0):
		return "there is no work order to subscribe to"
	case a == keymap.Subscribe || a == keymap.Open:
		return ""
	case s == nil:
		return "nothing is selected"
	case a == keymap.PauseSubscription && s.Status != api.SubscriptionActive && s.Status != api.SubscriptionFailing,
		a == keymap.ResumeSubscription && s.Status != api.SubscriptionPaused,
		a == keymap.Unsubscribe && s.Status == api.SubscriptionDeleted:
		return "the subscription is " + s.Status
	}
	return ""
}

// subscriptionRole returns the look of a status.
func subscriptionRole(status string) themes.Role {
	switch status {
	case api.SubscriptionFailing, api.SubscriptionDisabled:
		return themes.Warning
	case api.SubscriptionCompleted, api.SubscriptionDeleted:
		return themes.Muted
	}
	return themes.Text
}

func subscriptionRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	rank := map[string]int{api.SubscriptionFailing: -2, api.SubscriptionDisabled: -1, api.SubscriptionCompleted: 1, api.SubscriptionDeleted: 2}
	list := slices.Clone(v.Site.Subscriptions.Data)
	slices.SortStableFunc(list, func(a, b api.Subscription) int {
		return cmp.Or(rank[a.Status]-rank[b.Status], b.CreatedAt.Compare(a.CreatedAt.Time))
	})
	rows := make([]widget.Row, 0, len(list))
	for _, s := range list {
		role := subscriptionRole(s.Status)
		text := themes.Text
		if role == themes.Muted {
			text = role
		}
		last := "never"
		if !s.LastSuccessAt.IsZero() {
			last = display.When(s.LastSuccessAt.Time, v.SiteNow, v.Zone())
		}
		rows = append(rows, widget.Row{ID: s.SubscriptionID, Sort: []any{s.CallbackURL, s.Status, unitOfOrder(v, s.OrderID), s.LastSuccessAt.String(), s.CreatedAt.String()}, Cells: []widget.Cell{
			{Text: s.CallbackURL, Role: text}, {Text: s.Status, Role: role}, {Text: unitOfOrder(v, s.OrderID), Role: text}, {Text: last, Role: text},
			{Text: display.When(s.CreatedAt.Time, v.SiteNow, v.Zone()), Role: themes.Dim},
		}})
	}
	return rows
}

// unitOfOrder returns the unit of an order, or the order's id when it is not known.
func unitOfOrder(v view.Context, orderID string) string {
	for _, o := range v.Site.Orders.Data {
		if o.OrderID == orderID {
			return o.AssetID
		}
	}
	return orderID
}

func subscriptionDetail(v view.Context, id string) []widget.Detail {
	s := subscriptionByID(v, id)
	if s == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: s.CallbackURL}, {Label: "state", Text: s.Status, Role: subscriptionRole(s.Status)}}
	add := widget.FactsOf(&lines)
	at := widget.TimesOf(v)
	add("why", s.StatusReason)
	add("order", s.OrderID+" of "+unitOfOrder(v, s.OrderID))
	add("made", at(s.CreatedAt)+" "+by(s.CreatedBy))
	add("received", at(s.LastSuccessAt))
	add("failing", at(s.FailingSince))
	if !s.FormerSecretUntil.IsZero() && s.FormerSecretUntil.After(v.SiteNow) {
		add("secret", "the former secret also signs until "+at(s.FormerSecretUntil))
	}
	add("id", s.SubscriptionID)
	lines = append(lines, widget.Detail{Heading: "Deliveries"})
	switch d := v.Site.Deliveries; {
	case v.Site.Wanted(state.QueryDeliveries) != id || d.At.IsZero() && d.Err == nil:
		lines = append(lines, widget.Detail{Text: "Asking the service …", Role: themes.Dim})
	case d.At.IsZero():
		lines = append(lines, widget.Detail{Text: state.Sentence(d.Err), Role: themes.Warning})
	case len(d.Data) == 0:
		lines = append(lines, widget.Detail{Text: "No deliveries yet.", Role: themes.Dim})
	default:
		for _, one := range d.Data {
			lines = append(lines, widget.Detail{Label: display.When(one.CreatedAt.Time, v.SiteNow, v.Zone()), Text: workflow.OrderStatus(one.Event.Status) + ": " + deliveryWords(v, one), Role: deliveryRole(one.Status)})
		}
		lines = append(lines, widget.Detail{Text: "enter: each of them, to be sent again.", Role: themes.Dim})
	}
	if mayAudit(v) {
		lines = append(lines, auditOf(v, id)...)
	}
	return lines
}

func deliveryRole(status string) themes.Role {
	switch status {
	case api.DeliveryFailed:
		return themes.Warning
	case api.DeliveryDropped:
		return themes.Muted
	}
	return themes.Text
}

// deliveryWords returns the status of a delivery.
func deliveryWords(v view.Context, d api.Delivery) string {
	words := d.Status
	if d.Attempts > 0 {
		words += fmt.Sprintf(", %d %s", d.Attempts, map[bool]string{true: "attempt", false: "attempts"}[d.Attempts == 1])
	}
	if d.AnswerStatus > 0 {
		words += fmt.Sprintf(", answer %d", d.AnswerStatus)
	}
	if d.Failure != "" && d.Status != api.DeliveryDelivered {
		words += ", " + d.Failure
	}
	if !d.NextAttemptAt.IsZero() && d.Status == api.DeliveryPending {
		words += ", next " + display.When(d.NextAttemptAt.Time, v.SiteNow, v.Zone())
	}
	return words
}

// subscriptionAct returns what a key of the list leads to.
func subscriptionAct(a keymap.Action, id string, v view.Context) view.Request {
	if a == keymap.Subscribe {
		return view.OpenDialog{Dialog: NewSubscribeForm(v)}
	}
	s := subscriptionByID(v, id)
	if s == nil {
		return nil
	}
	switch a {
	case keymap.Open:
		return view.OpenScreen{Screen: NewDeliveries(*s), Over: true}
	case keymap.PauseSubscription:
		return sendTrack(nil, func(ctx context.Context, c *client.Client) (*api.TrackResponse, error) {
			return c.PauseSubscription(ctx, id)
		})
	case keymap.ResumeSubscription:
		return sendTrack(nil, func(ctx context.Context, c *client.Client) (*api.TrackResponse, error) {
			return c.ResumeSubscription(ctx, id)
		})
	case keymap.RotateSecret:
		return view.OpenDialog{Dialog: newSure("Rotate the secret", "rotate it", "A new secret signs events to "+s.CallbackURL+fmt.Sprintf("; the former one also signs for %d h.", int(api.SecretOverlap.Hours())),
			func(d *widget.StepForm) view.Call {
				return sendTrack(d, func(ctx context.Context, c *client.Client) (*api.TrackResponse, error) {
					return c.RotateSecret(ctx, id)
				})
			})}
	case keymap.Unsubscribe:
		return view.OpenDialog{Dialog: newSure("Delete the subscription", "delete it", "Events are no longer sent to "+s.CallbackURL+"; pending deliveries are dropped.",
			func(d *widget.StepForm) view.Call {
				return sendTrack(d, func(ctx context.Context, c *client.Client) (*api.TrackResponse, error) { return c.Unsubscribe(ctx, id) })
			})}
	}
	return nil
}

// newSure asks for confirmation; the answer that changes nothing is the default.
func newSure(title, yes, words string, send func(d *widget.StepForm) view.Call) *widget.StepForm {
	const no = "leave it"
	d := &widget.StepForm{Heading: title, Verb: "confirm", Intro: []string{words}}
	d.Add("answer", widget.NewChoice("Answer", []string{no, yes}, widget.Verbatim))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		if d.Value("answer") == no {
			d.Refuse(0, "Nothing was changed: press right to select "+yes+", esc leaves.")
			return view.Call{}, false
		}
		return send(d), true
	}
	return d
}

// sendTrack asks for a change of a subscription; a new secret is shown
// once.
func sendTrack(from view.Caller, ask func(ctx context.Context, c *client.Client) (*api.TrackResponse, error)) view.Call {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := ask(ctx, c)
		if err != nil {
			return view.Result{}, err
		}
		done := view.Result{Row: answer.SubscriptionID, Notice: view.Notice(answer.Message + "."), Refresh: []state.Query{state.QuerySubscriptions, state.QueryDeliveries, state.QueryAudit}}
		if answer.Secret != "" {
			done.Open = widget.NewSubscriptionSecret(answer.SubscriptionID, "It signs the events", answer.Secret)
		}
		return done, nil
	}}
}

// NewSubscribeForm asks where the changes of an order are to be posted.
func NewSubscribeForm(v view.Context) *widget.StepForm {
	var ids []string
	current := workflow.CurrentOrder(v).OrderID
	for _, o := range v.Site.Orders.Data {
		ids = append(ids, o.OrderID)
	}
	d := &widget.StepForm{Heading: "Subscribe to an order", Verb: "subscribe", Intro: []string{"Each change of the order's status is sent to the URL as JSON, signed as in Standard Webhooks. The secret is shown once."}}
	units := map[string]string{}
	for _, o := range v.Site.Orders.Data {
		units[o.OrderID] = o.AssetID + ", " + workflow.OrderStatus(o.Status) + ", " + o.OrderID
	}
	d.Add("order_id", widget.ChoiceField("Order", ids, func(id string) string { return units[id] }, current))
	d.Add("callback_url", widget.NewField("Address", "https://…", ""))
	d.At = 1
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		order, address := d.Value("order_id"), d.Value("callback_url")
		return sendTrack(d, func(ctx context.Context, c *client.Client) (*api.TrackResponse, error) {
			return c.Subscribe(ctx, order, address)
		}), d.Need("callback_url", "Where to?")
	}
	return d
}

// Deliveries is the table of the deliveries of one subscription.
type Deliveries struct {
	*widget.TableView
	of string
}

// NewDeliveries lists the deliveries of a subscription, the newest first.
func NewDeliveries(s api.Subscription) *Deliveries {
	return &Deliveries{of: s.SubscriptionID, TableView: &widget.TableView{
		Heading: "Deliveries", Query: state.QueryDeliveries, Period: workPeriod, Keys: keymap.DeliveryList,
		Empty: "No deliveries yet: the status of the order has not changed.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "event", Width: 12}, {Title: "made", Width: 12}, {Title: "state", Min: 9}, {Title: "attempts", Width: 8, Right: true}, {Title: "answer", Width: 6, Right: true}, {Title: "last", Width: 12, Rank: 1}, {Title: "next", Width: 12, Rank: 2},
		},
		Rows: deliveryRows, Detail: deliveryDetail,
		Act: func(a keymap.Action, id string, v view.Context) view.Request {
			return deliveryAct(a, s.SubscriptionID, id)
		},
		Status: func(v view.Context) widget.ValueStatus {
			return siteStatus(v, func(site *state.Site) widget.ValueStatus {
				if site.Wanted(state.QueryDeliveries) != s.SubscriptionID {
					return widget.ValueStatus{Status: state.Loading}
				}
				return workStatus(v, site.Deliveries, len(site.Deliveries.Data) == 0)
			})
		},
		Reason: func(a keymap.Action, id string, _ view.Context) string {
			if a == keymap.ReplayDelivery && id == "" {
				return "nothing is selected"
			}
			return ""
		},
	}}
}

// Queries returns the deliveries of the one subscription.
func (s *Deliveries) Queries(v view.Context) []state.Need {
	needs := s.TableView.Queries(v)
	needs[0].Of = s.of
	return needs
}

func deliveryRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	at := func(t api.Time) string {
		if t.IsZero() {
			return ""
		}
		return display.When(t.Time, v.SiteNow, v.Zone())
	}
	rows := make([]widget.Row, 0, len(v.Site.Deliveries.Data))
	for _, d := range v.Site.Deliveries.Data {
		answer := ""
		if d.AnswerStatus > 0 {
			answer = fmt.Sprint(d.AnswerStatus)
		}
		rows = append(rows, widget.Row{ID: d.DeliveryID, Sort: []any{d.Event.Status, d.CreatedAt.String(), d.Status, float64(d.Attempts), float64(d.AnswerStatus), d.LastAttemptAt.String(), d.NextAttemptAt.String()}, Cells: []widget.Cell{
			{Text: workflow.OrderStatus(d.Event.Status), Role: themes.Text}, {Text: at(d.CreatedAt), Role: themes.Dim}, {Text: d.Status, Role: deliveryRole(d.Status)}, {Text: fmt.Sprint(d.Attempts), Role: themes.Text},
			{Text: answer, Role: deliveryRole(d.Status)}, {Text: at(d.LastAttemptAt), Role: themes.Dim}, {Text: at(d.NextAttemptAt), Role: themes.Dim},
		}})
	}
	return rows
}

func deliveryDetail(v view.Context, id string) []widget.Detail {
	i := slices.IndexFunc(v.Site.Deliveries.Data, func(d api.Delivery) bool { return d.DeliveryID == id })
	if i < 0 {
		return nil
	}
	d := v.Site.Deliveries.Data[i]
	lines := []widget.Detail{{Heading: "Order " + workflow.OrderStatus(d.Event.Status)}, {Label: "state", Text: deliveryWords(v, d), Role: deliveryRole(d.Status)}}
	add := widget.FactsOf(&lines)
	at := func(t api.Time) string {
		if t.IsZero() {
			return ""
		}
		return display.DateTimeSeconds(t.In(v.Zone()))
	}
	add("order", d.OrderID)
	add("changed", at(d.Event.UpdatedAt))
	add("notes", d.Event.CompletionNotes)
	add("made", at(d.CreatedAt))
	add("last try", at(d.LastAttemptAt))
	add("next try", at(d.NextAttemptAt))
	add("delivered", at(d.DeliveredAt))
	add("response", answerWords(d))
	add("webhook-id", d.DeliveryID)
	return lines
}

// answerWords describes the response to the last attempt.
func answerWords(d api.Delivery) string {
	switch {
	case d.AnswerStatus > 0 && d.Failure != "":
		return fmt.Sprintf("%d: %s", d.AnswerStatus, d.Failure)
	case d.AnswerStatus > 0:
		return fmt.Sprint(d.AnswerStatus)
	}
	return d.Failure
}

// deliveryAct posts a delivery again, or all that were not received.
func deliveryAct(a keymap.Action, subscriptionID, id string) view.Request {
	r := api.TrackRequest{SubscriptionID: subscriptionID}
	switch a {
	case keymap.ReplayDelivery:
		r.DeliveryID = id
	case keymap.ReplayAll:
	default:
		return nil
	}
	return sendTrack(nil, func(ctx context.Context, c *client.Client) (*api.TrackResponse, error) { return c.Replay(ctx, r) })
}
