package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"app.sunloop/backend/api"
	"app.sunloop/backend/check"
	"app.sunloop/backend/client"
	"app.sunloop/backend/store"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
)

// DoctorCmd reports what the terminal supports, what is configured, and whether
// the data folder and the service can be used.
type DoctorCmd struct {
	RemoteFlags
}

// report prints lines and counts the problems among them.
type report struct {
	w     io.Writer
	wrong int
}

func (r *report) title(text string) { fmt.Fprintf(r.w, "\n%s\n", text) }

func (r *report) line(label, format string, args ...any) {
	fmt.Fprintf(r.w, "  %-14s %s\n", label, fmt.Sprintf(format, args...))
}

// bad prints a problem.
func (r *report) bad(label, format string, args ...any) {
	r.wrong++
	r.line(label, "WRONG: "+format, args...)
}

// maxClockSkew is the largest difference between two clocks at which codes of an
// authenticator are accepted.
const maxClockSkew = 30 * time.Second

// Run checks everything and prints what it finds. The exit status is 1 if there
// is a problem.
func (c *DoctorCmd) Run(ctx context.Context, g *Globals, std streams) error {
	r := &report{w: std.out}
	fmt.Fprintln(r.w, "sunloop", version)
	c.terminal(ctx, r, std)
	c.configuration(r, g)
	c.machine(ctx, r, g)
	c.shared(ctx, r, g)
	if c.Remote != "" {
		c.service(ctx, r)
	}
	if r.wrong > 0 {
		fmt.Fprintf(r.w, "\n%s\n", count(r.wrong, "problem", "problems"))
		return exitStatus(1)
	}
	fmt.Fprintln(r.w, "\nno problems")
	return nil
}

// terminal prints what the environment and the terminal itself report about the
// terminal.
func (c *DoctorCmd) terminal(ctx context.Context, r *report, std streams) {
	r.title("Terminal")
	out, isFile := fileOf(std.out)
	isTerminal := isFile && term.IsTerminal(int(out.Fd())) && term.IsTerminal(int(std.in.Fd()))
	for _, name := range []string{"TERM", "COLORTERM", "NO_COLOR", "COLORFGBG", "LANG"} {
		if v := os.Getenv(name); v != "" {
			r.line(name, "%s", terminal.Printable(v))
		}
	}
	r.line("colours", "%s", map[terminal.Profile]string{themes.NoColor: "none", themes.Colors16: "16", themes.Colors256: "256", themes.TrueColor: "16 million"}[terminal.DetectProfile(os.Getenv, isTerminal)]+" (--color, or color in the file, sets it)")
	remote := terminal.Remote(os.Getenv)
	r.line("line", "%s", map[bool]string{true: "over SSH: 10 frames a second, a lone esc waits 100 ms", false: "local: 20 frames a second, a lone esc waits 25 ms"}[remote])
	if os.Getenv("TMUX") != "" {
		r.line("tmux", "yes: notifications and the clipboard are passed through (set -g allow-passthrough on)")
	}
	if !isTerminal {
		r.line("asked", "no: standard input and output are not a terminal")
	} else {
		w, h, err := term.GetSize(int(out.Fd()))
		switch {
		case err != nil:
			r.bad("size", "%v", err)
		case w < 60 || h < 20:
			r.bad("size", "%d×%d, and the console needs 60×20", w, h)
		default:
			r.line("size", "%d×%d", w, h)
		}
		c.ask(ctx, r, std.in, out, remote)
	}
	r.line("mouse", "clicks and wheel are asked for (SGR reports); M in the console gives the mouse back")
	r.line("clipboard", "y sends OSC 52, which a terminal never confirms: paste to see; e writes files instead")
	r.title("Symbols (each line has the same slope; a row of boxes or gaps means that the font lacks them)")
	r.line("braille", "⢀⣀⣠⣤⣴⣶⣾⣿⣷⣶⣦⣤⣄⣀⡀")
	r.line("block", "▁▂▃▄▅▆▇█▇▆▅▄▃▂▁")
	r.line("ascii", "._-=+*##*+=-_.   (--graph, or graph in the file, chooses)")
	r.line("shapes", "▲ ● ○   ┌─┬─┐ │ └─┴─┘   (--ascii does without)")
}

// ask queries the terminal in raw mode and restores its mode.
func (c *DoctorCmd) ask(ctx context.Context, r *report, in, out *os.File, remote bool) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		r.bad("asked", "set the terminal to raw mode: %v", err)
		return
	}
	input := terminal.NewInput(in, terminal.InputOptions{Remote: remote, Now: time.Now})
	go func() { // ends with the process
		buffer := make([]byte, 256)
		for {
			if _, err := input.Read(buffer); err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, terminal.QueryWait(remote))
	defer cancel()
	answers, err := terminal.Query(ctx, input, terminal.NewOutput(out, terminal.OutputOptions{}), true)
	silent := ctx.Err() != nil
	if restored := term.Restore(int(in.Fd()), before); err == nil {
		err = restored
	}
	switch {
	case err != nil:
		r.bad("asked", "%v", err)
		return
	case silent:
		r.line("asked", "no answer: a dark background is assumed, and frames are sent without marks")
		return
	}
	background := "not reported; dark is assumed"
	if answers.Background != themes.Unset {
		background = fmt.Sprintf("%s, %s", answers.Background, map[bool]string{true: "dark", false: "light"}[answers.Dark()])
	}
	r.line("background", "%s", background)
	r.line("whole frames", "%s", map[bool]string{true: "yes: large frames are marked and drawn at once (mode 2026)", false: "not supported: a large frame may be drawn in parts"}[answers.Sync])
	r.line("images", "%s", map[terminal.Graphics]string{
		terminal.NoGraphics: "not supported: charts are drawn in characters", terminal.Kitty: "yes, Kitty graphics (--images auto draws charts as images)", terminal.Sixel: "yes, sixel (--images auto draws charts as images)",
	}[answers.Graphics])
}

// configuration prints the contents of the configuration folder.
func (c *DoctorCmd) configuration(r *report, g *Globals) {
	r.title("Configuration")
	file := g.configFile()
	if g.file.path == "" {
		file += " (does not exist: the settings screen, g s, creates it)"
	}
	r.line("file", "%s", file)
	if _, err := keymap.Default().Rebind(g.file.Keys); err != nil {
		r.bad("keys", "%v", err)
	} else {
		r.line("keys", "%d of your own, no conflict", len(g.file.Keys))
	}
	dir := filepath.Join(configDir(), "themes")
	own, err := themes.Folder(os.DirFS(dir))
	if err != nil {
		r.bad("themes", "%v", err)
	}
	r.line("themes", "%d of your own in %s", len(own), dir)
	for _, t := range own {
		if weak := t.Weak(); len(weak) > 0 {
			r.bad("theme", "%s has too little contrast in %s: %s", t.Name, display.CountOf(len(weak), "place", "places"), strings.Join(weak[:min(len(weak), 3)], "; "))
		}
	}
	for _, name := range []string{"session.json", "places.json", "config.toml"} {
		private(r, filepath.Join(configDir(), name))
	}
}

// private reports a file that other users can read or write.
func private(r *report, path string) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Base(path) == "session.json" {
		r.bad("mode", "%s can be read by others (%v): chmod 600 it", path, info.Mode().Perm())
	} else if err == nil && info.Mode().Perm()&0o022 != 0 {
		r.bad("mode", "%s can be written by others (%v): chmod 600 it", path, info.Mode().Perm())
	}
}

// machine prints the clock and the state of the data folder.
func (c *DoctorCmd) machine(ctx context.Context, r *report, g *Globals) {
	r.title("This machine")
	now := time.Now()
	zone, offset := now.Zone()
	r.line("clock", "%s %s (UTC%+g)", display.DateTimeSeconds(now), zone, float64(offset)/3600)
	info, err := os.Stat(g.Data)
	switch {
	case os.IsNotExist(err):
		r.line("data", "%s (does not exist: the first start creates it)", g.Data)
		return
	case err != nil:
		r.bad("data", "%v", err)
		return
	case !info.IsDir():
		r.bad("data", "%s is not a directory", g.Data)
		return
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		r.bad("data", "%s can be opened by others (%v): chmod 700 it", g.Data, info.Mode().Perm())
	default:
		r.line("data", "%s, closed to other users", g.Data)
	}
	probe, err := os.CreateTemp(g.Data, ".sunloop-doctor-*")
	if err != nil {
		r.bad("data", "write to it: %v", err)
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	size := int64(0)
	_ = filepath.WalkDir(g.Data, func(_ string, d fs.DirEntry, err error) error { // what cannot be read is left out
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	r.line("size", "%s; it can be written to", display.Bytes(size))
	if g.Store == "" {
		c.folder(ctx, r, g)
	}
}

// maxProblems is the largest number of problems of the data folder that are
// printed.
const maxProblems = 5

// folder checks the database, the key and the objects of the data folder.
func (c *DoctorCmd) folder(ctx context.Context, r *report, g *Globals) {
	found, err := check.Quick(ctx, g.embedded().Paths())
	switch {
	case errors.Is(err, store.ErrLocked):
		r.line("database", "not checked: %v", err)
		return
	case err != nil:
		r.bad("database", "%v", err)
		return
	}
	for _, fault := range found.Faults[:min(len(found.Faults), maxProblems)] {
		r.bad("database", "%s", fault)
	}
	if more := len(found.Faults) - maxProblems; more > 0 {
		r.wrong += more
		r.line("database", "and %s", count(more, "more problem", "more problems"))
	}
	for _, note := range found.Notes[:min(len(found.Notes), maxProblems)] {
		r.line("database", "%s", note)
	}
	if len(found.Faults)+len(found.Notes) == 0 {
		r.line("database", "its structure is valid, the key opens it, and no object is missing")
	}
	if len(found.Faults) > 0 {
		r.line("database", "sunloop admin check reads all of it")
	}
}

// lookTime is the time limit of the checks of the database and the bucket.
const lookTime = 15 * time.Second

// shared checks the database and the bucket that replicas share, if they are
// configured. It changes nothing in them except a test object in the bucket.
func (c *DoctorCmd) shared(ctx context.Context, r *report, g *Globals) {
	if g.Store == "" && g.Objects == "" {
		return
	}
	r.title("Database and objects")
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found := check.Probe(ctx, g.embedded().Paths(), time.Now)
	if g.Store != "" {
		if found.Database != nil {
			r.bad("database", "%v", found.Database)
		} else {
			r.line("database", "%s: it can be written to; schema %d", withoutPassword(g.Store), found.Schema)
		}
		if found.Key != nil {
			r.bad("key", "%v", found.Key)
		} else if found.Database == nil {
			r.line("key", "it opens the secrets in the database")
		}
	}
	switch {
	case found.Objects != nil:
		r.bad("objects", "%v", found.Objects)
	case g.Objects == "":
		r.line("objects", "in the data folder, which suits a single replica only")
	default:
		r.line("objects", "%s: it can be written to", withoutPassword(g.Objects))
	}
}

// service checks that the service at --remote answers, its clock and the
// credential.
func (c *DoctorCmd) service(ctx context.Context, r *report) {
	r.title("Service")
	o, err := c.clientOptions()
	if err != nil {
		r.bad("address", "%v", err)
		return
	}
	r.line("address", "%s", o.BaseURL)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = o.TLS
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.BaseURL+api.PathHealth, nil)
	if err != nil {
		r.bad("address", "%v", err)
		return
	}
	from := time.Now()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		r.bad("reach", "%v", clientError(err))
		return
	}
	defer resp.Body.Close()
	took := time.Since(from)
	if resp.StatusCode != http.StatusOK {
		if body, _ := io.ReadAll(io.LimitReader(resp.Body, maxReadiness)); wantsTLS(resp.StatusCode, body) {
			r.bad("reach", "%v", errWantsTLS(req.URL))
			return
		}
		r.bad("reach", "the status is %s: this is not Sunloop", resp.Status)
		return
	}
	r.line("reach", "the service responds in %s", display.Latency(took))
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if skew := from.Add(took / 2).Sub(at); skew.Abs() > maxClockSkew {
			step := time.Second
			if skew.Abs() > 2*time.Minute {
				step = time.Minute
			}
			r.bad("clock", "it differs from this machine's by %s: codes of an authenticator may be refused", skew.Abs().Round(step))
		} else {
			r.line("clock", "equal to this machine's")
		}
	}
	if c.Token == "" {
		r.line("token", "not given: the console asks for a password")
		return
	}
	c.token(ctx, r, o)
}

// token checks that the service accepts the API key or token, by a list of one
// site, which every role can read.
func (c *DoctorCmd) token(ctx context.Context, r *report, o client.Options) {
	cl := client.New(o)
	defer cl.Close()
	_, err := cl.Sites(ctx, api.ListQuery{Page: api.Page{Limit: 1}})
	refusal := (*api.Error)(nil)
	switch {
	case err == nil, errors.As(err, &refusal) && refusal.Status == http.StatusTooManyRequests:
		r.line("token", "accepted")
	case refusal != nil && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden):
		r.bad("token", "the service refuses it: %v", clientError(err))
	default:
		r.bad("token", "check it: %v", clientError(err))
	}
}
