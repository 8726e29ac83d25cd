package ingest

import "bytes"

// Limits that no line of an export reaches. Beyond them, reading a file would need
// a hundred times its size.
const (
	maxColumns   = 5000 // as wide as the units of the largest plants
	maxLineBytes = 1 << 20
)

// bounded refuses a text with a line that is longer or has more columns than
// any export.
func bounded(text []byte) error {
	long := 0 // bytes that are known to have no line feed
	for line := 1; len(text) > 0; line++ {
		// Most lines end with a line feed and are too short for too many columns, wherever they have carriage returns.
		if long <= 0 {
			if end := bytes.IndexByte(text[:min(len(text), maxColumns+1)], '\n'); end >= 0 {
				text = text[end+1:]
				continue
			}
			long = maxColumns
		}
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
		text, long = text[end:], long-end-1
		switch {
		case len(text) > 1 && text[0] == '\r' && text[1] == '\n':
			text = text[2:]
		case len(text) > 0:
			text = text[1:]
		}
	}
	return nil
}
