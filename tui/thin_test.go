package tui

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/terminal"
)

// arrivals is a line to a terminal that says when something arrives.
type arrivals struct{ news chan time.Time }

func (a arrivals) Write(p []byte) (int, error) {
	select {
	case a.news <- time.Now():
	default:
	}
	return len(p), nil
}

// quiet waits until nothing has arrived for a while.
func (a arrivals) quiet() {
	for {
		select {
		case <-a.news:
		case <-time.After(120 * time.Millisecond):
			return
		}
	}
}

// BenchmarkThinKey is a key press to the first byte of its frame on the line:
// the whole program, 120×36 at the frame rate that it has over SSH, the backend
// 300 ms away. The keys change panes and open lists, while the console asks as it
// always does. The goal is 16 ms.
func BenchmarkThinKey(b *testing.B) {
	p := plant.New()
	p.Units = 24
	service := plant.NewService(func() time.Time { return noon }, p)
	d := start(b, 1, 1, nil, p) // for its options
	o := d.m.o
	in := client.InProcess(http.HandlerFunc(service.ServeHTTP))
	o.Now = func() time.Time { return noon }
	o.Client = client.New(client.Options{Credential: "token", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		return in.RoundTrip(r)
	})})
	defer o.Client.Close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	line := arrivals{make(chan time.Time, 1)}
	out := terminal.NewOutput(line, terminal.OutputOptions{})
	program := tea.NewProgram(New(ctx, o, out, nil), tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(out), tea.WithAltScreen(), tea.WithFPS(slowFPS), tea.WithoutSignalHandler())
	done := make(chan error, 1)
	go func() {
		_, err := program.Run()
		done <- err
	}()
	program.Send(tea.WindowSizeMsg{Width: 120, Height: 36})
	time.Sleep(2 * time.Second) // its data come in
	var took []time.Duration
	keys := []string{"tab", "z", "z", "S", "esc", ":", "esc"}
	for i := 0; b.Loop(); i++ {
		line.quiet()
		from := time.Now()
		program.Send(keyMessage(keys[i%len(keys)]))
		select {
		case at := <-line.news:
			took = append(took, at.Sub(from))
		case <-time.After(5 * time.Minute):
			b.Fatalf("%q changes nothing on the screen", keys[i%len(keys)])
		}
	}
	program.Quit()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	reportMilliseconds(b, took)
}

// reportMilliseconds reports the median and the slowest of a hundred.
func reportMilliseconds(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
}

// BenchmarkThinBytes is what a terminal of 120×36 is sent: the first frames
// until everything is there, and then on average over ten minutes in which a
// sample comes each five seconds.
func BenchmarkThinBytes(b *testing.B) { benchmarkBytes(b, nil) }

// BenchmarkThinBytesImages is the same with charts as images.
func BenchmarkThinBytesImages(b *testing.B) { benchmarkBytes(b, withImages) }

func benchmarkBytes(b *testing.B, with func(*Options, *plant.Service)) {
	for b.Loop() {
		live := plant.New()
		live.Step = 5 * time.Second
		d := start(b, 120, 36, with, live)
		if with != nil {
			d.send(reported)
		}
		first := d.line.n
		d.pass(600)
		b.ReportMetric(float64(first), "B/first")
		b.ReportMetric(float64(d.line.n-first)/600, "B/s")
	}
}

// BenchmarkDayOfPolling is a day of polling on a virtual clock: the heap after
// an hour and after the day, which must be about the same, and then the resident
// memory of the whole process, including the simulated service and its log of
// each request. A day passes here in a minute, too fast for the garbage to be
// given back to the system bit by bit, so that is done first.
func BenchmarkDayOfPolling(b *testing.B) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	for b.Loop() {
		p := plant.New()
		p.Units = 24
		d := start(b, 120, 36, nil, p)
		d.blind = true
		hours := 24
		if testing.Short() {
			hours = 2
		}
		d.pass(3600)
		b.ReportMetric(heap(), "MiB/hour")
		d.pass((hours - 1) * 3600)
		b.ReportMetric(heap(), "MiB/day")
		debug.FreeOSMemory()
		if resident, ok := residentMiB(b); ok {
			b.ReportMetric(resident, "MiB/process")
		}
		d.text()
	}
}

// residentMiB returns the memory of this process as the system counts it, where
// the system has /proc.
func residentMiB(b *testing.B) (mib float64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024, true
		}
	}
	return 0, false
}
