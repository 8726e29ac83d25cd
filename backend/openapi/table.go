package openapi

import (
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// entry is what the document says of a route beyond the route table.
type entry struct {
	summary    string
	about      string
	parameters []*Parameter
	body       any // a value of the type of the JSON body; nil: none
	form       []formField
	needs      map[string]string // action → fields that the JSON body must have; a|b: at least one of them
	answer     any               // a value of the type of the answer
	answers    map[string]any    // the same of actions whose answer is another
	html       bool              // the answer is a page
	document   bool              // the answer is the document
	example    any               // of the JSON body
	reply      any               // example of the answer
	refusals   []*api.Error      // that the route has beside the common ones
}

// formField is a part of a multipart form.
type formField struct {
	name, kind, about string // kind is a JSON type, or file
	required          bool
}

// Ids of the examples: those of the demo.
const (
	exampleCustomer = "customer123"
	exampleSite     = "Sibaya"
	exampleAsset    = "INV-1000000054495190"
	exampleDevice   = "TERM-1000000054495190"
	exampleStart    = "2025-10-01T00:00:00Z"
	exampleEnd      = "2025-10-02T00:00:00Z"
	exampleJWT      = "eyJhbGciOiJFZERTQSJ9.…"
	exampleKey      = "opa_prod_…"
)

// exampleDue is the date of the examples of planned work.
var exampleDue = api.At(time.Date(2025, 12, 1, 8, 0, 0, 0, time.UTC))

func query(name, about string, example any) *Parameter {
	return &Parameter{Name: name, In: "query", Description: about, Schema: &Schema{Type: "string"}, Example: example}
}

func required(p *Parameter) *Parameter {
	p.Required = true
	return p
}

func inPath(name, about, example string) *Parameter {
	return &Parameter{Name: name, In: "path", Description: about, Required: true, Schema: &Schema{Type: "string"}, Example: example}
}

// whole is a whole number; without a high bound when high is 0.
func whole(name, about string, fallback any, high float64) *Parameter {
	least := 1.0
	s := &Schema{Type: "integer", Default: fallback, Minimum: &least}
	if high > 0 {
		s.Maximum = &high
	}
	return &Parameter{Name: name, In: "query", Description: about, Schema: s}
}

func oneOf(p *Parameter, words ...string) *Parameter {
	p.Schema.Enum = words
	p.Example = nil
	return p
}

var (
	customerID = query("customer_id", "The customer.", exampleCustomer)
	siteID     = query("site_id", "The site.", exampleSite)
	theSite    = required(query("site_id", "The site.", exampleSite))
	ofCustomer = query("customer_id", "The site's customer. It is required if the credential covers several customers that have a site of this id.", exampleCustomer)
	start      = required(query("start", "The first instant of the span, ISO 8601; without an offset it is UTC.", exampleStart))
	end        = required(query("end", "The end of the span, which is not in it; ISO 8601, without an offset UTC.", exampleEnd))
	resolution = oneOf(query("resolution", "The step of the records; without it they are as they were measured.", nil),
		api.Resolution5Min, api.Resolution15Min, api.ResolutionHour, api.ResolutionDaily)
	records = whole("limit", "The most records of each unit; without it all of the span.", nil, 0)
	cursor  = &Parameter{Name: "cursor", In: "query", Description: "The cursor of the last record of the part before.", Schema: &Schema{Type: "string"}}

	uploadFields = []formField{
		{"file", "file", "The CSV file, at most 10 MB.", true},
		{"customer_id", "string", "The customer.", true},
		{"site_id", "string", "The site; the first file of a site makes it.", true},
		{"region", "string", "The cloud region.", true},
		{"location", "string", "A town or `lat,lon`.", true},
		{"manufacturer", "string", "Found out from the file when left out.", false},
		{"timezone", "string", "Extension: the IANA name of the zone of times without an offset.", false},
		{"capacity_kw", "number", "Extension: the capacity of the site in kW.", false},
		{"asset_id", "string", "Extension: the unit of a file that names none.", false},
	}
	freemiumFields = []formField{
		{"file", "file", "A CSV file with a column of times and one of power or energy.", true},
		{"email", "string", "The address that the code was sent to.", true},
		{"verification_code", "string", "The code of the verify step.", true},
		{"site_name", "string", "The name of the plant.", true},
		{"location", "string", "A town or `lat,lon`.", true},
		{"capacity_kw", "number", "The capacity in kW.", true},
		{"tou_accepted", "boolean", "The terms of use are accepted; must be true.", true},
		{"marketing_opt_in", "boolean", "News may be sent; false when left out.", false},
	}

	badUpload   = []*api.Error{api.ErrCSVRequired, api.ErrInvalidCSV, api.MissingParameter("customer_id"), api.ErrUploadFailed}
	badReads    = []*api.Error{api.MissingParameter("site_id"), api.InvalidParameter("start", "not an ISO 8601 time"), api.ErrForbidden, api.ErrSiteNotFound}
	badList     = []*api.Error{api.MissingField("customer_id"), api.ErrInvalidAction, api.ErrSiteNotFound}
	badSnapshot = []*api.Error{api.MissingParameter("site_id"), api.ErrForbidden, api.ErrNotFound}
	badAsset    = []*api.Error{api.ErrInvalidAction, api.MissingField("asset_id"), api.ErrAssetNotFound}
)

// v1Fields are the form of /v1/data-ingestion, which must name the site alone.
func v1Fields(dataType string) []formField {
	list := []formField{{"data_type", "string", "Is `" + dataType + "` on this path.", false}}
	for _, f := range uploadFields {
		f.required = f.name == "file" || f.name == "site_id"
		list = append(list, f)
	}
	return list
}

func words(text string) []string { return strings.Fields(text) }

func about(parts ...[]*Parameter) (all []*Parameter) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

var page = []*Parameter{{Ref: "#/components/parameters/limit"}, {Ref: "#/components/parameters/cursor"}}

// entries are the routes by name.
var entries = map[string]entry{
	"login": {
		summary: "Sign in", about: "Answers a token, or a challenge for the second factor that /api/auth/verify-mfa takes.",
		body: api.LoginRequest{}, needs: map[string]string{"": "username password"}, answer: api.LoginResponse{},
		example:  api.LoginRequest{Username: "ada", Password: "correct horse battery"},
		reply:    api.LoginResponse{Success: true, MFARequired: true, MFAToken: "mfa_…"},
		refusals: []*api.Error{api.MissingField("username"), api.ErrInvalidCredential, api.ErrUserInactive},
	},
	"verify-mfa": {
		summary: "Answer the challenge of a sign-in", about: "Takes the six digits of the authenticator, or a recovery code. A challenge lives for 5 minutes and 5 tries.",
		body: api.VerifyMFARequest{}, needs: map[string]string{"": "mfa_token totp_code"}, answer: api.LoginResponse{},
		example:  api.VerifyMFARequest{MFAToken: "mfa_…", TOTPCode: "123456"},
		refusals: []*api.Error{api.MissingField("totp_code"), api.ErrInvalidTOTP, api.ErrMFATokenExpired, api.ErrUserInactive},
	},
	"exchange": {
		summary: "Sign in with the token of an identity provider", about: "Takes an ID token of an OpenID Connect provider that the service is configured for; its sign-in stands for password and second factor.",
		body: api.ExchangeRequest{}, needs: map[string]string{"": "external_token provider"}, answer: api.LoginResponse{},
		example: api.ExchangeRequest{ExternalToken: "eyJhbGciOiJSUzI1NiJ9.…", Provider: "company"},
		refusals: []*api.Error{api.MissingField("external_token"), api.InvalidField("provider", "no identity provider of this service"), api.ErrInvalidToken, api.ErrTokenExpired,
			api.ErrUserInactive, api.ErrForbidden.With("reason", "there is no user of this name")},
	},
	"refresh": {
		summary: "Exchange a token for a fresh one", about: "The token that is shown ends.", answer: api.RefreshResponse{},
		reply:    api.RefreshResponse{Success: true, Token: exampleJWT, ExpiresIn: 86400},
		refusals: []*api.Error{api.ErrTokenExpired, api.ErrInvalidToken, api.ErrUserInactive},
	},
	"logout": {summary: "Sign out", about: "The token is revoked.", answer: api.Done{}, refusals: []*api.Error{api.ErrTokenExpired, api.ErrInvalidToken}},
	"api-key-info": {
		summary: "Look at an API key", about: "Tells which sites a key opens and until when.",
		body: api.APIKeyInfoRequest{}, needs: map[string]string{"": "api_key"}, answer: api.APIKeyInfo{},
		example: api.APIKeyInfoRequest{APIKey: exampleKey}, refusals: []*api.Error{api.MissingField("api_key"), api.ErrAPIKeyNotFound},
	},
	"validate-api-key": {
		summary: "Ask whether an API key opens a site", about: "A key that does not is refused with 403.",
		body: api.ValidateAPIKeyRequest{}, needs: map[string]string{"": "api_key site_id"}, answer: api.ValidateAPIKeyResponse{},
		example:  api.ValidateAPIKeyRequest{APIKey: exampleKey, SiteID: exampleSite},
		refusals: []*api.Error{api.MissingField("site_id"), api.ErrAPIKeyNotFound, api.ErrSiteNotPermitted},
	},
	"setup-status": {summary: "Ask whether there is an administrator", about: "A fresh service has none.", answer: api.SetupStatus{}},
	"setup": {
		summary: "Make the first administrator", about: "Only from the machine itself, with the one-time token that the service writes to the file setup-token of its data folder and to its log, and only while there is no user.",
		body: api.SetupRequest{}, needs: map[string]string{"": "username password"}, answer: api.LoginResponse{},
		refusals: []*api.Error{api.MissingField("username"), api.ErrForbidden, api.Conflict("The first administrator exists already")},
	},
	"key-set": {
		summary: "Read the public keys that check users' tokens", about: "A JSON Web Key Set. A key that was rotated stays in it until no token of it is alive.", answer: api.KeySet{},
	},

	"freemium-verify": {
		summary: "Ask for a verification code", about: "A code of six digits is sent by e-mail. It lives for 10 minutes and 5 tries from the network that asked for it; tries from other networks are counted apart. At most 3 codes an hour are sent to a mailbox and into a network, and 200 in all. The answer is the same for every address.",
		body: api.FreemiumVerifyRequest{}, needs: map[string]string{"": "email"}, answer: api.FreemiumVerifyResponse{},
		example:  api.FreemiumVerifyRequest{Email: "ada@example.org"},
		reply:    api.FreemiumVerifyResponse{Status: api.StatusSuccess, Message: api.FreemiumCodeSent},
		refusals: []*api.Error{api.MissingField("email"), api.ErrInvalidEmail},
	},
	"freemium-forecast": {
		summary: "Forecast the next 24 hours without an account", about: "One file of a plant's production gives one forecast.",
		form: freemiumFields, answer: api.FreemiumResponse{},
		refusals: []*api.Error{api.ErrCSVRequired, api.ErrInvalidEmail, api.ErrFreemiumCSV, api.ErrTermsNotAccepted, api.ErrInvalidCode, api.ErrForecastFailed},
	},

	"upload-train": {
		summary: "Upload historical data", about: "A file as a form, or as JSON the URI of one that is stored. Training follows when 180 days are there.",
		form: uploadFields, body: api.UploadRequest{}, needs: map[string]string{"": "customer_id site_id region location s3_path"}, answer: api.UploadAck{},
		reply:    api.UploadAck{Status: api.StatusSuccess, Message: "Upload accepted", S3Path: "s3://bucket/historical/…", ProcessingStatus: api.UploadQueued, UploadID: "upl_…"},
		refusals: badUpload,
	},
	"upload-nowcast": {
		summary: "Upload the newest data", about: "As /upload_train, without training: forecast and detection are made anew.",
		form: uploadFields, body: api.UploadRequest{}, needs: map[string]string{"": "customer_id site_id region location s3_path"}, answer: api.UploadAck{},
		refusals: badUpload,
	},
	"v1-upload-train": {
		summary: "Upload historical data of a site that is known", about: "The customer is the site's.",
		form: v1Fields("training"), answer: api.UploadAck{}, refusals: append(badUpload[:2:2], api.ErrSiteNotFound, api.ErrUploadFailed),
	},
	"v1-upload-nowcast": {
		summary: "Upload the newest data of a site that is known", about: "The customer is the site's.",
		form: v1Fields("nowcast"), answer: api.UploadAck{}, refusals: append(badUpload[:2:2], api.ErrSiteNotFound, api.ErrUploadFailed),
	},
	"uploads": {
		summary: "List uploads", about: "Newest first.", answer: api.UploadsResponse{},
		parameters: about([]*Parameter{customerID, siteID, oneOf(query("kind", "The kind of upload; goes with site_id.", nil), api.UploadTrain, api.UploadNowcast)}, page),
	},
	"upload": {
		summary: "See what became of an upload", about: "State, progress, rows by what became of them, and what was inferred from the file.",
		parameters: []*Parameter{inPath("id", "The upload.", "upl_01J9Z0")}, answer: api.UploadResponse{}, refusals: []*api.Error{api.ErrNotFound},
	},
	"upload-move": {
		summary: "Cancel an upload", about: "Ends an import that has stored nothing yet, or the training that it waits for.",
		parameters: []*Parameter{inPath("id", "The upload.", "upl_01J9Z0")}, body: api.UploadMoveRequest{}, needs: map[string]string{api.ActionCancel: ""},
		answer: api.UploadResponse{}, refusals: []*api.Error{api.ErrInvalidAction, api.ErrNotFound, api.Conflict("Upload upl_01J9Z0 has ended; it is completed")},
	},
	"forecast": {
		summary: "Forecast the power of a site, or of all sites of a customer", about: "Median and central 80 % interval of each step.",
		parameters: []*Parameter{required(query("customer_id", "The customer.", exampleCustomer)), siteID,
			whole("horizon_hours", "How far to look ahead.", api.DefaultHorizonHours, api.MaxHorizonHours),
			whole("past_days", "How many former days of the site to tell the forecast of, as it was issued; without it none.", nil, api.MaxPastDays)},
		answer: api.GeneratedForecast{}, reply: forecastExample,
		refusals: []*api.Error{api.MissingParameter("customer_id"), api.ErrNoModel, api.ErrSiteNotFound, api.ErrForecastFailed},
	},
	"energy-forecast": {
		summary: "Forecast the energy of a customer, a site or a unit by the hour", about: "Takes customer_id, site_id, or site_id with device_id.",
		body: api.EnergyForecastRequest{}, answer: api.EnergyForecast{}, example: api.EnergyForecastRequest{SiteID: exampleSite, ForecastHours: 24},
		refusals: []*api.Error{api.MissingField("customer_id"), api.ErrNoModel, api.ErrSiteNotFound, api.ErrForecastFailed},
	},

	"data-period": {
		summary: "Ask from when to when there is telemetry", about: "Both records are null when there is none.", answer: api.DataPeriod{},
		parameters: []*Parameter{theSite, ofCustomer, query("asset_id", "The unit.", exampleAsset)}, refusals: badReads,
	},
	"inverter": {
		summary: "Read the records of a unit", about: "Ascending in time. An empty span is an empty list.", answer: api.RecordsResponse{}, reply: recordsExample,
		parameters: []*Parameter{required(query("asset_id", "The unit.", exampleAsset)), theSite, ofCustomer, start, end, resolution, records, cursor},
		refusals:   append(badReads[:4:4], api.ErrAssetNotFound),
	},
	"site-data": {
		summary: "Read the records of all units of a site", about: "By unit, ascending in time.", answer: api.SiteRecordsResponse{},
		parameters: []*Parameter{theSite, ofCustomer, start, end, resolution, records}, refusals: badReads,
	},
	"latest": {summary: "Read the newest record of each unit", about: "Of one site, by unit.", answer: api.LatestResponse{}, parameters: []*Parameter{theSite, ofCustomer}, refusals: badReads},

	"alert-period": {
		summary: "Ask from when to when there are alerts", about: "Both records are null when there is none.", answer: api.AlertPeriod{},
		parameters: []*Parameter{theSite, ofCustomer, query("terminal_device_id", "The terminal device.", exampleDevice)}, refusals: append(badReads[:4:4], api.ErrTerminalNotFound),
	},
	"terminal-alerts": {
		summary: "Read the alerts of a terminal device", about: "Ascending in time.", answer: api.AlertRecordsResponse{},
		parameters: []*Parameter{required(query("terminal_device_id", "The terminal device.", exampleDevice)), theSite, ofCustomer, start, end,
			whole("limit", "The most alerts; without it all of the span.", nil, 0), cursor},
		refusals: append(badReads[:4:4], api.ErrTerminalNotFound),
	},
	"site-alerts": {
		summary: "Read the alerts of all terminal devices of a site", about: "By device, ascending in time.", answer: api.SiteAlertsResponse{},
		parameters: []*Parameter{theSite, ofCustomer, start, end, whole("limit", "The most alerts of each device; without it all of the span.", nil, 0)}, refusals: badReads,
	},
	"alerts": {
		summary: "List alerts and move them", about: "A list has first what wants doing first.", body: api.AlertsRequest{}, answer: api.AlertsResponse{},
		needs: map[string]string{"": "", api.ActionList: "", api.ActionGet: "alert_id", api.ActionAcknowledge: "alert_id", api.ActionShelve: "alert_id reason minutes",
			api.ActionUnshelve: "alert_id", api.ActionSuppress: "alert_id reason", api.ActionUnsuppress: "alert_id", api.ActionHealth: ""},
		example:  api.AlertsRequest{Action: api.ActionList, SiteID: exampleSite},
		refusals: []*api.Error{api.MissingField("alert_id"), api.ErrInvalidAction, api.ErrAlertNotFound, api.Conflict("Alert alt_01J9Z0 is cleared; it cannot be changed by shelve")},
	},

	"assets": {
		summary: "Add, list, get and change units", about: "The fields of a unit stand at the top level of the body. A change leaves what is not given; one with a version is refused when the unit has another by now. To install a component in the place of another, name the serial of that.", body: api.AssetsRequest{}, answer: api.AssetsResponse{},
		needs: map[string]string{api.ActionAdd: "asset_id name type capacity_kw location", api.ActionList: "", api.ActionGet: "asset_id",
			api.ActionSet: "asset_id", api.ActionInstall: "asset_id component", api.ActionRemove: "asset_id former_serial"},
		example:  api.AssetsRequest{Action: api.ActionGet, Asset: api.Asset{AssetID: exampleAsset}},
		reply:    assetExample,
		refusals: append(badAsset[:3:3], api.ErrComponentNotFound, api.Conflict("Asset %s exists already", exampleAsset), api.Conflict("Asset %s is at version 4 by now", exampleAsset)),
	},
	"sites": {
		summary: "Set, list and get sites", about: "Setting makes a site, or changes the fields that are given.", body: api.SitesRequest{}, answer: api.SitesResponse{},
		needs:    map[string]string{api.ActionSet: "site", api.ActionList: "", api.ActionGet: "site_id"},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("site_id"), api.ErrSiteNotFound, api.Conflict("Site %s belongs to another customer", exampleSite)},
	},
	"stored-forecasts": {
		summary: "List stored forecasts, and say how they did", about: "Newest first. The accuracy counts each hour of daylight once for every forecast that spoke of it.",
		body: api.CustomerRequest{}, needs: map[string]string{"": "customer_id", api.ActionList: "customer_id", api.ActionAccuracy: "customer_id"},
		answer: api.StoredForecastsResponse{}, answers: map[string]any{api.ActionAccuracy: api.AccuracyResponse{}},
		refusals: append(badList[:3:3], api.ErrNoForecastResult),
	},
	"interpolations": {
		summary: "List what filling gaps gave, and the gaps of one run", about: "Newest first. The gaps are the longest of a run, each with what fills it.", body: api.CustomerRequest{}, answer: api.InterpolationsResponse{},
		answers: map[string]any{api.ActionGaps: api.GapsResponse{}},
		needs:   map[string]string{"": "customer_id", api.ActionList: "customer_id", api.ActionGaps: "customer_id"}, refusals: append(badList[:3:3], api.ErrNoInterpolation),
	},
	"ooda": {
		summary: "List OODA summaries", about: "Active ones first, of these the ones with the most energy at risk.", body: api.CustomerRequest{}, answer: api.FindingsResponse{},
		needs: map[string]string{"": "customer_id", api.ActionList: "customer_id"}, example: api.CustomerRequest{CustomerID: exampleCustomer},
		refusals: append(badList[:3:3], api.ErrNoSummaries),
	},
	"ml-models": {
		summary: "List models and move them", about: "A challenger is promoted when its verdict is eligible, or by force; a reason of at least 10 characters is kept.",
		body: api.ModelsRequest{}, answer: api.ModelsResponse{},
		needs: map[string]string{"": "", api.ActionList: "", api.ActionHistory: "site_id", api.ActionEvaluate: "site_id", api.ActionPromote: "site_id reason", api.ActionRollback: "site_id reason"},
		answers: map[string]any{api.ActionHistory: api.ModelHistoryResponse{}, api.ActionEvaluate: api.ModelMoveResponse{},
			api.ActionPromote: api.ModelMoveResponse{}, api.ActionRollback: api.ModelMoveResponse{}},
		refusals: []*api.Error{api.ErrInvalidAction, api.ErrModelNotFound, api.Conflict("Site %s has no former model to go back to", exampleSite), api.ErrModelRegistry},
	},
	"detect": {
		summary: "Run the detector over a unit, and list runs", about: "A run judges the last hours of the unit.", body: api.DetectRequest{}, answer: api.DetectResponse{},
		needs:   map[string]string{api.ActionRun: "asset_id", api.ActionList: ""},
		example: api.DetectRequest{Action: api.ActionRun, AssetID: exampleAsset, LookbackHours: 24}, refusals: badAsset,
	},
	"detections": {
		summary: "List runs of the detector", about: "Newest first.", body: api.DetectRequest{}, answer: api.DetectResponse{},
		needs: map[string]string{"": "", api.ActionList: ""}, refusals: badAsset[:1],
	},
	"diagnose": {
		summary: "Explain what is wrong with a unit, and list diagnoses", about: "Of a detection, or of a new run of the detector.", body: api.DiagnoseRequest{},
		answer: api.DiagnoseResponse{}, needs: map[string]string{api.ActionRun: "asset_id", api.ActionList: ""},
		example: api.DiagnoseRequest{Action: api.ActionRun, AssetID: exampleAsset}, refusals: append(badAsset[:3:3], api.ErrDetectionNotFound),
	},
	"diagnostics": {
		summary: "List diagnoses", about: "Newest first.", body: api.DiagnoseRequest{}, answer: api.DiagnoseResponse{},
		needs: map[string]string{"": "", api.ActionList: ""}, refusals: badAsset[:1],
	},
	"issues": {
		summary: "List, create and move issues", about: "Open ones first. New, In Progress, Resolved.", body: api.IssuesRequest{}, answer: api.IssuesResponse{},
		needs: map[string]string{"": "", api.ActionList: "", api.ActionCreate: "component site issue_type description", api.ActionAcknowledge: "issue_id", api.ActionResolve: "issue_id"},
		example: api.IssuesRequest{Action: api.ActionCreate, Site: exampleSite, Component: exampleAsset, IssueType: "soiling", Description: "Dust after the storm",
			Priority: api.PriorityMedium},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("issue_id"), api.ErrIssueNotFound, api.Conflict("Issue iss_01J9Z0 is Resolved; it cannot become In Progress")},
	},
	"schedule": {
		summary: "Plan maintenance of a unit", about: "A list has open ones first, what is due first before the others. That one is overdue is derived from its date.",
		body: api.ScheduleRequest{}, answer: api.ScheduleResponse{},
		needs: map[string]string{api.ActionCreate: "asset_id maintenance_type scheduled_date priority reason", api.ActionList: "", api.ActionGet: "schedule_id",
			api.ActionPropose: "maintenance_type estimated_duration_hours", api.ActionConfirm: "schedule_id", api.ActionComplete: "schedule_id", api.ActionCancel: "schedule_id reason"},
		answers: map[string]any{api.ActionPropose: api.ProposeResponse{}},
		example: api.ScheduleRequest{Action: api.ActionCreate, AssetID: exampleAsset, MaintenanceType: api.MaintenancePreventive, ScheduledDate: exampleDue,
			Priority: api.PriorityMedium, Reason: "Yearly inspection", EveryMonths: 12},
		refusals: append(badAsset[:3:3], api.ErrScheduleNotFound, api.ErrNoForecastResult, api.Conflict("Schedule sch_01J9Z0 is completed: it cannot become cancelled")),
	},
	"bom": {
		summary: "Make bills of materials", about: "Made of the type of maintenance, the fault in hand, and the type, size and components of the unit. A list has the newest first.",
		body: api.BOMRequest{}, answer: api.BOMResponse{},
		needs:    map[string]string{api.ActionGenerate: "asset_id", api.ActionBuild: "asset_id", api.ActionList: "", api.ActionGet: "bom_id"},
		example:  api.BOMRequest{Action: api.ActionGenerate, AssetID: exampleAsset, MaintenanceType: api.MaintenanceCorrective},
		refusals: append(badAsset[:3:3], api.MissingField("maintenance_type"), api.ErrBOMNotFound, api.ErrScheduleNotFound),
	},
	"parts": {
		summary: "List spare parts with their stock, and adjust it", about: "By part number. Available is what is on hand and not reserved; what nobody has counted is not said to be short.",
		body: api.PartsRequest{}, answer: api.PartsResponse{}, needs: map[string]string{api.ActionList: "", api.ActionAdjust: "part_number reason"},
		example:  api.PartsRequest{Action: api.ActionList, CustomerID: exampleCustomer},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("customer_id"), api.ErrPartNotFound, api.Conflict("Part FAN-AX-24V: 1 are on hand, 2 cannot go")},
	},
	"order": {
		summary: "Make work orders and move them", about: "A list has open orders first, each the newest first. With customer_id, an order is made of its bill of materials alone. A second open order of the same finding is a 409 that names the first, unless additional is true. A move that is not allowed is a 409 whose details name the allowed next states.",
		body: api.OrderRequest{}, answer: api.OrderResponse{},
		needs: map[string]string{api.ActionCreate: "bom_id", api.ActionList: "", api.ActionGet: "order_id", api.ActionAssign: "order_id assigned_technician", api.ActionStart: "order_id",
			api.ActionHold: "order_id hold_reason", api.ActionResume: "order_id", api.ActionComplete: "order_id completion_notes", api.ActionCancel: "order_id reason", api.ActionReopen: "order_id reason"},
		example: api.OrderRequest{Action: api.ActionCreate, AssetID: exampleAsset, ScheduleID: "sch_01J9Z0", BOMID: "bom_01J9Z0", AssignedTechnician: "grace",
			EstimatedDurationHours: 4, Priority: api.PriorityHigh},
		refusals: append(badAsset[:3:3], api.ErrOrderNotFound, api.ErrBOMNotFound, api.ErrScheduleNotFound, api.MissingField("order_id"), api.Conflict("Order ord_01J9Z0 is completed: start is not possible"),
			api.Conflict("Finding fnd_01J9Z0 is dealt with by order ord_01J9Z0, which is pending: move that one, or ask for an additional one")),
	},
	"track": {
		summary: "Be told of the changes of a work order", about: "Each change of its status is posted to the callback URL with the fields order_id, status, updated_at and completion_notes, signed after Standard Webhooks with the secret that is shown once. Only a 2xx receives it; it is tried 10 times over three days. While a subscription is paused its events are kept; resumed, they go, the oldest first. rotate shows a new secret; for 24 hours the former one signs too. job_id stands for order_id.",
		body: api.TrackRequest{}, answer: api.TrackResponse{},
		needs:    map[string]string{api.ActionSubscribe: "order_id|job_id callback_url", api.ActionList: "order_id|job_id|customer_id|site_id", api.ActionUnsubscribe: "subscription_id", api.ActionPause: "subscription_id", api.ActionResume: "subscription_id", api.ActionRotate: "subscription_id", api.ActionDeliveries: "subscription_id|order_id|job_id", api.ActionReplay: "subscription_id|delivery_id"},
		example:  api.TrackRequest{Action: api.ActionDeliveries, OrderID: "ord_01J9Z0"},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("order_id"), api.ErrInvalidCallback, api.ErrOrderNotFound, api.ErrSubscriptionNotFound, api.ErrDeliveryNotFound, api.Conflict("Subscription sub_01J9Z0 is disabled: it cannot become paused")},
	},
	"site-summary": {
		summary: "Read the day of a site, or of all sites, so far", about: "The fields of a site stand under summary and at the top level. The fleet is all sites in reach, by name.", body: api.SiteSummaryRequest{}, answer: api.SiteSummaryResponse{},
		answers: map[string]any{api.ActionFleet: api.FleetResponse{}},
		needs:   map[string]string{api.ActionSiteSummary: "site_id", api.ActionFleet: ""}, example: api.SiteSummaryRequest{Action: api.ActionSiteSummary, SiteID: exampleSite},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("site_id"), api.ErrSiteNotFound},
	},
	"activities": {
		summary: "List what was done in the last 24 hours", about: "Newest first.", body: api.ActivitiesRequest{}, answer: api.ActivitiesResponse{},
		needs: map[string]string{"": "", api.ActionList: ""}, refusals: badAsset[:1],
	},
	"users": {
		summary: "List users, make and change them", about: "By name. An administrator sees and makes nobody with more than the own role, customers and sites; the last administrator stays.",
		body: api.UsersRequest{}, answer: api.UsersResponse{},
		needs: map[string]string{"": "", api.ActionList: "", api.ActionGet: "user_id", api.ActionAdd: "username password role_id", api.ActionSet: "user_id",
			api.ActionResetPassword: "user_id password", api.ActionResetMFA: "user_id", api.ActionUnlink: "user_id", api.ActionUnlock: "user_id", api.ActionDelete: "user_id"},
		example: api.UsersRequest{Action: api.ActionAdd, Username: "ana", Password: "correct horse battery", RoleID: api.RoleOperator, CustomerIDs: []string{exampleCustomer}},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("user_id"), api.ErrUserNotFound, api.ErrForbidden, api.Conflict("The username ana is taken"),
			api.Conflict("The last active administrator cannot be removed")},
	},
	"keys": {
		summary: "List API keys, make, rotate and revoke them", about: "Oldest first. A key is shown once, when it is made. A rotation makes one like it; the former opens for some hours yet.",
		body: api.KeysRequest{}, answer: api.KeysResponse{},
		needs:   map[string]string{"": "", api.ActionList: "", api.ActionGet: "api_key_id", api.ActionCreate: "name", api.ActionRotate: "api_key_id", api.ActionRevoke: "api_key_id"},
		example: api.KeysRequest{Action: api.ActionCreate, Name: "dashboard", RoleID: api.RoleAnalyst, PermittedSiteIDs: []string{exampleSite}, CustomerIDs: []string{exampleCustomer}},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("api_key_id"), {Status: 404, Message: api.ErrAPIKeyNotFound.Message}, api.ErrForbidden,
			api.Conflict("API key key_01J9Z0 is revoked; it cannot be rotated")},
	},
	"audit": {
		summary: "List who changed what", about: "Newest first: one record for each request that writes, also of those that were refused. Refusals of one caller are bounded; what was too much is counted.",
		body: api.AuditRequest{}, answer: api.AuditResponse{}, needs: map[string]string{"": "", api.ActionList: ""},
		example:  api.AuditRequest{Action: api.ActionList, Actor: "ana", SiteID: exampleSite},
		refusals: []*api.Error{api.ErrInvalidAction, api.ErrForbidden, api.InvalidField("to", "lies before from")},
	},
	"log": {
		summary: "Read what the service has logged of late", about: "Newest first; some thousand events are kept, in memory. For administrators of all customers and sites.",
		body: api.LogRequest{}, answer: api.LogResponse{}, needs: map[string]string{"": "", api.ActionList: ""},
		example:  api.LogRequest{Action: api.ActionList, Level: api.LogWarn},
		refusals: []*api.Error{api.ErrInvalidAction, api.ErrForbidden, api.InvalidField("level", "it is one of DEBUG, INFO, WARN, ERROR")},
	},
	"nowcast": {
		summary: "Read the live overview of a customer", about: "Figures of the newest samples, and a series for a chart. An interval of which no unit measured more than half has no point.",
		body: api.NowcastRequest{}, needs: map[string]string{"": "customer_id", api.ActionList: "customer_id"}, answer: api.NowcastResponse{},
		example:  api.NowcastRequest{Action: api.ActionList, CustomerID: exampleCustomer, TimeRange: api.Range24h},
		refusals: []*api.Error{api.ErrInvalidAction, api.MissingField("customer_id"), api.InvalidField("time_range", "it is one of 1h, 6h, 24h, 7d, latest"), api.ErrSiteNotFound},
	},

	"site-kpis": {
		summary: "Read the key figures of a site", about: "Each with its unit, window and the source of its formula.", answer: api.KPIs{},
		parameters: []*Parameter{inPath("site_id", "The site.", exampleSite), ofCustomer,
			query("from", "The first instant, ISO 8601; without an offset in the zone of the site. Without it the last 30 whole days.", exampleStart),
			query("to", "The end of the window, which is not in it.", exampleEnd)},
		refusals: []*api.Error{api.InvalidParameter("from", "not an ISO 8601 time"), api.ErrForbidden, api.ErrSiteNotFound},
	},

	"kpi-rollup": {
		summary: "Read the key figures of the last 30 whole days of a site", about: "Made beforehand; may be kept for 60 seconds. Fewer days where the data began later, none for a site without a whole day. Numbers that the data do not tell are 0 and named in not_known.",
		answer: api.KPIRollup{}, parameters: []*Parameter{theSite, ofCustomer}, refusals: badSnapshot,
	},
	"maintenance-signals": {
		summary: "Read the faults of a site", about: "Made beforehand; may be kept for 60 seconds. Those that last or ended within 30 days, newest signal first. Ask again with the cursor as since for what is new or has become worse.",
		answer: api.MaintenanceSignals{}, refusals: append(badSnapshot[:3:3], api.InvalidParameter("severity", "it is one of Critical, High, Medium, Low")),
		parameters: []*Parameter{theSite, ofCustomer, query("since", "A time or a cursor: signals with a later timestamp.", exampleStart), query("severity", "Critical, High, Medium or Low, in any case.", api.PartnerHigh)},
	},
	"maintenance-schedule": {
		summary: "Read what is to be done at a site in the next 90 days", about: "Made beforehand; may be kept for 60 seconds. Planned maintenance, and what lasting faults call for; the earliest first.",
		answer: api.MaintenanceSchedule{}, parameters: []*Parameter{theSite, ofCustomer}, refusals: badSnapshot,
	},
	"snapshot": {
		summary: "Read any of these snapshots by its kind", about: "Answers what the path of the kind answers, and takes its parameters.", answer: map[string]any{},
		parameters: []*Parameter{theSite, ofCustomer, required(query("kind", "kpi-rollup, maintenance-signals, maintenance-schedule or forecast.", api.SnapshotKPIs)),
			query("since", "Of maintenance-signals.", exampleStart), query("severity", "Of maintenance-signals.", api.PartnerHigh), query("horizon", "Of forecast.", "24h")},
		refusals: append(badSnapshot[:3:3], api.MissingParameter("kind"), api.InvalidParameter("kind", "it is one of kpi-rollup, maintenance-signals, maintenance-schedule, forecast")),
	},
	"forecast-snapshot": {
		summary: "Read the newest forecast of a site by the hour, with what it is worth", about: "Made beforehand; may be kept for 60 seconds.", answer: api.ForecastSnapshot{},
		parameters: []*Parameter{theSite, ofCustomer, query("horizon", "Hours, with or without an h: 1h to 720h. Without it 24h.", "24h")},
		refusals:   []*api.Error{api.MissingParameter("site_id"), api.ErrForbidden, api.ErrNotFound},
	},

	"health": {summary: "Ask whether the service lives", about: "Says nothing of what it depends on.", answer: api.Done{}},
	"ready": {summary: "Ask what the service can do", about: "200 while most requests can be served, with the state of each capability; 503 while they cannot, or while the capability that is asked for is unavailable.",
		parameters: []*Parameter{query("capability", "reads, writes, uploads, jobs or mail", api.CapabilityUploads)}, answer: api.Readiness{}},
	"openapi": {summary: "Read this document", about: "OpenAPI 3.1, made from the code of the service.", document: true},
	"docs":    {summary: "Read this document as a page", about: "HTML without scripts; it needs nothing from elsewhere.", html: true},
}
