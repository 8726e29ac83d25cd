package api

import (
	"net/http"
	"slices"
	"strings"

	"app.sunloop/backend/limit"
)

// The operations that the specification does not name: moves of the state
// machines, administration, and what watches over the service.

// clash is a 409 whose words are told by the record that clashes.
var clash = refuse(http.StatusConflict, "")

// unknownKey is told of an id, where ErrAPIKeyNotFound is told of a key.
var unknownKey = UnknownID("API key not found")

// move is an operation on a record that is found by its id.
func move(route, action, id, good, none string, missing *Error, more []Param, fields []string, wrongs ...Wrong) Promise {
	return Promise{Route: route, Action: action, As: InJSON, Params: append([]Param{must(id, good, 7)}, more...), Fields: fields,
		Wrongs: append([]Wrong{is(id, none, missing)}, wrongs...)}
}

func orderMove(action, from string, wrongFrom string, more []Param, wrongs ...Wrong) Promise {
	wrongs = append(wrongs, Wrong{Why: "an order that is " + wrongFrom, With: map[string]any{"order_id": "{order:" + wrongFrom + "}"}, Err: clash})
	return move("order", action, "order_id", "{order:"+from+"}", "ord_none", ErrOrderNotFound, append(more, may("note", "on the way", 7), may("version", 0, "one")), words("success message order_id status order.history"), wrongs...)
}

func scheduleMove(action string, more []Param, wrongs ...Wrong) Promise {
	return move("schedule", action, "schedule_id", "{schedule_id}", "sch_none", ErrScheduleNotFound, more, words("success message schedule_id schedule.status"), wrongs...)
}

func alertMove(action string, more ...Param) Promise {
	return move("alerts", action, "alert_id", "{alert:"+action+"}", "alr_none", ErrAlertNotFound, more, words("success alert.alert_id alert.state alert.history"))
}

func userMove(action string, more []Param, fields []string, wrongs ...Wrong) Promise {
	return move("users", action, "user_id", "{user_id}", "usr_none", ErrUserNotFound, more, fields, wrongs...)
}

var (
	tooLong    = strings.Repeat("a", limit.Text+1)
	userFields = prefixed("user.", "user_id username role_id role_name customer_ids site_ids active mfa_enrolled")
	keyFields  = prefixed("key.", "api_key_id name role_id permitted_site_ids customer_ids state created_at")
)

var movePromises = []Promise{
	orderMove(ActionAssign, OrderPending, OrderCompleted, []Param{must("assigned_technician", "Sipho", 7)}),
	orderMove(ActionStart, OrderPending, OrderCompleted, nil, Wrong{Why: "nobody is assigned", With: map[string]any{"order_id": "{order:unassigned}"}, Err: clash}),
	orderMove(ActionHold, OrderInProgress, OrderCompleted, []Param{must("hold_reason", HoldWeather, "boredom", 7)}),
	orderMove(ActionResume, OrderOnHold, OrderCompleted, nil),
	orderMove(ActionComplete, OrderInProgress, OrderPending, []Param{must("completion_notes", "fuse replaced", 7), may("actual_hours", 1.5, -1, "long")}),
	orderMove(ActionCancel, OrderPending, OrderCompleted, []Param{must("reason", "a duplicate", 7)}),
	orderMove(ActionReopen, OrderCompleted, OrderPending, []Param{must("reason", "it trips again", 7)}),
	move("order", ActionGet, "order_id", "{order:pending}", "ord_none", ErrOrderNotFound, nil, words("success order.order_id order.history order.clocks")),

	scheduleMove(ActionConfirm, []Param{may("reason", "crew booked", 7)}),
	move("schedule", ActionComplete, "schedule_id", "{schedule:confirmed}", "sch_none", ErrScheduleNotFound, []Param{may("reason", "done", 7)}, words("success schedule_id schedule.status"),
		Wrong{Why: "nobody has confirmed it", With: map[string]any{"schedule_id": "{schedule_id}"}, Err: clash}),
	scheduleMove(ActionCancel, []Param{must("reason", "not needed", 7)}, Wrong{Why: "a reason too long", With: map[string]any{"reason": tooLong}, Err: InvalidField("reason", "")}),
	move("schedule", ActionGet, "schedule_id", "{schedule_id}", "sch_none", ErrScheduleNotFound, nil, words("success schedule.schedule_id schedule.history")),

	{Route: "bom", Action: ActionBuild, As: InJSON, Params: append(slices.Clone(forAsset), kinds), Fields: words("success bom_id total_cost items")},
	move("bom", ActionGet, "bom_id", "{bom_id}", "bom_none", ErrBOMNotFound, nil, words("success bom.bom_id bom.items bom.total_cost")),
	list("parts", ActionList, forCustomer, append(words("success count"), prefixed("parts[].", "part_number description unit_cost")...)),
	{Route: "parts", Action: ActionAdjust, As: InJSON, Params: []Param{must("part_number", "FUSE-GPV-15A", 7), may("on_hand", 20, "many", -1), must("reason", "counted", 7), may("site_id", goodSite)},
		Fields: words("success part.part_number"), Wrongs: []Wrong{is("part_number", "NONE", ErrPartNotFound)}, Elsewhere: "the tests of stock: its fields are exclusive"},

	{Route: "track", Action: ActionSubscribe, As: InJSON, Params: []Param{must("order_id", "{order:pending}", 7), must("callback_url", "https://93.184.216.34/hook", 7)},
		Fields: words("success message subscription_id order_id status secret"), Wrongs: badAction(
			lacks("callback_url", ErrInvalidCallback), is("order_id", "ord_none", ErrOrderNotFound), is("callback_url", "no address", ErrInvalidCallback), is("callback_url", "https://127.0.0.1/hook", ErrInvalidCallback),
			is("callback_url", "https://[::ffff:10.0.0.1]/hook", ErrInvalidCallback), is("callback_url", "https://2130706433/hook", ErrInvalidCallback), is("callback_url", "http://93.184.216.34/hook", ErrInvalidCallback),
			is("callback_url", "https://me@93.184.216.34/hook", ErrInvalidCallback))},
	list("track", ActionList, []Param{must("order_id", "{subscribed}", 7)}, append(words("success count"), prefixed("subscriptions[].", "subscription_id order_id callback_url status created_at")...), is("order_id", "ord_none", ErrOrderNotFound)),
	move("track", ActionUnsubscribe, "subscription_id", "{subscription_id}", "sub_none", ErrSubscriptionNotFound, nil, words("success message")),
	move("track", ActionPause, "subscription_id", "{subscription_id}", "sub_none", ErrSubscriptionNotFound, nil, words("success message subscription.status"),
		Wrong{Why: "a subscription that has ended", With: map[string]any{"subscription_id": "{subscription:ended}"}, Err: clash}),
	move("track", ActionResume, "subscription_id", "{subscription:paused}", "sub_none", ErrSubscriptionNotFound, nil, words("success message subscription.status"),
		Wrong{Why: "a subscription that has ended", With: map[string]any{"subscription_id": "{subscription:ended}"}, Err: clash}),
	move("track", ActionRotate, "subscription_id", "{subscription_id}", "sub_none", ErrSubscriptionNotFound, nil, words("success message secret subscription.former_secret_until"),
		Wrong{Why: "a subscription that has ended", With: map[string]any{"subscription_id": "{subscription:ended}"}, Err: clash}),
	move("track", ActionDeliveries, "subscription_id", "{subscription_id}", "sub_none", ErrSubscriptionNotFound, pages, words("success deliveries count")),
	{Route: "track", Action: ActionReplay, As: InJSON, Params: []Param{must("subscription_id", "{subscription_id}", 7)}, Fields: words("success message"),
		Wrongs: []Wrong{lacks("subscription_id", MissingField("delivery_id")), is("subscription_id", "sub_none", ErrSubscriptionNotFound)}},

	alertMove(ActionAcknowledge, may("reason", "seen", 7)),
	alertMove(ActionShelve, must("reason", "a storm passes", 7), must("minutes", 60, 5, 721, "long")),
	alertMove(ActionUnshelve),
	alertMove(ActionSuppress, must("reason", "the unit is out of service", 7)),
	alertMove(ActionUnsuppress),
	move("alerts", ActionGet, "alert_id", "{alert:get}", "alr_none", ErrAlertNotFound, nil, words("success alert.alert_id alert.history")),
	{Route: "alerts", Action: ActionHealth, As: InJSON, Params: []Param{may("site_id", goodSite, 7)}, Fields: append(words("success count"), prefixed("health[].", "window_hours alarms per_day peak_10_min floods flood_percent chattering stale top_ten_percent priorities")...)},
	list("alerts", ActionList, nil, append(words("success count"), prefixed("alerts[].", "alert_id terminal_device_id site_id timestamp alert_type alert_severity message resolved state")...)),

	move("issues", ActionAcknowledge, "issue_id", "{issue_id}", "iss_none", ErrIssueNotFound, nil, words("success issue.status")),
	move("issues", ActionResolve, "issue_id", "{issue:taken}", "iss_none", ErrIssueNotFound, []Param{must("reason", "fuse replaced", 7)}, words("success issue.status")),

	{Route: "sites", Action: ActionSet, As: InJSON, Params: []Param{must("site", map[string]any{"site_id": "{new}", "customer_id": goodCustomer, "timezone": "Africa/Johannesburg"}, "Sibaya")}, Fields: words("success site.site_id site.timezone"),
		Wrongs: badAction(Wrong{Why: "a zone that is none", With: map[string]any{"site": map[string]any{"site_id": goodSite, "customer_id": goodCustomer, "timezone": "Moon/Base"}}, Err: InvalidField("timezone", "")})},
	list("sites", ActionList, nil, append(words("success count"), prefixed("sites[].", "site_id customer_id name timezone")...)),
	move("sites", ActionGet, "site_id", goodSite, "Nowhere", ErrSiteNotFound, nil, words("success site.site_id site.customer_id"), foreign),

	{Route: "interpolations", Action: ActionGaps, As: InJSON, Params: []Param{must("customer_id", goodCustomer, 7), may("result_id", "", 7), may("limit", 5, -1, 1001)},
		Fields: append(words("success result_id site_id count total_gaps"), prefixed("gaps[].", "asset_id start end minutes method energy_kwh step_minutes p10_kw p50_kw p90_kw")...),
		Wrongs: []Wrong{is("result_id", "int-none", ErrResultNotFound)}},
	{Route: "stored-forecasts", Action: ActionAccuracy, As: InJSON, Params: []Param{must("customer_id", goodCustomer, 7), may("days", 7, -1, "all")}, Fields: words("success")},
	{Route: "ml-models", Action: ActionHistory, As: InJSON, Params: []Param{must("site_id", goodSite, 7)}, Fields: append(words("success count"), prefixed("history[].", "model_name model_version to at")...), Wrongs: []Wrong{foreign}},
	{Route: "ml-models", Action: ActionEvaluate, As: InJSON, Params: []Param{must("site_id", goodSite, 7), may("model_version", "1.0.0", 7)}, Elsewhere: "the tests of the registry, with a challenger",
		Wrongs: []Wrong{is("model_version", "99.0.0", ErrModelNotFound), {Why: "a model that is no challenger", Err: clash}, foreign}},
	{Route: "ml-models", Action: ActionPromote, As: InJSON, Params: []Param{must("site_id", goodSite, 7), may("model_version", "1.0.0", 7), must("reason", "it errs less by far", 7, "better")}, Elsewhere: "the tests of the registry, with a challenger",
		Wrongs: []Wrong{is("model_version", "99.0.0", ErrModelNotFound), foreign}},
	{Route: "ml-models", Action: ActionRollback, As: InJSON, Params: []Param{must("site_id", goodSite, 7), may("model_version", "1.0.0", 7), must("reason", "the new one errs more", 7, "worse")}, Elsewhere: "the tests of the registry, with an archived model",
		Wrongs: []Wrong{is("model_version", "99.0.0", ErrModelNotFound), {Why: "a model that is not archived", Err: clash}, foreign}},
	{Route: "upload-move", Action: ActionCancel, As: InJSON, Params: []Param{must("id", "{upload_id}")}, Elsewhere: "the tests of the pipeline, with an import under way",
		Wrongs: []Wrong{is("id", "upl_none", ErrUploadNotFound)}},

	{Route: "nowcast", Action: ActionList, As: InJSON, Params: []Param{must("customer_id", goodCustomer, 7), may("time_range", "6h", "2h", 7), may("asset_filter", []any{goodAsset}, goodAsset)},
		Fields: append(prefixed("data.latest_metrics.", "total_power_kw avg_capacity_factor active_inverters total_inverters last_updated"), prefixed("data.time_series[].", "timestamp total_power_kw active_inverters")...)},
}

// sshKeys are public keys of a user.
var sshKeys = may(FieldSSHKeys, []any{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ana@desk"}, "ssh-ed25519", []any{"ssh-ed25519"})

var adminPromises = []Promise{
	list("users", ActionList, nil, append(words("success count"), prefixed("users[].", "user_id username role_id role_name customer_ids active")...)),
	userMove(ActionGet, nil, userFields),
	{Route: "users", Action: ActionAdd, As: InJSON, Params: []Param{must("username", "{new_user}", 7), must("password", "correct horse battery staple", 7), must("role_id", RoleAnalyst, "role_king", 7), may("customer_ids", []any{goodCustomer}, goodCustomer), sshKeys},
		Fields: append(words("success message user_id"), userFields...), Wrongs: badAction(Wrong{Why: "a customer of others", With: map[string]any{"customer_ids": []any{"{foreign_customer}"}}, Err: ErrForbidden})},
	userMove(ActionSet, []Param{must("role_id", RoleOperator, "role_king", 7)}, userFields, lacks("role_id", MissingField("role_id, customer_ids, site_ids, group_id, skin_id, active or ssh_public_keys"))),
	userMove(ActionResetPassword, []Param{must("password", "a longer horse battery", 7)}, words("success message")),
	userMove(ActionResetMFA, nil, words("success message")),
	userMove(ActionUnlink, nil, words("success message")),
	userMove(ActionUnlock, nil, words("success message")),
	userMove(ActionDelete, nil, words("success message")),
	list("keys", ActionList, nil, append(words("success count"), prefixed("keys[].", "api_key_id name role_id permitted_site_ids customer_ids state created_at")...)),
	move("keys", ActionGet, "api_key_id", "{api_key_id}", "key_none", unknownKey, nil, keyFields),
	{Route: "keys", Action: ActionCreate, As: InJSON, Params: []Param{must("name", "logger", 7), may("role_id", RoleAnalyst, "role_king", 7), must("permitted_site_ids", []any{goodSite}, goodSite)},
		Fields: append(words("success message api_key api_key_id"), keyFields...), Wrongs: badAction(lacks("permitted_site_ids", InvalidField("permitted_site_ids", "")),
			Wrong{Why: "a customer of others", With: map[string]any{"customer_ids": []any{"{foreign_customer}"}}, Err: ErrForbidden})},
	move("keys", ActionRotate, "api_key_id", "{api_key_id}", "key_none", unknownKey, []Param{may("overlap_hours", 1, -1, "long")}, words("success api_key api_key_id")),
	move("keys", ActionRevoke, "api_key_id", "{api_key_id}", "key_none", unknownKey, nil, words("success message")),
	{Route: "audit", Action: ActionList, As: InJSON, Params: append([]Param{may("from", goodStart, "yesterday"), may("actor", "contract", 7), may("route", "keys create", 7), may("target_id", "key_none", 7)}, pages...),
		Fields: words("success records count")},
	{Route: "log", Action: ActionList, As: InJSON, Params: append([]Param{may("level", LogWarn, "LOUD", 7)}, pages...), Fields: words("success lines count"), Elsewhere: "the tests of httpapi: it is for administrators of all customers"},
	{Route: "key-set", As: InQuery, Fields: prefixed("keys[].", "kty crv x kid use alg")},
	{Route: "setup-status", As: InQuery, Fields: words("success needs_admin needs_token")},
	{Route: "setup", As: InJSON, Params: []Param{must("username", "root", 7), must("password", "correct horse battery staple", 7)}, Elsewhere: "the tests of a fresh service"},
	{Route: "site-kpis", As: InQuery, Params: []Param{must("site_id", goodSite), may("from", goodStart, "yesterday"), may("to", goodEnd, "later")}, Fields: words("site_id"),
		Wrongs: []Wrong{foreign, is("site_id", "Nowhere", ErrSiteNotFound)}},
	{Route: "health", As: InQuery, Fields: words("success")},
	{Route: "ready", As: InQuery, Fields: words("success")},
}

var partnerPromises = []Promise{
	{Route: "kpi-rollup", As: InQuery, Params: []Param{must("site_id", goodSite)}, Fields: append(append(append(append(append(
		words("site_id generated_at period.start period.end system.rated_capacity_kw system.device_count"),
		prefixed("energy_balance.", "consumption_kwh solar_production_kwh grid_purchases_kwh solar_offset_pct")...),
		prefixed("performance.", "system_pr pr_target pr_status true_uptime_pct state_uptime_pct availability_pct availability_target")...),
		prefixed("ear.", "energy_lost_kwh energy_lost_pct capacity_utilization_pct value_lost_zar realized_savings_zar annual_projection_zar")...),
		prefixed("ear.recovery_potential_kwh.", "50pct 75pct 95pct 100pct")...),
		prefixed("financial.", "tariff_currency shortfall_cost_zar realized_savings_zar total_potential_value_zar tou_breakdown")...),
		Wrongs: []Wrong{foreign, is("site_id", "Nowhere", ErrSiteNotFound)}},
	{Route: "maintenance-signals", As: InQuery, Params: []Param{must("site_id", goodSite), may("since", "2025-10-01T00:00:00Z", "lately"), may("severity", "high", "urgent")},
		Fields: append(words("site_id generated_at cursor summary.by_type summary.by_severity summary.by_asset"), prefixed("signals[].", "id timestamp asset_id type severity description")...),
		Wrongs: []Wrong{foreign, is("site_id", "Nowhere", ErrSiteNotFound)}},
	{Route: "maintenance-schedule", As: InQuery, Params: []Param{must("site_id", goodSite)},
		Fields: append(words("site_id generated_at horizon.start horizon.end summary.total_tasks summary.by_priority summary.by_task_type summary.by_asset"),
			prefixed("tasks[].", "asset_id task_type reason recommended_date estimated_duration_hours priority")...),
		Wrongs: []Wrong{foreign, is("site_id", "Nowhere", ErrSiteNotFound)}},
	{Route: "snapshot", As: InQuery, Params: []Param{must("site_id", goodSite), must("kind", "kpi-rollup", "gossip")}, Fields: words("site_id generated_at"), Wrongs: []Wrong{foreign}},
}
