package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// castWriter writes what a terminal is sent as a recording of asciinema, version 2: a header,
// then a line for each piece with its seconds since the first. Each line is one write, so that
// the file of a program that is killed is complete up to its last frame.
type castWriter struct {
	w     io.Writer
	now   func() time.Time
	start time.Time
	err   error // the first one; nothing is written after it
}

// header writes the first line.
func (c *castWriter) header(size layout.Size, title string) {
	c.line(map[string]any{"version": 2, "width": size.Columns, "height": size.Rows, "title": title, "idle_time_limit": 3, "env": map[string]string{"TERM": "xterm-256color"}})
}

// Write records a piece of output.
func (c *castWriter) Write(p []byte) (int, error) {
	c.event("o", string(p))
	return len(p), c.err
}

// resize records a new size of the terminal.
func (c *castWriter) resize(size layout.Size) {
	c.event("r", fmt.Sprintf("%dx%d", size.Columns, size.Rows))
}

func (c *castWriter) event(kind, data string) {
	now := c.now()
	if c.start.IsZero() {
		c.start = now
	}
	c.line([]any{math.Round(max(now.Sub(c.start), 0).Seconds()*1000) / 1000, kind, data})
}

func (c *castWriter) line(v any) {
	if c.err != nil {
		return
	}
	var b []byte
	if b, c.err = json.Marshal(v); c.err == nil {
		_, c.err = c.w.Write(append(b, '\n'))
	}
}

// recorder records the console's frames for [Options.Record]: what is drawn, except what
// dialogs with secrets show. Nothing else that the terminal is sent is recorded, such as
// copied text.
type recorder struct {
	cast     castWriter
	out      *terminal.Output
	size     layout.Size
	grid     *terminal.Grid // of frames that differ from those of the terminal
	reported bool           // its error
}

func newRecorder(w io.Writer, now func() time.Time) *recorder {
	r := &recorder{cast: castWriter{w: w, now: now}, grid: terminal.NewGrid(0, 0)}
	r.out = terminal.NewOutput(&r.cast, terminal.OutputOptions{})
	return r
}

// frame records a drawn screen. Failed writes are in r.cast.err.
func (r *recorder) frame(g *terminal.Grid, title string) {
	w, h := g.Size()
	switch size := (layout.Size{Columns: w, Rows: h}); {
	case r.size == layout.Size{}:
		r.size = size
		r.cast.header(size, title)
		_, _ = r.out.WriteString(enterAltScreen)
	case r.size != size:
		r.size = size
		r.cast.resize(size)
	}
	r.out.Frame(g)
	_, _ = r.out.Write(nil)
}

// end leaves the screen of the console.
func (r *recorder) end() {
	if r.size != (layout.Size{}) {
		_, _ = r.out.WriteString(leaveAltScreen)
	}
}

// The alternate screen, as Bubble Tea enters and leaves it.
const (
	enterAltScreen = "\x1b[?1049h"
	leaveAltScreen = "\x1b[?1049l"
)

// covered is a dialog whose content is not recorded.
type covered struct{ view.Dialog }

// Draw draws a sentence in place of the content.
func (covered) Draw(r terminal.Region, v view.Context) {
	v.Paragraph(r, 0, 0, "Not recorded: this dialog shows or asks for a secret.", themes.Dim)
}

// record records the drawn screen.
func (m *Model) record() {
	r := m.recorder
	if r == nil || r.cast.err != nil {
		return
	}
	grid := m.frame.grid
	if dialogs := m.openDialogs(); hasSecret(dialogs) {
		grid = r.grid
		grid.CopyFrom(m.frame.grid)
		v := m.context()
		for _, d := range dialogs {
			if s, ok := d.(view.Secretive); ok && s.HasSecret() {
				d = covered{d}
			}
			view.DrawDialog(d, grid.All(), v)
		}
	}
	if r.frame(grid, "Sunloop"); r.cast.err != nil && !r.reported {
		r.reported = true
		m.o.Log.Error("recording stopped", "error", r.cast.err)
		m.notify("The recording stopped: "+r.cast.err.Error()+".", themes.Warning)
		m.frame.dirty = true
	}
}

// openDialogs returns the dialogs in the order in which they are drawn.
func (m *Model) openDialogs() []view.Dialog {
	all := append([]view.Dialog(nil), m.dialogs.stack...)
	if m.session.signIn != nil {
		all = append(all, m.session.signIn)
	}
	if m.session.certificate != nil {
		all = append(all, m.session.certificate)
	}
	return all
}

func hasSecret(dialogs []view.Dialog) bool {
	for _, d := range dialogs {
		if s, ok := d.(view.Secretive); ok && s.HasSecret() {
			return true
		}
	}
	return false
}

// Record runs the console without a terminal at the given size, types keys, and writes what a
// terminal would be sent as a recording of asciinema. It pauses before the first key and after
// each one. A key between two quotation marks is text that is typed.
func Record(ctx context.Context, o Options, size layout.Size, title string, keys []string, pause func(), w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &castWriter{w: w, now: o.Now}
	r.header(size, title)
	m := New(ctx, o, terminal.NewOutput(r, terminal.OutputOptions{Now: o.Now}), nil)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(m.out), tea.WithAltScreen(), tea.WithoutSignalHandler())
	go func() {
		p.Send(tea.WindowSizeMsg{Width: size.Columns, Height: size.Rows})
		pause()
		for _, k := range keys {
			if text := strings.Trim(k, `"`); text != k {
				for _, c := range strings.ReplaceAll(text, "_", " ") {
					p.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}})
				}
			} else {
				p.Send(keyMessage(k))
			}
			pause()
		}
		p.Quit()
	}()
	if _, err := p.Run(); err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		return fmt.Errorf("run the console: %w", err)
	}
	return r.err
}
