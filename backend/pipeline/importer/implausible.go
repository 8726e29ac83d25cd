package importer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// dropImplausible removes power from the frames of a file of live data that its unit cannot
// have: more than [sitedata.MaxPowerFactor] times its capacity, and the highest power of its last
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
		if unit == nil || len(f.Times) == 0 {
			continue
		}
		most, err := im.MostPower(ctx, u.SiteID, unit.AssetID, unit.CapacityKW, power, time.Unix(f.Times[0], 0))
		if err != nil {
			return nil, err
		}
		if !sitedata.Exceeds(power, most) {
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
		words = append(words, fmt.Sprintf("power: %d of %s of %s are left out, as it cannot have them: up to %s, and its capacity is %s",
			dropped, display.CountOf(len(power), "value", "values"), unit.AssetID, display.Power(highest), display.Power(unit.CapacityKW)))
	}
	return words, nil
}
