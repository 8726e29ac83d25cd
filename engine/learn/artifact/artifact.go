// Package artifact encodes learned models as flat, checksummed bytes and
// decodes untrusted bytes safely: sizes are capped before anything is
// allocated, every section has its checksum, and each decoded part is validated
// before use.
//
// The format: "SLPA", a format version, a section count, then for each section
// its id, length and CRC-32C, then the sections. All numbers are little-endian
// and of fixed width.
package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

const (
	magic   = "SLPA"
	version = 1

	// MaxBytes is the largest container that is read.
	MaxBytes    = 64 << 20
	maxSections = 256
)

// ErrMalformed is wrapped by every error about bytes that are no artifact.
var ErrMalformed = errors.New("malformed artifact")

func malformed(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, a...))
}

// ID names a section.
type ID uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer collects sections.
type Writer struct {
	ids      []ID
	sections [][]byte
}

// Section adds a section with what fill puts into it.
func (w *Writer) Section(id ID, fill func(*Encoder)) {
	var e Encoder
	fill(&e)
	w.ids = append(w.ids, id)
	w.sections = append(w.sections, e.b)
}

// Bytes is the container.
func (w *Writer) Bytes() []byte {
	out := []byte(magic)
	out = binary.LittleEndian.AppendUint32(out, version)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(w.ids)))
	for i, s := range w.sections {
		out = binary.LittleEndian.AppendUint32(out, uint32(w.ids[i]))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(s)))
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(s, castagnoli))
	}
	return append(out, bytes.Join(w.sections, nil)...)
}

// Container is an opened artifact.
type Container struct {
	ids      []ID
	sections [][]byte
}

// Open checks the frame of a container and its checksums.
func Open(b []byte) (*Container, error) {
	switch {
	case len(b) > MaxBytes:
		return nil, malformed("%d bytes are more than %d", len(b), MaxBytes)
	case len(b) < 12 || string(b[:4]) != magic:
		return nil, malformed("it does not begin with %q", magic)
	}
	if v := binary.LittleEndian.Uint32(b[4:]); v != version {
		return nil, malformed("format version %d is not one this program reads (%d)", v, version)
	}
	n := int(binary.LittleEndian.Uint32(b[8:]))
	if n > maxSections || len(b) < 12+12*n {
		return nil, malformed("%d sections in %d bytes", n, len(b))
	}
	c := &Container{}
	rest := b[12+12*n:]
	for i := range n {
		head := b[12+12*i:]
		size := int(binary.LittleEndian.Uint32(head[4:]))
		if size > len(rest) {
			return nil, malformed("section %d is cut short", i)
		}
		s := rest[:size]
		rest = rest[size:]
		if crc32.Checksum(s, castagnoli) != binary.LittleEndian.Uint32(head[8:]) {
			return nil, malformed("section %d fails its checksum", i)
		}
		c.ids, c.sections = append(c.ids, ID(binary.LittleEndian.Uint32(head))), append(c.sections, s)
	}
	if len(rest) > 0 {
		return nil, malformed("%d bytes follow the last section", len(rest))
	}
	return c, nil
}

// Section decodes the n-th section of an id; read must take all of it.
func (c *Container) Section(id ID, n int, read func(*Decoder)) error {
	for i, have := range c.ids {
		if have != id {
			continue
		}
		if n--; n >= 0 {
			continue
		}
		d := &Decoder{b: c.sections[i]}
		read(d)
		if d.err == nil && len(d.b) > 0 {
			d.Fail("section %d has %d bytes too many", id, len(d.b))
		}
		return d.err
	}
	return malformed("section %d is missing", id)
}

// Count returns the number of sections of an id.
func (c *Container) Count(id ID) int {
	n := 0
	for _, have := range c.ids {
		if have == id {
			n++
		}
	}
	return n
}

// Hash is the SHA-256 of the parts, in hex: what a registry keeps.
func Hash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Encoder appends numbers to a section.
type Encoder struct{ b []byte }

// Uint32 appends v.
func (e *Encoder) Uint32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }

// Int64 appends v.
func (e *Encoder) Int64(v int64) { e.b = binary.LittleEndian.AppendUint64(e.b, uint64(v)) }

// Float64 appends v.
func (e *Encoder) Float64(v float64) {
	e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v))
}

// Float32 appends v.
func (e *Encoder) Float32(v float32) { e.Uint32(math.Float32bits(v)) }

// Float32s appends the length of v and v.
func (e *Encoder) Float32s(v []float32) {
	e.Uint32(uint32(len(v)))
	for _, x := range v {
		e.Float32(x)
	}
}

// Float64s appends the length of v and v.
func (e *Encoder) Float64s(v []float64) {
	e.Uint32(uint32(len(v)))
	for _, x := range v {
		e.Float64(x)
	}
}

// Raw appends bytes without a length.
func (e *Encoder) Raw(v []byte) { e.b = append(e.b, v...) }

// Uint16 appends v.
func (e *Encoder) Uint16(v uint16) { e.b = binary.LittleEndian.AppendUint16(e.b, v) }

// Decoder reads numbers from a section. After the first error every result is
// zero; check [Decoder.Err] once at the end.
type Decoder struct {
	b   []byte
	err error
}

// Err is the first failure.
func (d *Decoder) Err() error { return d.err }

// Fail records a failure, unless there was one.
func (d *Decoder) Fail(format string, a ...any) {
	if d.err == nil {
		d.err = malformed(format, a...)
	}
	d.b = nil
}

func (d *Decoder) take(n int) []byte {
	if d.err == nil && n > len(d.b) {
		d.Fail("a section ends too early")
	}
	if d.err != nil {
		return make([]byte, 8)[:min(n, 8)]
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

// Uint16 takes one.
func (d *Decoder) Uint16() uint16 { return binary.LittleEndian.Uint16(d.take(2)) }

// Uint32 takes one.
func (d *Decoder) Uint32() uint32 { return binary.LittleEndian.Uint32(d.take(4)) }

// Int64 takes one.
func (d *Decoder) Int64() int64 { return int64(binary.LittleEndian.Uint64(d.take(8))) }

// Float64 takes one.
func (d *Decoder) Float64() float64 { return math.Float64frombits(uint64(d.Int64())) }

// Float32 takes one.
func (d *Decoder) Float32() float32 { return math.Float32frombits(d.Uint32()) }

// Length reads a count of items of at least size bytes each. A count that
// exceeds the rest of the section is an error, before anything is allocated for
// it.
func (d *Decoder) Length(size int) int {
	n := int(d.Uint32())
	if n*size > len(d.b) {
		d.Fail("%d items of %d bytes in %d", n, size, len(d.b))
		return 0
	}
	return n
}

// Raw takes n bytes, as a copy.
func (d *Decoder) Raw(n int) []byte { return bytes.Clone(d.take(n)) }

// Float32s takes a length and as many.
func (d *Decoder) Float32s() []float32 {
	out := make([]float32, d.Length(4))
	for i := range out {
		out[i] = d.Float32()
	}
	return out
}

// Float64s takes a length and as many.
func (d *Decoder) Float64s() []float64 {
	out := make([]float64, d.Length(8))
	for i := range out {
		out[i] = d.Float64()
	}
	return out
}
