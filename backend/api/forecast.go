package api

import "net/http"

// Interval is a central prediction interval, P10 to P90, in kW.
type Interval struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// WeatherConditions is the weather behind a forecast value.
type WeatherConditions struct {
	TemperatureC  float64 `json:"temperature_c"`
	IrradianceWM2 float64 `json:"irradiance_w_m2"`
	WindSpeedMS   float64 `json:"wind_speed_m_s"`
}

// ForecastValue is one interval of a generated forecast. PredictedPowerKW is
// the median.
type ForecastValue struct {
	Timestamp          Time              `json:"timestamp"` // start of the interval
	PredictedPowerKW   float64           `json:"predicted_power_kw"`
	ConfidenceInterval Interval          `json:"confidence_interval"`
	WeatherConditions  WeatherConditions `json:"weather_conditions"`
	ClearSkyKW         float64           `json:"clear_sky_kw"` // extension: the learned clear-sky envelope
}

// ForecastMetadata says which model spoke. ModelAccuracy is 1 − nMAE over
// daylight of the last backtest, clipped to 0..1.
type ForecastMetadata struct {
	ModelVersion       string  `json:"model_version"`
	TrainingDataPoints int     `json:"training_data_points"`
	ModelAccuracy      float64 `json:"model_accuracy"`
	ModelType          string  `json:"model_type,omitempty"`
	WeatherSource      string  `json:"weather_source,omitempty"`
}

// GeneratedForecast answers GET /forecast. Without site_id it is the sum over
// the customer's sites, which stand under Sites.
type GeneratedForecast struct {
	ForecastID    string              `json:"forecast_id"`
	CustomerID    string              `json:"customer_id"`
	SiteID        string              `json:"site_id,omitempty"`
	GeneratedAt   Time                `json:"generated_at"`
	HorizonHours  int                 `json:"horizon_hours"`
	StepMinutes   int                 `json:"step_minutes"` // extension
	Forecasts     []ForecastValue     `json:"forecasts"`
	Metadata      ForecastMetadata    `json:"metadata"`
	ModelInfo     *ModelInfo          `json:"model_info,omitempty"` // extension: of all sites of a customer
	Sites         []GeneratedForecast `json:"sites,omitempty"`
	TodayP50KWh   float64             `json:"today_p50_kwh,omitempty"`  // extension: the site's whole day, as first issued for it
	TodayIssuedAt Time                `json:"today_issued_at,omitzero"` // extension
	// Today (extension, of one site) are the hours of the site's whole day,
	// each as it was issued last before it began: a past hour never knows what
	// came after. On a day whose first forecast came later than its beginning,
	// the hours before that are what was known at the site's midnight.
	Today []ForecastValue `json:"today,omitempty"`
	// Past (extension, of one site) are the hours of the former days of the
	// site that past_days asked for, as Today is of today: ascending, without
	// the hours for which nothing was issued.
	Past []ForecastValue `json:"past,omitempty"`
	// Days (extension) are the energies of the site's days that Past, Today and
	// Forecasts reach into, ascending. Of all sites of a customer they are summed by
	// date, as if all erred together.
	Days []ForecastDay `json:"days,omitempty"`
}

// ForecastDay is the forecast energy of a day of the site. P10 and P90 are
// quantiles of the day's energy: not the sums of those of its hours, which err in
// part independently.
type ForecastDay struct {
	Day      string  `json:"day"`      // 2006-01-02, the site's
	Hours    float64 `json:"hours"`    // of the day that have a forecast
	Complete bool    `json:"complete"` // all of them
	P10KWh   float64 `json:"p10_kwh"`
	P50KWh   float64 `json:"p50_kwh"`
	P90KWh   float64 `json:"p90_kwh"`
	// Issued is "backcast" of a past day for which no forecast was issued and which was
	// computed afterwards, as it would have been forecast at its midnight; else absent.
	Issued string `json:"issued,omitempty"`
	// TrainedOnDay: the model of a backcast was trained on data that contain the day,
	// for lack of older ones.
	TrainedOnDay  bool   `json:"trained_on_day,omitempty"`
	WeatherSource string `json:"weather_source,omitempty"` // of a backcast
}

// IssuedBackcast marks a day whose forecast was computed after it.
const IssuedBackcast = "backcast"

// ForecastPoint is one hour of a stored forecast.
type ForecastPoint struct {
	Timestamp        Time    `json:"timestamp"`
	HourAhead        int     `json:"hour_ahead"`
	PredictedPowerKW float64 `json:"predicted_power_kw"`
	LowerConfKW      float64 `json:"lower_conf_kw"`
	UpperConfKW      float64 `json:"upper_conf_kw"`
	ClearSkyKW       float64 `json:"clear_sky_kw"` // extension
}

// ForecastMetrics are of the model that made the forecast. RMSE in kW; the
// percentages over hours above 10 % of capacity.
type ForecastMetrics struct {
	TrainingRMSE   float64 `json:"training_rmse"`
	ValidationRMSE float64 `json:"validation_rmse"`
	MAPEPercent    float64 `json:"mape_percent"`
	SMAPEPercent   float64 `json:"smape_percent"`
}

// WeatherContext is the mean weather over a forecast's daylight.
type WeatherContext struct {
	AvgTemperatureC  float64 `json:"avg_temperature_c"`
	AvgIrradianceWM2 float64 `json:"avg_irradiance_wm2"`
	AvgWindSpeedMS   float64 `json:"avg_wind_speed_ms"`
	Source           string  `json:"source"`
}

// StoredForecast is a forecast as it was issued.
type StoredForecast struct {
	ForecastID     string          `json:"forecast_id"`
	SiteID         string          `json:"site_id"`
	GeneratedAt    Time            `json:"generated_at"`
	ModelName      string          `json:"model_name"`
	ModelVersion   string          `json:"model_version"`
	HorizonHours   int             `json:"horizon_hours"`
	ForecastPoints []ForecastPoint `json:"forecast_points"`
	Metrics        ForecastMetrics `json:"metrics"`
	WeatherContext WeatherContext  `json:"weather_context"`
}

// CustomerRequest is the body of the terminal paths that list by customer:
// /terminal/forecast, /terminal/interpolation. SiteID narrows
// (extension).
type CustomerRequest struct {
	Action     string `json:"action,omitempty" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Days       int    `json:"days,omitempty"`                 // of the action accuracy
	ResultID   string `json:"result_id,omitempty" limit:"id"` // of the action gaps; empty: the newest run
	Page
}

// StoredForecastsResponse answers /terminal/forecast, newest first.
type StoredForecastsResponse struct {
	Success         bool             `json:"success"`
	CustomerID      string           `json:"customer_id"`
	ForecastResults []StoredForecast `json:"forecast_results"`
	Count           int              `json:"count"`
	NextCursor      string           `json:"next_cursor,omitempty"`
}

var forecast = Route{
	Name: "forecast", Method: http.MethodGet, Path: PathForecast, Failure: ErrForecastFailed,
	Summary: "Forecast the power of a site, or of all sites of a customer", Description: "Median and central 80 % interval of each step.",
	Reply: GeneratedForecast{
		ForecastID: "fc_01J9Z0", CustomerID: exampleCustomer, SiteID: exampleSite, GeneratedAt: exampleNoon, HorizonHours: 48, StepMinutes: 60,
		Forecasts: []ForecastValue{{Timestamp: exampleNoon, PredictedPowerKW: 61.2, ConfidenceInterval: Interval{Lower: 48.9, Upper: 70.4},
			WeatherConditions: WeatherConditions{TemperatureC: 24.1, IrradianceWM2: 742, WindSpeedMS: 3.2}, ClearSkyKW: 78.5}},
		Metadata: ForecastMetadata{ModelVersion: "1.0.0", TrainingDataPoints: 8760, ModelAccuracy: 0.91},
	},
	Errors: []*Error{MissingParameter("customer_id"), ErrNoModel, ErrSiteNotFound, ErrForecastFailed},
}

// GenerateForecast forecasts a site, or all sites of a customer.
var GenerateForecast = define[ForecastQuery, GeneratedForecast](&forecast, Operation{Permission: PermissionRead, Cacheable: true, Fields: Fields{
	required("customer_id").about("The customer.", exampleCustomer), optional("site_id").about("The site.", exampleSite),
	optional("horizon_hours").about("How far to look ahead.", nil).between(1, MaxHorizonHours).withDefault(DefaultHorizonHours),
	optional("past_days").about("Number of past days whose forecast, as it was issued, is included; default none.", nil).between(0, MaxPastDays),
}})

// DefaultEnergyHours is the horizon of POST /forecast without forecast_hours.
const DefaultEnergyHours = 24

var energyForecast = Route{
	Name: "energy-forecast", Path: PathForecast, Failure: ErrForecastFailed,
	Summary: "Forecast the energy of a customer, a site or a unit by the hour", Description: "Takes customer_id, site_id, or site_id with device_id.",
	Example: EnergyForecastRequest{SiteID: exampleSite, ForecastHours: 24},
	Errors:  []*Error{MissingField("customer_id"), ErrNoModel, ErrSiteNotFound, ErrForecastFailed},
}

// ForecastEnergy forecasts hourly energy.
var ForecastEnergy = define[EnergyForecastRequest, EnergyForecast](&energyForecast, Operation{Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "device_id"}, Fields: Fields{
	rule(func(r *EnergyForecastRequest) error {
		if r.DeviceID != "" && r.SiteID == "" {
			return MissingField("site_id")
		}
		return nil
	}),
	required("customer_id").or("site_id"), optional("forecast_hours").between(1, MaxHorizonHours).withDefault(DefaultEnergyHours),
}})

var storedForecasts = Route{
	Name: "stored-forecasts", Path: PathTerminalForecast,
	Summary: "List stored forecasts and their accuracy", Description: "Newest first. The accuracy counts each hour of daylight once for every forecast of it.",
	Errors: append(listErrors[:3:3], ErrNoForecastResult),
}

// Stored forecasts, and their accuracy by lead time.
var (
	ListForecasts = define[CustomerRequest, StoredForecastsResponse](&storedForecasts, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("customer_id"), since(), pageLimit()}})
	GetAccuracy = define[CustomerRequest, AccuracyResponse](&storedForecasts, Operation{Action: ActionAccuracy, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("customer_id"), pageLimit(), optional("days").between(1, MaxAccuracyDays)}})
)
