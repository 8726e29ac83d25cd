package freemium

import (
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/place"
	"app.sunloop/engine/series"
)

// step is that of the forecast.
const step = time.Hour

// maxSpan is the most history that is looked at: more would cost time, and the
// plant and the climate of longer ago are others.
const maxSpan = 3 * 366 * 24 * time.Hour

// upload is what a file gave.
type upload struct {
	power        series.Series // kW, of all units, hourly
	manufacturer string
	notes        []string
}

// read reads a file whose times are in the given zone unless they have their
// own.
func read(file io.Reader, req api.FreemiumRequest, town place.Found, now time.Time) (upload, error) {
	o := ingest.Options{CapacityKW: req.CapacityKW, Now: now, MaxBytes: api.MaxUploadBytes, Asset: req.SiteName}
	if town.Zone != "" {
		if zone, err := time.LoadLocation(town.Zone); err == nil {
			o.Zone, o.ZoneFrom = zone, "the zone of the location"
		}
	}
	r, err := ingest.Read(file, o)
	var refusal *ingest.Refusal
	if errors.As(err, &refusal) {
		e := api.ErrFreemiumCSV.With("reason", refusal.Message)
		if refusal.Line > 0 {
			e = e.With("line", refusal.Line)
		}
		return upload{}, e
	}
	if err != nil {
		return upload{}, err
	}
	u := upload{power: total(r.Assets), manufacturer: r.Manufacturer}
	for _, d := range slices.Concat(r.Decisions, r.Warnings) {
		u.notes = append(u.notes, d.String())
	}
	return u, nil
}

// reportingShare is the share of the units, by their peaks, that must report
// for an hour to count.
const reportingShare = 0.3

// total returns the hourly power of all units, scaled up for units that did not
// report.
func total(assets []ingest.Asset) series.Series {
	var parts []series.Series
	var peaks []float64
	var from, to time.Time
	all := 0.0
	newest := int64(math.MinInt64)
	for _, a := range assets {
		if n := a.Frame.Len(); n > 0 {
			newest = max(newest, a.Frame.Times[n-1])
		}
	}
	for _, a := range assets {
		// A stray date would stretch the grid over centuries.
		f := a.Frame.Slice(newest-int64(maxSpan/time.Second), newest+1)
		s := f.Resample(series.PowerKW, step)
		if s.Len() == 0 {
			continue
		}
		peak := peakOf(s)
		parts, peaks, all = append(parts, s), append(peaks, peak), all+peak
		if from.IsZero() || s.Start.Before(from) {
			from = s.Start
		}
		if s.End().After(to) {
			to = s.End()
		}
	}
	sum := series.Series{Start: from, Step: step, Values: make([]float64, to.Sub(from)/step)}
	for i := range sum.Values {
		value, weight := 0.0, 0.0
		for k, s := range parts {
			if v := s.At(sum.Time(i)); !math.IsNaN(v) {
				value, weight = value+v, weight+peaks[k]
			}
		}
		sum.Values[i] = math.NaN()
		if weight > 0 && weight >= reportingShare*all {
			sum.Values[i] = value * all / weight
		}
	}
	return sum
}

// peakOf is the highest value; more than nothing, so that a dark unit counts.
func peakOf(s series.Series) float64 {
	peak := 1e-6
	for _, v := range s.Values {
		if v > peak { // false for NaN
			peak = v
		}
	}
	return peak
}
