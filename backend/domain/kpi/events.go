package kpi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/issue"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/loss"
	"app.sunloop/engine/series"
)

// events are what detection and people said of a site.
type events struct {
	findings     []finding.Finding
	losses       []loss.Ledger        // of each finding
	acknowledged map[string]time.Time // when a person took the finding's issue on
}

// Families that figures take together.
var (
	outageFamilies  = []string{string(detect.InverterOutage), string(detect.SiteOutage)}
	failureFamilies = []string{string(detect.InverterOutage), string(detect.GroundFault), string(detect.IntermittentTrip), string(detect.TrackerFault), string(detect.StringOutage)}
	soilingFamilies = []string{string(detect.Soiling)}
)

// readEvents reads the site's findings, without the texts and lists that no figure
// needs, and when their issues were acknowledged.
func (s *Service) readEvents(ctx context.Context, siteID string, zone *time.Location) (e events, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		e = events{acknowledged: map[string]time.Time{}}
		err := finding.EachOfSite(tx, siteID, func(f finding.Finding) error {
			f.RecommendedActions, f.Detections, f.Causes, f.Evidence, f.Summary, f.RootCause = nil, nil, nil, nil, "", ""
			e.losses = append(e.losses, f.Ledger(zone))
			f.Losses = nil
			e.findings = append(e.findings, f)
			return ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("list the findings of site %s: %w", siteID, err)
		}
		err = issue.EachOfSite(tx, siteID, func(i issue.Issue) error {
			for _, m := range i.History {
				if m.From == api.IssueNew && m.To == api.IssueInProgress {
					e.acknowledged[i.SummaryID] = m.At.Time
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("list the issues of site %s: %w", siteID, err)
		}
		return nil
	})
	return e, err
}

// lostKWh returns the losses in from..to of findings of the families, nil for all,
// by the hours in which they occurred.
func (e events) lostKWh(from, to time.Time, families []string) float64 {
	sum := 0.0
	for i, f := range e.findings {
		if families != nil && !slices.Contains(families, f.FaultFamily) {
			continue
		}
		sum += e.losses[i].Between(from, to)
	}
	return sum
}

// begun counts the failures of units that began in from..to.
func (e events) begun(from, to time.Time) int {
	n := 0
	for _, f := range e.findings {
		if slices.Contains(failureFamilies, f.FaultFamily) && !f.StartedAt.Before(from) && f.StartedAt.Before(to) {
			n++
		}
	}
	return n
}

// failures returns those of units that ended in from..to.
func (e events) failures(from, to time.Time) []kpi.Failure {
	var list []kpi.Failure
	for _, f := range e.findings {
		if f.Active || !slices.Contains(failureFamilies, f.FaultFamily) || f.EndedAt.Before(from) || !f.EndedAt.Before(to) {
			continue
		}
		one := kpi.Failure{Onset: f.StartedAt.Time, Detected: f.DetectedAt.Time, Acknowledged: e.acknowledged[f.SummaryID], Restored: f.EndedAt.Time}
		if one.Detected.IsZero() && f.CreatedAt.Before(f.EndedAt.Time) {
			one.Detected = f.CreatedAt.Time // a finding of an earlier version
		}
		if one.Detected.Before(one.Onset) {
			one.Detected = time.Time{}
		}
		if one.Acknowledged.Before(one.Detected) {
			one.Acknowledged = time.Time{}
		}
		list = append(list, one)
	}
	return list
}

// reasons are the categories of families that explain a reduced output: while
// the unit is down, and while it runs.
var reasons = map[string]struct{ still, running kpi.Category }{
	string(detect.SiteOutage):   {still: kpi.GridOutage},
	string(detect.SnowCover):    {still: kpi.ForceMajor, running: kpi.Partial},
	string(detect.Curtailment):  {still: kpi.Curtailed, running: kpi.Curtailed},
	string(detect.StringOutage): {running: kpi.Partial},
	string(detect.TrackerFault): {running: kpi.Partial},
}

// stillShare is the share of its rating below which a unit is down.
const stillShare = 0.01

// states are the stretches of a unit that findings explain.
func (u unit) states(list []finding.Finding, to time.Time) []kpi.State {
	var out []kpi.State
	for _, f := range list {
		why, ok := reasons[f.FaultFamily]
		if !ok || f.Subject != u.id && !slices.Contains(f.AssetIDs, u.id) {
			continue
		}
		periods := slices.Clone(f.Periods())
		if f.Active {
			periods[len(periods)-1].To = to
		}
		within := func(at time.Time) bool {
			return slices.ContainsFunc(periods, func(p finding.Period) bool {
				return at.Add(u.PowerKW.Step).After(p.From) && at.Before(p.To)
			})
		}
		var was kpi.Category
		for i, p := range u.PowerKW.Values {
			at := u.PowerKW.Time(i)
			is := kpi.Category("")
			switch {
			case !within(at):
			case p >= stillShare*u.CapacityKW:
				is = why.running
			case !math.IsNaN(p):
				is = why.still
			}
			switch next := at.Add(u.PowerKW.Step); {
			case is != "" && is == was:
				out[len(out)-1].To = next
			case is != "":
				out = append(out, kpi.State{Category: is, Units: []int{0}, From: at, To: next})
			}
			was = is
		}
	}
	return out
}

// sun is the irradiance in each interval, as a share of the rating, and its
// source: the irradiance, else the forecast, else the best unit's output. NaN
// where nothing did.
func (r *reading) sun() ([]float64, []string) {
	sources := []struct {
		name  string
		share func(i int) float64
		used  bool
	}{
		{name: "irradiance", share: func(i int) float64 { return r.irradiance.Values[i] / 1000 }},
		{name: "forecast", share: func(i int) float64 { return r.forecast[i] }},
		{name: "peers", share: func(i int) float64 { return r.peers[i] }},
	}
	sun := make([]float64, len(r.power.Values))
	for i := range sun {
		sun[i] = math.NaN()
		for k := range sources {
			if v := sources[k].share(i); !math.IsNaN(v) {
				sun[i], sources[k].used = v, true
				break
			}
		}
	}
	var used []string
	for _, s := range sources {
		if s.used {
			used = append(used, s.name)
		}
	}
	return sun, used
}

// split is the useful time by category, and the source for its being useful.
func (r *reading) split(list []finding.Finding) (map[kpi.Category]float64, []string) {
	sun, used := r.sun()
	hours := map[kpi.Category]float64{}
	for _, u := range r.units {
		one := kpi.Split([]kpi.Unit{u.Unit}, u.states(list, r.to), func(i int, _ kpi.Unit) float64 {
			if u.PowerKW.Time(i).Before(u.first) {
				return math.NaN()
			}
			return sun[i]
		})
		for c, h := range one {
			hours[c] += h * u.CapacityKW / r.ratedKW
		}
	}
	return hours, used
}

// soiling is the site's soiling ratio: of each day its yield, and what it would
// have been without what dirt took.
func (r *reading) soiling(e events) float64 {
	var yield, clean, insolation []float64
	for from, to := range series.Days(r.from, r.to, r.zone) {
		power, sun := r.power.Slice(from, to), r.irradiance.Slice(from, to)
		made := kpi.SpecificYield(power.EnergyKWh(), r.ratedKW)
		yield = append(yield, made)
		clean = append(clean, made+e.lostKWh(from, to, soilingFamilies)/r.ratedKW)
		insolation = append(insolation, kpi.ReferenceYield(sun, nil).Hours)
	}
	return kpi.SoilingRatio(yield, clean, insolation)
}
