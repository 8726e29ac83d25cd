// Package block is the format in which telemetry is kept: one asset's samples
// of one or a few days as a few hundred bytes. Every store writes the
// same blocks.
//
// # Format, version 1
//
// Integers are LEB128 (uvarint) or zig-zag LEB128 (varint), as in
// encoding/binary. A block is
//
//	version   1 byte, 1
//	count     uvarint, number of stamps n
//	first     varint, Unix seconds of the first stamp (absent when n is 0)
//	times     section: runs of (step uvarint, repeats uvarint) that give n-1 steps
//	columns   uvarint, number of columns, each:
//	  quantity  1 byte, ascending
//	  coding    1 byte, see below
//	  values    section
//	checksum  4 bytes, little-endian CRC-32C of all before
//
// A section is a uvarint u and then bytes: u>>1 is their number, and when u&1
// is 1 they are a zstd frame of what is meant. Codings:
//
//	0..9   decimals: gaps; if any value is there, value·10^coding of the first
//	       as a varint; for each further one the zig-zag difference to the one
//	       before, packed
//	16     one value for all stamps: 8 bytes, the float's bits, little-endian
//	17     raw: 8 bytes for each stamp, as before
//
// Gaps are a uvarint count of runs and the runs' lengths, by turns of values
// that are there and that are not, beginning with those that are; they cover
// all stamps. Coding is chosen so that decoding gives the same bits back.
//
// Packed numbers are groups of 8, the last one filled up with zeros. A group is
// a byte w of 1..56 and w bytes, in which each number takes w bits, the first
// the lowest ones; or a byte 128+k for k+1 groups of zeros.
package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/zstd"

	"app.sunloop/engine/series"
)

// Version is the format that Encode writes.
const Version = 1

// Limits of a block; Encode refuses more, and so Decode does not allocate for
// more, whatever it is given. Four days of a stamp each second are within.
const (
	MaxStamps  = 1 << 19
	MaxCells   = 1 << 23 // stamps × (columns + 1)
	maxColumns = 256
	maxRaw     = MaxStamps * 12 // bytes of a section: a varint and its share of the gaps
	maxTime    = 1 << 40        // stamps are within ±maxTime, so that no sum of steps overflows
)

// The codings that are not a power of ten.
const (
	maxExponent    = 9
	codingConstant = 16
	codingRaw      = 17
)

// Errors that callers branch on.
var (
	// ErrTooLarge: the frame is beyond the limits of one block.
	ErrTooLarge = errors.New("too many samples for one block")
	// ErrCorrupt: the bytes are no block, or damaged.
	ErrCorrupt = errors.New("damaged telemetry block")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The zstd coders are safe for concurrent use of EncodeAll and DecodeAll.
var (
	compressor   = newCompressor()
	decompressor = newDecompressor()
)

func newCompressor() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(fmt.Sprintf("block: %v", err)) // constant options
	}
	return e
}

func newDecompressor() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(fmt.Sprintf("block: %v", err)) // constant options
	}
	return d
}

// Encode appends the block of f to dst. f must pass its own Check.
func Encode(dst []byte, f series.Frame) ([]byte, error) {
	if err := f.Check(); err != nil {
		return dst, fmt.Errorf("encode block: %w", err)
	}
	n := f.Len()
	if n > MaxStamps || n*(len(f.Columns)+1) > MaxCells {
		return dst, fmt.Errorf("%w: %d stamps of %d quantities", ErrTooLarge, n, len(f.Columns))
	}
	if n > 0 && (f.Times[0] < -maxTime || f.Times[n-1] > maxTime) {
		return dst, fmt.Errorf("encode block: times from %d to %d", f.Times[0], f.Times[n-1])
	}
	start := len(dst)
	dst = append(dst, Version)
	dst = binary.AppendUvarint(dst, uint64(n))
	var raw []byte
	if n > 0 {
		dst = binary.AppendVarint(dst, f.Times[0])
		raw = appendTimes(raw, f.Times)
	}
	dst = appendSection(dst, raw)
	dst = binary.AppendUvarint(dst, uint64(len(f.Columns)))
	for _, c := range f.Columns {
		var coding byte
		coding, raw = appendValues(raw[:0], c.Values)
		dst = append(dst, byte(c.Quantity), coding)
		dst = appendSection(dst, raw)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
}

// appendSection compresses a section if that saves at least an eighth: less is
// not worth the time of decompression.
func appendSection(dst, raw []byte) []byte {
	if len(raw) > 16 { // a frame alone costs about as much
		if z := compressor.EncodeAll(raw, make([]byte, 0, len(raw))); len(z) < len(raw)-len(raw)/8 {
			dst = binary.AppendUvarint(dst, uint64(len(z))<<1|1)
			return append(dst, z...)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(raw))<<1)
	return append(dst, raw...)
}

func appendTimes(raw []byte, times []int64) []byte {
	for i := 1; i < len(times); {
		step := times[i] - times[i-1]
		j := i + 1
		for j < len(times) && times[j]-times[j-1] == step {
			j++
		}
		raw = binary.AppendUvarint(raw, uint64(step))
		raw = binary.AppendUvarint(raw, uint64(j-i))
		i = j
	}
	return raw
}

// missing is the one NaN that marks a missing value; any other NaN keeps its
// bits.
var missing = math.Float64bits(series.Missing())

// powers of ten are exact in a float, so the quotient of a decimal's digits and its
// power is the nearest float to that decimal.
var powers = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// maxInteger bounds scaled values: up to it floats hold every integer.
const maxInteger = 1 << 53

func appendValues(raw []byte, values []float64) (coding byte, out []byte) {
	if len(values) > 0 && same(values) {
		return codingConstant, binary.LittleEndian.AppendUint64(raw, math.Float64bits(values[0]))
	}
	e, ok := exponent(values)
	if !ok {
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
		return codingRaw, raw
	}
	raw = appendGaps(raw, values)
	scale := powers[e]
	differences := make([]uint64, 0, len(values))
	var previous int64
	first := true
	for _, v := range values {
		if v != v {
			continue
		}
		x := int64(math.RoundToEven(v * scale))
		if first {
			raw, first = binary.AppendVarint(raw, x), false
		} else {
			differences = append(differences, zigzag(x-previous))
		}
		previous = x
	}
	return byte(e), appendPacked(raw, differences)
}

func same(values []float64) bool {
	first := math.Float64bits(values[0])
	for _, v := range values[1:] {
		if math.Float64bits(v) != first {
			return false
		}
	}
	return true
}

// exponent returns the smallest power of ten that makes all values integers. If
// one power makes a value an integer, a greater one does too.
func exponent(values []float64) (e int, ok bool) {
	var largest float64
	for _, v := range values {
		if v != v {
			if math.Float64bits(v) != missing {
				return 0, false
			}
			continue
		}
		for !exact(v, e) {
			if e++; e > maxExponent {
				return 0, false
			}
		}
		largest = max(largest, math.Abs(v))
	}
	return e, largest*powers[e] < maxInteger
}

// exact reports whether v·10^e is an integer from which v is restored bit by
// bit; that is false for minus zero.
func exact(v float64, e int) bool {
	x := math.RoundToEven(v * powers[e])
	return math.Abs(x) < maxInteger && math.Float64bits(float64(int64(x))/powers[e]) == math.Float64bits(v)
}

func appendGaps(raw []byte, values []float64) []byte {
	var runs []int
	there := true
	n := 0
	for _, v := range values {
		if (v == v) != there {
			runs, there, n = append(runs, n), !there, 0
		}
		n++
	}
	runs = append(runs, n)
	raw = binary.AppendUvarint(raw, uint64(len(runs)))
	for _, n := range runs {
		raw = binary.AppendUvarint(raw, uint64(n))
	}
	return raw
}
