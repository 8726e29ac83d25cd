package api

// ForecastSnapshot answers GET /forecast-snapshot: the newest forecast of a
// site by the hour, with what it is worth.
type ForecastSnapshot struct {
	SiteID       string             `json:"site_id"`
	ModelID      string             `json:"model_id"` // name and version
	GeneratedAt  Time               `json:"generated_at"`
	HorizonHours int                `json:"horizon_hours"`
	Resolution   string             `json:"resolution"`         // hourly
	Currency     string             `json:"currency,omitempty"` // extension: of revenue, where the site has a tariff
	Intervals    []SnapshotInterval `json:"intervals"`
	Totals       SnapshotTotals     `json:"totals"`
}

// SnapshotInterval is one hour. Revenue is that of the median, in the site's
// currency (extension); RevenueZAR is there for sites whose currency is ZAR.
type SnapshotInterval struct {
	TS         Time     `json:"ts"` // start
	P10KW      float64  `json:"p10_kw"`
	P50KW      float64  `json:"p50_kw"`
	P90KW      float64  `json:"p90_kw"`
	Revenue    *float64 `json:"revenue,omitempty"`
	RevenueZAR *float64 `json:"revenue_zar,omitempty"`
}

// SnapshotTotals are sums of the medians over the horizon.
type SnapshotTotals struct {
	TotalKWh        float64  `json:"total_kwh"`
	TotalRevenue    *float64 `json:"total_revenue,omitempty"`
	TotalRevenueZAR *float64 `json:"total_revenue_zar,omitempty"`
}

// DefaultSnapshotHours is the horizon of a snapshot that names none.
const DefaultSnapshotHours = 24
