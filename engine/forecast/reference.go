package forecast

// The references a forecast must beat. They see what the engine sees: the
// same envelope, the same past, the same issue.

// smartPersistence returns the clear-sky index of the same hour on the last
// known day times the envelope; the day's index if the hour is unknown, half of
// the clear sky without any data. Shares of the peak.
func (w *siteContext) smartPersistence(v *issueView, t int64, clear float32) float32 {
	k := v.day[0]
	if k != k {
		k = v.day[0]
	}
	if k != k {
		k = 0.5
	}
	return k * clear
}

// completeHistory is the complete-history persistence ensemble (Yang 2019):
// quantiles of the clear-sky index at this hour on all days before the issue,
// times the envelope. Shares of the peak.
func (w *siteContext) completeHistory(v *issueView, t int64, clear float32, quantiles []float64, out []float32) {
	var bins [indexBins]float32
	total := float32(0)
	for h := v.knownHour(floorDiv(t, ticksPerHour)); h >= w.past.start; h -= hours {
		if k := w.past.at(h); k == k {
			bins[min(int(k*binsPerIndex), indexBins-1)]++
			total++
		}
	}
	if total == 0 {
		bins, total = prior, 1
	}
	quantilesOf(&bins, total, quantiles, out)
	for i := range out {
		out[i] *= clear
	}
}
