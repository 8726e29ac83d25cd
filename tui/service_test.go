package tui

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/state"
)

func everything(e *api.Error) func(*http.Request) *api.Error {
	return func(*http.Request) *api.Error { return e }
}

// Answers to a former site's questions change nothing.
func TestAnswersOfAFormerSite(t *testing.T) {
	other := plant.New()
	other.SiteID, other.Units = "Havelland", 3
	d := start(t, 120, 36, nil, plant.New(), other)
	d.press("esc") // the fleet
	d.hold = true
	d.press("r") // asks for everything of Sibaya
	asked := d.later
	d.later, d.hold = nil, false
	d.press("S", "Havel", "enter")
	if d.m.data.Site.SiteID != "Havelland" {
		t.Fatalf("on screen is %s", d.m.data.Site.SiteID)
	}
	for _, c := range asked {
		d.run(c)
	}
	if n := len(d.m.data.Site.Assets.Data); n != 3 {
		t.Errorf("%d units of Havelland's 3 are on screen", n)
	}
	d.shows("Havelland", "INV-01")
	d.hides("INV-08")
}

// No minute of an hour sees more requests than the service allows on a site of a hundred
// units, whatever is focused, and an idle console asks less. The service states the quota
// of a person, 600, of which a console that is not refreshed by hand needs a sixth at most;
// one that states none is asked 60 times at most.
func TestPollingBudget(t *testing.T) {
	big := plant.New()
	big.Units = 100
	big.Step = 15 * time.Minute
	for _, test := range []struct {
		name    string
		keys    []string
		quota   int
		most    int // requests in any minute
		seconds int
	}{
		{"observe", []string{"1"}, 600, 100, 3600},
		{"uploads", []string{"4", "g", "u"}, 600, 100, 900},
		{"losses and energy by day, 200x60", []string{"g", "p", "left", "left", "left"}, 600, 100, 900},
		{"availability by day, 200x60", []string{"g", "p", "left", "left"}, 600, 100, 900},
		{"refreshing", nil, 600, 600, 900},
		{"refreshing without a stated quota", nil, 0, 60, 900},
	} {
		columns, rows := 120, 36
		if strings.HasSuffix(test.name, "200x60") {
			columns, rows = 200, 60
		}
		d := start(t, columns, rows, func(_ *Options, s *plant.Service) { s.Quota(test.quota) }, big)
		d.press(test.keys...)
		d.blind = true
		var stamps []time.Time
		seen := len(d.service.Requests())
		for range test.seconds {
			d.pass(1)
			if test.keys == nil && d.now.Second()%7 == 0 {
				d.press("r")
			}
			for n := len(d.service.Requests()); seen < n; seen++ {
				stamps = append(stamps, d.now)
			}
		}
		most := 0
		for i, at := range stamps {
			n := 0
			for _, later := range stamps[i:] {
				if later.Sub(at) >= time.Minute {
					break
				}
				n++
			}
			most = max(most, n)
		}
		first, last := 0, 0
		for _, at := range stamps {
			switch {
			case at.Sub(noon) < 10*time.Minute:
				first++
			case at.Sub(noon) >= 50*time.Minute:
				last++
			}
		}
		t.Logf("%s: at most %d requests in a minute; %d in the first ten minutes, %d in the last", test.name, most, first, last)
		if most > test.most || most == 0 {
			t.Errorf("%s: %d requests in a minute, want at most %d", test.name, most, test.most)
		}
		if test.name == "observe" && last*2 > first {
			t.Errorf("%s: idle, it asks %d times in ten minutes after %d", test.name, last, first)
		}
	}
}

// The service becomes unavailable: the last data stay and age, it is reported
// once, and recovers by itself.
func TestServiceGoneAndBack(t *testing.T) {
	gone := false
	d := start(t, 120, 36, func(o *Options, s *plant.Service) {
		o.Client = clientThrough(s, func() error {
			if gone {
				return errors.New("connection refused")
			}
			return nil
		})
	})
	d.shows("INV-05 string outage")
	gone = true
	d.pass(30)
	d.shows("INV-05 string outage", "no answer for")
	d.pass(180)
	d.shows("INV-05 string outage", "These values are", "connection refused", "no answer for 3 min")
	gone = false
	d.pass(90)
	d.hides("no answer", "These values are")
	d.shows("INV-05 string outage")
}

// A console that starts while the service is gone says so, and finds it later.
func TestServiceGoneFromTheStart(t *testing.T) {
	gone := true
	d := start(t, 80, 24, func(o *Options, s *plant.Service) {
		o.Client = clientThrough(s, func() error {
			if gone {
				return errors.New("connection refused")
			}
			return nil
		})
	})
	d.shows("The service is not responding: connection refused.", "Next try")
	gone = false
	d.pass(60)
	d.shows("Sibaya", "INV-05")
}

// A session that ends brings the sign-in over the work, and gives it back.
func TestSessionEnds(t *testing.T) {
	user := &api.User{UserID: "u1", Username: "anna", RoleID: api.RoleOperator, RoleName: "Operator"}
	d := start(t, 120, 36, nil)
	d.service.SignIn(func(name, password string) (*api.LoginResponse, *api.Error) {
		if password != "correct" {
			return nil, api.ErrInvalidCredential
		}
		return &api.LoginResponse{Success: true, Token: "new", User: user}, nil
	}, nil)
	d.press("n", "2", "z", "g", "u")
	before := d.place()
	d.service.Token("new")
	d.pass(5)
	if !strings.HasSuffix(d.place(), "[sign-in]") {
		t.Fatalf("the sign-in did not come: %s", d.place())
	}
	d.shows("Token expired.", "Sign in again to continue.")
	asked := len(d.service.Requests())
	d.pass(60)
	if n := len(d.service.Requests()); n != asked {
		t.Errorf("%d requests without a session", n-asked)
	}
	d.press("anna", "tab", "wrong", "enter")
	d.shows("Invalid credentials.")
	d.press("correct", "enter")
	if d.place() != before {
		t.Errorf("after sign-in: %q, want %q", d.place(), before)
	}
	if len(d.kept) == 0 || d.kept[len(d.kept)-1] != "new" {
		t.Errorf("kept sessions: %q", d.kept)
	}
	d.pass(10)
	if d.place() != before {
		t.Errorf("later: %q", d.place())
	}
}

// An error response from before the new session does not end it.
func TestLateRefusal(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.service.SignIn(func(string, string) (*api.LoginResponse, *api.Error) {
		return &api.LoginResponse{Success: true, Token: "new", User: &api.User{UserID: "u1", Username: "anna"}}, nil
	}, nil)
	d.service.Token("new")
	d.hold = true
	d.press("r")
	var answers []tea.Msg
	for _, c := range d.later {
		if batch, ok := c().(tea.BatchMsg); ok {
			for _, c := range batch {
				if b, ok := c().(tea.BatchMsg); ok {
					for _, c := range b {
						answers = append(answers, c())
					}
				} else {
					answers = append(answers, c())
				}
			}
		}
	}
	d.later, d.hold = nil, false
	d.send(answers[0])
	d.press("anna", "tab", "x", "enter")
	for _, a := range answers[1:] {
		if a != nil {
			d.send(a)
		}
	}
	if d.m.session.signIn != nil || d.m.o.Client.Credential() != "new" {
		t.Errorf("%d late answers ended the new session: %s", len(answers)-1, d.place())
	}
}

// Another user gets none of the former user's work.
func TestAnotherPersonSignsIn(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.service.SignIn(func(name, _ string) (*api.LoginResponse, *api.Error) {
		return &api.LoginResponse{Success: true, Token: "new", User: &api.User{UserID: "u2", Username: name, RoleName: "Analyst"}}, nil
	}, nil)
	d.press("n", "2", "g", "u")
	d.service.Token("new")
	d.pass(5)
	d.press("bob", "tab", "x", "enter")
	if d.place() != "Observe" {
		t.Errorf("bob finds %q", d.place())
	}
	d.shows("bob", "Sibaya")
}

func TestSignOutForgets(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("n", "g", "o")
	d.hides("INV-0", "Sibaya")
	if len(d.kept) == 0 || d.kept[len(d.kept)-1] != "" {
		t.Errorf("kept sessions: %q", d.kept)
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.service.Refuse(everything(&api.Error{Status: 429, Message: "Too many requests", RetryAfter: 40}))
	d.pass(5)
	asked := len(d.service.Requests())
	d.shows("rate limited")
	d.service.Refuse(nil)
	d.pass(34)
	if n := len(d.service.Requests()); n != asked {
		t.Errorf("%d requests before Retry-After passed", n-asked)
	}
	d.pass(10)
	if len(d.service.Requests()) == asked {
		t.Error("it never asked again")
	}
	d.hides("rate limited")
}

// A panic in a command is a message, and its query comes up again.
func TestPanics(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.run(d.m.run(func(context.Context) tea.Msg { panic("boom") }))
	d.shows("Internal console error.")
	d.pass(1)
	broken := true
	p := start(t, 120, 36, func(o *Options, s *plant.Service) {
		o.Client = clientThrough(s, func() error {
			if broken {
				panic("boom")
			}
			return nil
		})
	})
	p.shows("The service is not responding")
	broken = false
	p.pass(60)
	p.shows("INV-05 string outage")
}

func TestUploads(t *testing.T) {
	good := filepath.Join(t.TempDir(), "plant.csv")
	if err := os.WriteFile(good, []byte("time,kW\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path   string
		refuse *api.Error
		shows  string
		keys   []string
	}{
		"inspected":         {good, nil, "enter import", nil},
		"accepted":          {good, nil, "In progress, 60 %", []string{"enter"}},
		"missing":           {good + "x", nil, "there is no such file.", nil},
		"a folder":          {filepath.Dir(good), nil, "it is a folder or a device, not a file.", nil},
		"refused":           {good, api.ErrInvalidCSV.With("reason", "line 1: no column holds dates or times"), "plant.csv: Invalid CSV format: line 1: no column holds dates or times.", []string{"enter"}},
		"too large":         {good, api.ErrFileTooLarge, "plant.csv: File too large: the limit is 10 MB", []string{"enter"}},
		"too large to read": {good, api.ErrFileTooLarge.With("at", "inspect"), "plant.csv: File too large: the limit is 10 MB", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, 120, 36, nil)
			if tt.refuse != nil {
				d.service.Refuse(func(r *http.Request) *api.Error {
					if r.URL.Path == api.PathUploadTrain || tt.keys == nil && r.URL.Path == api.PathUploadInspect {
						return tt.refuse
					}
					return nil
				})
			}
			d.press("U")
			d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(tt.path), Paste: true})
			d.press("enter")
			d.press(tt.keys...)
			text := strings.Join(strings.Fields(strings.ReplaceAll(d.text(), "│", " ")), " ")
			if !strings.Contains(text, tt.shows) {
				t.Errorf("%q is not shown:\n%s", tt.shows, d.text())
			}
			if d.m.dialogs.top() == nil {
				t.Error("no dialog is open")
			}
		})
	}
}

// A new critical alarm is announced once, and again when it recurs; existing
// ones are not, nor those that a plan suppresses.
func TestNewCriticalAlarmIsNotified(t *testing.T) {
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Bell = true })
	d.hides("New critical")
	before := d.line.n
	alarm := api.Alert{AlertID: "alt_new", AssetID: "INV-07", State: api.AlertUnacknowledged, AlertSeverity: api.AlertCritical, Message: "INV-07 has made no power since 11:00.", Occurrences: 1}
	planned := alarm
	planned.AlertID, planned.State, planned.Message = "alt_planned", api.AlertSuppressed, "INV-08 is worked on."
	answer := func() {
		r, _ := d.m.data.Request(state.QueryAlerts, d.now)
		d.send(answerMsg{state.Answer{Request: r, Value: state.AlertList{Alerts: append(d.service.Plants[0].Alerts(d.now), planned, alarm)}}})
	}
	answer()
	d.shows("New critical: INV-07 has made no power since 11:00.")
	if d.line.n == before {
		t.Error("no bell")
	}
	d.pass(10)
	d.hides("New critical")
	answer()
	d.hides("New critical")
	alarm.Occurrences = 2
	answer()
	d.shows("New critical: INV-07")
}

func TestFirstAdministrator(t *testing.T) {
	d := start(t, 80, 24, func(o *Options, s *plant.Service) {
		o.Client.SetCredential("")
		o.User = nil
		s.NeedAdmin(true)
		s.SignIn(func(name, _ string) (*api.LoginResponse, *api.Error) {
			return &api.LoginResponse{Success: true, MFARequired: true, MFAEnrollment: true, MFAToken: "m", ProvisioningURI: "otpauth://totp/Sunloop:anna?secret=FQAWIMNWGBNPW5LNGPAG2ZKJ7SFDD4OH&issuer=Sunloop"}, nil
		}, func(_, code string) (*api.LoginResponse, *api.Error) {
			if code != "123456" {
				return nil, api.ErrInvalidTOTP
			}
			return &api.LoginResponse{Success: true, Token: "t", User: &api.User{UserID: "u1", Username: "anna", RoleName: "Administrator"}, RecoveryCodes: []string{"aaaa-bbbb"}}, nil
		})
	})
	d.shows("Create the first administrator")
	d.press("anna", "tab", "correct horse", "tab", "correct horse", "enter")
	d.shows("FQAW IMNW", "Code")
	d.press("000000", "enter")
	d.shows("Invalid TOTP code.")
	d.press("123456", "enter")
	d.shows("aaaa-bbbb")
	d.press("enter")
	d.shows("Signed in as anna, Administrator.", "INV-05")
}
