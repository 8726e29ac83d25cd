package notify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// dstZones change their clocks, at different times and by different amounts.
var dstZones = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo"}

var twoYears = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// plant is a virtual installation: it plans at each event and whenever a plan asks for it.
type plant struct {
	t       *testing.T
	configs []Owned
	windows []Window
	now     time.Time
	state   State
	entries map[string]*Entry
	order   []string
	next    time.Time
	ids     int
	plans   int
}

func newPlant(t *testing.T, at time.Time, c Config) *plant {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	return &plant{t: t, configs: []Owned{{"*", c}}, now: at, entries: map[string]*Entry{}}
}

// until lets time pass.
func (p *plant) until(at time.Time) {
	for !p.next.IsZero() && !p.next.After(at) {
		p.now = p.next
		p.plan()
	}
	p.now = at
}

func (p *plant) plan(events ...Alarm) {
	p.plans++
	plan := Make(p.state, Input{Configs: p.configs, Windows: p.windows, Events: events, Now: p.now, NewID: func(prefix string) string {
		p.ids++
		return fmt.Sprintf("%s_%06d", prefix, p.ids)
	}})
	for _, i := range plan.Incidents {
		at := slices.IndexFunc(p.state.Incidents, func(j Incident) bool { return j.ID == i.ID })
		if at < 0 {
			p.state.Incidents = append(p.state.Incidents, i)
		} else {
			p.state.Incidents[at] = i
		}
	}
	p.state.Incidents = slices.DeleteFunc(p.state.Incidents, func(i Incident) bool { return i.Closed })
	for _, e := range plan.Entries {
		if p.entries[e.ID] == nil {
			p.order = append(p.order, e.ID)
		}
		p.entries[e.ID] = &e
		if at := slices.IndexFunc(p.state.Held, func(h Entry) bool { return h.ID == e.ID }); at >= 0 {
			p.state.Held = slices.Delete(p.state.Held, at, at+1)
		}
		switch e.Status {
		case StatusHeld:
			p.state.Held = append(p.state.Held, e)
		case StatusDue:
			p.state.Sent = append(p.state.Sent, e)
		}
	}
	p.state.Sent = slices.DeleteFunc(p.state.Sent, func(e Entry) bool { return p.now.Sub(e.At) >= FloodSpan })
	if p.next = plan.Next; !p.next.IsZero() && !p.next.After(p.now) {
		p.t.Fatalf("a plan at %s asks for another at %s", p.now, p.next)
	}
}

// alarm raises one, or changes its state.
func (p *plant) alarm(n int, site, state string, change ...func(*Alarm)) {
	kw := 5.0
	a := Alarm{AlertID: fmt.Sprintf("alt_%d", n), CustomerID: "c", SiteID: site, AssetID: fmt.Sprintf("INV-%d", n), Family: "inverter_outage", Priority: "major", State: state,
		Onset: p.now, At: p.now, LostKW: &kw}
	for _, f := range change {
		f(&a)
	}
	p.plan(a)
}

func (p *plant) sent(to string) (list []Entry) {
	for _, id := range p.order {
		if e := p.entries[id]; e.Status == StatusDue && (to == "" || e.Recipient == to) {
			list = append(list, *e)
		}
	}
	return list
}

func kinds(list []Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, string(e.Message.Kind))
	}
	return strings.Join(out, " ")
}

func simple() Config {
	return Config{
		Channels: []Channel{{ID: "mail", Kind: ChannelEmail}},
		People: []Person{{ID: "anna", Addresses: []Address{{Channel: "mail", Address: "anna@example.com"}}},
			{ID: "ben", Addresses: []Address{{Channel: "mail", Address: "ben@example.com"}}}},
		Routes: []Route{{ID: "all", Steps: []Step{{To: []string{"person:anna"}}, {After: 30, To: []string{"person:ben"}}}}},
	}
}

func priority(p string) func(*Alarm) { return func(a *Alarm) { a.Priority = p } }

// TestEscalation escalates until the alarm is acknowledged; the last step repeats.
func TestEscalation(t *testing.T) {
	p := newPlant(t, twoYears, simple())
	p.alarm(1, "s", stateUnacknowledged)
	p.until(twoYears.Add(95 * time.Minute))
	if got := kinds(p.sent("person:anna")); got != "raised" {
		t.Errorf("anna got %q", got)
	}
	if got := kinds(p.sent("person:ben")); got != "escalated escalated escalated" {
		t.Errorf("ben got %q", got)
	}
	p.alarm(1, "s", stateAcknowledged)
	p.until(twoYears.Add(10 * time.Hour))
	if got := kinds(p.sent("")); got != "raised escalated escalated escalated" {
		t.Errorf("after the acknowledgement: %q", got)
	}
	p.alarm(1, "s", stateCleared)
	if got := kinds(p.sent("person:anna")); got != "raised all_clear" {
		t.Errorf("anna got %q", got)
	}
	p.until(p.now.Add(2 * repeatSpan))
	if len(p.state.Incidents) != 0 || !p.next.IsZero() {
		t.Errorf("%d incidents are open, the next plan is at %s", len(p.state.Incidents), p.next)
	}
}

// TestGroups makes one message of one cause.
func TestGroups(t *testing.T) {
	p := newPlant(t, twoYears, simple())
	for n := range 5 {
		p.alarm(n, "s", stateUnacknowledged)
		p.until(p.now.Add(10 * time.Second))
	}
	p.until(twoYears.Add(5 * time.Minute))
	if got := kinds(p.sent("person:anna")); got != "raised update" {
		t.Errorf("five inverters of one minute: %q", got)
	}
	for n := range 4 {
		p.alarm(n, "s", stateReturned)
	}
	if got := kinds(p.sent("person:anna")); got != "raised update" {
		t.Errorf("four of five have returned: %q", got)
	}
	p.alarm(4, "s", stateReturned)
	p.until(p.now.Add(time.Minute)) // it is the third message in ten minutes
	if got := kinds(p.sent("person:anna")); got != "raised update all_clear" {
		t.Errorf("all have returned: %q", got)
	}

	// A lost connection is one cause for several sites; other alarms are not.
	p = newPlant(t, twoYears, simple())
	gap := func(a *Alarm) { a.Family = "communication_gap" }
	for n := range 4 {
		p.alarm(n, fmt.Sprint("s", n), stateUnacknowledged, gap)
	}
	p.until(twoYears.Add(5 * time.Minute))
	if got := kinds(p.sent("person:anna")); got != "raised update" {
		t.Errorf("four sites without connection: %q", got)
	}
	// Silences of sites of one portal are noticed by their own rhythms, minutes apart.
	p = newPlant(t, twoYears, simple())
	for n := range 4 {
		p.alarm(n, fmt.Sprint("s", n), stateUnacknowledged, func(a *Alarm) { a.Family, a.AssetID = "data_silence", "" })
		p.until(p.now.Add(4 * time.Minute))
	}
	p.until(p.now.Add(5 * time.Minute))
	if first := p.sent("person:anna")[0]; len(p.state.Incidents) != 1 || first.Message.Kind != KindRaised || strings.Count(kinds(p.sent("person:anna")), "raised") != 1 {
		t.Errorf("four sites of a portal: %d incidents, %q", len(p.state.Incidents), kinds(p.sent("person:anna")))
	}
	p = newPlant(t, twoYears, simple())
	p.alarm(1, "s1", stateUnacknowledged)
	p.alarm(2, "s2", stateUnacknowledged)
	if got := kinds(p.sent("person:anna")); got != "raised raised" {
		t.Errorf("two sites: %q", got)
	}
}

// TestUrgency sends at once what became more urgent, also in quiet hours.
func TestUrgency(t *testing.T) {
	c := simple()
	c.People[0].Quiet = []Hours{{From: "00:00", To: "06:00"}}
	p := newPlant(t, twoYears, c)
	p.alarm(1, "s", stateUnacknowledged, priority("moderate"))
	p.until(twoYears.Add(10 * time.Minute))
	if got := kinds(p.sent("person:anna")); got != "" {
		t.Errorf("in quiet hours: %q", got)
	}
	p.alarm(1, "s", stateUnacknowledged, priority("critical"))
	if got := kinds(p.sent("person:anna")); got != "update" {
		t.Errorf("it became critical: %q", got)
	}
	if len(p.state.Held) != 0 {
		t.Errorf("%d messages are held that were replaced", len(p.state.Held))
	}
}

// TestSummary holds what is not urgent until quiet hours end, and sends one summary.
func TestSummary(t *testing.T) {
	c := simple()
	c.Routes[0].Steps = c.Routes[0].Steps[:1]
	c.People[0].Quiet = []Hours{{From: "22:00", To: "06:00"}}
	p := newPlant(t, twoYears.Add(time.Hour), c)
	for n := range 3 {
		p.alarm(n, fmt.Sprint("s", n), stateUnacknowledged)
		p.until(p.now.Add(20 * time.Minute))
	}
	for _, h := range p.state.Held {
		if h.Why != "quiet hours" || !h.Until.Equal(twoYears.Add(6*time.Hour)) {
			t.Errorf("held until %s because of %q", h.Until, h.Why)
		}
	}
	p.until(twoYears.Add(12 * time.Hour))
	list := p.sent("person:anna")
	if kinds(list) != "summary" || !list[0].At.Equal(twoYears.Add(6*time.Hour)) || len(list[0].Message.AlertIDs) != 3 {
		t.Errorf("in the morning: %+v", list)
	}
}

// TestSilent sends nothing of shelved and suppressed alarms and in maintenance windows,
// records why once, and begins when the silence ends.
func TestSilent(t *testing.T) {
	for why, set := range map[string]func(p *plant, a *Alarm){
		"shelved":    func(p *plant, a *Alarm) { a.State, a.Until = stateShelved, p.now.Add(time.Hour) },
		"suppressed": func(p *plant, a *Alarm) { a.State, a.Until = stateSuppressed, p.now.Add(time.Hour) },
		"maintenance window sch_1": func(p *plant, a *Alarm) {
			p.windows = []Window{{ID: "sch_1", SiteID: "s", From: p.now.Add(-time.Hour), To: p.now.Add(time.Hour)}}
		},
	} {
		p := newPlant(t, twoYears, simple())
		p.alarm(1, "s", stateUnacknowledged, func(a *Alarm) { set(p, a) })
		p.until(twoYears.Add(59 * time.Minute))
		p.plan()
		if got := kinds(p.sent("")); got != "" || len(p.order) != 1 || p.entries[p.order[0]].Why != why {
			t.Errorf("%s: sent %q, recorded %v", why, got, p.order)
		}
		p.until(twoYears.Add(61 * time.Minute))
		if got := kinds(p.sent("")); got != "raised" {
			t.Errorf("%s: after its end %q", why, got)
		}
	}
}

// TestChattering suppresses repetitions of an alarm that changes three times in a minute.
func TestChattering(t *testing.T) {
	p := newPlant(t, twoYears, simple())
	for range 60 {
		p.alarm(1, "s", stateUnacknowledged)
		p.until(p.now.Add(10 * time.Second))
		p.alarm(1, "s", stateCleared)
		p.until(p.now.Add(10 * time.Second))
	}
	p.until(p.now.Add(time.Hour))
	if got := kinds(p.sent("person:anna")); got != "raised all_clear all_clear" && got != "raised all_clear" {
		t.Errorf("120 changes: %q", got)
	}
	silent := 0
	for _, e := range p.entries {
		if e.Status == StatusSuppressed && e.Why == "chattering" {
			silent++
		}
	}
	if silent != 1 {
		t.Errorf("chattering was recorded %d times", silent)
	}
}

// TestFlood bounds the messages of 1,000 units that stop within a minute, at one site and
// at many: at most three to a person in any ten minutes.
func TestFlood(t *testing.T) {
	for _, sites := range []int{1, 10, 1000} {
		p := newPlant(t, twoYears, simple())
		for second := range 50 { // 20 units each
			var events []Alarm
			for n := second * 20; n < second*20+20; n++ {
				events = append(events, Alarm{AlertID: fmt.Sprintf("alt_%d", n), CustomerID: "c", SiteID: fmt.Sprint("s", n%sites), AssetID: fmt.Sprintf("INV-%d", n),
					Family: "inverter_outage", Priority: "major", State: stateUnacknowledged, Onset: p.now, At: p.now})
			}
			p.plan(events...)
			p.until(p.now.Add(time.Second))
		}
		p.until(twoYears.Add(time.Hour))
		most, all := busiest(p.sent("person:anna")), map[string]bool{}
		for _, e := range p.sent("person:anna") {
			for _, id := range e.Message.AlertIDs {
				all[id] = true
			}
		}
		t.Logf("%d sites: %d messages, at most %d in ten minutes, %d plans", sites, len(p.sent("person:anna")), most, p.plans)
		if most > DefaultLimit || len(all) != 1000 {
			t.Errorf("%d sites: %d messages in ten minutes, of %d alarms", sites, most, len(all))
		}
	}
}

// busiest returns the most messages in any ten minutes.
func busiest(list []Entry) (most int) {
	for n := range list {
		k := 0
		for _, e := range list[n:] {
			if e.At.Sub(list[n].At) < FloodSpan {
				k++
			}
		}
		most = max(most, k)
	}
	return most
}

// TestQuietHours compares the end of quiet hours with a search minute by minute, around
// each clock change of two years and at random times.
func TestQuietHours(t *testing.T) {
	random := rand.New(rand.NewPCG(24, 1))
	at := func(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }
	checked := 0
	for _, name := range dstZones {
		zone := zoneOf(name)
		var times []time.Time
		for d := twoYears; d.Before(twoYears.AddDate(2, 0, 0)); d = d.AddDate(0, 0, 1) {
			if _, end := d.In(zone).ZoneBounds(); end.Sub(d) <= 24*time.Hour && !end.IsZero() {
				for h := -30; h <= 4; h += 3 {
					times = append(times, end.Add(time.Duration(h)*time.Hour+time.Duration(random.IntN(60))*time.Minute))
				}
			}
		}
		if len(times) < 4*12 {
			t.Fatalf("%s: %d times around clock changes", name, len(times))
		}
		for range 20 {
			times = append(times, twoYears.Add(time.Duration(random.IntN(2*365*24*60))*time.Minute))
		}
		for _, now := range times {
			p := Person{Zone: name}
			for range 1 + random.IntN(2) {
				p.Quiet = append(p.Quiet, Hours{From: at(random.IntN(48) * 30), To: at(random.IntN(48) * 30)})
			}
			if random.IntN(2) == 0 {
				p.Working = []Hours{{Days: []string{"mon", "tue", "wed", "thu", "fri"}, From: "08:00", To: at(16*60 + random.IntN(120))}}
			}
			want := now
			for limit := now.Add(maxHeld); want.Before(limit); want = want.Add(time.Minute) {
				if open, _ := p.Open(want); open {
					break
				}
			}
			got := p.NextOpen(now)
			if checked++; !got.Equal(want) && want.Before(now.Add(maxHeld-24*time.Hour)) {
				t.Fatalf("%s at %s, quiet %v, working %v: %s, want %s", name, now.In(zone), p.Quiet, p.Working, got.In(zone), want.In(zone))
			}
		}
	}
	t.Logf("%d times in %d zones", checked, len(dstZones))
}

// TestRotations follows rotations over two years: one person is on call at each time,
// handovers are at the time of the wall clock, and turns are in order.
func TestRotations(t *testing.T) {
	for _, name := range dstZones {
		zone := zoneOf(name)
		for _, r := range []Rotation{
			{ID: "weekly", Zone: name, Start: "2025-01-06", Handovers: []string{"09:00"}, People: []string{"a", "b", "c"}},
			{ID: "daily", Zone: name, Start: "2025-01-06", Handovers: []string{"02:30"}, EveryDays: 1, People: []string{"a", "b"}},
			{ID: "shifts", Zone: name, Start: "2025-01-06", Handovers: []string{"06:00", "14:00", "22:00"}, EveryDays: 1, People: []string{"a", "b", "c"}},
		} {
			from, to := twoYears, twoYears.AddDate(2, 0, 0)
			list := r.Shifts(from, to)
			hours := map[string]float64{}
			for n, s := range list {
				hours[s.Person] += s.To.Sub(s.From).Hours()
				if n == 0 {
					continue
				}
				last := list[n-1]
				if !last.To.Equal(s.From) || last.Person == s.Person {
					t.Fatalf("%s in %s: %s until %s, then %s from %s", r.ID, name, last.Person, last.To, s.Person, s.From)
				}
				if want := r.People[(slices.Index(r.People, last.Person)+1)%len(r.People)]; s.Person != want {
					t.Fatalf("%s in %s: %s follows %s", r.ID, name, s.Person, last.Person)
				}
				// 02:30 may not exist on the day of a clock change.
				if local := s.From.In(zone).Format("15:04"); !slices.Contains(r.Handovers, local) && !nearChange(s.From, zone) {
					t.Fatalf("%s in %s: handover at %s", r.ID, name, local)
				}
			}
			share := 1 / float64(len(r.People))
			for _, p := range r.People {
				if got := hours[p] / list[len(list)-1].To.Sub(list[0].From).Hours(); got < share-0.02 || got > share+0.02 {
					t.Errorf("%s in %s: %s has a share of %.3f", r.ID, name, p, got)
				}
			}
			// Each instant of a shift is the person's.
			random := rand.New(rand.NewPCG(24, 2))
			for range 500 {
				s := list[random.IntN(len(list))]
				at := s.From.Add(time.Duration(random.Int64N(int64(s.To.Sub(s.From)))))
				if p, _ := r.OnCall(at); p != s.Person {
					t.Fatalf("%s in %s at %s: %s, want %s", r.ID, name, at, p, s.Person)
				}
			}
		}
	}
}

func nearChange(at time.Time, zone *time.Location) bool {
	_, before := at.Add(-3 * time.Hour).In(zone).ZoneBounds()
	_, now := at.Add(3 * time.Hour).In(zone).ZoneBounds()
	return !before.Equal(now)
}

// TestOverrides names another person for a time, and the next in turn for an absent one.
func TestOverrides(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 1, n, 9, 0, 0, 0, time.UTC) }
	r := Rotation{ID: "r", Start: "2025-01-06", Handovers: []string{"09:00"}, People: []string{"a", "b", "c"},
		Overrides: []Override{{Person: "c", From: day(7), To: day(8)}}, Absences: []Override{{Person: "b", From: day(14), To: day(15)}}}
	for at, want := range map[time.Time]string{day(6): "a", day(7): "c", day(8): "a", day(13): "b", day(14): "c", day(15): "b", day(5): ""} {
		if got, _ := r.OnCall(at); got != want {
			t.Errorf("on call at %s: %q, want %q", at, got, want)
		}
	}
}

// TestTwoYears plays random alarms for two years in five zones, and checks what must hold
// at each message and at the end: no alarm is lost, quiet hours hold only what is not
// urgent, limits hold, and escalation ends with the acknowledgement.
func TestTwoYears(t *testing.T) {
	for z, name := range dstZones {
		random := rand.New(rand.NewPCG(24, uint64(z)))
		c := Config{
			Channels: []Channel{{ID: "mail", Kind: ChannelEmail}},
			People: []Person{
				{ID: "a", Zone: name, Addresses: []Address{{Channel: "mail"}}, Quiet: []Hours{{From: "22:00", To: "06:00"}}},
				{ID: "b", Zone: name, Addresses: []Address{{Channel: "mail"}}, Working: []Hours{{Days: []string{"mon", "tue", "wed", "thu", "fri"}, From: "08:00", To: "17:00"}}},
				{ID: "boss", Zone: name, Addresses: []Address{{Channel: "mail"}}, Threshold: "critical"},
			},
			Rotations: []Rotation{{ID: "r", Zone: name, Start: "2024-12-30", Handovers: []string{"09:00"}, People: []string{"a", "b"}}},
			Routes:    []Route{{ID: "all", Steps: []Step{{To: []string{"rotation:r"}}, {After: 15, To: []string{"person:boss"}}}, Repeat: 240}},
		}
		p := newPlant(t, twoYears, c)
		type open struct {
			n     int
			ack   bool
			prior string
		}
		var active []open
		raised := 0
		for p.now.Before(twoYears.AddDate(2, 0, 0)) {
			p.until(p.now.Add(time.Duration(1+random.IntN(60*48)) * time.Minute))
			switch k := random.IntN(4); {
			case k == 0 || len(active) == 0:
				raised++
				prior := Priorities()[random.IntN(3)]
				active = append(active, open{n: raised, prior: prior})
				p.alarm(raised, fmt.Sprint("s", random.IntN(3)), stateUnacknowledged, priority(prior))
			default:
				n := random.IntN(len(active))
				o := active[n]
				site := ""
				for _, i := range p.state.Incidents {
					for _, a := range i.Alarms {
						if a.AlertID == fmt.Sprintf("alt_%d", o.n) {
							site = a.SiteID
						}
					}
				}
				if k == 1 && !o.ack {
					active[n].ack = true
					p.alarm(o.n, site, stateAcknowledged, priority(o.prior))
				} else {
					active = slices.Delete(active, n, n+1)
					p.alarm(o.n, site, stateCleared, priority(o.prior))
				}
			}
		}
		p.until(p.now.AddDate(0, 0, 10))
		known := map[string]bool{}
		for _, e := range p.entries {
			if e.Status == StatusDue {
				for _, id := range e.Message.AlertIDs {
					known[id] = true
				}
			}
			person, isPerson := c.Person(strings.TrimPrefix(e.Recipient, "person:"))
			if e.Status != StatusDue || !isPerson {
				continue
			}
			if ok, why := person.Open(e.At); !ok && !e.Urgent && !(e.Message.Kind == KindSummary && e.Message.Priority == "critical") {
				t.Fatalf("%s: %s to %s at %s, which is %s", name, e.Message.Kind, person.ID, e.At.In(zoneOf(name)), why)
			}
			if person.ID == "boss" && e.Message.Priority != "critical" {
				t.Fatalf("%s: %s of priority %s is below the threshold", name, e.Message.Title, e.Message.Priority)
			}
		}
		if len(known) != raised {
			t.Errorf("%s: %d of %d alarms were announced", name, len(known), raised)
		}
		for _, to := range []string{"person:a", "person:b", "person:boss"} {
			if most := busiest(p.sent(to)); most > DefaultLimit {
				t.Errorf("%s: %d messages to %s in ten minutes", name, most, to)
			}
		}
		t.Logf("%s: %d alarms, %d messages, %d plans", name, raised, len(p.sent("")), p.plans)
	}
}
