package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/drop"
	"app.sunloop/backend/gateway/forward"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/sunspec"
)

// States of a device in words.
const (
	StateReading     = api.SourceReading
	StateWaiting     = api.SourceWaiting
	StateAsleep      = api.SourceAsleep
	StateUnreachable = api.SourceUnreachable
	StateSuspect     = api.SourceSuspect
)

// Status is the state of a running gateway.
type Status struct {
	Site     string         `json:"site"`
	At       time.Time      `json:"at"`
	Commits  int            `json:"commits"`
	Failures int            `json:"failed_commits"`
	Lost     int            `json:"lost_samples"`
	Error    string         `json:"error,omitempty"` // of the last commit
	Devices  []DeviceStatus `json:"devices"`
	Brokers  []BrokerStatus `json:"brokers,omitempty"`
	Files    []drop.Status  `json:"files,omitempty"` // folders, SFTP servers and mailboxes

	Forward *forward.Status     `json:"forward,omitempty"`       // absent: nothing is sent to another service
	Sending *forward.FileStatus `json:"forward_files,omitempty"` // absent: no files are sent to another service
}

// BrokerStatus is the state of an MQTT broker.
type BrokerStatus struct {
	Address   string         `json:"address"`
	Dialect   string         `json:"dialect"`
	Connected bool           `json:"connected"`
	Version   string         `json:"mqtt_version,omitempty"` // of the connection: 5 or 3.1.1
	Error     string         `json:"error,omitempty"`        // last one
	ErrorAt   *time.Time     `json:"error_at,omitempty"`
	Messages  int            `json:"messages"`
	Refused   map[string]int `json:"refused,omitempty"` // messages and values that were not taken, by reason
	Others    []string       `json:"not_configured,omitempty"`
}

// DeviceStatus is the state of a device.
type DeviceStatus struct {
	Device
	Address  string     `json:"address"`
	Protocol string     `json:"protocol"` // SunSpec, the map of its registers, or the dialect of its messages
	State    string     `json:"state"`
	LastRead *time.Time `json:"last_read"`
	AgeS     *float64   `json:"age_s"` // of the last reading that was believed
	Reads    int        `json:"reads"`

	PerMinute *float64             `json:"readings_per_min"` // of the last ten readings; null without them
	Errors    int                  `json:"errors"`
	Error     string               `json:"error,omitempty"` // last one
	ErrorAt   *time.Time           `json:"error_at,omitempty"`
	Marks     map[reading.Mark]int `json:"marks,omitempty"` // values that were dropped
	PowerW    *float64             `json:"power_w"`         // null unless the state is StateReading
	Stored    bool                 `json:"stored"`
}

// Explanation is how the values of a device come about.
type Explanation struct {
	DeviceStatus
	Version string   `json:"version,omitempty"`
	MQTT    string   `json:"mqtt_version,omitempty"` // of the connection to the broker: 5 or 3.1.1
	Limit   int      `json:"registers"`
	RatingW float64  `json:"rating_w,omitempty"`
	Blocks  []Block  `json:"blocks"`
	Inputs  []string `json:"inputs,omitempty"`

	Values    map[string]float64 `json:"values,omitempty"`         // of the last reading, by the names of mappings
	Registers []Registers        `json:"registers_read,omitempty"` // of a device with a map of its vendor
	Lines     []string           `json:"map_values,omitempty"`     // its values with their registers
}

// Block is a model that is polled, with the registers and the points of the last
// reading.
type Block struct {
	sunspec.Block
	Name     string             `json:"name"`
	Requests []Registers        `json:"requests"`
	Points   map[string]float64 `json:"points"` // those that are known
	Missing  []string           `json:"not_implemented,omitempty"`
}

// Registers are the response to a request.
type Registers struct {
	Address int      `json:"address"`
	Words   []uint16 `json:"words"`
}

// Status returns the state of all devices, by asset id.
func (p *Poller) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{Site: p.options.Config.Site.ID, At: p.options.Now(), Commits: p.stored.commits, Failures: p.stored.failures, Lost: p.stored.lost, Devices: []DeviceStatus{}}
	if p.options.Forward != nil {
		f := p.options.Forward.Status()
		s.Forward = &f
	}
	if p.sending != nil {
		f := p.options.Files.Status()
		s.Sending = &f
	}
	if p.lastErr != nil {
		s.Error = p.lastErr.Error()
	}
	for d := range p.devices() {
		s.Devices = append(s.Devices, p.statusOf(d, s.At))
	}
	for _, f := range p.feeds {
		b := BrokerStatus{Address: f.Address, Dialect: f.Dialect, Connected: f.connected, Version: f.client.Version(), Messages: f.messages, Refused: maps.Clone(f.refused),
			Others: slices.Sorted(maps.Keys(f.strangers))}
		if f.lastErr != nil {
			at := f.errorAt
			b.Error, b.ErrorAt = f.lastErr.Error(), &at
		}
		s.Brokers = append(s.Brokers, b)
	}
	for _, d := range p.drops {
		s.Files = append(s.Files, d.Status())
	}
	slices.SortStableFunc(s.Devices, func(a, b DeviceStatus) int { return cmp.Compare(a.Asset, b.Asset) })
	return s
}

func (p *Poller) statusOf(d *device, now time.Time) DeviceStatus {
	s := DeviceStatus{Device: d.Device, Address: d.address, Reads: d.reads, Errors: d.errors, Stored: p.units[d.Asset], Marks: map[reading.Mark]int{}, Protocol: d.protocol(p.feeds)}
	if n := len(d.times); n > 1 {
		if span := d.times[n-1].Sub(d.times[0]); span > 0 && now.Sub(d.times[n-1]) <= p.stale(d) {
			rate := math.Round(float64(n-1)/span.Minutes()*10) / 10
			s.PerMinute = &rate
		}
	}
	for m, n := range d.marks {
		s.Marks[m] = n
	}
	if !d.lastRead.IsZero() {
		s.LastRead = &d.lastRead
	}
	if !d.last.At.IsZero() {
		age := math.Round(now.Sub(d.last.At).Seconds()*10) / 10
		s.AgeS = &age
	}
	if d.lastErr != nil {
		s.Error, s.ErrorAt = d.lastErr.Error(), &d.errorAt
	}
	stale := p.stale(d)
	switch {
	case d.asleep:
		s.State = StateAsleep
	case d.failed > 0:
		s.State = StateUnreachable
	case d.lastRead.IsZero():
		s.State = StateWaiting
	case now.Sub(d.lastRead) > stale:
		s.State = StateUnreachable
	case d.dropped:
		s.State = StateSuspect
	default:
		s.State = StateReading
		if !d.last.At.IsZero() && !math.IsNaN(d.last.PowerW) {
			power := d.last.PowerW
			s.PowerW = &power
		}
	}
	return s
}

// Explain describes the device with an asset id, a serial number or a name; ok is
// false if there is none.
func (p *Poller) Explain(name string) (e Explanation, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d := range p.devices() {
		if !strings.EqualFold(d.Asset, name) && !strings.EqualFold(d.Serial, name) && !strings.EqualFold(d.Name, name) {
			continue
		}
		e = Explanation{DeviceStatus: p.statusOf(d, p.options.Now()), Version: d.version, Limit: d.regs.limit, RatingW: d.checker.RatingW, Blocks: []Block{}}
		for i, r := range d.raw {
			b := Block{Block: r.block, Name: sunspec.Find(r.block.ID).Name, Points: map[string]float64{}, Requests: []Registers{}}
			for _, part := range r.parts {
				b.Requests = append(b.Requests, Registers{int(r.block.Address) + part.Offset, part.Registers})
			}
			b.add("", d.measured[i].Values)
			for k, g := range d.measured[i].Groups {
				b.add(fmt.Sprintf("%d.", k+1), g)
			}
			slices.Sort(b.Missing)
			e.Blocks = append(e.Blocks, b)
		}
		if f := d.feed(p.feeds); f != nil {
			e.MQTT = f.client.Version()
		}
		if !d.last.At.IsZero() {
			e.Values = d.last.Values()
		}
		if d.mapped != nil {
			for i, words := range d.mapped.last.responses {
				e.Registers = append(e.Registers, Registers{d.mapped.last.requests[i].Address, words})
			}
			for _, v := range d.mapped.last.values {
				e.Lines = append(e.Lines, v.String())
			}
		}
		for k, in := range d.last.Inputs {
			e.Inputs = append(e.Inputs, fmt.Sprintf("%d: %s", k+1, cmp.Or(in.Name, "without a name")))
		}
		return e, true
	}
	return e, false
}

func (b *Block) add(prefix string, v sunspec.Values) {
	for _, name := range v.Names() {
		point, _ := v.Value(name)
		n, known := v.Number(name)
		switch {
		case known && point.Type != sunspec.Scale:
			b.Points[prefix+name] = n
		case !known && point.Type != sunspec.Text && point.Type != sunspec.Pad && point.Type != sunspec.Scale:
			b.Missing = append(b.Missing, prefix+name)
		}
	}
}

// socketName is the name of the socket in the data folder.
const socketName = "gateway.sock"

// Serve answers status and explain on a socket in the data folder until ctx ends.
// Only the user of the process can connect.
func (p *Poller) Serve(ctx context.Context, folder string) error {
	path := filepath.Join(folder, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that was killed
		return fmt.Errorf("open socket %s: %w", path, err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("open socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { write(w, p.Status()) })
	mux.HandleFunc("GET /explain", func(w http.ResponseWriter, q *http.Request) {
		e, ok := p.Explain(q.URL.Query().Get("device"))
		if !ok {
			http.Error(w, "no such device", http.StatusNotFound)
			return
		}
		write(w, e)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: nil}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client that went is the only one that would see the error
}

// ErrNotRunning is the error if no gateway runs in a data folder.
var ErrNotRunning = errors.New("no gateway runs with this data folder")

// ErrNoDevice is the error for an unknown device.
var ErrNoDevice = errors.New("no such device")

// AskStatus returns the state of the gateway that runs with a data folder.
func AskStatus(ctx context.Context, folder string) (s Status, err error) {
	return s, ask(ctx, folder, "/status", &s)
}

// AskExplain returns how the values of a device come about.
func AskExplain(ctx context.Context, folder, device string) (e Explanation, err error) {
	return e, ask(ctx, folder, "/explain?device="+url.QueryEscape(device), &e)
}

func ask(ctx context.Context, folder, path string, into any) error {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(folder, socketName))
	}}}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://gateway"+path, nil)
	if err != nil {
		return err
	}
	r, err := client.Do(q)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return ErrNotRunning
		}
		return err
	}
	defer r.Body.Close()
	switch r.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(io.LimitReader(r.Body, 64<<20)).Decode(into)
	case http.StatusNotFound:
		return ErrNoDevice
	}
	return fmt.Errorf("the gateway answered %s", r.Status)
}
