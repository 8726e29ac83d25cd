package state

import (
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
)

// Least progress and time from which the time left is estimated.
const (
	leastShare   = 0.03
	leastElapsed = 4 * time.Second
)

// Pace estimates the time left of something from its progress since it was first
// observed. The zero Pace has observed nothing.
type Pace struct {
	from, at     time.Time
	share, first float64
}

// Observe takes a share of 0 to 1 that is done at a time.
func (p *Pace) Observe(share float64, now time.Time) {
	if p.from.IsZero() || share < p.share {
		p.from, p.first = now, share
	}
	p.share, p.at = share, now
}

// Left returns the time left; ok is false while that is unknown.
func (p Pace) Left() (left time.Duration, ok bool) {
	elapsed, done := p.at.Sub(p.from), p.share-p.first
	if done < leastShare || elapsed < leastElapsed {
		return 0, false
	}
	return time.Duration(float64(elapsed) * (1 - p.share) / done), true
}

// LeftWords writes the time left as text that changes seldom; empty while it is
// unknown.
func (p Pace) LeftWords() string {
	left, ok := p.Left()
	switch {
	case !ok:
		return ""
	case left < 10*time.Second:
		return "a few seconds left"
	case left < 100*time.Second:
		return "about " + display.Age(left.Round(10*time.Second)) + " left"
	}
	return "about " + display.Age(left.Round(time.Minute)) + " left"
}

// uploads observes the progress of files.
func uploads(src source) source {
	keep := src.good
	src.good = func(s *Store, r Request, answer any, now time.Time) bool {
		list, _ := answer.([]api.Upload)
		paces := map[string]*Pace{}
		for _, u := range list {
			if u.Ended() {
				continue
			}
			p := s.Site.paces[u.UploadID]
			if p == nil {
				p = &Pace{}
			}
			p.Observe(u.Progress, now)
			paces[u.UploadID] = p
		}
		s.Site.paces = paces
		return keep(s, r, answer, now)
	}
	return src
}

// PaceOf returns the pace of a file that is imported.
func (s *Site) PaceOf(uploadID string) Pace {
	if p := s.paces[uploadID]; p != nil {
		return *p
	}
	return Pace{}
}
