// Package gapfill trains models that fill gaps in the power of sites, fills the
// gaps and lists them.
package gapfill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/interpolate"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// Filler fills gaps in the power of sites.
type Filler struct{ *sitedata.Data }

const day = 24 * time.Hour

// maxSpan is the history in which gaps are filled.
const maxSpan = 365 * day

// Steps of gap filling: the data's own within these.
const (
	minStep = 5 * time.Minute
	maxStep = time.Hour
)

// RunJob follows a training: it learns from the site's power how its gaps are
// filled, fills those of each asset and stores the results. Telemetry stays as it
// was measured.
func (g *Filler) RunJob(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	_, err = g.FillSite(ctx, body.SiteID, nil)
	if errors.Is(err, api.ErrSiteNotFound) || errors.Is(err, interpolate.ErrUnfit) {
		return nil
	}
	return err
}

// FillSite fills the gaps of a site and stores the result, the zero result if it has no
// telemetry; progress, if not nil, is called with the share that is done. An
// [interpolate.ErrUnfit], which is recorded as an activity, says why the data do not suffice.
func (g *Filler) FillSite(ctx context.Context, siteID string, progress func(share float64)) (api.InterpolationResult, error) {
	none := api.InterpolationResult{}
	site, err := g.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), siteID)
	if err != nil {
		return none, err
	}
	units, err := g.Domain.Sites.SiteAssets(ctx, site.SiteID)
	if err != nil {
		return none, err
	}
	first, last, ok, err := g.Telemetry.Period(ctx, site.SiteID, "")
	if err != nil || !ok {
		return none, err
	}
	if last.Sub(first) > maxSpan {
		first = last.Add(-maxSpan)
	}
	if progress == nil {
		progress = func(float64) {}
	}
	f := siteFiller{g: g, site: site, units: units, first: first, last: last, progress: progress}
	if err := f.learn(ctx); errors.Is(err, interpolate.ErrUnfit) {
		unfit := err
		err = g.Records.Update(ctx, func(tx store.Tx) error {
			return g.Domain.Activities.Record(tx, activity.Record{CustomerID: site.CustomerID, SiteID: site.SiteID, Phase: api.PhaseObserve, Title: "Gaps not filled", Description: sitedata.FirstLine(unfit), Actor: sitedata.Actor})
		})
		return none, cmp.Or(err, unfit)
	} else if err != nil {
		return none, err
	}
	progress(learnShare)
	if err := f.register(ctx); err != nil {
		return none, err
	}
	result, err := f.fill(ctx)
	if err != nil {
		return none, err
	}
	return result, g.storeResult(ctx, site, result)
}

// learnShare is the share of the work that learning is; the rest is filling, unit by unit.
const learnShare = 0.6

// storeResult stores a result, whose table is announced, and deletes the tables of
// results that are not kept.
func (g *Filler) storeResult(ctx context.Context, site api.Site, result api.InterpolationResult) error {
	key, table := g.Objects.Key(result.FilledValues)
	var old []string
	err := g.Records.Update(ctx, func(tx store.Tx) error {
		dropped, err := g.Domain.Models.AddInterpolation(tx, model.Interpolation{CustomerID: site.CustomerID, InterpolationResult: result})
		if err != nil {
			return err
		}
		old = nil
		for _, i := range dropped {
			if key, ok := g.Objects.Key(i.FilledValues); ok {
				old = append(old, key)
			}
		}
		if err := g.MarkForDeletion(tx, site.SiteID, old...); err != nil {
			return err
		}
		if table {
			if err := g.ConfirmObjects(tx, key); err != nil {
				return err
			}
		}
		return g.Domain.Activities.Record(tx, activity.Record{CustomerID: site.CustomerID, SiteID: site.SiteID, Phase: api.PhaseObserve, Title: "Gaps filled", Actor: sitedata.Actor,
			Description: Summary(result)})
	})
	if err != nil {
		if table {
			g.DropObjects(ctx, site.SiteID, key)
		}
		return err
	}
	g.DeleteMarked(ctx, site.SiteID, old...)
	return nil
}

// siteFiller fills the gaps of one site.
type siteFiller struct {
	g           *Filler
	site        api.Site
	units       []api.Asset
	first, last time.Time
	step        time.Duration
	capacityKW  float64
	model       *interpolate.Model
	history     sitedata.History
	notes       []string
	progress    func(share float64)
}

// learn trains on the power of the whole site.
func (f *siteFiller) learn(ctx context.Context) error {
	if err := f.findStep(ctx); err != nil {
		return err
	}
	h, err := f.g.ReadHistory(ctx, f.site.SiteID, f.units, f.first, f.last.Add(f.step), f.step, record.Zone(f.site.Timezone))
	if err != nil {
		return err
	}
	power := h.Trimmed()
	loc, _, notes := f.g.SiteLocation(f.site, power)
	f.capacityKW = record.CapacityKW(f.site, f.units)
	f.history = h
	subject := forecast.Site{ID: f.site.SiteID, Location: loc, Zone: record.Zone(f.site.Timezone), CapacityKW: f.capacityKW, Plane: sitedata.PlaneOf(f.site)}
	model, report, err := interpolate.Train(ctx, subject, power, f.weather(), interpolate.Options{Seed: sitedata.Seed(f.site.SiteID), Workers: 1})
	if err != nil {
		return err
	}
	f.model = model
	f.notes = append(append(notes, report.Notes...), "errors are those of the whole site's power, on samples that were measured, hidden and filled again")
	return f.compare(ctx)
}

// maxComparedAssets is the number of assets on which methods are compared for all
// assets of a site.
const maxComparedAssets = 6

// compare finds, on assets with peers, the best method for one asset.
func (f *siteFiller) compare(ctx context.Context) error {
	var able []api.Asset
	for _, u := range f.units {
		if u.CapacityKW > 0 {
			able = append(able, u)
		}
	}
	if len(able) < 2 {
		return nil
	}
	n := min(len(able), maxComparedAssets)
	var units []interpolate.Unit
	for k := range n {
		u, err := f.unit(ctx, able[k*len(able)/n])
		if err != nil {
			return err
		}
		if u.Power.Len() > 0 {
			units = append(units, u)
		}
	}
	model, _, err := f.model.ForUnits(ctx, units, interpolate.Options{Seed: sitedata.Seed(f.site.SiteID), Workers: 1})
	if err != nil {
		return err
	}
	f.model = model
	f.notes[len(f.notes)-1] = fmt.Sprintf("errors are those of the power of %s, each scaled to the site, on samples that were measured, hidden and filled again", display.CountOf(len(units), "unit", "units"))
	return nil
}

// weather returns the site's measured irradiance, unless a forecast has more
// values.
func (f *siteFiller) weather() interpolate.Weather {
	known := func(s series.Series) (n int) {
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				n++
			}
		}
		return n
	}
	h := f.history
	wx := interpolate.Weather{GHI: h.Quantity(series.IrradianceWM2), TemperatureC: h.Quantity(series.TemperatureC)}
	if forecast := h.Quantity(series.PredictedGHIWM2); known(forecast) > known(wx.GHI) {
		wx.GHI = forecast
	}
	return wx
}

// minPeerShare is the least share of the other assets' capacity that shows the
// state of the sky.
const minPeerShare = 0.1

// unit returns one asset's power, scaled to the site's size, with the power of its
// peers; empty if it has none. Telemetry is read again here, as the whole site may
// not fit into memory.
func (f *siteFiller) unit(ctx context.Context, u api.Asset) (interpolate.Unit, error) {
	frame, err := store.Collect(f.g.Telemetry.Read(ctx, f.site.SiteID, u.AssetID, f.first.UTC().Truncate(f.step), f.last.Add(f.step), series.PowerKW, series.CoveredS, series.StepS))
	if err != nil {
		return interpolate.Unit{}, fmt.Errorf("read the telemetry of asset %s: %w", u.AssetID, err)
	}
	if !(u.CapacityKW > 0) || frame.Len() == 0 {
		return interpolate.Unit{}, nil
	}
	one := interpolate.Unit{Power: frame.Resample(series.PowerKW, f.step), Weather: f.weather()}
	if one.Power.Len() == 0 {
		return one, nil
	}
	h := f.history
	one.Weather.Siblings = series.Series{Start: h.Power.Start, Step: f.step, Values: h.Reported.MeanWithout(one.Power, h.Power.Start, u.CapacityKW, h.CapacityKW, minPeerShare)}
	for i := range one.Power.Values {
		one.Power.Values[i] *= f.capacityKW / u.CapacityKW
	}
	return one, nil
}

// findStep sets the step to the interval of the assets' newest data.
func (f *siteFiller) findStep(ctx context.Context) error {
	f.step = maxStep
	for _, u := range f.units {
		frame, err := store.Collect(f.g.Telemetry.Read(ctx, f.site.SiteID, u.AssetID, f.last.Add(-7*day), f.last, series.PowerKW))
		if err != nil {
			return fmt.Errorf("read the telemetry of asset %s: %w", u.AssetID, err)
		}
		if own := series.Interval(frame.Times); own > 0 {
			f.step = min(f.step, own)
		}
	}
	for _, even := range []time.Duration{minStep, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, maxStep} {
		if f.step <= even {
			f.step = even
			return nil
		}
	}
	return nil
}

// fill fills each asset's gaps and scales the result to the asset's size.
func (f *siteFiller) fill(ctx context.Context) (api.InterpolationResult, error) {
	r := api.InterpolationResult{
		ResultID: record.NewID("int", f.g.Now()), SiteID: f.site.SiteID, ProcessedAt: api.At(f.g.Now()), AssetIDs: []string{},
		DataWindow: api.Window{Start: api.At(f.first), End: api.At(f.last)}, Methods: map[string]int{}, Notes: f.notes,
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	_ = w.Write([]string{"timestamp", "asset_id", "p10_kw", "p50_kw", "p90_kw", "method"}) // into memory
	var minutes, coverage, temperature, irradiance mean
	steps := map[interpolate.Method]int{}
	var expected interpolate.Score
	for i, u := range f.units {
		f.progress(learnShare + (1-learnShare)*float64(i)/float64(len(f.units)))
		one, err := f.unit(ctx, u)
		if err != nil {
			return r, err
		}
		if one.Power.Len() == 0 {
			continue
		}
		done, err := f.model.Complete(ctx, one.Power, one.Weather, 1)
		if err != nil {
			return r, fmt.Errorf("fill the gaps of asset %s: %w", u.AssetID, err)
		}
		if len(done.Filled) == 0 {
			coverage.add(0, 1)
			continue
		}
		r.AssetIDs = append(r.AssetIDs, u.AssetID)
		r.GapStatistics.TotalGaps += done.Statistics.TotalGaps
		r.GapStatistics.LargestGapMinutes = max(r.GapStatistics.LargestGapMinutes, done.Statistics.LargestMinutes)
		minutes.add(done.Statistics.AverageMinutes, float64(done.Statistics.TotalGaps))
		coverage.add(done.Statistics.CoverageImprovementPercent, 1)
		temperature.add(done.MeanTemperatureC, 1)
		irradiance.add(done.MeanIrradianceWM2, 1)
		if done.Expected.Samples > expected.Samples {
			expected = done.Expected
		}
		for _, m := range done.Methods {
			r.Methods[string(m.Method)] += m.Gaps
			steps[m.Method] += m.Steps
		}
		writeFilled(w, u.AssetID, f.step, f.capacityKW/u.CapacityKW, done.Filled)
	}
	w.Flush()
	most := 0
	for m, n := range steps {
		if n > most || n == most && string(m) < r.Method {
			r.Method, most = string(m), n
		}
	}
	r.GapStatistics.AverageGapMinutes = sitedata.Round(minutes.value())
	r.GapStatistics.CoverageImprovementPercent = sitedata.Round(coverage.value())
	r.WeatherFeatures = api.WeatherFeatures{MeanTemperatureC: temperature.known(), MeanIrradianceWM2: irradiance.known()}
	if r.Method == "" {
		r.Method = api.MethodNone
	}
	f.score(&r, expected)
	if len(r.AssetIDs) > 0 {
		key := objects.Key("interpolation", f.site.CustomerID, f.site.SiteID, r.ResultID) + ".csv"
		if err := f.g.storeTable(ctx, f.site.SiteID, key, table.Bytes()); err != nil {
			return r, err
		}
		r.FilledValues = f.g.Objects.URI(key)
	}
	return r, nil
}

// storeTable stores the table of a result, announced until the result is stored.
func (g *Filler) storeTable(ctx context.Context, siteID, key string, data []byte) error {
	free, err := g.AnnounceObjects(ctx, siteID, key)
	if err != nil {
		return err
	}
	if !free {
		return fmt.Errorf("store object %s: another is being stored", key)
	}
	if err := g.PutPart(ctx, key, data); err != nil {
		g.DropObjects(ctx, siteID, key)
		return err
	}
	return nil
}

// score sets the errors on hidden samples, in all and by length.
func (f *siteFiller) score(r *api.InterpolationResult, expected interpolate.Score) {
	report := f.model.Report()
	if expected.Samples == 0 {
		expected = report.Overall
	}
	r.PerformanceMetrics = performance(expected)
	for _, l := range report.Lengths {
		at := slices.IndexFunc(report.Choices, func(c interpolate.Choice) bool {
			return c.Class == interpolate.ClassOf(l.Length) && c.Sky == l.Sky
		})
		if at < 0 {
			continue
		}
		r.ByGapLength = append(r.ByGapLength, api.GapLengthMetrics{GapMinutes: l.Length.Minutes(), KnownFrom: string(l.Sky), Method: string(report.Choices[at].Method), HiddenGaps: l.Gaps, PerformanceMetrics: performance(l.Filled)})
	}
}

// performance returns the errors of filling, which are unknown if nothing was measured.
func performance(s interpolate.Score) api.PerformanceMetrics {
	if s.Samples == 0 {
		return api.PerformanceMetrics{}
	}
	if math.IsNaN(s.R2) { // the samples are all alike
		s.R2 = 0
	}
	number := func(v float64) *float64 { v = sitedata.Round(v); return &v }
	return api.PerformanceMetrics{RMSEKW: number(s.RMSEKW), MAEKW: number(s.MAEKW), R2Score: number(s.R2), NRMSEPercent: number(s.NRMSEPercent)}
}

// writeFilled writes one asset's filled values.
func writeFilled(w *csv.Writer, assetID string, step time.Duration, scale float64, filled []interpolate.Filled) {
	number := func(kw float64) string { return strconv.FormatFloat(math.Round(kw/scale*1000)/1000, 'f', -1, 64) }
	for _, g := range filled {
		for i := range g.KW {
			at := api.At(g.Gap.From.Add(time.Duration(i) * step))
			_ = w.Write([]string{at.String(), assetID, number(g.P10KW[i]), number(g.KW[i]), number(g.P90KW[i]), string(g.Method)}) // into memory
		}
	}
}

// mean is a weighted mean of known values.
type mean struct{ sum, weight float64 }

func (m *mean) add(v, weight float64) {
	if !math.IsNaN(v) && weight > 0 {
		m.sum += v * weight
		m.weight += weight
	}
}

func (m *mean) value() float64 {
	if m.weight == 0 {
		return 0
	}
	return m.sum / m.weight
}

func (m *mean) known() *float64 {
	if m.weight == 0 {
		return nil
	}
	v := sitedata.Round(m.value())
	return &v
}

// Summary says how many gaps of how many units a run filled, and by which method.
func Summary(r api.InterpolationResult) string {
	if r.GapStatistics.TotalGaps == 0 {
		return "no gaps in the daylight"
	}
	return fmt.Sprintf("%s of %s, mostly by %s", display.CountOf(r.GapStatistics.TotalGaps, "gap", "gaps"), display.CountOf(len(r.AssetIDs), "unit", "units"), strings.ReplaceAll(r.Method, "_", " "))
}
