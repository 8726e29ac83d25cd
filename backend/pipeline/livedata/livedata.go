// Package livedata stores the samples of devices that Sunloop reads itself, next to those
// that are imported from files.
package livedata

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// Live stores samples. Its methods are safe for concurrent use.
type Live struct {
	*sitedata.Data

	mu    sync.Mutex
	sites map[string]*site
}

// site is a registered site of this process.
type site struct {
	api.Site
	stateAt time.Time // of the last update of the site's state
	peaksKW map[string]float64
}

// New returns a Live over the data of the pipeline.
func New(d *sitedata.Data) *Live { return &Live{Data: d, sites: map[string]*site{}} }

// stateEvery is the time between two updates of a site's state, which starts jobs:
// they run by the clock as well, so that each commit of samples needs no second one.
const stateEvery = 10 * time.Minute

// urgentEvery is the shortest time between two detections that faults cause.
const urgentEvery = time.Minute

// actor is the actor of what is created here.
const actor = "gateway"

// leastCapacityKW is the estimated capacity of a unit that has not produced yet.
const leastCapacityKW = 1

// Register creates the site and the units that are missing. A unit without a capacity
// gets an estimate, which rises with its power.
func (l *Live) Register(ctx context.Context, s api.Site, units []api.Asset) error {
	var is api.Site
	err := l.Records.Update(ctx, func(tx store.Tx) (err error) {
		if is, _, err = l.Domain.Sites.CreateSiteIfMissing(tx, s, actor); err != nil {
			return err
		}
		for _, u := range units {
			estimated := u.CapacityKW == 0
			if estimated {
				u.CapacityKW = leastCapacityKW
			}
			u.SiteID, u.CustomerID, u.Location = is.SiteID, is.CustomerID, is.Location
			asset, made, err := l.Domain.Sites.CreateAssetIfMissing(tx, u)
			if err != nil {
				return err
			}
			if made && estimated {
				if err := l.Domain.Sites.MarkEstimated(tx, asset); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("register site %s: %w", s.SiteID, err)
	}
	if s.CustomerID != is.CustomerID {
		return fmt.Errorf("register site %s: it belongs to customer %s, not %s", s.SiteID, is.CustomerID, s.CustomerID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sites[s.SiteID] = &site{Site: is, peaksKW: map[string]float64{}}
	return nil
}

// Append stores samples of units of a registered site. If urgent is true, detection
// runs soon.
func (l *Live) Append(ctx context.Context, siteID string, frames []store.AssetFrame, urgent bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sites[siteID]
	if s == nil {
		return fmt.Errorf("store samples of site %s: it is not registered", siteID)
	}
	if err := l.Telemetry.Append(ctx, store.SiteKey{ID: siteID, Zone: record.Zone(s.Timezone)}, frames); err != nil {
		return fmt.Errorf("store samples of site %s: %w", siteID, err)
	}
	var last time.Time
	for _, f := range frames {
		if n := f.Frame.Len(); n > 0 {
			if at := time.Unix(f.Frame.Times[n-1], 0).UTC(); at.After(last) {
				last = at
			}
		}
		for _, kW := range f.Frame.Values(series.PowerKW) {
			if kW > s.peaksKW[f.AssetID] {
				s.peaksKW[f.AssetID] = kW
			}
		}
	}
	since := l.Now().Sub(s.stateAt)
	if since >= 0 && since < stateEvery && !(urgent && since >= urgentEvery) {
		return nil
	}
	if err := l.updateState(ctx, s, last, urgent); err != nil {
		return err
	}
	s.stateAt = l.Now()
	return nil
}

// updateState records that the site has new data, and raises estimated capacities.
func (l *Live) updateState(ctx context.Context, s *site, last time.Time, urgent bool) error {
	err := l.Records.Update(ctx, func(tx store.Tx) error {
		_, err := sitedata.UpdateState(tx, s.SiteID, func(t *sitedata.State) {
			t.CustomerID, t.Live = s.CustomerID, true
			t.Data++
			if last.After(t.LastData) {
				t.LastData = last
			}
			t.Rhythm.Add(l.Now(), last)
		})
		if err != nil {
			return err
		}
		assets, err := l.Domain.Sites.AssetsInTx(tx, s.SiteID)
		if err != nil {
			return err
		}
		for _, a := range assets {
			if peak := s.peaksKW[a.AssetID]; peak > a.CapacityKW {
				if _, _, err := l.Domain.Sites.RaiseCapacity(tx, a, math.Round(peak*1000)/1000); err != nil {
					return err
				}
			}
		}
		if urgent {
			return tx.Enqueue(l.NewJob(sitedata.JobDetect, sitedata.Payload{SiteID: s.SiteID}))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("update state of site %s: %w", s.SiteID, err)
	}
	return nil
}
