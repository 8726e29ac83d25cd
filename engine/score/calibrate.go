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
		c.Families[family] = fit(samples, 0.5, 1)
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
// rest on a model of the unit's own past or are of a site of one or two units: by
// family and basis, as far as there are events. The events of simulated sites with these
// bases, if given, count as well.
func (m *Measured) Calibration(now diagnose.Calibration, practice *Report) []byte {
	now.Tiers = map[string]diagnose.LogOdds{}
	by, all := map[string][]sample{}, map[string][]sample{}
	add := func(s sample) {
		if s.basis != "" {
			key := diagnose.TierKey(s.family, s.basis)
			by[key] = append(by[key], s)
			all[s.basis] = append(all[s.basis], s)
		}
	}
	for _, j := range m.judged {
		add(j.sample)
	}
	if practice != nil {
		for _, s := range practice.samples {
			add(s)
		}
	}
	for key, samples := range by {
		now.Tiers[key] = fit(samples, shareRight(all[samples[0].basis]), tierPrior)
	}
	out, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		panic("score: calibration: " + err.Error()) // maps of numbers: cannot fail
	}
	return append(out, '\n')
}

// tierPrior is the number of events as right as usual on a basis that are added to
// those of a family, because a few events are weak evidence.
const tierPrior = 3

// shareRight returns the share of right events, with one right and one wrong added.
func shareRight(samples []sample) float64 {
	right := 1.0
	for _, s := range samples {
		if s.right {
			right++
		}
	}
	return right / float64(len(samples)+2)
}

// fit returns the line of log odds by Newton's method over the sums relative to
// their mean, shrunk towards a flat line if few events determine the slope.
// Added are so many events at the mean of which a usual share was right: they prevent
// certainty for a family that was always right.
func fit(samples []sample, usual, added float64) diagnose.LogOdds {
	type point struct{ x, y, w float64 }
	mean := 0.0
	for _, s := range samples {
		mean += s.sum / float64(len(samples))
	}
	points := []point{{0, 0, added * (1 - usual)}, {0, 1, added * usual}}
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
		a, b = math.Log(right/(float64(len(samples))+added-right)), 0
	}
	return diagnose.LogOdds{A: math.Round(1e4*(a-b*mean)) / 1e4, B: math.Round(1e4*b) / 1e4, N: len(samples)}
}
