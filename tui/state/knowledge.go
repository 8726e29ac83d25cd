package state

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/terminal"
)

// Certainty is whether a value may be shown as a fact of now.
type Certainty uint8

// The certainties. A value is outdated if an answer came, but none as recent as
// its period requires; it is unknown if none came.
const (
	Known Certainty = iota
	Outdated
	Unknown
)

// Knowledge is what the console knows of a value: how certain it is, since when
// and why it is not known. The zero Knowledge is of a known value. What is shown
// of data, also that there are none, is shown with it.
type Knowledge struct {
	Certainty Certainty
	Since     time.Time // of an outdated value the last answer, of an unknown one the first failure; zero while the first answer is awaited
	Err       error     // nil: no answer so far
	NextTry   time.Time
}

// Limits of the age of a value.
const (
	failedAge = 30 * time.Second // least age at which a value with failed requests since is outdated
	oldAge    = 2 * time.Minute  // least age at which any other is
)

// Knowledge is what is known of the value; period is how often it is asked for
// at most.
func (v *Value[T]) Knowledge(now time.Time, period time.Duration) Knowledge {
	k := Knowledge{Since: v.At, Err: v.Err, NextTry: v.NextTry}
	age := now.Sub(v.At)
	switch {
	case v.At.IsZero():
		k.Certainty, k.Since = Unknown, v.FailedSince
	case v.Err != nil && age > max(failedAge, 2*unfocusedFactor*period), age > max(oldAge, 2*unfocusedFactor*idleFactor*period):
		k.Certainty = Outdated
	default:
		return Knowledge{}
	}
	return k
}

// Missing reports whether there is no value.
func (k Knowledge) Missing() bool { return k.Certainty == Unknown }

// Awaited reports whether the first answer is still awaited.
func (k Knowledge) Awaited() bool { return k.Certainty == Unknown && k.Err == nil }

// Text says in a few words how certain something is: that its first answer is
// awaited, since when it is unknown or how old it is, and why. It is empty if it
// is known.
func (k Knowledge) Text(what string, now time.Time, zone *time.Location) string {
	switch {
	case k.Certainty == Known:
		return ""
	case k.Awaited():
		return "asking for " + what + " …"
	case k.Certainty == Unknown:
		return what + " unknown since " + clock(k.Since, now, zone) + ": " + Reason(k.Err)
	}
	return what + " " + display.Age(now.Sub(k.Since)) + " old: " + Reason(k.Err)
}

// Sentence is Text as a separate sentence.
func (k Knowledge) Sentence(what string, now time.Time, zone *time.Location) string {
	words := k.Text(what, now, zone)
	if words == "" || strings.HasSuffix(words, "…") {
		return capital(words)
	}
	return capital(words) + "."
}

// clock writes a time of today as a clock does, an earlier one with its date.
func clock(t, now time.Time, zone *time.Location) string {
	t, now = t.In(zone), now.In(zone)
	if midnight(t, zone).Equal(midnight(now, zone)) {
		return display.Clock(t)
	}
	return display.DayMonthClock(t)
}

// KnowledgeOf is what a console that shows a site, nil for none, and what belongs
// to no site knows of a query. A query that is not asked is known: none of
// it is shown. The list of sites belongs to the store.
func KnowledgeOf(site *Site, admin *Admin, n Need, now time.Time) Knowledge {
	var s Store
	return s.knowledgeOf(site, admin, n, now)
}

// knowledgeOf is KnowledgeOf in a store that the caller provides, as it is called
// for each need of each frame.
func (s *Store) knowledgeOf(site *Site, admin *Admin, n Need, now time.Time) Knowledge {
	src, ok := sources[n.Query]
	if !ok || n.Query == QuerySites || src.named && n.Of == "" || !src.anywhere && site == nil {
		return Knowledge{}
	}
	s.Site = site
	switch {
	case src.anywhere && admin == nil:
		return Knowledge{}
	case src.anywhere:
		s.Admin = *admin
	}
	if src.named && !src.anywhere && site.Wanted(n.Query) != n.Of { // asked for another thing until now
		return Knowledge{Certainty: Unknown}
	}
	k := src.known(s, now, n.Period)
	if refusal := (*api.Error)(nil); errors.As(k.Err, &refusal) && refusal.Status == http.StatusForbidden {
		return Knowledge{} // the role does not read it, so that the view does not show it
	}
	if site == nil || site.link == nil || k.Certainty == Known || k.Err != nil {
		return k
	}
	switch l := site.link; {
	case l.Down:
		k.Err, k.Since = l.Err, later(k.Since, l.Since)
	case now.Before(l.Limited):
		k.Err, k.Since, k.NextTry = l.Err, later(k.Since, l.limitedFrom), l.Limited
	}
	return k
}

// later returns t, or without it the other time.
func later(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}

// queryWords are the names of what queries are about.
var queryWords = map[Query]string{
	QuerySites: "sites", QueryAssets: "units", QueryDay: "telemetry", QueryPast: "telemetry of that day", QuerySummary: "vital signs", QueryForecast: "forecast", QueryIssued: "issued forecasts",
	QueryFindings: "findings", QueryModels: "models", QueryUploads: "uploads", QueryActivities: "activities", QueryRuns: "runs of the detector", QueryOrders: "work orders", QueryOrder: "the order",
	QuerySchedules: "schedules", QuerySchedule: "the schedule", QueryBOMs: "bills of materials", QueryBOM: "the bill of materials", QueryWindows: "windows", QueryParts: "parts",
	QuerySubscriptions: "webhooks", QueryDeliveries: "deliveries", QueryAlerts: "alarms", QueryAlertLog: "alarm history", QueryAlertHealth: "alarm performance", QuerySpan: "telemetry of these days",
	QuerySamples: "samples", QueryForeseen: "former forecasts", QueryKeys: "API keys", QueryUsers: "users", QueryFleet: "fleet", QueryLog: "log", QueryAudit: "audit trail", QueryAllUploads: "uploads", QueryImport: "the import", QueryFleetUnits: "units of the selected site", QueryAccuracy: "accuracy",
	QueryModelHistory: "history of models", QueryInterpolations: "gap filling", QueryGaps: "gaps", QuerySources: "sources", QuerySource: "values of the device", QueryDiscovery: "search for devices", QueryGateways: "gateways", QueryIssues: "issues", QueryShift: "shift log", QueryEvidence: "evidence", QueryAvailability: "availability",
	QueryStretches: "availability of the unit", QueryRecords: "records", QueryKPIs: "KPIs", QueryManual: "runs", QueryHistory: "history", QueryDaily: "daily energies", QuerySeason: "energies of a year ago",
	QueryNotifyConfig: "notifications", QueryOnCall: "who is on call", QueryShifts: "the calendar", QueryNotifyDeliveries: "deliveries", QueryExplanation: "the explanation", QuerySimulation: "the simulation",
}

// KnowledgeText says of which needs of a view the values are unknown or
// outdated, the worst first; empty if all are known. Text that is wider than width
// names only the first of them. bad is false if the first answers are only
// awaited.
func KnowledgeText(site *Site, admin *Admin, needs []Need, now time.Time, zone *time.Location, width int) (words string, bad bool) {
	var worst Knowledge
	var names []string
	var s Store
	for _, n := range needs {
		k := s.knowledgeOf(site, admin, n, now)
		if n.Hidden || k.Certainty == Known {
			continue
		}
		switch rank, is := k.rank(), worst.rank(); {
		case rank > is:
			worst, names = k, []string{queryWords[n.Query]}
		case rank == is && !slices.Contains(names, queryWords[n.Query]):
			names = append(names, queryWords[n.Query])
			if k.Since.Before(worst.Since) {
				worst = k
			}
		}
	}
	for n := len(names); ; n-- {
		what := strings.Join(names[:n], ", ")
		if rest := len(names) - n; rest > 0 {
			what += fmt.Sprintf(" and %d more", rest)
		}
		if words = worst.Text(what, now, zone); n <= 1 || terminal.Width(words) <= width {
			return words, worst.rank() > 1
		}
	}
}

// rank orders knowledge by how much is missing.
func (k Knowledge) rank() int {
	switch {
	case k.Certainty == Known:
		return 0
	case k.Awaited():
		return 1
	case k.Certainty == Outdated:
		return 2
	}
	return 3
}
