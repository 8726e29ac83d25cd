package gateway

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"app.sunloop/backend/store"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/series"
)

// testBroker is a broker that records what its clients publish.
type testBroker struct {
	*broker.Server
	address string

	mu        sync.Mutex
	published []string // by others than the test
}

// recorder is the hook that records.
type recorder struct {
	broker.HookBase
	of *testBroker
}

func (r *recorder) ID() string           { return "recorder" }
func (r *recorder) Provides(b byte) bool { return b == broker.OnPublish }
func (r *recorder) OnPublish(c *broker.Client, p packets.Packet) (packets.Packet, error) {
	if !c.Net.Inline {
		r.of.mu.Lock()
		r.of.published = append(r.of.published, p.TopicName)
		r.of.mu.Unlock()
	}
	return p, nil
}

func startBroker(t testing.TB, address string, t2 *tls.Config) *testBroker {
	t.Helper()
	b := &testBroker{Server: broker.New(&broker.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})}
	l := listeners.NewTCP(listeners.Config{ID: "t", Address: address, TLSConfig: t2})
	for _, err := range []error{b.AddHook(new(auth.AllowHook), nil), b.AddHook(&recorder{of: b}, nil), b.AddListener(l), b.Serve()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b.address = l.Address()
	t.Cleanup(func() { b.Close() })
	return b
}

func (b *testBroker) publish(t testing.TB, topic, payload string, retain bool) {
	t.Helper()
	if err := b.Publish(topic, []byte(payload), retain, 1); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 3000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %s", what)
}

// feedPoller returns a Poller of a sources file, which stores each second, and receives.
func feedPoller(t testing.TB, text string, now *time.Time) (*Poller, *memory) {
	t.Helper()
	c, err := Parse([]byte("poll = \"1s\"\nstep = \"1s\"\n[site]\nid = \"roof\"\nlatitude = 48.0\nlongitude = 11.0\ntimezone = \"Europe/Berlin\"\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	m := new(memory)
	var mu sync.Mutex
	p, err := NewPoller(Options{Config: c, Store: m, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return *now
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, m
}

// receiving connects the feeds of a Poller.
func (p *Poller) receiving(t testing.TB) {
	t.Helper()
	var running sync.WaitGroup
	for _, f := range p.feeds {
		running.Go(func() {
			if err := f.client.Run(t.Context()); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(running.Wait) // after the context of the test ended
	until(t, "connection", func() bool {
		return !slices.ContainsFunc(p.Status().Brokers, func(b BrokerStatus) bool { return !b.Connected })
	})
}

func (p *Poller) messages() int {
	n := 0
	for _, b := range p.Status().Brokers {
		n += b.Messages
	}
	return n
}

const dtuFile = `[[mqtt]]
address = "mqtt://%s"
dialect = "opendtu"
[[mqtt.device]]
id = "114100000001"
asset = "I1"
kind = "inverter"
capacity_kw = 2.0
`

// TestMessagesOnce: of values that are published one by one, repeated, retained, and
// retained again after a lost connection, each reading is stored once.
func TestMessagesOnce(t *testing.T) {
	b := startBroker(t, "127.0.0.1:0", nil)
	b.publish(t, "solar/114100000001/0/power", "999", true) // of yesterday
	b.publish(t, "solar/114100000001/status/reachable", "1", true)
	now := noon
	p, m := feedPoller(t, fmt.Sprintf(dtuFile, b.address), &now)
	p.receiving(t)
	until(t, "retained messages", func() bool { return p.messages() == 2 })
	step := func() {
		t.Helper()
		now = now.Add(2 * time.Second)
		for _, f := range p.feeds {
			p.flush(f, now)
		}
		p.commit(t.Context(), now)
	}
	step()
	if f := m.frames["I1"]; f.Len() != 0 {
		t.Fatalf("a retained message was stored: %+v", f)
	}
	publish := func(watts string, times int) {
		t.Helper()
		n := p.messages()
		for range times {
			b.publish(t, "solar/114100000001/0/power", watts, true)
			b.publish(t, "solar/114100000001/0/voltage", "230.1", true)
			b.publish(t, "solar/114100000001/1/voltage", "31.5", true)
			b.publish(t, "solar/114100000001/0/yieldtotal", "12.5", true)
		}
		b.publish(t, "solar/999/0/power", "1", false)
		until(t, "messages", func() bool { return p.messages() == n+4*times+1 })
		step()
	}
	publish("1000", 2)
	publish("1100", 1)
	n := p.messages()
	for _, c := range b.Clients.GetAll() {
		if strings.HasPrefix(c.ID, "sunloop-") {
			c.Stop(io.EOF)
		}
	}
	until(t, "retained messages again", func() bool { return p.messages() == n+5 })
	step()
	publish("1200", 1)
	f := m.frames["I1"]
	if f.Len() != 3 || f.At(series.PowerKW, 0) != 1 || f.At(series.PowerKW, 1) != 1.1 || f.At(series.PowerKW, 2) != 1.2 || f.At(series.DCVoltage(1), 1) != 31.5 || f.At(series.EnergyCounterKWh, 2) != 12.5 {
		t.Errorf("%+v", f)
	}
	b.publish(t, "solar/114100000001/0/power", "0", true)
	b.publish(t, "solar/114100000001/status/reachable", "0", true)
	until(t, "last message", func() bool { return p.Status().Brokers[0].Messages >= n+5+5+2 })
	step()
	if s := p.Status(); m.frames["I1"].Len() != 3 || s.Devices[0].State != StateUnreachable || s.Devices[0].PowerW != nil || !slices.Equal(s.Brokers[0].Others, []string{"999"}) {
		t.Errorf("%d samples, %+v", m.frames["I1"].Len(), s)
	}
	if len(b.published) != 0 {
		t.Errorf("published %v", b.published)
	}
}

// TestVictronOverBroker: what is published is the request for values, and nothing else, in
// both versions of the protocol.
func TestVictronOverBroker(t *testing.T) {
	for _, version := range []string{"5", "3.1.1"} {
		b := startBroker(t, "127.0.0.1:0", nil)
		now := noon
		file := strings.ReplaceAll(fmt.Sprintf(dtuFile, b.address), `dialect = "opendtu"`, fmt.Sprintf("dialect = \"victron\"\nprotocol = %q", version))
		p, m := feedPoller(t, file+"[[mqtt.device]]\nid = \"c0ffee/20\"\nasset = \"V\"\nkind = \"inverter\"\n", &now)
		p.receiving(t)
		b.publish(t, "N/other/system/0/Serial", `{"value":"other"}`, false)
		b.publish(t, "N/c0ffee/pvinverter/20/Ac/Power", `{"value":1500}`, false)
		until(t, "messages", func() bool { return p.messages() == 2 })
		now = now.Add(2 * time.Second)
		for _, r := range p.flush(p.feeds[0], now) {
			p.publish(t.Context(), p.feeds[0], r)
		}
		p.commit(t.Context(), now)
		until(t, "request", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			slices.Sort(b.published)
			return slices.Equal(b.published, []string{"R/114100000001/keepalive", "R/c0ffee/keepalive", "R/other/keepalive"})
		})
		if f := m.frames["V"]; f.Len() != 1 || f.At(series.PowerKW, 0) != 1.5 {
			t.Errorf("%+v", f)
		}
		if e, ok := p.Explain("V"); !ok || e.MQTT != version || p.Status().Brokers[0].Version != version {
			t.Errorf("%q, %+v", e.MQTT, p.Status().Brokers)
		}
		if r, err := p.Sources(""); err != nil || r.Brokers[0].Version != version || r.Brokers[0].Dialect != "victron" || !r.Brokers[0].Connected {
			t.Errorf("%+v, %v", r.Brokers, err)
		}
	}
}

// TestLateMessages: values of the past with their own times are stored under these times,
// those of the future and of intervals that are over are not.
func TestLateMessages(t *testing.T) {
	now := noon
	p, m := feedPoller(t, `[[mqtt]]
address = "mqtt://127.0.0.1:1"
dialect = "json"
[[mqtt.value]]
topic = "plant/{id}"
path = "t"
value = "time"
[[mqtt.value]]
topic = "plant/{id}"
path = "w"
value = "power_w"
[[mqtt.value]]
topic = "plant/{id}"
path = "wh"
value = "energy_wh"
[[mqtt.device]]
id = "a"
asset = "A"
kind = "inverter"
capacity_kw = 5.0
`, &now)
	f := p.feeds[0]
	send := func(at time.Time, watts, wh int, retained bool) {
		p.receive(f, "plant/a", fmt.Appendf(nil, `{"t":%q,"w":%d,"wh":%d}`, at.Format(time.RFC3339), watts, wh), retained)
		now = now.Add(time.Second)
		p.flush(f, now)
		p.commit(t.Context(), now)
	}
	send(noon, 1000, 5000, false)
	send(noon.Add(-time.Hour), 700, 4000, false) // came late
	send(noon.Add(-time.Hour), 700, 4000, false) // repeated
	send(noon.Add(-2*time.Hour), 900, 9000, false)
	send(noon.Add(time.Hour), 800, 6000, false)
	send(noon.Add(-24*time.Hour), 600, 3000, true)
	send(noon.Add(-46*24*time.Hour), 500, 2000, false)
	got := m.frames["A"]
	if got.Len() != 3 || got.At(series.PowerKW, 1) != 0.7 || got.At(series.PowerKW, 2) != 1 || !math.IsNaN(got.At(series.EnergyCounterKWh, 0)) || got.At(series.EnergyCounterKWh, 1) != 4 {
		t.Errorf("%+v", got)
	}
	want := map[string]int{"times ahead of the clock": 1, "retained values of before": 1, "times of more than 45 days ago": 1}
	if s := p.Status(); fmt.Sprint(s.Brokers[0].Refused) != fmt.Sprint(want) || s.Devices[0].Marks[reading.MarkCounterFell] != 1 || *s.Devices[0].PowerW != 1000 {
		t.Errorf("%+v %+v", s.Brokers, s.Devices)
	}
	now = now.Add(20 * time.Minute)
	p.commit(t.Context(), now)
	send(noon, 1, 5000, false) // its interval was stored long ago
	if got := m.frames["A"]; got.Len() != 3 || got.At(series.PowerKW, 2) != 1 || p.Status().Devices[0].Marks[reading.MarkLate] != 1 {
		t.Errorf("%+v", got)
	}
	if s := p.Status().Devices[0]; s.State != StateUnreachable || !strings.Contains(s.Error, "nothing was published for 20m") {
		t.Errorf("%+v", s)
	}
}

// certificate makes a certificate for 127.0.0.1 that is its own authority, and writes it
// and its key.
func certificate(t *testing.T, name string) (tls.Certificate, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(t.TempDir(), name+".pem"), filepath.Join(t.TempDir(), name+".key")
	for file, b := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return pair, certFile, keyFile
}

// TestBrokerTLS connects with a client certificate to a broker that requires one, and
// refuses one whose certificate is not trusted.
func TestBrokerTLS(t *testing.T) {
	pair, ca, _ := certificate(t, "broker")
	client, clientFile, keyFile := certificate(t, "client")
	pool := x509.NewCertPool()
	pool.AddCert(client.Leaf)
	b := startBroker(t, "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})
	file := strings.Replace(fmt.Sprintf(dtuFile, b.address), "mqtt://", "mqtts://", 1)
	now := noon
	for _, tt := range []struct {
		keys    string
		trusted bool
	}{
		{fmt.Sprintf("ca_file = %q\ncertificate_file = %q\nkey_file = %q\n", ca, clientFile, keyFile), true},
		{fmt.Sprintf("certificate_file = %q\nkey_file = %q\n", clientFile, keyFile), false},
		{fmt.Sprintf("ca_file = %q\n", ca), false},
	} {
		p, _ := feedPoller(t, strings.Replace(file, "dialect", tt.keys+"dialect", 1), &now)
		if tt.trusted {
			p.receiving(t)
			continue
		}
		f := p.feeds[0]
		go func() { _ = f.client.Run(t.Context()) }()
		until(t, "refusal", func() bool { return p.Status().Brokers[0].Error != "" })
		if s := p.Status().Brokers[0]; s.Connected {
			t.Errorf("%+v", s)
		}
	}
}

// TestMQTTConfig refuses sources that cannot work, with the key.
func TestMQTTConfig(t *testing.T) {
	valid := fmt.Sprintf(dtuFile, "192.168.1.5:1883")
	for _, tt := range []struct{ from, to, want string }{
		{"", "", ""},
		{"mqtt://192.168.1.5:1883", "mqtt://198.51.100.7", "without TLS"},
		{"mqtt://192.168.1.5:1883", "http://192.168.1.5", "must be mqtts://"},
		{"mqtt://192.168.1.5:1883", "mqtts://198.51.100.7", ""},
		{"\"opendtu\"", "\"dtu\"", "unknown dialect"},
		{"id = \"114100000001\"\n", "", "id of I1: required"},
		{"kind = \"inverter\"", "kind = \"inverter\"\nunit = 3", "over Modbus"},
		{"dialect", "ca_file = \"x\"\ndialect", "certificates need mqtts"},
		{"dialect", "user = \"u\"\npassword_file = \"/none\"\ndialect", "password_file"},
		{"dialect", "timezone = \"Mars\"\ndialect", "timezone"},
		{"dialect", "protocol = \"3.1.1\"\ndialect", ""},
		{"dialect", "protocol = \"4\"\ndialect", "protocol \"4\": must be auto, 5 or 3.1.1"},
		{"dialect", "home_assistant = \"a/#\"\ndialect", "home_assistant"},
		{"[[mqtt.device]]", "[[mqtt.value]]\ntopic = \"a/{id}\"\nvalue = \"watts\"\n[[mqtt.device]]", "unknown value"},
		{"[[mqtt.device]]", "[[mqtt.value]]\ntopic = \"a/{id}\"\nvalue = \"state\"\nstates = [\"9:9\"]\n[[mqtt.device]]", "invalid state"},
	} {
		_, err := Parse([]byte("[site]\nid = \"roof\"\n" + strings.Replace(valid, tt.from, tt.to, 1)))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.to, err, tt.want)
		}
	}
}

// TestHomeAssistant: the site is announced with its values when the connection or Home
// Assistant begins, and is offline when the gateway ends.
func TestHomeAssistant(t *testing.T) {
	b := startBroker(t, "127.0.0.1:0", nil)
	var mu sync.Mutex
	got := map[string][]string{}
	if err := b.Subscribe("#", 1, func(_ *broker.Client, _ packets.Subscription, p packets.Packet) {
		mu.Lock()
		defer mu.Unlock()
		got[p.TopicName] = append(got[p.TopicName], string(p.Payload))
	}); err != nil {
		t.Fatal(err)
	}
	of := func(topic string, n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got[topic]) >= n
		}
	}
	c, err := Parse([]byte("[site]\nid = \"roof/1\"\nname = \"Roof\"\n" + strings.Replace(fmt.Sprintf(dtuFile, b.address), "dialect", "home_assistant = \"homeassistant\"\ndialect", 1)))
	if err != nil {
		t.Fatal(err)
	}
	power := 12.5
	p, err := NewPoller(Options{Config: c, Store: new(memory), Log: slog.New(slog.DiscardHandler), Now: time.Now, Facts: func(context.Context, Site) (Facts, error) {
		return Facts{PowerKW: &power, Findings: 1, WorstFinding: strings.Repeat("x", 300)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	const config, state, status = "homeassistant/device/sunloop_roof_1/config", "sunloop/roof_1/state", "sunloop/roof_1/status"
	until(t, "state", of(state, 1))
	b.publish(t, "homeassistant/status", "online", false)
	until(t, "second announcement", of(config, 2))
	cancel()
	running.Wait()
	until(t, "will", of(status, 3))
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"online", "online", "offline"}; !slices.Equal(got[status], want) {
		t.Errorf("%v, want %v", got[status], want)
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(got[state][0]), &values); err != nil || values["power_kw"] != 12.5 || values["energy_today_kwh"] != nil || len([]rune(values["worst_finding"].(string))) != longestState {
		t.Errorf("%s, %v", got[state][0], err)
	}
	var found struct {
		Stat  string `json:"stat_t"`
		Avty  string `json:"avty_t"`
		Parts map[string]struct {
			Template string `json:"val_tpl"`
			Class    string `json:"dev_cla"`
			ID       string `json:"uniq_id"`
		} `json:"cmps"`
	}
	if err := json.Unmarshal([]byte(got[config][0]), &found); err != nil || found.Stat != state || found.Avty != status || found.Parts["power_kw"].Class != "power" || found.Parts["power_kw"].ID != "sunloop_roof_1_power_kw" {
		t.Errorf("%s, %v", got[config][0], err)
	}
	for key := range found.Parts {
		if _, ok := values[key]; !ok {
			t.Errorf("the state has no %s", key)
		}
	}
	for topic := range got {
		if topic != config && topic != state && topic != status && topic != "homeassistant/status" && !strings.HasPrefix(topic, "$SYS") {
			t.Errorf("published on %s", topic)
		}
	}
}

// TestExporter: what is being read is exported, and what is not is left out.
func TestExporter(t *testing.T) {
	now := noon
	p, _ := feedPoller(t, strings.ReplaceAll(fmt.Sprintf(dtuFile, "127.0.0.1:1"), `"I1"`, `'I"1'`), &now)
	f := p.feeds[0]
	for topic, value := range map[string]string{"0/power": "1500.5", "0/yieldtotal": "12.5", "1/voltage": "31", "2/voltage": "32"} {
		p.receive(f, "solar/114100000001/"+topic, []byte(value), false)
	}
	now = now.Add(2 * time.Second)
	p.flush(f, now)
	scrape := func() string {
		w := httptest.NewRecorder()
		p.Exporter().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	got := scrape()
	for _, want := range []string{
		"# TYPE sunloop_device_energy_watthours_total counter\n", `sunloop_device_up{site="roof",device="I\"1",kind="inverter"} 1`, `sunloop_device_power_watts{site="roof",device="I\"1",kind="inverter"} 1500.5`,
		`sunloop_device_energy_watthours_total{site="roof",device="I\"1",kind="inverter"} 12500`, `sunloop_device_dc_voltage_volts{site="roof",device="I\"1",kind="inverter",input="2"} 32`,
		`sunloop_device_last_seen_seconds{site="roof",device="I\"1",kind="inverter"} 2`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	now = now.Add(time.Hour)
	p.flush(f, now)
	if got := scrape(); strings.Contains(got, "power_watts{") || !strings.Contains(got, `sunloop_device_up{site="roof",device="I\"1",kind="inverter"} 0`) {
		t.Errorf("%s", got)
	}
}

// BenchmarkMessages receives messages of OpenDTU and of Sparkplug, without the broker.
func BenchmarkMessages(b *testing.B) {
	now := noon
	var file strings.Builder
	fmt.Fprintf(&file, "[[mqtt]]\naddress = \"mqtt://127.0.0.1:1\"\ndialect = \"opendtu\"\n")
	topics := []string{}
	for i := range 100 {
		fmt.Fprintf(&file, "[[mqtt.device]]\nid = \"%d\"\nasset = \"A%d\"\nkind = \"inverter\"\n", i, i)
		for _, v := range []string{"0/power", "0/voltage", "0/frequency", "0/yieldtotal", "1/voltage", "1/current", "2/voltage", "2/current", "0/temperature", "0/powerdc"} {
			topics = append(topics, fmt.Sprintf("solar/%d/%s", i, v))
		}
	}
	p, _ := feedPoller(b, file.String(), &now)
	var discard discardStore
	p.options.Store = &discard
	f := p.feeds[0]
	for i := 0; b.Loop(); i++ {
		p.receive(f, topics[i%len(topics)], fmt.Appendf(nil, "%d.5", 200+i%50), false)
		if i%len(topics) == len(topics)-1 { // as if each device published each 100 ms
			now = now.Add(100 * time.Millisecond)
			if now.Nanosecond() == 0 {
				p.flush(f, now.Add(time.Second))
				p.commit(b.Context(), now)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// discardStore is a Store that keeps nothing.
type discardStore struct{ memory }

func (*discardStore) Append(_ context.Context, _ string, _ []store.AssetFrame, _ bool) error {
	return nil
}
