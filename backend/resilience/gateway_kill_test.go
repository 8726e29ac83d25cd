//go:build !windows

package resilience

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/longtest"
)

// gatewayKills is the environment variable with the number of kills.
const gatewayKills = "SUNLOOP_TEST_GATEWAY_KILLS"

// inverters is a Modbus server with two SunSpec inverters. Each response has a power that
// was never served before, so that a stored one names its reading.
type inverters struct {
	address string

	mu        sync.Mutex
	n         [3]int // powers served so far, by unit
	functions map[byte]int
	closed    bool
	began     time.Time
}

func startInverters(t *testing.T) *inverters {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &inverters{address: l.Addr().String(), functions: map[byte]int{}, began: time.Now()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *inverters) serve(c net.Conn) {
	defer c.Close()
	for {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		body := make([]byte, int(binary.BigEndian.Uint16(head[4:]))-2)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		answer := s.answer(head[6], head[7], body)
		if answer == nil {
			return
		}
		out := append(head[:4:4], 0, 0, head[6])
		binary.BigEndian.PutUint16(out[4:], uint16(len(answer)+1))
		if _, err := c.Write(append(out, answer...)); err != nil {
			return
		}
	}
}

// answer returns the response to a request; nil: the connection ends.
func (s *inverters) answer(unit, function byte, body []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.functions[function]++
	if s.closed {
		return nil
	}
	if function != 3 || len(body) != 4 || unit < 1 || unit > 2 {
		return []byte{function | 0x80, 2}
	}
	from, count := int(binary.BigEndian.Uint16(body))-40000, int(binary.BigEndian.Uint16(body[2:]))
	words := s.image(unit, from <= 2+68+14 && from+count > 2+68+14 && count > 20)
	if from < 0 || from+count > len(words) {
		return []byte{function | 0x80, 2}
	}
	out := []byte{3, byte(2 * count)}
	for _, w := range words[from : from+count] {
		out = binary.BigEndian.AppendUint16(out, w)
	}
	return out
}

// image returns the registers of a unit: marker, models 1 and 103.
func (s *inverters) image(unit byte, next bool) []uint16 {
	if next {
		s.n[unit]++
	}
	n := s.n[unit]
	words := make([]uint16, 2+68+52+2)
	copy(words, []uint16{0x5375, 0x6E53, 1, 66})
	copy(words[2+50:], []uint16{0x5300 + uint16(unit)}) // serial number
	m := words[70:122]
	for i := range m {
		m[i] = 0xFFFF
	}
	wh := uint32(1e6 + 5*time.Since(s.began).Seconds())
	for at, v := range map[int]uint16{0: 103, 1: 50, 10: 2300 + uint16(n%7), 13: 0xFFFF, 14: uint16(1000 + n), 15: 0, 16: 5000 + uint16(n%3), 17: 0xFFFE, 24: uint16(wh >> 16), 25: uint16(wh), 26: 0, 38: 4, 40: 0, 41: 0} {
		m[at] = v
	}
	words[122], words[123] = 0xFFFF, 0
	return words
}

// cutLink is a proxy whose target may change and whose connections are cut.
type cutLink struct {
	address string

	mu     sync.Mutex
	target string // empty: refused
	open   map[net.Conn]bool
	passed int64 // bytes to the target
}

// sent is how many bytes the link passed to its target.
func (k *cutLink) sent() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.passed
}

// Write counts what passes.
func (k *cutLink) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.passed += int64(len(b))
	return len(b), nil
}

func startLink(t *testing.T) *cutLink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	k := &cutLink{address: l.Addr().String(), open: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go k.pass(c)
		}
	}()
	return k
}

func (k *cutLink) pass(c net.Conn) {
	defer c.Close()
	k.mu.Lock()
	target := k.target
	k.mu.Unlock()
	if target == "" {
		return
	}
	b, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer b.Close()
	k.mu.Lock()
	k.open[c] = true
	k.mu.Unlock()
	go func() { _, _ = io.Copy(c, b); c.Close() }()
	_, _ = io.Copy(io.MultiWriter(b, k), c)
	k.mu.Lock()
	delete(k.open, c)
	k.mu.Unlock()
}

// to sets the target and cuts all connections.
func (k *cutLink) to(target string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.target = target
	for c := range k.open {
		c.Close()
	}
}

// addressOf is the host and port of a service.
func addressOf(p *servetest.Process) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.URL, "http://"), "https://")
}

// startJoined starts a service in dir with a site, and a gateway in folder joins it over a link. root is
// the key of an administrator of the service.
func startJoined(t *testing.T, link *cutLink, dir, folder string, capacityKW float64) (service *servetest.Process, root string) {
	t.Helper()
	root = servetest.RootKey(t, dir)
	service = servetest.Start(t, dir)
	link.to(addressOf(service))
	admin := service.Client(root)
	if _, err := admin.AddSite(t.Context(), api.Site{SiteID: "roof", CustomerID: "default", Timezone: "UTC", CapacityKW: capacityKW}); err != nil {
		t.Fatal(err)
	}
	invited, err := admin.InviteGateway(t.Context(), api.GatewaysRequest{SiteID: "roof", Name: "roof gateway"})
	if err != nil {
		t.Fatal(err)
	}
	join := servetest.Command(folder, "gateway", "join", "http://"+link.address)
	join.Env = append(join.Env, "SUNLOOP_JOIN_CODE="+invited.Code)
	if out, err := join.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return service, root
}

// However often the gateway, the service and the link between them are killed, each
// reading that the gateway stored is at the service, once and as it was served, and no
// function but 3 and 4 reaches the devices.
func TestGatewayOverKills(t *testing.T) {
	longtest.Mark(t)
	kills := fromEnv(t, gatewayKills, 6)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	plant, link := startInverters(t), startLink(t)
	base := t.TempDir()
	dir, site := filepath.Join(base, "s"), filepath.Join(base, "g")
	service, root := startJoined(t, link, dir, site, 80)
	sources := filepath.Join(base, "sources.toml")
	text := fmt.Sprintf("poll = \"1s\"\nstep = \"1s\"\ncommit = \"1s\"\n[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[source]]\naddress = \"tcp://%s\"\npause = \"1ms\"\n", plant.address)
	for u := 1; u <= 2; u++ {
		text += fmt.Sprintf("[[source.device]]\nasset = \"INV-%d\"\nkind = \"inverter\"\nunit = %d\nbase = 40000\ncapacity_kw = 40\n", u, u)
	}
	if err := os.WriteFile(sources, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	process := runGateway(t, site, sources)
	killed := map[string]int{}
	var history []string
	for n := range kills {
		time.Sleep(time.Duration(500+dice.IntN(2500)) * time.Millisecond)
		victim := []string{"gateway", "service", "link"}[n%3]
		history = append(history, time.Now().UTC().Format("15:04:05.000 ")+victim)
		switch victim {
		case "gateway":
			process.end(os.Kill)
			process.start()
			killed[victim]++
		case "service":
			service.Kill()
			service = servetest.Start(t, dir)
			link.to(addressOf(service))
			killed[victim]++
		case "link":
			link.to("")
			time.Sleep(time.Duration(dice.IntN(2000)) * time.Millisecond)
			link.to(addressOf(service))
			killed[victim]++
		}
	}
	for late := time.Now().Add(3 * servetest.ReadyWithin); ; time.Sleep(200 * time.Millisecond) { // the last one begins on a busy machine too
		s, err := gateway.AskStatus(t.Context(), site)
		if err == nil && s.Forward != nil && s.Forward.LastSequence > 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the gateway read nothing: %+v, %v\n%s", s, err, &process.logs)
		}
	}
	plant.mu.Lock()
	plant.closed = true // no further readings
	plant.mu.Unlock()
	for late := time.Now().Add(3 * servetest.ReadyWithin); ; time.Sleep(200 * time.Millisecond) {
		s, err := gateway.AskStatus(t.Context(), site)
		unread := !slices.ContainsFunc(s.Devices, func(d gateway.DeviceStatus) bool { return d.AgeS != nil && *d.AgeS < 4 }) // all that was read is committed
		if err == nil && unread && s.Forward != nil && s.Forward.LastSequence > 0 && s.Forward.Acknowledged == s.Forward.LastSequence && s.Forward.Batches == 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the gateway did not send all: %+v, %v\n%s\n%s", s.Forward, err, &process.logs, service.Log())
		}
	}
	process.end(os.Interrupt)
	powers := func(p *servetest.Process, key string, unit int) map[int64]float64 {
		c := p.Client(key)
		defer c.Close()
		r, err := c.Inverter(t.Context(), api.RecordsQuery{CustomerID: "default", SiteID: "roof", AssetID: fmt.Sprint("INV-", unit), Start: api.At(plant.began.Add(-time.Hour)), End: api.At(time.Now().Add(time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		out := map[int64]float64{}
		for _, rec := range r.Records {
			out[rec.Timestamp.Unix()] = rec.Power
		}
		return out
	}
	local := servetest.RootKey(t, site)
	copied := servetest.Start(t, site)
	stored, lost, changed, twice, invented := 0, 0, 0, 0, 0
	for u := 1; u <= 2; u++ {
		here, there := powers(copied, local, u), powers(service, root, u)
		seen := map[float64]bool{}
		for at, kw := range there {
			n := int(kw*1000+0.5) - 1000
			if n < 1 || n > plant.n[u] {
				invented++
			}
			if seen[kw] {
				twice++
			}
			seen[kw] = true
			if was, ok := here[at]; ok && was != kw {
				changed++
			}
		}
		for at := range here {
			if _, ok := there[at]; !ok {
				lost++
				t.Logf("INV-%d at %s is lost", u, time.Unix(at, 0).UTC().Format(time.TimeOnly))
			}
		}
		stored += len(there)
	}
	for f, n := range plant.functions {
		if f != 3 && f != 4 {
			t.Errorf("function %d left the gateway %d times", f, n)
		}
	}
	t.Logf("killed %v; %d stored at the service of %d served, %d lost, %d changed, %d twice, %d invented", killed, stored, plant.n[1]+plant.n[2], lost, changed, twice, invented)
	if lost+changed+twice+invented > 0 || stored == 0 {
		t.Errorf("not each reading is at the service once; killed at %q\n%s", history, &process.logs)
	}
}

// gatewayRun is a gateway that a test ends and starts again.
type gatewayRun struct {
	t             *testing.T
	site, sources string
	logs          strings.Builder // of all its processes
	process       *exec.Cmd
}

// runGateway starts a gateway over a data folder and a sources file.
func runGateway(t *testing.T, site, sources string) *gatewayRun {
	t.Helper()
	g := &gatewayRun{t: t, site: site, sources: sources}
	g.start()
	t.Cleanup(func() { g.end(os.Kill) })
	return g
}

func (g *gatewayRun) start() {
	g.t.Helper()
	g.process = servetest.Command(g.site, "gateway", "run", "--sources", g.sources)
	g.process.Stderr = &g.logs
	if err := g.process.Start(); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gatewayRun) end(signal os.Signal) {
	_ = g.process.Process.Signal(signal) // it may have ended
	_ = g.process.Wait()
}
