package plant

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Roles of columns in a mapping, as the service reads them.
const (
	roleInferred = ""
	roleIgnore   = "ignore"
	roleQuantity = "quantity"
)

// columnRoles are the choices for a column, in the order in which the arrows show them.
var columnRoles = []string{
	roleInferred, "power", "energy", "counter", "day_counter", "time", "clock", "asset", roleQuantity, "value", "irradiance", "temperature",
	"module_temperature", "wind_speed", "power_factor", "voltage", "apparent_power", "error_code", roleIgnore,
}

var roleWords = map[string]string{
	roleInferred: "as inferred", "time": "time", "clock": "time of day", "asset": "name of the unit", "power": "power", "energy": "energy of each interval",
	"counter": "energy counter", "day_counter": "energy counter of the day", roleQuantity: "name of the quantity", "value": "value of the quantity",
	"module_temperature": "module temperature", "wind_speed": "wind speed", "power_factor": "power factor", "apparent_power": "apparent power",
	"error_code": "error code", roleIgnore: "ignore", "feed_in": "fed into the grid", columnIgnored: "ignored",
	"hour": "value of a time of day", "utc_offset": "offset from UTC", "unit_names": "unit of measure", "state": "operating state", "part_of_time": "part of the time",
}

// roleText returns a role of a column in words.
func roleText(role string) string {
	if words, ok := roleWords[role]; ok {
		return words
	}
	return strings.ReplaceAll(role, "_", " ")
}

// noMappingRoles are roles of columns that a mapping does not state.
var noMappingRoles = []string{"feed_in", "hour", "utc_offset", "unit_names", "state", "part_of_time"}

// takesUnit reports whether a column of a role belongs to a unit of the plant.
func takesUnit(role string) bool {
	return !slices.Contains([]string{roleInferred, "time", "clock", "asset", roleQuantity, "value", roleIgnore}, role)
}

// The settings of a mapping with their choices; an empty choice is inferred.
var mappingSettings = []struct {
	name, label string
	choices     []string // nil: any text
}{
	{"unit", "Unit of measure", []string{"", "W", "kW", "MW", "Wh", "kWh", "MWh", "kJ", "MJ"}},
	{"zone", "Time zone", nil},
	{"dates", "Order of dates", []string{"", "dmy", "mdy"}},
	{"decimal", "Decimal mark", []string{"", ".", ","}},
}

var settingWords = map[string]string{"": "as inferred", "dmy": "day first", "mdy": "month first", ".": "point", ",": "comma"}

// mappingRow is the row of a column in the form: its role, and the unit of the plant.
type mappingRow struct {
	column  api.FileColumn
	initial string // role
	role    widget.Field
	unit    widget.Field
}

// mappingForm asks for the meaning of each column of a file, and for the settings.
type mappingForm struct {
	view.Base
	preview  *ImportPreview
	settings []widget.Field
	rows     []mappingRow
	at       int // of the fields
	top      int // first row drawn
	wrong    string
}

// newMappingForm begins with the reading that the preview shows.
func newMappingForm(d *ImportPreview) *mappingForm {
	f := &mappingForm{preview: d}
	entries := strings.Split(strings.TrimSpace(d.is.Mapping), "\n")
	value := func(name string) string {
		for _, e := range entries {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return strings.Trim(v, `"`)
			}
		}
		return ""
	}
	for _, s := range mappingSettings {
		initial := value(s.name)
		if s.choices == nil {
			f.settings = append(f.settings, widget.NewField(s.label, "as inferred; or an IANA name, as in Europe/Berlin", initial))
			continue
		}
		choices := s.choices
		if !slices.Contains(choices, initial) {
			choices = append(slices.Clone(choices), initial)
		}
		f.settings = append(f.settings, widget.ChoiceField(s.label, choices, func(c string) string {
			if words, ok := settingWords[c]; ok {
				return words
			}
			return c
		}, initial))
	}
	same := map[string]int{}
	for _, c := range d.is.Columns {
		same[c.Role+"["+c.Asset]++
	}
	for _, c := range d.is.Columns {
		role := c.Role
		switch {
		case role == columnIgnored:
			role = roleIgnore
		case slices.Contains(noMappingRoles, role), takesUnit(role) && same[c.Role+"["+c.Asset] > 1:
			role = roleInferred
		}
		choices := columnRoles
		if !slices.Contains(choices, role) {
			choices = append(slices.Clone(choices), role)
		}
		f.rows = append(f.rows, mappingRow{column: c, initial: role, role: widget.ChoiceField(columnTitle(c), choices, roleText, role), unit: widget.NewField("", "unit", c.Asset)})
	}
	return f
}

// fields returns the fields in the order of the keys.
func (f *mappingForm) fields() (list []*widget.Field, row []int) {
	for i := range f.settings {
		list, row = append(list, &f.settings[i]), append(row, i)
	}
	for i := range f.rows {
		list, row = append(list, &f.rows[i].role), append(row, len(f.settings)+i)
		if takesUnit(f.rows[i].role.Value()) {
			list, row = append(list, &f.rows[i].unit), append(row, len(f.settings)+i)
		}
	}
	return list, row
}

// Title names the form.
func (f *mappingForm) Title() string { return "What the columns mean" }

// Size fits the form.
func (f *mappingForm) Size(w, h int) (int, int) {
	return min(100, w-4), min(len(f.settings)+len(f.rows)+6, h-2)
}

// Draw draws the settings and the columns around the selected field.
func (f *mappingForm) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	list, rowOf := f.fields()
	f.at = min(f.at, len(list)-1)
	label := 16
	for _, row := range f.rows {
		label = max(label, terminal.Width(columnTitle(row.column))+2)
	}
	label = min(label, w*4/10)
	total := len(f.settings) + len(f.rows)
	seen := max(h-4, 1)
	f.top = min(max(min(f.top, rowOf[f.at]), rowOf[f.at]-seen+1), max(total-seen, 0))
	choice := (w - label) * 6 / 10
	for i := range list {
		y := rowOf[i] - f.top
		if y < 0 || y >= seen {
			continue
		}
		line := r.Region(terminal.Rect{Y: y, W: w, H: 1})
		switch {
		case rowOf[i] < len(f.settings):
			list[i].Draw(line, 0, label, v, i == f.at)
		case list[i] == &f.rows[rowOf[i]-len(f.settings)].unit:
			list[i].Draw(r.Region(terminal.Rect{X: label + choice, Y: y, W: w - label - choice, H: 1}), 0, 4, v, i == f.at)
			v.PutIn(r, label+choice+1, y, 2, "of", themes.Dim)
		default:
			list[i].Draw(line.Region(terminal.Rect{W: label + choice, H: 1}), 0, label, v, i == f.at)
		}
	}
	switch {
	case f.wrong != "":
		v.Paragraph(r, 0, h-3, f.wrong, themes.Warning)
	case rowOf[f.at] >= len(f.settings):
		v.PutIn(r, 0, h-2, w, columnTitle(f.rows[rowOf[f.at]-len(f.settings)].column)+": "+f.rows[rowOf[f.at]-len(f.settings)].column.Reason, themes.Dim)
	case total > seen:
		v.PutIn(r, 0, h-2, w, fmt.Sprintf("%d to %d of %d", f.top+1, min(f.top+seen, total), total), themes.Dim)
	}
	widget.KeyLine(r, h-1, v, "enter", "read the file again", "tab", "next field", widget.KeyNames("← →", v.ASCII), "choose", "esc", "back")
}

// Key edits, or inspects the file again.
func (f *mappingForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	list, _ := f.fields()
	switch {
	case action == keymap.Dismiss:
		return view.Close{}
	case action == keymap.Accept:
		return f.accept()
	case action == keymap.NextField:
		f.at = (f.at + 1) % len(list)
	case action == keymap.PrevField:
		f.at = (f.at - 1 + len(list)) % len(list)
	case k.Type == tea.KeyPgDown:
		f.at = min(f.at+8, len(list)-1)
	case k.Type == tea.KeyPgUp:
		f.at = max(f.at-8, 0)
	default:
		f.wrong = ""
		list[f.at].Key(k)
	}
	return nil
}

// accept inspects the file again with the mapping of the form.
func (f *mappingForm) accept() view.Request {
	mapping, problem := f.mapping()
	if problem != "" {
		f.wrong = problem
		return nil
	}
	return view.Batch{view.Close{}, f.preview.inspect(mapping)}
}

// mapping returns the text of the mapping; problem is what is wrong with the form.
func (f *mappingForm) mapping() (text, problem string) {
	var lines []string
	once := map[string]string{}
	for _, row := range f.rows {
		role, unit := row.role.Value(), row.unit.Value()
		if role == roleInferred || role == roleIgnore && row.initial == roleIgnore {
			continue
		}
		entry := role
		if takesUnit(role) && unit != "" {
			if strings.ContainsAny(unit, "[]=\n") {
				return "", fmt.Sprintf("The name of a unit has no brackets and no equals sign: %s.", unit)
			}
			entry += "[" + unit + "]"
		}
		if other, twice := once[entry]; twice && role != roleIgnore && role != "asset" {
			if takesUnit(role) {
				return "", fmt.Sprintf("%s and %s are both %s of one unit; name the units.", other, columnTitle(row.column), roleText(role))
			}
			return "", fmt.Sprintf("%s and %s are both %s; only one column can be.", other, columnTitle(row.column), roleText(role))
		}
		once[entry] = columnTitle(row.column)
		lines = append(lines, entry+"="+reference(row.column))
	}
	for i, s := range mappingSettings {
		if value := f.settings[i].Value(); value != "" {
			lines = append(lines, s.name+"="+value)
		}
	}
	const shortNames = "names=short" // has no field
	if slices.Contains(strings.Split(f.preview.is.Mapping, "\n"), shortNames) {
		lines = append(lines, shortNames)
	}
	return strings.Join(lines, "\n"), ""
}

// reference returns the title of a column as a mapping names it.
func reference(c api.FileColumn) string {
	switch {
	case c.Title == "":
		return fmt.Sprintf("#%d", c.Number)
	case strings.ContainsAny(c.Title, ",\"#\r\n") && !strings.HasPrefix(c.Title, "#") || strings.TrimSpace(c.Title) != c.Title:
		return `"` + strings.ReplaceAll(c.Title, `"`, `""`) + `"`
	}
	return c.Title
}
