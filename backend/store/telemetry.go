package store

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// SiteKey names a site and its zone: telemetry is kept and summed by the
// site's own days.
type SiteKey struct {
	ID   string
	Zone *time.Location
}

// AssetFrame is what one asset of a site reported.
type AssetFrame struct {
	AssetID string
	Frame   series.Frame
}

// Telemetry keeps what units report. Append is idempotent: where a stamp is
// there already, the newer value of each quantity wins and a missing one
// replaces nothing. Sites and assets come into being by their first sample; of
// unknown ones there is nothing, which is no error.
type Telemetry interface {
	// Append stores all frames durably, or none. The zone must be one of
	// the zone database; if it differs from the stored one, all days are
	// cut again.
	Append(ctx context.Context, site SiteKey, frames []AssetFrame) error
	// Rewrite replaces all telemetry of a site by what edit makes of it, durably
	// or not, and lays it out in the given zone; without frames nothing of
	// the site remains. edit gets a frame of each asset, which it must not change,
	// and may be called again.
	Rewrite(ctx context.Context, site SiteKey, edit func(frames []AssetFrame) ([]AssetFrame, error)) error
	// ReadSite returns all telemetry of a site at one time, a frame of each asset that
	// has samples, in the order of their ids.
	ReadSite(ctx context.Context, siteID string) ([]AssetFrame, error)
	// Read yields an asset's samples with from <= time < to, block by block in
	// time order. No quantities means all.
	Read(ctx context.Context, siteID, assetID string, from, to time.Time, quantities ...series.Quantity) iter.Seq2[series.Frame, error]
	// ReadUnits yields a frame for each of a site's assets, in the order of their
	// ids, with from <= time < to; an empty one where there is nothing. It costs
	// less than to read one after the other, the more so the more units there are.
	ReadUnits(ctx context.Context, siteID string, assetIDs []string, from, to time.Time, quantities ...series.Quantity) iter.Seq2[AssetFrame, error]
	// Daily are the stored day sums of the assets (all of the site when none
	// are named) whose site day starts within from <= day < to.
	Daily(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]DaySum, error)
	// Period returns the first and last time stamp of an asset, or of the
	// site if assetID is empty; ok is false without data.
	Period(ctx context.Context, siteID, assetID string) (first, last time.Time, ok bool, err error)
	// Steps are the usual steps of a site's assets in seconds, of those that
	// have one.
	Steps(ctx context.Context, siteID string) (map[string]int64, error)
	// Latest is the newest sample of each asset of the site as a frame of one
	// stamp, ascending by asset id.
	Latest(ctx context.Context, siteID string) ([]AssetFrame, error)
}

// DaySum is the energy of an asset's day, by package energy: stored next to the
// block, so that a year of days needs no decoding. A day without production data
// has no sum, unless a lifetime counter that ran before and after it shows its
// energy.
type DaySum struct {
	AssetID        string
	Day            time.Time // the site's midnight
	EnergyKWh      float64   // production, not negative
	ConsumptionKWh float64   // by negative power, not negative
	PeakKW         float64
	Samples        int   // stamps with power, or with energy where power is missing
	CoveredS       int64 // seconds that they cover

	// Sources is nil if all was measured as power: most days are, and a year of a
	// fleet is many days. See Parts.
	Sources *DaySources
}

// DaySources are the parts of a day's energy by their source.
type DaySources struct {
	// Parts of EnergyKWh; the rest was measured as power.
	CounterKWh, IntervalKWh, ExtrapolatedKWh float64

	// ComparedKWh is the energy by power over the time that a better source
	// covers as well, and DifferenceKWh by how much that source exceeds it.
	ComparedKWh, DifferenceKWh float64
}

// Parts are the sources of the day; zero if all was measured as power.
func (d *DaySum) Parts() DaySources {
	if d.Sources == nil {
		return DaySources{}
	}
	return *d.Sources
}

// Energy is the sum without its asset and day.
func (d *DaySum) Energy() energy.Sum {
	of := d.Parts()
	return energy.Sum{ProductionKWh: d.EnergyKWh, ConsumptionKWh: d.ConsumptionKWh, PeakKW: d.PeakKW, Samples: d.Samples, CoveredS: d.CoveredS,
		CounterKWh: of.CounterKWh, IntervalKWh: of.IntervalKWh, ExtrapolatedKWh: of.ExtrapolatedKWh, ComparedKWh: of.ComparedKWh, DifferenceKWh: of.DifferenceKWh}
}

// Collect joins what Read yields into one frame.
func Collect(seq iter.Seq2[series.Frame, error]) (series.Frame, error) {
	var out series.Frame
	for f, err := range seq {
		if err != nil {
			return series.Frame{}, err
		}
		out = appendFrame(out, f)
	}
	return out, nil
}

// appendFrame adds b, all of whose times are later, behind a.
func appendFrame(a, b series.Frame) series.Frame {
	n := a.Len()
	a.Times = append(a.Times, b.Times...)
	for i := range a.Columns {
		a.Columns[i].Values = padded(a.Columns[i].Values, b.Values(a.Columns[i].Quantity), b.Len())
	}
	for _, c := range b.Columns {
		if a.Values(c.Quantity) == nil {
			a.Set(c.Quantity, append(padded(nil, nil, n), c.Values...))
		}
	}
	return a
}

func padded(values, more []float64, n int) []float64 {
	if more != nil {
		return append(values, more...)
	}
	for range n {
		values = append(values, series.Missing())
	}
	return values
}

// zones are the time zones that were loaded, by name: the library reads a zone's
// file each time. There are some 600 names.
var zones sync.Map

// Zone returns the time zone of an IANA name. It refuses "" and "Local", which mean
// another zone on another machine.
func Zone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("zone %q is not an IANA time zone", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: %w", name, err)
	}
	zones.Store(name, zone)
	return zone, nil
}
