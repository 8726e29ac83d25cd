package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// configured returns a file with a little in it, and a flag.
func configured() Configured {
	return Configured{File: "/home/anna/.config/sunloop/config.toml", Themes: themes.Builtin(), Theme: themes.ControlRoom, Bound: map[string][]string{"zoom": {"f"}}, Sources: settings.Sources{
		settings.Theme: {Value: "contrast", From: "--theme", Fixed: true}, settings.Graph: {Value: "block", From: settings.FromFile},
	}}
}

// settingsOf shows the rows of the groups that begin so.
func settingsOf(group string) *widget.TableView {
	s := NewSettings(configured)
	s.List.SetFilter("group:" + group)
	return s
}

func TestSettingsScreen(t *testing.T) {
	for _, size := range stage.Sizes {
		v := stage.ScreenContext(t, false)
		picture.Golden(t, fmt.Sprintf("settings-%dx%d", size.W, size.H), stage.ScreenText(v, settingsOf("look"), size.W, size.H))
	}
}

// The dialogs of settings, narrow and in ASCII, hold nothing else.
func TestSettingsDialogs(t *testing.T) {
	split, _ := settings.Find(settings.Split)
	zoom, _ := keymap.Default().Entry(keymap.Zoom)
	clash := func(keymap.Action, []string) error { return errors.New(`keys: "q" is both zoom and quit`) }
	capture := NewKeyCapture(zoom, clash)
	stage.Press(capture, "q")
	list := &widget.List{SortBy: -1}
	v := stage.ScreenContext(t, true)
	g := terminal.NewGrid(40, 5)
	list.Draw(g.All(), v, []widget.Column{{Title: "unit"}, {Title: "state", Width: 8}}, nil)
	var b strings.Builder
	for _, d := range []view.Dialog{NewValueForm(split, "50x50"), NewKeyCapture(zoom, clash), capture, widget.NewColumns(list), NewNameForm("Save the layout", "Name", "a short word", nil)} {
		text := stage.DialogText(v, d, 80, 16)
		for _, r := range text {
			if r > 0x7e {
				t.Errorf("%s: %q is not ASCII", d.Title(), r)
			}
		}
		b.WriteString(text + "\n")
	}
	picture.Golden(t, "settings-dialogs", b.String())
}

// An unreadable theme of the user is reported next to the setting.
func TestWeakThemesAreReported(t *testing.T) {
	bad, _ := themes.Find(themes.Builtin(), themes.ControlRoom)
	bad.Name, bad.Tokens[themes.Text].Color = "mine", themes.RGB(0x50, 0x50, 0x50)
	lines := weakThemes{}.of(append(themes.Builtin(), bad))
	if len(lines) != 1 || !strings.HasPrefix(lines[0].Text, "mine: text on background is 2.") {
		t.Errorf("%+v", lines)
	}
}
