package gateway

import (
	"bufio"
	"context"
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

	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

// misbehaviour is a way in which the simulated devices misbehave.
type misbehaviour struct {
	name  string
	args  []string
	start string // hour of the plant
	// strict: each response whose power is known has to be stored. Otherwise requests
	// fail, and with them the reading that they are part of.
	strict bool
	least  float64 // share of the seconds of each inverter that are stored
}

var misbehaviours = []misbehaviour{
	{"none", nil, "10:00", true, 0.8},
	{"at address 0", []string{"--base", "0"}, "10:00", true, 0.8},
	{"scales that change", []string{"--changing-scale"}, "10:00", true, 0.8},
	{"values that are not implemented", []string{"--sentinels"}, "10:00", true, 0.8},
	{"short requests", []string{"--max-registers", "40"}, "10:00", true, 0.5},
	{"slow", []string{"--slow", "20"}, "10:00", true, 0.3},
	{"a second device behind unit 1", []string{"--chained-meter"}, "10:00", true, 0.8},
	{"one connection", []string{"--one-connection"}, "10:00", true, 0.8},
	{"the newest connection wins", []string{"--newest-wins"}, "10:00", true, 0.8},
	{"exceptions", []string{"--wrong-unit-exceptions"}, "10:00", true, 0.8},
	{"a serial line", []string{"--rtu"}, "10:00", true, 0.3},
	{"faults", []string{"--fault", "1,0,0,24", "--fault", "3,4,0,24"}, "10:00", true, 0.8},
	{"damaged responses", []string{"--garbage"}, "10:00", false, 0.05},
	{"lost requests", []string{"--drop-every", "9"}, "10:00", false, 0.05},
	{"frames of zeros", []string{"--zeros-under-load"}, "10:00", false, 0.2},
	{"frozen", []string{"--freeze-at-night"}, "18:50", false, 0},
	{"off at night", []string{"--night-off"}, "22:00", false, 0},
}

// TestPlantOverModbus finds and reads simulated SunSpec devices of another program, each
// misbehaviour in turn, through a proxy that records the functions of all requests. No
// power is stored that was not served, none is missing that should be stored, and no
// function but 3 and 4 leaves.
func TestPlantOverModbus(t *testing.T) {
	longtest.Mark(t)
	if os.Getenv("SUNLOOP_TEST_SUNSPEC") == "" { // both sides follow the real clock, for minutes
		t.Skip("SUNLOOP_TEST_SUNSPEC is not set")
	}
	simulator, err := filepath.Abs("../../../shared/tools/sunspec-sim")
	if err != nil || !isFile(simulator) {
		t.Skip("the simulator of devices is not there")
	}
	if err := exec.Command("/usr/bin/python3", "-c", "import pymodbus").Run(); err != nil {
		t.Skip("pymodbus is not installed")
	}
	devices, seconds := 6, 12
	for name, to := range map[string]*int{"DEVICES": &devices, "SECONDS": &seconds} {
		if n, err := strconv.Atoi(os.Getenv("SUNLOOP_TEST_SUNSPEC_" + name)); err == nil && n > 0 {
			*to = n
		}
	}
	for _, m := range misbehaviours {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) { overModbus(t, simulator, m, devices, seconds) })
	}
}

func overModbus(t *testing.T, simulator string, m misbehaviour, devices, seconds int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	back := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(back)
	dir := t.TempDir()
	truth, writes := filepath.Join(dir, "truth"), filepath.Join(dir, "writes")
	line, link := []string{"--tcp", port}, filepath.Join(dir, "line")
	if slices.Contains(m.args, "--rtu") {
		line, m.args = []string{"--rtu", link}, nil
	}
	c := exec.Command(simulator, slices.Concat(line, []string{"--devices", strconv.Itoa(devices), "--start", "2026-06-15T" + m.start + ":00", "--truth", truth, "--log-writes", writes}, m.args)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	ready, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the simulator did not begin: %q, %v", ready, err)
	}
	began := time.Now()
	first, err := time.Parse(time.RFC3339, "2026-06-15T"+m.start+":00Z")
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return first.Add(time.Since(began)) }
	address, functions := recordFunctions(t, back)
	if address = "tcp://" + address; line[0] == "--rtu" { // without the proxy: the simulator logs other functions than those that read
		address = "rtu://" + link + "?speed=19200"
	}

	var units []int
	for u := range devices + 2 {
		units = append(units, u+1)
	}
	var found []Found
	for range 5 { // damaged and lost responses hide devices
		d := Discovery{Targets: []string{address}, Units: units, Pause: time.Millisecond, Timeout: time.Second, Now: now}
		here, _, err := d.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(here) > len(found) {
			found = here
		}
		if len(found) >= devices+2 || m.strict && len(found) > 0 || m.start == "22:00" {
			break
		}
	}
	asset := map[int]string{}
	var text strings.Builder
	fmt.Fprintf(&text, "poll = \"1s\"\nstep = \"1s\"\ncommit = \"1s\"\n[site]\nid = \"roof\"\nlatitude = 48.0\nlongitude = 11.0\n[[source]]\naddress = %q\npause = \"1ms\"\ntimeout = \"1s\"\n", address)
	base := 40000
	if slices.Contains(m.args, "0") && slices.Contains(m.args, "--base") {
		base = 0
	}
	for u := 1; u <= devices; u++ { // also those that a discovery did not see
		asset[u] = fmt.Sprintf("INV-%d", u)
		fmt.Fprintf(&text, "[[source.device]]\nasset = %q\nkind = \"inverter\"\nunit = %d\nbase = %d\ncapacity_kw = 30\n", asset[u], u, base)
	}
	if m.strict && len(found) < devices+2 {
		t.Errorf("%d devices found, want %d", len(found), devices+2)
	}
	config, err := Parse([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	store := new(memory)
	p, err := NewPoller(Options{Config: config, Store: store, Log: slog.New(slog.DiscardHandler), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	from := now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	until := now()
	_ = c.Process.Kill()
	_ = c.Wait()

	for f, n := range functions() {
		if f != 3 && f != 4 {
			t.Errorf("function %d left the gateway %d times", f, n)
		}
	}
	if b, err := os.ReadFile(writes); err != nil || len(b) > 0 {
		t.Errorf("the devices saw writes: %q, %v", b, err)
	}
	compareWithServed(t, truth, m, store, asset, from, until)
	if m.name == "faults" {
		for u, bit := range map[int]int{1: 0, 3: 4} {
			f := store.frames[asset[u]]
			if n := f.Len() - 1; n < 0 || f.At(series.ErrorCode, n) != float64(int(1)<<bit) || f.At(series.InverterState, n) != 7 {
				t.Errorf("unit %d: the bit %d is not stored", u, bit)
			}
		}
	}
}

// compareWithServed compares stored powers with those that were served.
func compareWithServed(t *testing.T, file string, m misbehaviour, store *memory, asset map[int]string, from, until time.Time) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type served struct {
		at int64
		w  float64
	}
	powers, frozen, zeros := map[int][]served{}, map[int]int{}, 0
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var v struct {
			Wall                   float64
			Sim                    time.Time
			Unit                   int
			Points                 map[string]*float64
			Garbled, Zeros, Frozen bool
		}
		if json.Unmarshal(scan.Bytes(), &v) != nil {
			continue // the last line of a killed process
		}
		if v.Zeros {
			zeros++
		}
		if v.Garbled || v.Zeros {
			continue
		}
		for _, model := range []string{"103.W", "113.W", "701.W"} {
			if w := v.Points[model]; w != nil && asset[v.Unit] != "" {
				if v.Frozen && !v.Sim.Before(from.Add(-time.Second)) {
					if frozen[v.Unit]++; frozen[v.Unit] > 1 {
						continue // repeats of the first response are no readings
					}
				}
				powers[v.Unit] = append(powers[v.Unit], served{v.Sim.Unix(), *w})
			}
		}
	}
	stored, invented, missing, twice := 0, 0, 0, 0
	for u, list := range powers {
		frame := store.frames[asset[u]]
		seen := map[int64]bool{}
		n := 0
		for i := range frame.Len() {
			w := frame.At(series.PowerKW, i) * 1000
			if math.IsNaN(w) {
				continue
			}
			n++
			if seen[frame.Times[i]] {
				twice++
			}
			seen[frame.Times[i]] = true
			if !slices.ContainsFunc(list, func(s served) bool {
				return max(s.at-frame.Times[i], frame.Times[i]-s.at) <= 4 && math.Abs(s.w-w) < 0.01
			}) {
				invented++
				t.Errorf("unit %d at %d: %g W was not served", u, frame.Times[i], w)
			}
		}
		stored += n
		if least := m.least * until.Sub(from).Seconds(); float64(n) < least {
			t.Errorf("unit %d: %d seconds stored, want %.0f", u, n, least)
		}
		for _, s := range list {
			if !m.strict || s.at < from.Unix()+2 || s.at > until.Unix()-3 {
				continue
			}
			if !slices.ContainsFunc(frame.Times, func(at int64) bool {
				i, ok := slices.BinarySearch(frame.Times, at)
				return ok && max(s.at-at, at-s.at) <= 4 && math.Abs(frame.At(series.PowerKW, i)*1000-s.w) < 0.01
			}) {
				missing++
				t.Errorf("unit %d at %d: %g W is missing", u, s.at, s.w)
			}
		}
	}
	if twice > 0 {
		t.Errorf("%d stored twice", twice)
	}
	if m.name == "frames of zeros" && zeros == 0 {
		t.Error("the simulator served no frame of zeros")
	}
	t.Logf("%d stored, %d invented, %d missing, %d twice; %d frames of zeros", stored, invented, missing, twice, zeros)
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
