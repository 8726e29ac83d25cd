package themes

// Role is what a colour is for. Code names roles, never colours.
type Role uint8

// The roles of a theme. Those up to Selection are backgrounds, the heat roles are areas, Band, Fill and Loss lie behind lines, the others
// are foregrounds.
const (
	// Background is everything outside the panes.
	Background Role = iota
	// Panel is the inside of panes and forms.
	Panel
	// Bar is the status line, the tab bar and the breadcrumb.
	Bar
	// Field is a text field's inside.
	Field
	// Selection is the selected row or item.
	Selection

	// Text is the primary text.
	Text
	// Dim is labels and units.
	Dim
	// Muted is stale values, hints and whatever cannot be used now.
	Muted
	// Title names panes and columns.
	Title
	// Key is a key to press.
	Key
	// Accent is the accent colour: links, focus, the selected object.
	Accent
	// Critical, Warning and Notice are the three alarm priorities and are used for nothing else.
	Critical
	// Warning is the middle alarm priority.
	Warning
	// Notice is the lowest alarm priority.
	Notice

	// Border frames a pane.
	Border
	// BorderFocus frames the pane that has the keys.
	BorderFocus
	// Actual is measured power.
	Actual
	// P50 is the median of a forecast.
	P50
	// ClearSky is the envelope of a cloudless day.
	ClearSky
	// NowLine marks the present on a time axis.
	NowLine
	// Series1 to Series4 are further lines of a chart.
	Series1
	// Series2 is the second further line.
	Series2
	// Series3 is the third further line.
	Series3
	// Series4 is the fourth further line.
	Series4
	// Axis is a chart's ticks and labels.
	Axis

	// Band fills between P10 and P90, behind the lines.
	Band
	// Fill is the area below measured power. A theme without it uses Band.
	Fill
	// Loss is the area between measured and expected power where power is missing. A theme without it uses Range.
	Loss
	// Range fills the normal range of a bar or sparkline.
	Range
	// HeatNone is a heat map's cell without data.
	HeatNone
	// HeatNormal is a heat map's cell within the normal range.
	HeatNormal
	// HeatLow1 to HeatLow4 are cells below normal, mild to severe.
	HeatLow1
	// HeatLow2 is the second step below normal.
	HeatLow2
	// HeatLow3 is the third step below normal.
	HeatLow3
	// HeatLow4 is the last step below normal.
	HeatLow4
	// HeatHigh1 and HeatHigh2 are cells above normal, mild and severe.
	HeatHigh1
	// HeatHigh2 is the last step above normal.
	HeatHigh2

	// Roles is how many there are.
	Roles
)

// Kind classifies the use of a role's colour.
type Kind uint8

// The kinds of roles. Reading is text, held to 4.5:1 on every ground; Drawing is lines, held to 3:1 on the grounds charts are
// drawn on; Frame is borders, held to nothing; Ground and Area are backgrounds.
const (
	Ground Kind = iota
	Reading
	Drawing
	Frame
	Area
)

// roles maps each role to its key in theme files and to its kind.
var roles = [Roles]struct {
	key  string
	kind Kind
}{
	Background:  {"background", Ground},
	Panel:       {"panel", Ground},
	Bar:         {"bar", Ground},
	Field:       {"field", Ground},
	Selection:   {"selection", Ground},
	Text:        {"text", Reading},
	Dim:         {"dim", Reading},
	Muted:       {"muted", Reading},
	Title:       {"title", Reading},
	Key:         {"key", Reading},
	Accent:      {"accent", Reading},
	Critical:    {"critical", Reading},
	Warning:     {"warning", Reading},
	Notice:      {"notice", Reading},
	Border:      {"border", Frame},
	BorderFocus: {"border-focus", Drawing},
	Actual:      {"actual", Drawing},
	P50:         {"p50", Drawing},
	ClearSky:    {"clear-sky", Drawing},
	NowLine:     {"now-line", Drawing},
	Series1:     {"series-1", Drawing},
	Series2:     {"series-2", Drawing},
	Series3:     {"series-3", Drawing},
	Series4:     {"series-4", Drawing},
	Axis:        {"axis", Reading},
	Band:        {"band", Area},
	Fill:        {"fill", Area},
	Loss:        {"loss", Area},
	Range:       {"range", Area},
	HeatNone:    {"heat-none", Area},
	HeatNormal:  {"heat-normal", Area},
	HeatLow1:    {"heat-low-1", Area},
	HeatLow2:    {"heat-low-2", Area},
	HeatLow3:    {"heat-low-3", Area},
	HeatLow4:    {"heat-low-4", Area},
	HeatHigh1:   {"heat-high-1", Area},
	HeatHigh2:   {"heat-high-2", Area},
}

// String is the role's key in theme files.
func (r Role) String() string {
	if r >= Roles {
		return "unknown"
	}
	return roles[r].key
}

// Kind returns the use of the role's colour.
func (r Role) Kind() Kind { return roles[r].kind }

// roleOf finds a role by its key.
func roleOf(key string) (Role, bool) {
	for r := range Roles {
		if roles[r].key == key {
			return r, true
		}
	}
	return 0, false
}
