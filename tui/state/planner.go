package state

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"app.sunloop/backend/api"
)

// Query names a kind of request to the service for the site on screen.
type Query string

// Need is a query that the screen needs, with its period.
type Need struct {
	Query   Query
	Of      string // the thing that a query about one thing is about
	Period  time.Duration
	Focused bool // of the pane that has the keys; others are sent less often
	Hidden  bool // not on screen: not requested
}

// The planner's rules.
const (
	requestsPerMinute = 60
	unfocusedFactor   = 3
	idleFactor        = 5
	idleAfter         = 10 * time.Minute
	firstBackoff      = 2 * time.Second
	longestBackoff    = time.Minute
)

// Planner decides which queries to send: none twice at once, in any minute at most
// as many as the service allows (60 until it states that), less often when unfocused
// or idle, later after failures and never before a Retry-After has passed. It is pure:
// the caller sends, and reports. The zero Planner is ready to use.
type Planner struct {
	Pace     float64 // stretches every period; 0 means 1
	queries  map[Query]*plan
	sent     []time.Time // of the last minute
	blocked  time.Time   // no request before, by Retry-After
	quota    int         // requests that the service allows in a minute; 0: not stated yet
	left     int         // requests that the service allowed in its last response
	leftAt   time.Time   // when that was; zero: never
	reset    time.Time   // when the service allows one more
	lastUsed time.Time   // last key of the user

	// Announced is until when a stream announces what changes; zero: there is none. Until
	// then the queries of [Planner.Changed] rest for a minute unless something changed.
	Announced time.Time
}

// announcedPeriod is the longest period of a query whose changes are announced: a part
// of its response depends on the time.
const announcedPeriod = time.Minute

// announced are the queries whose answers change with an event of a stream, by its kind.
var announced = map[string][]Query{
	api.StreamTelemetry: {QuerySummary, QueryDay, QueryFleet},
	api.StreamAlert:     {QueryAlerts, QueryAlertLog, QueryFleet},
	api.StreamFinding:   {QueryFindings, QueryAlerts, QueryActivities, QueryFleet},
	api.StreamOrder:     {QueryOrders, QueryOrder},
	api.StreamForecast:  {QueryForecast, QuerySummary},
}

// resting are the queries that rest while a stream announces what changes.
var resting = []Query{QuerySummary, QueryDay, QueryAlerts, QueryFindings, QueryOrders, QueryForecast}

// Changed says that a stream announced a change of a kind: its queries are due as often as
// the views want.
func (p *Planner) Changed(kind string) {
	for _, q := range announced[kind] {
		p.plan(q).changed = true
	}
}

type plan struct {
	flying   bool
	asked    time.Time
	failures int
	retry    time.Time
	changed  bool // since it was sent
}

// MarkActive records an action of the user, which ends idle polling.
func (p *Planner) MarkActive(now time.Time) { p.lastUsed = now }

// Invalidate makes a query due at once, for example when the user requests fresh data.
func (p *Planner) Invalidate(queries ...Query) {
	for _, q := range queries {
		if pl := p.queries[q]; pl != nil {
			pl.asked, pl.retry, pl.failures = time.Time{}, time.Time{}, 0
		}
	}
}

// InvalidateAll makes all queries due at once, for example when a file was imported and
// answers about every time of the site may differ.
func (p *Planner) InvalidateAll() {
	for q := range p.queries {
		p.Invalidate(q)
	}
}

// Drop removes a query completely, also its request in progress. Its answer
// must be dropped by the caller.
func (p *Planner) Drop(q Query) { delete(p.queries, q) }

// Reset forgets everything, for example when another site is opened.
// Responses to requests in progress must be dropped by the caller.
func (p *Planner) Reset() { p.queries = nil }

// Due returns the queries to send now, most overdue first; each counts as sent.
func (p *Planner) Due(now time.Time, needs []Need) []Query {
	if now.Before(p.blocked) {
		return nil
	}
	type candidate struct {
		query   Query
		overdue time.Duration
		focused bool
	}
	var due []candidate
	for _, n := range needs {
		if n.Hidden {
			continue
		}
		pl := p.plan(n.Query)
		if pl.flying || now.Before(pl.retry) {
			continue
		}
		late := now.Sub(pl.asked.Add(p.period(now, n)))
		if pl.failures > 0 { // the period is of answers: without one, the query is due when its wait ends
			late = now.Sub(pl.retry)
		}
		if late >= 0 {
			due = append(due, candidate{n.Query, late, n.Focused})
		}
	}
	slices.SortStableFunc(due, func(a, b candidate) int {
		if a.focused != b.focused {
			if a.focused {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.overdue, a.overdue)
	})
	var out []Query
	for _, c := range due {
		if !p.takeToken(now) {
			break
		}
		pl := p.plan(c.query)
		pl.flying, pl.asked, pl.changed = true, now, false
		out = append(out, c.query)
	}
	return out
}

// period returns the time between two requests of a need.
func (p *Planner) period(now time.Time, n Need) time.Duration {
	d := n.Period
	if p.Pace > 0 {
		d = time.Duration(float64(d) * p.Pace)
	}
	if !n.Focused {
		d *= unfocusedFactor
	}
	if !p.lastUsed.IsZero() && now.Sub(p.lastUsed) > idleAfter {
		d *= idleFactor
	}
	if now.Before(p.Announced) && slices.Contains(resting, n.Query) && !p.plan(n.Query).changed {
		d = max(d, announcedPeriod)
	}
	return d
}

// takeToken takes one request from the minute's budget.
func (p *Planner) takeToken(now time.Time) bool {
	p.sent = slices.DeleteFunc(p.sent, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	budget := requestsPerMinute
	if p.quota > 0 {
		budget = p.quota
	}
	if len(p.sent) >= budget || p.exhausted(now) {
		return false
	}
	p.sent = append(p.sent, now)
	return true
}

// reserve is how many of the allowed requests are kept for actions of the user, and
// for other consoles with the same key.
const reserve = 3

// Allow records the rate limit that a response states: how many requests are still
// allowed, -1 if unknown, how many a minute allows, 0 if unknown, and when one more is
// allowed. Other users of the same key share it.
func (p *Planner) Allow(left, quota int, reset time.Duration, now time.Time) {
	if quota > 0 {
		p.quota = quota
	}
	if left >= 0 {
		p.left, p.leftAt, p.reset = left, now, now.Add(reset)
	}
}

// exhausted reports whether the requests that the service allowed are spent
// except the reserve, and none has become free since.
func (p *Planner) exhausted(now time.Time) bool {
	if p.leftAt.IsZero() || !now.Before(p.reset) {
		return false
	}
	spent := 0
	for _, t := range p.sent {
		if !t.Before(p.leftAt) {
			spent++
		}
	}
	return p.left-spent <= reserve
}

// Succeeded reports an answer.
func (p *Planner) Succeeded(q Query) {
	pl := p.plan(q)
	pl.flying, pl.failures, pl.retry = false, 0, time.Time{}
}

// Failed records a failure and returns when the query is retried. retryAfter is the
// service's Retry-After and applies to all queries.
func (p *Planner) Failed(q Query, now time.Time, retryAfter time.Duration) time.Time {
	pl := p.plan(q)
	pl.flying = false
	wait := min(firstBackoff<<min(pl.failures, 10), longestBackoff)
	pl.failures++
	// Slightly different for each query, so that they are not retried together.
	h := fnv.New32a()
	h.Write([]byte(q))
	wait += wait * time.Duration(h.Sum32()%16) / 64
	pl.retry = now.Add(wait)
	if retryAfter > 0 {
		p.blocked = now.Add(retryAfter)
		if pl.retry.Before(p.blocked) {
			pl.retry = p.blocked
		}
	}
	return pl.retry
}

func (p *Planner) plan(q Query) *plan {
	if p.queries == nil {
		p.queries = map[Query]*plan{}
	}
	if p.queries[q] == nil {
		p.queries[q] = &plan{}
	}
	return p.queries[q]
}
