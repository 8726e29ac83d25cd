package ingest

import "bytes"

// records reads the records of delimited text without copying it. Quotes follow
// RFC 4180, except that a quote that is never closed, or in the middle of a cell, is
// an ordinary character.
type records struct {
	text   []byte
	delim  byte
	ends   [256]bool // the bytes that end a cell
	at     int       // next byte
	lineAt int       // line of the next byte, from 1

	line  int      // line on which the current record starts
	cells [][]byte // of the current record, trimmed and unquoted; valid until next

	noCloseBefore int // no cell that starts before here has a closing quote
}

// maxQuoted bounds the search for a closing quote, so that one stray quote cannot
// turn a whole file into one cell.
const maxQuoted = 16 << 10

func newRecords(text []byte, delim byte, offset, line int) *records {
	r := &records{text: text, delim: delim, at: offset, lineAt: line}
	r.ends[delim], r.ends['\n'], r.ends['\r'] = true, true, true
	return r
}

// next moves to the next record; false at the end. A blank line is a record
// without cells.
func (r *records) next() bool {
	if r.at >= len(r.text) {
		return false
	}
	r.line = r.lineAt
	cells := r.cells[:0]
	for end := false; !end; {
		var cell []byte
		cell, end = r.cell()
		cells = append(cells, cell)
	}
	if len(cells) == 1 && len(cells[0]) == 0 {
		cells = cells[:0]
	}
	r.cells = cells
	return true
}

// cell reads one cell and its delimiter. end reports that the record ends as
// well.
func (r *records) cell() (cell []byte, end bool) {
	i := r.at
	for i < len(r.text) && r.text[i] == ' ' {
		i++
	}
	if i < len(r.text) && r.text[i] == '"' && i >= r.noCloseBefore {
		if cell, end, ok := r.quoted(i + 1); ok {
			return cell, end
		}
	}
	if i+1 < len(r.text) && r.text[i] == '=' && r.text[i+1] == '"' && i >= r.noCloseBefore {
		if cell, end, ok := r.quoted(i + 2); ok {
			return cell, end
		}
	}
	text, ends := r.text, &r.ends
	for i = r.at; i < len(text) && !ends[text[i]]; {
		i++
	}
	cell = text[r.at:i]
	if n := len(cell); n > 0 && (edge(cell[0]) || edge(cell[n-1])) {
		cell = trim(cell)
	}
	return cell, r.pass(i)
}

// quoted reads a cell whose text starts at i, after the quote. ok is false
// where no quote followed by a delimiter or a line end closes it.
func (r *records) quoted(i int) (cell []byte, end, ok bool) {
	limit := min(len(r.text), i+maxQuoted)
	doubled := false
	for j := i; j < limit; j++ {
		if r.text[j] != '"' {
			continue
		}
		if j+1 < len(r.text) && r.text[j+1] == '"' {
			doubled = true
			j++
			continue
		}
		k := j + 1
		for k < len(r.text) && r.text[k] == ' ' {
			k++
		}
		if k < len(r.text) && r.text[k] != r.delim && r.text[k] != '\n' && r.text[k] != '\r' {
			continue
		}
		cell = r.text[i:j]
		r.lineAt += bytes.Count(cell, []byte{'\n'})
		if doubled {
			cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
		}
		return withoutFormula(trim(cell)), r.pass(k), true
	}
	r.noCloseBefore = limit
	return nil, false, false
}

// pass moves past the delimiter or line end at i.
func (r *records) pass(i int) (end bool) {
	if i < len(r.text) && r.text[i] == r.delim {
		// A delimiter as the last byte would be followed by an empty
		// cell, which is ignored.
		r.at = i + 1
		return r.at >= len(r.text)
	}
	if i < len(r.text) && r.text[i] == '\r' {
		i++
		if i < len(r.text) && r.text[i] == '\n' {
			i++
		}
	} else if i < len(r.text) {
		i++
	}
	r.at, r.lineAt = i, r.lineAt+1
	return true
}

// trim cuts blanks of all kinds, NUL bytes of loggers that lost power
// included.
func trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	if len(b) > 1 && (b[0] == 0xc2 || b[len(b)-1] == 0xa0) {
		b = bytes.Trim(b, "\u00a0 ")
	}
	return b
}

// edge reports whether a byte at the end of a cell may be one to trim, or part
// of one.
func edge(c byte) bool { return c <= ' ' || c >= 0x80 }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == 0 || c == '\r' || c == '\n' }

// empty reports whether a record holds no text.
func empty(cells [][]byte) bool {
	for _, c := range cells {
		if len(c) > 0 {
			return false
		}
	}
	return true
}
