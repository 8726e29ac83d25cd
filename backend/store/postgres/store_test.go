//go:build !gateway

package postgres

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/storetest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(leaderEnv); url != "" {
		leadUntilKilled(url)
	}
	if url := os.Getenv(writerEnv); url != "" {
		writeUntilKilled(url)
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}

// fixed is the clock of tests that do not move it.
func fixed() time.Time { return time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC) }

// jobs is a store with a queue that only keeps the kinds of jobs.
type jobs struct{ *Store }

// Waiting is how many jobs were enqueued.
func (j jobs) Waiting(ctx context.Context) (n int, err error) {
	err = j.pool.QueryRow(ctx, `SELECT count(*) FROM sunloop.test_job`).Scan(&n)
	return n, err
}

func enqueue(ctx context.Context, tx pgx.Tx, job store.Job) error {
	_, err := tx.Exec(ctx, `INSERT INTO sunloop.test_job (kind) VALUES ($1)`, job.Kind)
	return err
}

// openTest is a store in an empty database.
func openTest(t testing.TB, now func() time.Time) jobs {
	t.Helper()
	return openURL(t, pgtest.Database(t), now)
}

func openURL(t testing.TB, url string, now func() time.Time) jobs {
	t.Helper()
	s, err := Open(t.Context(), url, Options{Now: now, Enqueue: enqueue})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), `CREATE TABLE IF NOT EXISTS sunloop.test_job (kind text)`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended.
		if faults := s.Check(context.Background()); len(faults) > 0 {
			t.Errorf("check: %v", faults)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return jobs{s}
}

func TestConformance(t *testing.T) {
	open := func(t *testing.T, now func() time.Time) storetest.Store { return openTest(t, now) }
	t.Run("records", func(t *testing.T) { storetest.Records(t, open) })
	t.Run("telemetry", func(t *testing.T) { storetest.Telemetry(t, open) })
}
