package registermap

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"app.sunloop/engine/reading"
)

// huawei and sungrow are images of registers, written from the tables of the vendors that docs/gateway.md names:
// addresses with the words from there on.
var huawei = map[int][]uint16{
	30000: textWords("SUN2000-10KTL-M1", 15), 30015: textWords("HV2140001234", 10), 30071: {2}, 30073: {0, 10000},
	32008: {0, 0, 0}, 32016: {6205, 512, 5980, 498, 0x7FFF, 0x7FFF}, 32064: {0, 6100}, 32069: {2301, 2310, 2320},
	32080: {0, 5950}, 32082: {0xFFFF, 0xFF9C}, 32084: {998}, 32085: {5001}, 32087: {415}, 32089: {0x0200, 0}, 32106: {0x0001, 0xE240},
}

var sungrow = map[int][]uint16{
	4989: textWords("A2240901234", 10), 5000: {100}, 5003: {0x4240, 0x000F}, 5007: {398}, 5008: {5100, 0}, 5010: {6101, 42, 6002, 41, 0xFFFF, 0xFFFF}, 5016: {5200, 0},
	5018: {2301, 2299, 2300}, 5030: {5050, 0}, 5032: {0xFFF6, 0xFFFF}, 5034: {999}, 5035: {4999}, 5037: {0x8100}, 5044: {0},
}

func textWords(s string, n int) []uint16 {
	out := make([]uint16, n)
	for i := range len(s) {
		out[i/2] |= uint16(s[i]) << (8 * (1 - i%2))
	}
	return out
}

// respond answers requests from an image; registers that it does not have are 0.
func respond(image map[int][]uint16, requests []Request) [][]uint16 {
	var out [][]uint16
	for _, r := range requests {
		words := make([]uint16, r.Count)
		for at, from := range image {
			for i, w := range from {
				if k := at + i - r.Address; k >= 0 && k < r.Count {
					words[k] = w
				}
			}
		}
		out = append(out, words)
	}
	return out
}

// TestMaps reads an image of the registers of each make.
func TestMaps(t *testing.T) {
	for _, tt := range []struct {
		name   string
		image  map[int][]uint16
		inputs int
		rating float64
		want   map[string]float64
	}{
		{"huawei-sun2000", huawei, 2, 10000, map[string]float64{"power_w": 5950, "energy_wh": 1234560, "dc_power_w": 6100, "reactive_var": -100, "power_factor": 0.998, "frequency_hz": 50.01,
			"cabinet_c": 41.5, "state": 4, "vendor_state": 512, "vendor_code": 0, "voltage_v": 231.03333333333333, "dc1_voltage_v": 620.5, "dc1_current_a": 5.12, "dc2_voltage_v": 598, "dc2_current_a": 4.98}},
		{"sungrow-sg", sungrow, 0, 10000, map[string]float64{"power_w": 5050, "energy_wh": 1e9, "dc_power_w": 5200, "apparent_va": 5100, "reactive_var": -10, "power_factor": 0.999, "frequency_hz": 49.99,
			"cabinet_c": 39.8, "state": 5, "vendor_state": 0x8100, "vendor_code": 0, "voltage_v": 230, "dc1_voltage_v": 610.1, "dc1_current_a": 4.2, "dc2_voltage_v": 600.2, "dc2_current_a": 4.1}},
	} {
		m, err := Load(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		requests := m.Requests(tt.inputs, nil)
		for _, r := range requests {
			if r.Count > m.Registers {
				t.Errorf("%s: %d registers in a request", tt.name, r.Count)
			}
		}
		v, _ := m.Measure(requests, respond(tt.image, requests))
		got := v.Values()
		for k := range got {
			if math.Abs(got[k]-tt.want[k]) > 1e-9*max(1, math.Abs(tt.want[k])) {
				t.Errorf("%s: %s is %v, want %v", tt.name, k, got[k], tt.want[k])
			}
			delete(tt.want, k)
		}
		if len(tt.want) > 0 {
			t.Errorf("%s: missing %v", tt.name, tt.want)
		}
		request, value := m.Rating()
		if w := value(respond(tt.image, []Request{*request})[0]); w != tt.rating {
			t.Errorf("%s: rating %g", tt.name, w)
		}
		id := m.Identify()
		text := id.Decode(respond(tt.image, []Request{{Address: id.Address, Count: id.Length}})[0])
		for _, name := range Names() {
			other, _ := Load(name)
			if other.IsDevice(text) != (name == tt.name) {
				t.Errorf("%q is a device of %s: %t", text, name, other.IsDevice(text))
			}
		}
	}
}

// TestStates: the states of each make are SunSpec's, and an alarm is a code of the vendor,
// never SunSpec's event bits.
func TestStates(t *testing.T) {
	m, err := Load("huawei-sun2000")
	if err != nil {
		t.Fatal(err)
	}
	for state, want := range map[uint16]int{0: 8, 3: 8, 0x100: 3, 0x200: 4, 0x201: 5, 0x300: 7, 0x308: 1, 0x401: 4, 0x600: 3, 0xA000: 2, 0x1234: 0} {
		image := map[int][]uint16{32089: {state, 0}, 32008: {0, 0x40, 0}}
		requests := m.Requests(0, nil)
		v, _ := m.Measure(requests, respond(image, requests))
		if v.State != want || v.VendorState != float64(state) || v.VendorCode != reading.VendorCode(0, 0x40, 0) || !math.IsNaN(v.Events) {
			t.Errorf("%#x: state %d, vendor %v, %v, events %v", state, v.State, v.VendorState, v.VendorCode, v.Events)
		}
	}
}

// TestPlan: absent registers are left out, and a request that is refused is split until
// single places remain.
func TestPlan(t *testing.T) {
	m, err := Load("sungrow-sg")
	if err != nil {
		t.Fatal(err)
	}
	var split func(r Request) int
	split = func(r Request) int {
		a, b, ok := r.Split()
		if !ok {
			for _, p := range r.Points {
				if p.Address != r.Address {
					t.Errorf("%+v is not split", r)
				}
			}
			return 1
		}
		if a.Address >= b.Address || a.Count+b.Count > r.Count {
			t.Errorf("%+v and %+v from %+v", a, b, r)
		}
		return split(a) + split(b)
	}
	places := 0
	for _, r := range m.Requests(0, nil) {
		places += split(r)
	}
	if places != 19 {
		t.Errorf("%d places", places)
	}
	for _, r := range m.Requests(0, map[int]bool{5037: true}) {
		for _, p := range r.Points {
			if p.Address == 5037 {
				t.Error("an absent register is read")
			}
		}
	}
}

// TestWrongMaps refuses maps with the line and what is wrong.
func TestWrongMaps(t *testing.T) {
	const head = "name x\nfunction 3\nwords high\n"
	for _, tt := range []struct{ text, want string }{
		{head + "100 u16 power_w 1 W", ""},
		{head + "100 f32 power_w", ""},
		{head, "no values"},
		{"function 3\nwords high\n100 u16 power_w", "name: required"},
		{"name x\nfunction 6\nwords high", "line 2: function: must be 3 or 4"},
		{"name x\nfunction 3\nwords both", "line 3: words"},
		{head + "name y", "line 4: name: there are two"},
		{head + "colour red", `line 4: unknown word "colour"`},
		{head + "registers 126", "line 4: registers: must be a number from 4 to 125"},
		{head + "settle 2h", "line 4: settle"},
		{head + "70000 u16 power_w", "line 4: register"},
		{head + "65535 u32 power_w", "the last one is 65535"},
		{head + "100 u24 power_w", "unknown type"},
		{head + "100 u16 watts", "unknown value"},
		{head + "100 u16 power_w 1 kWh", "has no unit"},
		{head + "100 u16 power_w 0", "the factor is 0"},
		{head + "100 u16 power_w x", "is no number"},
		{head + "100 u16 state states 1:99", "invalid state"},
		{head + "100 u16 dc{n}_voltage_v 0.1 V", "needs every"},
		{head + "100 u16 dc{n}_voltage_v 0.1 V every 2 to 99", "every: must be"},
		{head + "100 u16 frequency_hz 0.1 within 45", "is no number"},
		{head + "100 u16 alarm 1 W", "an alarm has no unit"},
		{head + "serial 1", "serial: ADDRESS"},
		{head + "identify 1 2", "identify"},
		{head + "100", "ADDRESS TYPE VALUE"},
	} {
		_, err := Parse(tt.text)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
	if _, err := Load("other"); err == nil || !strings.Contains(err.Error(), "huawei-sun2000, sungrow-sg") {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "own.txt")
	if err := os.WriteFile(path, []byte(head+"100 u16 power_w 1 W"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := Load(path); err != nil || m.Name != "x" {
		t.Error(err)
	}
}

// FuzzParse reads whatever is in a file: no map may panic, when it is read or used.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		b, err := embedded.ReadFile("maps/" + name + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), []byte(fmt.Sprint(b)))
	}
	f.Fuzz(func(t *testing.T, text string, words []byte) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		requests := m.Requests(0, nil)
		var responses [][]uint16
		for _, r := range requests {
			if r.Count < 1 || r.Count > 125 || r.Address+r.Count > 0x10000 {
				t.Fatalf("%d registers at %d", r.Count, r.Address)
			}
			response := make([]uint16, min(r.Count, len(words)))
			for i := range response {
				response[i] = uint16(words[i]) * 257
			}
			responses = append(responses, response)
		}
		v, values := m.Measure(requests, responses)
		for k, x := range v.Values() {
			if math.IsInf(x, 0) {
				t.Errorf("%s is infinite", k)
			}
		}
		for _, x := range values {
			_ = x.String()
		}
	})
}
