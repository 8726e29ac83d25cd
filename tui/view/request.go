package view

import (
	"context"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
)

// Request is a view's request to the console in response to an event. The set is
// sealed: package tui carries out every kind in one switch. A nil Request does
// nothing.
type Request interface{ request() }

// Requests about what is on screen.
type (
	// Run performs an action as if its key had been pressed.
	Run struct{ Action keymap.Action }
	// Select selects a thing in all panes, and goes to a pane unless Focus is
	// empty.
	Select struct {
		Selection Selection
		Focus     string
	}
	// ChooseUnit asks for a unit, selects it and continues with Then. What says what for, in
	// the words of an action.
	ChooseUnit struct {
		What string
		Then Request
	}
	// ShowDay shows the day of the site that holds a time; the zero time is
	// today.
	ShowDay struct{ Day time.Time }
	// OpenSite shows another site.
	OpenSite struct{ Site api.SiteRef }
	// OpenDialog opens a dialog over the screen.
	OpenDialog struct{ Dialog Dialog }
	// OpenScreen opens a screen in place of the panes. Over keeps the screen
	// that is there, to return to.
	OpenScreen struct {
		Screen View
		Over   bool
	}
	// Close closes the view on top.
	Close struct{}
	// Notify shows words in the last line.
	Notify struct {
		Text string
		Role themes.Role
	}
	// Copy puts text on the terminal's clipboard.
	Copy struct{ Text string }
	// Save writes text into a new file.
	Save struct{ Title, Text string }
	// Remember puts a choice of the palette before the recent ones.
	Remember struct{ ID string }
	// Batch is carried out in its order.
	Batch []Request
)

// Names of the panes, for [Select] and [Result].
const (
	Observe = "Observe"
	Orient  = "Orient"
	Decide  = "Decide"
	Act     = "Act"
)

// Requests to the service.
type (
	// Call asks the service for a change.
	Call struct {
		// Do runs on its own goroutine: it holds copies of all that it needs.
		Do func(ctx context.Context, c *client.Client) (Result, error)
		// From waits for the answer; nil for none. It closes when the service
		// agrees, and stays with the service's words if not.
		From Caller
	}
	// Upload sends a file of this machine for import. The console adds what
	// Metadata leaves out.
	Upload struct {
		Path     string
		Metadata api.UploadRequest
		From     Uploader
		// Inspected, if not nil, has the service only read the file, and takes
		// what an import would do, with the request as it was completed. It is
		// called if the dialog is still open, as is Stored.
		Inspected func(request api.UploadRequest, is api.Inspection) Request
		// Stored takes the acknowledgement of an import; nil: none is needed.
		Stored func(ack api.UploadAck) Request
	}
	// SignIn sends a name and a password. Setup creates the first administrator,
	// with the setup token where the service requires one.
	SignIn struct {
		Username, Password string
		Setup              bool
		SetupToken         string
	}
	// VerifyCode answers a second-factor challenge.
	VerifyCode struct{ MFAToken, Code string }
	// AnswerCertificate accepts the certificate of the service that was asked about, or
	// leaves the console.
	AnswerCertificate struct{ Accept bool }
	// FinishSignIn ends the sign-in after the recovery codes were shown.
	FinishSignIn struct{}
)

// Requests about settings.
type (
	// Set gives a setting a value; an empty value restores its default. A fixed
	// theme is changed for this session only.
	Set struct{ Name, Value string }
	// Preview applies the value of a setting without storing it: a theme by its
	// name, or a layout of the panes.
	Preview struct{ Name, Value string }
	// BindKeys gives an action keys; none restore its own.
	BindKeys struct {
		Action keymap.Action
		Keys   []string
	}
	// SaveLayout stores a layout of the panes under a name; an empty value
	// deletes it.
	SaveLayout struct{ Name, Value string }
)

func (AnswerCertificate) request() {}
func (Run) request()               {}
func (Select) request()            {}
func (ShowDay) request()           {}
func (ChooseUnit) request()        {}
func (OpenSite) request()          {}
func (OpenDialog) request()        {}
func (OpenScreen) request()        {}
func (Close) request()             {}
func (Notify) request()            {}
func (Copy) request()              {}
func (Save) request()              {}
func (Remember) request()          {}
func (Batch) request()             {}
func (Call) request()              {}
func (Upload) request()            {}
func (SignIn) request()            {}
func (VerifyCode) request()        {}
func (FinishSignIn) request()      {}
func (Set) request()               {}
func (Preview) request()           {}
func (BindKeys) request()          {}
func (SaveLayout) request()        {}

// Caller is a dialog that waits for the answer to a [Call].
type Caller interface {
	Dialog
	// Answer takes the answer: nil if the service agreed. It reports whether
	// the dialog may close.
	Answer(err error) (done bool)
}

// Uploader is a dialog that waits for an [Upload]. The error that it is
// answered with is a sentence to be shown.
type Uploader interface {
	Caller
	// Sent takes how much of the file is sent, in bytes. It may be called on
	// any goroutine.
	Sent(sent, size int64)
}

// Result is what the console does after a successful [Call]; zero fields do nothing.
type Result struct {
	// Apply puts the answer into the state, until the service is asked again.
	Apply func(s *state.Site)
	// Refresh are the queries that are asked again at once.
	Refresh []state.Query
	// The following is done only for the user who made the call.
	Row       string                 // selected on the screen that is seen
	Selection *Selection             // selected in all panes
	Focus     string                 // the pane to go to
	Notice    func(v Context) Notify // shown in the last line
	Open      Dialog                 // opened even if From was closed
}

// Notice returns a [Result.Notice] that is known beforehand.
func Notice(text string) func(Context) Notify {
	return func(Context) Notify { return Notify{Text: text, Role: themes.Accent} }
}
