package notification

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// answer gives a view what the screen asks for.
func answer(v view.Context, s view.View) {
	p, store := plant.New(), state.Store{Site: v.Site}
	for range 2 { // what is asked for depends on the configuration
		for _, n := range s.Queries(v) {
			store.Want(n.Query, n.Of)
			switch n.Query {
			case state.QueryNotifyConfig:
				v.Site.Notify.Config.Set(p.Notifications(stage.Noon), stage.Noon)
			case state.QueryOnCall:
				v.Site.Notify.OnCall.Set(p.Shifts(stage.Noon, stage.Noon, stage.Noon.AddDate(0, 0, 28)), stage.Noon)
			case state.QueryShifts:
				v.Site.Notify.Shifts.Set(p.Shifts(stage.Noon, stage.Noon.AddDate(0, -2, 0), stage.Noon.AddDate(0, 2, 0)), stage.Noon)
			case state.QueryNotifyDeliveries:
				v.Site.Notify.Deliveries.Set(p.Notified(stage.Noon), stage.Noon)
			case state.QueryExplanation:
				list, decisions := p.Explained(stage.Noon)
				v.Site.Notify.Explanation.Set(state.Explanation{Deliveries: list, Decisions: decisions}, stage.Noon)
			case state.QuerySimulation:
				list, decisions := p.Simulated(stage.Noon)
				v.Site.Notify.Simulation.Set(state.Explanation{Deliveries: list, Decisions: decisions}, stage.Noon)
			}
		}
	}
}

// turn turns a screen to a tab.
func turn(v view.Context, b *widget.TabView, name string) {
	for b.Current().Name != name {
		b.Do(keymap.Right, v)
	}
}

// scenes are the screens as they are drawn in the golden files.
func scenes(v view.Context) map[string]view.View {
	all := map[string]view.View{
		"explain":  NewExplanation("acme", "alt_dead", "anna"),
		"simulate": NewSimulation("acme", state.NotifyQuestion{Owner: "acme", SiteID: "Sibaya", Customer: "acme", Family: "inverter_outage", Priority: api.AlertMajor}),
	}
	for _, name := range []string{tabRoutes, tabRotations, tabDeliveries, tabChannels, tabPeople} {
		b := NewScreen()
		turn(v, b, name)
		all[name] = b
	}
	month := NewScreen()
	turn(v, month, tabRotations)
	answer(v, month)
	picture.Text(draw(v, month, 78, 20)) // a row is selected
	month.Do(keymap.NotifySpan, v)
	all["month"] = month
	return all
}

func draw(v view.Context, s view.View, w, h int) *terminal.Grid {
	g := terminal.NewGrid(w, h)
	v.Focused = true
	g.All().Clear(v.Palette.Style(themes.Panel))
	s.Draw(g.All(), v)
	return g
}

// dialogs are the forms as they are drawn in the golden files.
func dialogs(v view.Context) map[string]view.Dialog {
	c := plant.New().Notifications(stage.Noon)
	sent := plant.New().Notified(stage.Noon)[2]
	return map[string]view.Dialog{
		"route-add": NewRouteForm("acme", c, ""), "route-change": NewRouteForm("acme", c, "large"), "rotation-change": NewRotationForm("acme", c, "solar"),
		"channel-add": NewChannelForm("acme", c, ""), "person-change": NewPersonForm("acme", c, "anna"), "override": NewOverrideForm(v, "acme", c, c.Rotations[0], false),
		"absence": NewOverrideForm(v, "acme", c, c.Rotations[0], true), "clear": NewClearForm("acme", c, c.Rotations[0]), "remove": NewRemove(api.NotificationRouteKind, "acme", c, "all"),
		"who": NewWhoForm(v, "acme", state.NotifyQuestion{}), "explain-form": NewExplainForm(v, "acme", c, &sent),
		"test-results": NewTestResults("anna", []api.NotificationResult{{ChannelID: "mail", Kind: "email", Address: "anna@example.com", Delivered: true, Detail: "accepted by the mail server"},
			{ChannelID: "push", Kind: "ntfy", Permanent: true, Failure: "send by ntfy: HTTP 403: check the credentials of the channel"}}),
	}
}

// Each tab, screen and form at the sizes of the console.
func TestGolden(t *testing.T) {
	for _, size := range stage.Sizes {
		v := stage.ScreenContext(t, false)
		for name, s := range scenes(v) {
			answer(v, s)
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.W, size.H), picture.Text(draw(v, s, size.W-2, size.H-4)))
		}
		for name, d := range dialogs(v) {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.W, size.H), stage.DialogText(v, d, size.W, size.H))
		}
	}
}

// With ASCII nothing else is drawn, without colours nothing has one, and no size breaks.
func TestPlainTerminals(t *testing.T) {
	for _, size := range append(stage.Sizes, struct{ W, H int }{60, 20}, struct{ W, H int }{20, 6}) {
		v := stage.ScreenContext(t, true)
		v.Palette = stage.PaletteOf(t, themes.ControlRoom, themes.NoColor)
		check := func(name string, g *terminal.Grid) {
			t.Helper()
			if i := strings.IndexFunc(picture.Text(g), func(r rune) bool { return r > 0x7e }); i >= 0 {
				t.Errorf("%s at %d×%d: not ASCII: %.40q", name, size.W, size.H, picture.Text(g)[i:])
			}
			w, h := g.Size()
			for n := range w * h {
				if c := g.Cell(n%w, n/w); c.Style.FG != themes.Default && c.Style.FG != themes.Unset || c.Style.BG != themes.Default && c.Style.BG != themes.Unset {
					t.Fatalf("%s at %d×%d: cell %d,%d has a colour", name, size.W, size.H, n%w, n/w)
				}
			}
		}
		for name, s := range scenes(v) {
			answer(v, s)
			check(name, draw(v, s, size.W-2, size.H-4))
		}
		for name, d := range dialogs(v) {
			g := terminal.NewGrid(size.W, size.H)
			g.All().Clear(v.Palette.Style(themes.Background))
			view.DrawDialog(d, g.All(), v)
			check(name, g)
		}
	}
}

// The faces of each tab and screen: loading, failed, stale with its age, and empty.
func TestFaces(t *testing.T) {
	refused := errors.New("ask: dial: connection refused")
	bad := func(s *state.Site) {
		for _, set := range []func(error, time.Time, time.Time){s.Notify.Config.SetError, s.Notify.OnCall.SetError, s.Notify.Shifts.SetError, s.Notify.Deliveries.SetError, s.Notify.Explanation.SetError, s.Notify.Simulation.SetError} {
			set(refused, stage.Noon, stage.Noon.Add(20*time.Second))
		}
	}
	for _, tt := range []struct {
		name    string
		prepare func(s *state.Site)
		want    string
	}{
		{"loading", func(s *state.Site) { s.Notify = state.Notify{} }, "Asking the service …"},
		{"failed", func(s *state.Site) { s.Notify = state.Notify{}; bad(s) }, "Next try in 20 s; r asks now."},
		{"stale", bad, "These are now old: "},
		{"empty", func(s *state.Site) {
			s.Notify.Config.Set(api.NotificationConfig{}, stage.Noon)
			s.Notify.Deliveries.Set(nil, stage.Noon)
			s.Notify.Explanation.Set(state.Explanation{}, stage.Noon)
			s.Notify.Simulation.Set(state.Explanation{}, stage.Noon)
		}, "No"},
	} {
		v := stage.ScreenContext(t, false)
		for name, s := range scenes(v) {
			answer(v, s)
			tt.prepare(v.Site)
			if text := picture.Text(draw(v, s, 78, 20)); !strings.Contains(text, tt.want) {
				t.Errorf("%s, %s: %q is not there:\n%s", name, tt.name, tt.want, text)
			}
			v = stage.ScreenContext(t, false)
		}
	}
}

// Another owner, status or period is another question, whose answer is awaited.
func TestQuestions(t *testing.T) {
	v := stage.ScreenContext(t, false)
	b := NewScreen()
	for _, tt := range []struct {
		tab string
		key keymap.Action
	}{{tabRoutes, keymap.NotifyOwner}, {tabDeliveries, keymap.NotifyStatus}, {tabRotations, keymap.NotifyLater}, {tabRotations, keymap.NotifySpan}, {tabRotations, keymap.NotifyEarlier}} {
		turn(v, b, tt.tab)
		answer(v, b)
		draw(v, b, 78, 20)
		answer(v, b)
		if text := picture.Text(draw(v, b, 78, 20)); strings.Contains(text, "Asking") {
			t.Fatalf("%s: still asking:\n%s", tt.tab, text)
		}
		b.Do(tt.key, v)
		if text := picture.Text(draw(v, b, 78, 20)); !strings.Contains(text, "Asking") {
			t.Errorf("%s after %s: an answer to another question is shown:\n%s", tt.tab, tt.key, text)
		}
	}
}

// Keys are available where they do something, with a reason elsewhere.
func TestReasons(t *testing.T) {
	v := stage.ScreenContext(t, false)
	v.User = &api.User{CustomerIDs: []string{"acme"}}
	b := NewScreen()
	for _, tt := range []struct {
		tab, selected string
		key           keymap.Action
		why           string
	}{
		{tabRoutes, "all", keymap.NotifyTest, "select a channel or a person first"}, {tabChannels, "mail", keymap.NotifyTest, ""}, {tabPeople, "anna", keymap.NotifyTest, ""},
		{tabRoutes, "all", keymap.NotifySpan, "only rotations have a calendar"}, {tabRotations, "solar", keymap.NotifyOverride, ""}, {tabRotations, "solar", keymap.NotifyClear, ""},
		{tabDeliveries, "ntd_1", keymap.NotifyRetry, "select a dead delivery first"}, {tabDeliveries, "ntd_2", keymap.NotifyRetry, ""}, {tabDeliveries, "ntd_1", keymap.NotifyAdd, "deliveries are not edited"},
		{tabRoutes, "all", keymap.NotifyOwner, "your account does not cover all customers"}, {tabRoutes, "all", keymap.NotifyEdit, ""},
	} {
		turn(v, b, tt.tab)
		answer(v, b)
		b.SelectRow(tt.selected)
		draw(v, b, 78, 20)
		if why := b.Disabled(tt.key, v); why != tt.why {
			t.Errorf("%s of %s %s: %q, want %q", tt.key, tt.tab, tt.selected, why, tt.why)
		}
		if do := b.Do(tt.key, v); tt.why != "" && do != nil {
			t.Errorf("%s of %s %s does %#v", tt.key, tt.tab, tt.selected, do)
		}
	}
	turn(v, b, tabDeliveries)
	answer(v, b)
	b.SelectRow("ntd_1")
	draw(v, b, 78, 20)
	if open, ok := b.Do(keymap.Open, v).(view.OpenScreen); !ok || open.Screen.Title() != "Explain an alarm" {
		t.Errorf("enter on a delivery does not explain its alarm")
	}
}
