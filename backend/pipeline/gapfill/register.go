package gapfill

import (
	"context"
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/interpolate"
)

// fillerName is the registry's name of models that fill gaps.
const fillerName = "sunloop-adaptive-lstm"

// register puts a trained filler into the registry and continues with the
// production model: what is registered is what fills. A history too short for
// training gives a filler by rules, which is not registered.
func (f *siteFiller) register(ctx context.Context) error {
	report := f.model.Report()
	if !report.Learned {
		return nil
	}
	artefact, err := interpolate.Encode(f.model)
	if err != nil {
		return fmt.Errorf("encode the gap filling of site %s: %w", f.site.SiteID, err)
	}
	former, err := f.g.Domain.Models.InProduction(ctx, f.site.SiteID, api.ModelInterpolation)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	hash := artefact.Hash()
	if former.Hash == hash {
		return nil // a job that runs again
	}
	keys, err := f.g.WriteArtefact(ctx, f.site, hash, artefact)
	if err != nil {
		return err
	}
	sequence, err := f.g.Domain.Models.NextSequence(ctx, f.site.SiteID, api.ModelInterpolation)
	if err != nil {
		f.g.DropObjects(ctx, f.site.SiteID, keys.All()...)
		return err
	}
	m := fillerRecord(f.site, report, sequence)
	m.Hash, m.Artefacts, m.ArtifactLocations = hash, keys, f.g.ArtefactLocations(keys)
	m.Trained = f.g.Now().UTC()
	m.LastTrainedAt = api.At(m.Trained)
	var e *api.ModelEvaluation
	if former.Score != nil {
		v := model.CompareFillers(*former.Score, *m.Score)
		v.Against = former.ModelVersion
		e = &v
	}
	err = f.g.Records.Update(ctx, func(tx store.Tx) error {
		stored, err := f.g.Domain.Models.Register(tx, m, e)
		m = stored
		return errors.Join(err, f.g.ConfirmObjects(tx, keys.All()...))
	})
	if err != nil {
		f.g.DropObjects(ctx, f.site.SiteID, keys.All()...)
	}
	if err != nil || m.Status == api.ModelProduction {
		return err
	}
	return f.useProduction(ctx, former)
}

// useProduction fills with the production model, if it is readable and fits the
// data; else with the new one.
func (f *siteFiller) useProduction(ctx context.Context, former model.Model) error {
	m, err := f.g.DecodeFiller(ctx, former)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, store.ErrUnavailable) {
		return err // which says nothing of the model
	}
	if err != nil {
		f.g.Logger.Error("gap filler unreadable", "site", f.site.SiteID, "model", former.ModelVersion, "error", err)
		return f.g.Records.Update(ctx, func(tx store.Tx) error {
			return f.g.Domain.Models.Reject(tx, former, "its artefact cannot be read: "+sitedata.FirstLine(err))
		})
	}
	if m.Step() == f.step {
		f.model = m
	}
	return nil
}

// fillerRecord returns the registry's record of a filler: the network's figures,
// and the errors on samples that were measured, hidden and filled.
func fillerRecord(site api.Site, r interpolate.Report, sequence int) model.Model {
	m := model.Model{Sequence: sequence, Step: r.Step.String(), Decisions: r.Notes}
	m.ModelName, m.ModelVersion, m.ModelType = fillerName, fmt.Sprintf("%d.0.0", sequence), api.ModelInterpolation
	m.CustomerID, m.SiteID = site.CustomerID, site.SiteID
	m.TrainingDataWindow = api.Window{Start: api.At(r.From), End: api.At(r.To)}
	m.Hyperparameters = api.Hyperparameters{Layers: r.Neural.Layers, LearningRate: r.Neural.LearningRate, Dropout: r.Neural.Dropout, Optimizer: r.Neural.Optimizer}
	m.TrainingMetrics = api.TrainingMetrics{Epochs: r.Neural.Epochs, TrainLoss: r.Neural.TrainLoss, ValidationLoss: r.Neural.ValidationLoss,
		EarlyStopEpoch: r.Neural.BestEpoch, Curve: sitedata.LossCurve(r.Neural.Curve)}
	m.Members = map[string]float64{}
	for _, c := range r.Choices {
		m.Members[string(c.Method)] += 1 / float64(len(r.Choices))
	}
	score := api.ModelScore{Samples: r.Overall.Samples}
	if r.Overall.Samples > 0 && r.CapacityKW > 0 {
		score.NMAEPercent = sitedata.Round(100 * r.Overall.MAEKW / r.CapacityKW)
		score.Coverage80 = sitedata.Round(r.Overall.Coverage80)
		m.ModelAccuracy = sitedata.Round(min(max(1-r.Overall.MAEKW/r.CapacityKW, 0), 1))
		m.Coverage80 = score.Coverage80
	}
	m.Score = &score
	for name, share := range m.Members {
		m.Members[name] = sitedata.Round(share)
	}
	return m
}
