//go:build !windows

package resilience

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
)

// glass is a terminal with a program in it.
type glass struct {
	mu  sync.Mutex
	vt  *vt.Emulator
	tty *os.File
}

// console opens the console of a service elsewhere in a terminal.
func console(t *testing.T, url, key string) *glass {
	t.Helper()
	const columns, rows = 120, 36
	dir := t.TempDir()
	cmd := servetest.Command(dir, "console", "--remote", url)
	cmd.Env = append(cmd.Env, "SUNLOOP_TOKEN="+key, "TERM=xterm-256color", "LANG=C.UTF-8")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: columns, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	g := &glass{vt: vt.NewEmulator(columns, rows), tty: tty}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(g, tty) })    // until the program ends
	both.Go(func() { _, _ = io.Copy(tty, g.vt) }) // what the terminal answers
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed
		_ = tty.Close()
		_ = g.vt.Close() // memory
		both.Wait()
	})
	return g
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.vt.Write(p)
}

func (g *glass) screen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.vt.String()
}

// shows waits until the screen holds all the words, and answers how long that
// took. Once it has shown those of always, it must not be without them.
func (g *glass) shows(t *testing.T, always []string, words ...string) time.Duration {
	t.Helper()
	lacks := func(screen string) func(word string) bool {
		return func(word string) bool { return !strings.Contains(screen, word) }
	}
	begun := time.Now()
	for {
		screen := g.screen()
		if i := slices.IndexFunc(always, lacks(screen)); i >= 0 {
			t.Fatalf("%q went from the screen:\n%s", always[i], screen)
		}
		if !slices.ContainsFunc(words, lacks(screen)) {
			return time.Since(begun)
		}
		if time.Since(begun) > 2*servetest.ReadyWithin {
			t.Fatalf("%q never came:\n%s", words, screen)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// polled: a console that polls through the proxy continues while any replica is
// killed: its data of the site stay, and new data arrive.
func (c *cluster) polled(t *testing.T, kills int) {
	root := at(c.front.URL, c.askers...)
	defer root.Close()
	g := console(t, c.front.URL, newKey(t, root.Client, tenant, api.RoleOperator))
	shown := []string{"North", "North-2 inverter outage"} // at any time of the day
	g.shows(t, nil, shown...)
	for i := range min(kills, replicas) {
		c.kill(i)
		id := fmt.Sprint("New-", i)
		if _, err := root.AddAsset(t.Context(), api.Asset{AssetID: id, SiteID: "North", CustomerID: tenant, Name: id, Type: "inverter", CapacityKW: 50, Location: "48.2,16.4"}); err != nil {
			t.Fatal(err)
		}
		t.Logf("a unit that was made without replica %d was on the screen after %s", i, g.shows(t, shown, id).Round(time.Millisecond))
		c.start(i)
		c.await(replicas)
	}
	if screen := g.screen(); strings.Contains(screen, "no answer for") {
		t.Errorf("with all replicas the console has no answer:\n%s", screen)
	}
}
