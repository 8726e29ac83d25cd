package ops

// Pinball is the mean pinball loss of P10, P50 and P90 against what came, in
// the unit of its arguments.
func Pinball(p10, p50, p90, actual float64) float64 {
	loss := func(q, said float64) float64 { return max(q*(actual-said), (q-1)*(actual-said)) }
	return (loss(0.1, p10) + loss(0.5, p50) + loss(0.9, p90)) / 3
}
