package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// cost is what a read takes: of the median of several, and of the mean for the processor.
type cost struct {
	wall, cpu time.Duration
	bytes     int
}

// TestPeersTelemetry reads a unit's year of 5 minutes from the service and from VictoriaMetrics
// in turns, and prints what each takes. It needs the program of VictoriaMetrics, which
// .ci/peers-telemetry builds.
func TestPeersTelemetry(t *testing.T) {
	program := os.Getenv("SUNLOOP_VICTORIA_METRICS")
	if program == "" {
		t.Skip("SUNLOOP_VICTORIA_METRICS names no program: make peers-telemetry")
	}
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1 << 20 })
	year(t, w)
	ours := httptest.NewServer(w.handler)
	defer ours.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	read := func(address string) []byte {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(address, ours.URL) {
			q.Header.Set("X-Api-Key", w.keys["own"])
		}
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: HTTP %d %.200s %v", address, r.StatusCode, b, err)
		}
		return b
	}

	const theirs = "http://127.0.0.1:38428"
	peer := exec.CommandContext(context.Background(), program, "-storageDataPath="+t.TempDir(), "-httpListenAddr=127.0.0.1:38428", "-retentionPeriod=100y", "-search.disableCache=false", "-loggerLevel=ERROR")
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = peer.Process.Signal(syscall.SIGTERM)
		_ = peer.Wait()
	}()
	for range 200 {
		if r, err := client.Get(theirs + "/health"); err == nil {
			_ = r.Body.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	var points api.ColumnsResponse
	if err := json.Unmarshal(read(ours.URL+yearRead+"&format=columns&fields=power"), &points); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Metric     map[string]string `json:"metric"`
		Values     []float64         `json:"values"`
		Timestamps []int64           `json:"timestamps"`
	}
	line.Metric = map[string]string{"__name__": "power", "asset_id": ownAsset}
	for _, c := range points.Chunks {
		for i, v := range c.Values["power"] {
			line.Values, line.Timestamps = append(line.Values, *v), append(line.Timestamps, 1000*(c.Start.Unix()+int64(i)*c.StepS))
		}
	}
	b, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := client.Post(theirs+"/api/v1/import", "application/json", bytes.NewReader(b)); err != nil || r.StatusCode != http.StatusNoContent {
		t.Fatalf("import: %v, %v", r, err)
	}
	_ = read(theirs + "/internal/force_flush")
	export := theirs + "/api/v1/export?match[]=power&start=2024-09-30T22:00:00Z&end=2025-09-30T22:00:00Z"
	var got struct {
		Values []float64 `json:"values"`
	}
	if err := json.Unmarshal(read(export), &got); err != nil || !slices.Equal(got.Values, line.Values) {
		t.Fatalf("VictoriaMetrics has %d values of %d, %v", len(got.Values), len(line.Values), err)
	}
	queryRange := theirs + "/api/v1/query_range?" + url.Values{"query": {"power"}, "start": {"2024-10-01T00:00:00Z"}, "end": {"2024-10-04T11:15:00Z"}, "step": {"300"}, "nocache": {"1"}}.Encode()

	own := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	other := func() time.Duration {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(peer.Process.Pid), "stat"))
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		return time.Duration(user+system) * 10 * time.Millisecond
	}
	reads := []struct{ name, address string }{
		{"VictoriaMetrics, export of a year", export},
		{"columns, power of a year", ours.URL + yearRead + "&format=columns&fields=power"},
		{"Arrow, power of a year", ours.URL + yearRead + "&format=arrow&fields=power"},
		{"CSV, power of a year", ours.URL + yearRead + "&format=csv&fields=power"},
		{"NDJSON, power of a year", ours.URL + yearRead + "&format=ndjson&fields=power"},
		{"columns, all fields of a year", ours.URL + yearRead + "&format=columns"},
		{"VictoriaMetrics, query_range of 1000 points", queryRange},
		{"records, a page of 1000", ours.URL + yearRead + "&limit=1000"},
	}
	const rounds = 40
	walls, costs := make([][]time.Duration, len(reads)), make([]cost, len(reads))
	for range rounds { // in turns, so that other work on the machine meets all alike
		for i, r := range reads {
			cpu := own
			if strings.HasPrefix(r.address, theirs) {
				cpu = other
			}
			before, begin := cpu(), time.Now()
			costs[i].bytes = len(read(r.address))
			walls[i] = append(walls[i], time.Since(begin))
			costs[i].cpu += cpu() - before
		}
	}
	for i, r := range reads {
		slices.Sort(walls[i])
		c := &costs[i]
		c.wall, c.cpu = walls[i][rounds/2], c.cpu/rounds
		than := costs[0]
		if i > 6 {
			than = costs[6]
		}
		ratio := func(a, b float64) string { return strconv.FormatFloat(math.Round(100*a/b)/100, 'f', -1, 64) }
		fmt.Printf("%-46s %8.2f ms wall (%s)  %8.2f ms CPU (%s)  %9d bytes (%s)\n", r.name, float64(c.wall)/1e6, ratio(float64(c.wall), float64(than.wall)),
			float64(c.cpu)/1e6, ratio(float64(c.cpu), float64(than.cpu)), c.bytes, ratio(float64(c.bytes), float64(than.bytes)))
	}
}
