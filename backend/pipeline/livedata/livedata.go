// Package livedata stores the samples of devices that Sunloop reads itself, next to those
// that are imported from files.
package livedata

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
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
	// Report records what units of a site report with their newest samples; nil: nothing
	// is recorded before the detector runs.
	Report func(ctx context.Context, siteID string) error

	mu    sync.Mutex
	sites map[string]*site
}

// site is a site that this process stores samples of. Its mutex is held while samples
// are stored, so that of two samples of one time the later one is stored later.
type site struct {
	mu sync.Mutex
	api.Site
	stateAt time.Time // of the last update of the site's state
	last    time.Time // newest sample that the state does not have yet; zero: none
	oldest  time.Time // oldest one
	urgent  bool      // of these samples
	peaksKW map[string]float64
	newest  map[string]time.Time // sample of each unit that the state does not have yet

	units   map[string]float64 // capacities in kW of the units that are known to be there
	unitsAt time.Time          // when they were read
	reports map[string]report  // what units report, by asset

	reportDue bool      // a unit reports a fault that is not recorded yet
	reportAt  time.Time // when reports were recorded last
}

// report is what the newest sample of a unit says of a fault.
type report struct {
	at    int64
	code  float64 // event bits; 0: none
	fault bool    // the unit says that it is faulty
}

// site returns the entry of a site, which it makes for the first sample.
func (l *Live) site(is api.Site) *site {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sites[is.SiteID]
	if s == nil {
		s = &site{Site: is, peaksKW: map[string]float64{}, newest: map[string]time.Time{}, reports: map[string]report{}}
		l.sites[is.SiteID] = s
	}
	return s
}

// New returns a Live over the data of the pipeline.
func New(d *sitedata.Data) *Live { return &Live{Data: d, sites: map[string]*site{}} }

// stateEvery is the time between two updates of a site's state, which starts jobs:
// they run by the clock as well, so that each commit of samples needs no second one.
const stateEvery = 10 * time.Minute

// reportEvery is the shortest time between two records of what units of a site report.
const reportEvery = 2 * time.Second

// urgentEvery is the shortest time between two detections that faults cause.
const urgentEvery = time.Minute

// historyAge is the age from which samples are history that detection may not see by
// itself: its usual run reads 60 days.
const historyAge = 30 * 24 * time.Hour

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
	of := l.site(is)
	of.mu.Lock()
	defer of.mu.Unlock()
	of.Site = is
	return nil
}

// Append stores samples of units of a registered site. If urgent is true, detection
// runs soon.
func (l *Live) Append(ctx context.Context, siteID string, frames []store.AssetFrame, urgent bool) error {
	l.mu.Lock()
	s := l.sites[siteID]
	l.mu.Unlock()
	if s == nil {
		return fmt.Errorf("store samples of site %s: it is not registered", siteID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.store(ctx, s, frames, urgent)
}

// store stores samples of a site, and updates its state if that is due.
func (l *Live) store(ctx context.Context, s *site, frames []store.AssetFrame, urgent bool) error {
	if err := l.Telemetry.Append(ctx, store.SiteKey{ID: s.SiteID, Zone: record.Zone(s.Timezone)}, frames); err != nil {
		return fmt.Errorf("store samples of site %s: %w", s.SiteID, err)
	}
	for _, f := range frames {
		n := f.Frame.Len()
		if n == 0 {
			continue
		}
		first, last := time.Unix(f.Frame.Times[0], 0).UTC(), time.Unix(f.Frame.Times[n-1], 0).UTC()
		if s.oldest.IsZero() || first.Before(s.oldest) {
			s.oldest = first
		}
		s.last = record.Later(s.last, last)
		s.newest[f.AssetID] = record.Later(s.newest[f.AssetID], last)
		for _, kW := range f.Frame.Values(series.PowerKW) {
			if kW > s.peaksKW[f.AssetID] {
				s.peaksKW[f.AssetID] = kW
			}
		}
	}
	appeared, ended := s.noteReports(frames)
	s.reportDue = s.reportDue || appeared
	s.urgent = s.urgent || urgent || appeared || ended
	err := l.announce(ctx, s)
	l.recordReports(ctx, s)
	return err
}

// recordReports records faults that units report, if there are new ones. Their samples are
// stored: a failure is repeated with the next ones.
func (l *Live) recordReports(ctx context.Context, s *site) {
	if since := l.Now().Sub(s.reportAt); !s.reportDue || l.Report == nil || since >= 0 && since < reportEvery {
		return
	}
	if err := l.Report(ctx, s.SiteID); err != nil {
		if ctx.Err() == nil {
			l.Logger.WarnContext(ctx, "record what units report", "site_id", s.SiteID, "error", err)
		}
		return
	}
	s.reportDue, s.reportAt = false, l.Now()
}

// stateFault is the operating state of a faulty unit, in SunSpec models 101 to 103.
const stateFault = 7

// noteReports notes what units say of faults. appeared: a unit reports one that it did not
// report before; ended: one does not any more.
func (s *site) noteReports(frames []store.AssetFrame) (appeared, ended bool) {
	for _, f := range frames {
		n := f.Frame.Len() - 1
		if n < 0 {
			continue
		}
		state, code := f.Frame.At(series.InverterState, n), f.Frame.At(series.ErrorCode, n)
		was := s.reports[f.AssetID]
		if math.IsNaN(state) && math.IsNaN(code) || f.Frame.Times[n] < was.at {
			continue
		}
		is := report{at: f.Frame.Times[n], fault: state == stateFault}
		if code > 0 {
			is.code = code
		}
		reports := is.fault || is.code > 0
		appeared = appeared || reports && (is.code != was.code || is.fault && !was.fault)
		ended = ended || !reports && (was.fault || was.code > 0)
		s.reports[f.AssetID] = is
	}
	return appeared, ended
}

// announce updates the state of a site that has new samples, if the last update is long
// ago.
func (l *Live) announce(ctx context.Context, s *site) error {
	since := l.Now().Sub(s.stateAt)
	if s.last.IsZero() || since >= 0 && since < stateEvery && !(s.urgent && since >= urgentEvery) {
		return nil
	}
	if err := l.updateState(ctx, s); err != nil {
		return err
	}
	s.stateAt, s.last, s.oldest, s.urgent = l.Now(), time.Time{}, time.Time{}, false
	clear(s.newest)
	return nil
}

// announceEvery is the time between two looks for samples that no later ones announced.
const announceEvery = time.Minute

// Run updates the states of sites whose last samples no later ones followed, until ctx
// ends.
func (l *Live) Run(ctx context.Context) {
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.announceAll(ctx)
		}
	}
}

func (l *Live) announceAll(ctx context.Context) {
	l.mu.Lock()
	sites := slices.Collect(maps.Values(l.sites))
	l.mu.Unlock()
	for _, s := range sites {
		s.mu.Lock()
		err := l.announce(ctx, s)
		l.recordReports(ctx, s)
		s.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			l.Logger.WarnContext(ctx, "announce samples", "site_id", s.SiteID, "error", err)
		}
	}
}

// updateState records that the site has new data, and raises estimated capacities.
func (l *Live) updateState(ctx context.Context, s *site) error {
	err := l.Records.Update(ctx, func(tx store.Tx) error {
		_, err := sitedata.UpdateState(tx, s.SiteID, func(t *sitedata.State) {
			t.CustomerID, t.Live = s.CustomerID, true
			t.Data++
			if s.oldest.Before(l.Now().Add(-historyAge)) {
				t.AddHistory(s.oldest, s.last)
			}
			if s.last.After(t.LastData) {
				t.LastData = s.last
			}
			t.Rhythm.Add(l.Now(), s.last)
		})
		if err != nil {
			return err
		}
		if err := sitedata.AddArrivals(tx, s.SiteID, l.Now(), s.newest); err != nil {
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
		if s.urgent {
			return tx.Enqueue(l.NewJob(sitedata.JobDetect, sitedata.Payload{SiteID: s.SiteID}))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("update state of site %s: %w", s.SiteID, err)
	}
	return nil
}
