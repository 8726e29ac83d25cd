package tui

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/analysis"
	"app.sunloop/tui/view/maintenance"
	fleet "app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
)

// dataScreens open all screens that show data of the service: those with a key
// g …, and those that something selected opens.
func dataScreens(m *Model) map[string]view.Request {
	all := map[string]view.Request{
		"components": view.OpenScreen{Screen: fleet.NewComponents("INV-03")}, "unit": view.OpenScreen{Screen: analysis.NewUnit("INV-03")},
		"choices": view.OpenScreen{Screen: maintenance.NewPlanChoices(noon)}, "order": view.OpenScreen{Screen: maintenance.NewOrderScreen()},
	}
	for _, e := range m.o.Keys.Entries() {
		switch e.Action {
		case keymap.SignOut, keymap.Log, keymap.Settings: // they show no data of the site
			continue
		}
		if e.Scope == keymap.Global && slices.ContainsFunc(e.Binding.Keys(), func(k string) bool { return strings.HasPrefix(k, "g ") }) {
			all[string(e.Action)], _ = actions[e.Action](m)
		}
	}
	return all
}

// untrue are words that state something about the plant.
var untrue = regexp.MustCompile(`(?i)no alarms|nothing abnormal|None:|\b0 kW\b|\b0 of \d+ units|no data yet|No sites yet|No work orders|no forecast yet|nothing was done|None is known|Press U|▲0|No API keys|No users|has no units|No components|\bnone\b|Nothing was found`)

// honest are the words that say what is not known.
var honest = regexp.MustCompile(`(?i)unknown since|asking|no answer|not responding| old: `)

// Each pane and each screen says that its data are unknown, since when and why,
// or that they are asked for, and none states that there is nothing, while data
// are loaded, refused, unreachable or outdated.
func TestNothingUnknownIsShownAsFine(t *testing.T) {
	limited := &api.Error{Status: http.StatusTooManyRequests, Message: "Too many requests", RetryAfter: 600}
	for _, tt := range []struct {
		name   string
		reason string // that is on the screen, empty for none
		set    func(d *world, down *error)
	}{
		{"loading", "", func(d *world, _ *error) { d.hold = true; d.m.openSite(d.m.data.Site.Site) }},
		{"429", "too many requests", func(d *world, _ *error) {
			d.service.Refuse(func(*http.Request) *api.Error { return limited })
			d.m.openSite(d.m.data.Site.Site)
			d.pass(70)
		}},
		{"unreachable", "refused", func(d *world, down *error) {
			*down = errors.New("connection refused")
			d.m.openSite(d.m.data.Site.Site)
			d.pass(70)
		}},
		{"stale", "refused", func(d *world, down *error) { *down = errors.New("connection refused"); d.now = d.now.Add(time.Hour) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
				var down error
				d := start(t, size[0], size[1], func(o *Options, s *plant.Service) {
					o.Client = clientThrough(s, func() error { return down })
					o.User.RoleID = api.RoleAdmin
				})
				d.blind = true
				tt.set(d, &down)
				look := func(name string) {
					t.Helper()
					d.pass(1)
					text := d.text()
					if !honest.MatchString(text) {
						t.Errorf("%s at %v does not say that data are unknown:\n%s", name, size, text)
					}
					if tt.reason != "" && !strings.Contains(strings.ToLower(text), tt.reason) {
						t.Errorf("%s at %v does not say why:\n%s", name, size, text)
					}
					if tt.name != "stale" {
						if claim := untrue.FindString(text); claim != "" {
							t.Errorf("%s at %v states %q:\n%s", name, size, claim, text)
						}
						if body := bodyOf(text); !honest.MatchString(body) {
							t.Errorf("%s at %v: the body does not say that data are unknown:\n%s", name, size, body)
						}
					}
				}
				for _, pane := range []string{"1", "2", "3", "4"} {
					d.press(pane)
					look("pane " + pane)
				}
				screens := dataScreens(d.m)
				if len(screens) < 17 {
					t.Errorf("only %d screens are looked at", len(screens))
				}
				for name, open := range screens {
					d.m.nav.screens = nil
					d.run(d.m.perform(open))
					tabs := 1
					if s, ok := d.m.nav.screen().(*widget.TabView); ok {
						tabs = len(s.Tabs)
					}
					for tab := range tabs {
						look(fmt.Sprintf("%s, tab %d", name, tab+1))
						if tab+1 < tabs {
							d.press("right")
						}
					}
				}
				d.m.nav.screens = nil
				d.press("S")
				if text := d.text(); tt.name != "stale" && !honest.MatchString(text) {
					t.Errorf("the choice of the site at %v:\n%s", size, text)
				}
			}
		})
	}
}

// bodyOf returns a screen without the lines for status, vital signs and keys.
func bodyOf(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[2:len(lines)-1], "\n")
}

// A site whose newest data are five hours old has an unknown power, not none.
func TestStaleSiteHasNoPower(t *testing.T) {
	late := plant.New()
	late.Silent = 5 * time.Hour
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 60}} {
		d := start(t, size[0], size[1], nil, late)
		d.shows("power unknown (data 5 h old)", "expected")
		d.hides("0 kW of", ", 0 %", "units 0/8", "0 of 8 units")
		d.press("2")
		d.hides("0 kW of", "0 of 8 units")
	}
}

// The status line says how old the data of units are that are behind those of their site.
func TestAgeOfUnits(t *testing.T) {
	behind := plant.New()
	behind.Late = map[int]time.Duration{3: 2 * time.Hour, 5: 3 * time.Hour}
	d := start(t, 120, 36, nil, behind)
	d.shows("2 of 8 units up to 3 h old")
	d.m.nav.selection.AssetID = "INV-04"
	d.pass(1)
	d.shows("Inverter 4 2 h old")
	for _, w := range []int{80, 120} {
		fresh := start(t, w, 36, nil)
		fresh.hides("of 8 units up to", "units none today")
	}
	behind.Late = map[int]time.Duration{3: 24 * time.Hour}
	d = start(t, 120, 36, nil, behind)
	d.shows("1 of 8 units none today")
}

// After a refusal with Retry-After everything is asked for again when the wait
// ends, whatever its period.
func TestAskedAgainAfterTheWait(t *testing.T) {
	d := start(t, 160, 45, nil)
	limited := &api.Error{Status: http.StatusTooManyRequests, Message: "Too many requests", RetryAfter: 20}
	d.service.Refuse(func(*http.Request) *api.Error { return limited })
	d.m.openSite(d.m.data.Site.Site)
	d.pass(10)
	d.service.Refuse(nil)
	d.pass(60)
	if words, _ := state.KnowledgeText(d.m.data.Site, &d.m.data.Admin, d.m.needs(), d.now, d.m.data.Site.Zone, 200); words != "" {
		t.Errorf("after the wait: %s", words)
	}
	d.hides("unknown since", "asking for")
}
