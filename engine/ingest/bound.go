package ingest

import "bytes"

// What a line of any export stays below: beyond it a file of the size of an
// upload would cost a hundred times its size.
const (
	maxColumns   = 5000 // as wide as the units of the largest plants
	maxLineBytes = 1 << 20
)

// bounded refuses a text with a line that is longer or has more columns than
// any export.
func bounded(text []byte) error {
	for line := 1; len(text) > 0; line++ {
		end := bytes.IndexAny(text[:min(len(text), maxLineBytes+1)], "\r\n")
		if end < 0 {
			if len(text) > maxLineBytes {
				return refuse(TooLarge, line, "the line is longer than 1 MB")
			}
			end = len(text)
		}
		if end > maxColumns {
			for _, delim := range []byte(",;\t|") {
				if bytes.Count(text[:end], []byte{delim}) >= maxColumns {
					return refuse(TooLarge, line, "the line has more than %d columns", maxColumns)
				}
			}
		}
		text = text[end:]
		switch {
		case len(text) > 1 && text[0] == '\r' && text[1] == '\n':
			text = text[2:]
		case len(text) > 0:
			text = text[1:]
		}
	}
	return nil
}
