package ingest

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// marksOfScripts are the marks between digits in other scripts.
var marksOfScripts = map[rune]byte{
	'．': '.', '，': ',', '：': ':', '／': '/', '－': '-', // full width
	'\u3000': ' ',           // between date and time
	'٫':      '.', '٬': ',', // Arabic marks of decimals and thousands
}

// plainDigits replaces the digits of other scripts, and the marks between them, by those of ASCII. A text without them is returned as it is.
func plainDigits(text []byte) []byte {
	first := -1
	for i := 0; i < len(text); {
		const high = 0x8080808080808080 // set in bytes that are not ASCII
		if i+8 <= len(text) && binary.LittleEndian.Uint64(text[i:])&high == 0 {
			i += 8
			continue
		}
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if _, ok := digitOf(r); ok {
			first = i
			break
		}
		i += n
	}
	if first < 0 {
		return text
	}
	const sign = "－"
	if bytes.HasSuffix(text[:first], []byte(sign)) {
		first -= len(sign)
	}
	out := bytes.NewBuffer(make([]byte, 0, len(text)))
	out.Write(text[:first])
	after := false // the last rune was a digit
	for i := first; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		d, ok := digitOf(r)
		mark, isMark := marksOfScripts[r]
		switch {
		case ok:
			out.WriteByte(d)
		case isMark && after && startsWithDigit(text[i+n:]), r == '－' && startsWithDigit(text[i+n:]):
			out.WriteByte(mark)
		default:
			out.Write(text[i : i+n])
		}
		after = ok || n == 1 && digit(text[i])
		i += n
	}
	return out.Bytes()
}

// PlainDigits returns a name with the digits of other scripts replaced by those of
// ASCII, as [Read] returns the names of units.
func PlainDigits(name string) string { return string(plainDigits([]byte(name))) }

// startsWithDigit reports whether text begins with a digit of any script.
func startsWithDigit(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	_, ok := digitOf(r)
	return ok || r < utf8.RuneSelf && digit(byte(r)) //nolint:gosec // below RuneSelf
}

// digitOf returns the ASCII digit of a digit of another script. The digits of a script follow one another from zero.
func digitOf(r rune) (d byte, ok bool) {
	if r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) { //nolint:gosec // a code point, or its remainder
			return '0' + byte((r-rune(t.Lo))%10), true //nolint:gosec // a code point, or its remainder
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) { //nolint:gosec // a code point, or its remainder
			return '0' + byte((r-rune(t.Lo))%10), true //nolint:gosec // a code point, or its remainder
		}
	}
	return 0, false
}

// withoutFlag returns the text after a number without the mark of an estimated value: "*", "(e)", "(est.)".
func withoutFlag(rest []byte) []byte {
	for _, flag := range []string{"*", "(e)", "(E)", "(est)", "(est.)", "†"} {
		if short, ok := bytes.CutSuffix(rest, []byte(flag)); ok {
			return trim(short)
		}
	}
	return rest
}

// withoutFormula returns the text of a cell that is written as a formula to keep it text, ="1234".
func withoutFormula(cell []byte) []byte {
	if n := len(cell); n > 3 && cell[0] == '=' && cell[1] == '"' && cell[n-1] == '"' {
		return trim(cell[2 : n-1])
	}
	return cell
}
