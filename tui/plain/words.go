package plain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view/widget"
)

// Unknown is printed for a missing value.
const Unknown = "unknown"

// Number returns a value with three significant digits.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Unknown
	}
	return display.Significant(v)
}

// Maybe returns a value that may be absent, times a factor, with three significant
// digits.
func Maybe(v *float64, factor float64) string {
	if v == nil {
		return Unknown
	}
	return Number(*v * factor)
}

// Label returns an identifier of the contract as words.
func Label(id string) string { return strings.ReplaceAll(id, "_", " ") }

// When returns a time in a zone, with its offset; empty for none.
func When(t api.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return display.DateTimeOffset(t.In(zone))
}

// Zones knows the time zones and the labels of sites.
type Zones struct {
	sites []api.Site
	zones map[api.SiteRef]*time.Location
}

// ZonesOf reads the sites' zones. One that is not known here is UTC.
func ZonesOf(sites []api.Site) Zones {
	z := Zones{sites, map[api.SiteRef]*time.Location{}}
	for _, s := range sites {
		zone, err := time.LoadLocation(s.Timezone)
		if err != nil {
			zone = time.UTC
		}
		z.zones[s.Ref()] = zone
	}
	return z
}

// Of returns a site's zone, UTC if it is not known.
func (z Zones) Of(site api.SiteRef) *time.Location {
	if zone := z.zones[site]; zone != nil {
		return zone
	}
	return time.UTC
}

// Label returns the site's id, with its customer's id before it where another of
// the sites has the same id.
func (z Zones) Label(site api.SiteRef) string { return state.SiteLabel(z.sites, site) }

// Vitals returns a site's vital signs in a line.
func Vitals(d api.SiteSummary) string {
	words := display.Power(d.TotalPowerKW)
	if !d.HasPower() {
		words = "power unknown"
	}
	if d.ExpectedPowerKW != nil {
		words += " of " + display.Power(*d.ExpectedPowerKW) + " expected"
	}
	if d.HasEnergy() {
		words += ", " + display.Energy(d.TotalKWhToday) + " today"
		if d.EnergyState == api.EnergyStale {
			words += " until the newest data"
		}
	} else {
		words += ", energy of today unknown"
	}
	if d.HasPower() {
		words += fmt.Sprintf(", %d of %s active", d.ActiveInverters, display.CountOf(d.TotalInverters, "unit", "units"))
	}
	if d.FleetPRPct != nil {
		words += ", performance ratio " + display.Percent(*d.FleetPRPct/100)
	}
	if d.FleetAvailabilityPct != nil {
		words += fmt.Sprintf(", availability %s %%", Number(*d.FleetAvailabilityPct))
	}
	return words
}

// Unit returns which unit something is at: one, several, or none in particular.
func Unit(assetID string, all []string) string {
	switch {
	case len(all) > 1:
		return display.CountOf(len(all), "unit", "units")
	case assetID == "":
		return wholeSite
	}
	return assetID
}

const wholeSite = "whole site"

// fault returns a fault and where it is.
func fault(assetID string, all []string, family string) string {
	if where := Unit(assetID, all); where != wholeSite {
		return where + " " + widget.Family(family)
	}
	return widget.Family(family) + " of the " + wholeSite
}

// alertStates are the labels of the states of alerts.
var alertStates = map[string]string{
	api.AlertUnacknowledged: "not acknowledged", api.AlertAcknowledged: "acknowledged", api.AlertReturned: "over, not acknowledged",
	api.AlertShelved: "shelved", api.AlertSuppressed: "suppressed", api.AlertCleared: "cleared",
}

// alertState returns the label of an alert's state, with who and until when.
func alertState(a api.Alert, zone *time.Location) string {
	words := alertStates[a.State]
	switch {
	case a.State == api.AlertShelved:
		words += " until " + When(a.ShelvedUntil, zone)
	case a.State == api.AlertSuppressed && !a.SuppressedTo.IsZero():
		words += " until " + When(a.SuppressedTo, zone)
	case a.AcknowledgedBy != "":
		words += " by " + a.AcknowledgedBy
	}
	return words
}

// AlertOpen reports whether an alert is unacknowledged.
func AlertOpen(a api.Alert) bool {
	return a.State == api.AlertUnacknowledged || a.State == api.AlertReturned
}

// alertUnits returns all units of an alert.
func alertUnits(a api.Alert) []string {
	if a.Metadata == nil {
		return nil
	}
	return a.Metadata.AssetIDs
}

// OrderOpen reports whether an order is open.
func OrderOpen(o api.Order) bool {
	return o.Status != api.OrderCompleted && o.Status != api.OrderCancelled
}

// orderWork returns what an order is about.
func orderWork(o api.Order) string {
	if o.FaultFamily != "" {
		return widget.Family(o.FaultFamily)
	}
	return Label(o.MaintenanceType) + " work"
}

// orderStatus returns the label of an order's status, with why it is on hold.
func orderStatus(o api.Order) string {
	if o.Status == api.OrderOnHold && o.HoldReason != "" {
		return Label(o.Status) + " for " + Label(o.HoldReason)
	}
	return Label(o.Status)
}

// next returns what an open order must come to next and by when, and whether that
// time has passed.
func next(o api.Order) (do string, by api.Time, late bool) {
	if !OrderOpen(o) {
		return "", api.Time{}, false
	}
	c := o.Clocks
	for _, step := range []struct {
		name, do string
		due, met api.Time
	}{
		{"acknowledge", "assign", c.AcknowledgeDue, c.AcknowledgedAt},
		{"start", "begin", c.StartDue, c.StartedAt},
		{"restore", "restore", c.RestoreDue, c.RestoredAt},
	} {
		if step.met.IsZero() {
			return step.do, step.due, slices.Contains(c.Breached, step.name)
		}
	}
	return "", api.Time{}, false
}

// OrderLate reports whether an open order is late: the time by which it should
// have been acknowledged, started or restored has passed, and it was not.
func OrderLate(o api.Order) bool {
	_, _, late := next(o)
	return late
}
