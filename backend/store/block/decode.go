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
	f, err := decode(b, from, to, quantities)
	if err != nil {
		return series.Frame{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return f, nil
}

var errLength = errors.New("its length")

func decode(b []byte, from, to int64, quantities []series.Quantity) (series.Frame, error) {
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
	lo, hi, err := r.times(&f, n, from, to, scratch)
	if err != nil {
		return f, err
	}
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
		values := section.values(coding, n, lo, hi)
		if section.failed {
			return f, fmt.Errorf("values of %s", series.Quantity(q))
		}
		f.Columns = append(f.Columns, series.Column{Quantity: series.Quantity(q), Values: values})
	}
	if r.failed || len(r.b) > 0 {
		return f, errLength
	}
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
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
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

// raw is a section's bytes as they stand.
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

// times puts the stamps with from <= time < to into f; they are those with an
// index of lo to hi among all n.
func (r *reader) times(f *series.Frame, n int, from, to int64, scratch *[]byte) (lo, hi int, err error) {
	errTimes := errors.New("its times")
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
	// The first stamp is a run of one.
	t, step, repeats := first-1, int64(1), 1
	for at := 0; ; {
		// The run's stamps are t+step, t+2·step, …; those before from and from
		// to on are not wanted.
		skip := min(max(0, steps(from, t, step)), repeats)
		take := min(max(skip, steps(to, t, step)), repeats)
		lo += skip
		if take > skip && f.Times == nil {
			f.Times = make([]int64, 0, min(n-lo, max(take-skip, steps(to, t+step*int64(skip), step), 16)))
		}
		for k := skip; k < take; k++ {
			f.Times = append(f.Times, t+step*int64(k+1))
		}
		at, t = at+repeats, t+step*int64(repeats)
		if at == n {
			break
		}
		step, repeats = int64(section.count(maxTime)), section.count(n-at)
		if step == 0 || repeats == 0 || t > maxTime {
			return 0, 0, errTimes
		}
	}
	if section.failed || len(section.b) > 0 || t > maxTime {
		return 0, 0, errTimes
	}
	return lo, lo + len(f.Times), nil
}

// steps is how many of t+step, t+2·step, … are before end.
func steps(end, t, step int64) int {
	switch {
	case end <= t+step:
		return 0
	case end > 4*maxTime:
		return MaxStamps
	}
	return int(min((end-1-t)/step, MaxStamps))
}

// values are those with an index of lo to hi among all n.
func (r *reader) values(coding byte, n, lo, hi int) []float64 {
	out := make([]float64, hi-lo)
	switch {
	case coding <= maxExponent:
		r.decimals(out, n, lo, powers[coding])
	case coding == codingConstant && len(r.b) == 8 && n > 0:
		v := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
		for i := range out {
			out[i] = v
		}
	case coding == codingRaw && len(r.b) == 8*n:
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.b[8*(lo+i):]))
		}
	default:
		r.fail()
	}
	return out
}

// decimals fills out with the values from index lo on. The gaps' lengths are
// read beside the values, as both come in one order.
func (r *reader) decimals(out []float64, n, lo int, scale float64) {
	hi := lo + len(out)
	runs := r.count(n + 1)
	lengths := reader{b: r.b}
	for range runs {
		r.uvarint()
	}
	var x int64
	at, there := 0, true
	for range runs {
		length := lengths.count(n - at)
		if r.failed || lengths.failed {
			r.fail()
			return
		}
		skip := min(max(0, lo-at), length)
		take := min(max(skip, hi-at), length)
		run := out[max(0, at+skip-lo):][:take-skip]
		if there {
			x = r.deltas(run, r.skip(skip, x), scale)
		} else {
			for i := range run {
				run[i] = series.Missing()
			}
		}
		if at, there = at+length, !there; at >= hi {
			return
		}
	}
	if at != n {
		r.fail()
	}
}

// skip passes over n differences and answers the value behind them.
func (r *reader) skip(n int, x int64) int64 {
	for range n {
		u, b := delta(r.b)
		if b == nil {
			r.fail()
			return 0
		}
		r.b, x = b, x+u
	}
	return x
}

// deltas fills a run of values.
func (r *reader) deltas(run []float64, x int64, scale float64) int64 {
	b := r.b
	for i := range run {
		var u int64
		if u, b = delta(b); b == nil {
			r.fail()
			return 0
		}
		x += u
		run[i] = float64(x) / scale
	}
	r.b = b
	return x
}

// delta is the difference at the front of b, mostly of one byte or two, and
// what follows it; rest is nil when there is none.
func delta(b []byte) (d int64, rest []byte) {
	var u uint64
	switch {
	case len(b) > 0 && b[0] < 0x80:
		u, b = uint64(b[0]), b[1:]
	case len(b) > 1 && b[1] < 0x80:
		u, b = uint64(b[0]&0x7f)|uint64(b[1])<<7, b[2:]
	default:
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, nil
		}
		u, b = v, b[n:]
	}
	return int64(u>>1) ^ -int64(u&1), b
}
