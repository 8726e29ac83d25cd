// Package quantile scores, selects, orders and calibrates quantile forecasts.
package quantile

import "slices"

// Pinball is the mean pinball (check) loss of the forecasts of quantile q:
// q·e where the actual lies e above the forecast, (1-q)·|e| below. Koenker and
// Bassett 1978.
func Pinball(q float64, actual, forecast []float32) float64 {
	if len(actual) == 0 {
		return 0
	}
	var sum float64
	for i, y := range actual {
		e := float64(y) - float64(forecast[i])
		sum += max(float64(q*e), float64((q-1)*e))
	}
	return sum / float64(len(actual))
}

// Coverage is the share of actuals within [low, high].
func Coverage(actual, low, high []float32) float64 {
	if len(actual) == 0 {
		return 0
	}
	in := 0
	for i, y := range actual {
		if y >= low[i] && y <= high[i] {
			in++
		}
	}
	return float64(in) / float64(len(actual))
}

// Winkler is the mean interval score of the central interval that should miss
// with probability alpha: its width plus 2/alpha times what lies outside.
// Gneiting and Raftery 2007.
func Winkler(alpha float64, actual, low, high []float32) float64 {
	if len(actual) == 0 {
		return 0
	}
	var sum float64
	for i, y := range actual {
		l, h, a := float64(low[i]), float64(high[i]), float64(y)
		sum += h - l + 2/alpha*(max(0, l-a)+max(0, a-h))
	}
	return sum / float64(len(actual))
}

// Rearrange sorts one forecast's quantiles, which never worsens their pinball
// loss (Chernozhukov, Fernández-Val and Galichon 2010).
func Rearrange(quantiles []float32) { slices.Sort(quantiles) }
