package simulate

import (
	"math"

	"app.sunloop/engine/solar"
)

// scene is the clear-sky irradiance of one day on one plane, at nodes.
type scene struct {
	beam    []float64 // direct light in the plane for a clear sky, W/m²
	skyView []float64 // share of the diffuse light that the plane sees
	ground  []float64 // share of the global light that the ground adds
}

// aim is how a unit's modules lie: a plane, or on a tracker that follows.
type aim struct {
	plane   solar.Plane
	tracker bool
}

func (u Unit) aim() aim {
	if u.Tracker {
		return aim{tracker: true}
	}
	return aim{plane: u.Plane}
}

// stuckAt returns the aim of a tracker stuck at an angle, east negative.
func stuckAt(angleDeg float64) aim { return aim{plane: trackerPlane(angleDeg)} }

// trackerReachDeg is how far a tracker turns from flat to either side.
const trackerReachDeg = 55

// trackerPlane is the plane of a horizontal axis from north to south turned by
// an angle, east negative.
func trackerPlane(angleDeg float64) solar.Plane {
	azimuth := 270.0
	if angleDeg < 0 {
		azimuth = 90
	}
	return solar.Plane{TiltDeg: math.Abs(angleDeg), AzimuthDeg: azimuth}
}

// trackerAngle turns the modules to the sun as far as the axis allows: the
// angle of the sun in the plane across the axis.
func trackerAngle(p solar.Position) float64 {
	zen, az := p.ApparentZenithDeg*math.Pi/180, p.AzimuthDeg*math.Pi/180
	angle := math.Atan2(-math.Sin(zen)*math.Sin(az), math.Cos(zen)) * 180 / math.Pi
	return min(max(angle, -trackerReachDeg), trackerReachDeg)
}

// albedo of the ground before the modules.
const albedo = 0.2

// look returns the irradiance on modules for a day: the beam by the angle of
// incidence, the rest isotropic.
func look(a aim, positions []solar.Position, dni []float64) scene {
	n := len(dni)
	all := make([]float64, 3*n)
	sc := scene{all[:n:n], all[n : 2*n : 2*n], all[2*n:]}
	plane := a.plane
	for i, d := range dni {
		if a.tracker && d > 0 {
			plane = trackerPlane(trackerAngle(positions[i]))
		}
		cosTilt := math.Cos(plane.TiltDeg * math.Pi / 180)
		sc.skyView[i], sc.ground[i] = (1+cosTilt)/2, albedo*(1-cosTilt)/2
		if d > 0 {
			sc.beam[i] = d * max(plane.CosIncidence(positions[i]), 0)
		}
	}
	return sc
}

// clearDay is the cloudless light of one day, at nodes.
type clearDay struct {
	positions                 []solar.Position
	ghi, dhi, dni, horizontal []float64 // W/m²; horizontal is the beam's part of ghi
	dawn, dusk                int       // nodes with sun: [dawn, dusk)
	scenes                    map[aim]scene
}

func (c *clearDay) scene(a aim) scene {
	sc, ok := c.scenes[a]
	if !ok {
		sc = look(a, c.positions, c.dni)
		c.scenes[a] = sc
	}
	return sc
}

// light returns the irradiance on a plane at node i for a given share of the
// clear-sky irradiance: the beam is reduced first, diffuse irradiance grows
// under cloud.
func (c *clearDay) light(sc scene, share float64, i int) (beam, rest float64) {
	direct := min(max((share-0.25)/0.72, 0), 1)
	global := share * c.ghi[i]
	diffuse := max(global-direct*c.horizontal[i], 0.05*global)
	return direct * sc.beam[i], diffuse*sc.skyView[i] + global*sc.ground[i]
}
