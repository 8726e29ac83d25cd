package sunspec

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Type is the type of a point. All types are big-endian, the high word first.
type Type string

// The types of SunSpec, by their names in the models.
const (
	Int16      Type = "int16"
	Uint16     Type = "uint16"
	Count      Type = "count"
	Acc16      Type = "acc16"
	Enum16     Type = "enum16"
	Bitfield16 Type = "bitfield16"
	Int32      Type = "int32"
	Uint32     Type = "uint32"
	Acc32      Type = "acc32"
	Enum32     Type = "enum32"
	Bitfield32 Type = "bitfield32"
	Int64      Type = "int64"
	Uint64     Type = "uint64"
	Acc64      Type = "acc64"
	Bitfield64 Type = "bitfield64"
	Float32    Type = "float32"
	Float64    Type = "float64"
	IPAddr     Type = "ipaddr"
	EUI48      Type = "eui48"
	Scale      Type = "sunssf"
	Pad        Type = "pad"
	Text       Type = "string"
)

// registers are the lengths of the types in registers; a text has its own.
var registers = map[Type]int{
	Int16: 1, Uint16: 1, Count: 1, Acc16: 1, Enum16: 1, Bitfield16: 1, Scale: 1, Pad: 1,
	Int32: 2, Uint32: 2, Acc32: 2, Enum32: 2, Bitfield32: 2, Float32: 2, IPAddr: 2,
	Int64: 4, Uint64: 4, Acc64: 4, Bitfield64: 4, Float64: 4, EUI48: 4,
}

// Value is the value of a point as the device has it, before it is scaled.
type Value struct {
	Type   Type
	Raw    uint64  // the registers as one number; 0 for a text
	Number float64 // with its sign; NaN for a text
	Text   string
	Known  bool // false: the device does not implement the point, or its scale is unknown
}

// decode returns the value of registers, which must have the length of the type.
// A sentinel is returned as unknown.
func decode(t Type, words []uint16) Value {
	v := Value{Type: t, Number: math.NaN()}
	if t == Text {
		v.Text = text(words)
		v.Known = v.Text != ""
		return v
	}
	for _, w := range words {
		v.Raw = v.Raw<<16 | uint64(w)
	}
	switch t {
	case Int16:
		v.Number, v.Known = float64(int16(v.Raw)), v.Raw != 0x8000
	case Scale:
		n := int16(v.Raw)
		v.Number, v.Known = float64(n), n >= -10 && n <= 10
	case Uint16, Count, Enum16, Bitfield16:
		v.Number, v.Known = float64(v.Raw), v.Raw != 0xFFFF
	case Acc16, Acc64:
		v.Number, v.Known = float64(v.Raw), v.Raw != 0
		if t == Acc64 && v.Raw == math.MaxUint64 {
			v.Known = false
		}
	case Int32:
		v.Number, v.Known = float64(int32(v.Raw)), v.Raw != 0x80000000
	case Uint32, Enum32, Bitfield32:
		v.Number, v.Known = float64(v.Raw), v.Raw != 0xFFFFFFFF
	case Acc32:
		v.Number, v.Known = float64(v.Raw), v.Raw != 0 && v.Raw != 0xFFFFFFFF // the second one is in use, though not by the specification
	case Int64:
		v.Number, v.Known = float64(int64(v.Raw)), v.Raw != 1<<63
	case Uint64, Bitfield64:
		v.Number, v.Known = float64(v.Raw), v.Raw != math.MaxUint64
	case Float32:
		v.Number = float64(math.Float32frombits(uint32(v.Raw)))
		v.Known = !math.IsNaN(v.Number) && !math.IsInf(v.Number, 0)
	case Float64:
		v.Number = math.Float64frombits(v.Raw)
		v.Known = !math.IsNaN(v.Number) && !math.IsInf(v.Number, 0)
	case IPAddr:
		v.Number, v.Known = float64(v.Raw), v.Raw != 0
	case EUI48:
		v.Number, v.Known = float64(v.Raw), v.Raw&0xFFFFFFFFFFFF != 0xFFFFFFFFFFFF
	}
	if !v.Known {
		v.Number = math.NaN()
	}
	return v
}

// text returns the text of registers: up to the first zero, without the spaces
// that some devices pad with, and without bytes that are no UTF-8 and characters
// that cannot be printed.
func text(words []uint16) string {
	b := make([]byte, 0, 2*len(words))
	for _, w := range words {
		b = append(b, byte(w>>8), byte(w))
	}
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, string(b)))
}

// scaled is a number times 10 to the power of an exponent. A negative exponent
// divides, so that 1234 with -1 is 123.4 exactly as written.
func scaled(n float64, exponent int) float64 {
	if exponent < 0 {
		return n / math.Pow10(-exponent)
	}
	return n * math.Pow10(exponent)
}
