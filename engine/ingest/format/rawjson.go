package format

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// rawJSON is one value of a valid JSON text. Values are read in place, without a copy, so that the memory
// for a file of JSON is that of its text and of its tables.
type rawJSON []byte

func (v rawJSON) kind() byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

// end returns the position after the value that begins at i, or len(v).
func (v rawJSON) end(i int) int {
	depth := 0
	for i < len(v) {
		switch c := v[i]; c {
		case '"':
			for i++; i < len(v) && v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
			continue
		default:
			for i < len(v) && !strings.ContainsRune(",:]}[{\" \t\r\n", rune(v[i])) {
				i++
			}
		}
		if depth <= 0 {
			return min(i, len(v))
		}
	}
	return len(v)
}

// next returns the value after separators, and the position after the value.
func (v rawJSON) next(i int) (value rawJSON, end int) {
	for i < len(v) && strings.IndexByte(" \t\r\n,:", v[i]) >= 0 {
		i++
	}
	if i >= len(v) || v[i] == ']' || v[i] == '}' {
		return nil, len(v)
	}
	end = v.end(i)
	return v[i:end], end
}

// elements calls f with the elements of an array until it returns false.
func (v rawJSON) elements(f func(e rawJSON) bool) {
	if v.kind() != '[' {
		return
	}
	for i := 1; i < len(v); {
		e, end := v.next(i)
		if e == nil || !f(e) {
			return
		}
		i = end
	}
}

// fields calls f with the fields of an object until it returns false.
func (v rawJSON) fields(f func(key string, value rawJSON) bool) {
	if v.kind() != '{' {
		return
	}
	for i := 1; i < len(v); {
		key, end := v.next(i)
		if key == nil {
			return
		}
		value, after := v.next(end)
		if value == nil || !f(key.text(), value) {
			return
		}
		i = after
	}
}

// field returns the value of a field, nil if there is none.
func (v rawJSON) field(names ...string) rawJSON {
	for _, name := range names {
		var found rawJSON
		v.fields(func(key string, value rawJSON) bool {
			if key == name {
				found = value
			}
			return found == nil
		})
		if v = found; v == nil {
			return nil
		}
	}
	return v
}

// first returns the first element of an array, nil if there is none.
func (v rawJSON) first() (e rawJSON) {
	v.elements(func(x rawJSON) bool { e = x; return false })
	return e
}

func (v rawJSON) scalar() bool { k := v.kind(); return k != 0 && k != '{' && k != '[' }

// text returns a scalar as a cell: strings decoded, numbers without an exponent, "" for null.
func (v rawJSON) text() string {
	switch k := v.kind(); {
	case k == '"':
		inner := v[1:max(1, len(v)-1)]
		if bytes.IndexByte(inner, '\\') < 0 {
			return string(inner)
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			return ""
		}
		return s
	case k == 'n' || !v.scalar():
		return ""
	case k == '-' || k >= '0' && k <= '9':
		if bytes.ContainsAny(v, "eE") {
			if f, err := strconv.ParseFloat(string(v), 64); err == nil {
				return number(f)
			}
		}
	}
	return string(v)
}

// isNumber reports whether v is a number, or null, or a text of a number.
func (v rawJSON) isNumber() bool {
	t := v.text()
	if t == "" {
		return v.kind() == 'n'
	}
	_, err := strconv.ParseFloat(t, 64)
	return err == nil
}
