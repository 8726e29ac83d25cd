// Package model is the registry: models with their status, evaluation and promotion,
// and the results of gap filling.
package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
	"app.sunloop/engine/solar"
)

// Service is the registry of models and of the results of gap filling. It is safe for concurrent use; its state is in the store.
type Service struct {
	records store.Records
	now     func() time.Time
	sites   *site.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time, sites *site.Service) *Service {
	return &Service{records: records, now: now, sites: sites}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{models, interpolations} }

// SiteRecords returns the records of this package, which are of sites.
func SiteRecords() []record.OfSite {
	return []record.OfSite{{Prefixed: models, Effect: func(e *api.SiteEffects) *int { return &e.Models }}, {Prefixed: interpolations}}
}

// Model is a registered model: the fields of the contract, and those that promotion and
// loading need.
type Model struct {
	api.Model
	Sequence  int    // 1 for the first of its site and type
	Hash      string // of the artefact, hex
	Artefacts ArtefactKeys
	Origins   []Origin // of the backtest, ascending
	Metrics   api.ForecastMetrics
	Points    int             // training rows
	DataAsOf  uint64          // version of the site's data that it was trained on
	Step      string          // Go duration of its intervals
	Young     bool            // trained on other sites, as its own history was too short
	History   []StatusChange  // every change of status
	Refused   string          // why its artefact could not be read; empty: it could
	Trained   time.Time       // as LastTrainedAt, exact
	Decisions []string        // of training, as sentences
	Place     *Location       // nil: the site's own
	Score     *api.ModelScore // of the backtest; of a gap filler on hidden samples
}

// Location is where a model takes its site to be if the site has none.
type Location struct {
	LatitudeDeg  float64 `json:"latitude_deg"`
	LongitudeDeg float64 `json:"longitude_deg"`
}

// ArtefactKeys are the object keys of a model's three parts.
type ArtefactKeys struct {
	Model    string `json:"model" limit:"id"`
	Encoders string `json:"encoders" limit:"url"`
	Config   string `json:"config" limit:"url"`
}

// All are the three in the order in which the model's hash takes them.
func (k ArtefactKeys) All() []string { return []string{k.Model, k.Encoders, k.Config} }

// Origin is one origin of a backtest: the mean pinball loss of the days after
// At, in percent of capacity.
type Origin struct {
	At      time.Time `json:"at"`
	Pinball float64   `json:"pinball"`
}

// StatusChange is a change of a record's status.
type StatusChange struct {
	From   string    `json:"from,omitempty" limit:"word"`
	To     string    `json:"to" limit:"word"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor" limit:"id"`
	Reason string    `json:"reason" limit:"text"`
	Forced bool      `json:"forced,omitempty"` // against the evaluation
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
	Form: store.As(newModelRecord, modelRecord.model),
}

// ProductionBucket has a key for each model in production, see [ProductionKey].
var ProductionBucket = models.Bucket + "/production"

// ProductionKey returns the key of a model in [ProductionBucket], which exists while the model is in
// production.
func ProductionKey(siteID, modelType string, sequence int) []byte {
	return append(store.Key(siteID, modelType), models.Key(Model{Model: api.Model{SiteID: siteID, ModelType: modelType}, Sequence: sequence})...)
}

// InProduction returns the model in use for a site, or
// [store.ErrNotFound].
func (s *Service) InProduction(ctx context.Context, siteID, modelType string) (Model, error) {
	var m Model
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		m, err = Production(tx, siteID, modelType)
		return err
	})
	return m, err
}

// ProductionIn is [Service.InProduction] within a transaction.
func (s *Service) ProductionIn(tx store.Tx, siteID, modelType string) (Model, error) {
	return Production(tx, siteID, modelType)
}

// Production returns the model in production of a site and type;
// [store.ErrNotFound] without one.
func Production(tx store.Tx, siteID, modelType string) (Model, error) {
	list, _, err := models.List(tx, store.Query{Index: "production", Prefix: store.Key(siteID, modelType), Limit: 1})
	if err != nil {
		return Model{}, fmt.Errorf("look up the model of site %s: %w", siteID, err)
	}
	if len(list) == 0 {
		return Model{}, store.ErrNotFound
	}
	return list[0], nil
}

// NextSequence is the sequence that a site's next model will have.
func (s *Service) NextSequence(ctx context.Context, siteID, modelType string) (int, error) {
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

// Models lists the registry within the scope by site, newest version first.
func (s *Service) Models(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Model, string, error) {
	ids := api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID}
	part, next, err := record.SortedList[Model]{
		Table: models, Query: record.Narrowest(q),
		Keep: func(m *Model) bool {
			return record.Matches(scope, ids)(m.CustomerID, m.SiteID, "") && q.SinceUnix(m.UpdatedAtMS, m.LastTrainedAt) && record.Is(q.Filter.Status, m.Status) && record.Is(q.Filter.Type, m.ModelType)
		},
		Order: func(m *Model) record.SortKey {
			return record.SortKey{}.Text(m.SiteID).Text(m.ModelType).Number(-int64(m.Sequence))
		},
	}.Page(ctx, s.records, q.Page)
	out := make([]api.Model, len(part))
	for i, m := range part {
		out[i] = m.Model
	}
	return out, next, record.Wrap(err, "list models")
}

// BacktestLoss is the loss of the model's own backtest in percent of capacity.
func (m Model) BacktestLoss() float64 {
	if m.Score != nil && m.Score.PinballPercent > 0 {
		return m.Score.PinballPercent
	}
	return meanLoss(m)
}

// LocationOf returns the location of a site: its coordinates, else those that its
// model was trained with. ok is false if neither is known.
func LocationOf(site api.Site, place *Location) (loc solar.Location, ok bool) {
	switch {
	case site.Latitude != nil && site.Longitude != nil:
		return solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}, true
	case place != nil:
		return solar.Location{LatitudeDeg: place.LatitudeDeg, LongitudeDeg: place.LongitudeDeg}, true
	}
	return loc, false
}

// Location returns the location of a site by its coordinates, else by its
// forecasting model in production. ok is false if neither is known.
func (s *Service) Location(ctx context.Context, site api.Site) (loc solar.Location, ok bool, err error) {
	if loc, ok := LocationOf(site, nil); ok {
		return loc, true, nil
	}
	m, err := s.InProduction(ctx, site.SiteID, api.ModelForecasting)
	if errors.Is(err, store.ErrNotFound) {
		return loc, false, nil
	}
	if err != nil {
		return loc, false, err
	}
	loc, ok = LocationOf(site, m.Place)
	return loc, ok, nil
}
