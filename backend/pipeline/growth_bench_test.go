//go:build !gateway

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/storetest"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// houseDays is the history of the installations of BenchmarkGrowth: the shortest
// that a model is trained from.
const houseDays = forecast.MinimumDays + 1

// installation is a plant with sites of one customer, all of the same number of units.
type installation struct {
	*plant
	sites []api.Site
}

// newInstallation makes the sites with their history by 5 minutes. Units are those of a
// simulated site of ten, each a little smaller than the one before. The plant's
// clock shows ten in the morning: that much of today is open.
func newInstallation(b *testing.B, sites, units int, tune func(*Config)) *installation {
	b.Helper()
	h := &installation{plant: &plant{t: b, dir: b.TempDir(), clock: day0, tune: func(c *Config) {
		c.TrainWorkers, c.TrainingDays, c.Quiet = 1, forecast.MinimumDays, time.Nanosecond
		c.Logger = slog.New(slog.DiscardHandler)
		tune(c)
	}}}
	h.wall = h.now // so that today is open
	h.open()
	b.Cleanup(h.close)
	simulated := fleet(houseDays, storetest.UnitsOfSite)
	frames := simulated.Frames(day0.AddDate(0, 0, -houseDays), day0, 5*time.Minute)
	lat, lon := simulated.Location.LatitudeDeg, simulated.Location.LongitudeDeg
	for i := range sites {
		id := fmt.Sprintf("site-%05d", i)
		var all []store.AssetFrame
		err := h.Records.Update(b.Context(), func(tx store.Tx) error {
			all = nil
			site, _, err := h.Domain.Sites.CreateSiteIfMissing(tx, api.Site{SiteID: id, CustomerID: "acme", Timezone: "UTC", Latitude: &lat, Longitude: &lon}, "test")
			if err != nil {
				return err
			}
			h.sites = append(h.sites[:i], site)
			for k := range units {
				of := simulated.Units[k%len(simulated.Units)]
				asset := api.Asset{AssetID: fmt.Sprintf("INV-%05d", k), Type: "Solar Inverter", CapacityKW: of.CapacityKW, SiteID: id, CustomerID: "acme", Timezone: "UTC"}
				asset.Name = asset.AssetID
				if _, _, err := h.Domain.Sites.CreateAssetIfMissing(tx, asset); err != nil {
					return err
				}
				all = append(all, store.AssetFrame{AssetID: asset.AssetID, Frame: smaller(frames[of.AssetID], 1-float64(i+k)/20_000)})
			}
			_, err = sitedata.UpdateState(tx, id, func(t *sitedata.State) { t.Data, t.LastData = 1, day0.Add(-5*time.Minute) })
			return err
		})
		if err == nil {
			err = h.Telemetry.Append(b.Context(), store.SiteKey{ID: h.sites[i].SiteID, Zone: record.Zone(h.sites[i].Timezone)}, all)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return h
}

// smaller is a unit's telemetry with its power times a share.
func smaller(f series.Frame, share float64) series.Frame {
	power := append([]float64(nil), f.Values(series.PowerKW)...)
	for i := range power {
		power[i] *= share
	}
	f.Columns = slices.Clone(f.Columns)
	f.Set(series.PowerKW, power)
	return f
}

// each runs something for each site.
func (h *installation) each(b *testing.B, do func(ctx context.Context, site api.Site) error) {
	for _, site := range h.sites {
		if err := do(b.Context(), site); err != nil {
			b.Fatal(site.SiteID, err)
		}
	}
}

// learnAgain lets a site learn from what it has, whether it has learned before
// or not.
func (h *installation) learnAgain(ctx context.Context, site api.Site) error {
	track, err := h.State(ctx, site.SiteID)
	if err != nil {
		return err
	}
	if _, err := h.TrainSite(ctx, site, track); err != nil {
		return err
	}
	m, err := h.Domain.Models.InProduction(ctx, site.SiteID, sitedata.ModelType)
	if err == nil && m.Young {
		err = errors.New("its model is of other sites")
	}
	return err
}

// modelled gives all sites the model of the first, which is quick.
func (h *installation) modelled(b *testing.B) {
	if err := h.learnAgain(b.Context(), h.sites[0]); err != nil {
		b.Fatal(err)
	}
	first, err := h.Domain.Models.InProduction(b.Context(), h.sites[0].SiteID, sitedata.ModelType)
	if err != nil {
		b.Fatal(err)
	}
	parts, err := h.ReadArtefact(b.Context(), first.Artefacts)
	if err != nil {
		b.Fatal(err)
	}
	for _, site := range h.sites[1:] {
		m := first
		m.SiteID = site.SiteID
		if m.Artefacts, err = h.WriteArtefact(b.Context(), site, m.Hash, parts); err != nil {
			b.Fatal(err)
		}
		err = h.Records.Update(b.Context(), func(tx store.Tx) error {
			if _, err := h.Domain.Models.Register(tx, m, nil); err != nil {
				return err
			}
			_, err := sitedata.UpdateState(tx, site.SiteID, func(s *sitedata.State) {
				s.Trained, s.HasModel, s.TrainedEnd, s.TriedEnd = s.Data, true, m.TrainingDataWindow.End.UTC(), s.LastData
			})
			return errors.Join(err, h.ConfirmObjects(tx, m.Artefacts.All()...))
		})
		if err != nil {
			b.Fatal(site.SiteID, err)
		}
	}
}

// BenchmarkGrowth measures how the costs of the jobs of sites grow: with the
// units of one site, and with the number of sites that have ten units each. One
// site of an installation is trained when all have models, so that the training
// is pooled with the nearest.
func BenchmarkGrowth(b *testing.B) {
	setups := map[string]func(b *testing.B) (tune func() func(*Config), server func() func() time.Duration){
		"file": func(*testing.B) (func() func(*Config), func() func() time.Duration) {
			return func() func(*Config) { return func(*Config) {} }, nil
		},
		"postgres": func(b *testing.B) (func() func(*Config), func() func() time.Duration) {
			server := pgtest.Start(b, pgtest.Options{FSync: true})
			return func() func(*Config) { return onPostgres(b, server.Database(b)) }, server.CPU
		},
	}
	for _, name := range []string{"file", "postgres"} {
		b.Run(name, func(b *testing.B) {
			storetest.SelectScale(b, name)
			tune, server := setups[name](b)
			g := storetest.Growth{Sizes: storetest.ScaleSizes(b), Server: server}
			var one, many []*installation
			for _, units := range g.Sizes {
				one = append(one, newInstallation(b, 1, units, tune()))
				if !testing.Short() { // they differ in the number of sites alone
					many = append(many, newInstallation(b, units/storetest.UnitsOfSite, storetest.UnitsOfSite, tune()))
				}
			}
			grow(b, g, "one site", one)
			if many != nil {
				grow(b, g, "sites of ten", many)
			}
		})
	}
}

// onPostgres lets a plant keep all but its jobs in a database.
func onPostgres(b *testing.B, url string) func(*Config) {
	return func(c *Config) {
		storage, err := postgres.Open(b.Context(), url, postgres.Options{Now: c.Now, Enqueue: func(context.Context, pgx.Tx, store.Job) error { return nil }})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { storage.Close() })
		c.Records, c.Telemetry, c.Domain = storage, storage, domain.New(storage, storage, c.Now)
	}
}

// grow measures installations of the sizes.
func grow(b *testing.B, g storetest.Growth, shape string, houses []*installation) {
	for _, h := range houses {
		h.modelled(b)
	}
	measure := func(what string, do func(b *testing.B, h *installation)) {
		g.Measure(b, what+"/"+shape, func(b *testing.B, i int) func() {
			return func() { do(b, houses[i]) }
		})
	}
	site := func(do func(h *installation, ctx context.Context, id string) error) func(*testing.B, *installation) {
		return func(b *testing.B, h *installation) {
			h.each(b, func(ctx context.Context, site api.Site) error { return do(h, ctx, site.SiteID) })
		}
	}
	measure("train", func(b *testing.B, h *installation) {
		if err := h.learnAgain(b.Context(), h.sites[len(h.sites)/2]); err != nil {
			b.Fatal(err)
		}
	})
	measure("detect", site(func(h *installation, ctx context.Context, id string) error { return h.DetectSite(ctx, id) }))
	measure("forecast", site(func(h *installation, ctx context.Context, id string) error { return h.Issue(ctx, id) }))
	measure("snapshots", site(func(h *installation, ctx context.Context, id string) error { return h.Partner.Make(ctx, id, day0) }))
	measure("fleet list", func(b *testing.B, h *installation) {
		list, next, err := h.Domain.KPIs.Fleet(b.Context(), admin, api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: api.MaxLimit}})
		if err != nil || next != "" || len(list) != len(h.sites) {
			b.Fatal(len(list), next, err)
		}
	})
	measure("a look of the planner", func(b *testing.B, h *installation) {
		all, _, err := h.siteStates(b.Context())
		if err != nil || len(all) != len(h.sites) {
			b.Fatal(len(all), err)
		}
	})
}
