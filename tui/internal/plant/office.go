package plant

import (
	"time"

	"app.sunloop/backend/api"
)

// Fleet returns the plant's day in a fleet with two others: one with the expected
// production, and one with old data.
func (p *Plant) Fleet(now time.Time) []api.FleetSite {
	hour := now.In(p.Zone).Hour()
	hours := func(ratio func(h int) float64) []*float64 {
		out := make([]*float64, 24)
		for h := 7; h < min(hour, 18); h++ {
			out[h] = new(ratio(h))
		}
		return out
	}
	sound, old := p.Summary(now), p.Summary(now.Add(-5*time.Hour))
	sound.TotalPowerKW = *sound.ExpectedPowerKW
	old.ServiceTime, old.FleetPRPct, old.ExpectedPowerKW = api.At(now), nil, nil
	return []api.FleetSite{
		{SiteID: "Havelland", CustomerID: "north", Name: "Havelland", Timezone: "Europe/Berlin", CapacityKW: 4200, Summary: sound, Findings: map[string]int{api.SeverityNormal: 1}, Hours: hours(func(int) float64 { return 1 })},
		{SiteID: "Kalahari Solar Park", CustomerID: "acme", Name: "Kalahari Solar Park", Timezone: p.Zone.String(), CapacityKW: 12500, Summary: old, Findings: map[string]int{}, Hours: hours(func(h int) float64 { return 0.2 * float64(h-6) })},
		p.inFleet(now),
	}
}

// inFleet returns the plant's own day in a fleet.
func (p *Plant) inFleet(now time.Time) api.FleetSite {
	out := make([]*float64, 24)
	for h := 7; h < min(now.In(p.Zone).Hour(), 18); h++ {
		out[h] = new(1 - 0.05*float64(h-7))
	}
	return api.FleetSite{SiteID: p.SiteID, CustomerID: p.customer(), Name: "Sibaya Solar", Timezone: p.Zone.String(), CapacityKW: float64(p.Units) * UnitKW, Summary: p.Summary(now), EnergyAtRiskKW: 54.6, Unacknowledged: 2,
		Findings: map[string]int{api.SeverityCritical: 1, api.SeverityWarning: 1}, Hours: out}
}

// Equipment returns the units with their particulars: one is as bare as a file
// brings it.
func (p *Plant) Equipment(now time.Time) []api.Asset {
	units := p.Assets()
	for i := range units[1:] {
		u := &units[i+1]
		u.Location, u.TiltDeg, u.AzimuthDeg, u.StringCount, u.Version = "North field", new(25.0), new(0.0), 12, 1
		u.CreatedAt, u.WarrantyExpiryDate = api.At(now.AddDate(-2, 0, 0)), "2031-06-30"
		u.Components = []api.Component{{OEM: "SMA", Model: "STP 110-60", Serial: "190123456" + string(rune('0'+i)), Kind: "inverter", InstalledDate: "2024-03-01"}}
	}
	u := &units[DeadUnit]
	u.Version = 4
	u.Components = append(u.Components, api.Component{OEM: "SMA", Model: "Fan kit", Serial: "F-77", Kind: "fan", InstalledDate: "2026-05-04"})
	u.FormerComponents = []api.Component{{OEM: "SMA", Model: "Fan kit", Serial: "F-12", Kind: "fan", InstalledDate: "2024-03-01", RemovedDate: "2026-05-04"}}
	return units
}
