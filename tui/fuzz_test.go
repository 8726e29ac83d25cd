package tui

import "testing"

// FuzzParseArrangement asserts that an arrangement which was read reads back
// the same as it is written.
func FuzzParseArrangement(f *testing.F) {
	for _, text := range []string{"Orient 38x60 zoom", "", "observe", "Act zoom zoom", "Act 0x100", "Act -1x5", "Act 9999999999999999999x1", "Decide 38x60 40x40"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseArrangement(text)
		if err != nil {
			return
		}
		if a.side < 1 || a.side > 99 || a.down < 1 || a.down > 99 {
			t.Fatalf("%q splits at %d and %d %%", text, a.side, a.down)
		}
		again, err := parseArrangement(a.String())
		if err != nil || again != a {
			t.Fatalf("%q is %+v, and %q is %+v, %v", text, a, a, again, err)
		}
	})
}
