//go:build !windows

package main

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// typed is what a person types when the program asks; unseen: once what is typed
// is not shown any more.
type typed struct {
	prompt, text string
	unseen       bool
}

// awaitNoEcho waits until a terminal does not show what is typed.
func awaitNoEcho(t *testing.T, terminal *os.File) {
	t.Helper()
	for {
		stty := exec.Command("stty", "-a")
		stty.Stdin = terminal
		out, err := stty.Output()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(strings.Fields(string(out)), "-echo") {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// readUntil answers prompts, reads up to a line that matches, then stops the
// program as ctrl+c does, and returns all that it printed. A program that prints no
// such line within two minutes is killed.
func readUntil(t *testing.T, cmd *exec.Cmd, from io.Reader, pattern string, person *os.File, answers ...typed) string {
	t.Helper()
	last := regexp.MustCompile("(?m)" + pattern)
	var all strings.Builder
	stopped := false
	defer time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	for part := make([]byte, 4096); ; {
		n, err := from.Read(part)
		all.Write(part[:n])
		if len(answers) > 0 && strings.HasSuffix(all.String(), answers[0].prompt) {
			if answers[0].unseen {
				awaitNoEcho(t, person)
			}
			if _, err := io.WriteString(person, answers[0].text+"\n"); err != nil {
				t.Fatal(err)
			}
			answers = answers[1:]
		}
		if !stopped && last.MatchString(all.String()) {
			stopped = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil { // the end; that of a pseudo-terminal is an error
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("wait for %q of %v: %v\n%s", pattern, cmd.Args[1:], err, all.String())
	}
	if !stopped || len(answers) > 0 {
		t.Fatalf("%v ended by itself:\n%s", cmd.Args[1:], all.String())
	}
	return all.String()
}

func TestPlain(t *testing.T) {
	bin := binary(t)
	t.Run("over a pipe", func(t *testing.T) { plainOverAPipe(t, bin) })
	t.Run("after a sign-in", func(t *testing.T) { plainSignsIn(t, bin) })
}

// plainOverAPipe: the line mode needs no terminal: over a pipe it prints lines of text alone,
// and ends by ctrl+c with exit status 0.
func plainOverAPipe(t *testing.T, bin string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "meter.csv")
	if err := os.WriteFile(file, []byte("time,power_kw\n2024-06-15 06:00,5.7\n2024-06-15 06:15,6.9\n2024-06-15 06:30,8.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, append(args, "--data", filepath.Join(dir, "data"))...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "TERM=xterm-256color")
		return cmd
	}
	if out, err := run("import", file, "--site", "roof", "--tz", "Europe/Berlin", "--capacity-kw", "20").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := run("--plain")
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	printed := readUntil(t, cmd, out, `^20..-..-.. ..:.. roof: power unknown`, nil)
	if !strings.HasPrefix(printed, "Sunloop, embedded, roof. ") || strings.Contains(printed, "\x1b") || failed.Len() > 0 {
		t.Errorf("printed:\n%q\nand on the error stream: %q", printed, failed.String())
	}
	unknown := run("--plain", "--site", "attic")
	if text, err := unknown.CombinedOutput(); unknown.ProcessState.ExitCode() != statusUsage || string(text) != "sunloop: there is no site \"attic\"\n" {
		t.Errorf("an unknown site: %v %q", err, text)
	}
	anonymous := run("--plain", "--remote", "http://127.0.0.1:1")
	if text, err := anonymous.CombinedOutput(); err == nil || !strings.Contains(string(text), "--token") {
		t.Errorf("cannot prompt: %v %q", err, text)
	}
}

// plainSignsIn: at a terminal the line mode of a service elsewhere asks for name and password
// in lines, shows no password and keeps the session.
func plainSignsIn(t *testing.T, bin string) {
	dir := t.TempDir()
	service, err := backend.New(backend.Config{DataDir: filepath.Join(dir, "data"), Now: time.Now, Wall: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	const password = "correct horse battery"
	if _, err := service.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ana", Password: password, Role: api.RoleOperator, Customers: []string{api.Every}}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service.Handler())
	defer func() {
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, answers := range [][]typed{{{"User: ", "ana", false}, {"Password: ", password, true}}, nil} { // the second time the session is there
		cmd := exec.Command(bin, "--plain", "--remote", server.URL, "--data", filepath.Join(dir, "console"))
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "TERM=xterm-256color")
		terminal, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		printed := readUntil(t, cmd, terminal, `^Sunloop, 127\.0\.0\.1:\d+, no site yet`, terminal, answers...)
		if strings.Contains(printed, "User: ") != (answers != nil) || strings.Contains(printed, password) || strings.Contains(printed, "\x1b") {
			t.Errorf("printed: %q", printed)
		}
		terminal.Close()
	}
}
