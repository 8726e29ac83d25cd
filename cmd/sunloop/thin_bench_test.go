//go:build !windows

package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
)

// How the real console is measured.
const (
	thinStarts = 15               // of which the median counts
	thinSettle = 20 * time.Second // for the first frames of the idle console
	thinIdle   = 60 * time.Second
)

// BenchmarkThinConsole measures the program itself in a terminal of 120×36,
// over a demo of 24 units with a year of history. While the demo plays in real
// time, an idle remote console is measured: its CPU, its memory, with and without
// the pages of the program's file, and the bytes it sends. Then the demo ends, and the console is
// started on its data folder, as a person does: the time from the start of the
// process to the first frame, and to the first with the site's data.
func BenchmarkThinConsole(b *testing.B) {
	bin := binary(b)
	starts, settle, idle := thinStarts, thinSettle, thinIdle
	if testing.Short() {
		starts, settle, idle = 1, time.Second, 2*time.Second
	}
	for b.Loop() {
		dir := b.TempDir()
		c := demoCommand(b)
		c.Speed = 1
		key := ""
		err := c.open(b.Context(), &Globals{LogLevel: "error"}, streams{os.Stdin, io.Discard, io.Discard}, dir, func(ctx context.Context, d *demo) (err error) {
			for _, s := range d.fleet.Sites {
				if err := awaitForecast(ctx, client.New(d.client), s.ID); err != nil {
					return err
				}
			}
			key, _, err = d.service.Auth().CreateKey(ctx, auth.NewKey{Name: "thin", Role: api.RoleOperator, Customers: []string{api.Every}, Sites: []string{api.Every}})
			if err != nil {
				return err
			}
			server := httptest.NewServer(d.service.Handler())
			defer server.Close()
			idleConsole(b, consoleOf(bin, b.TempDir(), "--remote", server.URL, "--token", d.login.Token), settle, idle)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		var first, whole []time.Duration
		for range starts {
			f, w := startConsole(b, consoleOf(bin, b.TempDir(), "--data", dir, "--token", key))
			first, whole = append(first, f), append(whole, w)
		}
		slices.Sort(first)
		slices.Sort(whole)
		b.ReportMetric(float64(first[len(first)/2].Milliseconds()), "ms/first-frame")
		b.ReportMetric(float64(whole[len(whole)/2].Milliseconds()), "ms/data")
	}
}

// consoleOf returns a console that is not started yet, with a separate home.
func consoleOf(bin, home string, args ...string) *exec.Cmd {
	cmd := exec.Command(bin, append(args, "--theme", themes.ControlRoom)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "TERM=xterm-256color", "COLORTERM=truecolor")
	return cmd
}

// inTerminal starts a console in a terminal of 120×36.
func inTerminal(b *testing.B, cmd *exec.Cmd) *os.File {
	b.Helper()
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 36})
	if err != nil {
		b.Fatal(err)
	}
	return terminal
}

// end ends a console as the system does; its terminal is read meanwhile.
func end(b *testing.B, cmd *exec.Cmd, terminal *os.File) {
	b.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatalf("the console ended: %v", err)
	}
	if err := terminal.Close(); err != nil {
		b.Fatal(err)
	}
}

// startConsole starts a console and answers when its first frame and its first
// frame with data came.
func startConsole(b *testing.B, cmd *exec.Cmd) (first, whole time.Duration) {
	b.Helper()
	data := regexp.MustCompile(`[0-9] [kMG]?Wh today`)
	from := time.Now()
	terminal := inTerminal(b, cmd)
	screen := vt.NewEmulator(120, 36)
	go func() { _, _ = io.Copy(io.Discard, screen) }() // what it would answer to questions
	defer screen.Close()
	for part := make([]byte, 64<<10); whole == 0; {
		n, err := terminal.Read(part)
		at := time.Since(from)
		if err != nil {
			b.Fatalf("the console ended before its data came: %v\n%s", err, screen.String())
		}
		if _, err := screen.Write(part[:n]); err != nil {
			b.Fatal(err)
		}
		text := screen.String()
		if first == 0 && strings.TrimSpace(text) != "" {
			first = at
		}
		if data.MatchString(text) {
			whole = at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, terminal) }() // to its end
	end(b, cmd, terminal)
	return first, whole
}

// idleConsole reports the cost of an idle console.
func idleConsole(b *testing.B, cmd *exec.Cmd, settle, idle time.Duration) {
	b.Helper()
	terminal := inTerminal(b, cmd)
	sent := make(chan int)
	go func() {
		part := make([]byte, 64<<10)
		for {
			n, err := terminal.Read(part)
			if err != nil {
				close(sent)
				return
			}
			sent <- n
		}
	}()
	count := func(d time.Duration) (sum int) {
		for over := time.After(d); ; {
			select {
			case n, ok := <-sent:
				if !ok {
					b.Fatal("the console ended by itself")
				}
				sum += n
			case <-over:
				return sum
			}
		}
	}
	begin := count(settle)
	before, measured := processCPU(b, cmd.Process.Pid)
	bytes := count(idle)
	after, _ := processCPU(b, cmd.Process.Pid)
	b.ReportMetric(float64(begin), "B/first-frames")
	b.ReportMetric(float64(bytes)/idle.Seconds(), "B/s")
	if measured {
		b.ReportMetric(100*(after-before).Seconds()/idle.Seconds(), "%cpu")
		private, resident := processMiB(b, cmd.Process.Pid)
		b.ReportMetric(private, "MiB/private")
		b.ReportMetric(resident, "MiB/resident")
	}
	go func() {
		for range sent { // until the terminal is gone
		}
	}()
	end(b, cmd, terminal)
}

// processCPU is the CPU time that a process has used, where there is a /proc
// that reports it.
func processCPU(b *testing.B, pid int) (used time.Duration, ok bool) {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	const ticksPerSecond = 100 // USER_HZ of Linux on every machine that Go runs on
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, ticks := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(ticks)
		if err != nil {
			b.Fatal(err)
		}
		used += time.Duration(n) * time.Second / ticksPerSecond
	}
	return used, true
}

// processMiB returns the memory of a process: that which is its alone, and with the
// pages of the program's file, which all consoles of a machine share and which the
// system takes back when it needs them.
func processMiB(b *testing.B, pid int) (private, resident float64) {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "RssAnon:" && f[0] != "VmRSS:" {
			continue
		}
		kib, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		if f[0] == "VmRSS:" {
			resident = kib / 1024
		} else {
			private = kib / 1024
		}
	}
	return private, resident
}
