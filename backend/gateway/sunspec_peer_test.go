package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/engine/reading"
	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

// misbehaviour is a way in which the simulated devices misbehave.
type misbehaviour struct {
	name  string
	args  []string
	start string        // hour of the plant
	every time.Duration // between two readings, by the clock of the plant
	// strict: each power that was served is stored. Otherwise requests fail, and with them the
	// reading that they are part of.
	strict bool
	// silent: there are no readings.
	silent bool
	// seen: what the simulator must have done before the test ends.
	seen func(served) bool
}

var misbehaviours = []misbehaviour{
	{name: "none", strict: true},
	{name: "at address 0", args: []string{"--base", "0"}, strict: true},
	{name: "scales that change", args: []string{"--changing-scale"}, strict: true},
	{name: "values that are not implemented", args: []string{"--sentinels"}, strict: true},
	{name: "short requests", args: []string{"--max-registers", "40"}, strict: true},
	{name: "slow", args: []string{"--slow", "20"}, strict: true},
	{name: "a second device behind unit 1", args: []string{"--chained-meter"}, strict: true},
	{name: "one connection", args: []string{"--one-connection"}, strict: true},
	{name: "the newest connection wins", args: []string{"--newest-wins"}, strict: true},
	{name: "exceptions", args: []string{"--wrong-unit-exceptions"}, strict: true},
	{name: "a serial line", args: []string{"--rtu"}, strict: true},
	{name: "faults", args: []string{"--fault", "1,0,0,24", "--fault", "3,4,0,24"}, strict: true},
	{name: "damaged responses", args: []string{"--garbage"}, seen: func(s served) bool { return s.Garbled }},
	{name: "lost requests", args: []string{"--drop-every", "9"}},
	{name: "frames of zeros", args: []string{"--zeros-under-load"}, seen: func(s served) bool { return s.Zeros }},
	{name: "frozen", args: []string{"--freeze-at-night"}, start: "18:50", every: time.Minute, seen: func(s served) bool { return s.Frozen }},
	{name: "off at night", args: []string{"--night-off"}, start: "22:00", silent: true},
}

// served is a line of the simulator's record: a response.
type served struct {
	Unit                   int
	Points                 map[string]any
	Garbled, Zeros, Frozen bool
}

// powerW is the power that a client without faults gets from the response.
func (s served) powerW() (w float64, ok bool) {
	for _, model := range []string{"103.W", "113.W", "701.W"} {
		if w, ok := s.Points[model].(float64); ok {
			return w, true
		}
	}
	return 0, false
}

// record is the simulator's record, which has a line before the response leaves.
type record struct {
	file *os.File
	rest []byte // of a line that is not whole yet
}

// next returns what was served since it was called last.
func (r *record) next(t *testing.T) (out []served) {
	t.Helper()
	b, err := io.ReadAll(r.file)
	if err != nil {
		t.Fatal(err)
	}
	r.rest = append(r.rest, b...)
	for {
		line, rest, whole := bytes.Cut(r.rest, []byte("\n"))
		if !whole {
			return out
		}
		var s served
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		out, r.rest = append(out, s), slices.Clone(rest)
	}
}

// TestPlantOverModbus finds and reads simulated SunSpec devices of another program, each
// misbehaviour in turn, through a proxy that records the functions of all requests. No
// power is stored that was not served, none is missing that should be stored, and no
// function but 3 and 4 leaves. The test reads when it likes and compares each reading with
// what was served meanwhile, so that nothing depends on the speed of the machine.
func TestPlantOverModbus(t *testing.T) {
	longtest.Mark(t)
	t.Parallel()
	simulator, err := filepath.Abs("../../../shared/tools/sunspec-sim")
	if err != nil || !isFile(simulator) {
		t.Skip("the simulator of devices is not there")
	}
	requirePython(t, "pymodbus")
	devices, polls := 3, 8
	for name, to := range map[string]*int{"DEVICES": &devices, "POLLS": &polls} {
		if n, err := strconv.Atoi(os.Getenv("SUNLOOP_TEST_SUNSPEC_" + name)); err == nil && n > 0 {
			*to = n
		}
	}
	for _, m := range misbehaviours {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			overModbus(t, simulator, m, devices, polls)
		})
	}
}

// simulate starts the simulator of a misbehaviour, and returns its address and files.
func (m misbehaviour) simulate(t *testing.T, simulator string, devices int) (address string, truth *record, writes string) {
	t.Helper()
	dir := t.TempDir()
	file, writes := filepath.Join(dir, "truth"), filepath.Join(dir, "writes")
	for range 10 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		back := l.Addr().String()
		l.Close()
		_, port, _ := net.SplitHostPort(back)
		line, args := []string{"--tcp", port}, m.args
		if slices.Contains(args, "--rtu") {
			line, args = []string{"--rtu", filepath.Join(dir, "line")}, nil
		}
		// Each 50 ms is a second of the plant: the registers of two readings differ.
		c := exec.Command(simulator, slices.Concat(line, []string{"--devices", strconv.Itoa(devices), "--seed", "7", "--tick", "0.05", "--speed", "20",
			"--start", "2026-06-15T" + cmp.Or(m.start, "10:00") + ":00", "--truth", file, "--log-writes", writes}, args)...)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		startProgram(t, c)
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			continue // the port was taken meanwhile
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if line[0] == "--rtu" {
			return "rtu://" + line[1] + "?speed=19200", &record{file: f}, writes
		}
		return back, &record{file: f}, writes
	}
	t.Fatal("the simulator did not begin")
	return "", nil, ""
}

func overModbus(t *testing.T, simulator string, m misbehaviour, devices, polls int) {
	first, err := time.Parse(time.RFC3339, "2026-06-15T"+cmp.Or(m.start, "10:00")+":00Z")
	if err != nil {
		t.Fatal(err)
	}
	now := first
	clock := func() time.Time { return now }
	address, truth, writes := m.simulate(t, simulator, devices)
	functions := func() map[byte]int { return map[byte]int{3: 1} } // of a serial line: the simulator records those that do not read
	if !strings.HasPrefix(address, "rtu://") {
		address, functions = recordFunctions(t, address)
		address = "tcp://" + address
	}
	// A time-out of a busy machine is a reading that fails, where some must succeed.
	timeout := time.Minute
	if !m.strict {
		timeout = 300 * time.Millisecond
	}

	var units []int
	for u := range devices + 2 {
		units = append(units, u+1)
	}
	d := Discovery{Targets: []string{address}, Units: units, Pause: time.Millisecond, Timeout: timeout, Now: clock}
	found, _, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := devices + 2; len(found) > want+1 || m.strict && len(found) < want {
		t.Errorf("%d devices found, want %d", len(found), want)
	}
	asset := map[int]string{}
	var text strings.Builder
	fmt.Fprintf(&text, "poll = \"1s\"\nstep = \"1s\"\ncommit = \"1s\"\n[site]\nid = \"roof\"\nlatitude = 48.0\nlongitude = 11.0\n[[source]]\naddress = %q\npause = \"1ms\"\ntimeout = %q\n", address, timeout)
	base := 40000
	if slices.Contains(m.args, "0") && slices.Contains(m.args, "--base") {
		base = 0
	}
	for u := 1; u <= devices; u++ { // also those that a discovery did not see
		asset[u] = fmt.Sprintf("INV-%d", u)
		fmt.Fprintf(&text, "[[source.device]]\nasset = %q\nkind = \"inverter\"\nunit = %d\nbase = %d\ncapacity_kw = 30\n", asset[u], u, base)
	}
	config, err := Parse([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	store := new(memory)
	p, err := NewPoller(Options{Config: config, Store: store, Log: slog.New(slog.DiscardHandler), Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.lines[0].close()

	truth.next(t) // of the discovery
	all := comparison{misbehaviour: m, store: store, asset: asset, served: map[int]map[int64][]float64{}, froze: map[int]bool{}}
	seen := m.seen == nil
	for k, limit := 0, time.Now().Add(5*time.Minute); ; k++ {
		p.poll(t.Context(), p.lines[0], now)
		for _, s := range truth.next(t) {
			all.add(s, now.Unix(), k >= 2 && k < polls)
			seen = seen || m.seen(s)
		}
		now = now.Add(cmp.Or(m.every, time.Second))
		p.commit(t.Context(), now)
		// The last reading is stored with the one after it, if both are equal.
		frozen := m.name == "frozen" && slices.ContainsFunc(p.Status().Devices, func(d DeviceStatus) bool { return d.Marks[reading.MarkFrozen] == 0 }) // after ten minutes of the plant
		if k >= polls && (m.silent || seen && !frozen && all.missing() == 0 && all.stored(polls/2)) {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("after %d readings: seen %t, %d missing, stored %v", k, seen, all.missing(), store.frames)
		}
	}

	for f, n := range functions() {
		if f != 3 && f != 4 {
			t.Errorf("function %d left the gateway %d times", f, n)
		}
	}
	if functions()[3] == 0 {
		t.Error("the proxy saw no request")
	}
	if b, err := os.ReadFile(writes); err != nil || len(b) > 0 {
		t.Errorf("the devices saw writes: %q, %v", b, err)
	}
	all.check(t)
	switch m.name {
	case "faults":
		for u, bit := range map[int]int{1: 0, 3: 4} {
			f := store.frames[asset[u]]
			if n := f.Len() - 1; n < 0 || f.At(series.ErrorCode, n) != float64(int(1)<<bit) || f.At(series.InverterState, n) != 7 {
				t.Errorf("unit %d: the bit %d is not stored", u, bit)
			}
		}
	case "off at night":
		for _, d := range p.Status().Devices {
			if d.State != StateAsleep || store.frames[d.Asset].Len() > 0 {
				t.Errorf("%s is %s at night, and has %d samples", d.Asset, d.State, store.frames[d.Asset].Len())
			}
		}
	}
}

// comparison compares what is stored with what was served.
type comparison struct {
	misbehaviour
	store  *memory
	asset  map[int]string
	served map[int]map[int64][]float64 // powers in W by unit and time of the reading
	must   []readAt                    // that have to be stored
	froze  map[int]bool                // units whose first frozen response was served
}

// readAt is a time at which a unit was read.
type readAt struct {
	unit int
	at   int64
}

// add takes a response.
func (c *comparison) add(s served, at int64, must bool) {
	w, ok := s.powerW()
	if !ok || c.asset[s.Unit] == "" || s.Garbled || s.Zeros || s.Frozen && c.froze[s.Unit] {
		return
	}
	c.froze[s.Unit] = c.froze[s.Unit] || s.Frozen // its repeats are no readings
	if c.served[s.Unit] == nil {
		c.served[s.Unit] = map[int64][]float64{}
	}
	c.served[s.Unit][at] = append(c.served[s.Unit][at], w)
	if r := (readAt{s.Unit, at}); c.strict && must && !slices.Contains(c.must, r) {
		c.must = append(c.must, r)
	}
}

// missing is how many readings are not stored that have to be.
func (c *comparison) missing() (n int) {
	for _, r := range c.must {
		f := c.store.frames[c.asset[r.unit]]
		if i, ok := slices.BinarySearch(f.Times, r.at); !ok || math.IsNaN(f.At(series.PowerKW, i)) {
			n++
		}
	}
	return n
}

// stored reports whether each unit that is read has so many powers, or what it has is of the
// misbehaviour.
func (c *comparison) stored(least int) bool {
	if !c.strict {
		least = 1
	}
	for u, id := range c.asset {
		if c.name == "frames of zeros" && u%3 == 1 { // all of its frames may be zeros
			continue
		}
		n := 0
		for _, kw := range c.store.frames[id].Values(series.PowerKW) {
			if !math.IsNaN(kw) {
				n++
			}
		}
		if n < least {
			return false
		}
	}
	return true
}

// check fails the test for each power that was not served when it was read.
func (c *comparison) check(t *testing.T) {
	t.Helper()
	stored, invented, twice := 0, 0, 0
	for u, id := range c.asset {
		f := c.store.frames[id]
		for i, at := range f.Times {
			w := f.At(series.PowerKW, i) * 1000
			if math.IsNaN(w) {
				continue
			}
			stored++
			if i > 0 && f.Times[i-1] == at {
				twice++
			}
			if !slices.ContainsFunc(c.served[u][at], func(s float64) bool { return math.Abs(s-w) < 0.01 }) {
				invented++
				t.Errorf("unit %d at %d: %g W was not served: %v", u, at, w, c.served[u][at])
			}
		}
	}
	if twice > 0 || c.missing() > 0 {
		t.Errorf("%d stored twice, %d missing", twice, c.missing())
	}
	t.Logf("%d stored, %d invented, %d twice, %d had to be stored", stored, invented, twice, len(c.must))
}

// recordFunctions returns the address of a proxy before a Modbus server, and how often
// each function was requested.
func recordFunctions(t *testing.T, back string) (address string, functions func() map[byte]int) {
	t.Helper()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	var mu sync.Mutex
	seen := map[byte]int{}
	pass := func(c net.Conn) {
		defer c.Close()
		b, err := net.Dial("tcp", back)
		if err != nil {
			return
		}
		defer b.Close()
		go func() { _, _ = io.Copy(c, b); c.Close() }()
		for {
			var head [7]byte
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			body := make([]byte, max(int(head[4])<<8|int(head[5])-1, 1))
			if _, err := io.ReadFull(c, body); err != nil {
				return
			}
			mu.Lock()
			seen[body[0]]++
			mu.Unlock()
			if _, err := b.Write(append(head[:], body...)); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			c, err := front.Accept()
			if err != nil {
				return
			}
			go pass(c)
		}
	}()
	return front.Addr().String(), func() map[byte]int {
		mu.Lock()
		defer mu.Unlock()
		out := map[byte]int{}
		for f, n := range seen {
			out[f] = n
		}
		return out
	}
}
