package laws

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestMonths holds the energy of a calendar month in zones whose clocks change in it:
// its days, its KPIs, the KPIs of its days and the roll-up are of the same minutes.
// The months are over by the real clock as well, which is that of the store.
func TestMonths(t *testing.T) {
	v := newTally()
	for _, c := range []struct{ zone, location, month string }{
		{"Europe/Berlin", "52.52,13.40", "2025-03"}, {"America/New_York", "40.71,-74.01", "2025-11"}, {"Australia/Lord_Howe", "-31.55,159.08", "2025-04"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.ParseInLocation("2006-01", c.month, zone)
		if err != nil {
			t.Fatal(err)
		}
		to := from.AddDate(0, 1, 0)
		p := &plant{words: c.zone + " in " + c.month, place: place{zone: c.zone, location: c.location}, zone: zone, site: "month", start: from}
		u := &unit{id: "inv-1", rating: 10}
		p.units = []*unit{u}
		minutes := int(to.Sub(from) / time.Minute)
		u.powerKW, u.covered = make([]float64, minutes+60), make([]bool, minutes+60)
		var file strings.Builder
		file.WriteString("timestamp,asset_id,power_kw\n")
		for m := range minutes {
			u.powerKW[m], u.covered[m] = float64(1+(m/30)%7), true
			if m%30 == 0 {
				fmt.Fprintf(&file, "%s,%s,%g\n", p.at(m).UTC().Format(time.RFC3339), u.id, u.powerKW[m])
			}
		}
		h := open(t, to.Add(3*time.Hour), 0)
		if _, err := h.upload(api.UploadTrain, api.UploadRequest{SiteID: p.site, Location: c.location, Timezone: c.zone, CapacityKW: 10}, file.String()); err != nil {
			t.Fatal(err)
		}
		records, err := p.read(h, u, 0, minutes, api.ResolutionDaily)
		if err != nil {
			t.Fatal(err)
		}
		days := to.AddDate(0, 0, -1).Day()
		v.hold("a month has its days", len(records) == days, "%v: %d days, want %d", p.words, len(records), days)
		energy := func(a, b int) float64 {
			k, err := p.kpis(h, a, b)
			if err != nil {
				t.Fatal(err)
			}
			e, _ := figure(k, "energy")
			return value(e)
		}
		total := 0.0
		for i, r := range records {
			a := int(r.Timestamp.Sub(from) / time.Minute)
			b := int(from.AddDate(0, 0, i+1).Sub(from) / time.Minute)
			v.hold("a day of a month is its minutes", near(r.KWh, u.truth(a, b)), "%v: %.3f kWh on %v, the truth is %.3f", p.words, r.KWh, r.Timestamp, u.truth(a, b))
			if total += r.KWh; b-a != 24*60 || i == 0 {
				kWh := energy(a, b)
				v.hold("KPIs of a day are its record", near(kWh, r.KWh), "%v: KPIs have %.3f kWh on %v, the record %.3f", p.words, kWh, r.Timestamp, r.KWh)
			}
		}
		month := energy(0, minutes)
		v.hold("a month is the sum of its days", near(month, total) && near(month, u.truth(0, minutes)), "%v: %.3f kWh, days %.3f, the truth is %.3f", p.words, month, total, u.truth(0, minutes))
		rollup := &api.KPIRollup{}
		for range 200 {
			if r, err := h.KPIRollup(t.Context(), p.ref()); err == nil && r.EnergyBalance.SolarProductionKWh > 0 {
				rollup = r
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		a, b := p.minute(rollup.Period.Start, 0), min(p.minute(rollup.Period.End, 1), minutes)
		v.hold("the roll-up is the sum of its days", rollup.Period.Days > 0 && near(rollup.EnergyBalance.SolarProductionKWh, u.truth(a, b)), "%v: the roll-up from %s to %s has %.3f kWh, the truth is %.3f", p.words, rollup.Period.Start, rollup.Period.End, rollup.EnergyBalance.SolarProductionKWh, u.truth(a, b))
		h.down()
	}
	v.report(t)
}
