package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// modelMoves is the registry's state machine. A model is never put straight
// from the archive into production.
var modelMoves = map[string][]string{
	"":                  {api.ModelChallenger},
	api.ModelChallenger: {api.ModelProduction, api.ModelArchived},
	api.ModelProduction: {api.ModelArchived},
	api.ModelArchived:   {api.ModelChallenger},
}

// move changes the status; by says when, who and why.
func (m *Model) move(to string, by StatusChange) error {
	m.UpdatedAtMS = by.At.UnixMilli()
	if !slices.Contains(modelMoves[m.Status], to) {
		return api.InvalidTransition("Model %s %s is %s and cannot become %s", m.ModelName, m.ModelVersion, m.Status, to).With("allowed", modelMoves[m.Status])
	}
	by.From, by.To, by.At = m.Status, to, by.At.UTC()
	m.History = append(m.History, by)
	m.Status = to
	return nil
}

// keptChallengers is how many challengers are kept in addition to production
// before the oldest is archived.
const keptChallengers = 2

// pipelineActor is who moves models that no person moves.
const pipelineActor = "pipeline"

// Register stores a newly trained model as challenger and, in the same
// transaction, promotes it if it is the site's first of its type, or if the
// evaluation (nil: not evaluated) recommends it and refers to the model that
// is in production, which is archived then.
func (s *Service) Register(tx store.Tx, m Model, e *api.ModelEvaluation) (Model, error) {
	at := s.now()
	m.Status = ""
	if err := m.move(api.ModelChallenger, StatusChange{At: at, Actor: pipelineActor, Reason: "trained"}); err != nil {
		return m, err
	}
	former, err := Production(tx, m.SiteID, m.ModelType)
	if errors.Is(err, store.ErrNotFound) {
		m.Evaluation = &api.ModelEvaluation{Eligible: true, Method: api.EvaluatedFirst, Verdict: "it is the site's first model", EvaluatedAt: api.At(at)}
		return promote(tx, m, nil, StatusChange{At: at, Actor: pipelineActor, Reason: m.Evaluation.Verdict})
	}
	if err != nil {
		return m, err
	}
	if m.Evaluation = e; e != nil {
		e.EvaluatedAt = api.At(at)
	}
	if e != nil && e.Eligible && e.Against == former.ModelVersion {
		return promote(tx, m, &former, StatusChange{At: at, Actor: pipelineActor, Reason: e.Verdict})
	}
	if err := models.Insert(tx, m); err != nil {
		return m, fmt.Errorf("store model %s %s: %w", m.ModelName, m.ModelVersion, err)
	}
	return m, retireChallengers(tx, m, at)
}

// promote puts a challenger into production; former, if there is one, goes
// into the archive.
func promote(tx store.Tx, m Model, former *Model, by StatusChange) (Model, error) {
	if former != nil {
		archive := StatusChange{At: by.At, Actor: by.Actor, Reason: "succeeded by " + m.ModelVersion + ": " + by.Reason, Forced: by.Forced}
		if err := former.move(api.ModelArchived, archive); err != nil {
			return m, err
		}
		if err := models.Put(tx, *former); err != nil {
			return m, fmt.Errorf("archive model %s %s: %w", former.ModelName, former.ModelVersion, err)
		}
	}
	if err := m.move(api.ModelProduction, by); err != nil {
		return m, err
	}
	if err := models.Put(tx, m); err != nil {
		return m, fmt.Errorf("store model %s %s: %w", m.ModelName, m.ModelVersion, err)
	}
	return m, nil
}

func retireChallengers(tx store.Tx, m Model, at time.Time) error {
	all, err := modelsOf(tx, m.SiteID, m.ModelType)
	if err != nil {
		return err
	}
	kept := 0
	for _, c := range all {
		if c.Status != api.ModelChallenger {
			continue
		}
		if kept++; kept <= keptChallengers {
			continue
		}
		if err := c.move(api.ModelArchived, StatusChange{At: at, Actor: pipelineActor, Reason: "newer challengers replaced it"}); err != nil {
			return err
		}
		if err := models.Put(tx, c); err != nil {
			return fmt.Errorf("archive model %s %s: %w", c.ModelName, c.ModelVersion, err)
		}
	}
	return nil
}

// Reject takes a model whose artefact cannot be read out of production.
func (s *Service) Reject(tx store.Tx, m Model, cause string) error {
	m, err := models.Get(tx, models.Key(m))
	if err != nil || m.Status == api.ModelArchived {
		return err
	}
	m.Refused = cause
	if err := m.move(api.ModelArchived, StatusChange{At: s.now(), Actor: pipelineActor, Reason: cause}); err != nil {
		return err
	}
	return models.Put(tx, m)
}

// SetEvaluation stores what an evaluation of a challenger gave.
func (s *Service) SetEvaluation(tx store.Tx, m Model, e api.ModelEvaluation) (Model, error) {
	m, err := models.Get(tx, models.Key(m))
	if err != nil {
		return m, record.NotFoundAs(err, api.ErrModelNotFound, "the model")
	}
	if m.Status != api.ModelChallenger {
		return m, notChallenger(m)
	}
	e.EvaluatedAt, m.UpdatedAtMS = api.At(s.now()), s.now().UnixMilli()
	m.Evaluation = &e
	if err := models.Put(tx, m); err != nil {
		return m, fmt.Errorf("store model %s %s: %w", m.ModelName, m.ModelVersion, err)
	}
	return m, nil
}

func notChallenger(m Model) error {
	return api.InvalidTransition("Model %s %s is %s: only a challenger is evaluated or promoted", m.ModelName, m.ModelVersion, m.Status).With("allowed", modelMoves[m.Status])
}

// Promotion is what a move into production did.
type Promotion struct {
	Model  Model  // in production now
	Former *Model // archived in its place, if there was one
	Moved  bool   // false: it was there already
}

// Promote puts a challenger into production and archives the former model.
// It needs an eligible evaluation against the model in production, unless it is
// forced. A model that is in production stays there.
func (s *Service) Promote(tx store.Tx, m Model, actor, reason string, forced bool) (Promotion, error) {
	m, err := models.Get(tx, models.Key(m))
	if err != nil {
		return Promotion{}, record.NotFoundAs(err, api.ErrModelNotFound, "the model")
	}
	switch m.Status {
	case api.ModelProduction:
		return Promotion{Model: m}, nil
	case api.ModelArchived:
		return Promotion{}, notChallenger(m)
	}
	var former *Model
	now, err := Production(tx, m.SiteID, m.ModelType)
	switch {
	case err == nil:
		former = &now
	case !errors.Is(err, store.ErrNotFound):
		return Promotion{}, err
	}
	why := promotionBlocker(m, former)
	if why != "" && !forced {
		return Promotion{}, api.Conflict("Model %s %s is not eligible: %s", m.ModelName, m.ModelVersion, why).With("allowed", []string{api.ActionEvaluate, "force"})
	}
	m, err = promote(tx, m, former, StatusChange{At: s.now(), Actor: actor, Reason: reason, Forced: why != ""})
	return Promotion{m, former, true}, err
}

// promotionBlocker says why a challenger may not take over; empty: it may.
func promotionBlocker(m Model, former *Model) string {
	switch {
	case former == nil:
		return ""
	case m.Evaluation == nil:
		return "it was not evaluated"
	case m.Evaluation.Against != former.ModelVersion:
		return "it was not evaluated against " + former.ModelVersion + ", which is in production now"
	case !m.Evaluation.Eligible:
		return m.Evaluation.Verdict
	}
	return ""
}

// RollbackTarget is the archived model that a rollback goes back to: the
// version that is named, or the one that left production last.
func (s *Service) RollbackTarget(ctx context.Context, siteID, modelType, version string) (m Model, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		m, err = rollbackTarget(tx, siteID, modelType, version)
		return err
	})
	return m, err
}

func rollbackTarget(tx store.Tx, siteID, modelType, version string) (Model, error) {
	all, err := modelsOf(tx, siteID, modelType)
	if err != nil {
		return Model{}, err
	}
	at := slices.IndexFunc(all, func(m Model) bool { return m.ModelVersion == version })
	if version == "" {
		at = lastInProduction(all)
	}
	switch {
	case at < 0 && version == "":
		return Model{}, api.Conflict("Site %s has no former model to go back to", siteID)
	case at < 0:
		return Model{}, api.ErrModelNotFound
	}
	m := all[at]
	words := "is " + m.Status
	if m.Refused != "" {
		words = "was refused: " + m.Refused
	}
	if m.Status != api.ModelArchived || m.Refused != "" {
		return m, api.InvalidTransition("Model %s %s %s: only an archived model is gone back to", m.ModelName, m.ModelVersion, words)
	}
	return m, nil
}

// Rollback puts an archived model into production again, by way of
// challenger, and archives the model that is there. Without a version it is
// the one that was in production last.
func (s *Service) Rollback(tx store.Tx, siteID, modelType, version, actor, reason string) (Promotion, error) {
	restored, err := rollbackTarget(tx, siteID, modelType, version)
	if err != nil {
		return Promotion{}, err
	}
	by := StatusChange{At: s.now(), Actor: actor, Reason: reason}
	if err := restored.move(api.ModelChallenger, by); err != nil {
		return Promotion{}, err
	}
	former, err := Production(tx, siteID, modelType)
	if err != nil {
		return Promotion{}, record.NotFoundAs(err, api.ErrNoChallenger, "the model in production")
	}
	restored, err = promote(tx, restored, &former, by)
	return Promotion{restored, &former, true}, err
}

// lastInProduction is the archived model that left production last.
func lastInProduction(all []Model) int {
	at, left := -1, time.Time{}
	for i, m := range all {
		if m.Status != api.ModelArchived || m.Refused != "" || len(m.History) == 0 {
			continue
		}
		if h := m.History[len(m.History)-1]; h.From == api.ModelProduction && !h.At.Before(left) && (at < 0 || h.At.After(left)) {
			at, left = i, h.At
		}
	}
	return at
}

// CheckReason refuses a reason that says nothing.
func CheckReason(reason string) error {
	if n := utf8.RuneCountInString(strings.TrimSpace(reason)); n < api.MinReasonLength {
		if n == 0 {
			return api.MissingField("reason")
		}
		return api.InvalidField("reason", fmt.Sprintf("at least %d characters", api.MinReasonLength))
	}
	return nil
}

// Find is a model within the scope by its version; without one it is the
// newest challenger.
func (s *Service) Find(ctx context.Context, scope api.Scope, siteID, modelType, version string) (Model, error) {
	if _, err := s.sites.Site(ctx, scope, siteID); err != nil {
		return Model{}, err
	}
	var all []Model
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		all, err = modelsOf(tx, siteID, modelType)
		return err
	})
	if err != nil {
		return Model{}, err
	}
	i := slices.IndexFunc(all, func(m Model) bool {
		if version == "" {
			return m.Status == api.ModelChallenger
		}
		return m.ModelVersion == version
	})
	switch {
	case i < 0 && version == "":
		return Model{}, api.ErrNoChallenger
	case i < 0:
		return Model{}, api.ErrModelNotFound
	}
	return all[i], nil
}

// History lists the changes of status of a site's models of a type, or of
// one version, newest first.
func (s *Service) History(ctx context.Context, scope api.Scope, siteID, modelType, version string, p api.Page) ([]api.ModelMove, string, error) {
	if _, err := s.sites.Site(ctx, scope, siteID); err != nil {
		return nil, "", err
	}
	var moves []api.ModelMove
	err := s.records.View(ctx, func(tx store.Tx) error {
		moves = nil
		return models.Each(tx, store.Query{Prefix: store.Key(siteID, modelType), Reverse: true}, func(m Model) error {
			if version != "" && m.ModelVersion != version {
				return nil
			}
			for _, h := range slices.Backward(m.History) {
				if !p.Since(h.At) {
					continue
				}
				moves = append(moves, api.ModelMove{ModelName: m.ModelName, ModelVersion: m.ModelVersion, From: h.From, To: h.To, At: api.At(h.At),
					Actor: h.Actor, Reason: h.Reason, Forced: h.Forced})
			}
			return nil
		})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list the models of site %s: %w", siteID, err)
	}
	slices.SortStableFunc(moves, func(a, b api.ModelMove) int { return b.At.Compare(a.At.Time) })
	return record.Page(moves, p, func(m api.ModelMove) string { return m.At.String() + m.ModelVersion + m.To })
}

// modelsOf are a site's models of a type, newest version first.
func modelsOf(tx store.Tx, siteID, modelType string) ([]Model, error) {
	all, _, err := models.List(tx, store.Query{Prefix: store.Key(siteID, modelType), Reverse: true})
	if err != nil {
		return nil, fmt.Errorf("list the models of site %s: %w", siteID, err)
	}
	return all, nil
}
