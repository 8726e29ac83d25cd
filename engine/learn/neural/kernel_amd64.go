//go:build !purego

package neural

import "golang.org/x/sys/cpu"

// hasAssembly reports whether this machine can run the assembly kernel.
var hasAssembly = cpu.X86.HasAVX

//go:noescape
func addProducts64(c, a, b *float32, k, step, stride int)

//go:noescape
func addProducts16(c, a, b *float32, k, step, stride int)

// addProductsAssembly is [addProductsPlain] with vector instructions.
func addProductsAssembly(c, a, b []float32, step, n int) {
	if len(a) == 0 {
		return
	}
	k := (len(a)-1)/step + 1
	_, _ = c[n-1], b[k*n-1] // the assembly checks no bounds
	j := 0
	for ; j+64 <= n; j += 64 {
		addProducts64(&c[j], &a[0], &b[j], k, step*4, n*4)
	}
	for ; j < n; j += lanes {
		addProducts16(&c[j], &a[0], &b[j], k, step*4, n*4)
	}
}

//go:noescape
func move8(w, slope, m, v *float32, n int, by *stride)

// moveAssembly is [movePlain] with vector instructions.
func moveAssembly(w, g, m, v []float32, by *stride) {
	n := len(w) &^ 7
	if n > 0 {
		_, _, _ = g[n-1], m[n-1], v[n-1] // the assembly checks no bounds
		move8(&w[0], &g[0], &m[0], &v[0], n/8, by)
	}
	movePlain(w[n:], g[n:], m[n:], v[n:], by)
}
