package screen

import (
	"context"

	"app.sunloop/backend/client"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Screen is a further screen: it stands in the place of the panes, below the
// status line and the vital signs.
type Screen interface {
	Title() string
	// Scope is that of the screen's own keys, empty for none.
	Scope() keymap.Scope
	// Why is why an action of the screen's own is not possible, empty if it is.
	Why(a keymap.Action, v pane.View) string
	Draw(r terminal.Region, v pane.View)
	// Do answers an action of lists or of the screen's own scope.
	Do(a keymap.Action, v pane.View) Result
	// Click and Wheel answer the mouse at a place of the region last drawn;
	// the wheel turns down if by is above zero.
	Click(x, y int, v pane.View) Result
	Wheel(x, y, by int, v pane.View) Result
	// Needs are the queries behind the screen.
	Needs(v pane.View) []state.Need
	// Export is what the screen shows, as rows of CSV with a header.
	Export(v pane.View) [][]string
}

// Send asks the service for a change, and does what comes of it.
type Send struct {
	// Do runs on a goroutine of its own: it holds copies of all that it needs.
	Do func(ctx context.Context, c *client.Client) (Done, error)
	// From is what waits for the answer; nil for none. It closes when the
	// service has agreed, and stays with its words when it refused.
	From Waiting
}

// Waiting is a dialog that waits for the service.
type Waiting interface {
	Dialog
	// Answer takes the answer to what was sent: nil when the service agreed.
	// done says that the dialog may go.
	Answer(err error) (done bool)
}

// Done is what the console does when the service has agreed; what is empty is
// not done.
type Done struct {
	Say    func(v pane.View) string // in the last line
	Hand   *pane.Hand               // take this in hand
	Focus  string                   // go on in the pane of that name
	Select string                   // the row of the screen that is seen
	Forget []state.Query            // to be asked anew at once
	Know   func(s *state.Site)      // takes in what the answer told, until the service is asked anew
	// Open is a dialog that shows what came of it. It is opened also when From
	// was left, but to nobody than the person who asked.
	Open Dialog
}

// Words are what a [Done] says.
func Words(text string) func(pane.View) string { return func(pane.View) string { return text } }
