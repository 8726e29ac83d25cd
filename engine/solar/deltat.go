package solar

import (
	"math"
	"time"
)

// deltaTPolynomials are those of Espenak and Meeus (Five Millennium Canon of
// Solar Eclipses, NASA/TP-2006-214141, 2006) in powers of (year - origin).
// Outside 1900..2050 the long-term parabola serves, of no weight for a plant.
var deltaTPolynomials = []struct {
	until, origin float64
	c             []float64
}{
	{1920, 1900, []float64{-2.79, 1.494119, -0.0598939, 0.0061966, -0.000197}},
	{1941, 1920, []float64{21.20, 0.84493, -0.076100, 0.0020936}},
	{1961, 1950, []float64{29.07, 0.407, -1.0 / 233, 1.0 / 2547}},
	{1986, 1975, []float64{45.45, 1.067, -1.0 / 260, -1.0 / 718}},
	{2005, 2000, []float64{63.86, 0.3345, -0.060374, 0.0017275, 0.000651814, 0.00002373599}},
	{2050, 2000, []float64{62.92, 0.32217, 0.005589}},
}

// DeltaT is terrestrial time minus UT1 in seconds, by the polynomial of the
// year; within 3 s of what was observed for 1900..2026, which is 0.00003° of
// the sun's longitude.
func DeltaT(t time.Time) float64 {
	year := 1970 + float64(t.Unix())/(365.2425*86400)
	if year >= 1900 {
		for _, p := range deltaTPolynomials {
			if year < p.until {
				return polynomial(p.c, year-p.origin)
			}
		}
	}
	u := (year - 1820) / 100
	parabola := -20 + 32*u*u
	if year >= 2050 && year < 2150 {
		return parabola - 0.5628*(2150-year)
	}
	return parabola
}

func deltaTOr(given float64, t time.Time) float64 {
	if given != 0 {
		return given
	}
	return DeltaT(t)
}

// polynomial with coefficients from the constant up.
func polynomial(c []float64, x float64) float64 {
	var sum float64
	for i := len(c) - 1; i >= 0; i-- {
		sum = math.FMA(sum, x, c[i])
	}
	return sum
}
