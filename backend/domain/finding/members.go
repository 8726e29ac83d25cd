package finding

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// formerOf returns the findings of the family that share a unit with an event, those that
// this run has changed as they are now.
func formerOf(tx store.Tx, siteID string, e Event, seen map[string]*Finding) ([]Finding, error) {
	var former []Finding
	subjects := []string{""}
	if !e.ofSite() {
		subjects = append(subjects, e.Units...)
	}
	for _, subject := range subjects {
		list, _, err := findings.List(tx, store.Query{Index: "subject", Prefix: store.Key(siteID, subject, e.Family)})
		if err != nil {
			return nil, fmt.Errorf("look up the findings of %s: %w", e.Family, err)
		}
		former = append(former, list...)
	}
	for _, g := range seen {
		former = slices.DeleteFunc(former, func(h Finding) bool { return h.SummaryID == g.SummaryID })
		if g.FaultFamily == e.Family {
			former = append(former, *g)
		}
	}
	return slices.DeleteFunc(former, func(g Finding) bool { return len(g.common(e)) == 0 }), nil
}

// common are the units that a finding and an event share.
func (f Finding) common(e Event) []string {
	units := f.Units()
	return slices.DeleteFunc(slices.Clone(e.Units), func(u string) bool { return !slices.Contains(units, u) })
}

// best returns the finding that an event continues: one of the same units that ended
// less than [ReopenWithin] before, or one that has a unit in common which was affected at the same
// time, as units join and leave a group with the data that arrive. The same units come
// first, then the most units in common, and the finding that began last.
func best(former []Finding, e Event) (f Finding, ok bool) {
	type candidate struct {
		Finding
		same   bool
		common int
	}
	var all []candidate
	for _, g := range former {
		last := g.LastDetectionAt.Time
		if g.EndedAt.After(last) {
			last = g.EndedAt.Time
		}
		common := g.common(e)
		c := candidate{g, len(common) == len(e.Units) && len(common) == len(g.Units()), len(common)}
		if e.ofSite() && g.ofSite() {
			c.same = true // its units vary
		}
		switch {
		case e.Start.After(last.Add(ReopenWithin)) || e.LastPresent().Before(g.StartedAt.Time):
		case e.ofSite() && (g.Subject != "" || len(g.Members) > 0), len(e.Units) == 1 && g.ofSite():
			// What the whole site has does not continue what some of its units had.
		case c.same || slices.ContainsFunc(common, func(u string) bool { return overlap(g.Part(u), e.Part(u)) }):
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		if a.same != b.same {
			if a.same {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.common, a.common), b.StartedAt.Compare(a.StartedAt.Time), cmp.Compare(a.SummaryID, b.SummaryID))
	})
	if len(all) == 0 {
		return f, false
	}
	return all[0].Finding, true
}

// ofSite reports whether a finding or an event is of the site as a whole: of several units
// whose parts are not known.
func (f Finding) ofSite() bool { return len(f.Members) == 0 && len(f.Units()) > 1 }

func (e Event) ofSite() bool { return len(e.Members) == 0 && len(e.Units) > 1 }

// LastPresent is when the unit was last affected.
func LastPresent(m api.FindingMember) time.Time {
	if m.EndedAt.IsZero() {
		return m.LastSeenAt.Time
	}
	return m.EndedAt.Time
}

// overlap reports whether a unit was affected by both at the same time.
func overlap(a, b api.FindingMember) bool {
	return !a.StartedAt.After(LastPresent(b)) && !b.StartedAt.After(LastPresent(a))
}

// addUnits adds those of an event. A finding of one unit that another one joins is one of
// several from then on, and keeps its id.
func (f *Finding) addUnits(units []string) {
	if f.Subject != "" {
		if len(units) == 1 && units[0] == f.Subject {
			return
		}
		f.AssetIDs, f.Subject = []string{f.Subject}, ""
	}
	for _, u := range units {
		if !slices.Contains(f.AssetIDs, u) {
			f.AssetIDs = append(f.AssetIDs, u)
		}
	}
	slices.Sort(f.AssetIDs)
}

// addMembers updates the parts of the units by the events of a run that continue the
// finding, which was former. A unit that the run evaluated and does not name any more has
// recovered. The losses of the parts add up to that of the finding.
func (f *Finding) addMembers(former Finding, events []Event, run Run) {
	if f.Subject != "" || len(former.Members) == 0 && !slices.ContainsFunc(events, func(e Event) bool { return len(e.Members) > 0 }) {
		return
	}
	members := slices.Clone(former.Members)
	if former.Subject != "" {
		members = append(members, former.Part(former.Subject))
	}
	latest := map[string]api.FindingMember{} // of this run
	for _, e := range events {
		if len(e.Members) == 0 && len(e.Units) > 1 {
			continue // its parts are not known
		}
		for _, u := range e.Units {
			p := e.Part(u)
			if m, ok := latest[u]; ok {
				p = joined(m, p)
				p.LostKWh += m.LostKWh
			}
			latest[u] = p
		}
	}
	for i := range members {
		m := &members[i]
		p, ok := latest[m.AssetID]
		switch {
		case ok:
			lost := p.LostKWh
			if p.StartedAt.After(m.StartedAt.Time) { // the run did not see its beginning
				lost = max(lost, m.LostKWh)
			}
			*m = joined(*m, p)
			m.LostKWh = lost
			delete(latest, m.AssetID)
		case m.EndedAt.IsZero() && !run.Past && slices.Contains(run.Units, m.AssetID):
			m.EndedAt = m.LastSeenAt
		}
	}
	for _, u := range f.AssetIDs {
		if p, ok := latest[u]; ok {
			members = append(members, p)
		}
	}
	sum := 0.0
	for i := range members {
		m := &members[i]
		if !f.Active && m.EndedAt.IsZero() {
			m.EndedAt = f.EndedAt
		}
		sum += m.LostKWh
	}
	for i := range members {
		if sum > 0 {
			members[i].LostKWh = record.Known(members[i].LostKWh * f.LostKWh / sum)
		}
	}
	slices.SortFunc(members, func(a, b api.FindingMember) int { return cmp.Compare(a.AssetID, b.AssetID) })
	f.Members = members
}

// joined is the part of a unit over two times, with the losses of the later one.
func joined(a, b api.FindingMember) api.FindingMember {
	if LastPresent(a).After(LastPresent(b)) {
		a, b = b, a
	}
	if a.StartedAt.Before(b.StartedAt.Time) {
		b.StartedAt = a.StartedAt
	}
	return b
}

// PeriodsOf returns the times at which a unit was affected, ascending.
func (f Finding) PeriodsOf(assetID string) []Period {
	periods := f.Periods()
	if len(f.Members) == 0 {
		return periods
	}
	m := f.Part(assetID)
	if len(f.Occasions) == 0 {
		return []Period{{m.StartedAt.Time, LastPresent(m)}}
	}
	var out []Period
	for _, p := range periods {
		p.From, p.To = record.Later(p.From, m.StartedAt.Time), record.Earlier(p.To, LastPresent(m))
		if p.From.Before(p.To) {
			out = append(out, p)
		}
	}
	return out
}
