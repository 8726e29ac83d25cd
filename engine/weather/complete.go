package weather

import (
	"math"
	"time"

	"app.sunloop/engine/solar"
)

// Complete derives unknown values for an instant in the middle of the interval:
// GHI from cloud cover and the clear sky (Kasten and Czeplak, "Solar and
// terrestrial radiation dependent on the amount and type of cloud", Solar
// Energy 24, 1980) and the direct and diffuse parts from GHI ([solar.Erbs]).
// Known values are unchanged.
func (c Conditions) Complete(mid time.Time, loc solar.Location) Conditions {
	pos := solar.At(mid, loc)
	if math.IsNaN(c.GHI) && !math.IsNaN(c.DNI) && !math.IsNaN(c.DHI) {
		c.GHI = c.DNI*max(0, math.Cos(pos.ApparentZenithDeg*math.Pi/180)) + c.DHI
	}
	if math.IsNaN(c.GHI) && !math.IsNaN(c.CloudCover) {
		cover := min(max(c.CloudCover, 0), 1)
		c.GHI = solar.ClearSky(mid, pos, loc, 0).GHI * (1 - 0.75*math.Pow(cover, 3.4))
	}
	if math.IsNaN(c.GHI) || !math.IsNaN(c.DNI) && !math.IsNaN(c.DHI) {
		return c
	}
	split, _ := solar.Erbs(c.GHI, pos.ZenithDeg, solar.Extraterrestrial(mid))
	cosZ := math.Cos(pos.ApparentZenithDeg * math.Pi / 180)
	switch {
	case !math.IsNaN(c.DHI): // what is not diffuse came straight
		c.DNI = 0
		if pos.ZenithDeg < 87 {
			c.DNI = max(0, c.GHI-c.DHI) / cosZ
		}
	case !math.IsNaN(c.DNI):
		c.DHI = max(0, c.GHI-c.DNI*max(0, cosZ))
	default:
		c.DNI, c.DHI = split.DNI, split.DHI
	}
	return c
}
