package neural

// lanes is the width all layers are padded to.
const lanes = 16

func padded(n int) int { return (n + lanes - 1) &^ (lanes - 1) }

// kernel adds sum over k of a[k*step]*b[k*n : k*n+n] to c[:n], as far as a
// reaches; n is a multiple of lanes. Every lane sums in the order of k, so that
// all kernels agree in every bit.
type kernel func(c, a, b []float32, step, n int)

func pickKernel(plain bool) kernel {
	if hasAssembly && !plain {
		return addProductsAssembly
	}
	return addProductsPlain
}

// addProductsPlain is the kernel in Go. The conversions forbid fusing the
// product into the sum where the machine could.
func addProductsPlain(c, a, b []float32, step, n int) {
	for j := 0; j < n; j += lanes {
		cc := (*[lanes]float32)(c[j : j+lanes])
		c0, c1, c2, c3, c4, c5, c6, c7 := cc[0], cc[1], cc[2], cc[3], cc[4], cc[5], cc[6], cc[7]
		c8, c9, ca, cb, cd, ce, cf, cg := cc[8], cc[9], cc[10], cc[11], cc[12], cc[13], cc[14], cc[15]
		o := j
		for i := 0; i < len(a); i += step {
			x := a[i]
			bb := (*[lanes]float32)(b[o : o+lanes])
			o += n
			c0 += float32(x * bb[0])
			c1 += float32(x * bb[1])
			c2 += float32(x * bb[2])
			c3 += float32(x * bb[3])
			c4 += float32(x * bb[4])
			c5 += float32(x * bb[5])
			c6 += float32(x * bb[6])
			c7 += float32(x * bb[7])
			c8 += float32(x * bb[8])
			c9 += float32(x * bb[9])
			ca += float32(x * bb[10])
			cb += float32(x * bb[11])
			cd += float32(x * bb[12])
			ce += float32(x * bb[13])
			cf += float32(x * bb[14])
			cg += float32(x * bb[15])
		}
		cc[0], cc[1], cc[2], cc[3], cc[4], cc[5], cc[6], cc[7] = c0, c1, c2, c3, c4, c5, c6, c7
		cc[8], cc[9], cc[10], cc[11], cc[12], cc[13], cc[14], cc[15] = c8, c9, ca, cb, cd, ce, cf, cg
	}
}
