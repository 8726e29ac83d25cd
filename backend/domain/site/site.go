// Package site manages sites, their assets with components, terminal devices and
// rated power, and exchange rates.
package site

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/names"
	"app.sunloop/backend/store"
)

// Service manages sites, their assets and components. It is safe for concurrent use; its state is in the store.
type Service struct {
	records    store.Records
	telemetry  store.Telemetry
	now        func() time.Time
	activities *activity.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, telemetry store.Telemetry, now func() time.Time, activities *activity.Service) *Service {
	return &Service{records: records, telemetry: telemetry, now: now, activities: activities}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{sites, siteClaims, changes, assets, store.Unchecked(estimatesBucket)}
}

// SiteRecords returns the records of this package, which are of sites.
func SiteRecords() []record.OfSite {
	return []record.OfSite{{Prefixed: sites, Last: true}, {Prefixed: siteClaims, Last: true}, {Prefixed: changes, Last: true},
		{Prefixed: assets, Effect: func(e *api.SiteEffects) *int { return &e.Units }}, {Prefixed: store.Unchecked(estimatesBucket)}}
}

// TerminalOf returns the device that monitors a site's units, except for
// those that have a separate one.
func TerminalOf(site api.Site) string {
	return cmp.Or(site.TerminalDeviceID, "TERM-"+api.PublicSiteID(site.SiteID))
}

// DataPeriod is the span of a site's telemetry, for the service itself; not ok
// if none exists.
func (s *Service) DataPeriod(ctx context.Context, siteID string) (first, last time.Time, ok bool, err error) {
	if first, last, ok, err = s.telemetry.Period(ctx, siteID, ""); err != nil {
		err = fmt.Errorf("read the period of site %s: %w", siteID, err)
	}
	return first, last, ok, err
}

// sites are kept by their keys, see [api.SiteKey]: SiteID holds the key in all
// records. A customer has one site of an id.
var sites = store.Table[api.Site]{
	Bucket: "sites",
	Key:    func(s api.Site) []byte { return store.Key(s.SiteID) },
	Indexes: []store.Index[api.Site]{
		{Name: "customer", Key: func(s api.Site) []byte { return store.Key(s.CustomerID) }},
		{Name: "archived", Key: func(s api.Site) []byte {
			if s.ArchivedAt.IsZero() {
				return nil
			}
			return store.Key(s.SiteID)
		}},
	},
	Form: store.As(newSiteRecord, siteRecord.toAPI),
}

func siteOwner(s api.Site) (customer, site, asset string) { return s.CustomerID, s.SiteID, "" }

// Site is a site within the scope. It answers [api.ErrSiteNotFound] for an
// unknown id and [api.ErrForbidden] for another's.
func (s *Service) Site(ctx context.Context, scope api.Scope, siteID string) (api.Site, error) {
	var site api.Site
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		if site, err = s.SiteIn(tx, scope, siteID); err != nil {
			return err
		}
		if site.AssetCount, err = countAssets(tx, siteID); err != nil {
			return err
		}
		site.Change, err = lastChange(tx, siteID)
		return err
	})
	return site, err
}

// SiteIn returns a site within a transaction; [api.ErrSiteNotFound] for an unknown id,
// and the error of [api.Scope.Check] if the caller has no access.
func (s *Service) SiteIn(tx store.Tx, scope api.Scope, siteID string) (api.Site, error) {
	site, err := sites.Get(tx, store.Key(siteID))
	if err := record.NotFoundAs(err, api.ErrSiteNotFound, "site "+siteID); err != nil {
		return api.Site{}, err
	}
	return site, scope.Check(site.CustomerID, siteID)
}

// siteClaim keeps the key that equals a site id for a customer whose first
// file of the site is accepted, but not yet imported.
type siteClaim struct {
	SiteID     string `json:"site_id" limit:"id"`
	CustomerID string `json:"customer_id" limit:"id"`
}

var siteClaims = store.Table[siteClaim]{
	Bucket: "site_claims",
	Key:    func(c siteClaim) []byte { return store.Key(c.SiteID) },
}

// SitesNamed lists the sites of all customers that have the id.
func (s *Service) SitesNamed(ctx context.Context, siteID string) (all []api.Site, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		if all, err = sitesNamed(tx, siteID); err != nil {
			return err
		}
		for i := range all {
			if all[i].Change, err = lastChange(tx, all[i].SiteID); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

func sitesNamed(tx store.Tx, siteID string) (all []api.Site, err error) {
	if siteID != api.PublicSiteID(siteID) {
		return nil, nil // no id holds the mark of a key
	}
	first, err := sites.Get(tx, store.Key(siteID))
	switch {
	case err == nil:
		all = append(all, first)
	case !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read site %s: %w", siteID, err)
	}
	prefix := store.Key(api.SiteKeyPrefix(siteID))
	marked, _, err := sites.List(tx, store.Query{Prefix: prefix[:len(prefix)-2]}) // without the end of the part
	if err != nil {
		return nil, fmt.Errorf("list the sites of the id %s: %w", siteID, err)
	}
	return append(all, marked...), nil
}

// NewSiteKey returns the key that a site of the customer gets which does not
// exist yet: its id, unless another customer has or claims that.
func (s *Service) NewSiteKey(ctx context.Context, customerID, siteID string) (key string, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		key, _, err = newSiteKey(tx, customerID, siteID)
		return err
	})
	return key, err
}

func newSiteKey(tx store.Tx, customerID, siteID string) (key string, claimed bool, err error) {
	if siteID != api.PublicSiteID(siteID) {
		return siteID, true, nil
	}
	first, err := sites.Get(tx, store.Key(siteID))
	if err == nil {
		if first.CustomerID == customerID {
			return siteID, true, nil
		}
		key := api.SiteKey(customerID, siteID)
		if _, err := sites.Get(tx, store.Key(key)); err == nil || !errors.Is(err, store.ErrNotFound) {
			return key, true, record.Wrap(err, "read site "+siteID)
		}
		return key, true, errors.Join(checkNewSiteID(siteID), checkNewIDs(tx, customerID, siteID))
	}
	if !errors.Is(err, store.ErrNotFound) {
		return "", false, fmt.Errorf("read site %s: %w", siteID, err)
	}
	if err := checkNewSiteID(siteID); err != nil {
		return "", false, err
	}
	claim, err := siteClaims.Get(tx, store.Key(siteID))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return siteID, false, checkNewIDs(tx, customerID, siteID)
	case err != nil:
		return "", false, fmt.Errorf("read the claim of site %s: %w", siteID, err)
	case claim.CustomerID == customerID:
		return siteID, true, nil
	}
	return api.SiteKey(customerID, siteID), true, checkNewIDs(tx, customerID, siteID)
}

func checkNewSiteID(id string) error {
	if len(id) > api.MaxNewSiteID {
		return api.InvalidField("site_id", fmt.Sprintf("at most %d bytes", api.MaxNewSiteID))
	}
	return nil
}

// checkNewIDs returns a refusal of a new site whose id looks like another one, or
// whose customer has no site yet and has such an id.
func checkNewIDs(tx store.Tx, customerID, siteID string) error {
	if err := checkNewID("site_id", siteID); err != nil {
		return err
	}
	reason := names.CheckID(customerID)
	if reason == "" {
		return nil
	}
	exists, err := HasSites(tx, customerID)
	if err == nil && !exists {
		err = api.InvalidField("customer_id", reason)
	}
	return err
}

// checkNewID checks the id of a new site or unit. Sites and units that exist keep
// theirs.
func checkNewID(field, id string) error {
	if reason := names.CheckNewID(id); reason != "" {
		return api.InvalidField(field, reason)
	}
	return nil
}

// HasSites reports whether the customer has a site.
func HasSites(tx store.Tx, customerID string) (bool, error) {
	first, _, err := sites.List(tx, store.Query{Index: "customer", Prefix: store.Key(customerID), Limit: 1})
	if err != nil {
		return false, fmt.Errorf("list the sites of customer %s: %w", customerID, err)
	}
	return len(first) > 0, nil
}

// ReserveSite returns the key of the customer's site with the id (or key),
// which need not exist: the key then stays the customer's.
func (s *Service) ReserveSite(ctx context.Context, customerID, siteID string) (key string, err error) {
	claimed := false
	err = s.records.View(ctx, func(tx store.Tx) error {
		key, claimed, err = newSiteKey(tx, customerID, siteID)
		return err
	})
	if err != nil || claimed {
		return key, err
	}
	err = s.records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error {
		if key, claimed, err = newSiteKey(tx, customerID, siteID); err != nil || claimed {
			return err
		}
		if err := siteClaims.Put(tx, siteClaim{SiteID: siteID, CustomerID: customerID}); err != nil {
			return fmt.Errorf("claim site %s: %w", siteID, err)
		}
		return nil
	})
	return key, err
}

// findSite is the site that an id or a key names within the scope.
func (s *Service) findSite(tx store.Tx, scope api.Scope, customerID, siteID string) (api.Site, error) {
	if siteID != api.PublicSiteID(siteID) {
		return s.SiteIn(tx, scope, siteID)
	}
	all, err := sitesNamed(tx, siteID)
	if err != nil {
		return api.Site{}, err
	}
	return scope.Choose(all, customerID)
}

// putSite stores a site with the time.
func (s *Service) putSite(tx store.Tx, v *api.Site) error {
	v.UpdatedAtMS = s.now().UnixMilli()
	return sites.Put(tx, *v)
}

// Sites lists the sites within the scope by name.
func (s *Service) Sites(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Site, string, error) {
	return s.page(ctx, scope, q, true)
}

// SitesAlone is Sites without the numbers of units, which take a read of each site.
func (s *Service) SitesAlone(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Site, string, error) {
	return s.page(ctx, scope, q, false)
}

func (s *Service) page(ctx context.Context, scope api.Scope, q api.ListQuery, count bool) ([]api.Site, string, error) {
	sq := store.Query{}
	if q.CustomerID != "" {
		sq = store.Query{Index: "customer", Prefix: store.Key(q.CustomerID)}
	}
	list, next, err := record.SortedList[api.Site]{
		Table: sites, Query: sq,
		Keep: func(v *api.Site) bool {
			return (q.Archived || v.ArchivedAt.IsZero()) && record.Matches(scope, q)(siteOwner(*v)) && q.SinceUnix(v.UpdatedAtMS, v.CreatedAt)
		},
		Order: orderOf,
	}.Page(ctx, s.records, q.Page)
	if err != nil {
		return nil, "", record.Wrap(err, "list sites")
	}
	err = s.records.View(ctx, func(tx store.Tx) (err error) {
		running, err := RunningChanges(tx)
		if err != nil {
			return err
		}
		for i := range list {
			if count {
				if list[i].AssetCount, err = countAssets(tx, list[i].SiteID); err != nil {
					return err
				}
			}
			if change := running[list[i].SiteID]; change != nil {
				list[i].Change = &change.SiteChange
			}
		}
		return nil
	})
	return slices.DeleteFunc(list, func(v api.Site) bool { return v.Change != nil && v.Change.Kind == api.ChangeRemove }), next, err
}

// SitesByName returns the sites within the scope in the order of [Service.Sites], without those that
// are being removed, and without their numbers of units.
func (s *Service) SitesByName(tx store.Tx, scope api.Scope, q api.ListQuery) ([]api.Site, error) {
	list, err := s.SitesIn(tx, scope, q)
	if err != nil {
		return nil, err
	}
	running, err := RunningChanges(tx)
	list = slices.DeleteFunc(list, func(v api.Site) bool {
		change := running[v.SiteID]
		return change != nil && change.Kind == api.ChangeRemove
	})
	slices.SortStableFunc(list, func(a, b api.Site) int {
		return cmp.Or(bytes.Compare(orderOf(&a), orderOf(&b)), strings.Compare(a.SiteID, b.SiteID))
	})
	return list, err
}

// orderOf is the place of a site in lists.
func orderOf(v *api.Site) record.SortKey {
	return record.SortKey{}.Text(v.Name[:min(len(v.Name), 1000)])
}

// SitesIn returns the sites that the query selects within a caller's scope.
func (s *Service) SitesIn(tx store.Tx, scope api.Scope, q api.ListQuery) ([]api.Site, error) {
	sq := store.Query{}
	if q.CustomerID != "" {
		sq = store.Query{Index: "customer", Prefix: store.Key(q.CustomerID)}
	}
	all, _, err := sites.List(tx, sq)
	if !q.Archived {
		all = slices.DeleteFunc(all, func(v api.Site) bool { return !v.ArchivedAt.IsZero() })
	}
	return record.FilterScope(all, scope, q, siteOwner), err
}

// Activities lists the activities of the last 24 hours within the scope, newest
// first.
func (s *Service) Activities(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Activity, string, error) {
	var ids []string
	if q.SiteID == "" && q.CustomerID == "" {
		err := s.records.View(ctx, func(tx store.Tx) error {
			own, err := s.SitesIn(tx, scope, q)
			for _, site := range own {
				ids = append(ids, site.SiteID)
			}
			return err
		})
		if err != nil {
			return nil, "", fmt.Errorf("list sites: %w", err)
		}
	}
	return s.activities.List(ctx, scope, q, ids)
}

// SetSite creates a site, or removes the values of fields that clear names, of
// [api.ClearableSettings], and changes the fields that are given. It returns the
// site as it is now. A new site needs a customer, unless the scope has
// just one; its zone is UTC until it is set. The zone cannot change once there
// is telemetry, which is kept by the site's own days.
func (s *Service) SetSite(ctx context.Context, scope api.Scope, change api.Site, clear ...string) (api.Site, error) {
	if err := checkSite(change); err != nil {
		return api.Site{}, err
	}
	if change.CustomerID == "" {
		change.CustomerID = soleCustomer(scope)
	}
	find := func(tx store.Tx) (site api.Site, there bool, err error) {
		site, err = s.findSite(tx, scope, change.CustomerID, change.SiteID)
		if errors.Is(err, api.ErrSiteNotFound) || errors.Is(err, api.ErrForbidden) {
			return site, false, nil // at most another customer's
		}
		return site, err == nil, err
	}
	// Read outside the transaction: the telemetry is another store.
	hasData := false
	err := s.records.View(ctx, func(tx store.Tx) error {
		site, there, err := find(tx)
		if err == nil && there {
			_, _, hasData, err = s.telemetry.Period(ctx, site.SiteID, "")
		}
		return err
	})
	if err != nil {
		return api.Site{}, fmt.Errorf("read the period of site %s: %w", change.SiteID, err)
	}
	var site api.Site
	err = s.records.Update(ctx, func(tx store.Tx) error {
		var err error
		var there bool
		if site, there, err = find(tx); err != nil {
			return err
		}
		if !there {
			site, err = s.newSite(tx, scope, change)
			return err
		}
		if hasData && change.Timezone != "" && change.Timezone != site.Timezone {
			return api.Conflict("Site %s has telemetry, which is kept by the days of %s: its time zone cannot change", site.SiteID, site.Timezone)
		}
		siteSettings(&site).clear(clear)
		site = merged(site, change)
		if err := siteSettings(&site).check(); err != nil {
			return err // of the ratio of a rating that is given to one that was there
		}
		if err := s.putSite(tx, &site); err != nil {
			return fmt.Errorf("store site %s: %w", site.SiteID, err)
		}
		if site.AssetCount, err = countAssets(tx, site.SiteID); err != nil {
			return err
		}
		return s.activities.Record(tx, activity.Record{Phase: api.PhaseAct, Title: "Site changed", Description: site.Name, SiteID: site.SiteID,
			CustomerID: site.CustomerID, Actor: scope.Actor})
	})
	return site, err
}

// soleCustomer is the only customer of the scope, or empty.
func soleCustomer(scope api.Scope) string {
	if len(scope.Customers) == 1 && scope.Customers[0] != api.Every {
		return scope.Customers[0]
	}
	return ""
}

// newSite stores a site that the customer does not have, within the
// transaction, under the key that it gets.
func (s *Service) newSite(tx store.Tx, scope api.Scope, site api.Site) (api.Site, error) {
	if site.CustomerID == "" {
		if site.CustomerID = soleCustomer(scope); site.CustomerID == "" {
			return site, api.MissingField("customer_id")
		}
	}
	id := api.PublicSiteID(site.SiteID)
	var err error
	if site.SiteID, _, err = newSiteKey(tx, site.CustomerID, site.SiteID); err != nil {
		return site, err
	}
	if err := scope.Check(site.CustomerID, site.SiteID); err != nil {
		return site, err
	}
	full, err := sites.Full(tx, store.Query{Index: "customer", Prefix: store.Key(site.CustomerID)}, api.MaxSites)
	switch {
	case err != nil:
		return site, err
	case full:
		return site, api.TooMany("Customer "+site.CustomerID, api.MaxSites, "sites")
	}
	if site.Name == "" {
		site.Name = id
	}
	if site.Timezone == "" {
		site.Timezone = "UTC"
	}
	if lat, lon, ok := Coordinates(site.Location); ok && site.Latitude == nil && site.Longitude == nil {
		site.Latitude, site.Longitude = &lat, &lon
	}
	if site.TerminalDeviceID == "" {
		site.TerminalDeviceID = TerminalOf(site)
	}
	site.AssetCount = 0
	site.CreatedAt = api.At(s.now())
	if err := s.putSite(tx, &site); err != nil {
		return site, fmt.Errorf("store site %s: %w", site.SiteID, err)
	}
	return site, s.activities.Record(tx, activity.Record{Phase: api.PhaseAct, Title: "Site created", Description: site.Name + ", " + site.Timezone,
		SiteID: site.SiteID, CustomerID: site.CustomerID, Actor: scope.Actor})
}

// merged is site with the fields of change that are given.
func merged(site, change api.Site) api.Site {
	record.SetIfGiven(&site.Name, change.Name)
	record.SetIfGiven(&site.Location, change.Location)
	record.SetIfGiven(&site.Timezone, change.Timezone)
	record.SetIfGiven(&site.Currency, change.Currency)
	record.SetIfGiven(&site.TerminalDeviceID, change.TerminalDeviceID)
	record.SetIfGiven(&site.CapacityKW, change.CapacityKW)
	record.SetIfGiven(&site.TariffPerKWh, change.TariffPerKWh)
	record.SetIfGiven(&site.Latitude, change.Latitude)
	record.SetIfGiven(&site.Longitude, change.Longitude)
	record.SetIfGiven(&site.TiltDeg, change.TiltDeg)
	record.SetIfGiven(&site.AzimuthDeg, change.AzimuthDeg)
	siteSettings(&site).merge(siteSettings(&change))
	record.SetIfGiven(&site.Availability, change.Availability)
	if lat, lon, ok := Coordinates(change.Location); ok && change.Latitude == nil && change.Longitude == nil {
		site.Latitude, site.Longitude = &lat, &lon
	}
	return site
}

// Coordinates reads a location written as "latitude,longitude" in degrees.
func Coordinates(location string) (lat, lon float64, ok bool) {
	a, b, two := strings.Cut(location, ",")
	if !two {
		return 0, 0, false
	}
	lat, err1 := strconv.ParseFloat(strings.TrimSpace(a), 64)
	lon, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	ok = err1 == nil && err2 == nil && record.Within(lat, -90, 90) && record.Within(lon, -180, 180)
	return lat, lon, ok
}

// CheckNames checks the fields of a site that another request carries.
func CheckNames(s api.Site) error { return checkSite(s) }

func checkSite(s api.Site) error {
	if err := record.CheckText("site_id", api.PublicSiteID(s.SiteID)); err != nil {
		return err
	}
	if s.CustomerID != "" {
		if err := record.CheckText("customer_id", s.CustomerID); err != nil {
			return err
		}
	}
	if s.Name != "" {
		if err := record.CheckText("name", s.Name); err != nil {
			return err
		}
	}
	if s.TerminalDeviceID != "" {
		if err := record.CheckText("terminal_device_id", s.TerminalDeviceID); err != nil {
			return err
		}
	}
	if s.Timezone != "" {
		if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
			return api.InvalidField("timezone", fmt.Sprintf("%q is not an IANA time zone such as Europe/Vienna", s.Timezone))
		}
	}
	if (s.Latitude == nil) != (s.Longitude == nil) {
		return api.InvalidField("latitude", "latitude and longitude come together")
	}
	at := func(p *float64) float64 {
		if p == nil {
			return 0
		}
		return *p
	}
	for _, f := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"latitude", at(s.Latitude), -90, 90},
		{"longitude", at(s.Longitude), -180, 180},
		{"tilt_deg", at(s.TiltDeg), 0, 90},
		{"azimuth_deg", at(s.AzimuthDeg), 0, 360},
		{"capacity_kw", s.CapacityKW, 0, 1e8},
		{"tariff_per_kwh", s.TariffPerKWh, 0, 1e6},
	} {
		if !record.Within(f.value, f.low, f.high) {
			return api.InvalidField(f.name, fmt.Sprintf("%g is not within %g to %g", f.value, f.low, f.high))
		}
	}
	if err := siteSettings(&s).check(); err != nil {
		return err
	}
	if err := s.Availability.Check("availability"); err != nil {
		return err
	}
	if s.Currency != "" && (len(s.Currency) != 3 || strings.ToUpper(s.Currency) != s.Currency) {
		return api.InvalidField("currency", fmt.Sprintf("%q is not an ISO 4217 code such as EUR", s.Currency))
	}
	return nil
}

// DeleteUnused deletes a site without units, and answers whether it did.
func (s *Service) DeleteUnused(tx store.Tx, siteID string) (bool, error) {
	n, err := countAssets(tx, siteID)
	if err != nil || n > 0 {
		return false, err
	}
	if err := errors.Join(sites.Delete(tx, store.Key(siteID)), siteClaims.Delete(tx, store.Key(siteID))); err != nil {
		return false, fmt.Errorf("delete site %s: %w", siteID, err)
	}
	return true, nil
}

// ReplaceCapacity sets the capacity of a site in kW if it has still the former one.
func (s *Service) ReplaceCapacity(tx store.Tx, siteID string, former, kW float64) error {
	site, err := sites.Get(tx, store.Key(siteID))
	if err != nil {
		return fmt.Errorf("read site %s: %w", siteID, err)
	}
	if site.CapacityKW != former || former == kW {
		return nil
	}
	site.CapacityKW = kW
	if err := s.putSite(tx, &site); err != nil {
		return fmt.Errorf("replace the capacity of site %s: %w", siteID, err)
	}
	return nil
}
