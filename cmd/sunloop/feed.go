package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/engine/simulate"
)

// simClock is a simulated plant's clock: it runs speed times as fast as the
// wall.
type simClock struct {
	start, wall time.Time
	speed       float64
	now         func() time.Time // the wall
}

// Now is the plant's time.
func (c simClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(c.now().Sub(c.wall)) * c.speed))
}

// feed plays a fleet of plants to the service, through its HTTP interface as
// any portal would: sites and units, the history as uploads, then each new
// sample as it falls due.
type feed struct {
	client  *client.Client
	fleet   *simulate.Fleet
	clock   simClock
	history time.Duration // step of the history
	step    time.Duration // step of the live samples
	log     *slog.Logger
	// sent is told of the plants' time up to which all is uploaded.
	sent func(until time.Time)
}

// chunkRows keeps each file of history under the upload limit.
const chunkRows = 100_000

// registerAll tells the service of the fleet.
func (f *feed) registerAll(ctx context.Context) error {
	for _, s := range f.fleet.Sites {
		if err := f.register(ctx, s); err != nil {
			return fmt.Errorf("register site %s: %w", s.ID, err)
		}
	}
	return nil
}

// run plays until ctx ends. fed says that the service has the history already.
func (f *feed) run(ctx context.Context, fed bool) error {
	if !fed {
		var wait sync.WaitGroup
		errs := make([]error, len(f.fleet.Sites))
		for i, s := range f.fleet.Sites {
			wait.Go(func() { errs[i] = f.sendHistory(ctx, s) })
		}
		wait.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return f.live(ctx)
}

// register tells the service of a site and its units.
func (f *feed) register(ctx context.Context, s *simulate.Site) error {
	customer := s.CustomerIDs[len(s.CustomerIDs)-1]
	_, err := f.client.SetSite(ctx, api.Site{
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
		_, err := f.client.AddAsset(ctx, api.Asset{
			AssetID: u.AssetID, Name: u.Name, Type: "solar_" + u.Type, CapacityKW: u.CapacityKW, RatedPowerKW: u.CapacityKW, Location: s.Name,
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

// sendHistory uploads all that the site reported until the clock's start.
func (f *feed) sendHistory(ctx context.Context, s *simulate.Site) error {
	span := time.Duration(chunkRows/len(s.Units)) * f.history
	for from := f.fleet.Start; from.Before(f.clock.start); from = from.Add(span) {
		to := from.Add(span)
		if to.After(f.clock.start) {
			to = f.clock.start
		}
		var file bytes.Buffer
		if err := s.WriteCSV(&file, from, to, f.history); err != nil {
			return err
		}
		req := f.request(s, fmt.Sprintf("%s_%s_%s.csv", s.ID, from.Format("20060102"), to.Format("20060102")))
		if err := f.patient(ctx, func() error { _, err := f.client.UploadTrain(ctx, req, bytes.NewReader(file.Bytes()), nil); return err }); err != nil {
			return fmt.Errorf("upload the history of site %s: %w", s.ID, err)
		}
	}
	return nil
}

func (f *feed) request(s *simulate.Site, name string) api.UploadRequest {
	return api.UploadRequest{
		CustomerID: s.CustomerIDs[len(s.CustomerIDs)-1], SiteID: s.ID, Region: "demo", Location: s.Name,
		Manufacturer: "Sunloop-Simulator", Timezone: "UTC", Filename: name,
	}
}

// liveEvery is the least wall time between two live uploads of a site: the
// feed's key may ask 60 times a minute, and three sites share it.
const liveEvery = 4 * time.Second

// live uploads the samples that fell due since the last ones.
func (f *feed) live(ctx context.Context) error {
	f.sent(f.clock.start)
	sent := f.clock.start
	wait := max(time.Duration(float64(f.step)/f.clock.speed), liveEvery)
	tick := time.NewTicker(wait)
	defer tick.Stop()
	for {
		// A sample stands for the time from its stamp on: it is whole, and
		// reported, when the next one begins.
		due := f.clock.Now().Truncate(f.step)
		if due.After(sent) {
			for _, s := range f.fleet.Sites {
				var file bytes.Buffer
				if err := s.WriteCSV(&file, sent, due, f.step); err != nil {
					return err
				}
				if strings.Count(file.String(), "\n") < 2 {
					continue // nobody reported
				}
				req := f.request(s, s.ID+"_live.csv")
				if err := f.patient(ctx, func() error {
					_, err := f.client.UploadNowcast(ctx, req, bytes.NewReader(file.Bytes()), nil)
					return err
				}); err != nil {
					if ctx.Err() != nil {
						return nil
					}
					f.log.Warn("the demo's live upload failed", "site", s.ID, "error", err)
				}
			}
			sent = due
			f.sent(sent)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// patient tries again when the service asks for patience.
func (f *feed) patient(ctx context.Context, send func() error) error {
	for {
		err := send()
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(max(refusal.RetryAfter, 1)) * time.Second):
		}
	}
}
