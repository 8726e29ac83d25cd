package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
)

// LookFlags are how the console looks, wherever it gets its data.
type LookFlags struct {
	Theme      string `default:"auto" help:"Theme: auto, control-room, daylight, contrast, mono, sundown, or a theme of the configuration folder."`
	Color      string `default:"auto" help:"Colours of the terminal: auto, none, 16, 256 or true."`
	Graph      string `default:"auto" help:"Characters for charts: auto, braille, block or ascii."`
	Images     string `default:"off" help:"Charts as images: off, or auto on terminals with Kitty graphics or sixel."`
	ASCII      bool   `help:"Draw with ASCII characters only."`
	FPS        int    `name:"fps" default:"0" help:"Maximum frames per second (20; over SSH 10)."`
	Mouse      bool   `default:"true" negatable:"" help:"Enable the mouse."`
	Bell       bool   `default:"true" negatable:"" help:"Ring the bell and show a desktop notification for new alarms."`
	BellFrom   string `default:"high" help:"Lowest alarm priority that rings the bell: critical, high, medium, low or off."`
	NotifyFrom string `default:"high" help:"Lowest alarm priority with a desktop notification: critical, high, medium, low or off."`
	Polling    string `default:"normal" help:"Polling rate: fast, normal or slow."`
	Remember   bool   `default:"true" negatable:"" help:"Restore site, pane, sort, filter and columns at the next start."`
	Preset     string `default:"auto" help:"Initial layout: auto, balanced, watch, diagnose, plan, work, or a configured one."`
	QuadFrom   string `default:"160x40" help:"Smallest size in columns and rows at which all four panes are shown."`
	StripsFrom string `default:"100x30" help:"Smallest size in columns and rows at which the other panes are shown as strips."`
	Split      string `default:"50x50" help:"Division of the four panes in percent of width and height."`
	Site       string `help:"Site to open first."`
	Customer   string `help:"Customer of --site, if several customers have a site of that id."`
}

// ConsoleFlags are those of a console on this machine's terminal.
type ConsoleFlags struct {
	LookFlags
	Exports string `default:"." help:"Folder for exported files." type:"path"`
	Record  string `placeholder:"FILE" help:"Record what the console shows in a new file for asciinema, without dialogs that have secrets." type:"path"`

	Plain      bool          `help:"Print the state and then each change once as lines of text, for screen readers and without a terminal."`
	PlainPower time.Duration `default:"15m" placeholder:"DURATION" help:"Interval at which --plain prints the power, by the plants' clock (${default}; 0: never)."`
}

// ConsoleCmd is the console.
type ConsoleCmd struct {
	ConsoleFlags
	ServiceFlags
	SourcesFlags
	RemoteFlags
	Insecure    bool `help:"Accept any certificate from --remote. Use it only for a first test of your own service."`
	KeepSession bool `default:"true" negatable:"" help:"Keep the session for the next start, in a file that only you can read."`
}

// Run shows the console.
func (c *ConsoleCmd) Run(ctx context.Context, k *kong.Context, g *Globals, std streams) error {
	g.command, g.given = consoleTable, givenFlags(k)
	if err := c.SourcesFlags.checkFor(g, c.Remote); err != nil {
		return err
	}
	log, lines, logFile, err := g.consoleLog(g.Data)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer logFile.Close()
	c.plainIfDumb(std, os.Getenv)
	if err := c.checkRecord(); err != nil {
		return err
	}
	if c.Remote != "" {
		return c.remote(ctx, g, std, log, lines)
	}
	return c.embedded(ctx, g, std, log, lines)
}

// remote shows the console alone.
func (c *ConsoleCmd) remote(ctx context.Context, g *Globals, std streams, log *slog.Logger, lines *tail) error {
	u, err := checkRemote(c.Remote)
	if err != nil {
		return err
	}
	o, err := c.clientOptions()
	if err != nil {
		return err
	}
	if c.Insecure {
		if c.given() {
			return errors.New("--insecure takes any certificate; it does not go with --tls-fingerprint and --tls-ca")
		}
		o.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // requested by --insecure
	}
	if c.Plain {
		return c.plainRemote(ctx, std, o)
	}
	options, err := c.options(g, std, log, lines, c.sessionStore(c.Remote), &o)
	if err != nil {
		return err
	}
	options.Source, options.Places, options.Stream = u.Host, placesOf(c.Remote), true
	if known := defaultKnownServices(); u.Scheme == "https" && !c.given() && !c.Insecure {
		options.AcceptCertificate = func(fingerprint string) error { return known.accept(u, fingerprint) }
		options.CertificatesFile = known.path
	}
	return tui.Run(ctx, options)
}

// plainIfDumb prints lines on a terminal that cannot move its cursor, as those of
// editors and of serial lines.
func (c *ConsoleFlags) plainIfDumb(std streams, getenv func(string) string) {
	if c.Plain || getenv("TERM") != "dumb" {
		return
	}
	c.Plain = true
	fmt.Fprintln(std.err, "The terminal cannot move its cursor (TERM=dumb): this prints lines, as with --plain.")
}

// checkRecord refuses a recording of lines of text.
func (c *ConsoleFlags) checkRecord() error {
	if c.Plain && c.Record != "" {
		return errors.New("--record records the screen of the console; it does not go with --plain, whose output can be redirected to a file")
	}
	return nil
}

// openRecord creates the file of the recording, which only the user can read.
func (c *ConsoleFlags) openRecord(o *tui.Options) error {
	if c.Record == "" {
		return nil
	}
	f, err := os.OpenFile(c.Record, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("--record: %s exists; name a new file", c.Record)
	case err != nil:
		return fmt.Errorf("--record: %w", err)
	}
	o.Record = f
	return nil
}

// embedded shows the console over the service on this machine's data folder.
func (c *ConsoleCmd) embedded(ctx context.Context, g *Globals, std streams, log *slog.Logger, lines *tail) error {
	cfg, err := c.config(g, log, time.Now)
	if err != nil {
		return err
	}
	service, err := openFolder(cfg)
	if err != nil {
		return err
	}
	if c.Plain {
		return withService(ctx, service, func(ctx context.Context) error {
			return c.SourcesFlags.during(ctx, g, service, log, func(ctx context.Context) error { return c.plain(ctx, std, service) })
		})
	}
	o := client.Options{Transport: client.InProcess(service.Handler()), Credential: c.Token, Now: time.Now}
	options, err := c.options(g, std, log, lines, c.sessionStore("embedded "+g.Data), &o)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	options.Source, options.Places = "embedded", placesOf("embedded "+g.Data)
	return withService(ctx, service, func(ctx context.Context) error {
		return c.SourcesFlags.during(ctx, g, service, log, func(ctx context.Context) error { return tui.Run(ctx, options) })
	})
}

// withService runs the service's work while do runs, and closes it after.
func withService(ctx context.Context, service *backend.Service, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	var runErr error
	wait.Go(func() {
		if runErr = service.Run(ctx); runErr != nil {
			cancel()
		}
	})
	err := do(ctx)
	cancel()
	wait.Wait()
	if errors.Is(runErr, context.Canceled) {
		runErr = nil
	}
	return errors.Join(err, runErr, service.Close())
}

// sessionStore keeps the session of one service, or nothing.
func (c *ConsoleCmd) sessionStore(service string) func() (sessions, string, bool) {
	return func() (sessions, string, bool) {
		return sessions{filepath.Join(configDir(), "session.json")}, service, c.KeepSession && c.Token == ""
	}
}

// options puts together what the console needs on a terminal; o gets the kept
// session.
func (c *ConsoleFlags) options(g *Globals, std streams, log *slog.Logger, lines *tail, session func() (sessions, string, bool), o *client.Options) (tui.Options, error) {
	out, err := needTerminal(std)
	if err != nil {
		return tui.Options{}, err
	}
	options, err := c.look(g, os.Getenv, true)
	if err != nil {
		return options, err
	}
	options.Log, options.LogLines, options.In, options.Out = log, lines.Lines, std.in, out
	options.Exports = c.Exports
	keptConfig{g.configFile(), g.command}.into(&options)
	if session != nil {
		if store, service, keep := session(); keep {
			if o.Credential == "" {
				o.Credential = store.token(service)
			}
			options.KeepSession = func(token string) error { return store.keep(service, token) }
			o.StoredToken = func() string { return store.token(service) }
			o.OnToken = func(token string) {
				if err := store.keep(service, token); err != nil {
					log.Warn("saving renewed session failed", "error", err)
				}
			}
		}
	}
	options.Client = client.New(*o)
	return options, c.openRecord(&options)
}

// needTerminal returns the terminal that the console draws on; the error says
// what to do if there is no terminal.
func needTerminal(std streams) (*os.File, error) {
	out, isFile := fileOf(std.out)
	if !isFile || !term.IsTerminal(int(out.Fd())) || !term.IsTerminal(int(std.in.Fd())) {
		return nil, errors.New("the console needs a terminal; sunloop status prints the same facts as text, sunloop --plain what changes")
	}
	return out, nil
}

// look resolves the settings, keys, theme, colours and pen for the terminal
// that the environment describes.
func (c LookFlags) look(g *Globals, getenv func(string) string, isTerminal bool) (tui.Options, error) {
	o := tui.Options{
		Now: time.Now, ASCII: c.ASCII, Themes: themes.Builtin(),
		Mouse: c.Mouse, FPS: c.FPS, Bell: c.Bell, Site: api.SiteRef{CustomerID: c.Customer, SiteID: c.Site},
	}
	var err error
	if o.Settings, err = c.sources(g, getenv); err != nil {
		return o, err
	}
	if o.Keys, err = keymap.Default().Rebind(g.file.Keys); err != nil {
		return o, fmt.Errorf("%s: %w", g.file.path, err)
	}
	if err := tui.CheckPresets(g.file.Presets); err != nil {
		return o, fmt.Errorf("%s: %w", g.file.path, err)
	}
	o.Bound, o.Presets = g.file.Keys, g.file.Presets
	folder := &themeFolder{dir: filepath.Join(configDir(), "themes")}
	o.ReloadThemes = folder.reload
	all, _, broken := folder.reload()
	if all != nil {
		o.Themes = all
	}
	name := c.Theme
	if name == "auto" {
		name, o.AutoTheme = themes.ControlRoom, true
		if dark, known := terminal.KnownBackground("", "", getenv("COLORFGBG")); known {
			o.AutoTheme = false
			if !dark {
				name, o.Light = themes.Daylight, true
			}
		}
	}
	t, ok := themes.Find(o.Themes, name)
	if !ok {
		names := make([]string, len(o.Themes))
		for i, t := range o.Themes {
			names[i] = t.Name
		}
		return o, errors.Join(fmt.Errorf("there is no theme %q; there are %s", name, strings.Join(names, ", ")), broken)
	}
	o.Theme = t
	o.Detected = terminal.DetectProfile(getenv, isTerminal)
	o.Profile = o.Detected
	if profile, set, err := terminal.ParseProfile(c.Color); err == nil && set { // checked with the others
		o.Profile = profile
	}
	o.Pen, _ = chart.ParsePen(c.Graph, getenv("TERM"))
	if c.ASCII {
		o.Pen = chart.ASCII
	}
	return o, nil
}

// themeFolder is the folder of a person's own themes. It is looked at by name,
// size and time, not watched: that works on every file system.
type themeFolder struct {
	dir  string
	mu   sync.Mutex
	seen string
}

// reload returns all themes if a file has changed since the last call; the
// error names files that cannot be used.
func (f *themeFolder) reload() (all []themes.Theme, changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var now strings.Builder
	entries, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&now, "%s %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	if now.String() == f.seen {
		return nil, false, nil
	}
	f.seen = now.String()
	all = themes.Builtin()
	if len(entries) == 0 {
		return all, true, nil
	}
	own, err := themes.Folder(os.DirFS(f.dir))
	return append(all, own...), true, err
}
