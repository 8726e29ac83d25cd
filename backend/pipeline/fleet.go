package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/place"
	"app.sunloop/engine/solar"
)

// maxSiblings teach a site: more of them add time, not knowledge.
const maxSiblings = 6

// learner is a site as training sees it.
type learner struct {
	forecast.Site
	history   history
	place     *ops.Place
	decisions []string // in words
	ok        bool     // there is telemetry
}

// learner reads a site and its history.
func (p *Pipeline) learner(ctx context.Context, site api.Site) (learner, error) {
	units, err := p.Ops.SiteAssets(ctx, site.SiteID)
	if err != nil {
		return learner{}, err
	}
	first, last, ok, err := p.Telemetry.Period(ctx, site.SiteID, "")
	if err != nil {
		return learner{}, fmt.Errorf("read the period of site %s: %w", site.SiteID, err)
	}
	if !ok {
		return learner{}, nil
	}
	if last.Sub(first) > trainSpan {
		first = last.Add(-trainSpan)
	}
	s := learner{ok: true}
	if s.history, err = p.readHistory(ctx, site.SiteID, units, first, last.Add(modelStep), modelStep, ops.Zone(site)); err != nil {
		return s, err
	}
	s.Site = forecast.Site{ID: site.SiteID, Zone: ops.Zone(site), CapacityKW: ops.CapacityKW(site, units), Plane: planeOf(site)}
	s.Location, s.place, s.decisions = p.whereabouts(site, s.history.trimmed())
	return s, nil
}

// remember adds the weather that was, where the files tell of none.
func (p *Pipeline) remember(ctx context.Context, s *learner) {
	words, columns := p.archive(ctx, s.Location, s.history)
	s.history.weather = append(s.history.weather, columns...)
	if words != "" {
		s.decisions = append(s.decisions, words)
	}
}

// siblings are the histories of the nearest sites of the same customer that
// have a model of their own. A site may be at a place that is not known: then
// it teaches nobody.
func (p *Pipeline) siblings(ctx context.Context, of api.Site, at solar.Location) ([]forecast.Sibling, error) {
	all, _, err := p.Ops.Sites(ctx, api.Unlimited("pipeline"), api.ListQuery{CustomerID: of.CustomerID, Page: api.Page{Limit: math.MaxInt32}})
	if err != nil {
		return nil, err
	}
	type neighbour struct {
		site api.Site
		km   float64
	}
	var near []neighbour
	err = p.Records.View(ctx, func(tx store.Tx) error {
		near = nil
		for _, s := range all {
			m, err := p.Ops.Production(tx, s.SiteID, modelType)
			if s.SiteID == of.SiteID || err != nil || m.Young {
				continue
			}
			if loc, ok := location(s, m.Place); ok {
				near = append(near, neighbour{s, place.DistanceKM(at.LatitudeDeg, at.LongitudeDeg, loc.LatitudeDeg, loc.LongitudeDeg)})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(near) < forecast.MinimumSiblings {
		return nil, nil // too few to read anything of
	}
	slices.SortFunc(near, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.km, b.km), cmp.Compare(a.site.SiteID, b.site.SiteID))
	})
	var out []forecast.Sibling
	for _, n := range near[:min(len(near), maxSiblings)] {
		s, err := p.learner(ctx, n.site)
		if err != nil {
			return nil, err
		}
		if s.ok {
			p.remember(ctx, &s)
			out = append(out, forecast.Sibling{Site: s.Site, History: forecast.History{Power: s.history.trimmed(), Weather: s.history.weather}})
		}
	}
	return out, nil
}
