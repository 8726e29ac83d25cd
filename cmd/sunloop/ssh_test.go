//go:build !windows

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// TestConsoleOverSSH looks at the real console through terminals of several
// kinds, none of which answers its questions.
func TestConsoleOverSSH(t *testing.T) {
	w := openSSHWorld(t, false)
	true24, of256, of16 := regexp.MustCompile(`[34]8;2;\d`), regexp.MustCompile(`[34]8;5;\d`), regexp.MustCompile(`\x1b\[(?:\d+;)*(?:3[0-7]|4[0-7]|9[0-7]|10[0-7])(?:;\d+)*m`)
	for name, try := range map[string]struct {
		term string
		env  map[string]string
		want *regexp.Regexp // the colours; nil: none
	}{
		"256 colours":      {"xterm-256color", nil, of256},
		"true colour":      {"xterm-256color", map[string]string{"COLORTERM": "truecolor"}, true24},
		"its own name":     {"xterm-kitty", nil, true24},
		"sixteen":          {"xterm", nil, of16},
		"none":             {"vt100", nil, nil},
		"none asked for":   {"xterm-256color", map[string]string{"NO_COLOR": "1", "COLORTERM": "truecolor"}, nil},
		"unknown":          {"\x1b[31mrubbish", nil, of16},
		"no name":          {"", nil, nil},
		"a screen in mono": {"linux-m", map[string]string{"COLORFGBG": "0;15"}, nil},
	} {
		// The first key comes before the console has drawn anything, while it asks the terminal: it must not be lost.
		s := w.console(try.term, try.env, 100, 30, "e")
		s.shows("No sites yet", "ana Operator", "Unavailable: over SSH, the files here are the server's")
		raw := s.raw()
		for _, colours := range []*regexp.Regexp{true24, of256, of16} {
			if got, want := colours.MatchString(raw), colours == try.want; got != want && (want || colours != of16 || try.want == nil) {
				t.Errorf("%s: %v is there: %v, want %v", name, colours, got, want)
			}
		}
		s.press("q")
		if err := s.session.Wait(); err != nil {
			t.Errorf("%s: the session ended with %v", name, err)
		}
		if end := s.raw(); !strings.Contains(end, "\x1b[?1049l") || !strings.Contains(end, "\x1b[?25h") {
			t.Errorf("%s: the terminal is not restored", name)
		}
		_ = s.client.Close() // a user has only so many
	}
}

// TestShiftOverSSH hands a shift over from one person's session to another's.
func TestShiftOverSSH(t *testing.T) {
	w := openSSHWorld(t, false)
	if _, err := w.service.Domain().Sites.SetSite(t.Context(), api.Unlimited("test"), api.Site{SiteID: "Sibaya", CustomerID: "acme", Timezone: "Africa/Johannesburg", CapacityKW: 200}); err != nil {
		t.Fatal(err)
	}
	key, _ := newSSHKey(t)
	if _, err := w.service.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ben", Password: sshPassword, Role: api.RoleOperator, Customers: []string{"acme"}, SSHKeys: []string{string(gossh.MarshalAuthorizedKey(key.PublicKey()))}}); err != nil {
		t.Fatal(err)
	}
	ana := w.console("xterm-256color", nil, 80, 24, "")
	ana.shows("Sibaya", "1 Observe")
	ana.press("gc")
	ana.shows("Last 24 hours")
	ana.press("c")
	ana.shows("Note for the shift")
	ana.press("Fuse 7 is loose\r")
	ana.shows("note", "Fuse 7 is loose")
	ana.press("H")
	ana.shows("Hand the shift over")
	ana.press("INV-01 waits for parts\r")
	ana.shows("hand-over", "INV-01 waits for parts")

	ben := w.consoleOf("ben", key, "xterm-256color", nil, 80, 24, "")
	ben.shows("Sibaya", "1 Observe")
	ben.press("gc")
	ben.shows("ana handed the shift over", "Press m when you have read it.", "Fuse 7 is loose")
	ben.press("m")
	ben.shows("Marked as seen.")
}

// TestNotTheServersMachine: over SSH nothing reads or writes files of the
// server or stops its process, and the server's log and choices are not shown
// or changed.
func TestNotTheServersMachine(t *testing.T) {
	w := openSSHWorld(t, false)
	s := w.console("xterm-256color", nil, 120, 36, "")
	s.shows("No sites yet")
	for keys, want := range map[string]string{"e": "the files here are the server's", "J": "the files here are the server's", "U": "use sunloop import --remote: the files here are the server's", "\x1a": "the shell here is the server's"} {
		s.press("gs") // another screen between, which takes the notice away
		s.shows("Settings")
		s.press("\x1b")
		s.shows("No sites yet")
		s.press(keys)
		s.shows("Unavailable: over SSH, " + want)
	}
	s.press("T")
	s.shows("daylight")
	s.press("\x1b[B\r")
	s.press("gl")
	s.shows("Log")
	if text := s.text(); strings.Contains(text, "serving") {
		t.Errorf("the log of the server is shown:\n%s", text)
	}
	s.resize(90, 25)
	s.press("q")
	s.shows("No sites yet")
	for _, line := range strings.Split(strings.TrimRight(s.text(), "\n"), "\n") {
		if strings.HasPrefix(line, "┌") && len([]rune(line)) != 90 {
			t.Errorf("after the change of size a frame has %d columns: %s", len([]rune(line)), line)
		}
	}
	var files []string
	for _, dir := range []string{os.Getenv("XDG_CONFIG_HOME")} {
		if err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				files = append(files, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(files) > 0 {
		t.Errorf("the console wrote %v", files)
	}
}

// TestSetUpOverSSH: a person who must have an authenticator sets it up on the
// screen, without the password a second time.
func TestSetUpOverSSH(t *testing.T) {
	w := openSSHWorld(t, true)
	s := w.console("xterm-256color", nil, 120, 50, "")
	text := s.shows("Set up the second factor", "█")
	groups := regexp.MustCompile(`[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,}`).FindAllString(text, -1)
	if len(groups) == 0 {
		t.Fatalf("there is no secret on the screen:\n%s", text)
	}
	s.press(w.code(strings.ReplaceAll(strings.Join(groups, ""), " ", "")) + "\r")
	s.shows("Recovery codes")
	s.press("\r")
	s.shows("No sites yet", "ana Operator")
}

// openSSHCommand is the command line of OpenSSH's client to the world.
func (w *sshWorld) openSSHCommand(options ...string) []string {
	w.t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		w.t.Skip("OpenSSH's ssh is not installed")
	}
	_, port, _ := net.SplitHostPort(w.address)
	return append([]string{"ssh", "-F", "none", "-p", port, "-o", "UserKnownHostsFile=" + filepath.Join(w.t.TempDir(), "known"), "-o", "StrictHostKeyChecking=accept-new", "-o", "IdentityAgent=none"}, append(options, "ana@127.0.0.1")...)
}

// TestOpenSSH signs in with OpenSSH's own client in a real terminal.
func TestOpenSSH(t *testing.T) {
	w := openSSHWorld(t, true)
	code := w.enrol()
	byKey := strings.Join(w.openSSHCommand("-i", w.keyFile), " ")
	x := openWindow(t, 110, 34, nil, byKey+"; echo after $?; exec cat")
	x.shows("Code of the authenticator, or a recovery code:")
	x.keys("000000", "Enter")
	x.shows("Invalid TOTP code.")
	x.keys(code(), "Enter")
	x.shows("No sites yet", "ana Operator", "quit")
	x.keys("q")
	x.shows("after 0")

	byPassword := strings.Join(w.openSSHCommand("-o", "PubkeyAuthentication=no"), " ")
	x = openWindow(t, 80, 24, nil, byPassword+"; echo after $?; exec cat")
	x.shows("Password:")
	x.keys("wrong", "Enter")
	x.becomes("a second question", func(screen string) bool { return strings.Count(screen, "Password:") == 2 })
	x.keys(sshPassword, "Enter")
	x.shows("Code of the authenticator")
	x.keys(code(), "Enter")
	x.shows("No sites yet", "quit")
	x.tmux("resize-window", "-t", "s", "-x", "132", "-y", "40")
	x.becomes("a screen of the new size", func(screen string) bool {
		return slices.ContainsFunc(strings.Split(screen, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "┌") && len([]rune(strings.TrimRight(line, " "))) == 132
		})
	})
	x.keys("q")
	x.shows("after 0")
}

// TestOpenSSHWithoutTerminal: commands and files are refused in a sentence.
func TestOpenSSHWithoutTerminal(t *testing.T) {
	w := openSSHWorld(t, false)
	for want, args := range map[string][]string{
		"Sunloop runs no command and no shell here: connect without one for the console.\n": append(w.openSSHCommand("-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-i", w.keyFile), "id"),
		"The console needs a terminal: connect with ssh -t.\n":                              w.openSSHCommand("-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-T", "-i", w.keyFile),
		"Sunloop transfers no files here: connect with ssh for the console.\n":              append(w.openSSHCommand("-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-s", "-i", w.keyFile), "sftp"),
	} {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if got := strings.ReplaceAll(string(out), "\r", ""); got != want || err == nil {
			t.Errorf("%q answers %q (%v), want %q", args, got, err, want)
		}
	}
}

// sshLine starts a command and returns the address of its SSH listener and the
// fingerprint of the host key.
func sshLine(t *testing.T, args ...string) (address, fingerprint string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, streams{os.Stdin, io.Discard, out})
		_ = out.Close()
	}()
	t.Cleanup(func() {
		stop()
		_, _ = io.Copy(io.Discard, r)
		if status := <-ended; status != 0 {
			t.Errorf("%q ended with %d", args, status)
		}
	})
	var log strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		var line struct {
			Message     string `json:"msg"`
			Address     string `json:"address"`
			Fingerprint string `json:"host_key"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "serving the console over SSH" {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return line.Address, line.Fingerprint
		}
	}
	t.Fatalf("%q serves nothing:\n%s", args, log.String())
	return "", ""
}

// TestSSHCommands: the command alone and serve with --ssh serve the users of
// the data folder, with the host key that is printed.
func TestSSHCommands(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	key, _ := newSSHKey(t)
	service, err := backend.New(backend.Config{DataDir: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	_, err = service.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ana", Password: sshPassword, Role: api.RoleOperator, SSHKeys: []string{string(gossh.MarshalAuthorizedKey(key.PublicKey()))}})
	if closeErr := service.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	printed := sunloop(t, "ssh", "--fingerprint", "--data", dir)
	for name, args := range map[string][]string{
		"ssh":   {"ssh", "--listen", "127.0.0.1:0", "--no-mfa", "--data", dir},
		"serve": {"serve", "--listen", "127.0.0.1:0", "--ssh", "127.0.0.1:0", "--no-mfa", "--data", dir},
	} {
		t.Run(name, func(t *testing.T) {
			address, fingerprint := sshLine(t, args...)
			if !strings.Contains(printed.out, "sha256    "+fingerprint+"\n") {
				t.Errorf("the host key is %s, printed is\n%s", fingerprint, printed.out)
			}
			c, err := gossh.Dial("tcp", address, &gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{gossh.PublicKeys(key)}, HostKeyCallback: func(_ string, _ net.Addr, host gossh.PublicKey) error {
				if got := gossh.FingerprintSHA256(host); got != fingerprint || host.Type() != gossh.KeyAlgoED25519 {
					return fmt.Errorf("the host shows %s", got)
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		})
	}
	for _, args := range [][]string{
		{"ssh", "--user-sessions", "0"}, {"ssh", "--sessions=-1"}, {"ssh", "--idle=-1s"}, {"ssh", "--sign-in-time", "1ms"}, {"serve", "--ssh", ":0", "--ssh-user-sessions", "0"},
		{"ssh", "--listen", "nowhere"}, {"ssh", "--theme", "none"}, {"ssh", "--remote", "ops.example.com"}, {"ssh", "--remote", "https://ops.example.com", "--token", "opa_prod_x"},
	} {
		if got := sunloop(t, append(args, "--data", dir)...); got.status != 1 || strings.Count(got.err, "sunloop: ") != 1 {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestSSHRemote: before a service elsewhere, passwords are checked there, keys
// are not taken, and the service knows who asks.
func TestSSHRemote(t *testing.T) {
	w := openSSHWorld(t, false)
	elsewhere := httptest.NewServer(w.service.Handler())
	defer elsewhere.Close()
	address, _ := sshLine(t, "ssh", "--remote", elsewhere.URL, "--listen", "127.0.0.1:0", "--data", t.TempDir())
	dial := func(from string, method gossh.AuthMethod) error {
		raw, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", address)
		if err != nil {
			t.Skipf("no separate address: %v", err)
		}
		defer raw.Close()
		_, _, _, err = gossh.NewClientConn(raw, address, &gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{method}, HostKeyCallback: gossh.InsecureIgnoreHostKey()}) //nolint:gosec // its own server
		return err
	}
	if err := dial("127.0.0.2", gossh.PublicKeys(w.key)); err == nil {
		t.Error("a key opens a connection")
	}
	if err := dial("127.0.0.2", gossh.Password(sshPassword)); err != nil {
		t.Errorf("the password: %v", err)
	}
	trail, _, err := w.service.Trail().List(t.Context(), api.Unlimited(""), api.AuditQuery{Page: api.Page{Limit: 10}})
	if err != nil || len(trail) == 0 || trail[len(trail)-1].Route != "login" || trail[len(trail)-1].Address != "127.0.0.2" {
		t.Errorf("the trail has %+v: %v", trail, err)
	}
}

// TestHostKey: it is made once, for its owner alone, also by two at a time, and
// one that others may read or that is damaged is refused.
func TestHostKey(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	prints := make([]string, 8)
	for i := range prints {
		wait.Go(func() {
			key, _, err := hostKey(dir)
			if err != nil {
				t.Error(err)
				return
			}
			prints[i] = gossh.FingerprintSHA256(key.PublicKey())
		})
	}
	wait.Wait()
	_, path, err := hostKey(dir)
	if err != nil || len(slices.Compact(prints)) != 1 {
		t.Fatalf("the keys are %q: %v", prints, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v: %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v: %v", left, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, err := hostKey(dir); err == nil || !strings.Contains(err.Error(), "may be read by others (mode 0640): chmod 600 it") {
		t.Errorf("a key that others may read: %v", err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("rubbish"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := hostKey(dir); err == nil || !strings.Contains(err.Error(), "cannot be read (remove it for a new one)") {
		t.Errorf("a damaged key: %v", err)
	}
}
