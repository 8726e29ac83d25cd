package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/vt"

	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// A recording is one that asciinema plays: a header with the size, then pieces of output in order
// of time, which enter the screen of the console and leave it.
func TestRecording(t *testing.T) {
	o := start(t, 1, 1, nil).m.o
	var b bytes.Buffer
	if err := Record(t.Context(), o, layout.Size{Columns: 100, Rows: 30}, "a title", []string{"2", "/", `"two_words"`, "esc"}, func() {}, &b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	var header struct {
		Version, Width, Height int
		Title                  string
	}
	if err := json.Unmarshal([]byte(lines[0]), &header); err != nil || header.Version != 2 || header.Width != 100 || header.Height != 30 || header.Title != "a title" {
		t.Errorf("the header is %s, %v", lines[0], err)
	}
	var all strings.Builder
	last := -1.0
	for _, line := range lines[1:] {
		var piece []any
		if err := json.Unmarshal([]byte(line), &piece); err != nil || len(piece) != 3 || piece[1] != "o" {
			t.Fatalf("a piece is %.80s, %v", line, err)
		}
		if at := piece[0].(float64); at < last {
			t.Errorf("%v comes after %v", at, last)
		} else {
			last = at
		}
		all.WriteString(piece[2].(string))
	}
	if got := all.String(); !strings.Contains(got, "\x1b[?1049h") || !strings.Contains(got, "\x1b[?1049l") {
		t.Errorf("recorded %.200q", got)
	}
}

// tape is a file of a recording.
type tape struct {
	bytes.Buffer
	closed bool
	room   int // bytes until the disk is full; 0: no limit
}

func (t *tape) Write(p []byte) (int, error) {
	if t.room > 0 && t.Len()+len(p) > t.room {
		return 0, errors.New("no space left on device")
	}
	return t.Buffer.Write(p)
}

func (t *tape) Close() error {
	t.closed = true
	return nil
}

// play returns all screens that a player shows, one after each piece.
func play(t *testing.T, cast string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(cast, "\n"), "\n")
	var header struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &header); err != nil || header.Version != 2 {
		t.Fatalf("the header is %s, %v", lines[0], err)
	}
	screen := vt.NewEmulator(header.Width, header.Height)
	defer screen.Close()
	var shown []string
	for _, line := range lines[1:] {
		var at float64
		var kind, data string
		if err := json.Unmarshal([]byte(line), &[]any{&at, &kind, &data}); err != nil {
			t.Fatalf("%.80s: %v", line, err)
		}
		switch kind {
		case "o":
			_, _ = screen.Write([]byte(data))
		case "r":
			w, h, _ := strings.Cut(data, "x")
			screen.Resize(number(t, w), number(t, h))
		default:
			t.Fatalf("a piece of the kind %q", kind)
		}
		shown = append(shown, screen.String())
	}
	return shown
}

// trimmed returns the lines without the space at their ends.
func trimmed(screen string) string {
	lines := strings.Split(screen, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func number(t *testing.T, text string) (n int) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What the console shows is recorded, each frame at once, in the size of the terminal; dialogs
// with secrets are not, also below another one.
func TestConsoleIsRecorded(t *testing.T) {
	file := &tape{}
	d := start(t, 100, 30, func(o *Options, _ *plant.Service) { o.Record = file })
	d.press("2")
	all := play(t, file.String())
	if last := all[len(all)-1]; trimmed(last) != trimmed(d.text()) || !strings.Contains(last, "  recording") {
		t.Errorf("recorded\n%s\nbut the screen is\n%s", last, d.text())
	}
	d.m.dialogs.push(widget.NewSecretView("logger", "It is shown once", "slk_TheSecretKey"))
	d.m.frame.dirty = true
	d.m.View()
	if !strings.Contains(d.text(), "slk_TheSecretKey") {
		t.Fatalf("the secret is not on the screen\n%s", d.text())
	}
	d.m.dialogs.push(widget.NewChooser("Over it", "", []widget.Choice{{Text: "one"}}, nil))
	d.send(tea.WindowSizeMsg{Width: 90, Height: 28})
	all = play(t, file.String())
	if last := all[len(all)-1]; !strings.Contains(last, "Over it") || len(strings.Split(last, "\n")) != 28 {
		t.Errorf("after the new size it shows\n%s", last)
	}
	d.m.dialogs.stack = nil
	d.m.askSignIn("")
	d.m.session.signIn.Hint("The password is opensesame.")
	d.m.frame.dirty = true
	d.m.View()
	all = play(t, file.String())
	covers := 0
	for _, screen := range all {
		if strings.Contains(screen, "slk_") || strings.Contains(screen, "opensesame") {
			t.Errorf("a secret is recorded\n%s", screen)
		}
		if strings.Contains(screen, "Not recorded") {
			covers++
		}
	}
	if covers < 2 || strings.Contains(file.String(), "slk_TheSecretKey") {
		t.Errorf("%d screens say that they are not recorded", covers)
	}
}

// The sign-in and what shows a secret are dialogs whose content is not recorded.
func TestSecretDialogs(t *testing.T) {
	d := start(t, 100, 30, nil)
	d.m.askSignIn("")
	for _, dialog := range []view.Dialog{d.m.session.signIn, widget.NewSecretView("a", "b", "c"), widget.NewSubscriptionSecret("a", "b", "c"), widget.NewJoinCode("a", "b", "c", "d")} {
		if !hasSecret([]view.Dialog{dialog}) {
			t.Errorf("%T is recorded", dialog)
		}
	}
}

// A full disk ends the recording, not the console, and the last line says so.
func TestRecordingOnFullDisk(t *testing.T) {
	file := &tape{room: 20_000}
	d := start(t, 100, 30, func(o *Options, _ *plant.Service) { o.Record = file })
	for range 40 {
		d.press("2", "1")
	}
	if d.m.recorder.cast.err == nil {
		t.Fatal("the disk is not full")
	}
	if got := d.text(); strings.Contains(got, "  recording") || !strings.Contains(got, "The recording stopped: no space left on device.") {
		t.Errorf("the screen is\n%s", got)
	}
	for i, line := range strings.Split(strings.TrimSuffix(file.String(), "\n"), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d is %.60s", i+1, line)
		}
	}
}
