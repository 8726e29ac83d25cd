package site

import (
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// maxComponents is how many components, and as many former ones, are kept of
// an asset.
const maxComponents = 200

// SetAsset removes the values of fields that clear names, of [api.ClearableSettings],
// changes the fields of an asset that are given, and returns it before and after.
// Id, site, customer, zone and components stay.
func (s *Service) SetAsset(ctx context.Context, scope api.Scope, ref api.AssetRef, change api.Asset, clear ...string) (before, after api.Asset, err error) {
	return s.changeAsset(ctx, scope, ref, change.Version, "Asset changed", func(a *api.Asset) (string, error) {
		record.SetIfGiven(&a.Name, change.Name)
		record.SetIfGiven(&a.Type, change.Type)
		record.SetIfGiven(&a.Location, change.Location)
		record.SetIfGiven(&a.WarrantyExpiryDate, change.WarrantyExpiryDate)
		record.SetIfGiven(&a.TerminalDeviceID, change.TerminalDeviceID)
		record.SetIfGiven(&a.CapacityKW, change.CapacityKW)
		record.SetIfGiven(&a.RatedPowerKW, change.RatedPowerKW)
		record.SetIfGiven(&a.CapacityKWh, change.CapacityKWh)
		record.SetIfGiven(&a.WarrantyThroughputKWh, change.WarrantyThroughputKWh)
		record.SetIfGiven(&a.Latitude, change.Latitude)
		record.SetIfGiven(&a.Longitude, change.Longitude)
		record.SetIfGiven(&a.TiltDeg, change.TiltDeg)
		record.SetIfGiven(&a.AzimuthDeg, change.AzimuthDeg)
		record.SetIfGiven(&a.StringCount, change.StringCount)
		assetSettings(a).clear(clear)
		assetSettings(a).merge(assetSettings(&change))
		return a.Name, checkAsset(*a)
	})
}

// InstallComponent puts a component into an asset, on the day that it names or
// today; the one whose serial is former leaves on that day, unless former is
// empty.
func (s *Service) InstallComponent(ctx context.Context, scope api.Scope, ref api.AssetRef, version int, c api.Component, former string) (before, after api.Asset, err error) {
	return s.changeAsset(ctx, scope, ref, version, "Component installed", func(a *api.Asset) (string, error) {
		if c.InstalledDate == "" {
			c.InstalledDate = s.dayOf(*a)
		}
		c.RemovedDate = ""
		if err := s.checkComponent(*a, c); err != nil {
			return "", err
		}
		what := c.OEM + " " + c.Model + " " + c.Serial
		at := len(a.Components)
		if former != "" {
			i, out, err := removedComponent(*a, former, c.InstalledDate)
			if err != nil {
				return "", err
			}
			at, a.FormerComponents = i, slices.Insert(a.FormerComponents, 0, out)
			a.Components = slices.Delete(a.Components, i, i+1)
			what += ", replaces " + former
		}
		if slices.ContainsFunc(a.Components, func(o api.Component) bool { return o.Serial == c.Serial }) {
			return "", api.AlreadyExists("Asset %s has a component with the serial %s already", a.AssetID, c.Serial)
		}
		a.Components = slices.Insert(a.Components, at, c)
		if len(a.Components) > maxComponents {
			return "", api.LimitReached("Asset %s has %d components, which is the most", a.AssetID, maxComponents)
		}
		return what, nil
	})
}

// RemoveComponent takes the component of a serial out of an asset, today.
func (s *Service) RemoveComponent(ctx context.Context, scope api.Scope, ref api.AssetRef, version int, serial string) (before, after api.Asset, err error) {
	return s.changeAsset(ctx, scope, ref, version, "Component removed", func(a *api.Asset) (string, error) {
		i, out, err := removedComponent(*a, serial, s.dayOf(*a))
		if err != nil {
			return "", err
		}
		a.Components = slices.Delete(a.Components, i, i+1)
		a.FormerComponents = slices.Insert(a.FormerComponents, 0, out)
		return out.OEM + " " + out.Model + " " + out.Serial, nil
	})
}

// removedComponent returns the component of a serial with the day of its removal, and its
// index in the list.
func removedComponent(a api.Asset, serial, day string) (at int, c api.Component, err error) {
	at = slices.IndexFunc(a.Components, func(c api.Component) bool { return c.Serial == serial })
	if at < 0 {
		return at, c, api.ErrComponentNotFound
	}
	c = a.Components[at]
	if c.InstalledDate > day {
		return at, c, api.InvalidField("component.installed_date", "component "+serial+" was installed later, on "+c.InstalledDate)
	}
	c.RemovedDate = day
	return at, c, nil
}

func (s *Service) dayOf(a api.Asset) string {
	return s.now().In(record.Zone(a.Timezone)).Format(time.DateOnly)
}

func (s *Service) checkComponent(a api.Asset, c api.Component) error {
	for _, f := range []struct{ name, value string }{{"component.oem", c.OEM}, {"component.model", c.Model}, {"component.serial", c.Serial}} {
		if err := record.CheckText(f.name, f.value); err != nil {
			return err
		}
	}
	if c.Kind != "" {
		if err := record.CheckText("component.kind", c.Kind); err != nil {
			return err
		}
	}
	switch _, err := time.Parse(time.DateOnly, c.InstalledDate); {
	case err != nil:
		return api.InvalidField("component.installed_date", "a date such as 2026-11-28")
	case c.InstalledDate > s.dayOf(a):
		return api.InvalidField("component.installed_date", "it lies ahead")
	}
	return nil
}

// changeAsset changes an asset in one transaction, if it has the version that
// is given (0: any). change returns a description of the change.
func (s *Service) changeAsset(ctx context.Context, scope api.Scope, ref api.AssetRef, version int, title string, change func(*api.Asset) (string, error)) (before, after api.Asset, err error) {
	found, err := s.Asset(ctx, scope, ref)
	if err != nil {
		return before, after, err
	}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		was, err := assets.Get(tx, assetKey(found))
		if err != nil {
			return fmt.Errorf("read asset %s: %w", found.AssetID, err)
		}
		if version != 0 && version != was.Version {
			return api.VersionConflict("Asset %s is at version %d by now", was.AssetID, was.Version)
		}
		before, after = was, was
		after.Components, after.FormerComponents = slices.Clone(was.Components), slices.Clone(was.FormerComponents)
		what, err := change(&after)
		if err != nil {
			return err
		}
		after.FormerComponents = after.FormerComponents[:min(len(after.FormerComponents), maxComponents)]
		after.Version++
		if err := s.putAsset(tx, &after); err != nil {
			return fmt.Errorf("store asset %s: %w", after.AssetID, err)
		}
		return s.activities.Record(tx, activity.Record{Phase: api.PhaseAct, Title: title, Description: what, SiteID: after.SiteID,
			CustomerID: after.CustomerID, AssetID: after.AssetID, Actor: scope.Actor})
	})
	return before, after, err
}
