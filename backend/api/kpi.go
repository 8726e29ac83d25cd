package api

import (
	"net/http"
	"time"
)

// Bounds of a window of KPIs.
const (
	DefaultKPIDays = 30     // up to the site's last midnight
	MaxKPIUnitDays = 36_600 // units times days: a hundred units' year
)

// KPIQuery requests a site's KPIs: GET /sites/{site_id}/kpis (extension).
// On the wire a time without an offset is in the site's zone.
type KPIQuery struct {
	SiteID     string
	CustomerID string // of the site; empty: the only accessible one that has it
	From, To   Time   // From <= t < To; zero: the last 30 whole days
}

// KPIs are the KPIs of a site over a window.
type KPIs struct {
	SiteID           string   `json:"site_id"`
	From             Time     `json:"from"`
	To               Time     `json:"to"`
	StepMinutes      int      `json:"step_minutes"`      // of the means that the figures are made of
	Units            int      `json:"units"`             // that have reported and whose rating is known
	RatedKW          float64  `json:"rated_kw"`          // theirs
	DataAvailability *float64 `json:"data_availability"` // 0 to 1; null: nothing was due
	Reportable       bool     `json:"reportable"`        // enough of the data arrived
	// UsefulBy is the source for whether the irradiance sufficed to
	// evaluate a unit: irradiance, forecast, peers.
	UsefulBy   []string        `json:"useful_by"`
	Figures    []KPI           `json:"figures"`
	Categories []CategoryHours `json:"availability_categories"`
	Ratings    *Ratings        `json:"ratings,omitempty"`    // of the units that have reported
	Irradiance *Irradiance     `json:"irradiance,omitempty"` // in the plane of the modules
	AsOf       Time            `json:"as_of,omitzero"`       // when the figures were computed
	// Revision counts the figures of a window of whole days that is over: 1 are the
	// first ones. It rises, with a reason, when data, findings or settings that
	// they rest on have changed; otherwise they stay as they are. 0: the window is
	// open, or is not of whole days of the site.
	Revision  int           `json:"revision,omitempty"`
	Revisions []KPIRevision `json:"revisions,omitempty"` // the newest ones, oldest first
	// Losses lead from the expected energy to the measured energy: expected less
	// the losses by cause less the unexplained is the measured. Absent without
	// measured power.
	Losses *Losses `json:"losses,omitempty"`
}

// KPIRevision is a revision of the figures of a window.
type KPIRevision struct {
	Revision int      `json:"revision"`
	AsOf     Time     `json:"as_of"`
	Reason   string   `json:"reason" limit:"line cut"`
	Changed  []string `json:"changed,omitempty" limit:"100 word"` // names of the figures
}

// Sources of ratings.
const (
	RatingSet       = "set"         // given by a person
	RatingSiteShare = "site_share"  // the site's rating, divided by capacity
	RatingRatio     = "dc_ac_ratio" // AC rating times the DC/AC ratio of other units
	RatingCapacity  = "capacity"    // the capacity, which does not say whether it is of AC or DC
	RatingEstimate  = "estimate"    // the highest power that was measured
)

// Ratings are the DC rating (of the modules, standard test conditions) and the AC
// rating (of the inverters) of a site, with their sources: those of the units'
// ratings that are known least. What is not set is inferred.
type Ratings struct {
	DCKW       float64  `json:"dc_kw"`
	DCSource   string   `json:"dc_source"`
	DCInferred bool     `json:"dc_inferred"`
	ACKW       float64  `json:"ac_kw"`
	ACSource   string   `json:"ac_source"`
	ACInferred bool     `json:"ac_inferred"`
	DCACRatio  *float64 `json:"dc_ac_ratio"`
	Inferred   bool     `json:"dc_ac_ratio_inferred"`
}

// Roles of irradiance sensors.
const (
	IrradiancePlane     = "plane_of_array"
	IrradianceReference = "reference_cell"
	IrradianceFlat      = "horizontal"
	IrradianceSatellite = "satellite"
)

// Irradiance is the source of the irradiance in the plane of the modules.
type Irradiance struct {
	Role           string             `json:"role,omitempty"` // of the sensors that are used: plane_of_array, reference_cell, horizontal, satellite; empty: none
	Inferred       bool               `json:"inferred"`       // the role was not set
	Transposed     bool               `json:"transposed"`     // from horizontal, by DISC and Perez
	Class          string             `json:"class,omitempty"`
	UncertaintyPct *float64           `json:"uncertainty_pct,omitempty"` // of the insolation, 95 %
	Sensors        []IrradianceSensor `json:"sensors,omitempty"`
	Note           string             `json:"note,omitempty"` // why it is unknown
	Description    string             `json:"description"`    // a sentence for users
}

// IrradianceSensor is the irradiance that a unit reports.
type IrradianceSensor struct {
	AssetID  string `json:"asset_id"`
	Role     string `json:"role"`
	Inferred bool   `json:"inferred"`
	Health   string `json:"health"` // ok, silent, dead, stuck, low, high, deviating
	Used     bool   `json:"used"`
}

// FigureRating is a rating that a figure is made with.
type FigureRating struct {
	KW       float64 `json:"kw"`
	Side     string  `json:"side"` // dc or ac
	Source   string  `json:"source"`
	Inferred bool    `json:"inferred"`
}

// EnergyShares are the shares of the energy of a window by their source, 0 to 1.
type EnergyShares struct {
	Power        float64 `json:"power"`        // integrated from measured power
	Counter      float64 `json:"counter"`      // from counters of energy
	Interval     float64 `json:"interval"`     // from energies of intervals
	Extrapolated float64 `json:"extrapolated"` // of silent units, from those that reported
}

// EnergyDifference is by how much counters and interval energy exceed the energy by
// power, over the time that both cover.
type EnergyDifference struct {
	Share       float64 `json:"share"`        // of the energy by power; negative: power is more
	ComparedKWh float64 `json:"compared_kwh"` // by power
	Flagged     bool    `json:"flagged"`      // more than 0.5 % either way
}

// ExcludedHours are hours of a window that a figure leaves out.
type ExcludedHours struct {
	Category string  `json:"category"`
	Hours    float64 `json:"hours"`
}

// What the expected energy of [Losses] is by.
const (
	ExpectedByForecast = "forecast" // P50 as issued before each interval
	ExpectedByBackcast = "backcast" // P50, of some days as it would have been issued
	ExpectedByLosses   = "losses"   // no forecast covers the window: the measured energy and the losses
)

// Losses are the energy of a window that was expected and not produced, in kWh.
type Losses struct {
	ExpectedKWh    float64     `json:"expected_kwh"`
	ExpectedBy     string      `json:"expected_by"`     // forecast, backcast, losses
	ByCause        []LossCause `json:"by_cause"`        // most first
	UnexplainedKWh float64     `json:"unexplained_kwh"` // by no finding: errors of the forecast, losses too small to detect; negative where more was produced
	ActualKWh      float64     `json:"actual_kwh"`
}

// LossCause is what findings of a family lost in the window, by the hours in which
// they lost it.
type LossCause struct {
	FaultFamily string  `json:"fault_family"`
	LostKWh     float64 `json:"lost_kwh"`
}

// KPI is one performance indicator.
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
	// Suspect is the likely reason of a value that is withheld because it is
	// implausible: rating, horizontal_irradiance, sensor, outage.
	Suspect    string        `json:"suspect,omitempty"`
	Formula    string        `json:"formula,omitempty"`
	AsOf       Time          `json:"as_of,omitzero"`
	Revision   int           `json:"revision,omitempty"` // as that of the window
	Rating     *FigureRating `json:"rating,omitempty"`
	Irradiance *Irradiance   `json:"irradiance,omitempty"` // without its sensors, which are the window's
	Energy     *EnergyShares `json:"energy_shares,omitempty"`
	// Difference compares counters and interval energy with power; absent where nothing
	// was measured twice.
	Difference *EnergyDifference `json:"energy_difference,omitempty"`
	Covered    *float64          `json:"covered,omitempty"` // share of the insolation due that it is made of, 0 to 1
	Excluded   []ExcludedHours   `json:"excluded_hours,omitempty"`
}

// CategoryHours is the useful time that the units, weighted by their rating,
// were in a category of availability.
type CategoryHours struct {
	Category string  `json:"category"` // one of [AvailabilityCategories]
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
