package sitedata

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// LocationOf returns the location of a site: its coordinates, else those that its
// model was trained with. ok is false if neither is known.
func LocationOf(site api.Site, place *model.Place) (solar.Location, bool) {
	switch {
	case site.Latitude != nil && site.Longitude != nil:
		return solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}, true
	case place != nil:
		return solar.Location{LatitudeDeg: place.LatitudeDeg, LongitudeDeg: place.LongitudeDeg}, true
	}
	return solar.Location{}, false
}

// SiteLocation returns the location of a site: its coordinates, else the place
// that [place.Of] finds from its address and its power, with the decisions in
// words.
func (d *Data) SiteLocation(site api.Site, power series.Series) (loc solar.Location, found *model.Place, decisions []string) {
	if loc, ok := LocationOf(site, nil); ok {
		return loc, nil, nil
	}
	f, ok := place.Of(site.Location, power)
	decisions = []string{"place: " + f.Words}
	if !ok {
		return solar.Location{}, nil, decisions
	}
	found = &model.Place{LatitudeDeg: f.LatitudeDeg, LongitudeDeg: f.LongitudeDeg}
	loc, _ = LocationOf(site, found)
	return loc, found, decisions
}

// PlaneOf returns the plane of a site's modules; nil if it is not known.
func PlaneOf(site api.Site) *solar.Plane {
	if site.TiltDeg == nil || site.AzimuthDeg == nil {
		return nil
	}
	return &solar.Plane{TiltDeg: *site.TiltDeg, AzimuthDeg: *site.AzimuthDeg}
}
