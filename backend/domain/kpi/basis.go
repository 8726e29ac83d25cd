package kpi

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// basis is what figures of a window rest on: ratings, irradiance in the plane of
// the modules, and when the sun is up.
type basis struct {
	ratings []kpi.Rating // of the units
	rating  kpi.Rating   // of all of them
	light   kpi.Irradiance
	sky     *kpi.Sky          // nil where the place is unknown
	due     func(int) float64 // how much the irradiance of an interval counts: 0 at night
	gamma   float64           // of the modules, per kelvin
	assumed bool              // gamma is not known
	mounts  kpi.Mounting
}

// ratingsOf are the ratings of units of a site. estimated has the units whose
// capacity was taken from measured power.
func ratingsOf(site api.Site, all []api.Asset, estimated map[string]bool) map[string]kpi.Rating {
	inputs := make([]kpi.RatingInput, len(all))
	for i, a := range all {
		inputs[i] = kpi.RatingInput{CapacityKW: a.CapacityKW, DCKW: a.DCRatingKW, ACKW: a.ACRatingKW, Estimated: estimated[a.AssetID]}
	}
	out := map[string]kpi.Rating{}
	for i, r := range kpi.Ratings(kpi.RatingInput{DCKW: site.DCRatingKW, ACKW: site.ACRatingKW}, inputs) {
		out[all[i].AssetID] = r
	}
	return out
}

// ratings are the ratings of the site's units, by their ids.
func (s *Service) ratings(ctx context.Context, site api.Site, units []api.Asset) (map[string]kpi.Rating, error) {
	var estimated map[string]bool
	err := s.records.View(ctx, func(tx store.Tx) (err error) {
		estimated, err = s.sites.EstimatedOf(tx, units)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the estimated capacities of site %s: %w", site.SiteID, err)
	}
	return ratingsOf(site, units, estimated), nil
}

// planeOf is the plane of the modules of a unit; nil where it is unknown.
func planeOf(site api.Site, a api.Asset) *solar.Plane {
	tilt, azimuth := a.TiltDeg, a.AzimuthDeg
	if tilt == nil {
		tilt = site.TiltDeg
	}
	if azimuth == nil {
		azimuth = site.AzimuthDeg
	}
	switch {
	case tilt != nil && *tilt == 0:
		return &solar.Plane{}
	case tilt == nil || azimuth == nil:
		return nil
	}
	return &solar.Plane{TiltDeg: *tilt, AzimuthDeg: *azimuth}
}

func mountingOf(site api.Site, a api.Asset) kpi.Mounting {
	if a.Mounting != "" {
		return kpi.Mounting(a.Mounting)
	}
	return kpi.Mounting(site.Mounting)
}

// sensorOf is the sensor whose irradiance a unit reports, without its values.
func sensorOf(site api.Site, a api.Asset) kpi.Sensor {
	out := kpi.Sensor{ID: a.AssetID, Role: kpi.Role(a.IrradianceRole), Class: a.IrradianceClass, Modules: planeOf(site, a), Tracked: mountingOf(site, a) == kpi.Tracker}
	tilt, azimuth := a.IrradianceTiltDeg, a.IrradianceAzimuthDeg
	if out.Role == "" {
		out.Role = kpi.Role(site.IrradianceRole)
	}
	if out.Class == "" {
		out.Class = site.IrradianceClass
	}
	if tilt == nil || azimuth == nil {
		tilt, azimuth = site.IrradianceTiltDeg, site.IrradianceAzimuthDeg
	}
	if tilt != nil && azimuth != nil {
		out.Plane = &solar.Plane{TiltDeg: *tilt, AzimuthDeg: *azimuth}
	}
	return out
}

// maxSensors is how many units' irradiance is used at most: more of them are
// copies of a few sensors.
const maxSensors = 50

// Bounds of the data that roles are inferred from.
const (
	roleDays     = 60
	roleSensors  = 2 // the others have the role of the first
	maxRoleCache = 10_000
)

// roleKey is what an inferred role depends on. The data of the days before one
// are taken as complete: a later addition counts from the next day on.
type roleKey struct {
	site, asset string
	until       int64
	loc         solar.Location
	plane       solar.Plane
}

// roleCache keeps the inferred roles of sensors, which every replica infers from
// the same data.
type roleCache struct {
	mu    sync.Mutex
	roles map[roleKey]kpi.Role
}

func (c *roleCache) get(k roleKey) (kpi.Role, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.roles[k]
	return r, ok
}

func (c *roleCache) put(k roleKey, r kpi.Role) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roles == nil || len(c.roles) >= maxRoleCache {
		c.roles = map[roleKey]kpi.Role{}
	}
	c.roles[k] = r
}

// inferRoles sets the roles of sensors that have none, by up to 60 days of data
// before the midnight of to. What the data do not show stays unknown.
func (s *Service) inferRoles(ctx context.Context, site api.Site, sensors []kpi.Sensor, loc solar.Location, to time.Time) error {
	until := series.Midnight(to, record.Zone(site.Timezone))
	var first kpi.Role
	tried := 0
	for i := range sensors {
		one := &sensors[i]
		switch {
		case one.Role != "":
			continue
		case one.Modules == nil || one.Tracked || one.Plane != nil:
			one.Inferred = true
			continue
		case tried >= roleSensors:
			one.Role, one.Inferred = first, true
			continue
		}
		tried++
		one.Inferred = true
		key := roleKey{site.SiteID, one.ID, until.Unix(), loc, *one.Modules}
		role, ok := s.roles.get(key)
		if !ok {
			var err error
			if role, err = s.inferRole(ctx, key, until); err != nil {
				return err
			}
			s.roles.put(key, role)
		}
		one.Role = role
		if first == "" {
			first = role
		}
	}
	return nil
}

// inferRole returns the role that the data of a sensor show; empty if they show
// none.
func (s *Service) inferRole(ctx context.Context, k roleKey, until time.Time) (kpi.Role, error) {
	f, err := store.Collect(s.telemetry.Read(ctx, k.site, k.asset, until.AddDate(0, 0, -roleDays), until, series.IrradianceWM2))
	if err != nil {
		return "", fmt.Errorf("read the irradiance of asset %s: %w", k.asset, err)
	}
	v := f.Values(series.IrradianceWM2)
	if v == nil {
		return "", nil
	}
	hours := series.Resample(f.Times, v, time.Hour, 0)
	role, ok := kpi.InferRole(hours, kpi.NewSky(hours, len(hours.Values), k.loc), k.plane)
	if !ok {
		return "", nil
	}
	return role, nil
}

// readBasis makes the basis of figures of the units on a grid of n intervals.
// sensors have their values on that grid; power is the site's.
func (s *Service) readBasis(ctx context.Context, site api.Site, units []api.Asset, ratings map[string]kpi.Rating, sensors []kpi.Sensor, power series.Series, to time.Time) (basis, error) {
	b := basis{gamma: kpi.GammaPerK}
	loc, placed, err := s.models.Location(ctx, site)
	if err != nil {
		return b, err
	}
	n := len(power.Values)
	if placed {
		b.sky = kpi.NewSky(power, n, loc)
		if err := s.inferRoles(ctx, site, sensors, loc, to); err != nil {
			return b, err
		}
	}
	coefficients, weight, mounted := 0.0, 0.0, map[kpi.Mounting]float64{}
	for _, u := range units {
		r := ratings[u.AssetID]
		b.ratings = append(b.ratings, r)
		c := u.ModuleTempCoefficientPctPerK
		if c == nil {
			c = site.ModuleTempCoefficientPctPerK
		}
		if c == nil {
			b.assumed = true
			c = new(100 * kpi.GammaPerK)
		}
		coefficients, weight = coefficients+*c/100*r.DCKW, weight+r.DCKW
		m := mountingOf(site, u)
		if mounted[m] += r.DCKW; mounted[m] > mounted[b.mounts] || b.mounts == "" {
			b.mounts = m
		}
	}
	if weight > 0 {
		b.gamma = coefficients / weight
	}
	b.rating = kpi.SumRatings(b.ratings)
	if len(units) == len(ratings) { // the shares of all units are the rating of the site, which is set
		for _, source := range []*kpi.RatingSource{&b.rating.DCSource, &b.rating.ACSource} {
			if *source == kpi.RatingSiteShare {
				*source = kpi.RatingSet
			}
		}
	}
	b.due = dueBy(b.sky, planeOf(site, api.Asset{}), power, b.rating.ACKW, record.Zone(site.Timezone))
	b.light = kpi.InPlane(sensors, series.Series{Start: power.Start, Step: power.Step}, n, b.sky, func(i int) bool { return b.due(i) > 0 })
	return b, nil
}

// dueBy says how much the irradiance of an interval counts: that of the clear
// sky where the place is known, and nothing while the sun is low; else alike at
// the times of day at which the site made power in the same month.
func dueBy(sky *kpi.Sky, modules *solar.Plane, power series.Series, ratedKW float64, zone *time.Location) func(int) float64 {
	if sky != nil {
		return func(i int) float64 {
			if sky.Elevation(i) < kpi.DayElevationDeg {
				return 0
			}
			return sky.Clear(i, modules)
		}
	}
	type slot struct {
		month  time.Month
		minute int
	}
	slotOf := func(i int) slot {
		t := power.Time(i).In(zone)
		return slot{t.Month(), t.Hour()*60 + t.Minute()}
	}
	light := map[slot]bool{}
	for i, p := range power.Values {
		if p > 0.01*ratedKW {
			light[slotOf(i)] = true
		}
	}
	return func(i int) float64 {
		if light[slotOf(i)] {
			return 1
		}
		return 0
	}
}

// words are the assumptions of the temperature correction.
func (b basis) words() string {
	mounting := "open racks (assumed)"
	if b.mounts != "" {
		mounting = string(b.mounts)
	}
	of := "set"
	if b.assumed {
		of = "assumed"
	}
	return fmt.Sprintf("cell temperature by Sandia's model for the mounting %s from the measured air and wind (1 m/s where none is measured); %s/K, %s", mounting, display.FinePercentage(100*b.gamma), of)
}

// figure adds what a figure of the window is made with.
func (b basis) figure(f kpi.Figure, dc, light bool) kpi.Figure {
	f.Rating = &kpi.RatingBasis{KW: b.rating.ACKW, Source: b.rating.ACSource}
	if dc {
		f.Rating = &kpi.RatingBasis{KW: b.rating.DCKW, DC: true, Source: b.rating.DCSource}
	}
	if light {
		f = f.WithIrradiance(b.light)
	}
	return f
}

// ratio is a performance ratio with its checks.
func (b basis) ratio(f kpi.Figure, power series.Series) kpi.Figure {
	f = b.figure(f, true, true)
	covered, excluded := kpi.RatioCoverage(power, b.light.Series, b.due)
	f.Excluded = excluded
	if f.Note == "" {
		f = f.WithCovered(covered, "Power and irradiance together")
	}
	return f.CheckRatio()
}

// ratingsToAPI writes ratings for clients.
func ratingsToAPI(r kpi.Rating) *api.Ratings {
	dc, ac := r.Inferred()
	return &api.Ratings{DCKW: record.Known(r.DCKW), DCSource: string(r.DCSource), DCInferred: dc, ACKW: record.Known(r.ACKW), ACSource: string(r.ACSource), ACInferred: ac,
		DCACRatio: record.Number(r.DCRatio()), Inferred: dc || ac}
}

// irradianceToAPI writes the source of the irradiance for clients.
func irradianceToAPI(r kpi.Irradiance, sensors bool) *api.Irradiance {
	out := &api.Irradiance{Role: string(r.Role), Inferred: r.Inferred, Transposed: r.Transposed, Class: r.Class, Note: r.Note, Description: r.Description()}
	if !math.IsNaN(r.Uncertainty) {
		out.UncertaintyPct = record.Number(100 * r.Uncertainty)
	}
	if sensors {
		for _, s := range r.Sensors {
			out.Sensors = append(out.Sensors, api.IrradianceSensor{AssetID: s.ID, Role: string(s.Role), Inferred: s.Inferred, Health: string(s.Health), Used: s.Used})
		}
	}
	return out
}
