package plant

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/view/widget"
)

// When the first data arrive, the worst site is selected, unless the user has
// chosen another row.
func TestFleetSelectsTheWorstSite(t *testing.T) {
	site := func(id, power string) api.FleetSite {
		var f api.FleetSite
		f.CustomerID, f.SiteID, f.Summary.PowerState = "c", id, power
		return f
	}
	unknown := []api.FleetSite{site("a", "unknown"), site("b", "unknown")}
	known := []api.FleetSite{site("b", api.PowerMeasured), site("a", "unknown")}
	for _, c := range []struct{ chosen, want string }{{"c\ta", ""}, {"c\tb", "c\tb"}} {
		f := &fleet{screen: &widget.TableView{}}
		f.selectWorst(nil)
		f.selectWorst(unknown)
		f.screen.List.Selected = c.chosen // by the first draw, or by the user
		f.selectWorst(unknown)
		f.selectWorst(known)
		if got := f.screen.List.Selected; got != c.want {
			t.Errorf("with %q selected: %q is selected, want %q", c.chosen, got, c.want)
		}
		f.screen.List.Selected = "c\ta"
		f.selectWorst(known)
		if got := f.screen.List.Selected; got != "c\ta" {
			t.Errorf("with present data the selection moved to %q", got)
		}
	}
}
