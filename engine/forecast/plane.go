package forecast

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// fitGeometry estimates the orientation of the modules from the upper edge of
// the power (a high percentile for each month and hour of the day, and the
// plane whose scaled clear sky is closest; a known plane is kept), and the
// delay of the power's time stamps. It keeps the envelope's shape right in
// seasons without data; the ratios on top of it (see [envelope]) absorb what
// one plane cannot describe.
func fitGeometry(site Site, p *history, share series.Series) geometry {
	g := geometry{late: clockShift(site.Location, share)}
	switch edge := upperEdge(p); {
	case site.Plane != nil:
		g.plane = *site.Plane
	case len(edge) < 20:
		g.plane = typicalPlane(site.Location)
	default:
		g.plane = fitPlane(site.Location, edge, g.late)
	}
	return g
}

const (
	maximumLate = 8     // ticks
	lateShare   = 0.004 // of the bright intervals may be dark before it counts
	lateDark    = -0.01 // sine of the sun's elevation under which nothing shines
	lateBright  = 0.01  // share of the peak that is no noise
	lateEvery   = 5     // one of so many intervals is enough; days are no multiple of it
)

// clockShift is the least shift of the sun that leaves hardly any production in
// the dark: the only sign of a wrong clock or place that the modules' azimuth
// cannot explain away. Ticks; positive where power comes after the sun.
func clockShift(loc solar.Location, share series.Series) int {
	n := int(share.Step / tick)
	if n == 0 {
		return 0
	}
	first := tickOf(share.Start)
	var bright int
	dark := make([]int, 2*maximumLate+1)
	for i, v := range share.Values {
		if i%lateEvery != 0 || !(v > lateBright) {
			continue
		}
		bright++
		from := first + int64(i*n)
		// In full day no shift matters.
		if sineAt(loc, from-maximumLate) > 0.05 && sineAt(loc, from+int64(n)+maximumLate) > 0.05 {
			continue
		}
		var up [maximumTicks + 2*maximumLate]bool
		for k := range n + 2*maximumLate {
			up[k] = sineAt(loc, from+int64(k-maximumLate)) > lateDark
		}
		for l := range dark {
			// For a delay of l-maximumLate, the sun's position is taken that much earlier.
			at := 2*maximumLate - l
			if !slices.Contains(up[at:at+n], true) {
				dark[l]++
			}
		}
	}
	allowed := max(3, int(lateShare*float64(bright)))
	for d := 0; d <= maximumLate; d++ {
		for _, l := range [2]int{maximumLate + d, maximumLate - d} {
			if dark[l] <= allowed {
				return l - maximumLate
			}
		}
	}
	return 0 // no shift explains it
}

const maximumTicks = 4 // in an interval

func sineAt(loc solar.Location, t int64) float64 {
	return sineElevation(solar.At(tickTime(t).Add(tick/2), loc))
}

// fitPlane is the plane with the least squared distance to the edge, stamped
// late ticks late.
func fitPlane(loc solar.Location, edge []edgePoint, late int) solar.Plane {
	type light struct {
		pos   solar.Position
		irr   solar.Irradiance
		extra float64
	}
	const parts = 2 // of an hour
	lights := make([]light, 0, parts*len(edge))
	for _, x := range edge {
		for k := range parts {
			t := tickTime(x.tick - int64(late)).Add(time.Duration(2*k+1) * time.Hour / (2 * parts))
			pos := solar.At(t, loc)
			lights = append(lights, light{pos, solar.ClearSky(t, pos, loc, 0), solar.Extraterrestrial(t)})
		}
	}
	// misfit is what the best scale leaves.
	misfit := func(plane solar.Plane) float64 {
		var xx, xy, yy float64
		for i, x := range edge {
			var b float64
			for _, l := range lights[parts*i : parts*i+parts] {
				if l.pos.ApparentZenithDeg < 90 {
					b += effective(plane, l.pos, l.irr, l.extra) / parts
				}
			}
			xx, xy, yy = xx+b*b, xy+b*x.power, yy+x.power*x.power
		}
		if xx == 0 {
			return yy
		}
		return yy - xy*xy/xx
	}
	best := typicalPlane(loc)
	least := misfit(best)
	try := func(plane solar.Plane) {
		if m := misfit(plane); m < least {
			best, least = plane, m
		}
	}
	south := best.AzimuthDeg
	for _, tilt := range []float64{5, 20, 35, 50, 70} {
		for da := -120.0; da <= 120; da += 30 {
			try(solar.Plane{TiltDeg: tilt, AzimuthDeg: south + da})
		}
	}
	for _, width := range []float64{2, 1} {
		coarse := best
		for _, dt := range []float64{-4, 0, 4} {
			for _, da := range []float64{-8, 0, 8} {
				try(solar.Plane{TiltDeg: min(max(coarse.TiltDeg+width*dt, 0), 90), AzimuthDeg: coarse.AzimuthDeg + width*da})
			}
		}
	}
	best.AzimuthDeg = math.Mod(best.AzimuthDeg+360, 360)
	return best
}

// typicalPlane faces the equator at a tilt somewhat under the latitude.
func typicalPlane(loc solar.Location) solar.Plane {
	lat := loc.LatitudeDeg
	if lat < 0 {
		return solar.Plane{TiltDeg: min(-0.8*lat, 35), AzimuthDeg: 0}
	}
	return solar.Plane{TiltDeg: min(0.8*lat, 35), AzimuthDeg: 180}
}

type edgePoint struct {
	tick  int64 // the hour on a month's middle day
	power float64
}

// upperEdge is the 90th percentile of power by span of 28 days and hour.
func upperEdge(p *history) []edgePoint {
	const span = 28 * 24
	var out []edgePoint
	for from := 0; from < len(p.power); from += span {
		part := p.power[from:min(from+span, len(p.power))]
		for slot := range hours {
			var v []float32
			for i := slot; i < len(part); i += hours {
				if x := part[i]; x == x {
					v = append(v, x)
				}
			}
			if len(v) < 8 {
				continue
			}
			slices.Sort(v)
			if top := v[len(v)*9/10]; top > daylight {
				h := p.start + int64(from+slot+len(part)/2/hours*hours)
				out = append(out, edgePoint{h * ticksPerHour, float64(top)})
			}
		}
	}
	return out
}
