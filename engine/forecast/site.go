package forecast

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/display"
)

// Site describes a site apart from its measurements.
type Site struct {
	ID         string
	Location   solar.Location
	Zone       *time.Location // nil is UTC
	CapacityKW float64        // AC; no forecast exceeds it
	Plane      *solar.Plane   // nil is unknown: it is fitted
}

// History is the training data of a model. Power is the mean AC power of the
// site in kW, in steps of at most an hour; NaN is missing. Weather is forecast
// or measured weather of the same span; it may be empty. A model that was
// trained with irradiance uses the weather that is passed with each forecast.
// Siblings are other sites of the fleet: until a site has data of each season
// twice, they are used in training too. Siblings that [Train] would reject, or
// whose weather is of another kind, are ignored.
type History struct {
	Power    series.Series
	Weather  []weather.Column
	Siblings []Sibling
}

// Sibling is another site of the fleet, with all of its history that is known.
type Sibling struct {
	Site    Site
	History History
}

// ErrUnfit is wrapped by every error that rejects a history; the text states
// the reason.
var ErrUnfit = errors.New("history cannot be learned from")

func unfit(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrUnfit, fmt.Sprintf(format, a...))
}

// Above this share of the capacity the capacity is wrong rather than the sun
// strong; cold edge-of-cloud moments reach 1.1 to 1.2 for minutes.
const overCapacity = 1.3

// plausible is the power in shares of the site's peak, negative night values
// as zero, with the peak in kW and notes on what was found.
func plausible(site Site, power series.Series) (share series.Series, peakKW float64, notes []string, err error) {
	switch {
	case !(site.CapacityKW > 0) || math.IsInf(site.CapacityKW, 0):
		return share, 0, nil, unfit("a capacity of %s", display.Power(site.CapacityKW))
	case !(math.Abs(site.Location.LatitudeDeg) <= 90) || !(math.Abs(site.Location.LongitudeDeg) <= 180):
		return share, 0, nil, unfit("no place at %g, %g", site.Location.LatitudeDeg, site.Location.LongitudeDeg)
	case power.Step <= 0 || power.Step > time.Hour:
		return share, 0, nil, unfit("steps of %v; they must be at most an hour", power.Step)
	}
	share = series.Series{Start: power.Start, Step: power.Step, Values: make([]float64, power.Len())}
	var shining []float64
	for i, v := range power.Values {
		if math.IsInf(v, 0) {
			v = math.NaN()
		}
		share.Values[i] = max(v, 0) // NaN stays
		if v > 0 {
			shining = append(shining, v)
		}
	}
	if len(shining) == 0 {
		return share, site.CapacityKW, nil, nil
	}
	slices.Sort(shining)
	peakKW = shining[int(0.999*float64(len(shining)-1))]
	if peakKW > overCapacity*site.CapacityKW {
		return share, 0, nil, unfit("power reaches %s, %.1f times the capacity of %s; correct the capacity or the unit of the power", display.Power(peakKW), peakKW/site.CapacityKW, display.Power(site.CapacityKW))
	}
	if peakKW < 0.3*site.CapacityKW {
		notes = append(notes, fmt.Sprintf("power reaches only %s of a capacity of %s", display.Power(peakKW), display.Power(site.CapacityKW)))
	}
	if n := len(shining) - upper(shining, site.CapacityKW); n*1000 > len(shining) {
		notes = append(notes, fmt.Sprintf("%s lie above the capacity of %s", display.CountOf(n, "interval", "intervals"), display.Power(site.CapacityKW)))
	}
	for i, v := range share.Values {
		// A spike beyond any plausible power is no measurement.
		if v > overCapacity*max(site.CapacityKW, peakKW) {
			v = math.NaN()
		}
		share.Values[i] = v / peakKW
	}
	return share, peakKW, notes, nil
}

// upper is how many values of a sorted slice are at most limit.
func upper(sorted []float64, limit float64) int {
	i, _ := slices.BinarySearch(sorted, math.Nextafter(limit, math.Inf(1)))
	return i
}

// resample is s in means over steps aligned to UTC; s itself where it is so
// already.
func resample(s series.Series, step time.Duration) series.Series {
	if s.Len() == 0 || s.Step == step && s.Start.Unix()%int64(step/time.Second) == 0 && s.Start.Nanosecond() == 0 {
		return s
	}
	return s.Resample(step)
}

// stepFor is the step a history is learned in.
func stepFor(have, want time.Duration) time.Duration {
	for _, s := range []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour} {
		if have <= s && want <= s {
			return s
		}
	}
	return time.Hour
}
