package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Model is a registered model: the contract's fields, and what promotion and
// loading need.
type Model struct {
	api.Model
	Sequence  int          `json:"sequence"` // 1 is a site's first of its type
	Hash      string       `json:"hash"`     // of the artefact, hex
	Artefacts ArtefactKeys `json:"artefacts"`
	Origins   []Origin     `json:"origins,omitempty"` // rolling-origin backtest, ascending
	Metrics   api.ForecastMetrics
	Points    int       `json:"points"`     // training rows
	DataAsOf  uint64    `json:"data_as_of"` // the site's data version that it learned from
	Verdict   string    `json:"verdict"`    // in words
	Step      string    `json:"step"`       // Go duration of its intervals
	History   []Move    `json:"history"`    // every change of status
	Refused   string    `json:"refused"`    // why its artefact could not be read, if so
	Trained   time.Time `json:"trained_at"` // as LastTrainedAt, exact
	Decisions []string  `json:"decisions"`  // what training decided, in words
	Place     *Place    `json:"place,omitempty"`
}

// Place is where a model takes its site to be when the site does not say.
type Place struct {
	LatitudeDeg  float64 `json:"latitude_deg"`
	LongitudeDeg float64 `json:"longitude_deg"`
}

// ArtefactKeys are the object keys of a model's three parts.
type ArtefactKeys struct {
	Model    string `json:"model"`
	Encoders string `json:"encoders"`
	Config   string `json:"config"`
}

// Origin is one origin of a backtest: the mean pinball loss of the days after
// At, in percent of capacity.
type Origin struct {
	At      time.Time `json:"at"`
	Pinball float64   `json:"pinball"`
}

// Move is a change of a record's status.
type Move struct {
	From   string    `json:"from,omitempty"`
	To     string    `json:"to"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Reason string    `json:"reason"`
}

var models = store.Table[Model]{
	Bucket: "models",
	Key: func(m Model) []byte {
		return store.Key(m.SiteID, m.ModelType, fmt.Sprintf("%08d", m.Sequence))
	},
	Indexes: []store.Index[Model]{
		{Name: "customer", Key: func(m Model) []byte { return store.Key(m.CustomerID) }},
		{Name: "production", Key: func(m Model) []byte {
			if m.Status != api.ModelProduction {
				return nil
			}
			return store.Key(m.SiteID, m.ModelType)
		}},
	},
}

// modelMoves is the registry's state machine. A model is never put straight
// from the archive into production.
var modelMoves = map[string][]string{
	"":                  {api.ModelChallenger},
	api.ModelChallenger: {api.ModelProduction, api.ModelArchived},
	api.ModelProduction: {api.ModelArchived},
	api.ModelArchived:   {api.ModelChallenger},
}

func (m *Model) move(to string, at time.Time, actor, reason string) error {
	if !slices.Contains(modelMoves[m.Status], to) {
		return api.Conflict("Model %s %s is %s and cannot become %s", m.ModelName, m.ModelVersion, m.Status, to).With("allowed", modelMoves[m.Status])
	}
	m.History = append(m.History, Move{From: m.Status, To: to, At: at.UTC(), Actor: actor, Reason: reason})
	m.Status = to
	return nil
}

// ProductionModel is the model in use for a site; [store.ErrNotFound] when
// there is none.
func (s *Service) ProductionModel(ctx context.Context, siteID, modelType string) (Model, error) {
	var m Model
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		m, err = production(tx, siteID, modelType)
		return err
	})
	return m, err
}

func production(tx store.Tx, siteID, modelType string) (Model, error) {
	list, _, err := models.List(tx, store.Query{Index: "production", Prefix: store.Key(siteID, modelType), Limit: 1})
	if err != nil {
		return Model{}, fmt.Errorf("look up the model of site %s: %w", siteID, err)
	}
	if len(list) == 0 {
		return Model{}, store.ErrNotFound
	}
	return list[0], nil
}

// NextModel is the sequence that a site's next model will have.
func (s *Service) NextModel(ctx context.Context, siteID, modelType string) (int, error) {
	n := 1
	err := s.records.View(ctx, func(tx store.Tx) error {
		list, _, err := models.List(tx, store.Query{Prefix: store.Key(siteID, modelType), Reverse: true, Limit: 1})
		if err == nil && len(list) == 1 {
			n = list[0].Sequence + 1
		}
		return err
	})
	return n, err
}

// keptChallengers is how many challengers stand beside production before the
// oldest is archived.
const keptChallengers = 2

// RegisterModel stores a newly trained model as challenger and, in the same
// transaction, promotes it if the verdict is for it: then the former
// production model is archived.
func (s *Service) RegisterModel(tx store.Tx, m Model) (Model, error) {
	at := s.now()
	m.Status = ""
	if err := m.move(api.ModelChallenger, at, "pipeline", "trained"); err != nil {
		return m, err
	}
	former, err := production(tx, m.SiteID, m.ModelType)
	switch {
	case errors.Is(err, store.ErrNotFound):
		m.Verdict = "it is the site's first model"
		return s.promote(tx, m, nil, at)
	case err != nil:
		return m, err
	}
	win, why := Verdict(former, m)
	m.Verdict = why
	if win {
		return s.promote(tx, m, &former, at)
	}
	if err := models.Insert(tx, m); err != nil {
		return m, fmt.Errorf("store model %s %s: %w", m.ModelName, m.ModelVersion, err)
	}
	return m, s.retireChallengers(tx, m, at)
}

func (s *Service) promote(tx store.Tx, m Model, former *Model, at time.Time) (Model, error) {
	if former != nil {
		if err := former.move(api.ModelArchived, at, "pipeline", "succeeded by "+m.ModelVersion); err != nil {
			return m, err
		}
		if err := models.Put(tx, *former); err != nil {
			return m, fmt.Errorf("archive model %s %s: %w", former.ModelName, former.ModelVersion, err)
		}
	}
	if err := m.move(api.ModelProduction, at, "pipeline", m.Verdict); err != nil {
		return m, err
	}
	if err := models.Put(tx, m); err != nil {
		return m, fmt.Errorf("store model %s %s: %w", m.ModelName, m.ModelVersion, err)
	}
	return m, nil
}

func (s *Service) retireChallengers(tx store.Tx, m Model, at time.Time) error {
	all, _, err := models.List(tx, store.Query{Prefix: store.Key(m.SiteID, m.ModelType), Reverse: true})
	if err != nil {
		return fmt.Errorf("list the models of site %s: %w", m.SiteID, err)
	}
	kept := 0
	for _, c := range all {
		if c.Status != api.ModelChallenger {
			continue
		}
		if kept++; kept <= keptChallengers {
			continue
		}
		if err := c.move(api.ModelArchived, at, "pipeline", "newer challengers came"); err != nil {
			return err
		}
		if err := models.Put(tx, c); err != nil {
			return fmt.Errorf("archive model %s %s: %w", c.ModelName, c.ModelVersion, err)
		}
	}
	return nil
}

// RefuseModel takes a model whose artefact cannot be read out of production.
func (s *Service) RefuseModel(tx store.Tx, m Model, cause string) error {
	m, err := models.Get(tx, models.Key(m))
	if err != nil || m.Status == api.ModelArchived {
		return err
	}
	m.Refused = cause
	if err := m.move(api.ModelArchived, s.now(), "pipeline", cause); err != nil {
		return err
	}
	return models.Put(tx, m)
}

// Verdict says whether a challenger takes over: its loss over the common
// origins of both backtests must be lower by at least 1 % in the mean, and on
// at least three of them. With fewer than three origins in common the losses
// say nothing of each other, and the model that saw later data is taken if its
// own backtest is not worse by more than 2 %.
func Verdict(production, challenger Model) (bool, string) {
	var p, c float64
	common, wins := 0, 0
	for _, a := range production.Origins {
		i, ok := slices.BinarySearchFunc(challenger.Origins, a.At, func(o Origin, t time.Time) int { return o.At.Compare(t) })
		if !ok || !finite(a.Pinball) || !finite(challenger.Origins[i].Pinball) {
			continue
		}
		b := challenger.Origins[i]
		common++
		p, c = p+a.Pinball, c+b.Pinball
		if b.Pinball < a.Pinball {
			wins++
		}
	}
	if common >= 3 {
		gain := 100 * (p - c) / math.Max(p, 1e-9)
		words := fmt.Sprintf("its loss is lower on %d of %d common origins, by %.1f %% in the mean", wins, common, gain)
		return wins >= 3 && gain >= 1, words
	}
	worse := 100 * (meanLoss(challenger)/math.Max(meanLoss(production), 1e-9) - 1)
	later := challenger.TrainingDataWindow.End.After(production.TrainingDataWindow.End.Time)
	words := fmt.Sprintf("the backtests have %d origins in common; its own loss differs by %+.1f %%", common, worse)
	if later {
		words += ", and it saw later data"
	}
	return later && !(worse > 2), words
}

func meanLoss(m Model) float64 {
	sum, n := 0.0, 0
	for _, o := range m.Origins {
		if finite(o.Pinball) {
			sum, n = sum+o.Pinball, n+1
		}
	}
	return sum / float64(max(n, 1))
}

// Models lists the registry within the scope by site, newest version first.
func (s *Service) Models(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Model, string, error) {
	all, err := every(ctx, s, models, q)
	if err != nil {
		return nil, "", fmt.Errorf("list models: %w", err)
	}
	all = allowed(all, scope, api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID},
		func(m Model) (string, string, string) { return m.CustomerID, m.SiteID, "" })
	slices.SortStableFunc(all, func(a, b Model) int {
		return cmp.Or(strings.Compare(a.SiteID, b.SiteID), strings.Compare(a.ModelType, b.ModelType), b.Sequence-a.Sequence)
	})
	part, next, err := page(all, q)
	out := make([]api.Model, len(part))
	for i, m := range part {
		out[i] = m.Model
	}
	return out, next, err
}
