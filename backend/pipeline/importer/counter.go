package importer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// maxCounterGap is the greatest time between two readings of a counter from which
// the mean power between them is computed.
const maxCounterGap = day

// joinCounters computes the power that a file of counter readings cannot contain:
// between its first reading and the one before it, and between its last and the
// one after it, which are in other files. So a history in pieces equals one file,
// in whatever order the pieces are imported.
func (im *Importer) joinCounters(ctx context.Context, u upload.Upload, site api.Site, r *ingest.Result, units []api.Asset) error {
	return im.joinPiece(ctx, u, site, r, units, 0)
}

// joinPiece is joinCounters for a piece of a large file.
func (im *Importer) joinPiece(ctx context.Context, u upload.Upload, site api.Site, r *ingest.Result, units []api.Asset, n int) error {
	if r.ValueKind != ingest.KindCounter {
		return nil
	}
	var joined []store.AssetFrame
	for i, a := range r.Assets {
		f, err := im.boundarySamples(ctx, site, units[i], a.Frame)
		if err != nil {
			return err
		}
		if f.Len() > 0 {
			joined = append(joined, store.AssetFrame{AssetID: units[i].AssetID, Frame: f})
		}
	}
	if len(joined) == 0 {
		return nil
	}
	part := 1<<20 + n*partsOfPiece // after those of the file
	for _, f := range joined {
		c, err := im.changesOf(ctx, site.SiteID, f.AssetID, f.Frame)
		if err != nil {
			return err
		}
		c.further = series.Merge(c.further, f.Frame)
		if err := im.keepChanges(ctx, u, f.AssetID, c, part); err != nil {
			return err
		}
	}
	if err := im.Telemetry.Append(ctx, store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, joined); err != nil {
		return fmt.Errorf("store telemetry of site %s: %w", site.SiteID, err)
	}
	return nil
}

// boundarySamples returns the samples of one asset at the ends of a stored frame
// whose power changes.
func (im *Importer) boundarySamples(ctx context.Context, site api.Site, unit api.Asset, f series.Frame) (out series.Frame, err error) {
	counter := f.Values(series.EnergyCounterKWh)
	first, last := firstKnown(counter), lastKnown(counter)
	if first < 0 {
		return out, nil
	}
	from, to := time.Unix(f.Times[first], 0), time.Unix(f.Times[last], 0)
	before, err := im.readings(ctx, site.SiteID, unit.AssetID, from.Add(-maxCounterGap), from.Add(time.Second))
	if err != nil {
		return out, err
	}
	after, err := im.readings(ctx, site.SiteID, unit.AssetID, to, to.Add(maxCounterGap+time.Second))
	if err != nil {
		return out, err
	}
	most := math.Inf(1)
	if unit.CapacityKW > 0 {
		most = sitedata.MaxPowerFactor * unit.CapacityKW
	}
	var power, steps []float64
	set := func(at int64, kW, stepS float64) {
		if kW >= 0 && kW <= most {
			out.Times, power, steps = append(out.Times, at), append(power, kW), append(steps, stepS)
		}
	}
	former := -1 // reading before the file's first
	if n := before.Len(); n > 1 {
		former = n - 2
		if math.IsNaN(before.At(series.PowerKW, n-1)) {
			set(f.Times[first], meanPower(before, former, before, n-1), statedStep(f, first, first+1))
		}
	}
	if after.Len() > 1 {
		// What is there may be of the longer gap that the file has filled.
		now := after.At(series.PowerKW, 1)
		stale := former >= 0 && math.Abs(now-meanPower(before, former, after, 1)) < 1e-6
		if math.IsNaN(now) || stale {
			set(after.Times[1], meanPower(after, 0, after, 1), statedStep(after, 1, 2, 0))
		}
	}
	out.Set(series.PowerKW, power)
	if slices.ContainsFunc(steps, func(s float64) bool { return !math.IsNaN(s) }) {
		out.Set(series.StepS, steps)
	}
	return out, nil
}

// statedStep returns the first step that one of the samples states; NaN if none
// does. A sample whose file had no power for it is of the step of its neighbours.
func statedStep(f series.Frame, samples ...int) float64 {
	for _, i := range samples {
		if i < f.Len() && !math.IsNaN(f.At(series.StepS, i)) {
			return f.At(series.StepS, i)
		}
	}
	return math.NaN()
}

// readings returns the stored samples in a span that have a counter.
func (im *Importer) readings(ctx context.Context, siteID, assetID string, from, to time.Time) (series.Frame, error) {
	all, err := store.Collect(im.Telemetry.Read(ctx, siteID, assetID, from, to, series.PowerKW, series.EnergyCounterKWh, series.StepS))
	if err != nil {
		return all, fmt.Errorf("read the telemetry of asset %s: %w", assetID, err)
	}
	var out series.Frame
	var power, counter, steps []float64
	for i, at := range all.Times {
		if v := all.At(series.EnergyCounterKWh, i); !math.IsNaN(v) {
			out.Times, power, counter = append(out.Times, at), append(power, all.At(series.PowerKW, i)), append(counter, v)
			steps = append(steps, all.At(series.StepS, i))
		}
	}
	out.Set(series.PowerKW, power)
	out.Set(series.EnergyCounterKWh, counter)
	out.Set(series.StepS, steps)
	return out, nil
}

// meanPower returns the mean power between two readings in kW; NaN if the counter
// fell.
func meanPower(a series.Frame, i int, b series.Frame, j int) float64 {
	kWh := b.At(series.EnergyCounterKWh, j) - a.At(series.EnergyCounterKWh, i)
	hours := float64(b.Times[j]-a.Times[i]) / 3600
	if kWh < 0 || hours <= 0 {
		return math.NaN()
	}
	return kWh / hours
}

func firstKnown(values []float64) int {
	for i, v := range values {
		if !math.IsNaN(v) {
			return i
		}
	}
	return -1
}

func lastKnown(values []float64) int {
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return i
		}
	}
	return -1
}
