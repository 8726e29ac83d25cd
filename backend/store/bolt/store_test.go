package bolt

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"app.sunloop/backend/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openTest(t testing.TB, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(t.TempDir(), Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Home { return openTest(t, now) })
}
