package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// Rewrite replaces all telemetry of a site by what edit makes of it, in one
// transaction. edit gets a frame of each asset, which it must not change, and
// may be called again.
func (a *Store) Rewrite(ctx context.Context, key store.SiteKey, edit func(frames []store.AssetFrame) ([]store.AssetFrame, error)) error {
	if err := a.rewrite(ctx, key, edit); err != nil {
		return fmt.Errorf("rewrite telemetry of site %s: %w", key.ID, err)
	}
	return nil
}

func (a *Store) rewrite(ctx context.Context, key store.SiteKey, edit func(frames []store.AssetFrame) ([]store.AssetFrame, error)) error {
	if err := checkFrames(key, nil); err != nil {
		return err
	}
	zone, err := store.Zone(key.Zone.String())
	if err != nil {
		return err
	}
	return a.storage.Change(ctx, key.ID, true, func(c Change) error {
		var stored []store.AssetFrame
		there, moved := false, false
		err := c.View(func(r Reader) error {
			site, err := siteIn(r, key.ID)
			if err != nil || site == nil {
				return err
			}
			there, moved = true, site.layout.zone != zone.String()
			stored, err = site.frames()
			return err
		})
		if err != nil {
			return err
		}
		if moved {
			stored = (&calendar{zone: zone}).split(stored)
		}
		frames, err := edit(stored)
		if err != nil {
			return err
		}
		if err := checkFrames(key, frames); err != nil {
			return err
		}
		frames = onePerAsset(frames)
		if len(frames) == 0 {
			if !there {
				return nil
			}
			return c.Update(func(w Writer) error { return w.Remove() })
		}
		p := &appending{archive: a, id: key.ID, zone: zone, calendar: &calendar{zone: zone}, frames: frames, rezone: true}
		p.is = layout{zone.String(), p.openDay(), sumsVersion}
		p.cut(frames, nil)
		if err := p.encodeAll(ctx); err != nil {
			return err
		}
		return c.Update(p.put)
	})
}

// ReadSite returns all telemetry of a site at one time.
func (a *Store) ReadSite(ctx context.Context, siteID string) (frames []store.AssetFrame, err error) {
	err = a.viewSite(ctx, siteID, func(s *site) (err error) {
		frames, err = s.frames()
		return err
	})
	return frames, err
}

// frames returns one frame of each asset of the site.
func (s *site) frames() ([]store.AssetFrame, error) {
	known, err := s.assetIndex()
	if err != nil {
		return nil, err
	}
	list, err := s.everything(known)
	return onePerAsset(list), err
}

// onePerAsset returns one frame of each asset, sorted. Frames of one asset have no
// value in common.
func onePerAsset(frames []store.AssetFrame) []store.AssetFrame {
	var out []store.AssetFrame
	place := map[string]int{}
	for _, f := range frames {
		if f.Frame.Len() == 0 {
			continue
		}
		i, ok := place[f.AssetID]
		if !ok {
			place[f.AssetID] = len(out)
			out = append(out, f)
			continue
		}
		out[i].Frame = series.Merge(out[i].Frame, f.Frame)
	}
	slices.SortFunc(out, func(a, b store.AssetFrame) int { return strings.Compare(a.AssetID, b.AssetID) })
	return out
}
