// Package plausible compares a file that was read with what is known of its
// site: place, zone, capacity, and the values of its other units. What it finds
// are doubts for a person, not errors.
package plausible

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// Site is what is known of the site of a file.
type Site struct {
	Location   *solar.Location // nil: unknown
	Zone       *time.Location  // in which times without an offset were read; nil: none is known
	CapacityKW float64         // of all units of the file together; 0 unknown
}

// Bounds of what is plausible.
const (
	darkDeg       = -6   // elevation below which no plant produces, even if stamps are of the end of an interval
	mostDark      = 0.01 // share of the energy that may be produced in the dark
	mostZoneHours = 3.5  // between the zone's offset and solar time
	mostOfRating  = 1.25 // highest power over the capacity
	leastOfRating = 0.15 // of the highest power over the capacity in a month or more
	month         = 28 * 24 * time.Hour
	mostSamples   = 20_000 // that are examined
)

// Check returns the doubts about a file.
func Check(r *ingest.Result, site Site) []ingest.Decision {
	var doubts []ingest.Decision
	doubt := func(topic, format string, args ...any) {
		doubts = append(doubts, ingest.Decision{Topic: topic, Text: fmt.Sprintf(format, args...)})
	}
	zone := site.Zone
	if zone == nil {
		zone = time.UTC
	}
	if site.Location != nil && !r.First.IsZero() {
		if text := darkness(r, *site.Location, zone); text != "" {
			doubt("zone", "%s", text)
		}
		offset := offsetHours(zone, r.First)
		solarHours := site.Location.LongitudeDeg / 15
		if off := math.Abs(math.Remainder(offset-solarHours, 24)); site.Zone != nil && off > mostZoneHours {
			doubt("zone", "the zone %s and the longitude %.1f° of the place differ by %.1f hours: one of them is wrong", zone, site.Location.LongitudeDeg, off)
		}
	}
	if text := rating(r, site.CapacityKW); text != "" {
		doubt("capacity", "%s", text)
	}
	return doubts
}

func offsetHours(zone *time.Location, at time.Time) float64 {
	_, s := at.In(zone).Zone()
	return float64(s) / 3600
}

// sample is a power above zero.
type sample struct {
	at int64
	kW float64
}

// produced returns the samples with production of all units, thinned out evenly.
func produced(r *ingest.Result) (samples []sample) {
	total := 0
	for _, a := range r.Assets {
		total += a.Frame.Len()
	}
	every := total/mostSamples + 1
	if every > 1 && every%2 == 0 {
		every++ // so that it does not always meet the same hours
	}
	n := 0
	for _, a := range r.Assets {
		for i, kW := range a.Frame.Values(series.PowerKW) {
			if n++; n%every == 0 && kW > 0 {
				samples = append(samples, sample{a.Frame.Times[i], kW})
			}
		}
	}
	return samples
}

// darkness returns what is wrong with production in the dark, and which zone would fit; empty if there is none.
func darkness(r *ingest.Result, at solar.Location, zone *time.Location) string {
	if r.Interval >= 12*time.Hour { // a day's energy includes the night
		return ""
	}
	samples := produced(r)
	dark, all := 0.0, 0.0
	for _, s := range samples {
		all += s.kW
		if 90-solar.At(time.Unix(s.at, 0), at).ZenithDeg < darkDeg {
			dark += s.kW
		}
	}
	if all == 0 || dark <= mostDark*all {
		return ""
	}
	text := display.Percent(dark/all) + " of the energy would be produced while the sun is below the horizon of the place"
	shift, fits := bestShift(samples, at)
	if !fits || shift == 0 {
		return text + "; no zone explains that: check the place, and whether the values are production"
	}
	// Times that are read in a zone further east are earlier.
	wanted := offsetHours(zone, r.First) - shift
	town, _ := place.Nearest(at.LatitudeDeg, at.LongitudeDeg)
	if own, err := time.LoadLocation(town.Zone); err == nil && math.Abs(offsetHours(own, r.First)-wanted) <= 1 && own.String() != zone.String() {
		return fmt.Sprintf("%s; the zone %s would fit", text, own)
	}
	return fmt.Sprintf("%s; times %+g hours from the present ones would fit, a zone of UTC%+g instead of %s", text, shift, wanted, zone)
}

// bestShift returns by how many hours times would have to be later so that the production follows the sun.
func bestShift(samples []sample, at solar.Location) (hours float64, fits bool) {
	const half = 1800
	every := len(samples)/2000 + 1
	best := -1.0
	var share float64
	for k := -24; k <= 24; k++ {
		sum, power, light, dark := 0.0, 0.0, 0.0, 0.0
		for i := 0; i < len(samples); i += every {
			s := samples[i]
			elevation := 90 - solar.At(time.Unix(s.at+int64(k)*half, 0), at).ZenithDeg
			up := math.Max(0, math.Sin(elevation*math.Pi/180))
			sum, power, light = sum+s.kW*up, power+s.kW*s.kW, light+up*up
			if elevation < darkDeg {
				dark += s.kW
			}
		}
		total := 0.0
		for i := 0; i < len(samples); i += every {
			total += samples[i].kW
		}
		if power == 0 || light == 0 {
			continue
		}
		if fit := sum / math.Sqrt(power*light); fit > best+1e-9 {
			best, hours, share = fit, float64(k)/2, dark/total
		}
	}
	return hours, share <= mostDark
}

// rating returns how the data contradict a capacity; empty if they do not.
func rating(r *ingest.Result, capacityKW float64) string {
	if capacityKW <= 0 {
		return ""
	}
	peak := 0.0
	for _, a := range r.Assets {
		peak += high(a.Frame.Values(series.PowerKW))
	}
	switch share := peak / capacityKW; {
	case share > mostOfRating:
		return fmt.Sprintf("the highest power is %s, %s of the capacity of %s: check the capacity and the unit", display.Power(peak), display.Percent(share), display.Power(capacityKW))
	case peak > 0 && share < leastOfRating && r.Last.Sub(r.First) > month:
		return fmt.Sprintf("the power never exceeds %s, %s of the capacity of %s: check the capacity and the unit, or whether units are missing", display.Power(peak), display.Percentage(100*share), display.Power(capacityKW))
	}
	return ""
}

// high returns the power that one sample in a thousand exceeds.
func high(power []float64) float64 {
	var v []float64
	for _, p := range power {
		if p > 0 && !math.IsInf(p, 0) {
			v = append(v, p)
		}
	}
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)-1-len(v)/1000]
}

// Same reports whether two units have the same values, as one unit has under two names.
func Same(a, b series.Frame) bool {
	const fewest, share = 24, 0.95
	same, both := 0, 0
	values := b.Values(series.PowerKW)
	distinct := map[float64]bool{}
	for i, kW := range a.Values(series.PowerKW) {
		j, ok := slices.BinarySearch(b.Times, a.Times[i])
		if !ok || !(kW > 0) || math.IsNaN(values[j]) {
			continue
		}
		both++
		if math.Abs(values[j]-kW) <= 1e-6*kW {
			same++
			distinct[kW] = true
		}
	}
	return both >= fewest && len(distinct) > fewest/2 && float64(same) >= share*float64(both)
}

// Renamed is the doubt about a new unit with the values of one that exists.
func Renamed(unit string, existing ...string) ingest.Decision {
	return ingest.Decision{Topic: "unit", Text: fmt.Sprintf("%s is new, and has the same values as %s: it may be the same unit under another name or with a new serial number", unit, strings.Join(existing, ", "))}
}
