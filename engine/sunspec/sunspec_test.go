package sunspec

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"app.sunloop/engine/reading"
	"app.sunloop/engine/series"
)

// image is a register map for tests.
type image struct {
	base  uint16
	words []uint16
	limit int // exception 2 for longer reads; 0: none
}

func (im image) read(address uint16, count int) ([]uint16, error) {
	from := int(address) - int(im.base)
	if from < 0 || from+count > len(im.words) || im.limit > 0 && count > im.limit {
		return nil, ErrAddress
	}
	return im.words[from : from+count], nil
}

// values reads the points of a block as a poll does.
func (im image) values(t *testing.T, b Block, limit int) Values {
	t.Helper()
	m := Find(b.ID)
	var parts []Part
	for _, q := range m.Plan(b.Length, limit) {
		if q.Count > limit {
			t.Fatalf("model %d: a request of %d registers, limit %d", b.ID, q.Count, limit)
		}
		words, err := im.read(b.Address+uint16(q.Offset), q.Count)
		if err != nil {
			t.Fatalf("model %d, offset %d: %v", b.ID, q.Offset, err)
		}
		parts = append(parts, Part{q.Offset, words})
	}
	return m.Decode(b.Length, parts)
}

// body is a model with all points "not implemented" except those given by offset.
func body(id uint16, length int, at map[int]uint16) []uint16 {
	words := make([]uint16, length+2)
	words[0], words[1] = id, uint16(length)
	m := Find(id)
	fill := func(points []Point, base int) {
		for _, p := range points {
			for i := range p.Length {
				if k := base + p.Offset + i; k < len(words) {
					words[k] = sentinel(p.Type, i)
				}
			}
		}
	}
	if m != nil {
		fill(m.Points, 0)
		for k := range m.Repeats(length) {
			fill(m.Group.Points, m.Group.Offset+k*m.Group.Length)
		}
	}
	for k, v := range at {
		words[k] = v
	}
	return words
}

func sentinel(t Type, i int) uint16 {
	switch t {
	case Int16, Scale, Pad:
		return 0x8000
	case Int32, Int64:
		if i == 0 {
			return 0x8000
		}
		return 0
	case Float32:
		return []uint16{0x7FC0, 0}[i]
	case Float64:
		return []uint16{0x7FF8, 0, 0, 0}[i]
	case Acc16, Acc32, Acc64, Text, IPAddr:
		return 0
	}
	return 0xFFFF
}

func ascii(words []uint16, at int, text string) {
	for i := 0; i < len(text); i++ {
		words[at+i/2] |= uint16(text[i]) << (8 * (1 - i%2))
	}
}

// common is a common model; a serial number only if it has room.
func common(length int, mn, md, sn string) []uint16 {
	words := make([]uint16, length+2)
	words[0], words[1] = 1, uint16(length)
	ascii(words, 2, mn)
	ascii(words, 18, md)
	if length >= 64 {
		ascii(words, 50, sn)
	}
	return words
}

func chain(models ...[]uint16) []uint16 {
	return append(append([]uint16{0x5375, 0x6E53}, slices.Concat(models...)...), 0xFFFF, 0)
}

// TestTypes decodes the types with their sentinels.
func TestTypes(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		typ   Type
		words []uint16
		want  float64 // NaN: not implemented
	}{
		{Int16, []uint16{0x8000}, nan}, {Int16, []uint16{0xFFFF}, -1}, {Int16, []uint16{0x7FFF}, 32767},
		{Uint16, []uint16{0xFFFF}, nan}, {Uint16, []uint16{0x8000}, 32768}, {Enum16, []uint16{0xFFFF}, nan}, {Bitfield16, []uint16{0xFFFF}, nan}, {Count, []uint16{3}, 3},
		{Scale, []uint16{0x8000}, nan}, {Scale, []uint16{0xFFFE}, -2}, {Scale, []uint16{11}, nan}, {Scale, []uint16{0xFFF5}, nan}, {Scale, []uint16{10}, 10}, {Scale, []uint16{0xFFF6}, -10},
		{Acc16, []uint16{0}, nan}, {Acc16, []uint16{7}, 7},
		{Int32, []uint16{0x8000, 0}, nan}, {Int32, []uint16{0xFFFF, 0xFFFF}, -1},
		{Uint32, []uint16{0xFFFF, 0xFFFF}, nan}, {Uint32, []uint16{0x8000, 0}, 1 << 31}, {Bitfield32, []uint16{0xFFFF, 0xFFFF}, nan}, {Enum32, []uint16{0, 4}, 4},
		{Acc32, []uint16{0, 0}, nan}, {Acc32, []uint16{0xFFFF, 0xFFFF}, nan}, {Acc32, []uint16{1, 2}, 65538},
		{Int64, []uint16{0x8000, 0, 0, 0}, nan}, {Int64, []uint16{0xFFFF, 0xFFFF, 0xFFFF, 0xFFFE}, -2},
		{Uint64, []uint16{0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF}, nan}, {Uint64, []uint16{0, 1, 0, 0}, 1 << 32}, {Acc64, []uint16{0, 0, 0, 0}, nan}, {Acc64, []uint16{0, 0, 0, 9}, 9},
		{Float32, []uint16{0x7FC0, 0}, nan}, {Float32, []uint16{0xFFC0, 1}, nan}, {Float32, []uint16{0x7F80, 0}, nan}, {Float32, []uint16{0x4248, 0}, 50},
		{Float64, []uint16{0x7FF8, 0, 0, 0}, nan}, {Float64, []uint16{0x4049, 0, 0, 0}, 50},
		{IPAddr, []uint16{0, 0}, nan}, {EUI48, []uint16{0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF}, nan},
	} {
		v := decode(tt.typ, tt.words)
		if v.Known != !math.IsNaN(tt.want) || v.Known && v.Number != tt.want {
			t.Errorf("%s %04x: %v, known %t, want %v", tt.typ, tt.words, v.Number, v.Known, tt.want)
		}
	}
	if got := text([]uint16{0x4142, 0x43FF, 0x0944, 0x2020, 0x0058}); got != "ABCD" {
		t.Errorf("text %q", got)
	}
}

// TestWalk reads chains as devices have them.
func TestWalk(t *testing.T) {
	inverter, unknown, mppt := body(103, 50, nil), body(64110, 7, nil), body(160, 48, nil)
	meter := body(203, 105, nil)
	whole := chain(common(66, "Fronius", "Symo 10", "A1"), inverter, unknown, mppt, common(65, "SolarEdge", "Meter", "M1"), meter)
	tests := []struct {
		name    string
		words   []uint16
		base    uint16
		devices int
		ids     []uint16 // of the first device
	}{
		{"base 40000", whole, 40000, 2, []uint16{103, 64110, 160}},
		{"base 0", whole, 0, 2, []uint16{103, 64110, 160}},
		{"end with L 1", append(chain(common(66, "A", "B", "C"), inverter)[:2+68+52], 0xFFFF, 1), 50000, 1, []uint16{103}},
		{"end by exception", chain(common(66, "A", "B", "C"), inverter)[:2+68+52], 40000, 1, []uint16{103}},
		{"end by zeros", append(chain(common(66, "A", "B", "C"), inverter)[:2+68+52], 0, 0, 0, 0), 40000, 1, []uint16{103}},
		{"no common model", chain(inverter), 40000, 1, []uint16{103}},
		{"a length beyond the map", append(chain(common(66, "A", "B", "C"))[:2+68], 103, 0xFFFF), 40000, 1, []uint16{103}},
	}
	for _, tt := range tests {
		devices, err := Walk(tt.base, image{base: tt.base, words: tt.words}.read)
		if err != nil || len(devices) != tt.devices {
			t.Errorf("%s: %d devices, %v", tt.name, len(devices), err)
			continue
		}
		var ids []uint16
		for _, b := range devices[0].Blocks {
			ids = append(ids, b.ID)
		}
		if !slices.Equal(ids, tt.ids) {
			t.Errorf("%s: models %v, want %v", tt.name, ids, tt.ids)
		}
	}
	devices, _ := Walk(40000, image{base: 40000, words: whole, limit: 5}.read)
	if d := devices[0]; d.Manufacturer != "Fronius" || d.Model != "Symo 10" || d.Serial != "A1" || d.Kind() != reading.Inverter {
		t.Errorf("first device %+v", d)
	}
	if d := devices[1]; d.Serial != "M1" || d.Kind() != reading.Meter || d.Address != 0 {
		t.Errorf("second device %+v", d)
	}
	if _, err := Walk(40000, image{base: 40000, words: []uint16{1, 2, 3, 4}}.read); !errors.Is(err, ErrNoMap) {
		t.Errorf("without a marker: %v", err)
	}
	endless := []uint16{0x5375, 0x6E53}
	for range 200 {
		endless = append(endless, 64000, 0)
	}
	if devices, err := Walk(0, image{words: endless}.read); err != nil || len(devices[0].Blocks) != maxModels {
		t.Errorf("a chain without an end: %v, %v", len(devices[0].Blocks), err)
	}
}

// TestModels compares points of each model with values at their published offsets,
// for several limits of a request.
func TestModels(t *testing.T) {
	sf := func(n int) uint16 { return uint16(int16(n)) }
	f50, f1k := []uint16{0x4248, 0}, []uint16{0x447A, 0} // 50, 1000
	tests := []struct {
		id     uint16
		length int
		at     map[int]uint16
		want   map[string]float64
	}{
		{103, 50, map[int]uint16{2: 1234, 6: sf(-2), 10: 2301, 11: 2303, 12: 2306, 13: sf(-1), 14: 8543, 15: sf(1), 16: 5001, 17: sf(-2), 22: 9970 & 0xFFFF, 23: sf(-2), 24: 1, 25: 2, 26: 0, 33: sf(-105), 37: sf(-1), 38: 4, 39: 104, 40: 0, 41: 0x81, 44: 0, 45: 7},
			map[string]float64{"A": 12.34, "PhVphB": 230.3, "W": 85430, "Hz": 50.01, "PF": 99.7, "WH": 65538, "TmpCab": -10.5, "St": 4, "StVnd": 104, "Evt1": 129, "EvtVnd1": 7, "DCA": math.NaN(), "VA": math.NaN()}},
		{113, 60, map[int]uint16{22: f1k[0], 23: f1k[1], 24: f50[0], 25: f50[1], 48: 5, 50: 0, 51: 1}, map[string]float64{"W": 1000, "Hz": 50, "St": 5, "Evt1": 1, "WH": math.NaN()}},
		{120, 26, map[int]uint16{2: 4, 3: 1500, 4: sf(1)}, map[string]float64{"DERTyp": 4, "WRtg": 15000}},
		{122, 44, map[int]uint16{5: 0, 6: 0, 7: 1, 8: 5, 31: 70, 32: sf(2), 44: 900, 45: sf(3)}, map[string]float64{"ActWh": 65541, "WAval": 7000, "Ris": 900000}},
		{123, 24, map[int]uint16{5: 70, 9: 1, 23: 0}, map[string]float64{"WMaxLimPct": 70, "WMaxLim_Ena": 1}},
		{203, 105, map[int]uint16{18: sf(-500), 22: sf(1), 38: 0, 39: 12345, 46: 0, 47: 77, 54: sf(1), 105: 0, 106: 4}, map[string]float64{"W": -5000, "TotWhExp": 123450, "TotWhImp": 770, "Evt": 4}},
		{213, 124, map[int]uint16{26: f50[0], 27: f50[1], 28: f1k[0], 29: f1k[1], 60: f1k[0], 61: f1k[1], 68: f50[0], 69: f50[1], 124: 0, 125: 4}, map[string]float64{"Hz": 50, "W": 1000, "TotWhExp": 1000, "TotWhImp": 50, "Evt": 4}},
		{307, 11, map[int]uint16{2: sf(-55), 3: 40, 5: 3}, map[string]float64{"TmpAmb": -5.5, "RH": 40, "WndSpd": 3}},
		{308, 4, map[int]uint16{2: 812, 3: 455, 4: 231, 5: 4}, map[string]float64{"GHI": 812, "TmpBOM": 45.5, "TmpAmb": 23.1, "WndSpd": 4}},
		{701, 153, map[int]uint16{2: 2, 3: 1, 4: 3, 6: 0, 7: 0x80, 10: 9000, 116: 0, 16: 2303, 114: sf(-1), 17: 0, 18: 5001, 115: sf(-2), 19: 0, 20: 1, 21: 0, 22: 0, 120: 0, 36: 412, 122: sf(-1), 110: 3, 111: 0, 112: 1},
			map[string]float64{"InvSt": 3, "Alrm": 128, "W": 9000, "LNV": 230.3, "Hz": 50.01, "TotWhInj": 1 << 32, "TmpCab": 41.2, "ThrotPct": 3, "ThrotSrc": 1, "PF": math.NaN()}},
		{702, 50, map[int]uint16{2: 300, 26: 280, 45: sf(2)}, map[string]float64{"WMaxRtg": 30000, "WMax": 28000}},
		{713, 7, map[int]uint16{4: 505, 5: 990, 8: sf(-1)}, map[string]float64{"SoC": 50.5, "SoH": 99}},
		{802, 62, map[int]uint16{11: 505, 56: sf(-1), 13: 98, 58: 0, 47: sf(-200), 63: sf(1)}, map[string]float64{"SoC": 50.5, "SoH": 98, "W": -2000}},
		{803, 26 + 2*32, map[int]uint16{2: 2, 3: 1, 7: sf(-21), 15: 6205, 20: sf(-45), 22: sf(-3), 23: sf(-1), 24: sf(-1), 25: 0, 26: sf(-1), 27: sf(-1)}, map[string]float64{"NStrCon": 1, "ModTmpMin": -2.1, "StrVAvg": 620.5, "StrAAvg": -4.5, "StrVMax": math.NaN()}},
	}
	for _, tt := range tests {
		words := body(tt.id, tt.length, tt.at)
		for _, limit := range []int{125, 64, 32, 16, 8, 5} {
			v := image{words: words}.values(t, Block{ID: tt.id, Length: tt.length}, limit)
			for name, want := range tt.want {
				got, known := v.Number(name)
				if known == math.IsNaN(want) || known && math.Abs(got-want) > 1e-9*math.Abs(want) {
					t.Errorf("model %d, limit %d: %s is %v, want %v", tt.id, limit, name, got, want)
				}
			}
		}
	}
	for id, m := range models {
		for _, p := range m.Points {
			if p.Offset < 2 {
				t.Errorf("model %d: %s is in the head", id, p.Name)
			}
		}
	}
}

// TestGroups decodes inputs and sensors.
func TestGroups(t *testing.T) {
	sf := func(n int) uint16 { return uint16(int16(n)) }
	words := body(160, 8+20*9, map[int]uint16{2: 0xFFFE, 3: 0xFFFF, 4: 1, 8: 9})
	for k := range 9 {
		at := 10 + 20*k
		words[at+9], words[at+10], words[at+11], words[at+17] = uint16(500+k), 6205, uint16(30+k), 4
		ascii(words, at+1, "String 1")
	}
	for _, limit := range []int{125, 50, 16, 5} {
		v := image{words: words}.values(t, Block{ID: 160, Length: 8 + 20*9}, limit)
		if len(v.Groups) != 9 {
			t.Fatalf("limit %d: %d inputs", limit, len(v.Groups))
		}
		for k, g := range v.Groups {
			if a, _ := g.Number("DCA"); math.Abs(a-(5+float64(k)/100)) > 1e-9 || g.Float("DCV") != 620.5 || g.Float("DCW") != float64(300+10*k) {
				t.Errorf("limit %d, input %d: %v A %v V %v W", limit, k+1, a, g.Float("DCV"), g.Float("DCW"))
			}
		}
	}
	bank := body(803, 26+2*32, map[int]uint16{2: 2, 22: sf(-3), 23: sf(-1), 24: sf(-1), 25: 0, 26: sf(-1), 27: sf(-1), 28 + 4: 505, 28 + 6: sf(-45), 28 + 7: 3312, 60 + 4: 498, 60 + 5: 97, 60 + 20: 0, 60 + 21: 4})
	if v := (image{words: bank}).values(t, Block{ID: 803, Length: 26 + 2*32}, 125); len(v.Groups) != 2 || v.Groups[0].Float("StrSoC") != 50.5 || v.Groups[0].Float("StrA") != -4.5 || v.Groups[0].Float("StrCellVMax") != 3.312 ||
		v.Groups[1].Float("StrSoH") != 97 || v.Groups[1].Float("StrEvt1") != 4 {
		t.Errorf("strings of a battery: %+v", v.Groups)
	}
	words[8] = 2 // room for nine, two in use
	if v := (image{words: words}).values(t, Block{ID: 160, Length: 188}, 125); len(v.Groups) != 2 {
		t.Errorf("%d inputs, N is 2", len(v.Groups))
	}
	sensors := image{words: body(302, 10, map[int]uint16{2: 700, 3: 800, 7: 900})}.values(t, Block{ID: 302, Length: 10}, 125)
	if len(sensors.Groups) != 2 || sensors.Groups[0].Float("POAI") != 800 || sensors.Groups[1].Float("GHI") != 900 {
		t.Errorf("sensors %+v", sensors)
	}
}

// TestScaleChanges: scale factors that change between two parts make no values.
func TestScaleChanges(t *testing.T) {
	m := Find(160)
	length := 8 + 20*9
	words := body(160, length, map[int]uint16{3: 0xFFFF, 8: 9, 10 + 10: 6205, 10 + 160 + 10: 6300})
	var parts []Part
	plan := m.Plan(length, 50)
	for i, q := range plan {
		if i == len(plan)-1 {
			words[3] = 0
		}
		parts = append(parts, Part{q.Offset, slices.Clone(words[q.Offset : q.Offset+q.Count])})
	}
	v := m.Decode(length, parts)
	if n, ok := v.Groups[8].Number("DCV"); ok {
		t.Errorf("a voltage of %v, although its scale factor changed", n)
	}
	if n, ok := v.Groups[0].Number("DCV"); !ok || n != 620.5 && n != 6205 {
		t.Errorf("the first input shares a response with its scale factor: %v, %t", n, ok)
	}
	for _, limit := range []int{125, 123} {
		if plan := Find(701).Plan(153, limit); len(plan) != 1 || plan[0].Offset != 2 || plan[0].Count != 121 {
			t.Errorf("model 701, limit %d: %v", limit, plan)
		}
	}
}

// TestMeasure maps models to quantities.
func TestMeasure(t *testing.T) {
	read := func(id uint16, length int, at map[int]uint16) Measured {
		return Measured{id, image{words: body(id, length, at)}.values(t, Block{ID: id, Length: length}, 125)}
	}
	for st := uint16(0); st <= 9; st++ {
		m := Measure([]Measured{read(103, 50, map[int]uint16{38: st})})
		want := int(st)
		if st == 0 || st == 9 {
			want = 0
		}
		if m.State != want {
			t.Errorf("St %d is state %d", st, m.State)
		}
		der := Measure([]Measured{read(701, 153, map[int]uint16{4: st})})
		if want = int(st) + 1; st > 7 {
			want = 0
		}
		if der.State != want {
			t.Errorf("InvSt %d is state %d, want %d", st, der.State, want)
		}
	}
	none := Measure([]Measured{read(103, 50, nil), read(160, 48, nil)})
	if none.State != 0 || !math.IsNaN(none.PowerW) || !math.IsNaN(none.Events) || !math.IsNaN(none.VendorCode) {
		t.Errorf("not implemented: %+v", none)
	}
	m := Measure([]Measured{read(103, 50, map[int]uint16{40: 1, 41: 0x80, 44: 0, 45: 0x85, 39: 0x85}), read(122, 44, map[int]uint16{8: 42})})
	if m.Events != 0x80 || m.VendorCode != 0x85 || m.VendorState != 0x85 || m.EnergyWh != 42 {
		t.Errorf("events %v, vendor %v and %v, energy %v", m.Events, m.VendorCode, m.VendorState, m.EnergyWh)
	}
	// A blown fuse of the second input, and an arc, for which there is another bit.
	fuse := Measure([]Measured{read(103, 50, map[int]uint16{40: 0, 41: 0x80}), read(160, 48, map[int]uint16{2: 0, 3: 0, 8: 2, 19: 5, 20: 600, 39: 0, 40: 600, 48: 0, 49: 1<<12 | 1<<15})})
	if fuse.Events != 0x1080|series.ArcDetected {
		t.Errorf("events %#x", uint64(fuse.Events))
	}
	port := func(kind, alarms uint16) Measured {
		return read(714, 18+2*25, map[int]uint16{4: 2, 20: 0, 45: kind, 45 + 23: 0, 45 + 24: alarms})
	}
	bank := body(160, 48, map[int]uint16{8: 2, 48: 0, 49: 1<<15 | 1<<7})
	ascii(bank, 31, "StCha 2")
	for name, tt := range map[string]struct {
		read Measured
		want float64
	}{
		"an input of 160":             {read(160, 28, map[int]uint16{8: 1, 28: 0, 29: 1 << 15}), series.ArcDetected},
		"all inputs of 160":           {read(160, 28, map[int]uint16{6: 0, 7: 1 << 15, 8: 1}), series.ArcDetected},
		"a battery of 160":            {Measured{160, Find(160).Decode(48, []Part{{0, bank}})}, series.ArcDetected},
		"a port of 714":               {port(0, 1<<15|1), series.ArcDetected | 1},
		"a battery at a port of 714":  {port(1, 1<<15|1<<7), series.ArcDetected},
		"a hot battery at a port":     {port(1, 1<<7), math.NaN()},
		"no event":                    {port(0, 0), 0},
		"a hardware test of the unit": {read(103, 50, map[int]uint16{40: 0, 41: 1 << 15}), 1 << 15},
		"an alarm of 701":             {read(701, 153, map[int]uint16{6: 0, 7: 1 << 15}), 1 << 15},
	} {
		if got := Measure([]Measured{tt.read}).Events; got != tt.want && !(math.IsNaN(got) && math.IsNaN(tt.want)) {
			t.Errorf("%s: events %v, want %v", name, got, tt.want)
		}
	}
	words := body(160, 48, map[int]uint16{2: 0, 3: 0, 8: 2, 19: 5, 20: 600, 39: 9, 40: 400})
	ascii(words, 31, "StDisCha 2")
	hybrid := Measure([]Measured{{160, Find(160).Decode(48, []Part{{0, words}})}})
	if len(hybrid.Inputs) != 1 || hybrid.Inputs[0].VoltageV != 600 {
		t.Errorf("inputs of a hybrid: %+v", hybrid.Inputs)
	}
	if r := RatingW([]Measured{read(702, 50, map[int]uint16{2: 300, 45: 2})}); r != 30000 {
		t.Errorf("rating %v", r)
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"W @1 int16", "model x", "model 1 a\nW int16", "model 1 a\nW @2 int17", "model 1 a\nW @x int16", "model 1 a\nW @2 int16 W_SF", "model 1 a\nrepeat @1 5", "model 1 a\nW @2 int16 A B"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q: no error", strings.ReplaceAll(text, "\n", "; "))
		}
	}
}

// FuzzWalk reads whatever a device may return: no input may panic or make requests
// beyond the map.
func FuzzWalk(f *testing.F) {
	seed := func(words []uint16) {
		var b []byte
		for _, w := range words {
			b = append(b, byte(w>>8), byte(w))
		}
		f.Add(b, uint8(125))
	}
	seed(chain(common(66, "A", "B", "C"), body(103, 50, nil), body(160, 48, nil)))
	seed(chain(common(65, "A", "B", "C"), body(701, 153, nil), body(714, 68, nil)))
	seed(chain(common(18, "A", "B", ""), body(302, 3, nil)))
	f.Fuzz(func(t *testing.T, b []byte, limit uint8) {
		im := image{}
		for i := 0; i+1 < len(b); i += 2 {
			im.words = append(im.words, uint16(b[i])<<8|uint16(b[i+1]))
		}
		devices, err := Walk(0, im.read)
		if err != nil {
			return
		}
		for _, d := range devices {
			var read []Measured
			for _, block := range d.Polled() {
				var parts []Part
				for _, q := range Find(block.ID).Plan(block.Length, int(limit)) {
					if q.Count < 1 || q.Count > MaxRegisters || q.Offset < 2 || q.Offset+q.Count > block.Length+2 {
						t.Fatalf("model %d of length %d: request %+v", block.ID, block.Length, q)
					}
					if words, err := im.read(block.Address+uint16(q.Offset), q.Count); err == nil {
						parts = append(parts, Part{q.Offset, words})
					}
				}
				read = append(read, Measured{block.ID, Find(block.ID).Decode(block.Length, parts)})
			}
			if m := Measure(read); m.State < 0 || m.State > 8 || math.IsInf(m.PowerW, 0) {
				t.Fatalf("%+v", m)
			}
			RatingW(read)
		}
	})
}
