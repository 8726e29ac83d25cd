package diagnose

import (
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
)

// Finding is an event with its diagnosis.
type Finding struct {
	detect.Event
	Confidence     float64       // that the event is what it is called: 0 to 0.95, above only with an event code
	Families       []Alternative // what else it may be, itself first; their confidences sum to at most one
	Causes         []Cause       // likeliest first; their confidences sum to at most Confidence
	EnergyAtRiskKW float64       // mean power that is missing while the sun is up over the next 24 h; of an ended event, what was at risk
	Severity       Severity
	Summary        string // the event in one sentence
	Actions        []Action
}

// Alternative is a family that would explain the event.
type Alternative struct {
	Family     detect.Family
	Confidence float64
}

// Cause is a root cause that would explain the event.
type Cause struct {
	Name       string
	Category   string  // hardware, electrical, grid, communication, operation, environment, unknown
	Confidence float64 // that this is the cause
	Text       string
}

// Explain diagnoses the events of a report on in. It keeps their order.
func Explain(in detect.Input, report detect.Report) []Finding {
	c := newContext(in, report)
	out := make([]Finding, 0, len(report.Events))
	for _, e := range report.Events {
		out = append(out, c.explain(e))
	}
	return out
}

// context holds what diagnosis uses of the site.
type context struct {
	in     detect.Input
	rating map[string]float64 // kW, by asset id, of the units that could be judged
	site   float64            // their sum
}

func newContext(in detect.Input, report detect.Report) *context {
	c := &context{in: in, rating: report.RatingKW}
	if c.in.Site.Zone == nil {
		c.in.Site.Zone = time.UTC
	}
	for _, kw := range report.RatingKW {
		c.site += kw
	}
	return c
}

func (c *context) explain(e detect.Event) Finding {
	f := Finding{Event: e, Confidence: confidence(e, len(c.in.Units))}
	f.Families = alternatives(e, f.Confidence)
	why := e
	if e.Family == detect.DataSilence && len(e.Units) == 1 && len(c.rating) > 1 {
		why.Family = detect.CommunicationGap // the connection of the unit, while the site delivers
	}
	f.Causes = c.causes(why, f.Confidence)
	rating := c.ratingOf(e.Affected()) // what has recovered is no longer at risk
	f.EnergyAtRiskKW = EnergyAtRiskKW(e.Family, e.LossFraction, rating, c.DaylightMeanKW(rating))
	f.Severity = SeverityOf(Exposure{
		Family: e.Family, LossFraction: e.LossFraction, RatingKW: rating, SiteKW: c.site, SiteUnits: len(c.rating),
		EnergyAtRiskKW: f.EnergyAtRiskKW, Lasted: lasted(e), Confidence: f.Confidence,
	})
	f.Actions = actions[why.Family]
	f.Summary = c.summary(e)
	return f
}

func (c *context) ratingOf(units []string) float64 {
	var sum float64
	for _, id := range units {
		sum += c.rating[id]
	}
	return sum
}

// DaylightMeanKW is the mean power in the daylight of the next 24 h that falls
// to a part of the site, by its rating; without a forecast [TypicalShare] of it.
func (c *context) DaylightMeanKW(rating float64) float64 {
	if c.site <= 0 {
		return TypicalShare * rating
	}
	if kw, ok := daylightMean(c.in.Forecast, c.in.Now, c.site); ok {
		return kw * rating / c.site
	}
	return TypicalShare * rating
}

// daylightMean returns the mean of a P50 forecast over the part of the next 24
// h that is above 1 % of the site's rating. ok is false if there is no
// forecast.
func daylightMean(p50 series.Series, now time.Time, siteKW float64) (kw float64, ok bool) {
	var sum, n float64
	if p50.Len() > 0 {
		for _, v := range p50.Slice(now, now.Add(24*time.Hour)).Values {
			if v > 0.01*siteKW {
				sum, n = sum+v, n+1
			}
		}
	}
	return sum / max(n, 1), n > 0
}

// lasted is how long an event has gone on, or did.
func lasted(e detect.Event) time.Duration {
	if e.End != nil {
		return e.End.Sub(e.Start)
	}
	return e.LastSeen.Sub(e.Start)
}
