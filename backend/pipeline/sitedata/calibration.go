package sitedata

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
)

// Calibration is what a model has learned of the width of its bands since its
// training. It is stored apart from the artefact.
type Calibration struct {
	SiteID string    `json:"site_id" limit:"id"`
	Hash   string    `json:"hash" limit:"name"` // of the artefact
	To     time.Time `json:"to"`                // the site's midnight up to which actuals were seen
	State  []byte    `json:"state" limit:"16MiB"`
}

var calibrations = store.Table[Calibration]{
	Bucket: "calibrations",
	Key:    func(c Calibration) []byte { return store.Key(c.SiteID, c.Hash) },
}

// Calibration returns the stored calibration of a model, empty without one.
func (d *Data) Calibration(ctx context.Context, m model.Model) (c Calibration, err error) {
	err = d.Records.View(ctx, func(tx store.Tx) error {
		c, err = calibrations.Get(tx, store.Key(m.SiteID, m.Hash))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return Calibration{SiteID: m.SiteID, Hash: m.Hash}, nil
	}
	if err != nil {
		return c, fmt.Errorf("read the calibration of site %s: %w", m.SiteID, err)
	}
	return c, nil
}

// Calibrate applies a calibration to a model that was just decoded, and returns
// what it applied: an empty one if it cannot be read.
func (d *Data) Calibrate(record model.Model, c Calibration, m *forecast.Model) Calibration {
	if c.State == nil {
		return c
	}
	if err := m.Calibrate(c.State); err != nil {
		d.Logger.Warn("calibration unreadable, will be learned again", "site", record.SiteID, "model", record.ModelVersion, "error", err)
		return Calibration{SiteID: record.SiteID, Hash: record.Hash}
	}
	return c
}

// StoreCalibration stores a calibration and deletes those of the site's other
// models, which would be outdated when these return to production.
func (d *Data) StoreCalibration(ctx context.Context, c Calibration) error {
	err := d.Records.Update(ctx, func(tx store.Tx) error {
		all, _, err := calibrations.List(tx, store.Query{Prefix: store.Key(c.SiteID)})
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.Hash == c.Hash {
				continue
			}
			if err := calibrations.Delete(tx, calibrations.Key(other)); err != nil {
				return err
			}
		}
		return calibrations.Put(tx, c)
	})
	if err != nil {
		return fmt.Errorf("store the calibration of site %s: %w", c.SiteID, err)
	}
	return nil
}
