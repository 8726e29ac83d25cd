package points

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// JSON reads an object with points, units or both:
//
//	{"points": [{"asset_id": "INV-1", "timestamp": "2026-04-14T12:00:00Z", "quantity": "power_kw", "value": 41.5}]}
//	{"points": [{"asset_id": "INV-1", "timestamp": 1776168000, "values": {"power_kw": 41.5, "inverter_state": 4}}]}
//	{"units": [{"asset_id": "INV-1", "timestamps": [1776168000, 1776168060], "values": {"power_kw": [41.5, null]}}]}
//
// A time is a text of RFC 3339 with an offset, or a number of seconds since 1970. null
// is no point. Fields that have no meaning are refused.
func JSON(b []byte, o Options) (Batch, error) {
	c := newCollector(o)
	if !utf8.Valid(b) {
		return Batch{}, &Error{"body", "it is not UTF-8"}
	}
	s := &scanner{b: b}
	err := s.object(func(name []byte) error {
		switch string(name) {
		case "points":
			return s.array(func(i int) error { return c.point(s, i) })
		case "units":
			return s.array(func(i int) error { return c.unitOf(s, i) })
		}
		return &Error{shortened(string(name)), "unknown field: the body has points, units or both"}
	})
	if err == nil {
		s.space()
		if s.i < len(s.b) {
			err = s.syntax("nothing after the object")
		}
	}
	if err != nil {
		return Batch{}, err
	}
	return c.batch(), nil
}

// value is a value of a quantity, as it is read before the unit and the time are known.
type value struct {
	q series.Quantity
	v float64
}

// point reads an element of points.
func (c *collector) point(s *scanner, i int) error {
	at := func(field string) string { return "points[" + strconv.Itoa(i) + "]." + field }
	var u *unit
	var t int64
	var hasTime, hasValue, hasQuantity, skip, wrong bool
	var one value
	var many [24]value
	list := many[:0]
	err := s.object(func(name []byte) error {
		switch string(name) {
		case "asset_id":
			var err error
			u, err = c.assetID(s, at)
			return err
		case "timestamp":
			var why string
			var err error
			if t, why, err = c.time(s); err != nil {
				return err
			} else if why != "" {
				skip, wrong = true, true
				return c.refuse(at("timestamp"), why)
			}
			hasTime = true
		case "quantity":
			name, err := s.text("a name in quotes")
			if err != nil {
				return ofField(err, at("quantity"))
			}
			hasQuantity = true
			q, known := quantities[string(name)]
			if !known {
				skip = true
				if why := c.ignore(string(name)); why != "" {
					return c.refuse(at("quantity"), why)
				}
			}
			one.q = q
		case "value":
			v, null, err := s.number()
			if err != nil {
				return ofField(err, at("value"))
			}
			hasValue, skip, one.v = true, skip || null, v
		case "values":
			return s.object(func(name []byte) error {
				field := func() string { return at("values." + shortened(string(name))) }
				q, known := quantities[string(name)]
				why := ""
				if !known {
					why = c.ignore(string(name))
				}
				v, null, err := s.number()
				switch {
				case err != nil:
					return ofField(err, field())
				case why != "":
					return c.refuse(field(), why)
				case known && !null:
					list = append(list, value{q, v})
				}
				return nil
			})
		default:
			return &Error{at(shortened(string(name))), "unknown field: a point has asset_id, timestamp, and quantity with value, or values"}
		}
		return nil
	})
	switch {
	case err != nil:
		return ofField(err, "points["+strconv.Itoa(i)+"]")
	case u == nil:
		return &Error{at("asset_id"), "it is missing"}
	case wrong:
		return nil
	case !hasTime:
		return &Error{at("timestamp"), "it is missing"}
	case hasQuantity && !hasValue:
		return &Error{at("value"), "it is missing"}
	case hasValue && !hasQuantity:
		return &Error{at("quantity"), "it is missing"}
	case hasValue && !skip:
		if why := c.add(u, one.q, t, one.v); why != "" {
			return c.refuse(at("value"), why)
		}
	}
	for _, v := range list {
		if why := c.add(u, v.q, t, v.v); why != "" {
			if err := c.refuse(at("values."+v.q.String()), why); err != nil {
				return err
			}
		}
	}
	return nil
}

// assetID reads the id of a unit; at returns the path of a field.
func (c *collector) assetID(s *scanner, at func(field string) string) (*unit, error) {
	id, err := s.text("an id in quotes")
	if err != nil {
		return nil, ofField(err, at("asset_id"))
	}
	u, why := c.unit(id)
	if why != "" {
		return nil, &Error{at("asset_id"), why}
	}
	return u, nil
}

// unitOf reads an element of units.
func (c *collector) unitOf(s *scanner, i int) error {
	at := func(field string) string { return "units[" + strconv.Itoa(i) + "]." + field }
	var u *unit
	var times []int64
	var values int // where the values begin: they are read when the times are known
	err := s.object(func(name []byte) error {
		switch string(name) {
		case "asset_id":
			var err error
			u, err = c.assetID(s, at)
			return err
		case "timestamps":
			times = make([]int64, 0, 64)
			return s.array(func(k int) error {
				t, why, err := c.time(s)
				if err == nil && why != "" {
					err, t = c.refuse(at("timestamps["+strconv.Itoa(k)+"]"), why), leftOut
				}
				switch {
				case err != nil:
					return err
				case len(times) == MaxPoints:
					return &Error{at("timestamps"), fmt.Sprintf("at most %d", MaxPoints)}
				}
				times = append(times, t)
				return nil
			})
		case "values":
			s.space()
			values = s.i
			return s.object(func([]byte) error {
				return s.array(func(int) error { _, _, err := s.number(); return err })
			})
		default:
			return &Error{at(shortened(string(name))), "unknown field: a unit has asset_id, timestamps and values"}
		}
	})
	switch {
	case err != nil:
		return ofField(err, "units["+strconv.Itoa(i)+"]")
	case u == nil:
		return &Error{at("asset_id"), "it is missing"}
	case times == nil:
		return &Error{at("timestamps"), "it is missing"}
	case values == 0:
		return &Error{at("values"), "it is missing"}
	}
	again := &scanner{b: s.b, i: values}
	return again.object(func(name []byte) error {
		field := "values." + shortened(string(name))
		q, known := quantities[string(name)]
		n := 0
		err := again.array(func(k int) error {
			v, null, err := again.number()
			n++
			switch {
			case err != nil:
				return err
			case k >= len(times):
				return &Error{at(field), "it has more values than the " + display.CountOf(len(times), "timestamp", "timestamps")}
			case null || times[k] == leftOut:
				return nil
			case !known:
				if why := c.ignore(string(name)); why != "" {
					return c.refuse(at(field), why)
				}
				return nil
			}
			if why := c.add(u, q, times[k], v); why != "" {
				return c.refuse(at(field+"["+strconv.Itoa(k)+"]"), why)
			}
			return nil
		})
		if err == nil && n < len(times) {
			err = &Error{at(field), fmt.Sprintf("it has %s for %s", display.CountOf(n, "value", "values"), display.CountOf(len(times), "timestamp", "timestamps"))}
		}
		return err
	})
}

// leftOut is the time of points that are left out.
const leftOut = math.MinInt64

// ofField gives a syntax error of a value the name of the field.
func ofField(err error, field string) error {
	var syntax *syntaxError
	if errors.As(err, &syntax) && syntax.value {
		return &Error{field, syntax.reason}
	}
	return err
}

// time reads the time of a point; why says that it is refused.
func (c *collector) time(s *scanner) (t int64, why string, err error) {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == '"' {
		text, err := s.text("")
		if err != nil {
			return 0, "", err
		}
		if t, ok := instant(text); ok {
			return t, c.wrongTime(t), nil
		}
		return 0, "it is not a time such as 2026-04-14T12:00:00Z", nil
	}
	v, null, err := s.number()
	switch {
	case err != nil || null:
		return 0, "it is a time such as 2026-04-14T12:00:00Z, or a number of seconds since 1970", nil
	case v < 0 || v > math.MaxInt32*100:
		return 0, "it is not a number of seconds since 1970", nil
	}
	t = int64(math.Floor(v))
	return t, c.wrongTime(t), nil
}

// instant reads a time of RFC 3339, whole seconds of UTC at little cost.
func instant(b []byte) (int64, bool) {
	if len(b) == 20 && b[19] == 'Z' && b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':' {
		var f [6]int
		for k, p := range [...][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
			for _, d := range b[p[0]:p[1]] {
				if d < '0' || d > '9' {
					return 0, false
				}
				f[k] = f[k]*10 + int(d-'0')
			}
		}
		if f[1] >= 1 && f[1] <= 12 && f[2] >= 1 && f[2] <= 28 && f[3] < 24 && f[4] < 60 && f[5] < 60 {
			return time.Date(f[0], time.Month(f[1]), f[2], f[3], f[4], f[5], 0, time.UTC).Unix(), true
		}
	}
	t, err := time.Parse(time.RFC3339, string(b))
	return t.Unix(), err == nil
}

// scanner reads JSON in place: the standard decoder takes several times as long for
// such bodies. Strings without escapes are parts of the body.
type scanner struct {
	b []byte
	i int
}

// syntaxError is where a body is no JSON, or a value of another kind.
type syntaxError struct {
	reason string
	value  bool // the value is of another kind
}

func (e *syntaxError) Error() string { return e.reason }

func (s *scanner) syntax(want string) error {
	return &Error{"body", fmt.Sprintf("it is not JSON at byte %d: %s is expected", s.i, want)}
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// maxNames bounds the fields of an object, and so the cost of finding names that are
// there twice.
const maxNames = 128

// object reads an object; field reads the value of each name. A name that is there
// twice is refused.
func (s *scanner) object(field func(name []byte) error) error {
	if !s.next('{') {
		return s.syntax("an object")
	}
	if s.next('}') {
		return nil
	}
	var first [16][]byte
	seen := first[:0]
	for {
		name, err := s.text("the name of a field")
		if err != nil {
			return s.syntax("the name of a field")
		}
		for _, other := range seen {
			if string(other) == string(name) {
				return &Error{shortened(string(name)), "it is there twice"}
			}
		}
		if len(seen) == maxNames {
			return &Error{shortened(string(name)), fmt.Sprintf("an object has at most %d fields", maxNames)}
		}
		seen = append(seen, name)
		if !s.next(':') {
			return s.syntax("a colon")
		}
		if err := field(name); err != nil {
			return err
		}
		if s.next('}') {
			return nil
		}
		if !s.next(',') {
			return s.syntax("a comma or the end of the object")
		}
	}
}

// array reads a list; element reads each element.
func (s *scanner) array(element func(i int) error) error {
	if !s.next('[') {
		return s.syntax("a list")
	}
	if s.next(']') {
		return nil
	}
	for i := 0; ; i++ {
		if err := element(i); err != nil {
			return err
		}
		if s.next(']') {
			return nil
		}
		if !s.next(',') {
			return s.syntax("a comma or the end of the list")
		}
	}
}

// text reads a string. what says what it should be.
func (s *scanner) text(what string) ([]byte, error) {
	if !s.next('"') {
		return nil, &syntaxError{"it is not " + what, true}
	}
	from := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[from : s.i-1], nil
		case c == '\\':
			return s.escaped(from)
		case c < ' ':
			return nil, s.syntax("the end of a text")
		}
		s.i++
	}
	return nil, s.syntax("the end of a text")
}

// escaped reads the rest of a string that has an escape.
func (s *scanner) escaped(from int) ([]byte, error) {
	for ; s.i < len(s.b) && s.b[s.i] != '"'; s.i++ {
		if s.b[s.i] == '\\' {
			s.i++
		}
	}
	if s.i >= len(s.b) {
		s.i = len(s.b)
		return nil, s.syntax("the end of a text")
	}
	s.i++
	var text string
	if json.Unmarshal(s.b[from-1:s.i], &text) != nil {
		return nil, s.syntax("a text")
	}
	return []byte(text), nil
}

// number reads a number or null.
func (s *scanner) number() (v float64, null bool, err error) {
	s.space()
	from := s.i
	for s.i < len(s.b) && isNumber(s.b[s.i]) {
		s.i++
	}
	word := s.b[from:s.i]
	if len(word) == 0 {
		if len(s.b)-s.i >= 4 && string(s.b[s.i:s.i+4]) == "null" {
			s.i += 4
			return 0, true, nil
		}
		return 0, false, &syntaxError{"it is not a number", true}
	}
	v, ok := decimal(word)
	if !ok {
		if !json.Valid(word) {
			return 0, false, &syntaxError{"it is not a number", true}
		}
		if v, err = strconv.ParseFloat(string(word), 64); err != nil {
			return 0, false, &syntaxError{"it is not a number that can be represented", true}
		}
	}
	return v, false, nil
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '.' || c == '+' || c == 'e' || c == 'E'
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal reads a number of at most 15 digits without an exponent exactly: both parts
// of the quotient are exact, so that it is rounded once. ok is false for other texts.
func decimal(b []byte) (v float64, ok bool) {
	i, negative := 0, false
	if b[0] == '-' {
		i, negative = 1, true
	}
	if len(b)-i > 16 || i == len(b) || b[i] < '0' || b[i] > '9' || b[i] == '0' && i+1 < len(b) && b[i+1] != '.' {
		return 0, false
	}
	digits, point := 0, -1
	var n int64
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
			digits++
		case c == '.' && point < 0:
			point = digits
		default:
			return 0, false
		}
	}
	if point == digits || digits > 15 {
		return 0, false
	}
	v = float64(n)
	if point >= 0 {
		v /= powers[digits-point]
	}
	if negative {
		v = -v
	}
	return v, true
}
