package score

import (
	"slices"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/simulate"
)

// Additional groups of the report.
const (
	strongStrings = "string_outage_8" // losses of 8 % or more
	fineOutages   = "inverter_outage_5min"
)

// Cost of lost energy until detection and of a visit for every alarm, USD:
// industry estimates.
const (
	tariffUSD    = 0.08
	truckRollUSD = 150
)

// caseResult is the contribution of one case to the report.
type caseResult struct {
	families   map[string]*tally
	overall    tally
	cleanYears float64
	confusion  Confusion
	samples    []sample
	mistakes   []Mistake
}

// sample is a finding for calibration.
type sample struct {
	family detect.Family
	basis  string  // see diagnose.TierOf
	sum    float64 // of its evidence
	right  bool
	was    string // family of the fault it matched, if any
}

// Mistake is a finding without a fault, or a fault without a finding.
type Mistake struct {
	Case, Family, Text string
	Missed             bool
}

// evaluate compares the findings of a case, and the times at which units were
// at their limit, with its truth.
func evaluate(c Case, findings []diagnose.Finding, clipped map[string][]detect.Span) caseResult {
	v := caseResult{families: map[string]*tally{}}
	now := c.Input.Now
	m := match(c.Truth, findings, now)
	if c.Clean {
		v.cleanYears = c.inverterYears()
	}
	for t := range c.Truth {
		v.truth(c, findings, m, t)
	}
	for k := range findings {
		v.finding(c, findings, m, k)
	}
	v.clipping(c, clipped)
	v.confusion = confuse(c.Truth, findings, m)
	return v
}

func (v *caseResult) of(family string) *tally {
	t := v.families[family]
	if t == nil {
		t = &tally{}
		v.families[family] = t
	}
	return t
}

// each calls f with every tally that a fault belongs to.
func (v *caseResult) each(c Case, t *simulate.Truth, f func(*tally)) {
	f(&v.overall)
	f(v.of(t.Family))
	if t.Kind == simulate.StringLoss && t.Severity >= 0.08 {
		f(v.of(strongStrings))
	}
	if t.Kind == simulate.UnitOutage && fine(c) {
		f(v.of(fineOutages))
	}
}

// fine reports whether the case has five-minute data.
func fine(c Case) bool {
	times := c.Input.Units[0].Frame.Times
	return len(times) > 1 && times[1]-times[0] <= 300
}

// truth books a fault: found or not, how soon, called what.
func (v *caseResult) truth(c Case, findings []diagnose.Finding, m matching, t int) {
	truth := &c.Truth[t]
	if !truth.Visible {
		return
	}
	k, found := m.foundBy[t]
	v.each(c, truth, func(a *tally) { a.truths++; a.lost += truth.LostKWh })
	if !found {
		v.mistakes = append(v.mistakes, Mistake{c.Name, truth.Family, describe(truth), true})
		v.each(c, truth, func(a *tally) { a.cost += truth.LostKWh * tariffUSD })
		if other := nearest(c, findings, m, truth); other >= 0 {
			v.each(c, truth, func(a *tally) { a.name(truth, &findings[other]) })
		}
		return
	}
	e, part := &findings[k], m.partOf[t]
	inside := overlapShare(truth, part, c.Input.Now)
	delay := part.DetectedAt.Sub(truth.Onset)
	risk, severity := c.energyAtRisk(truth)
	label := severity.Label
	exact := string(e.Family) == truth.Family
	v.each(c, truth, func(a *tally) {
		a.found++
		a.caught += truth.LostKWh * inside
		a.cost += truth.LostKWh * tariffUSD * min(delay.Hours()/max(endOf(truth, c.Input.Now).Sub(truth.From).Hours(), 1), 1)
		a.name(truth, e)
		if !truth.RowsAbsent { // without rows the gap is announced in time, and its nature at its end
			a.delays = append(a.delays, minutes(delay))
			if c.Sunny != nil {
				a.clearDays = append(a.clearDays, clearDays(c.Sunny, truth.Onset, part.DetectedAt))
			}
		}
		a.severity[rank(label)][rank(e.Severity.Label)]++
		if exact && risk > 0 {
			d := e.EnergyAtRiskKW - risk
			a.riskError, a.risk = a.riskError+max(d, -d), a.risk+risk
		}
		if exact && truth.LostKWh > 0 {
			d := part.LostKWh - truth.LostKWh
			a.lostError, a.lostTrue = a.lostError+max(d, -d), a.lostTrue+truth.LostKWh
		}
	})
}

// name books whether the fault was called by its name, first or second.
func (t *tally) name(truth *simulate.Truth, e *diagnose.Finding) {
	t.named++
	if string(e.Family) == truth.Family {
		t.top1++
	}
	for i, a := range e.Families {
		if i < 2 && string(a.Family) == truth.Family {
			t.top2++
		}
	}
}

// finding books an announced event: right or not, and how sure it was.
func (v *caseResult) finding(c Case, findings []diagnose.Finding, m matching, k int) {
	e := &findings[k]
	if e.Family == detect.Clipping { // judged by days
		return
	}
	t, matched := m.truthOf[k]
	if matched && !c.Truth[t].Visible || !matched && excused(e, c.Truth) {
		return
	}
	groups := []*tally{&v.overall, v.of(string(e.Family))}
	was := ""
	if matched {
		was = c.Truth[t].Family
		if was != string(e.Family) { // precision is booked where the fault is
			groups = []*tally{&v.overall, v.of(was)}
		}
		if c.Truth[t].Kind == simulate.StringLoss && c.Truth[t].Severity >= 0.08 {
			groups = append(groups, v.of(strongStrings))
		}
		if c.Truth[t].Kind == simulate.UnitOutage && fine(c) {
			groups = append(groups, v.of(fineOutages))
		}
	} else {
		v.mistakes = append(v.mistakes, Mistake{c.Name, string(e.Family), e.Summary, false})
		if e.Family == detect.StringOutage {
			groups = append(groups, v.of(strongStrings))
		}
		if e.Family == detect.InverterOutage && fine(c) {
			groups = append(groups, v.of(fineOutages))
		}
	}
	for _, a := range groups {
		a.events++
		a.claimed += e.LostKWh
		a.sure = append(a.sure, belief{e.Confidence, was == string(e.Family)})
		if matched {
			a.right++
			a.claimedRight += e.LostKWh
		}
		if e.Severity.Label != "normal" {
			a.cost += truckRollUSD
		}
		if c.Clean {
			a.cleanAlarms++
			if e.Severity.Label == "critical" {
				a.cleanGrave++
			}
		}
	}
	v.samples = append(v.samples, sample{e.Family, diagnose.TierOf(e.Event, len(c.Input.Units)), diagnose.EvidenceSum(e.Event), was == string(e.Family), was})
}

// clipping is evaluated by days and units: at the rating for at least an
// hour. Days in between, and days with wrong readings, are excluded.
func (v *caseResult) clipping(c Case, clipped map[string][]detect.Span) {
	if c.Clipped == nil {
		return
	}
	t := v.of(string(detect.Clipping))
	zone := c.Input.Site.Zone
	if zone == nil {
		zone = time.UTC
	}
	for _, u := range c.Input.Units {
		seen := map[string]bool{}
		for _, day := range clipped[u.AssetID] {
			seen[day.From.In(zone).Format(time.DateOnly)] = true
		}
		for date, hours := range c.Clipped[u.AssetID] {
			if disturbed(c.Truth, u.AssetID, date, zone) {
				delete(seen, date)
				continue
			}
			if hours < 1 {
				delete(seen, date)
				continue
			}
			t.truths++
			if seen[date] {
				t.found, t.events, t.right = t.found+1, t.events+1, t.right+1
				delete(seen, date)
			}
		}
		for date := range seen {
			if !disturbed(c.Truth, u.AssetID, date, zone) {
				t.events++
			}
		}
	}
}

// disturbed reports whether a fault affected the unit on a date.
func disturbed(truth []simulate.Truth, assetID, date string, zone *time.Location) bool {
	day, err := time.ParseInLocation(time.DateOnly, date, zone)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(truth, func(f simulate.Truth) bool {
		return f.Concerns(assetID) && f.Overlaps(day.Add(-2*time.Hour), day.Add(26*time.Hour))
	})
}

// nearest is the unmatched finding of any family that overlaps a fault longest
// on one of its units, or -1.
func nearest(c Case, findings []diagnose.Finding, m matching, truth *simulate.Truth) int {
	best, longest := -1, time.Duration(0)
	for k := range findings {
		e := &findings[k]
		if _, used := m.truthOf[k]; used || e.Family == detect.Clipping || !slices.ContainsFunc(e.Units, truth.Concerns) {
			continue
		}
		overlap := minTime(endOf(truth, c.Input.Now), ended(e, c.Input.Now)).Sub(maxTime(truth.From, e.Start))
		if overlap > longest {
			best, longest = k, overlap
		}
	}
	return best
}

// overlapShare is the part of a fault's lost energy that lies inside a finding,
// by the loss of each day and the daylight of it that the finding covers; of a
// fault without daily losses, the part of its time.
func overlapShare(t *simulate.Truth, e detect.Member, now time.Time) float64 {
	end := endedAt(e.End, now)
	if len(t.DailyLostKWh) > 0 {
		var inside, all float64
		for i, kwh := range t.DailyLostKWh {
			day := t.FirstDay.AddDate(0, 0, i)
			from, to := maxTime(day.Add(dawn), t.From), minTime(day.Add(dusk), endOf(t, now))
			if !from.Before(to) {
				from, to = day, day.Add(24*time.Hour)
			}
			all += kwh
			inside += kwh * min(max(minTime(to, end).Sub(maxTime(from, e.Start)).Hours()/to.Sub(from).Hours(), 0), 1)
		}
		return inside / all
	}
	from, to := t.From, endOf(t, now)
	if !t.Seen.IsZero() && t.Seen.Before(to) {
		to = t.Seen
	}
	return min(max(minTime(to, end).Sub(maxTime(from, e.Start)).Hours()/max(to.Sub(from).Hours(), 1e-9), 0), 1)
}

// The daylight of a day, from its midnight.
const (
	dawn = 6 * time.Hour
	dusk = 19 * time.Hour
)

// clearDays is how many sunny days lie in [from, to).
func clearDays(sunny func(time.Time) bool, from, to time.Time) float64 {
	n := 0.0
	for t := from; t.Before(to); t = t.Add(24 * time.Hour) {
		if sunny(t) {
			n++
		}
	}
	return n
}

func rank(label string) int {
	return map[string]int{"normal": 0, "warning": 1, "critical": 2}[label]
}
