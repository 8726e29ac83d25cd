package score

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/detect"
)

// Start is the first day of seeded fleets: the season in which the northern
// site's yield falls, so that nothing is learned in the best weather.
var Start = time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)

// Report is the outcome of a replay.
type Report struct {
	Overall            Figures            `json:"overall"`
	Families           map[string]Figures `json:"families"`
	Confusion          Confusion          `json:"confusion"`
	Cases              int                `json:"cases"`
	CleanInverterYears float64            `json:"clean_inverter_years"`
	Mistakes           []Mistake          `json:"-"`

	samples []sample
}

// Seeds replays the cases of the seeds from first to last, as [FromSeed] or
// [FromPractice] makes them, so many seeds at a time.
func Seeds(ctx context.Context, first, last uint64, jobs int, cases func(seed uint64, start time.Time) []Case) (*Report, error) {
	n := int(last - first + 1)
	return replay(ctx, n, jobs, func(i int) ([]Case, error) { return cases(first+uint64(i), Start), nil })
}

// Cases replays cases that are given, so many at a time.
func Cases(ctx context.Context, cases []Case, jobs int) (*Report, error) {
	return replay(ctx, len(cases), jobs, func(i int) ([]Case, error) { return cases[i : i+1], nil })
}

// replay runs n groups of cases; the order of the outcome does not depend on
// how many run at a time.
func replay(ctx context.Context, n, jobs int, cases func(i int) ([]Case, error)) (*Report, error) {
	results := make([][]caseResult, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(jobs, 1))
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			group, err := cases(i)
			if err != nil {
				return err
			}
			for _, c := range group {
				findings, report, err := c.Findings(ctx)
				if err != nil {
					return fmt.Errorf("replay %s: %w", c.Name, err)
				}
				results[i] = append(results[i], evaluate(c, findings, report.Clipped))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	r := &Report{Families: map[string]Figures{}}
	var overall tally
	families := map[string]*tally{}
	for _, group := range results {
		for _, v := range group {
			r.Cases++
			r.CleanInverterYears += v.cleanYears
			overall.add(&v.overall)
			r.Confusion.add(v.confusion)
			r.samples, r.Mistakes = append(r.samples, v.samples...), append(r.Mistakes, v.mistakes...)
			for name, t := range v.families {
				if families[name] == nil {
					families[name] = &tally{}
				}
				families[name].add(t)
			}
		}
	}
	r.Overall = overall.figures(r.CleanInverterYears)
	for name, t := range families {
		r.Families[name] = t.figures(r.CleanInverterYears)
	}
	return r, nil
}

// families in the order of the report.
var reported = []string{
	string(detect.InverterOutage), fineOutages, string(detect.SiteOutage), string(detect.CommunicationGap), string(detect.GroundFault), string(detect.ArcFault), string(detect.IntermittentTrip),
	string(detect.StringOutage), strongStrings, string(detect.PartialShading), string(detect.TrackerFault), string(detect.Underperformance), string(detect.CapacityChange),
	string(detect.Soiling), string(detect.Degradation), string(detect.SnowCover), string(detect.Clipping), string(detect.Curtailment), string(detect.ThermalDerating),
	string(detect.StuckSensor), string(detect.TimeShift), string(detect.DataQuality), string(detect.IrradianceSensor),
	string(detect.RepeatedData), string(detect.DataSilence),
}
