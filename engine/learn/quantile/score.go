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

// Rearrange sorts one forecast's quantiles, which never worsens their pinball
// loss (Chernozhukov, Fernández-Val and Galichon 2010).
func Rearrange(quantiles []float32) { slices.Sort(quantiles) }
