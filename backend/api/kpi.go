package api

import (
	"net/http"
	"time"
)

// Bounds of a window of key figures.
const (
	DefaultKPIDays = 30     // up to the site's last midnight
	MaxKPIUnitDays = 36_600 // units times days: a hundred units' year
)

// KPIQuery asks for a site's key figures: GET /sites/{site_id}/kpis
// (extension). On the wire a time without an offset is in the site's zone.
type KPIQuery struct {
	SiteID     string
	CustomerID string // of the site; empty: the only one in reach that has it
	From, To   Time   // From <= t < To; zero: the last 30 whole days
}

// KPIs are a site's key figures over a window.
type KPIs struct {
	SiteID           string   `json:"site_id"`
	From             Time     `json:"from"`
	To               Time     `json:"to"`
	StepMinutes      int      `json:"step_minutes"`      // of the means that the figures are made of
	Units            int      `json:"units"`             // that have reported and whose rating is known
	RatedKW          float64  `json:"rated_kw"`          // theirs
	DataAvailability *float64 `json:"data_availability"` // 0 to 1; null: nothing was due
	Reportable       bool     `json:"reportable"`        // enough of the data arrived
	// UsefulBy says what told when there was light enough to judge a unit:
	// irradiance, forecast, peers.
	UsefulBy   []string        `json:"useful_by"`
	Figures    []KPI           `json:"figures"`
	Categories []CategoryHours `json:"availability_categories"`
}

// KPI is one key figure.
type KPI struct {
	Name             string   `json:"name"`
	Value            *float64 `json:"value"` // null where it is not reportable
	Low              *float64 `json:"low,omitempty"`
	High             *float64 `json:"high,omitempty"` // ends of the 95 % band, of figures that have one
	Unit             string   `json:"unit"`           // 1 is a share
	From             Time     `json:"from"`
	To               Time     `json:"to"`
	Source           string   `json:"source"`          // of the formula
	Basis            string   `json:"basis,omitempty"` // what of this site went into it
	DataAvailability *float64 `json:"data_availability"`
	Reportable       bool     `json:"reportable"`
	Note             string   `json:"note,omitempty"` // why it is not reportable
}

// CategoryHours is the useful time that the units, weighted by their rating,
// were in a category of availability.
type CategoryHours struct {
	Category string  `json:"category"` // full_service, partial, curtailed, grid_outage, weather, scheduled, forced, unknown
	Hours    float64 `json:"hours"`
	Share    float64 `json:"share"` // of all useful time
}

// KPIRequest are the parameters of GET /sites/{site_id}/kpis. Times without an
// offset are in the zone of the site, which the request does not know.
type KPIRequest struct {
	SiteID     string `path:"site_id"`
	CustomerID string `query:"customer_id"`
	From       string `query:"from"`
	To         string `query:"to"`
}

// earliestWindow is the earliest bound of a window: the zero time is no bound.
var earliestWindow = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

// Window returns the window with naive times in the zone.
func (r *KPIRequest) Window(zone *time.Location) (from, to Time, err error) {
	for _, p := range []struct {
		name, text string
		into       *Time
	}{{"from", r.From, &from}, {"to", r.To, &to}} {
		if p.text == "" {
			continue
		}
		if *p.into, err = ParseTime(p.text, zone); err != nil {
			return from, to, InvalidParameter(p.name, "not an ISO 8601 time")
		}
		if p.into.Before(earliestWindow) {
			return from, to, InvalidParameter(p.name, "must be "+At(earliestWindow).String()+" or later")
		}
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to.Time) {
		return from, to, InvalidParameter("to", "must be after from")
	}
	return from, to, nil
}

var siteKPIs = Route{
	Name: "site-kpis", Method: http.MethodGet, Path: PathSiteKPIs,
	Summary: "Get the KPIs of a site", Description: "Each with its unit, period and the source of its formula.",
	Errors: []*Error{InvalidParameter("from", "not an ISO 8601 time"), ErrForbidden, ErrSiteNotFound},
}

// GetKPIs returns the KPIs of a site.
var GetKPIs = define[KPIRequest, KPIs](&siteKPIs, Operation{Permission: PermissionRead, Cacheable: true, Fields: Fields{
	required("site_id").about("The site.", exampleSite).inPath(), queryCustomer,
	optional("from").about("The first instant, ISO 8601; without an offset in the zone of the site. Without it the last 30 whole days.", exampleStart),
	optional("to").about("The end of the window, which is not in it.", exampleEnd),
	rule(func(r *KPIRequest) error { _, _, err := r.Window(time.UTC); return err }),
}})
