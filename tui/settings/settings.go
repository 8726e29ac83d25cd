// Package settings has the settings of the console in one table, from which the
// settings screen is made and by which a configuration file is checked. It draws
// nothing and writes nothing.
package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is what the value of a setting may be.
type Kind int

// The kinds. A Pair is two whole numbers with an x between, as in 160x40.
const (
	Switch Kind = iota
	Choice
	Whole
	Pair
)

// The values of a Switch.
const (
	On  = "true"
	Off = "false"
)

// Names of the settings that code refers to, as the configuration file and,
// after two dashes, the command line have them.
const (
	Theme      = "theme"
	Color      = "color"
	Graph      = "graph"
	Images     = "images"
	ASCII      = "ascii"
	FPS        = "fps"
	Mouse      = "mouse"
	Bell       = "bell"
	BellFrom   = "bell-from"
	NotifyFrom = "notify-from"
	Polling    = "polling"
	Remember   = "remember"
	Preset     = "preset"
	QuadFrom   = "quad-from"
	StripsFrom = "strips-from"
	Split      = "split"
)

// Setting is one of them.
type Setting struct {
	Name, Group string
	Title       string // what it is
	Help        string // what its values do
	Kind        Kind
	Default     string
	Choices     []string          // of a Choice; nil: known to other packages
	Former      map[string]string // values of earlier versions that remain valid, with the present ones
	Least, Most int               // of a Whole, and of both numbers of a Pair
	Zero        string            // meaning of the value 0 of a Whole; empty: 0
	Later       bool              // counts from the next start
}

// priorities are those from which an alarm may ring, as in ISA-18.2, and off.
// Journal entries are never announced.
var priorities = []string{"critical", "high", "medium", "low", Never}

// Never is the value of [BellFrom] and [NotifyFrom] without announcements.
const Never = "off"

// formerPriorities are values of earlier versions, which remain valid.
var formerPriorities = map[string]string{"warning": "medium", "notice": "low"}

// Priority returns a priority of a setting by its present name.
func Priority(value string) string {
	if now, ok := formerPriorities[value]; ok {
		return now
	}
	return value
}

// All returns the settings in the order in which they are shown.
func All() []Setting {
	return []Setting{
		{Name: Theme, Group: "look", Title: "theme", Default: "auto", Kind: Choice, Help: "Colour theme. auto uses control-room on a dark terminal and daylight on a light one. Files of your own in the folder themes next to the configuration file are listed too, and reloaded when they change."},
		{Name: Color, Group: "look", Title: "colours of the terminal", Default: "auto", Kind: Choice, Choices: []string{"auto", "none", "16", "256", "true"}, Help: "How many colours are sent. auto reads NO_COLOR, COLORTERM and TERM; over SSH that often means 256 where the terminal could show all."},
		{Name: Graph, Group: "look", Title: "graph symbols", Default: "auto", Kind: Choice, Choices: []string{"auto", "braille", "block", "ascii"}, Help: "Characters that charts are drawn with. auto is block on the Linux console, whose fonts have no braille, and braille elsewhere; sunloop doctor draws a pattern of each."},
		{Name: Images, Group: "look", Title: "charts as images", Default: "off", Kind: Choice, Choices: []string{"off", "auto"}, Help: "auto draws the charts of a day as images on terminals that report that they can (Kitty graphics or sixel), over SSH too. Updates of an image take at most 40 bytes a second on average. There are no images without colours and with ASCII only."},
		{Name: ASCII, Group: "look", Title: "ASCII only", Default: Off, Kind: Switch, Help: "No braille and no box drawing: plain + - and |."},
		{Name: FPS, Group: "look", Title: "maximum frames per second", Default: "0", Kind: Whole, Most: 60, Zero: "20, SSH 10", Later: true, Help: "0 is 20, and 10 over SSH. Fewer frames need less processor time and bandwidth."},
		{Name: Mouse, Group: "look", Title: "use of the mouse", Default: On, Kind: Switch, Help: "Clicks focus and choose, the wheel scrolls. M returns the mouse to the terminal; shift (option on a Mac) selects text meanwhile."},

		{Name: Bell, Group: "alarms", Title: "sound and desktop notifications", Default: On, Kind: Switch, Help: "Off disables both. B silences them for an hour."},
		{Name: BellFrom, Group: "alarms", Title: "the bell rings from", Default: "high", Kind: Choice, Choices: priorities, Former: formerPriorities, Help: "The lowest priority of a new alarm for which the terminal's bell rings. It rings at most once in half a minute, however many alarms come."},
		{Name: NotifyFrom, Group: "alarms", Title: "desktop notifications from", Default: "high", Kind: Choice, Choices: priorities, Former: formerPriorities, Help: "The lowest priority of a new alarm that the terminal shows on the desktop (OSC 9), over SSH and through tmux too. Not every terminal can; at most one in half a minute."},

		{Name: Preset, Group: "layout", Title: "layout at the start", Default: "auto", Kind: Choice, Help: "Focused pane, zoom and split at the start. auto is that of your role, or the last one used."},
		{Name: QuadFrom, Group: "layout", Title: "four panes together from", Default: "160x40", Kind: Pair, Least: 24, Most: 1000, Help: "Columns and rows from which all four panes are shown together."},
		{Name: StripsFrom, Group: "layout", Title: "summary strips from", Default: "100x30", Kind: Pair, Least: 24, Most: 1000, Help: "Columns and rows from which the other three panes are shown as strips next to the focused one; below it there is one pane and a tab bar."},
		{Name: Split, Group: "layout", Title: "split of the four panes", Default: "50x50", Kind: Pair, Least: 20, Most: 80, Help: "Percent of the width for the left column, and of the height for the upper row."},

		{Name: Polling, Group: "data", Title: "data refresh rate", Default: "normal", Kind: Choice, Choices: []string{"fast", "normal", "slow"}, Help: "fast requests data twice as often, slow half as often. There are never more than 60 requests a minute, and the console waits as long as the service demands."},
		{Name: Remember, Group: "data", Title: "remember the place", Default: On, Kind: Switch, Help: "The site, the pane, the selection, and the sort, filter and columns of each list are restored at the next start, for each person and service."},
	}
}

// Find returns the setting of that name.
func Find(name string) (Setting, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return all[i], true
}

// Check returns an error with the reason if a value is invalid.
func (s Setting) Check(value string) error {
	switch s.Kind {
	case Switch:
		if value != On && value != Off {
			return fmt.Errorf("%s is true or false, not %q", s.Name, value)
		}
	case Choice:
		if _, former := s.Former[value]; s.Choices != nil && !former && !slices.Contains(s.Choices, value) {
			return fmt.Errorf("%s is one of %s, not %q", s.Name, strings.Join(s.Choices, ", "), value)
		}
	case Whole:
		if n, err := strconv.Atoi(value); err != nil || n < s.Least || n > s.Most {
			return fmt.Errorf("%s is a whole number from %d to %d, not %q", s.Name, s.Least, s.Most, value)
		}
	case Pair:
		a, b, ok := ParsePair(value)
		if !ok {
			return fmt.Errorf("%s is two numbers with an x between, as %s, not %q", s.Name, s.Default, value)
		}
		if min(a, b) < s.Least || max(a, b) > s.Most {
			return fmt.Errorf("%s: each of the two is from %d to %d, not %q", s.Name, s.Least, s.Most, value)
		}
	}
	return nil
}

// Value returns a checked value in the type of the configuration file: a boolean for
// a switch, an integer for a number.
func (s Setting) Value(text string) any {
	switch s.Kind {
	case Switch:
		return text == On
	case Whole:
		if n, err := strconv.Atoi(text); err == nil {
			return int64(n)
		}
	}
	return text
}

// ParsePair reads two numbers with an x between.
func ParsePair(text string) (a, b int, ok bool) {
	left, right, ok := strings.Cut(text, "x")
	if !ok {
		return 0, 0, false
	}
	a, err1 := strconv.Atoi(left)
	b, err2 := strconv.Atoi(right)
	return a, b, err1 == nil && err2 == nil
}

// Pace returns how a value of [Polling] stretches the time between two requests.
func Pace(value string) float64 {
	switch value {
	case "fast":
		return 0.5
	case "slow":
		return 2
	}
	return 1
}

// Source is the value of a setting and where it comes from.
type Source struct {
	Value string
	// From is the flag or the variable that set it, "the configuration file",
	// or empty for the default.
	From string
	// Fixed says that it cannot be changed from within the console, because the
	// command line or the environment has it.
	Fixed bool
}

// FromFile is the From of a value from the configuration file.
const FromFile = "the configuration file"

// Sources are the values of all settings, by name.
type Sources map[string]Source

// Of returns the value of a setting, the default where nothing set it.
func (s Sources) Of(name string) Source {
	if v, ok := s[name]; ok {
		return v
	}
	d, _ := Find(name)
	return Source{Value: d.Default}
}
