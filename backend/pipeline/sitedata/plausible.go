package sitedata

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// MaxPowerFactor times the capacity is the greatest plausible mean power.
const MaxPowerFactor = 3

// The history of a unit that shows what power it can have.
const (
	peakDays  = 60 // days before a sample
	peakLeast = 5  // of these with production, below which nothing is known
)

// MostPower returns the most power in kW that a unit can have, if a value of power is more
// than [MaxPowerFactor] times its capacity: as many times its capacity and the highest power
// of its last days before a time. It is infinite if no value is more, and if the unit has too
// few days.
func (d *Data) MostPower(ctx context.Context, siteID, assetID string, capacityKW float64, power []float64, at time.Time) (float64, error) {
	if capacityKW <= 0 || !Exceeds(power, MaxPowerFactor*capacityKW) {
		return math.Inf(1), nil
	}
	days, err := d.Telemetry.Daily(ctx, siteID, at.AddDate(0, 0, -peakDays), at.AddDate(0, 0, -1), assetID)
	if err != nil {
		return 0, fmt.Errorf("read the days of unit %s: %w", assetID, err)
	}
	most, n := capacityKW, 0
	for _, d := range days {
		if d.EnergyKWh > 0 {
			most, n = max(most, d.PeakKW), n+1
		}
	}
	if n < peakLeast {
		return math.Inf(1), nil
	}
	return MaxPowerFactor * most, nil
}

// Exceeds reports whether the size of a value is more than a limit.
func Exceeds(values []float64, most float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v) > most })
}
