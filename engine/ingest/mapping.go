package ingest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// Mapping states how a file is to be read. Roles and settings that it does not
// name are inferred; those that it names are used without a check by values.
type Mapping struct{ Entries []MappingEntry }

// MappingEntry is one statement: what a column holds, or a setting.
type MappingEntry struct {
	Role  string // one of [MappingRoles] or [MappingSettings]
	Asset string // unit of a column in a file with columns for several units; else empty
	Value string // title of a column as in the header, "#3" for the third one, or the value of a setting
}

// Roles of columns in a mapping, besides the names of [series.Quantity].
const (
	MapTime       = "time"
	MapClock      = "clock" // time of day, apart from the date
	MapAsset      = "asset" // names the unit of a row; two of them complete each other
	MapQuantity   = "quantity"
	MapValue      = "value" // the value of the quantity that the row names
	MapPower      = "power"
	MapEnergy     = "energy" // of each interval
	MapCounter    = "counter"
	MapDayCounter = "day_counter"
	MapIgnore     = "ignore"
)

// Settings of a mapping.
const (
	MapUnit    = "unit"    // of power or energy, such as kW
	MapZone    = "zone"    // IANA name
	MapDates   = "dates"   // dmy or mdy
	MapDecimal = "decimal" // "." or ","
	MapNames   = "names"   // short: the names of units are without words for power or energy, as "WR1" of "WR1 Leistung"
)

// shortNames is the value of [MapNames].
const shortNames = "short"

// shortQuantities are the names of further quantities in a mapping.
var shortQuantities = map[string]series.Quantity{
	"irradiance": series.IrradianceWM2, "temperature": series.TemperatureC, "module_temperature": series.ModuleTemperatureC,
	"cabinet_temperature": series.CabinetTempC, "wind_speed": series.WindSpeedMS, "power_factor": series.PowerFactor, "voltage": series.VoltageV,
	"apparent_power": series.ApparentKVA, "reactive_energy": series.ReactiveKVArh, "error_code": series.ErrorCode,
}

var (
	mappingColumns  = []string{MapTime, MapClock, MapAsset, MapQuantity, MapValue, MapPower, MapEnergy, MapCounter, MapDayCounter, MapIgnore}
	mappingSettings = []string{MapUnit, MapZone, MapDates, MapDecimal, MapNames}
	// productionRoles are the roles from which power is derived.
	productionRoles = map[string]role{MapPower: rolePower, MapEnergy: roleEnergy, MapCounter: roleCounter, MapDayCounter: roleDaily}
)

// quantityOf returns the quantity of a mapping's role.
func quantityOf(name string) (series.Quantity, bool) {
	if q, ok := shortQuantities[name]; ok {
		return q, true
	}
	q, err := series.ParseQuantity(name)
	return q, err == nil
}

// quantityRole returns the role of a quantity in a mapping.
func quantityRole(q series.Quantity) string {
	for name, is := range shortQuantities {
		if is == q {
			return name
		}
	}
	return q.String()
}

// ParseMapping reads entries such as time=Date,power[INV1]=P1,unit=kW, which
// are separated by commas or lines. A value in double quotes may contain both.
// A line that starts with # is a comment.
func ParseMapping(text string) (Mapping, error) {
	var m Mapping
	for _, part := range splitEntries(text) {
		name, value, ok := strings.Cut(part, "=")
		if i := strings.IndexByte(part, '['); ok && i >= 0 && i < len(name) { // the name of a unit may contain "="
			if end := strings.Index(part, "]="); end > i {
				name, value = part[:end+1], part[end+2:]
			}
		}
		e := MappingEntry{Role: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
		if role, rest, ok := strings.Cut(e.Role, "["); ok {
			if !strings.HasSuffix(rest, "]") {
				return m, fmt.Errorf("%q has no closing bracket", part)
			}
			e.Role, e.Asset = strings.TrimSpace(role), strings.TrimSpace(strings.TrimSuffix(rest, "]"))
		}
		if !ok {
			return m, fmt.Errorf("%q is not an entry such as power=COLUMN", part)
		}
		if len(e.Value) > 1 && e.Value[0] == '"' && e.Value[len(e.Value)-1] == '"' {
			e.Value = strings.ReplaceAll(e.Value[1:len(e.Value)-1], `""`, `"`)
		}
		if err := e.check(); err != nil {
			return m, err
		}
		m.Entries = append(m.Entries, e)
	}
	return m, m.check()
}

// splitEntries splits at commas and line ends outside of quotes and brackets.
func splitEntries(text string) (parts []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		quoted, bracket, from := false, false, 0
		for i := 0; i <= len(line); i++ {
			switch {
			case i == len(line) || line[i] == ',' && !quoted && !bracket && !strings.HasSuffix(line[from:i], "decimal="):
				if part := strings.TrimSpace(line[from:i]); part != "" {
					parts = append(parts, part)
				}
				from = i + 1
			case line[i] == '"':
				quoted = !quoted
			case line[i] == '[' && !quoted && !strings.Contains(line[from:i], "="):
				bracket = true
			case line[i] == ']' && !quoted:
				bracket = false
			}
		}
	}
	return parts
}

func (e MappingEntry) check() error {
	_, measured := quantityOf(e.Role)
	switch {
	case !measured && !slices.Contains(mappingColumns, e.Role) && !slices.Contains(mappingSettings, e.Role):
		return fmt.Errorf("%q is not a role; the roles are %s, the settings %s, and a further quantity is named as in irradiance or temperature", e.Role,
			strings.Join(mappingColumns, ", "), strings.Join(mappingSettings, ", "))
	case e.Value == "":
		return fmt.Errorf("%s has no value", e.Role)
	case e.Asset != "" && productionRoles[e.Role] == roleNone && !measured:
		return fmt.Errorf("%s takes no unit in brackets", e.Role)
	case e.Role == MapUnit:
		if u, ok := parseUnit(e.Value); !ok || u.dim != dimPower && u.dim != dimEnergy {
			return fmt.Errorf("unit %q is not one of power or energy, such as kW or kWh", e.Value)
		}
	case e.Role == MapZone:
		if _, err := time.LoadLocation(e.Value); err != nil || e.Value == "Local" {
			return fmt.Errorf("zone %q is not an IANA time zone such as Europe/Vienna", e.Value)
		}
	case e.Role == MapDates && e.Value != "dmy" && e.Value != "mdy":
		return fmt.Errorf("dates is dmy or mdy, not %q", e.Value)
	case e.Role == MapNames && e.Value != shortNames:
		return fmt.Errorf("names is %s, not %q", shortNames, e.Value)
	case e.Role == MapDecimal && e.Value != "." && e.Value != ",":
		return fmt.Errorf("decimal is a point or a comma, not %q", e.Value)
	}
	return nil
}

// check refuses entries that contradict each other.
func (m Mapping) check() error {
	seen, assets := map[string]bool{}, 0
	for _, e := range m.Entries {
		key := e.Role + "[" + e.Asset
		switch {
		case e.Role == MapIgnore:
			continue
		case e.Role == MapAsset:
			if assets++; assets > 2 {
				return fmt.Errorf("asset is given %s; two columns at most name a unit", display.CountOf(assets, "time", "times"))
			}
			continue
		case seen[key] && productionRoles[e.Role] != roleNone && e.Asset == "":
			return fmt.Errorf("two columns are %s of one unit; name the units as in %s[INV1]=COLUMN", e.Role, e.Role)
		case seen[key]:
			return fmt.Errorf("%s is given twice", strings.TrimSuffix(e.Role+"["+e.Asset+"]", "[]"))
		}
		seen[key] = true
	}
	if seen[MapValue+"["] && !seen[MapQuantity+"["] {
		return fmt.Errorf("value goes with quantity, the column that names what a row's value is")
	}
	return nil
}

// value returns the first entry of a role, "" if there is none.
func (m Mapping) value(role string) string {
	for _, e := range m.Entries {
		if e.Role == role {
			return e.Value
		}
	}
	return ""
}

// produces reports whether the mapping names a column of production.
func (m Mapping) produces() bool {
	return slices.ContainsFunc(m.Entries, func(e MappingEntry) bool { return productionRoles[e.Role] != roleNone })
}

// fixesKeys reports whether the mapping says which columns distinguish rows of one time.
func (m Mapping) fixesKeys() bool {
	return m.produces() || m.value(MapAsset) != "" || m.value(MapQuantity) != ""
}

// String returns the mapping on one line, as [ParseMapping] reads it.
func (m Mapping) String() string { return m.join(",") }

// Text returns the mapping with one entry on each line.
func (m Mapping) Text() string { return m.join("\n") + "\n" }

func (m Mapping) join(separator string) string {
	parts := make([]string, len(m.Entries))
	for i, e := range m.Entries {
		parts[i] = e.Role
		if e.Asset != "" {
			parts[i] += "[" + e.Asset + "]"
		}
		value := e.Value
		if strings.ContainsAny(value, ",\"\r\n#") && !strings.HasPrefix(value, "#") && e.Role != MapDecimal || strings.TrimSpace(value) != value {
			value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		}
		parts[i] += "=" + value
	}
	return strings.Join(parts, separator)
}
