// Package app has the views of the console itself: sign-in, help and settings.
package app

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/boombuler/barcode/qr"
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// step is the step of a sign-in.
type step uint8

const (
	askPassword step = iota
	askFirstAdmin
	askCode
	askEnrolment
	showCodes
)

// SignIn asks for name, password and second factor, and starts a session. It can only
// be left by signing in or by quitting the console.
type SignIn struct {
	view.Base
	source string // what is signed in to
	reason string // why it is shown again
	hint   string // what else the person may need; may be empty
	token  bool   // the first administrator needs the setup token
	step   step
	form   widget.Form
	busy   bool
	wrong  string

	challenge api.LoginResponse
	qr        [][]string // the code to scan, with more and with less light around it
	codes     []string
}

// NewSetup asks for the first administrator, and for the setup token where the
// service requires it.
func NewSetup(source string, needsToken bool) *SignIn {
	d := NewSignIn(source, "")
	d.step, d.token = askFirstAdmin, needsToken
	d.form.Fields = append(d.form.Fields, widget.NewSecret("Password again"))
	if needsToken {
		d.form.Fields = append(d.form.Fields, widget.NewField("Setup token", "", ""))
	}
	return d
}

// NewSignIn asks for name and password.
func NewSignIn(source, reason string) *SignIn {
	d := &SignIn{source: source, reason: reason}
	d.form.Fields = []widget.Field{widget.NewField("User", "", ""), widget.NewSecret("Password")}
	return d
}

// Hint adds a sentence below the reason of the sign-in.
func (d *SignIn) Hint(words string) *SignIn {
	d.hint = words
	return d
}

// HasSecret reports that it asks for a password or a code, or shows them.
func (*SignIn) HasSecret() bool { return true }

// Title says what is asked.
func (d *SignIn) Title() string {
	switch d.step {
	case askFirstAdmin:
		return "Create the first administrator"
	case askCode:
		return "Second factor"
	case askEnrolment:
		return "Set up the second factor"
	case showCodes:
		return "Recovery codes"
	}
	return "Sign in"
}

// Size fits a form, or the code to scan with words next to or below it.
func (d *SignIn) Size(w, h int) (int, int) {
	switch {
	case d.step == askEnrolment:
		qr, beside := d.code(w-4, h-2)
		switch {
		case qr == nil:
			return min(56, w-4), min(14, h-2)
		case beside:
			return min(qrWidth(qr)+2+44, w-4), min(max(len(qr), 14), h-2)
		}
		return min(max(qrWidth(qr), 56), w-4), len(qr) + wordsBelow
	case d.step == showCodes:
		return 56, 8 + (len(d.codes)+1)/2
	}
	hint := 0
	if d.hint != "" {
		hint = 2
	}
	return 56, 8 + len(d.form.Fields) + hint
}

// The space that the words need next to or below the code to scan.
const (
	wordsBeside = 30
	wordsBelow  = 9
)

// code returns the code to scan that fits a dialog of that size inside, nil
// without one, and whether the words are next to it.
func (d *SignIn) code(w, h int) (lines []string, beside bool) {
	for _, qr := range d.qr {
		switch n := qrWidth(qr); {
		case n == 0:
		case len(qr) <= h && n+2+wordsBeside <= w:
			return qr, true
		case len(qr)+wordsBelow <= h && n <= w:
			return qr, false
		}
	}
	return nil, false
}

// Draw draws the step.
func (d *SignIn) Draw(r terminal.Region, v view.Context) {
	switch d.step {
	case askEnrolment:
		d.drawEnrolment(r, v)
	case showCodes:
		d.drawCodes(r, v)
	default:
		y := v.Paragraph(r, 0, 0, d.lead(), themes.Dim)
		if d.hint != "" && d.step == askPassword {
			y = v.Paragraph(r, 0, y, d.hint, themes.Dim)
		}
		y = d.form.DrawFields(r, y+1, v)
		d.drawOutcome(r, y+1, v)
	}
}

func (d *SignIn) lead() string {
	switch {
	case d.step == askFirstAdmin && d.token:
		return "This service has no users yet. Choose a name and a password of at least 8 characters. The setup token is in the file setup-token of the service's data folder, and in its log."
	case d.step == askFirstAdmin:
		return "This data folder has no users yet. Choose a name and a password of at least 8 characters. Add further users with sunloop admin user add."
	case d.step == askCode:
		return "Enter the six digits that your authenticator shows, or a recovery code."
	case d.reason != "":
		return d.reason + " Sign in again to continue."
	}
	return "Sunloop on " + d.source + "."
}

// drawOutcome draws the error or the progress, and the keys.
func (d *SignIn) drawOutcome(r terminal.Region, y int, v view.Context) {
	switch {
	case d.busy:
		y = v.Paragraph(r, 0, y, "Asking the service …", themes.Dim)
	case d.wrong != "":
		y = v.Paragraph(r, 0, y, d.wrong, themes.Warning)
	}
	_, h := r.Size()
	keys := []string{"enter", "continue"}
	if len(d.form.Fields) > 1 {
		keys = append(keys, "tab", "next field")
	}
	if d.step == askCode || d.step == askEnrolment {
		keys = append(keys, "esc", "start over")
	}
	widget.KeyLine(r, max(y, h-1), v, append(keys, "ctrl+c", "leave")...)
}

func (d *SignIn) drawEnrolment(r terminal.Region, v view.Context) {
	w, h := r.Size()
	qr, beside := d.code(w, h)
	words, y, lead := r, 0, "Scan the code with an authenticator, or type this secret into it:"
	switch {
	case qr == nil:
		lead = "The window is too small for the code to scan. Enlarge it, or type this secret into an authenticator:"
	case beside:
		words = r.Region(terminal.Rect{X: qrWidth(qr) + 2, W: w - qrWidth(qr) - 2, H: h})
	default:
		y, lead = len(qr), "Or type this secret:"
	}
	for i, line := range qr {
		r.Put(0, i, line, ink(v.Palette))
	}
	y = v.Paragraph(words, 0, y, lead, themes.Dim)
	y = v.Paragraph(words, 0, y, grouped(secretOf(d.challenge.ProvisioningURI)), themes.Text) + 1
	y = v.Paragraph(words, 0, y, "Then enter the six digits that it shows:", themes.Dim)
	y = d.form.DrawFields(words, y, v)
	d.drawOutcome(words, y+1, v)
}

func (d *SignIn) drawCodes(r terminal.Region, v view.Context) {
	y := v.Paragraph(r, 0, 0, "Each of these signs you in once without the authenticator. They are shown only now: write them down.", themes.Text) + 1
	for i, c := range d.codes {
		r.Put(2+i%2*26, y+i/2, c, v.Palette.Style(themes.Accent))
	}
	widget.KeyLine(r, y+(len(d.codes)+1)/2+1, v, "enter", "I have written them down", "y", "copy")
}

// Key edits, or sends the step.
func (d *SignIn) Key(k tea.KeyMsg, v view.Context) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	if d.busy {
		return nil
	}
	switch {
	case d.step == showCodes:
		if action == keymap.Accept {
			return view.FinishSignIn{}
		}
		if k.String() == "y" {
			return view.Copy{Text: strings.Join(d.codes, "\n")}
		}
	case action == keymap.Accept:
		return d.accept()
	case action == keymap.Dismiss:
		if d.step == askCode || d.step == askEnrolment {
			*d = *NewSignIn(d.source, d.reason).Hint(d.hint)
		}
	case d.form.Edit(action, k):
		d.wrong = ""
	}
	return nil
}

// accept goes to the next empty field, or sends.
func (d *SignIn) accept() view.Request {
	for i := range d.form.Fields {
		if d.form.Fields[i].Value() == "" {
			d.form.At = i
			return nil
		}
	}
	f := d.form.Fields
	if d.step == askFirstAdmin && f[1].Value() != f[2].Value() {
		d.wrong = "The two passwords differ."
		f[1].Set("")
		f[2].Set("")
		d.form.At = 1
		return nil
	}
	d.busy, d.wrong = true, ""
	if d.step == askCode || d.step == askEnrolment {
		code := strings.ReplaceAll(f[0].Value(), " ", "")
		return view.VerifyCode{MFAToken: d.challenge.MFAToken, Code: code}
	}
	do := view.SignIn{Username: f[0].Value(), Password: f[1].Value(), Setup: d.step == askFirstAdmin}
	if d.step == askFirstAdmin && d.token {
		do.SetupToken = f[3].Value()
	}
	return do
}

// Answer processes the service's response; done is true if a session has started.
func (d *SignIn) Answer(r *api.LoginResponse, err error) (done bool) {
	d.busy = false
	if err != nil {
		d.fail(err)
		return false
	}
	switch {
	case r.Token != "" && len(r.RecoveryCodes) > 0:
		d.step, d.codes = showCodes, nil
		for _, c := range r.RecoveryCodes {
			d.codes = append(d.codes, terminal.Printable(c))
		}
	case r.Token != "":
		return true
	case r.MFAEnrollment:
		d.step, d.challenge, d.qr = askEnrolment, *r, [][]string{qrLines(r.ProvisioningURI, 2), qrLines(r.ProvisioningURI, 1)}
		d.form = widget.Form{Fields: []widget.Field{widget.NewField("Code", "six digits", "")}}
	case r.MFARequired:
		d.step, d.challenge = askCode, *r
		d.form = widget.Form{Fields: []widget.Field{widget.NewField("Code", "six digits", "")}}
	}
	return false
}

// fail shows a refusal in the service's words, and starts over where the step
// cannot be tried again.
func (d *SignIn) fail(err error) {
	words := state.Sentence(err)
	var refusal *api.Error
	switch refused := errors.As(err, &refusal); {
	case errors.Is(err, api.ErrMFATokenExpired):
		*d = *NewSignIn(d.source, d.reason).Hint(d.hint)
		words += " Sign in again."
	case errors.Is(err, api.ErrInvalidTOTP):
		words += " A code is valid for half a minute and accepted once: enter the next one."
	case refused && d.step == askFirstAdmin && refusal.Status == http.StatusForbidden && refusal.Details["reason"] == nil:
		words += " The first administrator is created on the machine of the service."
	case refused && d.step == askFirstAdmin && refusal.Status == http.StatusConflict: // another administrator was created first
		*d = *NewSignIn(d.source, d.reason).Hint(d.hint)
	}
	d.wrong = words
	for i := len(d.form.Fields) - 1; i >= 0; i-- {
		f := &d.form.Fields[i]
		if f.Secret || d.step == askCode || d.step == askEnrolment {
			f.Set("")
		}
		if f.Value() == "" {
			d.form.At = i
		}
	}
}

// qrLines draws text as a QR code in half blocks, two modules a row: a light
// module is a space of the light background, quiet how many of them stand
// around the code. The standard requires four; two scan on every phone tried
// and keep the code within 80×24, and one is better than no code. Nil when the
// text is too long.
func qrLines(text string, quiet int) []string {
	code, err := qr.Encode(text, qr.L, qr.Auto)
	if err != nil {
		return nil
	}
	n := code.Bounds().Dx()
	dark := func(x, y int) bool {
		x, y = x-quiet, y-quiet
		if x < 0 || y < 0 || x >= n || y >= n {
			return false
		}
		r, _, _, _ := code.At(x, y).RGBA()
		return r == 0
	}
	var lines []string
	for y := 0; y < n+2*quiet; y += 2 {
		var b strings.Builder
		for x := range n + 2*quiet {
			switch up, down := dark(x, y), dark(x, y+1); {
			case up && down:
				b.WriteRune('█')
			case up:
				b.WriteRune('▀')
			case down:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

func qrWidth(lines []string) int {
	if len(lines) == 0 {
		return 0
	}
	return terminal.Width(lines[0])
}

// secretOf returns the secret of a provisioning URI.
func secretOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return terminal.Printable(u.Query().Get("secret"))
}

// grouped writes a secret in groups of four.
func grouped(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// ink is black on white in all themes: scanners need it.
func ink(p *terminal.Palette) terminal.Style {
	switch p.Profile {
	case themes.TrueColor:
		return terminal.Style{FG: themes.RGB(0, 0, 0), BG: themes.RGB(255, 255, 255)}
	case themes.Colors256:
		return terminal.Style{FG: themes.Indexed(16), BG: themes.Indexed(231)}
	case themes.Colors16:
		return terminal.Style{FG: themes.Indexed(0), BG: themes.Indexed(15)}
	}
	if p.Dark { // light text on dark: reverse it
		return terminal.Style{Attr: themes.Reverse}
	}
	return terminal.Style{}
}
