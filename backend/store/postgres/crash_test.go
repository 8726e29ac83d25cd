//go:build !gateway

package postgres

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/storetest"
)

// writerEnv makes the test binary write to the database that it names.
const writerEnv = "SUNLOOP_TEST_POSTGRES_WRITER"

const crashUnits = 5

var crashSite = store.SiteKey{ID: "site", Zone: time.UTC}

// writeStep stores step i of a fleet and then the two records that refer to it,
// which must never be separate.
func writeStep(ctx context.Context, s *Store, i int) error {
	// Each step is six hours of 5-minute steps later, so that days are sealed.
	if err := s.Append(ctx, crashSite, storetest.FleetStep(crashUnits, i*72)); err != nil {
		return err
	}
	return s.Update(ctx, func(tx store.Tx) error {
		step := binary.BigEndian.AppendUint32(nil, uint32(i))
		for _, bucket := range []string{"left", "right"} {
			if err := tx.Put(bucket, store.Key("customer", string(step)), step); err != nil {
				return err
			}
		}
		return nil
	})
}

// crashClock is behind all steps.
func crashClock() time.Time { return storetest.FleetEnd.AddDate(5, 0, 0) }

// checkSteps asserts that the first so many steps are there, and nothing is half.
func checkSteps(t *testing.T, s *Store, acknowledged int) {
	t.Helper()
	var stored [2]int
	err := s.View(t.Context(), func(tx store.Tx) error {
		for k, bucket := range []string{"left", "right"} {
			stored[k] = 0
			for _, err := range tx.Scan(bucket, nil, nil, false) {
				if err != nil {
					return err
				}
				stored[k]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stored[0] != stored[1] || stored[0] < acknowledged || stored[0] > acknowledged+1 {
		t.Errorf("%d and %d records of %d acknowledged steps", stored[0], stored[1], acknowledged)
	}
	for u := range crashUnits {
		f, err := store.Collect(s.Read(t.Context(), crashSite.ID, storetest.FleetUnit(u), storetest.FleetEnd, crashClock()))
		if err != nil || f.Len() < acknowledged || f.Len() > acknowledged+1 {
			t.Errorf("unit %d has %d samples of %d acknowledged, %v", u, f.Len(), acknowledged, err)
		}
	}
	if faults := s.Check(t.Context()); len(faults) > 0 {
		t.Errorf("check: %v", faults)
	}
}

// TestServerKilled: what was acknowledged is there after the database was killed
// and came back.
func TestServerKilled(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{FSync: true})
	s, err := Open(t.Context(), server.Database(t), Options{Now: crashClock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	acknowledged := 0
	for round := range 3 {
		var wg sync.WaitGroup
		enough := make(chan struct{})
		wg.Go(func() {
			for n := 0; ; n++ {
				err := writeStep(t.Context(), s, acknowledged)
				switch {
				case err != nil && n <= 10+7*round:
					t.Error(err)
					close(enough)
					return
				case err != nil:
					return // the database is gone
				case n == 10+7*round:
					close(enough)
				}
				acknowledged++
			}
		})
		<-enough
		server.Kill()
		wg.Wait()
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		s.pool.Reset()
		checkSteps(t, s, acknowledged)
	}
}

func writeUntilKilled(url string) {
	s, err := Open(context.Background(), url, Options{Now: crashClock})
	if err != nil {
		panic(err)
	}
	first, err := strconv.Atoi(os.Getenv(writerEnv + "_FROM"))
	if err != nil {
		panic(err)
	}
	for i := first; ; i++ {
		if err := writeStep(context.Background(), s, i); err != nil {
			panic(err)
		}
		fmt.Println(i + 1)
	}
}

// TestWriterKilled: a process that is killed while it writes leaves no partial
// write, and does not prevent others from continuing.
func TestWriterKilled(t *testing.T) {
	url := pgtest.Database(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), url, Options{Now: crashClock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	acknowledged := 0
	for round := range 4 {
		child := exec.Command(exe, "-test.run=^$")
		child.Env = append(os.Environ(), writerEnv+"="+url, writerEnv+"_FROM="+strconv.Itoa(acknowledged))
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(err)
			}
			if n == 8+5*round {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // killed
		if err := writeStep(t.Context(), s, acknowledged); err != nil {
			t.Fatal(err)
		}
		acknowledged++
		checkSteps(t, s, acknowledged)
	}
}
