package pipeline

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// standing is how far the work on site South has come.
func (p *plant) standing() sitedata.State {
	p.t.Helper()
	track, err := p.State(p.t.Context(), "South")
	if err != nil {
		p.t.Fatal(err)
	}
	return track
}

// report uploads a site's live data of from..until, when the clock has come
// there, and waits until the file is in.
func (p *plant) report(s *simulate.Site, from, until time.Time) {
	p.t.Helper()
	p.pass(until.Sub(p.now()))
	p.ended1(p.upload(request(api.UploadNowcast), csvOf(p.t, s, from, until, 15*time.Minute)))
}

// Detection needs no request: it runs after a nowcast, by its timer while
// no data arrive, and on request.
func TestDetectionRunsByItself(t *testing.T) {
	p := newPlant(t, day0, nil)
	s := fleet(10, 3)
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -10), day0, 15*time.Minute)))
	p.await("detection over the history", func() bool {
		track := p.standing()
		return track.DetectData == track.Data
	})
	p.report(s, day0, day0.Add(15*time.Minute))
	p.await("detection after the nowcast", func() bool {
		track := p.standing()
		return track.Live && track.DetectData == track.Data && track.DetectAt.Equal(p.now())
	})
	data := p.standing().Data

	p.pass(p.config.DetectEvery)
	p.await("detection by its timer", func() bool { return p.standing().DetectAt.Equal(p.now()) })
	if track := p.standing(); track.Data != data {
		t.Errorf("something came: %+v", track)
	}

	p.pass(time.Minute) // the timer is not due
	d, err := p.Detect(t.Context(), admin, api.AssetRef{AssetID: s.Units[0].AssetID, SiteID: "South"}, 0)
	if err != nil || !p.standing().DetectAt.Equal(p.now()) {
		t.Fatalf("on demand: %+v, %v", d, err)
	}
	list, _, err := p.Detector.Detections(t.Context(), admin, api.ListQuery{SiteID: "South", AssetID: s.Units[0].AssetID})
	if err != nil || len(list) == 0 || list[0].DetectionID != d.DetectionID {
		t.Errorf("stored are %+v, %v", list, err)
	}

	// Silence is found by the timer alone.
	p.pass(3 * time.Hour)
	p.await("the silence", func() bool {
		list, _, err := p.Domain.Findings.Findings(t.Context(), admin, api.ListQuery{SiteID: "South"})
		return err == nil && list[0].Active && list[0].FaultFamily == "communication_gap"
	})
	if track := p.standing(); track.Data != data {
		t.Errorf("something came: %+v", track)
	}
}

// heldTelemetry delays the end of a read while hold is set.
type heldTelemetry struct {
	store.Telemetry
	hold atomic.Pointer[chan struct{}]
	read chan struct{} // receives a value when a read is held
}

func (h *heldTelemetry) ReadUnits(ctx context.Context, siteID string, assetIDs []string, from, to time.Time, quantities ...series.Quantity) iter.Seq2[store.AssetFrame, error] {
	return func(yield func(store.AssetFrame, error) bool) {
		for f, err := range h.Telemetry.ReadUnits(ctx, siteID, assetIDs, from, to, quantities...) {
			if !yield(f, err) {
				return
			}
		}
		if until := h.hold.Swap(nil); until != nil {
			h.read <- struct{}{}
			<-*until
		}
	}
}

// A run that read the telemetry before data arrived does not record its results after
// a run that has them.
func TestRunsOfASiteTakeTurns(t *testing.T) {
	held := &heldTelemetry{read: make(chan struct{}, 1)}
	p := newPlant(t, day0, func(c *Config) { held.Telemetry, c.Telemetry = c.Telemetry, held })
	s := fleet(10, 3)
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -10), day0, 15*time.Minute)))
	p.report(s, day0, day0.Add(15*time.Minute))
	p.await("detection after the nowcast", func() bool {
		track := p.standing()
		return track.Live && track.DetectData == track.Data && track.DetectAt.Equal(p.now())
	})

	from := p.now()
	until := make(chan struct{})
	held.hold.Store(&until)
	p.pass(4 * time.Hour) // the timer is due, and the data are missing
	<-held.read
	p.ended1(p.upload(request(api.UploadNowcast), csvOf(t, s, from, p.now(), 15*time.Minute)))
	ran := make(chan error, 1)
	go func() {
		_, err := p.Detect(t.Context(), admin, api.AssetRef{AssetID: s.Units[0].AssetID, SiteID: "South"}, 0)
		ran <- err
	}()
	select {
	case err := <-ran:
		t.Errorf("a second run of the site did not wait: %v", err)
		close(until)
	case <-time.After(200 * time.Millisecond):
		close(until)
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
	list, _, err := p.Domain.Findings.Findings(t.Context(), admin, api.ListQuery{SiteID: "South"})
	if err != nil && !errors.Is(err, api.ErrNoSummaries) {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Active {
			t.Errorf("%s is active", f.FaultFamily)
		}
	}
}

// A unit fails three times: its issue opens, resolves itself, opens again two
// days later, and a week after that another one is opened.
func TestIssueOfALiveSite(t *testing.T) {
	p := newPlant(t, day0, nil)
	s := fleet(10, 3)
	victim := s.Units[1].AssetID
	var faults []simulate.Fault
	for i, d := range []int{0, 2, 9} {
		from := day0.AddDate(0, 0, d).Add(30 * time.Minute)
		faults = append(faults, simulate.Fault{ID: string(rune('a' + i)), Kind: simulate.UnitOutage, Units: []string{victim}, From: from, To: from.Add(2 * time.Hour)})
	}
	s.SetFaults(faults)
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -10), day0, 15*time.Minute)))
	// later reports what is new. The clock does not advance while a file is
	// imported, and the timer may have run before it: only its next time
	// includes the file.
	reported := day0
	later := func(until time.Time) {
		p.report(s, reported, until)
		reported = until
		p.pass(p.config.DetectEvery)
	}
	// newest is the unit's newest issue of the kind, and how many there are.
	newest := func() (i api.Issue, n int) {
		list, _, err := p.Domain.Issues.Issues(t.Context(), admin, api.ListQuery{SiteID: "South", AssetID: victim})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			if one.IssueType != "inverter_outage" {
				continue
			}
			n++
			if i.IssueID == "" || one.CreatedAt.After(i.CreatedAt.Time) {
				i = one
			}
		}
		return i, n
	}
	for k, want := range []struct {
		status       string
		count, times int
	}{{api.IssueNew, 1, 0}, {api.IssueInProgress, 1, 1}, {api.IssueNew, 2, 0}} {
		later(faults[k].From.Add(90 * time.Minute))
		p.await("the issue of outage "+faults[k].ID, func() bool {
			i, n := newest()
			return n == want.count && i.Status == want.status
		})
		if i, _ := newest(); i.Reopened != want.times || i.EnergyAtRiskKW <= 0 || i.SummaryID == "" || i.Component != victim {
			t.Errorf("outage %s: %+v", faults[k].ID, i)
		}
		later(faults[k].To.Add(2 * time.Hour))
		p.await("its end", func() bool {
			i, n := newest()
			return n == want.count && i.Status == api.IssueResolved && i.EnergyAtRiskKW == 0
		})
	}
}
