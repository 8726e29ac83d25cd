package simulate

import (
	"time"

	"app.sunloop/engine/series"
)

// SunSpec operating states (models 101-103).
const (
	stateOff       = 1
	stateSleeping  = 2
	stateMPPT      = 4
	stateThrottled = 5
	stateFault     = 7
	stateStandby   = 8
)

// reading is a unit's logger record at a time stamp.
type reading struct {
	powerKW, counterKWh, irradiance, tempC float64
	state, run, code                       float64
	moduleC, cabinetC, voltage             float64
	dcVoltage, dcCurrent                   [dcInputs]float64
}

// Frames returns the telemetry of the site's units, by asset id, at every
// multiple of step with from <= t < to that is not before the site's Start.
// Step is from a second to a day. The site's Portal determines the columns:
// power (kW, mean until the next time stamp), and by default lifetime counter
// (kWh), irradiance of the site's sensor (W/m², in the plane of the first
// unit), ambient temperature (°C), SunSpec operating state, run state and event
// code. Rows that a fault suppresses are missing.
func (s *Site) Frames(from, to time.Time, step time.Duration) map[string]series.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from.Before(s.Start) {
		from = s.Start
	}
	stepS := max(int64(step/time.Second), 1)
	first, last := ceilTo(from.Unix(), stepS), to.Unix()
	n := int(max((last-first+stepS-1)/stepS, 0))

	columns := make([]recorder, len(s.Units))
	for k := range columns {
		columns[k] = newRecorder(n, s.Portal.quantities())
	}
	w := window{site: s}
	for t := first; t < last; t += stepS {
		w.move(t)
		for k := range s.Units {
			if r, ok := w.report(k, t, stepS); ok {
				columns[k].add(t, r)
			}
		}
	}
	out := make(map[string]series.Frame, len(s.Units))
	for k, u := range s.Units {
		out[u.AssetID] = columns[k].frame()
	}
	return out
}

// Sample is the live stream: the reports of all communicating units at the
// multiple of step at or before t. It equals the row of [Site.Frames] at that
// time.
func (s *Site) Sample(t time.Time, step time.Duration) map[string]series.Frame {
	stamp := time.Unix(t.Unix()/int64(step/time.Second)*int64(step/time.Second), 0)
	out := s.Frames(stamp, stamp.Add(time.Second), step)
	for id, f := range out {
		if f.Len() == 0 {
			delete(out, id)
		}
	}
	return out
}

// window is the day that a walk over stamps is in, and what it needs there.
// The site's mu is held while it is used.
type window struct {
	site     *Site
	day      *day
	endS     int64
	counters []float64
	hiding   [][]Fault // faults that touch the readings of each unit on the day
}

// move brings the window to the day of stamp t.
func (w *window) move(t int64) {
	if w.day != nil && t >= w.day.startS && t < w.endS {
		return
	}
	s := w.site
	index := s.dayIndex(time.Unix(t, 0))
	w.counters = s.counters(index)
	w.day = s.at(index)
	w.endS = w.day.startS + int64(w.day.cells)*cellS
	start, end := time.Unix(w.day.startS, 0), time.Unix(w.endS, 0)
	w.hiding = make([][]Fault, len(s.Units))
	for k, u := range s.Units {
		for _, f := range s.Faults {
			if f.Overlaps(start, end) && f.Concerns(u.AssetID) {
				w.hiding[k] = append(w.hiding[k], f)
			}
		}
	}
}
