package resilience

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/series"
)

// fleet is a data folder whose every answer is known beforehand.
type fleet struct {
	dir   string
	units int       // of each site
	sites int       // of the same telemetry
	first time.Time // of it, a midnight of UTC
	days  int       // each of 288 samples
	keys  []string  // API keys of an operator of all
}

const (
	fleetCustomer = "acme"
	stepsPerDay   = 288
	stepSeconds   = 300
)

func fleetSite(i int) string { return fmt.Sprintf("plant-%03d", i) }
func fleetUnit(i int) string { return fmt.Sprintf("INV-%03d", i) }

// unit is the id of a unit; those of the first site are the short ones.
func (f *fleet) unit(site, unit int) string {
	if site == 0 {
		return fleetUnit(unit)
	}
	return fmt.Sprintf("INV-%03d-%03d", site, unit)
}

// powerKW is what a unit reported in a step, counted from the first.
func powerKW(unit, step int) float64 {
	sun := math.Sin(math.Pi * (float64(step%stepsPerDay)/stepsPerDay - 0.25) * 2)
	return math.Round(max(0, sun)*10*float64(60+unit%40+step%7)) / 10
}

// dayKWh is a unit's energy on a day.
func dayKWh(unit, day int) float64 {
	sum := 0.0
	for i := range stepsPerDay {
		sum += powerKW(unit, day*stepsPerDay+i)
	}
	return sum * stepSeconds / 3600
}

func (f *fleet) at(step int) time.Time {
	return f.first.Add(time.Duration(step) * stepSeconds * time.Second)
}

func (f *fleet) steps() int { return f.days * stepsPerDay }

// makeFleet fills a new folder. Its telemetry ends with yesterday.
func makeFleet(t *testing.T, sites, units, days, keys int) *fleet {
	t.Helper()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	f := &fleet{dir: filepath.Join(t.TempDir(), "data"), sites: sites, units: units, days: days, first: today.AddDate(0, 0, -days)}
	service, err := backend.New(backend.Config{DataDir: f.dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, scope := t.Context(), api.Unlimited("test")
	for i := range keys {
		plain, _, err := service.Auth().CreateKey(ctx, auth.NewKey{Name: fmt.Sprint("load ", i), Customers: []string{fleetCustomer}})
		if err != nil {
			t.Fatal(err)
		}
		f.keys = append(f.keys, plain)
	}
	lat, lon := -29.6, 31.1
	for i := range sites {
		if _, err := service.Domain().Sites.SetSite(ctx, scope, api.Site{SiteID: fleetSite(i), CustomerID: fleetCustomer, Timezone: "UTC", Latitude: &lat, Longitude: &lon, CapacityKW: 100 * float64(units)}); err != nil {
			t.Fatal(err)
		}
		for u := range units {
			id := f.unit(i, u)
			if _, err := service.Domain().Sites.AddAsset(ctx, scope, api.Asset{AssetID: id, SiteID: fleetSite(i), Name: id, Type: "inverter", CapacityKW: 100, Location: "roof"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	f.measure(t)
	return f
}

// measure stores the telemetry, the same for each site.
func (f *fleet) measure(t *testing.T) {
	t.Helper()
	s, err := bolt.Open(f.dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	times := make([]int64, f.steps())
	for i := range times {
		times[i] = f.at(i).Unix()
	}
	columns := make([]series.Frame, f.units)
	for u := range columns {
		power := make([]float64, len(times))
		for i := range power {
			power[i] = powerKW(u, i)
		}
		columns[u].Times = times
		columns[u].Set(series.PowerKW, power)
	}
	for site := range f.sites {
		var frames []store.AssetFrame
		for u, frame := range columns {
			frames = append(frames, store.AssetFrame{AssetID: f.unit(site, u), Frame: frame})
		}
		for part := range slices.Chunk(frames, 10) {
			if err := s.Append(t.Context(), store.SiteKey{ID: fleetSite(site), Zone: time.UTC}, part); err != nil {
				t.Fatal(err)
			}
		}
	}
}
