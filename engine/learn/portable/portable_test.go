package portable

import (
	"math"
	"testing"
)

func TestFunctionsAgainstTheStandardLibrary(t *testing.T) {
	relative := func(got, want float64) float64 { return math.Abs(got-want) / math.Max(math.Abs(want), 1e-300) }
	for x := -700.0; x <= 700; x += 0.37 {
		if d := relative(Exp(x), math.Exp(x)); d > 4e-15 {
			t.Fatalf("Exp(%g) is off by %g", x, d)
		}
	}
	for x := -86.0; x <= 86; x += 0.011 {
		f := float32(x)
		if d := relative(float64(Exp32(f)), math.Exp(float64(f))); d > 4e-7 {
			t.Fatalf("Exp32(%g) is off by %g", x, d)
		}
		if d := relative(float64(Sigmoid(f)), 1/(1+math.Exp(-float64(f)))); d > 6e-7 {
			t.Fatalf("Sigmoid(%g) is off by %g", x, d)
		}
		if d := relative(float64(Softplus(f)), math.Log1p(math.Exp(float64(f)))); d > 6e-7 {
			t.Fatalf("Softplus(%g) is off by %g", x, d)
		}
	}
}

func TestEdges(t *testing.T) {
	if Exp(-800) != 0 || !math.IsInf(Exp(800), 1) || !math.IsNaN(Exp(math.NaN())) || Exp(0) != 1 || Exp32(0) != 1 {
		t.Fatal("an edge of Exp is wrong")
	}
	if v := Exp32(float32(math.Inf(-1))); !(v > 0 && v < 1e-37) {
		t.Fatalf("Exp32(-Inf) = %g", v)
	}
}
