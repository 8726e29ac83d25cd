package block

import (
	"encoding/binary"
	"math/bits"
)

// Packed numbers come in groups of 8, as 8 numbers of w bits are w bytes: a
// group is found, read or passed over without shifting the one before. Eight
// are few enough for a night to cost nothing and a spike little, and on
// measured power the groups come out smaller than general compression of the
// same numbers, at a tenth of its time.
const (
	groupSize  = 8
	maxWidth   = 56   // bits; a difference of two integers of 53 bits needs 55
	zeroGroups = 0x80 // this byte and the next 127: so many more groups of zeros
)

// appendPacked appends the numbers, none wider than maxWidth.
func appendPacked(b []byte, numbers []uint64) []byte {
	zeros := 0
	for i := 0; i < len(numbers); i += groupSize {
		group := numbers[i:min(i+groupSize, len(numbers))]
		var any uint64
		for _, u := range group {
			any |= u
		}
		switch {
		case any != 0:
			b = appendGroup(b, group, bits.Len64(any))
			zeros = 0
		case zeros == 0 || zeros == 0x80:
			b = append(b, zeroGroups)
			zeros = 1
		default:
			b[len(b)-1]++
			zeros++
		}
	}
	return b
}

// appendGroup fills a short group up with zeros.
func appendGroup(b []byte, group []uint64, width int) []byte {
	b = append(b, byte(width))
	var held uint64 // bits that do not make a byte yet
	n := 0
	for i := range groupSize {
		if i < len(group) {
			held |= group[i] << n
		}
		for n += width; n >= 8; n -= 8 {
			b = append(b, byte(held))
			held >>= 8
		}
	}
	return b
}

// running reads packed zig-zag differences and fills out with what they add up
// to, over scale, from value skip on; value 0 is x.
func (r *reader) running(out []float64, skip int, x int64, scale float64) {
	if len(out) == 0 {
		return
	}
	if skip == 0 {
		out[0] = float64(x) / scale
	}
	var group [groupSize]int64
	for i := 1 - skip; i < len(out); { // out[i] is the next group's first
		head := r.byte()
		if head >= zeroGroups {
			end := i + (int(head-zeroGroups)+1)*groupSize
			fill(out[max(0, i):max(0, min(end, len(out)))], float64(x)/scale)
			i = end
			continue
		}
		if head == 0 || head > maxWidth || int(head) > len(r.b) {
			r.fail()
			return
		}
		unpack(&group, r.b, uint(head))
		r.b = r.b[head:]
		for k := range group {
			x += group[k]
			group[k] = x
		}
		if i >= 0 && i+groupSize <= len(out) {
			whole := out[i : i+groupSize : i+groupSize]
			for k, x := range group {
				whole[k] = float64(x) / scale
			}
		} else {
			for k := max(0, -i); k < min(groupSize, len(out)-i); k++ {
				out[i+k] = float64(group[k]) / scale
			}
		}
		i += groupSize
	}
}

func fill(out []float64, v float64) {
	for i := range out {
		out[i] = v
	}
}

// unpack reads the group of the width that is at the front of b.
func unpack(group *[groupSize]int64, b []byte, width uint) {
	mask := uint64(1)<<width - 1
	if width <= 8 {
		// One word holds all.
		var word [8]byte
		var u uint64
		if len(b) >= len(word) {
			u = binary.LittleEndian.Uint64(b)
		} else {
			copy(word[:], b)
			u = binary.LittleEndian.Uint64(word[:])
		}
		for k := range group {
			group[k] = unzigzag(u & mask)
			u >>= width
		}
		return
	}
	var room [maxWidth + 8]byte // so that a word may be read at every place
	copy(room[:], b[:width])
	for k := range group {
		at := uint(k) * width
		group[k] = unzigzag(binary.LittleEndian.Uint64(room[at/8:]) >> (at % 8) & mask)
	}
}

func zigzag(d int64) uint64   { return uint64(d)<<1 ^ uint64(d>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
