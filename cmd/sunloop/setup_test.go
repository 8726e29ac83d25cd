package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// program is the program in a separate process, with a folder as home.
func program(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sunloop", args...)
	c.Dir = home
	c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_DATA_HOME="+filepath.Join(home, "share"), "NO_COLOR=1")
	return c
}

// TestSetupTokenOfAProcess: sunloop serve writes the setup token to a
// separate file and to its log; a setup over HTTP requires it, and ends it.
func TestSetupTokenOfAProcess(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "data")
	file := filepath.Join(data, "setup-token")
	for _, start := range []string{"first", "second"} {
		serve := program(t, home, "serve", "--listen", "127.0.0.1:0", "--no-mfa", "--data", data)
		said, err := serve.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := serve.Start(); err != nil {
			t.Fatal(err)
		}
		var line struct {
			Msg, Address string
			Token        string `json:"setup_token"`
		}
		address, token := "", ""
		all := ""
		for lines := bufio.NewScanner(said); (address == "" || token == "") && lines.Scan(); {
			all += lines.Text() + "\n"
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				address = line.Address
			}
			if line.Token != "" {
				token = line.Token
			}
		}
		b, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(b)) != token || token == "" {
			t.Fatalf("%s start: the file holds %q, the log %q, %v\n%s", start, b, token, err, all)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info.Mode(), err)
		}
		if start == "second" {
			c := client.New(client.Options{BaseURL: address})
			defer c.Close()
			refusal := (*api.Error)(nil)
			if _, err := c.Setup(t.Context(), "ada", "correct horse battery", ""); !errors.As(err, &refusal) || refusal.Status != http.StatusForbidden {
				t.Errorf("a setup without the token: %v", err)
			}
			if s, err := c.SetupStatus(t.Context()); err != nil || !s.NeedsAdmin || !s.NeedsToken {
				t.Errorf("status %+v, %v", s, err)
			}
			if r, err := c.Setup(t.Context(), "ada", "correct horse battery", token); err != nil || r.User.Username != "ada" {
				t.Errorf("a setup with the token: %v", err)
			}
			for gone := false; !gone; time.Sleep(10 * time.Millisecond) { // until the test's own deadline
				_, err := os.Stat(file)
				gone = errors.Is(err, fs.ErrNotExist)
			}
			if _, err := c.Setup(t.Context(), "eve", "correct horse battery", token); !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
				t.Errorf("a second setup with the token: %v", err)
			}
		}
		_ = serve.Process.Kill()
		_ = serve.Wait()
	}
}
