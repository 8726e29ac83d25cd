package forecast

import (
	"slices"
	"time"

	"app.sunloop/engine/solar"
)

// fitPlane guesses how the modules lie from the upper edge of the power: for
// each month and hour of the day a high percentile, and the tilt and azimuth
// whose clear sky, scaled, comes closest. Learning it keeps the envelope's
// shape right in seasons that were never seen; the ratios on top of it
// (see [envelope]) take up what one plane cannot say.
func fitPlane(loc solar.Location, p *past) solar.Plane {
	edge := upperEdge(p)
	if len(edge) < 20 {
		return typicalPlane(loc)
	}
	type light struct {
		pos   solar.Position
		irr   solar.Irradiance
		extra float64
		power float64
	}
	lights := make([]light, len(edge))
	for i, x := range edge {
		t := time.Unix(x.at, 0).UTC()
		pos := solar.At(t, loc)
		lights[i] = light{pos, solar.ClearSky(t, pos, loc, 0), solar.Extraterrestrial(t), x.power}
	}
	// misfit is the squared distance left by the best scale.
	misfit := func(plane solar.Plane) float64 {
		var xx, xy, yy float64
		for _, l := range lights {
			b := effective(plane, l.pos, l.irr, l.extra)
			xx, xy, yy = xx+b*b, xy+b*l.power, yy+l.power*l.power
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
	for tilt := 0.0; tilt <= 70; tilt += 10 {
		for azimuth := 0.0; azimuth < 360; azimuth += 15 {
			try(solar.Plane{TiltDeg: tilt, AzimuthDeg: azimuth})
		}
	}
	coarse := best
	for dt := -6.0; dt <= 6; dt += 3 {
		for da := -10.0; da <= 10; da += 5 {
			try(solar.Plane{TiltDeg: min(max(coarse.TiltDeg+dt, 0), 90), AzimuthDeg: coarse.AzimuthDeg + da})
		}
	}
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
	at    int64 // Unix seconds, the middle of the hour on a month's middle day
	power float64
}

// upperEdge is the 90th percentile of power by span of 28 days and hour.
func upperEdge(p *past) []edgePoint {
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
				out = append(out, edgePoint{h*3600 + 1800, float64(top)})
			}
		}
	}
	return out
}
