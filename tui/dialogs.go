package tui

import (
	"slices"
	"time"

	"app.sunloop/tui/view"
)

// dialogs are the dialogs over the screen, the last one on top.
type dialogs struct {
	stack []view.Dialog
	guard inputGuard
}

// top returns the dialog that has the keys, nil without one.
func (d *dialogs) top() view.Dialog {
	if n := len(d.stack); n > 0 {
		return d.stack[n-1]
	}
	return nil
}

// push opens a dialog.
func (d *dialogs) push(v view.Dialog) { d.stack = append(d.stack, v) }

// pop closes the dialog on top and drops its content, such as a secret.
func (d *dialogs) pop() {
	n := len(d.stack) - 1
	d.stack[n] = nil
	d.stack = d.stack[:n]
}

// deliver passes the response to the dialog that waits for it, and closes the dialog
// if it is done. It reports whether the dialog was still on screen.
func (d *dialogs) deliver(from view.Caller, err error) (open bool) {
	if from == nil {
		return false
	}
	at := slices.IndexFunc(d.stack, func(v view.Dialog) bool { return v == view.Dialog(from) })
	if from.Answer(err) && at >= 0 {
		d.stack[at] = nil
		d.stack = slices.Delete(d.stack, at, at+1)
	}
	return at >= 0
}

// Keys that are typed while a view opens without a request of the user are not meant
// for that view: they are dropped until a short pause, at most for a bound.
const (
	guardQuiet = 425 * time.Millisecond
	guardMost  = 1500 * time.Millisecond
)

// inputGuard drops keys after a view has opened without a request of the user. The
// zero value drops none.
type inputGuard struct{ opened, last time.Time }

// begin drops keys from now on.
func (g *inputGuard) begin(now time.Time) { g.opened, g.last = now, now }

// drops reports whether a key that is pressed now is dropped.
func (g *inputGuard) drops(now time.Time) bool {
	if g.opened.IsZero() {
		return false
	}
	if now.Sub(g.last) >= guardQuiet || now.Sub(g.opened) >= guardMost {
		*g = inputGuard{}
		return false
	}
	g.last = now
	return true
}
