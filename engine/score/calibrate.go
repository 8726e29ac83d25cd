package score

import (
	"encoding/json"
	"math"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
)

// Calibration fits confidences to the replay: for each family a logistic line
// of being right over the sum of its evidence, and what its events were when
// they were something else. It is the content of engine/diagnose's
// calibration.json.
func (r *Report) Calibration() []byte {
	c := diagnose.Calibration{Families: map[detect.Family]diagnose.LogOdds{}, Mistaken: map[detect.Family]map[detect.Family]float64{}}
	by := map[detect.Family][]sample{}
	c.Tiers = diagnose.CalibratedTiers() // fitted on measured plants: see Measured.Calibration
	for _, s := range r.samples {
		if s.basis != "" {
			continue
		}
		by[s.family] = append(by[s.family], s)
	}
	for family, samples := range by {
		c.Families[family] = fit(samples)
		known, others := 0.0, map[detect.Family]float64{}
		for _, s := range samples {
			if s.was == "" {
				continue
			}
			known++
			if !s.right {
				others[detect.Family(s.was)]++
			}
		}
		for f, n := range others {
			others[f] = math.Round(1000*n/known) / 1000
		}
		if len(others) > 0 {
			c.Mistaken[family] = others
		}
	}
	out, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic("score: calibration: " + err.Error()) // maps of numbers: cannot fail
	}
	return append(out, '\n')
}

// Calibration returns the current calibration with new lines for events that
// rest on a model of the unit's own past: by family and basis the share that
// was right, with one right and two wrong events added, because a few events
// are weak evidence.
func (m *Measured) Calibration(now diagnose.Calibration) []byte {
	now.Tiers = map[string]diagnose.LogOdds{}
	for key, n := range m.right {
		odds := (float64(n[0]) + 1) / (float64(n[1]-n[0]) + 2)
		now.Tiers[key] = diagnose.LogOdds{A: math.Round(1e4*math.Log(odds)) / 1e4, N: n[1]}
	}
	out, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		panic("score: calibration: " + err.Error()) // maps of numbers: cannot fail
	}
	return append(out, '\n')
}

// fit returns the line of log odds by Newton's method over the sums relative to
// their mean, shrunk towards a flat line if few events determine the slope.
// Half a right and half a wrong event at the mean prevent certainty for a
// family that was always right.
func fit(samples []sample) diagnose.LogOdds {
	type point struct{ x, y, w float64 }
	mean := 0.0
	for _, s := range samples {
		mean += s.sum / float64(len(samples))
	}
	points := []point{{0, 0, 0.5}, {0, 1, 0.5}}
	for _, s := range samples {
		y := 0.0
		if s.right {
			y = 1
		}
		points = append(points, point{s.sum - mean, y, 1})
	}
	const ridge, longest = 1, 1.0 // on the slope; step of a parameter
	var a, b float64
	for range 100 {
		ga, gb, haa, hab, hbb := 0.0, -ridge*b, 1e-6, 0.0, float64(ridge)
		for _, p := range points {
			q := 1 / (1 + math.Exp(-a-b*p.x))
			ga, gb = ga+p.w*(p.y-q), gb+p.w*(p.y-q)*p.x
			h := p.w * q * (1 - q)
			haa, hab, hbb = haa+h, hab+h*p.x, hbb+h*p.x*p.x
		}
		det := haa*hbb - hab*hab
		a += min(max((hbb*ga-hab*gb)/det, -longest), longest)
		b += min(max((haa*gb-hab*ga)/det, -longest), longest)
	}
	if b < 0 { // that more evidence makes an event less sure is chance
		right := 0.0
		for _, p := range points {
			right += p.w * p.y
		}
		a, b = math.Log(right/(float64(len(samples))+1-right)), 0
	}
	return diagnose.LogOdds{A: math.Round(1e4*(a-b*mean)) / 1e4, B: math.Round(1e4*b) / 1e4, N: len(samples)}
}
