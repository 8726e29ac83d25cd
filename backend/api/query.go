package api

// AssetRef names an asset. SiteID and CustomerID may be empty; where units of
// several sites share a name they say which is meant.
type AssetRef struct {
	AssetID    string
	SiteID     string
	CustomerID string
}

// SiteRef names a site. CustomerID may be empty where the credential covers only
// one site of the id; for several, the service answers [ErrAmbiguousSite].
type SiteRef struct{ CustomerID, SiteID string }

// Ref returns what names the site.
func (s Site) Ref() SiteRef { return SiteRef{CustomerID: s.CustomerID, SiteID: s.SiteID} }

// Ref returns what names the site.
func (f FleetSite) Ref() SiteRef { return SiteRef{CustomerID: f.CustomerID, SiteID: f.SiteID} }

// ListQuery selects a part of a list, narrowed by the ids that are not empty.
type ListQuery struct {
	CustomerID string
	SiteID     string
	AssetID    string
	Kind       string // of uploads of a site: UploadTrain or UploadNowcast
	From, To   Time   // of findings: only those that were there in this period
	Archived   bool   // of sites: archived ones too
	Filter     Filter
	Page
}

// Filter selects records of a list by their main fields; what is empty does not narrow. Words are
// compared without case.
type Filter struct {
	Status   string
	Priority string
	Severity string
	Type     string // of the issue, the fault, the unit, the maintenance or the model
}

// UploadRequest are the fields of an upload, in its form or its JSON body.
type UploadRequest struct {
	CustomerID   string `json:"customer_id" limit:"id"`
	SiteID       string `json:"site_id" limit:"id"`
	Region       string `json:"region" limit:"name"`
	Location     string `json:"location" limit:"name"`
	Manufacturer string `json:"manufacturer,omitempty" limit:"name"`
	S3Path       string `json:"s3_path,omitempty" limit:"url"`    // JSON form: an object that is stored already
	DataType     string `json:"data_type,omitempty" limit:"word"` // of /v1/data-ingestion: training or nowcast

	// Extensions; each may be empty.
	Timezone   string  `json:"timezone,omitempty" limit:"word"` // IANA name, of naive times
	CapacityKW float64 `json:"capacity_kw,omitempty"`           // of the site
	AssetID    string  `json:"asset_id,omitempty" limit:"id"`   // of a file that names no unit
	Mapping    string  `json:"mapping,omitempty" limit:"64KiB"` // what the columns hold, as time=Date,power[INV1]=P1,unit=kW

	Source     string `json:"source,omitempty" limit:"id"`        // name of the folder, server or mailbox that a gateway took the file from
	DeliveryID string `json:"delivery_id,omitempty" limit:"name"` // names the file at its sender

	Kind     string `json:"-" limit:"word"` // UploadTrain or UploadNowcast, from the path
	Filename string `json:"-" limit:"255"`
	Bytes    int64  `json:"-"` // of the file
}

// InferredMapping is the comment in the first line of the mapping of a request that
// was inferred from another part of the same file. Such a mapping is used for this
// part, and not kept for other files of the site.
const InferredMapping = "# inferred from another part of the file"

// Of returns the request with the ids of its customer and site, which are kept apart from a stored one.
func (r UploadRequest) Of(customerID, siteID string) UploadRequest {
	r.CustomerID, r.SiteID = customerID, siteID
	return r
}

// ForecastQuery asks for GET /forecast.
type ForecastQuery struct {
	CustomerID   string `query:"customer_id"`
	SiteID       string `query:"site_id"`       // empty: all sites of the customer
	HorizonHours int    `query:"horizon_hours"` // 1..MaxHorizonHours
	PastDays     int    `query:"past_days"`     // 0..MaxPastDays former days of the site, for Past
}

// EnergyForecastRequest is the body of POST /forecast: customer_id, site_id,
// or site_id with device_id.
type EnergyForecastRequest struct {
	CustomerID             string `json:"customer_id,omitempty" limit:"id"`
	SiteID                 string `json:"site_id,omitempty" limit:"id"`
	DeviceID               string `json:"device_id,omitempty" limit:"id"`
	ForecastHours          int    `json:"forecast_hours,omitempty"` // default 24
	IncludeDeviceBreakdown bool   `json:"include_device_breakdown,omitempty"`
}

// EnergyForecastValue is one hour of POST /forecast: the median energy.
type EnergyForecastValue struct {
	Timestamp   Time               `json:"timestamp"`
	HourAhead   int                `json:"hour_ahead"` // 1 is the first
	KWhForecast float64            `json:"kWh_forecast"`
	Weather     *WeatherConditions `json:"weather,omitempty"`
}

// ModelInfo says which model spoke in POST /forecast.
type ModelInfo struct {
	ModelType     string  `json:"model_type"`
	ModelVersion  string  `json:"model_version,omitempty"`
	ModelAccuracy float64 `json:"model_accuracy,omitempty"`
	// AggregationMethod is how the forecast of several sites or of a unit follows from those
	// of sites: one of [AggregationSum], [AggregationSite] and [AggregationShare].
	AggregationMethod string `json:"aggregation_method,omitempty"`
}

// Methods of aggregation.
const (
	AggregationSum   = "sum_of_sites"         // the medians of the customer's sites, added by the hour
	AggregationSite  = "site_model"           // one model forecasts all units of the site together
	AggregationShare = "share_of_rated_power" // the unit's share of the site's forecast
)

// DeviceForecast is the share of one unit: the site's by rated power.
type DeviceForecast struct {
	DeviceID  string                `json:"device_id"`
	Forecasts []EnergyForecastValue `json:"forecasts"`
}

// EnergyForecast answers POST /forecast.
type EnergyForecast struct {
	Success         bool                  `json:"success"`
	CustomerID      string                `json:"customer_id,omitempty"`
	SiteID          string                `json:"site_id,omitempty"`
	DeviceID        string                `json:"device_id,omitempty"`
	Forecasts       []EnergyForecastValue `json:"forecasts"`
	ModelInfo       ModelInfo             `json:"model_info"`
	GeneratedAt     Time                  `json:"generated_at"`
	DeviceCount     int                   `json:"device_count,omitempty"`
	DevicesIncluded []string              `json:"devices_included,omitempty"`
	DeviceForecasts []DeviceForecast      `json:"device_forecasts,omitempty"`
}

// RecordsQuery asks for GET /telemetry/inverter, and without AssetID for
// GET /telemetry/site: samples with Start <= time <= End.
type RecordsQuery struct {
	AssetID    string `query:"asset_id"`
	SiteID     string `query:"site_id"`
	CustomerID string `query:"customer_id"` // of the site; empty: the only accessible one that has it
	Start      Time   `query:"start"`
	End        Time   `query:"end"`
	Resolution string `query:"resolution"` // empty: as it was measured
	Limit      int    `query:"limit"`      // of the page; 0: [DefaultLimit]
	Cursor     string `query:"cursor"`     // of the last record of a former part

	// Of the compact forms; see [RecordForms].
	Format    string `query:"format"`    // empty: by the header Accept
	Fields    string `query:"fields"`    // names of [RecordFields], separated by commas; empty: those that every record has, and what was measured
	Step      string `query:"step"`      // as [ParseStep] reads it; empty: as it was measured
	Aggregate string `query:"aggregate"` // empty: [AggregateMean]
}

// ActivitiesRequest is the body of POST /terminal/activities.
type ActivitiesRequest struct {
	Action     string `json:"action,omitempty" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Page              // without a limit: the newest thousand
}

// InProcess is the remote address of a request that never left the process:
// no peer on a network can have it.
const InProcess = "in-process"

// Headers of the contract in addition to the standard ones.
const (
	HeaderAPIKey         = "X-Api-Key"
	HeaderRequestID      = "X-Request-Id"
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderVersion        = "API-Version"
	HeaderDeprecation    = "Deprecation"
	HeaderSunset         = "Sunset"
	HeaderRateLimit      = "RateLimit"
	HeaderRatePolicy     = "RateLimit-Policy"
)
