package telemetry

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// sumsVersion is the version of day sums that this package stores. Version 1
// summed mean power over the commonest step of each day, and had no source but
// power; version 2 dropped interval energy that a logger had added up over a gap.
// The layout of a site names the version of its sums; see resum.
const sumsVersion = 3

// daySum is the energy of an asset's day.
type daySum struct {
	day int64 // midnight, Unix seconds
	energy.Sum
}

// The sums of a month are one value, so that a year of days is twelve of them:
//
//	count    4 bytes, number of days n
//	days     n times, ascending: day 8 bytes; production, consumption and peak as floats, 8 bytes each; samples and covered seconds, 4 bytes each
//	sources  for each day with another source than power: its place 1 byte, its parts as floats, 8 bytes each
//
// Integers are little-endian. Most units have no source but power.
type monthSums []byte

const (
	sumHead     = 4
	daySize     = 40
	sourceParts = 13
	sourceSize  = 1 + 8*sourceParts
	mostDays    = 31
)

var errSums = errors.New("damaged day sums")

// parts are the values of a day that are stored only if one of them is not zero.
func parts(d *daySum) [sourceParts]float64 {
	e := &d.Edge
	return [sourceParts]float64{d.CounterKWh, d.IntervalKWh, d.ExtrapolatedKWh, d.ComparedKWh, d.DifferenceKWh,
		float64(e.FirstAt), float64(e.LastAt), e.First, e.Last, e.HeadKWh, e.TailKWh, e.HeadIntervalKWh, e.TailIntervalKWh}
}

func (d *daySum) setParts(v [sourceParts]float64) {
	d.CounterKWh, d.IntervalKWh, d.ExtrapolatedKWh, d.ComparedKWh, d.DifferenceKWh = v[0], v[1], v[2], v[3], v[4]
	d.Edge = energy.Edge{FirstAt: int64(v[5]), LastAt: int64(v[6]), First: v[7], Last: v[8], HeadKWh: v[9], TailKWh: v[10], HeadIntervalKWh: v[11], TailIntervalKWh: v[12]}
}

// packSums is the stored form of the sums of a month; nil for none.
func packSums(days []daySum) monthSums {
	if len(days) == 0 {
		return nil
	}
	b := make([]byte, 0, sumHead+daySize*len(days))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(days)))
	for i := range days {
		d := &days[i]
		b = binary.LittleEndian.AppendUint64(b, uint64(d.day))
		for _, v := range [...]float64{d.ProductionKWh, d.ConsumptionKWh, d.PeakKW} {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(d.Samples))
		b = binary.LittleEndian.AppendUint32(b, uint32(d.CoveredS))
	}
	for i := range days {
		p := parts(&days[i])
		if p == ([sourceParts]float64{}) {
			continue
		}
		b = append(b, byte(i))
		for _, v := range p {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

// check returns an error if the value cannot be read.
func (m monthSums) check() error {
	if len(m) == 0 {
		return nil
	}
	if len(m) < sumHead {
		return errSums
	}
	n := int(binary.LittleEndian.Uint32(m))
	rest := len(m) - sumHead - daySize*n
	if n > mostDays || rest < 0 || rest%sourceSize != 0 {
		return errSums
	}
	last := -1
	for s := m[len(m)-rest:]; len(s) > 0; s = s[sourceSize:] {
		if int(s[0]) <= last || int(s[0]) >= n {
			return errSums
		}
		last = int(s[0])
	}
	return nil
}

// len is the number of days.
func (m monthSums) len() int {
	if len(m) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(m))
}

// day is the midnight of day i.
func (m monthSums) day(i int) int64 {
	return int64(binary.LittleEndian.Uint64(m[sumHead+daySize*i:]))
}

// at is the place of the first day from t on.
func (m monthSums) at(t int64) int {
	return sort.Search(m.len(), func(i int) bool { return m.day(i) >= t })
}

// between appends the sums of the days of from..to to dst.
func (m monthSums) between(dst []daySum, from, to int64) []daySum {
	first, end := m.at(from), m.at(to)
	if first >= end {
		return dst
	}
	n := len(dst)
	dst = slices.Grow(dst, end-first)[:n+end-first]
	for i := first; i < end; i++ {
		b, d := m[sumHead+daySize*i:], &dst[n+i-first]
		d.day = int64(binary.LittleEndian.Uint64(b))
		d.Sum = energy.Sum{
			ProductionKWh:  math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
			ConsumptionKWh: math.Float64frombits(binary.LittleEndian.Uint64(b[16:])),
			PeakKW:         math.Float64frombits(binary.LittleEndian.Uint64(b[24:])),
			Samples:        int(binary.LittleEndian.Uint32(b[32:])),
			CoveredS:       int64(binary.LittleEndian.Uint32(b[36:])),
		}
	}
	for s := m[sumHead+daySize*m.len():]; len(s) > 0; s = s[sourceSize:] {
		if i := int(s[0]); i >= first && i < end {
			var p [sourceParts]float64
			for k := range p {
				p[k] = math.Float64frombits(binary.LittleEndian.Uint64(s[1+8*k:]))
			}
			dst[n+i-first].setParts(p)
		}
	}
	return dst
}

// replace is a copy with other sums for the days of from..to.
func (m monthSums) replace(from, to int64, days []daySum) monthSums {
	all := m.between(nil, math.MinInt64, from)
	all = append(all, days...)
	return packSums(m.between(all, to, math.MaxInt64))
}

// summer sums days and keeps its memory. It is not safe for concurrent use.
type summer struct{ energy.Integrator }

// sums appends the day sums of a frame that lies within the days to dst; a day
// without production data and without a counter's gain has none. usual is the
// unit's usual step in seconds, and now the clock for the day that is running;
// 0 if all days are complete.
func (s *summer) sums(dst []daySum, f series.Frame, days []int64, end, usual, now int64) []daySum {
	all := energy.FrameInput(f, 0, 0, max(usual, 0))
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
		in := all.Slice(lo, hi, day, next)
		if now < next {
			in.Now = now
		}
		if d := s.Sum(in); d.Samples > 0 || d.ProductionKWh > 0 || d.Edge.FirstAt != 0 {
			dst = append(dst, daySum{day, d})
		}
	}
	return dst
}

// usualStep is the step of a unit in seconds: the commonest one, if at least a
// third of all steps are equal to it; irregularStep otherwise, and 0 with fewer
// than two time stamps.
func usualStep(times []int64) int64 {
	if len(times) < 2 {
		return 0
	}
	if step := series.UsualStep(times); step > 0 {
		return step
	}
	return irregularStep
}

// irregularStep is the step of a unit that has none.
const irregularStep = -1
