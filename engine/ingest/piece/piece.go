// Package piece splits a large text into pieces that are read in sequence, each with
// the header of the text, so that memory does not grow with its size.
package piece

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"app.sunloop/engine/ingest"
)

// Size is the usual size of a piece in bytes: about a sixth of the memory that reading
// it takes.
const Size = 8 << 20

const (
	longestLine = 1 << 20 // bytes of a line
	maxHeader   = 1 << 20 // bytes of the lines above the data
)

// Piece is a piece of a text.
type Piece struct {
	Data  []byte // with the header of the text
	Start int64  // where it begins in the text, without the header
	Last  bool
}

// Each calls do with the pieces of a text, of about size bytes each. header returns the
// number of the first line of data of the first piece.
func Each(r io.Reader, size int, do func(Piece) error, header func(first []byte) (dataLine int, err error)) error {
	var rest, head []byte
	start, end := int64(0), false
	for n := 1; ; n++ {
		for len(rest) < size+longestLine && !end {
			buf := make([]byte, 1<<20)
			k, err := io.ReadFull(r, buf)
			rest = append(rest, buf[:k]...)
			if end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); err != nil && !end {
				var refusal *ingest.Refusal
				if errors.As(err, &refusal) {
					return refusal
				}
				return fmt.Errorf("read the file: %w", err)
			}
		}
		cut := len(rest)
		if !end || cut > size {
			cut = EndOfLines(rest, size)
		}
		text := rest[:cut]
		if n == 1 {
			line, err := header(text)
			if err != nil {
				return err
			}
			if head = slices.Clone(Header(text, line)); head == nil && cut < len(rest) {
				return &ingest.Refusal{Kind: ingest.TooLarge, Message: "its header does not allow to read it in pieces; a file of this kind may have 10 MB"}
			}
		} else {
			text = slices.Concat(head, text)
		}
		if err := do(Piece{Data: text, Start: start, Last: end && cut == len(rest)}); err != nil {
			return err
		}
		start += int64(cut)
		if rest = slices.Clone(rest[cut:]); end && len(rest) == 0 {
			return nil
		}
	}
}

// EndOfLines returns the end of the last line within most bytes that is not within quotes.
func EndOfLines(data []byte, most int) int {
	data = data[:min(len(data), most)]
	end, quoted := len(data), false
	for i, c := range data {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			end = i + 1
		}
	}
	return end
}

// Header returns the lines above the first line of data; nil if there are none.
func Header(data []byte, dataLine int) []byte {
	at := 0
	for range dataLine - 1 {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 || at+i > maxHeader {
			return nil
		}
		at += i + 1
	}
	if at == 0 {
		return nil
	}
	return data[:at]
}
