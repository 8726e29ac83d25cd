package forecast

import (
	"fmt"
	"slices"

	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/learn/quantile"
)

// Calibration returns all state that [Model.Observe] changes, as bytes. Stored
// next to the artefact, it lets a model that is loaded again continue from the
// same state.
func (m *Model) Calibration() []byte {
	var w artifact.Writer
	for _, l := range m.sets() {
		w.Section(sectionCalibrator, func(e *artifact.Encoder) { e.Calibrator(l.calibrator) })
		w.Section(sectionSeen, func(e *artifact.Encoder) { e.Int64(int64(l.seen)) })
	}
	return w.Bytes()
}

// Calibrate puts back what [Model.Calibration] of the same model gave. Bytes
// that are damaged, or of a model of another kind, change nothing; the error
// wraps artifact.ErrMalformed.
func (m *Model) Calibrate(b []byte) error {
	c, err := artifact.Open(b)
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	sets := m.sets()
	if n := c.Count(sectionCalibrator); n != len(sets) {
		return fmt.Errorf("calibrate: %w: %d calibrations for %d sets of learners", artifact.ErrMalformed, n, len(sets))
	}
	states, seen := make([]*quantile.Calibrator, len(sets)), make([]int64, len(sets))
	for i := range sets {
		err := c.Section(sectionCalibrator, i, func(d *artifact.Decoder) {
			states[i] = d.Calibrator()
			if d.Err() == nil && !slices.Equal(states[i].Quantiles, m.quantiles) {
				d.Fail("a calibration of quantiles %v, not %v", states[i].Quantiles, m.quantiles)
			}
		})
		if err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
		err = c.Section(sectionSeen, i, func(d *artifact.Decoder) {
			if seen[i] = d.Int64(); seen[i] < 0 {
				d.Fail("%d intervals seen", seen[i])
			}
		})
		if err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
	}
	for i, l := range sets {
		l.calibrator, l.seen = states[i], int(seen[i])
	}
	return nil
}
