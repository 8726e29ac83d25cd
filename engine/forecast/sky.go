package forecast

import (
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/solar"
)

// tick is the finest grid the engine thinks in; all steps are multiples.
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

// sky is the cloudless sky over the site, one value a tick from start: sine of
// the sun's elevation, global irradiance (W/m²) and the effective irradiance in
// the modules' plane as a share of 1000 W/m².
type sky struct {
	start           int64
	sine, ghi, base []float32
}

// lookUp computes the sky from tick a to tick b, by parts on several workers:
// every tick stands alone, so their number changes nothing.
func lookUp(loc solar.Location, plane solar.Plane, a, b int64, workers int) sky {
	n := int(max(b-a, 0))
	s := sky{start: a, sine: make([]float32, n), ghi: make([]float32, n), base: make([]float32, n)}
	const part = 2048
	if workers <= 1 || n <= part {
		s.fill(loc, plane, 0, n)
		return s
	}
	var g errgroup.Group
	g.SetLimit(workers)
	for from := 0; from < n; from += part {
		g.Go(func() error { s.fill(loc, plane, from, min(from+part, n)); return nil })
	}
	_ = g.Wait() // no part can fail
	return s
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

func (s *sky) extend(loc solar.Location, plane solar.Plane, to int64) {
	end := s.start + int64(len(s.sine))
	if to <= end {
		return
	}
	more := lookUp(loc, plane, end, to, 1)
	s.sine, s.ghi, s.base = append(s.sine, more.sine...), append(s.ghi, more.ghi...), append(s.base, more.base...)
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
