//go:build !purego

package neural

//go:noescape
func squash8(x *float32, n int, table *float32, shift, scale float32)

// squashAssembly is [squashPlain] with vector instructions.
func squashAssembly(x []float32, shift, scale float32) {
	if len(x) < 8 {
		return
	}
	squash8(&x[0], len(x)/8, &squashTable[0], shift, scale)
}
