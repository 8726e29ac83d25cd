package httpapi

import (
	"encoding/binary"
	"math"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
)

// arrowEncoder writes a stream of Arrow IPC: a schema, the dictionary of the ids of units,
// a record batch for each chunk and the end of the stream. Its fields are asset_id (a
// dictionary of utf8 by int16, or int32 for more units than that has), timestamp (seconds
// of UTC), and float64 or, for whole numbers, int32. It writes the messages by itself, as
// the library of Arrow would add 4 MB to the program; tests read them with that library.
type arrowEncoder struct {
	compact
	fb   *flatbuffers.Builder
	unit int // place of the unit of the last chunk in the dictionary
}

// Numbers of the schema of Arrow's messages, format/Message.fbs and format/Schema.fbs.
const (
	arrowV5            = 4
	arrowHeaderSchema  = 1
	arrowHeaderWords   = 2 // a dictionary
	arrowHeaderBatch   = 3
	arrowTypeInt       = 2
	arrowTypeFloat     = 3
	arrowTypeUtf8      = 5
	arrowTypeTimestamp = 10
	arrowDouble        = 2
	arrowAlign         = 8
)

// message appends an encapsulated message without its body: the marker, the length of its
// metadata, and the metadata.
func (e *arrowEncoder) message(b []byte, kind byte, header flatbuffers.UOffsetT, body int64) []byte {
	fb := e.fb
	fb.StartObject(5)
	fb.PrependInt64Slot(3, body, 0)
	fb.PrependUOffsetTSlot(2, header, 0)
	fb.PrependByteSlot(1, kind, 0)
	fb.PrependInt16Slot(0, arrowV5, 0)
	fb.Finish(fb.EndObject())
	meta := fb.FinishedBytes()
	padding := (arrowAlign - (len(meta)+8)%arrowAlign) % arrowAlign
	b = slices.Grow(b, len(meta)+2*arrowAlign+int(body))
	b = binary.LittleEndian.AppendUint32(b, math.MaxUint32)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(meta)+padding)) //nolint:gosec // some hundred bytes
	b = append(b, meta...)
	for range padding {
		b = append(b, 0)
	}
	fb.Reset()
	return b
}

// whole appends a type of signed whole numbers.
func (e *arrowEncoder) whole(bits int32) flatbuffers.UOffsetT {
	e.fb.StartObject(2)
	e.fb.PrependBoolSlot(1, true, false)
	e.fb.PrependInt32Slot(0, bits, 0)
	return e.fb.EndObject()
}

// field appends the field of a schema; write makes its type. Bits are those of the numbers
// by which the values of a dictionary are named; 0 for a field without one.
func (e *arrowEncoder) field(name string, nullable bool, kind byte, bits int32, write func() flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	fb := e.fb
	text := fb.CreateString(name)
	fieldType := write()
	var dictionary flatbuffers.UOffsetT
	if bits > 0 {
		numbers := e.whole(bits)
		fb.StartObject(4) // of id 0
		fb.PrependUOffsetTSlot(1, numbers, 0)
		dictionary = fb.EndObject()
	}
	fb.StartVector(4, 0, 4)
	children := fb.EndVector(0)
	fb.StartObject(7)
	fb.PrependUOffsetTSlot(5, children, 0)
	fb.PrependUOffsetTSlot(4, dictionary, 0)
	fb.PrependUOffsetTSlot(3, fieldType, 0)
	fb.PrependByteSlot(2, kind, 0)
	fb.PrependBoolSlot(1, nullable, false)
	fb.PrependUOffsetTSlot(0, text, 0)
	return fb.EndObject()
}

func (e *arrowEncoder) begin(b []byte) []byte {
	e.fb = flatbuffers.NewBuilder(4096)
	fb := e.fb
	list := []flatbuffers.UOffsetT{
		e.field("asset_id", false, arrowTypeUtf8, e.indexBits(), func() flatbuffers.UOffsetT { fb.StartObject(0); return fb.EndObject() }),
		e.field("timestamp", false, arrowTypeTimestamp, 0, func() flatbuffers.UOffsetT {
			zone := fb.CreateString("UTC")
			fb.StartObject(2) // unit 0: seconds
			fb.PrependUOffsetTSlot(1, zone, 0)
			return fb.EndObject()
		}),
	}
	for _, f := range e.fields {
		if f.whole {
			list = append(list, e.field(f.name, true, arrowTypeInt, 0, func() flatbuffers.UOffsetT { return e.whole(32) }))
			continue
		}
		list = append(list, e.field(f.name, true, arrowTypeFloat, 0, func() flatbuffers.UOffsetT {
			fb.StartObject(1)
			fb.PrependInt16Slot(0, arrowDouble, 0)
			return fb.EndObject()
		}))
	}
	fb.StartVector(4, len(list), 4)
	for i := len(list) - 1; i >= 0; i-- {
		fb.PrependUOffsetT(list[i])
	}
	fields := fb.EndVector(len(list))
	fb.StartObject(4)
	fb.PrependUOffsetTSlot(1, fields, 0)
	b = e.message(b, arrowHeaderSchema, fb.EndObject(), 0)
	return e.dictionary(b)
}

// indexBits is the size of the numbers of units.
func (e *arrowEncoder) indexBits() int32 {
	if len(e.units) > math.MaxInt16 {
		return 32
	}
	return 16
}

// dictionary appends the dictionary of the units.
func (e *arrowEncoder) dictionary(b []byte) []byte {
	var l arrowLayout
	text := 0
	for _, id := range e.units {
		text += len(id)
	}
	l.column(0, 0, 4*(len(e.units)+1), text)
	fb := e.fb
	batch := e.batch(&l, len(e.units))
	fb.StartObject(3) // of id 0, no delta
	fb.PrependUOffsetTSlot(1, batch, 0)
	b = e.message(b, arrowHeaderWords, fb.EndObject(), l.size)
	at := 0
	for i := range len(e.units) + 1 {
		b = binary.LittleEndian.AppendUint32(b, uint32(at)) //nolint:gosec // ids of units
		if i < len(e.units) {
			at += len(e.units[i])
		}
	}
	b = padded(b, 4*(len(e.units)+1))
	for _, id := range e.units {
		b = append(b, id...)
	}
	return padded(b, text)
}

// arrowLayout are the places of the buffers of a record batch.
type arrowLayout struct {
	buffers []int64 // offset and length of each
	nulls   []int64 // of each field
	size    int64   // of the body
}

// column adds the buffers of a field, of which the first says which values are known.
func (l *arrowLayout) column(nulls int, sizes ...int) {
	l.nulls = append(l.nulls, int64(nulls))
	for _, n := range sizes {
		l.buffers = append(l.buffers, l.size, int64(n))
		l.size += int64(n+arrowAlign-1) / arrowAlign * arrowAlign
	}
}

// padded appends what a buffer of n bytes lacks of whole units of alignment.
func padded(b []byte, n int) []byte {
	for ; n%arrowAlign != 0; n++ {
		b = append(b, 0)
	}
	return b
}

// batch appends the header of a record batch of n rows.
func (e *arrowEncoder) batch(l *arrowLayout, n int) flatbuffers.UOffsetT {
	fb := e.fb
	fb.StartVector(16, len(l.buffers)/2, 8)
	for i := len(l.buffers) - 2; i >= 0; i -= 2 {
		fb.Prep(8, 16)
		fb.PrependInt64(l.buffers[i+1])
		fb.PrependInt64(l.buffers[i])
	}
	places := fb.EndVector(len(l.buffers) / 2)
	fb.StartVector(16, len(l.nulls), 8)
	for i := len(l.nulls) - 1; i >= 0; i-- {
		fb.Prep(8, 16)
		fb.PrependInt64(l.nulls[i])
		fb.PrependInt64(int64(n))
	}
	nodes := fb.EndVector(len(l.nulls))
	fb.StartObject(5)
	fb.PrependUOffsetTSlot(2, places, 0)
	fb.PrependUOffsetTSlot(1, nodes, 0)
	fb.PrependInt64Slot(0, int64(n), 0)
	return fb.EndObject()
}

func (e *arrowEncoder) chunk(b []byte, c *chunk) []byte {
	for e.units[e.unit] != c.assetID { // chunks come in the order of the units
		e.unit++
	}
	n, wide := len(c.times), e.indexBits() == 32
	indexSize := int(e.indexBits() / 8)
	var l arrowLayout
	l.column(0, 0, n*indexSize)
	l.column(0, 0, 8*n)
	for k, f := range e.fields {
		missing, bits, size := 0, 0, 8
		for _, v := range c.values[k] {
			if !finite(v) {
				missing++
			}
		}
		if missing > 0 {
			bits = (n + 7) / 8
		}
		if f.whole {
			size = 4
		}
		l.column(missing, bits, n*size)
	}
	b = e.message(b, arrowHeaderBatch, e.batch(&l, n), l.size)
	for range n {
		if wide {
			b = binary.LittleEndian.AppendUint32(b, uint32(e.unit)) //nolint:gosec // the units of a site
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(e.unit)) //nolint:gosec // as indexBits says
		}
	}
	b = padded(b, n*indexSize)
	for _, at := range c.times {
		b = binary.LittleEndian.AppendUint64(b, uint64(at)) //nolint:gosec // its bits
	}
	for k, f := range e.fields {
		if l.nulls[2+k] > 0 {
			b = padded(appendBits(b, c.values[k]), (n+7)/8)
		}
		for _, v := range c.values[k] {
			if !finite(v) {
				v = 0
			}
			if f.whole {
				b = binary.LittleEndian.AppendUint32(b, uint32(int32(v))) //nolint:gosec // its bits
			} else {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
		}
		if f.whole {
			b = padded(b, 4*n)
		}
	}
	return b
}

// appendBits appends a bit for each value, 1 if it is known.
func appendBits(b []byte, values []float64) []byte {
	start := len(b)
	b = append(b, make([]byte, (len(values)+7)/8)...)
	for i, v := range values {
		if finite(v) {
			b[start+i/8] |= 1 << (i % 8)
		}
	}
	return b
}

func (e *arrowEncoder) end(b []byte, _ string) []byte {
	return append(b, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
}
