package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/run"
	"app.sunloop/backend/pipeline/gapfill"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/interpolate"
	"app.sunloop/internal/display"
)

// StartRun stores a run that a person starts, and enqueues its job.
func (p *Pipeline) StartRun(ctx context.Context, scope api.Scope, r api.RunsRequest) (out api.ManualRun, err error) {
	err = p.Records.Update(ctx, func(tx store.Tx) error {
		is, err := p.Domain.Runs.Add(tx, scope, run.Run{SiteID: r.SiteID, Kind: r.Kind, From: r.From.Time, To: r.To.Time})
		if err != nil {
			return err
		}
		out = is.Wire()
		return tx.Enqueue(p.NewJob(sitedata.JobManual, sitedata.Payload{SiteID: is.SiteID, RunID: is.RunID}))
	})
	return out, err
}

// ManualRuns lists the runs of a site with their progress, newest first.
func (p *Pipeline) ManualRuns(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.ManualRun, string, error) {
	list, next, err := p.Domain.Runs.List(ctx, scope, q)
	for i := range list {
		r := &list[i]
		if err != nil || r.Status != api.RunRunning {
			continue
		}
		id := r.RunID
		if r.Kind == api.RunTrain {
			id = r.SiteID // a training reports as that of an import does
		}
		var m sitedata.Mark
		if m, _, err = p.MarkOf(ctx, id); err == nil {
			r.Progress = sitedata.Round(min(max(m.Share, 0), 1))
		}
	}
	return list, next, err
}

// runManual does the work of a run. What goes wrong with it is its result: it is not
// tried again unless the service stops meanwhile.
func (p *Pipeline) runManual(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	var r run.Run
	err = p.Records.Update(ctx, func(tx store.Tx) (err error) {
		if r, err = p.Domain.Runs.Get(tx, body.SiteID, body.RunID); err != nil || r.Ended() {
			return err
		}
		r, err = p.Domain.Runs.Begin(tx, r)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Ended() {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.Progress.Forget(r.RunID)
	result, err := p.perform(ctx, r)
	if ctx.Err() != nil || errors.Is(err, store.ErrUnavailable) || store.IsNoSpace(err) {
		return err
	}
	status := api.RunCompleted
	if err != nil {
		status, result = api.RunFailed, sentence(sitedata.FirstLine(err))
	}
	return p.endRun(ctx, r, status, result)
}

// manualFailed ends a run whose job has failed for the last time.
func (p *Pipeline) manualFailed(ctx context.Context, job store.Claimed, cause error) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	var r run.Run
	err = p.Records.View(ctx, func(tx store.Tx) (err error) {
		r, err = p.Domain.Runs.Get(tx, body.SiteID, body.RunID)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Ended() {
		return nil
	}
	if err != nil {
		return err
	}
	return p.endRun(ctx, r, api.RunFailed, sentence(sitedata.FirstLine(cause)))
}

// runTitles are the titles of the activities of runs, and their phases.
var runTitles = map[string][2]string{
	api.RunTrain: {"Training by hand", api.PhaseOrient}, api.RunForecast: {"Forecast by hand", api.PhaseDecide},
	api.RunFillGaps: {"Gap filling by hand", api.PhaseObserve}, api.RunDetect: {"Detection by hand", api.PhaseObserve},
	api.RunBackcast: {"Forecasts of past days", api.PhaseDecide},
}

// endRun records the result of a run, also as an activity of the person who started it.
func (p *Pipeline) endRun(ctx context.Context, r run.Run, status, result string) error {
	return p.Records.Update(ctx, func(tx store.Tx) error {
		if err := p.Domain.Runs.End(tx, r, status, result); err != nil {
			return err
		}
		title := runTitles[r.Kind]
		return p.Domain.Activities.Record(tx, activity.Record{CustomerID: r.CustomerID, SiteID: r.SiteID, Phase: title[1], Title: title[0], Description: result, Actor: r.RequestedBy})
	})
}

// perform does the work of a run and returns its result as sentences.
func (p *Pipeline) perform(ctx context.Context, r run.Run) (string, error) {
	switch r.Kind {
	case api.RunTrain:
		return p.trainNow(ctx, r)
	case api.RunForecast:
		return p.forecastNow(ctx, r)
	case api.RunFillGaps:
		return p.fillNow(ctx, r)
	case api.RunDetect:
		return p.detectNow(ctx, r)
	case api.RunBackcast:
		return p.Training.Backcast(ctx, r.SiteID, func(share float64) { p.Progress.SetSite(r.RunID, r.Kind, share) })
	}
	return "", fmt.Errorf("no run is called %q", r.Kind)
}

// trainNow trains a model on what is stored, also if nothing is new, and issues a
// forecast.
func (p *Pipeline) trainNow(ctx context.Context, r run.Run) (string, error) {
	of, err := p.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), r.SiteID)
	if err != nil {
		return "", err
	}
	state, err := p.State(ctx, r.SiteID)
	if err != nil {
		return "", err
	}
	defer p.Progress.Forget(r.SiteID)
	p.Progress.SetSite(r.SiteID, sitedata.StageTraining, 0)
	words, err := p.Training.TrainSite(ctx, of, state)
	if err != nil {
		return "", err
	}
	if err := p.Forecasts.Issue(ctx, r.SiteID); err != nil {
		return "", err
	}
	return sentence(strings.TrimPrefix(words, "training: ")), p.Training.RequestBackcast(ctx, of)
}

// forecastNow issues a forecast.
func (p *Pipeline) forecastNow(ctx context.Context, r run.Run) (string, error) {
	before := p.Now()
	if err := p.Forecasts.Issue(ctx, r.SiteID); err != nil {
		return "", err
	}
	f, err := p.Domain.Forecasts.Latest(ctx, r.SiteID)
	if errors.Is(err, store.ErrNotFound) || err == nil && f.IssuedAt.Before(before) {
		return "", errors.New("the site has no model yet: train one first")
	}
	if err != nil {
		return "", err
	}
	kwh := 0.0
	for _, v := range f.Values(f.IssuedAt.Truncate(time.Hour).Add(time.Hour), 24) {
		kwh += v.PredictedPowerKW
	}
	return fmt.Sprintf("A forecast of %s was issued by model %s: %s in the next 24 hours (P50).", display.CountOf(f.HorizonHours, "hour", "hours"), f.ModelVersion, display.Energy(kwh)), nil
}

// fillNow fills the gaps of the site.
func (p *Pipeline) fillNow(ctx context.Context, r run.Run) (string, error) {
	result, err := p.Gaps.FillSite(ctx, r.SiteID, func(share float64) { p.Progress.SetSite(r.RunID, r.Kind, share) })
	switch {
	case errors.Is(err, interpolate.ErrUnfit):
		return "", err
	case err != nil:
		return "", err
	case result.ResultID == "":
		return "", errors.New("the site has no telemetry")
	case result.GapStatistics.TotalGaps == 0:
		return "There are no gaps in the daylight.", nil
	}
	return "Filled " + gapfill.Summary(result) + ".", nil
}

// detectNow evaluates the site thoroughly: the present, and the window of the run, also
// in the past.
func (p *Pipeline) detectNow(ctx context.Context, r run.Run) (string, error) {
	first, last, ok, err := p.Telemetry.Period(ctx, r.SiteID, "")
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", errors.New("the site has no telemetry")
	case !r.From.IsZero() && (r.From.After(last) || !r.To.After(first)):
		return "", fmt.Errorf("there is no telemetry in the window: the first is of %s, the last of %s", api.At(first), api.At(last))
	}
	err = p.Records.Update(ctx, func(tx store.Tx) error {
		_, err := sitedata.UpdateState(tx, r.SiteID, func(s *sitedata.State) {
			s.LongRunAt = time.Time{}
			s.AddHistory(r.From, r.To)
		})
		return err
	})
	if err != nil {
		return "", err
	}
	if err := p.Detections.DetectSite(ctx, r.SiteID); err != nil {
		return "", err
	}
	q := api.ListQuery{SiteID: r.SiteID}
	where := "are active"
	if !r.From.IsZero() {
		q.From, q.To, where = api.At(r.From), api.At(r.To), "were there in the window"
	}
	h, err := p.Domain.Findings.History(ctx, api.Unlimited(sitedata.Actor), q)
	if err != nil {
		return "", err
	}
	return detected(h, r.From.IsZero(), where), nil
}

// detected sums up findings in a sentence: active ones only, or all.
func detected(h api.History, active bool, where string) string {
	var parts []string
	n := 0
	for _, f := range h.Families {
		count := f.Count
		if active {
			count = f.Active
		}
		if count > 0 {
			n += count
			parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(f.FaultFamily, "_", " "), count))
		}
	}
	if n == 0 {
		return "No findings " + where + "."
	}
	if n == 1 {
		where = strings.NewReplacer("are ", "is ", "were ", "was ").Replace(where)
	}
	words := fmt.Sprintf("%s %s: %s", display.CountOf(n, "finding", "findings"), where, strings.Join(parts, ", "))
	if n == 1 {
		words = strings.Replace(words, "findings", "finding", 1)
	}
	if !active && h.LostKWh > 0 {
		words += fmt.Sprintf("; %s lost", display.Energy(h.LostKWh))
	}
	return words + "."
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + strings.TrimSuffix(words[1:], ".") + "."
}
