package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// output returns what a command line prints on standard output.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(context.Background(), args, streams{os.Stdin, &out, &errs}); status != 0 {
		t.Fatalf("sunloop %s: exit status %d: %s", strings.Join(args, " "), status, &errs)
	}
	return out.String()
}

// TestBashCompletion completes lines in a real bash: the last word of each is
// the one at the cursor.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "completion")
	for name, text := range map[string]string{script: output(t, "completion", "bash"), filepath.Join(dir, "export.csv"): ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		words []string
		want  string // in their order
	}{
		{[]string{"se"}, "serve"},
		{[]string{"s"}, "serve ssh status sites simulate score"},
		{[]string{"--theme", ""}, "auto control-room daylight contrast mono sundown"},
		{[]string{"--theme", "=", "da"}, "daylight"},
		{[]string{"--theme", "="}, "auto control-room daylight contrast mono sundown"},
		{[]string{"demo", "--theme", "m"}, "mono"},
		{[]string{"--the"}, "--theme"},
		{[]string{"demo", "--no-m"}, "--no-mouse"},
		{[]string{"admin", "user", "re"}, "reset-totp"},
		{[]string{"admin", "user", "add", "--role", "role_a"}, "role_admin role_analyst"},
		{[]string{"--config", "export.csv", "ser"}, "serve"}, // a value of a flag is no command
		{[]string{"--site", "serve", "--log-le"}, "--log-level"},
		{[]string{"import", "ex"}, "export.csv"},
		{[]string{"--data", "f"}, "folder"},
		{[]string{"--data", ""}, "folder"},
		{[]string{"completion", ""}, "bash zsh fish"},
		{[]string{"serve", "--tls", ""}, "off self files"},
		{[]string{"nothing-like-it"}, ""},
	} {
		var line strings.Builder
		fmt.Fprintf(&line, "source %s\nCOMP_WORDS=(sunloop", script)
		for _, w := range tt.words {
			fmt.Fprintf(&line, " '%s'", w)
		}
		fmt.Fprintf(&line, ")\nCOMP_CWORD=%d\n_sunloop\nprintf '%%s\\n' \"${COMPREPLY[*]}\"\n", len(tt.words))
		c := exec.CommandContext(t.Context(), bash, "--norc", "-u", "-c", line.String())
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", tt.words, err, out)
		}
		if got := strings.TrimSpace(string(out)); got != tt.want {
			t.Errorf("%q: completed %q, want %q", tt.words, got, tt.want)
		}
	}
}

// TestFishCompletion completes lines in a real fish.
func TestFishCompletion(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "completion.fish")
	if err := os.WriteFile(script, []byte(output(t, "completion", "fish")), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"sunloop se": "serve", "sunloop --theme=da": "--theme=daylight", "sunloop demo --theme m": "mono",
		"sunloop admin user re": "reset-totp", "sunloop completion z": "zsh",
	} {
		c := exec.CommandContext(t.Context(), fish, "--no-config", "-c", fmt.Sprintf("source %s; complete -C '%s'", script, line))
		c.Env = append(os.Environ(), "HOME="+dir)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", line, err, out)
		}
		got, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
		if got != want {
			t.Errorf("%q: completed %q, want %q", line, out, want)
		}
	}
}

// TestZshCompletion parses the script in a real zsh.
func TestZshCompletion(t *testing.T) {
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("no zsh")
	}
	c := exec.CommandContext(t.Context(), zsh, "-f", "-n")
	c.Stdin = strings.NewReader(output(t, "completion", "zsh"))
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCompletionHoldsEverything looks for each visible command and flag in each
// script.
func TestCompletionHoldsEverything(t *testing.T) {
	p, err := describeProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := output(t, "completion", shell)
		for _, n := range p.Commands() {
			if !strings.Contains(script, n.Name) {
				t.Errorf("%s: no command %s", shell, n.Name)
			}
			for _, f := range n.Flags {
				if !f.Hidden && !strings.Contains(script, f.Name) {
					t.Errorf("%s: %s: no flag %s", shell, n.Name, f.Name)
				}
			}
		}
		if strings.Contains(script, "screenshot") {
			t.Errorf("%s: a hidden command is completed", shell)
		}
	}
}

// TestManualPages writes the pages of all commands: each names its command and
// its flags, and mandoc, where there is one, accepts it.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	version, date = "v1.2.3", "2026-11-29"
	t.Cleanup(func() { version, date = "dev", "" })
	output(t, "man", "--dir", dir)
	p, err := describeProgram()
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(dir, "sunloop.1")}
	for _, n := range p.Commands() {
		files = append(files, filepath.Join(dir, p.PageName(n)+".1"))
		text, err := os.ReadFile(files[len(files)-1])
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range n.Flags {
			if name := strings.ReplaceAll(f.Name, "-", `\-`); !f.Hidden && !bytes.Contains(text, []byte(name)) {
				t.Errorf("%s: no flag %s", n.FullPath(), f.Name)
			}
		}
	}
	if got, _ := filepath.Glob(filepath.Join(dir, "*")); len(got) != len(files) {
		t.Errorf("%d pages, want %d", len(got), len(files))
	}
	page := output(t, "man", "admin", "backup")
	if text, err := os.ReadFile(filepath.Join(dir, "sunloop-admin-backup.1")); err != nil || string(text) != page {
		t.Errorf("the printed page differs from the file: %v", err)
	}
	if home, err := os.UserHomeDir(); err == nil && strings.Contains(output(t, "man"), home) {
		t.Error("the page names this machine's home folder")
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Log("no mandoc: the pages are not checked by it")
		return
	}
	if out, err := exec.CommandContext(t.Context(), mandoc, append([]string{"-Tlint", "-Wwarning"}, files...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestManRefuses: an unknown command, and a command with --dir.
func TestManRefuses(t *testing.T) {
	for _, args := range [][]string{{"man", "no-such"}, {"man", "serve", "--dir", t.TempDir()}, {"completion", "tcsh"}} {
		var out, errs bytes.Buffer
		if status := run(context.Background(), args, streams{os.Stdin, &out, &errs}); status == 0 || !strings.HasPrefix(errs.String(), "sunloop: ") {
			t.Errorf("%q: exit status %d, %q", args, status, &errs)
		}
	}
}

// TestVersion prints version, commit and platform.
func TestVersion(t *testing.T) {
	version, commit, date = "v1.2.3", "0123456789ab", "2026-11-29"
	t.Cleanup(func() { version, commit, date = "dev", "", "" })
	if got := output(t, "version"); !strings.HasPrefix(got, "sunloop v1.2.3 (commit 0123456789ab, 2026-11-29) go1.") {
		t.Errorf("%q", got)
	}
	commit, date = "", ""
	if got := output(t, "version"); !strings.HasPrefix(got, "sunloop v1.2.3 go1.") {
		t.Errorf("%q", got)
	}
}

// TestGeneratedDocuments compares the tables of keys and settings in the
// documents with the program: make generate rewrites them.
func TestGeneratedDocuments(t *testing.T) {
	for file, args := range map[string][]string{"keys.md": {"keys", "--into"}, "configuration.md": {"config", "--into"}} {
		was, err := os.ReadFile(filepath.Join("../../docs", file))
		if err != nil {
			t.Fatal(err)
		}
		fresh := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(fresh, was, 0o600); err != nil {
			t.Fatal(err)
		}
		output(t, append(slices.Clone(args), fresh)...)
		if now, err := os.ReadFile(fresh); err != nil || !bytes.Equal(now, was) {
			t.Errorf("docs/%s is stale: run make generate (%v)", file, err)
		}
	}
}
