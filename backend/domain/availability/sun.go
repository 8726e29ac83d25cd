package availability

import (
	"context"
	"errors"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// overcast is the production under a thick overcast with the sun in the zenith, as
// a share of the rating.
const overcast = 0.2

// readSun returns what a healthy unit of the site was expected to make, and what
// showed it: measured irradiance, else the forecast that was issued, else the best
// unit, else the position of the sun. A sensor that shows no sun while a unit
// produces is not believed. Of several units, one that reports alone is the best one
// while it makes more than under a thick overcast: that it makes less may be its own fault.
func (s *Service) readSun(ctx context.Context, site api.Site, p *samples, units []api.Asset) (*kpi.Sun, []string, error) {
	elevation, err := s.elevation(ctx, site, p)
	if err != nil {
		return nil, nil, err
	}
	share, day := make([]float64, p.n), make([]bool, p.n)
	names := []string{"irradiance", "forecast", "peers", "sun_position"}
	used := map[string]bool{}
	unlit := make([]bool, p.n) // no irradiance
	for i := range share {
		day[i] = elevation[i] > kpi.DayElevationDeg
		share[i] = p.light.at(i) / 1000
		unlit[i] = math.IsNaN(share[i])
		used["irradiance"] = used["irradiance"] || !unlit[i]
	}
	if err := s.addForecast(ctx, p, share, day, record.CapacityKW(site, units), used); err != nil {
		return nil, nil, err
	}
	for i := range share {
		if p.reporting[i] > 1 && (math.IsNaN(share[i]) || share[i] <= kpi.UsefulShare && p.best[i] > kpi.UsefulShare) {
			share[i] = p.best[i]
			used["peers"] = true
		}
		if math.IsNaN(share[i]) && day[i] {
			share[i] = overcast * math.Sin(elevation[i]*math.Pi/180)
			if len(units) > 1 && p.reporting[i] == 1 && p.best[i] > share[i] {
				share[i] = p.best[i]
				used["peers"] = true
				continue
			}
			used["sun_position"] = true
		}
	}
	var by []string
	for _, name := range names {
		if used[name] {
			by = append(by, name)
		}
	}
	return kpi.NewSun(p.start, gridSeconds, share, day), by, nil
}

// addForecast fills shares of daylight that are unknown with the forecasts of the
// days: the lesser of the values at both ends, so that dawn and dusk do not count.
func (s *Service) addForecast(ctx context.Context, p *samples, share []float64, day []bool, capacityKW float64, used map[string]bool) error {
	if !(capacityKW > 0) {
		return nil
	}
	for from, to := range series.Days(p.from, p.to, p.zone) {
		first := max(int((from.Unix()-p.start+gridSeconds-1)/gridSeconds), 0)
		missing := false
		for i := first; i < p.n && p.start+int64(i)*gridSeconds < to.Unix(); i++ {
			missing = missing || day[i] && math.IsNaN(share[i])
		}
		if !missing {
			continue
		}
		d, err := s.forecasts.Day(ctx, p.site.SiteID, from, p.zone)
		if errors.Is(err, store.ErrNotFound) || err == nil && d.Backcast != nil { // only what was issued counts
			continue
		}
		if err != nil {
			return err
		}
		for i := first; i < p.n && p.start+int64(i)*gridSeconds < to.Unix(); i++ {
			at := time.Unix(p.start+int64(i)*gridSeconds, 0)
			v := math.Min(d.At(d.P50KW, at), d.At(d.P50KW, at.Add(gridSeconds*time.Second))) / capacityKW
			if day[i] && math.IsNaN(share[i]) && !math.IsNaN(v) {
				share[i], used["forecast"] = v, true
			}
		}
	}
	return nil
}

// elevation returns the elevation of the sun in the middle of each interval, in
// degrees: of the site's place, else of that which a model found. If neither is
// known, the sun is up between the earliest and the latest time of day at which the
// site produced in the same month, or if it never did, from 8 to 16 o'clock.
func (s *Service) elevation(ctx context.Context, site api.Site, p *samples) ([]float64, error) {
	out := make([]float64, p.n)
	loc, ok, err := s.models.Location(ctx, site)
	if err != nil {
		return nil, err
	}
	middle := func(i int) time.Time { return time.Unix(p.start+int64(i)*gridSeconds+gridSeconds/2, 0) }
	if ok {
		for i := range out {
			out[i] = 90 - solar.At(middle(i), loc).ZenithDeg
		}
		return out, nil
	}
	// The first and the last minute of the day at which the site produced, by month.
	type minutes struct{ first, last int }
	lit := map[time.Month]minutes{}
	minuteOf := func(i int) (time.Month, int) {
		t := middle(i).In(p.zone)
		return t.Month(), t.Hour()*60 + t.Minute()
	}
	for i, kW := range p.power {
		if kW > kpi.DownShare*p.ratedKW && kW > 0 {
			month, at := minuteOf(i)
			day, known := lit[month]
			if !known {
				day = minutes{at, at}
			}
			lit[month] = minutes{min(day.first, at), max(day.last, at)}
		}
	}
	const high, low = 30, -30 // degrees: by day and by night
	for i := range out {
		out[i] = low
		month, at := minuteOf(i)
		day, known := lit[month]
		if !known {
			day = minutes{8 * 60, 16*60 - 1}
		}
		if at >= day.first && at <= day.last {
			out[i] = high
		}
	}
	return out, nil
}
