package gateway

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"app.sunloop/backend/gateway/drop"
	"app.sunloop/engine/reading"
)

// gauges are the values that the exporter has of each device that is being read.
var gauges = []struct{ field, name, kind, help string }{
	{"power_w", "sunloop_device_power_watts", "gauge", "AC active power; production, or energy that is fed in, is positive."},
	{"energy_wh", "sunloop_device_energy_watthours_total", "counter", "Lifetime counter of production, or of energy that is fed in."},
	{"import_wh", "sunloop_device_import_watthours_total", "counter", "Lifetime counter of energy that is drawn."},
	{"apparent_va", "sunloop_device_apparent_power_voltamperes", "gauge", "Apparent power."},
	{"reactive_var", "sunloop_device_reactive_power_voltamperes", "gauge", "Reactive power."},
	{"power_factor", "sunloop_device_power_factor_ratio", "gauge", "Power factor."},
	{"voltage_v", "sunloop_device_voltage_volts", "gauge", "AC voltage."},
	{"current_a", "sunloop_device_current_amperes", "gauge", "AC current."},
	{"frequency_hz", "sunloop_device_frequency_hertz", "gauge", "Frequency of the grid."},
	{"dc_power_w", "sunloop_device_dc_power_watts", "gauge", "DC power."},
	{"cabinet_c", "sunloop_device_temperature_celsius", "gauge", "Temperature of the cabinet."},
	{"state", "sunloop_device_state", "gauge", "Operating state by SunSpec: 1 off, 2 sleeping, 3 starting, 4 producing, 5 limited, 6 shutting down, 7 fault, 8 standby."},
	{"irradiance_w_m2", "sunloop_device_irradiance_watts_per_square_metre", "gauge", "Irradiance."},
	{"ambient_c", "sunloop_device_ambient_temperature_celsius", "gauge", "Ambient temperature."},
	{"module_c", "sunloop_device_module_temperature_celsius", "gauge", "Temperature of modules."},
	{"wind_m_s", "sunloop_device_wind_metres_per_second", "gauge", "Wind."},
	{"soc_pct", "sunloop_device_state_of_charge_percent", "gauge", "State of charge."},
}

// Exporter serves the values of the devices for Prometheus, in its text format 0.0.4.
// Values of devices that are not being read are left out.
func (p *Poller) Exporter() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = io.WriteString(w, p.export()) // the client that went is the only one that would see the error
	})
	return mux
}

func (p *Poller) export() string {
	status := p.Status()
	p.mu.Lock()
	values := map[string]reading.Measurement{}
	for d := range p.devices() {
		values[d.Asset] = d.last.Measurement
	}
	p.mu.Unlock()
	var b strings.Builder
	head := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	label := func(d *DeviceStatus) string {
		return fmt.Sprintf(`{site="%s",device="%s",kind="%s"`, escapeLabel(status.Site), escapeLabel(d.Asset), d.Kind)
	}
	line := func(name, labels string, v float64) {
		if !math.IsNaN(v) {
			fmt.Fprintf(&b, "%s%s} %s\n", name, labels, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	head("sunloop_device_up", "gauge", "1 if the device is being read.")
	for i := range status.Devices {
		d := &status.Devices[i]
		up := 0.0
		if d.State == StateReading {
			up = 1
		}
		line("sunloop_device_up", label(d), up)
	}
	head("sunloop_device_last_seen_seconds", "gauge", "Age of the last reading that was believed.")
	for i := range status.Devices {
		if d := &status.Devices[i]; d.AgeS != nil {
			line("sunloop_device_last_seen_seconds", label(d), *d.AgeS)
		}
	}
	for _, c := range []struct {
		name, help string
		of         func(*DeviceStatus) int
	}{{"sunloop_device_readings_total", "Readings.", func(d *DeviceStatus) int { return d.Reads }}, {"sunloop_device_errors_total", "Errors.", func(d *DeviceStatus) int { return d.Errors }}} {
		head(c.name, "counter", c.help)
		for i := range status.Devices {
			line(c.name, label(&status.Devices[i]), float64(c.of(&status.Devices[i])))
		}
	}
	for _, g := range gauges {
		field, err := reading.ParseField(g.field)
		if err != nil {
			continue
		}
		p.exportField(&b, status.Devices, values, label, g.name, func() { head(g.name, g.kind, g.help) }, func(m *reading.Measurement) []float64 { return []float64{field.Get(m)} })
	}
	for _, g := range []struct {
		name, help string
		of         func(reading.Input) float64
	}{{"sunloop_device_dc_voltage_volts", "Voltage of a DC input.", func(i reading.Input) float64 { return i.VoltageV }},
		{"sunloop_device_dc_current_amperes", "Current of a DC input.", func(i reading.Input) float64 { return i.CurrentA }}} {
		p.exportField(&b, status.Devices, values, label, g.name, func() { head(g.name, "gauge", g.help) }, func(m *reading.Measurement) (out []float64) {
			for _, in := range m.Inputs {
				out = append(out, g.of(in))
			}
			return append(out, math.NaN(), math.NaN()) // always numbered
		})
	}
	exportFiles(&b, &status, head)
	return b.String()
}

// exportFiles writes the metrics of folders, servers and mailboxes.
func exportFiles(b *strings.Builder, status *Status, head func(name, kind, help string)) {
	if len(status.Files) == 0 {
		return
	}
	for _, m := range []struct {
		name, kind, help string
		of               func(*drop.Status) float64
	}{
		{"sunloop_source_up", "gauge", "1 if the source of files was read without an error.", func(s *drop.Status) float64 {
			if s.State == StateReading {
				return 1
			}
			return 0
		}},
		{"sunloop_source_retry_seconds", "gauge", "Time until the next attempt after an error.", func(s *drop.Status) float64 {
			if s.RetryAt == nil {
				return math.NaN()
			}
			return max(s.RetryAt.Sub(status.At).Seconds(), 0)
		}},
		{"sunloop_source_last_read_seconds", "gauge", "Time since the source was read.", func(s *drop.Status) float64 {
			if s.LastRead == nil {
				return math.NaN()
			}
			return status.At.Sub(*s.LastRead).Seconds()
		}},
		{"sunloop_source_files_total", "counter", "Files that were taken in.", func(s *drop.Status) float64 { return float64(s.Taken) }},
		{"sunloop_source_files_refused_total", "counter", "Files that were refused.", func(s *drop.Status) float64 { return float64(s.Refused) }},
		{"sunloop_source_files_waiting", "gauge", "Files that may still be written, or whose import has not ended.", func(s *drop.Status) float64 { return float64(s.Waiting) }},
	} {
		began := false
		for i := range status.Files {
			s := &status.Files[i]
			v := m.of(s)
			if math.IsNaN(v) {
				continue
			}
			if !began {
				head(m.name, m.kind, m.help)
				began = true
			}
			fmt.Fprintf(b, "%s{site=\"%s\",source=\"%s\",kind=\"%s\"} %s\n", m.name, escapeLabel(status.Site), escapeLabel(s.Name), s.Kind, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
}

// exportField writes a metric of the devices that have it. Several values are those of DC
// inputs, numbered from 1.
func (p *Poller) exportField(b *strings.Builder, devices []DeviceStatus, values map[string]reading.Measurement, label func(*DeviceStatus) string, name string, head func(),
	of func(*reading.Measurement) []float64) {
	for i := range devices {
		d := &devices[i]
		m := values[d.Asset]
		if d.State != StateReading {
			continue
		}
		list := of(&m)
		for k, v := range list {
			if math.IsNaN(v) {
				continue
			}
			if head != nil {
				head()
				head = nil
			}
			input := ""
			if len(list) > 1 {
				input = fmt.Sprintf(`,input="%d"`, k+1)
			}
			fmt.Fprintf(b, "%s%s%s} %s\n", name, label(d), input, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escapeLabel(s string) string { return labelEscapes.Replace(s) }
