package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"app.sunloop/backend/client"
	"app.sunloop/internal/longtest"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/terminal"
)

// hostile returns a line to the service on which every text that is no time is
// followed by another one.
func hostile(s *plant.Service, text string) *client.Client {
	in := client.InProcess(http.HandlerFunc(s.ServeHTTP))
	var mu sync.Mutex
	spoiled := map[string][]byte{} // by answer: most are read again and again
	return client.New(client.Options{Credential: "token", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := in.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		plain, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		b, known := spoiled[string(plain)]
		if !known {
			var body any
			if err := json.Unmarshal(plain, &body); err != nil {
				return nil, err
			}
			if b, err = json.Marshal(spoil(body, text)); err != nil {
				return nil, err
			}
			spoiled[string(plain)] = b
		}
		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		answer.Header.Del("Content-Length")
		return answer, nil
	})})
}

var plainText = regexp.MustCompile(`^(\d{4}-\d\d-\d\d.*|[A-Z][a-z]+/[A-Za-z_]+|Sibaya|acme|)$`) // times, zones, the site: without it nothing is shown

func spoil(v any, text string) any {
	switch v := v.(type) {
	case string:
		if plainText.MatchString(v) {
			return v
		}
		return v + text
	case []any:
		for i := range v {
			v[i] = spoil(v[i], text)
		}
	case map[string]any:
		for k := range v {
			v[k] = spoil(v[k], text)
		}
	}
	return v
}

// No text from the service, whatever its content and length, changes the
// position of a frame or reaches the terminal as anything but text.
func TestNoTextBreaksAFrame(t *testing.T) {
	sizes := []layout.Size{{Columns: 80, Rows: 24}, {Columns: 120, Rows: 36}, {Columns: 160, Rows: 45}}
	texts := map[string]string{
		"control bytes": "\x00\x07\x1b[2J\x1b]0;title\x07\x1bP+q\x1b\\\r\n\t\x7f\u0085\u009b31m",
		"wide runes":    strings.Repeat("日本語🙂", 30),
		"long":          strings.Repeat("x", 10_000),
		"long words":    strings.Repeat("word ", 2_000),
		"joined":        strings.Repeat("e\u0301👩\u200d👩\u200d👧\u200d👦🇩🇪\u202e\u2066", 20),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			if err := walkFrames(t, text, 0, 1, sizes...); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("any", func(t *testing.T) {
		longtest.Mark(t)
		rapid.Check(t, func(rt *rapid.T) {
			text, first, size := rapid.StringN(1, 200, -1).Draw(rt, "text"), rapid.IntRange(0, 10).Draw(rt, "first"), rapid.SampledFrom(sizes).Draw(rt, "size")
			if err := walkFrames(t, text, first, 11, size); err != nil {
				rt.Error(err)
			}
		})
	})
}

// walkFrames goes through the panes and screens from the first on, each so many
// steps apart, in all layouts, and looks at the frames.
func walkFrames(t *testing.T, text string, first, step int, sizes ...layout.Size) error {
	d := start(t, 80, 24, func(o *Options, s *plant.Service) { o.Client = hostile(s, text) })
	var ways [][]string
	for _, k := range []string{"1", "2", "3", "4", "z", "n", ":", "?", "S", "T", "U", "o"} {
		ways = append(ways, []string{k})
	}
	ways = append(ways, []string{"down", "i"}, []string{"v", "c"}, []string{"+", "+"}, []string{"g", "w", "v"}, []string{"g", "w", "s"})
	for _, e := range keymap.Default().Entries() {
		for _, k := range e.Binding.Keys() {
			if e.Scope == keymap.Global && strings.HasPrefix(k, "g ") && e.Action != keymap.SignOut {
				ways = append(ways, strings.Fields(k))
			}
		}
	}
	for _, size := range sizes {
		d.send(tea.WindowSizeMsg{Width: size.Columns, Height: size.Rows})
		for i := first; i < len(ways); i += step {
			d.press(ways[i]...)
			d.press("down")
			if err := d.frame(); err != nil {
				return fmt.Errorf("%v at %d×%d: %w", ways[i], size.Columns, size.Rows, err)
			}
			d.press("esc", "esc", "esc", "esc", "1")
		}
	}
	return nil
}

// frame says what is wrong with the frame: its size, a control in it, or an
// edge that does not stand where the layout has it.
func (d *world) frame() error {
	d.view()
	m := d.m
	w, h := m.frame.grid.Size()
	if w != m.frame.size.Columns || h != m.frame.size.Rows {
		return fmt.Errorf("the frame is %d×%d", w, h)
	}
	for y := range h {
		for x := range w {
			if c := m.frame.grid.Cell(x, y).Text; strings.ContainsFunc(c, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
				return fmt.Errorf("a control in %q at %d,%d", c, x, y)
			}
		}
	}
	if !m.bare() || m.frame.layout.Mode == layout.Single {
		return nil
	}
	boxes := m.frame.layout.Panes[:]
	if m.nav.screen() != nil {
		boxes = []terminal.Rect{m.frame.layout.Body}
	}
	for _, b := range boxes {
		for y := b.Y + 1; y < b.Y+b.H-1; y++ {
			for _, x := range []int{b.X, b.X + b.W - 1} {
				if c := m.frame.grid.Cell(x, y).Text; c != "│" {
					return fmt.Errorf("%q is in the edge at %d,%d:\n%s", c, x, y, d.text())
				}
			}
		}
	}
	return nil
}
