package pipeline

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// location is where a site is: as it says, else as its model took it to be.
func location(site api.Site, place *ops.Place) (solar.Location, bool) {
	switch {
	case site.Latitude != nil && site.Longitude != nil:
		return solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}, true
	case place != nil:
		return solar.Location{LatitudeDeg: place.LatitudeDeg, LongitudeDeg: place.LongitudeDeg}, true
	}
	return solar.Location{}, false
}

// whereabouts is the site's location: as it says, else where [place.Of] finds
// it from its location and its power.
func (p *Pipeline) whereabouts(site api.Site, power series.Series) (loc solar.Location, found *ops.Place, decisions []string) {
	if loc, ok := location(site, nil); ok {
		return loc, nil, nil
	}
	f, ok := place.Of(site.Location, power)
	decisions = []string{"place: " + f.Words}
	if !ok {
		return solar.Location{}, nil, decisions
	}
	found = &ops.Place{LatitudeDeg: f.LatitudeDeg, LongitudeDeg: f.LongitudeDeg}
	loc, _ = location(site, found)
	return loc, found, decisions
}
