package pipeline

import (
	"fmt"
	"math"

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

// Beyond these a town's name and the sun in the data speak of two places: the
// sun is within a few degrees, but no better in latitude.
const (
	maxOffLatitude  = 20
	maxOffLongitude = 12
)

// whereabouts is the site's location: as it says, else the town that its
// location names, if the sun in its data does not say otherwise, else as the
// sun does. Where they differ the sun is right for a model, as it is by the
// clock that its power is stamped with.
func (p *Pipeline) whereabouts(site api.Site, power series.Series) (loc solar.Location, found *ops.Place, decisions []string) {
	if loc, ok := location(site, nil); ok {
		return loc, nil, nil
	}
	latitude, longitude, shone := place.FromSun(power)
	town, named := place.Find(site.Location)
	off := math.Abs(math.Remainder(longitude-town.LongitudeDeg, 360)) > maxOffLongitude || math.Abs(latitude-town.LatitudeDeg) > maxOffLatitude
	switch {
	case named && !(shone && off):
		latitude, longitude = town.LatitudeDeg, town.LongitudeDeg
		decisions = []string{"place: " + town.Words}
	case shone && named:
		decisions = []string{fmt.Sprintf("place: the sun in the data says about %.0f° latitude and %.0f° longitude, which is not %s; the times may be of another zone than they are taken for", latitude, longitude, town.Place)}
	case shone:
		decisions = []string{fmt.Sprintf("place: none is given; the sun in the data says about %.0f° latitude and %.0f° longitude", latitude, longitude)}
	default:
		return solar.Location{}, nil, []string{"place: none is given and the data do not show one"}
	}
	found = &ops.Place{LatitudeDeg: latitude, LongitudeDeg: longitude}
	loc, _ = location(site, found)
	return loc, found, decisions
}
