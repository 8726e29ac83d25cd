package tui

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// shelf keeps places in memory.
type shelf map[string]Place

func (s shelf) Place(user string) Place { return s[user] }

func (s shelf) Keep(user string, p Place) error {
	s[user] = p
	if p.Site == "" {
		delete(s, user)
	}
	return nil
}

// A person comes back to the site, the pane, the split, the unit, and to each
// list as it was sorted, filtered and arranged.
func TestPlaceIsRemembered(t *testing.T) {
	other := plant.New()
	other.SiteID = "Havelland"
	kept := shelf{}
	with := func(o *Options, _ *plant.Service) { o.Places = kept }
	d := start(t, 160, 45, with, plant.New(), other)
	d.press("S", "Havel", "enter", "2", "down", "down", "s", "s", "s", "/", "INV", "enter", "z")
	d.press("|", " ", "enter")
	d.press("g", "m", "s", "esc")
	d.press(":", "theme", "esc", ":", "setting split", "enter", "esc")
	d.pass(keepEvery + 1)
	place := kept["u1"]
	if place.Site != "Havelland" || place.Panes != "Orient 50x50 zoom" || place.Asset != "INV-05" || fmt.Sprint(place.Recent) != "[set split]" {
		t.Errorf("kept %+v", place)
	}
	again := start(t, 160, 45, with, plant.New(), other)
	if before, after := d.place(), again.place(); before != after || again.m.data.siteRecord().SiteID != "Havelland" {
		t.Errorf("back at %q on %s, left at %q", after, again.m.data.siteRecord().SiteID, before)
	}
	again.pass(keepEvery + 1)                   // as long as before
	_, before, _ := strings.Cut(d.text(), "\n") // the ages of the first line are others
	if _, after, _ := strings.Cut(again.text(), "\n"); before != after {
		t.Errorf("left at:\n%s\nback at:\n%s", before, after)
	}
	again.press("z", "g", "m")
	if l := again.m.list().(*widget.List); l.SortBy != 0 {
		t.Errorf("the models are sorted by %d", l.SortBy)
	}
	// Who left at the fleet comes back to it, with the site behind it.
	again.press("z", "esc", "g", "v")
	again.pass(keepEvery + 1)
	fleet := start(t, 160, 45, with, plant.New(), other)
	if !kept["u1"].Fleet || !strings.HasSuffix(fleet.place(), "[Fleet]") || fleet.m.data.siteRecord().SiteID != "Havelland" {
		t.Errorf("left at the fleet, back at %q of %s", fleet.place(), fleet.m.data.siteRecord().SiteID)
	}
	// Another user sees none of it, and a site on the command line takes precedence.
	bob := start(t, 160, 45, func(o *Options, s *plant.Service) { with(o, s); o.User = &api.User{UserID: "u2", Username: "bob"} }, plant.New(), other)
	if bob.place() != "Observe [Fleet]" || bob.m.data.siteRecord().SiteID != "Sibaya" {
		t.Errorf("bob is at %q", bob.place())
	}
	named := start(t, 160, 45, func(o *Options, s *plant.Service) { with(o, s); o.Site = api.SiteRef{SiteID: "Sibaya"} }, plant.New(), other)
	if named.m.data.siteRecord().SiteID != "Sibaya" || named.m.nav.selection.AssetID != "" {
		t.Errorf("--site opens %s with %q selected", named.m.data.siteRecord().SiteID, named.m.nav.selection.AssetID)
	}
}

// A new user is shown once the keys that lead to all others.
func TestGuide(t *testing.T) {
	kept := shelf{}
	with := func(o *Options, _ *plant.Service) {
		o.Places = kept
		o.Keys, _ = keymap.Default().Rebind(map[string][]string{"help": {"f2"}})
	}
	for _, size := range []int{80, 120} {
		d := start(t, size, 36, with)
		d.shows("New here: f2 keys, : find anything, n next step, g s settings.")
	}
	d := start(t, 120, 36, with)
	d.pass(keepEvery + 1)
	d.blind = true
	d.pass(60)
	d.blind = false
	d.hides("New here")
	start(t, 120, 36, with).hides("New here")
}

// What is not there any more is let go of, and nothing is kept once that is
// switched off.
func TestPlaceThatIsGone(t *testing.T) {
	kept := shelf{"u1": {Site: "Sibaya", Panes: "Nowhere 1x1", Asset: "INV-99", Lists: map[string]view.Memory{"Orient/findings": {Sort: "no such column", Filter: strings.Repeat("x", 300)}}}}
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Places = kept })
	if d.place() != "Observe" {
		t.Errorf("at %q", d.place())
	}
	d.press("2")
	d.shows("INV-03")
	d.choose("remember")
	d.press("enter")
	d.pass(2 * keepEvery)
	if len(kept) > 0 || d.set[settings.Remember] != "false" {
		t.Errorf("kept %v", kept)
	}
}

// Signing out keeps the position and leaves none of it visible; the next user
// starts fresh, the same one returns.
func TestPlaceOverSignOut(t *testing.T) {
	kept := shelf{}
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Places = kept })
	d.service.SignIn(func(name, _ string) (*api.LoginResponse, *api.Error) {
		id := map[string]string{"anna": "u1", "bob": "u2"}[name]
		return &api.LoginResponse{Success: true, Token: "new", User: &api.User{UserID: id, Username: name, RoleID: api.RoleOperator}}, nil
	}, nil)
	d.press("2", "/", "INV", "enter", "g", "o")
	if kept["u1"].Panes != "Orient 50x50" {
		t.Fatalf("kept %+v", kept)
	}
	d.press("bob", "tab", "x", "enter")
	if l := d.m.nav.panes[1].Lists().Active; d.place() != "Observe" || l.Filter() != "" {
		t.Errorf("bob finds %q and /%s", d.place(), l.Filter())
	}
	d.press("g", "o", "anna", "tab", "x", "enter")
	if l := d.m.list(); d.place() != "Orient" || l.Filter() != "INV" {
		t.Errorf("anna finds %q and /%s", d.place(), l.Filter())
	}
}

// The palette has everything that can be gone to, what was chosen lately first,
// and hides what a role never does until it is looked for.
func TestPalette(t *testing.T) {
	d := start(t, 120, 36, nil)
	for _, search := range []struct{ typed, shows string }{
		{"setting bell", "the bell rings from"}, {"layout plan", "Decide 62x40"}, {"order INV-07", "preventive"}, {"plan INV-07", "plan INV-07"},
		{"alarm INV-03", "alarm inverter outage INV-03"}, {"finding string", "finding string outage INV-05"}, {"unit INV-08", "unit INV-08"}, {"theme contrast", "theme contrast"}, {"site", "site Sibaya"},
	} {
		d.press(":", search.typed)
		d.shows(search.shows)
		d.press("esc")
	}
	d.press(":", "order INV-07", "enter")
	if d.m.nav.selection.OrderID == "" || d.m.nav.focus.String() != "Act" {
		t.Errorf("an order leads to %s", d.place())
	}
	d.press(":")
	if rows := strings.Split(d.text(), "Palette"); len(rows) < 2 || !strings.Contains(strings.Join(strings.Split(rows[1], "\n")[:4], ""), "order INV-07") {
		t.Errorf("the recent one is not first:\n%s", d.text())
	}
	reader := start(t, 120, 60, func(o *Options, _ *plant.Service) { o.User.RoleID = api.RoleAnalyst })
	reader.press(":")
	reader.hides("import a file", "make a work order", "your role only reads")
	reader.press("import")
	reader.shows("import a file", "your role only reads")
}

// A role that only reads has no change in any last line, of any pane or screen.
func TestReaderIsOfferedNoChange(t *testing.T) {
	for role, offered := range map[string]bool{api.RoleAnalyst: false, api.RoleOperator: true} {
		d := start(t, 200, 60, func(o *Options, _ *plant.Service) { o.User.RoleID = role })
		changes := 0
		for _, keys := range [][]string{{"1", "N"}, {"2"}, {"3"}, {"4"}, {"g", "w"}, {"g", "d"}, {"g", "m"}, {"g", "u"}} {
			d.press(keys...)
			for _, hint := range d.m.footer() {
				for _, e := range d.m.paletteActions() {
					if e.Needs&keymap.NeedsWrite != 0 && strings.Fields(e.Binding.Help().Key)[0] == hint[0] && e.Scope != keymap.Panes {
						changes++
						if !offered {
							t.Errorf("%v offers %v", keys, hint)
						}
					}
				}
			}
		}
		if offered && changes == 0 {
			t.Error("an operator is offered no change: the test looks at nothing")
		}
	}
}

// The keys of the screen that is seen are in the palette too.
func TestPaletteOfAScreen(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("g", "s", ":", "reset the selected", "enter")
	d.shows("Theme is auto.")
}

// Keys typed while the sign-in came over the screen are not its text: until a
// moment of quiet, and at most for a second and a half.
func TestKeysTypedAhead(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.service.Token("new")
	for range 5 {
		if d.m.session.signIn == nil {
			d.pass(1)
		}
	}
	typed := func(after time.Duration, key string) {
		d.now = d.now.Add(after)
		d.send(keyMessage(key))
	}
	for range 5 {
		typed(100*time.Millisecond, "j")
	}
	d.hides("jj")
	typed(guardQuiet, "a")
	typed(0, "b")
	d.shows("ab")
	d.m.dialogs.guard.begin(d.now)
	for range 10 { // who never stops is heard in the end
		typed(200*time.Millisecond, "k")
	}
	d.shows("abkkk")
	d.hides("kkkk")
	if d.service.Refuse(func(*http.Request) *api.Error { return nil }); d.quit {
		t.Error("it left")
	}
}
