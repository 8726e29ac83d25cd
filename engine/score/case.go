package score

import (
	"context"
	"fmt"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
)

// Case is a site with its telemetry and what truly happened to it.
type Case struct {
	Name    string
	Input   detect.Input
	Truth   []simulate.Truth
	Clipped map[string]map[string]float64 // hours at the rating, by asset and by the site's date; nil where not known
	Clean   bool                          // nothing was injected
	Sunny   func(time.Time) bool          // whether the site's day of a time was clear or fair; nil where not known
}

// FromSeed are the cases of a seed of [simulate.Scored].
func FromSeed(seed uint64, start time.Time) []Case {
	var out []Case
	for _, c := range simulate.Scored(seed, start) {
		out = append(out, newCase(fmt.Sprintf("%d/%s", seed, c.Site.ID), c))
	}
	return out
}

// FromPractice are the cases of a seed of [simulate.Practice].
func FromPractice(seed uint64, start time.Time) []Case {
	var out []Case
	for _, c := range simulate.Practice(seed, start) {
		out = append(out, newCase(fmt.Sprintf("practice %d/%s", seed, c.Site.ID), c))
	}
	return out
}

// newCase simulates a case.
func newCase(name string, c simulate.Case) Case {
	s := c.Site
	frames := c.Frames()
	one := Case{
		Name: name, Clean: c.Clean, Sunny: s.Sunny,
		Input: detect.Input{Site: detect.Site{ID: s.ID, Location: &s.Location, Zone: s.Zone}, Now: c.Until},
		Truth: c.Truth(),
	}
	if c.Measuring == nil { // haze and wander change when a unit is at its limit
		one.Clipped = s.ClippedHours(s.Start, c.Until)
	}
	for k := range one.Truth {
		// Six equal readings are the least that a standing one shows, and three
		// missing ones a gap.
		t := &one.Truth[k]
		if t.Kind == simulate.StuckSensor && t.ShownHours < 7*c.Step.Hours() || t.Kind == simulate.CommunicationGap && t.ShownHours < 3*c.Step.Hours() {
			t.Visible = false
		}
	}
	for _, u := range c.Units() {
		unit := detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Frame: frames[u.AssetID]}
		if !c.Plain {
			unit.Strings, unit.Tracker = u.Strings, u.Tracker
			if !u.Tracker {
				plane := u.Plane
				unit.Plane = &plane
			}
		}
		one.Input.Units = append(one.Input.Units, unit)
	}
	return one
}

// Findings runs detection and diagnosis on the case.
func (c Case) Findings(ctx context.Context) ([]diagnose.Finding, detect.Report, error) {
	report, err := detect.Run(ctx, c.Input)
	if err != nil {
		return nil, report, err
	}
	return diagnose.Explain(c.Input, report), report, nil
}

// inverterYears of telemetry in the case.
func (c Case) inverterYears() float64 {
	sum := 0.0
	for _, u := range c.Input.Units {
		if n := u.Frame.Len(); n > 1 {
			sum += float64(u.Frame.Times[n-1]-u.Frame.Times[0]) / (365.25 * 86400)
		}
	}
	return sum
}

// rating of the named units, kW, and of the site.
func (c Case) rating(units []string) (some, site float64) {
	for _, u := range c.Input.Units {
		site += u.CapacityKW
		for _, id := range units {
			if id == u.AssetID {
				some += u.CapacityKW
			}
		}
	}
	return some, site
}

// FromMeasured is a case of telemetry that was measured with faults injected
// into it: those of the site, or drawn from the seed. What the history holds by
// itself counts as false alarms.
func FromMeasured(seed uint64, site *simulate.Site, frames map[string]series.Frame) (Case, error) {
	with, truth, err := simulate.Inject(seed, site, frames)
	if err != nil {
		return Case{}, err
	}
	c := measuredCase(fmt.Sprintf("%d/%s", seed, site.ID), site, with)
	c.Truth = truth
	return c, nil
}

// WithOneLoss is a case of measured telemetry with one loss of a kind, drawn from the
// seed, for [MeasuredCases]. ok is false if the history has no place for it.
func WithOneLoss(seed uint64, site *simulate.Site, kind simulate.Kind, frames map[string]series.Frame) (c Case, ok bool, err error) {
	with, truth, ok, err := simulate.InjectOne(seed, site, kind, frames)
	if err != nil || !ok {
		return Case{}, false, err
	}
	c = measuredCase(fmt.Sprintf("%s/%s-%d", site.ID, kind, seed), site, with)
	c.Truth = []simulate.Truth{truth}
	return c, true, nil
}

// Unchanged is a case of measured telemetry as it is, for [MeasuredCases].
func Unchanged(site *simulate.Site, frames map[string]series.Frame) Case {
	c := measuredCase(site.ID+"/clean", site, frames)
	c.Clean = true
	return c
}

func measuredCase(name string, site *simulate.Site, frames map[string]series.Frame) Case {
	c := Case{Name: name, Input: detect.Input{Site: detect.Site{ID: site.ID, Zone: site.Zone}}}
	if site.Location != (solar.Location{}) {
		c.Input.Site.Location = &site.Location
	}
	for _, u := range site.Units {
		f := frames[u.AssetID]
		if n := f.Len(); n > 0 {
			if last := time.Unix(f.Times[n-1]+1, 0).UTC(); last.After(c.Input.Now) {
				c.Input.Now = last
			}
		}
		c.Input.Units = append(c.Input.Units, detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Tracker: u.Tracker, Strings: u.Strings, Frame: f})
	}
	return c
}
