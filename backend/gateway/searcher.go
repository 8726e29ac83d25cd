package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/reading"
)

// Searcher searches for devices when the console asks, one search at a time, and adds
// them to the sources file. It reads only, as [Discovery] does.
type Searcher struct {
	start   func() (context.Context, context.CancelFunc) // of a search, which outlives its request and ends with the process
	path    string
	now     func() time.Time
	log     *slog.Logger
	Timeout time.Duration // of a request; 0: that of a Discovery

	mu      sync.Mutex
	state   api.DiscoveryResponse
	found   []Found
	added   map[string]bool // assets
	stop    context.CancelFunc
	ended   chan struct{} // closed when the search has ended
	changed chan struct{}
}

// NewSearcher returns one that adds devices to a sources file. Searches end with ctx.
func NewSearcher(ctx context.Context, path string, now func() time.Time, log *slog.Logger) *Searcher {
	return &Searcher{start: func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }, path: path, now: now, log: log, added: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// Changed receives a value after devices were added to the file.
func (s *Searcher) Changed() <-chan struct{} { return s.changed }

// localOnly returns an error for an address that a person at a console may not have
// searched: only private addresses, the machine itself and serial ports are, so that the
// service is no way to other machines.
func localOnly(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("target %q: invalid address", address)
	}
	if u.Scheme == "rtu" {
		if p := u.Host + u.Path; strings.HasPrefix(p, "/dev/") && !strings.Contains(p, "..") || strings.HasPrefix(p, "COM") {
			return nil
		}
		return fmt.Errorf("target %q: must be a serial port such as /dev/ttyUSB0", address)
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && (a.IsPrivate() || a.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("target %q: from the console only private addresses such as 192.168.1.10 and serial ports are searched; sunloop gateway discover on the machine searches others", address)
}

// place is where an address leads, without what it says of the protocol.
func place(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host + u.Path
	}
	return address
}

// Start begins a search. Addresses that c reads already are left out: many devices accept
// one connection.
func (s *Searcher) Start(c *Config, r *api.GatewaysRequest) (api.DiscoveryResponse, error) {
	d := Discovery{Targets: r.Targets, Port: r.Port, Timeout: s.Timeout, Now: s.now}
	if r.Units != "" {
		var err error
		if d.Units, err = ParseUnits(r.Units); err != nil {
			return api.DiscoveryResponse{}, api.InvalidField("units", "must be numbers from 0 to 255 and ranges, such as 1-20,126")
		}
	}
	addresses, _, err := d.addresses()
	if err != nil {
		return api.DiscoveryResponse{}, api.InvalidField("targets", err.Error())
	}
	read := map[string]bool{}
	for _, source := range c.Sources {
		read[place(source.Address)] = true
	}
	for _, a := range addresses {
		if err := localOnly(a); err != nil {
			return api.DiscoveryResponse{}, api.InvalidField("targets", err.Error())
		}
	}
	d.Skip = func(address string) string {
		if read[place(address)] {
			return "its devices are being read"
		}
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.State == api.DiscoveryRunning {
		return api.DiscoveryResponse{}, api.InvalidTransition("A search is running since %s: stop it first, or wait for its end", s.state.StartedAt)
	}
	ctx, cancel := s.start()
	s.stop, s.ended, s.found, s.added = cancel, make(chan struct{}), nil, map[string]bool{}
	s.state = api.DiscoveryResponse{State: api.DiscoveryRunning, StartedAt: api.At(s.now()), Targets: slices.Clone(r.Targets), Units: r.Units, Addresses: len(addresses)}
	d.Progress = func(address string, unit int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if address != s.state.At {
			s.state.Searched = slices.Index(addresses, address)
		}
		s.state.At, s.state.AtUnit = address, unit
	}
	d.Each = func(found []Found) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.found = distinct(append(s.found, found...))
	}
	s.log.Info("device search started", "targets", r.Targets, "addresses", len(addresses))
	go s.run(ctx, &d, s.ended)
	return s.response(), nil
}

func (s *Searcher) run(ctx context.Context, d *Discovery, ended chan struct{}) {
	defer close(ended)
	found, missed, err := d.Run(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.state.State, s.state.EndedAt, s.state.At, s.state.AtUnit = api.DiscoveryEnded, api.At(s.now()), "", 0
	s.state.Missed = missed
	switch {
	case errors.Is(err, context.Canceled):
		s.state.State = api.DiscoveryStopped
	case err != nil:
		s.state.Error = err.Error()
	default:
		s.found, s.state.Searched = found, s.state.Addresses
	}
	s.log.Info("device search ended", "state", s.state.State, "devices", len(s.found))
}

// Stop ends a search; what it found stays.
func (s *Searcher) Stop() (api.DiscoveryResponse, error) {
	s.mu.Lock()
	if s.state.State != api.DiscoveryRunning {
		defer s.mu.Unlock()
		return s.response(), nil
	}
	s.stop()
	ended := s.ended
	s.mu.Unlock()
	<-ended
	return s.State(), nil
}

// State is how far the search is.
func (s *Searcher) State() api.DiscoveryResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.response()
}

func (s *Searcher) response() api.DiscoveryResponse {
	out := s.state
	out.Success, out.Devices = true, []api.FoundDevice{}
	for _, f := range s.found {
		out.Devices = append(out.Devices, api.FoundDevice{AssetID: f.Device.Asset, Address: f.Address, Unit: f.Device.Unit, Kind: string(f.Device.Kind), Manufacturer: f.Device.Manufacturer, Model: f.Device.Model,
			Serial: f.Device.Serial, Version: f.Version, Map: f.Device.Map, RatingKW: f.Device.CapacityKW, PowerW: f.PowerW, Models: slices.Clone(f.Polled),
			Readable: f.Device.Kind != reading.Other, Added: s.added[f.Device.Asset]})
	}
	out.Count = len(out.Devices)
	return out
}

// Add adds found devices to the sources file, all that can be read without assets. Their
// reading begins when the process takes up the file.
func (s *Searcher) Add(assets []string) (api.DiscoveryResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var chosen []Found
	for _, f := range s.found {
		if f.Device.Kind != reading.Other && (len(assets) == 0 || slices.Contains(assets, f.Device.Asset)) {
			chosen = append(chosen, f)
		}
	}
	for _, a := range assets {
		if !slices.ContainsFunc(chosen, func(f Found) bool { return f.Device.Asset == a }) {
			return api.DiscoveryResponse{}, api.ErrSourceNotFound.With("device", a)
		}
	}
	if len(chosen) == 0 {
		return api.DiscoveryResponse{}, api.InvalidTransition("No device was found that can be read")
	}
	n, err := Add(s.path, Site{}, 0, Sources(chosen))
	if err != nil {
		return api.DiscoveryResponse{}, api.InvalidTransition("The devices are not added: %s", err)
	}
	for _, f := range chosen {
		s.added[f.Device.Asset] = true
	}
	if n > 0 {
		s.log.Info("devices added to sources file", "devices", n, "sources", s.path)
		select {
		case s.changed <- struct{}{}:
		default: // the file is to be read anyway
		}
	}
	out := s.response()
	out.NewDevices = n
	return out, nil
}

// Discover begins a search, as of [Searcher.Start].
func (p *Poller) Discover(r *api.GatewaysRequest) (api.DiscoveryResponse, error) {
	if p.options.Search == nil {
		return api.DiscoveryResponse{}, api.ErrNoDiscovery
	}
	return p.options.Search.Start(&p.options.Config, r)
}

// Discovery is how far the search is.
func (p *Poller) Discovery() (api.DiscoveryResponse, error) {
	if p.options.Search == nil {
		return api.DiscoveryResponse{}, api.ErrNoDiscovery
	}
	return p.options.Search.State(), nil
}

// StopDiscovery ends a search.
func (p *Poller) StopDiscovery() (api.DiscoveryResponse, error) {
	if p.options.Search == nil {
		return api.DiscoveryResponse{}, api.ErrNoDiscovery
	}
	return p.options.Search.Stop()
}

// AddDevices adds found devices to the sources file.
func (p *Poller) AddDevices(assets []string) (api.DiscoveryResponse, error) {
	if p.options.Search == nil {
		return api.DiscoveryResponse{}, api.ErrNoDiscovery
	}
	return p.options.Search.Add(assets)
}
