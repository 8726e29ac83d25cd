package sitedata

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// SiteLocation returns the location of a site: its coordinates, else the place
// that [place.Of] finds from its address and its power, with the decisions in
// words.
func (d *Data) SiteLocation(site api.Site, power series.Series) (loc solar.Location, found *model.Place, decisions []string) {
	if loc, ok := model.LocationOf(site, nil); ok {
		return loc, nil, nil
	}
	f, ok := place.Of(site.Location, power)
	decisions = []string{"place: " + f.Words}
	if !ok {
		return solar.Location{}, nil, decisions
	}
	found = &model.Place{LatitudeDeg: f.LatitudeDeg, LongitudeDeg: f.LongitudeDeg}
	loc, _ = model.LocationOf(site, found)
	return loc, found, decisions
}

// PlaneOf returns the plane of a site's modules; nil if it is not known.
func PlaneOf(site api.Site) *solar.Plane {
	if site.TiltDeg == nil || site.AzimuthDeg == nil {
		return nil
	}
	return &solar.Plane{TiltDeg: *site.TiltDeg, AzimuthDeg: *site.AzimuthDeg}
}
