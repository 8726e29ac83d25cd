package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/gateway/modbus"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/registermap"
	"app.sunloop/engine/sunspec"
)

// mapped reads a device by the register map of its vendor.
type mapped struct {
	*registermap.Map
	line     modbus.Reader
	unit     uint8
	requests []registermap.Request // nil: the device is to be verified
	absent   map[int]bool          // registers that the device refuses
	last     mappedReading
}

// mappedReading is what was read last, for explanations.
type mappedReading struct {
	requests  []registermap.Request
	responses [][]uint16
	values    []registermap.Value
}

// read reads registers by the function of the map.
func (m *mapped) read(ctx context.Context, address, count int) ([]uint16, error) {
	if m.Input {
		return m.line.ReadInput(ctx, m.unit, uint16(address), count)
	}
	return m.line.ReadHolding(ctx, m.unit, uint16(address), count)
}

func (m *mapped) readText(ctx context.Context, t registermap.Text) (string, error) {
	if t.Length == 0 {
		return "", nil
	}
	words, err := m.read(ctx, t.Address, t.Length)
	if err != nil {
		return "", err
	}
	return t.Decode(words), nil
}

// identity is what a device says of itself.
type identity struct {
	model, serial string
	ratingW       float64 // 0: not said
	inputs        int     // 0: not said
}

// identify reads what a device says of itself. What it refuses is not said.
func (m *mapped) identify(ctx context.Context) (is identity, err error) {
	refused := func(err error) error {
		if errors.Is(err, modbus.ErrRefused) {
			return nil
		}
		return err
	}
	if is.model, err = m.readText(ctx, m.Model); refused(err) != nil {
		return is, fmt.Errorf("read the model: %w", err)
	}
	if is.serial, err = m.readText(ctx, m.Serial); refused(err) != nil {
		return is, fmt.Errorf("read the serial number: %w", err)
	}
	if request, value := m.Rating(); request != nil {
		words, err := m.read(ctx, request.Address, request.Count)
		if refused(err) != nil {
			return is, fmt.Errorf("read the rating: %w", err)
		}
		if w := value(words); w > 0 {
			is.ratingW = w
		}
	}
	if m.Inputs >= 0 {
		words, err := m.read(ctx, m.Inputs, 1)
		if refused(err) != nil {
			return is, fmt.Errorf("read the number of inputs: %w", err)
		}
		if len(words) == 1 && words[0] != math.MaxUint16 {
			is.inputs = int(words[0])
		}
	}
	return is, nil
}

// measure takes a reading. A request that the device refuses is split, and registers that
// it refuses alone are left out from then on.
func (m *mapped) measure(ctx context.Context) (out reading.Measurement, words []uint16, read mappedReading, err error) {
	queue := m.requests
	for len(queue) > 0 {
		r := queue[0]
		queue = queue[1:]
		got, err := m.read(ctx, r.Address, r.Count)
		if errors.Is(err, modbus.ErrRefused) {
			if a, b, ok := r.Split(); ok {
				queue = append([]registermap.Request{a, b}, queue...)
			} else {
				m.absent[r.Address] = true
			}
			continue
		}
		if err != nil {
			return out, nil, read, fmt.Errorf("read registers %d to %d: %w", r.Address, r.Address+r.Count-1, err)
		}
		read.requests, read.responses = append(read.requests, r), append(read.responses, got)
		words = append(words, got...)
	}
	if len(read.requests) == 0 {
		return out, nil, read, fmt.Errorf("the device has none of the registers of the map %s: %w", m.Name, modbus.ErrRefused)
	}
	m.requests = read.requests
	out, read.values = m.Measure(read.requests, read.responses)
	return out, words, read, nil
}

// verifyMapped reads the identity of a device and plans its requests.
func (p *Poller) verifyMapped(ctx context.Context, d *device, at time.Time) error {
	is, err := d.mapped.identify(ctx)
	if err != nil {
		return err
	}
	if d.Serial != "" && is.serial != d.Serial {
		return fmt.Errorf("the device has the serial number %q; %q is configured", is.serial, d.Serial)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(d.mapped.absent)
	d.mapped.requests = d.mapped.Requests(is.inputs, d.mapped.absent)
	d.verified = at
	if is.ratingW > 0 {
		d.checker.RatingW = is.ratingW
	}
	return nil
}

// searchMaps looks for a device of one of the maps that Sunloop has.
func (d *Discovery) searchMaps(ctx context.Context, line *modbus.Line, address string, unit int) ([]Found, error) {
	for _, name := range registermap.Names() {
		is, err := registermap.Load(name)
		if err != nil {
			return nil, err
		}
		if is.Identify().Length == 0 {
			continue
		}
		line.Forget(uint8(unit))
		m := &mapped{Map: is, line: line, unit: uint8(unit), absent: map[int]bool{}}
		switch text, err := m.readText(ctx, is.Identify()); {
		case errors.Is(err, modbus.ErrRefused), err == nil && !is.IsDevice(text):
			continue
		case err != nil:
			return nil, err
		}
		f, err := m.describe(ctx, address)
		return []Found{f}, err
	}
	return nil, nil
}

// describe reads identity and power of a device.
func (m *mapped) describe(ctx context.Context, address string) (Found, error) {
	f := Found{Address: address, Models: []sunspec.Block{}, Limit: sunspec.MaxRegisters, counter: math.NaN(), Device: Device{Kind: reading.Inverter, Unit: int(m.unit), Map: m.Name, Name: m.Title}}
	is, err := m.identify(ctx)
	if err != nil {
		return f, err
	}
	f.Device.Manufacturer, f.Device.Model, f.Device.Serial, f.Device.CapacityKW = m.Title, is.model, is.serial, is.ratingW/1000
	f.Device.Asset = assetID(address, f.Device)
	m.requests = m.Requests(is.inputs, m.absent)
	if v, _, _, err := m.measure(ctx); err == nil {
		f.State, f.counter = v.State, v.EnergyWh
		if !math.IsNaN(v.PowerW) {
			f.PowerW = &v.PowerW
		}
	}
	return f, nil
}
