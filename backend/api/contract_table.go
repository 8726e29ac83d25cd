package api

import (
	"net/http"
	"slices"
)

// Ids of the contract's good requests: those of the demo.
const (
	goodCustomer = "customer123"
	goodSite     = "Sibaya"
	goodAsset    = "INV-1000000054495190"
	goodDevice   = "TERM-1000000054495190"
	goodStart    = "2026-04-01T00:00:00Z"
	goodEnd      = "2026-04-02T00:00:00Z"
	goodCSV      = "timestamp,power_kw\n2026-04-14T06:00:00Z,1\n2026-04-14T07:00:00Z,2\n2026-04-14T08:00:00Z,3\n"
	goodReason   = "String current is low"
)

func must(name string, good any, bad ...any) Param { return Param{name, good, true, bad} }

func may(name string, good any, bad ...any) Param { return Param{name, good, false, bad} }

// lacks is a parameter whose absence has words of its own.
func lacks(name string, err *Error) Wrong {
	return Wrong{Why: name + " left out", With: map[string]any{name: nil}, Err: err}
}

// is is a parameter whose value brings a refusal about.
func is(name string, value any, err *Error) Wrong {
	why := name + " unknown"
	if s, ok := value.(string); ok && s != "" {
		why = name + " is " + s
	}
	return Wrong{Why: why, With: map[string]any{name: value}, Err: err}
}

// badAction are the refusals of a body's action.
func badAction(wrongs ...Wrong) []Wrong {
	return append([]Wrong{is("action", "dance", ErrInvalidAction)}, wrongs...)
}

// pages are what lists take.
var pages = []Param{may("limit", 5, -1, 1001, "many")}

func list(route, action string, needs []Param, fields []string, wrongs ...Wrong) Promise {
	return Promise{Route: route, Action: action, As: InJSON, Params: append(slices.Clone(needs), pages...), Fields: fields, Wrongs: wrongs}
}

func prefixed(prefix, names string) (out []string) {
	for _, n := range words(names) {
		out = append(out, prefix+n)
	}
	return out
}

var (
	forAsset    = []Param{must("asset_id", goodAsset, 7)}
	forCustomer = []Param{must("customer_id", goodCustomer, 7)}

	recordFields = prefixed("records[].", "asset_id site_id timestamp power kWh inverter_state run_state")
	alertFields  = prefixed("records[].", "terminal_device_id site_id timestamp alert_type alert_severity message source_system resolved")
	uploadAnswer = words("status message s3_path processing_status upload_id")
	tokenAnswer  = append(words("token user"), prefixed("user.", "user_id username role_id role_name customer_ids application_permissions")...)
	orderAnswer  = words("success message order_id asset_id status")

	span = []Param{must("start", goodStart, "yesterday"), must("end", goodEnd, "2026-13-01")}

	uploadParams = []Param{must("customer_id", goodCustomer), must("site_id", goodSite), must("region", "af-south-1"), must("location", "Sibaya"),
		may("manufacturer", "SMA")}
	uploadWrongs = []Wrong{
		lacks("file", ErrCSVRequired),
		is("file", "<html>no data</html>", ErrInvalidCSV),
		{Why: "the store fails", Err: ErrUploadFailed, State: Broken},
	}
)

// foreign is a site of another customer, asked for with a limited key.
var foreign = Wrong{Why: "a foreign site", With: map[string]any{"site_id": "{foreign_site}"}, Err: ErrForbidden}

// promises are the operations of the specification and of the decisions beside
// it, in no particular order.
var promises = slices.Concat(signInPromises, uploadPromises, forecastPromises, telemetryPromises, terminalPromises, workPromises, movePromises, adminPromises, partnerPromises)

var signInPromises = []Promise{
	{Route: "login", As: InJSON, Params: []Param{must("username", "{username}", 7), must("password", "{password}", 7)}, Fields: words("mfa_required mfa_token"),
		Wrongs: []Wrong{is("password", "guess", ErrInvalidCredential), is("username", "nobody", ErrInvalidCredential)}},
	{Route: "verify-mfa", As: InJSON, Params: []Param{must("mfa_token", "{mfa_token}", 7), must("totp_code", "{totp_code}", 7)}, Fields: tokenAnswer,
		Wrongs: []Wrong{is("totp_code", "000000", ErrInvalidTOTP), is("mfa_token", "of an hour ago", ErrMFATokenExpired)}},
	{Route: "refresh", As: InJSON, Fields: words("token expires_in")},
	{Route: "logout", As: InJSON, Fields: words("success")},
	{Route: "exchange", As: InJSON, Elsewhere: "the tests of exchange, with a provider", Params: []Param{must("external_token", "e30.e30.e30", 7), must("provider", "company", 7)},
		Wrongs: []Wrong{is("provider", "nobody's", InvalidField("provider", ""))}},
	{Route: "api-key-info", As: InJSON, Params: []Param{must("api_key", "{api_key}", 7)}, Fields: words("api_key_id permitted_site_ids created_at"),
		Wrongs: []Wrong{is("api_key", "opa_prod_none", ErrAPIKeyNotFound)}},
	{Route: "validate-api-key", As: InJSON, Params: []Param{must("api_key", "{api_key}", 7), must("site_id", goodSite, 7)}, Fields: words("valid permitted_site_ids"),
		Wrongs: []Wrong{is("api_key", "opa_prod_none", ErrAPIKeyNotFound)}},
}

var uploadPromises = []Promise{
	{Route: "upload-train", As: InForm, Params: append([]Param{must("file", goodCSV)}, uploadParams...), Fields: uploadAnswer, Wrongs: uploadWrongs},
	{Route: "upload-nowcast", As: InForm, Params: append([]Param{must("file", goodCSV)}, uploadParams...), Fields: uploadAnswer, Wrongs: uploadWrongs},
	{Route: "upload-train", As: InJSON, Params: append([]Param{must("s3_path", "{object}", 7)}, uploadParams...), Fields: uploadAnswer,
		Wrongs: slices.Concat(parameters("customer_id", "site_id", "region", "location", "s3_path"))},
	{Route: "upload-nowcast", As: InJSON, Params: append([]Param{must("s3_path", "{object}", 7)}, uploadParams...), Fields: uploadAnswer,
		Wrongs: slices.Concat(parameters("customer_id", "site_id", "region", "location", "s3_path"))},
	{Route: "v1-upload-train", As: InForm, Params: []Param{must("file", goodCSV), must("site_id", goodSite), may("data_type", "training", "weather")},
		Fields: words("status message s3_path processing_status data_points validation"), Wrongs: []Wrong{lacks("file", ErrCSVRequired), is("file", "\x00\x01", ErrInvalidCSV)}},
	{Route: "v1-upload-nowcast", As: InForm, Params: []Param{must("file", goodCSV), must("site_id", goodSite), may("data_type", "nowcast", "training")},
		Fields: words("status message s3_path processing_status data_points validation"), Wrongs: []Wrong{lacks("file", ErrCSVRequired), is("file", "\x00\x01", ErrInvalidCSV)}},
	{Route: "uploads", As: InQuery, Params: []Param{may("customer_id", goodCustomer), may("site_id", goodSite), may("limit", 5, 0, 1001)},
		Fields: append(words("success count"), prefixed("uploads[].", "upload_id processing_status site_id")...)},
	{Route: "upload", As: InQuery, Params: []Param{must("id", "{upload_id}")}, Fields: words("success upload upload.upload_id upload.processing_status"),
		Wrongs: []Wrong{is("id", "upl_none", ErrUploadNotFound)}},
}

// parameters are fields of a JSON body whose absence is told as a parameter's,
// as the specification has it for uploads.
func parameters(names ...string) (out []Wrong) {
	for _, n := range names {
		out = append(out, lacks(n, MissingParameter(n)))
	}
	return out
}

var forecastPromises = []Promise{
	{Route: "freemium-verify", As: InJSON, Params: []Param{must("email", "{email}", 7)}, Fields: words("status message"),
		Wrongs: []Wrong{is("email", "nobody", ErrInvalidEmail)}},
	{Route: "freemium-forecast", As: InForm, Params: []Param{must("file", "{history}"), must("email", "{email}"), must("verification_code", "{code}"), must("site_name", "Roof"),
		must("location", "Durban"), must("capacity_kw", "50", "much"), must("tou_accepted", "true"), may("marketing_opt_in", "true", "perhaps")},
		Fields: append(prefixed("forecast.", "site_name location manufacturer forecast_hours generated_at model_type summary.total_kwh_24h summary.peak_hour summary.peak_kwh summary.average_hourly_kwh"),
			append(words("status"), prefixed("forecast.forecasts[].", "timestamp hour_ahead kWh_forecast confidence")...)...),
		Wrongs: []Wrong{
			lacks("file", ErrCSVRequired),
			lacks("email", MissingFields("email")), lacks("verification_code", MissingFields("verification_code")), lacks("site_name", MissingFields("site_name")),
			lacks("location", MissingFields("location")), lacks("capacity_kw", MissingFields("capacity_kw")),
			lacks("tou_accepted", ErrTermsNotAccepted), is("tou_accepted", "false", ErrTermsNotAccepted),
			is("email", "nobody", ErrInvalidEmail), is("verification_code", "000000", ErrInvalidCode),
			is("file", "<html>no data</html>", ErrFreemiumCSV),
			{Why: "the engine fails", Err: ErrForecastFailed, State: Broken},
		}},
	{Route: "forecast", As: InQuery, Params: []Param{must("customer_id", goodCustomer), may("site_id", goodSite), may("horizon_hours", 24, 0, 721, "soon"), may("past_days", 2, -1, 61, "all")},
		Fields: append(words("forecast_id customer_id generated_at horizon_hours metadata.model_version metadata.training_data_points metadata.model_accuracy"),
			prefixed("forecasts[].", "timestamp predicted_power_kw confidence_interval.lower confidence_interval.upper weather_conditions.temperature_c weather_conditions.irradiance_w_m2 weather_conditions.wind_speed_m_s")...),
		Wrongs: []Wrong{
			is("site_id", "Nowhere", ErrSiteNotFound),
			{Why: "a customer without a model", Err: ErrNoModel, State: Empty},
			{Why: "the engine fails", Err: ErrForecastFailed, State: Broken},
		}},
	{Route: "energy-forecast", As: InJSON, Params: []Param{must("site_id", goodSite, 7), may("forecast_hours", 24, -1, 721, "soon"), may("include_device_breakdown", true, "yes")},
		Fields: append(words("generated_at model_info.model_type"), prefixed("forecasts[].", "timestamp hour_ahead kWh_forecast")...),
		Wrongs: []Wrong{lacks("site_id", MissingField("customer_id")), is("site_id", "Nowhere", ErrSiteNotFound)}},
	list("stored-forecasts", "", forCustomer, append(append(words("success customer_id count"),
		prefixed("forecast_results[].", "forecast_id site_id generated_at model_name model_version horizon_hours metrics.training_rmse metrics.validation_rmse metrics.mape_percent metrics.smape_percent weather_context.avg_temperature_c weather_context.avg_irradiance_wm2 weather_context.avg_wind_speed_ms")...),
		prefixed("forecast_results[].forecast_points[].", "timestamp hour_ahead predicted_power_kw lower_conf_kw upper_conf_kw")...),
		Wrong{Why: "a customer without forecasts", Err: ErrNoForecastResult, State: Empty}),
	list("interpolations", "", forCustomer, append(words("success customer_id count"),
		prefixed("interpolation_results[].", "result_id site_id processed_at method asset_ids data_window.start data_window.end gap_statistics.total_gaps gap_statistics.average_gap_minutes gap_statistics.largest_gap_minutes gap_statistics.coverage_improvement_percent performance_metrics.rmse_kw performance_metrics.mae_kw performance_metrics.r2_score performance_metrics.nrmse_percent")...),
		Wrong{Why: "a customer without results", Err: ErrNoInterpolation, State: Empty}),
	{Route: "ml-models", As: InJSON, Params: []Param{may("customer_id", goodCustomer, 7), may("limit", 5, -1, 1001)},
		Fields: append(words("success count"), prefixed("model_metrics[].", "model_name model_version model_type status last_trained_at training_data_window.start training_data_window.end hyperparameters.layers hyperparameters.learning_rate hyperparameters.dropout hyperparameters.optimizer training_metrics.epochs training_metrics.train_loss training_metrics.validation_loss training_metrics.early_stop_epoch artifact_locations.model artifact_locations.encoders artifact_locations.config")...),
		Wrongs: []Wrong{{Why: "the store fails", Err: ErrModelRegistry, State: Broken}}},
	{Route: "forecast-snapshot", As: InQuery, Params: []Param{must("site_id", goodSite), may("horizon", "48h", "soon", "0h")},
		Fields: append(words("site_id model_id generated_at horizon_hours resolution totals.total_kwh"), prefixed("intervals[].", "ts p10_kw p50_kw p90_kw")...),
		Wrongs: []Wrong{foreign, is("site_id", "Nowhere", ErrSiteNotFound)}},
}

var telemetryPromises = []Promise{
	{Route: "data-period", As: InQuery, Params: []Param{must("site_id", goodSite), may("asset_id", goodAsset)}, Fields: words("site_id first_record last_record"),
		Wrongs: []Wrong{foreign, is("site_id", "Nowhere", ErrSiteNotFound), is("asset_id", "INV-none", ErrAssetNotFound)}},
	{Route: "inverter", As: InQuery, Params: append([]Param{must("asset_id", goodAsset), must("site_id", goodSite), may("resolution", "daily", "weekly"), may("limit", 10, 0, "all")}, span...),
		Fields: recordFields, Wrongs: []Wrong{foreign, is("asset_id", "INV-none", ErrAssetNotFound)}},
	{Route: "site-data", As: InQuery, Params: append([]Param{must("site_id", goodSite), may("resolution", "hourly", "weekly"), may("limit", 10, 0)}, span...),
		Fields: []string{"records." + goodAsset + "[].power"}, Wrongs: []Wrong{foreign}},
	{Route: "latest", As: InQuery, Params: []Param{must("site_id", goodSite)}, Fields: recordFields, Wrongs: []Wrong{foreign, is("site_id", "Nowhere", ErrSiteNotFound)}},
	{Route: "alert-period", As: InQuery, Params: []Param{must("site_id", goodSite), may("terminal_device_id", goodDevice)}, Fields: words("site_id first_record last_record"),
		Wrongs: []Wrong{foreign}},
	{Route: "terminal-alerts", As: InQuery, Params: []Param{must("terminal_device_id", goodDevice), must("site_id", goodSite), must("start", "2025-10-01T00:00:00Z", "yesterday"), must("end", "2026-10-01T00:00:00Z", "later")},
		Fields: alertFields, Wrongs: []Wrong{foreign}},
	{Route: "site-alerts", As: InQuery, Params: []Param{must("site_id", goodSite), must("start", "2025-10-01T00:00:00Z", "yesterday"), must("end", "2026-10-01T00:00:00Z", "later")},
		Fields: []string{"records." + goodDevice + "[].alert_type"}, Wrongs: []Wrong{foreign}},
}

var findingFields = prefixed("ml_enhanced_activities[].", "summary_id asset_id created_at last_detection_at model_version fault_family severity_label confidence energy_at_risk_kw root_cause recommended_actions[].priority recommended_actions[].action detections")

var terminalPromises = []Promise{
	list("ooda", "", forCustomer, append(words("success customer_id count"), findingFields...), Wrong{Why: "a customer without summaries", Err: ErrNoSummaries, State: Empty}),

	{Route: "assets", Action: ActionAdd, As: InJSON, Params: []Param{must("asset_id", "{new}", 7), must("name", "Inverter 9", 7), must("type", "Solar Inverter", 7), must("capacity_kw", 50, "fifty", -1),
		must("location", "roof", 7), may("site_id", goodSite, 7), may("components", []any{map[string]any{"oem": "SMA", "model": "STP 50", "serial": "9"}}, "SMA")},
		Fields: words("message asset_id"), Wrongs: badAction(
			Wrong{Why: "a component without its serial", With: map[string]any{"components": []any{map[string]any{"oem": "SMA", "model": "STP 50"}}}, Err: MissingField("components[0].serial")},
			Wrong{Why: "an id that is there", With: map[string]any{"asset_id": goodAsset}, Err: refuse(http.StatusConflict, "")})},
	list("assets", ActionList, nil, append(words("success count"), prefixed("assets[].", "asset_id name type capacity_kw location created_at")...)),
	{Route: "assets", Action: ActionGet, As: InJSON, Params: forAsset, Fields: append(words("success"), prefixed("asset.", "asset_id name type capacity_kw location created_at")...),
		Wrongs: []Wrong{is("asset_id", "INV-none", ErrAssetNotFound)}},

	assetMove(ActionSet, []Param{may("name", "Inverter 1", 7), may("capacity_kw", 50, "fifty", -1), may("tilt_deg", 20, "steep", 91), may("string_count", 6, -1, "six"), may("warranty_expiry_date", "2031-06-30", "soon", 7)}),
	assetMove(ActionInstall, []Param{must("component", map[string]any{"oem": "SMA", "model": "Fan", "serial": "{new}", "kind": "fan"}, "SMA")},
		Wrong{Why: "a component without its serial", With: map[string]any{"component": map[string]any{"oem": "SMA", "model": "Fan"}}, Err: MissingField("component.serial")},
		is("former_serial", "none", ErrComponentNotFound)),
	{Route: "assets", Action: ActionRemove, As: InJSON, Params: append(slices.Clone(forAsset), must("former_serial", "9", 7)), Fields: words("success message asset_id asset.version"),
		Wrongs: []Wrong{is("former_serial", "none", ErrComponentNotFound), is("asset_id", "INV-none", ErrAssetNotFound)}, Elsewhere: "the tests of components: a unit has each once"},

	{Route: "detect", Action: ActionRun, As: InJSON, Params: append(slices.Clone(forAsset), may("lookback_hours", 48, -1, "long")), Fields: append(words("success message detection_id asset_id anomalies_detected status"),
		prefixed("analysis.", "severity_label severity_score status summary anomalies metrics energy_at_risk_kw")...), Wrongs: badAction(is("asset_id", "INV-none", ErrAssetNotFound))},
	list("detect", ActionList, nil, append(words("success count"), prefixed("detections[].", "detection_id asset_id detected_at anomalies_detected severity")...)),
	list("detections", "", nil, append(words("success count"), prefixed("detections[].", "detection_id asset_id detected_at anomalies_detected severity")...)),
	{Route: "diagnose", Action: ActionRun, As: InJSON, Params: forAsset, Fields: append(words("success message diagnostic_id asset_id root_cause confidence status"),
		prefixed("analysis.", "root_cause category confidence summary recommended_actions evidence alternatives")...), Wrongs: badAction(is("asset_id", "INV-none", ErrAssetNotFound))},
	list("diagnose", ActionList, nil, append(words("success count"), prefixed("diagnostics[].", "diagnostic_id asset_id diagnosed_at root_cause confidence severity")...)),
	list("diagnostics", "", nil, append(words("success count"), prefixed("diagnostics[].", "diagnostic_id asset_id diagnosed_at root_cause confidence severity")...)),
	list("issues", "", nil, append(words("success count"), prefixed("issues[].", "issue_id site_id component issue_type status priority energy_at_risk_kw created_at updated_at description history")...)),
	{Route: "issues", Action: ActionCreate, As: InJSON, Params: []Param{must("component", goodAsset, 7), must("site", goodSite, 7), must("issue_type", "{new}", 7), must("description", goodReason, 7),
		may("priority", "high", "soon")}, Fields: words("success issue.issue_id issue.status")},
	{Route: "site-summary", Action: ActionSiteSummary, As: InJSON, Params: []Param{must("site_id", goodSite, 7)},
		Fields: append(prefixed("summary.", "total_kWh_today fleet_availability_pct fleet_pr_pct active_inverters total_inverters last_updated"), words("total_kWh_today active_inverters")...),
		Wrongs: badAction(foreign)},
	list("site-summary", ActionFleet, nil, append(words("success count"), prefixed("sites[].", "site_id customer_id name timezone summary.total_kWh_today findings energy_at_risk_kw unacknowledged hours")...)),
	list("activities", "", nil, append(words("success"), prefixed("activities[].", "phase title description timestamp")...)),
}

// assetMove is a change of a unit.
func assetMove(action string, more []Param, wrongs ...Wrong) Promise {
	return Promise{Route: "assets", Action: action, As: InJSON, Params: append(slices.Clone(forAsset), append(more, may("version", 0, "one"))...), Fields: words("success message asset_id asset.asset_id asset.version"),
		Wrongs: append([]Wrong{is("asset_id", "INV-none", ErrAssetNotFound)}, wrongs...)}
}

var (
	kinds     = must("maintenance_type", MaintenanceCorrective, "never", 7)
	urgencies = must("priority", PriorityHigh, "soon", 7)
)

var workPromises = []Promise{
	{Route: "schedule", Action: ActionCreate, As: InJSON, Params: append(slices.Clone(forAsset), kinds, must("scheduled_date", "2026-05-01T06:00:00Z", "soon", "2020-01-01T00:00:00Z"), urgencies, must("reason", goodReason, 7)),
		Fields: words("success message schedule_id asset_id scheduled_date"), Wrongs: badAction(is("asset_id", "INV-none", ErrAssetNotFound))},
	list("schedule", ActionList, forAsset, append(words("success count"), prefixed("schedules[].", "schedule_id asset_id maintenance_type scheduled_date priority status")...), is("asset_id", "INV-none", ErrAssetNotFound)),
	{Route: "schedule", Action: ActionPropose, As: InJSON, Params: append(slices.Clone(forAsset), kinds, must("estimated_duration_hours", 2, -1, "long"), may("kind", WorkMeasuring, "fast"), may("indoors", true, "yes")),
		Fields: append(words("success message site_id asset_id kind forecast_id issued_at count bundle"), prefixed("windows[].", "start end energy_kwh cost extra_kwh extra_cost irradiance_wm2 sun_suffices wind_ms windy rain_mm rainy weather_known")...),
		Wrongs: badAction(is("asset_id", "INV-none", ErrAssetNotFound))},
	{Route: "bom", Action: ActionGenerate, As: InJSON, Params: append(slices.Clone(forAsset), kinds, may("schedule_id", "{schedule_id}", 7)),
		Fields: append(words("success message bom_id asset_id total_cost currency bom.currency"), prefixed("items[].", "part_number description quantity unit_cost total_cost")...), Wrongs: badAction(is("asset_id", "INV-none", ErrAssetNotFound))},
	list("bom", ActionList, forAsset, append(words("success count"), prefixed("boms[].", "bom_id asset_id generated_at total_cost item_count")...), is("asset_id", "INV-none", ErrAssetNotFound)),
	{Route: "order", Action: ActionCreate, As: InJSON, Params: append(slices.Clone(forAsset), must("schedule_id", "{schedule_id}", 7), must("bom_id", "{bom_id}", 7), must("assigned_technician", "Thandi", 7),
		must("estimated_duration_hours", 2.5, -1, "long"), urgencies, may("additional", true, "yes")), Fields: append(slices.Clone(orderAnswer), "estimated_completion"), Wrongs: badAction(is("asset_id", "INV-none", ErrAssetNotFound),
		Wrong{Why: "an open order is about the same finding", With: map[string]any{"customer_id": goodCustomer, "asset_id": nil, "schedule_id": nil, "additional": nil, "bom_id": "{bom:ordered}"}, Err: clash})},
	{Route: "order", Action: ActionCreate, As: InJSON, Params: []Param{must("customer_id", goodCustomer, 7), must("bom_id", "{bom_id}", 7), may("planned_start", "2026-05-03T06:00:00Z", "soon", "2020-01-01T00:00:00Z")},
		Fields: append(slices.Clone(orderAnswer), "order.planned_start"), Wrongs: []Wrong{lacks("customer_id", MissingField("asset_id"))}},
	list("order", ActionList, forAsset, append(words("success count"), prefixed("orders[].", "order_id asset_id status created_at estimated_completion")...), is("asset_id", "INV-none", ErrAssetNotFound)),
}
