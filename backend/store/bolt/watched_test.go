package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/faultfs"
)

// watchedDir is the variable that makes a process of this test binary a writer
// whose writes are all observed.
const watchedDir = "SUNLOOP_TEST_WATCHED_DIR"

// watchedSteps is how many records it writes, each with a job.
const watchedSteps = 24

// watchedWriter writes records with jobs, telemetry over two ends of days, and
// finishes jobs. It prints what was acknowledged as crashWriter does, what was
// refused and why, and whether it can still read.
func watchedWriter(dir string) {
	if ok, err := faultfs.Enter(); err != nil || !ok {
		fmt.Fprintln(os.Stderr, "not watched:", err)
		os.Exit(1)
	}
	s, err := Open(dir, Options{Now: func() time.Time { return time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC) }})
	if err != nil {
		fmt.Println("unopened")
		return
	}
	ctx := context.Background()
	asset := os.Getenv(watchedDir+"_ROUND") + ".0"
	acknowledge := func(format string, err error, args ...any) bool {
		switch {
		case err == nil:
			fmt.Printf(format+"\n", args...)
		case errors.Is(err, store.ErrDiskFailed):
			fmt.Println("refused failed")
		case errors.Is(err, store.ErrDiskFull):
			fmt.Println("refused full")
		default:
			fmt.Println("refused", strings.ReplaceAll(err.Error(), " ", "_"))
		}
		return err == nil
	}
	step := 0
	for n := range watchedSteps {
		id := fmt.Sprintf("%s.%d", asset, n)
		acknowledge("record %s", s.Update(ctx, func(tx store.Tx) error {
			if err := tx.Put("records", []byte(id), []byte(strings.Repeat(id, 20))); err != nil {
				return err
			}
			return tx.Enqueue(store.Job{Kind: "job", Unique: id})
		}), id)
		if acknowledge("step %s %d", s.Append(ctx, store.SiteKey{ID: "site", Zone: time.UTC}, []store.AssetFrame{{AssetID: asset, Frame: crashFrame(step)}}), asset, step) {
			step++
		}
		if n%5 == 4 {
			claimed, err := s.Claim(ctx, s.now(), time.Hour, 1)
			for _, c := range claimed {
				acknowledge("done %s", s.Settle(ctx, c.ID, store.JobResult{}), c.Unique)
			}
			if err != nil {
				acknowledge("", err)
			}
		}
		if err := s.View(ctx, func(store.Tx) error { return nil }); err != nil {
			fmt.Println("unreadable")
		}
	}
	if err := s.Close(); err != nil {
		fmt.Println("unclosed")
	}
}
