package telemetry

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// bridgeDays is how many days without a reading of its counter a unit may have
// so that the gain of the counter fills them.
const bridgeDays = 8

// Daily are the stored day sums, and those of the open day computed, ascending
// by asset and day.
func (a *Store) Daily(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]store.DaySum, error) {
	lo, hi := ceilUnix(from), ceilUnix(to)
	if lo >= hi {
		return nil, ctx.Err()
	}
	var out []store.DaySum
	old := false
	err := a.viewSite(ctx, siteID, func(site *site) error {
		if old = site.layout.sums != sumsVersion; old {
			return nil
		}
		zone, err := a.siteZone(site)
		if err != nil {
			return err
		}
		assets, err := site.Assets(assetIDs...)
		if err != nil {
			return err
		}
		out, err = site.daily(assets, zone, lo, hi, a.now().Unix())
		return err
	})
	if err == nil && old {
		return a.Recompute(ctx, siteID, from, to, assetIDs...)
	}
	return out, err
}

// daily is Daily of the assets in one transaction.
func (s *site) daily(assets []Asset, zone *time.Location, lo, hi, now int64) ([]store.DaySum, error) {
	cal := &calendar{zone: zone}
	const beyond = bridgeDays * secondsADay
	months := make([][]monthSums, len(assets))
	stored, counts := 0, false
	i := 0
	for c, err := range s.Overlapping(Sums, refsOf(assets), lo-beyond, hi+beyond, 0) {
		if err != nil {
			return nil, err
		}
		m := monthSums(c.Value)
		if err := m.check(); err != nil {
			return nil, err
		}
		for assets[i].Ref != c.Ref {
			i++
		}
		months[i] = append(months[i], m)
		stored += max(m.at(hi)-m.at(lo), 0)
		counts = counts || m.hasSources()
	}
	until := hi
	if counts {
		until += beyond // the next reading of a counter completes a day
	}
	open, err := s.openSums(assets, cal, lo, until, now)
	if err != nil {
		return nil, err
	}
	for _, days := range open {
		stored += len(days)
	}
	out := make([]store.DaySum, 0, stored)
	var days []daySum
	for i, asset := range assets {
		if len(open[i]) > 0 || slices.ContainsFunc(months[i], monthSums.hasSources) {
			days = days[:0]
			for _, m := range months[i] {
				days = m.between(days, lo-beyond, hi+beyond)
			}
			days = bridge(append(days, open[i]...), cal)
			for _, d := range daysWithin(days, lo, hi) {
				out = append(out, d.of(asset.ID, zone))
			}
			continue
		}
		for _, m := range months[i] {
			out = m.appendPower(out, lo, hi, asset.ID, zone)
		}
	}
	return out, nil
}

// hasSources reports whether a day has a source other than power.
func (m monthSums) hasSources() bool { return len(m) > sumHead+daySize*m.len() }

// appendPower appends the days of from..to of a month that has no source but
// power, without the detour over a daySum.
func (m monthSums) appendPower(out []store.DaySum, from, to int64, assetID string, zone *time.Location) []store.DaySum {
	first, end := m.at(from), m.at(to)
	n := len(out)
	out = slices.Grow(out, max(end-first, 0))[:n+max(end-first, 0)]
	for i := first; i < end; i++ {
		b, d := m[sumHead+daySize*i:][:daySize], &out[n+i-first]
		d.AssetID, d.Day = assetID, time.Unix(int64(binary.LittleEndian.Uint64(b)), 0).In(zone)
		d.EnergyKWh = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
		d.ConsumptionKWh = math.Float64frombits(binary.LittleEndian.Uint64(b[16:]))
		d.PeakKW = math.Float64frombits(binary.LittleEndian.Uint64(b[24:]))
		d.Samples, d.CoveredS = int(binary.LittleEndian.Uint32(b[32:])), int64(binary.LittleEndian.Uint32(b[36:]))
	}
	return out
}

func refsOf(assets []Asset) []uint32 {
	refs := make([]uint32, len(assets))
	for i, a := range assets {
		refs[i] = a.Ref
	}
	return refs
}

func (d *daySum) of(assetID string, zone *time.Location) store.DaySum {
	out := store.DaySum{
		AssetID: assetID, Day: time.Unix(d.day, 0).In(zone), EnergyKWh: d.ProductionKWh, ConsumptionKWh: d.ConsumptionKWh, PeakKW: d.PeakKW,
		Samples: d.Samples, CoveredS: d.CoveredS,
	}
	of := store.DaySources{CounterKWh: d.CounterKWh, IntervalKWh: d.IntervalKWh, ExtrapolatedKWh: d.ExtrapolatedKWh, ComparedKWh: d.ComparedKWh, DifferenceKWh: d.DifferenceKWh}
	if of != (store.DaySources{}) {
		out.Sources = &of
	}
	return out
}

// bridge adds what lifetime counters gained between the last reading of a day
// and the first one of the next day that has one, in proportion to time. Days
// between them without any sample are added.
func bridge(days []daySum, cal *calendar) []daySum {
	for i := 0; i+1 < len(days); i++ {
		a, b := &days[i], &days[i+1]
		if a.Edge.LastAt == 0 || b.Edge.FirstAt == 0 || b.Edge.FirstAt-a.Edge.LastAt > bridgeDays*secondsADay {
			continue
		}
		kW, ok := energy.Bridge(a.Edge, b.Edge, max(a.PeakKW, b.PeakKW))
		if !ok {
			continue
		}
		end := cal.next(a.day)
		a.Close(kW, end)
		b.Open(kW, b.day)
		var missing []daySum
		for end < b.day {
			next := cal.next(end)
			kWh := kW * float64(next-end) / 3600
			missing = append(missing, daySum{end, energy.Sum{ProductionKWh: kWh, CounterKWh: kWh}})
			end = next
		}
		if len(missing) > 0 {
			days = slices.Insert(days, i+1, missing...)
			i += len(missing)
		}
	}
	return days
}

// unitsAtOnce is for how many units the tail's rows are read at a time: their
// samples are neighbours in a row, and their frames fit a core's own memory.
const unitsAtOnce = 64

// openSums sums what the tail holds of the days that start in from..to; what
// it answers is in the assets' order.
func (s *site) openSums(assets []Asset, cal *calendar, from, to, now int64) ([][]daySum, error) {
	out := make([][]daySum, len(assets))
	if to <= s.layout.open {
		return out, nil
	}
	known, err := s.assetIndex()
	if err != nil {
		return nil, err
	}
	var stamps []int64
	var rows []storedRow
	for c, err := range s.Rows(max(from, s.layout.open), maxStamp) {
		if err != nil {
			return nil, err
		}
		stamps, rows = append(stamps, c.Start), append(rows, c.Value)
	}
	places := make([]int, len(assets)) // of the assets, by ref
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(i, j int) int { return cmp.Compare(assets[i].Ref, assets[j].Ref) })
	produced := make([]production, min(unitsAtOnce, len(assets)))
	for k := range produced {
		produced[k].init(len(rows))
	}
	var sum summer
	for part := range slices.Chunk(places, unitsAtOnce) {
		for k := range part {
			produced[k].reset()
		}
		for i, row := range rows {
			near := 0
			for k, place := range part {
				var values sample
				if values, near, err = row.seek(assets[place].Ref, near); err != nil {
					return nil, err
				}
				if values != nil {
					produced[k].add(stamps[i], values)
					near++
				}
			}
		}
		for k, place := range part {
			ref := assets[place].Ref
			if int(ref) >= len(known) {
				return nil, errAssetIndex
			}
			for f := produced[k].frame(); f.Len() > 0; {
				run := cal.at(f.Times[0])
				out[place] = sum.sums(out[place], f.Slice(f.Times[0], run.end), run.days, run.end, known[ref].step, now)
				f = f.Slice(run.end, maxStamp)
			}
			out[place] = daysWithin(out[place], from, to)
		}
	}
	return out, nil
}

// quantities is the number of quantities that a sum is made of.
const quantities = 6

// production is the input of sums of one unit.
type production struct {
	times   []int64
	columns [quantities][]float64 // in the order of energy.Quantities
	known   [quantities]bool
}

func (p *production) init(n int) {
	p.times = make([]int64, 0, n)
	for i := range p.columns {
		p.columns[i] = make([]float64, 0, n)
	}
}

func (p *production) reset() {
	p.times, p.known = p.times[:0], [quantities]bool{}
	for i := range p.columns {
		p.columns[i] = p.columns[i][:0]
	}
}

func (p *production) add(at int64, s sample) {
	n := len(p.times)
	p.times = append(p.times, at)
	for i := range p.columns {
		if p.known[i] {
			p.columns[i] = append(p.columns[i], series.Missing())
		}
	}
	for i := range s.count() {
		q, v := s.value(i)
		k := slices.Index(energy.Quantities, q)
		if k < 0 {
			continue
		}
		if !p.known[k] {
			p.known[k] = true
			for range n + 1 {
				p.columns[k] = append(p.columns[k], series.Missing())
			}
		}
		p.columns[k][n] = v
	}
}

func (p *production) frame() series.Frame {
	f := series.Frame{Times: p.times}
	for i, q := range energy.Quantities {
		if p.known[i] {
			f.Set(q, p.columns[i])
		}
	}
	return f
}

// Recompute is Daily from the samples themselves, on all cores: what the
// stored sums must be equal to.
func (a *Store) Recompute(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]store.DaySum, error) {
	lo, hi := ceilUnix(from), ceilUnix(to)
	if lo >= hi {
		return nil, ctx.Err()
	}
	var assets []Asset
	err := a.viewSite(ctx, siteID, func(site *site) (err error) {
		assets, err = site.Assets(assetIDs...)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Each worker keeps its calendar and its memory from asset to asset.
	out := make([][]store.DaySum, len(assets))
	workers := runtime.GOMAXPROCS(0)
	var g errgroup.Group
	for w := range min(workers, len(assets)) {
		g.Go(func() error {
			return a.viewSite(ctx, siteID, func(site *site) error {
				zone, err := a.siteZone(site)
				if err != nil {
					return err
				}
				known, err := site.assetIndex()
				if err != nil {
					return err
				}
				cal, decoder, sum := &calendar{zone: zone}, &block.Decoder{}, &summer{}
				now := a.now().Unix()
				for i := w; i < len(assets); i += workers {
					if err := ctx.Err(); err != nil {
						return err
					}
					days, err := site.recompute(assets[i], known[assets[i].Ref].step, cal, decoder, sum, lo, hi, now)
					if err != nil {
						return err
					}
					out[i] = make([]store.DaySum, len(days))
					for k, d := range days {
						out[i][k] = d.of(assets[i].ID, zone)
					}
				}
				return nil
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(out...), nil
}

// recompute sums an asset's days that start in from..to from its blocks and the
// tail.
func (s *site) recompute(a Asset, step int64, cal *calendar, d *block.Decoder, sum *summer, from, to, now int64) ([]daySum, error) {
	const beyond = bridgeDays * secondsADay
	var out []daySum
	for c, err := range s.Overlapping(Blocks, []uint32{a.Ref}, from-beyond, to+beyond, 0) {
		if err != nil {
			return nil, err
		}
		f, err := d.DecodeRange(c.Value, math.MinInt64, maxStamp, energy.Quantities...)
		if err != nil {
			return nil, err
		}
		run := cal.at(c.Start)
		out = sum.sums(out, f, run.days, run.end, step, 0)
	}
	open, err := s.openSums([]Asset{a}, cal, from-beyond, to+beyond, now)
	if err != nil {
		return nil, err
	}
	return daysWithin(bridge(append(out, open[0]...), cal), from, to), nil
}

// daysWithin are the days of from..to.
func daysWithin(days []daySum, from, to int64) []daySum {
	first, _ := slices.BinarySearchFunc(days, from, compareDay)
	end, _ := slices.BinarySearchFunc(days, to, compareDay)
	return days[first:end]
}

func compareDay(d daySum, t int64) int { return cmp.Compare(d.day, t) }
