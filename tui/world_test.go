package tui

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"go.uber.org/goleak"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the tests of this package begin: 11:30 at the plant.
var noon = time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)

// world is a console over a simulated service, driven message by message on
// a virtual clock: nothing in it waits.
type world struct {
	t       testing.TB
	now     time.Time
	service *plant.Service
	line    *counter // to the terminal
	m       *Model
	quit    bool
	kept    []string          // sessions kept
	set     map[string]string // settings kept
	later   []tea.Cmd
	hold    bool // commands are put by instead of run
	blind   bool // nothing is drawn
}

// counter is the line to the terminal.
type counter struct {
	n     int
	heard strings.Builder // bells, notes and copies
	sent  []byte          // everything, if keep is set
	keep  bool
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	if c.keep {
		c.sent = append(c.sent, p...)
	}
	if bytes.ContainsRune(p, '\a') {
		c.heard.Write(p)
	}
	return len(p), nil
}

// start opens a console of that size over plants, signed in unless the change
// of options says otherwise.
func start(t testing.TB, w, h int, change func(*Options, *plant.Service), plants ...*plant.Plant) *world {
	t.Helper()
	if len(plants) == 0 {
		plants = []*plant.Plant{plant.New()}
	}
	d := &world{t: t, now: noon, line: &counter{}, set: map[string]string{}}
	d.service = plant.NewService(func() time.Time { return d.now }, plants...)
	theme, ok := themes.Find(themes.Builtin(), themes.ControlRoom)
	if !ok {
		t.Fatal("no theme")
	}
	o := Options{
		Client: client.New(client.Options{Transport: client.InProcess(http.HandlerFunc(d.service.ServeHTTP)), Credential: "token"}),
		Source: "ops.example.com", Now: func() time.Time { return d.now }, Keys: keymap.Default(), Log: slog.New(slog.DiscardHandler),
		Theme: theme, Themes: themes.Builtin(), Profile: themes.TrueColor, Pen: chart.Braille, Exports: t.TempDir(),
		User:        &api.User{UserID: "u1", Username: "anna", RoleID: api.RoleOperator, RoleName: "Operator"},
		KeepSession: func(s string) error { d.kept = append(d.kept, s); return nil },
		KeepSetting: func(name, value string) error { d.set[name] = value; return nil },
	}
	if change != nil {
		change(&o, d.service)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); o.Client.Close() })
	out := terminal.NewOutput(d.line, terminal.OutputOptions{Now: o.Now})
	if _, err := out.WriteString("\x1b[?1049h"); err != nil {
		t.Fatal(err)
	}
	d.m = New(ctx, o, out, nil)
	d.m.arm = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	d.run(d.m.Init())
	return d
}

// run runs a command and all that follows from it.
func (d *world) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if d.hold {
		d.later = append(d.later, cmd)
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	case tea.QuitMsg:
		d.quit = true
	default:
		d.send(msg)
	}
}

// send gives the console a message and lets it draw.
func (d *world) send(msg tea.Msg) {
	_, cmd := d.m.Update(msg)
	d.m.data.Link.Latency = 0 // how busy this machine is belongs to no picture
	if !d.blind {
		d.view()
	}
	d.run(cmd)
}

// view draws, and sends the terminal what changed.
func (d *world) view() {
	d.m.View()
	if _, err := d.m.out.Write(nil); err != nil {
		d.t.Fatal(err)
	}
}

// pass lets seconds go by.
func (d *world) pass(seconds int) {
	for range seconds {
		d.now = d.now.Add(time.Second)
		d.send(clockMsg{d.m.tick})
	}
}

// press sends keys by name; other words are typed letter by letter.
func (d *world) press(keys ...string) {
	if !d.m.dialogs.guard.opened.IsZero() {
		d.now = d.now.Add(guardQuiet) // to look at what opened unasked
	}
	for _, k := range keys {
		if msg := keyMessage(k); msg.Type != tea.KeyRunes || len([]rune(k)) == 1 {
			d.send(msg)
			continue
		}
		for _, r := range k {
			d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
}

// text returns the screen.
func (d *world) text() string {
	d.m.frame.dirty = true
	d.view()
	return picture.Text(d.m.frame.grid)
}

// shows fails unless the screen holds all the words.
func (d *world) shows(words ...string) {
	d.t.Helper()
	text := d.text()
	for _, w := range words {
		if !strings.Contains(text, w) {
			d.t.Errorf("the screen lacks %q:\n%s", w, text)
		}
	}
}

// hides fails if the screen holds any of the words.
func (d *world) hides(words ...string) {
	d.t.Helper()
	text := d.text()
	for _, w := range words {
		if strings.Contains(text, w) {
			d.t.Errorf("the screen has %q:\n%s", w, text)
		}
	}
}

// place returns the position of the console, for tables.
func (d *world) place() string {
	words := []string{d.m.nav.focus.String()}
	if d.m.nav.zoom {
		words = append(words, "zoomed")
	}
	if d.m.nav.selection.AssetID != "" {
		words = append(words, d.m.nav.selection.AssetID)
	}
	if d.m.nav.selection.FindingID != "" {
		words = append(words, d.m.nav.selection.FindingID)
	}
	if d.m.nav.filter != nil {
		words = append(words, "filtering")
	}
	for _, s := range d.m.nav.screens {
		words = append(words, "["+s.Title()+"]")
	}
	for _, dialog := range d.m.dialogs.stack {
		words = append(words, "["+dialog.Title()+"]")
	}
	if d.m.session.signIn != nil {
		words = append(words, "[sign-in]")
	}
	if d.quit {
		words = append(words, "quit")
	}
	return strings.Join(words, " ")
}

// clientThrough returns a signed-in client of s whose line may fail.
func clientThrough(s *plant.Service, fails func() error) *client.Client {
	in := client.InProcess(http.HandlerFunc(s.ServeHTTP))
	return client.New(client.Options{Credential: "token", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if err := fails(); err != nil {
			return nil, err
		}
		return in.RoundTrip(r)
	})})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
