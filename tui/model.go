// Package tui is the console: one Bubble Tea model over the panes, screens and
// data of its sub-packages. It knows the service only through backend/client,
// so that embedded and remote are the same code.
package tui

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
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
	// LogLines returns the newest lines of the console's log.
	LogLines func() []string

	Theme     themes.Theme   // to start with
	AutoTheme bool           // ask the terminal whether it is dark or light
	Light     bool           // it is light: set by the user
	Themes    []themes.Theme // to choose from
	// ReloadThemes returns all themes if a file of the user has changed, and
	// the error of an invalid one; nil if there are none to watch.
	ReloadThemes func() (all []themes.Theme, changed bool, err error)
	Profile      terminal.Profile
	Detected     terminal.Profile // what the environment says, for the setting auto
	ASCII        bool
	Pen          chart.Pen
	Mouse        bool
	FPS          int                      // frames a second; 0: 20, over SSH 10
	Exports      string                   // folder for exported files
	Site         api.SiteRef              // to open first; without a customer, the first of that id
	Behind       api.SiteRef              // the site behind the fleet, if neither Site nor a place names one; zero: the first
	User         *api.User                // who is already signed in; nil if unknown
	KeepSession  func(token string) error // nil: the session is not kept
	Bell         bool
	// Remote says that the console runs on another machine than the user's, as over
	// SSH: files and shell of that machine are not the user's.
	Remote bool
	// Stream lets the console follow the changes of the site on screen of a service over
	// a network, and poll less often.
	Stream bool
	// AcceptCertificate keeps the fingerprint of a certificate that no authority has signed,
	// so that the client takes it, in the file CertificatesFile; nil: none is accepted.
	AcceptCertificate func(fingerprint string) error
	CertificatesFile  string
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
	// Preparing returns the work of the program before it sends its first data, and the
	// share that is done; ok is false if there is none. May be nil.
	Preparing func() (what string, share float64, ok bool)
	Intro     bool // greet shows the introduction for new users
	// SignInHint is shown in the sign-in, for example whose password a demo has; may be empty.
	SignInHint string

	// Record receives a recording of what the console shows, as a file of asciinema
	// (version 2), without the content of dialogs with secrets; nil: none is made. Run closes
	// it. Charts are then not drawn as images.
	Record io.WriteCloser

	In  io.Reader
	Out io.Writer
	// Sizes are those of the terminal, now and after each change; nil: Out is a
	// terminal's file, which reports them.
	Sizes  <-chan layout.Size
	Getenv func(string) string // of the terminal's side; nil: os.Getenv
}

// getenv returns a variable of the terminal's side.
func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// Model is the console's one Bubble Tea model: an assembly of parts, each with
// its own state and methods.
type Model struct {
	o   Options
	ctx context.Context
	out *terminal.Output
	in  *terminal.Input // nil in tests

	data    data        // what the service answered
	nav     navigation  // what is on screen
	dialogs dialogs     // the dialogs over it
	session session     // who is signed in
	places  places      // what is restored at the next start
	prefs   preferences // settings, keys and layout
	notes   notes       // notices and the bell
	frame   frame       // the drawn screen
	changes changes     // the stream that announces what changes

	recorder *recorder // nil: nothing is recorded

	tick int // id of the running clock
	arm  func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
	// listen returns the command that waits for an event of a stream; tests replace it.
	listen func(tea.Cmd) tea.Cmd
	quits  time.Time
	asked  int // commands in progress
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
		file       string
		upload     view.Upload
		request    api.UploadRequest // as it was sent
		ack        *api.UploadAck
		inspection *api.Inspection // if the file was only read
		err        error
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

// clockPeriod is the interval of the planner. The screen is drawn only after a
// change.
const clockPeriod = time.Second

// noticeFor is how long a notice is shown.
const noticeFor = 8 * time.Second

// New makes a console. ctx ends all its requests.
func New(ctx context.Context, o Options, out *terminal.Output, in *terminal.Input) *Model {
	m := &Model{
		o: o, ctx: ctx, out: out, in: in, data: newData(), nav: newNavigation(), notes: newNotes(), prefs: newPreferences(o),
		session: newSession(o), frame: frame{grid: terminal.NewGrid(0, 0), dirty: true},
	}
	if o.Record != nil {
		m.recorder = newRecorder(o.Record, o.Now)
	}
	m.data.Planner.Pace = settings.Pace(m.prefs.value(settings.Polling))
	m.arm, m.listen = m.after, func(wait tea.Cmd) tea.Cmd { return wait }
	m.returnToPlace()
	return m
}

// Init starts the clock and finds out whether there is a session.
func (m *Model) Init() tea.Cmd {
	m.data.Planner.MarkActive(m.o.Now())
	if m.o.Challenge != nil {
		m.askSignIn("")
		m.session.signIn.Answer(m.o.Challenge, nil)
		return tea.Batch(m.clock(), m.ask())
	}
	if m.o.Client.Credential() == "" {
		return tea.Batch(m.clock(), m.ask(), m.askSetup())
	}
	return tea.Batch(m.clock(), m.ask(), m.poll())
}

// askSetup asks whether the service has users, to sign in or to create the first.
func (m *Model) askSetup() tea.Cmd {
	return m.run(func(ctx context.Context) tea.Msg {
		s, err := m.o.Client.SetupStatus(ctx)
		if err != nil {
			return setupMsg{err: err}
		}
		return setupMsg{needed: s.NeedsAdmin, token: s.NeedsToken}
	})
}

// ask queries the capabilities of the terminal. If the terminal does not respond, only
// a command waits.
func (m *Model) ask() tea.Cmd {
	if m.in == nil {
		return nil
	}
	images := m.wantsImages()
	return m.runFor(terminal.QueryWait(terminal.Remote(m.o.getenv)), func(ctx context.Context) tea.Msg {
		a, err := terminal.Query(ctx, m.in, m.out, images)
		if err != nil {
			return noticeMsg{"The terminal cannot be written to: " + err.Error(), themes.Warning}
		}
		return terminalMsg{a}
	})
}

// clock starts the next tick; ticks of older clocks are ignored.
func (m *Model) clock() tea.Cmd {
	m.tick++
	id := m.tick
	return m.arm(clockPeriod, func(time.Time) tea.Msg { return clockMsg{id} })
}

// after returns a command that sends a message after d, unless the console ends before.
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

// Update processes one message. It never blocks.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := m.o.Now()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.frame.size, m.frame.dirty = layout.Size{Columns: msg.Width, Rows: msg.Height}, true
		if m.prefs.images != nil { // the size of a cell may be another one
			return m, m.ask()
		}
	case tea.KeyMsg:
		m.data.Planner.MarkActive(now)
		m.frame.dirty, m.frame.touched = true, true
		var cmds []tea.Cmd
		if m.typing() && !terminal.ReadsAsKey(msg) { // text fields get runes unchanged
			return m, m.key(msg)
		}
		for _, k := range terminal.SplitRunes(msg) {
			cmds = append(cmds, m.key(k))
		}
		return m, tea.Batch(cmds...)
	case tea.MouseMsg:
		m.data.Planner.MarkActive(now)
		m.frame.dirty, m.frame.touched = true, true
		return m, m.click(msg)
	case clockMsg:
		if msg.id != m.tick {
			return m, nil
		}
		if m.notes.notice.text != "" && now.After(m.notes.notice.until) {
			m.notes.notice = notice{}
			if m.notes.later.text != "" {
				m.notes.notice, m.notes.later = m.notes.later, notice{}
				m.notes.notice.until = now.Add(noticeFor)
			}
		}
		m.ring(now)
		m.frame.dirty = true // ages; a frame in which no cell changed costs no byte
		cmds := []tea.Cmd{m.clock(), m.follow(now), m.poll(), m.watchThemes()}
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
	case changeMsg:
		return m, m.changed(msg, now)
	case setupMsg, signedMsg:
		m.asked--
		m.frame.dirty = true
		return m, m.signInAnswered(msg)
	case certificateMsg:
		m.asked--
		return m, m.certificateAccepted(msg.err)
	case uploadMsg:
		m.asked--
		return m, tea.Batch(m.perform(m.uploaded(msg)), m.poll())
	case resultMsg:
		m.asked--
		m.finish(msg)
		return m, m.poll()
	case noticeMsg:
		m.asked--
		m.notify(msg.text, msg.role)
	case tea.ResumeMsg:
		m.out.Repaint() // the shell wrote to the screen
		m.frame.dirty = true
	case terminalMsg:
		m.asked--
		m.out.SetSync(msg.Sync)
		m.takeGraphics(msg.Answers)
		m.frame.dirty, m.prefs.light = true, !msg.Dark()
		if m.prefs.light && m.o.AutoTheme {
			m.applyTheme(themes.Daylight)
		}
	case keptMsg:
		m.asked--
		return m, m.kept(msg)
	case panicMsg:
		m.asked--
		m.o.Log.Error("console command panicked", "panic", msg.what, "stack", string(msg.stack))
		m.notify("Internal console error. See the log (g l).", themes.Critical)
	}
	return m, nil
}

// siteNow returns the service's time in the site's zone.
func (m *Model) siteNow() time.Time {
	t := m.data.ServiceNow(m.o.Now())
	if m.data.Site != nil {
		return t.In(m.data.Site.Zone)
	}
	return t
}

// focusedContext returns the context of the view that has the keys.
func (m *Model) focusedContext() view.Context {
	v := m.context()
	v.Focused = true
	return v
}

// context returns what views draw from.
func (m *Model) context() view.Context {
	v := view.Context{
		Site: m.data.Site, Admin: &m.data.Admin, Sites: m.data.Sites.Data, User: m.session.user, Now: m.o.Now(), SiteNow: m.siteNow(), Selection: m.nav.selection,
		Palette: m.prefs.palette, ASCII: m.o.ASCII, Pen: m.o.Pen, Keys: m.o.Keys, Memo: &m.data.memo,
	}
	if m.bare() { // an image would cover a dialog
		v.Images = m.prefs.images
	}
	if m.session.user != nil && m.session.user.RoleID == api.RoleAnalyst {
		v.ReadOnly = "your role only reads"
	}
	if m.o.Preparing != nil {
		if what, share, ok := m.o.Preparing(); ok {
			m.data.preparing.Observe(share, v.Now)
			v.Preparing = &view.Progress{What: what, Share: share, Pace: m.data.preparing}
		}
	}
	return v
}

// typing reports whether keys are text now.
func (m *Model) typing() bool {
	return m.session.certificate != nil || m.session.signIn != nil || m.dialogs.top() != nil || m.nav.filter != nil
}
