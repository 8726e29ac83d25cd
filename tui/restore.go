package tui

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/view"
)

// Place is the position of a user in the console. It is stored, and restored at the
// next start.
type Place struct {
	Site     string                 `json:"site,omitempty"`
	Customer string                 `json:"customer,omitempty"` // of Site; empty in files of former versions
	Fleet    bool                   `json:"fleet,omitempty"`    // the fleet covers the site
	Panes    string                 `json:"panes,omitempty"`    // as a preset is written
	Asset    string                 `json:"asset,omitempty"`
	Finding  string                 `json:"finding,omitempty"`
	Order    string                 `json:"order,omitempty"`
	Lists    map[string]view.Memory `json:"lists,omitempty"` // by pane or screen, and list
	Recent   []string               `json:"recent,omitempty"`
}

// SiteRef names the site of the place.
func (p Place) SiteRef() api.SiteRef { return api.SiteRef{CustomerID: p.Customer, SiteID: p.Site} }

// Places stores the places of users by id. An unreadable place counts as missing;
// storing the zero Place deletes it.
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

// Bounded returns the place without texts that are too long and lists beyond the limit.
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

// places is the state that is restored at the next start.
type places struct {
	start  Place                  // to return to
	stored Place                  // written down last
	lists  map[string]view.Memory // by view and list
	recent []string               // choices of the palette, newest first
}

// remembers reports whether places are stored.
func (m *Model) remembers() bool {
	return m.o.Places != nil && m.session.owner != "" && m.prefs.value(settings.Remember) == settings.On
}

// returnToPlace restores the user's place, or applies the initial layout of the role.
func (m *Model) returnToPlace() {
	m.startPreset()
	m.places.start, m.places.lists = Place{}, map[string]view.Memory{}
	if !m.remembers() {
		return
	}
	m.places.start = m.o.Places.Place(m.session.owner).Bounded()
	m.places.stored = m.places.start
	maps.Copy(m.places.lists, m.places.start.Lists)
	m.places.recent = m.places.start.Recent
	if a, err := parseArrangement(m.places.start.Panes); err == nil && m.places.start.Panes != "" && m.prefs.value(settings.Preset) == presetAuto {
		m.put(a)
	}
	for _, p := range m.nav.panes {
		m.places.restoreLists(p)
	}
}

// showIntro shows the most important keys to a new user.
func (m *Model) showIntro() {
	if !m.o.Intro && (!m.remembers() || m.places.stored.Panes != "") {
		return
	}
	var words []string
	for _, k := range []struct {
		action keymap.Action
		words  string
	}{{keymap.Help, "keys"}, {keymap.Palette, "find anything"}, {keymap.NextStep, "next step"}, {keymap.Settings, "settings"}} {
		if e, ok := m.o.Keys.Entry(k.action); ok {
			words = append(words, e.Binding.Keys()[0]+" "+k.words)
		}
	}
	m.notify("New here: "+strings.Join(words, ", ")+".", themes.Accent)
	m.notes.notice.until, m.notes.notice.intro = m.o.Now().Add(guideFor), true
}

// guideFor is how long the introduction is shown, unless a key is pressed.
const guideFor = time.Minute

// restoreLists restores the lists of a view.
func (p *places) restoreLists(of view.View) {
	for name, list := range of.Lists().All {
		if memory, ok := p.lists[of.Title()+"/"+name]; ok {
			list.Restore(memory)
		}
	}
}

// saveLists keeps the state of the lists of a view.
func (p *places) saveLists(of view.View) {
	for name, list := range of.Lists().All {
		p.lists[of.Title()+"/"+name] = list.Memory()
	}
}

// here returns the present place of the user.
func (m *Model) here() Place {
	for _, p := range m.nav.panes {
		m.places.saveLists(p)
	}
	for _, s := range m.nav.screens {
		m.places.saveLists(s)
	}
	return Place{
		Fleet: len(m.nav.screens) > 0 && m.nav.screens[0].Scope() == keymap.FleetList, Site: m.data.siteRecord().SiteID, Customer: m.data.siteRecord().CustomerID, Panes: m.arranged().String(), Asset: m.nav.selection.AssetID, Finding: m.nav.selection.FindingID, Order: m.nav.selection.OrderID,
		Lists: maps.Clone(m.places.lists), Recent: slices.Clone(m.places.recent),
	}.Bounded()
}

// keepPlace stores the place if it has changed.
func (m *Model) keepPlace() tea.Cmd {
	if !m.remembers() || m.data.Site == nil || len(m.prefs.writes) > 0 {
		return nil
	}
	here := m.here()
	if reflect.DeepEqual(here, m.places.stored) {
		return nil
	}
	m.places.stored = here
	places, owner := m.o.Places, m.session.owner
	return m.keep(func() error { return places.Keep(owner, here) }, true)
}

// forgetPlace deletes the stored place after the setting was switched off.
func (m *Model) forgetPlace() tea.Cmd {
	if m.o.Places == nil || m.session.owner == "" {
		return nil
	}
	m.places.stored = Place{}
	places, owner := m.o.Places, m.session.owner
	return m.keep(func() error { return places.Keep(owner, Place{}) }, true)
}

// restoreSelection restores the selection on the site that is opened.
func (m *Model) restoreSelection(s api.Site) {
	if at := m.places.start.SiteRef(); at.SiteID == s.SiteID && (at.CustomerID == "" || at.CustomerID == s.CustomerID) && m.places.start.Asset != "" {
		m.nav.selection = view.Selection{AssetID: m.places.start.Asset, FindingID: m.places.start.Finding, OrderID: m.places.start.Order}
	}
	m.places.start.Site = "" // restored only once
}

// checkSelection deselects a unit that the site no longer has.
func (m *Model) checkSelection() {
	known := func(a api.Asset) bool { return a.AssetID == m.nav.selection.AssetID }
	if m.nav.selection.AssetID != "" && len(m.data.Site.Assets.Data) > 0 && m.nav.selection.OrderID == "" && m.nav.selection.FindingID == "" && !slices.ContainsFunc(m.data.Site.Assets.Data, known) {
		m.nav.selection = view.Selection{}
	}
}

// remember puts a choice of the palette in front of the recent ones.
func (p *places) remember(id string) {
	recent := []string{id}
	for _, r := range p.recent {
		if r != id && len(recent) < maxRecent {
			recent = append(recent, r)
		}
	}
	p.recent = recent
}
