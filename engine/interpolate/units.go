package interpolate

import (
	"context"
	"fmt"
	"slices"

	"app.sunloop/engine/series"
)

// Unit is one unit of a site: its power in kW, capped at the site's capacity,
// and the weather and siblings known for it.
type Unit struct {
	Power   series.Series
	Weather Weather
}

// ForUnits returns the model for single units of the site that it was trained
// for. The corrections are those of the site's model, but methods are chosen,
// and the report's errors are measured, on hidden samples of these units on
// days that were not used in training. This also measures the value of
// siblings. A few units represent all of a site.
func (m *Model) ForUnits(ctx context.Context, units []Unit, o Options) (*Model, Report, error) {
	o = o.withDefaults()
	own := *m
	own.report.Choices, own.report.Lengths, own.report.Overall = nil, nil, Score{}
	own.report.Notes = slices.Clone(m.report.Notes)
	own.siblings = true
	var stages []*fillState
	for _, u := range units {
		g, err := own.open(u.Power, u.Weather, o.Workers)
		if err != nil {
			return nil, m.report, fmt.Errorf("choose how gaps of units of %s are filled: %w", m.site.ID, err)
		}
		stages = append(stages, g)
	}
	own.siblings = slices.ContainsFunc(stages, func(g *fillState) bool {
		return g.fine.covered(g.fine.beside, gapSteps{0, len(g.fine.power)}) >= enoughSeen
	})
	own.report.Siblings = own.siblings
	own.defaults()
	roles := own.roles()
	if roles == nil || len(stages) == 0 {
		return &own, own.report, ctx.Err()
	}
	p := newPlan(own.report.From, own.report.To, own.site.Location.LongitudeDeg, roles)
	if err := own.measure(ctx, stages, p, o); err != nil {
		return nil, m.report, fmt.Errorf("choose how gaps of units of %s are filled: %w", m.site.ID, err)
	}
	return &own, own.report, nil
}
