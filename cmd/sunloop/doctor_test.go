package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// doctor runs the command and answers what it printed.
func doctor(t *testing.T, args ...string) (text string, status int) {
	t.Helper()
	var out, errs strings.Builder
	status = run(t.Context(), append([]string{"doctor"}, args...), streams{os.Stdin, &out, &errs})
	return out.String() + errs.String(), status
}

func TestDoctor(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("TERM", "xterm-256color")
	data := filepath.Join(home, "data")
	text, status := doctor(t, "--data", data)
	for _, want := range []string{"TERM           xterm-256color", "are not a terminal", "⢀⣀⣠⣤", "▁▂▃▄", "(does not exist: the first start creates it)", "0 of your own, no conflict", "no problems"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if status != 0 {
		t.Errorf("status %d", status)
	}
}

// What is wrong is named, with what to do, and the status says so.
func TestDoctorFindsFaults(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	data, dir := filepath.Join(home, "data"), filepath.Join(home, "sunloop")
	for _, d := range []string{data, filepath.Join(dir, "themes")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	theme, err := os.ReadFile("../../themes/control-room.toml")
	if err != nil {
		t.Fatal(err)
	}
	dim := strings.Replace(string(theme), `text         = "#dadada"`, `text         = "#5a5a5a"`, 1)
	for name, text := range map[string]string{"themes/faint.toml": dim, "config.toml": "[keys]\nzoom = 'q'\n", "session.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		if r.URL.Path != api.PathHealth {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer late.Close()
	text, status := doctor(t, "--data", data, "--remote", late.URL)
	for _, want := range []string{"can be opened by others", `"q" is both zoom`, "faint has too little contrast in", "text on background is 2.", "session.json can be read by others", "the service responds in", "differs from this machine's by 1h0m0s", "5 problems"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if status != 1 {
		t.Errorf("status %d", status)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if text, _ := doctor(t, "--data", data, "--remote", gone.URL); !strings.Contains(text, "WRONG: no answer from "+gone.URL) {
		t.Errorf("a service that is gone:\n%s", text)
	}
}

// TestDoctorTriesTheToken at a real service: a key and a user's token that the
// service accepts, and what it refuses.
func TestDoctorTriesTheToken(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	service, err := backend.New(backend.Config{DataDir: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	key, id, err := service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "doctor", Customers: []string{"no-user-yet"}})
	if err != nil {
		t.Fatal(err)
	}
	gone, revoked, err := service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "revoked", Customers: []string{"no-user-yet"}})
	if err == nil {
		_, _, err = service.Auth().As(api.Unlimited("")).RevokeKey(t.Context(), revoked.ID)
	}
	if err != nil {
		t.Fatal(id, err)
	}
	server := httptest.NewServer(service.Handler())
	defer server.Close()
	for _, c := range []struct {
		token, want string
		status      int
	}{
		{key, "token          accepted", 0},
		{"", "not given", 0},
		{"nonsense", "WRONG: the service refuses it: Unauthorized", 1},
		{"a.b.c", "WRONG: the service refuses it: Invalid token", 1},
		{gone, "WRONG: the service refuses it", 1},
	} {
		text, status := doctor(t, "--data", filepath.Join(home, "data"), "--remote", server.URL, "--token", c.token)
		if !strings.Contains(text, c.want) || status != c.status {
			t.Errorf("token %q: status %d, want %q:\n%s", c.token, status, c.want, text)
		}
	}
}
