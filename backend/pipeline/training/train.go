// Package training trains the models of sites, compares challengers with the
// production model, and manages the model registry.
package training

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/detection"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/importer"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/internal/display"
)

// Trainer trains the models of sites and manages their registry.
type Trainer struct {
	*sitedata.Data
	Imports    *importer.Importer
	Forecasts  *forecasting.Forecaster
	Detections *detection.Detector

	Workers      int           // cores that one training takes
	TrainingDays int           // days of data before a site trains on its own
	Quiet        time.Duration // training waits until a site had no upload for so long, by the wall clock
}

const day = 24 * time.Hour

// trainSpan is the longest history that a model is trained on: before that, plant
// and climate differ.
const trainSpan = 3 * 365 * day

// RunJob follows the imports of a site. Once none of them is waiting it trains and
// registers a model, forecasts and detects, and ends the uploads. With too little
// data it says so in the uploads' decisions, and detects.
func (tr *Trainer) RunJob(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	site, err := tr.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), body.SiteID)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	state, open, err := tr.stateAndUploads(ctx, site.SiteID)
	if err != nil {
		return err
	}
	// Files often come in a row: one training at their end serves all.
	if at := tr.idleAt(open); at.After(tr.Wall()) {
		later := tr.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: site.SiteID})
		later.RunAt = at
		return tr.Records.Update(ctx, func(tx store.Tx) error { return tx.Enqueue(later) })
	}
	var ready []upload.Upload
	for _, u := range open {
		if u.Kind != api.UploadTrain {
			continue
		}
		if u.Version == 0 {
			return nil // the import that ends last asks again
		}
		ready = append(ready, u)
	}
	defer tr.Progress.Forget(site.SiteID)
	tr.Progress.SetSite(site.SiteID, sitedata.StageTraining, 0)
	words := "training: the model has learned from these data before, up to " + display.Date(state.TrainedEnd)
	if !state.HasModel || state.Data != state.Trained {
		if words, err = tr.TrainSite(ctx, site, state); err != nil {
			return err
		}
	}
	tr.Progress.SetSite(site.SiteID, sitedata.StageForecasting, 0)
	if err := tr.Forecasts.Issue(ctx, site.SiteID); err != nil {
		return err
	}
	tr.Progress.SetSite(site.SiteID, sitedata.StageDetecting, 0)
	if err := tr.Detections.DetectSite(ctx, site.SiteID); err != nil {
		return err
	}
	if err := tr.finishUploads(ctx, ready, words); err != nil {
		return err
	}
	return tr.RequestBackcast(ctx, site)
}

func (tr *Trainer) stateAndUploads(ctx context.Context, siteID string) (state sitedata.State, open []upload.Upload, err error) {
	if state, err = tr.State(ctx, siteID); err != nil {
		return state, nil, err
	}
	err = tr.Records.View(ctx, func(tx store.Tx) error {
		open, err = tr.Domain.Uploads.Open(tx, siteID)
		return err
	})
	return state, open, err
}

// finishUploads ends uploads successfully.
func (tr *Trainer) finishUploads(ctx context.Context, uploads []upload.Upload, words ...string) error {
	return tr.Records.Update(ctx, func(tx store.Tx) error {
		for _, u := range uploads {
			if err := tr.Imports.FinishUpload(tx, u.UploadID, words...); err != nil {
				return err
			}
		}
		return nil
	})
}

// JobFailed ends the uploads whose training failed for the last time. Their
// telemetry stays.
func (tr *Trainer) JobFailed(ctx context.Context, job store.Claimed, cause error) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	_, open, err := tr.stateAndUploads(ctx, body.SiteID)
	if err != nil {
		return err
	}
	return tr.Records.Update(ctx, func(tx store.Tx) error {
		for _, u := range open {
			if u.Version == 0 {
				continue
			}
			_, err := tr.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadWithWarnings, func(u *upload.Upload) {
				u.Warnings = append(u.Warnings, "training: it failed, the data are stored: "+sitedata.FirstLine(cause))
				u.Stage, u.Progress = "", 1
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// TrainSite trains and registers a model if there are enough data, of the site or,
// with less, of its peer sites. words describe the result.
func (tr *Trainer) TrainSite(ctx context.Context, site api.Site, state sitedata.State) (words string, err error) {
	s, err := tr.loadSite(ctx, site)
	if err != nil {
		return "", err
	}
	if !s.ok {
		return "training: there is no telemetry", tr.recordAttempt(ctx, site.SiteID, state)
	}
	s.history.ColdStart = s.history.Days < tr.TrainingDays
	if s.history.Days < forecast.SeasonDays {
		if s.history.Peers, err = tr.peerSites(ctx, site, s.Location); err != nil {
			return "", err
		}
	}
	if s.history.ColdStart && len(s.history.Peers) < forecast.MinimumSiblings {
		return fmt.Sprintf("training: it starts at %s of data; the site has %d", display.CountOf(tr.TrainingDays, "day", "days"), s.history.Days), tr.recordAttempt(ctx, site.SiteID, state)
	}
	tr.addWeather(ctx, &s)
	t, err := tr.trainChallenger(ctx, s.Site, s.history)
	switch {
	case errors.Is(err, forecast.ErrUnfit):
		return "training: " + sitedata.FirstLine(err), tr.recordAttempt(ctx, site.SiteID, state)
	case err != nil:
		return "", err
	}
	if n := len(t.report.Siblings); n > 0 {
		s.decisions = append(s.decisions, fmt.Sprintf("fleet: the model also learns from %s, with %s of the weight: %s", display.CountOf(n, "other site", "other sites"), display.Percent(t.report.FleetShare), strings.Join(t.report.Siblings, ", ")))
	}
	record, err := tr.register(ctx, site, state, t, s)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("training: model %s from %s is %s; its error in daylight is %s of capacity (%s)", record.ModelVersion,
		display.CountOf(t.report.Days, "day", "days"), record.Status, display.Percentage(100*t.report.Score.NMAE), record.Evaluation.Verdict), nil
}

// recordAttempt records that these data gave no model, so that training waits for
// more.
func (tr *Trainer) recordAttempt(ctx context.Context, siteID string, state sitedata.State) error {
	return tr.Records.Update(ctx, func(tx store.Tx) error {
		_, err := sitedata.UpdateState(tx, siteID, func(t *sitedata.State) { t.Trained, t.TriedEnd = state.Data, state.LastData })
		return err
	})
}

// register stores the artefact, registers the model and updates the site's state,
// in one transaction.
func (tr *Trainer) register(ctx context.Context, site api.Site, state sitedata.State, t trained, s trainingSite) (_ model.Model, err error) {
	r := t.report
	artefact, err := forecast.Encode(t.model)
	if err != nil {
		return model.Model{}, fmt.Errorf("encode the model of site %s: %w", site.SiteID, err)
	}
	hash := artefact.Hash()
	keys, err := tr.WriteArtefact(ctx, site, hash, artefact)
	if err != nil {
		return model.Model{}, err
	}
	defer func() {
		if err != nil {
			tr.DropObjects(ctx, site.SiteID, keys.All()...)
		}
	}()
	sequence, err := tr.Domain.Models.NextSequence(ctx, site.SiteID, sitedata.ModelType)
	if err != nil {
		return model.Model{}, err
	}
	m := modelRecord(site, r, sequence)
	m.Hash, m.Artefacts, m.Place, m.Decisions, m.Young = hash, keys, s.place, slices.Concat(s.decisions, r.Notes), s.history.ColdStart
	m.DataAsOf, m.Points = state.Data, s.history.Points
	m.Trained = tr.Now().UTC()
	m.LastTrainedAt = api.At(m.Trained)
	m.ArtifactLocations = tr.ArtefactLocations(keys)
	err = tr.Records.Update(ctx, func(tx store.Tx) error {
		e := t.evaluation
		if former, err := tr.Domain.Models.ProductionIn(tx, site.SiteID, sitedata.ModelType); err == nil && e == nil {
			// Nothing was held out: the backtests decide.
			v := model.CompareBacktests(former, m)
			v.Against = former.ModelVersion
			e = &v
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		stored, err := tr.Domain.Models.Register(tx, m, e)
		if err != nil {
			return err
		}
		m = stored
		if err := tr.ConfirmObjects(tx, keys.All()...); err != nil {
			return err
		}
		if err := tx.Enqueue(tr.NewJob(sitedata.JobInterpolate, sitedata.Payload{SiteID: site.SiteID})); err != nil {
			return err
		}
		_, err = sitedata.UpdateState(tx, site.SiteID, func(t *sitedata.State) {
			t.Trained, t.HasModel, t.TriedEnd = state.Data, true, state.LastData
			if m.Status == api.ModelProduction {
				t.TrainedEnd, t.ColdStart = r.To, m.Young
			}
		})
		if err != nil {
			return err
		}
		return tr.Domain.Activities.Record(tx, activity.Record{CustomerID: site.CustomerID, SiteID: site.SiteID, Phase: api.PhaseOrient, Title: "Model trained",
			Description: fmt.Sprintf("%s %s is %s: %s", m.ModelName, m.ModelVersion, m.Status, m.Evaluation.Verdict), Actor: sitedata.Actor})
	})
	if err == nil {
		tr.Hooks.Train(m.SkillPercent / 100)
	}
	if err == nil && m.Status == api.ModelProduction {
		tr.ModelCache.Put(site.SiteID, sitedata.LoadedModel{Record: m, Model: t.model})
	}
	return m, err
}

// modelName is the registry's name of the models of sites.
const modelName = "sunloop-blend"

// modelRecord returns the registry's record of a trained model. Layers, rates and
// losses are those of the neural member, which these fields were made for.
func modelRecord(site api.Site, r forecast.Report, sequence int) model.Model {
	m := model.Model{Sequence: sequence, Step: r.Step.String()}
	m.ModelName, m.ModelVersion, m.ModelType = modelName, fmt.Sprintf("%d.0.0", sequence), sitedata.ModelType
	m.CustomerID, m.SiteID = site.CustomerID, site.SiteID
	m.TrainingDataWindow = api.Window{Start: api.At(r.From), End: api.At(r.To)}
	m.Hyperparameters = api.Hyperparameters{Layers: r.Neural.Layers, LearningRate: r.Neural.LearningRate, Dropout: r.Neural.Dropout, Optimizer: r.Neural.Optimizer}
	m.TrainingMetrics = api.TrainingMetrics{Epochs: r.Neural.Epochs, TrainLoss: r.Neural.TrainLoss, ValidationLoss: r.Neural.ValidationLoss,
		EarlyStopEpoch: r.Neural.BestEpoch, Curve: sitedata.LossCurve(r.Neural.Curve)}
	m.Metrics = api.ForecastMetrics{TrainingRMSE: sitedata.Round(r.TrainRMSEKW), ValidationRMSE: sitedata.Round(r.Score.RMSEKW),
		MAPEPercent: sitedata.Round(r.Score.MAPEPercent), SMAPEPercent: sitedata.Round(r.Score.SMAPEPercent)}
	m.ModelAccuracy, m.Coverage80, m.SkillPercent = r.Accuracy(), r.Score.Coverage80, 100*r.Score.Skill
	m.Score = &api.ModelScore{Samples: r.Score.N, PinballPercent: sitedata.Round(100 * r.Score.Pinball), NMAEPercent: sitedata.Round(100 * r.Score.NMAE),
		BiasPercent: sitedata.Round(100 * r.Score.NMBE), Coverage80: sitedata.Round(r.Score.Coverage80), WidthPercent: sitedata.Round(100 * r.Score.Width80), MeasuredWeather: r.MeasuredWeather}
	m.Members = map[string]float64{}
	for i, name := range r.Members {
		if i < len(r.Weights) {
			m.Members[strings.TrimSpace(name)] = r.Weights[i]
		}
	}
	for _, row := range r.Backtest.Rows {
		// The members' losses by weight: no blend of them loses more.
		var sum float64
		for i, loss := range row.Losses {
			sum += loss * r.Weights[i]
		}
		m.Origins = append(m.Origins, model.Origin{At: row.Origin.TrainTo.UTC(), Pinball: 100 * sum})
	}
	return m
}

// idleAt returns when a site with these open uploads will have had no upload for
// long enough to train; a time in the past if it has.
func (tr *Trainer) idleAt(open []upload.Upload) time.Time {
	var last time.Time
	for _, u := range open {
		if u.Kind == api.UploadTrain && u.Accepted.After(last) {
			last = u.Accepted
		}
	}
	if now := tr.Wall(); now.Before(last) { // the clock was put back, or another replica's goes before
		last = now
	}
	return last.Add(tr.Quiet)
}
