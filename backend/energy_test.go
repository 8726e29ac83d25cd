package backend

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestEnergyOverTheWire: files whose energy was summed wrongly, and what their
// day must be by hand, in the records of the day, in those of each step, and in
// parts of these.
func TestEnergyOverTheWire(t *testing.T) {
	now := time.Date(2026, 6, 12, 9, 0, 0, 0, time.UTC)
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	file := func(header string, row func(at time.Duration) string, steps func(at time.Duration) time.Duration) string {
		var b strings.Builder
		b.WriteString(header + "\n")
		for at := time.Duration(0); at < 24*time.Hour; at += steps(at) {
			if r := row(at); r != "" {
				fmt.Fprintf(&b, "%s,%s\n", day.Add(at).Format(time.RFC3339), r)
			}
		}
		return b.String()
	}
	every := func(d time.Duration) func(time.Duration) time.Duration {
		return func(time.Duration) time.Duration { return d }
	}
	ten := func(time.Duration) string { return "10" }
	for name, c := range map[string]struct {
		files  []string
		want   float64
		source string
	}{
		"mixed steps": {files: []string{file("timestamp,power_kw", ten, func(at time.Duration) time.Duration {
			if at < 10*time.Hour {
				return 15 * time.Minute
			}
			return 5 * time.Minute
		})}, want: 240},
		"change of value": {files: []string{file("timestamp,power_kw", func(at time.Duration) string { return fmt.Sprint(9 + 2*(int(at/time.Minute)%2)) }, func(at time.Duration) time.Duration {
			return time.Duration(7+int(at.Minutes()*7)%31*2) * time.Minute // odd: the value changes each time
		})}, want: math.NaN()},
		"gap with a counter": {files: []string{file("timestamp,power_kw,total_energy_kwh", func(at time.Duration) string {
			if at >= 10*time.Hour && at < 12*time.Hour {
				return ""
			}
			return fmt.Sprintf("10,%.3f", 5000+10*at.Hours())
		}, every(5*time.Minute))}, want: 240, source: "counter"},
		"power and interval energy": {files: []string{file("timestamp,power_kw,energy", func(time.Duration) string { return "7.75,10.5" }, every(time.Hour))}, want: 252, source: "interval_energy"},
		"a corrected hour": {files: []string{
			file("timestamp,power_kw", func(at time.Duration) string {
				if at < time.Hour {
					return "110"
				}
				return fmt.Sprint(int(at.Hours()) * 7 % 11)
			}, every(5*time.Minute)),
			file("timestamp,energy_kwh", func(at time.Duration) string {
				if at < time.Hour {
					return "120"
				}
				return fmt.Sprint(int(at.Hours()) * 7 % 11)
			}, every(time.Hour)),
		}, want: 120 + 117, source: "interval_energy"},
	} {
		site := strings.ReplaceAll(name, " ", "-")
		for i, text := range c.files {
			ack, err := h.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: site, Region: "eu", Location: "47.07,15.44", Timezone: "UTC", CapacityKW: 150, Filename: fmt.Sprintf("%d.csv", i)}, strings.NewReader(text), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if u := h.follow(ack.UploadID); u.Error != "" {
				t.Fatalf("%s: %+v", name, u)
			}
		}
		read := func(from, to time.Time, resolution string) (kWh float64, records []api.Record) {
			v, err := h.SiteRecords(t.Context(), api.RecordsQuery{CustomerID: "acme", SiteID: site, Start: api.At(from), End: api.LastBefore(to), Resolution: resolution})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, unit := range v.Records {
				for _, r := range unit {
					kWh += r.KWh
					records = append(records, r)
				}
			}
			return kWh, records
		}
		sum, days := read(day, day.AddDate(0, 0, 1), api.ResolutionDaily)
		want := c.want
		if math.IsNaN(want) {
			// 9 or 11 kW until the next change.
			want = 0
			for at := time.Duration(0); at < 24*time.Hour; {
				next := at + time.Duration(7+int(at.Minutes()*7)%31*2)*time.Minute
				want += float64(9+2*(int(at/time.Minute)%2)) * (min(next, 24*time.Hour) - at).Hours()
				at = next
			}
		}
		if math.Abs(sum-want) > 0.01 || len(days) != 1 || days[0].EnergySource != c.source {
			t.Errorf("%s: %v kWh from %q, want %v from %q", name, sum, days[0].EnergySource, want, c.source)
		}
		for _, resolution := range []string{"", api.Resolution15Min, api.ResolutionHour} {
			if got, _ := read(day, day.AddDate(0, 0, 1), resolution); math.Abs(got-want) > 0.01 {
				t.Errorf("%s: records %q sum up to %v kWh, want %v", name, resolution, got, want)
			}
		}
		parts := 0.0
		for from := day; from.Before(day.AddDate(0, 0, 1)); from = from.Add(100 * time.Minute) {
			to := from.Add(100 * time.Minute)
			if end := day.AddDate(0, 0, 1); to.After(end) {
				to = end
			}
			got, _ := read(from, to, "")
			parts += got
		}
		if math.Abs(parts-want) > 0.01 {
			t.Errorf("%s: parts sum up to %v kWh, want %v", name, parts, want)
		}
	}
}
