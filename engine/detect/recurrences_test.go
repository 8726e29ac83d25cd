package detect

import (
	"math"
	"slices"
	"testing"
)

// Readings of one other value do not show by what steps readings differ.
func TestRecurrencesOfOneOtherValue(t *testing.T) {
	p := holding{power: append(slices.Repeat([]float64{3.3}, 40), 3, 3, 0, 3)}
	if got := p.recurrences(3); got != plateauRecurs {
		t.Errorf("%d recurrences show a limit, want %d", got, plateauRecurs)
	}
	p.quantum = 0.3
	if got := p.recurrences(3); got != math.MaxInt {
		t.Errorf("%d recurrences show a limit in steps of a tenth of it, want none", got)
	}
}
