package app

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Certificate asks whether the certificate of a service that no authority has signed
// is accepted. One that differs from the accepted one cannot be accepted here: the
// dialog says what has changed and what can be done.
type Certificate struct {
	view.Base
	of     client.CertificateError
	file   string // that keeps the accepted certificates
	accept bool   // the marked answer
	busy   bool
	wrong  string
}

// NewCertificate shows the certificate that was refused; file is where accepted ones
// are kept.
func NewCertificate(refused client.CertificateError, file string) *Certificate {
	return &Certificate{of: refused, file: file}
}

// Title says what is wrong.
func (d *Certificate) Title() string {
	if d.of.Known != "" {
		return "The certificate has changed"
	}
	return "Unknown certificate"
}

// Size fits the text.
func (d *Certificate) Size(w, h int) (int, int) {
	width := min(76, w-4)
	rows := 2
	for _, p := range d.paragraphs() {
		rows += len(view.Wrap(p.text, width-p.indent)) + p.space
	}
	return width, min(rows+2, h-2)
}

// paragraph is a part of the text; space is how many rows are free after it.
type paragraph struct {
	text          string
	role          themes.Role
	indent, space int
}

// paragraphs are the text without the answers.
func (d *Certificate) paragraphs() []paragraph {
	service, why := terminal.Printable(d.of.Service), ""
	if d.of.Err != nil {
		why = terminal.Printable(d.of.Err.Error())
	}
	if d.of.Known != "" {
		return []paragraph{
			{service + " shows another certificate than the one that was accepted. The connection may be intercepted. Nothing was sent.", themes.Critical, 0, 1},
			{"Accepted, SHA-256:", themes.Dim, 0, 0}, {spaced(d.of.Known), themes.Text, 2, 0},
			{"Shown now, SHA-256:", themes.Dim, 0, 0}, {spaced(d.of.Fingerprint), themes.Critical, 2, 1},
			{"If the service has a new certificate, sunloop tls on its machine prints the second value. Then remove the line of the service from " + d.file + ", and start again.", themes.Text, 0, 1},
		}
	}
	return []paragraph{
		{"The certificate of " + service + " is not trusted: " + why + ". Nothing was sent.", themes.Text, 0, 1},
		{"Its SHA-256:", themes.Dim, 0, 0}, {spaced(d.of.Fingerprint), themes.Accent, 2, 1},
		{"Compare it with what sunloop tls prints on the machine of the service, or ask its administrator through another channel, such as by phone. Accept it only if all digits are equal.", themes.Text, 0, 0},
		{"An accepted certificate is kept in " + d.file + "; any other is then refused.", themes.Dim, 0, 1},
	}
}

// spaced writes a fingerprint in groups of eight digits, to be compared.
func spaced(fingerprint string) string {
	var groups []string
	for s := terminal.Printable(fingerprint); s != ""; {
		n := min(8, len(s))
		groups, s = append(groups, s[:n]), s[n:]
	}
	return strings.Join(groups, " ")
}

// Draw draws the text and the two answers.
func (d *Certificate) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := 0
	for _, p := range d.paragraphs() {
		y = v.Paragraph(r, p.indent, y, p.text, p.role) + p.space
	}
	switch {
	case d.busy:
		v.Paragraph(r, 0, h-2, "Asking the service …", themes.Dim)
		return
	case d.wrong != "":
		v.Paragraph(r, 0, h-2, d.wrong, themes.Warning)
	case d.of.Known == "":
		widget.DrawAnswers(r, 0, min(y, h-2), v, d.accept, "leave", "accept the certificate")
	}
	if d.of.Known != "" {
		widget.KeyLine(r, h-1, v, "enter", "leave")
		return
	}
	widget.KeyLine(r, h-1, v, "tab", "the other answer", "enter", "take the marked one", "esc", "leave")
}

// Key marks an answer, or gives the marked one.
func (d *Certificate) Key(k tea.KeyMsg, v view.Context) view.Request {
	if d.busy {
		return nil
	}
	list, _, _ := v.Keys.Match(k.String(), keymap.List)
	dialog, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	switch {
	case dialog == keymap.Dismiss, dialog == keymap.Accept && !d.accept:
		return view.AnswerCertificate{}
	case dialog == keymap.Accept:
		d.busy, d.wrong = true, ""
		return view.AnswerCertificate{Accept: true}
	case list == keymap.Left, list == keymap.Right, dialog == keymap.NextField, dialog == keymap.PrevField:
		d.accept = !d.accept && d.of.Known == ""
	}
	return nil
}

// Failed says why the certificate could not be accepted.
func (d *Certificate) Failed(err error) {
	d.busy, d.wrong = false, "Not accepted: "+terminal.Printable(err.Error())+"."
}

// Fingerprint is that of the certificate that is asked about.
func (d *Certificate) Fingerprint() string { return d.of.Fingerprint }
