package sunspec

import (
	"errors"
	"fmt"
)

// Bases are the addresses at which the marker of a SunSpec map may be, in the order
// in which they are tried.
var Bases = []uint16{40000, 50000, 0}

// ErrNoMap is the error of Walk if the marker is not at the base.
var ErrNoMap = errors.New("no SunSpec map")

// ErrAddress is wrapped by errors of a read that mean that the device has no such
// register: exception 2 and its kin.
var ErrAddress = errors.New("no such register")

// Bounds of a chain, whatever the device returns.
const (
	maxModels   = 64
	marker      = 0x53756E53 // "SunS"
	endOfChain  = 0xFFFF
	commonModel = 1
)

// Block is a model of a device: where it is, and how long.
type Block struct {
	ID      uint16 `json:"id"`
	Address uint16 `json:"address"` // of the register with the ID
	Length  int    `json:"length"`  // registers without ID and L, by the device
}

// Device is a device of a chain: the blocks from a common model up to the next one.
type Device struct {
	Identity
	Blocks []Block // without the common model
	Common Block   // zero if the chain begins without one
}

// Identity is what a common model says about a device.
type Identity struct {
	Manufacturer string `json:"manufacturer"`
	Model        string `json:"model"`
	Options      string `json:"options,omitempty"`
	Version      string `json:"version,omitempty"`
	Serial       string `json:"serial"`
	Address      int    `json:"address,omitempty"` // Modbus address, 0 if not given
}

// Read returns count registers from an address.
type Read func(address uint16, count int) ([]uint16, error)

// Walk reads the chain of models from a base. It returns ErrNoMap if the base has no
// marker. A chain that ends with an exception, with ID 0, or not within 64 models is
// returned as far as it was read; other errors of read are returned.
func Walk(base uint16, read Read) ([]Device, error) {
	head, err := read(base, 2)
	if err != nil {
		if errors.Is(err, ErrAddress) {
			return nil, fmt.Errorf("%w at %d", ErrNoMap, base)
		}
		return nil, err
	}
	if uint32(head[0])<<16|uint32(head[1]) != marker {
		return nil, fmt.Errorf("%w at %d", ErrNoMap, base)
	}
	var devices []Device
	for at, n := int(base)+2, 0; n < maxModels && at+1 <= 0xFFFF; n++ {
		head, err := read(uint16(at), 2)
		if errors.Is(err, ErrAddress) {
			break
		}
		if err != nil {
			return nil, err
		}
		block := Block{ID: head[0], Address: uint16(at), Length: int(head[1])}
		if block.ID == endOfChain || block.ID == 0 {
			break
		}
		switch {
		case block.ID == commonModel:
			d := Device{Common: block}
			if d.Identity, err = readIdentity(block, read); err != nil {
				return nil, err
			}
			devices = append(devices, d)
		case len(devices) == 0:
			devices = append(devices, Device{})
			fallthrough
		default:
			d := &devices[len(devices)-1]
			d.Blocks = append(d.Blocks, block)
		}
		at += 2 + block.Length
	}
	return devices, nil
}

// readIdentity reads a common model, in parts: some devices return few registers at
// a time.
func readIdentity(b Block, read Read) (Identity, error) {
	end := min(b.Length+2, 67, 0x10000-int(b.Address))
	words := make([]uint16, 0, 67)
	part := 32
	for at := 2; at < end; {
		count := min(part, end-at)
		some, err := read(b.Address+uint16(at), count)
		switch {
		case errors.Is(err, ErrAddress) && part > 1:
			part /= 2
			continue
		case errors.Is(err, ErrAddress):
			at = end
			continue
		case err != nil:
			return Identity{}, err
		}
		words, at = append(words, some...), at+count
	}
	v := Find(commonModel).Decode(b.Length, []Part{{Offset: 2, Registers: words}})
	id := Identity{Manufacturer: v.Text("Mn"), Model: v.Text("Md"), Options: v.Text("Opt"), Version: v.Text("Vr"), Serial: v.Text("SN")}
	if n, ok := v.Number("DA"); ok {
		id.Address = int(n)
	}
	return id, nil
}

// Block returns the first block of a device with one of the IDs.
func (d *Device) Block(ids ...uint16) (Block, bool) {
	for _, b := range d.Blocks {
		for _, id := range ids {
			if b.ID == id {
				return b, true
			}
		}
	}
	return Block{}, false
}
