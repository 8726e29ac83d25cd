package ingest

import (
	"bytes"
	"strings"
)

// dialect is how records are written.
type dialect struct {
	delim   byte
	decimal byte // '.' or ',' where the file itself announces it, else 0
	offset  int  // first byte after a sep= line
	line    int  // line of offset
	why     string
}

// delimiters in order of reliability: a comma may also be a decimal mark.
var delimiters = []byte{';', '\t', '|', ','}

var delimiterNames = map[byte]string{';': "semicolon", '\t': "tab", '|': "pipe", ',': "comma"}

// sampleRecords is the number of records that are examined to determine the
// layout.
const sampleRecords = 400

// sniff finds the delimiter: the one that the file names, else the one that splits
// most records into the same number of clean cells.
func sniff(text []byte) dialect {
	d := dialect{line: 1}
	if first, rest, ok := cutLine(text); ok || len(first) > 0 {
		low := strings.ToLower(strings.Trim(string(first), "\" \r"))
		if sep, found := strings.CutPrefix(low, "sep="); found && len(sep) == 1 && bytes.IndexByte(delimiters, sep[0]) >= 0 {
			d.delim, d.why = sep[0], "named by the sep= line"
			d.offset, d.line = len(text)-len(rest), 2
		}
	}
	d.announced(text[d.offset:])
	if d.delim != 0 {
		return d
	}
	best := 0.0
	for _, delim := range delimiters {
		if score := splitScore(text, delim); score > best {
			best, d.delim = score, delim
		}
	}
	d.why = "splits the records most evenly"
	return d
}

func cutLine(text []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 {
		return text, nil, false
	}
	rest = text[i:]
	if bytes.HasPrefix(rest, []byte("\r\n")) {
		return text[:i], rest[2:], true
	}
	return text[:i], rest[1:], true
}

// announced reads declarations such as "Version CSV1|…|Delimiter semicolon|
// Decimalpoint comma" from the first lines.
func (d *dialect) announced(text []byte) {
	marks := map[string]byte{"comma": ',', "dot": '.', "point": '.', "semicolon": ';', "tab": '\t', "tabulator": '\t', "pipe": '|'}
	for range 5 {
		line, rest, more := cutLine(text)
		for _, part := range strings.FieldsFunc(strings.ToLower(string(line)), func(r rune) bool { return r == '|' || r == ';' || r == '\t' }) {
			words := strings.Fields(part)
			if len(words) != 2 {
				continue
			}
			switch mark := marks[words[1]]; {
			case words[0] == "delimiter" && mark != 0 && mark != '.' && d.delim == 0:
				d.delim, d.why = mark, "named in the preamble"
			case words[0] == "decimalpoint" && (mark == '.' || mark == ','):
				d.decimal = mark
			}
		}
		if !more {
			return
		}
		text = rest
	}
}

// splitScore returns the share of records with the commonest number of cells (two
// at least), lowered where cells still hold another delimiter, and raised if all
// records have that number, the header too.
func splitScore(text []byte, delim byte) float64 {
	r := newRecords(text, delim, 0, 1)
	counts := map[int]int{}
	cells, dirty, total := 0, 0, 0
	for total < sampleRecords && r.next() {
		if empty(r.cells) {
			continue
		}
		total++
		counts[len(r.cells)]++
		if len(r.cells) < 2 {
			continue
		}
		for _, c := range r.cells {
			cells++
			if bytes.ContainsAny(c, otherDelimiters(delim)) {
				dirty++
			}
		}
	}
	best := 0
	for n, count := range counts {
		if n >= 2 {
			best = max(best, count)
		}
	}
	if total == 0 || cells == 0 {
		return 0
	}
	const fewest, whole = 3, 0.15
	score := float64(best) / float64(total) * (1 - float64(dirty)/float64(cells)/2)
	if best == total && total >= fewest {
		score += whole
	}
	return score
}

// otherDelimiters does not contain the comma: inside cells it is a decimal mark.
func otherDelimiters(delim byte) string {
	return strings.ReplaceAll(";\t|", string(delim), "")
}
