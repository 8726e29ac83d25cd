package detect

import (
	"math"
	"slices"
)

// record is an event in the making: what was observed, not yet put in words.
type record struct {
	family   Family
	class    Class
	units    []int
	start    int64
	detected int64
	lastSeen int64
	end      int64 // 0 while open
	lost     float64
	fraction float64
	seen     facts
}

// facts are the observations behind an event's evidence. NaN is not observed.
type facts struct {
	tier        tier
	peers       int     // producing peers when the event was announced
	armedHours  float64 // of samples that showed it under sun
	maxKW       float64 // highest power in them
	expectedKWh float64 // in them
	lightSum    float64 // irradiance × hours of the hours with a reading
	lightHours  float64
	coldest     float64
	counterFrom float64 // lifetime counter before and after
	counterTo   float64
	counterKWh  float64 // expected between the two
	band        float64 // least share of counterKWh that is still normal
	code        float64 // first event code other than 0
	state       float64 // last operating state by day
	running     float64 // hours in which the unit said it runs
	together    int     // units of the site in the same state at the announcement
	heard       int     // units of the site with readings then
	dark        bool    // began before the sun was up
	rating      float64
	level       float64 // power over rating at which something holds
	days        int     // days that showed it
	spread      float64 // usual deviation of a day
	samples     int
}

func newFacts() facts {
	nan := math.NaN()
	return facts{coldest: nan, counterFrom: nan, counterTo: nan, code: nan, state: nan}
}

// observe adds what unit k showed at cell i under sun.
func (f *facts) observe(v *view, k, i int) {
	u, h := &v.units[k], v.hours()
	f.armedHours += h
	f.maxKW = max(f.maxKW, u.power[i])
	f.expectedKWh += u.expected[i] * h
	if g := v.light[i]; !math.IsNaN(g) {
		f.lightSum, f.lightHours = f.lightSum+g*h, f.lightHours+h
	}
	if t := v.tempC[i]; !math.IsNaN(t) && !(f.coldest < t) {
		f.coldest = t
	}
	if c := u.code[i]; c > 0 && math.IsNaN(f.code) {
		f.code = c
	}
	if s := u.state[i]; !math.IsNaN(s) {
		f.state = s
		if s == stateMPPT || s == stateThrottled {
			f.running += h
		}
	}
}

// count follows the lifetime counter.
func (f *facts) count(counter float64) {
	if math.IsNaN(counter) {
		return
	}
	if math.IsNaN(f.counterFrom) {
		f.counterFrom = counter
	}
	f.counterTo = counter
}

// open adds a record, or takes up again one of the same units that ended so
// shortly before start, or without any production since, that it is the same.
func (s *session) open(r *record) *record {
	for i := len(s.records) - 1; i >= 0; i-- {
		old := s.records[i]
		if old.family != r.family || old.end == 0 || !slices.Equal(old.units, r.units) {
			continue
		}
		producedSince := false
		for _, k := range r.units {
			producedSince = producedSince || s.lastOn[k] > old.end
		}
		if r.start-old.end <= int64(mergeWithin.Seconds()) || !producedSince && r.family != CommunicationGap {
			old.end = 0
			old.lost += r.lost
			old.lastSeen = r.lastSeen
			old.seen.armedHours += r.seen.armedHours
			old.seen.expectedKWh += r.seen.expectedKWh
			old.seen.counterTo = r.seen.counterTo
			return old
		}
		break
	}
	s.records = append(s.records, r)
	return r
}
