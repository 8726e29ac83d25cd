package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/backend/store"
)

func recordsScan(t *testing.T, h Store) {
	put(t, h, "b", "a", "1", "b", "2", "ba", "3", "c", "4", "\xff", "5")
	for _, c := range []struct {
		from, to string
		reverse  bool
		want     []string
	}{
		{"", "", false, []string{"a", "b", "ba", "c", "\xff"}},
		{"", "", true, []string{"\xff", "c", "ba", "b", "a"}},
		{"b", "c", false, []string{"b", "ba"}},
		{"b", "c", true, []string{"ba", "b"}},
		{"aa", "bz", true, []string{"ba", "b"}},
		{"c", "", false, []string{"c", "\xff"}},
		{"d", "e", true, []string{}},
		{"c", "b", false, []string{}},
		{"c", "b", true, []string{}},
	} {
		ok(t, h.View(t.Context(), func(tx store.Tx) error {
			got, err := keys(tx, "b", c.from, c.to, c.reverse)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Scan(%q, %q, %v): %s", c.from, c.to, c.reverse, diff)
			}
			return err
		}))
	}
	ok(t, h.View(t.Context(), func(tx store.Tx) error {
		for e, err := range tx.Scan("b", nil, nil, false) {
			if err != nil || string(e.Key) != "a" || string(e.Value) != "1" {
				t.Errorf("first entry %q=%q, %v", e.Key, e.Value, err)
			}
			break // and no more is yielded
		}
		none, err := keys(tx, "absent", "", "", true)
		if len(none) != 0 {
			t.Errorf("absent bucket has %q", none)
		}
		return err
	}))
}

// recordsScanWriting deletes and adds what a scan passes.
func recordsScanWriting(t *testing.T, h Store) {
	const n = 500
	ok(t, h.Update(t.Context(), func(tx store.Tx) error {
		for i := range n {
			if err := tx.Put("b", fmt.Appendf(nil, "%04d", i), nil); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, reverse := range []bool{false, true} {
		ok(t, h.Update(t.Context(), func(tx store.Tx) error {
			seen := 0
			for e, err := range tx.Scan("b", nil, nil, reverse) {
				if err != nil {
					return err
				}
				seen++
				other := append([]byte("z"), e.Key...)
				if reverse {
					other[0] = 'A' // behind the scan
				} else {
					other[0] = '-' // behind it as well
				}
				if err := errors.Join(tx.Delete("b", slices.Clone(e.Key)), tx.Put("b", other, nil)); err != nil {
					return err
				}
			}
			if seen != n {
				t.Errorf("reverse %v: saw %d of %d", reverse, seen, n)
			}
			return nil
		}))
	}
}

// recordsRanges scans between any two bounds, of keys with parts and without.
func recordsRanges(t *testing.T, h Store) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		if round++; round > 8 {
			return
		}
		bucket := strconv.Itoa(round)
		key := rapid.Custom(func(t *rapid.T) string {
			raw := rapid.StringMatching(`[ab\x00\x01\xff]{1,5}`)
			if rapid.Bool().Draw(t, "raw") {
				return raw.Draw(t, "key")
			}
			part := rapid.StringMatching(`[ab\x00]{0,2}`)
			return string(store.Key(part.Draw(t, "first"), part.Draw(t, "second")))
		})
		all := rapid.SliceOfNDistinct(key, 1, 80, rapid.ID).Draw(rt, "keys")
		slices.Sort(all)
		put(t, h, bucket, slices.Collect(func(yield func(string) bool) {
			for _, k := range all {
				if !yield(k) || !yield("") {
					return
				}
			}
		})...)
		for range 30 {
			from, to := key.Draw(rt, "from"), key.Draw(rt, "to")
			switch rapid.IntRange(0, 3).Draw(rt, "bounds") {
			case 0:
				to = string(store.After([]byte(from)))
			case 1:
				to = ""
			case 2:
				from = ""
			}
			reverse := rapid.Bool().Draw(rt, "reverse")
			want := []string{}
			for _, k := range all {
				if k >= from && (to == "" || k < to) {
					want = append(want, k)
				}
			}
			if reverse {
				slices.Reverse(want)
			}
			err := h.View(context.Background(), func(tx store.Tx) error {
				got, err := keys(tx, bucket, from, to, reverse)
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("Scan(%q, %q, %v): %s", from, to, reverse, diff)
				}
				return err
			})
			if err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// recordsScanAhead writes to the part that a scan has not reached yet: it
// yields the new contents.
func recordsScanAhead(t *testing.T, h Store) {
	put(t, h, "b", "1", "", "2", "", "3", "", "5", "", "7", "old")
	put(t, h, "c", "4", "")
	stop := errors.New("stop")
	for reverse, want := range map[bool][]string{
		false: {"1=", "2=", "4=", "5=", "7=new", "8="},
		true:  {"7=old", "5=", "4=", "2=", "1=", "0="},
	} {
		err := h.Update(t.Context(), func(tx store.Tx) error {
			var got []string
			for e, err := range tx.Scan("b", nil, nil, reverse) {
				if err != nil {
					return err
				}
				got = append(got, string(e.Key)+"="+string(e.Value))
				if k := string(e.Key); k == "2" && !reverse || k == "5" && reverse {
					err := errors.Join(tx.Delete("b", []byte("3")), tx.Put("b", []byte("4"), nil), tx.Put("b", []byte("7"), []byte("new")),
						tx.Put("b", []byte("8"), nil), tx.Put("b", []byte("0"), nil), tx.Put("c", []byte("6"), nil))
					if err != nil {
						return err
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reverse %v: %s", reverse, diff)
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Error(err)
		}
	}
}
