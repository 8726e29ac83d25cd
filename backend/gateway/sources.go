package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/drop"
	"app.sunloop/backend/gateway/forward"
)

// SiteID is the site of the devices.
func (p *Poller) SiteID() string { return p.options.Config.Site.ID }

// Sources returns the devices as the API has them, and of one of them, by its asset id,
// the values as read last. An error is one of the API.
func (p *Poller) Sources(device string) (api.SourcesResponse, error) {
	s := p.Status()
	out := api.SourcesResponse{Success: true, SiteID: s.Site, Reads: true, Error: s.Error, Sources: []api.SourceDevice{}}
	for i := range s.Devices {
		d := &s.Devices[i]
		is := api.SourceDevice{AssetID: d.Asset, Name: d.Name, Kind: string(d.Kind), Manufacturer: d.Manufacturer, Model: d.Model, Serial: d.Serial, State: d.State, AgeS: d.AgeS, PerMinute: d.PerMinute,
			Readings: d.Reads, Errors: d.Errors, Error: d.Error, Stored: d.Stored, Protocol: d.Protocol, Connection: d.connection()}
		if d.LastRead != nil {
			is.LastReadAt = api.At(*d.LastRead)
		}
		if d.ErrorAt != nil {
			is.ErrorAt = api.At(*d.ErrorAt)
		}
		if d.PowerW != nil {
			kW := *d.PowerW / 1000
			is.PowerKW = &kW
		}
		for mark, n := range d.Marks {
			if is.Dropped == nil {
				is.Dropped = map[string]int{}
			}
			is.Dropped[string(mark)] = n
		}
		out.Sources = append(out.Sources, is)
	}
	for _, b := range s.Brokers {
		out.Brokers = append(out.Brokers, api.SourceBroker{Address: b.Address, Dialect: b.Dialect, Connected: b.Connected, Version: b.Version, Error: b.Error, Messages: b.Messages, Refused: b.Refused, Others: b.Others})
	}
	for i := range s.Files {
		out.Files = append(out.Files, filesOf(&s.Files[i], s.Sending))
	}
	out.Count = len(out.Sources)
	if device == "" {
		return out, nil
	}
	e, ok := p.Explain(device)
	if !ok {
		return out, api.ErrSourceNotFound.With("device", device)
	}
	add := func(name string, v float64) {
		value := api.SourceValue{Name: name}
		if !math.IsNaN(v) {
			value.Value = &v
		}
		out.Values = append(out.Values, value)
	}
	for _, b := range e.Blocks {
		for _, name := range slices.Sorted(maps.Keys(b.Points)) {
			add(fmt.Sprintf("%d.%s", b.ID, name), b.Points[name])
		}
		for _, name := range b.Missing {
			add(fmt.Sprintf("%d.%s", b.ID, name), math.NaN())
		}
		for _, r := range b.Requests {
			out.Registers = append(out.Registers, registersOf(r))
		}
	}
	if len(e.Blocks) == 0 {
		for _, name := range slices.Sorted(maps.Keys(e.Values)) {
			add(name, e.Values[name])
		}
		for _, r := range e.Registers {
			out.Registers = append(out.Registers, registersOf(r))
		}
	}
	return out, nil
}

// filesOf is a source of files as the API has it.
func filesOf(s *drop.Status, sending *forward.FileStatus) api.SourceFiles {
	out := api.SourceFiles{Name: s.Name, Kind: s.Kind, Place: s.Place, State: s.State, Error: s.Error, Taken: s.Taken, Refused: s.Refused, Waiting: s.Waiting, Skipped: s.Skipped,
		LastFile: s.LastFile, LastUploadID: s.LastID}
	for _, t := range []struct {
		from *time.Time
		to   *api.Time
	}{{s.LastRead, &out.LastReadAt}, {s.ErrorAt, &out.ErrorAt}, {s.RetryAt, &out.RetryAt}} {
		if t.from != nil {
			*t.to = api.At(*t.from)
		}
	}
	for _, r := range s.Refusals {
		out.Refusals = append(out.Refusals, api.SourceRefusal{File: r.File, At: api.At(r.At), By: api.RefusedByImport, Reason: r.Reason, UploadID: r.UploadID})
	}
	if sending == nil {
		return out
	}
	out.Sending = &api.SourceSending{State: sending.State, Error: sending.Error, Waiting: sending.BySource[s.Name]}
	if sending.RetryAt != nil {
		out.Sending.RetryAt = api.At(*sending.RetryAt)
	}
	for _, r := range sending.Refusals {
		if r.Source == s.Name {
			out.Refusals = append(out.Refusals, api.SourceRefusal{File: r.File, At: api.At(r.At), By: r.By, Reason: r.Reason, UploadID: r.UploadID})
		}
	}
	return out
}

func registersOf(r Registers) api.SourceRegisters {
	out := api.SourceRegisters{Address: r.Address}
	for _, w := range r.Words {
		out.Words = append(out.Words, int(w))
	}
	return out
}

// connection is where a device is, in words.
func (d *DeviceStatus) connection() string {
	if d.ID != "" {
		return d.Address + " as " + d.ID
	}
	return fmt.Sprintf("%s unit %d", d.Address, d.Unit)
}

// protocol says how a device is read.
func (d *device) protocol(feeds []*feed) string {
	if d.done == nil {
		return cmp.Or(d.Map, "SunSpec")
	}
	if f := d.feed(feeds); f != nil {
		return f.Dialect
	}
	return "MQTT"
}

// feed returns the broker to which a device publishes, or nil.
func (d *device) feed(feeds []*feed) *feed {
	for _, f := range feeds {
		if f.devices[d.ID] == d {
			return f
		}
	}
	return nil
}
