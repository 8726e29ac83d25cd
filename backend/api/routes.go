package api

import (
	"net/http"
	"slices"
)

// Host is one of the specification's hosts. One listener may serve them all:
// their paths do not collide. Rates are counted for each host apart.
type Host string

// The hosts.
const (
	HostMain      Host = "main"
	HostTelemetry Host = "telemetry"
	HostAlerts    Host = "alerts"
	HostPartner   Host = "partner"
	HostAuth      Host = "auth"
	HostFreemium  Host = "freemium"
)

// Hosts are all there are, in the order of the specification.
func Hosts() []Host {
	return []Host{HostMain, HostTelemetry, HostAlerts, HostPartner, HostAuth, HostFreemium}
}

// CredentialKind is what a route asks to be shown.
type CredentialKind string

// Kinds of credential. Either header carries either kind.
const (
	CredentialNone CredentialKind = "none"
	CredentialAny  CredentialKind = "any"  // an API key or a user's token
	CredentialUser CredentialKind = "user" // a user's token
)

// Permission is what a role allows.
type Permission string

// The permissions of the routes, and of the command line.
const (
	PermissionNone   Permission = ""
	PermissionRead   Permission = "read"
	PermissionUpload Permission = "upload"
	PermissionDetect Permission = "detect"
	PermissionAssets Permission = "assets.write"
	PermissionSites  Permission = "sites.write"
	PermissionModels Permission = "models.write" // moves of the registry
	PermissionOrders Permission = "orders.write" // schedules, bills of materials, parts, work orders, their tracking, issues
	PermissionUsers  Permission = "users.write"  // users and API keys
)

// Permissions are all there are, in the order in which they are shown.
func Permissions() []Permission {
	return []Permission{PermissionRead, PermissionUpload, PermissionDetect, PermissionAssets, PermissionSites, PermissionModels, PermissionOrders, PermissionUsers, PermissionAudit, PermissionLog}
}

// The paths.
const (
	PathLogin          = "/api/auth/login"
	PathVerifyMFA      = "/api/auth/verify-mfa"
	PathExchange       = "/api/auth/exchange"
	PathRefresh        = "/api/auth/refresh"
	PathLogout         = "/api/auth/logout"
	PathAPIKeyInfo     = "/api/auth/api-key-info"
	PathValidateAPIKey = "/api/auth/validate-api-key"
	PathSetup          = "/api/auth/setup"
	PathKeySet         = "/.well-known/jwks.json"

	PathFreemiumVerify   = "/api/v1/freemium-forecast/verify"
	PathFreemiumForecast = "/api/v1/freemium-forecast"

	PathUploadTrain     = "/upload_train"
	PathUploadNowcast   = "/upload_nowcast"
	PathV1UploadTrain   = "/v1/data-ingestion/upload-train"
	PathV1UploadNowcast = "/v1/data-ingestion/upload-nowcast"
	PathUploads         = "/uploads"
	PathUpload          = "/uploads/{id}"
	PathForecast        = "/forecast"

	PathDataPeriod = "/telemetry/data-period"
	PathInverter   = "/telemetry/inverter"
	PathSiteData   = "/telemetry/site"
	PathLatest     = "/telemetry/latest"

	PathAlertPeriod    = "/ooda/data-period"
	PathTerminalAlerts = "/ooda/terminal"
	PathSiteAlerts     = "/ooda/site"

	PathAlerts            = "/terminal/alerts"
	PathAssets            = "/terminal/assets"
	PathSites             = "/terminal/sites"
	PathTerminalForecast  = "/terminal/forecast"
	PathInterpolation     = "/terminal/interpolation"
	PathOODA              = "/terminal/ooda"
	PathModels            = "/terminal/ml-models"
	PathDetect            = "/terminal/detect"
	PathDetections        = "/terminal/detections"
	PathDiagnose          = "/terminal/diagnose"
	PathDiagnostics       = "/terminal/diagnostics"
	PathIssues            = "/terminal/issues"
	PathTerminalTelemetry = "/terminal/telemetry"
	PathActivities        = "/terminal/activities"
	PathNowcast           = "/terminal/nowcastUI"
	PathSchedule          = "/terminal/schedule"
	PathBOM               = "/terminal/bom"
	PathParts             = "/terminal/parts"
	PathOrder             = "/terminal/order"
	PathTrack             = "/terminal/track"

	PathSiteKPIs = "/sites/{site_id}/kpis"

	PathKPIRollup           = "/kpi-rollup"
	PathMaintenanceSignals  = "/maintenance-signals"
	PathForecastSnapshot    = "/forecast-snapshot"
	PathMaintenanceSchedule = "/maintenance-schedule"
	PathSnapshot            = "/snapshot"

	PathHealth = "/healthz"
	PathReady  = "/readyz"

	PathOpenAPI = "/openapi.json"
	PathDocs    = "/docs"
)

// Actions of terminal bodies.
const (
	ActionList        = "list"
	ActionGet         = "get"
	ActionAdd         = "add"
	ActionSet         = "set"
	ActionRun         = "run"
	ActionSiteSummary = "site-summary"
	ActionFleet       = "fleet"
	ActionInstall     = "install"
	ActionRemove      = "remove"
	ActionEvaluate    = "evaluate"
	ActionPromote     = "promote"
	ActionRollback    = "rollback"
	ActionHistory     = "history"
	ActionAccuracy    = "accuracy"
	ActionGaps        = "gaps"
	ActionCreate      = "create"
	ActionAcknowledge = "acknowledge"
	ActionResolve     = "resolve"
	ActionCancel      = "cancel"
	ActionShelve      = "shelve"
	ActionUnshelve    = "unshelve"
	ActionSuppress    = "suppress"
	ActionUnsuppress  = "unsuppress"
	ActionHealth      = "health"
	ActionConfirm     = "confirm"
	ActionPropose     = "propose"
	ActionComplete    = "complete"
	ActionGenerate    = "generate"
	ActionBuild       = "build"
	ActionAdjust      = "adjust"
	ActionAssign      = "assign"
	ActionStart       = "start"
	ActionHold        = "hold"
	ActionResume      = "resume"
	ActionReopen      = "reopen"
	ActionSubscribe   = "subscribe"
	ActionUnsubscribe = "unsubscribe"
	ActionDeliveries  = "deliveries"
	ActionReplay      = "replay"
	ActionPause       = "pause"
)

// Operation is one thing a route does. Routes that a body's action does not
// select have one, with an empty Action.
type Operation struct {
	Action     string
	Permission Permission
	Creates    bool // honours Idempotency-Key
	Reads      bool // its answer carries an ETag and may be a 304
	Looks      bool // changes nothing, though its answer carries no ETag
	MaxAge     int  // seconds for which a client may keep a read without asking
}

// Route is a row of the service.
type Route struct {
	Name       string
	Method     string
	Path       string // a net/http pattern without the method
	Host       Host
	Credential CredentialKind
	Operations []Operation
	Body       Body
}

// Body is what a route reads of a request's body, in bytes. A body that is
// larger is refused with 413; what a route does not read is discarded.
type Body struct {
	JSON int64 // most bytes of a JSON body; 0: the route reads none
	Form int64 // most bytes of a multipart form with a file; 0: the route reads none
}

// The bodies of the routes. One that needs more declares it here, with the
// reason.
var (
	bodyNone   = Body{}
	bodyPublic = Body{JSON: MaxPublicJSONBytes}
	bodyJSON   = Body{JSON: MaxJSONBytes}
	// A file of MaxUploadBytes and its fields; in JSON the name of an object.
	bodyUpload = Body{JSON: MaxJSONBytes, Form: MaxFormBytes}
	bodyFile   = Body{Form: MaxFormBytes}
)

// Operation is the one that the action selects.
func (r Route) Operation(action string) (Operation, bool) {
	for _, o := range r.Operations {
		if o.Action == action {
			return o, true
		}
	}
	return Operation{}, false
}

// Writes says whether the operation changes what the service keeps. Each such
// request leaves a record in the audit trail.
func (r Route) Writes(o Operation) bool { return r.Method == http.MethodPost && !o.Reads && !o.Looks }

// Routes is the table of all that the service answers to; what is not in it is
// 404.
func Routes() []Route {
	public := []Operation{{}}
	looks := []Operation{{Looks: true}}
	read := []Operation{{Permission: PermissionRead, Reads: true}}
	snapshot := []Operation{{Permission: PermissionRead, Reads: true, MaxAge: 60}}
	upload := []Operation{{Permission: PermissionUpload, Creates: true}}
	// Lists whose action may be left out, as the specification has it.
	list := []Operation{{Permission: PermissionRead, Reads: true}, {Action: ActionList, Permission: PermissionRead, Reads: true}}
	const get, post = http.MethodGet, http.MethodPost
	return []Route{
		{"login", post, PathLogin, HostAuth, CredentialNone, public, bodyPublic},
		{"verify-mfa", post, PathVerifyMFA, HostAuth, CredentialNone, public, bodyPublic},
		{"exchange", post, PathExchange, HostAuth, CredentialNone, public, bodyPublic},
		{"refresh", post, PathRefresh, HostAuth, CredentialUser, public, bodyNone},
		{"logout", post, PathLogout, HostAuth, CredentialUser, public, bodyNone},
		{"api-key-info", post, PathAPIKeyInfo, HostAuth, CredentialNone, looks, bodyPublic},
		{"validate-api-key", post, PathValidateAPIKey, HostAuth, CredentialNone, looks, bodyPublic},
		{"setup-status", get, PathSetup, HostAuth, CredentialNone, public, bodyNone},
		{"setup", post, PathSetup, HostAuth, CredentialNone, public, bodyPublic},
		{"key-set", get, PathKeySet, HostAuth, CredentialNone, []Operation{{Reads: true}}, bodyNone},

		{"freemium-verify", post, PathFreemiumVerify, HostFreemium, CredentialNone, public, bodyPublic},
		{"freemium-forecast", post, PathFreemiumForecast, HostFreemium, CredentialNone, public, bodyFile},

		{"upload-train", post, PathUploadTrain, HostMain, CredentialAny, upload, bodyUpload},
		{"upload-nowcast", post, PathUploadNowcast, HostMain, CredentialAny, upload, bodyUpload},
		{"v1-upload-train", post, PathV1UploadTrain, HostMain, CredentialAny, upload, bodyFile},
		{"v1-upload-nowcast", post, PathV1UploadNowcast, HostMain, CredentialAny, upload, bodyFile},
		{"uploads", get, PathUploads, HostMain, CredentialAny, read, bodyNone},
		{"upload", get, PathUpload, HostMain, CredentialAny, read, bodyNone},
		{"upload-move", post, PathUpload, HostMain, CredentialAny, []Operation{{Action: ActionCancel, Permission: PermissionUpload}}, bodyJSON},
		{"forecast", get, PathForecast, HostMain, CredentialAny, read, bodyNone},
		{"energy-forecast", post, PathForecast, HostMain, CredentialAny, read, bodyJSON},

		{"data-period", get, PathDataPeriod, HostTelemetry, CredentialAny, read, bodyNone},
		{"inverter", get, PathInverter, HostTelemetry, CredentialAny, read, bodyNone},
		{"site-data", get, PathSiteData, HostTelemetry, CredentialAny, read, bodyNone},
		{"latest", get, PathLatest, HostTelemetry, CredentialAny, read, bodyNone},

		{"alert-period", get, PathAlertPeriod, HostAlerts, CredentialAny, read, bodyNone},
		{"terminal-alerts", get, PathTerminalAlerts, HostAlerts, CredentialAny, read, bodyNone},
		{"site-alerts", get, PathSiteAlerts, HostAlerts, CredentialAny, read, bodyNone},
		{"alerts", post, PathAlerts, HostMain, CredentialAny, append(slices.Clone(list),
			Operation{Action: ActionGet, Permission: PermissionRead, Reads: true},
			Operation{Action: ActionAcknowledge, Permission: PermissionDetect},
			Operation{Action: ActionShelve, Permission: PermissionDetect},
			Operation{Action: ActionUnshelve, Permission: PermissionDetect},
			Operation{Action: ActionSuppress, Permission: PermissionDetect},
			Operation{Action: ActionUnsuppress, Permission: PermissionDetect},
			Operation{Action: ActionHealth, Permission: PermissionRead, Reads: true}), bodyJSON},

		{"assets", post, PathAssets, HostMain, CredentialAny, []Operation{
			{Action: ActionAdd, Permission: PermissionAssets, Creates: true},
			{Action: ActionSet, Permission: PermissionAssets},
			{Action: ActionInstall, Permission: PermissionAssets},
			{Action: ActionRemove, Permission: PermissionAssets},
			{Action: ActionList, Permission: PermissionRead, Reads: true},
			{Action: ActionGet, Permission: PermissionRead, Reads: true}}, bodyJSON},
		{"sites", post, PathSites, HostMain, CredentialAny, []Operation{
			{Action: ActionSet, Permission: PermissionSites, Creates: true},
			{Action: ActionList, Permission: PermissionRead, Reads: true},
			{Action: ActionGet, Permission: PermissionRead, Reads: true}}, bodyJSON},
		{"stored-forecasts", post, PathTerminalForecast, HostMain, CredentialAny, append(slices.Clone(list),
			Operation{Action: ActionAccuracy, Permission: PermissionRead, Reads: true}), bodyJSON},
		{"interpolations", post, PathInterpolation, HostMain, CredentialAny, append(slices.Clone(list),
			Operation{Action: ActionGaps, Permission: PermissionRead, Reads: true}), bodyJSON},
		{"ooda", post, PathOODA, HostMain, CredentialAny, list, bodyJSON},
		{"ml-models", post, PathModels, HostMain, CredentialAny, append(slices.Clone(list),
			Operation{Action: ActionHistory, Permission: PermissionRead, Reads: true},
			Operation{Action: ActionEvaluate, Permission: PermissionModels},
			Operation{Action: ActionPromote, Permission: PermissionModels, Creates: true},
			Operation{Action: ActionRollback, Permission: PermissionModels, Creates: true}), bodyJSON},
		{"detect", post, PathDetect, HostMain, CredentialAny, []Operation{
			{Action: ActionRun, Permission: PermissionDetect, Creates: true},
			{Action: ActionList, Permission: PermissionRead, Reads: true}}, bodyJSON},
		{"detections", post, PathDetections, HostMain, CredentialAny, list, bodyJSON},
		{"diagnose", post, PathDiagnose, HostMain, CredentialAny, []Operation{
			{Action: ActionRun, Permission: PermissionDetect, Creates: true},
			{Action: ActionList, Permission: PermissionRead, Reads: true}}, bodyJSON},
		{"diagnostics", post, PathDiagnostics, HostMain, CredentialAny, list, bodyJSON},
		{"issues", post, PathIssues, HostMain, CredentialAny, append(slices.Clone(list),
			Operation{Action: ActionCreate, Permission: PermissionOrders, Creates: true},
			Operation{Action: ActionAcknowledge, Permission: PermissionOrders},
			Operation{Action: ActionResolve, Permission: PermissionOrders}), bodyJSON},
		{"schedule", post, PathSchedule, HostMain, CredentialAny, []Operation{
			{Action: ActionCreate, Permission: PermissionOrders, Creates: true},
			{Action: ActionList, Permission: PermissionRead, Reads: true},
			{Action: ActionGet, Permission: PermissionRead, Reads: true},
			{Action: ActionPropose, Permission: PermissionRead, Reads: true},
			{Action: ActionConfirm, Permission: PermissionOrders},
			{Action: ActionComplete, Permission: PermissionOrders},
			{Action: ActionCancel, Permission: PermissionOrders}}, bodyJSON},
		{"bom", post, PathBOM, HostMain, CredentialAny, []Operation{
			{Action: ActionGenerate, Permission: PermissionOrders, Creates: true},
			{Action: ActionBuild, Permission: PermissionOrders, Creates: true},
			{Action: ActionList, Permission: PermissionRead, Reads: true},
			{Action: ActionGet, Permission: PermissionRead, Reads: true}}, bodyJSON},
		{"parts", post, PathParts, HostMain, CredentialAny, []Operation{
			{Action: ActionList, Permission: PermissionRead, Reads: true},
			{Action: ActionAdjust, Permission: PermissionOrders, Creates: true}}, bodyJSON},
		{"order", post, PathOrder, HostMain, CredentialAny, []Operation{
			{Action: ActionCreate, Permission: PermissionOrders, Creates: true},
			{Action: ActionList, Permission: PermissionRead, Reads: true},
			{Action: ActionGet, Permission: PermissionRead, Reads: true},
			{Action: ActionAssign, Permission: PermissionOrders},
			{Action: ActionStart, Permission: PermissionOrders},
			{Action: ActionHold, Permission: PermissionOrders},
			{Action: ActionResume, Permission: PermissionOrders},
			{Action: ActionComplete, Permission: PermissionOrders},
			{Action: ActionCancel, Permission: PermissionOrders},
			{Action: ActionReopen, Permission: PermissionOrders}}, bodyJSON},
		// To subscribe twice gives one subscription, and its secret is shown and
		// kept nowhere else: no answer is remembered for an Idempotency-Key.
		{"track", post, PathTrack, HostMain, CredentialAny, []Operation{
			{Action: ActionSubscribe, Permission: PermissionOrders},
			{Action: ActionList, Permission: PermissionRead, Reads: true},
			{Action: ActionUnsubscribe, Permission: PermissionOrders},
			{Action: ActionPause, Permission: PermissionOrders},
			{Action: ActionResume, Permission: PermissionOrders},
			{Action: ActionRotate, Permission: PermissionOrders},
			{Action: ActionDeliveries, Permission: PermissionRead, Reads: true},
			{Action: ActionReplay, Permission: PermissionOrders}}, bodyJSON},
		{"site-summary", post, PathTerminalTelemetry, HostMain, CredentialAny, []Operation{
			{Action: ActionSiteSummary, Permission: PermissionRead, Reads: true},
			{Action: ActionFleet, Permission: PermissionRead, Reads: true}}, bodyJSON},
		{"activities", post, PathActivities, HostMain, CredentialAny, list, bodyJSON},
		{"users", post, PathUsers, HostMain, CredentialAny, []Operation{
			{Permission: PermissionUsers, Reads: true},
			{Action: ActionList, Permission: PermissionUsers, Reads: true},
			{Action: ActionGet, Permission: PermissionUsers, Reads: true},
			{Action: ActionAdd, Permission: PermissionUsers, Creates: true},
			{Action: ActionSet, Permission: PermissionUsers},
			{Action: ActionResetPassword, Permission: PermissionUsers},
			{Action: ActionResetMFA, Permission: PermissionUsers},
			{Action: ActionUnlink, Permission: PermissionUsers},
			{Action: ActionUnlock, Permission: PermissionUsers},
			{Action: ActionDelete, Permission: PermissionUsers}}, bodyJSON},
		{"keys", post, PathKeys, HostMain, CredentialAny, []Operation{
			{Permission: PermissionUsers, Reads: true},
			{Action: ActionList, Permission: PermissionUsers, Reads: true},
			{Action: ActionGet, Permission: PermissionUsers, Reads: true},
			{Action: ActionCreate, Permission: PermissionUsers, Creates: true},
			{Action: ActionRotate, Permission: PermissionUsers, Creates: true},
			{Action: ActionRevoke, Permission: PermissionUsers}}, bodyJSON},
		{"audit", post, PathAudit, HostMain, CredentialAny, []Operation{
			{Permission: PermissionAudit, Reads: true}, {Action: ActionList, Permission: PermissionAudit, Reads: true}}, bodyJSON},
		{"log", post, PathLog, HostMain, CredentialAny, []Operation{
			{Permission: PermissionLog, Reads: true}, {Action: ActionList, Permission: PermissionLog, Reads: true}}, bodyJSON},
		{"nowcast", post, PathNowcast, HostMain, CredentialAny, list, bodyJSON},

		{"site-kpis", get, PathSiteKPIs, HostMain, CredentialAny, read, bodyNone},

		{"kpi-rollup", get, PathKPIRollup, HostPartner, CredentialAny, snapshot, bodyNone},
		{"maintenance-signals", get, PathMaintenanceSignals, HostPartner, CredentialAny, snapshot, bodyNone},
		{"forecast-snapshot", get, PathForecastSnapshot, HostPartner, CredentialAny, snapshot, bodyNone},
		{"maintenance-schedule", get, PathMaintenanceSchedule, HostPartner, CredentialAny, snapshot, bodyNone},
		{"snapshot", get, PathSnapshot, HostPartner, CredentialAny, snapshot, bodyNone},

		{"health", get, PathHealth, HostMain, CredentialNone, public, bodyNone},
		{"ready", get, PathReady, HostMain, CredentialNone, public, bodyNone},
		{"openapi", get, PathOpenAPI, HostMain, CredentialNone, []Operation{{Reads: true}}, bodyNone},
		{"docs", get, PathDocs, HostMain, CredentialNone, []Operation{{Reads: true}}, bodyNone},
	}
}
