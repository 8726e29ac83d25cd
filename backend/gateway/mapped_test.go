package gateway

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	wire "github.com/simonvetter/modbus"

	"app.sunloop/engine/reading"
	"app.sunloop/engine/series"
)

// vendorPlant has a Huawei inverter at unit 1 (function 3) and a Sungrow one at unit 2
// (function 4), which has no register 5044; it takes at most 64 registers.
type vendorPlant struct {
	plant
	holding, input map[int]uint16
}

func (p *vendorPlant) respond(from map[int]uint16, unit uint8, address, count uint16) ([]uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone[unit] {
		return nil, wire.ErrGWTargetFailedToRespond
	}
	out := make([]uint16, count)
	for i := range out {
		w, ok := from[int(address)+i]
		if !ok || count > 64 {
			return nil, wire.ErrIllegalDataAddress
		}
		out[i] = w
	}
	return out, nil
}

func (p *vendorPlant) HandleHoldingRegisters(r *wire.HoldingRegistersRequest) ([]uint16, error) {
	if r.IsWrite {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writes++
		return nil, wire.ErrIllegalFunction
	}
	if r.UnitId != 1 {
		return nil, wire.ErrIllegalDataAddress
	}
	return p.respond(p.holding, r.UnitId, r.Addr, r.Quantity)
}

func (p *vendorPlant) HandleInputRegisters(r *wire.InputRegistersRequest) ([]uint16, error) {
	if r.UnitId != 2 {
		return nil, wire.ErrIllegalFunction
	}
	return p.respond(p.input, r.UnitId, r.Addr, r.Quantity)
}

func (p *vendorPlant) put(to map[int]uint16, address int, words ...uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range words {
		to[address+i] = w
	}
}

func startVendorPlant(t *testing.T) (*vendorPlant, string) {
	t.Helper()
	p := &vendorPlant{plant: plant{gone: map[uint8]bool{}}, holding: map[int]uint16{}, input: map[int]uint16{}}
	text := func(s string, n int) []uint16 {
		out := make([]uint16, n)
		for i := range len(s) {
			out[i/2] |= uint16(s[i]) << (8 * (1 - i%2))
		}
		return out
	}
	p.put(p.holding, 30000, text("SUN2000-10KTL-M1", 15)...)
	p.put(p.holding, 30015, text("HV2140001234", 10)...)
	p.put(p.holding, 30071, 2, 0, 0, 10000)
	p.put(p.holding, 32000, make([]uint16, 120)...)
	p.put(p.holding, 32016, 6205, 512, 5980, 498)
	p.put(p.holding, 32069, 2301, 2310, 2320)
	p.put(p.holding, 32080, 0, 5950)
	p.put(p.holding, 32084, 998, 5001)
	p.put(p.holding, 32089, 0x0200)
	p.put(p.holding, 32106, 1, 0xE240)
	p.put(p.input, 4989, text("A2240901234", 10)...)
	p.put(p.input, 5000, make([]uint16, 44)...)
	p.put(p.input, 5000, 100)
	p.put(p.input, 5003, 0x4240, 0x000F)
	p.put(p.input, 5010, 6101, 42, 6002, 41, 0xFFFF, 0xFFFF)
	p.put(p.input, 5018, 2301, 2299, 2300)
	p.put(p.input, 5030, 5050, 0)
	p.put(p.input, 5034, 999, 4999)
	p.put(p.input, 5037, 0x8100)
	return p, serveRegisters(t, p)
}

// TestVendorMaps: devices without SunSpec are found by the maps of Sunloop and read by
// them, nothing is written, and a register that a device refuses costs no other one.
func TestVendorMaps(t *testing.T) {
	pl, address := startVendorPlant(t)
	d := Discovery{Targets: []string{address}, Units: []int{1, 2, 3}, Pause: time.Nanosecond, Timeout: 5 * time.Second, Now: time.Now}
	found, _, err := d.Run(t.Context())
	if err != nil || len(found) != 2 || found[0].Device.Map != "huawei-sun2000" || found[0].Device.Asset != "HV2140001234" || found[0].Device.Model != "SUN2000-10KTL-M1" || found[0].Device.CapacityKW != 10 || *found[0].PowerW != 5950 ||
		found[1].Device.Map != "sungrow-sg" || found[1].Device.Serial != "A2240901234" || found[1].Device.CapacityKW != 10 || *found[1].PowerW != 5050 {
		t.Fatalf("%+v, %v", found, err)
	}
	file := t.TempDir() + "/sources.toml"
	if n, err := Add(file, Site{ID: "roof", Timezone: "UTC"}, 10*time.Second, Sources(found)); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	now := noon
	p, m := newPoller(t, file, &now)
	run(t, p, &now, 7, func(i int) {
		pl.put(pl.holding, 32081, uint16(5950+i))
		pl.put(pl.input, 5030, uint16(5050+i))
	})
	for asset, want := range map[string]map[series.Quantity]float64{
		"HV2140001234": {series.PowerKW: 5.9525, series.EnergyCounterKWh: 1234.56, series.InverterState: 4, series.VendorState: 512, series.VendorCode: 0, series.DCVoltage(1): 620.5, series.DCCurrent(2): 4.98},
		"A2240901234":  {series.PowerKW: 5.0525, series.EnergyCounterKWh: 1e6, series.InverterState: 5, series.DCVoltage(2): 600.2},
	} {
		f := m.frames[asset]
		for q, v := range want {
			if got := f.At(q, 0); math.Abs(got-v) > 1e-9*v {
				t.Errorf("%s: %s is %v, want %v", asset, q, got, v)
			}
		}
	}
	if f := m.frames["A2240901234"]; !math.IsNaN(f.At(series.VendorCode, 0)) {
		t.Error("a register that the device refuses has a value")
	}
	e, ok := p.Explain("HV2140001234")
	if !ok || e.Values["power_w"] != 5956 || !slices.ContainsFunc(e.Lines, func(l string) bool { return strings.Contains(l, "power_w (register 32080): 5956") }) || len(e.Registers) == 0 {
		t.Errorf("%+v", e)
	}
	if pl.writes != 0 {
		t.Errorf("%d writes", pl.writes)
	}
	pl.put(pl.holding, 32008, 0, 0x40, 0)
	pl.put(pl.holding, 32089, 0x300)
	urgent := m.urgent
	run(t, p, &now, 1, nil)
	if f := m.frames["HV2140001234"]; f.At(series.InverterState, f.Len()-1) != reading.StateFault || f.At(series.VendorCode, f.Len()-1) != reading.VendorCode(0, 0x40) || m.urgent != urgent+1 || !math.IsNaN(f.At(series.ErrorCode, f.Len()-1)) {
		t.Errorf("%+v, %d urgent", f, m.urgent)
	}
	// Another device at the place.
	pl.put(pl.holding, 30015, 0x4141)
	now = now.Add(25 * time.Hour)
	run(t, p, &now, 1, nil)
	if s := p.Status().Devices[1]; s.State != StateUnreachable || !strings.Contains(s.Error, "is configured") {
		t.Errorf("%+v", s)
	}
}
