package forecast

import (
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/solar"
)

// tick is the finest time step of the engine; all steps are multiples of it.
const (
	tick         = 15 * time.Minute
	tickSeconds  = int64(tick / time.Second)
	ticksPerHour = 4
	ticksPerDay  = 96
)

func tickOf(t time.Time) int64 { return floorDiv(t.Unix(), tickSeconds) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// geometry is how the site sees the sun: where its modules face, and by how
// many ticks its power is stamped late against the sun of its coordinates
// (clocks, places and labels of portals are often off).
type geometry struct {
	plane solar.Plane
	late  int
}

// sky is the clear sky over the site, one value a tick from start: sine of the
// sun's elevation, global irradiance (W/m²) and the effective irradiance in the
// modules' plane as a share of 1000 W/m². Sine and base are by the clock of the
// site's power, the irradiance by the true clock.
type sky struct {
	start           int64
	sine, ghi, base []float32
}

// lookUp computes the sky from tick a to tick b in parts on several workers.
// Each tick is independent, so their number does not change the result.
func lookUp(loc solar.Location, g geometry, a, b int64, workers int) sky {
	b = max(a, b)
	from, to := min(a, a-int64(g.late)), max(b, b-int64(g.late))
	n := int(to - from)
	all := sky{start: from, sine: make([]float32, n), ghi: make([]float32, n), base: make([]float32, n)}
	const part = 2048
	var group errgroup.Group
	group.SetLimit(max(workers, 1))
	for k := 0; k < n; k += part {
		fill := func() error { all.fill(loc, g.plane, k, min(k+part, n)); return nil }
		if n <= part {
			_ = fill() // no part can fail
			break
		}
		group.Go(fill)
	}
	_ = group.Wait()
	late := a - int64(g.late) - from
	size := b - a
	return sky{start: a, sine: all.sine[late : late+size], base: all.base[late : late+size], ghi: all.ghi[a-from : b-from]}
}

func (s *sky) fill(loc solar.Location, plane solar.Plane, from, to int) {
	for i := from; i < to; i++ {
		t := time.Unix((s.start+int64(i))*tickSeconds+tickSeconds/2, 0).UTC()
		pos := solar.At(t, loc)
		s.sine[i] = float32(sineElevation(pos))
		if s.sine[i] <= 0 {
			continue
		}
		irr := solar.ClearSky(t, pos, loc, 0)
		s.ghi[i] = float32(irr.GHI)
		s.base[i] = float32(effective(plane, pos, irr, solar.Extraterrestrial(t)))
	}
}

// mean is of n ticks from t on; the sun is down outside of what was looked up.
func (s *sky) mean(v []float32, t int64, n int) float32 {
	var sum float32
	for k := t; k < t+int64(n); k++ {
		if i := k - s.start; i >= 0 && i < int64(len(v)) {
			sum += v[i]
		}
	}
	return sum / float32(n)
}

const (
	groundAlbedo   = 0.2
	diffuseThrough = 0.95 // of glass, for light from all of the sky
)

// effective is the irradiance that reaches the cells, in shares of 1000 W/m².
func effective(plane solar.Plane, pos solar.Position, irr solar.Irradiance, extraterrestrial float64) float64 {
	poa := plane.HayDavies(pos, irr, extraterrestrial, groundAlbedo)
	return max(0, (poa.Beam*solar.IncidenceModifier(poa.Cosine)+(poa.Sky+poa.Ground)*diffuseThrough)/1000)
}

func tickTime(t int64) time.Time { return time.Unix(t*tickSeconds, 0).UTC() }
