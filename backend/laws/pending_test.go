package laws

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
)

// pending are the laws that the service does not obey yet, each with what it waits
// for. A pending law that no draw violates fails the test, so that it is removed
// from here.
var pending = map[string]string{}

// tally collects the violations of laws over many draws.
type tally struct {
	checked  map[string]int
	violated map[string][]string
}

func newTally() *tally {
	return &tally{checked: map[string]int{}, violated: map[string][]string{}}
}

// hold records that a law was checked, and that it was violated unless ok. It
// returns ok.
func (v *tally) hold(law string, ok bool, format string, args ...any) bool {
	v.checked[law]++
	if !ok {
		v.violated[law] = append(v.violated[law], fmt.Sprintf(format, args...))
	}
	return ok
}

// report has a subtest for each law.
func (v *tally) report(t *testing.T) {
	t.Helper()
	for _, law := range slices.Sorted(maps.Keys(v.checked)) {
		t.Run(law, func(t *testing.T) {
			bad := v.violated[law]
			reason, waits := pending[law]
			switch {
			case waits && len(bad) == 0 && os.Getenv("SUNLOOP_TEST_LAWS_SEED") != "":
				t.Skipf("pending (%s): this draw obeys it", reason)
			case waits && len(bad) == 0:
				t.Errorf("the law is obeyed in %d checks: remove it from pending (%s)", v.checked[law], reason)
			case waits:
				t.Skipf("pending (%s): %d of %d checks violate it, as in %s", reason, len(bad), v.checked[law], bad[0])
			}
			for i, text := range bad {
				if i == 5 {
					t.Errorf("and %d more", len(bad)-i)
					break
				}
				t.Error(text)
			}
			t.Logf("%d checks", v.checked[law])
		})
	}
}
