// Package maintenance is the domain of work management: planned work (schedules),
// its requirements (bills of materials, parts and their stock), its execution (work
// orders), and its notifications (subscriptions and their deliveries).
//
// Records stand on the tables of backend/store as those of backend/domain do. The
// moves of a status are one table for each kind of record; a move that the
// table does not have is a 409 that names those that it has. A request for the
// status that a record has already changes nothing and succeeds. Each change
// is kept with who made it, when, from what, to what and why.
package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/outbox"
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
	// Changed is called, within the transaction, when a site's plan changes.
	Changed(tx store.Tx, siteID string) error
	// Refresh shows the changes that were committed.
	Refresh(ctx context.Context) error
}

// Service answers for the work of all customers. It is safe for concurrent
// use; all of its state is in the store.
type Service struct {
	Config
	*outbox.Queue[delivery] // of webhooks that wait
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
	cfg.Domain.Availability.SetWork(stoppedFor)
	return &Service{Config: cfg, Queue: newQueue(cfg)}, nil
}

// refreshPlans lets the plans show what was changed and committed. If its readers
// cannot be updated now, they read it later: the change is stored.
func (s *Service) refreshPlans(ctx context.Context) {
	if s.Plans != nil && store.JoinedTx(ctx) == nil {
		_ = s.Plans.Refresh(ctx)
	}
}

// PlansChanged lets the plans show what several calls changed within one transaction
// ([store.WithTx]), once that is committed.
func (s *Service) PlansChanged(ctx context.Context) { s.refreshPlans(ctx) }

func (s *Service) id(prefix string) string { return record.NewID(prefix, s.Now()) }

// note keeps an activity of a site's work.
func (s *Service) note(tx store.Tx, customerID, siteID, assetID, phase, title, description, actor string) error {
	return s.Domain.Activities.Record(tx, activity.Record{CustomerID: customerID, SiteID: siteID, AssetID: assetID, Phase: phase, Title: title, Description: description, Actor: actor})
}

// get returns the record of an id as [byID] does, in a separate transaction.
func get[T any](ctx context.Context, s *Service, t store.Table[T], scope api.Scope, id string, missing *api.Error, owner func(T) (customer, site string)) (found T, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) (err error) {
		found, err = byID(tx, t, scope, id, missing, owner)
		return err
	})
	return found, err
}

// byID returns the record of a table that has an index "id": the given error
// without a record, [api.ErrForbidden] if it belongs to another customer.
func byID[T any](tx store.Tx, t store.Table[T], scope api.Scope, id string, refusal *api.Error, owner func(T) (customer, site string)) (T, error) {
	list, _, err := t.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
	var none T
	switch {
	case err != nil:
		return none, fmt.Errorf("look up %s: %w", id, err)
	case len(list) == 0:
		return none, refusal
	}
	customer, siteID := owner(list[0])
	if err := scope.Check(customer, siteID); err != nil {
		return none, err
	}
	if err := site.CheckWritable(tx, scope, siteID); err != nil {
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

// invalidTransition refuses a move that the table of moves does not have.
func invalidTransition(kind, id, from, to string, allowed []string) error {
	return api.InvalidTransition("%s %s is %s: it cannot become %s", kind, id, from, to).With("allowed", append([]string{}, allowed...))
}

// versionConflict refuses a change of a record that is not the version the caller knows.
func versionConflict(kind, id string, is, known int) error {
	if known == 0 || known == is {
		return nil
	}
	return api.VersionConflict("%s %s was changed meanwhile: it is at version %d, not %d", kind, id, is, known).With("version", is)
}

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		boms,
		subscriptions,
		deliveries,
		stocks,
		schedules,
		orders,
	}
}

// Hours of the day between which crews work at a site, by its clock.
type Hours struct {
	From, To time.Duration // since midnight
}

// DefaultHours are those of crews where nothing else is said.
func DefaultHours() Hours { return Hours{7 * time.Hour, 18 * time.Hour} }

// UnmarshalText reads hours such as 7-18 or 06:30-15:00. They are around noon,
// so that there is daylight within them all over the world.
func (h *Hours) UnmarshalText(text []byte) error {
	from, to, ok := strings.Cut(string(text), "-")
	var read Hours
	for _, part := range []struct {
		text string
		into *time.Duration
	}{{from, &read.From}, {to, &read.To}} {
		layout := "15:04"
		if !strings.Contains(part.text, ":") {
			layout = "15"
		}
		at, err := time.Parse(layout, strings.TrimSpace(part.text))
		ok = ok && err == nil
		*part.into = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	if !ok || read.check() != nil {
		return fmt.Errorf("crew hours begin before noon and end after it, as in 7-18 or 06:30-15:00, unlike %q", text)
	}
	*h = read
	return nil
}

func (h Hours) check() error {
	if h.From < 0 || h.From >= 12*time.Hour || h.To <= 12*time.Hour || h.To > 24*time.Hour {
		return fmt.Errorf("maintenance: crew hours from %s to %s are not around noon", h.From, h.To)
	}
	return nil
}

// Limits are how long after it is made an order may take to be acknowledged,
// started and restored.
type Limits struct{ Acknowledge, Start, Restore time.Duration }

const day = 24 * time.Hour

// longestLimit keeps what is reckoned with limits within the calendar.
const longestLimit = 3660 * day

// DefaultLimits are those of orders where nothing else is said, by priority;
// emergencies have their own.
func DefaultLimits() map[string]Limits {
	return map[string]Limits{
		api.MaintenanceEmergency: {30 * time.Minute, 4 * time.Hour, day},
		api.PriorityHigh:         {4 * time.Hour, day, 3 * day},
		api.PriorityMedium:       {day, 7 * day, 14 * day},
		api.PriorityLow:          {3 * day, 30 * day, 60 * day},
	}
}

// ParseLimits reads limits such as 30m/4h/1d, to acknowledge, to start and to
// restore, by priority or for emergencies. The error is a sentence.
func ParseLimits(texts map[string]string) (map[string]Limits, error) {
	limits := map[string]Limits{}
	for _, urgency := range slices.Sorted(maps.Keys(texts)) {
		parts := strings.Split(texts[urgency], "/")
		var read Limits
		ok := len(parts) == 3
		for i, into := range []*time.Duration{&read.Acknowledge, &read.Start, &read.Restore} {
			if ok {
				*into, ok = length(strings.TrimSpace(parts[i]))
			}
		}
		if !ok || read.check() != nil {
			return nil, fmt.Errorf("the limits of %s orders are three times in rising order, to acknowledge, start and restore them, as in 30m/4h/1d, unlike %q", urgency, texts[urgency])
		}
		limits[urgency] = read
	}
	return limits, checkLimits(limits)
}

func (l Limits) check() error {
	if l.Acknowledge <= 0 || l.Start < l.Acknowledge || l.Restore < l.Start || l.Restore > longestLimit {
		return fmt.Errorf("maintenance: limits of %s, %s and %s do not rise from above 0 up to %d days", l.Acknowledge, l.Start, l.Restore, int(longestLimit/day))
	}
	return nil
}

// length reads a duration, also in whole days: 3d.
func length(text string) (time.Duration, bool) {
	days := strings.HasSuffix(text, "d")
	if days {
		text = strings.TrimSuffix(text, "d") + "h"
	}
	d, err := time.ParseDuration(text)
	if days {
		if d > longestLimit/24 {
			return 0, false
		}
		d *= 24
	}
	return d, err == nil
}

// checkLimits says in a sentence which of the limits are none; nil when all
// are good.
func checkLimits(limits map[string]Limits) error {
	known := append([]string{api.MaintenanceEmergency}, api.Priorities()...)
	for _, urgency := range slices.Sorted(maps.Keys(limits)) {
		if !slices.Contains(known, urgency) {
			return fmt.Errorf("orders have limits for %s, and not for %q", strings.Join(known, ", "), urgency)
		}
		if err := limits[urgency].check(); err != nil {
			return err
		}
	}
	return nil
}

// settle writes the defaults into what is not said, and refuses what cannot be.
func (c *Config) settle() error {
	if c.Crew == (Hours{}) {
		c.Crew = DefaultHours()
	}
	if err := c.Crew.check(); err != nil {
		return err
	}
	if err := checkLimits(c.Limits); err != nil {
		return err
	}
	own := c.Limits
	c.Limits = DefaultLimits()
	maps.Copy(c.Limits, own)
	return nil
}

// limits of an order by its urgency.
func (s *Service) limits(o order) Limits {
	if o.MaintenanceType == api.MaintenanceEmergency {
		return s.Limits[api.MaintenanceEmergency]
	}
	return s.Limits[o.Priority]
}

// SiteRecords returns the records of this package that are of sites.
func SiteRecords() []record.OfSite {
	return append(record.OfSites(boms, subscriptions, deliveries, schedules), record.OfSite{Prefixed: orders, Effect: func(e *api.SiteEffects) *int { return &e.Orders }})
}

// RenameAsset replaces a unit by another one in the work of a site.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	prefix := store.Key(siteID)
	return errors.Join(
		orders.ChangePrefix(tx, prefix, func(o *order) bool { return record.Rename(&o.AssetID, from, to) }),
		schedules.ChangePrefix(tx, prefix, func(r *schedule) bool { return record.Rename(&r.AssetID, from, to) }),
		boms.ChangePrefix(tx, prefix, func(b *bom) bool { return record.Rename(&b.AssetID, from, to) }))
}
