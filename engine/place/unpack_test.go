package place

import "testing"

// BenchmarkUnpack measures the cost of the first look-up.
func BenchmarkUnpack(b *testing.B) {
	for b.Loop() {
		if _, err := unpack(packed); err != nil {
			b.Fatal(err)
		}
	}
}
