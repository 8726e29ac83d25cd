package storetest

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Growth measures how costs grow with the number of units.
type Growth struct {
	Sizes []int // numbers of units, ascending
	// Server starts to count the processor time of the database's server;
	// the returned function reports it. It is nil if there is no server.
	Server func() (used func() time.Duration)
	// Rounds is how often each size is measured at least; 0: 5.
	Rounds int
}

// ScaleSizes are the numbers of units of SUNLOOP_SCALE_SIZES, such as
// 10,100,1000, which is what they are where the variable is empty.
func ScaleSizes(b *testing.B) []int {
	b.Helper()
	text := os.Getenv("SUNLOOP_SCALE_SIZES")
	if text == "" && testing.Short() {
		return []int{10, 20}
	}
	if text == "" {
		return []int{10, 100, 1000}
	}
	var sizes []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < UnitsOfSite || n > 10_000 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			b.Fatalf("SUNLOOP_SCALE_SIZES: %q is not a list of rising numbers from %d to 10000", text, UnitsOfSite)
		}
		sizes = append(sizes, n)
	}
	return sizes
}

// SelectScale skips the benchmark unless SUNLOOP_SCALE_STORES, a list such as
// file,postgres, is empty or names the store.
func SelectScale(b *testing.B, name string) {
	b.Helper()
	if stores := os.Getenv("SUNLOOP_SCALE_STORES"); stores != "" && !slices.Contains(strings.Split(stores, ","), name) {
		b.Skipf("SUNLOOP_SCALE_STORES is %s", stores)
	}
}

// UnitsOfSite is how many units a site has where the number of sites grows.
const UnitsOfSite = 10

// leastSample is the shortest duration of a measurement: what is shorter is
// repeated several times.
const leastSample = 10 * time.Millisecond

// Measure reports the cost of an operation at each size: medians of the
// processor time of this process and the server, of the server only, and of the
// wall time, in microseconds; and the power of the size by which the first and
// the last grow. do prepares one measurement for the size of index i, and
// returns the operation.
func (g Growth) Measure(b *testing.B, name string, do func(b *testing.B, i int) (measured func())) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		cpu, server, wall := make([][]float64, len(g.Sizes)), make([][]float64, len(g.Sizes)), make([][]float64, len(g.Sizes))
		times := make([]int, len(g.Sizes))
		round := func() {
			for i := range g.Sizes {
				runs := make([]func(), max(times[i], 1))
				for k := range runs {
					runs[k] = do(b, i)
				}
				used := func() time.Duration { return 0 }
				if g.Server != nil {
					used = g.Server()
				}
				here, began := ProcessCPU(), time.Now()
				for _, run := range runs {
					run()
				}
				took, spent, there := time.Since(began), ProcessCPU()-here, used()
				if times[i] == 0 { // the first one warms up and gives the duration of one
					times[i] = int(min(1000, 1+leastSample/max(took, time.Microsecond)))
					if times[i] > 1 {
						continue
					}
				}
				add := func(to *[]float64, d time.Duration) {
					*to = append(*to, d.Seconds()*1e6/float64(len(runs)))
				}
				add(&cpu[i], spent+there)
				add(&server[i], there)
				add(&wall[i], took)
			}
		}
		for b.Loop() {
			round()
		}
		rounds := g.Rounds
		if rounds == 0 {
			rounds = 5
		}
		for slices.ContainsFunc(cpu, func(of []float64) bool { return len(of) < rounds }) {
			round()
		}
		spent, took := make([]float64, len(g.Sizes)), make([]float64, len(g.Sizes))
		for i, size := range g.Sizes {
			spent[i], took[i] = median(cpu[i]), median(wall[i])
			b.ReportMetric(spent[i], fmt.Sprintf("cpu-µs/%d", size))
			if g.Server != nil {
				b.ReportMetric(median(server[i]), fmt.Sprintf("server-µs/%d", size))
			}
			b.ReportMetric(took[i], fmt.Sprintf("µs/%d", size))
		}
		b.ReportMetric(0, "ns/op") // of all sizes together: it says nothing
		if len(g.Sizes) > 1 {
			b.ReportMetric(Exponent(g.Sizes, spent), "exponent")
			b.ReportMetric(Exponent(g.Sizes, took), "exponent-clock")
		}
	})
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// Exponent is the power of the sizes by which costs grow: the least-squares
// slope of their logarithms. 1 is as many times more as there are more units.
func Exponent(sizes []int, costs []float64) float64 {
	var x, y, xx, xy float64
	n := float64(len(sizes))
	for i, size := range sizes {
		u, t := math.Log(float64(size)), math.Log(costs[i])
		x, y, xx, xy = x+u, y+t, xx+u*u, xy+u*t
	}
	return (n*xy - x*y) / (n*xx - x*x)
}
