package terminal

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/bubbletea"
)

const (
	// localEscape and remoteEscape are how long a lone ESC waits for the rest of a sequence.
	localEscape  = 25 * time.Millisecond
	remoteEscape = 100 * time.Millisecond
	// staleAfter is how long any other half of a sequence is kept; longer pauses are not caused by the connection.
	staleAfter = time.Second
	// stalePaste is the same for a paste, a lost rest of which would be read as keys.
	stalePaste = 10 * time.Second
	// readSize is Bubble Tea's own buffer less one: it takes a full buffer for a sign that more is to come.
	readSize = 255
)

// source is where bytes come from.
type source interface {
	io.Reader
	// Ready waits at most d for something to read.
	Ready(d time.Duration) bool
}

// InputOptions describe the connection.
type InputOptions struct {
	// Remote reports that the session came over SSH (see Remote).
	Remote bool
	// Now is the clock by which half a sequence grows stale; nil keeps it without limit.
	Now func() time.Time
}

// Input is what Bubble Tea reads from, by tea.WithInput(in.Reader()). However the connection splits the stream, Bubble Tea gets whole
// escape sequences and whole runes; a lone ESC is a key once nothing has followed it for a moment. Answers of the terminal,
// late ones too, never become keys. Pastes are bounded to 64 KiB.
type Input struct {
	src  source
	file *os.File
	wait time.Duration
	now  func() time.Time
	cell func() PixelSize // by the size of the window in pixels; nil: unknown

	mu   sync.Mutex // one Read at a time
	raw  [readSize]byte
	asm  assembler
	last time.Time // when the last bytes came
	err  error     // the source's error, once what came before it is given out

	answers answers
}

// NewInput reads from r, usually os.Stdin. If r is not a file it reads in a
// separate goroutine, which ends with r or after Close.
func NewInput(r io.Reader, o InputOptions) *Input {
	in := &Input{wait: localEscape, now: o.Now}
	if o.Remote {
		in.wait = remoteEscape
	}
	if f, ok := r.(*os.File); ok {
		in.file, in.src = f, fileSource{f}
		in.cell = fileSource{f}.cell
	} else {
		in.src = newPump(r)
	}
	in.asm.answer = in.answers.take
	return in
}

// Reader returns what to give to tea.WithInput. Where there is a file, Bubble Tea finds it there, to set raw mode and to wait on.
func (in *Input) Reader() io.Reader {
	if in.file != nil {
		return fileReader{in.file, in}
	}
	return in
}

// fileReader is a file whose bytes come assembled.
type fileReader struct {
	*os.File
	in *Input
}

// Read gives out whole keys.
func (f fileReader) Read(p []byte) (int, error) { return f.in.Read(p) }

// Close ends the reading goroutine, if there is one. A file stays open.
func (in *Input) Close() error {
	if c, ok := in.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Read gives out whole keys. It may return no bytes and no error when all that came is half a sequence or an answer: Bubble
// Tea waits on the file itself, and must get control back to be able to stop.
func (in *Input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.asm.out) == 0 {
		in.fill(len(p))
	}
	n := copy(p, in.asm.out)
	in.asm.out = in.asm.out[:copy(in.asm.out, in.asm.out[n:])]
	if n == 0 && in.err != nil {
		return 0, in.err
	}
	return n, nil
}

// fill reads once, and again as long as a lone ESC is followed by more in time. It takes no more than size bytes in all, so
// that nothing is left over for which Bubble Tea would wait.
func (in *Input) fill(size int) {
	for in.err == nil {
		// The output consists of what is pending and what is read now.
		room := min(size-1, readSize) - len(in.asm.out) - len(in.asm.pending)
		n, err := in.src.Read(in.raw[:max(room, 1)])
		in.expire()
		in.asm.feed(in.raw[:n])
		in.err = err
		if in.asm.state != inEscape {
			return
		}
		if err != nil || !in.src.Ready(in.wait) {
			in.asm.flushEscape()
			return
		}
	}
}

// expire drops half a sequence whose rest did not come.
func (in *Input) expire() {
	if in.now == nil {
		return
	}
	t := in.now()
	silence := t.Sub(in.last)
	in.last = t
	if in.asm.partial() && silence > staleAfter || in.asm.state == inPaste && silence > stalePaste {
		in.asm.discardPartial()
	}
}

// pump reads from something that cannot be waited on, in a goroutine.
type pump struct {
	r      io.Reader
	start  sync.Once
	stop   sync.Once
	chunks chan chunk
	done   chan struct{}
	held   chunk
	full   bool // held is to be read
}

type chunk struct {
	bytes []byte
	err   error
}

func newPump(r io.Reader) *pump {
	return &pump{r: r, chunks: make(chan chunk), done: make(chan struct{})}
}

// run reads until the reader ends or the pump is closed.
func (p *pump) run() {
	for {
		b := make([]byte, readSize)
		n, err := p.r.Read(b)
		select {
		case p.chunks <- chunk{b[:n], err}:
		case <-p.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read gives out what came, waiting for it.
func (p *pump) Read(b []byte) (int, error) {
	if !p.full && !p.receive(nil) {
		return 0, io.EOF
	}
	n := copy(b, p.held.bytes)
	p.held.bytes = p.held.bytes[n:]
	if len(p.held.bytes) > 0 {
		return n, nil
	}
	p.full = p.held.err != nil // an error is returned by all later calls
	return n, p.held.err
}

// Ready waits at most d for something to read.
func (p *pump) Ready(d time.Duration) bool {
	if p.full {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return p.receive(timer.C)
}

// receive takes the next chunk; false when the time is over or the pump is closed.
func (p *pump) receive(over <-chan time.Time) bool {
	p.start.Do(func() { go p.run() })
	select {
	case p.held = <-p.chunks:
		p.full = true
	case <-p.done:
	case <-over:
	}
	return p.full
}

// Close lets the goroutine end at its next byte.
func (p *pump) Close() error {
	p.stop.Do(func() { close(p.done) })
	return nil
}

// keyNames are the names of keys that have no rune.
var keyNames = func() map[string]bool {
	names := map[string]bool{}
	for t := tea.KeyType(-128); t < 128; t++ {
		if k := (tea.KeyMsg{Type: t}); t != tea.KeyRunes && k.String() != "" {
			names[k.String()] = true
		}
	}
	return names
}()

// ReadsAsKey reports whether a message of several runes reads as the name of a key, such as
// the word delete that was typed faster than it was read.
func ReadsAsKey(msg tea.KeyMsg) bool {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return false
	}
	name := string(msg.Runes)
	return keyNames[name[strings.LastIndexByte(name, '+')+1:]] || strings.Contains(name, "+")
}

// SplitRunes turns keys typed faster than they were read, which Bubble Tea delivers as one message with several runes, into a
// message each, as the keymap expects them. Pastes and single keys come back as they are. Text fields take the message whole.
func SplitRunes(msg tea.KeyMsg) []tea.KeyMsg {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return []tea.KeyMsg{msg}
	}
	keys := make([]tea.KeyMsg, len(msg.Runes))
	for i := range msg.Runes {
		keys[i] = tea.KeyMsg{Type: tea.KeyRunes, Runes: msg.Runes[i : i+1 : i+1], Alt: msg.Alt}
	}
	return keys
}
