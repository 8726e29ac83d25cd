package ingest

import (
	"bytes"
	"time"
)

// dateOrder is the order of day and month in a numeric date.
type dateOrder uint8

const (
	dayFirst   dateOrder = iota // 31.12.2024
	monthFirst                  // 12/31/2024
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// stamp is a time as it is written: a date, a time of day and perhaps a zone.
type stamp struct {
	date
	sec      int // second of the day, up to 24:00:00
	zone     zoneMark
	unix     int64 // instead of all the above, where absolute
	absolute bool
	hasClock bool
	dotted   bool // 31.12.2024: a dot between day and month
}

// date is a day as it is written.
type date struct {
	year int
	a, b int  // day and month; month and day if the order is monthFirst
	sure bool // a is the day and b the month whatever the order
}

// zoneMark is the zone information in a time.
type zoneMark struct {
	known  bool
	offset int    // seconds east of UTC, when known
	abbr   string // letters such as "CEST" whose offset depends on the zone
}

// wallClock turns stamps into times as if they were UTC. The rows of one day
// are adjacent, so it keeps the last midnight.
type wallClock struct {
	order    dateOrder
	date     date
	midnight int64
	exists   bool
}

// wall returns the wall time of a stamp, and false if the date does not exist.
func (w *wallClock) wall(s *stamp) (int64, bool) {
	if s.absolute {
		return s.unix, true
	}
	if w.date != s.date {
		w.date = s.date
		w.midnight, w.exists = s.midnight(w.order)
	}
	return w.midnight + int64(s.sec), w.exists
}

// midnight returns the start of a date as if it were UTC, and false if the date does
// not exist.
func (d date) midnight(order dateOrder) (int64, bool) {
	dom, month := d.a, d.b
	if !d.sure && order == monthFirst {
		dom, month = month, dom
	}
	if month < 1 || month > 12 || dom < 1 || dom > daysIn(d.year, month) {
		return 0, false
	}
	return civil(d.year, month, dom) * day, true
}

func daysIn(y, m int) int {
	switch {
	case m == 2 && (y%4 == 0 && y%100 != 0 || y%400 == 0):
		return 29
	case m == 2:
		return 28
	case m == 4 || m == 6 || m == 9 || m == 11:
		return 30
	}
	return 31
}

// civil returns the number of days from 1970-01-01 to a date of the Gregorian
// calendar. Years are counted from March so that the leap day is the last.
func civil(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	return int64(era*146097+yoe*365+yoe/4-yoe/100+doy) - 719468
}

// cursor reads a cell from left to right.
type cursor struct{ b []byte }

func (c *cursor) peek() byte {
	if len(c.b) == 0 {
		return 0
	}
	return c.b[0]
}

func (c *cursor) skipBlanks() {
	for {
		switch {
		case len(c.b) > 0 && blank(c.b[0]):
			c.b = c.b[1:]
		case len(c.b) > 2 && c.b[0] == 0xe2 && c.b[1] == 0x80 && c.b[2] == 0xaf: // narrow blank before AM
			c.b = c.b[3:]
		case len(c.b) > 1 && c.b[0] == 0xc2 && c.b[1] == 0xa0:
			c.b = c.b[2:]
		default:
			return
		}
	}
}

// number reads digits; n is how many, 0 for none.
func (c *cursor) number() (v, n int) {
	for n < len(c.b) && n < 15 && digit(c.b[n]) {
		v = v*10 + int(c.b[n]-'0')
		n++
	}
	c.b = c.b[n:]
	return v, n
}

func (c *cursor) word() string {
	n := 0
	for n < len(c.b) && (c.b[n] >= 'a' && c.b[n] <= 'z' || c.b[n] >= 'A' && c.b[n] <= 'Z' || c.b[n] >= 0x80) {
		n++
	}
	w := string(c.b[:n])
	c.b = c.b[n:]
	return w
}

func (c *cursor) take(prefix string) bool {
	if len(c.b) < len(prefix) || string(c.b[:len(prefix)]) != prefix {
		return false
	}
	c.b = c.b[len(prefix):]
	return true
}

// dateMark consumes the separator between the parts of a date; 'c' for the
// Chinese words.
func (c *cursor) dateMark() (mark byte, ok bool) {
	switch m := c.peek(); {
	case m == '-' || m == '/' || m == '.' || m == ' ':
		c.b = c.b[1:]
		if m == '.' && c.peek() == ' ' { // "1. 6. 2024"
			c.b = c.b[1:]
		}
		return m, true
	case m < 0x80:
		return 0, false
	}
	for _, m := range []string{"年", "月", "日", "년", "월", "일"} {
		if c.take(m) {
			return 'c', true
		}
	}
	return 0, false
}

// parseStamp reads a date with or without a time of day. Of a range "a - b"
// it reads the start.
func parseStamp(cell []byte) (s stamp, ok bool) {
	if n := len(cell); n > 2 && cell[0] == '\'' { // as text in a spreadsheet, or in quotes of a query
		cell = bytes.TrimSuffix(cell[1:], []byte("'"))
	}
	c := cursor{cell}
	c.skipBlanks()
	if !digit(c.peek()) && !c.leadingWord(&s) {
		return s, false
	}
	if s.b == 0 && !c.numericDate(&s) {
		return s, false
	}
	if s.year < 100 {
		s.year += 2000
	}
	if len(c.b) == 0 {
		return s, true
	}
	if c.fileClock(&s) {
		return s, true
	}
	switch c.peek() {
	case 'T', 't', ',', ':', '_', ' ', '\t', '-':
		c.b = c.b[1:]
	default:
		if !digit(c.peek()) || !bytes.Contains(cell, []byte("日")) && !bytes.Contains(cell, []byte("일")) { // 2024年5月6日09:00
			return s, false
		}
	}
	c.skipBlanks()
	if len(c.b) == 0 {
		return s, true
	}
	half := c.leadingHalf()
	if !c.clock(&s) || half != 0 && !s.setHalf(half) {
		return s, false
	}
	return s, c.finish(&s)
}

// summaryWords precede the date of a summary row: "Total 2024-06-14".
var summaryWords = map[string]bool{
	"total": true, "totals": true, "totale": true, "totaal": true, "gesamt": true, "sum": true, "summe": true, "somme": true, "somma": true, "suma": true, "soma": true, "subtotal": true,
	"average": true, "avg": true, "mean": true, "mittelwert": true, "moyenne": true, "media": true, "max": true, "maximum": true, "min": true, "minimum": true, "peak": true, "daily": true,
}

// leadingWord reads "Sat 01.06.2024" up to the date, or all of the date of
// "Jun 14, 2024".
func (c *cursor) leadingWord(s *stamp) bool {
	w := c.word()
	if w == "" || len(w) > 24 {
		return false
	}
	if first, ok := eras[w]; ok && digit(c.peek()) {
		return c.eraDate(s, first)
	}
	rest := len(c.b)
	c.take(".")
	c.take(",")
	c.skipBlanks()
	apart := len(c.b) < rest
	month := monthNamed(w)
	if month == 0 && len(w) <= 12 && !digit(c.peek()) { // "Friday, June 20, 2025"
		if month = monthNamed(c.word()); month == 0 {
			return false
		}
		c.take(".")
		c.skipBlanks()
	}
	if month == 0 {
		return apart && len(w) <= 12 && digit(c.peek()) && !summaryWords[fold(w)] // a weekday, in any language
	}
	d, n := c.number()
	if n == 0 || n > 2 {
		return false
	}
	c.take(",")
	c.skipBlanks()
	if len(c.b) > 2 && digit(c.b[0]) && digit(c.b[1]) && c.b[2] == ':' { // "Wed Jun 10 14:15:00 CEST 2026"
		if !c.clock(s) {
			return false
		}
		c.skipBlanks()
		s.zone = c.zone()
		c.skipBlanks()
		defer func() { c.b = nil }() // nothing follows the year
		if len(c.b) != len("2026") {
			return false
		}
	}
	y, n := c.number()
	s.year, s.a, s.b, s.sure = y, d, month, true
	return n == 4
}

// eras are the years before the first one of the eras of Japan.
var eras = map[string]int{"R": 2018, "令和": 2018, "H": 1988, "平成": 1988}

// eraDate reads "R8.06.10" and "令和8年6月10日" after the name of the era; before is the year before its first.
func (c *cursor) eraDate(s *stamp, before int) bool {
	y, n := c.number()
	mark, ok := c.dateMark()
	if n < 1 || n > 2 || !ok {
		return false
	}
	return c.monthAndDay(s, before+y, mark)
}

// numericDate reads a date that starts with a digit.
func (c *cursor) numericDate(s *stamp) bool {
	v, n := c.number()
	switch n {
	case 4:
		return c.yearFirst(s, v)
	case 8, 10, 12, 14:
		return c.compactDate(s, v, n)
	case 7: // 2026161T1430
		return c.peek() == 'T' && v/1000 >= 1900 && s.setDayOfYear(v/1000, v%1000)
	case 6: // 260615 followed by a time of day
		s.year, s.b, s.a, s.sure = 2000+v/10000, v/100%100, v%100, true
		return (c.peek() == ' ' || c.peek() == '_' || c.peek() == 'T') && s.b >= 1 && s.b <= 12 && s.a >= 1 && s.a <= 31
	case 1, 2:
		return c.dayOrMonthFirst(s, v)
	}
	return false
}

func (c *cursor) yearFirst(s *stamp, year int) bool {
	s.year, s.sure = year, true
	if c.peek() == 'W' {
		return c.weekDate(s, year, false)
	}
	mark, ok := c.dateMark()
	if !ok && c.take("_") { // of the name of a file
		mark, ok = '_', true
	}
	year = gregorian(year)
	if !ok || year < 1900 || year > 2200 {
		return false
	}
	if mark == '-' && c.peek() == 'W' {
		return c.weekDate(s, year, true)
	}
	return c.monthAndDay(s, year, mark)
}

// gregorian converts a year of the Buddhist era, which no Gregorian year of a file can be, to the Gregorian calendar.
func gregorian(year int) int {
	const first, last, ahead = 2543, 2643, 543
	if year >= first && year <= last {
		return year - ahead
	}
	return year
}

// monthAndDay reads the rest of a date that starts with its year, followed by mark.
func (c *cursor) monthAndDay(s *stamp, year int, mark byte) bool {
	s.year, s.sure = year, true
	if digit(c.peek()) {
		var n int
		if s.b, n = c.number(); mark == '-' && n == 3 { // 2026-166, an ordinal date
			return s.setDayOfYear(year, s.b)
		}
	} else {
		s.b = monthNamed(c.word())
	}
	second, ok := c.dateMark()
	if !ok && mark == '_' && c.take("_") {
		second, ok = '_', true
	}
	if !ok || second != mark && mark != 'c' {
		return false
	}
	var n int
	s.a, n = c.number()
	if !c.take("日") && !c.take("일") && mark == '.' {
		c.take(".") // "2026. 06. 15."
	}
	return n > 0 && n <= 2 && s.b >= 1 && s.b <= 12 && s.a >= 1 && s.a <= 31
}

// setDayOfYear sets the date to day n of a year; it returns false if the day does not exist.
func (s *stamp) setDayOfYear(year, n int) bool {
	if n < 1 || n > 366 || n == 366 && daysIn(year, 2) == 28 {
		return false
	}
	month := 1
	for n > daysIn(year, month) {
		n -= daysIn(year, month)
		month++
	}
	s.year, s.a, s.b, s.sure = year, n, month, true
	return true
}

// weekDate reads the rest of an ISO 8601 week date after its year: "W25-1", or "W251" in the basic format.
func (c *cursor) weekDate(s *stamp, year int, extended bool) bool {
	c.take("W")
	if len(c.b) < 2 || !digit(c.b[0]) || !digit(c.b[1]) {
		return false
	}
	week, _ := twoDigits(c.b[0], c.b[1])
	c.b = c.b[2:]
	if extended && !c.take("-") || !digit(c.peek()) {
		return false
	}
	weekday := int(c.b[0] - '0')
	c.b = c.b[1:]
	if week < 1 || week > 53 || weekday < 1 || weekday > 7 || digit(c.peek()) {
		return false
	}
	// The 4th of January is in week 1.
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7)
	t := monday.AddDate(0, 0, (week-1)*7+weekday-1)
	s.year, s.a, s.b, s.sure = t.Year(), t.Day(), int(t.Month()), true
	return true
}

// compactDate splits 20240615, 202406150930 and 20240615093000, and the last two without the century.
func (c *cursor) compactDate(s *stamp, v, n int) bool {
	clock := 0
	switch n {
	case 10: // 2406150930. Unix times from 2020-01-01 to 2033 are no such dates.
		if v < 2001010000 || len(c.b) > 0 || v%100 > 59 || v/100%100 > 23 {
			return false
		}
		clock, v = v%10000, 20000000+v/10000
		s.sec, s.hasClock = clock/100*hour+clock%100*minute, true
	case 12:
		if v/100000000 > 2100 && v%100 <= 60 && v/100%100 <= 59 { // 240615093000
			clock, v = v%1000000, 20000000+v/1000000
			s.sec, s.hasClock = clock/10000*hour+clock/100%100*minute+clock%100, true
			break
		}
		clock, v = v%10000, v/10000
		s.sec, s.hasClock = clock/100*hour+clock%100*minute, true
	case 14:
		clock, v = v%1000000, v/1000000
		s.sec, s.hasClock = clock/10000*hour+clock/100%100*minute+clock%100, true
	}
	s.year, s.b, s.a, s.sure = v/10000, v/100%100, v%100, true
	good := s.year >= 1990 && s.year <= 2100 && s.b >= 1 && s.b <= 12 && s.a >= 1 && s.a <= 31 && s.sec <= day
	return good && (n == 8 || len(c.b) == 0)
}

func (c *cursor) dayOrMonthFirst(s *stamp, first int) bool {
	s.a = first
	mark, ok := c.dateMark()
	if !ok {
		return false
	}
	if w := c.word(); w != "" {
		s.b, s.sure = monthNamed(w), true
		c.take(".")
	} else {
		var n int
		if s.b, n = c.number(); n == 0 || n > 2 {
			return false
		}
	}
	if _, ok := c.dateMark(); !ok {
		return false
	}
	year, n := c.number()
	year = gregorian(year)
	s.year, s.dotted = year, mark == '.'
	small := s.a >= 1 && s.b >= 1 && s.a <= 31 && s.b <= 31 && (s.a <= 12 || s.b <= 12)
	return small && (n == 2 || n == 4) && (n == 2 || year >= 1900 && year <= 2200)
}

// finish reads the zone, and accepts a second time of a range.
func (c *cursor) finish(s *stamp) bool {
	c.skipBlanks()
	bracket := c.take("(")
	s.zone = c.zone()
	c.skipBlanks()
	if bracket && !c.take(")") {
		return false
	}
	if len(c.b) == 0 {
		return true
	}
	for _, dash := range []string{"- ", "-", "–", "—", "/", "to ", "bis "} {
		if c.take(dash) {
			c.skipBlanks()
			return digit(c.peek())
		}
	}
	return false
}

// zone reads Z, "+02:00", "CEST", "UTC+2", "CEST+0200" and "[Europe/Berlin]".
func (c *cursor) zone() zoneMark {
	var z zoneMark
	before := c.b
	if w := c.word(); w != "" {
		if off, ok := zoneOffsets[w]; ok {
			z.known, z.offset = true, off
		} else {
			z.abbr = w
		}
	}
	if off, ok := c.offset(); ok {
		z.known, z.offset, z.abbr = true, off, ""
	}
	if c.peek() == '[' && bytes.HasSuffix(c.b, []byte("]")) {
		c.b = nil
	}
	if !z.known && z.abbr == "" {
		c.b = before
	}
	return z
}

// offset reads +hh, +hhmm or +hh:mm at the end of a cell.
func (c *cursor) offset() (int, bool) {
	sign := 0
	switch c.peek() {
	case '+':
		sign = 1
	case '-':
		sign = -1
	default:
		return 0, false
	}
	rest := cursor{c.b[1:]}
	h, n := rest.number()
	m := 0
	switch {
	case n == 4:
		h, m = h/100, h%100
	case (n == 1 || n == 2) && rest.take(":"):
		if m, n = rest.number(); n != 2 {
			return 0, false
		}
	case n != 1 && n != 2:
		return 0, false
	}
	if h > 14 || m > 59 || len(rest.b) > 0 && rest.peek() != '[' && rest.peek() != ' ' && rest.peek() != ')' {
		return 0, false
	}
	c.b = rest.b
	return sign * (h*hour + m*minute), true
}

// Bounds of bare numbers that can be times.
const (
	firstEpoch  = 946684800  // 2000-01-01
	lastEpoch   = 4102444800 // 2100-01-01
	firstSerial = 36526      // 2000-01-01 as a spreadsheet day, 1900 system
	lastSerial  = 73051      // 2100-01-01
	serialEpoch = 25569      // 1970-01-01
)

// parseEpoch reads Unix seconds, milli-, micro- or nanoseconds.
func parseEpoch(cell []byte) (s stamp, ok bool) {
	whole, _, _ := bytes.Cut(cell, []byte("."))
	if len(whole) < 9 || len(whole) > 19 {
		return s, false
	}
	var v int64
	for _, b := range whole {
		if !digit(b) {
			return s, false
		}
		v = v*10 + int64(b-'0')
	}
	for _, unit := range []int64{1, 1e3, 1e6, 1e9} {
		if t := v / unit; t >= firstEpoch && t < lastEpoch {
			return stamp{absolute: true, unix: t, hasClock: true, zone: zoneMark{known: true}}, true
		}
	}
	return s, false
}

// parseSerial reads a spreadsheet's day number, a local wall time, to the
// nearest second.
func parseSerial(cell []byte) (s stamp, ok bool) {
	style := plainStyle
	if bytes.IndexByte(cell, ',') >= 0 {
		style = numberStyle{decimal: ','}
	}
	v, rest, ok := parseNumber(cell, style)
	if !ok || len(rest) > 0 || v < firstSerial || v >= lastSerial {
		return s, false
	}
	whole := int64((v-serialEpoch)*day + 0.5)
	t := time.Unix(whole, 0).UTC()
	y, m, d := t.Date()
	return stamp{date: date{year: y, a: d, b: int(m), sure: true}, sec: int(((whole % day) + day) % day), hasClock: true}, true
}
