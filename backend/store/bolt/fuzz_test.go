package bolt

import (
	"fmt"
	"testing"

	"app.sunloop/backend/store"
)

// FuzzCursor asserts that any text as a cursor is refused or gives a part of
// the list, in its order, each record once.
func FuzzCursor(f *testing.F) {
	type row struct {
		ID    string `json:"id"`
		Group string `json:"group"`
	}
	rows := store.Table[row]{Bucket: "fuzz", Key: func(r row) []byte { return store.Key(r.ID) },
		Indexes: []store.Index[row]{{Name: "group", Key: func(r row) []byte { return store.Key(r.Group, r.ID) }}}}
	s, err := Open(f.TempDir(), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	err = s.Update(f.Context(), func(tx store.Tx) error {
		for i := range 20 {
			if err := rows.Insert(tx, row{fmt.Sprintf("%02d", i), fmt.Sprint(i % 3)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	queries := []store.Query{{}, {Reverse: true}, {Index: "group"}, {Index: "group", Prefix: store.Key("1"), Reverse: true}}
	for i, q := range queries {
		q.Limit = 3
		err := s.View(f.Context(), func(tx store.Tx) error {
			_, next, err := rows.List(tx, q)
			f.Add(byte(i), next)
			f.Add(byte(i+1), next)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add(byte(0), "AAAA")
	f.Add(byte(0), "%")
	f.Fuzz(func(t *testing.T, query byte, cursor string) {
		q := queries[int(query)%len(queries)]
		err := s.View(t.Context(), func(tx store.Tx) error {
			whole, _, err := rows.List(tx, q)
			if err != nil {
				return err
			}
			q.Cursor = cursor
			part, _, err := rows.List(tx, q)
			if err != nil {
				return nil //nolint:nilerr // refused
			}
			if len(part) > len(whole) {
				return fmt.Errorf("%d of %d", len(part), len(whole))
			}
			for i, r := range part {
				if want := whole[len(whole)-len(part)+i]; r != want {
					return fmt.Errorf("%v at %d, want %v", r, i, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("cursor %q of query %d: %v", cursor, query, err)
		}
	})
}
