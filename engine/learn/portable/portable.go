// Package portable holds the few elementary functions that training needs,
// written so that they give the same bits on every processor. The standard
// library's Exp and Log1p use fused multiply-add where the machine has it, and
// a model must not depend on the machine it was trained on.
//
// Products are converted explicitly, which forbids the compiler to fuse them.
package portable

import "math"

// The halves of ln 2 for Cody-Waite range reduction: ln2Hi has its low bits
// clear, so that k*ln2Hi is exact for every k in range.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
	log2E = 1.44269504088896338700e+00
)

// Exp is e**x to about 1e-15 relative. It is 0 below -708 and +Inf above 709;
// NaN gives NaN.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x < -708:
		return 0
	case x > 709:
		return math.Inf(1)
	}
	k := math.Floor(float64(x*log2E) + 0.5)
	r := x - float64(k*ln2Hi)
	r -= float64(k * ln2Lo)
	// Taylor to degree 13 on |r| <= ln2/2: the next term is below 5e-18.
	s := 1.0
	for n := 13; n >= 1; n-- {
		s = 1 + float64(r*s)*inverse[n]
	}
	return s * math.Float64frombits(uint64(int64(k)+1023)<<52)
}

var inverse = func() (v [14]float64) {
	for n := 1; n < len(v); n++ {
		v[n] = 1 / float64(n)
	}
	return v
}()

// Exp32 is e**x for float32, to about 2e-7 relative, clamped to |x| <= 87.
func Exp32(x float32) float32 {
	x = min(max(x, -87), 87)
	k := float32(int32(float32(x*1.44269504)+127.5) - 127) // round to nearest; the offset keeps the conversion positive
	r := x - float32(k*0.693359375)
	r -= float32(k * -2.12194440e-4)
	p := float32(1.9875691500e-4)
	p = float32(p*r) + 1.3981999507e-3
	p = float32(p*r) + 8.3334519073e-3
	p = float32(p*r) + 4.1665795894e-2
	p = float32(p*r) + 1.6666665459e-1
	p = float32(p*r) + 5.0000001201e-1
	p = float32(float32(p*r)*r) + r + 1
	return p * math.Float32frombits(uint32(int32(k)+127)<<23)
}

// Sigmoid is 1/(1+e**-x).
func Sigmoid(x float32) float32 { return 1 / (1 + Exp32(-x)) }

// Softplus is log(1+e**x).
func Softplus(x float32) float32 {
	if x > 15 {
		return x
	}
	u, base := Exp32(x), float32(0)
	if x > 0 {
		u, base = Exp32(-x), x
	}
	// log(1+u) = 2 atanh(u/(2+u)), by its series on 0..1/3.
	z := u / (2 + u)
	q := float32(z * z)
	s := float32(q*(1.0/13)) + 1.0/11
	for _, c := range [...]float32{1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1} {
		s = float32(s*q) + c
	}
	return base + float32(2*z)*s
}
