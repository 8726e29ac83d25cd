package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"app.sunloop/engine/series"
)

// Decode is the frame of a block, with the named quantities only, or all when
// none are named. The error is ErrCorrupt for bytes that are not an undamaged
// block.
func Decode(b []byte, quantities ...series.Quantity) (series.Frame, error) {
	return DecodeRange(b, math.MinInt64, math.MaxInt64, quantities...)
}

// DecodeRange is Decode of the stamps with from <= time < to. What is not asked
// for, columns and stamps alike, is passed over cheaply.
func DecodeRange(b []byte, from, to int64, quantities ...series.Quantity) (series.Frame, error) {
	var d Decoder
	return d.DecodeRange(b, from, to, quantities...)
}

// Decoder decodes many blocks, one after the other, into the same memory: half
// the time of decoding is that of new memory. The zero Decoder is ready to use;
// it is not safe for concurrent use.
type Decoder struct {
	times   []int64
	columns []series.Column
}

// DecodeRange is as the function, but that the frame is valid until the next
// call only.
func (d *Decoder) DecodeRange(b []byte, from, to int64, quantities ...series.Quantity) (series.Frame, error) {
	f, err := d.decode(b, from, to, quantities)
	if err != nil {
		return series.Frame{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return f, nil
}

// column is room for n values of the next column.
func (d *Decoder) column(q series.Quantity, n int) []float64 {
	i := len(d.columns)
	if i < cap(d.columns) {
		d.columns = d.columns[:i+1]
	} else {
		d.columns = append(d.columns, series.Column{})
	}
	c := &d.columns[i]
	if c.Quantity = q; cap(c.Values) < n || c.Values == nil {
		c.Values = make([]float64, n)
	}
	c.Values = c.Values[:n]
	return c.Values
}

var (
	errLength = errors.New("its length")
	errTimes  = errors.New("its times")
)

func (d *Decoder) decode(b []byte, from, to int64, quantities []series.Quantity) (series.Frame, error) {
	var f series.Frame
	if len(b) < 5 {
		return f, errLength
	}
	if b[0] != Version {
		return f, fmt.Errorf("version %d", b[0])
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return f, fmt.Errorf("checksum %08x, want %08x", got, sum)
	}
	scratch := scratches.Get().(*[]byte)
	defer func() { scratches.Put(scratch) }()

	r := reader{b: body[1:]}
	n := r.count(MaxStamps)
	lo, hi, err := d.readTimes(&r, n, from, to, scratch)
	if err != nil {
		return f, err
	}
	d.columns = d.columns[:0]
	columns := r.count(maxColumns)
	if n*(columns+1) > MaxCells {
		return f, fmt.Errorf("%d stamps of %d quantities", n, columns)
	}
	last := -1
	for range columns {
		q, coding := r.byte(), r.byte()
		if r.failed || int(q) <= last {
			return f, errors.New("quantities out of order")
		}
		last = int(q)
		if len(quantities) > 0 && !slices.Contains(quantities, series.Quantity(q)) {
			r.raw()
			continue
		}
		section := reader{b: r.section(scratch)}
		section.values(d.column(series.Quantity(q), hi-lo), coding, n, lo)
		if section.failed {
			return f, fmt.Errorf("values of %s", series.Quantity(q))
		}
	}
	if r.failed || len(r.b) > 0 {
		return f, errLength
	}
	f.Times, f.Columns = d.times, d.columns
	return f, nil
}

// scratches hold sections while they are read. One that has grown beyond
// maxScratch is not kept.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const maxScratch = 1 << 20

// reader takes bytes from the front; once it has failed it gives zeros.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) fail() {
	r.b, r.failed = nil, true
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	return unzigzag(r.uvarint())
}

// count is a number that is at most limit.
func (r *reader) count(limit int) int {
	v := r.uvarint()
	if v > uint64(limit) {
		r.fail()
		return 0
	}
	return int(v)
}

// raw returns a section's bytes without decompression.
func (r *reader) raw() (b []byte, compressed bool) {
	u := r.uvarint()
	if u>>1 > uint64(len(r.b)) {
		r.fail()
		return nil, false
	}
	b, r.b = r.b[:u>>1], r.b[u>>1:]
	return b, u&1 == 1
}

// section is a section's meaning, valid until scratch is used again.
func (r *reader) section(scratch *[]byte) []byte {
	b, compressed := r.raw()
	if !compressed {
		return b
	}
	out, err := decompressor.DecodeAll(b, (*scratch)[:0])
	if err != nil {
		r.fail()
		return nil
	}
	if cap(out) <= maxScratch {
		*scratch = out
	}
	return out
}

// readTimes keeps the stamps with from <= time < to; they are those with an
// index of lo to hi among all n.
func (d *Decoder) readTimes(r *reader, n int, from, to int64, scratch *[]byte) (lo, hi int, err error) {
	d.times = d.times[:0]
	var first int64
	if n > 0 {
		first = r.varint()
	}
	section := reader{b: r.section(scratch)}
	if r.failed || first < -maxTime || first > maxTime {
		return 0, 0, errTimes
	}
	if n == 0 {
		if len(section.b) > 0 {
			return 0, 0, errTimes
		}
		return 0, 0, nil
	}
	// A run's stamps are t+step, t+2·step, …; the first stamp belongs to the
	// first run.
	step, repeats := int64(1), 1
	if n > 1 {
		step, repeats = section.steps(n - 1)
		repeats++
	}
	t := first - step
	for at := 0; ; step, repeats = section.steps(n - at) {
		if step == 0 || repeats == 0 || t > maxTime {
			return 0, 0, errTimes
		}
		// Those before from and from to on are not wanted.
		skip := min(max(0, stepsBefore(from, t, step)), repeats)
		take := min(max(skip, stepsBefore(to, t, step)), repeats)
		lo += skip
		if take > skip {
			if d.times == nil {
				d.times = make([]int64, 0, min(n-lo, stepsBefore(to, t+step*int64(skip), step)))
			}
			end := len(d.times)
			d.times = slices.Grow(d.times, take-skip)[:end+take-skip]
			for k := range d.times[end:] {
				d.times[end+k] = t + step*int64(skip+k+1)
			}
		}
		at, t = at+repeats, t+step*int64(repeats)
		if at == n {
			break
		}
	}
	if section.failed || len(section.b) > 0 || t > maxTime {
		return 0, 0, errTimes
	}
	return lo, lo + len(d.times), nil
}

// steps is the length of a run's steps and their number, at most limit; zeros
// when it cannot be read.
func (r *reader) steps(limit int) (step int64, repeats int) {
	v := r.uvarint()
	if v > maxTime {
		r.fail()
		return 0, 0
	}
	return int64(v), r.count(limit)
}

// stepsBefore is how many of t+step, t+2·step, … are before end.
func stepsBefore(end, t, step int64) int {
	switch {
	case end <= t+step:
		return 0
	case end > 4*maxTime:
		return MaxStamps
	}
	return int(min((end-1-t)/step, MaxStamps))
}

// values fills out with the values from index lo on among all n.
func (r *reader) values(out []float64, coding byte, n, lo int) {
	switch {
	case coding <= maxExponent:
		r.decimals(out, n, lo, powers[coding])
	case coding == codingConstant && len(r.b) == 8 && n > 0:
		fill(out, math.Float64frombits(binary.LittleEndian.Uint64(r.b)))
	case coding == codingRaw && len(r.b) == 8*n:
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.b[8*(lo+i):]))
		}
	default:
		r.fail()
	}
}

// decimals fills out with the values from index lo on.
func (r *reader) decimals(out []float64, n, lo int, scale float64) {
	hi := lo + len(out)
	gaps := *r
	runs := r.count(n + 1)
	// How many values are there, before lo, and from lo to hi.
	at, all, skip, take := 0, 0, 0, 0
	for i := range runs {
		length := r.count(n - at)
		if i%2 == 0 {
			all += length
			skip += min(max(0, lo-at), length)
			take += max(0, min(at+length, hi)-max(at, lo))
		}
		at += length
	}
	if r.failed || at != n {
		r.fail()
		return
	}
	if all > 0 {
		// They are read to the end of out and then moved to their places.
		r.running(out[len(out)-take:], skip, r.varint(), scale)
	}
	if r.failed || hi == n && take > 0 && len(r.b) > 0 {
		r.fail()
		return
	}
	if take < len(out) {
		gaps.spread(out, lo, take)
	}
}

// spread moves the last values of out, take of them, to the positions given by
// the gaps, and marks the others as missing. Values move towards the front,
// never over values still to be moved.
func (r *reader) spread(out []float64, lo, take int) {
	values := out[len(out)-take:]
	at := -lo
	for i := range r.count(MaxStamps + 1) {
		length := r.count(MaxStamps)
		place := out[min(max(0, at), len(out)):max(0, min(at+length, len(out)))]
		if i%2 == 0 {
			values = values[copy(place, values):]
		} else {
			fill(place, series.Missing())
		}
		at += length
	}
}
