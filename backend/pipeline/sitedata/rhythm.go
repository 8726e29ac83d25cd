package sitedata

import (
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/rhythm"
)

// UnitRhythm is what is remembered of the arrivals of the data of a unit. It is not part
// of the [State] of the site, which is read far more often.
type UnitRhythm struct {
	SiteID      string        `json:"site_id" limit:"id"`
	AssetID     string        `json:"asset_id" limit:"id"`
	Rhythm      rhythm.Record `json:"rhythm,omitzero"`       // by the plant's clock
	SilentSince time.Time     `json:"silent_since,omitzero"` // the last arrival before a silence that is a finding; zero: none
	SilentAt    time.Time     `json:"silent_at,omitzero"`    // when that finding was last recorded
}

var unitRhythms = store.Table[UnitRhythm]{
	Bucket: "unit-rhythms",
	Key:    func(u UnitRhythm) []byte { return store.Key(u.SiteID, u.AssetID) },
}

// AddArrivals remembers deliveries of units, by the time of their newest samples.
func AddArrivals(tx store.Tx, siteID string, now time.Time, newest map[string]time.Time) error {
	for id, at := range newest {
		u, err := unitRhythms.Get(tx, store.Key(siteID, id))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read the arrivals of unit %s: %w", id, err)
		}
		u.SiteID, u.AssetID = siteID, id
		u.Rhythm.Add(now, at)
		if err := unitRhythms.Put(tx, u); err != nil {
			return fmt.Errorf("store the arrivals of unit %s: %w", id, err)
		}
	}
	return nil
}

// UnitRhythms returns what is remembered of the units of a site.
func UnitRhythms(tx store.Tx, siteID string) ([]UnitRhythm, error) {
	list, _, err := unitRhythms.List(tx, store.Query{Prefix: store.Key(siteID)})
	if err != nil {
		return nil, fmt.Errorf("read the arrivals of the units of site %s: %w", siteID, err)
	}
	return list, nil
}

// PutUnitRhythm stores what is remembered of a unit.
func PutUnitRhythm(tx store.Tx, u UnitRhythm) error {
	if err := unitRhythms.Put(tx, u); err != nil {
		return fmt.Errorf("store the arrivals of unit %s: %w", u.AssetID, err)
	}
	return nil
}

// RemoveUnitRhythm forgets the arrivals of a unit, such as one that is part of another now.
func RemoveUnitRhythm(tx store.Tx, siteID, assetID string) error {
	key := store.Key(siteID, assetID)
	if _, err := unitRhythms.Get(tx, key); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err := unitRhythms.Delete(tx, key); err != nil {
		return fmt.Errorf("remove the arrivals of unit %s: %w", assetID, err)
	}
	return nil
}
