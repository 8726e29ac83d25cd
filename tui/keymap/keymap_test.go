package keymap

import (
	"strings"
	"testing"
)

func TestDefaultHasNoClash(t *testing.T) {
	if err := Default().Check(); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultUsesNoUnusableKey(t *testing.T) {
	for _, e := range Default().Entries() {
		for _, k := range e.Binding.Keys() {
			if why := unusable[k]; why != "" {
				t.Errorf("%s is bound to %s: %s", e.Action, k, why)
			}
		}
	}
}

// A terminal that cannot send ctrl keys (a browser's, an editor's) needs a
// plain alternative.
func TestEveryCtrlKeyHasAPlainTwin(t *testing.T) {
	for _, e := range Default().Entries() {
		plain := false
		for _, k := range e.Binding.Keys() {
			plain = plain || !strings.HasPrefix(k, "ctrl+")
		}
		if !plain && e.Action != QuitNow && e.Action != Suspend {
			t.Errorf("%s has only ctrl keys", e.Action)
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		key     string
		scopes  []Scope
		want    Action
		ok      bool
		pending bool
	}{
		{"1", []Scope{Global}, FocusObserve, true, false},
		{"j", []Scope{List, Global}, Down, true, false},
		{"j", []Scope{Global}, "", false, false},
		{"s", []Scope{List, Global}, Sort, true, false},
		{"s", []Scope{AlarmList, List, Global}, ShelveAlarm, true, false},
		{"s", []Scope{Panes, List, InObserve, Global}, Shelve, true, false},
		{",", []Scope{AlarmList, List, Global}, Sort, true, false},
		{"g", []Scope{List, Global}, "", false, true},
		{"g u", []Scope{List, Global}, Uploads, true, false},
		{"g g", []Scope{List, Global}, Top, true, false},
		{"enter", []Scope{Dialog}, Accept, true, false},
		{"1", []Scope{Dialog}, "", false, false},
		{"X", []Scope{List, Global}, "", false, false},
	}
	for _, tt := range tests {
		a, ok, pending := Default().Match(tt.key, tt.scopes...)
		if a != tt.want || ok != tt.ok || pending != tt.pending {
			t.Errorf("Match(%q, %v) = %q %v %v, want %q %v %v", tt.key, tt.scopes, a, ok, pending, tt.want, tt.ok, tt.pending)
		}
	}
}

func TestRebind(t *testing.T) {
	tests := []struct {
		name string
		keys map[string][]string
		want string // part of the error, empty for success
	}{
		{"moves", map[string][]string{"zoom": {"ctrl+t"}}, ""},
		{"swaps", map[string][]string{"zoom": {"N"}, "next-finding": {"z"}}, ""},
		{"clash names both", map[string][]string{"zoom": {"q"}}, `"q" is both zoom (zoom the pane to the whole screen, or restore it) and quit (leave)`},
		{"clash of a prefix", map[string][]string{"zoom": {"g"}}, `"g" is both zoom`},
		{"unknown", map[string][]string{"zom": {"f"}}, `there is no action "zom"`},
		{"unusable", map[string][]string{"zoom": {"ctrl+m"}}, "zoom cannot be ctrl+m: it is enter"},
		{"none", map[string][]string{"zoom": {}}, "zoom has no key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Default().Rebind(tt.keys)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want one with %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, keys := range tt.keys {
				if a, ok, _ := m.Match(keys[0], Global, Panes); !ok || string(a) != name {
					t.Errorf("%s does %q, want %q", keys[0], a, name)
				}
			}
		})
	}
}

func TestMarkdownNamesEveryAction(t *testing.T) {
	table := Default().Markdown()
	for _, e := range Default().Entries() {
		if !strings.Contains(table, "`"+string(e.Action)+"`") {
			t.Errorf("the table lacks %s", e.Action)
		}
	}
}

// A further screen's keys may be those of the panes, which are not active
// there, but none that count everywhere.
func TestKeysOfAFurtherScreen(t *testing.T) {
	for key, clash := range map[string]string{"z": "", "o": "", "x": "", "s": "sort", "q": "quit", "?": "help", "esc": "back", "X": "revoke-key", "enter": "open", "tab": ""} {
		_, err := Default().Rebind(map[string][]string{"create-key": {key}})
		switch {
		case clash == "" && err != nil:
			t.Errorf("%s: %v", key, err)
		case clash != "" && (err == nil || !strings.Contains(err.Error(), clash)):
			t.Errorf("%s: %v, want a clash with %s", key, err, clash)
		}
	}
}
