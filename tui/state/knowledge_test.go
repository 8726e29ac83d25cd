package state

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/client"
)

func TestKnowledge(t *testing.T) {
	refused := errors.New("connection refused")
	for _, tt := range []struct {
		name string
		set  func(v *Value[int])
		age  time.Duration
		want string
	}{
		{"awaited", func(*Value[int]) {}, time.Minute, "asking for alarms …"},
		{"never answered", func(v *Value[int]) { v.SetError(refused, start, start) }, time.Hour, "alarms unknown since 12:00: connection refused"},
		{"known", func(v *Value[int]) { v.Set(1, start) }, 10 * time.Second, ""},
		{"one failure", func(v *Value[int]) { v.Set(1, start); v.SetError(refused, start, start) }, 20 * time.Second, ""},
		{"failing", func(v *Value[int]) { v.Set(1, start); v.SetError(refused, start, start) }, 20 * time.Minute, "alarms 20 min old: connection refused"},
		{"silent", func(v *Value[int]) { v.Set(1, start) }, time.Hour, "alarms 1 h old: the service has sent nothing newer"},
	} {
		var v Value[int]
		tt.set(&v)
		now := start.Add(tt.age)
		if got := v.Knowledge(now, 10*time.Second).Text("alarms", now, time.UTC); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Each query has its own name and words for what it is about, so that
// screens can say what is unknown.
func TestQueriesHaveNames(t *testing.T) {
	n := 0
	for _, part := range []map[Query]source{siteSources, workSources, adminSources, alertSources, reportSources, dailySources, notifySources} {
		n += len(part)
	}
	if len(sources) != n {
		t.Errorf("%d queries have %d names", n, len(sources))
	}
	for q := range sources {
		if queryWords[q] == "" {
			t.Errorf("query %s has no words", q)
		}
	}
}

func TestPaceEstimatesTheTimeLeft(t *testing.T) {
	var p Pace
	p.Observe(0.10, start)
	if words := p.LeftWords(); words != "" {
		t.Errorf("at once: %q", words)
	}
	p.Observe(0.40, start.Add(30*time.Second))
	if words := p.LeftWords(); words != "about 1 min left" {
		t.Errorf("60 s: %q", words)
	}
	p.Observe(0.05, start.Add(31*time.Second)) // another file
	if words := p.LeftWords(); words != "" {
		t.Errorf("after it began again: %q", words)
	}
}

// TestReasonOfACertificateThatIsNotTrusted says what to do, not only what is
// wrong, and nothing that a terminal would take for a command.
func TestReasonOfACertificateThatIsNotTrusted(t *testing.T) {
	why := errors.New("x509: certificate signed by \x1b[31munknown authority")
	err := fmt.Errorf("ask /forecast: %w", &url.Error{Op: "Get", URL: "https://ops.example.com", Err: &client.CertificateError{Service: "https://ops.example.com", Fingerprint: "3f9c", Err: why}})
	got := Reason(err)
	for _, words := range []string{"https://ops.example.com", "unknown authority", "3f9c", "--tls-fingerprint", "--tls-ca"} {
		if !strings.Contains(got, words) {
			t.Errorf("%q does not say %q", got, words)
		}
	}
	if strings.ContainsRune(got, '\x1b') {
		t.Errorf("%q", got)
	}
}
