//go:build linux

package resilience

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/gateway"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

// refillHours is the environment variable with the hours of history of TestGatewayRefill.
const refillHours = "SUNLOOP_TEST_GATEWAY_REFILL"

// fillQueue keeps the history of units in the folder of the batches that wait, as a gateway
// does that reads them each 5 s. It returns the numbers of batches and points.
func fillQueue(t *testing.T, folder string, from time.Time, length time.Duration, units []string) (batches, points int) {
	t.Helper()
	queue, err := spool.Open(filepath.Join(folder, "forward"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	quantities := []series.Quantity{series.PowerKW, series.EnergyCounterKWh, series.VoltageV, series.ApparentKVA, series.ModuleTemperatureC, series.DCVoltage(1), series.DCCurrent(1), series.DCVoltage(2), series.DCCurrent(2), series.CabinetTempC, series.InverterState}
	for at := time.Duration(0); at < length; at += 10 * time.Second {
		frames := make([]store.AssetFrame, len(units))
		for u := range frames {
			f := series.Frame{Times: []int64{from.Add(at).Unix(), from.Add(at + 5*time.Second).Unix()}}
			for q, is := range quantities {
				values := make([]float64, 2)
				for i := range values {
					x := at.Seconds() + 5*float64(i)
					values[i] = math.Round(10*(20+float64(q)+10*math.Sin(x/9000+float64(u)+float64(q))+math.Sin(x*1.7+float64(u)))) / 10
					if is == series.EnergyCounterKWh {
						values[i] = math.Round(1e6+5*x) / 1000
					}
					if is == series.InverterState {
						values[i] = 4
					}
				}
				f.Set(is, values)
			}
			f.Set(series.StepS, []float64{5, 5})
			frames[u] = store.AssetFrame{AssetID: units[u], Frame: f}
			points += 2 * (len(f.Columns) - 1) // without the step
		}
		if _, err := queue.Append(frames); err != nil {
			t.Fatal(err)
		}
		batches++
	}
	return batches, points
}

// cpuOf is the time that a process used of the processors, in seconds.
func cpuOf(pid int) float64 {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return math.NaN()
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}

// TestGatewayRefill states how fast a gateway's history is stored at a service when the
// link is there again, each in its process, and checks that all of it is there. The hours are
// those of 20 devices that are read each 5 s.
func TestGatewayRefill(t *testing.T) {
	longtest.Mark(t)
	length := time.Duration(fromEnv(t, refillHours, 2)) * time.Hour
	base := t.TempDir()
	plant, link := startInverters(t), startLink(t)
	dir, site := filepath.Join(base, "s"), filepath.Join(base, "g")
	service, _ := startJoined(t, link, dir, site, 40)
	from := time.Now().UTC().Truncate(24 * time.Hour).Add(-length - 24*time.Hour)
	names := make([]string, 20)
	for u := range names {
		names[u] = fmt.Sprintf("H%02d", u)
	}
	batches, points := fillQueue(t, site, from, length, names)
	sources := filepath.Join(base, "sources.toml")
	if err := os.WriteFile(sources, fmt.Appendf(nil, "[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[source]]\naddress = \"tcp://%s\"\n[[source.device]]\nasset = \"INV-1\"\nkind = \"inverter\"\nunit = 1\nbase = 40000\ncapacity_kw = 40\n", plant.address), 0o600); err != nil {
		t.Fatal(err)
	}
	target := addressOf(service)
	link.to("")
	c := servetest.Command(site, "gateway", "run", "--sources", sources)
	if program := os.Getenv("SUNLOOP_TEST_GATEWAY_PROGRAM"); program != "" {
		c.Path = program
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	acknowledged := func() int {
		s, err := gateway.AskStatus(t.Context(), site)
		if err != nil || s.Forward == nil {
			return 0
		}
		return s.Forward.Acknowledged
	}
	for late := time.Now().Add(3 * servetest.ReadyWithin); ; time.Sleep(50 * time.Millisecond) {
		if s, err := gateway.AskStatus(t.Context(), site); err == nil && s.Forward != nil && s.Forward.LastSequence > batches {
			break // it reads
		} else if time.Now().After(late) {
			t.Fatalf("the gateway reads nothing: %v", err)
		}
	}
	sent := link.sent()
	link.to(target)
	for link.sent() == sent {
		time.Sleep(time.Millisecond)
	}
	began, gatewayCPU, serviceCPU := time.Now(), cpuOf(c.Process.Pid), cpuOf(service.Cmd.Process.Pid)
	for late := time.Now().Add(10 * servetest.ReadyWithin); acknowledged() < batches; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d of %d batches are acknowledged\n%s", acknowledged(), batches, service.Log())
		}
	}
	took := time.Since(began).Seconds()
	if s, err := gateway.AskStatus(t.Context(), site); err != nil || s.Forward.Refused+s.Forward.Damaged > 0 || s.Forward.Dropped > 0 {
		t.Errorf("%+v, %v", s.Forward, err)
	}
	t.Logf("%d points of %d batches were acknowledged in %.1f s, %.0f points/s; CPU seconds: gateway %.1f, service %.1f; %.1f MB over the link",
		points, batches, took, float64(points)/took, cpuOf(c.Process.Pid)-gatewayCPU, cpuOf(service.Cmd.Process.Pid)-serviceCPU, float64(link.sent()-sent)/1e6)
	if status, err := service.Stop(); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	stored, err := bolt.OpenReadOnly(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	there := 0
	for a, err := range stored.ReadUnits(t.Context(), "roof", names, from, from.Add(length)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range a.Frame.Columns {
			if column.Quantity == series.StepS {
				continue // the store leaves it out where the times have it
			}
			for _, v := range column.Values {
				if !math.IsNaN(v) {
					there++
				}
			}
		}
	}
	if there != points {
		t.Errorf("%d of %d points are there", there, points)
	}
}
