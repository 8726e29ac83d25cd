package detection

import (
	"math"
	"time"

	"app.sunloop/backend/domain/finding"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
)

// yieldSpan is the number of days whose yields verify a repair.
const yieldSpan = 31 * day

// A day is clear when so much was expected of the most in the span, and is
// known when so much of what was expected has a reading at the same time.
const (
	clearShare = 0.75
	knownShare = 0.9
)

// yields returns the complete days of an asset over the span of its expected
// power, in order, with the ratio of measured to expected energy.
func yields(u detect.Unit, expected series.Series, zone *time.Location, now time.Time) []finding.DayYield {
	if expected.Len() == 0 || u.Frame.Values(series.PowerKW) == nil {
		return nil
	}
	power := u.Frame.Resample(series.PowerKW, expected.Step)
	var out []finding.DayYield
	most := 0.0
	for from, to := range series.Days(expected.Start, expected.End(), zone) {
		if from.Before(expected.Start) || to.After(now) {
			continue // not whole
		}
		var due, seen, made float64
		for i := range expected.Slice(from, to).Values {
			at := from.Add(time.Duration(i) * expected.Step)
			e, p := expected.At(at), power.At(at)
			if math.IsNaN(e) {
				continue
			}
			due += e
			if !math.IsNaN(p) {
				seen, made = seen+e, made+p
			}
		}
		most = max(most, due)
		y := finding.DayYield{From: from, To: to, Clear: due > 0, Expected: due}
		if seen > 0 {
			y.Known, y.Ratio = seen >= knownShare*due, made/seen
		}
		out = append(out, y)
	}
	for i := range out {
		out[i].Clear = out[i].Clear && out[i].Expected >= clearShare*most
	}
	return out
}
