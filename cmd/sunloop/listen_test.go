package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ran is a command of a test: what it printed and its exit status.
type ran struct {
	out, err string
	status   int
}

func sunloop(t *testing.T, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	status := run(t.Context(), args, streams{os.Stdin, &out, &err})
	return ran{out.String(), err.String(), status}
}

// service is `sunloop serve` while a test talks to it.
type service struct {
	lines []map[string]any // that said "serving"
	seen  []map[string]any // all before the last of these
	stop  context.CancelFunc
	ended chan int
}

// startService waits until as many listeners serve.
func startService(t *testing.T, listeners int, args ...string) *service {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &service{stop: stop, ended: make(chan int, 1)}
	r, w := io.Pipe()
	go func() {
		s.ended <- run(ctx, append([]string{"serve"}, args...), streams{os.Stdin, io.Discard, w})
		_ = w.Close()
	}()
	t.Cleanup(func() {
		stop()
		_, _ = io.Copy(io.Discard, r)
	})
	var log strings.Builder
	lines := bufio.NewScanner(r)
	for len(s.lines) < listeners && lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			s.seen = append(s.seen, line)
		}
		if line["msg"] == "serving" {
			s.lines = append(s.lines, line)
		}
	}
	if len(s.lines) < listeners {
		t.Fatalf("%d of %d listeners serve:\n%s", len(s.lines), listeners, log.String())
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return s
}

// home separates a test from the files of the user who runs it.
func home(t *testing.T) (dataDir string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, filepath.Join(dir, strings.ToLower(name)))
	}
	return filepath.Join(dir, "data")
}

func TestServeOverTLSWithACertificateOfItsOwn(t *testing.T) {
	data := home(t)
	if r := sunloop(t, "tls", "--data", data); r.status != 1 || !strings.Contains(r.err, "sunloop serve --tls self creates one") {
		t.Errorf("before the first start: %+v", r)
	}
	key := sunloop(t, "admin", "key", "create", "test", "--customers", "*", "--data", data)
	token, _, _ := strings.Cut(key.out, "\n")
	if key.status != 0 || token == "" {
		t.Fatalf("%+v", key)
	}
	s := startService(t, 2, "--data", data, "--listen", "127.0.0.1:0", "--listen", "telemetry=127.0.0.1:0", "--prefix", "/sunloop", "--tls", "self", "--tls-name", "ops.example.com")
	address, fingerprint := s.lines[0]["address"].(string), s.lines[0]["tls_fingerprint"].(string)
	if !strings.HasPrefix(address, "https://127.0.0.1:") || !strings.HasSuffix(address, "/sunloop") || s.lines[0]["hosts"] != nil || s.lines[1]["hosts"] != "telemetry" {
		t.Fatalf("it says %v", s.lines)
	}
	shown := sunloop(t, "tls", "--data", data)
	if !strings.Contains(shown.out, "sha256    "+fingerprint+"\n") || !strings.Contains(shown.out, "ops.example.com") {
		t.Errorf("%+v; it serves with %s", shown, fingerprint)
	}

	ask := func(args ...string) ran {
		t.Helper()
		return sunloop(t, append([]string{"status", "--remote", address, "--token", token}, args...)...)
	}
	for _, r := range []ran{ask(), ask("--tls-fingerprint", strings.Repeat("0", 64))} {
		if r.status != 3 || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%+v", r)
		}
		for _, words := range []string{"is not trusted", "--tls-fingerprint", "--tls-ca", fingerprint, "https://127.0.0.1:"} {
			if !strings.Contains(r.err, words) {
				t.Errorf("it does not say %q: %s", words, r.err)
			}
		}
	}
	ca := filepath.Join(data, "tls", "certificate.pem")
	for _, args := range [][]string{
		{"--tls-fingerprint", fingerprint},
		{"--tls-fingerprint", strings.ToUpper(fingerprint[:2] + ":" + fingerprint[2:])},
		{"--tls-ca", ca},
		{"--tls-ca", ca, "--tls-fingerprint", fingerprint},
	} {
		if r := ask(args...); r.status != 0 || !strings.Contains(r.out, "No sites yet") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	service, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := defaultKnownServices().accept(service, fingerprint); err != nil {
		t.Fatal(err)
	}
	if r := ask(); r.status != 0 {
		t.Errorf("as it was accepted: %+v", r)
	}
	known := defaultKnownServices().path
	b, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known, []byte(strings.ReplaceAll(string(b), fingerprint, strings.Repeat("0", 64))), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := ask(); r.status != 3 || !strings.Contains(r.err, "has changed from sha256 "+strings.Repeat("0", 64)+" to sha256 "+fingerprint) {
		t.Errorf("changed: %+v", r)
	}
	t.Setenv("SUNLOOP_TLS_FINGERPRINT", fingerprint)
	if r := ask(); r.status != 0 {
		t.Errorf("by the environment: %+v", r)
	}
	telemetry := s.lines[1]["address"].(string)
	if r := sunloop(t, "status", "--remote", telemetry, "--token", token); r.status != 3 || r.err != "sunloop: Not found\n" {
		t.Errorf("of the telemetry host alone: %+v", r)
	}
	if r := sunloop(t, "status", "--remote", strings.TrimSuffix(address, "/sunloop"), "--token", token); r.status != 3 || r.err != "sunloop: Not found\n" {
		t.Errorf("without the prefix: %+v", r)
	}
	s.stop()
	if status := <-s.ended; status != 0 {
		t.Errorf("it ends with status %d", status)
	}
	again := startService(t, 1, "--data", data, "--listen", "127.0.0.1:0", "--tls", "self", "--tls-name", "ops.example.com")
	if again.lines[0]["tls_fingerprint"] != fingerprint {
		t.Error("after a restart it is another certificate")
	}
	again.stop()
	<-again.ended
}

// TestReadinessEndsFirst asks for readiness after the word to end: the answer
// is no while the service still answers.
func TestReadinessEndsFirst(t *testing.T) {
	data := home(t)
	s := startService(t, 1, "--data", data, "--listen", "127.0.0.1:0", "--end-delay", "2s")
	address := s.lines[0]["address"].(string)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(path string) int {
		t.Helper()
		resp, err := client.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if code := status("/readyz"); code != 200 {
		t.Errorf("ready: %d", code)
	}
	s.stop()
	for status("/readyz") != 503 { // it fails the test when the listener is closed before
	}
	if code := status("/healthz"); code != 200 {
		t.Errorf("alive: %d", code)
	}
	if code := <-s.ended; code != 0 {
		t.Errorf("it ends with status %d", code)
	}
}

func TestListenersByEnvironmentAndFile(t *testing.T) {
	data := home(t)
	t.Setenv("SUNLOOP_LISTEN", "127.0.0.1:0 telemetry,alerts=127.0.0.1:0")
	s := startService(t, 2, "--data", data)
	if s.lines[1]["hosts"] != "telemetry,alerts" {
		t.Errorf("by the environment: %v", s.lines)
	}
	s.stop()
	<-s.ended

	t.Setenv("SUNLOOP_LISTEN", "")
	file := filepath.Join(t.TempDir(), "sunloop.toml")
	text := `[serve]
listen = ["127.0.0.1:0", "telemetry,alerts=127.0.0.1:0"]
tls = "self"
tls-name = ["one.example.com", "two.example.com"]
prefix = "/sunloop"
trusted-proxy = ["10.0.0.0/8", "fd00::1"]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s = startService(t, 2, "--data", data, "--config", file)
	if s.lines[1]["hosts"] != "telemetry,alerts" || !strings.HasPrefix(s.lines[1]["address"].(string), "https://127.0.0.1:") {
		t.Errorf("by the file: %v", s.lines)
	}
	if shown := sunloop(t, "tls", "--data", data); !strings.Contains(shown.out, "one.example.com, two.example.com") {
		t.Errorf("%+v", shown)
	}
	s.stop()
	<-s.ended
}

func TestInvalidListenerFlags(t *testing.T) {
	data := home(t)
	for _, c := range []struct {
		words string
		args  []string
	}{
		{`--listen: invalid listen address "8080"`, []string{"--listen", "8080"}},
		{`there is no host "telemetri"; there are main, telemetry,`, []string{"--listen", "telemetri=:0"}},
		{"--tls-cert and --tls-key: give both or neither", []string{"--tls-cert", "a"}},
		{"--tls files requires --tls-cert and --tls-key", []string{"--tls", "files"}},
		{"require --tls files, not --tls self", []string{"--tls", "self", "--tls-cert", "a", "--tls-key", "b"}},
		{"--tls-name requires --tls self", []string{"--tls-name", "a"}},
		{`--prefix: invalid path "sunloop"; example: /sunloop`, []string{"--prefix", "sunloop"}},
		{`--trusted-proxy: invalid network "proxy"; example: 10.0.0.0/8`, []string{"--trusted-proxy", "proxy"}},
		{"--max-connections 0: must be 1 or more", []string{"--max-connections", "0"}},
	} {
		if r := sunloop(t, append([]string{"serve", "--data", data}, c.args...)...); r.status != statusUsage || !strings.Contains(r.err, c.words) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	if r := sunloop(t, "serve", "--data", data, "--listen", "127.0.0.1:0", "--tls-cert", "nowhere.pem", "--tls-key", "nowhere.key"); r.status != 1 || !strings.Contains(r.err, "no such file") {
		t.Errorf("a certificate that does not exist: %+v", r)
	}
	for words, args := range map[string][]string{
		"--tls-fingerprint: a fingerprint is 64 hexadecimal digits": {"--tls-fingerprint", "abc"},
		"--tls-ca: open ":                {"--tls-ca", "nowhere.pem"},
		"there is no certificate in PEM": {"--tls-ca", "listen_test.go"},
	} {
		if r := sunloop(t, append([]string{"status", "--remote", "https://127.0.0.1:1", "--token", "t"}, args...)...); r.status != statusUsage || !strings.Contains(r.err, words) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
