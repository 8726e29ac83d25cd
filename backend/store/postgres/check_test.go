package postgres

import (
	"strings"
	"testing"

	"app.sunloop/backend/store"
)

// TestCheck finds each kind of damage.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"block":       {`UPDATE sunloop.block SET value = set_byte(value, 20, get_byte(value, 20) # 1) WHERE site = 'one' AND ref = 0`, "damaged telemetry block"},
		"other days":  {`UPDATE sunloop.block SET start = start + 86400 WHERE site = 'one' AND ref = 1`, "samples of other days"},
		"foreign ref": {`UPDATE sunloop.block SET ref = 7 WHERE site = 'one' AND ref = 1`, "a block of asset 7 of 2"},
		"sums":        {`DELETE FROM sunloop.daysum WHERE site = 'two' AND ref = 1`, "are not of its block"},
		"roster":      {`UPDATE sunloop.site SET roster = substr(roster, 1, 5) WHERE site = 'two'`, "damaged list of assets"},
		"tail":        {`INSERT INTO sunloop.tail (site, ref, start, value) VALUES ('one', 0, 0, '\x00000000')`, "begins before the open day"},
	} {
		t.Run(name, func(t *testing.T) {
			s := filled(t)
			if _, err := s.pool.Exec(t.Context(), `CREATE EXTENSION amcheck`); err != nil {
				t.Fatal(err)
			}
			if faults := s.Check(t.Context()); len(faults) > 0 {
				t.Fatalf("of sound data: %v", faults)
			}
			if _, err := s.pool.Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			faults := s.Check(t.Context())
			if len(faults) == 0 || !strings.Contains(faults[0].Error(), c.want) {
				t.Errorf("faults %v, want %q", faults, c.want)
			}
			if _, err := s.pool.Exec(t.Context(), `TRUNCATE sunloop.site, sunloop.block`); err != nil { // sound again
				t.Fatal(err)
			}
		})
	}
}

// TestPooled: all works where no statement may be prepared, as behind a pooler.
func TestPooled(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			was := filled(t)
			b := backup(t, was.Store)
			url := changed(t, was.pool.Config().ConnString(), with("default_query_exec_mode", mode))
			s := openURL(t, url, fixed)
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
			if ok, _, _, err := s.Allow(t.Context(), "k", 1, 1, fixed()); !ok || err != nil {
				t.Error(ok, err)
			}
			other := openURL(t, changed(t, openTest(t, fixed).pool.Config().ConnString(), with("default_query_exec_mode", mode)), fixed)
			if err := other.Restore(t.Context(), strings.NewReader(string(b))); err != nil {
				t.Error(err)
			}
		})
	}
}
