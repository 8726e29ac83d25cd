package detect

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// classifyCell classifies a cell. off means that the unit produces nothing although
// there is sun for it; on means that it produces power. If both are false, the
// cell is undecided.
func classifyCell(v *view, s *session, k, i int) (off, on bool) {
	u, rating := &v.units[k], s.rating(k)
	p := u.power[i]
	if math.IsNaN(p) || rating <= 0 || u.scaled[i] || u.claimed[i] == SnowCover || u.claimed[i] == DataQuality {
		return false, false
	}
	if p < offShare*rating {
		if u.tier[i] != tierPeers && p > s.memory.units[k].idleKW+dimShare*rating {
			return false, p > s.memory.units[k].idleKW+2*dimShare*rating
		}
		if u.tier[i] == tierPeers && !(p < producesShare*u.expected[i]) && p > s.memory.units[k].idleKW+2*dimShare*rating {
			return false, false // it produces little in weak light, as units that lie otherwise do
		}
		return u.sun[i], false
	}
	return false, !(p < producesShare*u.expected[i])
}

// producesShare of its expected power is what a unit makes that is not stopped.
const producesShare = 0.1

// dimShare of the rating above its usual reading by night is what a unit
// produces under the thickest clouds. Without peers, only that distinguishes a dark
// day from an outage.
const dimShare = 0.0005

// outageRun is a run of samples that show an outage, before and after it is
// announced.
type outageRun struct {
	since   int64 // start of the first sample; 0 without a run
	samples int
	covered float64 // hours of them
	lost    loss.Ledger
	seen    facts
	sudden  bool // it began from one sample to the next
	record  *record

	backSince int64 // an announced outage: since when power is back
	back      int
	backHours float64
}

// blind is how long an outage must last before it is announced if nothing
// measures the irradiance: a storm can take nearly all of it for two hours. If
// all units of a site stop together, half of it is enough; blindSudden is enough for a
// unit that stopped from one sample to the next while it produced blindShare of its
// rating, as a storm takes longer to come.
const (
	blind       = 150 * time.Minute
	blindSudden = 90 * time.Minute
	blindShare  = 0.1
)

// established reports whether this number of samples over this number of hours
// is enough.
func established(samples int, hours float64) bool {
	return samples >= 2 && hours >= persistence.Hours()-1e-9
}

// miss adds what unit k did not make at cell i.
func miss(l *loss.Ledger, v *view, k, i int) {
	u := &v.units[k]
	v.addLoss(l, i, u.expected[i]-max(zeroIfMissing(u.power[i]), 0))
}

// siteOutages finds times in which every unit that has sun produces nothing and
// all of them stopped within one sample of each other. Peers are then no
// reference; irradiance, a forecast or the site's past shows that there is sun.
type siteOutages struct {
	since     int64 // start of the first sample; 0 without an outage
	samples   int
	covered   float64 // hours of them
	dark      bool    // it began before the sun was up
	announced bool
	members   []int
	runs      []outageRun // of each member: what it lost and showed, and its record
	backSince int64       // since when power is back
	back      int
	backHours float64
	offAt     []int64 // start of each unit's own run without power; 0 while on
	times     []int64 // scratch
	onToday   []bool  // the unit has produced since the sun rose
}

func newSiteOutages(s *session) *siteOutages {
	n := len(s.in.Units)
	return &siteOutages{offAt: make([]int64, n), onToday: make([]bool, n)}
}

func (o *siteOutages) look(v *view, s *session) {
	n := len(s.in.Units)
	if n < 2 {
		return
	}
	var members []int
	for i := range v.cells {
		t := v.first + int64(i)*v.step
		if !v.day[i] {
			for k := range o.onToday {
				o.onToday[k] = false
			}
		}
		heard, off, on := 0, 0, 0
		for k := range n {
			isOff, isOn := classifyCell(v, s, k, i)
			if !math.IsNaN(v.units[k].power[i]) {
				heard++
			}
			switch {
			case isOff:
				off++
				if o.offAt[k] == 0 {
					o.offAt[k] = t
				}
			case isOn:
				on++
				o.offAt[k], o.onToday[k] = 0, true
			}
		}
		if o.announced {
			o.goOn(v, s, i, on)
			continue
		}
		if on > 0 || off < 2 || 2*off < heard {
			if on > 0 {
				o.reset()
			}
			continue
		}
		if members = o.stopped(members[:0], t, v.step); len(members) < max(2, (heard+1)/2) {
			continue
		}
		if o.since == 0 {
			o.since, o.members, o.runs = t, append(o.members[:0], members...), nil
			for _, k := range members {
				o.since = min(o.since, o.offAt[k])
				o.runs = append(o.runs, outageRun{seen: newFacts()})
			}
			o.dark = !o.anyOnToday()
		}
		o.samples++
		o.covered += v.hours()
		for j, k := range o.members {
			miss(&o.runs[j].lost, v, k, i)
			o.runs[j].seen.observe(v, k, i)
		}
		if established(o.samples, o.covered) && (v.units[o.members[0]].tier[i] <= tierLight || o.covered >= blind.Hours()/2) {
			o.announce(v, s, i, len(o.members), heard)
		}
	}
}

func (o *siteOutages) reset() {
	o.since, o.samples, o.covered, o.runs, o.dark, o.announced = 0, 0, 0, nil, false, false
	o.backSince, o.back, o.backHours = 0, 0, 0
}

// stopped are the units whose run began within one sample of when most did;
// where the dark hid when they stopped, all that are off.
func (o *siteOutages) stopped(members []int, t, step int64) []int {
	middle := o.times[:0]
	for k, at := range o.offAt {
		if at != 0 && at <= t && o.onToday[k] {
			middle = append(middle, at)
		}
	}
	o.times = middle
	slices.Sort(middle)
	for k, at := range o.offAt {
		if at != 0 && (len(middle) == 0 || max(at-middle[len(middle)/2], middle[len(middle)/2]-at) <= step) {
			members = append(members, k)
		}
	}
	return members
}

func (o *siteOutages) anyOnToday() bool {
	for _, on := range o.onToday {
		if on {
			return true
		}
	}
	return false
}

func (o *siteOutages) announce(v *view, s *session, i, together, heard int) {
	end := v.first + int64(i+1)*v.step
	for j, k := range o.members {
		run := &o.runs[j]
		run.seen.tier, run.seen.together, run.seen.heard = v.units[k].tier[i], together, heard
		run.seen.dark, run.seen.rating = o.dark, s.rating(k)
		run.record = s.open(&record{
			family: SiteOutage, units: []int{k}, start: o.since, detected: end, lastSeen: end,
			losses: run.lost, fraction: 1, seen: run.seen,
		})
	}
	o.announced = true
	o.claim(v, o.since, i)
}

// claim marks the members' samples of the day from a time up to cell i.
func (o *siteOutages) claim(v *view, from int64, i int) {
	for j := max(int((from-v.first)/v.step), 0); j <= i; j++ {
		for _, k := range o.members {
			v.units[k].claimed[j] = SiteOutage
		}
	}
}

// goOn follows an announced outage until power has been back for as long as
// it takes to announce one.
func (o *siteOutages) goOn(v *view, s *session, i, on int) {
	t := v.first + int64(i)*v.step
	if on > 0 {
		if o.back == 0 {
			o.backSince = t
		}
		o.back++
		o.backHours += v.hours()
		if established(o.back, o.backHours) {
			for _, run := range o.runs {
				run.record.end = o.backSince
			}
			o.reset()
		}
		return
	}
	armed := false
	for j, k := range o.members {
		r := o.runs[j].record
		if off, _ := classifyCell(v, s, k, i); off {
			r.seen.observe(v, k, i)
			armed = true
		}
		miss(&r.losses, v, k, i)
		v.units[k].claimed[i] = SiteOutage
	}
	if armed {
		for _, run := range o.runs {
			run.record.lastSeen = t + v.step
		}
		o.back, o.backHours = 0, 0
	}
}

// unitOutages finds single units that make nothing while there is sun.
type unitOutages struct{ units []outageRun }

func newUnitOutages(s *session) *unitOutages {
	o := &unitOutages{make([]outageRun, len(s.in.Units))}
	for k := range o.units {
		o.units[k] = outageRun{seen: newFacts()}
	}
	return o
}

func (o *unitOutages) look(v *view, s *session) {
	for i := range v.cells {
		for k := range o.units {
			o.at(v, s, k, i)
		}
	}
	for k := range o.units {
		r := o.units[k].record
		s.stopped[k] = r != nil && r.seen.armedHours >= stoppedHours
	}
}

// stoppedHours is for how long an outage must have shown by day so that snow of a
// later day is no other explanation of it.
const stoppedHours = 3

func (o *unitOutages) at(v *view, s *session, k, i int) {
	sp, u := &o.units[k], &v.units[k]
	t := v.first + int64(i)*v.step
	if u.claimed[i] != "" {
		if sp.record == nil {
			*sp = outageRun{seen: newFacts()}
		}
		return
	}
	off, on := classifyCell(v, s, k, i)
	if on {
		s.lastOn[k] = t + v.step
	}
	switch {
	case sp.record != nil:
		o.goOn(v, s, k, i, off, on)
	case on:
		sp.begin(v, u, i)
	case off:
		if sp.since == 0 {
			sp.since = t
			sp.seen.dark = !v.day[max(i-1, 0)] || s.lastOn[k] < t-int64(persistence.Seconds())-v.step
			sp.sudden = i > 0 && u.power[i-1] >= blindShare*s.rating(k)
		}
		sp.samples++
		sp.covered += v.hours()
		miss(&sp.lost, v, k, i)
		sp.seen.observe(v, k, i)
		sp.count(u, i, v)
		if established(sp.samples, sp.covered) && (u.tier[i] <= tierLight || sp.covered >= blind.Hours() || sp.sudden && sp.covered >= blindSudden.Hours()-1e-9) {
			o.announce(v, s, k, i)
		}
	default:
		if sp.since != 0 {
			miss(&sp.lost, v, k, i)
		}
		sp.count(u, i, v)
	}
}

// begin starts again after a cell with production: the counter has the value
// after the cell's energy.
func (sp *outageRun) begin(v *view, u *unitView, i int) {
	if sp.since != 0 {
		*sp = outageRun{seen: newFacts()}
	}
	c := u.counter[i] + max(u.power[i], 0)*v.hours()
	sp.seen.counterFrom, sp.seen.counterTo = c, c
}

// count follows the counter and what should have been added to it.
func (sp *outageRun) count(u *unitView, i int, v *view) {
	sp.seen.count(u.counter[i])
	if e := u.expected[i] * v.hours(); e > 0 && sp.since != 0 {
		sp.seen.counterKWh += e
	}
}

func (o *unitOutages) announce(v *view, s *session, k, i int) {
	sp, u := &o.units[k], &v.units[k]
	if sp.seen.counts() {
		// The counter still increases: the power reading is wrong, not
		// the unit.
		return
	}
	if usual := s.memory.units[k].usualDay(); sp.lost.Total() < matters*usual || u.tier[i] != tierPeers && sp.seen.dark && !missedSunrise(u.tier[i], sp, usual) {
		return // it costs too little to matter, or a late start cannot be distinguished from a dark morning yet
	}
	if u.tier[i] == tierPeers && sp.seen.dark && sp.seen.brightest < duskShare*s.rating(k) && sp.covered < time.Hour.Hours() {
		return // weak light at dusk and dawn: wait for more
	}
	if u.tier[i] != tierPeers && o.othersIdle(v, s, k, i) {
		return // all are stopped: the stage of the site decides, once all are due
	}
	end := v.first + int64(i+1)*v.step
	sp.seen.tier, sp.seen.peers, sp.seen.rating = u.tier[i], u.peers[i], s.rating(k)
	for other := range o.units {
		if math.IsNaN(v.units[other].power[i]) {
			continue
		}
		sp.seen.heard++
		if d := o.units[other].since - sp.since; other != k && o.units[other].since != 0 && d >= -v.step && d <= v.step {
			sp.seen.together++
		}
	}
	r := &record{
		family: InverterOutage, units: []int{k}, start: sp.since, detected: end, lastSeen: end,
		losses: sp.lost, fraction: 1, seen: sp.seen,
	}
	if hasArc(sp.seen.code) {
		r.family = ArcFault
	} else if hasBit(sp.seen.code, bitGroundFault) {
		r.family = GroundFault
	} else if n := s.lateStarts(r); n >= lateStarts && sp.seen.tier == tierPeers {
		r.family = GroundFault
		r.observed = []Evidence{shows("wet_mornings", 1, float64(n+1), lateStarts, "mornings", "On %s within %s it started hours late and then ran as usual.", display.CountOf(n+1, "morning", "mornings"), display.CountOf(lateWithin/86400, "day", "days"))}
	}
	sp.record = s.open(r)
	for j := max(int((sp.since-v.first)/v.step), 0); j <= i; j++ {
		u.claimed[j] = sp.record.family
	}
}

// missedSunrise reports whether a unit that has not run since night should have
// started: by irradiance after an hour and a half, by the sun's position after
// three hours, and only if that cost a substantial part of its typical day.
func missedSunrise(t tier, sp *outageRun, usualDay float64) bool {
	const missed, lit, alone = 0.15, 1.5, 3.0
	hours := alone
	if t == tierLight {
		hours = lit
	}
	return sp.lost.Total() >= missed*usualDay && sp.covered >= hours
}

// duskShare of the rating must have been expected once of a unit that has not
// run since the dark.
const duskShare = 0.075

// A ground fault without a code: so many late starts within so many seconds,
// each of them over the same day.
const (
	lateStarts = 2
	lateWithin = 10 * 86400
	lateHours  = 5
)

// lateStarts counts the outages of a unit before r that began in the dark and
// were over within hours, if r began so too.
func (s *session) lateStarts(r *record) int {
	n := 0
	if !r.seen.dark {
		return 0
	}
	for i := len(s.records) - 1; i >= 0; i-- {
		old := s.records[i]
		if old.family != InverterOutage && old.family != GroundFault || old.units[0] != r.units[0] || len(old.units) != 1 {
			continue
		}
		if r.start-old.start > lateWithin {
			break
		}
		if old.seen.dark && old.end != 0 && old.end-old.start < 86400 && old.seen.armedHours < lateHours {
			n++
		}
	}
	return n
}

// othersIdle reports whether another unit produces nothing either, without an
// outage.
func (o *unitOutages) othersIdle(v *view, s *session, k, i int) bool {
	for other := range o.units {
		if p := v.units[other].power[i]; other != k && o.units[other].record == nil && p < offShare*s.rating(other) {
			return true
		}
	}
	return false
}

// counts reports whether the counter has gained a substantial part of the
// expectation.
func (f *facts) counts() bool {
	gained := f.counterTo - f.counterFrom
	return f.counterKWh > 0 && gained > 0.3*f.counterKWh
}

func (o *unitOutages) goOn(v *view, s *session, k, i int, off, on bool) {
	sp, u := &o.units[k], &v.units[k]
	t := v.first + int64(i)*v.step
	r := sp.record
	if on {
		if sp.back == 0 {
			sp.backSince = t
		}
		sp.back++
		sp.backHours += v.hours()
		if established(sp.back, sp.backHours) {
			r.end = sp.backSince
			sp.begin(v, u, i)
		}
		return
	}
	miss(&r.losses, v, k, i)
	u.claimed[i] = r.family
	if off {
		r.lastSeen = t + v.step
		r.seen.observe(v, k, i)
		sp.back, sp.backHours = 0, 0
	}
	if sp.back == 0 {
		r.seen.count(u.counter[i])
		if e := u.expected[i] * v.hours(); e > 0 {
			r.seen.counterKWh += e
		}
	}
}
