package interpolate

import (
	"math"
	"math/rand/v2"
	"time"

	"app.sunloop/engine/learn/portable"
)

// role is what a stretch of the history is for.
type role uint8

const (
	toLearn  role = iota // holes in it are what the learners see
	toChoose             // methods are chosen and bands measured by holes in it
	toScore              // what the report says is measured by holes in it
)

// plan cuts a history into blocks of days, each with a role, so that nothing
// is measured on what was learned.
type plan struct {
	origin time.Time
	block  time.Duration
	roles  []role
	by     [3][]int // blocks of each role
}

const (
	longestBlock = 10 // days
	blocksWanted = 16
)

// The roles repeat. Without learners half of the blocks are to choose by.
var (
	learning = []role{toLearn, toLearn, toChoose, toLearn, toLearn, toLearn, toScore, toLearn}
	choosing = []role{toChoose, toScore}
)

// newPlan cuts at the sun's midnights.
func newPlan(from, to time.Time, longitudeDeg float64, roles []role) *plan {
	shift := time.Duration(math.Round(longitudeDeg/15)) * time.Hour
	origin := from.Add(shift).Truncate(day).Add(-shift)
	total := to.Sub(origin)
	days := int((total + day - 1) / day)
	p := &plan{origin: origin, block: time.Duration(min(max(days/blocksWanted, 1), longestBlock)) * day}
	for k := range int((total + p.block - 1) / p.block) {
		r := roles[k%len(roles)]
		p.roles = append(p.roles, r)
		p.by[r] = append(p.by[r], k)
	}
	return p
}

// only is a plan in which all of [from, to) has one role and nothing else has
// one.
func only(from, to time.Time, r role) *plan {
	p := &plan{origin: from, block: to.Sub(from), roles: []role{r}}
	p.by[r] = []int{0}
	return p
}

// longestHole is the longest that is drawn.
func (p *plan) longestHole() time.Duration {
	return min(longest*time.Hour, p.block*3/4)
}

// draw is a hole of n steps of s within one block of the role, at least half
// of whose daylight was measured; ok is false where a hundred tries find none.
func (p *plan) draw(rng *rand.Rand, s *siteSeries, n int, r role) (h gapSteps, ok bool) {
	blocks := p.by[r]
	if len(blocks) == 0 {
		return gapSteps{}, false
	}
	for range 100 {
		from := p.origin.Add(time.Duration(blocks[rng.IntN(len(blocks))]) * p.block)
		first := s.stepFrom(from)
		last := s.stepFrom(from.Add(p.block)) - n
		if last < first {
			continue
		}
		h = gapSteps{first + rng.IntN(last-first+1), 0}
		h.to = h.from + n
		var lit, known int
		for _, i := range s.lit[s.place[h.from]:s.place[h.to]] {
			lit++
			if s.power[i] == s.power[i] {
				known++
			}
		}
		if known > 0 && 2*known >= lit {
			return h, true
		}
	}
	return gapSteps{}, false
}

// stepFrom is the first step that begins at or after t, within the scene.
func (s *siteSeries) stepFrom(t time.Time) int {
	d := t.Sub(s.start)
	k := int(d / s.step)
	if d > 0 && d%s.step != 0 {
		k++
	}
	return min(max(k, 0), len(s.power))
}

// lengths draws gap lengths in steps: every factor is as likely as any other up
// to the longest.
type lengths struct{ most, log float64 }

func newLengths(step, longest time.Duration) lengths {
	most := max(float64(longest)/float64(step), 1)
	return lengths{most, naturalLog(most)}
}

func (l lengths) draw(rng *rand.Rand) int {
	return min(max(int(portable.Exp(rng.Float64()*l.log)+0.5), 1), int(l.most))
}

// naturalLog is by Newton's method on the portable exponential, for x >= 1.
func naturalLog(x float64) float64 {
	y := 0.0
	for v := x; v > 1; v /= 2 {
		y += math.Ln2
	}
	for range 8 {
		y += float64(x*portable.Exp(-y)) - 1
	}
	return y
}
