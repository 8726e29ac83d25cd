package bolt

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// crashDir is the variable that makes a process of this test binary a writer
// that will be killed.
const crashDir = "SUNLOOP_TEST_CRASH_DIR"

// crashStep lets a day pass in a few steps, so that days are sealed often.
const crashStep = 2 * time.Hour

// crashWriter writes without end, from several goroutines, and prints what has
// been acknowledged: writer, number. Each number is a record with its job in
// one transaction, a telemetry step, or a finished job.
func crashWriter(dir string) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := Open(dir, Options{Now: func() time.Time { return first.AddDate(10, 0, 0) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	round := os.Getenv(crashDir + "_ROUND")
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	for w := range 3 {
		go func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%s.%d.%d", round, w, n)
				fail(s.Update(ctx, func(tx store.Tx) error {
					if err := tx.Put("records", []byte(id), []byte(strings.Repeat(id, 20))); err != nil {
						return err
					}
					return tx.Enqueue(store.Job{Kind: "job", Unique: id})
				}))
				fmt.Printf("record %s\n", id)
			}
		}()
		go func() {
			site := store.SiteKey{ID: "site", Zone: time.UTC}
			asset := fmt.Sprintf("%s.%d", round, w)
			for n := 0; ; n++ {
				fail(s.Append(ctx, site, []store.AssetFrame{{AssetID: asset, Frame: crashFrame(n)}}))
				fmt.Printf("step %s %d\n", asset, n)
			}
		}()
	}
	for {
		now := s.now()
		claimed, err := s.Claim(ctx, now, time.Hour, 2)
		fail(err)
		for _, c := range claimed {
			fail(s.Settle(ctx, c.ID, store.JobResult{}))
			fmt.Printf("done %s\n", c.Unique)
		}
	}
}

func crashFrame(n int) series.Frame {
	f := series.Frame{Times: []int64{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * crashStep).Unix()}}
	f.Set(series.PowerKW, []float64{float64(n)})
	return f
}

// acknowledged is what the killed writers have printed.
type acknowledged struct {
	records, done map[string]bool
	steps         map[string]int // asset → the last
}

// TestKilled kills a writing process again and again and finds all that it had
// acknowledged, and nothing broken.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	dir := t.TempDir()
	ack := acknowledged{map[string]bool{}, map[string]bool{}, map[string]int{}}
	for round := range rounds {
		ack.run(t, dir, round)
		ack.check(t, dir, round)
	}
	t.Logf("%d records, %d jobs done, steps %v", len(ack.records), len(ack.done), ack.steps)
}

// run has a writer work until it has acknowledged some, and kills it.
func (a acknowledged) run(t *testing.T, dir string, round int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), crashDir+"="+dir, fmt.Sprintf("%s_ROUND=%d", crashDir, round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killAt := 150 + rand.IntN(300)
	lines := 0
	for in := bufio.NewScanner(out); in.Scan(); lines++ {
		if lines == killAt {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		a.note(t, in.Text())
	}
	_ = cmd.Wait() // killed
	if lines < killAt {
		t.Fatalf("the writer ended by itself after %d lines", lines)
	}
}

func (a acknowledged) note(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	n := 0
	switch {
	case len(words) == 2 && words[0] == "record":
		a.records[words[1]] = true
	case len(words) == 2 && words[0] == "done":
		a.done[words[1]] = true
	case len(words) == 3 && words[0] == "step":
		if _, err := fmt.Sscan(words[2], &n); err != nil {
			t.Fatal(err)
		}
		a.steps[words[1]] = n
	default:
		t.Fatalf("line %q", line)
	}
}

func (a acknowledged) check(t *testing.T, dir string, round int) {
	t.Helper()
	ctx := t.Context()
	s, err := Open(dir, Options{Now: func() time.Time { return time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, fault := range s.Check(ctx) {
		t.Error(fault)
	}
	err = s.View(ctx, func(tx store.Tx) error {
		for id := range a.records {
			if v, err := tx.Get("records", []byte(id)); err != nil || string(v) != strings.Repeat(id, 20) {
				t.Errorf("record %s: %q, %v", id, v, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for asset, last := range a.steps {
		f, err := store.Collect(s.Read(ctx, "site", asset, time.Unix(0, 0), s.now()))
		if err != nil {
			t.Fatal(err)
		}
		if f.Len() <= last {
			t.Errorf("%s: %d steps, of which %d were acknowledged", asset, f.Len(), last+1)
		}
		for i, v := range f.Values(series.PowerKW) {
			if want := crashFrame(i); v != float64(i) || f.Times[i] != want.Times[0] {
				t.Fatalf("%s: step %d is %v at %d", asset, i, v, f.Times[i])
			}
		}
	}
	// Every job waits or runs, except finished ones; each killed writer may
	// have finished one job that it did not print.
	left := map[string]bool{}
	err = s.view(ctx, func(r root) error {
		q := queueIn(r)
		c := q.jobs.Cursor()
		for id, _ := c.First(); id != nil; id, _ = c.Next() {
			j, err := q.get(string(id))
			if err != nil {
				return err
			}
			left[j.Job.Unique] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	silent := 0
	for id := range a.records {
		if !left[id] && !a.done[id] {
			silent++
		}
	}
	if silent > round+1 {
		t.Errorf("%d jobs are gone without having been done", silent)
	}
	for id := range a.done {
		if left[id] {
			t.Errorf("job %s was done and is there again", id)
		}
	}
}
