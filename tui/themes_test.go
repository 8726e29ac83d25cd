package tui

import (
	"errors"
	"strings"
	"testing"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
)

// TestChangedThemeIsShown: a person edits the theme that is on screen.
func TestChangedThemeIsShown(t *testing.T) {
	mine, _ := themes.Find(themes.Builtin(), themes.Daylight)
	mine.Name = themes.ControlRoom // the one in use, as its file is now
	answer := themesMsg{all: []themes.Theme{mine}, changed: true}
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
		o.ReloadThemes = func() ([]themes.Theme, bool, error) { return answer.all, answer.changed, answer.err }
	})
	before := d.m.prefs.palette.Color(themes.Background)
	for range themesEvery {
		d.send(clockMsg{d.m.tick})
	}
	after := d.m.prefs.palette.Color(themes.Background)
	if after == before || len(d.m.o.Themes) != 1 {
		t.Errorf("the screen kept its colours: %v, then %v", before, after)
	}
	answer.err = errors.New("mine.toml: text is missing")
	for range themesEvery {
		d.send(clockMsg{d.m.tick})
	}
	if !strings.Contains(d.m.notes.notice.text, "mine.toml: text is missing") || d.m.prefs.palette.Color(themes.Background) != after {
		t.Errorf("a broken file: notice %q", d.m.notes.notice.text)
	}
}
