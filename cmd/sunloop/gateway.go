package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/backend"
	"app.sunloop/backend/gateway"
	"app.sunloop/backend/gateway/drop"
	"app.sunloop/engine/place"
	"app.sunloop/engine/reading"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
)

// GatewayCmd reads the devices of a plant.
type GatewayCmd struct {
	Discover GatewayDiscoverCmd `cmd:"" help:"Search addresses for devices and show what would be read."`
	Run      GatewayRunCmd      `cmd:"" help:"Read the devices of the sources file into the data folder, without a listening port."`
	Status   GatewayStatusCmd   `cmd:"" help:"Show the devices of a running gateway with the age of their data."`
	Tail     GatewayTailCmd     `cmd:"" help:"Print the readings of a running gateway as they arrive."`
	Invite   GatewayInviteCmd   `cmd:"" help:"Create a code for one gateway to join a site of this service, or of a remote one."`
	Join     GatewayJoinCmd     `cmd:"" help:"Join a service with a code; from its next start, the gateway sends its readings there."`
	Explain  GatewayExplainCmd  `cmd:"" help:"Show registers, points and dropped values of a device of a running gateway."`
}

// defaultSources is the file of sources if none is named.
func defaultSources() string { return filepath.Join(configDir(), "sources.toml") }

// GatewayDiscoverCmd searches for devices.
type GatewayDiscoverCmd struct {
	Targets  []string      `arg:"" name:"target" help:"Address [192.0.2.10 or 192.0.2.10:1502], private network of at most 256 addresses [192.0.2.0/28], or URL [rtu:///dev/ttyUSB0?speed=9600, rtuovertcp://192.0.2.10:4196]."`
	Units    string        `placeholder:"IDS" help:"Unit ids to ask for [1-20,126] (default: the usual ones)."`
	Port     int           `default:"502" help:"Port of addresses that have none (${default})."`
	Timeout  time.Duration `default:"1s" placeholder:"DURATION" help:"Time limit of a request (${default})."`
	JSON     bool          `name:"json" help:"Print JSON."`
	Add      bool          `help:"Add the devices to the sources file."`
	Sources  string        `placeholder:"FILE" env:"SUNLOOP_SOURCES" help:"Sources file (default: sources.toml in the configuration folder)." type:"path"`
	Site     string        `help:"Site of a new sources file."`
	Customer string        `default:"default" help:"Customer of a new sources file (${default})."`
	Location string        `help:"Location of a new sources file: a town or lat,lon. Night and time zone follow from it."`
	Tz       string        `name:"tz" placeholder:"ZONE" help:"Time zone of a new sources file (default: that of the location)."`
	Poll     time.Duration `default:"10s" placeholder:"DURATION" help:"Time between two readings in a new sources file (${default})."`
}

// Run searches and prints; it changes nothing on the devices.
func (c *GatewayDiscoverCmd) Run(ctx context.Context, std streams) error {
	path := cmp.Or(c.Sources, defaultSources())
	d := gateway.Discovery{Targets: c.Targets, Port: c.Port, Timeout: c.Timeout, Now: time.Now}
	var err error
	if c.Units != "" {
		if d.Units, err = gateway.ParseUnits(c.Units); err != nil {
			return wrong("--units: %w", err)
		}
	}
	switch {
	case c.Port < 1 || c.Port > 65535:
		return wrong("--port %d: must be a number from 1 to 65535", c.Port)
	case c.Timeout <= 0:
		return wrong("--timeout %s: must be more than 0", c.Timeout)
	}
	if err := d.Check(); err != nil {
		return wrong("%w", err)
	}
	site, err := c.site(path)
	if err != nil {
		return err
	}
	found, missed, err := d.Run(ctx)
	if err != nil {
		return err
	}
	added, readable := 0, 0
	if c.Add && len(found) > 0 {
		sources := gateway.Sources(found)
		for _, s := range sources {
			readable += len(s.Devices)
		}
		if added, err = gateway.Add(path, site, c.Poll, sources); err != nil {
			return err
		}
	}
	if c.JSON {
		if found == nil {
			found = []gateway.Found{}
		}
		err = printJSON(std.out, map[string]any{"devices": found, "without_devices": missed, "added": added})
	} else {
		printFound(std.out, found)
		for _, m := range missed {
			fmt.Fprintln(std.err, m)
		}
		if c.Add && len(found) > 0 {
			fmt.Fprintln(std.out, addedText(added, readable, path))
		}
	}
	if err == nil && len(found) == 0 {
		return exitStatus(1)
	}
	return err
}

// addedText says how many of the devices that can be read were added to a file.
func addedText(added, readable int, path string) string {
	already := ""
	if n := readable - added; n > 0 {
		already = fmt.Sprintf(" (already in the file: %d)", n)
	}
	return fmt.Sprintf("%s added to %s%s; start with: sunloop gateway run --sources %s", display.CountOf(added, "device", "devices"), path, already, path)
}

// site is the site of a new sources file. A site that differs from that of the existing
// file is an error.
func (c *GatewayDiscoverCmd) site(path string) (gateway.Site, error) {
	s := gateway.Site{ID: c.Site, Customer: c.Customer, Timezone: c.Tz}
	if !c.Add {
		return s, nil
	}
	switch file, err := gateway.Load(path); {
	case errors.Is(err, fs.ErrNotExist):
		if c.Site == "" {
			return s, wrong("--site: required to create %s", path)
		}
	case err != nil:
		return s, err
	case c.Site != "" && c.Site != file.Site.ID:
		return s, wrong("--site %s: %s has the devices of site %q; give another file with --sources", c.Site, path, file.Site.ID)
	case c.Customer != "default" && c.Customer != file.Site.Customer:
		return s, wrong("--customer %s: %s has the devices of customer %q; give another file with --sources", c.Customer, path, file.Site.Customer)
	}
	if c.Tz != "" {
		if _, err := time.LoadLocation(c.Tz); err != nil {
			return s, wrong("--tz: %w", err)
		}
	}
	if c.Location == "" {
		return s, nil
	}
	p, ok := place.Find(c.Location)
	if !ok {
		return s, wrong("--location: unknown place %q; give lat,lon", c.Location)
	}
	s.Latitude, s.Longitude = &p.Place.LatitudeDeg, &p.Place.LongitudeDeg
	s.Timezone = cmp.Or(s.Timezone, p.Place.Zone)
	return s, nil
}

func printFound(out io.Writer, found []gateway.Found) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	if len(found) > 0 {
		fmt.Fprintln(w, "ADDRESS\tUNIT\tKIND\tMANUFACTURER\tMODEL\tSERIAL\tVERSION\tRATING\tPOWER\tMODELS READ")
	}
	for _, f := range found {
		power, rating := "-", "-"
		if f.PowerW != nil {
			power = display.Power(*f.PowerW / 1000)
		}
		if f.Device.CapacityKW > 0 {
			rating = display.Power(f.Device.CapacityKW)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Address, f.Device.Unit, f.Device.Kind, cmp.Or(f.Device.Manufacturer, "-"), cmp.Or(f.Device.Model, "-"),
			cmp.Or(f.Device.Serial, "-"), cmp.Or(f.Version, "-"), rating, power, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(f.Polled)), ","), "[]"))
	}
	_ = w.Flush() // its error is that of the next line
}

// SourcesFlags let the service of a process read devices and watched folders too.
type SourcesFlags struct {
	Sources string `placeholder:"FILE" env:"SUNLOOP_SOURCES" help:"Also read the devices of this sources file (see sunloop gateway --help)." type:"path"`

	PlantMetrics string `placeholder:"ADDRESS" env:"SUNLOOP_PLANT_METRICS" help:"Serve the values of the devices of --sources for Prometheus at this address [127.0.0.1:9465]. Clients need no credential."`
}

// check checks the flags before a data folder is made or a port opened.
func (f SourcesFlags) check(g *Globals) error {
	if f.Sources != "" {
		if err := checkSources(g, f.Sources); err != nil {
			return err
		}
	}
	if err := checkPlantMetrics(f.PlantMetrics); err != nil {
		return err
	}
	if f.PlantMetrics != "" && f.Sources == "" {
		return wrong("--plant-metrics: requires --sources")
	}
	return nil
}

// checkFor checks the flags of a console. With a remote service, flags of the command
// line are refused, and settings of the environment and the configuration are not used.
func (f SourcesFlags) checkFor(g *Globals, remote string) error {
	if remote == "" {
		return f.check(g)
	}
	for _, flag := range []string{"sources", "plant-metrics"} {
		if g.given[flag] {
			return wrong("--%s: devices are read by a service of this process; with --remote, another process is the service", flag)
		}
	}
	return nil
}

// during calls do and reads the sources into the service until do returns. An error of
// the sources cancels the context of do.
func (f SourcesFlags) during(ctx context.Context, g *Globals, service *backend.Service, log *slog.Logger, do func(context.Context) error) error {
	if f.Sources == "" {
		return do(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	group.Go(func() error {
		err := readSources(ctx, g, f.Sources, f.PlantMetrics, service, log)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	})
	group.Go(func() error {
		defer cancel()
		return do(ctx)
	})
	return group.Wait()
}

// GatewayRunCmd reads devices without serving.
type GatewayRunCmd struct {
	ServiceFlags
	WatchFlags
	Sources      string `placeholder:"FILE" env:"SUNLOOP_SOURCES" help:"Sources file (default: sources.toml in the configuration folder)." type:"path"`
	PlantMetrics string `placeholder:"ADDRESS" env:"SUNLOOP_PLANT_METRICS" help:"Serve the values of the devices for Prometheus at this address [127.0.0.1:9465]. Clients need no credential."`
}

// Run reads until ctx ends.
func (c *GatewayRunCmd) Run(ctx context.Context, g *Globals, std streams) error {
	log := g.headlessLog(std.err)
	cfg, err := c.config(g, log, time.Now)
	if err != nil {
		return err
	}
	path := cmp.Or(c.Sources, defaultSources())
	err = errors.Join(checkPlantMetrics(c.PlantMetrics), checkSources(g, path))
	if c.Sources == "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; create it with sunloop gateway discover ADDRESS --add --site SITE, or name another file with --sources", err)
	}
	if err != nil {
		return err
	}
	return c.WatchFlags.run(ctx, cfg, 0, func(ctx context.Context, service *backend.Service) error {
		return readSources(ctx, g, path, c.PlantMetrics, service, log)
	})
}

// checkSources checks a file of sources before a data folder is made or a port opened.
func checkSources(g *Globals, path string) error {
	c, err := gateway.Load(path)
	if err != nil {
		return err
	}
	if err := c.CheckFolders(g.Data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if g.Store != "" {
		return wrong("--sources: devices are read into a data folder; with --store, use a gateway at the site")
	}
	return moveQueue(g.Data)
}

// readSources reads the devices of a file into the service until ctx ends, and takes up
// the file again when the console adds devices to it.
func readSources(ctx context.Context, g *Globals, path, metrics string, service *backend.Service, log *slog.Logger) error {
	search := gateway.NewSearcher(ctx, path, time.Now, log)
	defer service.SetSources(nil)
	for {
		again := false
		part, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-search.Changed():
				again = true
				cancel()
			case <-part.Done():
			}
		}()
		err := readOnce(part, g, path, metrics, service, search, log)
		cancel()
		<-ended
		if err != nil || !again || ctx.Err() != nil {
			return err
		}
	}
}

// readOnce reads the devices that the file has now.
func readOnce(ctx context.Context, g *Globals, path, metrics string, service *backend.Service, search *gateway.Searcher, log *slog.Logger) error {
	sources, err := gateway.Load(path)
	if err != nil {
		return err
	}
	options := gateway.Options{Config: sources, Store: service.Live(), Facts: siteFacts(service), Intake: service.Deliveries(sources.Site.Customer, sources.Site.ID), Search: search, Now: time.Now, Log: log}
	sender, err := openForward(g.Data, log)
	if err != nil {
		return err
	}
	if sender != nil {
		defer sender.close()
		options.Forward, options.Files = sender.Forwarder, sender.files
	}
	p, err := gateway.NewPoller(options)
	if err != nil {
		return err
	}
	service.SetSources(p) // in place of that of the former content of the file
	log.Info("reading devices", "sources", path, "devices", len(p.Status().Devices), "site", sources.Site.ID)
	exporter, err := openPlantMetrics(ctx, metrics, p, log)
	if err != nil {
		return err
	}
	var status sync.WaitGroup
	defer status.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if exporter != nil {
		status.Go(func() {
			if err := exporter.Serve(ctx); err != nil && ctx.Err() == nil {
				log.Error("serving plant metrics failed", "error", err.Error())
			}
		})
	}
	if sender != nil {
		status.Go(func() { sender.run(ctx) })
	}
	status.Go(func() { // without it the devices are still read
		if err := p.Serve(ctx, g.Data); err != nil && ctx.Err() == nil {
			log.Warn("gateway status, tail and explain unavailable", "error", err.Error())
		}
	})
	return p.Run(ctx)
}

// GatewayStatusCmd prints the state of the devices.
type GatewayStatusCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints; exit status 1 when a device is not read.
func (c *GatewayStatusCmd) Run(ctx context.Context, g *Globals, std streams) error {
	s, err := gateway.AskStatus(ctx, g.Data)
	if err != nil {
		return fmt.Errorf("%w: %s", err, g.Data)
	}
	bad := s.Error != "" || s.Forward != nil && s.Forward.NeedsAttention() || s.Sending != nil && s.Sending.NeedsAttention()
	for _, d := range s.Devices {
		bad = bad || d.State == gateway.StateUnreachable || d.State == gateway.StateSuspect
	}
	for _, b := range s.Brokers {
		bad = bad || !b.Connected
	}
	for _, f := range s.Files {
		bad = bad || f.Error != ""
	}
	if c.JSON {
		err = printJSON(std.out, s)
	} else {
		w := tabwriter.NewWriter(std.out, 0, 4, 2, ' ', 0)
		if len(s.Devices) > 0 || len(s.Files) == 0 {
			fmt.Fprintln(w, "DEVICE\tKIND\tSTATE\tPOWER\tAGE\tREADINGS\tERRORS\tDROPPED\tLAST ERROR")
		}
		for _, d := range s.Devices {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", d.Asset, d.Kind, d.State, kilowatts(d.PowerW), age(d.AgeS), d.Reads, d.Errors, marks(d.Marks), cmp.Or(d.Error, "-"))
		}
		err = w.Flush()
		if s.Error != "" {
			fmt.Fprintln(std.out, "samples are not stored:", s.Error)
		}
		for _, b := range s.Brokers {
			printBroker(std.out, b)
		}
		for _, f := range s.Files {
			printFiles(std.out, f)
		}
		if s.Forward != nil {
			printForward(std.out, s.Forward, s.At)
		}
		if s.Sending != nil {
			printSending(std.out, s.Sending)
		}
	}
	if err == nil && bad {
		return exitStatus(1)
	}
	return err
}

// printBroker prints what came from a broker.
func printBroker(out io.Writer, b gateway.BrokerStatus) {
	state := "connected"
	switch {
	case !b.Connected:
		state = "not connected: " + cmp.Or(b.Error, "no attempt yet")
	case b.Version != "":
		state += " by MQTT " + b.Version
	}
	fmt.Fprintf(out, "broker %s (%s): %s, %s\n", b.Address, b.Dialect, state, display.CountOf(b.Messages, "message", "messages"))
	for _, reason := range slices.Sorted(maps.Keys(b.Refused)) {
		fmt.Fprintf(out, "  rejected: %s: %d\n", reason, b.Refused[reason])
	}
	if len(b.Others) > 0 {
		fmt.Fprintf(out, "  not configured: %s\n", strings.Join(b.Others, ", "))
	}
}

// printFiles prints what came from a folder, a server or a mailbox.
func printFiles(out io.Writer, f drop.Status) {
	fmt.Fprintf(out, "%s %s (%s): %s, %s processed, %d of them refused, %d waiting\n", f.Kind, f.Name, f.Place, f.State, display.CountOf(f.Taken, "file", "files"), f.Refused, f.Waiting)
	if f.Skipped > 0 {
		fmt.Fprintf(out, "  messages of other senders, ignored: %d\n", f.Skipped)
	}
	for _, r := range f.Refusals {
		fmt.Fprintf(out, "  %s %s refused: %s\n", r.At.UTC().Format(time.RFC3339), r.File, r.Reason)
	}
	switch {
	case f.RetryAt != nil:
		fmt.Fprintf(out, "  %s; next attempt at %s\n", f.Error, f.RetryAt.UTC().Format(time.RFC3339))
	case f.Error != "":
		fmt.Fprintf(out, "  %s\n", f.Error)
	}
}

func kilowatts(w *float64) string {
	if w == nil {
		return "-"
	}
	return display.Power(*w / 1000)
}

// GatewayTailCmd prints readings.
type GatewayTailCmd struct {
	Device string `arg:"" optional:"" help:"Unit (default: all)."`
	Count  int    `short:"n" placeholder:"N" help:"Number of readings to print (no limit)."`
	JSON   bool   `name:"json" help:"Print a JSON object for each reading."`
}

// Run prints until ctx ends.
func (c *GatewayTailCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Count < 0 {
		return wrong("--count %d: must be 0 or more", c.Count)
	}
	last := map[string]time.Time{}
	for printed, first := 0, true; ; first = false {
		s, err := gateway.AskStatus(ctx, g.Data)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("%w: %s", err, g.Data)
		case c.Device != "" && !slices.ContainsFunc(s.Devices, func(d gateway.DeviceStatus) bool { return d.Asset == c.Device }):
			return fmt.Errorf("device %q: %w; sunloop gateway status lists them", c.Device, gateway.ErrNoDevice)
		}
		for _, d := range s.Devices {
			if d.LastRead == nil || c.Device != "" && d.Asset != c.Device || !first && !d.LastRead.After(last[d.Asset]) {
				continue
			}
			last[d.Asset] = *d.LastRead
			if c.JSON {
				if err := json.NewEncoder(std.out).Encode(d); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(std.out, "%s  %-20s %-14s %s\n", d.LastRead.UTC().Format(time.RFC3339), d.Asset, d.State, kilowatts(d.PowerW))
			}
			if printed++; printed == c.Count {
				return nil
			}
		}
		if clock.Sleep(ctx, time.Second) != nil {
			return nil
		}
	}
}

func age(s *float64) string {
	if s == nil {
		return "-"
	}
	return time.Duration(*s * float64(time.Second)).Round(100 * time.Millisecond).String()
}

func marks(m map[reading.Mark]int) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s %d", k, m[k]))
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}

// GatewayExplainCmd prints how the values of a device come about.
type GatewayExplainCmd struct {
	Device string `arg:"" help:"Unit, serial number or name."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run prints.
func (c *GatewayExplainCmd) Run(ctx context.Context, g *Globals, std streams) error {
	e, err := gateway.AskExplain(ctx, g.Data, c.Device)
	switch {
	case errors.Is(err, gateway.ErrNoDevice):
		return fmt.Errorf("device %q: %w; sunloop gateway status lists them", c.Device, err)
	case err != nil:
		return fmt.Errorf("%w: %s", err, g.Data)
	case c.JSON:
		return printJSON(std.out, e)
	}
	out := std.out
	fmt.Fprintf(out, "%s: %s %s, serial number %s, version %s\n", e.Asset, e.Manufacturer, e.Model, cmp.Or(e.Serial, "unknown"), cmp.Or(e.Version, "unknown"))
	switch {
	case e.Map != "":
		fmt.Fprintf(out, "%s at %s, unit %d, map %s\n", e.State, e.Address, e.Unit, e.Map)
	case e.ID != "":
		connection := "no connection to the broker"
		if e.MQTT != "" {
			connection = "connected by MQTT " + e.MQTT
		}
		fmt.Fprintf(out, "%s at %s as %s, %s\n", e.State, e.Address, e.ID, connection)
	default:
		fmt.Fprintf(out, "%s at %s, unit %d, base %d, at most %d registers in a request\n", e.State, e.Address, e.Unit, e.Base, e.Limit)
	}
	fmt.Fprintf(out, "power %s, age %s, %s, %s, dropped: %s\n", kilowatts(e.PowerW), age(e.AgeS), display.CountOf(e.Reads, "reading", "readings"), display.CountOf(e.Errors, "error", "errors"), marks(e.Marks))
	if !e.Stored {
		fmt.Fprintln(out, "not stored as a unit: its power is that of the inverters, or it measures none")
	}
	if e.Error != "" {
		fmt.Fprintf(out, "last error at %s: %s\n", e.ErrorAt.UTC().Format(time.RFC3339), e.Error)
	}
	for _, line := range e.Lines {
		fmt.Fprintln(out, " ", line)
	}
	for _, r := range e.Registers {
		fmt.Fprintf(out, "  registers %d to %d: %04x\n", r.Address, r.Address+len(r.Words)-1, r.Words)
	}
	if len(e.Blocks) == 0 && len(e.Lines) == 0 {
		for _, name := range slices.Sorted(maps.Keys(e.Values)) {
			fmt.Fprintf(out, "  %-16s %.10g\n", name, e.Values[name])
		}
	}
	for _, b := range e.Blocks {
		fmt.Fprintf(out, "\nmodel %d, %s, %s from %d\n", b.ID, b.Name, display.CountOf(b.Length, "register", "registers"), b.Address)
		for _, name := range slices.Sorted(maps.Keys(b.Points)) {
			fmt.Fprintf(out, "  %-14s %.10g\n", name, b.Points[name])
		}
		if len(b.Missing) > 0 {
			fmt.Fprintf(out, "  not implemented: %s\n", strings.Join(b.Missing, " "))
		}
		for _, r := range b.Requests {
			fmt.Fprintf(out, "  registers %d to %d: %04x\n", r.Address, r.Address+len(r.Words)-1, r.Words)
		}
	}
	return nil
}
