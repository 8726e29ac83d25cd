package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/names"
	"app.sunloop/backend/store"
)

// assets are keyed by site and id. Within a customer an id is added once; two
// files of two sites may still name their units alike, and then the site says
// which is meant.
var assets = store.Table[api.Asset]{
	Bucket: "assets",
	Key:    assetKey,
	Indexes: []store.Index[api.Asset]{
		{Name: "id", Key: func(a api.Asset) []byte { return store.Key(a.AssetID, a.CustomerID) }},
		{Name: "customer", Key: func(a api.Asset) []byte { return store.Key(a.CustomerID) }},
	},
	Form: store.As(newAssetRecord, assetRecord.toAPI),
}

func assetKey(a api.Asset) []byte { return store.Key(a.SiteID, a.AssetID) }

// AssetOwner returns the customer, site and id of an asset, for [record.FilterScope].
func AssetOwner(a api.Asset) (customer, site, asset string) { return a.CustomerID, a.SiteID, a.AssetID }

// roomForUnit refuses a unit of a site that has as many as there may be.
func roomForUnit(tx store.Tx, siteID string) error {
	full, err := assets.Full(tx, store.Query{Prefix: store.Key(siteID)}, api.MaxUnits)
	if full {
		return api.TooMany("Site "+siteID, api.MaxUnits, "units")
	}
	return err
}

func countAssets(tx store.Tx, siteID string) (int, error) {
	n := 0
	prefix := store.Key(siteID)
	for _, err := range tx.Scan(assets.Bucket, prefix, store.After(prefix), false) {
		if err != nil {
			return 0, fmt.Errorf("count the assets of site %s: %w", siteID, err)
		}
		n++
	}
	return n, nil
}

// Asset returns an asset within the scope; [api.ErrAssetNotFound] for an
// unknown id, [api.ErrForbidden] if all of that id are others'.
func (s *Service) Asset(ctx context.Context, scope api.Scope, ref api.AssetRef) (api.Asset, error) {
	var asset api.Asset
	err := s.records.View(ctx, func(tx store.Tx) error {
		list, _, err := assets.List(tx, store.Query{Index: "id", Prefix: store.Key(ref.AssetID)})
		if err != nil {
			return fmt.Errorf("look up asset %s: %w", ref.AssetID, err)
		}
		there := len(list) > 0
		list = record.FilterScope(list, scope, api.ListQuery{CustomerID: ref.CustomerID, SiteID: ref.SiteID}, AssetOwner)
		switch {
		case slices.ContainsFunc(list, func(a api.Asset) bool { return a.CustomerID != list[0].CustomerID }):
			return api.ErrAmbiguousAsset
		case len(list) > 0:
			asset = list[0]
			return nil
		case there && ref.CustomerID == "" && ref.SiteID == "":
			return api.ErrForbidden
		case ref.SiteID != "" && !scope.CanSite(ref.SiteID):
			return api.ErrForbidden
		default:
			return api.ErrAssetNotFound
		}
	})
	return asset, err
}

// Assets lists the assets within the scope by id.
func (s *Service) Assets(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Asset, string, error) {
	list, next, err := record.SortedList[api.Asset]{
		Table: assets, Query: record.Narrowest(q),
		Keep: func(a *api.Asset) bool {
			return record.Matches(scope, q)(AssetOwner(*a)) && q.SinceUnix(a.UpdatedAtMS, a.CreatedAt) && record.Is(q.Filter.Type, a.Type)
		},
		Order: func(a *api.Asset) record.SortKey { return record.SortKey{}.Text(a.AssetID) },
	}.Page(ctx, s.records, q.Page)
	return list, next, record.Wrap(err, "list assets")
}

// putAsset stores an asset with the time.
func (s *Service) putAsset(tx store.Tx, a *api.Asset) error {
	a.UpdatedAtMS = s.now().UnixMilli()
	return assets.Put(tx, *a)
}

// AssetIn returns an asset of a site, or [store.ErrNotFound].
func AssetIn(tx store.Tx, siteID, assetID string) (api.Asset, error) {
	return assets.Get(tx, assetKey(api.Asset{SiteID: siteID, AssetID: assetID}))
}

// SiteAssets are all assets of a site by id, for the service itself, without
// their components.
func (s *Service) SiteAssets(ctx context.Context, siteID string) ([]api.Asset, error) {
	var list []api.Asset
	err := s.records.View(ctx, func(tx store.Tx) (err error) {
		list, err = AssetsWithoutComponents(tx, store.Query{Prefix: store.Key(siteID)})
		return err
	})
	return list, record.Wrap(err, "list the assets of site "+siteID)
}

// EachAsset calls do with each asset of a site, by id.
func EachAsset(tx store.Tx, siteID string, do func(api.Asset) error) error {
	return assets.Each(tx, store.Query{Prefix: store.Key(siteID)}, do)
}

// AssetsWithoutComponents are the assets of a query, of which there may be thousands.
func AssetsWithoutComponents(tx store.Tx, q store.Query) (list []api.Asset, err error) {
	err = assets.Each(tx, q, func(a api.Asset) error {
		a.Components, a.FormerComponents = nil, nil
		list = append(list, a)
		return nil
	})
	return list, err
}

// AddAsset stores a new asset. A site that the asset names must exist. Without one
// it belongs to the only site of the customer, or of the scope if it names no customer
// and the scope covers several; of several sites it belongs to the one with its location. A
// customer whose other sites are elsewhere gets a new site for it. A second asset
// of that id is a 409.
func (s *Service) AddAsset(ctx context.Context, scope api.Scope, asset api.Asset) (api.Asset, error) {
	if err := checkAsset(asset); err != nil {
		return api.Asset{}, err
	}
	want := asset
	err := s.records.Update(ctx, func(tx store.Tx) error {
		asset = want
		site, err := s.findOrCreateSite(tx, scope, asset)
		if err != nil {
			return err
		}
		asset.SiteID, asset.CustomerID = site.SiteID, site.CustomerID
		same, _, err := assets.List(tx, store.Query{Index: "id", Prefix: store.Key(asset.AssetID, asset.CustomerID), Limit: 1})
		if err != nil {
			return fmt.Errorf("look up asset %s: %w", asset.AssetID, err)
		}
		if len(same) > 0 {
			return api.AlreadyExists("Asset %s exists already", asset.AssetID).With("site_id", same[0].SiteID)
		}
		if err := checkNewID("asset_id", asset.AssetID); err != nil {
			return err
		}
		if err := roomForUnit(tx, site.SiteID); err != nil {
			return err
		}
		if asset.Timezone == "" {
			asset.Timezone = site.Timezone
		}
		asset.CreatedAt, asset.Version, asset.FormerComponents, asset.FormerIDs = api.At(s.now()), 1, nil, nil
		if err := s.putAsset(tx, &asset); err != nil {
			return fmt.Errorf("store asset %s: %w", asset.AssetID, err)
		}
		return s.activities.Record(tx, activity.Record{Phase: api.PhaseAct, Title: "Asset added", Description: asset.Name, SiteID: asset.SiteID,
			CustomerID: asset.CustomerID, AssetID: asset.AssetID, Actor: scope.Actor})
	})
	return asset, err
}

// findOrCreateSite returns the site of a new asset, see [Service.AddAsset].
func (s *Service) findOrCreateSite(tx store.Tx, scope api.Scope, asset api.Asset) (api.Site, error) {
	customer := cmp.Or(asset.CustomerID, soleCustomer(scope))
	if asset.SiteID != "" {
		site, err := s.findSite(tx, scope, customer, asset.SiteID)
		if (errors.Is(err, api.ErrSiteNotFound) || errors.Is(err, api.ErrForbidden)) && customer != "" && scope.CanWholeCustomer(customer) {
			err = api.ErrOwnSiteNotFound // another customer's site of this id is none of the caller's
		}
		return site, err
	}
	own, err := s.SitesIn(tx, scope, api.ListQuery{CustomerID: customer})
	if err != nil {
		return api.Site{}, fmt.Errorf("list the sites of customer %s: %w", customer, err)
	}
	if len(own) > 1 {
		at := slices.DeleteFunc(slices.Clone(own), func(v api.Site) bool {
			return !slices.ContainsFunc([]string{v.Location, v.Name, api.PublicSiteID(v.SiteID)}, func(place string) bool { return strings.EqualFold(place, asset.Location) })
		})
		if len(at) == 1 {
			own = at
		}
	}
	switch {
	case len(own) == 1:
		return own[0], nil
	case customer == "":
		return api.Site{}, api.MissingField("customer_id")
	case len(own) == 0 && !slices.Contains(scope.Customers, customer):
		return api.Site{}, api.ErrCustomerNotFound
	case !scope.CanWholeCustomer(customer):
		return api.Site{}, api.MissingField("site_id")
	}
	siteID := customer + " " + asset.Location // as former versions named it
	site, err := s.findSite(tx, scope, customer, siteID)
	if errors.Is(err, api.ErrSiteNotFound) || errors.Is(err, api.ErrForbidden) {
		siteID = names.NewID(siteID)
		site, err = s.findSite(tx, scope, customer, siteID)
	}
	if err == nil || !errors.Is(err, api.ErrSiteNotFound) && !errors.Is(err, api.ErrForbidden) {
		return site, err
	}
	site = api.Site{SiteID: siteID, CustomerID: customer, Location: asset.Location, Timezone: asset.Timezone,
		Latitude: asset.Latitude, Longitude: asset.Longitude}
	if err := checkSite(site); err != nil {
		return site, err
	}
	return s.newSite(tx, scope, site)
}

func checkAsset(a api.Asset) error {
	for _, f := range []struct{ name, value string }{{"asset_id", a.AssetID}, {"name", a.Name}, {"type", a.Type}} {
		if err := record.CheckText(f.name, f.value); err != nil {
			return err
		}
	}
	switch {
	case a.CapacityKW == 0:
		return api.MissingField("capacity_kw")
	case !record.Finite(a.CapacityKW) || a.CapacityKW < 0 || a.CapacityKW > 1e8:
		return api.InvalidField("capacity_kw", fmt.Sprintf("%g is not a positive number of kilowatts", a.CapacityKW))
	case a.Location == "":
		return api.MissingField("location")
	}
	for name, kWh := range map[string]float64{"capacity_kwh": a.CapacityKWh, "warranty_throughput_kwh": a.WarrantyThroughputKWh} {
		if !record.Finite(kWh) || kWh < 0 || kWh > 1e12 {
			return api.InvalidField(name, "a number of kWh of 0 or more")
		}
	}
	switch _, err := api.ParseTime(a.WarrantyExpiryDate, time.UTC); {
	case a.WarrantyExpiryDate != "" && err != nil:
		return api.InvalidField("warranty_expiry_date", "a date such as 2031-06-30")
	case a.StringCount < 0 || a.StringCount > 1e5:
		return api.InvalidField("string_count", "a whole number from 1 to 100000")
	}
	if err := assetSettings(&a).check(); err != nil {
		return err
	}
	for _, c := range a.Components {
		for _, f := range []struct{ name, value string }{{"oem", c.OEM}, {"model", c.Model}, {"serial", c.Serial}} {
			if f.value == "" {
				return api.MissingField("components." + f.name)
			}
		}
	}
	return checkSite(api.Site{SiteID: "-", Timezone: a.Timezone, Latitude: a.Latitude, Longitude: a.Longitude,
		TiltDeg: a.TiltDeg, AzimuthDeg: a.AzimuthDeg, CapacityKW: a.RatedPowerKW, TerminalDeviceID: a.TerminalDeviceID})
}

// CreateAssetIfMissing stores an asset that a file named, unless the site has one of
// that id, and answers the one that is there.
func (s *Service) CreateAssetIfMissing(tx store.Tx, asset api.Asset) (api.Asset, bool, error) {
	there, err := assets.Get(tx, assetKey(asset))
	if err == nil {
		return there, false, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return asset, false, fmt.Errorf("read asset %s: %w", asset.AssetID, err)
	}
	if err := roomForUnit(tx, asset.SiteID); err != nil {
		return asset, false, err
	}
	asset.CreatedAt, asset.Version = api.At(s.now()), 1
	err = s.putAsset(tx, &asset)
	return asset, true, err
}

// CreateSiteIfMissing stores a site that an upload named, unless there is one: that one
// takes capacity and place from the upload where it has none.
func (s *Service) CreateSiteIfMissing(tx store.Tx, site api.Site, actor string) (is api.Site, made bool, err error) {
	there, err := sites.Get(tx, store.Key(site.SiteID))
	if errors.Is(err, store.ErrNotFound) {
		is, err = s.newSite(tx, api.Unlimited(actor), site)
		return is, true, err
	}
	if err != nil {
		return site, false, fmt.Errorf("read site %s: %w", site.SiteID, err)
	}
	var change api.Site
	if there.CapacityKW == 0 {
		change.CapacityKW = site.CapacityKW
	}
	if there.Location == "" {
		change.Location = site.Location
	}
	if lat, lon, ok := Coordinates(site.Location); ok && there.Latitude == nil {
		change.Latitude, change.Longitude = &lat, &lon
	}
	if change == (api.Site{}) {
		return there, false, nil
	}
	there = merged(there, change)
	err = s.putSite(tx, &there)
	return there, false, err
}

// AssetsInTx are all assets of a site by id, inside the transaction.
func (s *Service) AssetsInTx(tx store.Tx, siteID string) ([]api.Asset, error) {
	list, _, err := assets.List(tx, store.Query{Prefix: store.Key(siteID)})
	if err != nil {
		return nil, fmt.Errorf("list the assets of site %s: %w", siteID, err)
	}
	return list, nil
}

// estimatesBucket marks the assets whose capacity was taken from their power:
// it rises with what they show later.
const estimatesBucket = "capacity-estimates"

// MarkEstimated remembers that an asset's capacity is an estimate.
func (s *Service) MarkEstimated(tx store.Tx, asset api.Asset) error {
	return tx.Put(estimatesBucket, assetKey(asset), []byte{1})
}

// Estimated says whether an asset's capacity is an estimate.
func (s *Service) Estimated(tx store.Tx, asset api.Asset) (bool, error) {
	_, err := tx.Get(estimatesBucket, assetKey(asset))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// EstimatedOf returns the ids of those assets whose capacity is an estimate.
func (s *Service) EstimatedOf(tx store.Tx, list []api.Asset) (map[string]bool, error) {
	keys := make([][]byte, len(list))
	for i, a := range list {
		keys[i] = assetKey(a)
	}
	values, err := store.GetMany(tx, estimatesBucket, keys)
	estimated := map[string]bool{}
	for i, v := range values {
		if v != nil {
			estimated[list[i].AssetID] = true
		}
	}
	return estimated, err
}

// EstimateCapacity sets the capacity of a unit, unless it has one that is not an
// estimate, or does not exist.
func (s *Service) EstimateCapacity(tx store.Tx, siteID, assetID string, kW float64) error {
	asset, err := assets.Get(tx, assetKey(api.Asset{SiteID: siteID, AssetID: assetID}))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read asset %s: %w", assetID, err)
	}
	estimated, err := s.Estimated(tx, asset)
	if err != nil || !estimated || kW == asset.CapacityKW {
		return err
	}
	asset.CapacityKW = kW
	if err := s.putAsset(tx, &asset); err != nil {
		return fmt.Errorf("estimate the capacity of asset %s: %w", assetID, err)
	}
	return nil
}

// RaiseCapacity sets an estimated capacity that turned out too low, and
// answers whether it did.
func (s *Service) RaiseCapacity(tx store.Tx, asset api.Asset, kW float64) (api.Asset, bool, error) {
	estimated, err := s.Estimated(tx, asset)
	if err != nil || !estimated || kW <= asset.CapacityKW {
		return asset, false, err
	}
	asset.CapacityKW = kW
	if err := s.putAsset(tx, &asset); err != nil {
		return asset, false, fmt.Errorf("raise the capacity of asset %s: %w", asset.AssetID, err)
	}
	return asset, true, nil
}

// DeleteAsset deletes a unit that has no telemetry; an unknown one is no error.
func (s *Service) DeleteAsset(tx store.Tx, siteID, assetID string) error {
	key := store.Key(siteID, assetID)
	if err := errors.Join(assets.Delete(tx, key), tx.Delete(estimatesBucket, key)); err != nil {
		return fmt.Errorf("delete asset %s: %w", assetID, err)
	}
	return nil
}

// MergeAssets deletes a unit that was merged into another one, which keeps its id and
// name as former ones: files that name them are of it from now on.
func (s *Service) MergeAssets(tx store.Tx, siteID, to, from string) error {
	second, err := AssetIn(tx, siteID, from)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read asset %s: %w", from, err)
	}
	first, err := AssetIn(tx, siteID, to)
	if err != nil {
		return fmt.Errorf("read asset %s: %w", to, err)
	}
	for _, id := range append([]string{from, second.Name}, second.FormerIDs...) {
		if id != to && id != first.Name && !slices.Contains(first.FormerIDs, id) {
			first.FormerIDs = append(first.FormerIDs, id)
		}
	}
	first.Version++
	if err := s.putAsset(tx, &first); err != nil {
		return fmt.Errorf("store asset %s: %w", to, err)
	}
	return s.DeleteAsset(tx, siteID, from)
}
