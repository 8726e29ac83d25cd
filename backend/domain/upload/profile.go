package upload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/store"
)

// Profile is the mapping with which the files of a site are read that have the
// same header.
type Profile struct {
	SiteID  string    `json:"site_id" limit:"id"`
	Shape   string    `json:"shape" limit:"word"` // of the header
	Mapping string    `json:"mapping" limit:"64KiB"`
	Actor   string    `json:"actor" limit:"id"`
	At      time.Time `json:"at"`
}

var profiles = store.Table[Profile]{
	Bucket: "import-profiles",
	Key:    func(p Profile) []byte { return store.Key(p.SiteID, p.Shape) },
}

// maxProfiles is the number of mappings that are kept of a site.
const maxProfiles = 200

// KeepProfile keeps a mapping for the site's files of a shape. kept is false if
// the site has as many as there may be.
func (s *Service) KeepProfile(tx store.Tx, p Profile) (kept bool, err error) {
	_, err = profiles.Get(tx, profiles.Key(p))
	if errors.Is(err, store.ErrNotFound) {
		full, err := profiles.Full(tx, store.Query{Prefix: store.Key(p.SiteID)}, maxProfiles)
		if err != nil || full {
			return false, err
		}
	} else if err != nil {
		return false, fmt.Errorf("read the mappings of site %s: %w", p.SiteID, err)
	}
	p.At = s.now().UTC()
	return true, profiles.Put(tx, p)
}

// DeleteProfile deletes the mapping for the site's files of a shape, if there is one.
func (s *Service) DeleteProfile(tx store.Tx, siteID, shape string) error {
	if err := profiles.Delete(tx, profiles.Key(Profile{SiteID: siteID, Shape: shape})); err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("delete a mapping of site %s: %w", siteID, err)
	}
	return nil
}

// Profiles returns the mappings of a site by shape.
func (s *Service) Profiles(ctx context.Context, siteID string) (map[string]string, error) {
	list := map[string]string{}
	err := s.records.View(ctx, func(tx store.Tx) error {
		return profiles.Each(tx, store.Query{Prefix: store.Key(siteID)}, func(p Profile) error {
			list[p.Shape] = p.Mapping
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the mappings of site %s: %w", siteID, err)
	}
	return list, nil
}
