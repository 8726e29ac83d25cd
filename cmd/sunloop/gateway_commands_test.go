package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/gateway"
)

// TestGatewayCommandLines: a wrong command line of the gateway's commands ends with
// exit status 2 and one sentence, before anything is searched or written; a wrong
// sources file ends serve before it listens or makes a data folder.
func TestGatewayCommandLines(t *testing.T) {
	t.Parallel()
	if got := addedText(0, 3, "f"); !strings.HasPrefix(got, "0 devices added to f (already in the file: 3); ") {
		t.Error(got)
	}
	if got := addedText(3, 3, "f"); strings.Contains(got, "already") {
		t.Error(got)
	}
	folder := t.TempDir()
	bad, roof := filepath.Join(folder, "bad.toml"), filepath.Join(folder, "roof.toml")
	for path, text := range map[string]string{
		bad:  "[site]\nid = \"a\"\n[[source]]\naddress = \"tcp://192.0.2.1:502\"\n[[source.device]]\nasset = \"x\"\nkind = \"inverter\"\nunit = \"two\"\n",
		roof: "[site]\nid = \"roof\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	discover := func(args ...string) []string { return append([]string{"gateway", "discover"}, args...) }
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{discover("127.0.0.1", "--units", "x"), 2, "--units: units \"x\""},
		{discover("127.0.0.1", "--port", "0"), 2, "--port 0: must be a number from 1 to 65535"},
		{discover("127.0.0.1", "--port", "70000"), 2, "--port 70000"},
		{discover("127.0.0.1", "--timeout", "0s"), 2, "--timeout 0s"},
		{discover(""), 2, "the address is empty"},
		{discover("a b"), 2, "target \"a b\""},
		{discover("ftp://x"), 2, "must begin with tcp://"},
		{discover("10.0.0.0/8"), 2, "at most 256 addresses"},
		{discover("127.0.0.1", "--add", "--sources", filepath.Join(folder, "new.toml")), 2, "--site: required"},
		{discover("127.0.0.1", "--add", "--sources", roof, "--site", "other"), 2, "has the devices of site \"roof\""},
		{discover("127.0.0.1", "--add", "--sources", roof, "--location", "no such place zzz"), 2, "--location: unknown place"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--sources", bad}, 1, "line 8: unit must be a whole number"},
		{[]string{"gateway", "run", "--sources", bad}, 1, "line 8: unit must be a whole number"},
	} {
		var out, errs bytes.Buffer
		data := filepath.Join(folder, "data")
		status := run(context.Background(), append(tt.args, "--data", data), streams{os.Stdin, &out, &errs})
		if got := errs.String(); status != tt.status || !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: exit status %d: %q, want %d: %q", tt.args, status, got, tt.status, tt.want)
		}
		if _, err := os.Stat(data); err == nil {
			t.Fatalf("%q made the data folder", tt.args)
		}
	}
}

// TestGatewayTail prints each reading of a gateway once, as it comes, of all devices or of
// one; a device that was never read has none.
func TestGatewayTail(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "gw") // a short path: a socket has at most 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	tail := func(args ...string) (status int, out, errs string) {
		var o, e bytes.Buffer
		status = run(t.Context(), append([]string{"gateway", "tail", "--data", folder}, args...), streams{os.Stdin, &o, &e})
		return status, o.String(), e.String()
	}
	if status, _, errs := tail(); status != 1 || !strings.Contains(errs, "no gateway runs with this data folder") {
		t.Errorf("without a gateway: %d, %q", status, errs)
	}
	l, err := net.Listen("unix", filepath.Join(folder, "gateway.sock"))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1) - 1
		at, watts := time.Date(2026, 6, 15, 10, 0, int(10*n), 0, time.UTC), 5000+float64(n)
		same := time.Date(2026, 6, 15, 9, 59, 0, 0, time.UTC)
		s := gateway.Status{Devices: []gateway.DeviceStatus{
			{Device: gateway.Device{Asset: "I1"}, State: gateway.StateReading, LastRead: &at, PowerW: &watts},
			{Device: gateway.Device{Asset: "I2"}, State: gateway.StateUnreachable, LastRead: &same},
			{Device: gateway.Device{Asset: "I3"}, State: gateway.StateWaiting},
		}}
		_ = json.NewEncoder(w).Encode(s)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	status, out, errs := tail("-n", "3")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 0 || errs != "" || len(lines) != 3 || !strings.HasPrefix(lines[0], "2026-06-15T10:00:00Z  I1 ") || !strings.HasSuffix(lines[0], "5.00 kW") ||
		!strings.HasPrefix(lines[1], "2026-06-15T09:59:00Z  I2 ") || !strings.HasSuffix(lines[1], "-") || !strings.HasPrefix(lines[2], "2026-06-15T10:00:10Z  I1 ") {
		t.Errorf("exit status %d, %q, %q", status, errs, lines)
	}
	status, out, _ = tail("I1", "-n", "1", "--json")
	var d gateway.DeviceStatus
	if err := json.Unmarshal([]byte(out), &d); status != 0 || err != nil || d.Asset != "I1" || d.PowerW == nil || *d.PowerW < 5000 {
		t.Errorf("exit status %d, %q, %v", status, out, err)
	}
	if status, _, errs := tail("I9"); status != 1 || !strings.Contains(errs, "sunloop gateway status lists them") {
		t.Errorf("an unknown device: %d, %q", status, errs)
	}
	if status, _, errs := tail("--count=-1"); status != 2 || !strings.Contains(errs, "--count -1") {
		t.Errorf("a wrong count: %d, %q", status, errs)
	}
}

// TestGatewayShowsVersions: explain and status name the version of MQTT that a connection
// has, or that there is none.
func TestGatewayShowsVersions(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "gw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	l, err := net.Listen("unix", filepath.Join(folder, "gateway.sock"))
	if err != nil {
		t.Fatal(err)
	}
	version := "3.1.1"
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/explain") {
			_ = json.NewEncoder(w).Encode(gateway.Explanation{DeviceStatus: gateway.DeviceStatus{Device: gateway.Device{Asset: "I1", ID: "114100000001"}, State: gateway.StateReading, Stored: true}, MQTT: version})
			return
		}
		_ = json.NewEncoder(w).Encode(gateway.Status{Brokers: []gateway.BrokerStatus{{Address: "mqtt://127.0.0.1", Dialect: "opendtu", Connected: version != "", Version: version, Error: "refused"}}})
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	for _, tt := range []struct{ version, explain, status string }{
		{"3.1.1", "as 114100000001, connected by MQTT 3.1.1\n", "(opendtu): connected by MQTT 3.1.1, 0 messages\n"},
		{"", "as 114100000001, no connection to the broker\n", "(opendtu): not connected: refused, 0 messages\n"},
	} {
		version = tt.version
		for _, c := range []struct{ args, want string }{{"explain I1", tt.explain}, {"status", tt.status}} {
			var out, errs bytes.Buffer
			run(t.Context(), append(append([]string{"gateway"}, strings.Fields(c.args)...), "--data", folder), streams{os.Stdin, &out, &errs})
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("%s: %q, %q; want %q", c.args, &out, &errs, c.want)
			}
		}
	}
}

// TestQueueIsKept: the batches that wait are not in the folder that a service clears when
// it starts; those that a former version has there are moved before.
func TestQueueIsKept(t *testing.T) {
	if queueFolder == admin.SpoolFolder {
		t.Fatal("the service clears the queue when it starts")
	}
	folder := t.TempDir()
	former, queue := filepath.Join(folder, admin.SpoolFolder), filepath.Join(folder, queueFolder)
	if err := moveQueue(folder); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} { // a queue that is there is not replaced
		if err := os.MkdirAll(former, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(former, "0000000001.seg"), []byte("batches"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := moveQueue(folder); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(filepath.Join(queue, "0000000001.seg"))
		_, left := os.Stat(former)
		if err != nil || (left == nil) != there {
			t.Errorf("moved: %v; former folder: %v", err, left)
		}
	}
}
