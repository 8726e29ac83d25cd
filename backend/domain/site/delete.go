package site

import (
	"errors"
	"fmt"
	"slices"

	"app.sunloop/backend/store"
)

// DeleteAsset deletes a unit that has no telemetry; an unknown one is no error.
func (s *Service) DeleteAsset(tx store.Tx, siteID, assetID string) error {
	key := store.Key(siteID, assetID)
	if err := errors.Join(assets.Delete(tx, key), tx.Delete(estimatesBucket, key)); err != nil {
		return fmt.Errorf("delete asset %s: %w", assetID, err)
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
	if err := sites.Put(tx, site); err != nil {
		return fmt.Errorf("replace the capacity of site %s: %w", siteID, err)
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
	if err := assets.Put(tx, first); err != nil {
		return fmt.Errorf("store asset %s: %w", to, err)
	}
	return s.DeleteAsset(tx, siteID, from)
}
