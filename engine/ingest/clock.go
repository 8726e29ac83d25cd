package ingest

import "bytes"

// clock reads "9:30", "09:30:15.250", "0930", "9h30", "13" and "1:30 PM".
func (c *cursor) clock(s *stamp) bool {
	v, n := c.number()
	h, m, sec := v, 0, 0
	switch {
	case n == 4 && (len(c.b) == 0 || c.peek() != ':'):
		h, m = v/100, v%100
	case n == 6 && c.peek() != ':':
		h, m, sec = v/10000, v/100%100, v%100
		if c.take(".") || c.take(",") {
			c.number() // fractions of a second do not matter
		}
	case n == 1 || n == 2:
		if c.hourMark() {
			if m, n = c.number(); n > 2 {
				return false
			}
			if c.take("分") || c.take("분") {
				c.skipBlanks()
				if sec, n = c.number(); n > 0 && !c.take("秒") && !c.take("초") {
					return false
				}
			} else if c.take(":") || c.take(".") {
				if sec, n = c.number(); n == 0 || n > 2 {
					return false
				}
				if c.take(".") || c.take(",") {
					c.number() // fractions of a second do not matter
				}
			}
		}
	default:
		return false
	}
	if half := c.halfOfDay(); half != 0 {
		if h < 1 || h > 12 {
			return false
		}
		h %= 12
		if half == 'p' {
			h += 12
		}
	}
	s.sec, s.hasClock = h*hour+m*minute+sec, true
	return m < 60 && sec < 61 && s.sec <= day
}

// hourMark consumes the separator between hours and minutes.
func (c *cursor) hourMark() bool {
	for _, mark := range []string{":", ".", "h", "H", "：", "時", "时", "시"} {
		if c.take(mark) {
			if mark == "시" {
				c.skipBlanks()
			}
			return true
		}
	}
	return false
}

// plainClock reads "09:30" and "09:30:15" with nothing else, which most times
// of day are.
func plainClock(b []byte) (sec int, ok bool) {
	if len(b) != 5 && len(b) != 8 || b[2] != ':' {
		return 0, false
	}
	h, okH := twoDigits(b[0], b[1])
	m, okM := twoDigits(b[3], b[4])
	s, okS := 0, true
	if len(b) == 8 {
		s, okS = twoDigits(b[6], b[7])
		okS = okS && b[5] == ':'
	}
	sec = h*hour + m*minute + s
	return sec, okH && okM && okS && m < 60 && s < 61 && sec <= day
}

func twoDigits(tens, ones byte) (int, bool) {
	return int(tens-'0')*10 + int(ones-'0'), digit(tens) && digit(ones)
}

// halfOfDay reads AM or PM in their spellings: 'a', 'p' or 0.
func (c *cursor) halfOfDay() byte {
	before := c.b
	c.skipBlanks()
	if len(c.b) >= 2 {
		half := c.b[0] | 0x20
		rest := c.b[1:]
		dots := bytes.HasPrefix(rest, []byte("."))
		rest = bytes.TrimLeft(rest, ". ")
		if (half == 'a' || half == 'p') && len(rest) > 0 && rest[0]|0x20 == 'm' {
			rest = rest[1:]
			if dots {
				rest = bytes.TrimPrefix(rest, []byte("."))
			}
			if len(rest) == 0 || rest[0] == ' ' {
				c.b = rest
				return half
			}
		}
	}
	c.b = before
	return 0
}

// parseClock reads a cell that holds only a time of day; of a range it returns
// the start.
func parseClock(cell []byte) (sec int, zone zoneMark, ok bool) {
	if sec, ok := plainClock(cell); ok {
		return sec, zone, true
	}
	c := cursor{cell}
	c.skipBlanks()
	c.take("T")
	if !digit(c.peek()) || bytes.IndexByte(cell, ':') < 0 && !bytes.ContainsAny(cell, "hH.apAP時时시") {
		return 0, zone, false
	}
	var s stamp
	if !c.clock(&s) || !c.finish(&s) {
		return 0, zone, false
	}
	return s.sec, s.zone, true
}

// fileClock reads the time of day after a date in the style of file names, "_14-15-00", "_14_15" and " 14-15-00". It
// reads nothing from other text.
func (c *cursor) fileClock(s *stamp) bool {
	b := c.b
	var mark byte
	switch {
	case len(b) == len("_14-15-00") && (b[0] == '_' || b[0] == ' ' || b[0] == 'T') && (b[3] == '-' || b[3] == '_') && b[6] == b[3]:
		mark = b[3]
	case len(b) == len("_14-15") && b[0] == '_' && (b[3] == '-' || b[3] == '_'):
		mark = b[3]
	default:
		return false
	}
	sec, ok := plainClock(bytes.ReplaceAll(b[1:], []byte{mark}, []byte{':'}))
	if !ok {
		return false
	}
	s.sec, s.hasClock, c.b = sec, true, nil
	return true
}

// halves are the words for the halves of the day that precede the time of day.
var halves = []struct {
	word string
	half byte
}{{"午前", 'a'}, {"上午", 'a'}, {"오전", 'a'}, {"午後", 'p'}, {"午后", 'p'}, {"下午", 'p'}, {"오후", 'p'}}

// leadingHalf reads such a word: 'a', 'p' or 0.
func (c *cursor) leadingHalf() byte {
	for _, h := range halves {
		if c.take(h.word) {
			c.skipBlanks()
			return h.half
		}
	}
	return 0
}

// setHalf moves a time of day of twelve hours to its half of the day; it returns false if the hour is above twelve.
func (s *stamp) setHalf(half byte) bool {
	if s.sec >= 13*hour {
		return false
	}
	s.sec %= 12 * hour
	if half == 'p' {
		s.sec += 12 * hour
	}
	return true
}
