package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// grid is how far apart windows begin.
const grid = 30 * time.Minute

// albedo of ordinary ground.
const albedo = 0.2

// Propose says when work should be done: isolating work where the forecast has
// the least energy to lose, measuring work where it has the strongest sun, both
// within the crew's hours and daylight. An emergency begins now.
// [api.ErrNoForecastResult] where there is no forecast.
func (s *Service) Propose(ctx context.Context, scope api.Scope, r api.ScheduleRequest) (api.ProposeResponse, error) {
	out := api.ProposeResponse{Success: true, AssetID: r.AssetID, Kind: cmp.Or(r.Kind, api.WorkIsolating), Windows: []api.WorkWindow{}, Bundle: []api.WorkNearby{}}
	var asset api.Asset
	if r.AssetID != "" {
		var err error
		if asset, err = s.Domain.Sites.Asset(ctx, scope, api.AssetRef{AssetID: r.AssetID, SiteID: r.SiteID, CustomerID: r.CustomerID}); err != nil {
			return out, err
		}
		r.SiteID = asset.SiteID
	}
	site, err := s.Domain.Sites.Site(ctx, scope, r.SiteID)
	if err != nil {
		return out, err
	}
	f, err := s.Domain.Forecasts.Latest(ctx, site.SiteID)
	if errors.Is(err, store.ErrNotFound) {
		return out, api.ErrNoForecastResult
	} else if err != nil {
		return out, err
	}
	state, err := s.workState(ctx, site, asset.AssetID)
	if err != nil {
		return out, err
	}
	sky, err := s.Domain.Forecasts.WeatherOfForecast(ctx, f)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	out.CostOf, out.ProducingShare, out.StateFindings = state.of, state.producing, state.findings
	out.SiteID, out.ForecastID, out.IssuedAt, out.Currency = site.SiteID, f.ForecastID, api.At(f.IssuedAt), site.Currency
	windows := siteForecast{Forecast: f, site: site, crew: s.Crew, sky: sky, assetID: r.AssetID, share: state.share}.windows(s.Now(), time.Duration(r.EstimatedDurationHours*float64(time.Hour)), out.Kind, r)
	if out.Windows, out.NextCursor, err = record.Page(windows, r.Page, func(w api.WorkWindow) string { return w.Start.String() + w.End.String() }); err != nil {
		return out, err
	}
	out.Count = len(out.Windows)
	if len(windows) == 0 {
		out.Message = fmt.Sprintf("No %g hours fit into the crew's hours, daylight and the forecast, which ends at %s", r.EstimatedDurationHours, api.At(f.End()))
		return out, nil
	}
	if out.Bundle, err = s.nearby(ctx, site, windows[0].Start.Time); err != nil {
		return out, err
	}
	out.Message = display.CountOf(len(windows), "window", "windows")
	if len(state.findings) > 0 {
		out.Message += fmt.Sprintf("; %s makes %s of its production at present, by %s", cmp.Or(r.AssetID, "the site"), display.Percent(state.producing), display.CountOf(len(state.findings), "finding", "findings"))
	}
	if !windows[0].WeatherKnown {
		out.Message += "; wind and rain are not known"
	}
	if n := len(out.Bundle); n > 0 {
		out.Message += fmt.Sprintf("; %s of work at the site could be done on the same journey", display.CountOf(n, "other piece", "other pieces"))
	}
	return out, nil
}

// workState is what a unit or a site produces at present.
type workState struct {
	of        string   // [api.CostOfUnit] or [api.CostOfSite]
	share     float64  // of the site's forecast that it produces in its present state
	producing float64  // share of what it would produce without faults, 0 to 1
	findings  []string // the active findings that lower it
}

// workState returns the state of a unit, or of the whole site for an empty id,
// by the active findings. A unit produces the product of what each finding
// leaves of it; a site the sum of its units, and of the capacity that no unit
// is known of.
func (s *Service) workState(ctx context.Context, site api.Site, assetID string) (state workState, err error) {
	units, err := s.Domain.Sites.SiteAssets(ctx, site.SiteID)
	if err != nil {
		return state, err
	}
	left := map[string]float64{}
	err = s.Records.View(ctx, func(tx store.Tx) error {
		clear(left)
		state = workState{of: api.CostOfSite}
		return finding.EachActive(tx, site.SiteID, func(f finding.Finding) error {
			of := f.Affected()
			// Faults of data lose nothing, whatever share of it they concern.
			if f.EnergyAtRiskKW <= 0 || f.LossFraction <= 0 || assetID != "" && !slices.Contains(of, assetID) {
				return nil
			}
			state.findings = append(state.findings, f.SummaryID)
			for _, id := range of {
				was, ok := left[id]
				if !ok {
					was = 1
				}
				left[id] = was * (1 - min(f.LossFraction, 1))
			}
			return nil
		})
	})
	if err != nil {
		return state, fmt.Errorf("read the state of site %s: %w", site.SiteID, err)
	}
	var rated, lost, own float64
	for _, u := range units {
		rated += u.CapacityKW
		if l, ok := left[u.AssetID]; ok {
			lost += u.CapacityKW * (1 - l)
		}
		if u.AssetID == assetID {
			own = u.CapacityKW
		}
	}
	all := max(record.CapacityKW(site, units), rated)
	state.share = 1
	if all > 0 {
		state.share = 1 - lost/all
	}
	state.producing = state.share
	if assetID == "" {
		return state, nil
	}
	state.of, state.producing, state.share = api.CostOfUnit, 1, 1
	if l, ok := left[assetID]; ok {
		state.producing = l
	}
	if all > 0 {
		state.share = own / all
	}
	state.share *= state.producing
	return state, nil
}

// siteForecast is the forecast of a site, or of a share of its power.
type siteForecast struct {
	forecast.Forecast
	site    api.Site
	crew    Hours
	sky     forecast.Weather // that a source issued; the zero value: none did
	assetID string           // the unit; empty: the whole site
	share   float64
}

// windows are the times at which work of a length may be done, the best first.
func (f siteForecast) windows(now time.Time, length time.Duration, kind string, r api.ScheduleRequest) []api.WorkWindow {
	list := []api.WorkWindow{}
	add := func(from time.Time) {
		if w, ok := f.window(from, from.Add(length)); ok {
			list = append(list, w)
		}
	}
	if r.MaintenanceType == api.MaintenanceEmergency {
		add(now)
	}
	for date := now; r.MaintenanceType != api.MaintenanceEmergency && date.Before(f.End().Add(day)); date = nextDay(f.site, date) {
		from, to, ok := f.crew.shift(f.site, date)
		if !ok {
			continue
		}
		if from.Before(now) {
			from = now
		}
		// Steps of the site's own clock, whose offset may not be whole hours.
		for at := onDay(f.site, date, 0, f.crew.From); !at.Add(length).After(to); at = at.Add(grid) {
			if !at.Before(from) {
				add(at)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b api.WorkWindow) int {
		rough := cmp.Compare(boolToInt(a.Windy || a.Rainy), boolToInt(b.Windy || b.Rainy))
		if r.Indoors {
			rough = 0
		}
		if kind == api.WorkMeasuring {
			return cmp.Or(rough, cmp.Compare(b.IrradianceWM2, a.IrradianceWM2), cmp.Compare(b.EnergyKWh, a.EnergyKWh), a.Start.Compare(b.Start.Time))
		}
		return cmp.Or(rough, cmp.Compare(a.EnergyKWh, b.EnergyKWh), a.Start.Compare(b.Start.Time))
	})
	for i := range list {
		list[i].ExtraKWh = rounded(list[i].EnergyKWh - list[0].EnergyKWh)
		list[i].ExtraCost = rounded(list[i].Cost - list[0].Cost)
	}
	return list
}

// window is what the forecast says of a span; ok is false where it does not
// cover all of it.
func (f siteForecast) window(from, to time.Time) (w api.WorkWindow, ok bool) {
	w = api.WorkWindow{SiteID: f.site.SiteID, AssetID: f.assetID, Start: api.At(from), End: api.At(to), SunSuffices: true}
	if from.Before(f.Start) || to.After(f.End()) {
		return w, false
	}
	var energy, light, hours float64
	for i := int(from.Sub(f.Start) / f.Step()); f.Time(i).Before(to); i++ {
		begin, end := f.Time(i), f.Time(i+1)
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		h := end.Sub(begin).Hours()
		kW := f.P50KW.At(i)
		if math.IsNaN(kW) {
			return w, false
		}
		sun := f.irradiance(i)
		energy, hours, light = energy+kW*h*f.share, hours+h, light+sun*h
		w.SunSuffices = w.SunSuffices && sun >= api.SunForMeasuring
		if wind := f.WindMS.At(i); wind > w.WindMS { // false for NaN
			w.WindMS = rounded(wind)
		}
	}
	if wind, rain, sum, known := f.sky.WindAndRain(from, to); known {
		w.WindMS, w.RainMM, w.Rainy, w.WeatherKnown = rounded(wind), rounded(sum), rain > api.RainForWork, true
	}
	w.Windy = w.WindMS > api.WindForWork
	w.EnergyKWh, w.Cost, w.IrradianceWM2 = rounded(energy), rounded(energy*f.site.TariffPerKWh), rounded(light/hours)
	return w, true
}

// irradiance of an interval in the plane of the modules, or horizontal where
// plane or place are not known, W/m²; 0 where the forecast has none.
func (f siteForecast) irradiance(i int) float64 {
	ghi := f.GHIWM2.At(i)
	if math.IsNaN(ghi) {
		return 0
	}
	if f.site.Latitude == nil || f.site.Longitude == nil || f.site.TiltDeg == nil || f.site.AzimuthDeg == nil {
		return ghi
	}
	at := f.Time(i).Add(f.Step() / 2)
	pos := solar.At(at, solar.Location{LatitudeDeg: *f.site.Latitude, LongitudeDeg: *f.site.Longitude})
	outside := solar.Extraterrestrial(at)
	irr, _ := solar.Erbs(ghi, pos.ZenithDeg, outside)
	return solar.Plane{TiltDeg: *f.site.TiltDeg, AzimuthDeg: *f.site.AzimuthDeg}.HayDavies(pos, irr, outside, albedo).Global()
}

// nearby is other open work at the site that lies near a date: orders, and
// schedules that no order does.
func (s *Service) nearby(ctx context.Context, site api.Site, date time.Time) (list []api.WorkNearby, err error) {
	near := func(at api.Time) bool { return at.Sub(date).Abs() <= api.BundleWithin }
	err = s.Records.View(ctx, func(tx store.Tx) error {
		list = []api.WorkNearby{}
		open, _, err := orders.List(tx, store.Query{Index: "site", Prefix: store.Key(site.SiteID, rankOpen), Limit: api.MaxLimit})
		if err != nil {
			return fmt.Errorf("list the open orders of site %s: %w", site.SiteID, err)
		}
		for _, o := range open {
			if near(o.PlannedStart) {
				list = append(list, api.WorkNearby{OrderID: o.OrderID, ScheduleID: o.ScheduleID, AssetID: o.AssetID, Date: o.PlannedStart, Priority: o.Priority})
			}
		}
		planned, _, err := schedules.List(tx, store.Query{Index: "site", Prefix: store.Key(site.SiteID, rankOpen), Limit: api.MaxLimit})
		if err != nil {
			return fmt.Errorf("list the open schedules of site %s: %w", site.SiteID, err)
		}
		for _, p := range planned {
			if p.OrderID == "" && near(p.ScheduledDate) {
				list = append(list, api.WorkNearby{ScheduleID: p.ScheduleID, AssetID: p.AssetID, Date: p.ScheduledDate, Priority: p.Priority})
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b api.WorkNearby) int { return a.Date.Compare(b.Date.Time) })
	return list[:min(len(list), mostNearby)], err
}

// mostNearby bounds the hint.
const mostNearby = 50

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rounded keeps three decimals, never -0.
func rounded(v float64) float64 { return math.Round(v*1e3)/1e3 + 0 }

// maxClockError is how far a place's clock is from its mean solar time at most;
// the west of China has 3 h. A larger difference is a time zone that a user
// set, or the default of a new site.
const maxClockError = 4 * time.Hour

// clock is what crews at a site go by on the day of t: the clock of its zone
// or, where that cannot be true, mean solar time at its longitude.
func clock(site api.Site, t time.Time) *time.Location {
	zone := record.Zone(site.Timezone)
	if site.Longitude == nil {
		return zone
	}
	_, offset := t.In(zone).Zone()
	sun := int(math.Round(*site.Longitude * 240)) // seconds; 15° an hour
	// Around the date line the two may be a day apart and yet agree.
	askew := math.Remainder(float64(offset-sun), 86400)
	if math.Abs(askew) <= maxClockError.Seconds() {
		return zone
	}
	return time.FixedZone("solar", sun)
}

// onDay is a time of the site's day on which t lies, by the crew's clock.
func onDay(site api.Site, t time.Time, addDays int, since time.Duration) time.Time {
	zone := clock(site, t)
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d+addDays, 0, int(since.Minutes()), 0, 0, zone)
}

const noon = 12 * time.Hour

// nextDay is the noon of the site's day after t.
func nextDay(site api.Site, t time.Time) time.Time { return onDay(site, t, 1, noon) }

// shift is when a crew can work at the site on the day of date, by daylight
// within its hours; ok is false for a day without any. With [DefaultHours] that
// is one of the polar night: within them, by [clock], the sun is at its
// highest. Any hours around noon have daylight for half of the year at least.
func (h Hours) shift(site api.Site, date time.Time) (from, to time.Time, ok bool) {
	from, to = onDay(site, date, 0, h.From), onDay(site, date, 0, h.To)
	if site.Latitude == nil || site.Longitude == nil {
		return from, to, true
	}
	loc := solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}
	rise, transit, set, rises := solar.Day(onDay(site, date, 0, noon), loc)
	if !rises {
		// Polar day has daylight at every hour; polar night has no daylight.
		return from, to, solar.At(transit, loc).ZenithDeg < 90
	}
	if rise.After(from) {
		from = rise
	}
	if set.Before(to) {
		to = set
	}
	return from, to, from.Before(to)
}

// working is when work of some hours that may begin at a time begins and ends,
// day by day within the shifts of the site; without daylight it waits for the
// sun, which comes back everywhere. For emergencies the clock alone counts.
func (h Hours) working(site api.Site, start time.Time, hours float64, emergency bool) (begin, end time.Time) {
	left := time.Duration(hours * float64(time.Hour))
	if emergency {
		return start, start.Add(left)
	}
	for day := start; ; day = nextDay(site, day) {
		from, to, ok := h.shift(site, day)
		if from.Before(start) {
			from = start
		}
		if !ok || !from.Before(to) {
			continue
		}
		if begin.IsZero() {
			begin = from
		}
		if there := to.Sub(from); there < left {
			left -= there
			continue
		}
		return begin, from.Add(left)
	}
}
