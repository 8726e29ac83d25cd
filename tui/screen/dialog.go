// Package screen holds what stands over or in place of the panes: sign-in, the
// palette, help, the choosers, forms, and the further screens. A dialog or a
// screen draws itself and answers keys with a [Result]; what a result asks for
// is done by the console's root.
package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/terminal"
)

// Dialog is drawn over the panes and has the keys while it is there.
type Dialog interface {
	Title() string
	// Size is how large the dialog's inside would like to be on a screen of
	// the given size; it may get less.
	Size(screenWidth, screenHeight int) (w, h int)
	Draw(r terminal.Region, v pane.View)
	Key(k tea.KeyMsg, keys keymap.Map) Result
}

// Result is what a key led to.
type Result struct {
	Close bool
	Do    any // one of the request types of this package, or nil
}

// Requests that dialogs make of the console.
type (
	// RunAction does what the action's key would do.
	RunAction struct{ Action keymap.Action }
	// ShowTheme draws with a theme; Keep makes it the choice.
	ShowTheme struct {
		Name string
		Keep bool
	}
	// OpenSite puts a site on screen.
	OpenSite struct{ Site api.SiteRef }
	// TakeInHand turns all panes to a thing, and goes on in the pane of a name
	// unless that is empty.
	TakeInHand struct {
		Hand  pane.Hand
		Focus string
	}
	// StartUpload imports a file.
	StartUpload struct {
		Path, SiteID, CustomerID, Timezone, Location, Manufacturer, AssetID string
		CapacityKW                                                          float64
	}
	// SignIn tries a name and password; Setup makes the first administrator.
	SignIn struct {
		Username, Password string
		Setup              bool
		Token              string // of Setup; may be empty
	}
	// Verify answers a second-factor challenge.
	Verify struct{ MFAToken, Code string }
	// SignedIn ends the sign-in, after the recovery codes were seen.
	SignedIn struct{}
	// CopyText puts text on the terminal's clipboard.
	CopyText struct{ Text string }
	// SaveText writes text into a file of its own.
	SaveText struct{ What, Text string }
	// OpenDialog puts a dialog over the screen.
	OpenDialog struct{ Dialog Dialog }
	// Opening puts a form over the screen, and asks for its defaults.
	Opening struct {
		Dialog   Dialog
		Defaults Send
	}
	// OpenScreen puts a further screen in the place of the panes; Over keeps the
	// one that is there, for esc to come back to.
	OpenScreen struct {
		Screen Screen
		Over   bool
	}
)

// frame draws a dialog's frame over r and returns its inside.
func frame(r terminal.Region, v pane.View, title string) terminal.Region {
	ground := v.Palette.Style(themes.Panel)
	r.Clear(ground)
	inside := r.Box(terminal.LinesFor(v.ASCII), v.Palette.Style(themes.BorderFocus))
	if w, _ := r.Size(); w > 4 && title != "" {
		r.PutIn(2, 0, w-4, " "+title+" ", v.Palette.Style(themes.Title), v.ASCII)
	}
	w, h := inside.Size()
	return inside.Region(terminal.Rect{X: 1, W: max(w-2, 0), H: h})
}

// Draw draws a dialog in the middle of the screen.
func Draw(d Dialog, whole terminal.Region, v pane.View) {
	sw, sh := whole.Size()
	w, h := d.Size(sw, sh)
	w, h = min(w+4, sw), min(h+2, sh)
	area := terminal.Rect{X: (sw - w) / 2, Y: (sh - h) / 2, W: w, H: h}
	v.Focused = true
	d.Draw(frame(whole.Region(area), v, d.Title()), v)
}
