package ingest

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// sampled is a record of the file's beginning.
type sampled struct {
	cells  []string
	line   int // of the file
	offset int // first byte
	end    int // first byte of the next record
	next   int // line of the next record
}

func takeSample(text []byte, d dialect) []sampled {
	r := newRecords(text, d.delim, d.offset, d.line)
	var out []sampled
	for len(out) < sampleRecords {
		at := r.at
		if !r.next() {
			break
		}
		s := sampled{line: r.line, offset: at, end: r.at, next: r.lineAt}
		if !empty(r.cells) {
			s.cells = make([]string, len(r.cells))
			for i, c := range r.cells {
				s.cells[i] = string(c)
			}
		}
		out = append(out, s)
	}
	return out
}

// cell returns the text of column c, "" where the record has none.
func (s sampled) cell(c int) string {
	if c < len(s.cells) {
		return s.cells[c]
	}
	return ""
}

func (s sampled) filled() int {
	n := 0
	for _, c := range s.cells {
		if c != "" {
			n++
		}
	}
	return n
}

// annotations begin the lines that an annotated CSV of InfluxDB has above its header.
var annotations = []string{"#group", "#datatype", "#default", "#constant"}

// remark reports whether the line is a comment, not a header that starts with "#".
func (s sampled) remark() bool {
	if len(s.cells) > 0 && slices.Contains(annotations, s.cells[0]) {
		return true
	}
	return s.filled() == 1 && (strings.HasPrefix(s.cells[0], "#") || strings.HasPrefix(s.cells[0], "//")) || isRule(s.cells)
}

// isRule reports whether a record only separates others, as the lines "-----+-----" and "|---|---:|" of printed tables do.
func isRule[T string | []byte](cells []T) bool {
	const shortest = 3 // dashes of a cell
	ruled := false
	for _, c := range cells {
		if len(c) == 0 {
			continue
		}
		dashes := 0
		for _, b := range []byte(c) {
			switch b {
			case '-', '=':
				dashes++
			case '+', ':', ' ':
			default:
				return false
			}
		}
		if dashes < shortest {
			return false
		}
		ruled = true
	}
	return ruled
}

// head is the position of the header and the text above it.
type head struct {
	sample   []sampled
	first    int       // index in sample of the first data record
	stack    []sampled // header lines, top down
	preamble []sampled // lines above them
	column   int       // of the time
	form     timeForm
	index    *titleIndex // of the titles, when they were asked for
}

// timeForm is how a column writes times.
type timeForm uint8

const (
	formNone     timeForm = iota
	formCalendar          // with marks between year, month and day
	formCompact           // 20240615 or longer, digits only
	formEpoch
	formSerial
	formParts // year, month and day in separate columns
)

func formOf(cell string) timeForm {
	b := []byte(cell)
	if _, ok := parseStamp(b); ok {
		if len(strings.Trim(cell, "0123456789")) == 0 {
			return formCompact
		}
		return formCalendar
	}
	if _, ok := parseEpoch(b); ok {
		return formEpoch
	}
	if _, ok := parseSerial(b); ok {
		return formSerial
	}
	return formNone
}

// timeNameRank ranks how likely a column's name denotes the time: a start
// before a time, a time before a date, a column without name before an end. -1:
// it does not denote a time.
func timeNameRank(name string) int {
	if datePattern.MatchString(name) {
		return 4
	}
	h := parseHeader(name)
	rank := -1
	switch {
	case h.any(cStart):
		rank = 5
	case h.any(cTime):
		rank = 4
	case h.any(cDate):
		rank = 3
	case h.any(cEnd):
		rank = 0
	case len(h.tokens) == 0:
		rank = 2
	}
	if rank > 2 && h.any(cEnd) && !h.any(cStart) {
		rank = 1
	}
	if rank > 1 && h.any(cStatus|cCabinet|cCount) && !h.any(cStart) {
		rank = 1 // "inverter startup time"
	}
	if rank == 4 && (zoneNamedIn(name) != nil || contains(h.tokens, "utc")) {
		rank = 5 // "Time (UTC)" rather than "Time (local)"
	}
	return rank
}

// datePattern is a date's pattern as some portals write it above the column.
var datePattern = regexp.MustCompile(`(?i)\b(d{1,2}[./ -]m{1,3}[./ -](y{2,4}|j{2,4}|a{2,4})|m{1,2}[./ -]d{1,2}[./ -]y{2,4}|y{2,4}[./ -]?m{1,2}[./ -]?d{1,2})\b`)

// patternOrder returns the order that a date pattern in a header specifies.
func patternOrder(text string) (dateOrder, bool) {
	m := strings.ToLower(datePattern.FindString(text))
	switch {
	case strings.HasPrefix(m, "d"):
		return dayFirst, true
	case strings.HasPrefix(m, "m"):
		return monthFirst, true
	}
	return dayFirst, false
}

// timeCandidate is a column that reads as times from a record on.
type timeCandidate struct {
	column, first, count int
	form                 timeForm
	rank                 int
	moves                bool // not all of its times are the same
}

// locate finds the time column, the first data record and the header above.
func locate(sample []sampled) (head, error) {
	h := head{sample: sample}
	widest, filled := 0, 0
	for _, s := range sample {
		widest = max(widest, len(s.cells))
		filled = max(filled, s.filled())
	}
	switch {
	case filled == 0:
		return h, refuse(NoDataRows, 0, "the file is empty")
	case widest < 2 || filled < 2:
		return h, refuse(NotCSV, firstFilled(sample).line, "the lines are not divided into columns by comma, semicolon, tab or pipe")
	}
	best := timeCandidate{column: -1}
	forms := make([]timeForm, len(sample))
	for c := range widest {
		for i, s := range sample {
			forms[i] = formOf(s.cell(c))
		}
		for _, form := range []timeForm{formCalendar, formCompact, formEpoch, formSerial} {
			if cand, ok := candidate(sample, forms, c, form); ok && better(cand, best) {
				best = cand
			}
		}
	}
	if best.column < 0 {
		if cand, ok := partsCandidate(sample); ok {
			best = cand
		}
	}
	if best.column < 0 {
		return h, noTimes(sample)
	}
	h.first, h.column, h.form = best.first, best.column, best.form
	h.headerRows()
	if line := h.foreignRows(); line > 0 {
		return h, refuse(InconsistentColumns, line, "rows of data precede the header in line %d: two files were joined", h.stack[0].line)
	}
	if len(h.stack) == 0 {
		return h, refuse(NoHeader, sample[h.first].line, "the data start without a header line, so neither the unit nor the meaning of a column is known")
	}
	return h, nil
}

func firstFilled(sample []sampled) sampled {
	for _, s := range sample {
		if s.filled() > 0 {
			return s
		}
	}
	return sampled{}
}

// candidate looks for the record from which column c, whose cells have the
// given forms, reads as times of one form: this record does, and most of the
// next ones do.
func candidate(sample []sampled, forms []timeForm, c int, form timeForm) (timeCandidate, bool) {
	const ahead = 20
	total := 0
	for _, f := range forms {
		if f == form {
			total++
		}
	}
	if total == 0 {
		return timeCandidate{}, false
	}
	for i := range sample {
		if forms[i] != form {
			continue
		}
		seen, good := 0, 0
		for j := i; j < len(sample) && seen < ahead; j++ {
			if sample[j].filled() > 1 {
				seen++
				if forms[j] == form {
					good++
				}
			}
		}
		if seen == 0 || good*10 < seen*6 {
			continue
		}
		cand := timeCandidate{column: c, first: i, count: total, form: form, rank: 2}
		for j := i + 1; j < len(sample) && !cand.moves; j++ {
			cand.moves = forms[j] == form && sample[j].cell(c) != sample[i].cell(c)
		}
		if above := lineAbove(sample, i); above != nil {
			cand.rank = timeNameRank(above.cell(c))
		}
		switch {
		case form == formCalendar || form == formCompact && c == 0:
			return cand, true
		case form == formEpoch && c == 0, cand.rank >= 3, risesEvenly(sample[i:], c): // plain numbers are times only by their name or if they rise evenly
			return cand, true
		}
		return cand, false
	}
	return timeCandidate{}, false
}

// risesEvenly reports whether the numbers of column c grow by one step from record to record, or stay for the records of one time, as times do.
func risesEvenly(sample []sampled, c int) bool {
	const tolerance, share, fewest = 0.001, 0.8, 4
	var steps []float64
	last := math.NaN()
	for _, s := range sample {
		v, _, ok := parseNumber([]byte(s.cell(c)), plainStyle)
		if !ok {
			continue
		}
		if d := v - last; d != 0 && !math.IsNaN(d) {
			steps = append(steps, d)
		}
		last = v
	}
	if len(steps) < fewest {
		return false
	}
	sorted := slices.Sorted(slices.Values(steps))
	middle := sorted[len(sorted)/2]
	even := 0
	for _, d := range steps {
		if math.Abs(d-middle) <= tolerance*math.Abs(middle)+1e-7 {
			even++
		}
	}
	return float64(even) >= share*float64(len(steps))
}

func lineAbove(sample []sampled, i int) *sampled {
	for i--; i >= 0; i-- {
		if sample[i].filled() > 0 {
			return &sample[i]
		}
	}
	return nil
}

// better prefers a column with many times to one with few, calendar dates to plain
// numbers, then the better name; of equal columns the leftmost is used.
func better(a, b timeCandidate) bool {
	switch {
	case b.column < 0:
		return true
	case a.count*2 < b.count:
		return false
	case b.count*2 < a.count:
		return true
	case a.moves != b.moves: // the bounds of a query are the same in all rows
		return a.moves
	case (a.form == formCalendar) != (b.form == formCalendar):
		return a.form == formCalendar
	}
	return a.rank > b.rank
}

// dateParts name columns that each hold a part of the date.
var dateParts = [3]map[string]bool{
	{"year": true, "jahr": true, "annee": true, "anno": true, "ano": true, "jaar": true, "yyyy": true, "年": true},
	{"month": true, "monat": true, "mois": true, "mese": true, "mes": true, "maand": true, "mm": true, "月": true},
	{"day": true, "tag": true, "jour": true, "giorno": true, "dia": true, "dag": true, "dd": true, "日": true},
}

// dayOfYear names columns that hold the number of the day in its year.
var dayOfYear = regexp.MustCompile(`^(doy|day ?of ?(the )?year|dayofyear|julian( ?day)?|jday|yday|tag des jahres|jour de l'annee|jour julien|dia del ano|giorno dell'anno|dag van het jaar|年积日|通日)$`)

// partColumns returns the columns of year, month and day in a header line, or of year and day of the year, where the month is -1.
func partColumns(cells []string) (parts [3]int, ok bool) {
	for p, names := range dateParts {
		parts[p] = -1
		for c, cell := range cells {
			if names[fold(strings.TrimSpace(cell))] {
				parts[p] = c
				break
			}
		}
	}
	if parts[0] >= 0 && parts[1] < 0 {
		for c, cell := range cells {
			if dayOfYear.MatchString(strings.ReplaceAll(fold(strings.TrimSpace(cell)), "_", " ")) {
				parts[2] = c
				return parts, true
			}
		}
		return parts, parts[2] >= 0 // a day without a month is that of the year
	}
	return parts, parts[0] >= 0 && parts[1] >= 0 && parts[2] >= 0
}

func partsCandidate(sample []sampled) (timeCandidate, bool) {
	for i, s := range sample {
		parts, ok := partColumns(s.cells)
		if !ok || i+1 >= len(sample) {
			continue
		}
		for j := i + 1; j < len(sample); j++ {
			if y := sample[j].cell(parts[0]); len(y) == 4 && strings.Trim(y, "0123456789") == "" {
				return timeCandidate{column: parts[0], first: j, count: len(sample) - j, form: formParts}, true
			}
		}
	}
	return timeCandidate{}, false
}

// noTimes returns the error for a file without a time column.
func noTimes(sample []sampled) error {
	for i, s := range sample {
		timed, measured := false, false
		for _, c := range s.cells {
			h := parseHeader(c)
			timed = timed || h.any(cTime|cDate|cStart) || datePattern.MatchString(c)
			measured = measured || meaningOf(h).role != roleNone
		}
		if !timed || s.filled() < 2 {
			continue
		}
		for _, below := range sample[i+1:] {
			if below.filled() > 1 && (hasNumber(below) || slices.ContainsFunc(below.cells, digitsOnly)) {
				return refuse(NoTimestampColumn, below.line, "no column below the header of line %d holds times that can be read", s.line)
			}
		}
		if measured {
			return refuse(NoDataRows, s.line, "there is a header but no data row below it")
		}
	}
	first := firstFilled(sample)
	if hasNumber(first) && !hasLetters(first) {
		return refuse(NoHeader, first.line, "the data start without a header line, so neither the unit nor the meaning of a column is known")
	}
	return refuse(NoTimestampColumn, first.line, "no column holds dates or times")
}

func hasNumber(s sampled) bool {
	for _, c := range s.cells {
		if c != "" && strings.Trim(c, "0123456789.,+-eE ") == "" && strings.ContainsAny(c, "0123456789") {
			return true
		}
	}
	return false
}

// digitsOnly reports whether a cell holds digits of any script and no letter.
func digitsOnly(cell string) bool {
	return strings.ContainsFunc(cell, unicode.IsDigit) && !strings.ContainsFunc(cell, unicode.IsLetter)
}

func hasLetters(s sampled) bool {
	for _, c := range s.cells {
		for _, t := range tokensOf(c) {
			if !digit(t[0]) {
				return true
			}
		}
	}
	return false
}

// headerRows collects the header lines above the first data record. A line that
// names the time is the topmost one, unless those above leave its cell empty;
// lines of units follow below it, lines of devices and serial numbers precede
// it.
func (h *head) headerRows() {
	const tallest, blanks = 8, 2
	i := h.first - 1
	for skipped := 0; i >= 0 && (h.sample[i].filled() == 0 && skipped < blanks || h.sample[i].remark()); skipped++ {
		i--
	}
	top := i + 1
	for ; i >= 0 && top-i <= tallest; i-- {
		s := h.sample[i]
		if s.filled() == 0 || s.remark() || len(s.cells) < 2 || !hasLetters(s) && s.cell(h.column) != "" {
			break
		}
		name := s.cell(h.column)
		named := name != "" && !datePattern.MatchString(name) && !unitsOnly(s, h.column)
		if h.form == formParts {
			named = true
		}
		h.stack = append([]sampled{s}, h.stack...)
		if named && (i == 0 || !h.sample[i-1].above(s, h.column)) {
			i--
			break
		}
	}
	for ; i >= 0; i-- {
		if h.sample[i].filled() > 0 {
			h.preamble = append([]sampled{h.sample[i]}, h.preamble...)
		}
	}
}

// foreignRows returns the first of several lines above the header that begin with a date
// and hold a number: data of another file; 0 where there are none.
func (h *head) foreignRows() (line int) {
	const several = 3
	n := 0
	for _, s := range h.preamble {
		text := strings.Join(s.cells, ";")
		at := strings.IndexAny(text, ",;\t|")
		if len(h.stack) == 0 || at < 0 || formOf(text[:at]) != formCalendar || !strings.ContainsAny(text[at:], "0123456789") {
			continue
		}
		if n == 0 {
			line = s.line
		}
		n++
	}
	if n < several {
		return 0
	}
	return line
}

// above reports whether a line belongs to the header line below it: its time
// cell is empty, or it distinguishes columns that have the same name in the
// line below.
func (s sampled) above(below sampled, timeColumn int) bool {
	if s.filled() < 2 {
		return false
	}
	if s.cell(timeColumn) == "" {
		return true
	}
	seen := map[string]bool{}
	for _, c := range below.cells {
		if c != "" && seen[c] {
			return len(s.cells) == len(below.cells)
		}
		seen[c] = true
	}
	return false
}

// unitsOnly reports whether the line holds only units, apart from the time.
func unitsOnly(s sampled, timeColumn int) bool {
	n := 0
	for c, cell := range s.cells {
		if c == timeColumn || cell == "" {
			continue
		}
		if _, ok := parseUnit(cell); !ok {
			return false
		}
		n++
	}
	return n > 0
}

// pair is an entry of the preamble: "Unite" is "W".
type pair struct{ key, value string }

// pairs reads the preamble: titles, "key;value" lines, and tables of one line
// of keys above one of values.
func (h *head) pairs() []pair {
	var out []pair
	for i, s := range h.preamble {
		switch {
		case s.filled() == 1:
			for _, c := range s.cells {
				if key, value, ok := strings.Cut(c, ":"); ok && strings.TrimSpace(value) != "" {
					out = append(out, pair{strings.TrimSpace(key), strings.TrimSpace(value)})
				} else if c != "" {
					out = append(out, pair{"", c})
				}
			}
		case len(s.cells) == 2 || s.filled() == 2:
			out = append(out, pair{strings.TrimSuffix(s.cells[0], ":"), s.cell(1)})
		case i+1 < len(h.preamble) && len(h.preamble[i+1].cells) == len(s.cells):
			for c, key := range s.cells {
				if v := h.preamble[i+1].cells[c]; key != "" && v != "" {
					out = append(out, pair{key, v})
				}
			}
		}
	}
	return out
}
