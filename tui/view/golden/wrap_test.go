package golden

import (
	"slices"
	"testing"

	"app.sunloop/tui/view"
)

// A number stays on the line of its unit, and an amount on that of its currency, unless
// the line is too narrow for both.
func TestWrapKeepsQuantities(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  []string
	}{
		{"3.00 MWh lost, 95 % sure", 17, []string{"3.00 MWh lost,", "95 % sure"}},
		{"102 kWh lost, ZAR 188; 21.3 kW", 20, []string{"102 kWh lost,", "ZAR 188; 21.3 kW"}},
		{"for 3 h 15 min.", 12, []string{"for 3 h", "15 min."}},
		{"100 kWh", 4, []string{"100", "kWh"}},
		{"the set h 5", 9, []string{"the set h", "5"}},
	} {
		if got := view.Wrap(test.text, test.width); !slices.Equal(got, test.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}
