package laws

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestZoneChange holds a site that is given another time zone: its files, whose times
// are those of a wall clock, are read again, and its units, days, window and summary
// are those of a site that had this zone from the start.
func TestZoneChange(t *testing.T) {
	v := newTally()
	for _, c := range []struct{ wrong, right string }{{"Europe/Vienna", "Asia/Kolkata"}, {"Asia/Kolkata", "America/New_York"}} {
		zone, err := time.LoadLocation(c.right)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Date(2026, 6, 10, 0, 0, 0, 0, zone)
		now := start.AddDate(0, 0, 2).Add(10 * time.Hour) // of the third day
		h := open(t, now.Add(24*time.Hour), 0)            // after all times in either zone
		days := map[string]string{}
		sums := map[string]float64{}
		for _, site := range []string{"moved", "right"} {
			p := &plant{words: site, zone: zone, site: site, start: start}
			for i := range 2 {
				p.units = append(p.units, &unit{id: fmt.Sprintf("%s-inv-%d", site, i)})
			}
			file := func(from, to time.Time, step time.Duration) string {
				var b strings.Builder
				fmt.Fprintf(&b, "time,%s power (kW),%s power (kW)\n", p.units[0].id, p.units[1].id)
				for at := from; at.Before(to); at = at.Add(step) {
					kW := float64(2 + at.Hour()%5)
					fmt.Fprintf(&b, "%s,%g,%g\n", at.Format(time.DateTime), kW, 2*kW)
				}
				return b.String()
			}
			first := c.right
			if site == "moved" {
				first = c.wrong
			}
			change := start.AddDate(0, 0, 1).Add(9 * time.Hour)
			for _, f := range []struct{ kind, text string }{{api.UploadTrain, file(start, change, 15*time.Minute)}, {api.UploadNowcast, file(change, now, 5*time.Minute)}} {
				up, err := h.upload(f.kind, api.UploadRequest{SiteID: site, Location: "47.07,15.44", Timezone: first, CapacityKW: 30}, f.text)
				if err != nil || len(up.AssetIDs) != 2 {
					t.Fatalf("%s: %v, units %v", site, err, up.AssetIDs)
				}
				for i, id := range up.AssetIDs {
					p.units[i].id = id
				}
			}
			if site == "moved" {
				if _, err := h.SetZone(t.Context(), p.ref(), c.right, false); err != nil {
					t.Fatal(err)
				}
				for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
					is, err := h.Site(t.Context(), p.ref())
					if err != nil {
						t.Fatal(err)
					}
					if is.Timezone == c.right && !is.Change.Running() {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("the zone does not change: %+v", is)
					}
				}
			}
			h.set(now)
			total, fine, today := 0.0, 0.0, 0.0
			for i, u := range p.units {
				records, err := p.read(h, u, -24*60, 4*24*60, api.ResolutionDaily)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					days[site] += fmt.Sprintf("unit %d on %v %.3f kWh; ", i, r.Timestamp, r.KWh)
					v.hold("a day begins at midnight of the new zone", r.Timestamp.In(zone).Format(time.TimeOnly) == "00:00:00", "%s in %s: %v", site, c.right, r.Timestamp)
					total += r.KWh
					if !r.Timestamp.Before(start.AddDate(0, 0, 2)) {
						today += r.KWh
					}
				}
				if records, err = p.read(h, u, -24*60, 4*24*60, api.Resolution15Min); err != nil {
					t.Fatal(err)
				}
				fine += energyOf(records)
			}
			want := 0.0
			for m := 0; m < int(now.Sub(start)/time.Minute); m++ {
				want += 3 * float64(2+p.at(m).In(zone).Hour()%5) / 60
			}
			v.hold("days after a change of the zone are the truth", near(total, want), "%s in %s: %.3f kWh, the truth is %.3f", site, c.right, total, want)
			v.hold("records after a change of the zone sum to the days", near(fine, total), "%s in %s: records %.3f kWh, days %.3f", site, c.right, fine, total)
			s, err := h.SiteSummary(t.Context(), p.ref())
			if err != nil {
				t.Fatal(err)
			}
			v.hold("site is the sum of its units after a change of the zone", near(s.Summary.TotalKWhToday, today), "%s in %s: today %.3f kWh, units %.3f", site, c.right, s.Summary.TotalKWhToday, today)
			k, err := p.kpis(h, 0, int(now.Sub(start)/time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			e, _ := figure(k, "energy")
			sums[site] = value(e)
			h.set(now.Add(24 * time.Hour))
		}
		v.hold("units and days are those of a site that had the zone from the start", days["moved"] == days["right"] && days["right"] != "", "to %s: %s, want %s", c.right, days["moved"], days["right"])
		v.hold("KPIs are those of a site that had the zone from the start", sums["moved"] == sums["right"], "to %s: %v kWh, want %v", c.right, sums["moved"], sums["right"])
		h.down()
	}
	v.report(t)
}
