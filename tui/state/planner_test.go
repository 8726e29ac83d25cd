package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestPlannerAsksOnceThenRests(t *testing.T) {
	var p Planner
	needs := []Need{{Query: "day", Period: 5 * time.Second, Focused: true}}
	if got := p.Due(start, needs); !slices.Equal(got, []Query{"day"}) {
		t.Fatalf("first: %v", got)
	}
	if got := p.Due(start.Add(time.Hour), needs); got != nil {
		t.Fatalf("while the request is in progress: %v", got)
	}
	p.Succeeded("day")
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{4 * time.Second, 0}, {5 * time.Second, 1}} {
		q := p
		if got := len(q.Due(start.Add(tt.after), needs)); got != tt.want {
			t.Errorf("after %v: %d queries, want %d", tt.after, got, tt.want)
		}
	}
}

func TestPlannerSlowsDown(t *testing.T) {
	tests := []struct {
		name string
		need Need
		idle time.Duration
		want time.Duration // the shortest rest after which it asks again
	}{
		{"focused", Need{Query: "q", Period: 10 * time.Second, Focused: true}, 0, 10 * time.Second},
		{"unfocused", Need{Query: "q", Period: 10 * time.Second}, 0, 30 * time.Second},
		{"idle", Need{Query: "q", Period: 10 * time.Second, Focused: true}, time.Hour, 50 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Planner
			p.MarkActive(start.Add(-tt.idle))
			p.Due(start, []Need{tt.need})
			p.Succeeded("q")
			for after := time.Duration(0); ; after += time.Second {
				if len(p.Due(start.Add(after), []Need{tt.need})) == 1 {
					if after != tt.want {
						t.Errorf("asked again after %v, want %v", after, tt.want)
					}
					return
				}
			}
		})
	}
	var p Planner
	if got := p.Due(start, []Need{{Query: "q", Hidden: true}}); got != nil {
		t.Errorf("hidden need was asked: %v", got)
	}
}

func TestPlannerBacksOff(t *testing.T) {
	var p Planner
	need := []Need{{Query: "q", Period: time.Second, Focused: true}}
	now, last := start, time.Duration(0)
	for range 10 {
		if len(p.Due(now, need)) != 1 {
			t.Fatalf("not asked at %v", now)
		}
		next := p.Failed("q", now, 0)
		wait := next.Sub(now)
		if wait < last {
			t.Errorf("waits %v after %v", wait, last)
		}
		if got := p.Due(next.Add(-time.Millisecond), need); got != nil {
			t.Errorf("asked before its time")
		}
		now, last = next, wait
	}
	if last < longestBackoff || last > longestBackoff*5/4 {
		t.Errorf("longest wait %v", last)
	}
}

func TestPlannerObeysRetryAfterForAll(t *testing.T) {
	var p Planner
	needs := []Need{{Query: "a", Period: time.Second, Focused: true}, {Query: "b", Period: time.Second, Focused: true}}
	p.Due(start, needs)
	p.Succeeded("b")
	p.Failed("a", start, 20*time.Second)
	if got := p.Due(start.Add(19*time.Second), needs); got != nil {
		t.Errorf("asked %v before Retry-After passed", got)
	}
	if got := p.Due(start.Add(20*time.Second), needs); len(got) != 2 {
		t.Errorf("asked %v once it passed, want both", got)
	}
}

// Whatever the needs, no minute sees more requests than the budget, and no
// query has two requests in progress.
func TestPlannerKeepsItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Planner
		needs := make([]Need, rapid.IntRange(1, 100).Draw(t, "needs"))
		for i := range needs {
			needs[i] = Need{Query: Query(rune('a' + i)), Period: time.Duration(rapid.IntRange(1, 30).Draw(t, "period")) * time.Second, Focused: rapid.Bool().Draw(t, "focused")}
		}
		var sent []time.Time
		flying := map[Query]bool{}
		now := start
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			for _, q := range p.Due(now, needs) {
				if flying[q] {
					t.Fatalf("%s has two requests in progress", q)
				}
				flying[q] = true
				sent = append(sent, now)
			}
			for q := range flying {
				if rapid.Bool().Draw(t, "answered") {
					delete(flying, q)
					p.Succeeded(q)
				}
			}
		}
		for i, at := range sent {
			n := 0
			for _, other := range sent[i:] {
				if other.Sub(at) < time.Minute {
					n++
				}
			}
			if n > requestsPerMinute {
				t.Fatalf("%d requests in a minute", n)
			}
		}
	})
}

func TestFace(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		value Value[int]
		empty bool
		want  Status
	}{
		{"zero", Value[int]{}, true, Loading},
		{"never came", Value[int]{Err: boom}, true, Failed},
		{"fresh", Value[int]{At: start}, false, Live},
		{"fresh and empty", Value[int]{At: start}, true, Empty},
		{"fresh, last try failed", Value[int]{At: start, Err: boom}, false, Live},
		{"old", Value[int]{At: start.Add(-time.Minute), Err: boom}, false, Stale},
	}
	for _, tt := range tests {
		if got := tt.value.Status(start.Add(time.Second), 30*time.Second, tt.empty); got != tt.want {
			t.Errorf("%s: face %d, want %d", tt.name, got, tt.want)
		}
	}
}

// A refused query is due when its wait ends, however long its period is.
func TestPlannerAsksAgainWhenTheWaitEnds(t *testing.T) {
	var p Planner
	needs := []Need{{Query: "assets", Period: 5 * time.Minute}}
	p.Due(start, needs)
	p.Failed("assets", start, 20*time.Second)
	if got := p.Due(start.Add(19*time.Second), needs); got != nil {
		t.Fatalf("before the wait ends: %v", got)
	}
	if got := p.Due(start.Add(21*time.Second), needs); !slices.Equal(got, []Query{"assets"}) {
		t.Fatalf("after it: %v", got)
	}
}

// A person who goes from screen to screen is not made to wait by a limit that the service
// does not set: what it states replaces the 60 requests of the contract's keys.
func TestPlannerSpendsTheStatedQuota(t *testing.T) {
	for _, quota := range []int{0, 30, 600} {
		var p Planner
		sent := 0
		for after := time.Duration(0); after < time.Minute; after += 100 * time.Millisecond {
			q := Query(fmt.Sprint(after))
			for range p.Due(start.Add(after), []Need{{Query: q, Period: time.Second, Focused: true}}) {
				sent++
				p.Succeeded(q)
				p.Allow(-1, quota, 0, start.Add(after))
			}
		}
		if want := cmp.Or(quota, requestsPerMinute); sent != want {
			t.Errorf("quota %d: %d requests in a minute, want %d", quota, sent, want)
		}
	}
}

// Two consoles with one key spend what the service says is left: it never has to
// refuse a request, and both get answers.
func TestTwoPlannersShareABudget(t *testing.T) {
	const limit = 60
	var served []time.Time
	planners, answers, refused := [2]Planner{}, [2]int{}, 0
	var needs []Need
	for i := range 30 {
		needs = append(needs, Need{Query: Query(rune('a' + i)), Period: 10 * time.Second, Focused: true})
	}
	for now := start; now.Before(start.Add(10 * time.Minute)); now = now.Add(time.Second) {
		for i := range planners {
			p := &planners[i]
			p.MarkActive(now)
			for _, q := range p.Due(now, needs) {
				served = slices.DeleteFunc(served, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
				if len(served) >= limit {
					refused++
					p.Failed(q, now, time.Second)
					continue
				}
				served = append(served, now)
				answers[i]++
				p.Succeeded(q)
				p.Allow(limit-len(served), limit, served[0].Add(time.Minute).Sub(now), now)
			}
		}
	}
	if answers[0] < 100 || answers[1] < 100 {
		t.Errorf("answers: %v", answers)
	}
	if refused > 0 {
		t.Errorf("%d requests were refused", refused)
	}
}

// While a stream announces what changes, a quiet site takes fewer requests, a change is asked
// for as soon as without a stream, and the end of the stream brings the former rate back.
func TestPlannerRestsWhileAnnounced(t *testing.T) {
	needs := []Need{{Query: QuerySummary, Period: 5 * time.Second, Focused: true}, {Query: QueryAlerts, Period: 10 * time.Second, Focused: true}}
	count := func(announced bool, change time.Duration) (sent int, first time.Duration) {
		var p Planner
		for after := time.Duration(0); after < 10*time.Minute; after += time.Second {
			now := start.Add(after)
			if announced {
				p.Announced = now.Add(45 * time.Second)
			}
			if change > 0 && after == change {
				p.Changed(api.StreamTelemetry)
			}
			for _, q := range p.Due(now, needs) {
				if sent++; q == QuerySummary && change > 0 && after >= change && first == 0 {
					first = after
				}
				p.Succeeded(q)
			}
		}
		return sent, first
	}
	polled, _ := count(false, 0)
	quiet, _ := count(true, 0)
	busy, first := count(true, 190*time.Second)
	if polled != 180 || quiet != 20 || busy > quiet+1 || first != 190*time.Second {
		t.Errorf("%d requests by polling, %d while nothing changes, %d with a change that is asked for after %v", polled, quiet, busy, first)
	}
}
