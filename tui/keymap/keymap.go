// Package keymap is every key of the console, with its words. Help, palette,
// footer and docs/keys.md are made from it; a user's own bindings
// replace those of an action, and a clash is an error that names both sides.
package keymap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// Action names what a key does.
type Action string

// Scope is where a binding counts. A key may mean two things only in scopes
// that are never active together.
type Scope string

// The scopes. Global is active everywhere but in dialogs and text fields, List
// there as well; Panes while the panes have the keys, with the scope of the
// focused one; a further screen has its own instead. A dialog has its own keys
// alone.
const (
	Global        Scope = "everywhere"
	List          Scope = "lists"
	Panes         Scope = "the panes"
	InObserve     Scope = "Observe"
	InOrient      Scope = "Orient"
	InDecide      Scope = "Decide"
	InAct         Scope = "Act"
	AlarmList     Scope = "the alarms"
	KeyList       Scope = "the list of API keys"
	SourceList    Scope = "the sources"
	UserList      Scope = "the list of users"
	FleetList     Scope = "the fleet"
	ShiftLog      Scope = "the shift"
	AuditList     Scope = "the audit trail"
	InLog         Scope = "the log"
	UploadList    Scope = "the list of uploads"
	AssetList     Scope = "the list of units"
	ComponentList Scope = "the list of components"
	PlanList      Scope = "the list of plans"
	ModelList     Scope = "the models"
	KPIList       Scope = "the KPIs"
	GapList       Scope = "the gaps"
	RunList       Scope = "the runs"
	StockList     Scope = "the stock"

	SubscriptionList Scope = "the list of subscriptions"
	DeliveryList     Scope = "the list of deliveries"
	NotifyList       Scope = "the notifications"
	Dialog           Scope = "dialogs"
)

// place is where on the screen a scope counts.
type place uint8

const (
	anywhere place = iota // but in dialogs
	panes
	onePane
	oneScreen
	dialogs
)

// scopes are all of them, in the order in which they are shown.
var scopes = []struct {
	scope Scope
	place place
}{
	{Global, anywhere}, {List, anywhere}, {Panes, panes},
	{InObserve, onePane}, {InOrient, onePane}, {InDecide, onePane}, {InAct, onePane},
	{KeyList, oneScreen}, {SourceList, oneScreen},
	{UserList, oneScreen}, {FleetList, oneScreen}, {ShiftLog, oneScreen}, {AssetList, oneScreen}, {UploadList, oneScreen}, {InLog, oneScreen}, {AuditList, oneScreen}, {ComponentList, oneScreen},
	{AlarmList, oneScreen},
	{InSettings, oneScreen},
	{ModelList, oneScreen},
	{KPIList, oneScreen},
	{GapList, oneScreen},
	{RunList, oneScreen},
	{PlanList, oneScreen}, {StockList, oneScreen}, {SubscriptionList, oneScreen}, {DeliveryList, oneScreen}, {NotifyList, oneScreen},
	{Dialog, dialogs},
}

// Scopes are all of them, in the order in which they are shown.
func Scopes() []Scope {
	all := make([]Scope, len(scopes))
	for i, s := range scopes {
		all[i] = s.scope
	}
	return all
}

func (s Scope) place() place {
	for _, known := range scopes {
		if known.scope == s {
			return known.place
		}
	}
	return anywhere
}

// Need is what must hold for an action to be possible; the palette shows the
// reason when it does not.
type Need uint8

// The needs.
const (
	NeedsNothing   Need = 0
	NeedsSelection Need = 1 << iota // a selection
	NeedsService                    // an answer from the service
	NeedsWrite                      // a role that may change things
	NeedsUsers                      // a role that manages users and API keys
	NeedsAudit                      // a role that reads the audit trail
	NeedsFiles                      // files of the person's own
	NeedsShell                      // a shell of the person's own
)

// Entry is one action with its binding.
type Entry struct {
	Action    Action
	Scope     Scope
	Binding   key.Binding
	Footer    string // word for the bottom line; empty keeps it out
	Needs     Need
	Dangerous bool // asks before it acts
	// Takes is the action of lists whose key this one has in its own scope;
	// empty for none. Such an action has a second key.
	Takes   Action
	Palette bool // listed in the palette
}

// Map is a set of entries without clashes.
type Map struct{ entries []Entry }

// label is how keys are written for people.
func label(keys []string) string {
	names := map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→", "pgdown": "pgdn"}
	shown := make([]string, len(keys))
	for i, k := range keys {
		if n := names[k]; n != "" {
			k = n
		}
		shown[i] = k
	}
	return strings.Join(shown, "  ")
}

// Entries are all of the map, in the order of its file.
func (m Map) Entries() []Entry { return slices.Clone(m.entries) }

// Entry is the entry of an action.
func (m Map) Entry(a Action) (Entry, bool) {
	for _, e := range m.entries {
		if e.Action == a {
			return e, true
		}
	}
	return Entry{}, false
}

// Match is the action of a key in any of the scopes: one that takes a key of
// lists goes before. A binding of two keys ("g u") matches when given as
// "g u"; pending says that pressed is the start of such a binding.
func (m Map) Match(pressed string, scopes ...Scope) (a Action, ok, pending bool) {
	for _, e := range m.entries {
		if !slices.Contains(scopes, e.Scope) {
			continue
		}
		for _, k := range e.Binding.Keys() {
			if k == pressed && (!ok || e.Takes == a) {
				a, ok = e.Action, true
			}
			if strings.HasPrefix(k, pressed+" ") {
				pending = true
			}
		}
	}
	return a, ok, pending && !ok
}

// unusable are keys that terminals cannot distinguish from others, or use themselves.
var unusable = map[string]string{
	"ctrl+m": "it is enter", "ctrl+i": "it is tab", "ctrl+h": "it is backspace", "ctrl+[": "it is esc",
	"ctrl+enter": "terminals do not send it", "alt+enter": "terminals use it for full screen", "f1": "desktops keep it for their help",
}

// Rebind replaces the keys of actions, as a configuration file names them.
// It refuses unknown actions, keys that terminals do not deliver, and clashes.
func (m Map) Rebind(keys map[string][]string) (Map, error) {
	out := Map{slices.Clone(m.entries)}
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(out.entries, func(e Entry) bool { return e.Action == Action(name) })
		if i < 0 {
			return m, fmt.Errorf("keys: there is no action %q", name)
		}
		if len(keys[name]) == 0 {
			return m, fmt.Errorf("keys: %s has no key", name)
		}
		for _, k := range keys[name] {
			if why := unusable[strings.ToLower(k)]; why != "" {
				return m, fmt.Errorf("keys: %s cannot be %s: %s", name, k, why)
			}
		}
		e := &out.entries[i]
		e.Binding = key.NewBinding(key.WithKeys(keys[name]...), key.WithHelp(label(keys[name]), e.Binding.Help().Desc))
	}
	return out, out.Check()
}

// together says whether two entries are ever active at once.
func together(a, b Entry) bool {
	x, y := a.Scope.place(), b.Scope.place()
	switch {
	case a.Takes == b.Action || b.Takes == a.Action:
		return false // meant so
	case x == dialogs || y == dialogs:
		return x == y
	case x == oneScreen && y == oneScreen, x == onePane && y == onePane:
		return a.Scope == b.Scope
	case x == oneScreen:
		return y == anywhere
	case y == oneScreen:
		return x == anywhere
	}
	return true
}

// Check finds a key that would mean two things at once.
func (m Map) Check() error {
	type place struct {
		entry Entry
		key   string
	}
	var all []place
	for _, e := range m.entries {
		for _, k := range e.Binding.Keys() {
			all = append(all, place{e, k})
		}
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.entry.Action == b.entry.Action || !together(a.entry, b.entry) {
				continue
			}
			if a.key == b.key || strings.HasPrefix(a.key, b.key+" ") || strings.HasPrefix(b.key, a.key+" ") {
				return fmt.Errorf("keys: %q is both %s (%s) and %s (%s)", a.key, a.entry.Action, a.entry.Binding.Help().Desc, b.entry.Action, b.entry.Binding.Help().Desc)
			}
		}
	}
	return nil
}

// Markdown returns the tables of docs/keys.md.
func (m Map) Markdown() string {
	var b strings.Builder
	for _, s := range Scopes() {
		fmt.Fprintf(&b, "| in %s | does | action |\n|---|---|---|\n", s)
		for _, e := range m.entries {
			if e.Scope != s {
				continue
			}
			keys := make([]string, 0, 2)
			for _, k := range e.Binding.Keys() {
				keys = append(keys, "`"+k+"`")
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` |\n", strings.Join(keys, " "), e.Binding.Help().Desc, e.Action)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
