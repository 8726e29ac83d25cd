package screen

import (
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Unit is the further screen of one unit.
type Unit struct{ view *pane.UnitView }

// NewUnit looks at a unit closely.
func NewUnit(assetID string) *Unit { return &Unit{view: pane.NewUnitView(assetID)} }

// Title names the unit.
func (u *Unit) Title() string { return "Unit " + u.view.ID }

// Scope is empty: the screen has no keys of its own.
func (u *Unit) Scope() keymap.Scope { return "" }

// Why is empty: there is no action of the screen's own.
func (u *Unit) Why(keymap.Action, pane.View) string { return "" }

// Draw draws the unit.
func (u *Unit) Draw(r terminal.Region, v pane.View) { u.view.Draw(r, v) }

// Do scrolls, or goes on to what is known to be wrong with the unit.
func (u *Unit) Do(a keymap.Action, v pane.View) Result {
	if a == keymap.Open {
		hand := v.Hand
		if hand.AssetID != u.view.ID {
			hand = pane.Hand{AssetID: u.view.ID}
		}
		return Result{Close: true, Do: TakeInHand{Hand: hand, Focus: "Orient"}}
	}
	u.view.Do(a)
	return Result{}
}

// Click does nothing: there is nothing to choose.
func (u *Unit) Click(int, int, pane.View) Result { return Result{} }

// Wheel scrolls.
func (u *Unit) Wheel(_, _, by int, v pane.View) Result {
	a := keymap.Up
	if by > 0 {
		a = keymap.Down
	}
	for range 3 {
		u.Do(a, v)
	}
	return Result{}
}

// Needs are the queries about the unit.
func (u *Unit) Needs(pane.View) []state.Need { return u.view.Needs() }

// Export are the unit's records as they were measured.
func (u *Unit) Export(v pane.View) [][]string { return u.view.Export(v) }
