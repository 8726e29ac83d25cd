package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
)

// Models lists the registry within the scope.
func (tr *Trainer) Models(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Model, string, error) {
	return tr.Domain.Models.Models(ctx, scope, q)
}

// ModelHistory lists the status changes of a site's models of a type.
func (tr *Trainer) ModelHistory(ctx context.Context, scope api.Scope, r api.ModelsRequest) ([]api.ModelMove, string, error) {
	return tr.Domain.Models.History(ctx, scope, r.SiteID, typeOf(r), r.ModelVersion, r.Page)
}

func typeOf(r api.ModelsRequest) string { return cmp.Or(r.ModelType, sitedata.ModelType) }

// EvaluateModel compares a challenger with the production model: on days that
// neither has seen if there are enough, else by their backtests. The evaluation is
// stored with the challenger.
func (tr *Trainer) EvaluateModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (api.Model, error) {
	m, err := tr.Domain.Models.Find(ctx, scope, r.SiteID, typeOf(r), r.ModelVersion)
	if err != nil {
		return api.Model{}, err
	}
	former, err := tr.Domain.Models.InProduction(ctx, r.SiteID, m.ModelType)
	if errors.Is(err, store.ErrNotFound) {
		return api.Model{}, api.Conflict("Site %s has no %s model in production to compare with", r.SiteID, m.ModelType)
	}
	if err != nil {
		return api.Model{}, err
	}
	e, err := tr.evaluate(ctx, former, m)
	if err != nil {
		return api.Model{}, err
	}
	e.Against = former.ModelVersion
	err = tr.Records.Update(ctx, func(tx store.Tx) error {
		stored, err := tr.Domain.Models.SetEvaluation(tx, m, e)
		if err != nil {
			return err
		}
		m = stored
		return tr.recordActivity(tx, m, scope.Actor, "Model evaluated", m.Evaluation.Verdict)
	})
	return m.Model, err
}

func (tr *Trainer) recordActivity(tx store.Tx, m model.Model, actor, title, words string) error {
	return tr.Domain.Activities.Record(tx, activity.Record{CustomerID: m.CustomerID, SiteID: m.SiteID, Phase: api.PhaseOrient, Title: title,
		Description: fmt.Sprintf("%s %s: %s", m.ModelName, m.ModelVersion, words), Actor: actor})
}

func (tr *Trainer) evaluate(ctx context.Context, former, m model.Model) (api.ModelEvaluation, error) {
	if m.ModelType == api.ModelInterpolation {
		if former.Score == nil || m.Score == nil {
			return api.ModelEvaluation{Method: api.EvaluatedHiddenSamples, Verdict: "nothing was measured of one of the two"}, nil
		}
		return model.CompareFillers(*former.Score, *m.Score), nil
	}
	from := former.TrainingDataWindow.End.UTC()
	if end := m.TrainingDataWindow.End.UTC(); end.After(from) {
		from = end
	}
	_, last, ok, err := tr.Telemetry.Period(ctx, m.SiteID, "")
	if err != nil {
		return api.ModelEvaluation{}, fmt.Errorf("read the period of site %s: %w", m.SiteID, err)
	}
	if to := last.Add(sitedata.ModelStep); ok && to.Sub(from) >= minHoldoutDays*day {
		return tr.evaluateOn(ctx, former, m, from, to)
	}
	return model.CompareBacktests(former, m), nil
}

// maxEvaluatedDays is the number of the newest days that an evaluation uses.
const maxEvaluatedDays = 120

// evaluateOn lets both models forecast a span that neither has seen.
func (tr *Trainer) evaluateOn(ctx context.Context, former, m model.Model, from, to time.Time) (api.ModelEvaluation, error) {
	if earliest := to.Add(-maxEvaluatedDays * day); from.Before(earliest) {
		from = earliest
	}
	site, err := tr.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), m.SiteID)
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	units, err := tr.Domain.Sites.SiteAssets(ctx, m.SiteID)
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	h, err := tr.ReadHistory(ctx, m.SiteID, units, from.Add(-sitedata.RecentSpan), to, sitedata.ModelStep, record.Zone(site.Timezone))
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	var both []*forecast.Model
	for _, r := range []model.Model{former, m} {
		decoded, err := tr.DecodeModel(ctx, r)
		if err != nil {
			return api.ModelEvaluation{}, unreadableError(ctx, r, err)
		}
		both = append(both, decoded)
	}
	loc, _ := model.LocationOf(site, former.Place)
	subject := forecast.Site{ID: site.SiteID, Location: loc, Zone: record.Zone(site.Timezone), CapacityKW: record.CapacityKW(site, units)}
	scores, err := tr.compareModels(ctx, subject, h, from, to, both...)
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	return model.EvaluateHoldout(scores[0], scores[1], api.Window{Start: api.At(from), End: api.At(to)}, to.Sub(former.TrainingDataWindow.End.Time)), nil
}

// unreadableError is the API's error for a model whose artefact is damaged.
func unreadableError(ctx context.Context, m model.Model, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(cause, store.ErrUnavailable) {
		return cause
	}
	return api.Conflict("Model %s %s cannot be read: its artefact is damaged or gone", m.ModelName, m.ModelVersion).With("reason", sitedata.FirstLine(cause))
}

// PromoteModel puts a challenger into production if its evaluation allows it, or
// any model with force. Its artefact must be readable in both cases.
func (tr *Trainer) PromoteModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, formerVersion string, err error) {
	if err := model.CheckReason(r.Reason); err != nil {
		return m, "", err
	}
	found, err := tr.Domain.Models.Find(ctx, scope, r.SiteID, typeOf(r), r.ModelVersion)
	if err != nil {
		return m, "", err
	}
	if err := tr.checkReadable(ctx, found); err != nil {
		return m, "", err
	}
	return tr.changeStatus(ctx, scope, r, "Model promoted", func(tx store.Tx) (model.Promotion, error) {
		return tr.Domain.Models.Promote(tx, found, scope.Actor, r.Reason, r.Force)
	})
}

// RollbackModel returns the former production model, or the named version, to
// production.
func (tr *Trainer) RollbackModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, formerVersion string, err error) {
	if err := model.CheckReason(r.Reason); err != nil {
		return m, "", err
	}
	if _, err := tr.Domain.Sites.Site(ctx, scope, r.SiteID); err != nil {
		return m, "", err
	}
	target, err := tr.Domain.Models.RollbackTarget(ctx, r.SiteID, typeOf(r), r.ModelVersion)
	if err != nil {
		return m, "", err
	}
	if err := tr.checkReadable(ctx, target); err != nil {
		return m, "", err
	}
	return tr.changeStatus(ctx, scope, r, "Model rolled back", func(tx store.Tx) (model.Promotion, error) {
		return tr.Domain.Models.Rollback(tx, r.SiteID, target.ModelType, target.ModelVersion, scope.Actor, r.Reason)
	})
}

// checkReadable rejects a model whose artefact is not the registered one.
func (tr *Trainer) checkReadable(ctx context.Context, m model.Model) error {
	var err error
	if m.ModelType == api.ModelInterpolation {
		_, err = tr.DecodeFiller(ctx, m)
	} else {
		_, err = tr.DecodeModel(ctx, m)
	}
	if err != nil {
		return unreadableError(ctx, m, err)
	}
	return nil
}

// changeStatus changes the registry, records an activity, and enqueues what
// depends on the production model.
func (tr *Trainer) changeStatus(ctx context.Context, scope api.Scope, r api.ModelsRequest, title string, move func(store.Tx) (model.Promotion, error)) (m api.Model, formerVersion string, err error) {
	err = tr.Records.Update(ctx, func(tx store.Tx) error {
		done, err := move(tx)
		if err != nil {
			return err
		}
		m, formerVersion = done.Model.Model, ""
		if done.Former != nil {
			formerVersion = done.Former.ModelVersion
		}
		if !done.Moved {
			return nil
		}
		if err := tr.recordActivity(tx, done.Model, scope.Actor, title, r.Reason); err != nil {
			return err
		}
		if m.ModelType != sitedata.ModelType {
			return nil
		}
		_, err = sitedata.UpdateState(tx, r.SiteID, func(t *sitedata.State) { t.HasModel, t.TrainedEnd = true, m.TrainingDataWindow.End.UTC() })
		if err != nil {
			return err
		}
		return tx.Enqueue(tr.NewJob(sitedata.JobForecast, sitedata.Payload{SiteID: r.SiteID}))
	})
	return m, formerVersion, err
}
