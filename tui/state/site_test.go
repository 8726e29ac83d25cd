package state

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/tui/terminal"
)

func open(t *testing.T) *Store {
	t.Helper()
	var s Store
	s.Open(api.Site{SiteID: "a", CustomerID: "c", Timezone: "UTC"})
	return &s
}

// ask returns the request of a query, which must be possible.
func ask(t *testing.T, s *Store, q Query) Request {
	t.Helper()
	r, ok := s.Request(q, start)
	if !ok {
		t.Fatalf("%s cannot be asked", q)
	}
	return r
}

func TestAnswersOfAFormerSiteAreDropped(t *testing.T) {
	s := open(t)
	old := ask(t, s, QueryFindings)
	s.Open(api.Site{SiteID: "b", Timezone: "UTC"})
	changed, _ := s.Apply(Answer{Request: old, Value: []api.Finding{{SummaryID: "of a"}}}, start)
	if changed || len(s.Site.Findings.Data) != 0 {
		t.Errorf("the answer of the former site came in: %+v", s.Site.Findings)
	}
}

func TestAnswersOfAFormerSessionAreDropped(t *testing.T) {
	s := open(t)
	s.Site.Findings.Set([]api.Finding{{SummaryID: "seen"}}, start)
	old := ask(t, s, QueryFindings)
	s.Renew()
	if changed, out := s.Apply(Answer{Request: old, Err: api.ErrTokenExpired}, start); changed || out != nil {
		t.Error("a late refusal ended the new session")
	}
	if len(s.Site.Findings.Data) != 1 {
		t.Error("the data went with the session")
	}
}

func TestFailureKeepsTheLastData(t *testing.T) {
	s := open(t)
	r := ask(t, s, QueryFindings)
	s.Apply(Answer{Request: r, Value: []api.Finding{{SummaryID: "x"}}}, start)
	later := start.Add(time.Minute)
	changed, out := s.Apply(Answer{Request: r, Err: errors.New("gone")}, later)
	v := s.Site.Findings
	if !changed || out != nil || len(v.Data) != 1 || !v.At.Equal(start) || v.Err == nil || !v.NextTry.After(later) {
		t.Errorf("%+v", v)
	}
	if !s.Link.Down || !s.Link.Since.Equal(later) {
		t.Errorf("link %+v", s.Link)
	}
	s.Apply(Answer{Request: r, Value: []api.Finding{}}, later.Add(time.Second))
	if s.Link.Down || s.Site.Findings.Err != nil {
		t.Error("the link stays down after an answer")
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		signOut bool
		limited time.Duration
	}{
		{"unauthorized", fmt.Errorf("ask: %w", api.ErrTokenExpired), true, 0},
		{"too many", &api.Error{Status: 429, Message: "Too many requests", RetryAfter: 30}, false, 30 * time.Second},
		{"forbidden", api.ErrForbidden, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			_, out := s.Apply(Answer{Request: ask(t, s, QueryDay), Err: tt.err}, start)
			if (out != nil) != tt.signOut {
				t.Errorf("signed out: %v", out)
			}
			if s.Link.Down {
				t.Error("a refusal is an answer: the link is not down")
			}
			if tt.limited > 0 && !s.Link.Limited.Equal(start.Add(tt.limited)) {
				t.Errorf("limited until %v", s.Link.Limited)
			}
			if due := s.Planner.Due(start.Add(tt.limited-time.Second), []Need{{Query: QueryModels, Focused: true}}); tt.limited > 0 && due != nil {
				t.Errorf("%v was asked before Retry-After passed", due)
			}
		})
	}
}

func TestPastDays(t *testing.T) {
	s := open(t)
	if _, ok := s.Request(QueryPast, start); ok {
		t.Error("a former day is asked for while today is looked at")
	}
	s.ShowDay(start.AddDate(0, 0, -3))
	first := ask(t, s, QueryPast)
	s.ShowDay(start.AddDate(0, 0, -4))
	records := map[string][]api.Record{"A": {record(-3*24*60, 7)}}
	if changed, _ := s.Apply(Answer{Request: first, Value: records}, start); changed {
		t.Error("the answer of a day that was left came in")
	}
	s.ShowDay(start.AddDate(0, 0, -3))
	s.Apply(Answer{Request: ask(t, s, QueryPast), Value: records}, start)
	if u, ok := s.Site.Past.Data.Unit("A"); !ok || u.Records[0].Power != 7 {
		t.Errorf("%+v", s.Site.Past.Data)
	}
	if len(s.Site.Day.Data.Units) != 0 {
		t.Error("a former day became today")
	}
	s.ShowDay(time.Time{})
	if !s.Site.PastDate.IsZero() || !s.Site.Past.At.IsZero() {
		t.Error("today did not come back")
	}
}

// TestSkewedClock: a day that was asked for by a wrong clock is left when the
// service says what time it is, and a late answer about it is dropped.
func TestSkewedClock(t *testing.T) {
	for _, skew := range []time.Duration{-26 * time.Hour, 50 * time.Hour} {
		s := open(t)
		wrong, ok := s.Request(QueryDay, start.Add(skew))
		if !ok {
			t.Fatal("the day cannot be asked for")
		}
		at := api.At(start.Add(skew))
		records := map[string][]api.Record{"A": {{AssetID: "A", Timestamp: at, Power: 7, KWh: 3}}}
		s.Apply(Answer{Request: wrong, Value: records}, start.Add(skew))
		if len(s.Site.Day.Data.Units) != 1 {
			t.Fatal("the day did not come in")
		}
		s.Apply(Answer{Request: ask(t, s, QuerySummary), Value: api.SiteSummary{ServiceTime: api.At(start)}}, start.Add(skew))
		if d := s.Site.Day; !d.At.IsZero() || len(d.Data.Units) > 0 {
			t.Errorf("skew %v: another day is kept: %+v", skew, d.Data)
		}
		if s.Apply(Answer{Request: wrong, Value: records}, start.Add(skew)); len(s.Site.Day.Data.Units) > 0 {
			t.Errorf("skew %v: a late answer brought another day", skew)
		}
	}
}

func TestCloseForgets(t *testing.T) {
	s := open(t)
	s.Sites.Set([]api.Site{{SiteID: "a"}}, start)
	s.Close()
	if s.Site != nil || len(s.Sites.Data) != 0 {
		t.Error("something stayed")
	}
}

func TestReasons(t *testing.T) {
	for _, tt := range []struct{ name, reason, sentence string }{
		{"refusal", "Site not found", "Site not found."},
		{"reason", "Invalid CSV format: line 1: no dates", "Invalid CSV format: line 1: no dates."},
		{"fault", "Internal error (request r1)", "Internal error (request r1)."},
		{"limit", "Too many requests, try again in 9 s", "Too many requests, try again in 9 s."},
		{"line", "connection refused", "The service is not responding: connection refused."},
		{"name", "the name ops.example.com is not known", "The service is not responding: the name ops.example.com is not known."},
		{"deadline", "it did not answer in time", "The service is not responding: it did not answer in time."},
		{"file", "there is no such file", "There is no such file."},
		{"escape", "a[31mb", "The service is not responding: a[31mb."},
	} {
		err := map[string]error{
			"refusal": fmt.Errorf("ask: %w", api.ErrSiteNotFound), "reason": api.ErrInvalidCSV.With("reason", "line 1: no dates"),
			"fault": &api.Error{Status: 500, Message: "Internal error", RequestID: "r1"}, "limit": &api.Error{Status: 429, Message: "Too many requests", RetryAfter: 9},
			"line":     fmt.Errorf("ask /x: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errors.New("connection refused"))}),
			"name":     fmt.Errorf("ask: %w", &net.DNSError{Name: "ops.example.com", Err: "no such host"}),
			"deadline": fmt.Errorf("ask: %w", context.DeadlineExceeded), "file": fmt.Errorf("open: %w", os.ErrNotExist), "escape": errors.New("a\x1b[31mb"),
		}[tt.name]
		if got := Reason(err); got != tt.reason {
			t.Errorf("%s: reason %q, want %q", tt.name, got, tt.reason)
		}
		if got := Sentence(err); got != tt.sentence {
			t.Errorf("%s: sentence %q, want %q", tt.name, got, tt.sentence)
		}
	}
	for d, want := range map[time.Duration]string{-time.Second: "in a moment", 4 * time.Second: "in a moment", 12 * time.Second: "in 10 s", 3 * time.Minute: "in 3 min"} {
		if got := Soon(d); got != want {
			t.Errorf("Soon(%v) = %q, want %q", d, got, want)
		}
	}
}

// JSON of any form is as safe to draw as the rest.
func TestCleanedJSON(t *testing.T) {
	got := cleaned(api.AuditRecord{After: map[string]any{"name": "a\x1b[31m", "ids": []any{"\x07b", 1.5, nil}}})
	want := api.AuditRecord{After: map[string]any{"name": terminal.Printable("a\x1b[31m"), "ids": []any{terminal.Printable("\x07b"), 1.5, nil}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
