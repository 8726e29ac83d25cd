package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/interpolate"
)

// Models lists the registry within the scope.
func (p *Pipeline) Models(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Model, string, error) {
	return p.Ops.Models(ctx, scope, q)
}

// ModelHistory lists the changes of status of a site's models of a type.
func (p *Pipeline) ModelHistory(ctx context.Context, scope api.Scope, r api.ModelsRequest) ([]api.ModelMove, string, error) {
	return p.Ops.ModelHistory(ctx, scope, r.SiteID, typeOf(r), r.ModelVersion, r.Page)
}

func typeOf(r api.ModelsRequest) string { return cmp.Or(r.ModelType, modelType) }

// EvaluateModel holds a challenger against the model in production: on days
// that neither has seen where there are enough, else by their backtests. The
// verdict is kept with the challenger.
func (p *Pipeline) EvaluateModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (api.Model, error) {
	m, err := p.Ops.FindModel(ctx, scope, r.SiteID, typeOf(r), r.ModelVersion)
	if err != nil {
		return api.Model{}, err
	}
	former, err := p.Ops.ProductionModel(ctx, r.SiteID, m.ModelType)
	if errors.Is(err, store.ErrNotFound) {
		return api.Model{}, api.Conflict("Site %s has no %s model in production to be held against", r.SiteID, m.ModelType)
	}
	if err != nil {
		return api.Model{}, err
	}
	e, err := p.evaluate(ctx, former, m)
	if err != nil {
		return api.Model{}, err
	}
	e.Against = former.ModelVersion
	err = p.Records.Update(ctx, func(tx store.Tx) error {
		stored, err := p.Ops.EvaluateModel(tx, m, e)
		if err != nil {
			return err
		}
		m = stored
		return p.noteModel(tx, m, scope.Actor, "Model evaluated", m.Evaluation.Verdict)
	})
	return m.Model, err
}

func (p *Pipeline) noteModel(tx store.Tx, m ops.Model, actor, title, words string) error {
	return p.Ops.Note(tx, ops.Note{CustomerID: m.CustomerID, SiteID: m.SiteID, Phase: api.PhaseOrient, Title: title,
		Description: fmt.Sprintf("%s %s: %s", m.ModelName, m.ModelVersion, words), Actor: actor})
}

func (p *Pipeline) evaluate(ctx context.Context, former, m ops.Model) (api.ModelEvaluation, error) {
	if m.ModelType == api.ModelInterpolation {
		if former.Score == nil || m.Score == nil {
			return api.ModelEvaluation{Method: api.EvaluatedHiddenSamples, Verdict: "nothing was measured of one of the two"}, nil
		}
		return ops.CompareFillers(*former.Score, *m.Score), nil
	}
	from := former.TrainingDataWindow.End.UTC()
	if end := m.TrainingDataWindow.End.UTC(); end.After(from) {
		from = end
	}
	_, last, ok, err := p.Telemetry.Period(ctx, m.SiteID, "")
	if err != nil {
		return api.ModelEvaluation{}, fmt.Errorf("read the period of site %s: %w", m.SiteID, err)
	}
	if to := last.Add(modelStep); ok && to.Sub(from) >= fewestHeldOut*day {
		return p.evaluateOn(ctx, former, m, from, to)
	}
	return ops.CompareBacktests(former, m), nil
}

// mostEvaluated is how many of the newest days an evaluation looks at.
const mostEvaluated = 120

// evaluateOn lets both models forecast a span that neither has seen.
func (p *Pipeline) evaluateOn(ctx context.Context, former, m ops.Model, from, to time.Time) (api.ModelEvaluation, error) {
	if earliest := to.Add(-mostEvaluated * day); from.Before(earliest) {
		from = earliest
	}
	site, err := p.Ops.Site(ctx, api.Unlimited(pipelineActor), m.SiteID)
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	units, err := p.Ops.SiteAssets(ctx, m.SiteID)
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	h, err := p.readHistory(ctx, m.SiteID, units, from.Add(-recentSpan), to, modelStep, ops.Zone(site))
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	var both []*forecast.Model
	for _, r := range []ops.Model{former, m} {
		decoded, err := p.decode(ctx, r)
		if err != nil {
			return api.ModelEvaluation{}, unreadable(ctx, r, err)
		}
		both = append(both, decoded)
	}
	loc, _ := location(site, former.Place)
	subject := forecast.Site{ID: site.SiteID, Location: loc, Zone: ops.Zone(site), CapacityKW: ops.CapacityKW(site, units)}
	scores, err := p.contest(ctx, subject, h, from, to, both...)
	if err != nil {
		return api.ModelEvaluation{}, err
	}
	return ops.HeldOut(scores[0], scores[1], api.Window{Start: api.At(from), End: api.At(to)}, to.Sub(former.TrainingDataWindow.End.Time)), nil
}

// unreadable is the refusal to work with a model whose artefact is damaged.
func unreadable(ctx context.Context, m ops.Model, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(cause, store.ErrUnavailable) {
		return cause
	}
	return api.Conflict("Model %s %s cannot be read: its artefact is damaged or gone", m.ModelName, m.ModelVersion).With("reason", firstLine(cause))
}

// PromoteModel puts a challenger into production: one whose evaluation says so,
// or any by force. Its artefact must be readable either way.
func (p *Pipeline) PromoteModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, formerVersion string, err error) {
	if err := ops.CheckReason(r.Reason); err != nil {
		return m, "", err
	}
	found, err := p.Ops.FindModel(ctx, scope, r.SiteID, typeOf(r), r.ModelVersion)
	if err != nil {
		return m, "", err
	}
	if err := p.readable(ctx, found); err != nil {
		return m, "", err
	}
	return p.moveModel(ctx, scope, r, "Model promoted", func(tx store.Tx) (ops.Promotion, error) {
		return p.Ops.PromoteModel(tx, found, scope.Actor, r.Reason, r.Force)
	})
}

// RollbackModel puts the model that was in production before, or the version
// that is named, into production again.
func (p *Pipeline) RollbackModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, formerVersion string, err error) {
	if err := ops.CheckReason(r.Reason); err != nil {
		return m, "", err
	}
	if _, err := p.Ops.Site(ctx, scope, r.SiteID); err != nil {
		return m, "", err
	}
	target, err := p.Ops.RollbackTarget(ctx, r.SiteID, typeOf(r), r.ModelVersion)
	if err != nil {
		return m, "", err
	}
	if err := p.readable(ctx, target); err != nil {
		return m, "", err
	}
	return p.moveModel(ctx, scope, r, "Model rolled back", func(tx store.Tx) (ops.Promotion, error) {
		return p.Ops.RollbackModel(tx, r.SiteID, target.ModelType, target.ModelVersion, scope.Actor, r.Reason)
	})
}

// readable refuses a model whose artefact is not what was registered.
func (p *Pipeline) readable(ctx context.Context, m ops.Model) error {
	var err error
	if m.ModelType == api.ModelInterpolation {
		_, err = p.decodeFiller(ctx, m)
	} else {
		_, err = p.decode(ctx, m)
	}
	if err != nil {
		return unreadable(ctx, m, err)
	}
	return nil
}

func (p *Pipeline) decodeFiller(ctx context.Context, m ops.Model) (*interpolate.Model, error) {
	a, err := p.registered(ctx, m)
	if err != nil {
		return nil, err
	}
	return interpolate.Decode(a)
}

// moveModel runs a move of the registry, writes it down, and lets what depends
// on the model in production follow.
func (p *Pipeline) moveModel(ctx context.Context, scope api.Scope, r api.ModelsRequest, title string, move func(store.Tx) (ops.Promotion, error)) (m api.Model, formerVersion string, err error) {
	err = p.Records.Update(ctx, func(tx store.Tx) error {
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
		if err := p.noteModel(tx, done.Model, scope.Actor, title, r.Reason); err != nil {
			return err
		}
		if m.ModelType != modelType {
			return nil
		}
		_, err = advance(tx, r.SiteID, func(t *Track) { t.HasModel, t.TrainedEnd = true, m.TrainingDataWindow.End.UTC() })
		if err != nil {
			return err
		}
		return tx.Enqueue(p.job(jobForecast, payload{SiteID: r.SiteID}))
	})
	return m, formerVersion, err
}
