package sunspec

import (
	"math"
	"slices"
	"strings"

	"app.sunloop/engine/reading"
	"app.sunloop/engine/series"
)

// Measured are the values of a block that was read.
type Measured struct {
	ID uint16
	Values
}

// Models by what they measure. Within a kind the first one of a device counts.
var (
	inverterModels = []uint16{701, 101, 102, 103, 111, 112, 113}
	meterModels    = []uint16{201, 202, 203, 204, 211, 212, 213, 214}
	weatherModels  = []uint16{302, 303, 307, 308}
	batteryModels  = []uint16{802, 713, 124}
)

// PolledModels are the models that hold measurements, StaticModels those that hold
// ratings, which seldom change.
var (
	PolledModels = []uint16{701, 101, 102, 103, 111, 112, 113, 160, 714, 122, 123, 201, 202, 203, 204, 211, 212, 213, 214, 302, 303, 306, 307, 308, 802, 803, 713, 124}
	StaticModels = []uint16{120, 121, 702, 305}
)

// Kind returns what a device is, by its models.
func (d *Device) Kind() reading.Kind {
	for _, k := range []struct {
		ids  []uint16
		kind reading.Kind
	}{{inverterModels, reading.Inverter}, {meterModels, reading.Meter}, {weatherModels, reading.Weather}, {batteryModels, reading.Battery}} {
		if _, ok := d.Block(k.ids...); ok {
			return k.kind
		}
	}
	return reading.Other
}

// Polled returns the blocks to read at each poll: of models with one layout for
// integers and floats only the first, since both say the same.
func (d *Device) Polled() []Block {
	var out []Block
	taken := map[string]bool{}
	for _, id := range PolledModels {
		b, ok := d.Block(id)
		if !ok {
			continue
		}
		group := Find(id).Name
		switch {
		case slices.Contains(inverterModels, id):
			group = "inverter"
		case slices.Contains(meterModels, id):
			group = "meter"
		}
		if !taken[group] {
			taken[group] = true
			out = append(out, b)
		}
	}
	return out
}

// RatingW returns the rating in W that models 120 or 702 state; 0 if it is not known.
func RatingW(read []Measured) float64 {
	for _, name := range []string{"WRtg", "WMaxRtg"} {
		for _, m := range read {
			if v, ok := m.Number(name); ok && v > 0 && (m.ID == 120 || m.ID == 702) {
				return v
			}
		}
	}
	return 0
}

// Measure combines the blocks of a device that were read at one time.
func Measure(read []Measured) reading.Measurement {
	out := reading.None()
	for _, m := range read {
		switch {
		case m.ID >= 101 && m.ID <= 103, m.ID >= 111 && m.ID <= 113:
			measureInverter(&out, m)
		case m.ID == 701:
			measureDER(&out, m)
		case m.ID >= 201 && m.ID <= 204, m.ID >= 211 && m.ID <= 214:
			measureMeter(&out, m)
		}
	}
	for _, m := range read {
		measureRest(&out, m)
	}
	if len(out.Inputs) == 0 {
		for _, m := range read {
			v, hasV := m.Number("DCV")
			a, hasA := m.Number("DCA")
			if m.ID >= 101 && m.ID <= 113 && (hasV || hasA) {
				out.Inputs = []reading.Input{{VoltageV: v, CurrentA: a, PowerW: m.Float("DCW"), Events: math.NaN()}}
			}
		}
	}
	return out
}

// Bits of DC inputs (models 160 and 714).
const (
	// inputBits have the meaning of Evt1: ground fault, over-voltage, disconnect, cabinet,
	// manual stop, temperature and string fuse.
	inputBits = 1<<0 | 1<<1 | 1<<3 | 1<<5 | 1<<6 | 1<<7 | 1<<12
	inputArc  = 1 << 15 // in Evt1 it is a hardware test that failed
	// dangerBits are those that concern the whole unit, whatever the input is of.
	dangerBits = 1<<0 | inputArc
)

// addInputEvents adds events of DC inputs to those of the unit.
func addInputEvents(out *reading.Measurement, events float64) {
	if math.IsNaN(events) {
		return
	}
	if math.IsNaN(out.Events) {
		out.Events = 0
	}
	bits := uint64(out.Events) | uint64(events)&inputBits
	if uint64(events)&inputArc != 0 {
		bits |= series.ArcDetected
	}
	out.Events = float64(bits)
}

// addStorageEvents adds events of an input that a battery is connected to.
func addStorageEvents(out *reading.Measurement, events float64) {
	if !math.IsNaN(events) && uint64(events)&dangerBits != 0 {
		addInputEvents(out, float64(uint64(events)&dangerBits))
	}
}

func measureInverter(out *reading.Measurement, m Measured) {
	out.PowerW, out.EnergyWh, out.CoarseWh = m.Float("W"), m.Float("WH"), m.ID >= 111
	out.ApparentVA, out.ReactiveVAr, out.CurrentA = m.Float("VA"), m.Float("VAr"), m.Float("A")
	out.FrequencyHz, out.DCPowerW = m.Float("Hz"), m.Float("DCW")
	out.PowerFactor = ratio(m.Float("PF"))
	out.VoltageV = mean(m.Values, "PhVphA", "PhVphB", "PhVphC")
	if math.IsNaN(out.VoltageV) {
		out.VoltageV = mean(m.Values, "PPVphAB", "PPVphBC", "PPVphCA")
	}
	out.CabinetC = first(m.Values, "TmpCab", "TmpSnk")
	if st, ok := m.Number("St"); ok && st >= reading.StateOff && st <= reading.StateStandby {
		out.State = int(st)
	}
	if bits, ok := m.Bits("Evt1"); ok {
		out.Events = float64(bits & 0xFFFF)
	}
	out.VendorState = m.Float("StVnd")
	vendorWords(out, m, "EvtVnd1", "EvtVnd2", "EvtVnd3", "EvtVnd4")
}

// vendorWords sets the vendor's event code from the words that the device implements.
func vendorWords(out *reading.Measurement, m Measured, names ...string) {
	var words []uint32
	known := false
	for _, name := range names {
		bits, ok := m.Bits(name)
		known = known || ok
		if !ok {
			bits = 0
		}
		words = append(words, uint32(bits))
	}
	if known {
		out.VendorCode = reading.VendorCode(words...)
	}
}

func measureDER(out *reading.Measurement, m Measured) {
	out.PowerW, out.EnergyWh = m.Float("W"), m.Float("TotWhInj")
	out.ApparentVA, out.ReactiveVAr, out.CurrentA = m.Float("VA"), m.Float("Var"), m.Float("A")
	out.FrequencyHz, out.PowerFactor = m.Float("Hz"), ratio(m.Float("PF"))
	out.VoltageV = first(m.Values, "LNV", "LLV")
	out.CabinetC = first(m.Values, "TmpCab", "TmpSnk")
	if st, ok := m.Number("InvSt"); ok && st >= 0 && st < reading.StateStandby {
		out.State = int(st) + 1 // counts from 0 where 101-103 count from 1
	}
	if bits, ok := m.Bits("Alrm"); ok {
		out.Events = float64(bits & 0xFFFF)
		out.VendorCode = reading.VendorCode(uint32(bits) &^ 0xFFFF) // bit 16: the maker's, with a text
	}
}

func measureMeter(out *reading.Measurement, m Measured) {
	if math.IsNaN(out.PowerW) {
		out.PowerW = m.Float("W")
		out.ApparentVA, out.ReactiveVAr, out.CurrentA = m.Float("VA"), m.Float("VAR"), m.Float("A")
		out.FrequencyHz, out.PowerFactor = m.Float("Hz"), ratio(m.Float("PF"))
		out.VoltageV = first(m.Values, "PhV", "PPV")
	}
	if math.IsNaN(out.EnergyWh) {
		out.EnergyWh, out.CoarseWh = m.Float("TotWhExp"), m.ID >= 211
	}
	out.ImportWh = m.Float("TotWhImp")
}

// measureRest adds what other models say.
func measureRest(out *reading.Measurement, m Measured) {
	switch m.ID {
	case 122:
		if wh, ok := m.Number("ActWh"); ok && (math.IsNaN(out.EnergyWh) || out.CoarseWh) {
			out.EnergyWh, out.CoarseWh = wh, false
		}
	case 123:
		if on, ok := m.Number("WMaxLim_Ena"); ok && on == 1 {
			out.LimitPct = m.Float("WMaxLimPct")
		}
	case 160:
		addInputEvents(out, bits(m.Values, "Evt"))
		for _, g := range m.Groups {
			in := reading.Input{Name: g.Text("IDStr"), VoltageV: g.Float("DCV"), CurrentA: g.Float("DCA"), PowerW: g.Float("DCW"), Events: bits(g, "DCEvt")}
			if isStorage(in.Name) {
				addStorageEvents(out, in.Events)
				continue
			}
			addInputEvents(out, in.Events)
			if st, ok := g.Number("DCSt"); ok && st >= reading.StateOff && st <= reading.StateStandby {
				in.State = int(st)
			}
			out.Inputs = append(out.Inputs, in)
		}
	case 714:
		for _, g := range m.Groups {
			in := reading.Input{Name: g.Text("IDStr"), VoltageV: g.Float("DCV"), CurrentA: g.Float("DCA"), PowerW: g.Float("DCW"), Events: bits(g, "DCAlrm")}
			if typ, ok := g.Number("PrtTyp"); ok && typ == 1 {
				addStorageEvents(out, in.Events)
				continue // a battery
			}
			addInputEvents(out, in.Events)
			out.Inputs = append(out.Inputs, in)
		}
	case 302:
		if len(m.Groups) > 0 {
			out.IrradianceWM2 = first(m.Groups[0], "POAI", "GHI")
		}
	case 303:
		if len(m.Groups) > 0 {
			out.ModuleC = m.Groups[0].Float("TmpBOM")
		}
	case 307, 308:
		if math.IsNaN(out.IrradianceWM2) {
			out.IrradianceWM2 = m.Float("GHI")
		}
		if math.IsNaN(out.ModuleC) {
			out.ModuleC = m.Float("TmpBOM")
		}
		out.AmbientC, out.WindMS = m.Float("TmpAmb"), m.Float("WndSpd")
	case 802, 713:
		out.SoCPct, out.SoHPct = m.Float("SoC"), m.Float("SoH")
	case 124:
		if math.IsNaN(out.SoCPct) {
			out.SoCPct = m.Float("ChaState")
		}
	}
}

// isStorage reports whether the name of an input says that a battery is connected to
// it, as on hybrid inverters.
func isStorage(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"bat", "stcha", "stdischa", "storage"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func bits(v Values, name string) float64 {
	if b, ok := v.Bits(name); ok {
		return float64(b)
	}
	return math.NaN()
}

// first returns the first known value.
func first(v Values, names ...string) float64 {
	for _, name := range names {
		if n, ok := v.Number(name); ok {
			return n
		}
	}
	return math.NaN()
}

// mean returns the mean of the known values.
func mean(v Values, names ...string) float64 {
	sum, n := 0.0, 0
	for _, name := range names {
		if x, ok := v.Number(name); ok {
			sum += x
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// ratio returns a power factor from percent, as models below 700 state it, or from a
// ratio, as some of these devices do.
func ratio(pf float64) float64 {
	if math.Abs(pf) > 1 {
		pf /= 100
	}
	if math.Abs(pf) > 1.001 {
		return math.NaN()
	}
	return min(max(pf, -1), 1)
}
