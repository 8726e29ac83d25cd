package upload

import (
	"errors"
	"fmt"
	"math"

	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Kinds of [Replaced].
const (
	ReplacedBefore   = "before"   // values that were stored at the upload's stamps, or that it displaced
	ReplacedFurther  = "further"  // values that were added besides those of the file
	ReplacedCapacity = "capacity" // the unit's capacity before the upload raised it: the power of one sample, in kW
	ReplacedDone     = "done"     // no values: all others of the upload are stored
	ReplacedStaged   = "staged"   // values of [ReplacedBefore] once the site's change of zone is made
)

// Replaced is a part of what an import found stored of a unit, with which the
// import can be reverted.
type Replaced struct {
	SiteID   string `json:"site_id" limit:"id"`
	UploadID string `json:"upload_id" limit:"id"`
	Kind     string `json:"kind" limit:"word"`
	AssetID  string `json:"asset_id,omitempty" limit:"id"`
	Part     int    `json:"part,omitempty"`
	Values   []byte `json:"values,omitempty" limit:"8MiB"` // a block of samples, see package block
}

var replaced = store.Table[Replaced]{
	Bucket: "import-replaced",
	Key: func(r Replaced) []byte {
		return store.Key(r.SiteID, r.UploadID, r.Kind, r.AssetID, fmt.Sprintf("%08d", r.Part))
	},
}

// AddReplaced stores a part, unless it is there already.
func (s *Service) AddReplaced(tx store.Tx, r Replaced) error {
	if err := replaced.Insert(tx, r); err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("store the values that upload %s replaces: %w", r.UploadID, err)
	}
	return nil
}

// PutReplaced stores a part in place of the one that is there. One without
// values is deleted.
func (s *Service) PutReplaced(tx store.Tx, r Replaced) error {
	if len(r.Values) == 0 {
		return replaced.Delete(tx, replaced.Key(r))
	}
	return replaced.Put(tx, r)
}

// ReplacedBy returns the parts of an upload.
func (s *Service) ReplacedBy(tx store.Tx, siteID, uploadID string) ([]Replaced, error) {
	list, _, err := replaced.List(tx, store.Query{Prefix: store.Key(siteID, uploadID)})
	if err != nil {
		return nil, fmt.Errorf("read the values that upload %s replaced: %w", uploadID, err)
	}
	return list, nil
}

// HasReplaced reports whether all values that an upload replaces are stored.
func (s *Service) HasReplaced(tx store.Tx, siteID, uploadID string) (bool, error) {
	_, err := replaced.Get(tx, replaced.Key(Replaced{SiteID: siteID, UploadID: uploadID, Kind: ReplacedDone}))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// DropReplaced deletes the parts of an upload.
func (s *Service) DropReplaced(tx store.Tx, siteID, uploadID string) error {
	list, err := s.ReplacedBy(tx, siteID, uploadID)
	if err != nil {
		return err
	}
	for _, r := range list {
		if err := replaced.Delete(tx, replaced.Key(r)); err != nil {
			return fmt.Errorf("delete the values that upload %s replaced: %w", uploadID, err)
		}
	}
	return nil
}

// UseStaged uses the staged values of an upload instead of those that it replaced.
func (s *Service) UseStaged(tx store.Tx, siteID, uploadID string) error {
	return replaced.ChangePrefix(tx, store.Key(siteID, uploadID), func(r *Replaced) bool {
		staged := r.Kind == ReplacedStaged
		if staged {
			r.Kind = ReplacedBefore
		}
		return staged
	})
}

// DropReplacedOf deletes the parts of an upload of some kinds.
func (s *Service) DropReplacedOf(tx store.Tx, siteID, uploadID string, kinds ...string) error {
	for _, kind := range kinds {
		if _, err := replaced.DeletePrefix(tx, store.Key(siteID, uploadID, kind), math.MaxInt); err != nil {
			return fmt.Errorf("delete the values that upload %s replaced: %w", uploadID, err)
		}
	}
	return nil
}

// OfSite are all uploads of a site, oldest first.
func (s *Service) OfSite(tx store.Tx, siteID string) ([]Upload, error) {
	list, _, err := uploads.List(tx, store.Query{Prefix: store.Key(siteID)})
	if err != nil {
		return nil, fmt.Errorf("list the uploads of site %s: %w", siteID, err)
	}
	return list, nil
}

// mergedParts is added to the numbers of parts of a unit that was merged into another.
const mergedParts = 1 << 24

// RenameAsset replaces a unit by another one in the uploads of a site and in what they
// replaced.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	err := uploads.ChangePrefix(tx, store.Key(siteID), func(u *Upload) bool {
		one := record.RenameIn(&u.NewAssetIDs, from, to)
		return record.RenameIn(&u.AssetIDs, from, to) || one
	})
	if err != nil {
		return err
	}
	return replaced.ChangePrefix(tx, store.Key(siteID), func(r *Replaced) bool {
		if !record.Rename(&r.AssetID, from, to) {
			return false
		}
		r.Part += mergedParts
		return true
	})
}

// SomeOfSite are up to n uploads of a site.
func (s *Service) SomeOfSite(tx store.Tx, siteID string, n int) ([]Upload, error) {
	list, _, err := uploads.List(tx, store.Query{Prefix: store.Key(siteID), Limit: n})
	if err != nil {
		return nil, fmt.Errorf("list the uploads of site %s: %w", siteID, err)
	}
	return list, nil
}
