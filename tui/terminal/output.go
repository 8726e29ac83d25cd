package terminal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	enterAlt  = "\x1b[?1049h"
	leaveAlt  = "\x1b[?1049l"
	clearAll  = "\x1b[2J"
	resetPen  = "\x1b[m"
	beginSync = "\x1b[?2026h"
	endSync   = "\x1b[?2026l"

	// syncFrom is the size in bytes from which a frame is wrapped in synchronized-output marks. A smaller one arrives in one
	// piece anyway, and the marks would be most of it.
	syncFrom = 512

	// CopyLimit is the largest base64 text that terminals take in one OSC 52 sequence (74,994 bytes in the strictest, hterm).
	CopyLimit = 74994
)

// ErrCopyTooLong is the error for a text larger than a terminal's clipboard
// sequence can carry; write it to a file instead.
var ErrCopyTooLong = errors.New("text is too long for the terminal's clipboard")

// OutputOptions describe the terminal.
type OutputOptions struct {
	// Sync wraps large frames in synchronized-output marks (DEC private
	// mode 2026). Set it, or call SetSync, once the terminal has reported
	// support.
	Sync bool
	// Tmux passes notifications and clipboard text through tmux to the terminal outside.
	Tmux bool
	// Now is the clock by which images that change a little wait for their turn; nil: they do
	// not wait.
	Now func() time.Time
}

// Output is what Bubble Tea writes to, by tea.WithOutput. Bubble Tea draws by Write: that is dropped, and the difference to
// the last grid given to Frame is written instead. It steers the terminal by WriteString: that is passed on.
//
// Where there is a file, it is embedded, so that Bubble Tea finds the terminal and its size. It works in the alternate screen
// only (tea.WithAltScreen). Its methods may be called from several goroutines.
type Output struct {
	*os.File
	w io.Writer

	mu      sync.Mutex
	options OutputOptions
	// next is the grid last handed over, shown what the terminal has.
	next, shown   []Cell
	w2, h2        int // size of next
	w1, h1        int // size of shown
	alt, full     bool
	ahead         bool // the terminal has a frame that Bubble Tea has not asked for yet
	token         string
	frames, bytes uint64
	painter       painter

	graphics   Graphics
	nextImages []placed     // of next
	images     []shownImage // that the terminal has
	imageID    int          // of the newest
	imageTurn  time.Time    // until when images that changed a little wait
	caused     bool         // the user caused the next frame
	dropped    bool         // images of the Kitty protocol are to be deleted, as it was switched off
}

// NewOutput writes to w, usually os.Stdout.
func NewOutput(w io.Writer, o OutputOptions) *Output {
	out := &Output{w: w, options: o, full: true}
	out.File, _ = w.(*os.File)
	return out
}

// Frame takes a drawn grid and returns the string that View must return: a
// different one whenever a cell changed, so that Bubble Tea knows that there is
// something to flush. The grid is copied and may be reused at once.
func (o *Output) Frame(g *Grid) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.token != "" && g.w == o.w2 && g.h == o.h2 && slices.Equal(g.cells, o.next) && slices.Equal(g.images, o.nextImages) {
		return o.token
	}
	o.next, o.nextImages = append(o.next[:0], g.cells...), append(o.nextImages[:0], g.images...)
	o.w2, o.h2 = g.w, g.h
	o.frames++
	o.token = strconv.FormatUint(o.frames, 36)
	return o.token
}

// Repaint makes the next frame a complete one, for a screen to which other
// programs wrote.
func (o *Output) Repaint() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.full = true
}

// SetSync switches synchronized-output marks.
func (o *Output) SetSync(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.options.Sync = on
}

// Sent returns the number of bytes written so far.
func (o *Output) Sent() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// Write takes Bubble Tea's frame, drops it and writes ours. If Bubble Tea
// repaints (a new size, the screen cleared), its frame begins with a carriage
// return, and ours is a complete one.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if bytes.HasPrefix(p, []byte("\x1b[H\r")) || bytes.HasPrefix(p, []byte("\r")) {
		o.full = true
	}
	o.ahead = false
	if !o.alt || o.token == "" {
		return len(p), nil
	}
	if err := o.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// FlushNow writes the last frame at once, as the answer to a key, where Bubble Tea would wait for the next tick of its clock: at
// ten frames a second that is 50 ms on average. It does so once a tick, so that keys which come faster cost a slow line no
// more frames. What it could not write, the tick does.
func (o *Output) FlushNow() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.caused = true
	if o.ahead || !o.alt || o.token == "" {
		return nil
	}
	o.ahead = true
	return o.flush()
}

// flush writes the difference between shown and next in one call.
func (o *Output) flush() error {
	full := o.full || o.w1 != o.w2 || o.h1 != o.h2
	o.painter.buf = append(o.painter.buf[:0], beginSync...)
	if o.dropped || full && o.graphics == Kitty && len(o.images) > 0 {
		o.painter.buf = append(o.painter.buf, deleteImages...)
		o.images, o.dropped = o.images[:0], false
	}
	send, remove := o.imageChanges(full)
	o.erase(remove)
	o.painter.paint(o.shown, o.next, o.w2, o.h2, full)
	o.paintImages(send, remove)
	o.caused = false
	frame := o.painter.buf
	switch n := len(frame) - len(beginSync); {
	case n == 0:
		frame = nil
	case n < syncFrom || !o.options.Sync:
		frame = frame[len(beginSync):]
	default:
		frame = append(frame, endSync...)
		o.painter.buf = frame
	}
	o.shown = append(o.shown[:0], o.next...)
	o.w1, o.h1, o.full = o.w2, o.h2, false
	if err := o.send(frame); err != nil {
		o.full = true // unknown how much of it arrived; all of it is sent again
		o.painter.forget()
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

func (o *Output) send(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := o.w.Write(b)
	o.bytes += uint64(max(n, 0))
	return err
}

// WriteString passes a control sequence of Bubble Tea on and notes what it does to the screen.
func (o *Output) WriteString(s string) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := s
	switch s {
	case enterAlt:
		o.alt, o.full = true, true
		o.painter.forget()
	case leaveAlt:
		// The shell must not inherit our colours.
		o.alt = false
		sent = o.withoutImages() + resetPen + s
		o.painter.forget()
	case clearAll:
		o.full = true
		sent = resetPen + s // else the screen is cleared in the pen's background
		o.painter.forget()
	}
	if err := o.send([]byte(sent)); err != nil {
		return 0, fmt.Errorf("write control sequence: %w", err)
	}
	return len(s), nil
}

// withoutImages deletes the images of the Kitty protocol: the screen that is entered must not have them.
func (o *Output) withoutImages() string {
	n := len(o.images)
	o.images = o.images[:0]
	if n == 0 || o.graphics != Kitty {
		return ""
	}
	return deleteImages
}

// Notify rings the bell and shows a desktop notification (OSC 9), each if asked for, between frames.
func (o *Output) Notify(text string, bell, desktop bool) error {
	var b []byte
	if desktop {
		// A message that begins with a digit would be a command to some terminals.
		b = append(b, o.outside("\x1b]9;Sunloop: "+Printable(text)+"\a")...)
	}
	if bell {
		b = append(b, '\a')
	}
	return o.between(b)
}

// Copy puts text on the clipboard of the terminal (OSC 52), between frames. A
// text over CopyLimit gives ErrCopyTooLong. A terminal without the sequence
// does not report that, so callers also offer a file.
func (o *Output) Copy(text string) error {
	if n := base64.StdEncoding.EncodedLen(len(text)); n > CopyLimit {
		return fmt.Errorf("%w: %d of at most %d bytes", ErrCopyTooLong, n, CopyLimit)
	}
	return o.between([]byte(o.outside("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a")))
}

// between writes something that is not part of a frame.
func (o *Output) between(b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.send(b); err != nil {
		return fmt.Errorf("write to terminal: %w", err)
	}
	return nil
}

// outside wraps a sequence so that tmux hands it to the terminal it runs in.
func (o *Output) outside(seq string) string {
	if !o.options.Tmux {
		return seq
	}
	return "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
}
