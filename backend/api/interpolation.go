package api

// GapStatistics are of the gaps of an interpolation: daylight in which a unit
// reported nothing.
type GapStatistics struct {
	TotalGaps                  int     `json:"total_gaps"`
	AverageGapMinutes          float64 `json:"average_gap_minutes"`
	LargestGapMinutes          float64 `json:"largest_gap_minutes"`
	CoverageImprovementPercent float64 `json:"coverage_improvement_percent"` // of the daylight in the window
}

// PerformanceMetrics are errors on samples that were measured, hidden and
// filled again; R2Score may be below zero where filling does worse than the
// samples' mean. All are null if no samples could be hidden, for the Reason.
type PerformanceMetrics struct {
	RMSEKW       *float64 `json:"rmse_kw"`
	MAEKW        *float64 `json:"mae_kw"`
	R2Score      *float64 `json:"r2_score"`
	NRMSEPercent *float64 `json:"nrmse_percent"`    // of capacity
	Reason       string   `json:"reason,omitempty"` // why they are null (extension)
}

// WeatherFeatures are means over the window's daylight; null when nothing
// was measured, for the Reason.
type WeatherFeatures struct {
	MeanTemperatureC  *float64 `json:"mean_temperature_c"`
	MeanIrradianceWM2 *float64 `json:"mean_irradiance_wm2"`
	Reason            string   `json:"reason,omitempty"` // why one of them is null (extension)
}

// MethodNone is the method of a run that filled no gaps.
const MethodNone = "none"

// GapLengthMetrics (extension) are the metrics of one length of gap and the
// method that fills it, by what is known of the sky during the gap.
type GapLengthMetrics struct {
	GapMinutes float64 `json:"gap_minutes"`
	KnownFrom  string  `json:"known_from" limit:"word cut"` // nothing, weather, sibling units
	Method     string  `json:"method" limit:"word cut"`
	HiddenGaps int     `json:"hidden_gaps"` // that were measured, hidden and filled
	PerformanceMetrics
}

// InterpolationResult is what filling a site's gaps gave. Method is the one
// that filled most of the missing daylight, [MethodNone] if there were no gaps.
type InterpolationResult struct {
	ResultID           string             `json:"result_id" limit:"id"`
	SiteID             string             `json:"site_id" limit:"id"`
	ProcessedAt        Time               `json:"processed_at"`
	Method             string             `json:"method" limit:"word"`
	AssetIDs           []string           `json:"asset_ids" limit:"10000 id cut"`
	DataWindow         Window             `json:"data_window"`
	GapStatistics      GapStatistics      `json:"gap_statistics"`
	PerformanceMetrics PerformanceMetrics `json:"performance_metrics"`
	WeatherFeatures    WeatherFeatures    `json:"weather_features"`

	// Extensions.
	Methods      map[string]int     `json:"methods" limit:"50 word cut"` // method → gaps it filled
	ByGapLength  []GapLengthMetrics `json:"by_gap_length" limit:"200 cut"`
	FilledValues string             `json:"filled_values,omitempty" limit:"name"` // object URI of a CSV: timestamp, asset, P10, P50, P90 in kW, method
	Notes        []string           `json:"notes,omitempty" limit:"200 line cut"`
}

// InterpolationsResponse answers /terminal/interpolation, newest first.
type InterpolationsResponse struct {
	Success              bool                  `json:"success"`
	CustomerID           string                `json:"customer_id"`
	InterpolationResults []InterpolationResult `json:"interpolation_results"`
	Count                int                   `json:"count"`
	NextCursor           string                `json:"next_cursor,omitempty"`
}

// FilledGap is a gap of daylight of one unit with what fills it: values each
// StepMinutes from Start on, as P10, P50 and P90.
type FilledGap struct {
	AssetID     string    `json:"asset_id"`
	Start       Time      `json:"start"`
	End         Time      `json:"end"`
	Minutes     float64   `json:"minutes"`
	Method      string    `json:"method"`
	EnergyKWh   float64   `json:"energy_kwh"` // of the P50
	StepMinutes float64   `json:"step_minutes"`
	P10KW       []float64 `json:"p10_kw"`
	P50KW       []float64 `json:"p50_kw"`
	P90KW       []float64 `json:"p90_kw"`
}

// GapsResponse answers the action gaps of /terminal/interpolation (extension):
// the longest gaps of one run first, as many as the limit, of TotalGaps.
type GapsResponse struct {
	Success   bool        `json:"success"`
	ResultID  string      `json:"result_id"`
	SiteID    string      `json:"site_id"`
	Gaps      []FilledGap `json:"gaps"`
	Count     int         `json:"count"`
	TotalGaps int         `json:"total_gaps"`
}

var interpolations = Route{
	Name: "interpolations", Path: PathInterpolation,
	Summary: "List results of gap filling, and the gaps of one run", Description: "Newest first. The gaps are the longest of a run, each with its filled values.",
	Errors: append(listErrors[:3:3], ErrNoInterpolation),
}

// Runs that filled gaps, and the gaps of a run.
var (
	ListInterpolations = define[CustomerRequest, InterpolationsResponse](&interpolations, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("customer_id"), since(), pageLimit()}})
	ListGaps = define[CustomerRequest, GapsResponse](&interpolations, Operation{Action: ActionGaps, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("customer_id"), pageLimit()}})
)
