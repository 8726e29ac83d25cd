package api

// FleetResponse is the response of POST /terminal/telemetry with action fleet
// (extension): the accessible sites by name.
type FleetResponse struct {
	Success    bool        `json:"success"`
	Sites      []FleetSite `json:"sites"`
	Count      int         `json:"count"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// FleetSite is a site's day so far, with what is wrong there.
type FleetSite struct {
	SiteID     string      `json:"site_id"`
	CustomerID string      `json:"customer_id"`
	Name       string      `json:"name"`
	Timezone   string      `json:"timezone"`
	CapacityKW float64     `json:"capacity_kw,omitempty"`
	Summary    SiteSummary `json:"summary"`
	// Findings are those that last, by severity, and EnergyAtRiskKW is theirs
	// together: a power in kW, the mean that is lost in the daylight of the next
	// 24 h.
	Findings       map[string]int `json:"findings"`
	EnergyAtRiskKW float64        `json:"energy_at_risk_kw"`
	// Unacknowledged are the alerts that ask for a person.
	Unacknowledged int `json:"unacknowledged"`
	// Hours are measured over expected power of each hour of the site's day, P50
	// of the forecasts; null where there is nothing to compare, as by night.
	Hours []*float64 `json:"hours"`
}
