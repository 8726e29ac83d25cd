package record_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// A list that changes between pages has each item that stays exactly once.
func TestPageOfAChangingList(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var list []string
		for i := range 30 {
			list = append(list, fmt.Sprintf("%02d", i))
		}
		stays := map[string]bool{}
		for _, v := range list {
			stays[v] = true
		}
		seen, before := map[string]int{}, ""
		for p := (api.Page{Limit: 1 + r.IntN(6)}); ; {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			page, next, err := record.Page("test", list, p, func(i int) record.Row { return record.Row{Key: store.Key(list[i])} })
			if err != nil || len(page) > p.Limit {
				t.Fatal(page, err)
			}
			for _, v := range page {
				if v <= before {
					t.Fatalf("seed %d: %s after %s", seed, v, before)
				}
				seen[v]++
				before = v
			}
			if p.Cursor = next; next == "" {
				break
			}
			if at := r.IntN(len(list)); r.IntN(2) == 0 {
				delete(stays, list[at])
				list = slices.Delete(list, at, at+1)
			} else {
				list = append(list, fmt.Sprintf("%02d+%d", r.IntN(30), len(list)+100*len(seen)))
			}
		}
		for v := range stays {
			if seen[v] != 1 {
				t.Errorf("seed %d: %s is in the list %d times", seed, v, seen[v])
			}
		}
	}
	for _, cursor := range []string{"3", "x", "dGVzdA"} {
		if _, _, err := record.Page("test", []string{"a"}, api.Page{Cursor: cursor}, func(int) record.Row { return record.Row{} }); err == nil {
			t.Errorf("the cursor %q is accepted", cursor)
		}
	}
}
