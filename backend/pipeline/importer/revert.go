package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// Revert undoes an import: it restores the values that the import replaced and
// deletes the others that it stored, and the units and the site that it alone
// created. Uploads may be reverted in any order.
func (im *Importer) Revert(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error) {
	u, err := im.Domain.Uploads.Get(ctx, uploadID)
	if errors.Is(err, store.ErrNotFound) {
		return api.Upload{}, api.ErrUploadNotFound
	}
	if err != nil {
		return api.Upload{}, err
	}
	if err := scope.Check(u.CustomerID, u.SiteID); err != nil {
		return api.Upload{}, err
	}
	if err := im.checkWritable(ctx, scope, u.SiteID); err != nil {
		return api.Upload{}, err
	}
	switch {
	case u.ProcessingStatus == api.UploadReverted:
		return u.Upload, api.InvalidTransition("Upload %s is reverted already", uploadID)
	case !u.Ended():
		return u.Upload, api.InProgress("Upload %s is being imported: cancel it, or revert it when it has ended", uploadID)
	case u.Version == 0:
		return u.Upload, api.Conflict("Upload %s stored nothing: it is %s", uploadID, u.ProcessingStatus)
	}
	site, err := im.Domain.Sites.Site(ctx, api.Unlimited(scope.Actor), u.SiteID)
	if err != nil {
		return u.Upload, err
	}
	parts, shape, err := im.partsOf(ctx, u, site)
	if err != nil {
		return u.Upload, err
	}
	edits, err := im.laterUploads(ctx, u, parts)
	if err != nil {
		return u.Upload, err
	}
	key := store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}
	var removed, restored int
	var left map[string]bool
	var peaks map[string]float64 // of the units that are left
	var last time.Time
	err = im.Telemetry.Rewrite(ctx, key, func(frames []store.AssetFrame) ([]store.AssetFrame, error) {
		removed, restored, left, peaks, last = 0, 0, map[string]bool{}, map[string]float64{}, time.Time{}
		var out []store.AssetFrame
		for _, f := range frames {
			if p := parts[f.AssetID]; p != nil {
				var gone, back int
				f.Frame, gone, back = p.undo(f.Frame)
				removed, restored = removed+gone, restored+back
			}
			if f.Frame.Len() > 0 {
				left[f.AssetID] = true
				if slices.Contains(u.NewAssetIDs, f.AssetID) {
					peaks[f.AssetID] = ratedFromPeak(f.Frame)
				}
				if at := time.Unix(f.Frame.Times[f.Frame.Len()-1], 0).UTC(); at.After(last) {
					last = at
				}
				out = append(out, f)
			}
		}
		return out, nil
	})
	if err != nil {
		return u.Upload, err
	}
	var after upload.Upload
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		others, err := im.Domain.Uploads.OfSite(tx, u.SiteID)
		if err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(o upload.Upload) bool { return o.UploadID == u.UploadID || !hasData(o) })
		for _, r := range edits {
			if err := im.Domain.Uploads.PutReplaced(tx, r); err != nil {
				return err
			}
		}
		if err := im.revertCapacities(tx, u, others, peaks); err != nil {
			return err
		}
		if err := im.Domain.Uploads.DropReplaced(tx, u.SiteID, u.UploadID); err != nil {
			return err
		}
		after, err = im.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadReverted, func(u *upload.Upload) {
			u.RowsRemoved, u.RowsRestored, u.RevertedBy = removed, restored, scope.Actor
			u.Stage, u.Progress = "", 1
		})
		if err != nil {
			return err
		}
		if err := im.revertMapping(tx, u, others, shape); err != nil {
			return err
		}
		if err := im.deleteCreated(tx, after, others, left); err != nil {
			return err
		}
		if len(left) == 0 && after.NewSite && len(others) == 0 {
			if deleted, err := im.Domain.Sites.DeleteUnused(tx, u.SiteID); err != nil || deleted {
				return errors.Join(err, im.recordRevert(tx, after, scope.Actor))
			}
		}
		if after.NewSite && u.Request.CapacityKW != 0 {
			if err := im.revertSiteCapacity(tx, u, others); err != nil {
				return err
			}
		}
		_, err = sitedata.UpdateState(tx, u.SiteID, func(t *sitedata.State) {
			t.Data++
			t.LastData = last
		})
		if err != nil {
			return err
		}
		if len(left) > 0 && u.Kind == api.UploadTrain {
			if err := tx.Enqueue(im.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: u.SiteID})); err != nil {
				return err
			}
		}
		return im.recordRevert(tx, after, scope.Actor)
	})
	if err != nil {
		return u.Upload, fmt.Errorf("revert upload %s: %w", uploadID, err)
	}
	return after.Upload, nil
}

func (im *Importer) recordRevert(tx store.Tx, u upload.Upload, actor string) error {
	return im.Domain.Activities.Record(tx, activity.Record{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseObserve, Title: "Import reverted",
		Description: fmt.Sprintf("%s: %s removed, %s restored to their former values", name(u), display.CountOf(u.RowsRemoved, "row", "rows"), display.CountOf(u.RowsRestored, "row", "rows")), Actor: actor})
}

// hasData reports whether an upload has stored values that are not reverted, or may
// store some yet.
func hasData(u upload.Upload) bool {
	return u.Version > 0 && u.ProcessingStatus != api.UploadReverted || !u.Ended()
}

// deleteCreated deletes the units that a reverted upload created, unless they have
// telemetry or one of the other uploads with data names them.
func (im *Importer) deleteCreated(tx store.Tx, u upload.Upload, others []upload.Upload, left map[string]bool) error {
	for _, id := range u.NewAssetIDs {
		used := left[id] || slices.ContainsFunc(others, func(o upload.Upload) bool {
			return slices.Contains(o.AssetIDs, id)
		})
		if used {
			continue
		}
		if err := im.Domain.Sites.DeleteAsset(tx, u.SiteID, id); err != nil {
			return err
		}
	}
	return nil
}

// unitRevert is what a revert has to undo of one unit.
type unitRevert struct {
	written series.Frame // values of the file, and those that were added besides
	before  series.Frame // values that were there
	later   map[sampleKey]bool
}

// sampleKey identifies a stored value of a unit.
type sampleKey struct {
	at       int64
	quantity series.Quantity
}

// partsOf reads an upload's file again, and what its import found stored. shape is
// that of the file's header.
func (im *Importer) partsOf(ctx context.Context, u upload.Upload, site api.Site) (parts map[string]*unitRevert, shape string, err error) {
	if u.ObjectKey == "" {
		return nil, "", api.Conflict("The file of upload %s is not kept any more, so that its values are not known", u.UploadID)
	}
	result, err := im.readAgain(ctx, u, "")
	if err != nil {
		return nil, "", err
	}
	_, units, err := im.siteAndUnits(ctx, u.Request.Of(u.CustomerID, u.SiteID))
	if err != nil {
		return nil, "", err
	}
	intoDays(result, record.Zone(site.Timezone))
	parts = map[string]*unitRevert{}
	of := func(id string) *unitRevert {
		if parts[id] == nil {
			parts[id] = &unitRevert{later: map[sampleKey]bool{}}
		}
		return parts[id]
	}
	named := map[string]string{}
	for _, a := range result.Assets {
		id := newAssetID(units, a.Name)
		if there := findAsset(units, a.Name); there != nil {
			id = there.AssetID
		}
		if other, ok := named[id]; ok { // which of both values is stored is not known
			return nil, "", api.Conflict("Units %s and %s of upload %s were merged into %s: what it stored of each is not known any more", other, a.Name, u.UploadID, id)
		}
		named[id] = a.Name
		of(id).written = series.Merge(of(id).written, a.Frame)
	}
	err = im.Records.View(ctx, func(tx store.Tx) error {
		list, err := im.Domain.Uploads.ReplacedBy(tx, u.SiteID, u.UploadID)
		if err != nil {
			return err
		}
		for _, r := range list {
			if r.Kind != upload.ReplacedBefore && r.Kind != upload.ReplacedFurther {
				continue
			}
			f, err := block.Decode(r.Values)
			if err != nil {
				return fmt.Errorf("read the values that upload %s replaced: %w", u.UploadID, err)
			}
			switch p := of(r.AssetID); r.Kind {
			case upload.ReplacedBefore:
				p.before = series.Merge(f, p.before) // what was found first is older
			case upload.ReplacedFurther:
				p.written = series.Merge(p.written, f)
			}
		}
		return nil
	})
	return parts, result.Shape, err
}

// readAgain reads the kept file of an upload as its import did, or in another time
// zone, if that is not empty.
func (im *Importer) readAgain(ctx context.Context, u upload.Upload, zone string) (*ingest.Result, error) {
	req := u.Request.Of(u.CustomerID, u.SiteID)
	if zone != "" {
		req.Timezone = zone
	}
	options, err := im.readOptions(ctx, req)
	if err != nil {
		return nil, err
	}
	options.Profile = nil // the mapping that was used is in the request
	if u.ValueKind != "" && u.ValueKind != ingest.KindPower {
		options.EnergyKind = u.ValueKind
	}
	if u.Bytes > api.MaxUploadBytes {
		return im.joinPieces(ctx, u, options)
	}
	object, err := im.Objects.Open(ctx, u.ObjectKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, api.Conflict("The file of upload %s is not kept any more, so that its values are not known", u.UploadID)
	}
	if err != nil {
		return nil, err
	}
	result, err := readWhole(object, options)
	if err := errors.Join(err, object.Close()); err != nil {
		return nil, fmt.Errorf("read the file of upload %s again: %w", u.UploadID, err)
	}
	return result, nil
}

// laterUploads finds the values of an upload that later ones have replaced or
// confirmed: these stay as they are, and what the later ones found before them
// becomes what this one found. edits are the parts of later uploads that change.
func (im *Importer) laterUploads(ctx context.Context, u upload.Upload, parts map[string]*unitRevert) (edits []upload.Replaced, err error) {
	err = im.Records.View(ctx, func(tx store.Tx) error {
		edits = nil
		all, err := im.Domain.Uploads.OfSite(tx, u.SiteID)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(o upload.Upload) bool { return o.Version <= u.Version || o.ProcessingStatus == api.UploadReverted })
		slices.SortFunc(all, func(a, b upload.Upload) int { return cmp.Compare(a.Version, b.Version) })
		for _, p := range parts {
			p.later = map[sampleKey]bool{}
		}
		for _, o := range all {
			list, err := im.Domain.Uploads.ReplacedBy(tx, o.SiteID, o.UploadID)
			if err != nil {
				return err
			}
			for _, r := range list {
				p := parts[r.AssetID]
				if p == nil || r.Kind != upload.ReplacedBefore {
					continue
				}
				f, err := block.Decode(r.Values)
				if err != nil {
					return fmt.Errorf("read the values that upload %s replaced: %w", o.UploadID, err)
				}
				f, changed := p.correctReplaced(f)
				if !changed {
					continue
				}
				r.Values = nil
				if f.Len() > 0 {
					if r.Values, err = block.Encode(nil, f); err != nil {
						return err
					}
				}
				edits = append(edits, r)
			}
		}
		return nil
	})
	return edits, err
}

// correctReplaced replaces, in the values that a later upload found and keeps, those
// of this upload by those that this one found.
func (p *unitRevert) correctReplaced(f series.Frame) (out series.Frame, changed bool) {
	mine := func(key sampleKey) (bool, float64) {
		before := valueAt(p.before, key)
		return !p.later[key] && (!math.IsNaN(valueAt(p.written, key)) || !math.IsNaN(before)), before
	}
	out = edited(f, func(key sampleKey, v float64) float64 {
		is, before := mine(key)
		if !is {
			return v
		}
		p.later[key], changed = true, true
		return before
	})
	if !changed {
		return f, false
	}
	return out, true
}

// undo removes the values of the upload from a unit's telemetry and puts those
// back that were there before. It counts the stamps whose values are removed, and
// those whose former values come back: a stamp that had the same values before counts
// as neither.
func (p *unitRevert) undo(f series.Frame) (out series.Frame, removed, restored int) {
	gone, back, there := map[int64]bool{}, map[int64]bool{}, map[int64]bool{}
	out = edited(f, func(key sampleKey, v float64) float64 {
		w := valueAt(p.written, key)
		if p.later[key] || math.IsNaN(w) || w != v {
			return v
		}
		gone[key.at] = true
		return math.NaN()
	})
	put := edited(p.before, func(key sampleKey, v float64) float64 {
		if p.later[key] {
			return math.NaN()
		}
		there[key.at] = true
		if valueAt(f, key) != v {
			back[key.at] = true
		}
		return v
	})
	out = series.Merge(out, put)
	out = withoutEmptyAt(out, p.written)
	for at := range there {
		delete(gone, at)
	}
	return out, len(gone), len(back)
}

// valueAt is a value of a frame; NaN if it has none.
func valueAt(f series.Frame, key sampleKey) float64 {
	values := f.Values(key.quantity)
	if values == nil {
		return math.NaN()
	}
	i, ok := slices.BinarySearch(f.Times, key.at)
	if !ok {
		return math.NaN()
	}
	return values[i]
}

// edited returns a copy of a frame with other values, without the stamps that
// lost all of theirs.
func edited(f series.Frame, value func(key sampleKey, v float64) float64) series.Frame {
	out := series.Frame{Times: f.Times}
	changed := map[int64]bool{}
	for _, c := range f.Columns {
		values := slices.Clone(c.Values)
		for i, v := range values {
			if math.IsNaN(v) {
				continue
			}
			if values[i] = value(sampleKey{f.Times[i], c.Quantity}, v); math.IsNaN(values[i]) {
				changed[f.Times[i]] = true
			}
		}
		out.Set(c.Quantity, values)
	}
	return dropEmpty(out, func(at int64) bool { return changed[at] })
}

// withoutEmptyAt leaves out the stamps of another frame at which nothing is known.
func withoutEmptyAt(f, at series.Frame) series.Frame {
	return dropEmpty(f, func(t int64) bool {
		_, ok := slices.BinarySearch(at.Times, t)
		return ok
	})
}

// dropEmpty leaves out the stamps without a value for which may holds.
func dropEmpty(f series.Frame, may func(at int64) bool) series.Frame {
	keep := make([]int, 0, f.Len())
	for i, at := range f.Times {
		if slices.ContainsFunc(f.Columns, func(c series.Column) bool { return !math.IsNaN(c.Values[i]) }) || !may(at) {
			keep = append(keep, i)
		}
	}
	if len(keep) == f.Len() {
		return f
	}
	return f.Select(keep)
}
