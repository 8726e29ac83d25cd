package neural

// squash replaces each x by shift + scale·tanh(scale·x): tanh with shift 0 and
// scale 1, the logistic function with both 0.5. len(x) is a multiple of 8. All
// kernels agree in every bit.
type squash func(x []float32, shift, scale float32)

func pickSquash(plain bool) squash {
	if hasAssembly && !plain {
		return squashAssembly
	}
	return squashPlain
}

// The continued fraction of tanh to x^7 over x^6: within 5e-5 up to the limit,
// where it is 0.99997.
const (
	tanh0, tanh1, tanh2            = 135135, 17325, 378
	tanhUnder1, tanhUnder2         = 62370, 3150
	tanhUnder3                     = 28
	tanhLimit              float32 = 4.9
)

// squashTable is what the assembly broadcasts, in this order.
var squashTable = [...]float32{tanh0, tanh1, tanh2, tanhUnder1, tanhUnder2, tanhUnder3, -tanhLimit, tanhLimit}

// squashPlain is the kernel in Go. The conversions forbid fusing products into
// sums.
func squashPlain(x []float32, shift, scale float32) {
	for i, v := range x {
		v = float32(scale * v)
		if v < -tanhLimit {
			v = -tanhLimit
		} else if v > tanhLimit {
			v = tanhLimit
		}
		y := float32(v * v)
		above := float32(y*(y+tanh2)) + tanh1
		above = float32(v * (float32(y*above) + tanh0))
		under := float32(y*tanhUnder3) + tanhUnder2
		under = float32(y*under) + tanhUnder1
		under = float32(y*under) + tanh0
		x[i] = float32(scale*(above/under)) + shift
	}
}
