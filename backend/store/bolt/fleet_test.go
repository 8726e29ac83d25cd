package bolt

import (
	"math"
	"math/rand/v2"

	"app.sunloop/engine/series"
)

// fleetYear is power of a unit in kW with one decimal, as loggers send it, each
// 5 minutes for so many days before the fixed clock's day: a bell of clear sky
// times wandering clouds, nights zero.
func fleetYear(unit, days int) series.Frame {
	rng := rand.New(rand.NewPCG(1, uint64(unit)))
	cloud := 0.8
	start := series.Midnight(fixed(), fixed().Location()).AddDate(0, 0, -days).Unix()
	f := series.Frame{Times: make([]int64, days*288)}
	power := make([]float64, days*288)
	for i := range power {
		f.Times[i] = start + int64(i)*300
		half := 6 * (1 + 0.25*math.Cos(2*math.Pi*float64(i/288-15)/365))
		if x := (float64(i%288)/12 - 12) / half; x > -1 && x < 1 {
			cloud = min(1, max(0.1, cloud+0.04*rng.NormFloat64()))
			power[i] = math.Round(1100*math.Cos(x*math.Pi/2)*cloud) / 10
		}
	}
	f.Set(series.PowerKW, power)
	return f
}
