package terminal

import (
	"unicode/utf8"
)

const (
	esc = 0x1b
	// longestCSI is far above any key or mouse report; longer sequences are dropped.
	longestCSI = 64
	// longestAnswer bounds the answer strings that are swallowed, so that a lost terminator does not swallow all later keys.
	longestAnswer = 4096
	// longestPaste bounds one paste; the rest is dropped.
	longestPaste = 64 << 10

	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// state is the kind of item that an assembler has begun.
type state uint8

const (
	inGround    state = iota
	inRune            // a UTF-8 rune, perhaps after ESC
	inEscape          // one ESC or two
	inCSI             // ESC [ …
	inLinuxKey        // ESC [ [, the Linux console's function keys: one byte follows
	inSS3             // ESC O …
	inX10Mouse        // ESC [ M: three bytes follow
	inString          // an OSC, DCS, APC, PM or SOS string
	inStringEsc       // ESC within such a string: its end or a new sequence
	inPaste           // between the paste marks: everything passes as it is
	inLateMark        // what follows an ESC that was given out may be the rest of a paste mark
)

// assembler cuts a byte stream into whole keys: it appends a sequence or a rune to its output when its last byte has come,
// however the connection splits the stream. Responses of the terminal are removed.
type assembler struct {
	state   state
	pending []byte // the sequence or rune begun
	need    int    // bytes still missing of a rune or an X10 mouse report
	lead    int    // ESC bytes before a rune
	text    []byte // the string begun, without its introducer
	count   int    // bytes of the string or paste so far
	match   int    // bytes of pasteEnd matched
	lone    bool   // the newest that was given out is a lone ESC
	out     []byte
	answer  func(kind byte, text []byte)
}

// feed adds bytes and appends complete items to a.out.
func (a *assembler) feed(in []byte) {
	for _, b := range in {
		a.take(b)
	}
}

// partial reports an item begun and not finished.
func (a *assembler) partial() bool { return a.state != inGround && a.state != inPaste }

// flushEscape emits a lone ESC if nothing followed in time.
func (a *assembler) flushEscape() {
	switch a.state {
	case inEscape:
		a.emit()
		a.lone = true
	case inLateMark: // keys that were typed
		a.emit()
	}
}

// discardPartial drops an incomplete item, and ends a paste that was not ended.
func (a *assembler) discardPartial() {
	if a.state == inPaste {
		a.out = append(a.out, pasteEnd...)
	}
	a.reset()
}

func (a *assembler) reset() {
	a.state, a.pending, a.text = inGround, a.pending[:0], a.text[:0]
}

// emit appends the pending item to the output.
func (a *assembler) emit() {
	a.out = append(a.out, a.pending...)
	a.reset()
}

// restart drops what is pending and starts again with the byte.
func (a *assembler) restart(b byte) {
	a.reset()
	a.take(b)
}

func (a *assembler) take(b byte) {
	switch a.state {
	case inGround:
		if lone := a.lone; lone && b == pasteBegin[1] {
			a.pending, a.state = append(a.pending[:0], b), inLateMark
		} else {
			a.ground(b)
		}
		a.lone = false
	case inLateMark:
		a.lateMark(b)
	case inRune:
		a.rune(b)
	case inEscape:
		a.escape(b)
	case inCSI:
		a.csi(b)
	case inLinuxKey:
		a.pending = append(a.pending, b)
		a.emit()
	case inSS3:
		a.ss3(b)
	case inX10Mouse:
		a.pending = append(a.pending, b)
		if a.need--; a.need == 0 {
			a.emit()
		}
	case inString:
		a.str(b)
	case inStringEsc:
		if b == '\\' {
			a.answered()
			return
		}
		a.reset()
		a.begin()
		a.take(b)
	case inPaste:
		a.paste(b)
	}
}

// lateMark takes a byte after an ESC that came so late that it was given out as a
// key: the rest of the mark that begins a paste begins one all the same, so that
// what is pasted never becomes keys.
func (a *assembler) lateMark(b byte) {
	if b != pasteBegin[1+len(a.pending)] {
		a.emit()
		a.take(b)
		return
	}
	a.pending = append(a.pending, b)
	if 1+len(a.pending) == len(pasteBegin) {
		a.out = append(a.out, pasteBegin...)
		a.reset()
		a.state, a.count, a.match = inPaste, 0, 0
	}
}

func (a *assembler) begin() { a.pending, a.state = append(a.pending[:0], esc), inEscape }

func (a *assembler) ground(b byte) {
	switch {
	case b == esc:
		a.begin()
	case b < utf8.RuneSelf:
		a.out = append(a.out, b)
	default:
		a.beginRune(b)
	}
}

// beginRune starts a rune of several bytes, after the ESC bytes pending; a byte that starts none is dropped with them.
func (a *assembler) beginRune(b byte) {
	switch {
	case b >= 0xc2 && b <= 0xdf:
		a.need = 1
	case b >= 0xe0 && b <= 0xef:
		a.need = 2
	case b >= 0xf0 && b <= 0xf4:
		a.need = 3
	default:
		a.reset()
		return
	}
	a.lead = len(a.pending)
	a.pending = append(a.pending, b)
	a.state = inRune
}

func (a *assembler) rune(b byte) {
	if b&0xc0 != 0x80 {
		a.restart(b)
		return
	}
	a.pending = append(a.pending, b)
	if a.need--; a.need > 0 {
		return
	}
	if utf8.Valid(a.pending[a.lead:]) {
		a.emit()
		return
	}
	a.reset()
}

func (a *assembler) escape(b byte) {
	switch b {
	case esc:
		if len(a.pending) == 2 { // ESC ESC ESC: the first two are a key of their own
			a.emit()
			a.begin()
			return
		}
		a.pending = append(a.pending, b)
		return
	case '[':
		a.state = inCSI
	case 'O':
		a.state = inSS3
	case ']', 'P', '_', '^', 'X':
		a.state, a.count = inString, 0
		a.text = append(a.text[:0], b)
	default:
		if b >= utf8.RuneSelf {
			a.beginRune(b)
			return
		}
		a.pending = append(a.pending, b)
		a.emit()
		return
	}
	a.pending = append(a.pending, b)
}

func (a *assembler) csi(b byte) {
	first := a.pending[len(a.pending)-1] == '['
	switch {
	case b < 0x20 || b >= 0x7f || len(a.pending) >= longestCSI:
		a.restart(b)
	case first && b == '[':
		a.pending = append(a.pending, b)
		a.state = inLinuxKey
	case first && b == 'M':
		a.pending = append(a.pending, b)
		a.state, a.need = inX10Mouse, 3
	case b < 0x40:
		a.pending = append(a.pending, b)
	default:
		a.pending = append(a.pending, b)
		a.finishCSI()
	}
}

// finishCSI emits a complete CSI sequence unless it is a response or a misplaced paste mark.
func (a *assembler) finishCSI() {
	switch seq := string(a.pending); {
	case seq == pasteBegin:
		a.emit()
		a.state, a.count, a.match = inPaste, 0, 0
	case seq == pasteEnd:
		a.reset()
	case len(seq) > 3 && seq[2] == '?':
		// No key is reported with a question mark: these are device attributes, modes and the like.
		a.deliverReply('?', a.pending[3:])
		a.reset()
	case seq[len(seq)-1] == 't':
		// No key is reported with this either: it is the size of the window or of a cell.
		a.deliverReply('t', a.pending[2:])
		a.reset()
	default:
		a.emit()
	}
}

func (a *assembler) ss3(b byte) {
	switch {
	case b < 0x20 || b >= 0x7f || len(a.pending) >= longestCSI:
		a.restart(b)
	case b < 0x40:
		a.pending = append(a.pending, b)
	default:
		a.pending = append(a.pending, b)
		a.emit()
	}
}

func (a *assembler) str(b byte) {
	a.count++
	switch {
	case b == '\a':
		a.answered()
	case b == esc:
		a.state = inStringEsc
	case b < 0x20:
		// No response contains a control character: its end was lost, and this is a key.
		a.restart(b)
	case a.count > longestAnswer:
		a.reset()
	default:
		a.text = append(a.text, b)
	}
}

// answered passes a complete string to the waiting request.
func (a *assembler) answered() {
	if len(a.text) > 1 {
		a.deliverReply(a.text[0], a.text[1:])
	}
	a.reset()
}

func (a *assembler) deliverReply(kind byte, text []byte) {
	if a.answer != nil {
		a.answer(kind, text)
	}
}

func (a *assembler) paste(b byte) {
	a.count++
	switch b {
	case pasteEnd[a.match]:
		a.match++
	case esc:
		a.match = 1
	default:
		a.match = 0
	}
	ended := a.match == len(pasteEnd)
	switch {
	case a.count <= longestPaste:
		a.out = append(a.out, b)
	case ended:
		// Some bytes of the mark may have gone out below the limit; a whole one ends the paste in any case.
		a.out = append(a.out, pasteEnd...)
	}
	if ended {
		a.reset()
	}
}
