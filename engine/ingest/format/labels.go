package format

import (
	"slices"
	"strings"
	"unicode"
)

// label is a name and value by which a database distinguishes the series of a metric.
type label struct{ name, value string }

// namer finds which labels of the series of a file name devices: those whose values differ.
type namer struct {
	first  map[string]string // by metric and label
	varies map[string]bool   // by label
}

func newNamer() *namer { return &namer{map[string]string{}, map[string]bool{}} }

// maxSeries bounds what is kept of the labels of a file.
const maxSeries = 100_000

// observe records the labels of one series. All series are observed before the first is named.
func (n *namer) observe(metric string, labels []label) error {
	for _, l := range labels {
		key := metric + "\x00" + l.name
		first, known := n.first[key]
		switch {
		case !known && len(n.first) >= maxSeries:
			return fail(TooLarge, "the file has more than %d metrics with labels", maxSeries)
		case !known:
			n.first[strings.Clone(key)] = strings.Clone(l.value)
		case first != l.value && !n.varies[l.name]:
			n.varies[strings.Clone(l.name)] = true
		}
	}
	return nil
}

// quantityLabels distinguish what is measured, not the device.
var quantityLabels = []string{"phase", "mppt", "string", "channel", "type", "direction", "kind", "quantity", "measure", "unit", "unit_of_measurement", "le", "quantile", "period", "sensor_type"}

// deviceLabels name a device, also if there is only one.
var deviceLabels = []string{"inverter", "device", "serial", "serial_number", "sn", "inverter_id", "device_id", "device_name", "name", "entity_id", "friendly_name"}

// name splits the labels of a series into its device and the labels that describe the quantity in addition to the metric.
func (n *namer) name(labels []label) (device, quantity string) {
	var devices, quantities []string
	for _, l := range labels {
		switch name := strings.ToLower(l.name); {
		case slices.Contains(quantityLabels, name):
			if n.varies[l.name] {
				quantities = append(quantities, l.value)
			}
		case n.varies[l.name] && l.value != "" && name != "job":
			devices = append(devices, l.value)
		}
	}
	if len(devices) == 0 {
		for _, name := range deviceLabels {
			if i := slices.IndexFunc(labels, func(l label) bool { return strings.EqualFold(l.name, name) }); i >= 0 {
				devices = append(devices, labels[i].value)
				break
			}
		}
	}
	return strings.Join(slices.Compact(devices), " "), strings.Join(quantities, " ")
}

// unitLabel returns the unit among the labels of a series.
func unitLabel(labels []label) string {
	for _, l := range labels {
		if n := strings.ToLower(l.name); n == "unit" || n == "unit_of_measurement" {
			return l.value
		}
	}
	return ""
}

// measured are the words at the end of an entity's name that say what is measured.
var measured = strings.Fields("ac dc power energy voltage current frequency temperature irradiance yield production produced generation generated output total today daily lifetime " +
	"leistung energie ertrag spannung strom gesamt tag heute temperatur w kw wh kwh active real apparent reactive factor cumulative sum state status l1 l2 l3 phase")

// entities divides the names of sensors into devices and quantities. Sensors are of several devices only if
// their names are the same except for a number or a letter, as "inverter_1_power" and "inverter_2_power".
// Other sensors may measure anything, so that their whole name is what is measured.
type entities struct{ alike map[string]map[string]bool }

func newEntities() *entities { return &entities{map[string]map[string]bool{}} }

func (e *entities) observe(id string) error {
	pattern := entityPattern(id)
	if e.alike[pattern] == nil {
		if len(e.alike) >= maxSeries {
			return fail(TooLarge, "the file has more than %d sensors", maxSeries)
		}
		e.alike[pattern] = map[string]bool{}
	}
	if len(e.alike[pattern]) < 2 {
		e.alike[pattern][strings.Clone(id)] = true
	}
	return nil
}

func (e *entities) name(id string) (device, parameter string) {
	words := entityWords(id)
	if len(e.alike[entityPattern(id)]) < 2 {
		return "", strings.Join(words, " ")
	}
	at := len(words)
	for at > 1 && slices.Contains(measured, strings.ToLower(words[at-1])) {
		at--
	}
	if at == len(words) {
		return strings.Join(words, " "), ""
	}
	return strings.Join(words[:at], " "), strings.Join(words[at:], " ")
}

// entityWords returns the words of an entity's name, without its domain: "sensor.inverter_1_power".
func entityWords(id string) []string {
	if domain, rest, ok := strings.Cut(id, "."); ok && rest != "" && !strings.ContainsAny(domain, " _") {
		id = rest
	}
	return strings.FieldsFunc(id, func(r rune) bool { return r == '_' || r == ' ' || r == '.' || r == ':' })
}

// entityPattern returns a name with its numbers and single letters replaced.
func entityPattern(id string) string {
	words := entityWords(id)
	for i, w := range words {
		trimmed := strings.TrimRightFunc(w, unicode.IsDigit)
		switch {
		case len(w) == 1 || trimmed == "":
			words[i] = "#"
		case trimmed != w && !slices.Contains([]string{"l", "dc", "mppt", "string", "phase"}, strings.ToLower(trimmed)):
			words[i] = trimmed + "#"
		}
	}
	return strings.Join(words, " ")
}
