package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/gateway/modbus"
	"app.sunloop/backend/names"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/sunspec"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
)

// DefaultUnits are the unit ids that a discovery asks for, in this order.
var DefaultUnits = []int{1, 126, 2, 3, 71, 100, 200, 201, 202, 203, 204, 240, 241, 242, 243, 244, 247, 254}

// maxAddresses is the largest network that is searched.
const maxAddresses = 256

// Discovery is a search for devices.
type Discovery struct {
	Targets []string // URLs as of [modbus.Config], addresses with or without a port, or private networks as in 192.0.2.0/28:502
	Units   []int    // nil: DefaultUnits, and those that follow a device
	Port    int      // of addresses without one; 502
	Timeout time.Duration
	Pause   time.Duration
	Now     func() time.Time
	// Progress is called with the unit that is asked next, -1 before the first one of an
	// address; nil: not called.
	Progress func(address string, unit int)
	// Each is called with the devices of an address; nil: not called.
	Each func(found []Found)
	// Skip says why an address is left out, empty if it is not; nil: none is.
	Skip func(address string) string
}

// Found is a device of a discovery.
type Found struct {
	Address string          `json:"address"`
	Device  Device          `json:"device"`
	Version string          `json:"version,omitempty"`
	Models  []sunspec.Block `json:"models"`
	Polled  []int           `json:"polled_models"`   // that would be read at each poll
	Limit   int             `json:"registers"`       // most registers of a request, as far as is known
	PowerW  *float64        `json:"power_w"`         // at the time of the discovery
	State   int             `json:"state,omitempty"` // by SunSpec's models 101-103
	counter float64
}

// Run searches the targets one after the other. A target without devices is no error:
// missed has a sentence for each.
func (d *Discovery) Run(ctx context.Context) (found []Found, missed []string, err error) {
	addresses, network, err := d.addresses()
	if err != nil {
		return nil, nil, err
	}
	for _, a := range addresses {
		d.progress(a, -1)
		if d.Skip != nil {
			if why := d.Skip(a); why != "" {
				missed = append(missed, a+": "+why)
				continue
			}
		}
		if network[a] && !open(ctx, a) {
			if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
				return found, missed, err
			}
			continue
		}
		here, err := d.search(ctx, a)
		if ctx.Err() != nil {
			return found, missed, ctx.Err()
		}
		found = append(found, here...)
		if d.Each != nil && len(here) > 0 {
			d.Each(here)
		}
		if len(here) == 0 {
			why := "no device with SunSpec or a map of Sunloop"
			if err != nil {
				why = err.Error()
			}
			missed = append(missed, a+": "+why)
		}
	}
	return distinct(found), missed, nil
}

func (d *Discovery) progress(address string, unit int) {
	if d.Progress != nil {
		d.Progress(address, unit)
	}
}

// Check returns an error if the targets or the port are not valid.
func (d *Discovery) Check() error {
	_, _, err := d.addresses()
	return err
}

// addresses returns the URLs of all targets; those in network belong to a network,
// most of whose addresses have no device.
func (d *Discovery) addresses() (all []string, network map[string]bool, err error) {
	network = map[string]bool{}
	port := d.Port
	if port == 0 {
		port = 502
	}
	if port < 1 || port > 65535 {
		return nil, nil, fmt.Errorf("port %d: must be a number from 1 to 65535", port)
	}
	for _, target := range d.Targets {
		if strings.TrimSpace(target) == "" {
			return nil, nil, errors.New("the address is empty")
		}
		if strings.Contains(target, "://") {
			if err := modbus.Check(target); err != nil {
				return nil, nil, err
			}
			all = append(all, target)
			continue
		}
		host, at := target, port
		if h, p, err := net.SplitHostPort(target); err == nil {
			n, err := strconv.ParseUint(p, 10, 16)
			if err != nil || n == 0 {
				return nil, nil, fmt.Errorf("target %q: the port is a number from 1 to 65535", target)
			}
			host, at = h, int(n)
		} else if base, p, ok := strings.Cut(target, "/"); ok && strings.Contains(p, ":") {
			bits, digits, _ := strings.Cut(p, ":")
			n, err := strconv.ParseUint(digits, 10, 16)
			if err != nil || n == 0 {
				return nil, nil, fmt.Errorf("target %q: the port is a number from 1 to 65535", target)
			}
			host, at = base+"/"+bits, int(n)
		}
		if !strings.Contains(host, "/") {
			u := "tcp://" + net.JoinHostPort(host, strconv.Itoa(at))
			if modbus.Check(u) != nil {
				return nil, nil, fmt.Errorf("target %q: must be an address, a network such as 192.0.2.0/28, or a URL", target)
			}
			all = append(all, u)
			continue
		}
		prefix, err := netip.ParsePrefix(host)
		if err != nil {
			return nil, nil, fmt.Errorf("target %q: must be an address, a network such as 192.0.2.0/28, or a URL", target)
		}
		prefix = prefix.Masked()
		if ones := prefix.Addr().BitLen() - prefix.Bits(); ones > 8 {
			return nil, nil, fmt.Errorf("target %q: a network of at most %d addresses is searched", target, maxAddresses)
		}
		if a := prefix.Addr(); !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() {
			return nil, nil, fmt.Errorf("target %q: only private networks are searched; name single addresses instead", target)
		}
		for a := prefix.Addr(); prefix.Contains(a); a = a.Next() {
			u := "tcp://" + netip.AddrPortFrom(a, uint16(at)).String()
			all, network[u] = append(all, u), true
		}
	}
	if len(all) > maxAddresses {
		return nil, nil, fmt.Errorf("%s: at most %d are searched", display.CountOf(len(all), "address", "addresses"), maxAddresses)
	}
	return all, network, nil
}

// open reports whether an address of a network accepts connections.
func open(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	_ = c.Close()                                        // it was only opened
	return clock.Sleep(ctx, 250*time.Millisecond) == nil // devices with one connection need a moment
}

// search asks the units of one connection.
func (d *Discovery) search(ctx context.Context, address string) ([]Found, error) {
	timeout := d.Timeout
	if timeout == 0 {
		timeout = time.Second
	}
	line, err := modbus.New(modbus.Config{URL: address, Timeout: timeout, Pause: d.Pause, Now: d.Now})
	if err != nil {
		return nil, err
	}
	defer line.Close()
	units := d.Units
	if units == nil {
		units = DefaultUnits
	}
	var found []Found
	var last error
	for i := 0; i < len(units); i++ {
		unit := units[i]
		d.progress(address, unit)
		here, err := d.searchUnit(ctx, line, address, unit)
		if err != nil {
			last = err
		}
		if ctx.Err() != nil || errors.Is(err, modbus.ErrUnreachable) && len(found) == 0 {
			return found, err
		}
		found = append(found, here...)
		if next := unit + 1; d.Units == nil && len(here) > 0 && next <= maxUnit && !slices.Contains(units, next) {
			units = append(slices.Clip(units), next) // devices are often numbered in a row
		}
	}
	return found, last
}

// maxUnit is the last unit id of Modbus.
const maxUnit = 247

// searchUnit looks for a SunSpec map at the bases, and for the maps of vendors.
func (d *Discovery) searchUnit(ctx context.Context, line *modbus.Line, address string, unit int) ([]Found, error) {
	m := &registerMap{line: line, unit: uint8(unit), limit: sunspec.MaxRegisters}
	var last error
	for _, base := range sunspec.Bases {
		line.Forget(uint8(unit))
		devices, err := sunspec.Walk(base, m.read(ctx))
		if errors.Is(err, sunspec.ErrNoMap) {
			last = err
			continue
		}
		if err != nil {
			return nil, err // silent at the first base: it is not there
		}
		var found []Found
		for i, dev := range devices {
			found = append(found, m.describe(ctx, address, base, i, dev))
		}
		return found, nil
	}
	found, err := d.searchMaps(ctx, line, address, unit)
	if len(found) == 0 && err == nil {
		err = last
	}
	return found, err
}

// describe reads rating and power of a device, if they can be read.
func (m *registerMap) describe(ctx context.Context, address string, base uint16, index int, dev sunspec.Device) Found {
	f := Found{Address: address, Version: dev.Version, Models: dev.Blocks, counter: math.NaN(),
		Device: Device{Kind: dev.Kind(), Manufacturer: dev.Manufacturer, Model: dev.Model, Serial: dev.Serial, Unit: int(m.unit), Base: int(base), Index: index}}
	f.Device.Asset = assetID(address, f.Device)
	f.Device.Name = strings.TrimSpace(strings.Join([]string{dev.Manufacturer, dev.Model}, " "))
	for _, b := range dev.Polled() {
		f.Polled = append(f.Polled, int(b.ID))
	}
	if rated, _, _, err := m.readBlocks(ctx, static(dev)); err == nil {
		f.Device.CapacityKW = sunspec.RatingW(rated) / 1000
	}
	if measured, _, _, err := m.readBlocks(ctx, dev.Polled()); err == nil {
		v := sunspec.Measure(measured)
		f.State, f.counter = v.State, v.EnergyWh
		if !math.IsNaN(v.PowerW) {
			f.PowerW = &v.PowerW
		}
	}
	f.Limit = m.limit
	return f
}

// assetID is the id of a device's unit: its serial number, or where it is.
func assetID(address string, d Device) string {
	id := d.Serial
	if id == "" {
		u, err := url.Parse(address)
		if err == nil && u.Host != "" {
			address = u.Host
		}
		id = fmt.Sprintf("%s unit %d", address, d.Unit)
		if d.Index > 0 {
			id += fmt.Sprintf(" device %d", d.Index+1)
		}
	}
	id = names.NewID(id)
	if r := []rune(id); len(r) > 64 {
		id = names.NewID(string(r[len(r)-64:]))
	}
	return id
}

// distinct leaves out devices that answered under several unit ids, and gives devices
// with one serial number ids of their own.
func distinct(found []Found) []Found {
	var out []Found
	for _, f := range found {
		same, twins := 0, 0
		for _, o := range out {
			if o.Address != f.Address && f.Device.Serial == "" || o.Device.Serial != f.Device.Serial || o.Device.Manufacturer != f.Device.Manufacturer || o.Device.Model != f.Device.Model || len(o.Models) != len(f.Models) || o.Device.Index != f.Device.Index && o.Address == f.Address && o.Device.Unit == f.Device.Unit {
				continue
			}
			same++
			if o.Address == f.Address && (math.IsNaN(o.counter) && math.IsNaN(f.counter) || math.Abs(o.counter-f.counter) <= 1000) {
				twins++
			}
		}
		if twins > 0 {
			continue
		}
		if same > 0 {
			f.Device.Asset = assetID(f.Address, Device{Unit: f.Device.Unit, Index: f.Device.Index})
		}
		out = append(out, f)
	}
	return out
}

// Sources are the sources that read what was found.
func Sources(found []Found) []Source {
	var out []Source
	for _, f := range found {
		if f.Device.Kind == reading.Other {
			continue // nothing to read
		}
		i := len(out) - 1
		if i < 0 || out[i].Address != f.Address {
			out = append(out, Source{Address: f.Address})
			i++
		}
		d := f.Device
		if f.Limit < sunspec.MaxRegisters {
			d.Registers = f.Limit
		}
		out[i].Devices = append(out[i].Devices, d)
	}
	return out
}

// ParseUnits reads unit ids such as "1-20,126".
func ParseUnits(text string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(word), "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 8)
		b, err2 := strconv.ParseUint(last, 10, 8)
		if err != nil || err2 != nil || a > b {
			return nil, fmt.Errorf("units %q: must be numbers from 0 to 255 and ranges, such as 1-20,126", text)
		}
		for n := a; n <= b; n++ {
			out = append(out, int(n))
		}
	}
	return out, nil
}
