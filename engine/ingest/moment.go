package ingest

import (
	"bytes"
	"strconv"
)

// read stores the time of a record in p.now. It returns false if there is none.
func (p *timePlan) read(cells [][]byte) bool {
	if p.form == formParts {
		return p.readParts(cells)
	}
	if p.column >= len(cells) {
		return false
	}
	cell := cells[p.column]
	ok := false
	switch p.form {
	case formEpoch:
		p.now, ok = parseEpoch(cell)
	case formSerial:
		p.now, ok = parseSerial(cell)
	default:
		ok = p.calendar(cell)
	}
	if !ok {
		return false
	}
	if p.offset >= 0 {
		p.readOffset(cells)
	}
	switch {
	case p.clock >= 0:
		sec, zone, ok := parseClock(cellAt(cells, p.clock))
		if !ok {
			return false
		}
		p.now.sec, p.now.hasClock = sec, true
		if zone.known || zone.abbr != "" {
			p.now.zone = zone
		}
	case p.hour >= 0:
		h, ok := smallNumber(cellAt(cells, p.hour))
		if !ok || h > 24 {
			return false
		}
		p.now.sec, p.now.hasClock = h*hour, true
		if p.minute >= 0 {
			m, ok := smallNumber(cellAt(cells, p.minute))
			if !ok || m > 59 {
				return false
			}
			p.now.sec += m * minute
		}
	case p.slot.column >= 0:
		sec, ok := p.slot.read(cellAt(cells, p.slot.column))
		if !ok {
			return false
		}
		p.now.sec, p.now.hasClock = sec, true
	}
	return true
}

// readOffset takes the offset from UTC out of a column that holds it.
func (p *timePlan) readOffset(cells [][]byte) {
	cell := cellAt(cells, p.offset)
	if isHourOffset(string(cell)) {
		h, _ := strconv.Atoi(string(cell))
		p.now.zone = zoneMark{known: true, offset: h * hour}
		return
	}
	c := cursor{cell}
	if zone := c.zone(); zone.known || zone.abbr != "" {
		p.now.zone = zone
	}
}

// isHourOffset reports whether a cell is an offset from UTC in hours, "-5".
func isHourOffset(cell string) bool {
	h, err := strconv.Atoi(cell)
	return err == nil && h >= -12 && h <= 14
}

// isOffset reports whether a cell holds an offset from UTC: a sign with hours and minutes, or the letters of a zone.
func isOffset(cell string) bool {
	c := cursor{[]byte(cell)}
	if name := c.word(); name != "" {
		if _, known := zoneOffsets[name]; !known {
			return false
		}
		if len(c.b) == 0 {
			return true
		}
	}
	digits := len(c.b)
	_, ok := c.offset()
	return ok && len(c.b) == 0 && digits >= len("+0100")
}

// calendar reads a date with or without a time of day. The rows of one day
// follow one another, so the date of the row before is kept.
func (p *timePlan) calendar(cell []byte) bool {
	n := len(p.dayText)
	if n > 0 && len(cell) >= n && string(cell[:n]) == p.dayText {
		p.now = p.day
		if len(cell) == n || dateEnds(cell, n) && p.now.clock(cell[n+1:]) {
			return true
		}
	}
	var ok bool
	p.now, ok = parseStamp(cell)
	if !ok {
		return false
	}
	end := 1
	for end < len(cell) && !dateEnds(cell, end) {
		end++
	}
	if date, ok := parseStamp(cell[:end]); ok && !date.hasClock {
		p.dayText, p.day = string(cell[:end]), date
	}
	return true
}

// dateEnds reports whether the date of a cell may end before byte n, followed
// by a time of day.
func dateEnds(cell []byte, n int) bool { return cell[n] == ' ' || cell[n] == 'T' }

// clock reads the time of day that follows a date.
func (s *stamp) clock(text []byte) bool {
	if sec, ok := plainClock(text); ok {
		s.sec, s.hasClock = sec, true
		return true
	}
	if len(text) == len("14-15-00") && text[2] == '-' && text[5] == '-' { // of the name of a file, no range
		sec, ok := plainClock(bytes.ReplaceAll(text, []byte{'-'}, []byte{':'}))
		s.sec, s.hasClock = sec, ok
		return ok
	}
	c := cursor{text}
	return c.clock(s) && c.finish(s)
}

func (p *timePlan) readParts(cells [][]byte) bool {
	y, ok1 := smallNumber(cellAt(cells, p.parts[0]))
	d, ok2 := smallNumber(cellAt(cells, p.parts[2]))
	if !ok1 || !ok2 || y < 1900 || y > 2200 {
		return false
	}
	var s stamp
	if p.parts[1] < 0 {
		if !s.setDayOfYear(y, d) {
			return false
		}
	} else {
		m, ok := smallNumber(cellAt(cells, p.parts[1]))
		if !ok {
			return false
		}
		s.date = date{year: y, a: d, b: m, sure: true}
	}
	if p.clock >= 0 {
		v, ok := smallNumber(cellAt(cells, p.clock)) // hhmm
		if !ok || v%100 > 59 || v > 2400 {
			return false
		}
		s.sec, s.hasClock = v/100*hour+v%100*minute, true
	}
	if p.hour >= 0 {
		h, ok := smallNumber(cellAt(cells, p.hour))
		if !ok || h > 24 {
			return false
		}
		s.sec, s.hasClock = h*hour, true
	}
	if p.minute >= 0 {
		m, ok := smallNumber(cellAt(cells, p.minute))
		if !ok || m > 59 {
			return false
		}
		s.sec += m * minute
	}
	p.now = s
	return true
}

// smallNumber reads up to four digits.
func smallNumber(cell []byte) (int, bool) {
	c := cursor{cell}
	v, n := c.number()
	return v, n > 0 && n <= 4 && len(c.b) == 0
}
