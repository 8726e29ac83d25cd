package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
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

// TestPlantOverMosquitto receives a simulated plant over mosquitto, in all dialects and
// with all faults of the simulator, and compares what is stored with its record of what it
// published: nothing else is stored, and what was published is stored once.
func TestPlantOverMosquitto(t *testing.T) {
	longtest.Mark(t)
	t.Parallel() // it waits most of the time
	seconds := 60
	if n, err := strconv.Atoi(os.Getenv("SUNLOOP_TEST_MOSQUITTO_SECONDS")); err == nil && n > 0 {
		seconds = n
	}
	simulator, err := filepath.Abs("../../../shared/tools/plant-mqtt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(simulator); err != nil {
		t.Skip("the simulator of publishers is not there")
	}
	requirePython(t, "paho.mqtt.client")
	port, dir := startMosquitto(t), t.TempDir()
	var sources strings.Builder
	broker := func(dialect, more string, devices ...string) {
		fmt.Fprintf(&sources, "[[mqtt]]\naddress = \"mqtt://127.0.0.1:%d\"\ndialect = %q\ntimezone = \"Etc/GMT-2\"\n%s", port, dialect, more)
		for _, id := range devices {
			fmt.Fprintf(&sources, "[[mqtt.device]]\nid = %q\nasset = %q\nkind = \"inverter\"\n", id, dialect+"."+id[strings.LastIndexByte(id, '/')+1:])
		}
	}
	broker("sparkplug", "", "sunsim/plant1/inv1", "sunsim/plant1/inv2")
	broker("opendtu", "", "114100000001", "114100000002")
	broker("victron", "", "c0ffee000001/20", "c0ffee000001/21")
	broker("tasmota", "", "inv1", "inv2")
	value := func(path, value string) string {
		return fmt.Sprintf("[[mqtt.value]]\ntopic = \"plant/{id}/telemetry\"\npath = %q\nvalue = %q\n", path, value)
	}
	broker("json", value("time", "time")+value("ac/power", "power_w")+value("ac/energy_total", "energy_wh"), "inv1", "inv2")
	c, err := Parse([]byte("poll = \"1s\"\nstep = \"1s\"\ncommit = \"1s\"\n[site]\nid = \"roof\"\n" + sources.String()))
	if err != nil {
		t.Fatal(err)
	}
	m := new(memory)
	ahead := time.Until(noon) // of the plant's clock, which is by day
	simulate := func(args ...string) {
		t.Helper()
		args = append(args, "--port", strconv.Itoa(port), "--start", time.Now().Add(ahead).UTC().Format("2006-01-02T15:04:05"), "--dialects", "sparkplug,opendtu,json,victron,tasmota", "--interval", "2", "--retained-stale")
		if out, err := exec.Command(simulator, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	simulate("--seconds", "1") // leaves retained values of yesterday and of before, which are no readings
	p, err := NewPoller(Options{Config: c, Store: m, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(ahead) }})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	until(t, "connections to the broker", func() bool {
		return !slices.ContainsFunc(p.Status().Brokers, func(b BrokerStatus) bool { return !b.Connected })
	})
	truthFile := filepath.Join(dir, "truth")
	simulate("--seconds", strconv.Itoa(seconds), "--truth", truthFile, "--duplicate", "--out-of-order", "--seq-gaps", "--missing-birth", "--historical", "--nulls", "--u32-long",
		// Victron's values are requested each 30 s, wherever the start lies between two requests, and a request while the line is down is lost.
		"--drop-after", strconv.Itoa(max(seconds*2/5, 40)))
	time.Sleep(3 * time.Second) // the last messages are complete after a second
	cancel()
	running.Wait()
	compareWithTruth(t, truthFile, ahead, m, p)
}

// startMosquitto starts mosquitto for the test, and returns its port.
func startMosquitto(t *testing.T) (port int) {
	t.Helper()
	requireProgram(t, "mosquitto")
	path, err := exec.LookPath("mosquitto")
	if err != nil {
		path = "/usr/sbin/mosquitto"
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	file := filepath.Join(t.TempDir(), "mosquitto.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, "listener %d 127.0.0.1\nallow_anonymous true\n", port), 0o600); err != nil {
		t.Fatal(err)
	}
	startProgram(t, exec.Command(path, "-c", file))
	until(t, "broker", func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return port
}

func isFile(path string) bool { _, err := os.Stat(path); return err == nil }

// published is a line of the simulator's record.
type published struct {
	Wall    float64
	Sim     time.Time
	Dialect string
	Device  *string
	Topic   string
	Seq     int
	Values  map[string]*float64
	Notes   []string
}

// withoutNames returns the data of Sparkplug that no reader can name: those of a session
// before its births, which are requested, and those that the simulator held back and then
// discarded.
func withoutNames(lines []published) map[int]bool {
	unnamed := map[int]bool{}
	born := false
	var held []int
	for i, v := range lines {
		late := slices.Contains(v.Notes, "late")
		switch {
		case v.Dialect != "sparkplug":
			continue
		case strings.Contains(v.Topic, "/NBIRTH/"):
			for _, k := range held {
				unnamed[k] = true
			}
			born, held = true, nil
			continue
		case !strings.Contains(v.Topic, "/DDATA/"):
			continue
		case v.Seq == 1: // the first message of a session has no birth before it
			born = false
		}
		if late {
			held = append(held, i)
		}
		unnamed[i] = !born
		if !late && !slices.Contains(v.Notes, "lost") { // what was held back follows this one
			for _, k := range held {
				unnamed[k] = !born
			}
			held = nil
		}
	}
	for _, k := range held {
		unnamed[k] = true
	}
	return unnamed
}

// compareWithTruth compares stored powers with those that were published.
func compareWithTruth(t *testing.T, file string, ahead time.Duration, m *memory, p *Poller) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := map[string]string{"sparkplug": "ac/power", "opendtu": "0/power", "victron": "Ac/Power", "tasmota": "ac/power", "json": "ac/power"}
	served := map[string]map[int64][]float64{} // powers by second
	must := map[string]map[int64]float64{}     // those that have to be stored
	var lines []published
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var v published
		if err := json.Unmarshal(scan.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, v)
	}
	unnamed := withoutNames(lines)
	for i, v := range lines {
		if v.Device == nil || !strings.HasPrefix(*v.Device, "inv") {
			continue
		}
		power := v.Values[names[v.Dialect]]
		if power == nil && v.Dialect == "tasmota" { // publishes it in any case
			power = new(float64)
			*power = math.NaN()
		} else if power == nil {
			continue
		}
		id := v.Dialect + "." + *v.Device
		switch n := strings.TrimPrefix(*v.Device, "inv"); v.Dialect {
		case "opendtu":
			id = "opendtu.11410000000" + n
		case "victron":
			id = "victron.2" + map[string]string{"1": "0", "2": "1"}[n]
		}
		notes := strings.Join(v.Notes, ",")
		at := v.Sim.Unix()
		if v.Dialect == "opendtu" || v.Dialect == "victron" { // without its own time: that of its arrival
			at = time.UnixMilli(int64(v.Wall * 1000)).Add(ahead).Unix()
		}
		switch {
		case strings.Contains(notes, "historical"):
			at -= 3600
		case strings.Contains(notes, "stale") && (v.Dialect == "json" || v.Dialect == "tasmota"): // with their own time
			at -= 24 * 3600
		}
		if served[id] == nil {
			served[id], must[id] = map[int64][]float64{}, map[int64]float64{}
		}
		for d := int64(-2); d <= 2; d++ {
			served[id][at+d] = append(served[id][at+d], *power)
		}
		if !strings.Contains(notes, "lost") && !strings.Contains(notes, "stale") && !unnamed[i] && !math.IsNaN(*power) {
			must[id][at] = *power
		}
	}
	stored, invented, missing, twice := 0, 0, 0, 0
	for id, at := range must {
		f := m.frames[id]
		used := map[int64]bool{}
		for i := range f.Len() {
			w := f.At(series.PowerKW, i) * 1000
			if math.IsNaN(w) {
				continue
			}
			stored++
			found := false
			for _, v := range served[id][f.Times[i]] {
				found = found || math.IsNaN(v) || math.Abs(v-w) < 0.51 // Tasmota's powers are whole
			}
			if !found {
				invented++
				t.Errorf("%s at %d: %g W was not published", id, f.Times[i], w)
			}
			if used[f.Times[i]] {
				twice++
			}
			used[f.Times[i]] = true
		}
		for when, w := range at {
			found := false
			for i := range f.Len() {
				found = found || max(f.Times[i]-when, when-f.Times[i]) <= 2 && math.Abs(f.At(series.PowerKW, i)*1000-w) < 0.51
			}
			if !found {
				missing++
				t.Logf("%s at %d: %g W is missing", id, when, w)
			}
		}
	}
	t.Logf("%d stored, %d invented, %d missing, %d twice; %+v", stored, invented, missing, twice, p.Status().Brokers)
	if twice > 0 || missing > 0 {
		t.Error("not all is stored, or something twice")
	}
	for _, d := range p.Status().Devices { // how much is published depends on the machine
		if len(must[d.Asset]) < 3 {
			t.Errorf("%s: %d powers were published that must be stored, too few for a test", d.Asset, len(must[d.Asset]))
		}
	}
}
