package interpolate

import (
	"context"
	"fmt"
	"slices"

	"app.sunloop/engine/series"
)

// Unit is one unit of a site: its power, kW, taken up to the site's capacity,
// and what is known of the weather and of its siblings.
type Unit struct {
	Power   series.Series
	Weather Weather
}

// ForUnits is the model for single units of the site it was trained for:
// it corrects as that learned to, but which method fills is chosen, and the
// report's errors are measured, on samples of these units that were
// hidden, on days that nothing was learned from. So it is known what siblings
// are worth. A few units stand for all of a site.
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
