package ops

import (
	"bytes"
	"math"
	"strconv"
)

// Numbers are values of a stored series. In JSON they keep four decimals, and
// a missing value is null: NaN has no other spelling there.
type Numbers []float64

// MarshalJSON writes the numbers as an array.
func (n Numbers) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(n)+2)
	b = append(b, '[')
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if !finite(v) {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendFloat(b, math.Round(v*1e4)/1e4, 'f', -1, 64)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Numbers) UnmarshalJSON(b []byte) error {
	b = bytes.Trim(bytes.TrimSpace(b), "[]")
	*n = nil
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	parts := bytes.Split(b, []byte(","))
	out := make(Numbers, len(parts))
	for i, p := range parts {
		p = bytes.TrimSpace(p)
		if string(p) == "null" {
			out[i] = math.NaN()
			continue
		}
		v, err := strconv.ParseFloat(string(p), 64)
		if err != nil {
			return err
		}
		out[i] = v
	}
	*n = out
	return nil
}

// At is value i, NaN outside.
func (n Numbers) At(i int) float64 {
	if i < 0 || i >= len(n) {
		return math.NaN()
	}
	return n[i]
}
