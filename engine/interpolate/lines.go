package interpolate

import "gonum.org/v1/gonum/interp"

// splineKnots is how many samples on either side a spline goes through.
const splineKnots = 6

// knots returns up to splineKnots known samples on either side of h, on the
// steps of s, night included; x is in steps. Samples more than two days away
// are ignored. n is the number of those on the left.
func (s *siteSeries) knots(h gapSteps) (x, y []float64, n int) {
	limit := int(48 * s.perHour())
	for i := h.from - 1; i >= max(0, h.from-limit) && len(x) < splineKnots; i-- {
		if p := s.power[i]; p == p {
			x, y = append(x, float64(i)), append(y, float64(p))
		}
	}
	n = len(x)
	for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
		x[i], x[j], y[i], y[j] = x[j], x[i], y[j], y[i]
	}
	for i := h.to; i < min(len(s.power), h.to+limit) && len(x)-n < splineKnots; i++ {
		if p := s.power[i]; p == p {
			x, y = append(x, float64(i)), append(y, float64(p))
		}
	}
	return x, y, n
}

// lines writes the linear and the spline filling of the hole's daylight steps,
// shares of the peak; false where a side has no sample.
func (v *view) lines(h gapSteps, linear, spline []float32) bool {
	x, y, n := v.s.knots(h)
	if n == 0 || n == len(x) {
		return false
	}
	var monotone interp.FritschButland
	if err := monotone.Fit(x, y); err != nil {
		return false
	}
	x0, x1, y0, y1 := x[n-1], x[n], y[n-1], y[n]
	for k := v.a; k < v.b; k++ {
		at := float64(v.step(k))
		linear[k-v.a] = float32(y0 + (at-x0)/(x1-x0)*(y1-y0))
		spline[k-v.a] = float32(monotone.Predict(at))
	}
	return true
}
