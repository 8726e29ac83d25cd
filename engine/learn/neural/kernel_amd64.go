//go:build !purego

package neural

import "golang.org/x/sys/cpu"

// hasAssembly says whether this machine can run the assembly kernel.
var hasAssembly = cpu.X86.HasAVX

//go:noescape
func addProducts64(c, a, b *float32, k, stride int)

//go:noescape
func addProducts16(c, a, b *float32, k, stride int)

// addProductsAssembly is [addProductsPlain] with vector instructions.
func addProductsAssembly(c, a, b []float32, n int) {
	if len(a) == 0 {
		return
	}
	_, _ = c[n-1], b[len(a)*n-1] // the assembly checks no bounds
	j := 0
	for ; j+64 <= n; j += 64 {
		addProducts64(&c[j], &a[0], &b[j], len(a), n*4)
	}
	for ; j < n; j += lanes {
		addProducts16(&c[j], &a[0], &b[j], len(a), n*4)
	}
}
