package tui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/vt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// bytesPerSecond is what an idle console may send its terminal on average.
const bytesPerSecond = 100

// Ten minutes of a plant that sends a sample each five seconds cost the line
// little, whatever pane has the keys.
func TestBytesToTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		size    layout.Size
		keys    []string
		profile terminal.Profile
	}{
		{"observe 120x36", layout.Size{Columns: 120, Rows: 36}, []string{"1"}, themes.TrueColor},
		{"orient 120x36, 256 colours", layout.Size{Columns: 120, Rows: 36}, []string{"n", "2"}, themes.Colors256},
		{"four panes 160x45", layout.Size{Columns: 160, Rows: 45}, []string{"n"}, themes.TrueColor},
	} {
		live := plant.New()
		live.Step = 5 * time.Second
		d := start(t, tt.size.Columns, tt.size.Rows, func(o *Options, _ *plant.Service) { o.Profile = tt.profile }, live)
		d.press(tt.keys...)
		first := d.line.n
		const seconds = 600
		d.pass(seconds)
		sent := d.line.n - first
		t.Logf("%s: first frames %d bytes, then %d bytes in %d s: %.1f bytes/s", tt.name, first, sent, seconds, float64(sent)/seconds)
		if sent > bytesPerSecond*seconds || sent == 0 {
			t.Errorf("%s: %d bytes in %d s", tt.name, sent, seconds)
		}
	}
}

// screenOf is the terminal that receives the bytes.
type screenOf struct {
	mu   sync.Mutex
	vt   *vt.Emulator
	news chan struct{}
}

func (s *screenOf) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.vt.Write(p)
	select {
	case s.news <- struct{}{}:
	default:
	}
	return n, err
}

// await waits until the screen holds all the words.
func (s *screenOf) await(t *testing.T, words ...string) {
	t.Helper()
	for {
		s.mu.Lock()
		screen := s.vt.String()
		s.mu.Unlock()
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) }) {
			return
		}
		select {
		case <-s.news:
		case <-time.After(5 * time.Minute):
			t.Fatalf("%q never came:\n%s", words, screen)
		}
	}
}

// The whole program over a network: sign in, look, work, leave.
func TestProgramOverANetwork(t *testing.T) {
	p := plant.New()
	service := plant.NewService(func() time.Time { return noon }, p)
	service.Token("t")
	service.SignIn(func(_, password string) (*api.LoginResponse, *api.Error) {
		if password != "word" {
			return nil, api.ErrInvalidCredential
		}
		return &api.LoginResponse{Success: true, MFARequired: true, MFAToken: "m"}, nil
	}, func(_, code string) (*api.LoginResponse, *api.Error) {
		if code != "123456" {
			return nil, api.ErrInvalidTOTP
		}
		return &api.LoginResponse{Success: true, Token: "t", User: &api.User{UserID: "u", Username: "anna", RoleName: "Operator"}}, nil
	})
	server := httptest.NewServer(http.HandlerFunc(service.ServeHTTP))
	defer server.Close()
	c := client.New(client.Options{BaseURL: server.URL})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	glass := &screenOf{vt: vt.NewEmulator(120, 36), news: make(chan struct{}, 1)}
	defer glass.vt.Close()
	d := start(t, 1, 1, nil) // for its options
	o := d.m.o
	o.Client, o.User, o.Keys, o.Now = c, nil, keymap.Default(), func() time.Time { return noon }
	out := terminal.NewOutput(glass, terminal.OutputOptions{})
	m := New(ctx, o, out, nil)
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(out), tea.WithAltScreen(), tea.WithoutSignalHandler())
	done := make(chan error, 1)
	go func() {
		_, err := program.Run()
		done <- err
	}()
	keys := func(names ...string) {
		for _, k := range names {
			if msg := keyMessage(k); msg.Type != tea.KeyRunes || len(k) == 1 {
				program.Send(msg)
				continue
			}
			for _, r := range k {
				program.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
			}
		}
	}
	program.Send(tea.WindowSizeMsg{Width: 120, Height: 36})
	glass.await(t, "Sign in", "Password")
	keys("anna", "tab", "word", "enter")
	glass.await(t, "Second factor")
	keys("111111", "enter")
	glass.await(t, "Invalid TOTP code.")
	keys("123456", "enter")
	glass.await(t, "Sibaya", "INV-05", "P10–P90", "anna Operator")
	keys("n", "enter")
	glass.await(t, "Unit INV-03", "Records as measured")
	keys("enter")
	glass.await(t, "INV-03  inverter outage  95 % sure", "Evidence")
	keys("enter")
	glass.await(t, "Days ahead", "Waiting costs ZAR 662 a day")
	program.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
	glass.mu.Lock()
	glass.vt.Resize(80, 24)
	glass.mu.Unlock()
	glass.await(t, "1 Observe", "3 Decide", "Days ahead")
	keys("q")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What the benchmark draws must change with its samples.
func TestBenchmarkWorldIsLive(t *testing.T) {
	d := liveWorld(t)
	before := d.text()
	d.sample(7)
	if d.text() == before {
		t.Error("a new sample changes nothing on screen: the benchmark measures air")
	}
}

// liveWorld returns a console of 200×60 over 24 units of 288 samples.
func liveWorld(t testing.TB) *world {
	p := plant.New()
	p.Units = 24
	d := start(t, 200, 60, nil, p)
	// The whole day is there: 288 samples of each unit.
	r, ok := d.m.data.Request(state.QueryDay, d.now)
	if !ok {
		t.Fatal("no day")
	}
	midnight := p.Midnight(d.now)
	d.send(answerMsg{state.Answer{Request: r, Value: p.Records(midnight, midnight.AddDate(0, 0, 1), midnight.AddDate(0, 0, 1))}})
	d.press("n")
	return d
}

// sample brings one new value of each unit in, and new vital signs.
func (d *world) sample(i int) {
	p := d.service.Plants[0]
	at := d.now.Truncate(p.Step)
	records := p.Records(at, at.Add(p.Step), at)
	for _, rs := range records {
		rs[0].Power += float64(i%50) / 10
	}
	d.now = d.now.Add(time.Millisecond)
	d.m.data.Site.Day.Set(d.m.data.Site.Day.Data.With(records), d.now)
	s := d.m.data.Site.Summary.Data
	s.TotalPowerKW += float64(i%50) / 10
	d.m.data.Site.Summary.Set(s, d.now)
	d.m.frame.dirty = true
}

// BenchmarkView200x60 draws a whole screen with live charts: sample after a new
// sample of every unit, tick when only the clock advanced, still when nothing
// changed. The goal is a median of 5 ms and 10 ms for the slowest of a hundred.
func BenchmarkView200x60(b *testing.B) {
	for _, bb := range []struct {
		name   string
		before func(d *world, i int)
	}{
		{"sample", func(d *world, i int) { d.sample(i) }},
		{"tick", func(d *world, _ int) { d.m.frame.dirty = true }},
		{"still", func(*world, int) {}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			d := liveWorld(b)
			var took []time.Duration
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				bb.before(d, i)
				b.StartTimer()
				from := time.Now()
				d.m.View()
				took = append(took, time.Since(from))
			}
			reportMilliseconds(b, took)
		})
	}
}

// BenchmarkKey is a key press to the drawn frame.
func BenchmarkKey(b *testing.B) {
	d := liveWorld(b)
	d.hold = true
	keys := []tea.KeyMsg{keyMessage("down"), keyMessage("up"), keyMessage("tab"), keyMessage("n")}
	for i := 0; b.Loop(); i++ {
		d.send(keys[i%len(keys)])
		d.later = nil
	}
}
