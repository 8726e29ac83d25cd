// Command thinline measures the cost of the console on a slow connection and
// a small machine, and prints one table of the figures with their budgets. It
// runs the benchmarks of the repository, so it requires the go command and is
// started in the repository: `make thin-line`.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/tui/plain"
)

// bench is a benchmark that is run, and how often in one go.
type bench struct{ pkg, name, times string }

var (
	console = bench{"./cmd/sunloop", "ThinConsole$", "1x"}
	view    = bench{"./tui", "View200x60/sample", "400x"}
	key     = bench{"./tui", "ThinKey$", "210x"}
	bytesTo = bench{"./tui", "ThinBytes$", "1x"}
	polling = bench{"./tui", "DayOfPolling$", "1x"}
)

// figure is a line of the table.
type figure struct {
	what   string
	of     bench
	metric string
	budget float64 // 0: none
	unit   string
}

var figures = []figure{
	{"first frame after start, embedded, 24 units × 1 year stored", console, "ms/first-frame", 300, "ms"},
	{"… with the site's data in it", console, "ms/data", 0, "ms"},
	{"View at 200×60 with live charts, median", view, "ms/median", 5, "ms"},
	{"… p99", view, "ms/p99", 10, "ms"},
	{"key press to its frame on the line, backend 300 ms away, median", key, "ms/median", 16, "ms"},
	{"… p99", key, "ms/p99", 16, "ms"},
	{"idle traffic to the terminal, 120×36, a sample each 5 s, simulated", bytesTo, "B/s", 100, "B/s"},
	{"… of the program over a demo that plays in real time", console, "B/s", 100, "B/s"},
	{"… its first frames, until all is there", console, "B/first-frames", 0, "bytes"},
	{"memory of the console's process, remote, after 24 h of polling", polling, "MiB/process", 60, "MiB"},
	{"… its heap after an hour", polling, "MiB/hour", 0, "MiB"},
	{"… its heap after 24 h", polling, "MiB/day", 0, "MiB"},
	{"… the program's process after 80 s", console, "MiB/resident", 60, "MiB"},
	{"… of which the process's alone, without pages of the program's file", console, "MiB/private", 60, "MiB"},
	{"CPU of an idle console, remote, of one core", console, "%cpu", 1, "%"},
}

func main() {
	count := flag.Int("count", 3, "how often each is measured; the median counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *count, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "thinline:", err)
		os.Exit(1)
	}
}

// run measures and prints the table.
func run(ctx context.Context, count int, out, progress io.Writer) error {
	measured := map[bench]map[string][]float64{}
	table := plain.NewTable("what", "#figure", "#budget", "unit", "")
	for _, f := range figures {
		if measured[f.of] == nil {
			fmt.Fprintf(progress, "%s in %s, %d times\n", f.of.name, f.of.pkg, count)
			text, err := f.of.run(ctx, count)
			if err != nil {
				return err
			}
			measured[f.of] = metrics(text)
		}
		value, known := median(measured[f.of][f.metric])
		words, budget, verdict := plain.Unknown, "", ""
		if known {
			words = plain.Number(value)
		}
		if f.budget > 0 {
			budget = plain.Number(f.budget)
		}
		if known && f.budget > 0 && value > f.budget {
			verdict = fmt.Sprintf("over by %s %s", plain.Number(value-f.budget), f.unit)
		}
		table.Add(f.what, words, budget, f.unit, verdict)
	}
	return table.Write(out, "")
}

// run is what the benchmark prints.
func (b bench) run(ctx context.Context, count int) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", b.name, "-benchtime", b.times, "-count", strconv.Itoa(count), "-timeout", "1h", b.pkg)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.String())
	}
	return out.String(), nil
}

// metrics are the values of what a benchmark printed, by their unit.
func metrics(text string) map[string][]float64 {
	found := map[string][]float64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(words); i += 2 { // after the name and the number of runs
			if v, err := strconv.ParseFloat(words[i], 64); err == nil {
				found[words[i+1]] = append(found[words[i+1]], v)
			}
		}
	}
	return found
}

// median of the values; known is false for none.
func median(values []float64) (v float64, known bool) {
	if len(values) == 0 {
		return 0, false
	}
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2], true
}
