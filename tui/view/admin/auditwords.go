package admin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/view/widget"
)

// fieldTerms are the words for fields whose names in the API do not consist of them.
var fieldTerms = map[string]string{
	"api_key_id": "API key", "bom_id": "bill of materials", "mfa_enrolled": "second factor set up", "recovery_codes_left": "recovery codes left", "ssh_public_keys": "SSH keys",
	"last_login_at": "last sign-in", "permitted_site_ids": "sites", "rate_per_minute": "requests a minute", "username": "user",
}

// fieldUnits are the endings of field names that are a unit, and how values in it are written.
var fieldUnits = []struct {
	ending string
	write  func(float64) string
}{
	{"_kwh", display.Energy}, {"_kwp", func(x float64) string { return display.Significant(x) + " kWp" }}, {"_kw", display.Power},
	{"_pct", display.Percentage}, {"_percent", display.Percentage}, {"_days", func(x float64) string { return display.Significant(x) + " d" }}, {"_hours", display.Hours}, {"_minutes", func(x float64) string { return display.Significant(x) + " min" }},
	{"_deg", func(x float64) string { return display.Significant(x) + "°" }},
}

// fieldWords returns the words for a field of the API: its name without the ending of its type
// or unit.
func fieldWords(name string) string {
	if words := fieldTerms[name]; words != "" {
		return words
	}
	if rest, ok := strings.CutSuffix(name, "_ids"); ok {
		name = rest + "s"
	}
	for _, ending := range []string{"_at_ms", "_at", "_id"} {
		name = strings.TrimSuffix(name, ending)
	}
	for _, u := range fieldUnits {
		name = strings.TrimSuffix(name, u.ending)
	}
	return strings.ReplaceAll(name, "_", " ")
}

// fieldValue writes a value of JSON by the name of its field; times are those of the zone.
func fieldValue(name string, value any, zone *time.Location) string {
	switch x := value.(type) {
	case nil:
		return "none"
	case bool:
		if x {
			return "yes"
		}
		return "no"
	case float64:
		if strings.HasSuffix(name, "_at_ms") {
			return display.DateTimeSeconds(time.UnixMilli(int64(x)).In(zone))
		}
		for _, u := range fieldUnits {
			if strings.HasSuffix(name, u.ending) {
				return u.write(x)
			}
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	case string:
		if t, err := time.Parse(time.RFC3339, x); err == nil {
			return display.DateTime(t.In(zone))
		}
		if x == "" {
			return "none"
		}
		return x
	case []any:
		if len(x) == 0 {
			return "none"
		}
		parts := make([]string, len(x))
		for i, item := range x {
			if parts[i] = fieldValue(name, item, zone); parts[i] == "*" {
				parts[i] = "all"
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		var parts []string
		for _, key := range widget.SortedKeys(x) {
			parts = append(parts, fieldWords(key)+" "+fieldValue(key, x[key], zone))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(value)
}

// changed returns the fields that differ between two objects of JSON.
func changed(before, after any, zone *time.Location) []widget.Detail {
	was, _ := before.(map[string]any)
	is, _ := after.(map[string]any)
	fields := maps.Clone(was)
	if fields == nil {
		fields = map[string]any{}
	}
	maps.Copy(fields, is)
	var lines []widget.Detail
	for _, name := range widget.SortedKeys(fields) {
		old, had := was[name]
		now, has := is[name]
		if reflect.DeepEqual(old, now) {
			continue
		}
		words := "was " + fieldValue(name, old, zone) + ", is " + fieldValue(name, now, zone)
		switch {
		case !had && before == nil:
			words = fieldValue(name, now, zone)
		case !had:
			words = "was none, is " + fieldValue(name, now, zone)
		case !has && after == nil:
			words = "was " + fieldValue(name, old, zone)
		case !has:
			words = "was " + fieldValue(name, old, zone) + ", is none"
		}
		lines = append(lines, widget.Detail{Label: fieldWords(name), Text: words, Role: themes.Text})
	}
	return lines
}

// targets returns what a record was about, in the order of the names in the API, without the
// ids that its other lines have.
func targets(a api.AuditRecord) []widget.Detail {
	var lines []widget.Detail
	add := widget.FactsOf(&lines)
	for _, name := range slices.Sorted(maps.Keys(a.TargetIDs)) {
		if name == "user_id" && a.TargetIDs[name] == a.ActorID {
			continue
		}
		add(fieldWords(name), a.TargetIDs[name])
	}
	return lines
}
