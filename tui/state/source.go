package state

import (
	"context"
	"errors"
	"maps"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// source is where the answer to a query comes from and where it is kept.
type source struct {
	anywhere bool // asked without a site too
	named    bool // of the thing that [Need.Of] names; nothing is asked without a name
	// prepare completes a request; nil: it is ready. ok is false when there is
	// nothing to ask.
	prepare func(s *Store, r *Request, now time.Time) (ok bool)
	ask     func(ctx context.Context, c *client.Client, r Request) (any, error)
	good    func(s *Store, r Request, answer any, now time.Time) (changed bool)
	bad     func(s *Store, err error, now, next time.Time)
	drop    func(s *Store) // forgets the value
	known   func(s *Store, now time.Time, period time.Duration) Knowledge
}

// sources are all queries.
var sources = func() map[Query]source {
	all := map[Query]source{}
	for _, part := range []map[Query]source{siteSources, workSources, adminSources, alertSources, reportSources, dailySources, notifySources} {
		maps.Copy(all, part)
	}
	return all
}()

// of is a query about the site on screen whose answer is kept as it came.
func of[T any](slot func(*Site) *Value[T], ask func(ctx context.Context, c *client.Client, r Request) (T, error)) source {
	return kept(func(s *Store) *Value[T] { return slot(s.Site) }, ask)
}

// about is a query about one thing of the site, which [Need.Of] names.
func about[T any](slot func(*Site) *Value[T], ask func(ctx context.Context, c *client.Client, r Request) (T, error)) source {
	src := of(slot, ask)
	src.named = true
	return src
}

// anywhere is a query that belongs to no site.
func anywhere[T any](slot func(*Store) *Value[T], ask func(ctx context.Context, c *client.Client, r Request) (T, error)) source {
	src := kept(slot, ask)
	src.anywhere = true
	return src
}

func kept[T any](slot func(*Store) *Value[T], ask func(ctx context.Context, c *client.Client, r Request) (T, error)) source {
	return source{
		ask: func(ctx context.Context, c *client.Client, r Request) (any, error) {
			v, err := ask(ctx, c, r)
			if nothingYet(err) {
				var none T
				return none, nil
			}
			if err != nil {
				return nil, err
			}
			return cleaned(v), nil
		},
		good: func(s *Store, _ Request, answer any, now time.Time) bool {
			v, _ := answer.(T) // as ask made it
			slot(s).Set(v, now)
			return true
		},
		bad:  func(s *Store, err error, now, next time.Time) { slot(s).SetError(err, now, next) },
		drop: func(s *Store) { *slot(s) = Value[T]{} },
		known: func(s *Store, now time.Time, period time.Duration) Knowledge {
			return slot(s).Knowledge(now, period)
		},
	}
}

// nothingYet says whether an error says no more than that there is nothing
// yet: that is an answer, not a failure.
func nothingYet(err error) bool {
	for _, nothing := range []error{api.ErrNoModel, api.ErrNoForecastResult, api.ErrNoSummaries, api.ErrNoInterpolation} {
		if errors.Is(err, nothing) {
			return true
		}
	}
	return false
}

// everyPage are the items of all pages of a list.
func everyPage[T any](ask func(api.Page) (part []T, next string, err error)) ([]T, error) {
	all := []T{}
	page := api.Page{Limit: api.MaxLimit}
	for {
		part, next, err := ask(page)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
		if page.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// Want names the thing that a query is about; empty for none. What was known
// of another one is forgotten.
func (s *Store) Want(q Query, id string) {
	src := sources[q]
	if src.named && src.anywhere && s.wanted[q] != id {
		if s.wanted == nil {
			s.wanted = map[Query]string{}
		}
		s.wanted[q] = id
		src.drop(s)
		s.Planner.Drop(q)
	}
	if !src.named || src.anywhere || s.Site == nil || s.Site.wanted[q] == id {
		return
	}
	if s.Site.wanted == nil {
		s.Site.wanted = map[Query]string{}
	}
	s.Site.wanted[q] = id
	src.drop(s)
	s.Planner.Drop(q)
}

// Wanted is the thing that a query is about, empty for none.
func (s *Site) Wanted(q Query) string { return s.wanted[q] }
