package dialect

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"app.sunloop/engine/reading"
)

var now = time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)

func source(t testing.TB, name string, o Options) Source {
	t.Helper()
	s, err := New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// summary is what a message says, as a text.
func summary(list []Message) string {
	var out []string
	for _, m := range list {
		words := []string{m.Device}
		if !m.At.IsZero() {
			words = append(words, m.At.Format("15:04:05"))
		}
		for _, name := range append(reading.FieldNames(), "dc1_voltage_v", "dc2_voltage_v", "dc2_power_w") {
			if f, err := reading.ParseField(name); err == nil && !math.IsNaN(f.Get(&m.Values)) {
				words = append(words, fmt.Sprintf("%s=%.6g", name, f.Get(&m.Values)))
			}
		}
		switch m.Online {
		case OnlineYes:
			words = append(words, "online")
		case OnlineNo:
			words = append(words, "offline")
		}
		if !math.IsNaN(m.Updated) {
			words = append(words, fmt.Sprintf("updated=%.0f", m.Updated))
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, "; ")
}

// TestMessages reads a message of each dialect as its publisher sends it.
func TestMessages(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	plant := []Rule{{Topic: "plant/{id}/telemetry", Path: "time", Value: "time"}, {Topic: "plant/{id}/telemetry", Path: "ac/power", Value: "power_w"},
		{Topic: "plant/{id}/telemetry", Path: "ac.total", Value: "energy_wh", Unit: "MWh"}, {Topic: "plant/{id}/telemetry", Path: "strings.1.u", Value: "dc2_voltage_v"},
		{Topic: "meter/{any}/w", Path: "-", Value: "power_w", Unit: "kW", Factor: -1}}
	for _, tt := range []struct{ dialect, topic, payload, want string }{
		{"opendtu", "solar/114100000001/0/power", "123.4", "114100000001 power_w=123.4"},
		{"opendtu", "solar/114100000001/0/yieldtotal", "12.5", "114100000001 energy_wh=12500"},
		{"opendtu", "solar/114100000001/2/voltage", "31.5", "114100000001 dc2_voltage_v=31.5"},
		{"opendtu", "solar/114100000001/0/voltage", "230", "114100000001 voltage_v=230"},
		{"opendtu", "solar/114100000001/status/reachable", "0", "114100000001 offline"},
		{"opendtu", "solar/114100000001/status/last_update", "1781517600", "114100000001 updated=1781517600"},
		{"opendtu", "solar/dtu/status", "offline", " offline"},
		{"opendtu", "solar/114100000001/0/power", "nan", ""},
		{"opendtu", "solar/114100000001/0/power", "", ""},
		{"opendtu", "solar/114100000001/99/voltage", "1", ""},
		{"opendtu", "solar/114100000001/cmd/power", "1", ""},
		{"solaredge2mqtt", "solaredge/modbus/inverter", `{"info":{"serialnumber":"7E"},"ac":{"power":{"actual":4200.5,"factor":99.9},"voltage":{"l1n":231},"frequency":50.01,"current":{"actual":18}},"dc":{"voltage":750,"current":5.7,"power":4275},"energytotal":123456,"temperature":41.5,"status":4}`,
			"inverter cabinet_c=41.5 current_a=18 dc_power_w=4275 energy_wh=123456 frequency_hz=50.01 power_w=4200.5 state=4 voltage_v=231 dc1_voltage_v=750"},
		{"solaredge2mqtt", "solaredge/modbus/follower1/inverter", `{"ac":{"power":{"actual":1}}}`, "follower1 power_w=1"},
		{"victron", "N/c0ffee000001/pvinverter/20/Ac/Power", `{"value": 3000.5}`, "c0ffee000001/20 power_w=3000.5"},
		{"victron", "N/c0ffee000001/pvinverter/20/Ac/Energy/Forward", `{"value": 3.5}`, "c0ffee000001/20 energy_wh=3500"},
		{"victron", "N/c0ffee000001/pvinverter/20/Ac/Power", `{"value": null}`, ""},
		{"victron", "N/c0ffee000001/pvinverter/20/StatusCode", `{"value": 10}`, "c0ffee000001/20 state=7 vendor_state=10"},
		{"victron", "N/c0ffee000001/pvinverter/20/StatusCode", `{"value": 77}`, "c0ffee000001/20 vendor_state=77"},
		{"tasmota", "tele/inv1/SENSOR", `{"Time":"2026-06-15T12:00:00","ENERGY":{"Total":12.5,"Power":350}}`, "inv1 10:00:00 energy_wh=12500 power_w=350"},
		{"tasmota", "tele/inv1/LWT", "Offline", "inv1 offline"},
		{"json", "plant/a/telemetry", `{"time":"2026-06-15T10:00:00.25Z","ac/power":"1,5","ac":{"total":0.002},"strings":[{"u":1},{"u":600}]}`, "a 10:00:00 energy_wh=2000 power_w=1.5 dc2_voltage_v=600"},
		{"json", "plant/a/telemetry", `{"time":1781517600,"ac/power":1}`, "a 10:00:00 power_w=1"},
		{"json", "plant/a/telemetry", `{"time":1781517600123,"ac/power":1e400}`, ""},
		{"json", "plant/a/telemetry", `{"ac/power":1}`, "error"},
		{"json", "plant/a/telemetry", `{"time":`, "error"},
		{"json", "plant/a/telemetry", `[1]`, "error"},
		{"json", "meter/x/w", "-2.5", " power_w=2500"},
	} {
		o := Options{Location: berlin}
		if tt.dialect == JSON {
			o.Rules = plant
		}
		list, err := source(t, tt.dialect, o).Handle(now, tt.topic, []byte(tt.payload))
		got := summary(list)
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%s %s %s:\n got %q\nwant %q", tt.dialect, tt.topic, tt.payload, got, tt.want)
		}
	}
}

// TestLocalTime reads both passes of the hour that the end of summer time repeats, each
// near to the time of its arrival.
func TestLocalTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []time.Time{time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)} {
		if got, err := moment("2026-10-25T02:30:00", berlin, want.Add(2*time.Second)); err != nil || !got.Equal(want) {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// TestFilters: no filter of a dialect is covered by another one, and none has commands.
func TestFilters(t *testing.T) {
	for _, name := range Names() {
		if name == JSON {
			continue
		}
		filters := source(t, name, Options{}).Filters()
		if len(filters) == 0 {
			t.Errorf("%s subscribes to nothing", name)
		}
		for _, f := range filters {
			if strings.Contains(f, "cmd") || strings.Contains(f, "CMD") || strings.HasPrefix(f, "W/") || strings.HasPrefix(f, "cmnd/") || strings.Contains(f, "#") {
				t.Errorf("%s subscribes to %s", name, f)
			}
		}
	}
	if got := strings.Join(source(t, "opendtu", Options{Prefix: "x/"}).Filters(), " "); got != "x/+/+/current x/+/+/power x/+/+/voltage x/+/0/frequency x/+/0/powerdc x/+/0/powerfactor x/+/0/reactivepower x/+/0/temperature x/+/0/yieldtotal x/+/status/last_update x/+/status/reachable x/dtu/status" {
		t.Errorf("%s", got)
	}
}

// TestWrongRules refuses mappings that cannot work.
func TestWrongRules(t *testing.T) {
	for _, tt := range []struct {
		dialect string
		rule    Rule
		want    string
	}{
		{JSON, Rule{Topic: "a/{id}", Path: "p", Value: "watts"}, `unknown value "watts"`},
		{JSON, Rule{Topic: "a/{id}", Path: "p", Value: "power_w", Unit: "kWh"}, `power_w has no unit "kWh"`},
		{JSON, Rule{Topic: "a/#", Path: "p", Value: "power_w"}, "the parts that vary are"},
		{JSON, Rule{Topic: "a/+/b", Path: "p", Value: "power_w"}, "the parts that vary are"},
		{JSON, Rule{Topic: "a/{id}", Path: "p", Value: "dc{n}_voltage_v"}, "both or none have {n}"},
		{JSON, Rule{Topic: "", Path: "p", Value: "power_w"}, "from 1 to"},
		{Sparkplug, Rule{Topic: "{id}", Path: "t", Value: "time"}, "remove time"},
		{"modbus", Rule{}, "unknown dialect"},
	} {
		if _, err := New(tt.dialect, Options{Rules: []Rule{tt.rule}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.rule, err, tt.want)
		}
	}
	if _, err := New(JSON, Options{}); err == nil {
		t.Error("a mapping without values is accepted")
	}
}

// TestVictronKeepAlive: a gateway is asked for all values first, then kept publishing.
func TestVictronKeepAlive(t *testing.T) {
	s := source(t, Victron, Options{})
	s.Connected()
	if got := s.Requests(now); len(got) != 0 {
		t.Fatalf("%v before a gateway is known", got)
	}
	if _, err := s.Handle(now, "N/c0ffee000001/system/0/Serial", []byte(`{"value":"c0ffee000001"}`)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range 5 {
		for _, r := range s.Requests(now.Add(time.Duration(i) * 15 * time.Second)) {
			got = append(got, fmt.Sprintf("%d %s %d", i, r.Topic, len(r.Payload)))
		}
	}
	if want := "0 R/c0ffee000001/keepalive 0,2 R/c0ffee000001/keepalive 44,4 R/c0ffee000001/keepalive 44"; strings.Join(got, ",") != want {
		t.Errorf("%v", got)
	}
}

// metricOf encodes a metric of a test.
func metricOf(name string, alias, datatype, ms uint64, unit string, number protowire.Number, v uint64, null bool) []byte {
	var m []byte
	varint := func(n protowire.Number, v uint64) {
		m = protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), v)
	}
	if name != "" {
		m = protowire.AppendString(protowire.AppendTag(m, 1, protowire.BytesType), name)
	}
	if alias > 0 {
		varint(2, alias)
	}
	varint(3, ms)
	if datatype > 0 {
		varint(4, datatype)
	}
	if null {
		varint(7, 1)
	}
	if unit != "" {
		value := protowire.AppendString(protowire.AppendTag(nil, 8, protowire.BytesType), unit)
		set := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "engUnit")
		set = protowire.AppendBytes(protowire.AppendTag(set, 2, protowire.BytesType), value)
		m = protowire.AppendBytes(protowire.AppendTag(m, 9, protowire.BytesType), set)
	}
	switch {
	case null:
	case number == 12:
		m = protowire.AppendFixed32(protowire.AppendTag(m, 12, protowire.Fixed32Type), uint32(v))
	default:
		varint(number, v)
	}
	return m
}

func payloadOf(seq int, metrics ...[]byte) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(now.UnixMilli()))
	for _, m := range metrics {
		b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), m)
	}
	if seq >= 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(seq))
	}
	return b
}

// TestSparkplug follows an edge node through births, data, holes, repeats and deaths.
func TestSparkplug(t *testing.T) {
	s := source(t, Sparkplug, Options{})
	s.Connected()
	ms := uint64(now.UnixMilli())
	bd := func(n uint64) []byte { return metricOf("bdSeq", 0, 4, ms, "", 11, n, false) }
	minus5 := int32(-5)
	birth := [][]byte{metricOf("power", 7, 3, ms, "kW", 10, 2, false), metricOf("export_total", 8, 7, ms, "Wh", 11, 4_000_000_000, false), metricOf("other", 9, 12, ms, "", 10, 1, false)}
	for i, step := range []struct {
		after   int // seconds
		kind    string
		payload []byte
		want    string
		asked   bool
	}{
		{0, "DDATA/e/d", payloadOf(5, metricOf("", 7, 0, ms, "", 10, 1, false)), "", true}, // no birth yet
		{1, "DDATA/e/d", payloadOf(6, metricOf("", 7, 0, ms, "", 10, 1, false)), "", false},
		{2, "NBIRTH/e", payloadOf(0, bd(3), metricOf("Node Control/Rebirth", 0, 11, ms, "", 14, 0, false)), "", false},
		{2, "DBIRTH/e/d", payloadOf(1, birth...), "g/e/d 10:00:00 energy_wh=4e+09 power_w=2000 online", false},
		{3, "DDATA/e/d", payloadOf(2, metricOf("", 7, 0, ms+1000, "", 10, uint64(uint32(minus5)), false)), "g/e/d 10:00:01 power_w=-5000 online", false},
		{3, "DDATA/e/d", payloadOf(2, metricOf("", 7, 0, ms+1000, "", 10, uint64(uint32(minus5)), false)), "g/e/d 10:00:01 power_w=-5000 online", false}, // repeated
		{4, "DDATA/e/d", payloadOf(4, metricOf("", 8, 0, ms+2000, "", 10, 7, false)), "g/e/d 10:00:02 energy_wh=7 online", false},                        // 3 is late
		{5, "DDATA/e/d", payloadOf(3, metricOf("", 7, 0, ms+1500, "", 10, 0, true)), "", false},
		{20, "NDATA/e", payloadOf(5), "", false},
		{21, "DDATA/e/d", payloadOf(9, metricOf("", 7, 0, ms+3000, "", 10, 1, false)), "g/e/d 10:00:03 power_w=1000 online", false}, // 6 to 8 are lost
		{27, "DDATA/e/d", payloadOf(10, metricOf("", 7, 0, ms+4000, "", 10, 1, false)), "g/e/d 10:00:04 power_w=1000 online", true},
		{28, "NDEATH/e", payloadOf(-1, bd(2)), "", false}, // the will of an older session
		{29, "DDATA/e/d", payloadOf(11, metricOf("", 7, 0, ms+5000, "", 10, 3, false)), "g/e/d 10:00:05 power_w=3000 online", false},
		{30, "DDEATH/e/d", payloadOf(12), "g/e/d offline", false},
		{50, "DDATA/e/d", payloadOf(13, metricOf("", 7, 0, ms+6000, "", 10, 3, false)), "", true},
		{51, "DBIRTH/e/d", payloadOf(14, birth...), "g/e/d 10:00:00 energy_wh=4e+09 power_w=2000 online", false},
		{52, "NDEATH/e", payloadOf(-1, bd(3)), "g/e offline; g/e/d offline", false},
		{70, "DDATA/e/d", payloadOf(15, metricOf("", 7, 0, ms, "", 10, 3, false)), "", true},
	} {
		at := now.Add(time.Duration(step.after) * time.Second)
		kind, rest, _ := strings.Cut(step.kind, "/")
		list, err := s.Handle(at, "spBv1.0/g/"+kind+"/"+rest, step.payload)
		if got := summary(list); err != nil || got != step.want {
			t.Errorf("step %d, %s: %q, %v; want %q", i, step.kind, got, err, step.want)
		}
		requests := s.Requests(at)
		if asked := len(requests) == 1 && requests[0].Topic == "spBv1.0/g/NCMD/e"; asked != step.asked || len(requests) > 1 {
			t.Errorf("step %d, %s: requests %v, want one: %t", i, step.kind, requests, step.asked)
		}
	}
}

// TestSequenceWraps: 255 is followed by 0, and no hole is seen.
func TestSequenceWraps(t *testing.T) {
	e := edge{next: 1, missing: map[int]time.Time{}}
	for i := 1; i < 1000; i++ {
		e.sequence(i%256, now)
	}
	if len(e.missing) != 0 || e.next != 1000%256 {
		t.Errorf("%d missing, next %d", len(e.missing), e.next)
	}
	e.sequence((e.next+2)%256, now)
	if len(e.missing) != 2 {
		t.Errorf("%d missing, want 2", len(e.missing))
	}
}

// FuzzHandle reads whatever a broker may deliver: no input may panic, and no value may be
// infinite.
func FuzzHandle(f *testing.F) {
	ms := uint64(now.UnixMilli())
	f.Add("spBv1.0/g/DBIRTH/e/d", payloadOf(1, metricOf("power", 7, 3, ms, "kW", 10, 2, false)))
	f.Add("spBv1.0/g/NBIRTH/e", payloadOf(0))
	f.Add("solar/1/0/power", []byte("1.5"))
	f.Add("tele/x/SENSOR", []byte(`{"Time":"2026-06-15T12:00:00","ENERGY":{"Power":[1,2]}}`))
	f.Add("N/x/pvinverter/1/Ac/Power", []byte(`{"value":1}`))
	f.Fuzz(func(t *testing.T, topic string, payload []byte) {
		for _, name := range []string{Sparkplug, "opendtu", "tasmota", Victron} {
			s := source(t, name, Options{})
			for range 2 {
				list, _ := s.Handle(now, topic, payload)
				s.Requests(now)
				for _, m := range list {
					for k, v := range m.Values.Values() {
						if math.IsInf(v, 0) {
							t.Errorf("%s is infinite", k)
						}
					}
				}
			}
		}
	})
}
