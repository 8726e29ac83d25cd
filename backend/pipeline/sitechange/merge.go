package sitechange

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// farPast and farFuture bound all telemetry.
var farPast, farFuture = time.Unix(-1<<40, 0), time.Unix(1<<40, 0)

// EffectsOfMerge counts what the merge of two units does.
func (c *Changer) EffectsOfMerge(ctx context.Context, scope api.Scope, siteID, to, from string) (e api.SiteEffects, err error) {
	if err := c.checkMerge(ctx, scope, siteID, to, from); err != nil {
		return e, err
	}
	var frames [2]series.Frame
	for i, id := range []string{to, from} {
		if frames[i], err = store.Collect(c.Telemetry.Read(ctx, siteID, id, farPast, farFuture)); err != nil {
			return e, fmt.Errorf("read the telemetry of asset %s: %w", id, err)
		}
	}
	first, second := frames[0], frames[1]
	i := 0
	for j, at := range second.Times {
		for i < first.Len() && first.Times[i] < at {
			i++
		}
		fills, equals, conflicts := false, false, false
		for _, col := range second.Columns {
			v := col.Values[j]
			if math.IsNaN(v) {
				continue
			}
			w := math.NaN()
			if own := first.Values(col.Quantity); own != nil && i < first.Len() && first.Times[i] == at {
				w = own[i]
			}
			switch {
			case math.IsNaN(w):
				fills = true
			case w == v:
				equals = true
			default:
				conflicts = true
			}
		}
		switch {
		case conflicts:
			if e.RowsConflict++; e.FirstConflict.IsZero() {
				e.FirstConflict = api.At(time.Unix(at, 0))
			}
		case fills:
			e.RowsFilled++
		case equals:
			e.RowsEqual++
		}
	}
	e.Notes = append(e.Notes, fmt.Sprintf("%s of %s moved into gaps of %s; %s in conflict: the values of %s are kept", display.CountOf(e.RowsFilled, "row", "rows"), from, to, display.CountOf(e.RowsConflict, "row", "rows"), to))
	return e, nil
}

// Merge begins to move the values, findings and work of a unit into another one of the
// same site.
func (c *Changer) Merge(ctx context.Context, scope api.Scope, siteID, to, from string) (api.Site, error) {
	if err := c.checkMerge(ctx, scope, siteID, to, from); err != nil {
		return api.Site{}, err
	}
	return c.begin(ctx, scope, siteID, site.Change{SiteChange: api.SiteChange{Kind: api.ChangeMerge, AssetID: to, FromAssetID: from}})
}

func (c *Changer) checkMerge(ctx context.Context, scope api.Scope, siteID, to, from string) error {
	return c.Records.View(ctx, func(tx store.Tx) error {
		if _, err := c.Domain.Sites.SiteIn(tx, scope, siteID); err != nil {
			return err
		}
		for _, id := range []string{to, from} {
			_, err := site.AssetIn(tx, siteID, id)
			if errors.Is(err, store.ErrNotFound) {
				return api.ErrAssetNotFound.With("asset_id", id)
			}
			if err != nil {
				return fmt.Errorf("read asset %s: %w", id, err)
			}
		}
		return nil
	})
}

// merge merges two units: first their telemetry, then their records. The telemetry of
// a unit that is merged already has nothing to add.
func (c *Changer) merge(ctx context.Context, change site.Change) error {
	is, err := c.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), change.SiteID)
	if err != nil {
		return err
	}
	to, from := change.AssetID, change.FromAssetID
	var first, last time.Time
	key := store.SiteKey{ID: is.SiteID, Zone: record.Zone(is.Timezone)}
	err = c.Telemetry.Rewrite(ctx, key, func(frames []store.AssetFrame) ([]store.AssetFrame, error) {
		var out []store.AssetFrame
		var second series.Frame
		for _, f := range frames {
			if f.AssetID == from {
				second = f.Frame
			} else {
				out = append(out, f)
			}
		}
		found := false
		for i := range out {
			if out[i].AssetID == to {
				out[i].Frame, found = series.Merge(second, out[i].Frame), true
			}
		}
		if !found && second.Len() > 0 {
			out = append(out, store.AssetFrame{AssetID: to, Frame: second})
		}
		if n := second.Len(); n > 0 {
			first, last = time.Unix(second.Times[0], 0), time.Unix(second.Times[n-1], 0)
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	if first.IsZero() { // the telemetry was merged before an interruption
		if first, last, _, err = c.Domain.Sites.DataPeriod(ctx, is.SiteID); err != nil {
			return err
		}
	}
	return c.Records.Update(ctx, func(tx store.Tx) error {
		if err := domain.RenameAsset(tx, is.SiteID, from, to); err != nil {
			return err
		}
		if c.RenameAsset != nil {
			if err := c.RenameAsset(tx, is.SiteID, from, to); err != nil {
				return err
			}
		}
		if err := sitedata.RemoveUnitRhythm(tx, is.SiteID, from); err != nil {
			return err
		}
		if err := c.Domain.Sites.MergeAssets(tx, is.SiteID, to, from); err != nil {
			return err
		}
		if err := c.dataChanged(tx, is.SiteID, first, last); err != nil {
			return err
		}
		if err := c.record(tx, change, "Units merged", from+" is now part of "+to); err != nil {
			return err
		}
		return c.Domain.Sites.EndChange(tx, is.SiteID)
	})
}

// dataChanged lets the jobs of a site look at telemetry that was changed.
func (c *Changer) dataChanged(tx store.Tx, siteID string, first, last time.Time) error {
	_, err := sitedata.UpdateState(tx, siteID, func(t *sitedata.State) {
		t.Data++
		t.AddHistory(first, last)
	})
	if err != nil {
		return err
	}
	return tx.Enqueue(c.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: siteID}))
}
