package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Categories of availability, by IEC TS 63019.
const (
	AvailabilityFull          = "full_performance"
	AvailabilityPartial       = "partial_performance"
	AvailabilityEnvironment   = "out_of_environment"
	AvailabilityRequested     = "requested_shutdown"
	AvailabilityGrid          = "out_of_grid"
	AvailabilityScheduled     = "scheduled_maintenance"
	AvailabilityPlanned       = "planned_corrective"
	AvailabilityForced        = "forced_outage"
	AvailabilitySuspended     = "suspended"
	AvailabilityForceMajeure  = "force_majeure"
	AvailabilityNoInformation = "information_unavailable"
)

// AvailabilityCategories returns all categories in the order of documents.
func AvailabilityCategories() []string {
	return []string{AvailabilityFull, AvailabilityPartial, AvailabilityEnvironment, AvailabilityRequested, AvailabilityGrid, AvailabilityScheduled,
		AvailabilityPlanned, AvailabilityForced, AvailabilitySuspended, AvailabilityForceMajeure, AvailabilityNoInformation}
}

// Treatments of a category by a contract.
const (
	TreatmentAvailable   = "available"
	TreatmentExcluded    = "excluded" // counts neither way
	TreatmentUnavailable = "unavailable"
)

// Treatments returns all treatments.
func Treatments() []string {
	return []string{TreatmentAvailable, TreatmentExcluded, TreatmentUnavailable}
}

// Times that an availability counts.
const (
	TimeBaseSunUp = "sun_up" // more than 5 % of the rating is expected
	TimeBaseAll   = "all"    // 24 hours a day
)

// Bounds of availability.
const (
	MaxAvailabilityChanges = 10_000 // of a site
	MaxAvailabilityDays    = 400    // of a window with stretches, and of a change
	MaxAvailabilityAssets  = 1000   // that a change names
)

// ErrAvailabilityChangeNotFound refuses a change_id that does not exist.
var ErrAvailabilityChangeNotFound = UnknownID("Availability change not found")

// AvailabilityContract is the definition of availability in the contract of a
// site. What it does not set has a default.
type AvailabilityContract struct {
	Rules    map[string]string `json:"rules,omitempty" limit:"20 word word"` // treatment by category
	TimeBase string            `json:"time_base,omitempty" limit:"word"`     // sun_up if empty, or all
	Target   float64           `json:"target,omitempty"`                     // a share; 0: 0.98
}

// Check returns an error that names the field of a contract that is invalid; field
// is the name of the contract in its request.
func (c *AvailabilityContract) Check(field string) error {
	if c == nil {
		return nil
	}
	for category, treatment := range c.Rules {
		if !slices.Contains(AvailabilityCategories(), category) {
			return InvalidField(field+".rules", fmt.Sprintf("%q is not one of %s", category, strings.Join(AvailabilityCategories(), ", ")))
		}
		if !slices.Contains(Treatments(), treatment) {
			return InvalidField(field+".rules."+category, "it is one of "+strings.Join(Treatments(), ", "))
		}
	}
	if c.TimeBase != "" && c.TimeBase != TimeBaseSunUp && c.TimeBase != TimeBaseAll {
		return InvalidField(field+".time_base", "it is one of "+TimeBaseSunUp+", "+TimeBaseAll)
	}
	if !(c.Target >= 0 && c.Target <= 1) {
		return InvalidField(field+".target", "a share from 0 to 1")
	}
	return nil
}

// AvailabilityRequest is the body of POST /terminal/availability: action list, set,
// revoke or history.
type AvailabilityRequest struct {
	Action     string   `json:"action" limit:"word"`
	CustomerID string   `json:"customer_id,omitempty" limit:"id"`
	SiteID     string   `json:"site_id,omitempty" limit:"id"`
	AssetID    string   `json:"asset_id,omitempty" limit:"id"`       // list: only this unit
	From       Time     `json:"from,omitzero"`                       // list: 30 days before to; set: of the change
	To         Time     `json:"to,omitzero"`                         // list: the last midnight; set: of the change
	Stretches  bool     `json:"stretches,omitempty"`                 // list: with the stretches of each unit
	AssetIDs   []string `json:"asset_ids,omitempty" limit:"1000 id"` // set: the units; absent: all of the site
	Category   string   `json:"category,omitempty" limit:"word"`     // set
	Reason     string   `json:"reason,omitempty" limit:"text"`       // set, revoke
	ChangeID   string   `json:"change_id,omitempty" limit:"id"`      // revoke
	Page
}

// AvailabilityAmount is the extent of one category.
type AvailabilityAmount struct {
	Category    string  `json:"category"`
	Hours       float64 `json:"hours"`        // of all time
	SunUpHours  float64 `json:"sun_up_hours"` // of the time in which more than 5 % of the rating was expected
	ExpectedKWh float64 `json:"expected_kwh"` // that a healthy unit would have made meanwhile
	Treatment   string  `json:"treatment"`    // by the contract
}

// AvailabilityFigures are availabilities from 0 to 1; null where nothing counts.
// Operational ones count all time but that out of the environment, and only units
// in service as available.
type AvailabilityFigures struct {
	TimeAvailability              *float64             `json:"time_availability"`        // operational, sun-up time
	AllTimeAvailability           *float64             `json:"all_time_availability"`    // operational, 24 hours a day
	EnergyAvailability            *float64             `json:"energy_availability"`      // operational, by expected energy
	ContractualAvailability       *float64             `json:"contractual_availability"` // by the rules and the time base of the contract
	ContractualEnergyAvailability *float64             `json:"contractual_energy_availability"`
	DataAvailability              *float64             `json:"data_availability"` // share of the daylight that samples cover
	Categories                    []AvailabilityAmount `json:"categories"`        // all of them; their hours sum to the window
}

// AvailabilityStretch is a time in which a unit was in one category.
type AvailabilityStretch struct {
	From        Time    `json:"from"`
	To          Time    `json:"to"`
	Category    string  `json:"category"`
	Source      string  `json:"source"`              // reading, finding, work_order, change
	SourceID    string  `json:"source_id,omitempty"` // of the finding, the order or the change
	Hours       float64 `json:"hours"`
	SunUpHours  float64 `json:"sun_up_hours"`
	ExpectedKWh float64 `json:"expected_kwh"`
}

// UnitAvailability is the availability of one unit.
type UnitAvailability struct {
	AssetID  string  `json:"asset_id"`
	Name     string  `json:"name"`
	WeightKW float64 `json:"weight_kw"` // in the figures of the site: its rating, else the mean of the others'
	From     Time    `json:"from"`      // later than that of the window if the unit was installed later
	To       Time    `json:"to"`
	AvailabilityFigures
	Stretches []AvailabilityStretch `json:"stretches,omitempty"`
}

// AvailabilityResponse answers the action list of /terminal/availability.
type AvailabilityResponse struct {
	Success    bool                 `json:"success"`
	SiteID     string               `json:"site_id"`
	From       Time                 `json:"from"`
	To         Time                 `json:"to"`        // the end of the data, if that is within the last two hours
	AsOf       Time                 `json:"as_of"`     // when it was computed
	UsefulBy   []string             `json:"useful_by"` // what showed the sun: irradiance, forecast, peers, sun_position
	Contract   AvailabilityContract `json:"contract"`
	Site       AvailabilityFigures  `json:"site"` // hours are means of the units, weighted by rating
	Units      []UnitAvailability   `json:"units"`
	Changes    []AvailabilityChange `json:"changes"` // that count in the window, the newest first
	Count      int                  `json:"count"`   // of the units
	NextCursor string               `json:"next_cursor,omitempty"`
}

// AvailabilityChange is a category that a person assigned.
type AvailabilityChange struct {
	ChangeID     string   `json:"change_id"`
	SiteID       string   `json:"site_id"`
	AssetIDs     []string `json:"asset_ids,omitempty"` // absent: all units of the site
	From         Time     `json:"from"`
	To           Time     `json:"to"`
	Category     string   `json:"category"`
	Reason       string   `json:"reason"`
	By           string   `json:"by"`
	At           Time     `json:"at"`
	RevokedAt    Time     `json:"revoked_at,omitzero"`
	RevokedBy    string   `json:"revoked_by,omitempty"`
	RevokeReason string   `json:"revoke_reason,omitempty"`
}

// AvailabilityChangeResponse answers the actions set and revoke of
// /terminal/availability.
type AvailabilityChangeResponse struct {
	Success  bool                `json:"success"`
	Message  string              `json:"message"`
	ChangeID string              `json:"change_id"`
	Change   *AvailabilityChange `json:"change"`
}

// AvailabilityChangesResponse answers the action history of /terminal/availability,
// the newest change first.
type AvailabilityChangesResponse struct {
	Success    bool                 `json:"success"`
	Changes    []AvailabilityChange `json:"changes"`
	Count      int                  `json:"count"`
	NextCursor string               `json:"next_cursor,omitempty"`
}

var availability = Route{
	Name: "availability", Path: PathAvailability,
	Summary: "Get the availability of a site's units, and change categories",
	Description: "By the categories of IEC TS 63019: each moment of a unit is in exactly one, by its readings, findings, work orders and the changes that people made. " +
		"Set assigns a category to a time of some or all units with a reason; of changes that overlap, the newest counts. Revoke withdraws a change.",
	Example: AvailabilityRequest{Action: ActionSet, SiteID: exampleSite, AssetIDs: []string{exampleAsset}, From: exampleNoon, To: At(exampleNoon.Add(2 * time.Hour)),
		Category: AvailabilityForceMajeure, Reason: "Flood, notice 12 to the owner"},
	Errors: []*Error{ErrInvalidAction, MissingField("site_id"), InvalidField("category", "it is one of "+strings.Join(AvailabilityCategories(), ", ")),
		ErrAvailabilityChangeNotFound, InvalidTransition("Availability change avc_01J9Z0 is revoked already")},
}

// Availability of the units of a site.
var (
	ListAvailability = define[AvailabilityRequest, AvailabilityResponse](&availability, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("site_id"), rule(checkAvailabilityWindow), pageLimit()}})
	SetAvailability = define[AvailabilityRequest, AvailabilityChangeResponse](&availability, Operation{Action: ActionSet, Permission: PermissionOrders, Idempotent: true,
		Fields: Fields{required("site_id"), required("from"), required("to"), required("category").oneOf(AvailabilityCategories()...), required("reason").text(), rule(checkAvailabilityWindow)}})
	RevokeAvailability = define[AvailabilityRequest, AvailabilityChangeResponse](&availability, Operation{Action: ActionRevoke, Permission: PermissionOrders,
		Fields: Fields{required("site_id"), required("change_id"), required("reason").text()}})
	ListAvailabilityChanges = define[AvailabilityRequest, AvailabilityChangesResponse](&availability, Operation{Action: ActionHistory, Permission: PermissionRead, Cacheable: true,
		Fields: Fields{required("site_id"), since(), pageLimit()}})
)

// checkAvailabilityWindow checks the ends that a request has.
func checkAvailabilityWindow(r *AvailabilityRequest) error {
	for _, f := range []struct {
		name string
		at   Time
	}{{"from", r.From}, {"to", r.To}} {
		if !f.at.IsZero() && f.at.Before(earliestWindow) {
			return InvalidField(f.name, "must be "+At(earliestWindow).String()+" or later")
		}
	}
	if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To.Time) {
		return InvalidField("to", "must be after from")
	}
	return nil
}
