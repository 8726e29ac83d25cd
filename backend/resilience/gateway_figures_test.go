//go:build linux

package resilience

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/gateway"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/longtest"
)

// gatewaySeconds is the environment variable with the seconds of each part of
// TestGatewayFigures.
const gatewaySeconds = "SUNLOOP_TEST_GATEWAY_SECONDS"

// TestGatewayFigures states what a gateway costs that reads ten inverters over Modbus and
// ten over MQTT each 5 s and sends them to a service, and how it catches up after a cut.
// SUNLOOP_TEST_GATEWAY_PROGRAM names the program of the gateway's build.
func TestGatewayFigures(t *testing.T) {
	longtest.Mark(t)
	if os.Getenv(gatewaySeconds) == "" {
		t.Skip(gatewaySeconds + " is not set")
	}
	length := time.Duration(fromEnv(t, gatewaySeconds, 60)) * time.Second
	tools, err := filepath.Abs("../../../shared/tools")
	if err != nil {
		t.Fatal(err)
	}
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	begin := func(name string, args ...string) {
		c := exec.Command(name, args...)
		if err := c.Start(); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
	base, broker, devices := t.TempDir(), free(), free()
	conf := filepath.Join(base, "mosquitto.conf")
	if err := os.WriteFile(conf, []byte("listener "+broker+" 127.0.0.1\nallow_anonymous true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin("/usr/sbin/mosquitto", "-c", conf)
	begin(filepath.Join(tools, "sunspec-sim"), "--tcp", devices, "--devices", "10", "--tick", "2", "--start", "2026-06-15T10:00:00")
	for _, port := range []string{broker, devices} {
		for late := time.Now().Add(servetest.ReadyWithin); ; time.Sleep(100 * time.Millisecond) {
			c, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				c.Close()
				break
			}
			if time.Now().After(late) {
				t.Fatal(err)
			}
		}
	}
	begin(filepath.Join(tools, "plant-mqtt"), "--port", broker, "--devices", "10", "--interval", "5", "--dialects", "json")

	link := startLink(t)
	dir, site := filepath.Join(base, "s"), filepath.Join(base, "g")
	service, _ := startJoined(t, link, dir, site, 400)
	target := addressOf(service)
	var text strings.Builder
	fmt.Fprintf(&text, "poll = \"5s\"\nstep = \"5s\"\ncommit = \"10s\"\n[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[source]]\naddress = \"tcp://127.0.0.1:%s\"\n", devices)
	for u := 1; u <= 10; u++ {
		fmt.Fprintf(&text, "[[source.device]]\nasset = \"M%02d\"\nkind = \"inverter\"\nunit = %d\nbase = 40000\ncapacity_kw = 40\n", u, u)
	}
	fmt.Fprintf(&text, "[[mqtt]]\naddress = \"mqtt://127.0.0.1:%s\"\ndialect = \"json\"\n", broker)
	for path, value := range map[string]string{"time": "time", "ac/power": "power_w", "ac/energy_total": "energy_wh", "ac/voltage": "voltage_v", "dc/1/voltage": "dc1_voltage_v", "dc/1/current": "dc1_current_a", "state": "state"} {
		fmt.Fprintf(&text, "[[mqtt.value]]\ntopic = \"plant/{id}/telemetry\"\npath = %q\nvalue = %q\n", path, value)
	}
	for u := 1; u <= 10; u++ {
		fmt.Fprintf(&text, "[[mqtt.device]]\nid = \"inv%d\"\nasset = \"Q%02d\"\nkind = \"inverter\"\ncapacity_kw = 40\n", u, u)
	}
	sources := filepath.Join(base, "sources.toml")
	if err := os.WriteFile(sources, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := servetest.Command(site, "gateway", "run", "--sources", sources)
	if program := os.Getenv("SUNLOOP_TEST_GATEWAY_PROGRAM"); program != "" {
		c.Path = program
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	proc := filepath.Join("/proc", strconv.Itoa(c.Process.Pid))
	number := func(file, field string) float64 {
		b, _ := os.ReadFile(filepath.Join(proc, file))
		m := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+)`).FindSubmatch(b)
		if m == nil {
			return 0
		}
		v, _ := strconv.ParseFloat(string(m[1]), 64)
		return v
	}
	cpu := func() float64 { return processCPU(c.Process.Pid) }
	time.Sleep(30 * time.Second) // it has begun
	cpu0, written0, sent0 := cpu(), number("io", "write_bytes"), link.sent()
	time.Sleep(length)
	s := length.Seconds()
	status, err := gateway.AskStatus(t.Context(), site)
	if err != nil || status.Forward == nil {
		t.Fatal(err)
	}
	read := 0
	for _, d := range status.Devices {
		if d.AgeS != nil && *d.AgeS < 30 { // at night it may be asleep
			read++
		} else {
			t.Logf("%s: %s, %s", d.Asset, d.State, d.Error)
		}
	}
	t.Logf("%d of 20 devices read each 5 s for %.0f s: %.2f %% of a core, %.1f MiB resident, %.1f MiB of them not file pages, %.1f KiB/s written, %.1f KiB/s sent", read, s,
		100*(cpu()-cpu0)/s, number("status", "VmRSS")/1024, number("status", "RssAnon")/1024, (number("io", "write_bytes")-written0)/s/1024, float64(link.sent()-sent0)/s/1024)
	if read < 20 {
		t.Errorf("%d of 20 devices are read", read)
	}
	link.to("")
	time.Sleep(length)
	status, err = gateway.AskStatus(t.Context(), site)
	if err != nil {
		t.Fatal(err)
	}
	waiting := status.Forward.Points
	link.to(target)
	began := time.Now()
	for status.Forward.Points > 0 {
		if status, err = gateway.AskStatus(t.Context(), site); err != nil || time.Since(began) > 6*time.Minute {
			t.Fatalf("it did not catch up: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("after a cut of %.0f s, %d points that waited were stored %.1f s after the link was there again, the pause before the attempt included", s, waiting, time.Since(began).Seconds())
	if waiting == 0 || status.Forward.Refused > 0 || status.Forward.Dropped > 0 {
		t.Errorf("%d points waited; %+v", waiting, status.Forward)
	}
}
