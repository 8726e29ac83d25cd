package notify

import (
	"slices"
	"time"
)

// OnCall returns the person who is on call, and why: by turn, by an override, or for an
// absent person. It is empty before the start of the rotation.
func (r Rotation) OnCall(at time.Time) (person, why string) {
	for i := len(r.Overrides) - 1; i >= 0; i-- { // the newest wins
		if o := r.Overrides[i]; o.covers(at) && !r.absent(o.Person, at) {
			return o.Person, "override"
		}
	}
	turn, ok := r.turn(at)
	if !ok || len(r.People) == 0 {
		return "", "the rotation has not started"
	}
	for i := range r.People {
		p := r.People[(turn+i)%len(r.People)]
		if !r.absent(p, at) {
			if i > 0 {
				return p, "instead of " + r.People[turn%len(r.People)] + ", who is absent"
			}
			return p, "by turn"
		}
	}
	return r.People[turn%len(r.People)], "by turn, though all are absent"
}

func (o Override) covers(at time.Time) bool { return !at.Before(o.From) && at.Before(o.To) }

func (r Rotation) absent(person string, at time.Time) bool {
	return slices.ContainsFunc(r.Absences, func(o Override) bool { return o.Person == person && o.covers(at) })
}

func (r Rotation) every() int {
	if r.EveryDays == 0 {
		return 7
	}
	return r.EveryDays
}

// turn returns the number of handovers from the start until at. Handovers are at times
// of the wall clock of the rotation's zone, by days of its calendar.
func (r Rotation) turn(at time.Time) (n int, ok bool) {
	zone := zoneOf(r.Zone)
	start, err := time.Parse(time.DateOnly, r.Start)
	if err != nil || len(r.Handovers) == 0 {
		return 0, false
	}
	local := at.In(zone)
	days := int(time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC).Sub(start) / (24 * time.Hour))
	passed := 0 // handovers of this day
	for _, text := range r.Handovers {
		m, err := clock(text)
		if err == nil && !at.Before(time.Date(local.Year(), local.Month(), local.Day(), 0, m, 0, 0, zone)) {
			passed++
		}
	}
	if len(r.Handovers) > 1 {
		n = days*len(r.Handovers) + passed - 1
		return n, n >= 0
	}
	if passed == 0 {
		days--
	}
	if days < 0 {
		return 0, false
	}
	return days / r.every(), true
}

// Shift is a span in which one person is on call.
type Shift struct {
	Person   string
	Why      string
	From, To time.Time
}

// Shifts returns who is on call from a time until another, in order. It has at most one
// shift for each handover, override and absence in the span.
func (r Rotation) Shifts(from, to time.Time) (list []Shift) {
	bounds := []time.Time{from}
	add := func(t time.Time) {
		if t.After(from) && t.Before(to) {
			bounds = append(bounds, t)
		}
	}
	for _, o := range slices.Concat(r.Overrides, r.Absences) {
		add(o.From)
		add(o.To)
	}
	zone := zoneOf(r.Zone)
	for day := from.In(zone).AddDate(0, 0, -1); day.Before(to.AddDate(0, 0, 2)); day = day.AddDate(0, 0, 1) {
		for _, text := range r.Handovers {
			if m, err := clock(text); err == nil {
				add(time.Date(day.Year(), day.Month(), day.Day(), 0, m, 0, 0, zone))
			}
		}
	}
	slices.SortFunc(bounds, time.Time.Compare)
	bounds = append(slices.CompactFunc(bounds, time.Time.Equal), to)
	for i := range len(bounds) - 1 {
		person, why := r.OnCall(bounds[i])
		if n := len(list); n > 0 && list[n-1].Person == person && list[n-1].Why == why {
			list[n-1].To = bounds[i+1]
			continue
		}
		list = append(list, Shift{person, why, bounds[i], bounds[i+1]})
	}
	return slices.DeleteFunc(list, func(s Shift) bool { return s.Person == "" })
}
