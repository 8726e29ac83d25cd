package main

import (
	"testing"
)

// Values are read by their unit, those of each run.
func TestMetrics(t *testing.T) {
	m := metrics(`goos: linux
BenchmarkThinConsole-2   	       1	144162715906 ns/op	         0.5333 %cpu	        45.12 B/s
BenchmarkThinConsole-2   	       1	1 ns/op	         0.7 %cpu	        44 B/s	3 allocs/op
PASS
ok  	app.sunloop/cmd/sunloop	153.966s
`)
	if v, ok := median(m["%cpu"]); !ok || v != 0.7 || len(m["B/s"]) != 2 || m["B/s"][1] != 44 {
		t.Errorf("read %v", m)
	}
	if _, ok := median(m["MiB"]); ok {
		t.Error("a figure that was not printed is known")
	}
	if v, _ := median([]float64{9, 1, 5}); v != 5 {
		t.Errorf("the median of 1, 5, 9 is %g", v)
	}
}

// No figure is in two lines of the table.
func TestFiguresAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figures {
		if id := f.of.name + " " + f.metric; seen[id] {
			t.Errorf("%s is there twice", id)
		} else {
			seen[id] = true
		}
	}
}
