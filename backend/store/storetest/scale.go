package storetest

import (
	"fmt"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// scaleSite is a site of the benchmarks of growth.
func scaleSite(name string) store.SiteKey { return store.SiteKey{ID: "site_" + name, Zone: time.UTC} }

// scaleDays is the history that the growth of ingest is measured with.
const scaleDays = 30

// Scale measures how the costs of telemetry grow in a store: with the units of
// one site, and with the number of sites that have [UnitsOfSite] units each.
// The store's clock must be within the day that begins at [FleetEnd]; seal
// closes its days that are over.
func Scale(b *testing.B, g Growth, storage store.Telemetry, seal func()) {
	units := g.Sizes[len(g.Sizes)-1]
	month := Fleet(units, scaleDays)
	feed := func(b *testing.B, site store.SiteKey, frames []store.AssetFrame) {
		if err := storage.Append(b.Context(), site, frames); err != nil {
			b.Fatal(err)
		}
	}
	loads := 0
	g.Measure(b, "ingest/one site", func(b *testing.B, i int) func() {
		loads++
		site := scaleSite(fmt.Sprintf("load_%d", loads))
		return func() { feed(b, site, month[:g.Sizes[i]]) }
	})
	g.Measure(b, "ingest/sites of ten", func(b *testing.B, i int) func() {
		loads++
		load := loads
		return func() {
			for k := range g.Sizes[i] / UnitsOfSite {
				feed(b, scaleSite(fmt.Sprintf("load_%d_%d", load, k)), month[k*UnitsOfSite:(k+1)*UnitsOfSite])
			}
		}
	})

	// A year for one site of each size, a hundred units at a time; and an
	// installation with many live sites.
	const year = 365
	one := make([]store.SiteKey, len(g.Sizes))
	for i, size := range g.Sizes {
		one[i] = scaleSite(fmt.Sprintf("year_%d", size))
		for from := 0; from < size; from += 100 {
			feed(b, one[i], FleetPart(from, min(from+100, size), year))
		}
	}
	house := make([]store.SiteKey, units/UnitsOfSite)
	for k := range house {
		house[k] = scaleSite(fmt.Sprintf("house_%d", k))
		feed(b, house[k], month[k*UnitsOfSite:(k+1)*UnitsOfSite])
	}
	seal()
	month = nil //nolint:ineffassign,wastedassign // 140 MB that the collector need not look at

	from := FleetEnd.AddDate(0, 0, -year)
	read := func(name string, from, to time.Time, want int) {
		g.Measure(b, name, func(b *testing.B, i int) func() {
			return func() {
				n := 0
				for f, err := range storage.Read(b.Context(), one[i].ID, FleetUnit(g.Sizes[i]/2), from, to, series.PowerKW) {
					if err != nil {
						b.Fatal(err)
					}
					n += f.Len()
				}
				if n != want {
					b.Fatalf("%d samples, want %d", n, want)
				}
			}
		})
	}
	day := from.AddDate(0, 0, 33)
	read("unit day", day, day.AddDate(0, 0, 1), 288)
	read("unit year", from, FleetEnd, year*288)
	daily := func(name string, from, to time.Time, days int) {
		g.Measure(b, name, func(b *testing.B, i int) func() {
			return func() {
				if sums, err := storage.Daily(b.Context(), one[i].ID, from, to); err != nil || len(sums) != days*g.Sizes[i] {
					b.Fatal(len(sums), err)
				}
			}
		})
	}
	daily("site year daily", from, FleetEnd, year)

	steps := make([]int, len(g.Sizes))
	step := func(i int) int {
		steps[i]++
		return (steps[i] - 1) % 140 // up to the clock's noon
	}
	g.Measure(b, "live step/one site", func(b *testing.B, i int) func() {
		frames := FleetStep(g.Sizes[i], step(i))
		return func() { feed(b, one[i], frames) }
	})
	g.Measure(b, "live step/sites of ten", func(b *testing.B, i int) func() {
		frames := FleetStep(g.Sizes[i], step(i))
		return func() {
			for k := range g.Sizes[i] / UnitsOfSite {
				feed(b, house[k], frames[k*UnitsOfSite:(k+1)*UnitsOfSite])
			}
		}
	})
	for i, size := range g.Sizes { // the day so far is whole
		for s := range 140 {
			feed(b, one[i], FleetStep(size, s))
		}
	}
	read("unit today", FleetEnd, FleetEnd.AddDate(0, 0, 1), 140)
	g.Measure(b, "units today", func(b *testing.B, i int) func() {
		ids := make([]string, g.Sizes[i])
		for u := range ids {
			ids[u] = FleetUnit(u)
		}
		return func() {
			for f, err := range storage.ReadUnits(b.Context(), one[i].ID, ids, FleetEnd, FleetEnd.AddDate(0, 0, 1), series.PowerKW) {
				if err != nil || f.Frame.Len() != 140 {
					b.Fatal(f.AssetID, f.Frame.Len(), err)
				}
			}
		}
	})
	daily("site today", FleetEnd, FleetEnd.AddDate(0, 0, 1), 1)
	g.Measure(b, "latest", func(b *testing.B, i int) func() {
		return func() {
			if latest, err := storage.Latest(b.Context(), one[i].ID); err != nil || len(latest) != g.Sizes[i] {
				b.Fatal(len(latest), err)
			}
		}
	})
}
