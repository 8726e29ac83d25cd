package detect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// events puts the records in words.
func (s *session) events() []Event {
	out := make([]Event, 0, len(s.records))
	slices.SortStableFunc(s.records, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.detected, b.detected), cmp.Compare(a.units[0], b.units[0]))
	})
	for _, r := range s.records {
		out = append(out, s.event(r))
	}
	return out
}

func (s *session) event(r *record) Event {
	e := Event{
		Family: r.family, Class: r.class, LossFraction: r.fraction, LostKWh: r.lost,
		Start: time.Unix(r.start, 0).UTC(), DetectedAt: time.Unix(r.detected, 0).UTC(), LastSeen: time.Unix(r.lastSeen, 0).UTC(),
	}
	if r.end != 0 {
		end := time.Unix(r.end, 0).UTC()
		e.End = &end
	}
	var rating float64
	for _, k := range r.units {
		e.Units = append(e.Units, s.in.Units[k].AssetID)
		rating += s.rating(k)
	}
	observed := s.evidence(r)
	for _, o := range observed {
		e.Evidence = append(e.Evidence, o.Evidence)
	}
	e.Confidence = confidence(r, observed)
	e.Causes = s.causes(r, observed, e.Confidence)
	e.EnergyAtRiskKW = min(r.fraction*s.daylightMeanKW(rating), rating)
	e.Severity = s.severity(r, e)
	e.Actions = actions[r.family]
	e.Summary = s.summary(r, e)
	return e
}

// typicalShare of the rating is made on average while the sun is up, where no
// forecast says it better.
const typicalShare = 0.45

// daylightMeanKW is the mean power of the daylight samples of the next 24 h
// that falls to a part of the site, by its rating.
func (s *session) daylightMeanKW(rating float64) float64 {
	var sum, n float64
	f := s.in.Forecast
	if f.Len() > 0 {
		for _, kw := range f.Slice(s.in.Now, s.in.Now.Add(24*time.Hour)).Values {
			if kw > 0.01*s.siteRating() {
				sum, n = sum+kw, n+1
			}
		}
	}
	if n == 0 || s.siteRating() <= 0 {
		return typicalShare * rating
	}
	return sum / n * rating / s.siteRating()
}

// severity follows one table, first hit first.
func (s *session) severity(r *record, e Event) Severity {
	end := r.lastSeen
	if r.end != 0 {
		end = r.end
	}
	hours := float64(end-r.start) / 3600
	var rating float64
	for _, k := range r.units {
		rating += s.rating(k)
	}
	site := s.siteRating()
	outage := r.family == SiteOutage || r.family == InverterOutage
	for _, rule := range []struct {
		hit bool
		Severity
	}{
		{r.family == SiteOutage, emergency},
		{outage && len(s.in.Units) > 1 && r.fraction*rating >= 0.3*site, emergency},
		{outage && hours > 24, emergency},
		{outage && len(s.in.Units) > 1 && e.EnergyAtRiskKW >= 0.3*typicalShare*site, emergency},
		{outage && e.Confidence >= 0.8, Severity{"critical", "High", "start work within 2 working days"}},
		{outage, Severity{"warning", "Medium", "look at it and plan"}},
		{(r.family == StringOutage || r.family == Soiling) && r.fraction >= 0.03 && hours >= 72, Severity{"warning", "Medium", "plan"}},
		{r.family == CommunicationGap && hours > 24, Severity{"warning", "Medium", "plan"}},
	} {
		if rule.hit {
			return rule.Severity
		}
	}
	return Severity{"normal", "Low", "watch"}
}

var emergency = Severity{"critical", "Critical", "acknowledge within 1 hour, start work within 24 hours"}

// summary is the event in one sentence.
func (s *session) summary(r *record, e Event) string {
	who, was, has := e.Units[0], "was", "has"
	if len(e.Units) > 1 {
		who, was, has = fmt.Sprintf("%d units", len(e.Units)), "were", "have"
		if len(e.Units) == len(s.in.Units) {
			who, was, has = "The whole site", "was", "has"
		}
	}
	last := r.lastSeen
	if r.end != 0 {
		last = r.end
	}
	since := fmt.Sprintf("since %s", s.clock(r.start))
	if r.end != 0 {
		since = fmt.Sprintf("from %s for %s", s.clock(r.start), span(float64(last-r.start)/3600))
	}
	switch {
	case r.family == CommunicationGap && r.class == Comms:
		return fmt.Sprintf("%s %s not heard %s, but produced meanwhile.", who, was, since)
	case r.family == CommunicationGap && r.end == 0:
		return fmt.Sprintf("%s %s not been heard %s.", who, has, since)
	case r.family == CommunicationGap && r.class == Real:
		return fmt.Sprintf("%s %s not heard %s, and energy is missing too.", who, was, since)
	case r.family == CommunicationGap:
		return fmt.Sprintf("%s %s not heard %s; no counter says whether energy is missing.", who, was, since)
	case r.family == StuckSensor:
		return fmt.Sprintf("The power reading of %s stands still %s.", who, since)
	case r.family == Curtailment:
		return fmt.Sprintf("%s %s held at %.0f %% of the rating %s; %s not made.", who, was, 100*r.seen.level, since, kwh(r.lost))
	case r.family == Soiling:
		return fmt.Sprintf("Dirt takes about %.1f %% of the site's production %s; %s lost.", 100*r.fraction, since, kwh(r.lost))
	case r.family == StringOutage:
		return fmt.Sprintf("%s makes %.1f %% less than its peers %s%s; %s lost.", who, 100*r.fraction, since, s.strings(r), kwh(r.lost))
	case r.end == 0:
		return fmt.Sprintf("%s %s made no power %s; %s lost so far.", who, has, since, kwh(r.lost))
	default:
		return fmt.Sprintf("%s made no power %s; %s lost.", who, since, kwh(r.lost))
	}
}

// clock is a time as the site's clocks show it.
func (s *session) clock(t int64) string {
	return time.Unix(t, 0).In(s.in.Site.Zone).Format("2 Jan 2006 15:04")
}

// span is a number of hours in words.
func span(hours float64) string {
	minutes := int(math.Round(hours * 60))
	switch {
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 48*60 && minutes%60 != 0:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	case minutes < 48*60:
		return fmt.Sprintf("%d h", minutes/60)
	default:
		return fmt.Sprintf("%.1f days", float64(minutes)/1440)
	}
}

func kwh(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f kWh", v)
	}
	return fmt.Sprintf("%.1f kWh", math.Round(v*10)/10+0) // no minus before a zero
}
