package importer

import (
	"context"
	"fmt"
	"math"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// replacedStamps is the number of stamps in one part of replaced values.
const replacedStamps = 20_000

// keepReplaced stores what the import of an upload replaces, before anything of
// the upload is stored, and returns the number of stamps at which values change.
func (im *Importer) keepReplaced(ctx context.Context, u upload.Upload, site api.Site, assets []ingest.Asset, units []api.Asset) (rows int, err error) {
	done := false
	err = im.Records.View(ctx, func(tx store.Tx) error {
		done, err = im.Domain.Uploads.HasReplaced(tx, u.SiteID, u.UploadID)
		return err
	})
	if err != nil || done { // by an attempt before
		return u.RowsReplaced, err
	}
	newest, err := im.newestStamps(ctx, site.SiteID)
	if err != nil {
		return 0, err
	}
	if u.Kind == api.UploadNowcast && !overlaps(newest, assets, units) {
		return 0, nil // a live step replaces nothing
	}
	for i, a := range assets {
		if last, ok := newest[units[i].AssetID]; !ok || a.Frame.Len() == 0 || a.Frame.Times[0] > last {
			continue
		}
		c, err := im.changesOf(ctx, site.SiteID, units[i].AssetID, a.Frame)
		if err != nil {
			return 0, err
		}
		rows += c.rows
		if err := im.keepChanges(ctx, u, units[i].AssetID, c, 0); err != nil {
			return 0, err
		}
	}
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		if err := im.Domain.Uploads.AddReplaced(tx, upload.Replaced{SiteID: u.SiteID, UploadID: u.UploadID, Kind: upload.ReplacedDone}); err != nil {
			return err
		}
		if rows == 0 {
			return nil
		}
		_, err := im.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadProcessing, func(u *upload.Upload) { u.RowsReplaced = rows })
		return err
	})
	return rows, err
}

// newestStamps are the times of the newest samples of a site's units.
func (im *Importer) newestStamps(ctx context.Context, siteID string) (map[string]int64, error) {
	frames, err := im.Telemetry.Latest(ctx, siteID)
	if err != nil {
		return nil, fmt.Errorf("read the newest samples of site %s: %w", siteID, err)
	}
	newest := map[string]int64{}
	for _, f := range frames {
		if f.Frame.Len() > 0 {
			newest[f.AssetID] = f.Frame.Times[0]
		}
	}
	return newest, nil
}

func overlaps(newest map[string]int64, assets []ingest.Asset, units []api.Asset) bool {
	for i, a := range assets {
		if last, ok := newest[units[i].AssetID]; ok && a.Frame.Len() > 0 && a.Frame.Times[0] <= last {
			return true
		}
	}
	return false
}

// keepChanges stores the changes of one unit in parts that are numbered from
// first.
func (im *Importer) keepChanges(ctx context.Context, u upload.Upload, assetID string, c changes, first int) error {
	for kind, f := range map[string]series.Frame{upload.ReplacedBefore: c.before, upload.ReplacedFurther: c.further} {
		if err := im.keepParts(ctx, u, assetID, kind, f, first); err != nil {
			return err
		}
	}
	return nil
}

// keepParts stores values of one unit in parts that are numbered from first.
func (im *Importer) keepParts(ctx context.Context, u upload.Upload, assetID, kind string, f series.Frame, first int) error {
	for part := first; f.Len() > 0; part++ {
		end := int64(math.MaxInt64)
		if f.Len() > replacedStamps {
			end = f.Times[replacedStamps]
		}
		values, err := block.Encode(nil, f.Slice(f.Times[0], end))
		if err != nil {
			return fmt.Errorf("encode the replaced values of asset %s: %w", assetID, err)
		}
		err = im.Records.Update(ctx, func(tx store.Tx) error {
			return im.Domain.Uploads.AddReplaced(tx, upload.Replaced{SiteID: u.SiteID, UploadID: u.UploadID, Kind: kind, AssetID: assetID, Part: part, Values: values})
		})
		if err != nil {
			return err
		}
		if f = f.Slice(end, math.MaxInt64); end == math.MaxInt64 {
			break
		}
	}
	return nil
}
