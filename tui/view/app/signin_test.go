package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/view"
)

// uri is a provisioning URI as the service writes one: what equals the
// defaults left out.
const uri = "otpauth://totp/Sunloop:anna.schmidt@plants.example.com?secret=FQAWIMNWGBNPW5LNGPAG2ZKJ7SFDD4OH&issuer=Sunloop"

func TestSignInFlows(t *testing.T) {
	token := &api.LoginResponse{Success: true, Token: "t", User: &api.User{Username: "anna"}}
	code := &api.LoginResponse{Success: true, MFARequired: true, MFAToken: "mfa"}
	enrol := &api.LoginResponse{Success: true, MFARequired: true, MFAEnrollment: true, MFAToken: "mfa", ProvisioningURI: uri}
	codes := &api.LoginResponse{Success: true, Token: "t", RecoveryCodes: []string{"aaaa-bbbb", "cccc-dddd"}}
	type step struct {
		keys   []string
		do     any // what the keys ask for
		answer *api.LoginResponse
		err    error
		done   bool   // the answer ended the sign-in
		shows  string // on the screen after the answer
		absent string
	}
	signIn := view.SignIn{Username: "anna", Password: "secret word"}
	typed := []string{"anna", "tab", "secret word", "enter"}
	for name, tt := range map[string]struct {
		admin bool
		token bool // the setup token is required
		steps []step
	}{
		"password alone": {steps: []step{{keys: typed, do: signIn, answer: token, done: true}}},
		"enter goes to the empty field first": {steps: []step{
			{keys: []string{"anna", "enter"}, shows: "Password"},
			{keys: []string{"secret word", "enter"}, do: signIn, answer: token, done: true},
		}},
		"wrong password, then right": {steps: []step{
			{keys: typed, do: signIn, err: api.ErrInvalidCredential, shows: "Invalid credentials."},
			{keys: []string{"secret word", "enter"}, do: signIn, answer: token, done: true},
		}},
		"locked": {steps: []step{
			{keys: typed, do: signIn, err: &api.Error{Status: 429, Message: "Too many requests", RetryAfter: 30}, shows: "try again in 30 s"},
		}},
		"no service": {steps: []step{{keys: typed, do: signIn, err: errors.New("connection refused"), shows: "The service is not responding: connection refused."}}},
		"second factor, wrong code first": {steps: []step{
			{keys: typed, do: signIn, answer: code, shows: "six digits"},
			{keys: []string{"000 000", "enter"}, do: view.VerifyCode{MFAToken: "mfa", Code: "000000"}, err: api.ErrInvalidTOTP, shows: "Invalid TOTP code."},
			{keys: []string{"123456", "enter"}, do: view.VerifyCode{MFAToken: "mfa", Code: "123456"}, answer: token, done: true},
		}},
		"recovery code": {steps: []step{
			{keys: typed, do: signIn, answer: code},
			{keys: []string{"aaaa-bbbb", "enter"}, do: view.VerifyCode{MFAToken: "mfa", Code: "aaaa-bbbb"}, answer: token, done: true},
		}},
		"challenge expired": {steps: []step{
			{keys: typed, do: signIn, answer: code},
			{keys: []string{"123456", "enter"}, do: view.VerifyCode{MFAToken: "mfa", Code: "123456"}, err: api.ErrMFATokenExpired, shows: "Sign in again."},
			{keys: typed, do: signIn, answer: token, done: true},
		}},
		"esc starts over": {steps: []step{
			{keys: typed, do: signIn, answer: code},
			{keys: []string{"12", "esc"}, shows: "Password", absent: "six digits"},
			{keys: typed, do: signIn, answer: token, done: true},
		}},
		"enrolment, then recovery codes": {steps: []step{
			{keys: typed, do: signIn, answer: enrol, shows: "Scan the code"},
			{keys: []string{"123456", "enter"}, do: view.VerifyCode{MFAToken: "mfa", Code: "123456"}, answer: codes, shows: "cccc-dddd"},
			{keys: []string{"y"}, do: view.Copy{Text: "aaaa-bbbb\ncccc-dddd"}, shows: "aaaa-bbbb"},
			{keys: []string{"enter"}, do: view.FinishSignIn{}},
		}},
		"first administrator": {admin: true, steps: []step{
			{keys: []string{"anna", "tab", "secret word", "tab", "secret wort", "enter"}, shows: "The two passwords differ."},
			{keys: []string{"secret word", "tab", "secret word", "enter"}, do: view.SignIn{Username: "anna", Password: "secret word", Setup: true}, answer: token, done: true},
		}},
		"first administrator with the setup token": {admin: true, token: true, steps: []step{
			{keys: []string{"anna", "tab", "secret word", "tab", "secret word", "enter"}, shows: "setup-token of the service's data folder"},
			{keys: []string{"abc-def", "enter"}, do: view.SignIn{Username: "anna", Password: "secret word", Setup: true, SetupToken: "abc-def"},
				err: api.ErrForbidden.With("reason", "the setup token is missing or wrong"), shows: "Access denied: the setup token is missing or wrong.", absent: "machine of the service"},
			{keys: []string{"secret word", "tab", "secret word", "enter"}, do: view.SignIn{Username: "anna", Password: "secret word", Setup: true, SetupToken: "abc-def"}, answer: token, done: true},
		}},
		"first administrator from elsewhere": {admin: true, steps: []step{
			{keys: []string{"anna", "tab", "secret word", "tab", "secret word", "enter"}, do: view.SignIn{Username: "anna", Password: "secret word", Setup: true}, err: api.ErrForbidden, shows: "machine of the service"},
		}},
		"another administrator was faster": {admin: true, steps: []step{
			{keys: []string{"anna", "tab", "secret word", "tab", "secret word", "enter"}, do: view.SignIn{Username: "anna", Password: "secret word", Setup: true}, err: api.Conflict("there is a user already"), shows: "There is a user already.", absent: "first administrator"},
			{keys: typed, do: signIn, answer: token, done: true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := stage.ScreenContext(t, false)
			d := NewSignIn("ops.example.com", "")
			if tt.admin {
				d = NewSetup("ops.example.com", tt.token)
			}
			for i, s := range tt.steps {
				got := stage.Press(d, s.keys...)
				if diff := cmp.Diff(s.do, got); diff != "" {
					t.Fatalf("step %d asks for (-want +got):\n%s", i, diff)
				}
				if s.answer != nil || s.err != nil {
					if busy := stage.Press(d, "enter"); busy != nil {
						t.Errorf("step %d: asked twice", i)
					}
					if done := d.Answer(s.answer, s.err); done != s.done {
						t.Errorf("step %d: done %v, want %v", i, done, s.done)
					}
				}
				text := stage.DialogText(v, d, 80, 24)
				if !strings.Contains(strings.Join(strings.Fields(text), " "), s.shows) || s.absent != "" && strings.Contains(text, s.absent) {
					t.Errorf("step %d does not show %q, or shows %q:\n%s", i, s.shows, s.absent, text)
				}
				if strings.Contains(text, "secret word") {
					t.Errorf("step %d shows the password", i)
				}
			}
		})
	}
}

// The code to scan fits 80×24 completely, with the secret and the field next
// to it; a smaller window says so and shows the secret.
func TestEnrolmentFits(t *testing.T) {
	v := stage.ScreenContext(t, false)
	d := NewSignIn("embedded", "")
	d.Answer(&api.LoginResponse{MFARequired: true, MFAEnrollment: true, MFAToken: "m", ProvisioningURI: uri}, nil)
	for _, size := range []struct {
		name string
		w, h int
		qr   bool
	}{{"80x24", 80, 24, true}, {"120x36", 120, 36, true}, {"60x40", 60, 40, true}, {"60x20", 60, 20, false}} {
		text := stage.DialogText(v, d, size.w, size.h)
		picture.Golden(t, "enrolment-"+size.name, text)
		whole := false
		for _, qr := range d.qr {
			rows := 0
			for _, line := range qr {
				if strings.Contains(text, strings.TrimRight(line, " ")) {
					rows++
				}
			}
			whole = whole || rows == len(qr)
		}
		if whole != size.qr {
			t.Errorf("%s: the whole code is there: %v", size.name, whole)
		}
		for _, want := range []string{"FQAW IMNW", "Code"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", size.name, want)
			}
		}
		for y, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if n := len([]rune(line)); n > size.w {
				t.Errorf("%s: line %d has %d cells", size.name, y, n)
			}
		}
	}
}
