package place

import "testing"

// BenchmarkUnpack is what the first look-up pays.
func BenchmarkUnpack(b *testing.B) {
	for b.Loop() {
		if _, err := unpack(packed); err != nil {
			b.Fatal(err)
		}
	}
}
