package telemetry

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/series"
)

// maxDaysAhead is the number of days for which space is allocated before they
// are counted.
const maxDaysAhead = 400

// Daily are the stored day sums, and those of the open day computed, ascending
// by asset and day.
func (a *Archive) Daily(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]store.DaySum, error) {
	lo, hi := ceilUnix(from), ceilUnix(to)
	if lo >= hi {
		return nil, ctx.Err()
	}
	var out []store.DaySum
	err := a.viewSite(ctx, siteID, func(site *site) error {
		zone, err := a.siteZone(site)
		if err != nil {
			return err
		}
		assets, err := site.Assets(assetIDs...)
		if err != nil {
			return err
		}
		open, err := site.openSums(assets, &calendar{zone: zone}, lo, hi)
		if err != nil {
			return err
		}
		out = make([]store.DaySum, 0, min((hi-lo)/secondsADay+1, maxDaysAhead))
		done := 0 // assets of which out has all
		finish := func(n int) {
			for ; done < n; done++ {
				for _, d := range open[done] {
					out = append(out, d.of(assets[done].ID, zone))
				}
				if done == 0 {
					// The other assets are likely to have as many days.
					out = slices.Grow(out, len(out)*(len(assets)-1))
				}
			}
		}
		i := 0
		for c, err := range site.Overlapping(Sums, refsOf(assets), lo, hi, 0) {
			if err != nil {
				return err
			}
			if len(c.Value)%daySumSize != 0 {
				return errSums
			}
			for assets[i].Ref != c.Ref {
				i++
				finish(i)
			}
			days := monthSums(c.Value).between(lo, hi)
			end := len(out)
			out = slices.Grow(out, len(days)/daySumSize)[:end+len(days)/daySumSize]
			for k := range out[end:] {
				// Field by field, because a whole DaySum would be built and then copied: a third of the
				// time.
				d, to := readDaySum(days[k*daySumSize:]), &out[end+k]
				to.AssetID, to.Day = assets[i].ID, time.Unix(d.day, 0).In(zone)
				to.EnergyKWh, to.PeakKW, to.Samples = d.energyKWh, d.peakKW, int(d.samples)
			}
		}
		finish(len(assets))
		return nil
	})
	return out, err
}

func refsOf(assets []Asset) []uint32 {
	refs := make([]uint32, len(assets))
	for i, a := range assets {
		refs[i] = a.Ref
	}
	return refs
}

func (d daySum) of(assetID string, zone *time.Location) store.DaySum {
	return store.DaySum{AssetID: assetID, Day: time.Unix(d.day, 0).In(zone), EnergyKWh: d.energyKWh, PeakKW: d.peakKW, Samples: int(d.samples)}
}

// unitsAtOnce is for how many units the tail's rows are read at a time: their
// samples are neighbours in a row, and their frames fit a core's own memory.
const unitsAtOnce = 64

// openSums sums what the tail holds of the days that start in from..to; what
// it answers is in the assets' order.
func (s *site) openSums(assets []Asset, cal *calendar, from, to int64) ([][]daySum, error) {
	out := make([][]daySum, len(assets))
	if to <= s.layout.open {
		return out, nil
	}
	known, err := s.roster()
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
		produced[k] = production{make([]int64, 0, len(rows)), make([]float64, 0, len(rows)), make([]float64, 0, len(rows))}
	}
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
				return nil, errRoster
			}
			for f := produced[k].frame(); f.Len() > 0; {
				run := cal.at(f.Times[0])
				days := sums(f.Slice(f.Times[0], run.end), run.days, run.end, known[ref].step)
				out[place] = append(out[place], daysWithin(days, from, to)...)
				f = f.Slice(run.end, maxStamp)
			}
		}
	}
	return out, nil
}

// production is the input of sums: power and energy of one unit.
type production struct {
	times         []int64
	power, energy []float64
}

func (p *production) reset() {
	p.times, p.power, p.energy = p.times[:0], p.power[:0], p.energy[:0]
}

func (p *production) add(at int64, s sample) {
	power, energy := series.Missing(), series.Missing()
	for i := range s.count() {
		switch q, v := s.value(i); q {
		case series.PowerKW:
			power = v
		case series.EnergyKWh:
			energy = v
		}
	}
	p.times = append(p.times, at)
	p.power = append(p.power, power)
	p.energy = append(p.energy, energy)
}

func (p *production) frame() series.Frame {
	f := series.Frame{Times: p.times}
	f.Set(series.PowerKW, p.power)
	f.Set(series.EnergyKWh, p.energy)
	return f
}

// Recompute is Daily from the samples themselves, on all cores: what the
// stored sums must be equal to.
func (a *Archive) Recompute(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]store.DaySum, error) {
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
				known, err := site.roster()
				if err != nil {
					return err
				}
				cal, decoder := &calendar{zone: zone}, &block.Decoder{}
				for i := w; i < len(assets); i += workers {
					if err := ctx.Err(); err != nil {
						return err
					}
					days, err := site.recompute(assets[i], known[assets[i].Ref].step, cal, decoder, lo, hi)
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
func (s *site) recompute(a Asset, step int64, cal *calendar, d *block.Decoder, from, to int64) ([]daySum, error) {
	var out []daySum
	for c, err := range s.Overlapping(Blocks, []uint32{a.Ref}, from, to, 0) {
		if err != nil {
			return nil, err
		}
		f, err := d.DecodeRange(c.Value, math.MinInt64, maxStamp, summed...)
		if err != nil {
			return nil, err
		}
		run := cal.at(c.Start)
		out = append(out, daysWithin(sums(f, run.days, run.end, step), from, to)...)
	}
	open, err := s.openSums([]Asset{a}, cal, from, to)
	if err != nil {
		return nil, err
	}
	return append(out, open[0]...), nil
}

// daysWithin are the days of from..to.
func daysWithin(days []daySum, from, to int64) []daySum {
	first, _ := slices.BinarySearchFunc(days, from, daySum.compare)
	end, _ := slices.BinarySearchFunc(days, to, daySum.compare)
	return days[first:end]
}

func (d daySum) compare(t int64) int { return cmp.Compare(d.day, t) }
