package ingest

// read is the time of a record; false where there is none.
func (p *timePlan) read(cells [][]byte) (stamp, bool) {
	if p.form == formParts {
		return p.readParts(cells)
	}
	if p.column >= len(cells) {
		return stamp{}, false
	}
	cell := cells[p.column]
	var s stamp
	var ok bool
	switch p.form {
	case formEpoch:
		s, ok = parseEpoch(cell)
	case formSerial:
		s, ok = parseSerial(cell)
	default:
		s, ok = p.calendar(cell)
	}
	if !ok {
		return s, false
	}
	switch {
	case p.clock >= 0:
		sec, zone, ok := parseClock(cellAt(cells, p.clock))
		if !ok {
			return s, false
		}
		s.sec, s.hasClock = sec, true
		if zone.known || zone.abbr != "" {
			s.zone = zone
		}
	case p.hour >= 0:
		h, ok := smallNumber(cellAt(cells, p.hour))
		if !ok || h > 24 {
			return s, false
		}
		s.sec, s.hasClock = h*hour, true
	}
	return s, true
}

// calendar reads a date and time. The rows of one day follow one another, so
// the date of the row before is kept.
func (p *timePlan) calendar(cell []byte) (stamp, bool) {
	const date = len("2024-06-15")
	if len(cell) > date+1 && (cell[date] == ' ' || cell[date] == 'T') && string(cell[:date]) == p.dayText {
		s, c := p.day, cursor{cell[date+1:]}
		if c.clock(&s) && c.finish(&s) {
			return s, true
		}
	}
	s, ok := parseStamp(cell)
	if ok && len(cell) > date+1 && (cell[date] == ' ' || cell[date] == 'T') {
		if only, ok := parseStamp(cell[:date]); ok && !only.hasClock {
			p.dayText, p.day = string(cell[:date]), only
		}
	}
	return s, ok
}

func (p *timePlan) readParts(cells [][]byte) (stamp, bool) {
	y, ok1 := smallNumber(cellAt(cells, p.parts[0]))
	m, ok2 := smallNumber(cellAt(cells, p.parts[1]))
	d, ok3 := smallNumber(cellAt(cells, p.parts[2]))
	s := stamp{year: y, a: d, b: m, sure: true}
	if !ok1 || !ok2 || !ok3 || y < 1900 || y > 2200 {
		return s, false
	}
	if p.hour >= 0 {
		h, ok := smallNumber(cellAt(cells, p.hour))
		if !ok || h > 24 {
			return s, false
		}
		s.sec, s.hasClock = h*hour, true
	}
	if p.minute >= 0 {
		m, ok := smallNumber(cellAt(cells, p.minute))
		if !ok || m > 59 {
			return s, false
		}
		s.sec += m * minute
	}
	return s, true
}

// smallNumber reads up to four digits.
func smallNumber(cell []byte) (int, bool) {
	c := cursor{cell}
	v, n := c.number()
	return v, n > 0 && n <= 4 && len(c.b) == 0
}
