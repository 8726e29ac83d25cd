//go:build !gateway

package postgres

import (
	"errors"
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
		"sums":        {`DELETE FROM sunloop.daysum WHERE site = 'two' AND ref = 1`, "there is no sum of its samples"},
		// The energy of the first day is a little-endian float at 12: one bit of its exponent doubles or halves it.
		"wrong sum": {`UPDATE sunloop.daysum SET value = set_byte(value, 18, get_byte(value, 18) # 16) WHERE site = 'two' AND ref = 1`, "the stored production is"},
		"roster":    {`UPDATE sunloop.site SET roster = substr(roster, 1, 5) WHERE site = 'two'`, "damaged list of assets"},
		"tail":      {`INSERT INTO sunloop.tail (site, ref, start, value) VALUES ('one', 0, 0, '\x00000000')`, "begins before the open day"},
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

// TestRefBeyondAColumn refuses the number of an asset that its column would
// store as another one.
func TestRefBeyondAColumn(t *testing.T) {
	for set, row := range map[store.RowSet]store.Entry{
		{Kind: store.AssetRows, Name: "site"}: {Key: []byte("unit"), Value: store.AssetValue(1 << 31)},
		{Kind: store.BlockRows, Name: "site"}: {Key: store.CellKey(1<<32-1, 0), Value: []byte("x")},
	} {
		if err := new(Batch).Add(set, row); !errors.Is(err, errRef) {
			t.Errorf("%s: %v", set.Kind, err)
		}
	}
	set, row := store.RowSet{Kind: store.AssetRows, Name: "site"}, store.Entry{Key: []byte("unit"), Value: store.AssetValue(1<<31 - 1)}
	if err := new(Batch).Add(set, row); err != nil {
		t.Error(err)
	}
}
