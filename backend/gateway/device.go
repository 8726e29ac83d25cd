package gateway

import (
	"context"
	"errors"
	"fmt"

	"app.sunloop/backend/gateway/modbus"
	"app.sunloop/engine/sunspec"
)

// limits are the numbers of registers of a request that are tried in turn when a
// device refuses a long one.
var limits = []int{125, 64, 32, 16, 8, 5, 1}

// smaller returns the limit below a number of registers; 0 if there is none.
func smaller(n int) int {
	for _, l := range limits {
		if l < n {
			return l
		}
	}
	return 0
}

// registerMap reads the SunSpec map of a unit.
type registerMap struct {
	line  modbus.Reader
	unit  uint8
	limit int // most registers of a request
}

// read reads registers for [sunspec.Walk]; a refused request has no registers.
func (m *registerMap) read(ctx context.Context) sunspec.Read {
	return func(address uint16, count int) ([]uint16, error) {
		words, err := m.line.ReadHolding(ctx, m.unit, address, count)
		if errors.Is(err, modbus.ErrRefused) {
			return nil, fmt.Errorf("%w: %w", sunspec.ErrAddress, err)
		}
		return words, err
	}
}

// response is what was read of a block.
type response struct {
	block sunspec.Block
	parts []sunspec.Part
}

// readBlock reads the points of a block. A device that refuses a long request is asked
// for shorter ones from then on.
func (m *registerMap) readBlock(ctx context.Context, b sunspec.Block) (response, error) {
	model := sunspec.Find(b.ID)
	limit := m.limit
	for {
		out := response{block: b}
		var err error
		for _, q := range model.Plan(b.Length, limit) {
			if int(b.Address)+q.Offset+q.Count > 0x10000 {
				continue // the map ends before the model
			}
			var words []uint16
			if words, err = m.line.ReadHolding(ctx, m.unit, b.Address+uint16(q.Offset), q.Count); err != nil {
				if !errors.Is(err, modbus.ErrRefused) || smaller(q.Count) == 0 {
					return out, err
				}
				limit = smaller(q.Count)
				break
			}
			out.parts = append(out.parts, sunspec.Part{Offset: q.Offset, Registers: words})
		}
		if err == nil {
			m.limit = limit
			return out, nil
		}
	}
}

// readBlocks reads and decodes blocks, and returns their registers in one slice too.
func (m *registerMap) readBlocks(ctx context.Context, blocks []sunspec.Block) (measured []sunspec.Measured, words []uint16, raw []response, err error) {
	for _, b := range blocks {
		r, err := m.readBlock(ctx, b)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("read model %d: %w", b.ID, err)
		}
		measured = append(measured, sunspec.Measured{ID: b.ID, Values: sunspec.Find(b.ID).Decode(b.Length, r.parts)})
		for _, p := range r.parts {
			words = append(words, p.Registers...)
		}
		raw = append(raw, r)
	}
	return measured, words, raw, nil
}

// static are the blocks of a device that hold ratings.
func static(d sunspec.Device) []sunspec.Block {
	var out []sunspec.Block
	for _, id := range sunspec.StaticModels {
		if b, ok := d.Block(id); ok {
			out = append(out, b)
		}
	}
	return out
}
