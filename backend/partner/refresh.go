package partner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// mark states that the planned work of a site has changed since its schedule
// was made. A later change has another token.
type mark struct {
	SiteID string `json:"site_id" limit:"id"`
	Token  string `json:"token" limit:"id"`
}

var marks = store.Table[mark]{
	Bucket: "partner-planned",
	Key:    func(m mark) []byte { return store.Key(m.SiteID) },
}

// planWords holds for each site what its plan was last changed or shown under: a
// word that no other change or showing has.
const planWords = "partner-plans"

// drawings is how often snapshots are made again if their plan changed
// meanwhile.
const drawings = 5

// Changed marks the schedule of a site as out of date, within the transaction
// that changes its planned work; [Service.Refresh] makes it again.
func (s *Service) Changed(tx store.Tx, siteID string) error {
	token := rand.Text()
	err := marks.Put(tx, mark{siteID, token})
	if err == nil {
		err = tx.Put(planWords, store.Key(siteID), []byte(token))
	}
	if err != nil {
		return fmt.Errorf("mark the schedule of site %s: %w", siteID, err)
	}
	return nil
}

// planOf returns the token of a site's plan; empty without one.
func planOf(tx store.Tx, siteID string) (string, error) {
	word, err := tx.Get(planWords, store.Key(siteID))
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return string(word), err
}

// draw makes documents of a site, its schedule among them, and stores those of
// the given kinds, and those that do not exist yet. stored is false if the plan
// was changed, or stored by another replica, after the start: an older list
// must not replace a newer one.
func (s *Service) draw(ctx context.Context, siteID string, kinds []string, make func() (documents, error)) (stored bool, err error) {
	var before string
	err = s.Records.View(ctx, func(tx store.Tx) (err error) {
		before, err = planOf(tx, siteID)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("read the plan of site %s: %w", siteID, err)
	}
	made, err := make()
	if err != nil {
		return false, err
	}
	shown := rand.Text()
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		stored = false
		now, err := planOf(tx, siteID)
		if err != nil || now != before {
			return err
		}
		for _, kind := range kinds {
			key := store.Key(siteID, kind)
			if body := made[kind]; body != nil {
				err = tx.Put(bucket, key, body)
			} else {
				err = tx.Delete(bucket, key)
			}
			if err != nil {
				return err
			}
		}
		stored = true
		return errors.Join(marks.Delete(tx, store.Key(siteID)), tx.Put(planWords, store.Key(siteID), []byte(shown)))
	})
	if err != nil {
		return false, fmt.Errorf("store the snapshots of site %s: %w", siteID, err)
	}
	return stored, nil
}

// Refresh makes the schedules that are out of date, and repeats those that
// change meanwhile. A schedule that fails stays marked.
func (s *Service) Refresh(ctx context.Context) error {
	var list []mark
	err := s.Records.View(ctx, func(tx store.Tx) (err error) {
		list, _, err = marks.List(tx, store.Query{})
		return err
	})
	if err != nil {
		return fmt.Errorf("look for schedules that are out of date: %w", err)
	}
	for _, m := range list {
		for range drawings {
			stored, failed := s.draw(ctx, m.SiteID, []string{api.SnapshotSchedule}, func() (documents, error) { return s.drawn(ctx, m.SiteID) })
			if err = errors.Join(err, failed); stored || failed != nil {
				break
			}
		}
	}
	return err
}

// drawn is the schedule of a site as it is now, as a document; none of a site
// that is not there any more.
func (s *Service) drawn(ctx context.Context, siteID string) (documents, error) {
	made := documents{}
	site, err := s.Domain.Sites.Site(ctx, api.Unlimited(actor), siteID)
	if errors.Is(err, api.ErrSiteNotFound) {
		return made, nil
	}
	if err != nil {
		return nil, err
	}
	units, err := s.Domain.Sites.SiteAssets(ctx, siteID)
	if err != nil {
		return nil, err
	}
	faults, err := s.Domain.Detections.Faults(ctx, siteID, s.Now())
	if err != nil {
		return nil, err
	}
	schedule, err := s.schedule(ctx, site, units, faults)
	if err != nil {
		return nil, fmt.Errorf("list the work at site %s: %w", siteID, err)
	}
	made.add(api.SnapshotSchedule, schedule)
	return made, nil
}
