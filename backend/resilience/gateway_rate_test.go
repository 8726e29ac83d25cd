//go:build linux

package resilience

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/gateway"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/longtest"
)

// Environment variables of TestGatewayMessages and of the process that publishes for it.
const (
	messageRate   = "SUNLOOP_TEST_GATEWAY_MESSAGES"         // a second
	messageLength = "SUNLOOP_TEST_GATEWAY_MESSAGES_SECONDS" // of each part
	publishTo     = "SUNLOOP_TEST_GATEWAY_PUBLISH"          // port, dialect, rate and number
)

// publishers is how many devices publish in TestGatewayMessages.
const publishers = 200

// TestGatewayMessages states what a message costs a gateway that may use one core. Another
// process publishes to mosquitto with QoS 1, each message an object with the values of a
// device, then each a value. All have to be received.
func TestGatewayMessages(t *testing.T) {
	longtest.Mark(t)
	if os.Getenv(messageRate) == "" {
		t.Skip(messageRate + " is not set")
	}
	rate := fromEnv(t, messageRate, 10_000)
	count := rate * fromEnv(t, messageLength, 30)
	for _, dialect := range []string{"json", "opendtu"} {
		for _, version := range []string{"5", "3.1.1"} {
			t.Run(dialect+"/"+version, func(t *testing.T) { receiveMessages(t, dialect, version, rate, count) })
		}
	}
}

func receiveMessages(t *testing.T, dialect, version string, rate, count int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	base := t.TempDir()
	conf, site, sources := filepath.Join(base, "mosquitto.conf"), filepath.Join(base, "g"), filepath.Join(base, "sources.toml")
	// Without 0 the broker drops what does not fit into its queue of a client.
	write(t, conf, "listener "+port+" 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
	var text strings.Builder
	fmt.Fprintf(&text, "poll = \"5s\"\n[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[mqtt]]\naddress = \"mqtt://127.0.0.1:%s\"\ndialect = %q\nprotocol = %q\n", port, dialect, version)
	if dialect == "json" {
		for path, value := range map[string]string{"time": "time", "ac.power": "power_w", "ac.energy_total": "energy_wh", "ac.voltage": "voltage_v", "dc.1.voltage": "dc1_voltage_v", "dc.1.current": "dc1_current_a", "state": "state"} {
			fmt.Fprintf(&text, "[[mqtt.value]]\ntopic = \"plant/{id}/telemetry\"\npath = %q\nvalue = %q\n", path, value)
		}
	}
	for d := range publishers {
		fmt.Fprintf(&text, "[[mqtt.device]]\nid = \"%d\"\nasset = \"Q%03d\"\nkind = \"inverter\"\ncapacity_kw = 40\n", 1000+d, d)
	}
	write(t, sources, text.String())
	begin := func(c *exec.Cmd) {
		t.Helper()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
	begin(exec.Command("/usr/sbin/mosquitto", "-c", conf))
	c := servetest.Command(site, "gateway", "run", "--sources", sources)
	c.Env = append(c.Env, "GOMAXPROCS=1")
	begin(c)
	broker := func() (b gateway.BrokerStatus) {
		if s, err := gateway.AskStatus(t.Context(), site); err == nil && len(s.Brokers) == 1 {
			b = s.Brokers[0]
		}
		return b
	}
	for range 600 {
		if broker().Connected {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(10 * time.Second) // it has begun
	if b := broker(); b.Version != version || b.Messages != 0 {
		t.Fatalf("not connected by MQTT %s: %+v", version, b)
	}
	before, began := processCPU(c.Process.Pid), time.Now()
	publisher := exec.Command(os.Args[0], "-test.run=^TestPublishMessages$")
	publisher.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", publishTo, port, dialect, rate, count))
	if out, err := publisher.CombinedOutput(); err != nil {
		t.Fatalf("publish: %v\n%s", err, out)
	}
	took := time.Since(began)
	for late := time.Now().Add(time.Minute); broker().Messages < count && time.Now().Before(late); {
		time.Sleep(50 * time.Millisecond)
	}
	rest, used := time.Since(began)-took, processCPU(c.Process.Pid)-before
	b := broker()
	t.Logf("%s over MQTT %s: %d messages published with QoS 1 in %.1f s (%.0f a second), %d received, the last ones %.1f s later; %.2f s of CPU, %.1f µs a message: %.0f messages a second on one core",
		dialect, version, count, took.Seconds(), float64(count)/took.Seconds(), b.Messages, rest.Seconds(), used, used/float64(count)*1e6, float64(count)/used)
	if b.Messages != count || len(b.Refused) > 0 || len(b.Others) > 0 {
		t.Errorf("%d messages of %d received; %+v", b.Messages, count, b)
	}
	s, err := gateway.AskStatus(t.Context(), site)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Devices {
		if d.Reads == 0 || d.AgeS == nil {
			t.Errorf("%s: %d readings, none believed, dropped %v", d.Asset, d.Reads, d.Marks)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// processCPU returns the seconds of CPU that a process has used.
func processCPU(pid int) float64 {
	b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}

// TestPublishMessages is the process that publishes for TestGatewayMessages, by MQTT 3.1.1
// with QoS 1. It ends when the broker has acknowledged all messages.
func TestPublishMessages(t *testing.T) {
	var port, dialect string
	var rate, count int
	if _, err := fmt.Sscan(os.Getenv(publishTo), &port, &dialect, &rate, &count); err != nil {
		t.Skip(publishTo + " is not set")
	}
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	if _, err := io.WriteString(c, "\x10\x0d\x00\x04MQTT\x04\x02\x00\x00\x00\x01p"); err != nil {
		t.Fatal(err)
	}
	var answer [4]byte
	if _, err := io.ReadFull(r, answer[:]); err != nil || answer != [4]byte{0x20, 2, 0, 0} {
		t.Fatalf("%x, %v", answer, err)
	}
	unacknowledged := make(chan struct{}, 1000)
	acknowledged := make(chan error, 1)
	go func() {
		for range count {
			if _, err := io.ReadFull(r, answer[:]); err != nil || answer[0] != 0x40 {
				acknowledged <- fmt.Errorf("%x: %w", answer, err)
				return
			}
			<-unacknowledged
		}
		acknowledged <- nil
	}()
	w := bufio.NewWriter(c)
	began := time.Now()
	for n := range count {
		if n%(rate/100) == 0 { // hundred bursts a second
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		}
		select {
		case unacknowledged <- struct{}{}:
		default:
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			unacknowledged <- struct{}{}
		}
		topic, payload := message(dialect, n, began)
		body := binary.BigEndian.AppendUint16(nil, uint16(len(topic)))
		body = append(body, topic...)
		body = binary.BigEndian.AppendUint16(body, uint16(n%65535+1))
		body = append(body, payload...)
		_, _ = w.Write(binary.AppendUvarint([]byte{0x32}, uint64(len(body)))) // an error is that of Flush
		_, _ = w.Write(body)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := <-acknowledged; err != nil {
		t.Fatal(err)
	}
}

// message is number n of those that are published.
func message(dialect string, n int, began time.Time) (topic, payload string) {
	device, round := 1000+n%publishers, n/publishers
	watts := 10_000 + (n*7919)%5000
	if dialect == "json" {
		return fmt.Sprintf("plant/%d/telemetry", device), fmt.Sprintf(`{"time":%q,"ac":{"power":%d,"energy_total":%d,"voltage":%.1f},"dc":{"1":{"voltage":%.1f,"current":%.2f}},"state":4}`,
			time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), watts, 50_000_000+int(time.Since(began).Seconds()*3), 230+float64(n%50)/10, 610+float64(n%70)/10, 15+float64(n%90)/100)
	}
	values := []struct {
		name  string
		value float64
	}{{"0/power", float64(watts)}, {"0/voltage", 230 + float64(n%50)/10}, {"0/frequency", 50}, {"0/yieldtotal", 50_000}, {"1/voltage", 610 + float64(n%70)/10}, {"1/current", 15 + float64(n%90)/100}}
	v := values[round%len(values)]
	return fmt.Sprintf("solar/%d/%s", device, v.name), strconv.FormatFloat(v.value, 'f', 2, 64)
}
