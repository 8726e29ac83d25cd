package bolt_test

import (
	"testing"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
)

// A cursor selects the rest of its list, and nothing of another.
func TestCursorsAreOfOneList(t *testing.T) {
	s, err := bolt.Open(t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table := func(bucket string) store.Table[string] {
		return store.Table[string]{Bucket: bucket, Key: func(v string) []byte { return store.Key(v) }}
	}
	fruit, tools := table("fruit"), table("tools")
	err = s.Update(t.Context(), func(tx store.Tx) error {
		for _, v := range []string{"apple", "pear", "plum"} {
			if err := fruit.Put(tx, v); err != nil {
				return err
			}
			if err := tools.Put(tx, v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(tx store.Tx) error {
		_, next, err := fruit.List(tx, store.Query{Limit: 2})
		if err != nil || next == "" {
			t.Fatalf("%q, %v", next, err)
		}
		if rest, end, err := fruit.List(tx, store.Query{Limit: 2, Cursor: next}); err != nil || end != "" || len(rest) != 1 || rest[0] != "plum" {
			t.Errorf("its own list: %v, %q, %v", rest, end, err)
		}
		if _, _, err := tools.List(tx, store.Query{Limit: 2, Cursor: next}); err == nil {
			t.Error("another list takes it")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
