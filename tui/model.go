// Package tui is the console: one Bubble Tea model over the panes, screens and
// data of its sub-packages. It knows the service only through backend/client,
// so that embedded and remote are the same code.
package tui

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Options of a console.
type Options struct {
	Client *client.Client
	Source string           // what it is connected to: "embedded", or the host
	Now    func() time.Time // wall clock
	Keys   keymap.Map
	Log    *slog.Logger
	// LogLines answers the newest lines of the console's log.
	LogLines func() []string

	Theme     themes.Theme   // to start with
	AutoTheme bool           // ask the terminal whether it is dark or light
	Light     bool           // it is light: somebody has said so
	Themes    []themes.Theme // to choose from
	// ReloadThemes answers all themes anew when a file of the person's own has
	// changed, and what is wrong with one; nil when there are none to watch.
	ReloadThemes func() (all []themes.Theme, changed bool, err error)
	Profile      terminal.Profile
	Detected     terminal.Profile // what the environment says, for the setting auto
	ASCII        bool
	Pen          chart.Pen
	Mouse        bool
	FPS          int                      // frames a second; 0: 20, over SSH 10
	Exports      string                   // folder for exported files
	Site         api.SiteRef              // to open first; without a customer, the first of that id
	User         *api.User                // who is signed in already; nil when not known
	KeepSession  func(token string) error // nil: the session is not kept
	Bell         bool
	// Away says that the console runs on a machine that is not the person's, as
	// over SSH: its files and its shell are none of theirs.
	Away bool
	// Challenge is a sign-in begun elsewhere, which sets up an authenticator.
	Challenge *api.LoginResponse

	// Settings are the values that were set, by name, and where they come from.
	Settings settings.Sources
	// Bound are the person's own keys, by action, as Keys has them already.
	Bound map[string][]string
	// Presets are the person's own arrangements of the panes, by name.
	Presets map[string]string
	// ConfigFile is where choices are kept; the functions that keep them may be
	// nil, and run on goroutines of their own, one at a time. An empty value
	// puts a setting, a key or an arrangement back to its default.
	ConfigFile  string
	KeepSetting func(name, value string) error
	KeepKeys    func(action string, keys []string) error
	KeepPreset  func(name, value string) error
	Places      Places // nil: no place is kept
	Guide       bool   // greet as one greets somebody who is here for the first time

	In  io.Reader
	Out io.Writer
	// Sizes are those of the terminal, now and after each change; nil: Out is a
	// terminal's file, which tells them.
	Sizes  <-chan layout.Size
	Getenv func(string) string // of the terminal's side; nil: os.Getenv
}

// getenv is a variable of the terminal's side.
func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// Model is the console's one Bubble Tea model.
type Model struct {
	o   Options
	ctx context.Context
	out *terminal.Output
	in  *terminal.Input // nil in tests

	store   state.Store
	panes   [layout.Panes]view.Pane
	focus   layout.Pane
	zoom    bool
	hand    view.Selection
	decide  *pane.Decide // of the panes
	screens []view.View  // in the place of the panes; the last one is seen
	dialogs []view.Dialog
	signIn  *screen.SignInDialog // over everything else
	filter  *screen.Field        // of the list that has the keys

	sources   settings.Sources
	bound     map[string][]string
	arrange   layout.Options
	writes    []func() error         // choices to be kept; the first is under way
	place     Place                  // to return to
	keptPlace Place                  // written down last
	memories  map[string]view.Memory // of lists, by pane or screen
	recent    []string               // choices of the palette, newest first
	light     bool                   // the terminal said that its background is

	palette *terminal.Palette
	theme   themes.Theme
	grid    *terminal.Grid
	layout  layout.Layout
	size    layout.Size
	siteEnd int // where the site's name ends in the status line
	dirty   bool
	touched bool   // by a person, who is answered at once
	drawn   string // what View returned last
	tick    int    // id of the running clock
	arm     func(time.Duration, func(time.Time) tea.Msg) tea.Cmd

	user    *api.User
	owner   string // id of the person whose work is on screen
	pending string // first key of a two-key binding
	quits   time.Time
	mouse   bool
	notice  notice
	trail   []layout.Pane     // panes left by going on with enter, for esc
	wanted  api.SiteRef       // site of a file that was sent, to be opened once it is there
	watched map[string]bool   // uploads of this console whose end is told
	paths   map[string]string // of files that were sent, by name
	memo    view.Memo
	alarmed map[string]bool // findings that have been announced
	bell    bell
	grace   grace
	asked   int // commands under way
}

// notice is a line that stands in the breadcrumb for a while.
type notice struct {
	text  string
	role  themes.Role
	until time.Time
	guide bool // goes with the first key
}

// Messages of the console's own.
type (
	clockMsg  struct{ id int }
	answerMsg struct{ state.Answer }
	signedMsg struct {
		answer *api.LoginResponse
		err    error
	}
	setupMsg struct {
		needed bool
		token  bool // the setup token is required
		err    error
	}
	uploadMsg struct {
		file string
		site api.SiteRef
		from view.Uploader // the form that sent it
		ack  *api.UploadAck
		err  error
	}
	noticeMsg struct {
		text string
		role themes.Role
	}
	terminalMsg struct{ terminal.Answers }
	keptMsg     struct{ err error }
	themesMsg   struct {
		all     []themes.Theme
		changed bool
		err     error
	}
	panicMsg struct {
		what  any
		stack []byte
	}
)

// clockPeriod is how often the planner is asked. It is no frame: nothing is
// drawn unless something changed.
const clockPeriod = time.Second

// noticeFor is how long a notice stands.
const noticeFor = 8 * time.Second

// New makes a console. ctx ends all its requests.
func New(ctx context.Context, o Options, out *terminal.Output, in *terminal.Input) *Model {
	m := &Model{
		o: o, ctx: ctx, out: out, in: in, theme: o.Theme, palette: terminal.NewPalette(&o.Theme, o.Profile),
		grid: terminal.NewGrid(0, 0), mouse: o.Mouse, user: o.User, alarmed: map[string]bool{}, watched: map[string]bool{}, paths: map[string]string{}, dirty: true,
	}
	if m.user == nil {
		m.user = userOf(o.Client.Credential())
	}
	if m.user != nil {
		m.owner = m.user.UserID
	}
	m.sources, m.bound = maps.Clone(o.Settings), o.Bound
	if m.sources == nil {
		m.sources = settings.Sources{}
	}
	m.light = o.Light
	m.store.Planner.Pace = settings.Pace(m.setting(settings.Polling))
	m.applyLayout()
	m.arm = m.after
	observe := pane.NewObserve()
	observe.Request = screen.AlarmRequest
	m.decide = pane.NewDecide()
	m.panes = [layout.Panes]view.Pane{layout.Observe: observe, layout.Orient: pane.NewOrient(), layout.Decide: m.decide, layout.Act: pane.NewAct()}
	m.returnToPlace()
	return m
}

// Init starts the clock and finds out whether there is a session.
func (m *Model) Init() tea.Cmd {
	m.store.Planner.Touch(m.o.Now())
	if m.o.Challenge != nil {
		m.askSignIn("")
		m.signIn.Answer(m.o.Challenge, nil)
		return tea.Batch(m.clock(), m.ask())
	}
	if m.o.Client.Credential() == "" {
		return tea.Batch(m.clock(), m.ask(), m.run(func(ctx context.Context) tea.Msg {
			s, err := m.o.Client.SetupStatus(ctx)
			if err != nil {
				return setupMsg{err: err}
			}
			return setupMsg{needed: s.NeedsAdmin, token: s.NeedsToken}
		}))
	}
	return tea.Batch(m.clock(), m.ask(), m.poll())
}

// ask asks the terminal what it can do; one that does not answer costs nothing
// but the wait of a command.
func (m *Model) ask() tea.Cmd {
	if m.in == nil {
		return nil
	}
	return m.runFor(terminal.QueryWait(terminal.Remote(m.o.getenv)), func(ctx context.Context) tea.Msg {
		a, err := terminal.Query(ctx, m.in, m.out)
		if err != nil {
			return noticeMsg{"The terminal cannot be written to: " + err.Error(), themes.Warning}
		}
		return terminalMsg{a}
	})
}

// clock arms the next tick; only the newest clock counts.
func (m *Model) clock() tea.Cmd {
	m.tick++
	id := m.tick
	return m.arm(clockPeriod, func(time.Time) tea.Msg { return clockMsg{id} })
}

// after is a message after a while, unless the console ends before.
func (m *Model) after(d time.Duration, then func(time.Time) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case at := <-t.C:
			return then(at)
		case <-m.ctx.Done():
			return nil
		}
	}
}

// Update takes one message. Nothing in it waits.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := m.o.Now()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.size, m.dirty = layout.Size{Columns: msg.Width, Rows: msg.Height}, true
	case tea.KeyMsg:
		m.store.Planner.Touch(now)
		m.dirty, m.touched = true, true
		var cmds []tea.Cmd
		if m.typing() { // text takes runes as they came
			return m, m.key(msg)
		}
		for _, k := range terminal.SplitRunes(msg) {
			cmds = append(cmds, m.key(k))
		}
		return m, tea.Batch(cmds...)
	case tea.MouseMsg:
		m.store.Planner.Touch(now)
		m.dirty, m.touched = true, true
		return m, m.click(msg)
	case clockMsg:
		if msg.id != m.tick {
			return m, nil
		}
		if m.notice.text != "" && now.After(m.notice.until) {
			m.notice = notice{}
		}
		m.ring(now)
		m.dirty = true // ages; a frame in which no cell changed costs no byte
		cmds := []tea.Cmd{m.clock(), m.poll(), m.watchThemes()}
		if m.tick%keepEvery == 0 {
			cmds = append(cmds, m.keepPlace())
		}
		return m, tea.Batch(cmds...)
	case themesMsg:
		m.asked--
		m.takeThemes(msg)
	case answerMsg:
		m.asked--
		return m, m.answer(msg.Answer, now)
	case setupMsg, signedMsg:
		m.asked--
		m.dirty = true
		return m, m.session(msg)
	case uploadMsg:
		m.asked--
		m.uploaded(msg)
		return m, m.poll()
	case resultMsg:
		m.asked--
		m.finish(msg)
		return m, m.poll()
	case noticeMsg:
		m.asked--
		m.say(msg.text, msg.role)
	case tea.ResumeMsg:
		m.out.Repaint() // the shell wrote to the screen
		m.dirty = true
	case terminalMsg:
		m.asked--
		m.out.SetSync(msg.Sync)
		m.dirty, m.light = true, !msg.Dark()
		if m.light && m.o.AutoTheme {
			m.applyTheme(themes.Daylight)
		}
	case keptMsg:
		m.asked--
		return m, m.kept(msg)
	case panicMsg:
		m.asked--
		m.o.Log.Error("a command of the console panicked", "panic", msg.what, "stack", string(msg.stack))
		m.say("Something went wrong inside the console; the log (g l) has it.", themes.Critical)
	}
	return m, nil
}

// typing says whether keys are text now.
func (m *Model) typing() bool { return m.signIn != nil || len(m.dialogs) > 0 || m.filter != nil }

// say puts a notice in the breadcrumb.
func (m *Model) say(text string, role themes.Role) {
	m.notice = notice{text: terminal.Printable(text), role: role, until: m.o.Now().Add(noticeFor)}
	m.dirty = true
}

// siteNow is the service's time in the site's zone.
func (m *Model) siteNow() time.Time {
	t := m.store.ServiceNow(m.o.Now())
	if m.store.Site != nil {
		return t.In(m.store.Site.Zone)
	}
	return t
}

// focusedContext is the context of the view that has the keys.
func (m *Model) focusedContext() view.Context {
	v := m.context()
	v.Focused = true
	return v
}

// context is what views draw from.
func (m *Model) context() view.Context {
	v := view.Context{
		Site: m.store.Site, Admin: &m.store.Admin, Sites: m.store.Sites.Data, User: m.user, Now: m.o.Now(), SiteNow: m.siteNow(), Selection: m.hand,
		Palette: m.palette, ASCII: m.o.ASCII, Pen: m.o.Pen, Keys: m.o.Keys, Memo: &m.memo,
	}
	if m.user != nil && m.user.RoleID == api.RoleAnalyst {
		v.ReadOnly = "your role only reads"
	}
	return v
}
