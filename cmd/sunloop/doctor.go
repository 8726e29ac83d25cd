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

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
)

// DoctorCmd says what the console finds here: what the terminal can do, what is
// configured, and whether data and service are in reach.
type DoctorCmd struct {
	RemoteFlags
}

// report is written line by line; what is wrong is counted.
type report struct {
	w     io.Writer
	wrong int
}

func (r *report) title(text string) { fmt.Fprintf(r.w, "\n%s\n", text) }

func (r *report) line(label, format string, args ...any) {
	fmt.Fprintf(r.w, "  %-14s %s\n", label, fmt.Sprintf(format, args...))
}

// bad is a line about something that wants doing.
func (r *report) bad(label, format string, args ...any) {
	r.wrong++
	r.line(label, "WRONG: "+format, args...)
}

// maxClockSkew is the difference of two clocks from which codes of an
// authenticator are refused.
const maxClockSkew = 30 * time.Second

// Run looks at everything and prints it.
func (c *DoctorCmd) Run(ctx context.Context, g *Globals, std streams) error {
	r := &report{w: std.out}
	fmt.Fprintln(r.w, "sunloop", version)
	c.terminal(ctx, r, std)
	c.configuration(r, g)
	c.machine(r, g)
	c.shared(ctx, r, g)
	if c.Remote != "" {
		c.service(ctx, r)
	}
	if r.wrong > 0 {
		fmt.Fprintf(r.w, "\n%d to mend.\n", r.wrong)
		return exitStatus(1)
	}
	fmt.Fprintln(r.w, "\nNothing is wrong.")
	return nil
}

// terminal tells what the environment says of the terminal, and what it says
// itself.
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
		r.line("asked", "no: this is no terminal; run it in one for what it can do")
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

// ask asks the terminal what it can do, without echo, and puts it back.
func (c *DoctorCmd) ask(ctx context.Context, r *report, in, out *os.File, remote bool) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		r.bad("asked", "the terminal cannot be set to be asked: %v", err)
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
	answers, err := terminal.Query(ctx, input, terminal.NewOutput(out, terminal.OutputOptions{}))
	silent := ctx.Err() != nil
	if restored := term.Restore(int(in.Fd()), before); err == nil {
		err = restored
	}
	switch {
	case err != nil:
		r.bad("asked", "%v", err)
		return
	case silent:
		r.line("asked", "it does not answer: dark is assumed, and frames are sent unmarked")
		return
	}
	background := "it did not say; dark is assumed"
	if answers.Background != themes.Unset {
		background = fmt.Sprintf("%s, %s", answers.Background, map[bool]string{true: "dark", false: "light"}[answers.Dark()])
	}
	r.line("background", "%s", background)
	r.line("whole frames", "%s", map[bool]string{true: "yes: large frames are marked, so that none is seen half (mode 2026)", false: "not known to it: a large frame may be seen half for a moment"}[answers.Sync])
}

// configuration tells what is in the person's folder.
func (c *DoctorCmd) configuration(r *report, g *Globals) {
	r.title("Configuration")
	file := g.configFile()
	if g.file.path == "" {
		file += " (not there: the settings screen, g s, makes it)"
	}
	r.line("file", "%s", file)
	if _, err := keymap.Default().Rebind(g.file.Keys); err != nil {
		r.bad("keys", "%v", err)
	} else {
		r.line("keys", "%d of your own, no clash", len(g.file.Keys))
	}
	dir := filepath.Join(configDir(), "themes")
	own, err := themes.Folder(os.DirFS(dir))
	if err != nil {
		r.bad("themes", "%v", err)
	}
	r.line("themes", "%d of your own in %s", len(own), dir)
	for _, t := range own {
		if weak := t.Weak(); len(weak) > 0 {
			r.bad("theme", "%s reads badly in %d places: %s", t.Name, len(weak), strings.Join(weak[:min(len(weak), 3)], "; "))
		}
	}
	for _, name := range []string{"session.json", "places.json", "config.toml"} {
		private(r, filepath.Join(configDir(), name))
	}
}

// private says when others may read a file of the person's.
func private(r *report, path string) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Base(path) == "session.json" {
		r.bad("mode", "%s may be read by others (%v): chmod 600 it", path, info.Mode().Perm())
	} else if err == nil && info.Mode().Perm()&0o022 != 0 {
		r.bad("mode", "%s may be written by others (%v): chmod 600 it", path, info.Mode().Perm())
	}
}

// machine tells of the data folder and the clock.
func (c *DoctorCmd) machine(r *report, g *Globals) {
	r.title("This machine")
	now := time.Now()
	zone, offset := now.Zone()
	r.line("clock", "%s %s (UTC%+g)", now.Format("2006-01-02 15:04:05"), zone, float64(offset)/3600)
	info, err := os.Stat(g.Data)
	switch {
	case os.IsNotExist(err):
		r.line("data", "%s (not there: the first start makes it)", g.Data)
		return
	case err != nil:
		r.bad("data", "%v", err)
		return
	case !info.IsDir():
		r.bad("data", "%s is no folder", g.Data)
		return
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		r.bad("data", "%s may be entered by others (%v): chmod 700 it", g.Data, info.Mode().Perm())
	default:
		r.line("data", "%s, yours alone", g.Data)
	}
	probe, err := os.CreateTemp(g.Data, ".sunloop-doctor-*")
	if err != nil {
		r.bad("data", "it cannot be written to: %v", err)
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
	r.line("size", "%.1f MiB; it can be written to", float64(size)/(1<<20))
}

// lookTime is how long database and bucket are waited for.
const lookTime = 15 * time.Second

// shared tells of the database and the bucket that replicas share, where they are
// configured. Nothing in them changes, but for the trial of a bucket.
func (c *DoctorCmd) shared(ctx context.Context, r *report, g *Globals) {
	if g.Store == "" && g.Objects == "" {
		return
	}
	r.title("Database and objects")
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found := backend.Look(ctx, g.embedded())
	if g.Store != "" {
		if found.Database != nil {
			r.bad("database", "%v", found.Database)
		} else {
			r.line("database", "%s: it can be written to, and its tables are of schema %d", withoutPassword(g.Store), found.Schema)
		}
		if found.Key != nil {
			r.bad("key", "%v", found.Key)
		} else if found.Database == nil {
			r.line("key", "it is that of the database")
		}
	}
	switch {
	case found.Objects != nil:
		r.bad("objects", "%v", found.Objects)
	case g.Objects == "":
		r.line("objects", "in the data folder, which is right for one replica alone")
	default:
		r.line("objects", "%s: they can be written to", withoutPassword(g.Objects))
	}
}

// service asks the service elsewhere whether it is there, and for its clock.
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
		r.bad("reach", "%v", inWords(err))
		return
	}
	defer resp.Body.Close()
	took := time.Since(from)
	if resp.StatusCode != http.StatusOK {
		if body, _ := io.ReadAll(io.LimitReader(resp.Body, maxReadiness)); wantsTLS(resp.StatusCode, body) {
			r.bad("reach", "%v", errWantsTLS(req.URL))
			return
		}
		r.bad("reach", "it answers %s, which Sunloop does not", resp.Status)
		return
	}
	r.line("reach", "it answers, in %d ms", took.Milliseconds())
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if skew := from.Add(took / 2).Sub(at); skew.Abs() > maxClockSkew {
			step := time.Second
			if skew.Abs() > 2*time.Minute {
				step = time.Minute
			}
			r.bad("clock", "it is %s apart from this machine's: codes of an authenticator may be refused", skew.Abs().Round(step))
		} else {
			r.line("clock", "as this machine's")
		}
	}
	if c.Token == "" {
		r.line("token", "none is given: the console asks for a password")
		return
	}
	c.token(ctx, r, o)
}

// token asks the service whether it accepts the API key or token, by a list of
// one site, which every role may read.
func (c *DoctorCmd) token(ctx context.Context, r *report, o client.Options) {
	cl := client.New(o)
	defer cl.Close()
	_, err := cl.Sites(ctx, api.ListQuery{Page: api.Page{Limit: 1}})
	refusal := (*api.Error)(nil)
	switch {
	case err == nil, errors.As(err, &refusal) && refusal.Status == http.StatusTooManyRequests:
		r.line("token", "accepted")
	case refusal != nil && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden):
		r.bad("token", "the service refuses it: %v", inWords(err))
	default:
		r.bad("token", "it cannot be checked: %v", inWords(err))
	}
}
