// Package detection runs fault detection and diagnosis on sites and records what
// they find.
package detection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"

	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/series"
)

// Detector runs fault detection on sites and records what it finds.
type Detector struct {
	*sitedata.Data
	Repairs RepairVerifier // nil: no repair is verified
	turns   turns
}

const day = 24 * time.Hour

// Spans of a run of the detector.
const (
	// judgeSpan is what every run looks at: what is new, and before it what
	// the detector learns a site by.
	shortSpan = 60 * day
	// A site's first run, and one a day, look further back, for what comes and
	// goes in months: over so many samples, but at least and at most so long.
	longRunEvery, longRunSamples = day, 10_000_000
	minLongSpan, maxLongSpan     = 400 * day, 1100 * day
	// leadSpan precedes the data of an import that a run evaluates.
	leadSpan = 60 * day
	// pastAfter is the age at which data are history: what was still there at their
	// end is a finding of the past and raises no alarm.
	pastAfter = 366 * day
	// learnSpan is how far into its window a run cannot determine what began there
	// from what a unit is like.
	learnSpan = 30 * day
)

// detectorVersion is the model version in findings.
const detectorVersion = "rules-1"

// RunJob runs the detector on a site.
func (de *Detector) RunJob(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	return de.DetectSite(ctx, body.SiteID)
}

// JobFailed lets the planner enqueue the next detection at its usual time.
func (de *Detector) JobFailed(ctx context.Context, job store.Claimed, _ error) error {
	return de.SkipJob(ctx, job, func(t *sitedata.State) { t.DetectAt = de.Now() })
}

// DetectSite runs the detector on a site and records its results; a site that does
// not exist is skipped.
func (de *Detector) DetectSite(ctx context.Context, siteID string) error {
	_, err := de.detectAssets(ctx, siteID, nil, 0)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	return err
}

// detectAssets runs the detector on a site and records its results. The detections
// of the assets in asked are stored in any case; their analyses hold what ended in the
// look-back, a day if it is zero.
func (de *Detector) detectAssets(ctx context.Context, siteID string, asked []string, lookback time.Duration) (finding.RunResult, error) {
	done, err := de.turns.wait(ctx, siteID)
	if err != nil {
		return finding.RunResult{}, err
	}
	defer done()
	site, err := de.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), siteID)
	if err != nil {
		return finding.RunResult{}, err
	}
	began := de.Now() // what comes later this run has not seen
	state, err := de.State(ctx, siteID)
	if err != nil {
		return finding.RunResult{}, err
	}
	units, err := de.Domain.Sites.SiteAssets(ctx, siteID)
	if err != nil {
		return finding.RunResult{}, err
	}
	span := de.spanOf(state, len(units))
	for _, w := range span.past {
		if err := de.detectPast(ctx, site, units, w); err != nil {
			return finding.RunResult{}, err
		}
	}
	deep := span.long
	in, err := de.detectorInput(ctx, site, units, span.window)
	if err != nil {
		return finding.RunResult{}, err
	}
	verify := false
	if de.Repairs != nil {
		if verify, err = de.Repairs.RepairsWait(ctx, siteID); err != nil {
			return finding.RunResult{}, err
		}
	}
	if verify {
		in.Keep = max(in.Keep, yieldSpan)
	}
	report, err := detect.Run(ctx, in)
	if err != nil {
		return finding.RunResult{}, err
	}
	run := de.runRecord(site, units, in, report, deep)
	run.Read = de.Now()
	if err := de.withReported(ctx, site, units, state, &run, report); err != nil {
		return finding.RunResult{}, err
	}
	if run.Events, err = de.withoutSilent(ctx, site.SiteID, run.Events); err != nil {
		return finding.RunResult{}, err
	}
	run.Requested = asked
	for _, u := range in.Units {
		if lookback > 0 && slices.Contains(asked, u.AssetID) {
			run.Analyses[u.AssetID] = analysis(u, run.Events, in, report, lookback)
		}
	}
	if verify {
		run.DayYields = map[string][]finding.DayYield{}
		for _, u := range in.Units {
			run.DayYields[u.AssetID] = yields(u, report.Expected[u.AssetID], in.Site.Zone, in.Now)
		}
	}
	var out finding.RunResult
	err = de.Records.Update(ctx, func(tx store.Tx) error {
		var err error
		if out, err = de.Domain.Detections.RecordRun(tx, run); err != nil {
			return err
		}
		if verify {
			if err := de.Repairs.Verify(tx, run); err != nil {
				return err
			}
		}
		_, err = sitedata.UpdateState(tx, siteID, func(t *sitedata.State) {
			if !began.Before(t.DetectAt) || t.DetectAt.After(de.Now()) { // unless another run has overtaken this one; clocks may be set back
				t.DetectAt, t.DetectData = began, state.Data
				if deep {
					t.LongRunAt = began
				}
			}
			if t.Data == state.Data {
				t.HistoryFrom, t.HistoryTo = time.Time{}, time.Time{}
			}
		})
		return err
	})
	if err == nil {
		de.Hooks.Detect()
	}
	return out, err
}

// slowFamilies are detected by an asset's behaviour over weeks: a short run does
// not end such an event that began before its window could show it.
var slowFamilies = []detect.Family{detect.StringOutage, detect.PartialShading, detect.CapacityChange, detect.TrackerFault, detect.Underperformance, detect.IrradianceSensor, detect.TimeShift}

// longRunFamilies are only evaluated by long runs.
var longRunFamilies = []detect.Family{detect.Soiling, detect.Degradation}

// detectorInput reads what the detector evaluates.
func (de *Detector) detectorInput(ctx context.Context, site api.Site, units []api.Asset, w window) (detect.Input, error) {
	in := detect.Input{Site: detect.Site{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, From: w.from, Now: w.now, Keep: 2 * time.Hour}
	var place *model.Location
	if m, err := de.Domain.Models.InProduction(ctx, site.SiteID, sitedata.ModelType); err == nil {
		place = m.Place
	} else if !errors.Is(err, store.ErrNotFound) {
		return in, err
	}
	if loc, ok := model.LocationOf(site, place); ok {
		in.Site.Location = &loc
	}
	for f, err := range de.Telemetry.ReadUnits(ctx, site.SiteID, record.AssetIDs(units), in.From, in.Now) {
		if err != nil {
			return in, err
		}
		u := units[len(in.Units)]
		unit := detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Frame: f.Frame}
		if u.TiltDeg != nil && u.AzimuthDeg != nil {
			unit.Plane = sitedata.PlaneOf(api.Site{TiltDeg: u.TiltDeg, AzimuthDeg: u.AzimuthDeg})
		}
		in.Units = append(in.Units, unit)
	}
	f, err := de.Domain.Forecasts.Latest(ctx, site.SiteID)
	if err == nil {
		in.Forecast = series.Series{Start: f.Start, Step: f.Step(), Values: f.P50KW}
	} else if !errors.Is(err, store.ErrNotFound) {
		return in, err
	}
	return in, nil
}

// runRecord converts a report into the record of the run.
func (de *Detector) runRecord(site api.Site, units []api.Asset, in detect.Input, r detect.Report, deep bool) finding.Run {
	run := finding.Run{Site: site, ModelVersion: detectorVersion, From: in.From, Now: in.Now, Analyses: map[string]api.Analysis{}}
	capacity := record.CapacityKW(site, units)
	run.DayKWh = func(of []string) float64 {
		share := 0.0
		for _, u := range units {
			if slices.Contains(of, u.AssetID) && capacity > 0 {
				share += u.CapacityKW / capacity
			}
		}
		return share * in.Forecast.Slice(in.Now, in.Now.Add(day)).EnergyKWh()
	}
	if !deep {
		run.LearnedAt = in.From.Add(learnSpan)
		for _, f := range slowFamilies {
			run.LongRunFamilies = append(run.LongRunFamilies, string(f))
		}
		for _, f := range longRunFamilies {
			run.NotJudged = append(run.NotJudged, string(f))
		}
	}
	run.NotJudged = append(run.NotJudged, string(detect.DataSilence)) // see RecordSilence
	old := de.Now().Sub(in.Now) > pastAfter
	for _, f := range diagnose.Explain(in, r) {
		if old && f.End == nil {
			f.End = &f.LastSeen
		}
		// Clipping is by design, on every sunny day: nothing to find.
		if f.Family != detect.Clipping && !slices.Contains(run.NotJudged, string(f.Family)) {
			run.Events = append(run.Events, eventOf(f))
		}
	}
	for _, u := range in.Units {
		run.Units = append(run.Units, u.AssetID)
		run.Analyses[u.AssetID] = analysis(u, run.Events, in, r, recentEvents)
	}
	return run
}

func eventOf(e diagnose.Finding) finding.Event {
	out := finding.Event{Family: string(e.Family), Units: e.Units, Start: e.Start, LastSeen: e.LastSeen, DetectedAt: e.DetectedAt, LossFraction: known(e.LossFraction),
		LostKWh: known(e.LostKWh), Losses: e.Losses, EnergyAtRiskKW: known(e.EnergyAtRiskKW), Confidence: known(e.Confidence), Severity: e.Severity.Label, Grade: e.Severity.Partner, Summary: e.Summary}
	if e.End != nil {
		out.End = *e.End
	}
	for _, m := range e.Members {
		part := api.FindingMember{AssetID: m.Unit, StartedAt: api.At(m.Start), LastSeenAt: api.At(m.LastSeen), LossFraction: known(m.LossFraction), LostKWh: known(m.LostKWh)}
		if m.End != nil {
			part.EndedAt = api.At(*m.End)
		} else if e.End != nil {
			part.EndedAt = api.At(*e.End)
		}
		out.Members = append(out.Members, part)
	}
	for _, o := range e.Occasions {
		out.Occasions = append(out.Occasions, finding.Period{From: o.From, To: o.To})
	}
	for _, c := range e.Causes {
		out.Causes = append(out.Causes, api.Cause{Cause: c.Text, Confidence: known(c.Confidence)})
	}
	for _, a := range e.Actions {
		out.Actions = append(out.Actions, api.Action{Priority: a.Priority, Action: a.Text})
	}
	for _, v := range e.Evidence {
		out.Evidence = append(out.Evidence, api.Evidence{For: v.Supports(), Text: v.Text})
	}
	return out
}

// known rounds a value for JSON; NaN and infinities become 0.
func known(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return sitedata.Round(v)
}

// recentEvents is how long an ended event is part of an analysis.
const recentEvents = day

// analysis returns the results of a run for one asset.
func analysis(u detect.Unit, events []finding.Event, in detect.Input, r detect.Report, lookback time.Duration) api.Analysis {
	a := api.Analysis{Anomalies: []api.Anomaly{}, NotJudged: r.NotEvaluated, Metrics: latestMetrics(u.Frame, r.Expected[u.AssetID])}
	if n := u.Frame.Len(); n > 0 {
		a.LastObservation = api.Unix(u.Frame.Times[n-1])
	}
	for _, e := range events {
		part := e.Part(u.AssetID)
		if !slices.Contains(e.Units, u.AssetID) || !part.EndedAt.IsZero() && part.EndedAt.Before(in.Now.Add(-lookback)) {
			continue
		}
		a.Anomalies = append(a.Anomalies, api.Anomaly{FaultFamily: e.Family, SeverityLabel: e.Severity, StartedAt: part.StartedAt, LastSeenAt: part.LastSeenAt,
			EndedAt: part.EndedAt, LossFraction: part.LossFraction, LostKWh: part.LostKWh, Confidence: e.Confidence, Summary: e.Summary})
		if part.EndedAt.IsZero() {
			a.EnergyAtRiskKW = max(a.EnergyAtRiskKW, e.EnergyAtRiskKW/float64(len(e.Affected())))
		}
	}
	finding.Conclude(&a)
	return a
}

// latestMetrics returns the newest value of each quantity, and the power that was
// expected when power was last measured.
func latestMetrics(f series.Frame, expected series.Series) api.AnalysisMetrics {
	newest := func(q series.Quantity) (float64, int64, bool) {
		v := f.Values(q)
		for i := len(v) - 1; i >= 0; i-- {
			if !math.IsNaN(v[i]) {
				return v[i], f.Times[i], true
			}
		}
		return 0, 0, false
	}
	number := func(q series.Quantity) *float64 {
		if v, _, ok := newest(q); ok {
			v = sitedata.Round(v)
			return &v
		}
		return nil
	}
	state := func(q series.Quantity) *int {
		if v, _, ok := newest(q); ok {
			n := int(v)
			return &n
		}
		return nil
	}
	m := api.AnalysisMetrics{LatestPowerKW: number(series.PowerKW), LatestIrradianceWM2: number(series.IrradianceWM2),
		LatestTemperatureC: number(series.TemperatureC), LatestInverterState: state(series.InverterState), LatestRunState: state(series.RunState)}
	if _, at, ok := newest(series.PowerKW); ok {
		if v := expected.At(time.Unix(at, 0)); !math.IsNaN(v) {
			v = sitedata.Round(v)
			m.BaselinePowerKW = &v
		}
	}
	return m
}

// Detect runs the detector on the asset's site and returns the asset's detection.
// A fault is recognised by peers and by history, so that a run always evaluates
// both; lookbackHours, a day if it is zero, limits the ended anomalies of the detection.
// What lasts is always part of it.
func (de *Detector) Detect(ctx context.Context, scope api.Scope, ref api.AssetRef, lookbackHours int) (api.Detection, error) {
	asset, err := de.Domain.Sites.Asset(ctx, scope, ref)
	if err != nil {
		return api.Detection{}, err
	}
	out, err := de.detectAssets(ctx, asset.SiteID, []string{asset.AssetID}, time.Duration(lookbackHours)*time.Hour)
	if err != nil {
		return api.Detection{}, fmt.Errorf("detect on asset %s: %w", asset.AssetID, err)
	}
	d, ok := out.Detections[asset.AssetID]
	if !ok {
		return d, fmt.Errorf("detect on asset %s: the run has no result for it", asset.AssetID)
	}
	return d, nil
}

// Detections lists the stored runs within the scope, newest first.
func (de *Detector) Detections(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Detection, string, error) {
	return de.Domain.Detections.Detections(ctx, scope, q)
}

// RepairVerifier verifies repairs by the detector's runs.
type RepairVerifier interface {
	// RepairsWait says whether any of the site's do.
	RepairsWait(ctx context.Context, siteID string) (bool, error)
	// Verify holds them against a run, within the transaction that records it.
	Verify(tx store.Tx, run finding.Run) error
}

// Diagnose returns the diagnosis of an asset. Without a detection it runs the
// detector first.
func (de *Detector) Diagnose(ctx context.Context, scope api.Scope, r api.DiagnoseRequest) (api.Diagnostic, error) {
	if r.DetectionID == "" {
		d, err := de.Detect(store.WithoutCommitHook(ctx), scope, r.Ref(), r.LookbackHours)
		if err != nil {
			return api.Diagnostic{}, err
		}
		r.DetectionID = d.DetectionID
	}
	return de.Domain.Detections.Diagnose(ctx, scope, r)
}

// Diagnostics lists the stored diagnoses within the scope, newest first.
func (de *Detector) Diagnostics(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Diagnostic, string, error) {
	return de.Domain.Detections.Diagnostics(ctx, scope, q)
}
