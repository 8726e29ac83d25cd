package httpapi

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"pgregory.net/rapid"
)

// TestRateIsExact holds the ring to its definition: a request is accepted
// when fewer than limit were accepted in the 60 s before it.
func TestRateIsExact(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(1, 70).Draw(r, "limit")
		var rs rates
		var accepted []time.Time
		now := time.Unix(1_700_000_000, 0)
		for range rapid.IntRange(1, 300).Draw(r, "requests") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 999, 1000, 5000, 30_000, 60_000}).Draw(r, "ms")) * time.Millisecond)
			n := 0
			for _, a := range accepted {
				if a.After(now.Add(-window)) {
					n++
				}
			}
			ok, left, reset := rs.take(rateKey{"k", api.HostMain}, limit, now)
			if ok != (n < limit) {
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
	var rs rates
	now := time.Unix(0, 0)
	for i := range maxIdleRings {
		rs.take(rateKey{string(rune(i)), api.HostMain}, 1, now)
	}
	rs.take(rateKey{"one more", api.HostMain}, 1, now.Add(window))
	if n := len(rs.rings); n != 1 {
		t.Errorf("%d rings are left", n)
	}
}
