package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/tui/terminal"
)

// unfit is the first rune of a command's output that is not text, a line break
// or a tab.
func unfit(text string) (r rune, found bool) {
	for _, r := range text {
		if r == '\r' || r == utf8.RuneError || r != '\n' && r != '\t' && terminal.Printable(string(r)) == "" {
			return r, true
		}
	}
	return 0, false
}

// TestOutputHasNoControlSequences: whatever is written, in whatever parts, comes
// out as text; text comes out as it is, and JSON means the same.
func TestOutputHasNoControlSequences(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"\x1b[2J", "\x1b]52;c;eA==\a", "\u009b31m", "\u202e", "\u2066", "\x00", "\r", "\x7f", "\U000e0041", "é", "日", "x", "\n"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOf(pieces).Draw(rt, "pieces"), "") + rapid.String().Draw(rt, "any")
		var out bytes.Buffer
		v := &visible{w: &out}
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "part")
			if wrote, err := v.Write(rest[:n]); wrote != n || err != nil {
				rt.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if r, found := unfit(strings.ReplaceAll(out.String(), "\ufffd", "")); found {
			rt.Errorf("%q lets %U through: %q", text, r, out.String())
		}
		if _, found := unfit(text); !found && out.String() != text {
			rt.Errorf("%q became %q", text, out.String())
		}
		encoded, err := json.Marshal(text)
		if err != nil {
			rt.Fatal(err)
		}
		out.Reset()
		fmt.Fprintf(&visible{w: &out}, "%s\n", encoded)
		var decoded, want string
		if err := json.Unmarshal(out.Bytes(), &decoded); err != nil {
			rt.Fatalf("%q became %q: %v", encoded, out.String(), err)
		}
		if err := json.Unmarshal(encoded, &want); err != nil || decoded != want {
			rt.Errorf("%q means %q", out.String(), decoded)
		}
	})
}

// TestHostileNamesInOutput: a command that reads a file with escapes in its
// names, or is given some on its command line, prints text.
func TestHostileNamesInOutput(t *testing.T) {
	dir := t.TempDir()
	const bad = "\x1b]0;title\a\x1b[2J\u009b31m\u202eINV"
	path := filepath.Join(dir, "plant.csv")
	text := "time," + bad + " AC power (kW)," + bad + "2 AC power (kW)\n"
	for hour := range 48 {
		text += fmt.Sprintf("2025-06-%02d %02d:00,%d,%d\n", 1+hour/24, hour%24, hour%24, hour%24)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.csv")
	if err := os.WriteFile(broken, []byte(bad+"\n"+bad+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"inspect", path}, {"inspect", "--json", path}, {"inspect", broken}, {"inspect", filepath.Join(dir, bad)},
		{bad}, {"inspect", "--" + bad}, {"keys", bad}, {"serve", "--listen", bad}, {"status", "--remote", bad}, {"forecast", "--site", bad, "--data", dir},
	} {
		var out, errs bytes.Buffer
		run(t.Context(), args, streams{os.Stdin, &out, &errs})
		for name, text := range map[string]string{"stdout": out.String(), "stderr": errs.String()} {
			if r, found := unfit(text); found {
				t.Errorf("sunloop %q lets %U through on %s: %.300q", args, r, name, text)
			}
		}
		if out.Len()+errs.Len() == 0 {
			t.Errorf("sunloop %q says nothing", args)
		}
	}
}

// TestHostileTextInTheLog: an event is one line of text, in both forms of the
// headless log.
func TestHostileTextInTheLog(t *testing.T) {
	const bad = "a\nlevel=ERROR msg=forged\r\x1b[2J\u009b31m\u202e"
	var out bytes.Buffer
	log := (&Globals{LogLevel: "debug"}).headlessLog(&visible{w: &out})
	log.With(bad, bad).WithGroup(bad).Error(bad, bad, bad, "err", fmt.Errorf("wrapped: %s", bad))
	if r, found := unfit(out.String()); found || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%U in %q", r, out.String())
	}
	logger, lines, closer, err := (&Globals{LogLevel: "debug"}).consoleLog(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	logger.Error(bad, bad, bad)
	if n := len(lines.Lines()); n != 1 {
		t.Errorf("one event makes %d lines of the console's log", n)
	}
	for _, line := range lines.Lines() {
		if r, found := unfit(line); found {
			t.Errorf("%U in %q", r, line)
		}
	}
}

// TestNoSiteKeyIsPrinted writes the key of a site as text, as JSON and quoted.
func TestNoSiteKeyIsPrinted(t *testing.T) {
	key := api.SiteKey("globex", "Roof")
	encoded, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&visible{w: &out}, "%s %s %q, site 1f", key, encoded, key)
	if want := `Roof "Roof" "Roof", site 1f`; out.String() != want {
		t.Errorf("%q is printed, not %q", out.String(), want)
	}
}
