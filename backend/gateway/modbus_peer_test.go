package gateway

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

// npmModules is where .ci/tools installs the modules of npm for tests.
const npmModules = "../../bin/peers/node_modules"

// requireProgram skips a test if the machine lacks a program.
func requireProgram(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil && !isFile("/usr/sbin/"+name) {
			t.Skipf("%s is not installed; .ci/tools installs it", name)
		}
	}
}

// requirePython skips a test if Debian's Python lacks a module.
func requirePython(t *testing.T, module string) {
	t.Helper()
	if err := exec.Command("/usr/bin/python3", "-c", "import "+module).Run(); err != nil {
		t.Skipf("%s for /usr/bin/python3 is not installed; .ci/tools installs it", module)
	}
}

// startProgram starts a program that the end of the test stops.
func startProgram(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
}

// TestModbusPeers reads registers that servers of others serve, over TCP and over a serial
// line, and compares each register that the gateway shows with what mbpoll, a client of
// others, reads from the same server, and with what is served.
func TestModbusPeers(t *testing.T) {
	longtest.Mark(t)
	t.Parallel()
	requireProgram(t, "mbpoll")
	p, _ := startPlant(t)
	units := map[uint8][]uint16{1: p.maps[1], 4: p.maps[4], 126: p.maps[126]}
	served, err := json.Marshal(units)
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(t.TempDir(), "image.json")
	if err := os.WriteFile(image, served, 0o600); err != nil {
		t.Fatal(err)
	}
	free := func() string {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	t.Run("pymodbus", func(t *testing.T) {
		requirePython(t, "pymodbus")
		port := free()
		startProgram(t, exec.Command("/usr/bin/python3", "testdata/pymodbus_server.py", image, "tcp", port))
		compareWithMbpoll(t, units, "tcp://127.0.0.1:"+port, "-m", "tcp", "-p", port, "127.0.0.1")
	})
	t.Run("npm", func(t *testing.T) {
		requireProgram(t, "node")
		modules, err := filepath.Abs(npmModules)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(modules, "modbus-serial")); err != nil {
			t.Skip("modbus-serial of npm is not installed; .ci/tools installs it")
		}
		port := free()
		c := exec.Command("node", "testdata/npm_server.js", image, port)
		c.Env = append(os.Environ(), "NODE_PATH="+modules)
		startProgram(t, c)
		compareWithMbpoll(t, units, "tcp://127.0.0.1:"+port, "-m", "tcp", "-p", port, "127.0.0.1")
	})
	t.Run("line", func(t *testing.T) {
		requireProgram(t, "socat")
		requirePython(t, "pymodbus")
		requirePython(t, "serial_asyncio")
		dir := t.TempDir()
		device, line := filepath.Join(dir, "device"), filepath.Join(dir, "line")
		startProgram(t, exec.Command("socat", "pty,raw,echo=0,link="+device, "pty,raw,echo=0,link="+line))
		until(t, "serial line", func() bool { return isFile(device) && isFile(line) })
		startProgram(t, exec.Command("/usr/bin/python3", "testdata/pymodbus_server.py", image, "rtu", device))
		compareWithMbpoll(t, units, "rtu://"+line+"?speed=19200&parity=none&stop=1", "-m", "rtu", "-b", "19200", "-P", "none", line)
	})
}

// word is a line of mbpoll's output.
var word = regexp.MustCompile(`(?m)^\[(\d+)\]:\s+0x([0-9A-F]{4})$`)

// mbpoll reads registers with mbpoll, whose last argument is the address of the server.
func mbpoll(args []string, unit, address, count int) (words []uint16, err error) {
	out, err := exec.Command("mbpoll", append([]string{"-0", "-1", "-q", "-t", "4:hex", "-o", "5", "-a", strconv.Itoa(unit), "-r", strconv.Itoa(address), "-c", strconv.Itoa(count)}, args...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("mbpoll: %w: %s", err, out)
	}
	for i, m := range word.FindAllSubmatch(out, -1) {
		if string(m[1]) != strconv.Itoa(address+i) {
			return nil, fmt.Errorf("mbpoll: %s", out)
		}
		v, err := strconv.ParseUint(string(m[2]), 16, 16)
		if err != nil {
			return nil, err
		}
		words = append(words, uint16(v))
	}
	if len(words) != count {
		return nil, fmt.Errorf("mbpoll: %d registers of %d: %s", len(words), count, out)
	}
	return words, nil
}

// compareWithMbpoll finds the devices of a server at target, reads them, and compares.
func compareWithMbpoll(t *testing.T, units map[uint8][]uint16, target string, args ...string) {
	t.Helper()
	until(t, "server", func() bool { // not by the gateway, so that its first request is to a server that is there
		words, err := mbpoll(args, 1, base, 2)
		return err == nil && slices.Equal(words, []uint16{0x5375, 0x6E53})
	})
	d := Discovery{Targets: []string{target}, Units: []int{1, 4, 126}, Pause: time.Millisecond, Timeout: 10 * time.Second, Now: time.Now}
	found, _, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sources.toml")
	if n, err := Add(file, Site{ID: "roof"}, 10*time.Second, Sources(found)); err != nil || n != 4 {
		t.Fatalf("%d devices of 4 found: %v", n, err)
	}
	now := noon
	p, m := newPoller(t, file, &now)
	run(t, p, &now, 2, nil)
	shown := map[uint8]int{}
	for _, name := range []string{"I1", "M1", "D1", "W1"} {
		e, ok := p.Explain(name)
		if !ok || e.State != StateReading || e.Errors > 0 {
			t.Errorf("%s: %+v", name, e.DeviceStatus)
		}
		for _, b := range e.Blocks {
			for _, r := range b.Requests {
				want := units[uint8(e.Unit)][r.Address-base:][:len(r.Words)]
				if !slices.Equal(r.Words, want) {
					t.Errorf("%s, registers from %d: %04x, want %04x", name, r.Address, r.Words, want)
				}
				shown[uint8(e.Unit)] += len(r.Words)
			}
		}
	}
	for _, l := range p.lines { // a serial line has one user
		l.close()
	}
	for unit, words := range units {
		if shown[unit] < 10 {
			t.Errorf("unit %d: %d registers are shown", unit, shown[unit])
		}
		for from := 0; from < len(words); from += 100 {
			want := words[from:min(from+100, len(words))]
			if got, err := mbpoll(args, int(unit), base+from, len(want)); err != nil || !slices.Equal(got, want) {
				t.Errorf("unit %d, registers from %d: mbpoll reads %04x, want %04x; %v", unit, base+from, got, want, err)
			}
		}
	}
	if f := m.frames["I1"]; f.Len() != 1 || f.At(series.PowerKW, 0) != 5 || m.frames["D1"].At(series.PowerKW, 0) != 7 {
		t.Errorf("stored %+v, %+v", m.frames["I1"], m.frames["D1"])
	}
}
