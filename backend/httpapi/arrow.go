package httpapi

import (
	"encoding/binary"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"
)

// arrowEncoder writes a stream of Arrow IPC: a schema, a record batch for each chunk and
// the end of the stream. Its fields are asset_id (utf8), timestamp (seconds of UTC), and
// float64 or, for whole numbers, int32. It writes the messages by itself, as the library
// of Arrow would add 4 MB to the program; tests read them with that library.
type arrowEncoder struct {
	compact
	fb *flatbuffers.Builder
}

// Numbers of the schema of Arrow's messages, format/Message.fbs and format/Schema.fbs.
const (
	arrowV5            = 4
	arrowHeaderSchema  = 1
	arrowHeaderBatch   = 3
	arrowTypeInt       = 2
	arrowTypeFloat     = 3
	arrowTypeUtf8      = 5
	arrowTypeTimestamp = 10
	arrowDouble        = 2
	arrowAlign         = 8
)

// message appends an encapsulated message: the marker, the length of its metadata, the
// metadata, and the body.
func (e *arrowEncoder) message(b []byte, kind byte, header flatbuffers.UOffsetT, body []byte) []byte {
	fb := e.fb
	fb.StartObject(5)
	fb.PrependInt64Slot(3, int64(len(body)), 0)
	fb.PrependUOffsetTSlot(2, header, 0)
	fb.PrependByteSlot(1, kind, 0)
	fb.PrependInt16Slot(0, arrowV5, 0)
	fb.Finish(fb.EndObject())
	meta := fb.FinishedBytes()
	padding := (arrowAlign - (len(meta)+8)%arrowAlign) % arrowAlign
	b = binary.LittleEndian.AppendUint32(b, math.MaxUint32)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(meta)+padding)) //nolint:gosec // some hundred bytes
	b = append(b, meta...)
	for range padding {
		b = append(b, 0)
	}
	fb.Reset()
	return append(b, body...)
}

// field appends the field of a schema; write makes its type.
func (e *arrowEncoder) field(name string, nullable bool, kind byte, write func() flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	fb := e.fb
	text := fb.CreateString(name)
	fieldType := write()
	fb.StartVector(4, 0, 4)
	children := fb.EndVector(0)
	fb.StartObject(7)
	fb.PrependUOffsetTSlot(5, children, 0)
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
		e.field("asset_id", false, arrowTypeUtf8, func() flatbuffers.UOffsetT { fb.StartObject(0); return fb.EndObject() }),
		e.field("timestamp", false, arrowTypeTimestamp, func() flatbuffers.UOffsetT {
			zone := fb.CreateString("UTC")
			fb.StartObject(2) // unit 0: seconds
			fb.PrependUOffsetTSlot(1, zone, 0)
			return fb.EndObject()
		}),
	}
	for _, f := range e.fields {
		if f.whole {
			list = append(list, e.field(f.name, true, arrowTypeInt, func() flatbuffers.UOffsetT {
				fb.StartObject(2)
				fb.PrependBoolSlot(1, true, false)
				fb.PrependInt32Slot(0, 32, 0)
				return fb.EndObject()
			}))
			continue
		}
		list = append(list, e.field(f.name, true, arrowTypeFloat, func() flatbuffers.UOffsetT {
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
	return e.message(b, arrowHeaderSchema, fb.EndObject(), nil)
}

func (e *arrowEncoder) chunk(b []byte, c *chunk) []byte {
	var body []byte
	var buffers, nulls []int64 // offset and length of each buffer; nulls of each field
	add := func(write func()) {
		start := int64(len(body))
		write()
		buffers = append(buffers, start, int64(len(body))-start)
		for len(body)%arrowAlign != 0 {
			body = append(body, 0)
		}
	}
	empty := func() {}
	n := len(c.times)
	nulls = append(nulls, 0, 0)
	add(empty)
	add(func() {
		for i := range n + 1 {
			body = binary.LittleEndian.AppendUint32(body, uint32(i*len(c.assetID))) //nolint:gosec // some thousand ids
		}
	})
	add(func() {
		for range n {
			body = append(body, c.assetID...)
		}
	})
	add(empty)
	add(func() {
		for _, at := range c.times {
			body = binary.LittleEndian.AppendUint64(body, uint64(at)) //nolint:gosec // its bits
		}
	})
	for k, f := range e.fields {
		missing := int64(0)
		for _, v := range c.values[k] {
			if !finite(v) {
				missing++
			}
		}
		nulls = append(nulls, missing)
		add(func() {
			if missing > 0 {
				body = appendBits(body, c.values[k])
			}
		})
		add(func() {
			for _, v := range c.values[k] {
				if !finite(v) {
					v = 0
				}
				if f.whole {
					body = binary.LittleEndian.AppendUint32(body, uint32(int32(v))) //nolint:gosec // its bits
				} else {
					body = binary.LittleEndian.AppendUint64(body, math.Float64bits(v))
				}
			}
		})
	}
	fb := e.fb
	fb.StartVector(16, len(buffers)/2, 8)
	for i := len(buffers) - 2; i >= 0; i -= 2 {
		fb.Prep(8, 16)
		fb.PrependInt64(buffers[i+1])
		fb.PrependInt64(buffers[i])
	}
	places := fb.EndVector(len(buffers) / 2)
	fb.StartVector(16, len(nulls), 8)
	for i := len(nulls) - 1; i >= 0; i-- {
		fb.Prep(8, 16)
		fb.PrependInt64(nulls[i])
		fb.PrependInt64(int64(n))
	}
	nodes := fb.EndVector(len(nulls))
	fb.StartObject(5)
	fb.PrependUOffsetTSlot(2, places, 0)
	fb.PrependUOffsetTSlot(1, nodes, 0)
	fb.PrependInt64Slot(0, int64(n), 0)
	return e.message(b, arrowHeaderBatch, fb.EndObject(), body)
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
