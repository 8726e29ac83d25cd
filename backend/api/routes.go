package api

import (
	"net/http"
	"reflect"
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

// Hosts returns all hosts, in the order of the specification.
func Hosts() []Host {
	return []Host{HostMain, HostTelemetry, HostAlerts, HostPartner, HostAuth, HostFreemium}
}

// CredentialKind is the credential that a route requires.
type CredentialKind string

// Kinds of credential. Either header carries either kind.
const (
	CredentialAny  CredentialKind = ""     // an API key or a user's token
	CredentialNone CredentialKind = "none" // no credential
	CredentialUser CredentialKind = "user" // a user's token
)

// Permission is one of the permissions of a role.
type Permission string

// The permissions of the routes, and of the command line.
const (
	PermissionNone      Permission = ""
	PermissionRead      Permission = "read"
	PermissionUpload    Permission = "upload"
	PermissionDetect    Permission = "detect"
	PermissionAssets    Permission = "assets.write"
	PermissionSites     Permission = "sites.write"
	PermissionModels    Permission = "models.write"    // moves of the registry
	PermissionOrders    Permission = "orders.write"    // schedules, bills of materials, parts, work orders, their tracking, issues
	PermissionUsers     Permission = "users.write"     // users and API keys
	PermissionTelemetry Permission = "telemetry.write" // points of units, as collectors and gateways send them
	PermissionUploadOwn Permission = "upload.own"      // files for existing sites, and the outcome of the caller's own uploads
)

// Permissions returns all permissions, in the order of documents.
func Permissions() []Permission {
	return []Permission{PermissionRead, PermissionUpload, PermissionDetect, PermissionAssets, PermissionSites, PermissionModels, PermissionOrders, PermissionTelemetry, PermissionUploadOwn, PermissionUsers, PermissionAudit, PermissionLog}
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
	PathUploadInspect   = "/uploads/inspect"
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
	PathBulk              = "/terminal/bulk"
	PathRuns              = "/terminal/runs"
	PathSubscriptions     = "/terminal/subscriptions"

	PathSiteKPIs      = "/sites/{site_id}/kpis"
	PathAvailability  = "/terminal/availability"
	PathShift         = "/terminal/shift"
	PathNotifications = "/terminal/notifications"
	PathAcknowledge   = "/acknowledge" // page for people, followed by a token

	PathKPIRollup           = "/kpi-rollup"
	PathMaintenanceSignals  = "/maintenance-signals"
	PathForecastSnapshot    = "/forecast-snapshot"
	PathMaintenanceSchedule = "/maintenance-schedule"
	PathSnapshot            = "/snapshot"

	PathStream = "/stream"

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
	ActionRevert      = "revert"
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
	ActionPreview     = "preview"
	ActionPause       = "pause"
	ActionRename      = "rename"
	ActionArchive     = "archive"
	ActionUnarchive   = "unarchive"
	ActionZone        = "zone"
	ActionMerge       = "merge"
	ActionFinish      = "finish"

	ActionAddAssets         = "add-assets"
	ActionAcknowledgeAlerts = "acknowledge-alerts"
	ActionCreateSchedules   = "create-schedules"
)

// Endpoint is a declared operation with the types of its request and its
// response. Handlers, client calls, the OpenAPI document and the contract tests
// are made from it.
type Endpoint[Req, Resp any] struct{ *Operation }

// Operation is one operation of a route. A route whose body has an action has
// one for each action.
type Operation struct {
	Action        string // empty: the route has one operation
	DefaultAction bool   // a body without an action selects it too
	Permission    Permission
	Own           Permission // suffices for sites that exist and uploads that the caller sent; empty: none does
	Idempotent    bool       // honours Idempotency-Key
	Cacheable     bool       // reads: the response has an ETag, and a request may get a 304
	ReadOnly      bool       // writes nothing, though its response has no ETag
	Frequent      bool       // writes so often that only refusals and its effects on records leave a record in the audit trail
	MaxAge        int        // seconds for which a client may use a cached response without revalidation
	Target        Target
	Fields        Fields
	AllMissing    bool // an error about a missing field names all that are missing
	// Tolerated are names of fields, parameters and parts of a form that public clients send
	// and that have no effect. Other unknown names are refused.
	Tolerated []string
	// Deprecated is set of an operation that will be removed.
	Deprecated *Deprecation

	Route    *Route
	AliasOf  *Operation // set for the operation of a body without an action
	Request  reflect.Type
	Response reflect.Type

	action, customerID, siteID, assetID []int // fields of the request; nil: it has none
	noSince                             []int // the field updated_since of an operation that does not take it
}

// Target says which fields of a request name the records that the caller must
// have access to. By default these are customer_id and site_id, if the request
// has them.
type Target struct {
	Site    string // the field with the site's id instead of site_id
	NoSite  bool   // site_id names no site that must exist or be accessible
	Asset   string // the field with the unit's id; empty: no unit
	NewSite bool   // the site may not exist yet
	Cached  bool   // records of the site and the unit may be some seconds old
	// AnyState means that the operation is also for archived sites, though it may
	// write, and for sites that are being removed or changed.
	AnyState bool
}

// Route is a method of a path, with what its operations share.
type Route struct {
	Name       string // in logs, metrics and the audit trail
	Method     string // POST if empty
	Path       string // a net/http pattern without the method
	Host       Host   // HostMain if empty
	Credential CredentialKind
	Form       []FormField // of a multipart form; nil: the route takes no form
	FormOnly   bool        // the route takes no JSON body instead of the form
	Files      bool        // the file of the form is stored as an object
	Raw        []RawBody   // media types of a body that is no JSON of the request; its parameters are in the query
	Body       Body        // what is 0 is set by the declaration of the operations
	Failure    *Error      // the response to an unexpected error; nil: ErrInternal
	TooLarge   *Error      // the response to a file above 10 MB; nil: ErrFileTooLarge

	Summary     string
	Description string
	Example     any      // of the JSON body
	Reply       any      // example of the response
	Media       []Media  // further forms of the response
	Errors      []*Error // besides those that all routes have
	Operations  []*Operation
}

// Media is a form of a response besides that of the operation's type.
type Media struct {
	Type        string       // media type; that of JSON for another schema
	Of          reflect.Type // of its JSON; nil: it is no JSON
	Description string
}

// FormField is a part of a multipart form.
type FormField struct {
	Name, Kind, Description string // Kind is a JSON type, or file
	Required                bool
}

// RawBody is a media type of a body that its operation decodes itself.
type RawBody struct {
	Type, Description string
	Of                any // a value of the type that the JSON has; nil: it is no JSON
}

// Body is the maximum size of a request's body, in bytes. A larger body is
// refused with 413; a body that the route does not read is discarded.
type Body struct {
	JSON int64 // of a JSON body; 0: the route reads none
	Form int64 // of a multipart form with a file; 0: the route reads none
	Raw  int64 // of a body of [Route.Raw], unpacked; 0: the route reads none
	// Values is the maximum number of values in a JSON body, see [MaxJSONValues]; 0: that.
	Values int
}

// define declares an operation of a route.
func define[Req, Resp any](r *Route, op Operation) Endpoint[Req, Resp] {
	o := &op
	o.Route, o.Request, o.Response = r, reflect.TypeFor[Req](), reflect.TypeFor[Resp]()
	r.setDefaults(o)
	o.findIDs()
	o.Fields.compile(o)
	if o.DefaultAction {
		alias := *o
		alias.Action, alias.AliasOf = "", o
		r.Operations = append(r.Operations, &alias)
	}
	r.Operations = append(r.Operations, o)
	return Endpoint[Req, Resp]{o}
}

func (r *Route) setDefaults(o *Operation) {
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	if r.Host == "" {
		r.Host = HostMain
	}
	if r.Form != nil {
		r.Body.Form = MaxFormBytes
	}
	switch {
	case !o.HasJSON():
	case r.Credential == CredentialNone:
		r.Body.JSON = MaxPublicJSONBytes
	case r.Body.JSON == 0:
		r.Body.JSON = MaxJSONBytes
	}
}

// HasJSON reports whether the operation reads a JSON body.
func (o *Operation) HasJSON() bool {
	if o.Route.Method != http.MethodPost || o.Route.FormOnly || o.Route.Raw != nil {
		return false
	}
	return slices.ContainsFunc(reflect.VisibleFields(o.Request), func(f reflect.StructField) bool { return jsonName(f) != "" })
}

// Operation returns the operation that the action selects.
func (r *Route) Operation(action string) (*Operation, bool) {
	for _, o := range r.Operations {
		if o.Action == action {
			return o, true
		}
	}
	return nil, false
}

// Writes reports whether the operation changes what the service stores. Each
// request for it leaves a record in the audit trail.
func (o *Operation) Writes() bool {
	return o.Route.Method == http.MethodPost && !o.Cacheable && !o.ReadOnly
}

// Writes reports whether an operation of the route writes.
func (r *Route) Writes() bool { return slices.ContainsFunc(r.Operations, (*Operation).Writes) }

// Name returns the names of route and action, such as "order assign".
func (o *Operation) Name() string {
	if o.Action == "" {
		return o.Route.Name
	}
	return o.Route.Name + " " + o.Action
}

// Operations returns all declared operations in the order of documents.
func Operations() (list []*Operation) {
	for _, r := range Routes() {
		for _, o := range r.Operations {
			if o.AliasOf == nil {
				list = append(list, o)
			}
		}
	}
	return list
}

// Routes returns all routes in the order of documents. A path that is not among
// them is a 404.
func Routes() []*Route {
	return []*Route{
		&login, &verifyMFA, &exchange, &refresh, &logout, &apiKeyInfo, &validateAPIKey, &setupStatus, &setup, &keySet,
		&freemiumVerify, &freemiumForecast,
		&uploadTrain, &uploadNowcast, &v1UploadTrain, &v1UploadNowcast, &uploads, &upload, &uploadMove, &uploadInspect, &uploadSessions, &uploadSession, &uploadSessionMove, &uploadPart, &forecast, &energyForecast,
		&dataPeriod, &inverter, &siteData, &latest, &telemetryWrite,
		&alertPeriod, &terminalAlerts, &siteAlerts, &alerts,
		&assets, &sites, &storedForecasts, &interpolations, &ooda, &models, &detect, &detections, &diagnose, &diagnostics, &issues,
		&runs, &schedules, &boms, &parts, &orders, &track, &bulk, &subscriptions, &notifications, &siteSummary, &activities, &users, &keys, &gateways, &gatewayJoin, &auditTrail, &logEntries, &nowcast,
		&siteKPIs, &availability, &shifts, &stream,
		&kpiRollup, &maintenanceSignals, &forecastSnapshot, &maintenanceSchedule, &snapshot,
		&health, &ready, &document, &docsPage,
	}
}
