package contract

import "app.sunloop/backend/api"

// Items of the notifications of the good customer.
var (
	goodChannel = map[string]any{"channel_id": "mail", "kind": "email"}
	goodPerson  = map[string]any{"person_id": "anna", "addresses": []any{map[string]any{"channel_id": "mail", "address": "anna@example.com"}}}
	goodRoute   = map[string]any{"route_id": "all", "steps": []any{map[string]any{"to": []any{"person:anna"}}}}
	goodConfig  = map[string]any{"channels": []any{goodChannel}, "people": []any{goodPerson}, "rotations": []any{}, "routes": []any{goodRoute}}
)

var notificationCases = []Case{
	For(api.GetNotificationConfig, Case{Params: forCustomer, Fields: append(words("success count"), prefixed("configuration.", "channels people rotations routes")...),
		Errors: badAction(ErrorCase{Why: "a foreign customer", With: map[string]any{"customer_id": "{foreign_customer}"}, Err: api.ErrForbidden})}),
	For(api.SetNotificationItem, Case{Params: []Param{p("customer_id", goodCustomer), must("channel", goodChannel)}, Fields: words("success message version"),
		Errors: []ErrorCase{{Why: "no item", With: map[string]any{"channel": nil}, Err: api.MissingField("channel")},
			{Why: "an unknown kind", With: map[string]any{"channel": map[string]any{"channel_id": "x", "kind": "pigeon"}}, Err: api.InvalidField("channel", "")},
			{Why: "a webhook in a private network", With: map[string]any{"channel": map[string]any{"channel_id": "x", "kind": "webhook", "url": "https://10.0.0.1/hook", "secret": "whsec_c2VjcmV0"}}, Err: api.InvalidField("channel", "")},
			{Why: "a channel without its URL", With: map[string]any{"channel": map[string]any{"channel_id": "x", "kind": "ntfy"}}, Err: api.InvalidField("channel", "")},
			{Why: "a person without a channel", With: map[string]any{"channel": nil, "person": map[string]any{"person_id": "x", "addresses": []any{map[string]any{"channel_id": "none"}}}}, Err: api.InvalidField("person", "")},
			{Why: "a foreign customer", With: map[string]any{"customer_id": "{foreign_customer}"}, Err: api.ErrForbidden}}}),
	For(api.RemoveNotificationItem, Case{Params: []Param{p("customer_id", goodCustomer), p("kind", "channel", "pigeon"), p("item_id", "mail")}, Fields: words("success message"),
		TestedBy: "the tests of notifications: the item must exist", Errors: []ErrorCase{withValue("item_id", "none", api.ErrNotificationItemNotFound)}}),
	For(api.ApplyNotificationConfig, Case{Params: []Param{p("customer_id", goodCustomer), p("configuration", goodConfig), p("dry_run", true)}, Fields: words("success message changes count"),
		Errors: []ErrorCase{{Why: "a step to an unknown person", With: map[string]any{"configuration": map[string]any{"routes": []any{goodRoute}}}, Err: api.InvalidField("route", "")}}}),
	For(api.ImportAbsences, Case{Params: []Param{p("customer_id", goodCustomer), p("rotation_id", "none"), p("person_id", "anna"), p("calendar", "BEGIN:VCALENDAR")},
		TestedBy: "the tests of notifications: the rotation must exist", Errors: []ErrorCase{withValue("rotation_id", "none", api.ErrNotificationItemNotFound)}}),
	For(api.TestNotification, Case{Params: []Param{p("customer_id", goodCustomer), p("channel_id", "none"), p("person_id", "none")},
		TestedBy: "the tests of notifications: the channel must exist", Errors: []ErrorCase{withValue("person_id", "none", api.ErrNotificationItemNotFound)}}),
	For(api.RetryNotification, Case{Params: []Param{p("delivery_id", "ntd_none")}, TestedBy: "the tests of notifications: a delivery must be dead",
		Errors: []ErrorCase{withValue("delivery_id", "ntd_none", api.ErrDeliveryNotFound)}}),
	list(api.ListNotifications, []Param{p("customer_id", goodCustomer), p("status", "held", "lost")}, words("success count deliveries")),
	For(api.ExplainNotification, Case{Params: []Param{p("alert_id", "{alert:get}")}, Fields: words("success count deliveries decisions"),
		Errors: []ErrorCase{withValue("alert_id", "alt_none", api.ErrAlertNotFound)}}),
	For(api.SimulateNotification, Case{Params: []Param{p("site_id", goodSite), p("family", "inverter_outage"), p("priority", api.AlertMajor, "urgent")}, Fields: words("success count deliveries decisions"),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	For(api.ListOnCall, Case{Params: forCustomer, Fields: words("success count shifts")}),
	For(api.ExportOnCall, Case{Params: []Param{p("customer_id", goodCustomer), p("rotation_id", "none")}, TestedBy: "the tests of notifications: the rotation must exist",
		Errors: []ErrorCase{withValue("rotation_id", "none", api.ErrNotificationItemNotFound)}}),
}
