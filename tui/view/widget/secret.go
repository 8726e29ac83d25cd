package widget

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// SecretView shows a new API key, or another secret, once. It holds the only copy of
// the console, and drops it when it closes.
type SecretView struct {
	view.Base
	title, of        string
	name, words, key string
	copied, warned   bool
}

// NewSecretView shows the key of that name with the service's words about it.
func NewSecretView(name, words, key string) *SecretView {
	return &SecretView{title: "The new API key", of: "The key of", name: terminal.Printable(name), words: terminal.Printable(words), key: terminal.Printable(key)}
}

// NewSubscriptionSecret shows the secret of a subscription with words about it.
func NewSubscriptionSecret(subscription, words, secret string) *SecretView {
	d := NewSecretView(subscription, words, secret)
	d.title, d.of = "The new secret", "The secret of"
	return d
}

// NewJoinCode shows the code with which a gateway joins, with the command that asks for it
// and the end of the code.
func NewJoinCode(gateway, command, ends, code string) *SecretView {
	d := NewSecretView(gateway, "It works once, until "+ends+". On the gateway run "+command+" and enter it", code)
	d.title, d.of = "The code of a gateway", "The code of"
	return d
}

// HasSecret reports that it shows a secret.
func (*SecretView) HasSecret() bool { return true }

// Title names it.
func (d *SecretView) Title() string { return d.title }

// Size fits the key in one line where there is room.
func (d *SecretView) Size(w, _ int) (int, int) {
	width := min(max(len(d.key), 64), w-8)
	return width, 9 + (len(d.key)+width-1)/max(width, 1)
}

// Draw draws the key.
func (d *SecretView) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	y := v.Paragraph(r, 0, 0, d.of+" "+d.name+":", themes.Text) + 1
	y = v.Paragraph(r, 0, y, d.key, themes.Accent)
	if len(d.key) > w {
		y = v.Paragraph(r, 0, y, "Join the lines without spaces.", themes.Muted)
	}
	y = v.Paragraph(r, 0, y+1, d.words+". Copy it to where it is needed before you close this.", themes.Text)
	switch {
	case d.copied:
		v.Paragraph(r, 0, y, "Sent to the terminal's clipboard. Paste it to verify.", themes.Dim)
	case d.warned:
		v.Paragraph(r, 0, y, "It was not copied. Press enter again to close: it cannot be shown again.", themes.Warning)
	}
	KeyLine(r, h-1, v, "y", "copy", "enter", "I have stored it")
}

// Key copies, or closes: at once when it was copied, else when asked twice, so
// that a key pressed too often loses nothing.
func (d *SecretView) Key(k tea.KeyMsg, v view.Context) view.Request {
	if a, _, _ := v.Keys.Match(k.String(), keymap.Global); a == keymap.Copy {
		d.copied = true
		return view.Copy{Text: d.key}
	}
	if a, _, _ := v.Keys.Match(k.String(), keymap.Dialog); a != keymap.Accept {
		return nil
	}
	if !d.copied && !d.warned {
		d.warned = true
		return nil
	}
	d.key = ""
	return view.Close{}
}
