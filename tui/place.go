package tui

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/view"
)

// Place is where a person was: it is kept, and given back at the next start.
type Place struct {
	Site     string                 `json:"site,omitempty"`
	Customer string                 `json:"customer,omitempty"` // of Site; empty in files of former versions
	Panes    string                 `json:"panes,omitempty"`    // as a preset is written
	Asset    string                 `json:"asset,omitempty"`
	Finding  string                 `json:"finding,omitempty"`
	Order    string                 `json:"order,omitempty"`
	Lists    map[string]view.Memory `json:"lists,omitempty"` // by pane or screen, and list
	Recent   []string               `json:"recent,omitempty"`
}

// SiteRef names the site of the place.
func (p Place) SiteRef() api.SiteRef { return api.SiteRef{CustomerID: p.Customer, SiteID: p.Site} }

// Places keeps the places of people, by user id. What cannot be read is no
// place; the zero Place forgets one.
type Places interface {
	Place(user string) Place
	Keep(user string, p Place) error
}

// The bounds of a place.
const (
	maxLists    = 60
	maxRecent   = 8
	maxPlaceStr = 200 // bytes of each text
	keepEvery   = 10  // ticks of the clock between two looks at the place
)

// Bounded is the place without what is too long or too much.
func (p Place) Bounded() Place {
	short := func(s string) bool { return len(s) <= maxPlaceStr }
	clean := func(s string) string {
		if !short(s) {
			return ""
		}
		return s
	}
	p.Site, p.Customer, p.Panes, p.Asset, p.Finding, p.Order = clean(p.Site), clean(p.Customer), clean(p.Panes), clean(p.Asset), clean(p.Finding), clean(p.Order)
	p.Recent = slices.DeleteFunc(slices.Clone(p.Recent), func(s string) bool { return !short(s) })
	p.Recent = p.Recent[:min(len(p.Recent), maxRecent)]
	lists := map[string]view.Memory{}
	for _, name := range slices.Sorted(maps.Keys(p.Lists)) {
		l := p.Lists[name]
		l.Filter, l.Selected, l.Sort = clean(l.Filter), clean(l.Selected), clean(l.Sort)
		long := slices.ContainsFunc(l.Shown, func(s string) bool { return !short(s) }) || len(l.Shown) > maxLists
		if !short(name) || long || len(lists) >= maxLists || reflect.DeepEqual(l, view.Memory{}) {
			continue
		}
		lists[name] = l
	}
	p.Lists = lists
	return p
}

// remembers says whether places are kept.
func (m *Model) remembers() bool {
	return m.o.Places != nil && m.owner != "" && m.setting(settings.Remember) == settings.On
}

// returnToPlace puts the person where they left off, or where their role
// begins.
func (m *Model) returnToPlace() {
	m.startPreset()
	m.place, m.memories = Place{}, map[string]view.Memory{}
	if !m.remembers() {
		return
	}
	m.place = m.o.Places.Place(m.owner).Bounded()
	m.keptPlace = m.place
	maps.Copy(m.memories, m.place.Lists)
	m.recent = m.place.Recent
	if a, err := parseArrangement(m.place.Panes); err == nil && m.place.Panes != "" && m.setting(settings.Preset) == presetAuto {
		m.put(a)
	}
	for _, p := range m.panes {
		m.recall(p)
	}
}

// guide says which keys lead to all others, to who was never here before.
func (m *Model) guide() {
	if !m.o.Guide && (!m.remembers() || m.keptPlace.Panes != "") {
		return
	}
	var words []string
	for _, k := range []struct {
		action keymap.Action
		words  string
	}{{keymap.Help, "shows the keys"}, {keymap.Palette, "finds anything"}, {keymap.NextStep, "does the next step"}, {keymap.Settings, "sets it up"}} {
		if e, ok := m.o.Keys.Entry(k.action); ok {
			words = append(words, e.Binding.Keys()[0]+" "+k.words)
		}
	}
	m.say("New here: "+strings.Join(words, ", ")+".", themes.Accent)
	m.notice.until, m.notice.guide = m.o.Now().Add(guideFor), true
}

// guideFor is how long the first words stand, unless a key is pressed.
const guideFor = time.Minute

// recall restores the lists of a view.
func (m *Model) recall(of view.View) {
	for name, list := range of.Lists().All {
		if memory, ok := m.memories[of.Title()+"/"+name]; ok {
			list.Restore(memory)
		}
	}
}

// memorize keeps the state of the lists of a view.
func (m *Model) memorize(of view.View) {
	for name, list := range of.Lists().All {
		m.memories[of.Title()+"/"+name] = list.Memory()
	}
}

// here is where the person is now.
func (m *Model) here() Place {
	for _, p := range m.panes {
		m.memorize(p)
	}
	for _, s := range m.screens {
		m.memorize(s)
	}
	return Place{
		Site: m.siteRecord().SiteID, Customer: m.siteRecord().CustomerID, Panes: m.arranged().String(), Asset: m.hand.AssetID, Finding: m.hand.FindingID, Order: m.hand.OrderID,
		Lists: maps.Clone(m.memories), Recent: slices.Clone(m.recent),
	}.Bounded()
}

// keepPlace writes the place down when it is another than the one kept.
func (m *Model) keepPlace() tea.Cmd {
	if !m.remembers() || m.store.Site == nil || len(m.writes) > 0 {
		return nil
	}
	here := m.here()
	if reflect.DeepEqual(here, m.keptPlace) {
		return nil
	}
	m.keptPlace = here
	places, owner := m.o.Places, m.owner
	return m.keep(func() error { return places.Keep(owner, here) }, true)
}

// forgetPlace drops the place that is kept: remembering was switched off.
func (m *Model) forgetPlace() tea.Cmd {
	if m.o.Places == nil || m.owner == "" {
		return nil
	}
	m.keptPlace = Place{}
	places, owner := m.o.Places, m.owner
	return m.keep(func() error { return places.Keep(owner, Place{}) }, true)
}

// takeUpHand takes in hand what was in hand on the site that is opened.
func (m *Model) takeUpHand(s api.Site) {
	if at := m.place.SiteRef(); at.SiteID == s.SiteID && (at.CustomerID == "" || at.CustomerID == s.CustomerID) && m.place.Asset != "" {
		m.hand = view.Selection{AssetID: m.place.Asset, FindingID: m.place.Finding, OrderID: m.place.Order}
	}
	m.place.Site = "" // this once
}

// checkHand lets go of a unit that the site does not have any more.
func (m *Model) checkHand() {
	known := func(a api.Asset) bool { return a.AssetID == m.hand.AssetID }
	if m.hand.AssetID != "" && len(m.store.Site.Assets.Data) > 0 && m.hand.OrderID == "" && m.hand.FindingID == "" && !slices.ContainsFunc(m.store.Site.Assets.Data, known) {
		m.hand = view.Selection{}
	}
}

// remember puts a choice of the palette in front of the recent ones.
func (m *Model) remember(id string) {
	recent := []string{id}
	for _, r := range m.recent {
		if r != id && len(recent) < maxRecent {
			recent = append(recent, r)
		}
	}
	m.recent = recent
}
