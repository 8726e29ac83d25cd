package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/series"
)

// Spans of a run of the detector.
const (
	// judgeSpan is what every run looks at: what is new, and before it what
	// the detector learns a site by.
	judgeSpan = 60 * day
	// A site's first run, and one a day, look further back, for what comes and
	// goes in months: over so many samples, but at least and at most so long.
	deepEvery, deepSamples      = day, 10_000_000
	leastDeepSpan, mostDeepSpan = 400 * day, 1100 * day
	// learnSpan is how far into its window a run cannot tell what began there
	// from what a unit is like.
	learnSpan = 30 * day
)

// detectorVersion is what findings name as the model that said so.
const detectorVersion = "rules-1"

// detect is the job that looks for a site's faults.
func (p *Pipeline) detect(ctx context.Context, job store.Claimed) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	return p.judge(ctx, body.SiteID)
}

// skipDetect lets the planner try again only after its usual pause.
func (p *Pipeline) skipDetect(ctx context.Context, job store.Claimed, _ error) error {
	return p.skip(ctx, job, func(t *Track) { t.DetectAt = p.Now() })
}

// skipForecast likewise.
func (p *Pipeline) skipForecast(ctx context.Context, job store.Claimed, _ error) error {
	return p.skip(ctx, job, func(t *Track) { t.ForecastAt = p.Now() })
}

func (p *Pipeline) skip(ctx context.Context, job store.Claimed, change func(*Track)) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	return p.Records.Update(ctx, func(tx store.Tx) error {
		_, err := advance(tx, body.SiteID, change)
		return err
	})
}

func (p *Pipeline) judge(ctx context.Context, siteID string) error {
	_, err := p.judgeFor(ctx, siteID, nil)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	return err
}

// judgeFor runs the detector over the site and records what it says; asked are
// the assets whose detection is stored in any case.
func (p *Pipeline) judgeFor(ctx context.Context, siteID string, asked []string) (ops.Outcome, error) {
	site, err := p.Ops.Site(ctx, api.Unlimited("pipeline"), siteID)
	if err != nil {
		return ops.Outcome{}, err
	}
	began := p.Now() // what comes later this run has not seen
	track, err := p.track(ctx, siteID)
	if err != nil {
		return ops.Outcome{}, err
	}
	units, err := p.Ops.SiteAssets(ctx, siteID)
	if err != nil {
		return ops.Outcome{}, err
	}
	deep := p.deep(track)
	in, err := p.question(ctx, site, units, track, deep)
	if err != nil {
		return ops.Outcome{}, err
	}
	verify := false
	if p.Repairs != nil {
		if verify, err = p.Repairs.RepairsWait(ctx, siteID); err != nil {
			return ops.Outcome{}, err
		}
	}
	if verify {
		in.Keep = max(in.Keep, yieldSpan)
	}
	report, err := detect.Run(ctx, in)
	if err != nil {
		return ops.Outcome{}, err
	}
	run := p.runOf(site, units, in, report, deep)
	run.Asked = asked
	if verify {
		run.Yields = map[string][]ops.DayYield{}
		for _, u := range in.Units {
			run.Yields[u.AssetID] = yields(u, report.Expected[u.AssetID], in.Site.Zone, in.Now)
		}
	}
	var out ops.Outcome
	err = p.Records.Update(ctx, func(tx store.Tx) error {
		var err error
		if out, err = p.Ops.RecordRun(tx, run); err != nil {
			return err
		}
		if verify {
			if err := p.Repairs.Verify(tx, run); err != nil {
				return err
			}
		}
		_, err = advance(tx, siteID, func(t *Track) {
			if !began.Before(t.DetectAt) || t.DetectAt.After(p.Now()) { // unless another run has overtaken this one; clocks may be set back
				t.DetectAt, t.DetectData = began, track.Data
				if deep {
					t.DeepAt = began
				}
			}
		})
		return err
	})
	if err == nil {
		tell(p.Observe.Detect)
	}
	return out, err
}

// deep says whether a run is to look at months.
func (p *Pipeline) deep(track Track) bool {
	return track.DetectData == 0 || p.Now().Sub(track.DeepAt) >= deepEvery || track.DeepAt.After(p.Now())
}

// slow are the families that are told by how a unit was for weeks: a run over
// a short window does not end what began before it could know that.
var slow = []detect.Family{detect.StringOutage, detect.PartialShading, detect.CapacityChange, detect.TrackerFault, detect.Underperformance, detect.IrradianceSensor, detect.TimeShift}

// slowest are those of which a short window says nothing at all.
var slowest = []detect.Family{detect.Soiling, detect.Degradation}

// question gathers what the detector is asked.
func (p *Pipeline) question(ctx context.Context, site api.Site, units []api.Asset, track Track, deep bool) (detect.Input, error) {
	now, span := p.Now(), judgeSpan
	if !track.live(now) || track.LastData.After(now) {
		// A file without a feed ends where it ends.
		now = track.LastData.Add(time.Second)
	}
	if deep {
		span = min(max(deepSamples*5*time.Minute/time.Duration(max(len(units), 1)), leastDeepSpan), mostDeepSpan)
	}
	in := detect.Input{Site: detect.Site{ID: site.SiteID, Zone: ops.Zone(site)}, From: now.Add(-span), Now: now, Keep: 2 * time.Hour}
	var place *ops.Place
	if m, err := p.Ops.ProductionModel(ctx, site.SiteID, modelType); err == nil {
		place = m.Place
	} else if !errors.Is(err, store.ErrNotFound) {
		return in, err
	}
	if loc, ok := location(site, place); ok {
		in.Site.Location = &loc
	}
	for f, err := range p.Telemetry.ReadUnits(ctx, site.SiteID, ops.IDs(units), in.From, in.Now) {
		if err != nil {
			return in, err
		}
		u := units[len(in.Units)]
		unit := detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Frame: f.Frame}
		if u.TiltDeg != nil && u.AzimuthDeg != nil {
			unit.Plane = planeOf(api.Site{TiltDeg: u.TiltDeg, AzimuthDeg: u.AzimuthDeg})
		}
		in.Units = append(in.Units, unit)
	}
	f, err := p.Ops.LatestForecast(ctx, site.SiteID)
	if err == nil {
		in.Forecast = series.Series{Start: f.Start, Step: f.Step(), Values: f.P50KW}
	} else if !errors.Is(err, store.ErrNotFound) {
		return in, err
	}
	return in, nil
}

// runOf puts a report into the records' words.
func (p *Pipeline) runOf(site api.Site, units []api.Asset, in detect.Input, r detect.Report, deep bool) ops.Run {
	run := ops.Run{Site: site, ModelVersion: detectorVersion, From: in.From, Now: in.Now, Analyses: map[string]api.Analysis{}}
	capacity := ops.CapacityKW(site, units)
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
		run.Learned = in.From.Add(learnSpan)
		for _, f := range slow {
			run.Slow = append(run.Slow, string(f))
		}
		for _, f := range slowest {
			run.NotJudged = append(run.NotJudged, string(f))
		}
	}
	for _, f := range diagnose.Explain(in, r) {
		// Clipping is by design, on every sunny day: nothing to find.
		if f.Family != detect.Clipping && !slices.Contains(run.NotJudged, string(f.Family)) {
			run.Events = append(run.Events, eventOf(f))
		}
	}
	for _, u := range in.Units {
		run.Units = append(run.Units, u.AssetID)
		run.Analyses[u.AssetID] = analysis(u, run.Events, in, r)
	}
	return run
}

func eventOf(e diagnose.Finding) ops.Event {
	out := ops.Event{Family: string(e.Family), Units: e.Units, Start: e.Start, LastSeen: e.LastSeen, LossFraction: known(e.LossFraction),
		LostKWh: known(e.LostKWh), EnergyAtRiskKW: known(e.EnergyAtRiskKW), Confidence: known(e.Confidence), Severity: e.Severity.Label, Grade: e.Severity.Partner, Summary: e.Summary}
	if e.End != nil {
		out.End = *e.End
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

// known is v for JSON: rounded, and 0 for what is not a number.
func known(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return round(v)
}

// recentEvents is how long ended events still belong to an analysis.
const recentEvents = day

// analysis is what a run says of one unit.
func analysis(u detect.Unit, events []ops.Event, in detect.Input, r detect.Report) api.Analysis {
	a := api.Analysis{SeverityLabel: api.SeverityNormal, Status: "completed", FaultType: "none", Anomalies: []api.Anomaly{}, NotJudged: r.NotJudged,
		Metrics: latestMetrics(u.Frame, r.Expected[u.AssetID])}
	if n := u.Frame.Len(); n > 0 {
		a.LastObservation = api.Unix(u.Frame.Times[n-1])
	}
	for _, e := range events {
		if !slices.Contains(e.Units, u.AssetID) || !e.End.IsZero() && e.End.Before(in.Now.Add(-recentEvents)) {
			continue
		}
		n := api.Anomaly{FaultFamily: e.Family, SeverityLabel: e.Severity, StartedAt: api.At(e.Start), LastSeenAt: api.At(e.LastSeen),
			LossFraction: e.LossFraction, LostKWh: e.LostKWh, Confidence: e.Confidence, Summary: e.Summary}
		if !e.End.IsZero() {
			n.EndedAt = api.At(e.End)
		}
		a.Anomalies = append(a.Anomalies, n)
		if score := severityScore[e.Severity]; score > a.SeverityScore {
			a.SeverityScore, a.SeverityLabel = score, e.Severity
			a.FaultType, a.Summary = e.Family, e.Summary
		}
		if e.End.IsZero() {
			a.EnergyAtRiskKW = max(a.EnergyAtRiskKW, e.EnergyAtRiskKW/float64(len(e.Units)))
		}
	}
	if a.Summary == "" {
		a.Summary = "Nothing out of the ordinary was found."
	}
	return a
}

// severityScore puts a label on the scale of 0 to 1.
var severityScore = map[string]float64{api.SeverityNormal: 0.2, api.SeverityWarning: 0.6, api.SeverityCritical: 1}

// latestMetrics are the newest values of each quantity, and what was expected
// when power was last measured.
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
			v = round(v)
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
			v = round(v)
			m.BaselinePowerKW = &v
		}
	}
	return m
}

// Detect runs the detector over the asset's site and answers for the asset:
// its peers and its past are what a fault is told by, so a run looks at both
// whatever is asked; lookbackHours then says which anomalies the answer holds.
func (p *Pipeline) Detect(ctx context.Context, scope api.Scope, ref api.AssetRef, lookbackHours int) (api.Detection, error) {
	asset, err := p.Ops.Asset(ctx, scope, ref)
	if err != nil {
		return api.Detection{}, err
	}
	out, err := p.judgeFor(ctx, asset.SiteID, []string{asset.AssetID})
	if err != nil {
		return api.Detection{}, fmt.Errorf("detect on asset %s: %w", asset.AssetID, err)
	}
	d, ok := out.Detections[asset.AssetID]
	if !ok {
		return d, fmt.Errorf("detect on asset %s: the run does not speak of it", asset.AssetID)
	}
	if lookbackHours > 0 && d.Analysis != nil {
		a := *d.Analysis
		since := d.DetectedAt.Add(-time.Duration(lookbackHours) * time.Hour)
		a.Anomalies = slices.DeleteFunc(slices.Clone(a.Anomalies), func(n api.Anomaly) bool { return n.LastSeenAt.Before(since) })
		d.Analysis, d.AnomaliesDetected = &a, len(a.Anomalies)
	}
	return d, nil
}

// Detections lists the stored runs within the scope, newest first.
func (p *Pipeline) Detections(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Detection, string, error) {
	return p.Ops.Detections(ctx, scope, q)
}
