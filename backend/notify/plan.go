package notify

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Statuses of an entry.
const (
	StatusDue        = "due"        // it is sent
	StatusHeld       = "held"       // it waits for its time
	StatusGrouped    = "grouped"    // it is part of a summary
	StatusSuperseded = "superseded" // a later message of the incident replaced it
	StatusSuppressed = "suppressed" // it is not sent
)

// Reasons of held entries.
const (
	heldQuiet = "quiet"
	heldFlood = "flood"
)

// Entry is a planned message to a recipient, or the record of one that is not sent.
type Entry struct {
	ID         string    `json:"entry_id" limit:"id"`
	Owner      string    `json:"owner" limit:"id"`     // of the route
	Recipient  string    `json:"recipient" limit:"id"` // person:ID or channel:ID; empty: all of the route
	RouteID    string    `json:"route_id,omitempty" limit:"id"`
	Step       int       `json:"step,omitempty"`
	IncidentID string    `json:"incident_id,omitempty" limit:"id"` // empty: a summary of several, a report or a test
	SiteID     string    `json:"site_id,omitempty" limit:"id"`
	At         time.Time `json:"at"`
	Status     string    `json:"status" limit:"word"`
	Held       string    `json:"held,omitempty" limit:"word"` // quiet or flood
	Until      time.Time `json:"until,omitzero"`              // of StatusHeld
	Why        string    `json:"why,omitempty" limit:"line cut"`
	Urgent     bool      `json:"urgent,omitempty"`
	SummaryID  string    `json:"summary_id,omitempty" limit:"id"` // of StatusGrouped
	Message    Message   `json:"message"`
}

// State is the history that a plan starts from, and what it leaves.
type State struct {
	Incidents []Incident // the open ones: all of the customers of the events, and all that are due
	Held      []Entry    // all that are held
	Sent      []Entry    // due ones of the last [FloodSpan]
}

// Input is what a plan is made of besides the history.
type Input struct {
	Configs []Owned
	Windows []Window
	Events  []Alarm // changes of alarms, oldest first
	Now     time.Time
	NewID   func(prefix string) string
}

// Plan is the result of [Make].
type Plan struct {
	Incidents []Incident // those that changed, and new ones
	Entries   []Entry    // new ones, and held ones whose status has changed
	Next      time.Time  // when a plan must be made again at the latest; zero: at the next event
}

// Make plans: it brings incidents up to date with the events, and decides for each
// recipient which messages are due, held or suppressed. It changes no value of the state.
func Make(s State, in Input) Plan {
	p := planning{in: in, incidents: slices.Clone(s.Incidents), held: slices.Clone(s.Held), sent: slices.Clone(s.Sent), changed: map[string]bool{}}
	for _, a := range in.Events {
		p.event(a)
	}
	for n := range p.incidents {
		i := &p.incidents[n]
		if i.Closed {
			continue
		}
		if !p.changed[i.ID] {
			if i.NextAt.IsZero() || i.NextAt.After(in.Now) {
				p.at(i.NextAt)
				continue
			}
			p.open(n)
		}
		p.evaluate(n)
		p.at(i.NextAt)
	}
	p.release()
	changed := slices.DeleteFunc(p.incidents, func(i Incident) bool { return !p.changed[i.ID] })
	return Plan{Incidents: changed, Entries: p.out, Next: p.next}
}

// evaluate brings an incident up to date, and decides about its messages.
func (p *planning) evaluate(n int) {
	i := &p.incidents[n]
	intents, silent := evaluate(p.in.Configs, i, p.in.Windows, p.in.Now)
	for _, v := range silent {
		p.out = append(p.out, Entry{ID: p.in.NewID("ntf"), Owner: v.Owner, Recipient: v.Recipient, RouteID: v.RouteID, IncidentID: i.ID, SiteID: i.SiteID, At: p.in.Now,
			Status: StatusSuppressed, Why: v.Why, Message: Message{AlertIDs: v.AlertIDs, CustomerID: i.CustomerID, SiteID: i.SiteID}})
	}
	for _, v := range intents {
		p.intent(i, v)
	}
}

// open returns an incident that may be changed.
func (p *planning) open(n int) *Incident {
	i := &p.incidents[n]
	if !p.changed[i.ID] {
		p.changed[i.ID] = true
		*i = i.clone()
	}
	return i
}

func (i Incident) clone() Incident {
	i.Alarms, i.Tracks = slices.Clone(i.Alarms), slices.Clone(i.Tracks)
	for n := range i.Alarms {
		a := &i.Alarms[n]
		a.Changes, a.Raises = slices.Clone(a.Changes), slices.Clone(a.Raises)
	}
	for n := range i.Tracks {
		t := &i.Tracks[n]
		t.Keys, t.Announced, t.Recipients, t.Silenced = slices.Clone(t.Keys), slices.Clone(t.Announced), slices.Clone(t.Recipients), slices.Clone(t.Silenced)
	}
	return i
}

type planning struct {
	in        Input
	incidents []Incident
	changed   map[string]bool // those of incidents that may differ from the state
	held      []Entry
	sent      []Entry
	out       []Entry
	next      time.Time
}

func (p *planning) at(t time.Time) {
	if t.After(p.in.Now) && (p.next.IsZero() || t.Before(p.next)) {
		p.next = t
	}
}

// event adds an alarm to the incident of its cause, or opens one.
func (p *planning) event(a Alarm) {
	for n := range p.incidents {
		i := &p.incidents[n]
		if !i.Closed && i.CustomerID == a.CustomerID && slices.ContainsFunc(i.Alarms, func(b Alarm) bool { return b.same(&a) }) {
			if a.Ended() && p.changed[i.ID] {
				p.evaluate(n) // it is announced that it began, also if it ended before the plan
			}
			p.open(n).add(a)
			return
		}
	}
	if a.Ended() || a.State == stateAcknowledged {
		return // it was never announced
	}
	for n := range p.incidents {
		if _, ok := p.incidents[n].joins(a); ok {
			p.open(n).add(a)
			return
		}
	}
	i := Incident{ID: p.in.NewID("inc"), CustomerID: a.CustomerID, SiteID: a.SiteID, OpenedAt: a.At}
	i.add(a)
	p.changed[i.ID] = true
	p.incidents = append(p.incidents, i)
}

// recipient is a person, or a channel itself.
type recipient struct {
	person *Person
	limit  int
	zone   *time.Location
}

// find returns a recipient by its key; ok is false if the configuration has none.
func find(configs []Owned, owner, key string) (r recipient, ok bool) {
	kind, id, _ := strings.Cut(key, ":")
	for _, c := range configs {
		if c.Owner != owner {
			continue
		}
		if v, found := c.Person(id); kind == "person" && found {
			return recipient{&v, cmp.Or(v.Limit, DefaultLimit), zoneOf(v.Zone)}, true
		}
		if v, found := c.Channel(id); kind == "channel" && found {
			return recipient{nil, cmp.Or(v.Limit, DefaultLimit), time.UTC}, true
		}
	}
	return r, false
}

// intent decides about a message to a recipient.
func (p *planning) intent(i *Incident, v Intent) {
	r, ok := find(p.in.Configs, v.Owner, v.Recipient)
	if !ok {
		return
	}
	e := Entry{ID: p.in.NewID("ntf"), Owner: v.Owner, Recipient: v.Recipient, RouteID: v.RouteID, Step: v.Step, IncidentID: i.ID, SiteID: i.SiteID, At: p.in.Now,
		Urgent: v.Urgent, Why: v.Why, Status: StatusDue}
	e.Message = Render(v, i, r.zone)
	e.Message.ID = e.ID
	e.Message.At = p.in.Now
	switch {
	case r.person != nil && !AtLeast(v.Priority, r.person.Threshold, "normal"):
		e.Status, e.Why = StatusSuppressed, "below the threshold of the person, "+r.person.Threshold
	default:
		if r.person != nil && !v.Urgent {
			if open, why := r.person.Open(p.in.Now); !open {
				e.Status, e.Held, e.Until, e.Why = StatusHeld, heldQuiet, r.person.NextOpen(p.in.Now), why
			}
		}
		if e.Status == StatusDue && len(p.recent(e)) >= r.limit-1 {
			e.Status, e.Held, e.Until, e.Why = StatusHeld, heldFlood, p.in.Now.Add(summaryDelay), "limit of messages in ten minutes"
		}
	}
	if e.Status == StatusSuppressed {
		p.out = append(p.out, e)
		return
	}
	p.supersede(e)
	if e.Status == StatusHeld {
		p.held = append(p.held, e)
	} else {
		p.sent = append(p.sent, e)
	}
	p.out = append(p.out, e)
}

// supersede replaces held messages of the same incident to the same recipient: the new
// one says what they would.
func (p *planning) supersede(e Entry) {
	p.held = slices.DeleteFunc(p.held, func(h Entry) bool {
		if h.IncidentID != e.IncidentID || h.Recipient != e.Recipient || h.Owner != e.Owner {
			return false
		}
		h.Status, h.SummaryID, h.Why = StatusSuperseded, e.ID, "replaced by a later message of the incident"
		p.change(h)
		return true
	})
}

// change records the new status of an entry.
func (p *planning) change(e Entry) {
	for n := range p.out {
		if p.out[n].ID == e.ID {
			p.out[n] = e
			return
		}
	}
	p.out = append(p.out, e)
}

// recent returns the times of messages to the recipient of e in the last FloodSpan.
func (p *planning) recent(e Entry) (list []time.Time) {
	for _, s := range p.sent {
		if s.Recipient == e.Recipient && s.Owner == e.Owner && p.in.Now.Sub(s.At) < FloodSpan {
			list = append(list, s.At)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// summaryDelay is how long messages above the limit are collected.
const summaryDelay = time.Minute

// release sends held messages whose time has come, as one summary for each recipient.
func (p *planning) release() {
	type key struct{ owner, recipient string }
	var keys []key
	groups := map[key][]Entry{}
	for _, h := range p.held {
		k := key{h.Owner, h.Recipient}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], h)
	}
	for _, k := range keys {
		p.releaseTo(k.owner, k.recipient, groups[k])
	}
}

func (p *planning) releaseTo(owner, to string, held []Entry) {
	r, ok := find(p.in.Configs, owner, to)
	if !ok {
		for _, h := range held {
			h.Status, h.Why = StatusSuppressed, "the recipient was removed"
			p.change(h)
		}
		return
	}
	var due []Entry
	var ready time.Time // of the first that can be sent
	for _, h := range held {
		if r.person != nil && !h.Urgent {
			if open, _ := r.person.Open(p.in.Now); !open {
				until := r.person.NextOpen(p.in.Now)
				if !h.Until.Equal(until) {
					_, why := r.person.Open(p.in.Now)
					h.Held, h.Until, h.Why = heldQuiet, until, why
					p.change(h)
				}
				p.at(until)
				continue
			}
		}
		at := p.in.Now
		if h.Held == heldFlood {
			at = h.At.Add(summaryDelay)
		}
		if ready.IsZero() || at.Before(ready) {
			ready = at
		}
		due = append(due, h)
	}
	if len(due) == 0 {
		return
	}
	if p.in.Now.Before(ready) {
		p.at(ready)
		return
	}
	if recent := p.recent(due[0]); len(recent) >= r.limit {
		free := recent[len(recent)-r.limit].Add(FloodSpan)
		p.at(free)
		for _, h := range due {
			if h.Held != heldFlood || !h.Until.Equal(free) {
				h.Held, h.Until, h.Why = heldFlood, free, "limit of messages in ten minutes"
				p.change(h)
			}
		}
		return
	}
	if len(due) == 1 && due[0].Held == heldFlood {
		e := due[0]
		e.Status, e.Until, e.At = StatusDue, time.Time{}, p.in.Now
		e.Why = "after the limit of messages in ten minutes"
		p.sent = append(p.sent, e)
		p.change(e)
		return
	}
	summary := Entry{ID: p.in.NewID("ntf"), Owner: owner, Recipient: to, At: p.in.Now, Status: StatusDue, Why: due[0].Why}
	summary.Message = Summarize(due, r.zone)
	summary.Message.ID, summary.Message.At = summary.ID, p.in.Now
	summary.SiteID = summary.Message.SiteID
	for _, h := range due {
		h.Status, h.SummaryID = StatusGrouped, summary.ID
		p.change(h)
	}
	p.sent = append(p.sent, summary)
	p.out = append(p.out, summary)
}
