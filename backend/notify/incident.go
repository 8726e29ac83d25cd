package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// States of an alarm, after ISA-18.2.
const (
	stateUnacknowledged = "unack"
	stateAcknowledged   = "ack"
	stateReturned       = "rtn-unack"
	stateShelved        = "shelved"
	stateSuppressed     = "suppressed"
	stateCleared        = "cleared"
)

// Alarm is an alarm at a time. A nil number is unknown.
type Alarm struct {
	AlertID        string    `json:"alert_id" limit:"id"`
	CustomerID     string    `json:"customer_id" limit:"id"`
	SiteID         string    `json:"site_id" limit:"id"`
	SiteName       string    `json:"site_name,omitempty" limit:"name cut"`
	AssetID        string    `json:"asset_id,omitempty" limit:"id"`
	AssetIDs       []string  `json:"asset_ids,omitempty" limit:"10000 id cut"` // all units, if there are several
	Family         string    `json:"family" limit:"word cut"`
	Priority       string    `json:"priority" limit:"word"`
	State          string    `json:"state" limit:"word"`
	Text           string    `json:"text" limit:"line cut"`
	Onset          time.Time `json:"onset"` // when the fault began
	At             time.Time `json:"at"`    // of this state
	LostKW         *float64  `json:"lost_kw,omitempty"`
	LostKWh        *float64  `json:"lost_kwh,omitempty"`
	MoneyAtRisk    *Money    `json:"money_at_risk,omitempty"`
	Until          time.Time `json:"until,omitzero"` // of shelving or suppression; zero: until it is ended
	AcknowledgedBy string    `json:"acknowledged_by,omitempty" limit:"name cut"`

	RaisedAt time.Time   `json:"raised_at,omitzero"`                // last time that it was raised
	Changes  []time.Time `json:"changes,omitempty" limit:"50 last"` // of the fault coming and going, oldest first
	Raises   []time.Time `json:"raises,omitempty" limit:"50 last"`  // those of Changes at which it came
}

// Ended reports whether the fault is gone.
func (a Alarm) Ended() bool { return a.State == stateReturned || a.State == stateCleared }

// key identifies the kind of alarm: a family at a unit of a site. An alarm that is raised
// again may be another alert.
func (a Alarm) key() string { return strings.Join([]string{a.SiteID, a.AssetID, a.Family}, "\x00") }

// same reports whether two alarms have one key.
func (a *Alarm) same(b *Alarm) bool {
	return a.SiteID == b.SiteID && a.AssetID == b.AssetID && a.Family == b.Family
}

// connection reports whether the alarm means that data do not arrive: a portal or a
// connection may be the cause for several sites.
func (a Alarm) connection() bool {
	return a.Family == "communication_gap" || a.Family == "data_silence"
}

// Window is planned maintenance of a site, or of one of its units.
type Window struct {
	ID      string // of the schedule or the work order
	SiteID  string
	AssetID string // empty: the whole site
	From    time.Time
	To      time.Time // zero: until it is ended
}

func (w Window) covers(a Alarm, at time.Time) bool {
	return w.SiteID == a.SiteID && (w.AssetID == "" || w.AssetID == a.AssetID || slices.Contains(a.AssetIDs, w.AssetID) && len(a.AssetIDs) == 1) &&
		!at.Before(w.From) && (w.To.IsZero() || at.Before(w.To))
}

// Incident is a group of alarms with one cause.
type Incident struct {
	ID         string    `json:"incident_id" limit:"id"`
	CustomerID string    `json:"customer_id" limit:"id"`
	SiteID     string    `json:"site_id" limit:"id"` // of its first alarm
	OpenedAt   time.Time `json:"opened_at"`
	Alarms     []Alarm   `json:"alarms" limit:"10000"`
	Tracks     []Track   `json:"tracks,omitempty" limit:"1000"`
	NextAt     time.Time `json:"next_at,omitzero"`  // when it is evaluated again; zero: at the next event
	EndedAt    time.Time `json:"ended_at,omitzero"` // when its last alarm ended
	Closed     bool      `json:"closed,omitempty"`  // it takes no further alarms
}

// Track is the progress of an incident along a route.
type Track struct {
	Owner      string    `json:"owner" limit:"id"` // of the route
	RouteID    string    `json:"route_id" limit:"id"`
	Keys       []string  `json:"keys,omitempty" limit:"10000 token"`      // of the alarms that the route selects
	Announced  []string  `json:"announced,omitempty" limit:"10000 token"` // those of Keys that recipients know
	Priority   string    `json:"priority,omitempty" limit:"word"`         // that recipients know
	Step       int       `json:"step"`                                    // the next one
	StepAt     time.Time `json:"step_at,omitzero"`                        // of the last one
	Repeats    int       `json:"repeats,omitempty"`
	Paused     bool      `json:"paused,omitempty"` // nothing requires a person: escalation waits
	UpdateAt   time.Time `json:"update_at,omitzero"`
	Recipients []string  `json:"recipients,omitempty" limit:"1000 id"`
	AllClear   bool      `json:"all_clear,omitempty"`                       // it was announced that all alarms ended
	Silenced   []string  `json:"silenced,omitempty" limit:"10000 line cut"` // alarm and reason, which are recorded once
}

// Intent is a message to a recipient before the recipient's hours and limits are looked at.
type Intent struct {
	Owner     string
	RouteID   string
	Recipient string // person:ID or channel:ID
	Step      int    // number of the step, from 1
	Kind      Kind
	Urgent    bool // it is sent in quiet hours too
	Priority  string
	Alarms    []Alarm
	Why       string // rotation and turn, or the step
}

// Suppressed is an alarm, or a message about it, that reaches no recipient.
type Suppressed struct {
	Owner     string
	RouteID   string
	Recipient string // empty: all of the route
	AlertIDs  []string
	Why       string
}

// add adds the present state of an alarm to the incident, or replaces a former state of it.
func (i *Incident) add(a Alarm) {
	for n := range i.Alarms {
		old := &i.Alarms[n]
		if !old.same(&a) {
			continue
		}
		if a.At.Before(old.At) && a.AlertID == old.AlertID {
			return
		}
		was := *old
		*old = a
		old.Changes, old.Raises, old.RaisedAt = was.Changes, was.Raises, was.RaisedAt
		if was.Ended() != a.Ended() {
			old.change()
		} else if was.State != a.State && a.State == stateUnacknowledged {
			old.RaisedAt = a.At // unshelved, or urgent again: it is announced again
		}
		i.reopen(a)
		return
	}
	a.Changes, a.Raises = nil, nil
	a.change()
	i.Alarms = append(i.Alarms, a)
	i.reopen(a)
}

func (i *Incident) reopen(a Alarm) {
	if !a.Ended() {
		i.EndedAt = time.Time{}
	}
}

func (a *Alarm) change() {
	a.Changes = lastTimes(append(a.Changes, a.At))
	if !a.Ended() {
		a.Raises = lastTimes(append(a.Raises, a.At))
		a.RaisedAt = a.At
	}
}

// lastTimes bounds a list.
func lastTimes(list []time.Time) []time.Time {
	return list[max(0, len(list)-20):]
}

// chatters reports whether the alarm chatters, and until when if it does not change again.
func (a Alarm) chatters(now time.Time) (until time.Time, yes bool) {
	fast := func(list []time.Time, count int, span time.Duration) (at time.Time, ok bool) {
		for n := len(list) - 1; n >= count-1; n-- {
			if list[n].Sub(list[n-count+1]) <= span {
				return list[n], true
			}
		}
		return at, false
	}
	_, chattering := fast(a.Changes, chatterCount, chatterSpan)
	_, repeating := fast(a.Raises, repeatCount, repeatSpan)
	if !chattering && !repeating || len(a.Changes) == 0 {
		return until, false
	}
	// It is calm when it has not changed for calmSpan: changes before such a pause count no more.
	last := a.Changes[len(a.Changes)-1]
	until = last.Add(calmSpan)
	return until, now.Before(until)
}

// maxAlarms bounds an incident, which is one record.
const maxAlarms = 2000

// joins reports whether a new alarm belongs to the incident, because of which cause.
func (i *Incident) joins(a Alarm) (cause string, ok bool) {
	if i.Closed || i.CustomerID != a.CustomerID || len(i.Alarms) >= maxAlarms {
		return "", false
	}
	for n := range i.Alarms {
		b := &i.Alarms[n]
		switch raised := a.At.Sub(b.RaisedAt).Abs() <= groupSpan; {
		case b.Ended():
		case a.connection() && b.connection() && (a.SiteID == b.SiteID || a.At.Sub(b.RaisedAt).Abs() <= connectionSpan):
			return "connection lost", true
		case a.SiteID != b.SiteID:
		case a.Onset.Sub(b.Onset).Abs() <= groupSpan && a.At.Sub(i.OpenedAt) < 24*time.Hour:
			return "the same site and minute", true
		case raised && a.Family == b.Family:
			return "the same site, family and minute", true
		}
	}
	return "", false
}

// silence returns why no one is notified of an alarm now, and until when; a zero time
// means until it changes.
func silence(a Alarm, windows []Window, now time.Time) (why string, until time.Time) {
	switch a.State {
	case stateShelved:
		if a.Until.IsZero() || now.Before(a.Until) {
			return "shelved", a.Until
		}
	case stateSuppressed:
		if a.Until.IsZero() || now.Before(a.Until) {
			return "suppressed", a.Until
		}
	}
	for _, w := range windows {
		if w.covers(a, now) {
			return "maintenance window " + w.ID, w.To
		}
	}
	if until, yes := a.chatters(now); yes {
		return "chattering", until
	}
	return "", time.Time{}
}

// Selects reports whether the route selects an alarm, and why not.
func (r Route) Selects(a Alarm) (ok bool, why string) {
	number := func(v *float64, least float64, what string) string {
		switch {
		case least == 0:
		case v == nil:
			return what + " is unknown"
		case *v < least:
			return fmt.Sprintf("%s is %.4g, below %.4g", what, *v, least)
		}
		return ""
	}
	var money *float64
	if a.MoneyAtRisk != nil {
		money = &a.MoneyAtRisk.Amount
	}
	raised := a.RaisedAt
	if raised.IsZero() {
		raised = a.At
	}
	switch {
	case r.Disabled:
		why = "the route is disabled"
	case len(r.Customers) > 0 && !slices.Contains(r.Customers, a.CustomerID):
		why = "another customer"
	case len(r.Sites) > 0 && !slices.Contains(r.Sites, a.SiteID):
		why = "another site"
	case len(r.Families) > 0 && !slices.Contains(r.Families, a.Family):
		why = "another family"
	case !AtLeast(a.Priority, r.Priority, DefaultPriority):
		why = "its priority is " + a.Priority
	case len(r.Hours) > 0 && !within(r.Hours, raised, zoneOf(r.Zone)):
		why = "it was raised outside the hours of the route"
	default:
		for _, reason := range []string{number(a.LostKW, r.MinKW, "power at risk in kW"), number(a.LostKWh, r.MinKWh, "lost energy in kWh"), number(money, r.MinMoney, "money at risk")} {
			if why == "" {
				why = reason
			}
		}
	}
	return why == "", why
}

// track returns that of a route, which it creates.
func (i *Incident) track(owner string, r Route) *Track {
	for n := range i.Tracks {
		if i.Tracks[n].RouteID == r.ID && i.Tracks[n].Owner == owner {
			return &i.Tracks[n]
		}
	}
	i.Tracks = append(i.Tracks, Track{Owner: owner, RouteID: r.ID})
	return &i.Tracks[len(i.Tracks)-1]
}

// Owned is the configuration of an owner: "*" for the operator of the service, else a
// customer, whose routes select only alarms of that customer.
type Owned struct {
	Owner string
	Config
}

// evaluate brings an incident up to date: it returns the messages that are due now, and
// what is silent, and sets NextAt. Evaluate is idempotent: at the same time it returns
// nothing more.
func evaluate(configs []Owned, i *Incident, windows []Window, now time.Time) (intents []Intent, silent []Suppressed) {
	e := evaluation{incident: i, windows: windows, now: now}
	for _, c := range configs {
		if c.Owner != "*" && c.Owner != i.CustomerID {
			continue
		}
		for _, r := range c.Routes {
			e.route(c, r)
		}
	}
	ended := !slices.ContainsFunc(i.Alarms, func(a Alarm) bool { return !a.Ended() })
	switch {
	case !ended:
		i.EndedAt = time.Time{}
	case i.EndedAt.IsZero():
		for _, a := range i.Alarms {
			if a.At.After(i.EndedAt) {
				i.EndedAt = a.At
			}
		}
	}
	if ended {
		// It waits for a repetition before it is closed.
		if at := i.EndedAt.Add(repeatSpan); now.Before(at) || !e.next.IsZero() {
			if now.Before(at) {
				e.at(at)
			}
		} else {
			i.Closed = true
		}
	}
	i.NextAt = e.next
	return e.intents, e.silent
}

type evaluation struct {
	incident *Incident
	windows  []Window
	now      time.Time
	next     time.Time
	intents  []Intent
	silent   []Suppressed
}

// at asks for another evaluation.
func (e *evaluation) at(t time.Time) {
	if t.After(e.now) && (e.next.IsZero() || t.Before(e.next)) {
		e.next = t
	}
}

func (e *evaluation) route(c Owned, r Route) {
	var t *Track
	for _, a := range e.incident.Alarms {
		known := t != nil && slices.Contains(t.Keys, a.key())
		if t == nil {
			for n := range e.incident.Tracks {
				if x := &e.incident.Tracks[n]; x.RouteID == r.ID && x.Owner == c.Owner {
					t, known = x, slices.Contains(x.Keys, a.key())
				}
			}
		}
		if ok, _ := r.Selects(a); !known && (!ok || a.Ended() || a.State == stateAcknowledged) {
			continue
		}
		if !known {
			t = e.incident.track(c.Owner, r)
			t.Keys = append(t.Keys, a.key())
		}
	}
	if t == nil || r.Disabled || len(r.Steps) == 0 {
		return
	}
	var live, ended []Alarm // live ones require a person
	waiting := false        // ended ones that may come back, because they chatter
	open := 0
	for _, a := range e.incident.Alarms {
		if !slices.Contains(t.Keys, a.key()) {
			continue
		}
		why, until := silence(a, e.windows, e.now)
		if a.Ended() {
			ended = append(ended, a)
			if why == "chattering" {
				waiting = true
				e.at(until)
			}
			continue
		}
		open++
		if why != "" {
			e.at(until)
			e.silence(t, a, why)
			continue
		}
		if a.State != stateAcknowledged {
			live = append(live, a)
		}
	}
	e.advance(c, r, t, live, ended, open, waiting)
}

// silence records once why an alarm is silent.
func (e *evaluation) silence(t *Track, a Alarm, why string) {
	mark := a.key() + "\x00" + why
	if slices.Contains(t.Silenced, mark) {
		return
	}
	t.Silenced = append(t.Silenced, mark)
	e.silent = append(e.silent, Suppressed{Owner: t.Owner, RouteID: t.RouteID, AlertIDs: []string{a.AlertID}, Why: why})
}

func (e *evaluation) advance(c Owned, r Route, t *Track, live, ended []Alarm, open int, waiting bool) {
	if t.Step == 0 {
		if len(live) == 0 {
			if open == 0 && !waiting {
				for _, a := range ended {
					e.silence(t, a, "it ended before the first message was due")
				}
			}
			return
		}
		raised := live[0].RaisedAt
		for _, a := range live {
			if a.RaisedAt.Before(raised) {
				raised = a.RaisedAt
			}
		}
		if due := raised.Add(time.Duration(r.Steps[0].After) * time.Minute); e.now.Before(due) {
			e.at(due)
			return
		}
		t.announce(live)
		e.step(c, r, t, KindRaised, live)
		e.escalationAt(r, t)
		return
	}
	if open == 0 {
		if !t.AllClear && !waiting {
			t.AllClear, t.UpdateAt = true, time.Time{}
			e.send(c, r, t, KindAllClear, t.Recipients, ended, "")
		}
		return
	}
	fresh := slices.ContainsFunc(live, func(a Alarm) bool { return !slices.Contains(t.Announced, a.mark()) })
	if t.AllClear && len(live) > 0 { // raised again after the all-clear: it begins again
		t.AllClear, t.Step, t.Repeats, t.Paused, t.Priority, t.Announced, t.Recipients = false, 0, 0, false, "", nil, nil
		e.advance(c, r, t, live, ended, open, waiting)
		return
	}
	worse := len(live) > 0 && rank(worst(live)) < rank(t.Priority)
	switch {
	case worse:
		t.UpdateAt = e.now
	case fresh && t.UpdateAt.IsZero():
		t.UpdateAt = e.now.Add(updateDelay)
	case !fresh:
		t.UpdateAt = time.Time{}
	}
	if !t.UpdateAt.IsZero() {
		if e.now.Before(t.UpdateAt) {
			e.at(t.UpdateAt)
		} else {
			t.UpdateAt = time.Time{}
			t.announce(live)
			e.send(c, r, t, KindUpdate, t.Recipients, live, "")
		}
	}
	if len(live) == 0 { // acknowledged or silent: no escalation
		t.Paused = true
		return
	}
	if t.Paused { // the time until the next step begins again
		t.Paused, t.StepAt = false, e.now
	}
	for due := t.due(r); !due.IsZero() && !e.now.Before(due); due = t.due(r) {
		t.announce(live)
		e.step(c, r, t, KindEscalated, live)
	}
	e.escalationAt(r, t)
}

// mark is the alarm in one of its occurrences.
func (a Alarm) mark() string { return a.key() + "\x00" + a.RaisedAt.UTC().Format(time.RFC3339Nano) }

// announce notes what recipients know.
func (t *Track) announce(live []Alarm) {
	for _, a := range live {
		if !slices.Contains(t.Announced, a.mark()) {
			t.Announced = append(t.Announced, a.mark())
		}
	}
	if w := worst(live); t.Priority == "" || rank(w) < rank(t.Priority) {
		t.Priority = w
	}
}

// due returns when the next step, or the next repetition of the last one, is due; zero
// if none is.
func (t *Track) due(r Route) time.Time {
	if t.Step < len(r.Steps) {
		return t.StepAt.Add(time.Duration(r.Steps[t.Step].After) * time.Minute)
	}
	repeat := r.Repeat
	if repeat == 0 {
		repeat = r.Steps[len(r.Steps)-1].After
	}
	if repeat <= 0 {
		return time.Time{}
	}
	return t.StepAt.Add(time.Duration(repeat) * time.Minute)
}

func (e *evaluation) escalationAt(r Route, t *Track) {
	if due := t.due(r); !due.IsZero() {
		e.at(due)
	}
}

// step runs the next step, or the last one again.
func (e *evaluation) step(c Owned, r Route, t *Track, kind Kind, alarms []Alarm) {
	n := min(t.Step, len(r.Steps)-1)
	if t.Step >= len(r.Steps) {
		t.Repeats++
	}
	t.Step, t.StepAt = min(t.Step+1, len(r.Steps)), e.now
	for _, to := range r.Steps[n].To {
		recipient, why := c.resolve(to, e.now)
		if recipient == "" {
			e.silent = append(e.silent, Suppressed{Owner: t.Owner, RouteID: t.RouteID, Recipient: to, AlertIDs: alertIDs(alarms), Why: why})
			continue
		}
		if !slices.Contains(t.Recipients, recipient) {
			t.Recipients = append(t.Recipients, recipient)
		}
		e.add(c, r, Intent{Owner: t.Owner, RouteID: r.ID, Recipient: recipient, Step: n + 1, Kind: kind, Alarms: alarms, Why: why})
	}
}

func (e *evaluation) send(c Owned, r Route, t *Track, kind Kind, to []string, alarms []Alarm, why string) {
	for _, recipient := range to {
		e.add(c, r, Intent{Owner: t.Owner, RouteID: r.ID, Recipient: recipient, Step: t.Step, Kind: kind, Alarms: alarms, Why: why})
	}
}

// add adds a message, unless the recipient gets one about the same alarms by another
// route or target now.
func (e *evaluation) add(c Owned, r Route, n Intent) {
	n.Priority = worst(n.Alarms)
	n.Urgent = AtLeast(n.Priority, r.UrgentFrom, DefaultUrgentFrom)
	for k := range e.intents {
		other := &e.intents[k]
		if other.Owner != n.Owner || other.Recipient != n.Recipient {
			continue
		}
		for _, a := range n.Alarms {
			if !slices.ContainsFunc(other.Alarms, func(b Alarm) bool { return a.key() == b.key() }) {
				other.Alarms = append(slices.Clip(other.Alarms), a)
			}
		}
		other.Priority, other.Urgent = worst(other.Alarms), other.Urgent || n.Urgent
		if other.Kind == KindAllClear && n.Kind != KindAllClear {
			other.Kind = n.Kind
		}
		if other.RouteID != n.RouteID {
			e.silent = append(e.silent, Suppressed{Owner: n.Owner, RouteID: n.RouteID, Recipient: n.Recipient, AlertIDs: alertIDs(n.Alarms), Why: "the same message is sent by route " + other.RouteID})
		}
		return
	}
	e.intents = append(e.intents, n)
}

// resolve returns the recipient of a target, and why it is this one; empty if no one is.
func (c Config) resolve(to string, at time.Time) (recipient, why string) {
	kind, id, _ := strings.Cut(to, ":")
	switch kind {
	case "rotation":
		for _, r := range c.Rotations {
			if r.ID != id {
				continue
			}
			person, reason := r.OnCall(at)
			if person == "" {
				return "", reason
			}
			if found, why := c.resolve("person:"+person, at); found == "" {
				return "", why
			}
			return "person:" + person, "on call in rotation " + id + ": " + reason
		}
	case "person":
		if p, ok := c.Person(id); ok {
			if p.Disabled {
				return "", "person " + id + " is disabled"
			}
			return to, "recipient of the route"
		}
	case "channel":
		if ch, ok := c.Channel(id); ok {
			if ch.Disabled {
				return "", "channel " + id + " is disabled"
			}
			return to, "recipient of the route"
		}
	}
	return "", to + " does not exist"
}

// Person returns a person.
func (c Config) Person(id string) (Person, bool) {
	for _, p := range c.People {
		if p.ID == id {
			return p, true
		}
	}
	return Person{}, false
}

// Channel returns a channel.
func (c Config) Channel(id string) (Channel, bool) {
	for _, v := range c.Channels {
		if v.ID == id {
			return v, true
		}
	}
	return Channel{}, false
}

func worst(list []Alarm) string {
	out := ""
	for _, a := range list {
		if out == "" || rank(a.Priority) < rank(out) {
			out = a.Priority
		}
	}
	return out
}

func alertIDs(list []Alarm) (ids []string) {
	for _, a := range list {
		if !slices.Contains(ids, a.AlertID) {
			ids = append(ids, a.AlertID)
		}
	}
	return ids
}
