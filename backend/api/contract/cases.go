package contract

import (
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
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

// p is a parameter; its rule states whether it is required, and what is malformed.
func p(name string, good any, bad ...any) Param { return Param{Name: name, Good: good, Bad: bad} }

// must is a parameter that the domain requires.
func must(name string, good any, bad ...any) Param {
	return Param{Name: name, Good: good, Bad: bad, required: true}
}

// missing is a parameter whose absence has a separate error.
func missing(name string, err *api.Error) ErrorCase {
	return ErrorCase{Why: name + " left out", With: map[string]any{name: nil}, Err: err}
}

// withValue is a parameter whose value causes an error.
func withValue(name string, value any, err *api.Error) ErrorCase {
	why := name + " unknown"
	if s, ok := value.(string); ok && s != "" {
		why = name + " is " + s
	}
	return ErrorCase{Why: why, With: map[string]any{name: value}, Err: err}
}

// badAction is the error of an unknown action, with others.
func badAction(wrongs ...ErrorCase) []ErrorCase {
	return append([]ErrorCase{withValue("action", "dance", api.ErrInvalidAction)}, wrongs...)
}

// pages are what lists take.
var pages = []Param{p("limit", 5)}

func list[Req, Resp any](e api.Endpoint[Req, Resp], params []Param, fields []string, errs ...ErrorCase) Case {
	return For(e, Case{Params: append(slices.Clone(params), pages...), Fields: fields, Errors: errs})
}

func words(text string) []string { return strings.Fields(text) }

func prefixed(prefix, names string) (out []string) {
	for _, n := range words(names) {
		out = append(out, prefix+n)
	}
	return out
}

var (
	forAsset    = []Param{p("asset_id", goodAsset)}
	forCustomer = []Param{p("customer_id", goodCustomer)}

	recordFields = prefixed("records[].", "asset_id site_id timestamp power kWh inverter_state run_state")
	alertFields  = prefixed("alerts[].", "terminal_device_id site_id timestamp alert_type alert_severity message source_system resolved")
	uploadAnswer = words("status message s3_path processing_status upload_id")
	tokenAnswer  = append(words("token user"), prefixed("user.", "user_id username role_id role_name customer_ids application_permissions")...)
	orderAnswer  = words("success message order_id asset_id status")

	span = []Param{p("start", goodStart), p("end", goodEnd)}

	uploadParams = []Param{p("customer_id", goodCustomer), p("site_id", goodSite), p("region", "af-south-1"), p("location", "Sibaya"),
		p("manufacturer", "SMA")}
	uploadWrongs = []ErrorCase{
		missing("file", api.ErrCSVRequired),
		withValue("file", "<html>no data</html>", api.ErrInvalidCSV),
		{Why: "the store fails", Err: api.ErrUploadFailed, State: Broken},
	}
)

// foreign is a site of another customer, asked for with a limited key.
var foreign = ErrorCase{Why: "a foreign site", With: map[string]any{"site_id": "{foreign_site}"}, Err: api.ErrForbidden}

// cases are all of them, in no particular order.
var cases = slices.Concat(signInCases, uploadCases, forecastCases, telemetryCases, terminalCases, workCases, moveCases, adminCases, partnerCases, notificationCases)

var signInCases = []Case{
	For(api.Login, Case{Params: []Param{p("username", "{username}"), p("password", "{password}")}, Fields: words("mfa_required mfa_token"),
		Errors: []ErrorCase{withValue("password", "guess", api.ErrInvalidCredential), withValue("username", "unknown", api.ErrInvalidCredential)}}),
	For(api.VerifyMFA, Case{Params: []Param{p("mfa_token", "{mfa_token}"), p("totp_code", "{totp_code}")}, Fields: tokenAnswer,
		Errors: []ErrorCase{withValue("totp_code", "000000", api.ErrInvalidTOTP), withValue("mfa_token", "of an hour ago", api.ErrMFATokenExpired)}}),
	For(api.Refresh, Case{Fields: words("token expires_in")}),
	For(api.Logout, Case{Fields: words("success")}),
	For(api.Exchange, Case{TestedBy: "the tests of exchange, with a provider", Params: []Param{p("external_token", "e30.e30.e30"), p("provider", "company")},
		Errors: []ErrorCase{withValue("provider", "nobody's", api.InvalidField("provider", ""))}}),
	For(api.GetAPIKeyInfo, Case{Params: []Param{p("api_key", "{api_key}")}, Fields: words("api_key_id permitted_site_ids created_at"),
		Errors: []ErrorCase{withValue("api_key", "opa_prod_none", api.ErrAPIKeyNotFound)}}),
	For(api.ValidateAPIKey, Case{Params: []Param{p("api_key", "{api_key}"), p("site_id", goodSite)}, Fields: words("valid permitted_site_ids"),
		Errors: []ErrorCase{withValue("api_key", "opa_prod_none", api.ErrAPIKeyNotFound)}}),
}

var uploadCases = []Case{
	For(api.UploadHistory, Case{As: InForm, Params: append([]Param{p("file", goodCSV)}, uploadParams...), Fields: uploadAnswer, Errors: uploadWrongs}),
	For(api.UploadRecent, Case{As: InForm, Params: append([]Param{p("file", goodCSV)}, uploadParams...), Fields: uploadAnswer, Errors: uploadWrongs}),
	For(api.UploadHistory, Case{Params: append([]Param{p("s3_path", "{object}")}, uploadParams...), Fields: uploadAnswer,
		Errors: slices.Concat(parameters("customer_id", "site_id", "region", "location", "s3_path"))}),
	For(api.UploadRecent, Case{Params: append([]Param{p("s3_path", "{object}")}, uploadParams...), Fields: uploadAnswer,
		Errors: slices.Concat(parameters("customer_id", "site_id", "region", "location", "s3_path"))}),
	For(api.V1UploadHistory, Case{Params: []Param{p("file", goodCSV), p("site_id", goodSite), p("data_type", "training", "weather")},
		Fields: words("status message s3_path processing_status data_points validation"), Errors: []ErrorCase{missing("file", api.ErrCSVRequired), withValue("file", "\x00\x01", api.ErrInvalidCSV)}}),
	For(api.V1UploadRecent, Case{Params: []Param{p("file", goodCSV), p("site_id", goodSite), p("data_type", "nowcast", "training")},
		Fields: words("status message s3_path processing_status data_points validation"), Errors: []ErrorCase{missing("file", api.ErrCSVRequired), withValue("file", "\x00\x01", api.ErrInvalidCSV)}}),
	For(api.InspectUpload, Case{As: InForm, Params: []Param{p("file", goodCSV), p("customer_id", goodCustomer), p("site_id", goodSite), p("mapping", "", "power=")},
		Fields: append(words("success"), prefixed("inspection.", "accept rows_read rows_used rows_stored rows_missing rows_replaced columns[].number columns[].role columns[].reason mapping new_site")...),
		Errors: []ErrorCase{missing("file", api.ErrCSVRequired), missing("customer_id", api.MissingParameter("customer_id"))}}),
	For(api.CreateUploadSession, Case{Params: []Param{p("customer_id", goodCustomer), p("site_id", goodSite), p("size", 20<<20, -1), p("sha256", strings.Repeat("a", 64), "short")}, TestedBy: "the tests of uploads in parts: a caller may have few sessions",
		Fields: append(words("success"), prefixed("session.", "session_id size offset max_part expires_at")...)}),
	For(api.GetUploadSession, Case{Params: []Param{p("id", "ups_none")}, TestedBy: "the tests of uploads in parts", Errors: []ErrorCase{withValue("id", "ups_none", api.ErrSessionNotFound)}}),
	For(api.FinishUploadSession, Case{Params: []Param{p("id", "ups_none")}, TestedBy: "the tests of uploads in parts", Errors: badAction(withValue("id", "ups_none", api.ErrSessionNotFound))}),
	For(api.CancelUploadSession, Case{Params: []Param{p("id", "ups_none")}, TestedBy: "the tests of uploads in parts", Errors: []ErrorCase{withValue("id", "ups_none", api.ErrSessionNotFound)}}),
	For(api.SendUploadPart, Case{Params: []Param{p("file", goodCSV), p("id", "ups_none"), must("offset", "0", "-1"), must("sha256", "{sha256}", "other")}, TestedBy: "the tests of uploads in parts", Errors: []ErrorCase{missing("file", api.ErrCSVRequired)}}),
	For(api.ListUploads, Case{Params: []Param{p("customer_id", goodCustomer), p("site_id", goodSite), p("limit", 5)},
		Fields: append(words("success count"), prefixed("uploads[].", "upload_id processing_status site_id")...)}),
	For(api.GetUpload, Case{Params: []Param{p("id", "{upload_id}")}, Fields: words("success upload upload.upload_id upload.processing_status"),
		Errors: []ErrorCase{withValue("id", "upl_none", api.ErrUploadNotFound)}}),
}

// parameters are fields of a JSON body whose absence is reported as that of a parameter,
// as the specification has it for uploads.
func parameters(names ...string) (out []ErrorCase) {
	for _, n := range names {
		out = append(out, missing(n, api.MissingParameter(n)))
	}
	return out
}

var forecastCases = []Case{
	For(api.VerifyFreemium, Case{Params: []Param{p("email", "{email}")}, Fields: words("status message"),
		Errors: []ErrorCase{withValue("email", "unknown", api.ErrInvalidEmail)}}),
	For(api.ForecastFreemium, Case{Params: []Param{p("file", "{history}"), p("email", "{email}"), p("verification_code", "{code}"), p("site_name", "Roof"),
		p("location", "Durban"), p("capacity_kw", "50", "much"), p("tou_accepted", "true"), p("marketing_opt_in", "true", "perhaps")},
		Fields: append(prefixed("forecast.", "site_name location manufacturer forecast_hours generated_at model_type summary.total_kwh_24h summary.peak_hour summary.peak_kwh summary.average_hourly_kwh"),
			append(words("status"), prefixed("forecast.forecasts[].", "timestamp hour_ahead kWh_forecast confidence")...)...),
		Errors: []ErrorCase{
			missing("file", api.ErrCSVRequired),
			missing("email", api.MissingFields("email")), missing("verification_code", api.MissingFields("verification_code")), missing("site_name", api.MissingFields("site_name")),
			missing("location", api.MissingFields("location")), missing("capacity_kw", api.MissingFields("capacity_kw")),
			missing("tou_accepted", api.ErrTermsNotAccepted), withValue("tou_accepted", "false", api.ErrTermsNotAccepted),
			withValue("email", "unknown", api.ErrInvalidEmail), withValue("verification_code", "000000", api.ErrInvalidCode),
			withValue("file", "<html>no data</html>", api.ErrFreemiumCSV),
			{Why: "the engine fails", Err: api.ErrForecastFailed, State: Broken},
		}}),
	For(api.GenerateForecast, Case{Params: []Param{p("customer_id", goodCustomer), p("site_id", goodSite), p("horizon_hours", 24), p("past_days", 2)},
		Fields: append(words("forecast_id customer_id generated_at horizon_hours metadata.model_version metadata.training_data_points metadata.model_accuracy"),
			prefixed("forecasts[].", "timestamp predicted_power_kw confidence_interval.lower confidence_interval.upper weather_conditions.temperature_c weather_conditions.irradiance_w_m2 weather_conditions.wind_speed_m_s")...),
		Errors: []ErrorCase{
			withValue("site_id", "Nowhere", api.ErrSiteNotFound),
			{Why: "a customer without a model", Err: api.ErrNoModel, State: Empty},
			{Why: "the engine fails", Err: api.ErrForecastFailed, State: Broken},
		}}),
	For(api.ForecastEnergy, Case{Params: []Param{p("site_id", goodSite), p("forecast_hours", 24), p("include_device_breakdown", true)},
		Fields: append(words("generated_at model_info.model_type"), prefixed("forecasts[].", "timestamp hour_ahead kWh_forecast")...),
		Errors: []ErrorCase{missing("site_id", api.MissingField("customer_id")), withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	list(api.ListForecasts, forCustomer, append(append(words("success customer_id count"),
		prefixed("forecast_results[].", "forecast_id site_id generated_at model_name model_version horizon_hours metrics.training_rmse metrics.validation_rmse metrics.mape_percent metrics.smape_percent weather_context.avg_temperature_c weather_context.avg_irradiance_wm2 weather_context.avg_wind_speed_ms")...),
		prefixed("forecast_results[].forecast_points[].", "timestamp hour_ahead predicted_power_kw lower_conf_kw upper_conf_kw")...),
		ErrorCase{Why: "a customer without forecasts", Err: api.ErrNoForecastResult, State: Empty}),
	list(api.ListInterpolations, forCustomer, append(words("success customer_id count"),
		prefixed("interpolation_results[].", "result_id site_id processed_at method asset_ids data_window.start data_window.end gap_statistics.total_gaps gap_statistics.average_gap_minutes gap_statistics.largest_gap_minutes gap_statistics.coverage_improvement_percent performance_metrics.rmse_kw performance_metrics.mae_kw performance_metrics.r2_score performance_metrics.nrmse_percent")...),
		ErrorCase{Why: "a customer without results", Err: api.ErrNoInterpolation, State: Empty}),
	For(api.ListModels, Case{Params: []Param{p("customer_id", goodCustomer), p("limit", 5)},
		Fields: append(words("success count"), prefixed("model_metrics[].", "model_name model_version model_type status last_trained_at training_data_window.start training_data_window.end hyperparameters.layers hyperparameters.learning_rate hyperparameters.dropout hyperparameters.optimizer training_metrics.epochs training_metrics.train_loss training_metrics.validation_loss training_metrics.early_stop_epoch artifact_locations.model artifact_locations.encoders artifact_locations.config")...),
		Errors: []ErrorCase{{Why: "the store fails", Err: api.ErrModelRegistry, State: Broken}}}),
	For(api.GetForecastSnapshot, Case{Params: []Param{p("site_id", goodSite), p("horizon", "48h", "soon", "0h")},
		Fields: append(words("site_id model_id generated_at horizon_hours resolution totals.total_kwh"), prefixed("intervals[].", "ts p10_kw p50_kw p90_kw")...),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
}

var telemetryCases = []Case{
	For(api.GetDataPeriod, Case{Params: []Param{p("site_id", goodSite), p("asset_id", goodAsset)}, Fields: words("site_id first_record last_record"),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound), withValue("asset_id", "INV-none", api.ErrAssetNotFound)}}),
	For(api.ListRecords, Case{Params: append([]Param{p("asset_id", goodAsset), p("site_id", goodSite), p("resolution", "daily"), p("limit", 10)}, span...),
		Fields: recordFields, Errors: []ErrorCase{foreign, withValue("asset_id", "INV-none", api.ErrAssetNotFound)}}),
	For(api.ListSiteRecords, Case{Params: append([]Param{p("site_id", goodSite), p("resolution", "hourly"), p("limit", 10)}, span...),
		Fields: []string{"records." + goodAsset + "[].power"}, Errors: []ErrorCase{foreign}}),
	For(api.GetLatest, Case{Params: []Param{p("site_id", goodSite)}, Fields: recordFields, Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	For(api.FollowChanges, Case{Params: []Param{p("site_id", goodSite), p("kinds", "alert,order", "weather"), p("follow", "false", "maybe")}, TestedBy: "TestStream", Errors: []ErrorCase{withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	For(api.WriteTelemetry, Case{As: InQuery, Params: []Param{must("site_id", goodSite), must("gateway_id", "gateway-1"), must("epoch", "epoch-1"), p("precision", "s"), p("unknown", "ignore"), p("asset_tag", "unit", "a b"),
		p("version", "1.2.3"), p("backlog", 10), p("refused", 1), p("sent_at", goodStart)},
		Fields: words("success points units ignored service_time"), Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound), missing("gateway_id", api.MissingParameter("gateway_id")), missing("epoch", api.MissingParameter("epoch"))}}),
	For(api.GetAlertPeriod, Case{Params: []Param{p("site_id", goodSite), p("terminal_device_id", goodDevice)}, Fields: words("site_id first_record last_record"),
		Errors: []ErrorCase{foreign}}),
	For(api.ListTerminalAlerts, Case{Params: []Param{p("terminal_device_id", goodDevice), p("site_id", goodSite), p("start", "2025-10-01T00:00:00Z"), p("end", "2026-10-01T00:00:00Z")},
		Fields: alertFields, Errors: []ErrorCase{foreign}}),
	For(api.ListSiteAlerts, Case{Params: []Param{p("site_id", goodSite), p("start", "2025-10-01T00:00:00Z"), p("end", "2026-10-01T00:00:00Z")},
		Fields: []string{"alerts." + goodDevice + "[].alert_type"}, Errors: []ErrorCase{foreign}}),
}

var findingFields = prefixed("ml_enhanced_activities[].", "summary_id asset_id created_at last_detection_at model_version fault_family severity_label confidence energy_at_risk_kw root_cause recommended_actions[].priority recommended_actions[].action detections")

var terminalCases = []Case{
	list(api.ListFindings, forCustomer, append(words("success customer_id count"), findingFields...), ErrorCase{Why: "a customer without summaries", Err: api.ErrNoSummaries, State: Empty},
		ErrorCase{Why: "a period that ends before it begins", With: map[string]any{"from": "2026-01-02", "to": "2026-01-01"}, Err: api.InvalidField("to", "it must be later than from")}),
	For(api.GetHistory, Case{Params: []Param{p("customer_id", goodCustomer)}, Fields: words("success customer_id history.count history.lost_kwh history.families history.largest_loss")}),

	For(api.AddAsset, Case{Params: []Param{p("asset_id", "{new}"), p("name", "Inverter 9"), p("type", "Solar Inverter"), p("capacity_kw", 50, -1),
		p("location", "roof"), p("site_id", goodSite), p("components", []any{map[string]any{"oem": "SMA", "model": "STP 50", "serial": "9"}})},
		Fields: words("message asset_id"), Errors: badAction(
			ErrorCase{Why: "a component without its serial", With: map[string]any{"components": []any{map[string]any{"oem": "SMA", "model": "STP 50"}}}, Err: api.MissingField("components[0].serial")},
			ErrorCase{Why: "an id that is there", With: map[string]any{"asset_id": goodAsset}, Err: conflict})}),
	list(api.ListAssets, nil, append(words("success count"), prefixed("assets[].", "asset_id name type capacity_kw location created_at")...)),
	For(api.GetAsset, Case{Params: forAsset, Fields: append(words("success"), prefixed("asset.", "asset_id name type capacity_kw location created_at")...),
		Errors: []ErrorCase{withValue("asset_id", "INV-none", api.ErrAssetNotFound)}}),

	assetMove(api.SetAsset, []Param{p("name", "Inverter 1"), p("clear", []string{"mounting"}), p("capacity_kw", 50, -1), p("tilt_deg", 20, 91), p("string_count", 6, -1), p("warranty_expiry_date", "2031-06-30", "soon")}),
	assetMove(api.InstallComponent, []Param{p("component", map[string]any{"oem": "SMA", "model": "Fan", "serial": "{new}", "kind": "fan"})},
		ErrorCase{Why: "a component without its serial", With: map[string]any{"component": map[string]any{"oem": "SMA", "model": "Fan"}}, Err: api.MissingField("component.serial")},
		withValue("former_serial", "none", api.ErrComponentNotFound)),
	For(api.RemoveComponent, Case{Params: append(slices.Clone(forAsset), p("former_serial", "9")), Fields: words("success message asset_id asset.version"),
		Errors: []ErrorCase{withValue("former_serial", "none", api.ErrComponentNotFound), withValue("asset_id", "INV-none", api.ErrAssetNotFound)}, TestedBy: "the tests of components: a unit has each once"}),
	For(api.MergeAssets, Case{Params: append(slices.Clone(forAsset), p("from_asset_id", "INV-2", goodAsset), p("dry_run", true)), Fields: words("success asset_id effects"),
		Errors: []ErrorCase{withValue("asset_id", "INV-none", api.ErrAssetNotFound)}, TestedBy: "the tests of merged units: a unit is merged once"}),

	For(api.RunDetection, Case{Params: append(slices.Clone(forAsset), p("lookback_hours", 48)), Fields: append(words("success message detection_id asset_id anomalies_detected status"),
		prefixed("analysis.", "severity_label severity_score status summary anomalies metrics energy_at_risk_kw")...), Errors: badAction(withValue("asset_id", "INV-none", api.ErrAssetNotFound))}),
	list(api.ListDetectRuns, nil, append(words("success count"), prefixed("detections[].", "detection_id asset_id detected_at anomalies_detected severity")...)),
	list(api.ListDetections, nil, append(words("success count"), prefixed("detections[].", "detection_id asset_id detected_at anomalies_detected severity")...)),
	For(api.RunDiagnosis, Case{Params: forAsset, Fields: append(words("success message diagnostic_id asset_id root_cause confidence status"),
		prefixed("analysis.", "root_cause category confidence summary recommended_actions evidence alternatives")...), Errors: badAction(withValue("asset_id", "INV-none", api.ErrAssetNotFound))}),
	list(api.ListDiagnoseRuns, nil, append(words("success count"), prefixed("diagnostics[].", "diagnostic_id asset_id diagnosed_at root_cause confidence severity")...)),
	list(api.ListDiagnostics, nil, append(words("success count"), prefixed("diagnostics[].", "diagnostic_id asset_id diagnosed_at root_cause confidence severity")...)),
	list(api.ListIssues, nil, append(words("success count"), prefixed("issues[].", "issue_id site_id component issue_type status priority energy_at_risk_kw created_at updated_at description history")...)),
	For(api.CreateIssue, Case{Params: []Param{p("component", goodAsset), p("site", goodSite), p("issue_type", "{new}"), p("description", goodReason),
		p("priority", "high")}, Fields: words("success issue.issue_id issue.status")}),
	For(api.GetSiteSummary, Case{Params: []Param{p("site_id", goodSite)},
		Fields: append(prefixed("summary.", "total_kWh_today fleet_availability_pct fleet_pr_pct active_inverters total_inverters last_updated"), words("total_kWh_today active_inverters")...),
		Errors: badAction(foreign)}),
	list(api.ListFleet, nil, append(words("success count"), prefixed("sites[].", "site_id customer_id name timezone summary.total_kWh_today findings energy_at_risk_kw unacknowledged hours")...)),
	For(api.StartRun, Case{Params: []Param{p("site_id", goodSite), p("kind", api.RunDetect, "dance"), p("from", goodStart, "yesterday"), p("to", goodEnd, "later")}, TestedBy: "TestManualRuns: of a kind, one run is in progress at a time",
		Fields: append(words("success message"), prefixed("run.", "run_id site_id customer_id kind status progress requested_by requested_at")...), Errors: badAction(foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound))}),
	list(api.ListRuns, []Param{p("site_id", goodSite)}, words("success runs count"), foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)),
	list(api.ListActivities, nil, append(words("success"), prefixed("activities[].", "phase title description timestamp")...)),
}

// assetMove is a change of a unit.
func assetMove(e api.Endpoint[api.AssetsRequest, api.AssetsResponse], more []Param, errs ...ErrorCase) Case {
	return For(e, Case{Params: append(slices.Clone(forAsset), append(more, p("version", 0))...), Fields: words("success message asset_id asset.asset_id asset.version"),
		Errors: append([]ErrorCase{withValue("asset_id", "INV-none", api.ErrAssetNotFound)}, errs...)})
}

var (
	kinds     = p("maintenance_type", api.MaintenanceCorrective)
	urgencies = p("priority", api.PriorityHigh)
)

var workCases = []Case{
	For(api.CreateSchedule, Case{Params: append(slices.Clone(forAsset), kinds, p("scheduled_date", "2026-05-01T06:00:00Z", "2020-01-01T00:00:00Z"), urgencies, p("reason", goodReason)),
		Fields: words("success message schedule_id asset_id scheduled_date"), Errors: badAction(withValue("asset_id", "INV-none", api.ErrAssetNotFound))}),
	list(api.ListSchedules, forAsset, append(words("success count"), prefixed("schedules[].", "schedule_id asset_id maintenance_type scheduled_date priority status")...), withValue("asset_id", "INV-none", api.ErrAssetNotFound)),
	For(api.ProposeSchedule, Case{Params: append(slices.Clone(forAsset), kinds, p("estimated_duration_hours", 2), p("kind", api.WorkMeasuring), p("indoors", true)),
		Fields: append(words("success message site_id asset_id kind forecast_id issued_at count bundle"), prefixed("windows[].", "start end energy_kwh cost extra_kwh extra_cost irradiance_wm2 sun_suffices wind_ms windy rain_mm rainy weather_known")...),
		Errors: badAction(withValue("asset_id", "INV-none", api.ErrAssetNotFound))}),
	For(api.GenerateBOM, Case{Params: append(slices.Clone(forAsset), kinds, p("schedule_id", "{schedule_id}")),
		Fields: append(words("success message bom_id asset_id total_cost currency bom.currency"), prefixed("items[].", "part_number description quantity unit_cost total_cost")...), Errors: badAction(withValue("asset_id", "INV-none", api.ErrAssetNotFound))}),
	list(api.ListBOMs, forAsset, append(words("success count"), prefixed("boms[].", "bom_id asset_id generated_at total_cost item_count")...), withValue("asset_id", "INV-none", api.ErrAssetNotFound)),
	For(api.CreateOrder, Case{Params: append(slices.Clone(forAsset), p("schedule_id", "{schedule_id}"), p("bom_id", "{bom_id}"), p("assigned_technician", "Thandi"),
		p("estimated_duration_hours", 2.5), urgencies, p("additional", true)), Fields: append(slices.Clone(orderAnswer), "estimated_completion"), Errors: badAction(withValue("asset_id", "INV-none", api.ErrAssetNotFound),
		ErrorCase{Why: "an open order is about the same finding", With: map[string]any{"customer_id": goodCustomer, "asset_id": nil, "schedule_id": nil, "additional": nil, "bom_id": "{bom:ordered}"}, Err: conflict})}),
	For(api.CreateOrder, Case{Params: []Param{must("customer_id", goodCustomer), p("bom_id", "{bom_id}"), p("planned_start", "2026-05-03T06:00:00Z", "2020-01-01T00:00:00Z")},
		Fields: append(slices.Clone(orderAnswer), "order.planned_start"), Errors: []ErrorCase{missing("customer_id", api.MissingField("asset_id"))}}),
	list(api.ListOrders, forAsset, append(words("success count"), prefixed("orders[].", "order_id asset_id status created_at estimated_completion")...), withValue("asset_id", "INV-none", api.ErrAssetNotFound)),
}

// The operations that the specification does not name: moves of the state
// machines, administration, and what watches over the service.

// conflict is a 409 whose message depends on the record.
var conflict = api.Conflict("")

// unknownKey is the error of an id; that of a key is api.ErrAPIKeyNotFound.
var unknownKey = api.UnknownID("API key not found")

// move is an operation on a record that is found by its id.
func move[Req, Resp any](e api.Endpoint[Req, Resp], id, good, none string, notFound *api.Error, more []Param, fields []string, errs ...ErrorCase) Case {
	return For(e, Case{Params: append([]Param{p(id, good)}, more...), Fields: fields, Errors: append([]ErrorCase{withValue(id, none, notFound)}, errs...)})
}

// siteMove is a change of a whole site.
func siteMove(e api.Endpoint[api.SitesRequest, api.SitesResponse], more []Param) Case {
	return move(e, "site_id", goodSite, "Nowhere", api.ErrSiteNotFound, more, words("success site.site_id"), foreign)
}

// tested is a case whose good request others try.
func tested(c Case, by string) Case {
	c.TestedBy = by
	return c
}

func orderMove(e api.Endpoint[api.OrderRequest, api.OrderResponse], from, wrongFrom string, more []Param, errs ...ErrorCase) Case {
	errs = append(errs, ErrorCase{Why: "an order that is " + wrongFrom, With: map[string]any{"order_id": "{order:" + wrongFrom + "}"}, Err: conflict})
	return move(e, "order_id", "{order:"+from+"}", "ord_none", api.ErrOrderNotFound, append(more, p("note", "on the way"), p("version", 0)), words("success message order_id status order.history"), errs...)
}

func scheduleMove(e api.Endpoint[api.ScheduleRequest, api.ScheduleResponse], more []Param, errs ...ErrorCase) Case {
	return move(e, "schedule_id", "{schedule_id}", "sch_none", api.ErrScheduleNotFound, more, words("success message schedule_id schedule.status"), errs...)
}

func alertMove(e api.Endpoint[api.AlertsRequest, api.AlertsResponse], more ...Param) Case {
	return move(e, "alert_id", "{alert:"+e.Action+"}", "alr_none", api.ErrAlertNotFound, more, words("success alert.alert_id alert.state alert.history"))
}

func userMove(e api.Endpoint[api.UsersRequest, api.UsersResponse], more []Param, fields []string, errs ...ErrorCase) Case {
	return move(e, "user_id", "{user_id}", "usr_none", api.ErrUserNotFound, more, fields, errs...)
}

var (
	tooLong    = strings.Repeat("a", limit.Text+1)
	userFields = prefixed("user.", "user_id username role_id role_name customer_ids site_ids active mfa_enrolled")
	keyFields  = prefixed("key.", "api_key_id name role_id permitted_site_ids customer_ids state created_at")
)

var moveCases = []Case{
	orderMove(api.AssignOrder, api.OrderPending, api.OrderCompleted, []Param{p("assigned_technician", "Sipho")}),
	orderMove(api.StartOrder, api.OrderPending, api.OrderCompleted, nil, ErrorCase{Why: "no technician is assigned", With: map[string]any{"order_id": "{order:unassigned}"}, Err: conflict}),
	orderMove(api.HoldOrder, api.OrderInProgress, api.OrderCompleted, []Param{p("hold_reason", api.HoldWeather)}),
	orderMove(api.ResumeOrder, api.OrderOnHold, api.OrderCompleted, nil),
	orderMove(api.CompleteOrder, api.OrderInProgress, api.OrderPending, []Param{p("completion_notes", "fuse replaced"), p("actual_hours", 1.5)}),
	orderMove(api.CancelOrder, api.OrderPending, api.OrderCompleted, []Param{p("reason", "a duplicate")}),
	orderMove(api.ReopenOrder, api.OrderCompleted, api.OrderPending, []Param{p("reason", "it trips again")}),
	move(api.GetOrder, "order_id", "{order:pending}", "ord_none", api.ErrOrderNotFound, nil, words("success order.order_id order.history order.clocks")),

	scheduleMove(api.ConfirmSchedule, []Param{p("reason", "crew booked")}),
	move(api.CompleteSchedule, "schedule_id", "{schedule:confirmed}", "sch_none", api.ErrScheduleNotFound, []Param{p("reason", "done")}, words("success schedule_id schedule.status"),
		ErrorCase{Why: "not confirmed", With: map[string]any{"schedule_id": "{schedule_id}"}, Err: conflict}),
	scheduleMove(api.CancelSchedule, []Param{p("reason", "not needed")}, ErrorCase{Why: "a reason too long", With: map[string]any{"reason": tooLong}, Err: api.InvalidField("reason", "")}),
	move(api.GetSchedule, "schedule_id", "{schedule_id}", "sch_none", api.ErrScheduleNotFound, nil, words("success schedule.schedule_id schedule.history")),

	For(api.BuildBOM, Case{Params: append(slices.Clone(forAsset), kinds), Fields: words("success bom_id total_cost items")}),
	move(api.GetBOM, "bom_id", "{bom_id}", "bom_none", api.ErrBOMNotFound, nil, words("success bom.bom_id bom.items bom.total_cost")),
	list(api.ListParts, forCustomer, append(words("success count"), prefixed("parts[].", "part_number description unit_cost")...)),
	For(api.AdjustStock, Case{Params: []Param{p("part_number", "FUSE-GPV-15A"), p("on_hand", 20), p("reason", "counted"), p("site_id", goodSite)},
		Fields: words("success part.part_number"), Errors: []ErrorCase{withValue("part_number", "NONE", api.ErrPartNotFound)}, TestedBy: "the tests of stock: its fields are exclusive"}),

	For(api.Subscribe, Case{Params: []Param{p("order_id", "{order:pending}"), p("callback_url", "https://93.184.216.34/hook")},
		Fields: words("success message subscription_id order_id status secret"), Errors: badAction(
			missing("callback_url", api.ErrInvalidCallback), withValue("order_id", "ord_none", api.ErrOrderNotFound), withValue("callback_url", "no address", api.ErrInvalidCallback), withValue("callback_url", "https://127.0.0.1/hook", api.ErrInvalidCallback),
			withValue("callback_url", "https://[::ffff:10.0.0.1]/hook", api.ErrInvalidCallback), withValue("callback_url", "https://2130706433/hook", api.ErrInvalidCallback), withValue("callback_url", "http://93.184.216.34/hook", api.ErrInvalidCallback),
			withValue("callback_url", "https://me@93.184.216.34/hook", api.ErrInvalidCallback))}),
	list(api.ListSubscriptions, []Param{p("order_id", "{subscribed}")}, append(words("success count"), prefixed("subscriptions[].", "subscription_id order_id callback_url status created_at")...), withValue("order_id", "ord_none", api.ErrOrderNotFound)),
	move(api.Unsubscribe, "subscription_id", "{subscription_id}", "sub_none", api.ErrSubscriptionNotFound, nil, words("success message")),
	move(api.PauseSubscription, "subscription_id", "{subscription_id}", "sub_none", api.ErrSubscriptionNotFound, nil, words("success message subscription.status"),
		ErrorCase{Why: "a subscription that has ended", With: map[string]any{"subscription_id": "{subscription:ended}"}, Err: conflict}),
	move(api.ResumeSubscription, "subscription_id", "{subscription:paused}", "sub_none", api.ErrSubscriptionNotFound, nil, words("success message subscription.status"),
		ErrorCase{Why: "a subscription that has ended", With: map[string]any{"subscription_id": "{subscription:ended}"}, Err: conflict}),
	move(api.RotateSubscription, "subscription_id", "{subscription_id}", "sub_none", api.ErrSubscriptionNotFound, nil, words("success message secret subscription.former_secret_until"),
		ErrorCase{Why: "a subscription that has ended", With: map[string]any{"subscription_id": "{subscription:ended}"}, Err: conflict}),
	move(api.ListDeliveries, "subscription_id", "{subscription_id}", "sub_none", api.ErrSubscriptionNotFound, pages, words("success deliveries count")),
	For(api.ReplayDeliveries, Case{Params: []Param{p("subscription_id", "{subscription_id}")}, Fields: words("success message"),
		Errors: []ErrorCase{missing("subscription_id", api.MissingField("delivery_id")), withValue("subscription_id", "sub_none", api.ErrSubscriptionNotFound)}}),

	For(api.AddAssets, Case{Params: []Param{p("assets", []any{map[string]any{"asset_id": "{new}", "name": "Inverter 9", "type": "Solar Inverter", "capacity_kw": 50, "location": "roof"}}), p("site_id", goodSite)},
		Fields: append(words("success message count failed"), prefixed("results[].", "index status id site_id")...), Errors: badAction(
			ErrorCase{Why: "an id that is there, atomic", With: map[string]any{"atomic": true, "assets": []any{map[string]any{"asset_id": goodAsset, "name": "n", "type": "t", "capacity_kw": 50, "location": "roof"}}}, Err: api.BulkRefused(make([]api.BulkResult, 1), 1)},
			ErrorCase{Why: "a list of another action", With: map[string]any{"alerts": []any{map[string]any{"alert_id": "alr_1"}}}, Err: api.InvalidField("alerts", "")})}),
	For(api.AcknowledgeAlerts, Case{Params: []Param{p("alerts", []any{map[string]any{"alert_id": "alr_none"}}), p("site_id", goodSite)},
		Fields: append(words("success message count failed"), prefixed("results[].", "index status id error code")...)}),
	For(api.CreateSchedules, Case{Params: []Param{p("schedules", []any{map[string]any{"asset_id": goodAsset, "maintenance_type": "preventive", "scheduled_date": "2026-05-01T06:00:00Z", "priority": "low", "reason": goodReason}})},
		Fields: append(words("success message count failed"), prefixed("results[].", "index status id site_id")...)}),
	For(api.SubscribeEvents, Case{Params: []Param{p("site_id", goodSite), p("callback_url", "https://93.184.216.34/hook"), p("events", []any{"order.created", "alert.*"})},
		Fields: append(words("success message subscription_id status secret"), prefixed("subscription.", "subscription_id customer_id events callback_url status created_at")...), Errors: badAction(
			foreign, missing("callback_url", api.ErrInvalidCallback), withValue("callback_url", "https://127.0.0.1/hook", api.ErrInvalidCallback),
			withValue("events", []any{"order.eaten"}, api.InvalidField("events", "")))}),
	list(api.ListEventSubscriptions, []Param{p("site_id", goodSite)}, words("success subscriptions count"), foreign),
	move(api.UnsubscribeEvents, "subscription_id", "{event_subscription}", "evs_none", api.ErrSubscriptionNotFound, nil, words("success message subscription.status")),
	move(api.PauseEventSubscription, "subscription_id", "{event_subscription}", "evs_none", api.ErrSubscriptionNotFound, nil, words("success message subscription.status")),
	move(api.ResumeEventSubscription, "subscription_id", "{event_subscription}", "evs_none", api.ErrSubscriptionNotFound, nil, words("success message subscription.status")),
	move(api.RotateEventSubscription, "subscription_id", "{event_subscription}", "evs_none", api.ErrSubscriptionNotFound, nil, words("success message secret subscription.former_secret_until")),
	For(api.PreviewEvent, Case{Params: []Param{p("event", api.EventOrderCreated, "order.eaten"), p("site_id", goodSite)},
		Fields: append(words("success"), prefixed("event.", "event_id type timestamp sequence object object_id customer_id site_id data.status")...), Errors: []ErrorCase{foreign}}),
	For(api.TestEventSubscription, Case{Params: []Param{p("subscription_id", "evs_none"), p("event", api.EventAlertRaised, "order.eaten")}, TestedBy: "the tests of subscriptions: it calls the receiver",
		Errors: []ErrorCase{withValue("subscription_id", "evs_none", api.ErrSubscriptionNotFound)}}),
	move(api.ListEventDeliveries, "subscription_id", "{event_subscription}", "evs_none", api.ErrSubscriptionNotFound, pages, words("success deliveries count")),
	For(api.ReplayEventDeliveries, Case{Params: []Param{p("subscription_id", "{event_subscription}")}, Fields: words("success message deliveries count"),
		Errors: []ErrorCase{missing("subscription_id", api.MissingField("delivery_id")), withValue("subscription_id", "evs_none", api.ErrSubscriptionNotFound)}}),

	alertMove(api.AcknowledgeAlert, p("reason", "seen")),
	alertMove(api.ShelveAlert, p("reason", "a storm passes"), p("minutes", 60)),
	alertMove(api.UnshelveAlert),
	alertMove(api.SuppressAlert, p("reason", "the unit is out of service")),
	alertMove(api.UnsuppressAlert),
	move(api.GetAlert, "alert_id", "{alert:get}", "alr_none", api.ErrAlertNotFound, nil, words("success alert.alert_id alert.history")),
	For(api.GetAlertHealth, Case{Params: []Param{p("site_id", goodSite)}, Fields: append(words("success count"), prefixed("health[].", "window_hours alarms per_day peak_10_min floods flood_percent chattering stale top_ten_percent priorities")...)}),
	list(api.ListAlerts, nil, append(words("success count"), prefixed("alerts[].", "alert_id terminal_device_id site_id timestamp alert_type alert_severity message resolved state")...)),

	move(api.AcknowledgeIssue, "issue_id", "{issue_id}", "iss_none", api.ErrIssueNotFound, nil, words("success issue.status")),
	move(api.ResolveIssue, "issue_id", "{issue:taken}", "iss_none", api.ErrIssueNotFound, []Param{p("reason", "fuse replaced")}, words("success issue.status")),

	For(api.SetSite, Case{Params: []Param{p("site", map[string]any{"site_id": "{new}", "customer_id": goodCustomer, "timezone": "Africa/Johannesburg"})}, Fields: words("success site.site_id site.timezone"),
		Errors: badAction(ErrorCase{Why: "a zone that is none", With: map[string]any{"site": map[string]any{"site_id": goodSite, "customer_id": goodCustomer, "timezone": "Moon/Base"}}, Err: api.InvalidField("timezone", "")})}),
	list(api.ListSites, nil, append(words("success count"), prefixed("sites[].", "site_id customer_id name timezone")...)),
	For(api.AddSite, Case{Params: []Param{p("site", map[string]any{"site_id": "{new}", "customer_id": goodCustomer, "timezone": "Africa/Johannesburg"})}, Fields: words("success site.site_id site.timezone"),
		Errors: badAction(ErrorCase{Why: "an id that is there", With: map[string]any{"site": map[string]any{"site_id": goodSite, "customer_id": goodCustomer}}, Err: conflict})}),
	siteMove(api.RenameSite, []Param{p("name", "Roof of the town hall")}),
	siteMove(api.UnarchiveSite, nil),
	tested(siteMove(api.ArchiveSite, nil), "the tests of archived sites: the site takes no data afterwards"),
	tested(siteMove(api.ZoneSite, []Param{p("timezone", "Europe/Vienna"), p("dry_run", true)}), "the tests of changes of zones, with files"),
	For(api.RemoveSite, Case{Params: []Param{p("site_id", goodSite), must("confirm", goodSite, "other"), p("dry_run", false)}, Fields: words("success site.site_id"), TestedBy: "the tests of removed sites: the site is gone afterwards",
		Errors: []ErrorCase{{Why: "an unknown site", With: map[string]any{"site_id": "Nowhere", "confirm": "Nowhere"}, Err: api.ErrSiteNotFound},
			{Why: "a foreign site", With: map[string]any{"site_id": "{foreign_site}", "confirm": "{foreign_site}"}, Err: api.ErrForbidden}}}),
	move(api.GetSite, "site_id", goodSite, "Nowhere", api.ErrSiteNotFound, nil, words("success site.site_id site.customer_id"), foreign),

	For(api.ListGaps, Case{Params: []Param{p("customer_id", goodCustomer), p("result_id", ""), p("limit", 5)},
		Fields: append(words("success result_id site_id count total_gaps"), prefixed("gaps[].", "asset_id start end minutes method energy_kwh step_minutes p10_kw p50_kw p90_kw")...),
		Errors: []ErrorCase{withValue("result_id", "int-none", api.ErrResultNotFound)}}),
	For(api.GetAccuracy, Case{Params: []Param{p("customer_id", goodCustomer), p("days", 7)}, Fields: words("success")}),
	For(api.ListModelHistory, Case{Params: []Param{p("site_id", goodSite)}, Fields: append(words("success count"), prefixed("history[].", "model_name model_version to at")...), Errors: []ErrorCase{foreign}}),
	For(api.EvaluateModel, Case{Params: []Param{p("site_id", goodSite), p("model_version", "1.0.0")}, TestedBy: "the tests of the registry, with a challenger",
		Errors: []ErrorCase{withValue("model_version", "99.0.0", api.ErrModelNotFound), {Why: "a model that is no challenger", Err: conflict}, foreign}}),
	For(api.PromoteModel, Case{Params: []Param{p("site_id", goodSite), p("model_version", "1.0.0"), p("reason", "it errs less by far", "better")}, TestedBy: "the tests of the registry, with a challenger",
		Errors: []ErrorCase{withValue("model_version", "99.0.0", api.ErrModelNotFound), foreign}}),
	For(api.RollbackModel, Case{Params: []Param{p("site_id", goodSite), p("model_version", "1.0.0"), p("reason", "the new one errs more", "worse")}, TestedBy: "the tests of the registry, with an archived model",
		Errors: []ErrorCase{withValue("model_version", "99.0.0", api.ErrModelNotFound), {Why: "a model that is not archived", Err: conflict}, foreign}}),
	For(api.CancelUpload, Case{Params: []Param{p("id", "{upload_id}")}, TestedBy: "the tests of the pipeline, with a running import",
		Errors: []ErrorCase{withValue("id", "upl_none", api.ErrUploadNotFound)}}),

	For(api.RevertUpload, Case{Params: []Param{p("id", "{upload_id}")}, TestedBy: "the tests of the pipeline, with imports that overlap",
		Errors: []ErrorCase{withValue("id", "upl_none", api.ErrUploadNotFound)}}),

	For(api.GetNowcast, Case{Params: []Param{p("customer_id", goodCustomer), p("time_range", "6h"), p("asset_filter", []any{goodAsset})},
		Fields: append(prefixed("data.latest_metrics.", "total_power_kw avg_capacity_factor active_inverters total_inverters last_updated"), prefixed("data.time_series[].", "timestamp total_power_kw active_inverters")...)}),
}

// sshKeys are public keys of a user.
var sshKeys = p(api.FieldSSHKeys, []any{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ana@desk"}, []any{"ssh-ed25519"})

// shiftFields are those of an entry of a shift log.
var shiftFields = prefixed("entry.", "entry_id site_id kind text signed_by at")

// availabilityTimes are the time and the category of a change, and changeFields what
// its response has.
var (
	availabilityTimes = []Param{p("from", "2026-04-01T10:00:00Z", "yesterday"), p("to", "2026-04-01T12:00:00Z", "later", "2026-04-01T09:00:00Z"), p("category", api.AvailabilityForceMajeure, "holiday")}
	changeFields      = prefixed("change.", "change_id site_id from to category reason by at")
)

var adminCases = []Case{
	list(api.ListUsers, nil, append(words("success count"), prefixed("users[].", "user_id username role_id role_name customer_ids active")...)),
	userMove(api.GetUser, nil, userFields),
	For(api.AddUser, Case{Params: []Param{p("username", "{new_user}"), p("password", "correct horse battery staple"), p("role_id", api.RoleAnalyst, "role_king"), p("customer_ids", []any{goodCustomer}), sshKeys},
		Fields: append(words("success message user_id"), userFields...), Errors: badAction(ErrorCase{Why: "a customer of others", With: map[string]any{"customer_ids": []any{"{foreign_customer}"}}, Err: api.ErrForbidden})}),
	userMove(api.SetUser, []Param{must("role_id", api.RoleOperator, "role_king")}, userFields, missing("role_id", api.MissingField("role_id, customer_ids, site_ids, group_id, skin_id, active or ssh_public_keys"))),
	userMove(api.ResetPassword, []Param{p("password", "a longer horse battery")}, words("success message")),
	userMove(api.ResetMFA, nil, words("success message")),
	userMove(api.UnlinkUser, nil, words("success message")),
	userMove(api.UnlockUser, nil, words("success message")),
	userMove(api.DeleteUser, nil, words("success message")),
	list(api.ListGateways, []Param{p("site_id", goodSite)}, words("success count"), withValue("site_id", "Nowhere", api.ErrSiteNotFound)),
	For(api.ListSources, Case{Params: []Param{p("site_id", goodSite)}, Fields: words("success site_id reads sources count"),
		Errors: badAction(withValue("site_id", "Nowhere", api.ErrSiteNotFound), ErrorCase{Why: "a device that is not read", With: map[string]any{"device": "other"}, Err: api.ErrSourceNotFound})}),
	For(api.InviteGateway, Case{Params: []Param{p("site_id", goodSite), p("name", "roof gateway"), p("lifetime_minutes", 30)}, Fields: words("success message code expires_at"),
		Errors: badAction(withValue("site_id", "Nowhere", api.ErrSiteNotFound))}),
	For(api.DiscoverDevices, Case{TestedBy: "TestDiscoveryOfTheConsole, with a simulated device", Params: []Param{p("site_id", goodSite), p("targets", []any{"127.0.0.1"})}}),
	For(api.GetDiscovery, Case{TestedBy: "TestDiscoveryOfTheConsole, with a simulated device", Params: []Param{p("site_id", goodSite)}}),
	For(api.StopDiscovery, Case{TestedBy: "TestDiscoveryOfTheConsole, with a simulated device", Params: []Param{p("site_id", goodSite)}}),
	For(api.AddDevices, Case{TestedBy: "TestDiscoveryOfTheConsole, with a simulated device", Params: []Param{p("site_id", goodSite)}}),
	For(api.RotateGatewayKey, Case{TestedBy: "TestJoin, with the key of a gateway"}),
	For(api.JoinGateway, Case{TestedBy: "TestJoin, with a code", Params: []Param{p("code", "AAAA-BBBB-CCCC-DDDD")}}),
	list(api.ListKeys, nil, append(words("success count"), prefixed("keys[].", "api_key_id name role_id permitted_site_ids customer_ids state created_at")...)),
	move(api.GetKey, "api_key_id", "{api_key_id}", "key_none", unknownKey, nil, keyFields),
	For(api.CreateKey, Case{Params: []Param{p("name", "logger"), p("role_id", api.RoleAnalyst, "role_king"), must("permitted_site_ids", []any{goodSite})},
		Fields: append(words("success message api_key api_key_id"), keyFields...), Errors: badAction(missing("permitted_site_ids", api.InvalidField("permitted_site_ids", "")),
			ErrorCase{Why: "a customer of others", With: map[string]any{"customer_ids": []any{"{foreign_customer}"}}, Err: api.ErrForbidden})}),
	move(api.RotateKey, "api_key_id", "{api_key_id}", "key_none", unknownKey, []Param{p("overlap_hours", 1)}, words("success api_key api_key_id")),
	move(api.RevokeKey, "api_key_id", "{api_key_id}", "key_none", unknownKey, nil, words("success message")),
	For(api.ListAudit, Case{Params: append([]Param{p("from", goodStart), p("actor", "contract"), p("route", "keys create"), p("target_id", "key_none")}, pages...),
		Fields: words("success records count")}),
	For(api.ListLog, Case{Params: append([]Param{p("level", api.LogWarn)}, pages...), Fields: words("success lines count"), TestedBy: "the tests of httpapi: it is for administrators of all customers"}),
	For(api.GetKeySet, Case{Fields: prefixed("keys[].", "kty crv x kid use alg")}),
	For(api.GetSetupStatus, Case{Fields: words("success needs_admin needs_token")}),
	For(api.Setup, Case{Params: []Param{p("username", "root"), p("password", "correct horse battery staple")}, TestedBy: "the tests of a fresh service"}),
	For(api.GetKPIs, Case{Params: []Param{p("site_id", goodSite), p("from", goodStart, "yesterday"), p("to", goodEnd, "later")}, Fields: words("site_id"),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	list(api.ListAvailability, []Param{p("site_id", goodSite), p("from", goodStart, "yesterday"), p("to", goodEnd, "later"), p("stretches", true), p("asset_id", goodAsset, "INV-none")},
		append(append(append(words("success site_id from to as_of useful_by contract.rules contract.time_base contract.target count changes"),
			prefixed("site.", "time_availability all_time_availability energy_availability contractual_availability contractual_energy_availability data_availability")...),
			prefixed("site.categories[].", "category hours sun_up_hours expected_kwh treatment")...),
			prefixed("units[].", "asset_id name weight_kw from to time_availability contractual_availability data_availability categories")...),
		foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)),
	For(api.SetAvailability, Case{Params: append([]Param{p("site_id", goodSite), p("asset_ids", []any{goodAsset}, []any{"INV-none"}), p("reason", "Flood, notice 12")}, availabilityTimes...),
		Fields: append(words("success message change_id"), changeFields...), Errors: badAction(foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound))}),
	move(api.RevokeAvailability, "change_id", "{change_id}", "avc_none", api.ErrAvailabilityChangeNotFound, []Param{p("site_id", goodSite), p("reason", "the notice was withdrawn")},
		append(words("success message change_id"), append(changeFields, "change.revoked_at", "change.revoked_by", "change.revoke_reason")...),
		ErrorCase{Why: "a change that is revoked", With: map[string]any{"change_id": "{change:revoked}"}, Err: conflict}, foreign),
	list(api.ListAvailabilityChanges, []Param{p("site_id", goodSite)}, words("success changes count"), foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)),
	list(api.ListShift, []Param{p("site_id", goodSite)}, words("success entries count"), foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)),
	For(api.AddShiftNote, Case{Params: []Param{p("site_id", goodSite), p("text", "Fuses are ordered")}, Fields: append(words("success message"), shiftFields...),
		Errors: badAction(foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound))}),
	For(api.HandOver, Case{Params: []Param{p("site_id", goodSite), p("text", "INV-03 is down")}, Fields: append(words("success message"), shiftFields...),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	For(api.MarkSeen, Case{Params: []Param{p("site_id", goodSite), p("until", goodStart, "yesterday")}, Fields: words("success message seen_at"),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound), withValue("entry_id", "shf_none", api.ErrShiftEntryNotFound)}}),
	For(api.GetHealth, Case{Fields: words("success")}),
	For(api.GetReady, Case{Fields: words("success")}),
}

var partnerCases = []Case{
	For(api.GetKPIRollup, Case{Params: []Param{p("site_id", goodSite)}, Fields: append(append(append(append(append(
		words("site_id generated_at period.start period.end system.rated_capacity_kw system.device_count"),
		prefixed("energy_balance.", "consumption_kwh solar_production_kwh grid_purchases_kwh solar_offset_pct")...),
		prefixed("performance.", "system_pr pr_target pr_status true_uptime_pct state_uptime_pct availability_pct availability_target")...),
		prefixed("ear.", "energy_lost_kwh energy_lost_pct capacity_utilization_pct value_lost_zar realized_savings_zar annual_projection_zar")...),
		prefixed("ear.recovery_potential_kwh.", "50pct 75pct 95pct 100pct")...),
		prefixed("financial.", "tariff_currency shortfall_cost_zar realized_savings_zar total_potential_value_zar tou_breakdown")...),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	For(api.GetMaintenanceSignals, Case{Params: []Param{p("site_id", goodSite), p("since", "2025-10-01T00:00:00Z", "lately"), p("severity", "critical", "urgent")},
		Fields: append(words("site_id generated_at cursor summary.by_type summary.by_severity summary.by_asset"), prefixed("signals[].", "id timestamp asset_id type severity description")...),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	For(api.GetMaintenanceSchedule, Case{Params: []Param{p("site_id", goodSite)},
		Fields: append(words("site_id generated_at horizon.start horizon.end summary.total_tasks summary.by_priority summary.by_task_type summary.by_asset"),
			prefixed("tasks[].", "asset_id task_type reason recommended_date estimated_duration_hours priority")...),
		Errors: []ErrorCase{foreign, withValue("site_id", "Nowhere", api.ErrSiteNotFound)}}),
	For(api.GetSnapshot, Case{Params: []Param{p("site_id", goodSite), p("kind", "kpi-rollup", "gossip")}, Fields: words("site_id generated_at"), Errors: []ErrorCase{foreign}}),
}
