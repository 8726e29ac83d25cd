package model

import (
	"context"
	"errors"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/solar"
)

// LocationOf returns the location of a site: its coordinates, else those that its
// model was trained with. ok is false if neither is known.
func LocationOf(site api.Site, place *Place) (loc solar.Location, ok bool) {
	switch {
	case site.Latitude != nil && site.Longitude != nil:
		return solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}, true
	case place != nil:
		return solar.Location{LatitudeDeg: place.LatitudeDeg, LongitudeDeg: place.LongitudeDeg}, true
	}
	return loc, false
}

// Location returns the location of a site by its coordinates, else by its
// forecasting model in production. ok is false if neither is known.
func (s *Service) Location(ctx context.Context, site api.Site) (loc solar.Location, ok bool, err error) {
	if loc, ok := LocationOf(site, nil); ok {
		return loc, true, nil
	}
	m, err := s.InProduction(ctx, site.SiteID, api.ModelForecasting)
	if errors.Is(err, store.ErrNotFound) {
		return loc, false, nil
	}
	if err != nil {
		return loc, false, err
	}
	loc, ok = LocationOf(site, m.Place)
	return loc, ok, nil
}
