package tui

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/terminal"
)

// reported is what a terminal with the Kitty protocol reports.
var reported = terminalMsg{terminal.Answers{Graphics: terminal.Kitty, Cell: terminal.PixelSize{W: 8, H: 16}}}

// withImages switches images on.
func withImages(o *Options, _ *plant.Service) {
	o.Settings = settings.Sources{settings.Images: {Value: "auto"}}
}

const (
	imageSent    = "\x1b_Ga=T"
	imageDeleted = "\x1b_Ga=d"
)

// images returns how many images were sent and how many deleted since the last call.
func (d *world) images() (sent, deleted int) {
	d.t.Helper()
	d.line.keep = true
	d.text()
	sent, deleted = bytes.Count(d.line.sent, []byte(imageSent)), bytes.Count(d.line.sent, []byte(imageDeleted))
	d.line.sent = nil
	return sent, deleted
}

// On a terminal that reports that it takes images, charts are images; a dialog over them and
// another screen delete them, and they come back with the pane. The axis and the cursor's value
// stay text.
func TestChartsAreImages(t *testing.T) {
	d := start(t, 120, 36, withImages)
	if sent, deleted := d.images(); sent+deleted != 0 {
		t.Errorf("before the terminal responds: %d sent, %d deleted", sent, deleted)
	}
	braille := func() int { return strings.Count(d.text(), "⠉") + strings.Count(d.text(), "⣀") }
	if braille() == 0 {
		t.Error("no chart in characters")
	}
	d.line.keep = true
	d.send(reported)
	if sent, _ := d.images(); sent != 1 || braille() != 0 {
		t.Errorf("%d images were sent, %d characters drawn", sent, braille())
	}
	d.shows("12", "kW", "actual") // axes and legend
	d.press(":")
	if sent, deleted := d.images(); sent != 0 || deleted != 1 || braille() == 0 {
		t.Errorf("below a dialog: %d sent, %d deleted, %d characters", sent, deleted, braille())
	}
	d.press("esc")
	if sent, _ := d.images(); sent != 1 {
		t.Errorf("after the dialog: %d sent", sent)
	}
	d.press("c", "left")
	d.shows("kW ")
	if sent, _ := d.images(); sent == 0 {
		t.Error("the cursor is not in the image")
	}
	d.press("esc", "g", "l")
	if _, deleted := d.images(); deleted == 0 {
		t.Error("the log has the image of the pane")
	}
	d.press("esc")
	d.images()
	d.send(tunedSetting(d, settings.Images, "off"))
	if _, deleted := d.images(); deleted == 0 || braille() == 0 {
		t.Error("switched off: the image stays")
	}
}

// tunedSetting changes a setting as its screen does.
func tunedSetting(d *world, name, value string) clockMsg {
	d.t.Helper()
	d.m.prefs.sources[name] = settings.Source{Value: value}
	d.run(d.m.apply(name, value))
	return clockMsg{d.m.tick}
}

// No image is sent to a terminal that did not report that it takes them, without the setting,
// without colours and with ASCII only.
func TestNoImagesWhereTheyAreNotWanted(t *testing.T) {
	for name, tt := range map[string]struct {
		with    func(*Options, *plant.Service)
		answers terminalMsg
	}{
		"no report":      {withImages, terminalMsg{}},
		"no setting":     {nil, reported},
		"without colour": {func(o *Options, s *plant.Service) { withImages(o, s); o.Profile = themes.NoColor }, reported},
		"ASCII":          {func(o *Options, s *plant.Service) { withImages(o, s); o.ASCII, o.Pen = true, chart.ASCII }, reported},
	} {
		d := start(t, 120, 36, tt.with)
		d.line.keep = true
		d.send(tt.answers)
		d.pass(5)
		d.press("z", "c")
		if sent, deleted := d.images(); sent+deleted != 0 {
			t.Errorf("%s: %d sent, %d deleted", name, sent, deleted)
		}
	}
}

// Idle, with a sample each five seconds, images and text together take at most 100 bytes a second.
func TestIdleBytesOfImages(t *testing.T) {
	for name, tt := range map[string]struct {
		graphics terminal.Graphics
		begin    string // of an image
	}{"kitty": {terminal.Kitty, imageSent}, "sixel": {terminal.Sixel, "\x1bP"}} {
		live := plant.New()
		live.Step = 5 * time.Second
		d := start(t, 120, 36, withImages, live)
		d.send(terminalMsg{terminal.Answers{Graphics: tt.graphics, Cell: terminal.PixelSize{W: 8, H: 16}}})
		d.pass(5)
		first := d.line.n
		const seconds = 600
		d.line.keep = true
		d.pass(seconds)
		n := d.line.n - first
		t.Logf("%s: %d bytes a second", name, n/seconds)
		if n > 100*seconds {
			t.Errorf("%s: %d bytes a second", name, n/seconds)
		}
		d.text()
		if !bytes.Contains(d.line.sent, []byte(tt.begin)) {
			t.Errorf("%s: the image was not sent again", name)
		}
	}
}

// remoteTerminal is a terminal behind a line, which responds to queries.
type remoteTerminal struct {
	mu    sync.Mutex
	all   bytes.Buffer
	keys  io.Writer
	kitty bool
	image chan struct{} // closed by the first image
	asked chan struct{} // closed by the query
}

func (r *remoteTerminal) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.all.String()
	r.all.Write(p)
	now := r.all.String()
	first := func(what string) bool { return strings.Contains(now, what) && !strings.Contains(had, what) }
	if first("\x1b[c") {
		said := "\x1b[?62;22c"
		if r.kitty && strings.Contains(now, "a=q") {
			said = "\x1b_Gi=31;OK\x1b\\\x1b[6;16;8t" + said
		}
		close(r.asked)
		go func() { _, _ = io.WriteString(r.keys, said) }()
	}
	if first(imageSent) {
		close(r.image)
	}
	return len(p), nil
}

// The whole program over a line, as over SSH: it asks the terminal, and sends images to one that
// reports the Kitty protocol.
func TestImagesOverALine(t *testing.T) {
	for _, kitty := range []bool{true, false} {
		keys, type_ := io.Pipe()
		line := &remoteTerminal{keys: type_, kitty: kitty, image: make(chan struct{}), asked: make(chan struct{})}
		o := start(t, 1, 1, withImages).m.o
		sizes := make(chan layout.Size, 1)
		sizes <- layout.Size{Columns: 120, Rows: 36}
		o.In, o.Out, o.Sizes, o.Remote = keys, line, sizes, true
		o.Getenv = func(name string) string {
			return map[string]string{"SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22", "TERM": "xterm-kitty"}[name]
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, o) }()
		<-line.asked
		if kitty {
			<-line.image
		}
		_, _ = io.WriteString(type_, "g")
		_, _ = io.WriteString(type_, "l")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = type_.Close()
		line.mu.Lock()
		if !kitty && strings.Contains(line.all.String(), imageSent) {
			t.Error("a terminal that did not report images got one")
		}
		line.mu.Unlock()
	}
}
