package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"app.sunloop/backend/api"
	"app.sunloop/tui/terminal"
)

// visible is a stream of a command: it writes out what would steer a terminal
// or the direction of text, as \u001b. Names out of files and answers of a
// service reach a terminal as text alone, and JSON stays what it is. It removes
// the marks of site keys, as commands next to a data folder read what is stored.
type visible struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // of a rune that is not whole yet
}

// Write takes text in any parts.
func (v *visible) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := slices.Concat(v.rest, []byte(api.HideSiteKeysInText(string(p))))
	out := make([]byte, 0, len(text))
	for len(text) > 0 && utf8.FullRune(text) {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t':
			out = append(out, byte(r))
		case r == '\r' || terminal.Printable(string(r)) == "":
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		default: // an invalid byte is U+FFFD
			out = utf8.AppendRune(out, r)
		}
		text = text[n:]
	}
	v.rest = append([]byte(nil), text...)
	if _, err := v.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fileOf is the file below a stream, for what asks whether it is a terminal and
// for the console, which draws.
func fileOf(w io.Writer) (*os.File, bool) {
	f, ok := below(w).(*os.File)
	return f, ok
}

// below is what a stream writes to, for bytes that are no text.
func below(w io.Writer) io.Writer {
	if v, ok := w.(*visible); ok {
		return v.w
	}
	return w
}
