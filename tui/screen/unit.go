package screen

import (
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Unit is the further screen of one unit.
type Unit struct {
	view.Base
	unit *pane.UnitView
}

// NewUnit looks at a unit closely.
func NewUnit(assetID string) *Unit { return &Unit{unit: pane.NewUnitView(assetID)} }

// Title names the unit.
func (u *Unit) Title() string { return "Unit " + u.unit.ID }

// Draw draws the unit.
func (u *Unit) Draw(r terminal.Region, v view.Context) { u.unit.Draw(r, v) }

// Do scrolls, or goes on to what is known to be wrong with the unit.
func (u *Unit) Do(a keymap.Action, v view.Context) view.Request {
	if a == keymap.Open {
		hand := v.Selection
		if hand.AssetID != u.unit.ID {
			hand = view.Selection{AssetID: u.unit.ID}
		}
		return view.Batch{view.Close{}, view.Select{Selection: hand, Focus: view.Orient}}
	}
	u.unit.Do(a)
	return nil
}

// Wheel scrolls.
func (u *Unit) Wheel(_, _, by int, v view.Context) view.Request {
	a := keymap.Up
	if by > 0 {
		a = keymap.Down
	}
	for range 3 {
		u.Do(a, v)
	}
	return nil
}

// Queries are the queries about the unit.
func (u *Unit) Queries(view.Context) []state.Need { return u.unit.Queries() }

// Export are the unit's records as they were measured.
func (u *Unit) Export(v view.Context) [][]string { return u.unit.Export(v) }
