package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"
	"github.com/charmbracelet/x/vt"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
)

// noon is the plant's time in all journeys: 11:30 in Durban.
var noon = time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC)

// patience is how long a journey waits for what must come.
const patience = time.Minute

// place is a service in a separate folder.
type place struct {
	*backend.Service
	gone atomic.Bool // its line is cut
}

func open(t *testing.T) *place {
	t.Helper()
	s, err := backend.New(backend.Config{
		DataDir: t.TempDir(), Now: func() time.Time { return noon }, Wall: time.Now, Tick: 10 * time.Millisecond, Settle: time.Millisecond, Quiet: 20 * time.Millisecond,
		KeyRate: 100_000, UserRate: 100_000, RequireMFA: true,
		Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return &place{Service: s}
}

// RoundTrip is the line to the service, which may be cut.
func (p *place) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.gone.Load() {
		return nil, errors.New("connection refused")
	}
	return client.InProcess(p.Handler()).RoundTrip(r)
}

// person sits at a terminal with a console on it.
type person struct {
	t    *testing.T
	line *line
	tm   *teatest.TestModel
}

// line is what the console writes on: a terminal that shows it.
type line struct {
	mu   sync.Mutex
	vt   *vt.Emulator
	news chan struct{}
}

func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.vt.Write(p)
	select {
	case l.news <- struct{}{}:
	default:
	}
	return n, err
}

func (l *line) screen() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.vt.String()
}

// shown sends each frame to the terminal: the program's own output is that of
// the test's.
type shown struct {
	*tui.Model
	out *terminal.Output
}

func (s shown) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := s.Model.Update(msg)
	return s, cmd
}

func (s shown) View() string {
	frame := s.Model.View()
	_, _ = s.out.Write(nil) // to memory
	return frame
}

// sit opens a console of that size; change may be nil.
func sit(t *testing.T, p *place, w, h int, change func(*tui.Options)) *person {
	t.Helper()
	theme, ok := themes.Find(themes.Builtin(), themes.ControlRoom)
	if !ok {
		t.Fatal("no theme")
	}
	o := tui.Options{
		Client: client.New(client.Options{Transport: p}), Source: "embedded", Now: time.Now, Keys: keymap.Default(),
		Log: slog.New(slog.DiscardHandler), Theme: theme, Themes: themes.Builtin(), Profile: themes.TrueColor, Pen: chart.Braille, Exports: t.TempDir(),
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	one := &person{t: t, line: &line{vt: vt.NewEmulator(w, h), news: make(chan struct{}, 1)}}
	out := terminal.NewOutput(one.line, terminal.OutputOptions{})
	if _, err := out.WriteString("\x1b[?1049h"); err != nil {
		t.Fatal(err)
	}
	one.tm = teatest.NewTestModel(t, shown{tui.New(ctx, o, out, nil), out}, teatest.WithInitialTermSize(w, h))
	t.Cleanup(func() {
		cancel()
		if err := one.tm.Quit(); err != nil {
			t.Error(err)
		}
		one.tm.WaitFinished(t, teatest.WithFinalTimeout(patience))
		o.Client.Close()
		_ = one.line.vt.Close() // memory
	})
	return one
}

var special = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "ctrl+u": tea.KeyCtrlU, "space": tea.KeySpace,
}

// press sends keys by name; other words are typed letter by letter. It answers
// how many keys it pressed.
func (p *person) press(keys ...string) int {
	n := 0
	for _, k := range keys {
		if key, ok := special[k]; ok {
			p.tm.Send(tea.KeyMsg{Type: key})
			n++
			continue
		}
		for _, r := range k {
			p.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
			n++
		}
	}
	return n
}

// sees waits until the screen holds all the words, and returns the screen.
func (p *person) sees(words ...string) string {
	p.t.Helper()
	return p.waits(fmt.Sprintf("%q", words), func(screen string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) })
	})
}

// losesSight waits until the screen holds none of the words.
func (p *person) losesSight(words ...string) {
	p.t.Helper()
	p.waits(fmt.Sprintf("none of %q", words), func(screen string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(screen, w) })
	})
}

func (p *person) waits(what string, is func(screen string) bool) string {
	p.t.Helper()
	late := time.After(patience)
	for {
		screen := p.line.screen()
		if is(screen) {
			return screen
		}
		select {
		case <-p.line.news:
		case <-late:
			p.t.Fatalf("%s never came:\n%s", what, screen)
		}
	}
}

// resizes changes the size of the terminal, as its window does.
func (p *person) resizes(w, h int) {
	p.line.mu.Lock()
	p.line.vt.Resize(w, h)
	p.line.mu.Unlock()
	p.tm.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// production is a file as a portal exports it.
func production(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "durban.csv")
	if err := os.WriteFile(path, []byte(plant.Month(noon)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// key is an API key of a role for all of the customer's sites.
func (p *place) key(t *testing.T, role string) string {
	t.Helper()
	key, _, err := p.Auth().CreateKey(t.Context(), auth.NewKey{Name: "console", Role: role, Customers: []string{"acme"}})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// imported is a service that has the file of production, with a key of an
// operator to it.
func imported(t *testing.T) (*place, string) {
	t.Helper()
	p := open(t)
	key := p.key(t, api.RoleOperator)
	c := client.New(client.Options{Transport: p, Credential: key})
	defer c.Close()
	f, err := os.Open(production(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ack, err := c.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: "Durban", Region: "af", Location: "-29.86,31.02", CapacityKW: 100, Timezone: "Africa/Johannesburg"}, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; time.Sleep(10 * time.Millisecond) {
		u, err := c.Upload(t.Context(), ack.UploadID)
		if err != nil {
			t.Fatal(err)
		}
		ended = u.Ended()
	}
	return p, key
}
