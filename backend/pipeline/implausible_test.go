package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// TestImplausibleLivePower: power of a live file that the unit cannot have is left out and named,
// and the energy of its time is that of the counter. The first days of a unit show nothing to
// compare with, and a capacity that its days contradict is no limit.
func TestImplausibleLivePower(t *testing.T) {
	// An hour of every quarter hour, its mean power and the lifetime counter.
	file := func(at time.Time, factor float64) []byte {
		text := "time,Power (kW),Total energy (kWh)\n"
		for i := range 5 {
			text += fmt.Sprintf("%s,%.3f,%.3f\n", at.Add(time.Duration(i)*15*time.Minute).Format(time.RFC3339), 30*factor, 100_000+30*math.Floor(at.Sub(day0).Hours()/24)+7.5*float64(i))
		}
		return []byte(text)
	}
	for _, c := range []struct {
		name       string
		days       int
		capacityKW float64
		factor     float64
		dropped    bool
	}{
		{"a factor of 1000", 8, 40, 1000, true},
		{"normal", 8, 40, 1, false},
		{"a unit without history", 2, 40, 1000, false},
		{"a capacity that is wrong", 8, 4, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlant(t, day0.AddDate(0, 0, 9), nil)
			req := request(api.UploadNowcast)
			req.CapacityKW = c.capacityKW
			for d := 8 - c.days; d < 8; d++ {
				p.importNow(req, file(day0.AddDate(0, 0, d).Add(10*time.Hour), 1))
			}
			last := day0.AddDate(0, 0, 8).Add(10 * time.Hour)
			p.importNow(req, file(last, c.factor))
			var power []float64
			for _, f := range p.stored("South") {
				f = f.Slice(last.Unix(), last.Add(2*time.Hour).Unix())
				power = f.Values(series.PowerKW)
				if n := f.Len(); n != 5 {
					t.Fatalf("%d rows", n)
				}
			}
			for _, v := range power {
				if math.IsNaN(v) != c.dropped {
					t.Errorf("power %v", power)
					break
				}
			}
			list, _, err := p.Uploads(t.Context(), admin, api.ListQuery{SiteID: "South"})
			if err != nil || len(list) == 0 {
				t.Fatal(list, err)
			}
			named := false
			for _, u := range list {
				for _, text := range u.Decisions {
					named = named || strings.Contains(text, "left out, as it cannot have them")
				}
			}
			if named != c.dropped {
				t.Errorf("named %t", named)
			}
			if !c.dropped {
				return
			}
			days, err := p.Telemetry.Daily(t.Context(), "South", last.AddDate(0, 0, -1), last.AddDate(0, 0, 1))
			if err != nil || len(days) != 1 || math.Abs(days[0].EnergyKWh-30) > 1 || days[0].PeakKW > 40 {
				t.Errorf("days %+v, %v", days, err)
			}
		})
	}
}

// TestImplausibleWrittenPower: the same power that a collector writes is left out and named,
// or refused, and no time without a value is stored.
func TestImplausibleWrittenPower(t *testing.T) {
	p := newPlant(t, day0.AddDate(0, 0, 9), nil)
	req := request(api.UploadNowcast)
	req.CapacityKW = 40
	for d := range 8 {
		text := "time,Power (kW)\n"
		for i := range 5 {
			text += fmt.Sprintf("%s,30\n", day0.AddDate(0, 0, d).Add(10*time.Hour+time.Duration(i)*15*time.Minute).Format(time.RFC3339))
		}
		p.importNow(req, []byte(text))
	}
	uploads, _, err := p.Uploads(t.Context(), admin, api.ListQuery{SiteID: "South"})
	if err != nil || len(uploads) == 0 || len(uploads[0].AssetIDs) != 1 {
		t.Fatal(uploads, err)
	}
	sites, err := p.Domain.Sites.SitesNamed(t.Context(), "South")
	if err != nil || len(sites) != 1 {
		t.Fatal(sites, err)
	}
	id, at := uploads[0].AssetIDs[0], day0.AddDate(0, 0, 8).Add(10*time.Hour)
	write := func(invalid string) (api.WriteResponse, error) {
		f := series.Frame{Times: []int64{at.Unix(), at.Unix() + 60, at.Unix() + 120}}
		f.Set(series.PowerKW, []float64{30, 30_000, 31})
		return p.Live.Collect(t.Context(), sites[0], "key", &api.WriteQuery{SiteID: "South", Invalid: invalid}, []store.AssetFrame{{AssetID: id, Frame: f}})
	}
	stored := func() (power []float64) {
		f, err := store.Collect(p.Telemetry.Read(t.Context(), "South", id, at, at.Add(time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		return f.Values(series.PowerKW)
	}
	var refusal *api.Error
	if _, err := write(api.UnknownRefuse); !errors.As(err, &refusal) || !strings.Contains(fmt.Sprint(refusal.Details), "cannot have 30.0 MW") || len(stored()) != 0 {
		t.Errorf("%v, stored %v", err, stored())
	}
	r, err := write(api.InvalidSkip)
	if err != nil || r.Points != 2 || r.Invalid != 1 || len(r.InvalidPoints) != 1 || !strings.Contains(r.InvalidPoints[0].Reason, "cannot have 30.0 MW") || fmt.Sprint(stored()) != "[30 31]" {
		t.Errorf("%+v, %v, stored %v", r, err, stored())
	}
}
