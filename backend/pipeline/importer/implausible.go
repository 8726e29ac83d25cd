package importer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// The history of a unit that shows what power it can have.
const (
	peakDays  = 60 // days before a file
	peakLeast = 5  // of these with production, below which nothing is known
)

// dropImplausible removes power from the frames of a file of live data that its unit cannot
// have: more than [maxPowerFactor] times its capacity, and the highest power of its last
// days. A short file shows no values to compare with, as one of history does: the register
// of a device that failed, or a reading in another unit. Its energy comes from the counter, if
// there is one. It returns a sentence for each unit.
func (im *Importer) dropImplausible(ctx context.Context, u upload.Upload, r *ingest.Result) (words []string, err error) {
	if u.Kind != api.UploadNowcast {
		return nil, nil
	}
	_, known, err := im.siteAndUnits(ctx, u.Request.Of(u.CustomerID, u.SiteID))
	if err != nil {
		return nil, err
	}
	for i := range r.Assets {
		f := &r.Assets[i].Frame
		unit := findAsset(known, r.Assets[i].Name)
		power := f.Values(series.PowerKW)
		if unit == nil || unit.CapacityKW <= 0 || !exceeds(power, maxPowerFactor*unit.CapacityKW) {
			continue
		}
		first := time.Unix(f.Times[0], 0)
		days, err := im.Telemetry.Daily(ctx, u.SiteID, first.AddDate(0, 0, -peakDays), first.AddDate(0, 0, -1), unit.AssetID)
		if err != nil {
			return nil, fmt.Errorf("read the days of unit %s: %w", unit.AssetID, err)
		}
		most, n := unit.CapacityKW, 0
		for _, d := range days {
			if d.EnergyKWh > 0 {
				most, n = max(most, d.PeakKW), n+1
			}
		}
		if most *= maxPowerFactor; n < peakLeast || !exceeds(power, most) {
			continue
		}
		power = slices.Clone(power) // frames of one file may share memory
		dropped, highest := 0, 0.0
		for k, v := range power {
			if math.Abs(v) > most {
				power[k], dropped = math.NaN(), dropped+1
				if math.Abs(v) > math.Abs(highest) {
					highest = v
				}
			}
		}
		f.Set(series.PowerKW, power)
		words = append(words, fmt.Sprintf("power: %d of %d values of %s are left out, as it cannot have them: up to %.0f kW, and its capacity is %.4g kW",
			dropped, len(power), unit.AssetID, highest, unit.CapacityKW))
	}
	return words, nil
}

func exceeds(values []float64, most float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v) > most })
}
