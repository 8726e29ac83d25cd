package plant

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
)

// The first row is selected, whichever site it is, until the user moves the selection, which
// then stays with its site.
func TestFleetSelectsTheWorstSite(t *testing.T) {
	v := stage.ScreenContext(t, false)
	expected := 100.0
	site := func(id string, kw float64) api.FleetSite {
		var f api.FleetSite
		f.CustomerID, f.SiteID = "c", id
		f.Summary.PowerState, f.Summary.TotalPowerKW, f.Summary.ExpectedPowerKW = api.PowerMeasured, kw, &expected
		return f
	}
	s := NewFleet()
	draw := func(a, b float64) string {
		v.Now = v.Now.Add(1)
		v.Admin.Fleet.Set([]api.FleetSite{site("a", a), site("b", b)}, v.Now)
		_ = stage.ScreenText(v, s, 118, 30)
		return s.List.Current()
	}
	for _, c := range []struct {
		move keymap.Action
		a, b float64
		want string
	}{
		{"", 0, 50, "c\ta"}, {"", 50, 0, "c\tb"}, {"", 0, 50, "c\ta"},
		{keymap.Down, 0, 50, "c\tb"}, {"", 50, 0, "c\tb"}, {"", 0, 50, "c\tb"},
	} {
		if c.move != "" {
			s.Do(c.move, v)
		}
		if got := draw(c.a, c.b); got != c.want {
			t.Errorf("with %g and %g kW of 100, after %q: %q is selected, want %q", c.a, c.b, c.move, got, c.want)
		}
	}
	other := NewFleet()
	if m := other.List.Memory(); m.Selected != "" {
		t.Errorf("remembers %q, which no user selected", m.Selected)
	}
	other.List.Restore(s.List.Memory())
	s = other
	if got := draw(0, 50); got != "c\tb" {
		t.Errorf("%q is selected, want the remembered row", got)
	}
}
