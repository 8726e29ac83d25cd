package tui

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/layout"
)

// glass is the terminal that the console writes to.
type glass struct {
	mu     sync.Mutex
	screen *vt.Emulator
	raw    strings.Builder
}

// Write draws.
func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.raw.Write(p)
	return g.screen.Write(p)
}

// becomes waits until the screen is as wanted.
func (g *glass) becomes(t *testing.T, what string, is func(text string) bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		g.mu.Lock()
		text := g.screen.String()
		g.mu.Unlock()
		if is(text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never came: %s\n%s", what, text)
		}
	}
}

// TestRunOverALine runs the whole console on a connection that is no file,
// as over SSH: its size and changes of it are reported, keys come as they
// are typed, and when the connection drops no goroutine remains (TestMain
// checks it).
func TestRunOverALine(t *testing.T) {
	g := &glass{screen: vt.NewEmulator(100, 30)}
	var ends sync.WaitGroup
	ends.Go(func() { _, _ = io.Copy(io.Discard, g.screen) }) // it answers nothing
	keys, typed := io.Pipe()
	sizes := make(chan layout.Size, 1)
	d := start(t, 100, 30, nil)
	in := client.InProcess(http.HandlerFunc(d.service.ServeHTTP))
	o := d.m.o
	o.Client = client.New(client.Options{Credential: "token", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != api.PathActivities {
			return in.RoundTrip(r)
		}
		<-r.Context().Done() // only its context ends it
		return nil, r.Context().Err()
	})})
	o.Remote, o.In, o.Out, o.Sizes = true, keys, g, sizes
	o.Getenv = func(name string) string { return map[string]string{"SSH_CONNECTION": "ssh"}[name] }
	ctx, drop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- Run(ctx, o) }()
	sizes <- layout.Size{Columns: 100, Rows: 30}
	has := func(words ...string) func(string) bool {
		return func(text string) bool {
			for _, w := range words {
				if !strings.Contains(text, w) {
					return false
				}
			}
			return true
		}
	}
	g.becomes(t, "the console", has("Sibaya", "INV-03", "anna"))
	press := func(s string) {
		if _, err := io.WriteString(typed, s); err != nil {
			t.Fatal(err)
		}
	}
	press("\x1b")
	press("[B") // an arrow that the line has cut
	press("\x1a")
	g.becomes(t, "the refusal to suspend", has("Unavailable: over SSH, the shell here is the server's."))
	press("e")
	g.becomes(t, "the refusal to write a file", has("Unavailable: over SSH, the files here are the server's."))
	press("U")
	g.becomes(t, "the refusal to import a file", has("Unavailable: over SSH, use sunloop import --remote: the files here are the server's."))
	g.mu.Lock()
	g.screen.Resize(80, 24)
	g.mu.Unlock()
	sizes <- layout.Size{Columns: 80, Rows: 24}
	g.becomes(t, "the new size", func(text string) bool {
		return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "┌") && len([]rune(line)) == 80 })
	})
	drop()
	if err := <-ran; err != nil {
		t.Errorf("a line that drops is no failure: %v", err)
	}
	g.mu.Lock()
	if raw := g.raw.String(); !strings.Contains(raw, "\x1b[?1049l") {
		t.Error("the terminal is not restored")
	}
	g.mu.Unlock()
	_ = typed.Close()
	_ = g.screen.Close()
	ends.Wait()
}
