package ops

import (
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

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

// RaiseCapacity sets an estimated capacity that turned out too low, and
// answers whether it did.
func (s *Service) RaiseCapacity(tx store.Tx, asset api.Asset, kW float64) (api.Asset, bool, error) {
	estimated, err := s.Estimated(tx, asset)
	if err != nil || !estimated || kW <= asset.CapacityKW {
		return asset, false, err
	}
	asset.CapacityKW = kW
	if err := assets.Put(tx, asset); err != nil {
		return asset, false, fmt.Errorf("raise the capacity of asset %s: %w", asset.AssetID, err)
	}
	return asset, true, nil
}
