package training

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/place"
	"app.sunloop/engine/solar"
)

// maxPeers is the number of peer sites that a site is trained on: more add time,
// not skill.
const maxPeers = 6

// trainingSite is a site as training sees it.
type trainingSite struct {
	forecast.Site
	history   sitedata.History
	place     *model.Location
	decisions []string // sentences
	ok        bool     // there is telemetry
}

// loadSite reads a site and its history.
func (tr *Trainer) loadSite(ctx context.Context, site api.Site) (trainingSite, error) {
	units, err := tr.Domain.Sites.SiteAssets(ctx, site.SiteID)
	if err != nil {
		return trainingSite{}, err
	}
	first, last, ok, err := tr.Telemetry.Period(ctx, site.SiteID, "")
	if err != nil {
		return trainingSite{}, fmt.Errorf("read the period of site %s: %w", site.SiteID, err)
	}
	if !ok {
		return trainingSite{}, nil
	}
	if last.Sub(first) > trainSpan {
		first = last.Add(-trainSpan)
	}
	s := trainingSite{ok: true}
	if s.history, err = tr.ReadHistory(ctx, site.SiteID, units, first, last.Add(sitedata.ModelStep), sitedata.ModelStep, record.Zone(site.Timezone)); err != nil {
		return s, err
	}
	s.Site = forecast.Site{ID: site.SiteID, Zone: record.Zone(site.Timezone), CapacityKW: record.CapacityKW(site, units), Plane: sitedata.PlaneOf(site)}
	s.Location, s.place, s.decisions = tr.SiteLocation(site, s.history.Trimmed())
	return s, nil
}

// addWeather adds the archived weather, if the files have none.
func (tr *Trainer) addWeather(ctx context.Context, s *trainingSite) {
	words, columns := tr.ArchivedWeather(ctx, s.Location, s.history)
	s.history.Weather = append(s.history.Weather, columns...)
	if words != "" {
		s.decisions = append(s.decisions, words)
	}
}

// peerSites returns the histories of the nearest sites of the same customer whose
// models were trained on their own history. Sites without a known location are
// left out.
func (tr *Trainer) peerSites(ctx context.Context, of api.Site, at solar.Location) ([]forecast.Sibling, error) {
	all, _, err := tr.Domain.Sites.Sites(ctx, api.Unlimited(sitedata.Actor), api.ListQuery{CustomerID: of.CustomerID, Page: api.Page{Limit: math.MaxInt32}})
	if err != nil {
		return nil, err
	}
	type neighbour struct {
		site api.Site
		km   float64
	}
	var near []neighbour
	err = tr.Records.View(ctx, func(tx store.Tx) error {
		near = nil
		for _, s := range all {
			m, err := tr.Domain.Models.ProductionIn(tx, s.SiteID, sitedata.ModelType)
			if s.SiteID == of.SiteID || err != nil || m.Young {
				continue
			}
			if loc, ok := model.LocationOf(s, m.Place); ok {
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
	for _, n := range near[:min(len(near), maxPeers)] {
		s, err := tr.loadSite(ctx, n.site)
		if err != nil {
			return nil, err
		}
		if s.ok {
			tr.addWeather(ctx, &s)
			out = append(out, forecast.Sibling{Site: s.Site, History: forecast.History{Power: s.history.Trimmed(), Weather: s.history.Weather}})
		}
	}
	return out, nil
}
