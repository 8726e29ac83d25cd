package laws

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestSmallFiles holds files of one or two rows, as loggers send them: they do not show
// their step. Before, after and between their neighbours they give the same sums.
func TestSmallFiles(t *testing.T) {
	v := newTally()
	zone, err := time.LoadLocation("Africa/Johannesburg")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 6, 14, 0, 0, 0, 0, zone)
	h := open(t, start, 0)
	for _, seed := range seeds(t, 1) {
		r := rand.New(rand.NewPCG(seed, 41))
		for _, c := range []struct {
			history, live, rows int
			sparse              bool // every second small file is missing
		}{{15, 5, 1, false}, {60, 5, 2, false}, {5, 15, 1, true}} {
			first := 34 * 60 // 10:00 of the second day
			end := first + c.live*c.rows*3
			end += (c.history - end%c.history) % c.history
			back := end + 180 // a second file of history follows
			sums := map[string]string{}
			for _, order := range []string{"as measured", "from the newest", "at random"} {
				name := fmt.Sprintf("seed-%d-%d-then-%d-by-%d-%s", seed, c.history, c.live, c.rows, strings.ReplaceAll(order, " ", "-"))
				p := &plant{words: name, place: places[2], zone: zone, site: name, start: start, days: []int{0, 24 * 60, 48 * 60, 72 * 60}, end: back}
				u := &unit{id: name + "-inv", rating: 10, powerKW: make([]float64, 72*60), covered: make([]bool, 72*60), first: -1, lastSeen: -1}
				for m := range u.powerKW {
					u.powerKW[m] = float64(1 + m/60%7)
				}
				p.units = []*unit{u}
				part := func(kind string, step, from, to int) part {
					f := part{kind: kind, step: step, end: to}
					for m := from; m < to; m += step {
						f.rows = append(f.rows, row{0, m})
					}
					return f
				}
				p.parts = append(p.parts, part(api.UploadTrain, c.history, 0, first))
				for m := first; m < end; m += c.live * c.rows {
					if c.sparse && (m-first)/(c.live*c.rows)%2 == 1 {
						continue
					}
					p.parts = append(p.parts, part(api.UploadNowcast, c.live, m, min(m+c.live*c.rows, end)))
				}
				p.parts = append(p.parts, part(api.UploadNowcast, c.history, end, back))
				switch order {
				case "from the newest":
					slices.Reverse(p.parts)
				case "at random":
					r.Shuffle(len(p.parts), func(i, k int) { p.parts[i], p.parts[k] = p.parts[k], p.parts[i] })
				}
				if !p.load(h) {
					continue
				}
				records, err := p.read(h, u, 0, 48*60, api.ResolutionDaily)
				if err != nil {
					t.Fatal(err)
				}
				before := energyOf(records)
				h.set(start.AddDate(0, 0, 3)) // the day is over, and stored with its sum
				if _, err := h.upload(api.UploadNowcast, api.UploadRequest{SiteID: p.site, Timezone: zone.String(), Location: p.place.location}, "timestamp,asset_id,power_kw\n"+p.at(71*60).UTC().Format(time.RFC3339)+","+u.id+",1\n"); err != nil {
					t.Fatal(err)
				}
				if records, err = p.read(h, u, 0, 48*60, api.ResolutionDaily); err != nil {
					t.Fatal(err)
				}
				v.hold("a day of small files is the same when it is over", near(energyOf(records), before), "%s: %.3f kWh, on the day %.3f", name, energyOf(records), before)
				fine, err := p.read(h, u, 0, 48*60, api.Resolution15Min)
				if err != nil {
					t.Fatal(err)
				}
				sums[order] = fmt.Sprintf("%.3f kWh, %.3f kWh", energyOf(records), energyOf(fine))
				want := u.truth(0, 48*60)
				v.hold("small files have the energy that was drawn", c.sparse || near(energyOf(records), want), "%s: days have %.3f kWh, the truth is %.3f", name, energyOf(records), want)
				v.hold("records of small files sum to the day", near(energyOf(fine), energyOf(records)), "%s: records %.3f kWh, days %.3f", name, energyOf(fine), energyOf(records))
				v.hold("small files give the same sums in each order", sums[order] == sums["as measured"], "%s: %s, as measured %s", name, sums[order], sums["as measured"])
			}
		}
	}
	v.report(t)
}
