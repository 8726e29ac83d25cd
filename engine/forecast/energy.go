package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Energy is the forecast of the energy of several intervals, such as a day's, in
// kWh: the quantiles of the sum. P10 <= P50 <= P90.
type Energy struct{ P10, P50, P90 float64 }

// Figures of the joint distribution of a day's intervals: a Gaussian copula whose
// correlation at a distance of t hours is dayShare + (1 − dayShare)·e^(−t/fadeHours).
// Both were fitted to the errors of backtests on the sites of docs/forecasting.md
// (quantiles of days); the coverage that is reported there is of other sites.
const (
	dayShare  = 0.6
	fadeHours = 2.1
	scenarios = 400
	z90       = 1.2815515655446004
)

// EnergyOf returns the quantiles of the energy of points, which are in order of
// time. The sum of P10 is not the P10 of the sum, as intervals do not err all
// together: the quantiles are those of the sums of 400 scenarios. The same points
// give the same result. Points with a value that is not finite are left out.
func EnergyOf(points []Point) Energy {
	type interval struct {
		Point
		most, persists, innovates float64
	}
	var list []interval
	var former time.Time
	for _, p := range points {
		if sum := p.P10KW + p.P50KW + p.P90KW; math.IsNaN(sum) || math.IsInf(sum, 0) || p.P90KW <= 0 {
			continue
		}
		one := interval{Point: p, most: max(p.P90KW, p.P50KW), innovates: 1}
		if p.ClearSkyKW > one.most {
			one.most = p.ClearSkyKW
		}
		if !former.IsZero() {
			one.persists = math.Exp(-p.Time.Sub(former).Hours() / fadeHours)
			one.innovates = math.Sqrt(1 - one.persists*one.persists)
		}
		former = p.Time
		list = append(list, one)
	}
	if len(list) == 0 {
		return Energy{}
	}
	random := rand.New(rand.NewPCG(1, uint64(len(list))))
	normals := make([]float64, 1+len(list))
	sums := make([]float64, 0, scenarios)
	for range scenarios / 2 {
		for i := range normals {
			normals[i] = random.NormFloat64()
		}
		for _, sign := range [2]float64{1, -1} { // in pairs, so that the middle is exact
			sum, state := 0.0, 0.0
			for i, p := range list {
				state = p.persists*state + p.innovates*normals[i+1]
				z := sign * (math.Sqrt(dayShare)*normals[0] + math.Sqrt(1-dayShare)*state)
				width := p.P90KW - p.P50KW
				if z < 0 {
					width = p.P50KW - p.P10KW
				}
				sum += min(max(p.P50KW+max(width, 0)*z/z90, 0), p.most) * p.Step.Hours()
			}
			sums = append(sums, sum)
		}
	}
	slices.Sort(sums)
	at := func(p float64) float64 {
		x := p * float64(len(sums)-1)
		i := int(x)
		return sums[i] + (x-float64(i))*(sums[min(i+1, len(sums)-1)]-sums[i])
	}
	return Energy{at(0.1), at(0.5), at(0.9)}
}

// DayBand fits the band of a site's days to the site: P10 and P90 of a day are
// moved away from its P50, or towards it, by these factors. The zero DayBand
// changes nothing. It follows the misses of the days that are over, as an adaptive
// conformal prediction (Gibbs and Candès 2021) does, each side by itself.
type DayBand struct{ Low, High float64 }

// The rate was chosen on two of the sites of docs/forecasting.md; the coverage that
// is reported there is of the others too.
const (
	dayRate   = 0.05
	dayMiss   = 0.1 // share of days wanted beyond each end
	leastBand = 0.4
	mostBand  = 2.5
)

func (b DayBand) factors() (low, high float64) {
	if b == (DayBand{}) {
		return 1, 1
	}
	return b.Low, b.High
}

// Apply returns the band of a day, of which [EnergyOf] gave the quantiles.
func (b DayBand) Apply(e Energy) Energy {
	low, high := b.factors()
	return Energy{max(e.P50-low*(e.P50-e.P10), 0), e.P50, e.P50 + high*(e.P90-e.P50)}
}

// Observe returns the band after a day of which [EnergyOf] gave the quantiles and
// which had kWh.
func (b DayBand) Observe(e Energy, kWh float64) DayBand {
	low, high := b.factors()
	is := b.Apply(e)
	step := func(factor float64, missed bool) float64 {
		miss := 0.0
		if missed {
			miss = 1
		}
		return min(max(factor*math.Exp(dayRate*(miss-dayMiss)), leastBand), mostBand)
	}
	return DayBand{step(low, kWh < is.P10), step(high, kWh > is.P90)}
}
