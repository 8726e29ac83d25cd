package state

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"app.sunloop/backend/api"
)

// Query names one thing that is asked of the service for the site on screen.
type Query string

// Need is a wish of the screen: this query, this often.
type Need struct {
	Query   Query
	Of      string // the thing that a query about one thing is about
	Period  time.Duration
	Focused bool // of the pane that has the keys; others are asked less often
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

// Planner decides which queries to send: none twice at once, at most 60 in any
// minute, less often when unfocused or idle, later after failures and never
// before a Retry-After has passed. It is pure: the caller sends, and reports.
// The zero Planner is ready to use.
type Planner struct {
	Budget   int     // requests a minute; 0 means 60
	Pace     float64 // stretches every period; 0 means 1
	queries  map[Query]*plan
	sent     []time.Time // of the last minute
	blocked  time.Time   // no request before, by Retry-After
	left     int         // requests that the service allowed when it last said so
	leftAt   time.Time   // when that was; zero: never
	reset    time.Time   // when the service allows one more
	lastUsed time.Time   // last key of the person at the console

	// Announced is until when a stream announces what changes; zero: there is none. Until
	// then the queries of [Planner.Changed] rest for a minute unless something changed.
	Announced time.Time
}

// announcedPeriod is how often a query is sent at least whose changes are announced: some
// of its answer follows the clock.
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

// MarkActive says that a person did something, so that idle polling ends.
func (p *Planner) MarkActive(now time.Time) { p.lastUsed = now }

// Invalidate makes a query due at once, as when the person asks for fresh data.
func (p *Planner) Invalidate(queries ...Query) {
	for _, q := range queries {
		if pl := p.queries[q]; pl != nil {
			pl.asked, pl.retry, pl.failures = time.Time{}, time.Time{}, 0
		}
	}
}

// Drop removes a query completely, also its request in progress. Its answer
// must be dropped by the caller.
func (p *Planner) Drop(q Query) { delete(p.queries, q) }

// Reset forgets everything, as when another site comes on screen.
// Responses to requests in progress must be dropped by the caller.
func (p *Planner) Reset() { p.queries = nil }

// Due are the queries to send now, most overdue first; each counts as sent.
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

// period is how long a need rests between two requests.
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

// takeToken takes one request out of the minute's budget.
func (p *Planner) takeToken(now time.Time) bool {
	p.sent = slices.DeleteFunc(p.sent, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	budget := p.Budget
	if budget <= 0 {
		budget = requestsPerMinute
	}
	if len(p.sent) >= budget || p.exhausted(now) {
		return false
	}
	p.sent = append(p.sent, now)
	return true
}

// reserve is how many of the allowed requests stay for what a person does, and
// for other consoles with the same key.
const reserve = 3

// Allow takes what the service said of its limit with an answer: how many
// requests it still allows, -1 if it did not say, and when it allows one more.
// Other users of the same key have their part in it.
func (p *Planner) Allow(left int, reset time.Duration, now time.Time) {
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

// Failed reports a failure and answers when the query is tried again.
// retryAfter is the service's own wish and holds for every query.
func (p *Planner) Failed(q Query, now time.Time, retryAfter time.Duration) time.Time {
	pl := p.plan(q)
	pl.flying = false
	wait := min(firstBackoff<<min(pl.failures, 10), longestBackoff)
	pl.failures++
	// A little different for each query, so that they do not return together.
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
