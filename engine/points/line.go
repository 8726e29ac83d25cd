package points

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// Line reads InfluxDB's line protocol, as Telegraf sends it:
//
//	inverter,asset_id=INV-1 power_kw=41.5,inverter_state=4i 1776168000000000000
//
// The field's name is the quantity; a field with the name value has the quantity in the
// name of the measurement. A line without a time is of the present. Texts are no points,
// and of other tags none has a meaning.
func Line(b []byte, o Options) (Batch, error) {
	c := newCollector(o)
	for n := 1; len(b) > 0; n++ {
		line := b
		switch i := endOfLine(b); {
		case i < 0:
			return Batch{}, &Error{"line " + strconv.Itoa(n), "a text has no end"}
		case i < len(b):
			line, b = b[:i], b[i+1:]
		default:
			b = nil
		}
		line = bytes.Trim(line, " \t\r")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if why := c.line(line); why != "" {
			return Batch{}, &Error{"line " + strconv.Itoa(n), why}
		}
	}
	return c.batch(), nil
}

// endOfLine is where a line ends, -1 if a text in it has no end: a newline within quotes
// does not end the line.
func endOfLine(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		end = len(b)
	}
	if bytes.IndexByte(b[:end], '"') < 0 {
		return end
	}
	quoted := false
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case '\n':
			if !quoted {
				return i
			}
		}
	}
	if quoted {
		return -1
	}
	return len(b)
}

// ends are sets of characters that end a token.
type ends [256]bool

func endsOf(characters string) (e ends) {
	for _, c := range []byte(characters) {
		e[c] = true
	}
	return e
}

var (
	endOfValue = endsOf(", ")
	endOfName  = endsOf("=, ")
	endOfText  = endsOf(`"`)
)

// token is the text up to the first of some characters that no backslash precedes, and
// where it ends.
func token(b []byte, i int, at *ends) ([]byte, int) {
	from, escaped := i, false
	for i < len(b) && !at[b[i]] {
		if b[i] == '\\' && i+1 < len(b) {
			escaped = true
			i++
		}
		i++
	}
	i = min(i, len(b))
	text := b[from:i]
	if !escaped {
		return text, i
	}
	out := make([]byte, 0, len(text))
	for k := 0; k < len(text); k++ {
		if text[k] == '\\' && k+1 < len(text) {
			switch text[k+1] {
			case ',', '=', ' ', '"', '\\':
				k++
			}
		}
		out = append(out, text[k])
	}
	return out, i
}

// line reads one line and returns why it is refused.
func (c *collector) line(b []byte) string {
	measurement, i := token(b, 0, &endOfValue)
	if len(measurement) == 0 {
		return "it has no measurement"
	}
	var id []byte
	for i < len(b) && b[i] == ',' {
		var name, text []byte
		if name, i = token(b, i+1, &endOfName); i >= len(b) || b[i] != '=' {
			return "a tag has no value"
		}
		text, i = token(b, i+1, &endOfValue)
		if string(name) == c.options.AssetTag {
			id = text
		}
	}
	if i >= len(b) {
		return "it has no fields"
	}
	if id == nil {
		return "it has no tag " + c.options.AssetTag + " with the id of the unit"
	}
	u, why := c.unit(id)
	if why != "" {
		return why
	}
	for i < len(b) && b[i] == ' ' {
		i++
	}
	var many [24]value
	list := many[:0]
	for {
		var name, text []byte
		if name, i = token(b, i, &endOfName); i >= len(b) || b[i] != '=' || len(name) == 0 {
			return "a field has no value"
		}
		i++
		if i < len(b) && b[i] == '"' {
			if _, i = token(b, i+1, &endOfText); i >= len(b) {
				return "a text has no end"
			}
			i++
		} else {
			text, i = token(b, i, &endOfValue)
			v, ok := fieldValue(text)
			if !ok {
				return "the field " + shortened(string(name)) + " has no value of line protocol"
			}
			q, known := quantities[string(name)]
			if !known && string(name) == "value" {
				q, known = quantities[string(measurement)]
				name = measurement
			}
			if known {
				list = append(list, value{q, v})
			} else if why := c.ignore(string(name)); why != "" {
				return why
			}
		}
		if i < len(b) && b[i] == ',' {
			i++
			continue
		}
		break
	}
	for i < len(b) && b[i] == ' ' {
		i++
	}
	t := c.options.Now.Unix()
	if i < len(b) {
		n, err := strconv.ParseInt(string(b[i:]), 10, 64)
		if err != nil {
			return "the time is not a whole number"
		}
		if t, why = c.scaled(n); why != "" {
			return why
		}
	}
	for _, v := range list {
		if why := c.add(u, v.q, t, v.v); why != "" {
			return why
		}
	}
	return ""
}

// scaled is a time of the precision in seconds.
func (c *collector) scaled(n int64) (int64, string) {
	per := int64(time.Second / c.options.Precision)
	t := n / per
	if n%per < 0 {
		t--
	}
	return t, c.wrongTime(t)
}

// fieldValue is the number that a field has.
func fieldValue(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	switch string(b) {
	case "t", "T", "true", "True", "TRUE":
		return 1, true
	case "f", "F", "false", "False", "FALSE":
		return 0, true
	}
	if last := b[len(b)-1]; last == 'i' || last == 'u' {
		n, err := strconv.ParseInt(string(b[:len(b)-1]), 10, 64)
		return float64(n), err == nil
	}
	if len(b) <= 16 {
		if v, ok := decimal(b); ok {
			return v, true
		}
	}
	for _, d := range b {
		if !isNumber(d) {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil && !math.IsInf(v, 0)
}
