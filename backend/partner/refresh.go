package partner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// mark says that the planned work of a site has changed since its schedule was
// made. A later change has another token.
type mark struct {
	SiteID string `json:"site_id"`
	Token  string `json:"token"`
}

var marks = store.Table[mark]{
	Bucket: "partner-planned",
	Key:    func(m mark) []byte { return store.Key(m.SiteID) },
}

// Changed marks the schedule of a site as out of date, within the transaction
// that changes its planned work; [Service.Refresh] makes it anew.
func (s *Service) Changed(tx store.Tx, siteID string) error {
	if err := marks.Put(tx, mark{siteID, rand.Text()}); err != nil {
		return fmt.Errorf("mark the schedule of site %s: %w", siteID, err)
	}
	return nil
}

// Refresh makes the schedules that are out of date. What fails stays marked.
func (s *Service) Refresh(ctx context.Context) error {
	s.planning.Lock()
	defer s.planning.Unlock()
	var list []mark
	err := s.Records.View(ctx, func(tx store.Tx) (err error) {
		list, _, err = marks.List(tx, store.Query{})
		return err
	})
	if err != nil {
		return fmt.Errorf("look for schedules that are out of date: %w", err)
	}
	for _, m := range list {
		err = errors.Join(err, s.refresh(ctx, m))
	}
	return err
}

func (s *Service) refresh(ctx context.Context, m mark) error {
	made := documents{}
	site, err := s.Ops.Site(ctx, api.Unlimited(actor), m.SiteID)
	switch {
	case errors.Is(err, api.ErrSiteNotFound): // nothing is planned there any more
	case err != nil:
		return err
	default:
		units, err := s.Ops.SiteAssets(ctx, m.SiteID)
		if err != nil {
			return err
		}
		faults, err := s.Ops.Faults(ctx, m.SiteID, s.Now())
		if err != nil {
			return err
		}
		schedule, err := s.schedule(ctx, site, units, faults)
		if err != nil {
			return fmt.Errorf("list the work at site %s: %w", m.SiteID, err)
		}
		made.add(api.SnapshotSchedule, schedule)
	}
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		if body := made[api.SnapshotSchedule]; body != nil {
			if err := tx.Put(bucket, store.Key(m.SiteID, api.SnapshotSchedule), body); err != nil {
				return err
			}
		}
		if now, err := marks.Get(tx, store.Key(m.SiteID)); err != nil || now.Token != m.Token {
			return err // it changed meanwhile
		}
		return marks.Delete(tx, store.Key(m.SiteID))
	})
	if err != nil {
		return fmt.Errorf("store the schedule of site %s: %w", m.SiteID, err)
	}
	return nil
}
