package notify

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Defaults of configuration.
const (
	DefaultLimit      = 3                // messages to a recipient in FloodSpan
	FloodSpan         = 10 * time.Minute // of the limit of messages
	DefaultUrgentFrom = "critical"
	DefaultPriority   = "moderate" // the lowest that needs an action
	updateDelay       = time.Minute
	groupSpan         = time.Minute
	connectionSpan    = 15 * time.Minute // groupSpan of lost connections: each site has its own rhythm
	chatterCount      = 3                // ISA-18.2: changes in chatterSpan that make an alarm chatter
	chatterSpan       = time.Minute      // of chatterCount
	repeatCount       = 3                // times that an alarm is raised in repeatSpan
	repeatSpan        = 30 * time.Minute // of repeatCount; an incident waits as long for repetitions
	calmSpan          = 10 * time.Minute // without a change, after which an alarm chatters no more
)

// Priorities returns all priorities, the most urgent first.
func Priorities() []string { return []string{"critical", "major", "moderate", "minor", "normal"} }

// rank orders priorities: 0 is the most urgent. An unknown priority is the least urgent.
func rank(priority string) int {
	if i := slices.Index(Priorities(), priority); i >= 0 {
		return i
	}
	return len(Priorities())
}

// AtLeast reports whether a priority is as urgent as a limit, which has a default.
func AtLeast(priority, limit, otherwise string) bool {
	if limit == "" {
		limit = otherwise
	}
	return rank(priority) <= rank(limit)
}

// Config is the configuration of the notifications of one owner: a customer, or the
// operator of the service.
type Config struct {
	Channels  []Channel
	People    []Person
	Rotations []Rotation
	Routes    []Route
}

// Channel is a way to reach recipients. Its URL and secret are kept by its owner.
type Channel struct {
	ID       string `json:"channel_id" limit:"id"`
	Name     string `json:"name,omitempty" limit:"name"`
	Kind     string `json:"kind" limit:"word"`
	Address  string `json:"address,omitempty" limit:"url"` // of messages to the channel itself
	Limit    int    `json:"limit,omitempty"`               // messages in ten minutes to the channel itself; 0: DefaultLimit
	Disabled bool   `json:"disabled,omitempty"`
}

// Address is the address of a person in a channel.
type Address struct {
	Channel  string `json:"channel_id" limit:"id"`
	Address  string `json:"address,omitempty" limit:"url"`
	Priority string `json:"priority,omitempty" limit:"word"` // the least urgent that is sent to it; empty: all
}

// Person is a recipient of messages.
type Person struct {
	ID        string    `json:"person_id" limit:"id"`
	Name      string    `json:"name,omitempty" limit:"name"`
	User      string    `json:"username,omitempty" limit:"name"` // account of the person, for the audit trail
	Zone      string    `json:"timezone,omitempty" limit:"word"` // IANA name; empty: UTC
	Addresses []Address `json:"addresses" limit:"20"`
	Threshold string    `json:"threshold,omitempty" limit:"word"` // the least urgent priority that the person receives; empty: all
	Working   []Hours   `json:"working_hours,omitempty" limit:"50"`
	Quiet     []Hours   `json:"quiet_hours,omitempty" limit:"50"`
	Limit     int       `json:"limit,omitempty"`                  // messages in ten minutes; 0: DefaultLimit
	Reports   []string  `json:"reports,omitempty" limit:"3 word"` // daily, weekly, monthly
	Numbers   string    `json:"numbers,omitempty" limit:"word"`   // of reports: point (1,234.5), comma (1.234,5), space (1 234,5); empty: point
	Disabled  bool      `json:"disabled,omitempty"`
}

// Hours are hours of some days of the week, by the clock of a time zone. If To is not
// after From, they end on the next day.
type Hours struct {
	Days []string `json:"days,omitempty" limit:"7 word"` // mon to sun, of From; none: every day
	From string   `json:"from" limit:"word"`             // 22:00
	To   string   `json:"to" limit:"word"`               // 06:00
}

// Rotation says who is on call.
type Rotation struct {
	ID        string     `json:"rotation_id" limit:"id"`
	Name      string     `json:"name,omitempty" limit:"name"`
	Zone      string     `json:"timezone,omitempty" limit:"word"`
	Start     string     `json:"start" limit:"word"`               // date of the first handover, 2026-01-05
	Handovers []string   `json:"handovers" limit:"24 word"`        // times of day, 09:00
	EveryDays int        `json:"every_days,omitempty"`             // days between handovers; 0: 7; 1 with several handovers a day
	People    []string   `json:"people" limit:"100 id"`            // in turn
	Overrides []Override `json:"overrides,omitempty" limit:"1000"` // who is on call instead
	Absences  []Override `json:"absences,omitempty" limit:"1000"`  // of people, who are then replaced by the next in turn
}

// Override names a person for a span of time.
type Override struct {
	Person string    `json:"person_id" limit:"id"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason,omitempty" limit:"text"`
}

// Route selects alarms and says who is notified of them. Empty lists select all.
type Route struct {
	ID         string   `json:"route_id" limit:"id"`
	Name       string   `json:"name,omitempty" limit:"name"`
	Customers  []string `json:"customer_ids,omitempty" limit:"1000 id"`
	Sites      []string `json:"site_ids,omitempty" limit:"1000 id"`
	Families   []string `json:"families,omitempty" limit:"100 word"`
	Priority   string   `json:"priority,omitempty" limit:"word"`    // the least urgent; empty: moderate
	MinKW      float64  `json:"min_kw,omitempty"`                   // power at risk
	MinKWh     float64  `json:"min_kwh,omitempty"`                  // energy that was lost
	MinMoney   float64  `json:"min_money,omitempty"`                // money at risk per day, in the site's currency
	Hours      []Hours  `json:"hours,omitempty" limit:"50"`         // in which alarms are raised
	Zone       string   `json:"timezone,omitempty" limit:"word"`    // of Hours; empty: UTC
	UrgentFrom string   `json:"urgent_from,omitempty" limit:"word"` // priority that is sent in quiet hours too; empty: critical
	Steps      []Step   `json:"steps" limit:"20"`
	Repeat     int      `json:"repeat_minutes,omitempty"` // of the last step; 0: its after_minutes; below 0: never
	Disabled   bool     `json:"disabled,omitempty"`
}

// Step is a step of escalation.
type Step struct {
	After int      `json:"after_minutes,omitempty"` // after the step before it, or after the alarm was raised
	To    []string `json:"to" limit:"50 id"`        // person:ID, rotation:ID or channel:ID
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// clock reads a time of day, in minutes.
func clock(text string) (int, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day such as 22:00", text)
	}
	return t.Hour()*60 + t.Minute(), nil
}

// zoneOf returns the location of a name that [Config.Check] accepted.
func zoneOf(name string) *time.Location {
	if name == "" {
		return time.UTC
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	zones.Store(name, zone)
	return zone
}

// zones are the locations of names, which never change.
var zones sync.Map

// contains reports whether a time is within the hours. The hours are those of the wall
// clock: a clock change makes them longer or shorter.
func (h Hours) contains(at time.Time, zone *time.Location) bool {
	from, err1 := clock(h.From)
	to, err2 := clock(h.To)
	if err1 != nil || err2 != nil {
		return false
	}
	local := at.In(zone)
	minute, day := local.Hour()*60+local.Minute(), int(local.Weekday())
	on := func(day int) bool { return len(h.Days) == 0 || slices.Contains(h.Days, weekdays[(day+7)%7]) }
	if from < to {
		return on(day) && minute >= from && minute < to
	}
	return on(day) && minute >= from || on(day-1) && minute < to
}

func within(list []Hours, at time.Time, zone *time.Location) bool {
	return slices.ContainsFunc(list, func(h Hours) bool { return h.contains(at, zone) })
}

// Open reports whether messages that are not urgent reach the person now, and why not.
func (p Person) Open(at time.Time) (open bool, why string) {
	zone := zoneOf(p.Zone)
	if within(p.Quiet, at, zone) {
		return false, "quiet hours"
	}
	if len(p.Working) > 0 && !within(p.Working, at, zone) {
		return false, "outside working hours"
	}
	return true, ""
}

// maxHeld is the longest time for which a message is held: hours that never open do not
// swallow messages.
const maxHeld = 8 * 24 * time.Hour

// NextOpen returns the first time that is not before at, at which messages reach the
// person. Hours change at minutes of the wall clock, which all zones share in UTC.
func (p Person) NextOpen(at time.Time) time.Time {
	if open, _ := p.Open(at); open {
		return at
	}
	// Only a boundary of the hours can open them: their minutes of each of the next days.
	zone := zoneOf(p.Zone)
	var best time.Time
	consider := func(t time.Time) {
		if t.After(at) && (best.IsZero() || t.Before(best)) {
			if open, _ := p.Open(t); open {
				best = t
			}
		}
	}
	local := at.In(zone)
	for day := -1; day <= int(maxHeld/(24*time.Hour)); day++ {
		for _, list := range [][]Hours{p.Quiet, p.Working} {
			for _, h := range list {
				for _, text := range []string{h.From, h.To} {
					m, err := clock(text)
					if err != nil {
						continue
					}
					// A boundary may be skipped by a clock change, or come twice.
					t := time.Date(local.Year(), local.Month(), local.Day()+day, 0, m, 0, 0, zone)
					consider(t)
					consider(t.Add(-time.Hour))
					consider(t.Add(time.Hour))
					consider(t.Add(-30 * time.Minute))
					consider(t.Add(30 * time.Minute))
				}
			}
		}
		if change := zoneChange(local, day, zone); !change.IsZero() {
			consider(change)
		}
	}
	if best.IsZero() {
		return at.Add(maxHeld)
	}
	return best
}

// zoneChange returns the clock change of a day relative to local, zero if it has none.
func zoneChange(local time.Time, day int, zone *time.Location) time.Time {
	noon := time.Date(local.Year(), local.Month(), local.Day()+day, 12, 0, 0, 0, zone)
	_, end := noon.ZoneBounds()
	start, _ := noon.ZoneBounds()
	for _, t := range []time.Time{start, end} {
		if !t.IsZero() && t.Sub(noon).Abs() <= 12*time.Hour {
			return t
		}
	}
	return time.Time{}
}

// Check returns an error for the first item that is not valid: its path and the reason.
func (c Config) Check() error {
	channels, people, rotations := map[string]bool{}, map[string]bool{}, map[string]bool{}
	unique := func(kind string, in map[string]bool, id string) error {
		if id == "" {
			return Invalid{kind, "", kind + "_id", "it is missing"}
		}
		if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == ':' || r == 0x7f }) {
			return Invalid{kind, id, kind + "_id", "it contains a space, a colon or a control character"}
		}
		if in[id] {
			return Invalid{kind, id, kind + "_id", "it exists twice"}
		}
		in[id] = true
		return nil
	}
	for _, v := range c.Channels {
		if err := unique("channel", channels, v.ID); err != nil {
			return err
		}
		if !slices.Contains(ChannelKinds(), v.Kind) {
			return Invalid{"channel", v.ID, "kind", "it is one of " + strings.Join(ChannelKinds(), ", ")}
		}
		if err := checkLimit("channel", v.ID, v.Limit); err != nil {
			return err
		}
	}
	for _, v := range c.People {
		if err := unique("person", people, v.ID); err != nil {
			return err
		}
		if err := v.check(channels); err != nil {
			return err
		}
	}
	for _, v := range c.Rotations {
		if err := unique("rotation", rotations, v.ID); err != nil {
			return err
		}
		if err := v.check(people); err != nil {
			return err
		}
	}
	routes := map[string]bool{}
	for _, v := range c.Routes {
		if err := unique("route", routes, v.ID); err != nil {
			return err
		}
		if err := v.check(channels, people, rotations); err != nil {
			return err
		}
	}
	return nil
}

// Invalid is an item of the configuration that is not valid.
type Invalid struct{ Kind, ID, Field, Reason string }

func (e Invalid) Error() string { return fmt.Sprintf("%s %q: %s: %s", e.Kind, e.ID, e.Field, e.Reason) }

func checkLimit(kind, id string, limit int) error {
	if limit != 0 && (limit < 2 || limit > 1000) {
		return Invalid{kind, id, "limit", "a whole number from 2 to 1000"}
	}
	return nil
}

func checkPriority(kind, id, field, priority string) error {
	if priority != "" && !slices.Contains(Priorities(), priority) {
		return Invalid{kind, id, field, "it is one of " + strings.Join(Priorities(), ", ")}
	}
	return nil
}

func checkZone(kind, id, name string) error {
	if name == "Local" {
		return Invalid{kind, id, "timezone", "it is an IANA name such as Europe/Berlin"}
	}
	if _, err := time.LoadLocation(name); err != nil {
		return Invalid{kind, id, "timezone", "it is an IANA name such as Europe/Berlin"}
	}
	return nil
}

func checkHours(kind, id, field string, list []Hours) error {
	for _, h := range list {
		for _, text := range []string{h.From, h.To} {
			if _, err := clock(text); err != nil {
				return Invalid{kind, id, field, err.Error()}
			}
		}
		for _, day := range h.Days {
			if !slices.Contains(weekdays, day) {
				return Invalid{kind, id, field, fmt.Sprintf("%q is not one of mon, tue, wed, thu, fri, sat, sun", day)}
			}
		}
	}
	return nil
}

func (p Person) check(channels map[string]bool) error {
	if len(p.Addresses) == 0 {
		return Invalid{"person", p.ID, "addresses", "it is missing"}
	}
	for _, a := range p.Addresses {
		if !channels[a.Channel] {
			return Invalid{"person", p.ID, "addresses", fmt.Sprintf("channel %q does not exist", a.Channel)}
		}
		if err := checkPriority("person", p.ID, "addresses", a.Priority); err != nil {
			return err
		}
	}
	for _, word := range p.Reports {
		if !slices.Contains([]string{"daily", "weekly", "monthly"}, word) {
			return Invalid{"person", p.ID, "reports", "it is one of daily, weekly, monthly"}
		}
	}
	if !slices.Contains([]string{"", "point", "comma", "space"}, p.Numbers) {
		return Invalid{"person", p.ID, "numbers", "it is one of point, comma, space"}
	}
	return first(checkPriority("person", p.ID, "threshold", p.Threshold), checkZone("person", p.ID, p.Zone), checkLimit("person", p.ID, p.Limit),
		checkHours("person", p.ID, "working_hours", p.Working), checkHours("person", p.ID, "quiet_hours", p.Quiet))
}

func first(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r Rotation) check(people map[string]bool) error {
	if len(r.People) == 0 {
		return Invalid{"rotation", r.ID, "people", "it is missing"}
	}
	for _, id := range r.People {
		if !people[id] {
			return Invalid{"rotation", r.ID, "people", fmt.Sprintf("person %q does not exist", id)}
		}
	}
	for _, list := range [][]Override{r.Overrides, r.Absences} {
		for _, o := range list {
			if !people[o.Person] {
				return Invalid{"rotation", r.ID, "overrides", fmt.Sprintf("person %q does not exist", o.Person)}
			}
			if !o.To.After(o.From) {
				return Invalid{"rotation", r.ID, "overrides", "an override or absence ends before it begins"}
			}
		}
	}
	if _, err := time.Parse(time.DateOnly, r.Start); err != nil {
		return Invalid{"rotation", r.ID, "start", "it is a date such as 2026-01-05"}
	}
	if len(r.Handovers) == 0 {
		return Invalid{"rotation", r.ID, "handovers", "it is missing"}
	}
	last := -1
	for _, text := range r.Handovers {
		m, err := clock(text)
		if err != nil {
			return Invalid{"rotation", r.ID, "handovers", err.Error()}
		}
		if m <= last {
			return Invalid{"rotation", r.ID, "handovers", "they are in ascending order"}
		}
		last = m
	}
	if r.EveryDays < 0 || r.EveryDays > 366 {
		return Invalid{"rotation", r.ID, "every_days", "a whole number from 1 to 366"}
	}
	if len(r.Handovers) > 1 && r.EveryDays != 1 {
		return Invalid{"rotation", r.ID, "every_days", "it is 1 if there are several handovers a day"}
	}
	return checkZone("rotation", r.ID, r.Zone)
}

func (r Route) check(channels, people, rotations map[string]bool) error {
	if len(r.Steps) == 0 {
		return Invalid{"route", r.ID, "steps", "it is missing"}
	}
	for _, s := range r.Steps {
		if s.After < 0 || s.After > 7*24*60 {
			return Invalid{"route", r.ID, "steps", "after_minutes is a whole number from 0 to 10080"}
		}
		if len(s.To) == 0 {
			return Invalid{"route", r.ID, "steps", "to is missing"}
		}
		for _, to := range s.To {
			kind, id, _ := strings.Cut(to, ":")
			known, ok := map[string]map[string]bool{"person": people, "rotation": rotations, "channel": channels}[kind]
			if !ok {
				return Invalid{"route", r.ID, "steps", fmt.Sprintf("%q is not person:ID, rotation:ID or channel:ID", to)}
			}
			if !known[id] {
				return Invalid{"route", r.ID, "steps", fmt.Sprintf("%s %q does not exist", kind, id)}
			}
		}
	}
	if r.Repeat > 7*24*60 || r.Repeat < -1 {
		return Invalid{"route", r.ID, "repeat_minutes", "a whole number from -1 to 10080"}
	}
	for _, v := range []float64{r.MinKW, r.MinKWh, r.MinMoney} {
		if !(v >= 0 && v <= 1e12) {
			return Invalid{"route", r.ID, "min_kw, min_kwh, min_money", "a number from 0"}
		}
	}
	return first(checkPriority("route", r.ID, "priority", r.Priority), checkPriority("route", r.ID, "urgent_from", r.UrgentFrom),
		checkZone("route", r.ID, r.Zone), checkHours("route", r.ID, "hours", r.Hours))
}
