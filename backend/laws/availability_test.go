package laws

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// silence is a clear plant of three equal units for three days, of which one sends
// nothing from a moment of the second day on.
type silence struct {
	seed    uint64
	zone    *time.Location
	start   time.Time
	silent  int // minute; 0: it never reports; past the end: it always does
	power   float64
	site    string
	lacking bool // the unit is only registered
}

func (s silence) csv() string {
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw,irradiance_wm2\n")
	for m := 0; m < 3*24*60; m += 15 {
		at := s.start.Add(time.Duration(m) * time.Minute)
		local := at.In(s.zone)
		x := (float64(local.Hour()) + float64(local.Minute())/60 - 6) / 12
		light := math.Max(math.Sin(math.Pi*x), 0)
		if x < 0 || x > 1 {
			light = 0
		}
		for u := range 3 {
			if u == 1 && (s.lacking || m >= s.silent) {
				continue
			}
			fmt.Fprintf(&b, "%s,%s,%.3f,%.1f\n", at.UTC().Format(time.RFC3339), s.unit(u), s.power*light, 1000*light)
		}
	}
	return b.String()
}

func (s silence) unit(i int) string { return fmt.Sprintf("%s-inv-%d", s.site, i+1) }

// kpis uploads the plant and returns the figures of its days.
func (s silence) kpis(h *installation) (*api.KPIs, api.SiteSummary, error) {
	_, err := h.upload(api.UploadTrain, api.UploadRequest{SiteID: s.site, Location: "52.52,13.40", Timezone: s.zone.String(), CapacityKW: 3 * 50}, s.csv())
	if err != nil {
		return nil, api.SiteSummary{}, err
	}
	if s.lacking {
		if _, err := h.AddAsset(h.t.Context(), api.Asset{AssetID: s.unit(1), Name: "silent", Type: "inverter", CapacityKW: 50, Location: "roof", SiteID: s.site, CustomerID: customer}); err != nil {
			return nil, api.SiteSummary{}, err
		}
	}
	for u := range 3 {
		if _, err := h.SetAsset(h.t.Context(), api.Asset{AssetID: s.unit(u), SiteID: s.site, CustomerID: customer, RatedPowerKW: 50}); err != nil {
			return nil, api.SiteSummary{}, err
		}
	}
	k, err := h.KPIs(h.t.Context(), api.KPIQuery{CustomerID: customer, SiteID: s.site, From: api.At(s.start), To: api.At(s.start.AddDate(0, 0, 3))})
	if err != nil {
		return nil, api.SiteSummary{}, err
	}
	sum, err := h.SiteSummary(h.t.Context(), api.SiteRef{CustomerID: customer, SiteID: s.site})
	if err != nil {
		return nil, api.SiteSummary{}, err
	}
	return k, sum.Summary, nil
}

// TestAvailability holds that what is silent counts.
func TestAvailability(t *testing.T) {
	v := newTally()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 6, 12, 0, 0, 0, 0, zone)
	h := open(t, start.AddDate(0, 0, 3).Add(time.Hour), 0)
	for _, seed := range seeds(t, 1) {
		r := rand.New(rand.NewPCG(seed, 5))
		all := silence{seed: seed, zone: zone, start: start, silent: math.MaxInt, power: 20 + 20*r.Float64(), site: fmt.Sprintf("all-%d", seed)}
		some, none := all, all
		some.silent, some.site = 24*60+r.IntN(12*60), fmt.Sprintf("some-%d", seed)
		none.lacking, none.site = true, fmt.Sprintf("none-%d", seed)
		base, sum, err := all.kpis(h)
		if err != nil {
			t.Fatal(err)
		}
		where := fmt.Sprintf("seed %d (SUNLOOP_TEST_LAWS_SEED=%d repeats it)", seed, seed)
		v.hold("all units are counted", sum.TotalInverters == 3, "%s: %d units", where, sum.TotalInverters)
		for _, k := range base.Figures {
			if (k.Name == "time_availability" || k.Name == "data_availability") && k.Value != nil {
				v.hold("a sound plant is available", *k.Value > 0.97, "%s: %s is %v", where, k.Name, *k.Value)
			}
			holdPlausible(v, k, where)
		}
		holdSurfaces(v, *base, where)
		for _, s := range []silence{some, none} {
			k, sum, err := s.kpis(h)
			if err != nil {
				t.Fatal(err)
			}
			v.hold("all units are counted", sum.TotalInverters == 3, "%s: %s: %d units", where, s.site, sum.TotalInverters)
			for _, f := range k.Figures {
				holdPlausible(v, f, where+": "+s.site)
			}
			for _, name := range []string{"data_availability", "time_availability"} {
				got, _ := figure(k, name)
				full, _ := figure(base, name)
				lower := value(got) < value(full)-0.05 || name == "time_availability" && got.Value == nil && got.Note != ""
				v.hold("silent units lower "+name, lower, "%s: %s: %s is %v (%s), of the sound plant %v", where, s.site, name, value(got), got.Note, value(full))
			}
			shares := 0.0
			for _, c := range k.Categories {
				shares += c.Share
			}
			v.hold("categories share the whole time", len(k.Categories) == 0 || math.Abs(shares-1) < 0.006, "%s: %s: shares sum to %v", where, s.site, shares)
		}
	}
	v.report(t)
}

// holdPlausible checks that a figure is in its range or withheld with a reason.
func holdPlausible(v *tally, k api.KPI, where string) {
	v.hold("a figure without value has a note", k.Value != nil || k.Note != "", "%s: %s has neither value nor note", where, k.Name)
	v.hold("each figure has unit, window and formula", k.Unit != "" && k.Source != "" && k.Formula != "" && !k.From.IsZero() && k.To.After(k.From.Time), "%s: %+v", where, k)
	if k.Value == nil {
		return
	}
	switch k.Name {
	case "performance_ratio", "corrected_performance_ratio":
		v.hold("PR is plausible or withheld", *k.Value > 0 && *k.Value <= 1.05, "%s: %s is %v", where, k.Name, *k.Value)
	case "time_availability", "contractual_availability", "energy_availability", "data_availability":
		v.hold("availability is a share", *k.Value >= 0 && *k.Value <= 1, "%s: %s is %v", where, k.Name, *k.Value)
	case "energy", "energy_lost", "reference_yield", "specific_yield":
		v.hold("energies are not negative", *k.Value >= 0, "%s: %s is %v", where, k.Name, *k.Value)
	}
}
