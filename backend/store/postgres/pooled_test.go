//go:build !gateway

package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
)

// TestPooled: all works where no statement may be prepared, as behind a pooler.
func TestPooled(t *testing.T) {
	const few = 3 // connections to the server, for a pool of many more
	mode := func(name string) func(t *testing.T, url string) string {
		return func(t *testing.T, url string) string { return changed(t, url, with("default_query_exec_mode", name)) }
	}
	for name, through := range map[string]func(t *testing.T, url string) string{
		"exec":            mode("exec"),
		"simple protocol": mode("simple_protocol"),
		"pgbouncer": func(t *testing.T, url string) string {
			return mode("exec")(t, pgtest.Pooled(t, url, few))
		},
	} {
		t.Run(name, func(t *testing.T) {
			was := filled(t)
			b := backup(t, was.Store)
			s := openURL(t, through(t, was.pool.Config().ConnString()), fixed)
			err := s.Update(t.Context(), func(tx store.Tx) error {
				if err := tx.Delete("b", store.Key("customer", "1")); err != nil {
					return err
				}
				if err := tx.Enqueue(store.Job{Kind: "k"}); err != nil {
					return err
				}
				n := 0
				for _, err := range tx.Scan("b", store.Key("customer"), store.After(store.Key("customer")), true) {
					if err != nil {
						return err
					}
					n++
				}
				if n != 299 {
					t.Errorf("%d records of 299", n)
				}
				return tx.Put("b", store.Key("customer", "1"), []byte("value 1"))
			})
			if err != nil {
				t.Fatal(err)
			}
			// A copy by COPY in bulk, of what was read.
			for _, asset := range []string{"a", "b"} {
				f, err := store.Collect(s.Read(t.Context(), "one", asset, fixed().AddDate(0, 0, -50), fixed()))
				if err != nil || f.Len() == 0 {
					t.Fatal(f.Len(), err)
				}
				var frames []store.AssetFrame
				for _, id := range strings.Fields("c d e f g h i j k l m n o p q r s t u v w x y z") {
					frames = append(frames, store.AssetFrame{AssetID: asset + id, Frame: f})
				}
				if err := s.Append(t.Context(), store.SiteKey{ID: "copy", Zone: fixed().Location()}, frames); err != nil {
					t.Fatal(err)
				}
			}
			if sums, err := s.Daily(t.Context(), "copy", fixed().AddDate(0, 0, -50), fixed()); err != nil || len(sums) < 2*24*40 {
				t.Errorf("%d sums, %v", len(sums), err)
			}
			if ok, _, _, err := s.Allow(t.Context(), "k", 1, 1); !ok || err != nil {
				t.Error(ok, err)
			}
			var wg sync.WaitGroup
			for i := range 4 * few {
				wg.Go(func() {
					for range 5 {
						err := s.Update(t.Context(), func(tx store.Tx) error {
							v, err := tx.Get("counts", store.Key("customer"))
							if err != nil && !errors.Is(err, store.ErrNotFound) {
								return err
							}
							return tx.Put("counts", store.Key("customer"), append(v[:len(v):len(v)], byte('a'+i)))
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			err = s.View(t.Context(), func(tx store.Tx) error {
				v, err := tx.Get("counts", store.Key("customer"))
				if len(v) != 4*few*5 {
					t.Errorf("%d of %d updates", len(v), 4*few*5)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			led := errors.New("led")
			if err := s.Leader(t.Context(), "one", func(context.Context) error { return led }); !errors.Is(err, led) {
				t.Error(err)
			}
			other := openURL(t, through(t, openTest(t, fixed).pool.Config().ConnString()), fixed)
			if err := other.Restore(t.Context(), strings.NewReader(string(b))); err != nil {
				t.Error(err)
			}
		})
	}
}
