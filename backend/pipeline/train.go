package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/solar"
)

// trainSpan is the most history that a model learns from: the plant and the
// climate of longer ago are others.
const trainSpan = 3 * 365 * day

// train is the job that follows the imports of a site: when none of them waits
// any more it trains, registers, forecasts and detects, and ends the uploads.
// With too little data it says so and goes on to detection.
func (p *Pipeline) train(ctx context.Context, job store.Claimed) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	site, err := p.Ops.Site(ctx, api.Unlimited("pipeline"), body.SiteID)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	track, open, err := p.standing(ctx, site.SiteID)
	if err != nil {
		return err
	}
	// Files often come in a row: one training at their end serves all.
	if at := p.quietAt(open); at.After(p.Wall()) {
		later := p.job(jobTrain, payload{SiteID: site.SiteID})
		later.RunAt = at
		return p.Records.Update(ctx, func(tx store.Tx) error { return tx.Enqueue(later) })
	}
	var ready []ops.Upload
	for _, u := range open {
		if u.Kind != api.UploadTrain {
			continue
		}
		if u.Version == 0 {
			return nil // the import that ends last asks again
		}
		ready = append(ready, u)
	}
	defer p.progress.forget(site.SiteID)
	p.progress.siteAt(site.SiteID, stageTraining, 0)
	words := fmt.Sprintf("training: the model has learned from these data before, up to %s", track.TrainedEnd.Format(time.DateOnly))
	if !track.HasModel || track.Data != track.Trained {
		if words, err = p.learn(ctx, site, track); err != nil {
			return err
		}
	}
	p.progress.siteAt(site.SiteID, stageForecasting, 0)
	if err := p.issue(ctx, site.SiteID); err != nil {
		return err
	}
	p.progress.siteAt(site.SiteID, stageDetecting, 0)
	if err := p.judge(ctx, site.SiteID); err != nil {
		return err
	}
	return p.finish(ctx, ready, words)
}

func (p *Pipeline) standing(ctx context.Context, siteID string) (track Track, open []ops.Upload, err error) {
	if track, err = p.track(ctx, siteID); err != nil {
		return track, nil, err
	}
	err = p.Records.View(ctx, func(tx store.Tx) error {
		open, err = p.Ops.OpenUploads(tx, siteID)
		return err
	})
	return track, open, err
}

func (p *Pipeline) finish(ctx context.Context, uploads []ops.Upload, words ...string) error {
	return p.Records.Update(ctx, func(tx store.Tx) error {
		for _, u := range uploads {
			if err := p.finishUpload(tx, u.UploadID, words...); err != nil {
				return err
			}
		}
		return nil
	})
}

// trainFailed ends the uploads whose training failed for good. Their telemetry
// is in and stays.
func (p *Pipeline) trainFailed(ctx context.Context, job store.Claimed, cause error) error {
	body, err := read(job)
	if err != nil {
		return err
	}
	_, open, err := p.standing(ctx, body.SiteID)
	if err != nil {
		return err
	}
	return p.Records.Update(ctx, func(tx store.Tx) error {
		for _, u := range open {
			if u.Version == 0 {
				continue
			}
			_, err := p.Ops.MoveUpload(tx, u.UploadID, api.UploadWithWarnings, func(u *ops.Upload) {
				u.Warnings = append(u.Warnings, "training: it failed, the data are stored: "+firstLine(cause))
				u.Stage, u.Progress = "", 1
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// learn trains and registers a model if there is enough to learn from, of the
// site's own or, with less, of its fleet's; words say what came of it.
func (p *Pipeline) learn(ctx context.Context, site api.Site, track Track) (words string, err error) {
	s, err := p.learner(ctx, site)
	if err != nil {
		return "", err
	}
	if !s.ok {
		return "training: there is no telemetry", p.tried(ctx, site.SiteID, track)
	}
	s.history.young = s.history.days < p.TrainingDays
	if s.history.days < forecast.SeasonDays {
		if s.history.siblings, err = p.siblings(ctx, site, s.Location); err != nil {
			return "", err
		}
	}
	if s.history.young && len(s.history.siblings) < forecast.MinimumSiblings {
		return fmt.Sprintf("training: it starts at %d days of data; there are %d", p.TrainingDays, s.history.days), p.tried(ctx, site.SiteID, track)
	}
	p.remember(ctx, &s)
	t, err := p.compete(ctx, s.Site, s.history)
	switch {
	case errors.Is(err, forecast.ErrUnfit):
		return "training: " + firstLine(err), p.tried(ctx, site.SiteID, track)
	case err != nil:
		return "", err
	}
	if n := len(t.report.Siblings); n > 0 {
		s.decisions = append(s.decisions, fmt.Sprintf("fleet: %d other sites teach it, with %.0f %% of the say: %s", n, 100*t.report.FleetShare, strings.Join(t.report.Siblings, ", ")))
	}
	record, err := p.register(ctx, site, track, t, s)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("training: model %s from %d days is %s; its error in daylight is %.1f %% of capacity (%s)", record.ModelVersion,
		t.report.Days, record.Status, 100*t.report.Score.NMAE, record.Evaluation.Verdict), nil
}

// tried remembers that these data gave no model, so that it is not tried
// again before there are others.
func (p *Pipeline) tried(ctx context.Context, siteID string, track Track) error {
	return p.Records.Update(ctx, func(tx store.Tx) error {
		_, err := advance(tx, siteID, func(t *Track) { t.Trained, t.TriedEnd = track.Data, track.LastData })
		return err
	})
}

func planeOf(site api.Site) *solar.Plane {
	if site.TiltDeg == nil || site.AzimuthDeg == nil {
		return nil
	}
	return &solar.Plane{TiltDeg: *site.TiltDeg, AzimuthDeg: *site.AzimuthDeg}
}

// seed is the same for a site whenever it trains.
func seed(siteID string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(siteID)) // never fails
	return h.Sum64()
}

// register stores the artefact and puts the model into the registry, with the
// site's track, in one transaction.
func (p *Pipeline) register(ctx context.Context, site api.Site, track Track, t trained, s learner) (_ ops.Model, err error) {
	r := t.report
	artefact, err := forecast.Encode(t.model)
	if err != nil {
		return ops.Model{}, fmt.Errorf("encode the model of site %s: %w", site.SiteID, err)
	}
	hash := artefact.Hash()
	keys, err := p.writeArtefact(ctx, site, hash, artefact)
	if err != nil {
		return ops.Model{}, err
	}
	defer func() {
		if err != nil {
			p.dropObjects(ctx, site.SiteID, keys.All()...)
		}
	}()
	sequence, err := p.Ops.NextModel(ctx, site.SiteID, modelType)
	if err != nil {
		return ops.Model{}, err
	}
	m := record(site, r, sequence)
	m.Hash, m.Artefacts, m.Place, m.Decisions, m.Young = hash, keys, s.place, append(s.decisions, r.Notes...), s.history.young
	m.DataAsOf, m.Points = track.Data, s.history.points
	m.Trained = p.Now().UTC()
	m.LastTrainedAt = api.At(m.Trained)
	m.ArtifactLocations = p.locations(keys)
	err = p.Records.Update(ctx, func(tx store.Tx) error {
		e := t.evaluation
		if former, err := p.Ops.Production(tx, site.SiteID, modelType); err == nil && e == nil {
			// Nothing was held out: the backtests must tell.
			v := ops.CompareBacktests(former, m)
			v.Against = former.ModelVersion
			e = &v
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		stored, err := p.Ops.RegisterModel(tx, m, e)
		if err != nil {
			return err
		}
		m = stored
		if err := p.named(tx, keys.All()...); err != nil {
			return err
		}
		if err := tx.Enqueue(p.job(jobInterpolate, payload{SiteID: site.SiteID})); err != nil {
			return err
		}
		_, err = advance(tx, site.SiteID, func(t *Track) {
			t.Trained, t.HasModel, t.TriedEnd = track.Data, true, track.LastData
			if m.Status == api.ModelProduction {
				t.TrainedEnd, t.Young = r.To, m.Young
			}
		})
		if err != nil {
			return err
		}
		return p.Ops.Note(tx, ops.Note{CustomerID: site.CustomerID, SiteID: site.SiteID, Phase: api.PhaseOrient, Title: "Model trained",
			Description: fmt.Sprintf("%s %s is %s: %s", m.ModelName, m.ModelVersion, m.Status, m.Evaluation.Verdict), Actor: "pipeline"})
	})
	if err == nil && p.Observe.Train != nil {
		p.Observe.Train(m.SkillPercent / 100)
	}
	if err == nil && m.Status == api.ModelProduction {
		p.models.put(site.SiteID, loaded{record: m, model: t.model})
	}
	return m, err
}

// modelName is what the registry calls the blend of a site.
const modelName = "sunloop-blend"

// curveOf are the losses of each epoch, to four digits: they are looked at.
func curveOf(epochs []neural.Losses) []api.EpochLoss {
	short := func(x float64) float64 {
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
		return x
	}
	var out []api.EpochLoss
	for _, e := range epochs {
		if math.IsNaN(e.Train+e.Validation) || math.IsInf(e.Train+e.Validation, 0) {
			break // JSON has no such number, and nothing was kept from there on
		}
		out = append(out, api.EpochLoss{TrainLoss: short(e.Train), ValidationLoss: short(e.Validation)})
	}
	return out
}

// record is what the registry says of a trained model. Layers, rates and
// losses are the neural member's: the one that these fields were made for.
func record(site api.Site, r forecast.Report, sequence int) ops.Model {
	m := ops.Model{Sequence: sequence, Step: r.Step.String()}
	m.ModelName, m.ModelVersion, m.ModelType = modelName, fmt.Sprintf("%d.0.0", sequence), modelType
	m.CustomerID, m.SiteID = site.CustomerID, site.SiteID
	m.TrainingDataWindow = api.Window{Start: api.At(r.From), End: api.At(r.To)}
	m.Hyperparameters = api.Hyperparameters{Layers: r.Neural.Layers, LearningRate: r.Neural.LearningRate, Dropout: r.Neural.Dropout, Optimizer: r.Neural.Optimizer}
	m.TrainingMetrics = api.TrainingMetrics{Epochs: r.Neural.Epochs, TrainLoss: r.Neural.TrainLoss, ValidationLoss: r.Neural.ValidationLoss,
		EarlyStopEpoch: r.Neural.BestEpoch, Curve: curveOf(r.Neural.Curve)}
	m.Metrics = api.ForecastMetrics{TrainingRMSE: round(r.TrainRMSEKW), ValidationRMSE: round(r.Score.RMSEKW),
		MAPEPercent: round(r.Score.MAPEPercent), SMAPEPercent: round(r.Score.SMAPEPercent)}
	m.ModelAccuracy, m.Coverage80, m.SkillPercent = r.Accuracy(), r.Score.Coverage80, 100*r.Score.Skill
	m.Score = &api.ModelScore{Samples: r.Score.N, PinballPercent: round(100 * r.Score.Pinball), NMAEPercent: round(100 * r.Score.NMAE),
		BiasPercent: round(100 * r.Score.NMBE), Coverage80: round(r.Score.Coverage80), WidthPercent: round(100 * r.Score.Width80)}
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
		m.Origins = append(m.Origins, ops.Origin{At: row.Origin.TrainTo.UTC(), Pinball: 100 * sum})
	}
	return m
}
