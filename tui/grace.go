package tui

import "time"

// What a person types while something opens unasked is not meant for it: keys
// are dropped until there was a moment of quiet, and no longer than a bound.
const (
	graceQuiet = 425 * time.Millisecond
	graceMost  = 1500 * time.Millisecond
)

// grace is the time after something opened unasked. The zero value drops
// nothing.
type grace struct{ opened, last time.Time }

// begin drops keys from now on.
func (g *grace) begin(now time.Time) { g.opened, g.last = now, now }

// drops says whether a key pressed now was meant for what was there before.
func (g *grace) drops(now time.Time) bool {
	if g.opened.IsZero() {
		return false
	}
	if now.Sub(g.last) >= graceQuiet || now.Sub(g.opened) >= graceMost {
		*g = grace{}
		return false
	}
	g.last = now
	return true
}
