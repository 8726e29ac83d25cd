package api

// Ranges of the live overview.
const (
	Range1h     = "1h"
	Range6h     = "6h"
	Range24h    = "24h"
	Range7d     = "7d"
	RangeLatest = "latest" // the newest figures alone, without a series
)

// NowcastRanges are all there are.
func NowcastRanges() []string { return []string{Range1h, Range6h, Range24h, Range7d, RangeLatest} }

// NowcastRequest is the body of POST /terminal/nowcastUI: action list.
type NowcastRequest struct {
	Action      string   `json:"action,omitempty" limit:"word"`
	CustomerID  string   `json:"customer_id,omitempty" limit:"id"`
	SiteID      string   `json:"site_id,omitempty" limit:"id"`           // extension: of one site alone
	TimeRange   string   `json:"time_range,omitempty" limit:"word"`      // one of NowcastRanges; empty: 24h
	AssetFilter []string `json:"asset_filter,omitempty" limit:"5000 id"` // units; empty: all
}

// NowcastResponse answers /terminal/nowcastUI.
type NowcastResponse struct {
	Success bool    `json:"success"`
	Data    Nowcast `json:"data"`
}

// Nowcast is the live overview of the units of a customer.
type Nowcast struct {
	LatestMetrics NowcastMetrics `json:"latest_metrics"`
	// TimeSeries is ascending. An interval of which no unit measured more than
	// half has no point, so that a chart shows the gap.
	TimeSeries  []NowcastPoint `json:"time_series"`
	TimeRange   string         `json:"time_range"`             // extension
	StepMinutes int            `json:"step_minutes,omitempty"` // extension: between two points; absent for latest
}

// NowcastMetrics are of the newest samples. A unit that has been silent for
// two hours counts only among the total.
type NowcastMetrics struct {
	TotalPowerKW      float64  `json:"total_power_kw"`
	AvgTemperatureC   *float64 `json:"avg_temperature_c,omitempty"` // as the units report it; absent: none does
	AvgCapacityFactor float64  `json:"avg_capacity_factor"`         // percent: the power over the rating of the units that report; 0 also where none does
	ActiveInverters   int      `json:"active_inverters"`            // that report and, while the sun should give more than 5 % of the rating, feed in
	TotalInverters    int      `json:"total_inverters"`
	LastUpdated       Time     `json:"last_updated,omitzero"` // newest sample
}

// NowcastPoint is one interval of a chart, in means of it.
type NowcastPoint struct {
	Timestamp         Time     `json:"timestamp"` // start
	TotalPowerKW      float64  `json:"total_power_kw"`
	AvgTemperatureC   *float64 `json:"avg_temperature_c,omitempty"`
	AvgCapacityFactor *float64 `json:"avg_capacity_factor,omitempty"` // percent
	ActiveInverters   int      `json:"active_inverters"`
}

var nowcast = Route{
	Name: "nowcast", Path: PathNowcast,
	Summary: "Get the live overview of a customer", Description: "Figures of the newest samples, and a series for a chart. An interval without a unit that measured more than half of it has no point.",
	Example: NowcastRequest{Action: ActionList, CustomerID: exampleCustomer, TimeRange: Range24h},
	Errors:  []*Error{ErrInvalidAction, MissingField("customer_id"), InvalidField("time_range", "it is one of 1h, 6h, 24h, 7d, latest"), ErrSiteNotFound},
}

// GetNowcast returns the live overview of a customer or a site.
var GetNowcast = define[NowcastRequest, NowcastResponse](&nowcast, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
	Fields: Fields{required("customer_id").or("site_id"), optional("time_range").anyCase(NowcastRanges()...)}})
