package availability

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// List returns the availability of a site's units, by their ids. Without to the
// window ends at the site's last midnight, without from it has 30 days; what lies
// after now is cut off. A window that is empty or too large is a 400.
func (s *Service) List(ctx context.Context, scope api.Scope, r api.AvailabilityRequest) (api.AvailabilityResponse, error) {
	site, err := s.sites.Site(ctx, scope, r.SiteID)
	if err != nil {
		return api.AvailabilityResponse{}, err
	}
	units, err := s.sites.SiteAssets(ctx, site.SiteID)
	if err != nil {
		return api.AvailabilityResponse{}, err
	}
	if r.AssetID != "" && !slices.ContainsFunc(units, func(a api.Asset) bool { return a.AssetID == r.AssetID }) {
		return api.AvailabilityResponse{}, api.InvalidField("asset_id", fmt.Sprintf("%q is not a unit of the site", r.AssetID))
	}
	from, to, err := s.window(record.Zone(site.Timezone), r, len(units))
	if err != nil {
		return api.AvailabilityResponse{}, err
	}
	read, err := s.Read(ctx, site, units, from, to)
	if err != nil {
		return api.AvailabilityResponse{}, err
	}
	out := api.AvailabilityResponse{Success: true, SiteID: site.SiteID, From: api.At(read.From), To: api.At(read.To), AsOf: api.At(s.now()),
		UsefulBy: append([]string{}, read.UsefulBy...), Contract: read.Contract.toAPI(), Site: read.Contract.figures(read.Amounts, read.DataAvailability),
		Units: []api.UnitAvailability{}, Changes: []api.AvailabilityChange{}}
	list := slices.DeleteFunc(slices.Clone(read.Units), func(u Unit) bool {
		return u.Due.From >= u.Due.To || r.AssetID != "" && u.Asset.AssetID != r.AssetID
	})
	var shown []api.UnitAvailability
	for _, u := range list {
		shown = append(shown, read.unit(u, r.Stretches))
	}
	if shown, out.NextCursor, err = record.Page(shown, r.Page, func(u api.UnitAvailability) string { return u.AssetID }); err != nil {
		return out, err
	}
	out.Units, out.Count = append(out.Units, shown...), len(shown)
	err = s.records.View(ctx, func(tx store.Tx) error {
		out.Changes = out.Changes[:0]
		list, err := changesOf(tx, site.SiteID)
		for _, c := range slices.Backward(list) {
			if c.From.Before(read.To) && c.To.After(read.From) && (r.AssetID == "" || len(c.AssetIDs) == 0 || slices.Contains(c.AssetIDs, r.AssetID)) {
				out.Changes = append(out.Changes, c.toAPI())
			}
		}
		return err
	})
	return out, err
}

// window returns the window of a list.
func (s *Service) window(zone *time.Location, r api.AvailabilityRequest, units int) (from, to time.Time, err error) {
	now := s.now()
	if to = r.To.Time; to.IsZero() {
		to = series.Midnight(now, zone)
	}
	to = record.Earlier(to, now)
	if from = r.From.Time; from.IsZero() {
		from = series.Midnight(to.Add(-1), zone).AddDate(0, 0, 1-api.DefaultKPIDays)
	}
	if !from.Before(to) {
		return from, to, api.InvalidField("from", fmt.Sprintf("must be before %s, which is the end of the window", api.At(to)))
	}
	most := api.MaxKPIUnitDays / max(units, 1)
	if r.Stretches {
		most = min(most, api.MaxAvailabilityDays/max(1, units/10))
		if r.AssetID != "" {
			most = min(api.MaxKPIUnitDays/max(units, 1), api.MaxAvailabilityDays)
		}
	}
	most = max(most, 1)
	if to.Sub(from) > time.Duration(most)*24*time.Hour {
		return from, to, api.InvalidField("from", fmt.Sprintf("a window of a site of %s has at most %d days, so from must be %s or later", display.CountOf(units, "unit", "units"), most, api.At(to.AddDate(0, 0, -most))))
	}
	return from, to, nil
}

func (c Contract) toAPI() api.AvailabilityContract {
	out := api.AvailabilityContract{Rules: map[string]string{}, TimeBase: api.TimeBaseSunUp, Target: c.Target}
	if c.AllTime {
		out.TimeBase = api.TimeBaseAll
	}
	for _, category := range kpi.Categories() {
		out.Rules[string(category)] = string(c.Rules[category])
	}
	return out
}

func (c Contract) figures(amounts kpi.Amounts, data float64) api.AvailabilityFigures {
	f := c.Figures(amounts)
	out := api.AvailabilityFigures{TimeAvailability: record.Number(f.Time), AllTimeAvailability: record.Number(f.AllTime), EnergyAvailability: record.Number(f.Energy),
		ContractualAvailability: record.Number(f.Contractual), ContractualEnergyAvailability: record.Number(f.ContractualEnergy), DataAvailability: record.Number(data)}
	for _, category := range kpi.Categories() {
		a := amounts[category]
		out.Categories = append(out.Categories, api.AvailabilityAmount{Category: string(category), Hours: known(a.Hours), SunUpHours: known(a.SunUpHours),
			ExpectedKWh: known(a.ExpectedKWh), Treatment: string(c.Rules[category])})
	}
	return out
}

// known returns a number for a field that is always present; unknown is 0.
func known(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return record.Known(v)
}

func (r *Reading) unit(u Unit, stretches bool) api.UnitAvailability {
	at := func(t int64) api.Time { return api.At(time.Unix(t, 0)) }
	out := api.UnitAvailability{AssetID: u.Asset.AssetID, Name: strings.TrimSpace(u.Asset.Name), WeightKW: record.Known(u.WeightKW), From: at(u.Due.From), To: at(u.Due.To),
		AvailabilityFigures: r.Contract.figures(u.Amounts, u.DataAvailability)}
	if !stretches {
		return out
	}
	for _, s := range u.Stretches {
		a := r.Sun.Extent(s.Span, u.WeightKW)
		out.Stretches = append(out.Stretches, api.AvailabilityStretch{From: at(s.From), To: at(s.To), Category: string(s.Category), Source: string(s.Source), SourceID: s.ID,
			Hours: known(a.Hours), SunUpHours: known(a.SunUpHours), ExpectedKWh: known(a.ExpectedKWh)})
	}
	return out
}
