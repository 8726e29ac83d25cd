package telemetry

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"
	"time"

	"app.sunloop/engine/series"
)

// daySum is store.DaySum as it is stored.
type daySum struct {
	day       int64 // midnight, Unix seconds
	energyKWh float64
	peakKW    float64
	samples   uint32
}

const daySumSize = 28

var errSums = errors.New("damaged day sums")

func (d daySum) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(d.day))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(d.energyKWh))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(d.peakKW))
	return binary.LittleEndian.AppendUint32(b, d.samples)
}

func readDaySum(b []byte) daySum {
	return daySum{
		day:       int64(binary.LittleEndian.Uint64(b)),
		energyKWh: math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
		peakKW:    math.Float64frombits(binary.LittleEndian.Uint64(b[16:])),
		samples:   binary.LittleEndian.Uint32(b[24:]),
	}
}

// monthSums are the stored sums of an asset's month, ascending by day: one
// value, so that a year of days is twelve of them.
type monthSums []byte

// at is where the sums of the days from t on begin.
func (m monthSums) at(t int64) int {
	return sort.Search(len(m)/daySumSize, func(i int) bool { return readDaySum(m[i*daySumSize:]).day >= t }) * daySumSize
}

// between are the sums of the days of from..to, which must not be empty.
func (m monthSums) between(from, to int64) monthSums { return m[m.at(from):m.at(to)] }

// replace is a copy with other sums for the days of from..to.
func (m monthSums) replace(from, to int64, days []byte) monthSums {
	return slices.Concat(m[:m.at(from)], days, m[m.at(to):])
}

// summed are the quantities of which sums are formed.
var summed = []series.Quantity{series.PowerKW, series.EnergyKWh}

// sums returns the day sums of a frame that lies within the days; a day without
// production data has none. fallback is the interval of a sample that is alone
// in its day, in seconds.
func sums(f series.Frame, days []int64, end, fallback int64) []daySum {
	var out []daySum
	for i, day := range days {
		next := end
		if i+1 < len(days) {
			next = days[i+1]
		}
		lo, _ := slices.BinarySearch(f.Times, day)
		hi, _ := slices.BinarySearch(f.Times, next)
		if lo == hi {
			continue
		}
		var power, energy []float64
		if v := f.Values(series.PowerKW); v != nil {
			power = v[lo:hi]
		}
		if v := f.Values(series.EnergyKWh); v != nil {
			energy = v[lo:hi]
		}
		if s := sumDay(f.Times[lo:hi], power, energy, fallback); s.samples > 0 {
			s.day = day
			out = append(out, s)
		}
	}
	return out
}

// sumDay sums one day. A sample of mean power covers the time until the next
// time stamp, but no more than 1.5 of the day's common interval: after that is
// a gap. The last one covers one interval. If a time stamp has no power, the
// energy that was reported for its interval is counted.
func sumDay(times []int64, power, energy []float64, fallback int64) daySum {
	interval := commonInterval(times)
	if interval == 0 {
		interval = fallback
	}
	hold := interval * 3 / 2
	var s daySum
	for i, t := range times {
		seconds := interval
		if i+1 < len(times) {
			seconds = min(times[i+1]-t, hold)
		}
		var kW, kWh float64
		switch {
		case power != nil && !math.IsNaN(power[i]):
			kW = power[i]
			kWh = kW * float64(seconds) / 3600
		case energy != nil && !math.IsNaN(energy[i]):
			kWh = energy[i]
			if seconds > 0 {
				kW = kWh * 3600 / float64(seconds)
			}
		default:
			continue
		}
		s.energyKWh += kWh
		if s.samples == 0 || kW > s.peakKW {
			s.peakKW = kW
		}
		s.samples++
	}
	return s
}

// commonInterval is series.Interval in seconds, without sorting where all
// steps are equal, as they mostly are.
func commonInterval(times []int64) int64 {
	if len(times) < 2 {
		return 0
	}
	step := times[1] - times[0]
	for i := 2; i < len(times); i++ {
		if times[i]-times[i-1] != step {
			return int64(series.Interval(times) / time.Second)
		}
	}
	return step
}
