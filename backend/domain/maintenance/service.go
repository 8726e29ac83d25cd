package maintenance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

// Config is what a [Service] is made from; all but what is marked optional is
// needed.
type Config struct {
	Records store.Records
	Domain  *domain.Services // sites, units, findings, issues, forecasts, activities
	Now     func() time.Time // the plant's clock
	Wall    func() time.Time // the real clock: webhooks
	Guard   *webhook.Guard   // which places may be called
	Sealer  Sealer           // of the secrets of subscriptions

	Plans     Plans             // optional: who shows what is planned
	Catalogue *Catalogue        // optional: the program's
	Rates     site.Rates        // optional: without one, costs stay in the catalogue's currency
	Crew      Hours             // optional: DefaultHours
	Limits    map[string]Limits // optional: of orders, by priority or for emergencies, in place of DefaultLimits
}

// Plans show the planned work of sites to others.
type Plans interface {
	// Changed is told, within the transaction, that a site's plan changes.
	Changed(tx store.Tx, siteID string) error
	// Refresh shows the changes that were committed.
	Refresh(ctx context.Context) error
}

// Service answers for the work of all customers. It is safe for concurrent
// use; all of its state is in the store.
type Service struct {
	Config
	waiting chan struct{} // a hint that a webhook was added
	looking sync.Mutex
	looked  time.Time // when the outbox was last looked at, by the clock of this process, which no other's replaces
}

// New makes a Service.
func New(cfg Config) (*Service, error) {
	if cfg.Records == nil || cfg.Domain == nil || cfg.Now == nil || cfg.Wall == nil || cfg.Guard == nil || cfg.Sealer == nil {
		return nil, errors.New("maintenance: records, the domain, two clocks, a guard and a sealer are needed")
	}
	if cfg.Catalogue == nil {
		var err error
		if cfg.Catalogue, err = LoadCatalogue(""); err != nil {
			return nil, err
		}
	}
	if err := cfg.settle(); err != nil {
		return nil, err
	}
	return &Service{Config: cfg, waiting: make(chan struct{}, 1)}, nil
}

// shown lets the plans show what was changed and committed. What they cannot
// show now, they show when they look again themselves: the change stands.
func (s *Service) shown(ctx context.Context) {
	if s.Plans != nil {
		_ = s.Plans.Refresh(ctx)
	}
}

func (s *Service) id(prefix string) string { return record.NewID(prefix, s.Now()) }

// note keeps an activity of a site's work.
func (s *Service) note(tx store.Tx, customerID, siteID, assetID, phase, title, description, actor string) error {
	return s.Domain.Activities.Record(tx, activity.Record{CustomerID: customerID, SiteID: siteID, AssetID: assetID, Phase: phase, Title: title, Description: description, Actor: actor})
}

// byID is the record of a table that has an index "id": the refusal when there
// is none, [api.ErrForbidden] when it is another's.
func byID[T any](tx store.Tx, t store.Table[T], scope api.Scope, id string, refusal *api.Error, owner func(T) (customer, site string)) (T, error) {
	list, _, err := t.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
	var none T
	switch {
	case err != nil:
		return none, fmt.Errorf("look up %s: %w", id, err)
	case len(list) == 0:
		return none, refusal
	}
	customer, site := owner(list[0])
	if err := scope.Check(customer, site); err != nil {
		return none, err
	}
	return list[0], nil
}

// listing is the query for a table's list in its order, by the narrowest of
// its indexes asset, site, customer and all.
func listing(q api.ListQuery) store.Query {
	switch {
	case q.AssetID != "" && q.SiteID != "":
		return store.Query{Index: "asset", Prefix: store.Key(q.SiteID, q.AssetID)}
	case q.SiteID != "":
		return store.Query{Index: "site", Prefix: store.Key(q.SiteID)}
	case q.CustomerID != "":
		return store.Query{Index: "customer", Prefix: store.Key(q.CustomerID)}
	}
	return store.Query{Index: "all"}
}

// Ranks of records in lists: what is open comes first.
const (
	rankOpen = "open"
	rankOver = "over"
)

// rankOf the records that are asked for: of one status, which is open or not;
// empty for those of both ranks.
func rankOf(openOnly bool, status string, open bool) string {
	switch {
	case openOnly, status != "" && open:
		return rankOpen
	case status != "":
		return rankOver
	}
	return ""
}

// ranked narrows a listing to records of one rank; empty leaves it as it is.
func ranked(q store.Query, rank string) store.Query {
	if rank != "" {
		q.Prefix = append(q.Prefix, store.Key(rank)...)
	}
	return q
}

// listed are the four indexes of [listing]: rank orders the records.
func listed[T any](ids func(T) (customer, site, asset string), rank func(T) []string) []store.Index[T] {
	key := func(lead func(customer, site, asset string) []string) func(T) []byte {
		return func(v T) []byte { return store.Key(append(lead(ids(v)), rank(v)...)...) }
	}
	return []store.Index[T]{
		{Name: "asset", Key: key(func(_, site, asset string) []string { return []string{site, asset} })},
		{Name: "site", Key: key(func(_, site, _ string) []string { return []string{site} })},
		{Name: "customer", Key: key(func(customer, _, _ string) []string { return []string{customer} })},
		{Name: "all", Key: key(func(_, _, _ string) []string { return nil })},
	}
}

// room refuses one more record of a unit, which has an index [listed], where there
// are as many as there may be; of one rank, if it is given.
func room[T any](tx store.Tx, t store.Table[T], siteID, assetID string, most int, what string, rank ...string) error {
	q := store.Query{Index: "asset", Prefix: store.Key(append([]string{siteID, assetID}, rank...)...)}
	full, err := t.Full(tx, q, most)
	if full {
		return api.TooMany("Asset "+assetID, most, what)
	}
	return err
}

// Digits of a time that sort as it does, and the other way round.
func earlier(t time.Time) string { return fmt.Sprintf("%012d", t.Unix()) }
func later(t time.Time) string   { return fmt.Sprintf("%012d", 999_999_999_999-t.Unix()) }

// within says whether a record is of the scope and of the ids asked for.
func within(scope api.Scope, q api.ListQuery, customer, site, asset string) bool {
	return scope.Allows(customer, site) && (q.CustomerID == "" || q.CustomerID == customer) &&
		(q.SiteID == "" || q.SiteID == site) && (q.AssetID == "" || q.AssetID == asset)
}

// illegal refuses a move that the table of moves does not have.
func illegal(kind, id, from, to string, allowed []string) error {
	return api.Conflict("%s %s is %s: it cannot become %s", kind, id, from, to).With("allowed", append([]string{}, allowed...))
}

// stale refuses a change of a record that is not the version the caller knows.
func stale(kind, id string, is, known int) error {
	if known == 0 || known == is {
		return nil
	}
	return api.Conflict("%s %s was changed meanwhile: it is at version %d, not %d", kind, id, is, known).With("version", is)
}
