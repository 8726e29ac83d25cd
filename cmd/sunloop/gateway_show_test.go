package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/gateway"
	"app.sunloop/backend/gateway/drop"
	"app.sunloop/backend/gateway/forward"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/sunspec"
)

// answerAsGateway answers on the socket of a data folder as a gateway with this state does.
func answerAsGateway(t *testing.T, status *gateway.Status, explained map[string]gateway.Explanation) (folder string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "gw") // a short path: a socket has at most 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	l, err := net.Listen("unix", filepath.Join(folder, "gateway.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status" {
			_ = json.NewEncoder(w).Encode(status)
		} else if e, ok := explained[r.URL.Query().Get("device")]; ok {
			_ = json.NewEncoder(w).Encode(e)
		} else {
			http.NotFound(w, r)
		}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return folder
}

// gatewayOutput is what a command of the gateway prints, without space at the ends of lines.
func gatewayOutput(t *testing.T, line ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), append([]string{"gateway"}, line...), streams{os.Stdin, &o, &e})
	return status, regexp.MustCompile(` +\n`).ReplaceAllString(o.String(), "\n"), e.String()
}

// TestGatewayStatus prints devices, brokers, files and what waits for a service; the exit
// status is 1 if a person has something to do.
func TestGatewayStatus(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)
	before := now.Add(-90 * time.Second)
	number := func(v float64) *float64 { return &v }
	s := &gateway.Status{
		At: now, Site: "roof",
		Devices: []gateway.DeviceStatus{
			{Device: gateway.Device{Asset: "I1", Kind: reading.Inverter}, State: gateway.StateReading, PowerW: number(12_340), AgeS: number(3.2), Reads: 25, Marks: map[reading.Mark]int{}},
			{Device: gateway.Device{Asset: "I2", Kind: reading.Inverter}, State: gateway.StateAsleep, AgeS: number(7200), Reads: 3},
		},
	}
	folder := answerAsGateway(t, s, nil)
	status, out, errs := gatewayOutput(t, "status", "--data", folder)
	if want := `DEVICE  KIND      STATE    POWER    AGE     READINGS  ERRORS  DROPPED  LAST ERROR
I1      inverter  reading  12.3 kW  3.2s    25        0       -        -
I2      inverter  asleep   -        2h0m0s  3         0       -        -
`; status != 0 || out != want || errs != "" {
		t.Errorf("exit status %d, %q\n%s", status, errs, out)
	}

	s.Devices[1].State, s.Devices[1].Error, s.Devices[1].Errors, s.Devices[1].Marks = gateway.StateUnreachable, "no response within 2s", 4, map[reading.Mark]int{reading.MarkZeros: 2, reading.MarkFrozen: 1}
	s.Brokers = []gateway.BrokerStatus{{Address: "mqtt://127.0.0.1", Dialect: "opendtu", Connected: true, Version: "5", Messages: 7, Refused: map[string]int{"not a number": 2}, Others: []string{"114100000009"}}}
	s.Files = []drop.Status{
		{Name: "exports", Kind: "folder", Place: "/srv/exports", State: gateway.StateReading, Taken: 3, Refused: 1, Waiting: 2},
		{Name: "portal", Kind: "sftp", Place: "sftp.example.com:22", State: gateway.StateUnreachable, Error: "no connection", RetryAt: &now},
		{Name: "reports", Kind: "imap", Place: "imap.example.com:993", State: gateway.StateReading, Skipped: 5},
	}
	s.Forward = &forward.Status{State: forward.StateWaiting, Batches: 3, Points: 90, Acknowledged: 20, LastSequence: 23, LastAck: &before, SpoolBytes: 1 << 20, SpoolMax: 1 << 30, Error: "no route to host", Refused: 2}
	status, out, _ = gatewayOutput(t, "status", "--data", folder)
	if want := `DEVICE  KIND      STATE           POWER    AGE     READINGS  ERRORS  DROPPED            LAST ERROR
I1      inverter  reading         12.3 kW  3.2s    25        0       -                  -
I2      inverter  not responding  -        2h0m0s  3         4       frozen 1, zeros 2  no response within 2s
broker mqtt://127.0.0.1 (opendtu): connected by MQTT 5, 7 messages
  rejected: not a number: 2
  not configured: 114100000009
folder exports (/srv/exports): reading, 3 files processed, 1 of them refused, 2 waiting
sftp portal (sftp.example.com:22): not responding, 0 files processed, 0 of them refused, 0 waiting
  no connection; next attempt at 2026-06-15T10:00:00Z
imap reports (imap.example.com:993): reading, 0 files processed, 0 of them refused, 0 waiting
  messages of other senders, ignored: 5

service: service not reached; 3 batches (90 points) waiting; stored there up to batch 20 of 23; last acknowledgement 1m30s ago
spool: 1 MB of 1 GB
last error: no route to host
2 points refused by the service, kept in refused-points.jsonl of the data folder
`; status != 1 || out != want {
		t.Errorf("exit status %d\n%s", status, out)
	}
	status, out, _ = gatewayOutput(t, "status", "--data", folder, "--json")
	var again gateway.Status
	if err := json.Unmarshal([]byte(out), &again); status != 1 || err != nil || len(again.Devices) != 2 || again.Devices[0].PowerW == nil || *again.Devices[0].PowerW != 12_340 || again.Devices[1].PowerW != nil ||
		len(again.Files) != 3 || again.Forward == nil || again.Forward.Batches != 3 {
		t.Errorf("exit status %d, %v: %s", status, err, out)
	}

	// Each matter by itself makes the exit status 1.
	sound := gateway.Status{At: now, Devices: s.Devices[:1]}
	for name, change := range map[string]func(*gateway.Status){
		"a device that cannot be reached": func(s *gateway.Status) { s.Devices = []gateway.DeviceStatus{{State: gateway.StateUnreachable}} },
		"a device without true values":    func(s *gateway.Status) { s.Devices = []gateway.DeviceStatus{{State: gateway.StateSuspect}} },
		"a broker":                        func(s *gateway.Status) { s.Brokers = []gateway.BrokerStatus{{}} },
		"a folder":                        func(s *gateway.Status) { s.Files = []drop.Status{{Error: "gone"}} },
		"a commit":                        func(s *gateway.Status) { s.Error = "disk full" },
		"a key that is refused":           func(s *gateway.Status) { s.Forward = &forward.Status{State: forward.StateRefused} },
		"a wrong clock":                   func(s *gateway.Status) { s.Forward = &forward.Status{State: forward.StateSending, ClockWrong: true} },
	} {
		*s = sound
		change(s)
		if status, out, _ := gatewayOutput(t, "status", "--data", folder); status != 1 {
			t.Errorf("%s: exit status %d\n%s", name, status, out)
		}
	}
	*s = gateway.Status{At: now, Files: []drop.Status{{Name: "exports", Kind: "folder", Place: "/srv/exports", State: gateway.StateReading}}}
	if status, out, _ := gatewayOutput(t, "status", "--data", folder); status != 0 || out != "folder exports (/srv/exports): reading, 0 files processed, 0 of them refused, 0 waiting\n" {
		t.Errorf("of folders alone: exit status %d\n%s", status, out)
	}
	*s = sound
	if status, _, _ := gatewayOutput(t, "status", "--data", folder); status != 0 {
		t.Errorf("all is well: exit status %d", status)
	}
}

// TestGatewayExplain prints the points and registers of a SunSpec device, and those of a
// device with a map.
func TestGatewayExplain(t *testing.T) {
	t.Parallel()
	at, watts, age := time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC), 12_340.0, 3.2
	head := gateway.DeviceStatus{Device: gateway.Device{Asset: "I1", Unit: 3, Base: 40000, Manufacturer: "Example", Model: "INV-50", Serial: "A1"}, Address: "tcp://192.0.2.10:502", State: gateway.StateReading,
		PowerW: &watts, AgeS: &age, Reads: 25, Errors: 1, Error: "no response", ErrorAt: &at, Marks: map[reading.Mark]int{reading.MarkZeros: 2}, Stored: true}
	mapped := head
	mapped.Asset, mapped.Map, mapped.Serial, mapped.Error, mapped.Marks, mapped.Stored = "I2", "huawei-sun2000", "", "", nil, false
	folder := answerAsGateway(t, nil, map[string]gateway.Explanation{
		"I1": {DeviceStatus: head, Version: "1.2", Limit: 125, Blocks: []gateway.Block{{Block: sunspec.Block{ID: 103, Address: 40070, Length: 50}, Name: "inverter", Points: map[string]float64{"W": 12_340, "Hz": 50.01}, Missing: []string{"VA", "VAr"},
			Requests: []gateway.Registers{{Address: 40084, Words: []uint16{1234, 1}}}}}},
		"I2": {DeviceStatus: mapped, Lines: []string{"power_w (register 32080): 12340"}, Registers: []gateway.Registers{{Address: 32080, Words: []uint16{0, 12_340}}}},
	})
	for device, want := range map[string]string{
		"I1": `I1: Example INV-50, serial number A1, version 1.2
reading at tcp://192.0.2.10:502, unit 3, base 40000, at most 125 registers in a request
power 12.3 kW, age 3.2s, 25 readings, 1 error, dropped: zeros 2
last error at 2026-06-15T10:00:00Z: no response

model 103, inverter, 50 registers from 40070
  Hz             50.01
  W              12340
  not implemented: VA VAr
  registers 40084 to 40085: [04d2 0001]
`,
		"I2": `I2: Example INV-50, serial number unknown, version unknown
reading at tcp://192.0.2.10:502, unit 3, map huawei-sun2000
power 12.3 kW, age 3.2s, 25 readings, 1 error, dropped: -
not stored as a unit: its power is that of the inverters, or it measures none
  power_w (register 32080): 12340
  registers 32080 to 32081: [0000 3034]
`,
	} {
		if status, out, errs := gatewayOutput(t, "explain", device, "--data", folder); status != 0 || out != want || errs != "" {
			t.Errorf("exit status %d, %q\n%s", status, errs, out)
		}
	}
	if status, out, errs := gatewayOutput(t, "explain", "I9", "--data", folder); status != 1 || out != "" || !strings.Contains(errs, `device "I9": no such device; sunloop gateway status lists them`) {
		t.Errorf("an unknown device: %d, %q, %q", status, out, errs)
	}
	if status, _, errs := gatewayOutput(t, "explain", "I1", "--data", t.TempDir()); status != 1 || !strings.Contains(errs, "no gateway runs with this data folder") {
		t.Errorf("without a gateway: %d, %q", status, errs)
	}
	status, out, _ := gatewayOutput(t, "explain", "I1", "--data", folder, "--json")
	var e gateway.Explanation
	if err := json.Unmarshal([]byte(out), &e); status != 0 || err != nil || e.Blocks[0].Points["W"] != 12_340 || e.Blocks[0].Requests[0].Address != 40084 {
		t.Errorf("exit status %d, %v: %s", status, err, out)
	}
}

// serving finds the address of the plant metrics in the log.
const serving = `serving plant metrics".*"address":"([^"]+)"`

// logLines collects what a process logs.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logLines) find(pattern string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := regexp.MustCompile(pattern).FindStringSubmatch(l.text.String()); m != nil {
		return m[1]
	}
	return ""
}

// TestGatewayFiles runs a gateway with a folder and one that is not there: status and the
// metrics show each, and that the second is read once it is there.
func TestGatewayFiles(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	here, missing, data, sources := filepath.Join(dir, "here"), filepath.Join(dir, "missing"), filepath.Join(dir, "data"), filepath.Join(dir, "sources.toml")
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	begin := time.Now().UTC().Truncate(time.Hour).Add(-72 * time.Hour)
	rows := "time,power (kW)\n"
	for at := begin; at.Before(time.Now()); at = at.Add(15 * time.Minute) {
		rows += at.Format("2006-01-02 15:04") + "," + map[bool]string{true: "20", false: "0"}[at.Hour() > 6 && at.Hour() < 18] + "\n"
	}
	for name, text := range map[string]string{"good.csv": rows, "bad.csv": "nothing that can be read\n"} {
		if err := os.WriteFile(filepath.Join(here, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[folder]]\nname = \"here\"\npath = %q\npoll = \"1s\"\nsettle = \"1s\"\n[[folder]]\nname = \"missing\"\npath = %q\npoll = \"1s\"\nsettle = \"1s\"\n", here, missing)
	if err := os.WriteFile(sources, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := new(logLines)
	ended := make(chan int, 1)
	ctx := t.Context()
	go func() {
		ended <- run(ctx, []string{"gateway", "run", "--sources", sources, "--data", data, "--plant-metrics", "127.0.0.1:0", "--metrics", ""}, streams{os.Stdin, io.Discard, log})
	}()
	wait := func(what string, is func() bool) {
		t.Helper()
		for limit := time.Now().Add(3 * time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
			select {
			case status := <-ended:
				t.Fatalf("%s: the gateway ended with %d: %s", what, status, &log.text)
			default:
			}
			if time.Now().After(limit) {
				_, out, errs := gatewayOutput(t, "status", "--data", data)
				t.Fatalf("%s: no; %s %s", what, out, errs)
			}
		}
	}
	wait("both files are processed", func() bool {
		_, out, _ := gatewayOutput(t, "status", "--data", data)
		return strings.Contains(out, "2 files processed, 1 of them refused, 0 waiting")
	})
	status, out, _ := gatewayOutput(t, "status", "--data", data)
	if status != 1 || !strings.Contains(out, "folder missing ("+missing+"): not responding, 0 files") || !strings.Contains(out, "; next attempt at 20") {
		t.Errorf("exit status %d, %s", status, out)
	}
	wait("the metrics are served", func() bool { return log.find(serving) != "" })
	metrics := func() string {
		r, err := http.Get("http://" + log.find(serving) + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r.Status, err)
		}
		return string(b)
	}
	is := func(got, name, source, value string) bool {
		return regexp.MustCompile(`(?m)^` + name + `\{site="roof",source="` + source + `",kind="folder"\} ` + value + `$`).MatchString(got)
	}
	got := metrics()
	for _, m := range [][3]string{
		{"sunloop_source_up", "here", "1"}, {"sunloop_source_up", "missing", "0"}, {"sunloop_source_retry_seconds", "missing", `[0-9.e+-]+`}, {"sunloop_source_last_read_seconds", "here", `[0-9.e+-]+`},
		{"sunloop_source_files_total", "here", "2"}, {"sunloop_source_files_refused_total", "here", "1"}, {"sunloop_source_files_waiting", "here", "0"}, {"sunloop_source_files_total", "missing", "0"},
	} {
		if !is(got, m[0], m[1], m[2]) {
			t.Errorf("no %s of %s with %s:\n%s", m[0], m[1], m[2], got)
		}
	}
	for _, absent := range [][2]string{{"sunloop_source_retry_seconds", "here"}, {"sunloop_source_last_read_seconds", "missing"}} {
		if is(got, absent[0], absent[1], ".*") {
			t.Errorf("%s of %s is there:\n%s", absent[0], absent[1], got)
		}
	}
	if strings.Count(got, "# TYPE sunloop_source_files_total counter\n") != 1 {
		t.Errorf("a metric has not one type:\n%s", got)
	}
	if err := os.Mkdir(missing, 0o700); err != nil {
		t.Fatal(err)
	}
	wait("the second folder is read", func() bool {
		status, _, _ := gatewayOutput(t, "status", "--data", data)
		return status == 0 && is(metrics(), "sunloop_source_up", "missing", "1")
	})
}
