package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// fetch is the status and body that an address answers.
func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// address is where the log says that something is served.
func (s *service) address(t *testing.T, message string) string {
	t.Helper()
	for _, line := range s.seen {
		if line["msg"] == message {
			return "http://" + line["address"].(string)
		}
	}
	t.Fatalf("no %q in %v", message, s.seen)
	return ""
}

// Metrics and profiles have listeners of their own, and the public ones never
// show them.
func TestMetricsListenerIsSeparate(t *testing.T) {
	data := home(t)
	s := startService(t, 1, "--data", data, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--pprof", "127.0.0.1:0")
	public, metrics, profiles := s.lines[0]["address"].(string), s.address(t, "serving metrics"), s.address(t, "serving profiles")
	for _, line := range s.seen {
		if line["level"] == "WARN" {
			t.Errorf("on loopback it warns: %v", line)
		}
	}
	if code, text := fetch(t, metrics+"/metrics"); code != 200 || !strings.Contains(text, "\nsunloop_http_requests_in_flight 0\n") || !strings.Contains(text, `sunloop_build_info{`) {
		t.Errorf("metrics: HTTP %d\n%.2000s", code, text)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, text := fetch(t, metrics+path); code != 200 || !strings.Contains(text, `"success":true`) {
			t.Errorf("%s next to the metrics: HTTP %d %s", path, code, text)
		}
	}
	if code, text := fetch(t, profiles+"/debug/pprof/goroutine?debug=1"); code != 200 || !strings.HasPrefix(text, "goroutine profile:") {
		t.Errorf("profiles: HTTP %d %.200s", code, text)
	}
	for _, url := range []string{public + "/metrics", public + "/debug/pprof/", public + "/debug/pprof/heap", public + "/debug/vars", metrics + "/debug/pprof/", metrics + "/terminal/sites", profiles + "/metrics", profiles + "/healthz"} {
		if code, text := fetch(t, url); code != 401 && code != 404 || strings.Contains(text, "goroutine") || strings.Contains(text, "sunloop_") {
			t.Errorf("%s: HTTP %d %.200s", url, code, text)
		}
	}
	s.stop()
	if status := <-s.ended; status != 0 {
		t.Errorf("it ends with status %d", status)
	}
}

// TestDroppedConnectionsAreCounted opens connections to HTTP and SSH from one network
// until the metrics show that some were evicted.
func TestDroppedConnectionsAreCounted(t *testing.T) {
	s := startService(t, 1, "--data", home(t), "--listen", "127.0.0.1:0", "--max-connections", "40", "--ssh", "127.0.0.1:0", "--metrics", "127.0.0.1:0")
	metrics := s.address(t, "serving metrics")
	for server, address := range map[string]string{"http": s.lines[0]["address"].(string), "ssh": s.address(t, "serving the console over SSH")} {
		_, address, found := strings.Cut(address, "://")
		if !found {
			address = s.address(t, "serving the console over SSH")
		}
		want := fmt.Sprintf(`sunloop_connections_evicted_total{lane="unauthenticated",reason="network_share",server=%q}`, server)
		for n := 0; ; n++ {
			if n == 2000 {
				t.Fatalf("%s: %d connections, and the metrics do not have %s", server, n, want)
			}
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if n%20 != 19 {
				continue
			}
			if _, text := fetch(t, metrics+"/metrics"); strings.Contains(text, want) {
				break
			}
			time.Sleep(200 * time.Millisecond) // connections keep their places for a second
		}
	}
	s.stop()
	<-s.ended
}

func TestMetricsBeyondThisMachineAreWarnedOf(t *testing.T) {
	s := startService(t, 1, "--data", home(t), "--listen", "127.0.0.1:0", "--metrics", "0.0.0.0:0")
	warned := 0
	for _, line := range s.seen {
		if line["level"] == "WARN" && strings.Contains(line["msg"].(string), "metrics served without authentication") {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("warned %d times: %v", warned, s.seen)
	}
	s.stop()
	<-s.ended
}

// What is wrong is said in a sentence, before the data folder is made.
func TestWatchFlagsAreCheckedFirst(t *testing.T) {
	data := home(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"serve", "--metrics", "9464"}, `--metrics: invalid address "9464"; example: 127.0.0.1:9464`},
		{[]string{"serve", "--metrics", "127.0.0.1:"}, `--metrics: invalid address "127.0.0.1:"; example: 127.0.0.1:9464`},
		{[]string{"serve", "--pprof", "127.0.0.1:99999"}, `--pprof: invalid address "127.0.0.1:99999"; example: 127.0.0.1:6060`},
		{[]string{"serve", "--pprof", "localhost"}, `--pprof: invalid address "localhost"; example: 127.0.0.1:6060`},
		{[]string{"serve", "--metrics", "127.0.0.1:9464", "--pprof", "127.0.0.1:9464"}, "--metrics and --pprof want two addresses"},
		{[]string{"serve", "--otlp", "127.0.0.1:4318"}, "--otlp: invalid URL of a collector; example: http://127.0.0.1:4318"},
		{[]string{"serve", "--metrics", taken.Addr().String()}, "--metrics: listen tcp " + taken.Addr().String()},
		{[]string{"ssh", "--remote", "http://127.0.0.1:1", "--metrics", "127.0.0.1:9464"}, "--metrics and --pprof show a service of this process"},
	} {
		r := sunloop(t, append(tt.args, "--data", data)...)
		if r.status == 0 || !strings.Contains(r.err, tt.says) {
			t.Errorf("%v: status %d, %q", tt.args, r.status, r.err)
		}
		if _, err := os.Stat(data); err == nil {
			t.Fatalf("%v: the data folder was made", tt.args)
		}
	}
}
