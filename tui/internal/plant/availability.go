package plant

import (
	"time"

	"app.sunloop/backend/api"
)

// Availability is that of the last thirty days: the second unit had an outage and
// planned work, the last one never reported.
func (p *Plant) Availability(now time.Time) api.AvailabilityResponse {
	to := p.Midnight(now)
	from := to.AddDate(0, 0, -30)
	figures := func(hours map[string]float64) api.AvailabilityFigures {
		up, all := hours[api.AvailabilityFull]+hours[api.AvailabilityPartial], 0.0
		f := api.AvailabilityFigures{}
		for _, c := range api.AvailabilityCategories() {
			all += hours[c]
			f.Categories = append(f.Categories, api.AvailabilityAmount{Category: c, Hours: hours[c], SunUpHours: hours[c], ExpectedKWh: 20 * hours[c], Treatment: api.TreatmentUnavailable})
		}
		share, contract, data := up/all, up/(all-hours[api.AvailabilityScheduled]), 1-hours[api.AvailabilityNoInformation]/all
		f.TimeAvailability, f.AllTimeAvailability, f.EnergyAvailability, f.ContractualAvailability, f.DataAvailability = &share, &share, &share, &contract, &data
		return f
	}
	out := api.AvailabilityResponse{Success: true, SiteID: p.SiteID, From: api.At(from), To: api.At(to), AsOf: api.At(now), UsefulBy: []string{"irradiance"},
		Contract: api.AvailabilityContract{Target: 0.98, TimeBase: api.TimeBaseSunUp}}
	out.Site = figures(map[string]float64{api.AvailabilityFull: 290, api.AvailabilityPartial: 12, api.AvailabilityScheduled: 4, api.AvailabilityForced: 9, api.AvailabilityNoInformation: 15})
	units := p.Assets()
	for i, u := range units {
		hours := map[string]float64{api.AvailabilityFull: 330}
		switch i {
		case 1:
			hours = map[string]float64{api.AvailabilityFull: 268, api.AvailabilityPartial: 24, api.AvailabilityScheduled: 8, api.AvailabilityForced: 30}
		case len(units) - 1:
			hours = map[string]float64{api.AvailabilityNoInformation: 330}
		}
		out.Units = append(out.Units, api.UnitAvailability{AssetID: u.AssetID, Name: u.Name, WeightKW: u.CapacityKW, From: api.At(from), To: api.At(to), AvailabilityFigures: figures(hours)})
	}
	out.Count = len(out.Units)
	return out
}

// Stretches returns those of a unit on the last day.
func (p *Plant) Stretches(now time.Time, unit string) api.AvailabilityResponse {
	day := p.Midnight(now).AddDate(0, 0, -1)
	out := p.Availability(now)
	for _, u := range out.Units {
		if u.AssetID != unit {
			continue
		}
		for _, s := range []struct {
			from, to         float64
			category, source string
			id               string
		}{
			{0, 6, api.AvailabilityEnvironment, "reading", ""}, {6, 9, api.AvailabilityFull, "reading", ""}, {9, 11.5, api.AvailabilityScheduled, "work_order", "ord_1"},
			{11.5, 13, api.AvailabilityForced, "finding", "fnd_1"}, {13, 14, api.AvailabilityForceMajeure, "change", "avc_1"}, {14, 18, api.AvailabilityFull, "reading", ""}, {18, 24, api.AvailabilityEnvironment, "reading", ""},
		} {
			at := func(h float64) api.Time { return api.At(day.Add(time.Duration(h * float64(time.Hour)))) }
			hours := s.to - s.from
			up := hours
			if s.category == api.AvailabilityEnvironment {
				up = 0
			}
			u.Stretches = append(u.Stretches, api.AvailabilityStretch{From: at(s.from), To: at(s.to), Category: s.category, Source: s.source, SourceID: s.id, Hours: hours, SunUpHours: up, ExpectedKWh: 20 * up})
		}
		out.Units = []api.UnitAvailability{u}
		break
	}
	return out
}
