package ingest

import (
	"math"
	"strconv"
)

// numberStyle is how a column writes numbers.
type numberStyle struct {
	decimal byte // '.' or ','
	group   byte // the other one, or 0 where none groups thousands
}

var plainStyle = numberStyle{decimal: '.'}

// pow10 are the powers that a float64 holds exactly.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// plainNumber reads what most cells are: a sign, digits and at most one decimal
// mark. Anything else, and more digits than a float64 holds exactly, is left
// to parseNumber.
func plainNumber(cell []byte, decimal byte) (v float64, ok bool) {
	const mostExact = 15
	digits, negative := cell, false
	if len(cell) > 0 && cell[0] == '-' {
		digits, negative = cell[1:], true
	}
	if len(digits) == 0 || len(digits) > mostExact {
		return 0, false
	}
	mantissa, mark := int64(0), -1
	for i, c := range digits {
		switch {
		case digit(c):
			mantissa = mantissa*10 + int64(c-'0')
		case c == decimal && mark < 0 && len(digits) > 1:
			mark = i
		default:
			return 0, false
		}
	}
	v = float64(mantissa)
	if mark >= 0 {
		v /= pow10[len(digits)-1-mark]
	}
	if negative {
		v = -v
	}
	return v, true
}

// parseNumber reads a number. rest is the text after it, such as a unit. ok is
// false for text that does not start with a number, for words such as "NaN",
// and for numbers outside of float64.
func parseNumber(cell []byte, style numberStyle) (v float64, rest []byte, ok bool) {
	i, negative := 0, false
	if len(cell) > 0 && (cell[0] == '-' || cell[0] == '+') {
		negative, i = cell[0] == '-', 1
	} else if len(cell) > 3 && string(cell[:3]) == "−" { // a typographer's minus
		negative, i = true, 3
	}
	var mantissa uint64
	var digits, decimals, dropped int
	seenDecimal := false
loop:
	for ; i < len(cell); i++ {
		switch c := cell[i]; {
		case c >= '0' && c <= '9':
			digits++
			if mantissa >= 1e18 { // beyond the precision of a float64
				dropped++
			} else {
				mantissa = mantissa*10 + uint64(c-'0')
			}
			if seenDecimal {
				decimals++
			}
		case c == style.decimal && !seenDecimal:
			seenDecimal = true
		case digits > 0 && !seenDecimal && groups(cell[i:], style.group):
			i += groupMarkLen(cell[i:]) - 1
		default:
			break loop
		}
	}
	if digits == 0 {
		return 0, nil, false
	}
	exp := dropped - decimals
	if i < len(cell) && (cell[i] == 'e' || cell[i] == 'E') {
		if e, n := exponent(cell[i+1:]); n > 0 {
			exp += e
			i += 1 + n
		}
	}
	v = scale10(mantissa, exp)
	if math.IsInf(v, 0) {
		return 0, nil, false
	}
	if negative {
		v = -v
	}
	return v, trim(cell[i:]), true
}

// groups reports whether b starts with a separator of groups of three digits.
func groups(b []byte, group byte) bool {
	n := groupMarkLen(b)
	if n == 0 || (b[0] == '.' || b[0] == ',') && b[0] != group {
		return false
	}
	b = b[n:]
	return len(b) >= 3 && digit(b[0]) && digit(b[1]) && digit(b[2]) && (len(b) == 3 || !digit(b[3]))
}

// groupMarkLen returns the length of a thousands mark at the start of b: dot,
// comma, blank, apostrophe (straight or curved), no-break, thin, figure or narrow blank.
func groupMarkLen(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '.' || b[0] == ',' || b[0] == ' ' || b[0] == '\'':
		return 1
	case len(b) >= 2 && b[0] == 0xc2 && b[1] == 0xa0:
		return 2
	case len(b) >= 3 && b[0] == 0xe2 && b[1] == 0x80 && (b[2] == 0x87 || b[2] == 0x88 || b[2] == 0x89 || b[2] == 0xaf || b[2] == 0x98 || b[2] == 0x99):
		return 3
	}
	return 0
}

func exponent(b []byte) (e, n int) {
	sign := 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		n = 1
	}
	start := n
	for n < len(b) && digit(b[n]) {
		e = min(e*10+int(b[n]-'0'), 1e9) // further digits change nothing: the number is 0 or none
		n++
	}
	if n == start {
		return 0, 0
	}
	return sign * e, n
}

// scale10 is m·10^exp, correctly rounded: by exact factors where both are
// exact in a float64, else by strconv.
func scale10(m uint64, exp int) float64 {
	switch {
	case m == 0:
		return 0
	case m < 1<<53 && exp >= 0 && exp < len(pow10):
		return float64(m) * pow10[exp]
	case m < 1<<53 && exp < 0 && -exp < len(pow10):
		return float64(m) / pow10[-exp]
	}
	v, err := strconv.ParseFloat(strconv.FormatUint(m, 10)+"e"+strconv.Itoa(exp), 64)
	if err != nil {
		return math.Inf(1)
	}
	return v
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// numberEvidence counts how the numbers of a column are written.
type numberEvidence struct {
	commaLast, dotLast   int // both marks in one cell; the named one comes last
	commaOnly, dotOnly   int // one mark, and it cannot group thousands
	commaThree, dotThree int // one mark before exactly three digits: it may be either
	commaMany, dotMany   int // a mark twice: it groups
	small, large         int // unmarked whole numbers 100..999, and from 1000

	units []unitEvidence // of numbers with a unit in the cell
}

// unitEvidence counts the numbers that have a unit in their cell: 726 W next to 1.099 kW does not determine the mark.
type unitEvidence struct {
	unit         string
	three        bool // one mark before exactly three digits
	small, large int
}

// of returns the evidence of numbers with a unit.
func (e *numberEvidence) of(unit []byte) *unitEvidence {
	const most = 8
	for i := range e.units {
		if e.units[i].unit == string(unit) || i == most {
			return &e.units[i]
		}
	}
	e.units = append(e.units, unitEvidence{unit: string(unit)})
	return &e.units[len(e.units)-1]
}

// whole returns the number of unmarked whole numbers that determine a mark before three digits.
func (e *numberEvidence) whole() (small, large int) {
	small, large = e.small, e.large
	for _, u := range e.units {
		if u.three {
			small, large = small+u.small, large+u.large
		}
	}
	return small, large
}

func (e *numberEvidence) observe(cell []byte) {
	i := 0
	for i < len(cell) && (cell[i] == '-' || cell[i] == '+' || cell[i] == ' ') {
		i++
	}
	start, dots, commas, last, digits := i, 0, 0, -1, 0
	spaced := false // blanks group thousands, so that a mark does not
	for ; i < len(cell); i++ {
		switch c := cell[i]; {
		case digit(c):
			digits++
			continue
		case c == '.':
			dots++
		case c == ',':
			commas++
		case digits > 0 && last < 0 && groups(cell[i:], 0):
			i += groupMarkLen(cell[i:]) - 1
			spaced = true
			continue
		default:
			if digits == 0 {
				return
			}
			goto done
		}
		last = i
	}
done:
	if digits == 0 {
		return
	}
	var unit *unitEvidence
	if rest := trim(cell[i:]); len(rest) > 0 {
		unit = e.of(rest)
	}
	if last < 0 {
		small, large := &e.small, &e.large
		if unit != nil {
			small, large = &unit.small, &unit.large
		}
		switch {
		case digits == 3 && cell[start] != '0':
			*small++
		case digits > 3:
			*large++
		}
		return
	}
	three := i-last-1 == 3 && last-start >= 1 && last-start <= 3 && cell[start] != '0' && !spaced
	if unit != nil && three {
		unit.three = true
	}
	switch {
	case dots > 0 && commas > 0 && cell[last] == ',':
		e.commaLast++
	case dots > 0 && commas > 0:
		e.dotLast++
	case commas > 1:
		e.commaMany++
	case dots > 1:
		e.dotMany++
	case commas == 1 && three:
		e.commaThree++
	case commas == 1:
		e.commaOnly++
	case three:
		e.dotThree++
	default:
		e.dotOnly++
	}
}

func (e *numberEvidence) add(o numberEvidence) {
	e.commaLast += o.commaLast
	e.dotLast += o.dotLast
	e.commaOnly += o.commaOnly
	e.dotOnly += o.dotOnly
	e.commaThree += o.commaThree
	e.dotThree += o.dotThree
	e.commaMany += o.commaMany
	e.dotMany += o.dotMany
	e.small += o.small
	e.large += o.large
	for _, u := range o.units {
		own := e.of([]byte(u.unit))
		own.three, own.small, own.large = own.three || u.three, own.small+u.small, own.large+u.large
	}
}

// ambiguous reports whether a mark before three digits may be a decimal mark as well as one between thousands, so that all values may be a thousand
// times larger or smaller.
func (e numberEvidence) ambiguous() bool {
	small, _ := e.whole()
	return e.commaThree+e.dotThree > 0 && e.commaLast+e.dotLast+e.commaOnly+e.dotOnly+e.commaMany+e.dotMany+small == 0
}

// style decides. sure is false where the evidence fits two readings; the
// other columns of the file may know better.
func (e numberEvidence) style(delim byte) (style numberStyle, sure bool) {
	comma, dot := numberStyle{',', '.'}, numberStyle{'.', ','}
	commaIsDecimal := e.commaLast + e.dotMany + e.commaOnly
	dotIsDecimal := e.dotLast + e.commaMany + e.dotOnly
	small, large := e.whole()
	switch {
	case commaIsDecimal > dotIsDecimal:
		return comma, true
	case dotIsDecimal > 0:
		return dot, true
	case e.commaThree > 0 && small > 0 && large == 0: // 726 next to 1,099 and never 1099: the comma groups thousands
		return dot, true
	case e.commaThree > 0 && delim != ',': // a lone comma is mostly the decimal mark there
		return comma, false
	case e.commaThree > 0: // quoted, as in "1,234"
		return dot, false
	case e.dotThree > 0 && small > 0 && large == 0 && e.dotOnly == 0:
		// 726 next to 1.099 and never 1099: the dot separates
		// thousands.
		return comma, true
	}
	return dot, false
}
