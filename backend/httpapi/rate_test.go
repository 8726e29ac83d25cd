package httpapi

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRateIsExact holds the ring to its definition: a request is accepted
// when fewer than limit were accepted in the 60 s before it.
func TestRateIsExact(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(1, 70).Draw(r, "limit")
		var accepted []time.Time
		now := time.Unix(1_700_000_000, 0)
		rs := rates{now: func() time.Time { return now }}
		for range rapid.IntRange(1, 300).Draw(r, "requests") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 999, 1000, 5000, 30_000, 60_000}).Draw(r, "ms")) * time.Millisecond)
			n := 0
			for _, a := range accepted {
				if a.After(now.Add(-window)) {
					n++
				}
			}
			ok, left, reset, err := rs.Allow(t.Context(), "k", limit, window)
			if ok != (n < limit) || err != nil {
				r.Fatalf("%d in the window of %d: accepted %v", n, limit, ok)
			}
			if ok {
				accepted = append(accepted, now)
				n++
			}
			if left != limit-n {
				r.Fatalf("left %d, want %d", left, limit-n)
			}
			if !ok {
				// Waiting for reset is enough, and not too much.
				if reset <= 0 || reset > window {
					r.Fatalf("reset %v", reset)
				}
				oldest := accepted[len(accepted)-n]
				if want := oldest.Add(window).Sub(now); reset != want {
					r.Fatalf("reset %v, want %v", reset, want)
				}
			}
		}
	})
}

func TestIdleRingsGo(t *testing.T) {
	now := time.Unix(0, 0)
	rs := rates{now: func() time.Time { return now }}
	allow := func(key string) {
		if ok, _, _, err := rs.Allow(t.Context(), key, 1, window); !ok || err != nil {
			t.Fatalf("%q: %v, %v", key, ok, err)
		}
	}
	for i := range maxIdleRings {
		allow(fmt.Sprint(i))
	}
	now = now.Add(window)
	allow("one more")
	if n := len(rs.rings); n != 1 {
		t.Errorf("%d rings are left", n)
	}
}
