// Package feed plays a simulated fleet to a service, through its HTTP
// interface as any portal would: sites and units, the history as uploads, then
// each new sample as it falls due.
package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/engine/simulate"
	"app.sunloop/internal/clock"
)

// History is how long a fleet has been reporting when the demo begins.
const History = 365 * 24 * time.Hour

// FirstDay is the first record of the first site's telemetry, whenever the demo runs:
// the examples of API clients request the days after it.
var FirstDay = time.Date(2025, 10, 1, 6, 0, 0, 0, time.UTC)

// Start is when the fleet of a demo begins to report whose live stream begins
// at begin.
func Start(begin time.Time) time.Time {
	if start := begin.Add(-History); start.Before(FirstDay) {
		return start
	}
	return FirstDay
}

// Player plays a fleet of plants to a service.
type Player struct {
	Client      *client.Client
	Fleet       *simulate.Fleet
	Clock       *Clock
	History     time.Duration // of all sites but the first, which has the fleet's whole
	HistoryStep time.Duration // between two samples of the history
	Step        time.Duration // between two live samples
	Log         *slog.Logger
	// SignIn starts a new session of Client when an upload is refused because the session
	// has ended; nil: the upload fails.
	SignIn func(ctx context.Context) error
	// Sent is called with the plants' time up to which all telemetry is
	// uploaded.
	Sent func(until time.Time)
	// Progress is called with the share of the history that is simulated and sent;
	// nil: not called.
	Progress func(share float64)
}

// chunkRows keeps each file of history under the upload limit.
const chunkRows = 100_000

// Register creates the sites and their units; existing ones are no error.
func (f *Player) Register(ctx context.Context) error {
	for _, s := range f.Fleet.Sites {
		if err := f.register(ctx, s); err != nil {
			return fmt.Errorf("register site %s: %w", s.ID, err)
		}
	}
	return nil
}

// UploadHistory uploads all that the fleet reported until the clock's start.
func (f *Player) UploadHistory(ctx context.Context) error {
	var wait sync.WaitGroup
	var sent atomic.Int64 // rows
	all := int64(0)
	errs := make([]error, len(f.Fleet.Sites))
	var starts []func() error
	for i, s := range f.Fleet.Sites {
		from := f.Fleet.Start
		if late := f.Clock.Start().Add(-f.History); i > 0 && late.After(from) {
			from = late
		}
		rows := func(from, to time.Time) int64 { return int64(to.Sub(from)/f.HistoryStep) * int64(len(s.Units)) }
		all += rows(from, f.Clock.Start())
		starts = append(starts, func() error {
			return f.sendHistory(ctx, s, from, func(from, to time.Time) {
				if n := sent.Add(rows(from, to)); f.Progress != nil && all > 0 {
					f.Progress(float64(n) / float64(all))
				}
			})
		})
	}
	for i, start := range starts {
		wait.Go(func() { errs[i] = start() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// customerOf is whose a site is: a service keeps one customer for each, and
// every customer of the fleet has a site that names it first.
func customerOf(s *simulate.Site) string { return s.CustomerIDs[0] }

// register creates a site and its units.
func (f *Player) register(ctx context.Context, s *simulate.Site) error {
	customer := customerOf(s)
	_, err := f.Client.SetSite(ctx, api.Site{
		SiteID: s.ID, CustomerID: customer, Name: s.Name, Location: s.Country, Timezone: s.Zone.String(),
		Latitude: &s.Location.LatitudeDeg, Longitude: &s.Location.LongitudeDeg, CapacityKW: s.CapacityKW(),
		TiltDeg: &s.Units[0].Plane.TiltDeg, AzimuthDeg: &s.Units[0].Plane.AzimuthDeg,
		Currency: s.Currency, TariffPerKWh: s.TariffPerKWh, TerminalDeviceID: s.TerminalID,
	})
	if err != nil {
		return err
	}
	for _, u := range s.Units {
		var parts []api.Component
		for _, c := range u.Components {
			parts = append(parts, api.Component{OEM: c.OEM, Model: c.Model, Serial: c.Serial})
		}
		_, err := f.Client.AddAsset(ctx, api.Asset{
			AssetID: u.AssetID, Name: u.Name, Type: "solar_" + u.Type, CapacityKW: u.CapacityKW, RatedPowerKW: u.CapacityKW, Location: s.Name,
			ACRatingKW: u.CapacityKW, DCRatingKW: u.CapacityKW * u.DCRatio,
			Components: parts, SiteID: s.ID, CustomerID: customer, Timezone: s.Zone.String(),
			Latitude: &s.Location.LatitudeDeg, Longitude: &s.Location.LongitudeDeg, TiltDeg: &u.Plane.TiltDeg, AzimuthDeg: &u.Plane.AzimuthDeg,
		})
		var refusal *api.Error
		if errors.As(err, &refusal) && refusal.Status == http.StatusConflict {
			continue // of an earlier start that was cut off
		}
		if err != nil {
			return fmt.Errorf("unit %s: %w", u.AssetID, err)
		}
	}
	return nil
}

// sendHistory uploads all that the site reported from from until the clock's
// start, and calls sent for each part.
func (f *Player) sendHistory(ctx context.Context, s *simulate.Site, from time.Time, sent func(from, to time.Time)) error {
	span := time.Duration(chunkRows/len(s.Units)) * f.HistoryStep
	for ; from.Before(f.Clock.Start()); from = from.Add(span) {
		to := from.Add(span)
		if to.After(f.Clock.Start()) {
			to = f.Clock.Start()
		}
		var file bytes.Buffer
		if err := s.WriteCSV(&file, from, to, f.HistoryStep); err != nil {
			return err
		}
		req := f.request(s, fmt.Sprintf("%s_%s_%s.csv", s.ID, from.Format("20060102"), to.Format("20060102")))
		if err := f.withRetry(ctx, func() error { _, err := f.Client.UploadTrain(ctx, req, bytes.NewReader(file.Bytes()), nil); return err }); err != nil {
			return fmt.Errorf("upload the history of site %s: %w", s.ID, err)
		}
		sent(from, to)
	}
	return nil
}

func (f *Player) request(s *simulate.Site, name string) api.UploadRequest {
	return api.UploadRequest{
		CustomerID: customerOf(s), SiteID: s.ID, Region: "demo", Location: s.Name,
		Manufacturer: "Sunloop-Simulator", Timezone: "UTC", Filename: name,
	}
}

// liveEvery is the shortest wall time between two live uploads of a site.
const liveEvery = 4 * time.Second

// progress is the time up to which something is done for each of the sites.
type progress struct {
	mu     sync.Mutex
	sites  []time.Time
	all    time.Time
	report func(until time.Time) // called when all grows
}

func newProgress(sites int, start time.Time, report func(time.Time)) *progress {
	return &progress{sites: slices.Repeat([]time.Time{start}, sites), all: start, report: report}
}

// set records the time up to which it is done for a site.
func (p *progress) set(site int, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sites[site] = until
	if least := slices.MinFunc(p.sites, time.Time.Compare); least.After(p.all) {
		p.all = least
		p.report(least)
	}
}

// Live uploads the samples that fell due since the last ones, until ctx ends, and reports to
// the clock what the service has imported. The sites are independent: one whose upload takes
// long, or fails, does not hold up the others, and what was not taken is sent with the next
// samples.
func (f *Player) Live(ctx context.Context) error {
	start := f.Clock.Start()
	f.Sent(start)
	sites := f.Fleet.Sites
	sent, imported := newProgress(len(sites), start, f.Sent), newProgress(len(sites), start, f.Clock.Imported)
	errs := make([]error, len(sites))
	var wait sync.WaitGroup
	for i, s := range sites {
		l := live{Player: f, site: s, from: start, sent: func(t time.Time) { sent.set(i, t) }, imported: func(t time.Time) { imported.set(i, t) }}
		wait.Go(func() { errs[i] = l.run(ctx) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// live uploads the live samples of a site.
type live struct {
	*Player
	site     *simulate.Site
	from     time.Time // up to which they are sent
	open     []sample  // sent and not known to be imported, oldest first
	sent     func(until time.Time)
	imported func(until time.Time)
}

// sample is an upload with the samples before a time.
type sample struct {
	uploadID string // empty: nothing was to be sent
	until    time.Time
}

// run uploads until ctx ends.
func (l *live) run(ctx context.Context) error {
	tick := time.NewTicker(max(time.Duration(float64(l.Step)/l.Clock.speed), liveEvery))
	defer tick.Stop()
	for {
		l.follow(ctx)
		// A sample covers the time from its time stamp: it is complete,
		// and reported, when the next one begins.
		if due := l.Clock.Now().Truncate(l.Step); due.After(l.from) {
			id, err := l.send(ctx, due)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				l.Log.Warn("the demo's live upload failed", "site", l.site.ID, "error", err)
				if isRefused(err) { // of a site that was archived or removed, for example: the clock does not wait for it
					l.imported(due)
				}
			default:
				l.from = due
				l.open = append(l.open, sample{id, due})
				l.sent(due)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follow reports the uploads that the service has imported since the last call.
func (l *live) follow(ctx context.Context) {
	for len(l.open) > 0 {
		first := l.open[0]
		if first.uploadID != "" {
			var u *api.Upload
			err := l.withRetry(ctx, func() (err error) { u, err = l.Client.Upload(ctx, first.uploadID); return err })
			if err != nil && !isRefused(err) || err == nil && !u.Ended() && u.LastRecord.IsZero() {
				return
			}
		}
		l.open = l.open[1:]
		l.imported(first.until)
	}
}

// isRefused reports whether the service will not accept the request at a later time either.
func isRefused(err error) bool {
	var refusal *api.Error
	return errors.As(err, &refusal) && refusal.Status >= 400 && refusal.Status < 500 && refusal.Status != http.StatusUnauthorized && refusal.Status != http.StatusTooManyRequests
}

// send uploads the samples of the site since the last ones, if it reported any, and returns
// the id of the upload.
func (l *live) send(ctx context.Context, due time.Time) (uploadID string, err error) {
	var file bytes.Buffer
	if err := l.site.WriteCSV(&file, l.from, due, l.Step); err != nil {
		return "", err
	}
	if strings.Count(file.String(), "\n") < 2 {
		return "", nil // not reported
	}
	req := l.request(l.site, l.site.ID+"_live.csv")
	err = l.withRetry(ctx, func() error {
		ack, err := l.Client.UploadNowcast(ctx, req, bytes.NewReader(file.Bytes()), nil)
		if err == nil {
			uploadID = ack.UploadID
		}
		return err
	})
	return uploadID, err
}

// withRetry retries when the service asks for a delay, and once after a new sign-in when
// the session has ended.
func (f *Player) withRetry(ctx context.Context, send func() error) error {
	for again := f.SignIn != nil; ; {
		err := send()
		var refusal *api.Error
		switch {
		case !errors.As(err, &refusal):
			return err
		case refusal.Status == http.StatusUnauthorized && again:
			again = false
			if err := f.SignIn(ctx); err != nil {
				return err
			}
			continue
		case refusal.Status != http.StatusTooManyRequests:
			return err
		}
		if err := clock.Sleep(ctx, time.Duration(max(refusal.RetryAfter, 1))*time.Second); err != nil {
			return err
		}
	}
}
