//go:build !gateway

package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"app.sunloop/backend/store"
)

// readAll reads what reads of Together gather: values, pages, and the telemetry of a site.
func readAll(ctx context.Context, s *Store) (out []any, err error) {
	err = s.View(ctx, func(tx store.Tx) error {
		out = nil
		values, err := store.GetMany(tx, "b", [][]byte{store.Key("customer", "7"), store.Key("none"), store.Key("customer", "8")})
		if err != nil {
			return err
		}
		out = append(out, fmt.Sprintf("%q", values))
		for _, to := range [][]byte{store.Key("customer", "20"), store.After(store.Key("customer"))} {
			for _, reverse := range []bool{false, true} {
				n := 0
				for e, err := range tx.Scan("b", store.Key("customer", "1"), to, reverse) {
					if err != nil {
						return err
					}
					if n++; n < 3 {
						out = append(out, fmt.Sprintf("%q", e))
					}
				}
				out = append(out, n)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sums, err := s.Daily(ctx, "one", fixed().AddDate(0, 0, -50), fixed().AddDate(0, 0, 1))
	if err != nil {
		return nil, err
	}
	latest, err := s.Latest(ctx, "one")
	if err != nil {
		return nil, err
	}
	f, err := store.Collect(s.Read(ctx, "one", "a", fixed().AddDate(0, 0, -50), fixed().AddDate(0, 0, 1)))
	return append(out, fmt.Sprint(sums), fmt.Sprint(latest), fmt.Sprint(f)), err
}

// TestTogetherPooled: reads are gathered also where no statement may be prepared.
func TestTogetherPooled(t *testing.T) {
	was := filled(t)
	want, err := readAll(t.Context(), was.Store)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"exec", "simple_protocol"} {
		s := openURL(t, changed(t, was.pool.Config().ConnString(), with("default_query_exec_mode", mode)), fixed)
		err := s.Together(t.Context(), 3, func(ctx context.Context, _ int) error {
			got, err := readAll(ctx, s.Store)
			if err == nil && !reflect.DeepEqual(got, want) {
				err = fmt.Errorf("read %v, not %v", got, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestTogetherBreaks: when the database ends the transaction, the error says so once, however
// many reads it ends, and the next reads work.
func TestTogetherBreaks(t *testing.T) {
	s := filled(t)
	read := func(ctx context.Context) error {
		return s.View(ctx, func(tx store.Tx) error {
			_, err := tx.Get("b", store.Key("customer", "1"))
			return err
		})
	}
	err := s.Together(t.Context(), 20, func(ctx context.Context, i int) error {
		if err := read(ctx); err != nil {
			return err
		}
		if i == 0 {
			if _, err := s.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
				return err
			}
		}
		for n := range 3 {
			if _, err := readAll(ctx, s.Store); err == nil {
				return fmt.Errorf("read %d of a transaction that has ended", n)
			}
		}
		return nil
	})
	if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v", err)
	}
	if err := s.Together(t.Context(), 2, func(ctx context.Context, _ int) error { return read(ctx) }); err != nil {
		t.Error(err)
	}
}
