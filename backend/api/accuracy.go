package api

// MaxAccuracyDays is the longest window of an accuracy.
const MaxAccuracyDays = 1100

// AccuracyRequest asks how stored forecasts did: the action accuracy of
// /terminal/forecast (extension).
type AccuracyRequest struct {
	CustomerID string
	SiteID     string // empty: all sites of the customer
	Days       int    // up to today; 0 is 30
}

// Accuracy is how forecasts have done so far. Each hour of daylight counts
// once for every stored forecast that spoke of it, in the class of its lead:
// hours from the issue to the end of the hour.
type Accuracy struct {
	CustomerID string         `json:"customer_id"`
	SiteID     string         `json:"site_id,omitempty"`
	Days       int            `json:"days"`           // that were asked for
	From       string         `json:"from,omitempty"` // first day with a score, the site's
	To         string         `json:"to,omitempty"`   // last day with a score
	Leads      []LeadAccuracy `json:"leads"`          // classes that have scores, shortest first
	Overall    ModelScore     `json:"overall"`
	// Promised is what the backtests of the models in production said: days
	// ahead from midnight, weighted by the data they learned from.
	// Models whose backtest used measured weather are left out.
	Promised *ModelScore `json:"promised,omitempty"`
	// MeasuredWeather is the same of models whose backtest used measured weather:
	// no forecast is as good.
	MeasuredWeather *ModelScore `json:"measured_weather,omitempty"`
	// Backcast is of the days before a site's first forecast, each as it would have been
	// forecast at its midnight. Overall and Leads do not contain it.
	Backcast *ModelScore `json:"backcast,omitempty"`
}

// LeadAccuracy is one class of leads.
type LeadAccuracy struct {
	FromHours int `json:"from_hours"`
	ToHours   int `json:"to_hours"`
	ModelScore
}

// AccuracyResponse answers the action accuracy of /terminal/forecast.
type AccuracyResponse struct {
	Success  bool     `json:"success"`
	Accuracy Accuracy `json:"accuracy"`
}
