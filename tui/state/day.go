package state

import (
	"cmp"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
)

// Day is what the units of a site reported on one site day.
type Day struct {
	Start, End time.Time
	Units      []UnitDay // ascending by asset id
}

// UnitDay is one unit's day, ascending in time.
type UnitDay struct {
	AssetID string
	Records []api.Record
}

// Last returns the newest stamp of any unit, zero without one.
func (d Day) Last() time.Time {
	var last time.Time
	for _, u := range d.Units {
		if n := len(u.Records); n > 0 && u.Records[n-1].Timestamp.After(last) {
			last = u.Records[n-1].Timestamp.Time
		}
	}
	return last
}

// Unit returns the day of one unit; ok is false when it reported nothing.
func (d Day) Unit(assetID string) (UnitDay, bool) {
	for _, u := range d.Units {
		if u.AssetID == assetID {
			return u, true
		}
	}
	return UnitDay{}, false
}

// With adds new records; a newer record of a time replaces the former.
func (d Day) With(records map[string][]api.Record) Day {
	out := Day{Start: d.Start, End: d.End, Units: slices.Clone(d.Units)}
	for id, more := range records {
		more = slices.DeleteFunc(slices.Clone(more), func(r api.Record) bool {
			return r.Timestamp.Before(d.Start) || !r.Timestamp.Before(d.End)
		})
		for i := range more { // one text for all records, as each was decoded with its own
			r := &more[i]
			r.AssetID, r.SiteID = same(r.AssetID, more[0].AssetID), same(r.SiteID, more[0].SiteID)
		}
		i := slices.IndexFunc(out.Units, func(u UnitDay) bool { return u.AssetID == id })
		if i < 0 {
			if len(more) == 0 {
				continue
			}
			out.Units = append(out.Units, UnitDay{AssetID: id})
			i = len(out.Units) - 1
		}
		out.Units[i].Records = joined(out.Units[i].Records, more)
	}
	slices.SortFunc(out.Units, func(a, b UnitDay) int { return cmp.Compare(a.AssetID, b.AssetID) })
	return out
}

// same returns known if it is the same text, so that only one of them is kept.
func same(text, known string) string {
	if text == known {
		return known
	}
	return text
}

func joined(old, more []api.Record) []api.Record {
	if len(more) == 0 {
		return old
	}
	out := make([]api.Record, 0, len(old)+len(more))
	out = append(append(out, old...), more...)
	slices.SortStableFunc(out, func(a, b api.Record) int { return a.Timestamp.Compare(b.Timestamp.Time) })
	kept := out[:0]
	for i, r := range out {
		if i+1 < len(out) && out[i+1].Timestamp.Equal(r.Timestamp.Time) {
			continue // the later one in the list is the newer
		}
		kept = append(kept, r)
	}
	return kept
}

// Step returns the commonest distance between the records of the unit that has
// most; 0 with fewer than two.
func (d Day) Step() time.Duration {
	var best []api.Record
	for _, u := range d.Units {
		if len(u.Records) > len(best) {
			best = u.Records
		}
	}
	counts := map[time.Duration]int{}
	for i := 1; i < len(best); i++ {
		counts[best[i].Timestamp.Sub(best[i-1].Timestamp.Time)]++
	}
	var step time.Duration
	for s, n := range counts {
		if n > counts[step] || n == counts[step] && s < step {
			step = s
		}
	}
	return step
}

// Slots divides the day into slots of the given length and returns each unit's mean
// power in each, NaN where it reported nothing. A slot beyond the newest
// record is NaN too.
func (d Day) Slots(slot time.Duration) (units [][]float64) {
	n := int((d.End.Sub(d.Start) + slot - 1) / slot)
	for _, u := range d.Units {
		sum, count := make([]float64, n), make([]int, n)
		for k, r := range u.Records {
			i := int(r.Timestamp.Sub(d.Start) / slot)
			// A record of a longer interval is the mean of all slots in it.
			for end := i + covered(u.Records, k, slot); i < end && i < n; i++ {
				sum[i] += r.Power
				count[i]++
			}
		}
		for i := range sum {
			if count[i] == 0 {
				sum[i] = math.NaN()
				continue
			}
			sum[i] /= float64(count[i])
		}
		units = append(units, sum)
	}
	return units
}

// longestInterval bounds the interval of a record that its neighbours show.
const longestInterval = time.Hour

// covered is how many slots record k covers: the distance to the next one, if that is also
// the distance of the records before or after, so that it is the interval of the data and
// no gap.
func covered(records []api.Record, k int, slot time.Duration) int {
	gap := func(i int) time.Duration {
		if i < 0 || i+1 >= len(records) {
			return 0
		}
		return records[i+1].Timestamp.Sub(records[i].Timestamp.Time)
	}
	d := gap(k)
	if d == 0 {
		d = gap(k - 1) // the last record
		if d != gap(k-2) {
			return 1
		}
	} else if d != gap(k-1) && d != gap(k+1) {
		return 1
	}
	if d <= slot || d > longestInterval {
		return 1
	}
	return int(d / slot)
}

// Total returns the power of all units together, slot by slot; NaN where none
// reported.
func Total(units [][]float64) []float64 {
	if len(units) == 0 {
		return nil
	}
	total := make([]float64, len(units[0]))
	for i := range total {
		total[i] = math.NaN()
		for _, u := range units {
			if v := u[i]; !math.IsNaN(v) {
				if math.IsNaN(total[i]) {
					total[i] = 0
				}
				total[i] += v
			}
		}
	}
	return total
}

// midnight and nextMidnight are the ends of the site's day that holds t.
// time.Date takes the first instant after a midnight that clocks skipped.
func midnight(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}

func nextMidnight(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, zone)
}
