package metric

// Levels is how many quantiles a distribution has: the probabilities
// 0.01, 0.02 … 0.99, a grid that GEFCom2014 scores.
const Levels = 99

// The positions of P10, P50 and P90.
const low, middle, high = 9, 49, 89

// Distribution is a forecast of one interval: its quantiles at the [Levels],
// ascending.
type Distribution [Levels]float64

// Level is the probability of quantile i.
func Level(i int) float64 { return float64(i+1) / 100 }

// Certain is the distribution of a forecast without a spread.
func Certain(value float64) (d Distribution) {
	for i := range d {
		d[i] = value
	}
	return d
}

// Spread returns the distribution through the given quantiles at ascending
// probabilities: linear between them and constant outside, so that it claims
// nothing that was not forecast. There must be at least one quantile, and as
// many as probabilities.
func Spread(probabilities, quantiles []float64) (d Distribution) {
	k, last := 0, len(quantiles)-1
	for i := range d {
		p := Level(i)
		for k < last && probabilities[k+1] < p {
			k++
		}
		switch {
		case p <= probabilities[0]:
			d[i] = quantiles[0]
		case k == last:
			d[i] = quantiles[last]
		default:
			share := (p - probabilities[k]) / (probabilities[k+1] - probabilities[k])
			// Rounding may reach past the further one.
			d[i] = min(quantiles[k]+share*(quantiles[k+1]-quantiles[k]), quantiles[k+1])
		}
	}
	return d
}

// Mean returns the expected value, which minimises squared errors, as the
// median minimises absolute ones.
func (d *Distribution) Mean() float64 {
	sum := 0.0
	for _, v := range d {
		sum += v
	}
	return sum / Levels
}

// Median is P50.
func (d *Distribution) Median() float64 { return d[middle] }

// Pinball returns the mean pinball loss over all [Levels], and over the deciles
// 0.1 … 0.9: p·e if the actual is e above quantile p, (1-p)·|e| if below.
func (d *Distribution) Pinball(actual float64) (all, deciles float64) {
	for i, q := range d {
		p, e := Level(i), actual-q
		loss := max(p*e, (p-1)*e)
		all += loss
		if i%10 == 9 {
			deciles += loss
		}
	}
	return all / Levels, deciles / 9
}
