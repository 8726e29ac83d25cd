package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/series"
)

// mappingKept is the decision of an upload whose mapping reads the next files.
const mappingKept = "mapping: kept for the next files of the site with this header"

// isInferred reports whether the mapping of a request was inferred from another part
// of the file: it is not kept for other files.
func isInferred(mapping string) bool {
	return strings.HasPrefix(mapping, api.InferredMapping)
}

// revertMapping takes back the mapping that a reverted upload gave to the files of
// its header: the newest one that another upload with data gave is restored, if any.
func (im *Importer) revertMapping(tx store.Tx, u upload.Upload, others []upload.Upload, shape string) error {
	if !slices.Contains(u.Decisions, mappingKept) {
		return nil
	}
	var former upload.Upload
	for _, o := range others {
		if o.Version > former.Version && slices.Contains(o.Decisions, mappingKept) && sameTitles(o.Columns, u.Columns) {
			former = o
		}
	}
	if former.Version == 0 {
		return im.Domain.Uploads.DeleteProfile(tx, u.SiteID, shape)
	}
	_, err := im.Domain.Uploads.KeepProfile(tx, upload.Profile{SiteID: u.SiteID, Shape: shape, Mapping: former.Request.Mapping, Actor: former.Actor})
	return err
}

func sameTitles(a, b []api.FileColumn) bool {
	return slices.EqualFunc(a, b, func(a, b api.FileColumn) bool { return a.Title == b.Title })
}

// keepCapacity stores the capacity that a unit had before an upload raised it.
func (im *Importer) keepCapacity(tx store.Tx, u upload.Upload, assetID string, kW float64) error {
	f := series.Frame{Times: []int64{0}}
	f.Set(series.PowerKW, []float64{kW})
	values, err := block.Encode(nil, f)
	if err != nil {
		return fmt.Errorf("encode the capacity of asset %s: %w", assetID, err)
	}
	return im.Domain.Uploads.AddReplaced(tx, upload.Replaced{SiteID: u.SiteID, UploadID: u.UploadID, Kind: upload.ReplacedCapacity, AssetID: assetID, Values: values})
}

// revertCapacities takes back the estimated capacities that a reverted upload gave to
// units. Where a later upload has raised one again, the former capacity becomes what
// the later one found. A unit that the upload created and others use is estimated
// again from the power that is left, in kW.
func (im *Importer) revertCapacities(tx store.Tx, u upload.Upload, others []upload.Upload, peaks map[string]float64) error {
	for id, kW := range peaks {
		if err := im.Domain.Sites.EstimateCapacity(tx, u.SiteID, id, roundTo(kW, 3)); err != nil {
			return err
		}
	}
	mine, err := im.Domain.Uploads.ReplacedBy(tx, u.SiteID, u.UploadID)
	if err != nil {
		return err
	}
	mine = slices.DeleteFunc(mine, func(r upload.Replaced) bool { return r.Kind != upload.ReplacedCapacity })
	if len(mine) == 0 {
		return nil
	}
	later := slices.DeleteFunc(slices.Clone(others), func(o upload.Upload) bool { return o.Version != 0 && o.Version < u.Version })
	slices.SortFunc(later, func(a, b upload.Upload) int { return byVersion(a.Version, b.Version) })
	for _, r := range mine {
		passed := false
		for _, o := range later {
			parts, err := im.Domain.Uploads.ReplacedBy(tx, o.SiteID, o.UploadID)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(parts, func(p upload.Replaced) bool { return p.Kind == upload.ReplacedCapacity && p.AssetID == r.AssetID })
			if i < 0 {
				continue
			}
			parts[i].Values, passed = r.Values, true
			if err := im.Domain.Uploads.PutReplaced(tx, parts[i]); err != nil {
				return err
			}
			break
		}
		if passed {
			continue
		}
		f, err := block.Decode(r.Values)
		if err != nil {
			return fmt.Errorf("read the capacity that upload %s replaced: %w", u.UploadID, err)
		}
		if err := im.Domain.Sites.EstimateCapacity(tx, u.SiteID, r.AssetID, f.At(series.PowerKW, 0)); err != nil {
			return err
		}
	}
	return nil
}

// revertSiteCapacity takes back the capacity of a site that a reverted upload created
// and others use: it becomes that of the first of these which states one, or unknown.
func (im *Importer) revertSiteCapacity(tx store.Tx, u upload.Upload, others []upload.Upload) error {
	kW := 0.0
	for _, o := range others {
		if kW == 0 {
			kW = o.Request.CapacityKW
		}
	}
	return im.Domain.Sites.ReplaceCapacity(tx, u.SiteID, u.Request.CapacityKW, kW)
}

// byVersion orders uploads by their version of the site's data; those that are being
// imported, with version 0, are the last.
func byVersion(a, b uint64) int { return cmp.Compare(a-1, b-1) }
