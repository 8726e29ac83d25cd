//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/feed"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/internal/longtest"
)

// summerTime is when the clocks of the demo's second site go forward.
var summerTime = time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)

const shortDaySite = "Havelland"

// TestSoak plays the demo, console and all, over the day on which a site's
// clocks change: by default for some hours of the plants, by `make soak` for 30
// days. Memory, goroutines, threads and open files do not grow; the short day is
// whole; and nothing is left when it ends.
func TestSoak(t *testing.T) {
	longtest.Mark(t)
	days, speed := 0.2, 3600.0
	if text := os.Getenv("SUNLOOP_TEST_SOAK_DAYS"); text != "" {
		var err error
		if days, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	span := time.Duration(days * 24 * float64(time.Hour))
	before := measure(t, "")
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("TERM", "xterm-256color")
	// The history ends with a whole interval: a later upload of a coarser interval
	// replaces the finer samples within it.
	begin := summerTime.Add(-span / 2).Truncate(demoHistoryStep)
	state := demoState{Seed: 1, Start: feed.Start(begin), Begin: begin, Clock: begin, Password: "a soaking password"}
	if err := state.save(dir); err != nil {
		t.Fatal(err)
	}
	status, screen := attach(t, dir, speed)
	defer screen.leave(t)

	var seen []usage
	for at, next := begin, begin; ; {
		select {
		case code := <-status:
			t.Fatalf("the console ended by itself with status %d", code)
		case <-time.After(time.Second):
		}
		at = clockOf(t, dir)
		if at.Before(next) {
			continue
		}
		next = at.Add(24 * time.Hour)
		screen.walk(t)
		now := measure(t, dir)
		now.at = at
		seen = append(seen, now)
		t.Logf("%s: %s, %d bytes to the terminal", at.Format("01-02 15:04"), now, screen.bytes.Load())
		if at.Sub(begin) >= span {
			break
		}
		next = minTime(next, begin.Add(span))
	}
	screen.leave(t)
	if code := <-status; code != 0 {
		t.Errorf("the console left with status %d", code)
	}
	noGrowth(t, seen)
	after := measure(t, dir)
	if after.goroutines > before.goroutines+2 || after.files > before.files+2 {
		t.Errorf("before %s, after %s", before, after)
	}
	shortDay(t, dir, state)
}

// usage is what the process has in use.
type usage struct {
	at                                 time.Time
	heap, anonymous, data              uint64 // bytes
	goroutines, threads, files, stored int
}

func (u usage) String() string {
	const mib = 1 << 20
	return fmt.Sprintf("heap %.1f MiB, resident %.1f MiB, %d goroutines, %d threads, %d open files, %.1f MiB in %d files of data",
		float64(u.heap)/mib, float64(u.anonymous)/mib, u.goroutines, u.threads, u.files, float64(u.data)/mib, u.stored)
}

// measure is what this process has in use, with the console in it.
func measure(t *testing.T, dir string) (u usage) {
	t.Helper()
	debug.FreeOSMemory() // twice, for what finalizers and pools held
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.heap, u.goroutines = m.HeapAlloc, runtime.NumGoroutine()
	lines, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		name, rest, _ := strings.Cut(line, ":")
		switch name {
		case "RssAnon": // mapped pages of the data are the system's to take back
			kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			u.anonymous = kib << 10
		case "Threads":
			if u.threads, err = strconv.Atoi(strings.TrimSpace(rest)); err != nil {
				t.Fatal(err)
			}
		}
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	u.files = len(open)
	if dir == "" {
		return u
	}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err == nil {
			u.stored++
			u.data += uint64(info.Size())
		}
		return ignoreGone(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// ignoreGone: files come and go while the folder is walked.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// noGrowth compares the least of the last third of the days with that of the
// third before it: jobs that run just then are in each figure, and the least
// have none.
func noGrowth(t *testing.T, days []usage) {
	t.Helper()
	n := len(days) / 3
	if n < 3 {
		return // too few for a conclusion
	}
	least := func(of []usage, value func(usage) float64) float64 {
		low := math.Inf(1)
		for _, u := range of {
			low = min(low, value(u))
		}
		return low
	}
	for _, c := range []struct {
		what  string
		value func(usage) float64
		spare float64 // in addition to a twentieth
	}{
		{"heap in bytes", func(u usage) float64 { return float64(u.heap) }, 1 << 20},
		{"resident memory in bytes", func(u usage) float64 { return float64(u.anonymous) }, 8 << 20},
		{"goroutines", func(u usage) float64 { return float64(u.goroutines) }, 2},
		{"threads", func(u usage) float64 { return float64(u.threads) }, 3},
		{"open files", func(u usage) float64 { return float64(u.files) }, 1},
	} {
		former, last := least(days[len(days)-2*n:len(days)-n], c.value), least(days[len(days)-n:], c.value)
		t.Logf("%s: at least %.0f, then %.0f", c.what, former, last)
		if last > former*1.05+c.spare {
			t.Errorf("%s grew from %.0f to %.0f", c.what, former, last)
		}
	}
}

// attached is a console in a terminal of this process.
type attached struct {
	terminal *os.File
	bytes    atomic.Int64
	left     bool
}

// attach runs the demo on a pseudo-terminal; its exit status comes by the
// channel.
func attach(t *testing.T, dir string, speed float64) (<-chan int, *attached) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 36, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	a := &attached{terminal: master}
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := master.Read(buffer)
			a.bytes.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	status := make(chan int, 1)
	go func() {
		code := run(context.Background(), []string{"demo", "--data", dir, "--speed", strconv.FormatFloat(speed, 'g', -1, 64)}, streams{slave, slave, slave})
		slave.Close()
		status <- code
	}()
	t.Cleanup(func() { master.Close() })
	return status, a
}

// walk goes through the panes and some screens, as an operator does.
func (a *attached) walk(t *testing.T) {
	t.Helper()
	for _, keys := range []string{"2", "3", "4", "1", "gw", "gf", "gu", "gl", "gk", "\x1b", "\x1b", "j", "\r", "\x1b", "1"} {
		for _, key := range keys {
			if _, err := a.terminal.WriteString(string(key)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Millisecond) // an escape is a separate key
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// leave ends the console by keyboard.
func (a *attached) leave(t *testing.T) {
	t.Helper()
	if a.left {
		return
	}
	a.left = true
	if _, err := a.terminal.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if _, err := a.terminal.WriteString("\x03"); err != nil {
		t.Log(err) // it has left at the first
	}
}

// clockOf is the plants' time up to which the service has everything.
func clockOf(t *testing.T, dir string) time.Time {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s demoState
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return s.Clock
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// shortDay compares what was stored of the day of 23 hours with what the units
// reported: each stamp once, none more.
func shortDay(t *testing.T, dir string, state demoState) {
	t.Helper()
	ctx := t.Context()
	s, err := backend.New(backend.Config{DataDir: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	go s.Run(ctx) //nolint:errcheck // it ends with Close
	o := client.Options{Transport: client.InProcess(s.Handler()), Now: time.Now}
	login, err := client.New(o).Login(ctx, demoUser, state.Password)
	if err != nil {
		t.Fatal(err)
	}
	o.Credential = login.Token
	c := client.New(o)
	imported(t, c)
	until, judged, stamps := clockOf(t, dir), 0, 0
	for _, site := range simulate.Demo(state.Seed, state.Start, state.Begin).Sites {
		from := maxTime(state.Begin, time.Date(2026, 3, 29, 0, 0, 0, 0, site.Zone))
		to := minTime(until, time.Date(2026, 3, 30, 0, 0, 0, 0, site.Zone))
		if !from.Before(to) {
			judged += len(site.Units)
			continue
		}
		if site.ID == shortDaySite && to.Sub(from) > 23*time.Hour {
			t.Fatalf("the short day of %s has %s", site.ID, to.Sub(from))
		}
		for asset, frame := range site.Frames(from, to, demoLiveStep) {
			got, err := c.Inverter(ctx, api.RecordsQuery{SiteID: site.ID, AssetID: asset, Start: api.At(from), End: api.At(to.Add(-time.Second))})
			if err != nil {
				t.Fatal(err)
			}
			var stored, reported []string
			for _, r := range got.Records {
				stored = append(stored, r.Timestamp.String())
			}
			for i, power := range frame.Values(series.PowerKW) {
				if !math.IsNaN(power) {
					reported = append(reported, api.At(time.Unix(frame.Times[i], 0)).String())
				}
			}
			if diff := cmp.Diff(reported, stored); diff != "" {
				t.Errorf("%s %s:\n%s", site.ID, asset, diff)
			}
			judged, stamps = judged+1, stamps+len(stored)
		}
	}
	t.Logf("%d stamps of %d units on the day", stamps, judged)
	if judged != 24 || stamps == 0 {
		t.Errorf("%d stamps of %d units are no day of the demo", stamps, judged)
	}
}

// imported waits until no upload is in progress, on a busy machine for minutes.
func imported(t *testing.T, c *client.Client) {
	t.Helper()
	for ; ; time.Sleep(50 * time.Millisecond) {
		uploads, err := c.Uploads(t.Context(), api.ListQuery{Page: api.Page{Limit: 100}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(uploads.Uploads, func(u api.Upload) bool { return !u.Ended() }) {
			return
		}
	}
}
