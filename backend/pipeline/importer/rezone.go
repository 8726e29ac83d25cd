package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// Rezoning is another reading of all uploads of a site, in another time zone.
type Rezoning struct {
	Effects api.SiteEffects

	im      *Importer
	site    api.Site
	zone    string
	uploads []rezoned // oldest first
}

// rezoned is an upload whose file was read in both zones.
type rezoned struct {
	upload upload.Upload
	parts  map[string]*unitRevert  // of the former zone, by unit
	frames map[string]series.Frame // of the new one
	moved  bool
}

// Rezone reads the kept files of a site again, in the zone in which they were
// read and in another one. A file whose times carry a zone, or which came with another
// zone than the site's, gives the same values again. It changes nothing.
func (im *Importer) Rezone(ctx context.Context, is api.Site, zone string) (*Rezoning, error) {
	z := &Rezoning{im: im, site: is, zone: zone}
	var all []upload.Upload
	err := im.Records.View(ctx, func(tx store.Tx) (err error) {
		all, err = im.Domain.Uploads.OfSite(tx, is.SiteID)
		return err
	})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(u upload.Upload) bool { return u.Version == 0 || u.ProcessingStatus == api.UploadReverted })
	slices.SortFunc(all, func(a, b upload.Upload) int { return cmp.Compare(a.Version, b.Version) })
	z.Effects.Uploads = len(all)
	for i, u := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if u.ObjectKey == "" {
			z.Effects.UploadsGone++
			continue
		}
		r, err := im.rezone(ctx, u, is, zone)
		if err != nil {
			return nil, err
		}
		if z.Effects.UploadsRead++; !r.moved {
			z.Effects.UploadsOwn++
		}
		z.uploads = append(z.uploads, r)
		im.Progress.SetUpload(is.SiteID, sitedata.StageValidating, float64(i+1)/float64(len(all)))
	}
	if z.Effects.UploadsGone > 0 {
		z.Effects.Notes = append(z.Effects.Notes, fmt.Sprintf("the files of %s are no longer stored: their values keep their times", display.CountOf(z.Effects.UploadsGone, "upload", "uploads")))
	}
	return z, nil
}

// rezone reads the file of one upload in both zones.
func (im *Importer) rezone(ctx context.Context, u upload.Upload, is api.Site, zone string) (rezoned, error) {
	r := rezoned{upload: u, frames: map[string]series.Frame{}}
	var err error
	if r.parts, _, err = im.partsOf(ctx, u, is); err != nil {
		return r, err
	}
	if u.Request.Timezone != "" && u.Request.Timezone != is.Timezone {
		zone = "" // it came with another zone than the site's
	}
	result, err := im.readAgain(ctx, u, zone)
	var refusal *ingest.Refusal
	if errors.As(err, &refusal) {
		return r, api.Conflict("The file of upload %s cannot be read in %s: %s", u.UploadID, zone, refusal.Message)
	}
	if err != nil {
		return r, err
	}
	_, units, err := im.siteAndUnits(ctx, u.Request.Of(u.CustomerID, u.SiteID))
	if err != nil {
		return r, err
	}
	for _, a := range result.Assets {
		id := newAssetID(units, a.Name)
		if there := findAsset(units, a.Name); there != nil {
			id = there.AssetID
		}
		r.frames[id] = series.Merge(r.frames[id], a.Frame)
	}
	for id, f := range r.frames {
		if p := r.parts[id]; p == nil || !sameStamps(p.written, f) {
			r.moved = true
		}
	}
	return r, nil
}

// sameStamps reports whether a frame has all the stamps of another.
func sameStamps(a, b series.Frame) bool {
	for _, at := range b.Times {
		if _, ok := slices.BinarySearch(a.Times, at); !ok {
			return false
		}
	}
	return true
}

// apply returns the telemetry of a site as it is when its files are read in the new
// zone: it takes the values of the uploads away, the newest first, and adds them again,
// the oldest first. replaces gets what each upload then replaces.
func (z *Rezoning) apply(stored []store.AssetFrame, replaces func(u upload.Upload, assetID string, before series.Frame)) []store.AssetFrame {
	frames := map[string]series.Frame{}
	for _, f := range stored {
		frames[f.AssetID] = f.Frame
	}
	for _, r := range slices.Backward(z.uploads) {
		for id, p := range r.parts {
			frames[id], _, _ = p.undo(frames[id])
		}
	}
	for _, r := range z.uploads {
		for id, f := range r.frames {
			if c := changesIn(frames[id], f); replaces != nil && c.before.Len() > 0 {
				replaces(r.upload, id, c.before)
			}
			frames[id] = energy.Merge(frames[id], f)
		}
	}
	var out []store.AssetFrame
	for id, f := range frames {
		if f.Len() > 0 {
			out = append(out, store.AssetFrame{AssetID: id, Frame: f})
		}
	}
	return out
}

// Count fills in the effects on the telemetry. It changes nothing.
func (z *Rezoning) Count(ctx context.Context) error {
	before, err := z.im.Telemetry.ReadSite(ctx, z.site.SiteID)
	if err != nil {
		return err
	}
	after := z.apply(before, nil)
	e := &z.Effects
	old := map[string]series.Frame{}
	for _, f := range before {
		old[f.AssetID] = f.Frame
	}
	e.FirstRecord, e.LastRecord = bounds(before)
	e.NewFirst, e.NewLast = bounds(after)
	e.RowsMoved = 0
	for _, f := range after {
		for _, at := range f.Frame.Times {
			if _, ok := slices.BinarySearch(old[f.AssetID].Times, at); !ok {
				e.RowsMoved++
			}
		}
		// Where only values move, as between zones of full hours, count those.
		e.RowsMoved += changesIn(old[f.AssetID], f.Frame).rows
	}
	return nil
}

func bounds(frames []store.AssetFrame) (first, last api.Time) {
	for _, f := range frames {
		n := f.Frame.Len()
		if n == 0 {
			continue
		}
		a, b := api.At(time.Unix(f.Frame.Times[0], 0)), api.At(time.Unix(f.Frame.Times[n-1], 0))
		if first.IsZero() || a.Before(first.Time) {
			first = a
		}
		if b.After(last.Time) {
			last = b
		}
	}
	return first, last
}

// Stage stores what the uploads replace in the new zone, for later reverts. It is used
// once [Rezoning.Finish] is called, and may be repeated before.
func (z *Rezoning) Stage(ctx context.Context) error {
	type part struct {
		u       upload.Upload
		assetID string
		before  series.Frame
	}
	var parts []part
	frames, err := z.im.Telemetry.ReadSite(ctx, z.site.SiteID)
	if err != nil {
		return err
	}
	z.apply(frames, func(u upload.Upload, assetID string, before series.Frame) {
		parts = append(parts, part{u, assetID, before})
	})
	for _, r := range z.uploads {
		err := z.im.Records.Update(ctx, func(tx store.Tx) error {
			return z.im.Domain.Uploads.DropReplacedOf(tx, z.site.SiteID, r.upload.UploadID, upload.ReplacedStaged)
		})
		if err != nil {
			return err
		}
	}
	for _, p := range parts {
		if err := z.im.keepParts(ctx, p.u, p.assetID, upload.ReplacedStaged, p.before, 0); err != nil {
			return err
		}
	}
	return nil
}

// Apply changes the telemetry of the site, in one transaction. It may be repeated.
func (z *Rezoning) Apply(ctx context.Context) error {
	zone, err := time.LoadLocation(z.zone)
	if err != nil {
		return sitedata.NewPermanent(err)
	}
	return z.im.Telemetry.Rewrite(ctx, store.SiteKey{ID: z.site.SiteID, Zone: zone}, func(frames []store.AssetFrame) ([]store.AssetFrame, error) {
		return z.apply(frames, nil), nil
	})
}

// Finish changes the records of the site's uploads, within the transaction that changes
// the site.
func (z *Rezoning) Finish(tx store.Tx) error {
	s := z.im.Domain.Uploads
	for _, r := range z.uploads {
		u := r.upload
		err := errors.Join(s.DropReplacedOf(tx, u.SiteID, u.UploadID, upload.ReplacedBefore, upload.ReplacedFurther), s.UseStaged(tx, u.SiteID, u.UploadID))
		if err != nil {
			return err
		}
		first, last := frameBounds(r.frames)
		_, err = s.SetStatus(tx, u.UploadID, u.ProcessingStatus, func(n *upload.Upload) {
			if n.Request.Timezone == z.site.Timezone {
				n.Request.Timezone = z.zone
			}
			n.Timezone = z.zone
			n.Mapping = strings.ReplaceAll(n.Mapping, "zone="+z.site.Timezone+"\n", "zone="+z.zone+"\n")
			if r.moved && !first.IsZero() {
				n.FirstRecord, n.LastRecord = first, last
			}
			n.Decisions = append(n.Decisions, "zone: read again in "+z.zone+" instead of "+z.site.Timezone)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func frameBounds(frames map[string]series.Frame) (first, last api.Time) {
	var list []store.AssetFrame
	for id, f := range frames {
		list = append(list, store.AssetFrame{AssetID: id, Frame: f})
	}
	return bounds(list)
}

// JoinAgain computes the power between the counters of a site's files again, after its
// change of zone. It may be repeated.
func (im *Importer) JoinAgain(ctx context.Context, is api.Site) error {
	var all []upload.Upload
	err := im.Records.View(ctx, func(tx store.Tx) (err error) {
		all, err = im.Domain.Uploads.OfSite(tx, is.SiteID)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b upload.Upload) int { return cmp.Compare(a.Version, b.Version) })
	for _, u := range all {
		if u.ValueKind != ingest.KindCounter || u.Version == 0 || u.ProcessingStatus == api.UploadReverted || u.ObjectKey == "" {
			continue
		}
		result, err := im.readAgain(ctx, u, "")
		if err != nil {
			return err
		}
		_, known, err := im.siteAndUnits(ctx, u.Request.Of(u.CustomerID, u.SiteID))
		if err != nil {
			return err
		}
		var units []api.Asset
		for _, a := range result.Assets {
			there := findAsset(known, a.Name)
			if there == nil {
				there = &api.Asset{AssetID: newAssetID(known, a.Name)}
			}
			units = append(units, *there)
		}
		if err := im.joinCounters(ctx, u, is, result, units); err != nil {
			return err
		}
	}
	return nil
}
