package detect

import (
	"math"

	"app.sunloop/engine/series"
)

// How long the past counts.
const (
	sizeDays  = 21 // for a unit's size among its peers and its gain on light
	usualDays = 30 // for what the site usually makes at an hour
	shapeDays = 8  // before units with the same orientation may be found to differ over the day
)

// memory is what has been learned from the days before.
type memory struct {
	units  []unitMemory
	groups [][]int                   // units that look the same way, where not all do
	usual  [usualDays][slots]float32 // site power over rating, by day and quarter hour; NaN unknown
	days   int                       // how many days are in usual, ever
	stats  [slots]typicalDay
	daily  daily
	stray  ring // ratio of a day's energy to the usual one: how far one day may stray
}

// typicalDay summarises the site's power in a quarter of an hour over earlier
// days.
type typicalDay struct{ low, mean, high float64 }

// unitMemory is what has been learned about one unit.
type unitMemory struct {
	group       int             // of memory.groups; -1 for none: all are its peers
	nameplateKW float64         // 0 where unknown
	peakKW      float64         // highest credible power so far
	scale       ring            // daily size against peers, over the rating
	gain        ring            // daily power per kW of rating and kW/m², without limit
	counted     ring            // daily ratio of counted to expected energy
	alike       bool            // two others or more are known to look the same way
	held        map[Family]bool // families that question the unit's yield: meanwhile its size and shape are not learned
	steadyDays  int             // days with steady samples against peers
	long        ring            // daily yield among its peers of the last months, over the rating, of sound days
	idleKW      float64         // its usual reading by night
	idle        ring            // daily reading by night, kW
	asleep      ring            // daily highest expected share of the rating at which it still made nothing
	shapes      [48]ring        // daily part of its peers' power at each half hour of the day, against its size
	profile     [48]float64     // their middle
	seen        [48]int         // days behind it
	awake       float64         // share of night cells with a reading, mean over days
	nights      int             // behind awake, at most 30
	made        ring            // daily energy of the last producing days, with what faults took, kWh
}

func newMemory(units []Unit) *memory {
	m := &memory{units: make([]unitMemory, len(units))}
	for u := range m.units {
		m.units[u].nameplateKW, m.units[u].group = units[u].CapacityKW, -1
		for b := range m.units[u].profile {
			m.units[u].profile[b] = 1
		}
	}
	for d := range m.usual {
		for s := range m.usual[d] {
			m.usual[d][s] = float32(math.NaN())
		}
	}
	for s := range m.stats {
		m.stats[s] = typicalDay{math.NaN(), math.NaN(), math.NaN()}
	}
	groupByPlane(m, units)
	return m
}

// groupByPlane groups units whose modules have the same orientation, to 15°.
// Groups of fewer than three have too few peers: their units are compared with
// all units, corrected by their own daily profile.
func groupByPlane(m *memory, units []Unit) {
	type key struct{ tilt, azimuth int }
	groups := map[key][]int{}
	for u, unit := range units {
		if unit.Tracker {
			k := key{-1, -1}
			groups[k] = append(groups[k], u)
		} else if unit.Plane != nil {
			k := key{int(math.Round(unit.Plane.TiltDeg / 15)), int(math.Round(unit.Plane.AzimuthDeg / 15))}
			groups[k] = append(groups[k], u)
		}
	}
	for _, g := range groups {
		if len(g) < 3 {
			continue
		}
		for _, u := range g {
			m.units[u].alike = true
			if len(g) < len(units) {
				m.units[u].group = len(m.groups)
			}
		}
		if len(g) < len(units) {
			m.groups = append(m.groups, g)
		}
	}
}

// rating of a unit: its nameplate, else the highest power it has shown.
func (u *unitMemory) rating() float64 {
	if u.nameplateKW > 0 {
		return u.nameplateKW
	}
	return u.peakKW
}

// size is a unit's weight against its rating, by its peers.
func (u *unitMemory) size() float64 { return min(max(u.scale.quantile(0.5, 3, 1), 0.2), 2) }

// matters is the share of a unit's usual day that a loss must reach to be
// announced.
const matters = 0.005

// usualDay is the energy of a usual day, kWh: the median of the last producing days. On a
// unit that has few of them it is that of a dull one at the least.
func (u *unitMemory) usualDay() float64 {
	const known, dullHours = 7, 1.0 // days; hours at the rating
	if len(u.made.values) >= known {
		return u.made.quantile(0.5, 1, 0)
	}
	return max(u.made.quantile(0.5, 1, 0), dullHours*u.rating())
}

// minExpectedShare is the expected share of the rating above which making nothing is
// strange. Some units start late in weak light on every dull day; what they
// have done on most of the last days, with a margin, is not strange for them.
func (u *unitMemory) minExpectedShare() float64 {
	return max(armedShare, 1.25*u.asleep.quantile(0.9, 1, 0))
}

// hold marks whether a family suspects the unit's production.
func (u *unitMemory) hold(f Family, yes bool) {
	if u.held == nil {
		u.held = map[Family]bool{}
	}
	u.held[f] = yes
}

// learningSuspended reports whether any family suspects the unit.
func (u *unitMemory) learningSuspended() bool {
	for _, yes := range u.held {
		if yes {
			return true
		}
	}
	return false
}

// weakLight is the expected share of the rating up to which a unit may learn
// to sleep.
const weakLight = 0.25

// shape is the unit's part of its peers' power at a half hour of the day.
func (u *unitMemory) shape(halfHour int) float64 {
	if u.seen[halfHour] < 3 || u.alike && u.seen[halfHour] < shapeDays {
		return 1
	}
	return u.profile[halfHour]
}

// learn adds a finished day to the learned state. Samples that a stage has
// claimed are excluded.
func (m *memory) learn(v *view, units []Unit) {
	m.learnUsual(v, units)
	for k := range units {
		m.learnUnit(v, k, m.units[k].rating())
	}
}

// daily is scratch space for what is learned from a unit's day.
type daily struct {
	peers, gains, dark []float64
	bins               [48][]float64
}

func (d *daily) clear() {
	d.peers, d.gains, d.dark = d.peers[:0], d.gains[:0], d.dark[:0]
	d.clearBins()
}

func (d *daily) clearBins() {
	for b := range d.bins {
		d.bins[b] = d.bins[b][:0]
	}
}

func (m *memory) learnUnit(v *view, k int, rating float64) {
	mem, uv, d := &m.units[k], &v.units[k], &m.daily
	d.clear()
	nights, heard := 0, 0
	peak, produced, asleep, idle := mem.peakKW, false, 0.0, 0.0
	made := 0.0
	for i := range v.cells {
		if v.clear[i] == 0 && uv.claimed[i] == "" && math.Abs(uv.power[i]) < offShare*rating {
			d.dark = append(d.dark, uv.power[i])
		}
		if !v.day[i] {
			nights++
			if uv.heard[i] {
				heard++
			}
		}
		p := uv.power[i]
		switch share := uv.expected[i] / rating; {
		case p < offShare*rating && share > 0:
			idle = max(idle, share)
		case p >= offShare*rating:
			if idle < weakLight { // a run that saw more light was an outage
				asleep = max(asleep, idle)
			}
			idle = 0
		}
		if uv.claimed[i] != "" { // a day with a fault is a usual one without it
			made += max(zeroIfMissing(uv.expected[i]), 0) * v.hours()
			continue
		}
		if math.IsNaN(p) {
			continue
		}
		produced = produced || p >= armedShare*rating
		made += max(p, 0) * v.hours()
		peak = max(peak, p)
		if rating <= 0 {
			continue
		}
		if uv.tier[i] == tierPeers && uv.peers[i] >= 1 && uv.expected[i] > 0.1*rating && p < 0.97*rating {
			d.peers = append(d.peers, p/uv.expected[i])
			b := v.slot(i) / 2
			d.bins[b] = append(d.bins[b], p/uv.even[i])
		}
		if g := v.light[i]; g > 200 && p > 0.02*rating && p < 0.9*rating {
			d.gains = append(d.gains, p/rating/lightYield(g, v.tempC[i]))
		}
	}
	mem.peakKW = peak
	mem.idle.remember(median(d.dark), sizeDays)
	mem.idleKW = mem.idle.quantile(0.5, 1, 0)
	if idle < weakLight {
		asleep = max(asleep, idle)
	}
	if produced && !v.partial {
		mem.made.remember(made, usualDays)
	}
	if produced {
		mem.asleep.remember(asleep, sizeDays)
	}
	if nights > 0 {
		mem.awake = (mem.awake*float64(mem.nights) + float64(heard)/float64(nights)) / float64(mem.nights+1)
		mem.nights = min(mem.nights+1, 30)
	}
	mem.learnSize(v, uv, d)
	if len(d.gains) >= 4 {
		mem.gain.remember(median(d.gains), sizeDays)
	}
}

// learnSize takes the day's size and shape against peers into memory. Clouds
// pass units one by one, so only steady samples count once there are some days
// of them; before, all do.
func (u *unitMemory) learnSize(v *view, uv *unitView, d *daily) {
	if uv.charted {
		d.peers = d.peers[:0]
		d.clearBins()
		for _, i := range uv.relative.steady {
			d.peers = append(d.peers, uv.power[i]/uv.expected[i])
			b := v.slot(i) / 2
			d.bins[b] = append(d.bins[b], uv.power[i]/uv.even[i])
		}
		u.steadyDays++
	} else if u.alike && u.steadyDays >= 5 || float64(len(d.peers))*v.hours() < 2 {
		return
	}
	if u.learningSuspended() {
		return
	}
	level := median(d.peers)
	u.scale.remember(level*u.size(), sizeDays)
	for b, bin := range d.bins {
		if len(bin) == 0 || u.alike && !uv.charted {
			continue
		}
		target := min(max(median(bin)/max(level, 0.2), 0), 3)
		u.seen[b]++
		u.shapes[b].remember(target, sizeDays)
		u.profile[b] = u.shapes[b].quantile(0.5, 1, 1)
	}
	u.alike = u.alike || u.flat()
}

// flat reports whether the unit's profile relative to its peers is even, so
// that it has their orientation. Clouds disturb single half hours, so thirds of
// the day are compared.
func (u *unitMemory) flat() bool {
	const known, enough, even, wild = 12, 9, 0.035, 0.25 // days, half hours, share, share
	dawn := 0
	for b := range u.seen { // the day begins after the last half hour of a night, in whatever zone
		if u.seen[b] == 0 && u.seen[(b+1)%len(u.seen)] > 0 {
			dawn = b + 1
		}
	}
	var day []float64
	for i := range u.seen {
		b := (dawn + i) % len(u.seen)
		if u.seen[b] < known {
			continue
		}
		if math.Abs(u.profile[b]-1) > wild {
			return false
		}
		day = append(day, u.profile[b])
	}
	n := len(day)
	if n < enough {
		return false
	}
	morning, noon, evening := mean(day, [2]int{0, n / 3}), mean(day, [2]int{n / 3, n - n/3}), mean(day, [2]int{n - n/3, n})
	return max(morning, noon, evening)-min(morning, noon, evening) < even*noon
}

// learnUsual adds the day to the site's typical day.
func (m *memory) learnUsual(v *view, units []Unit) {
	var sum, count [slots]float64
	for i := range v.cells {
		if y := m.siteYield(v, units, i); !math.IsNaN(y) {
			sum[v.slot(i)] += y
			count[v.slot(i)]++
		}
	}
	row := &m.usual[m.days%usualDays]
	filled := false
	var made, normal, whole float64
	for s := range row {
		whole += max(m.stats[s].mean, 0)
		row[s] = float32(sum[s] / count[s]) // 0/0 is NaN
		if count[s] > 0 {
			filled = true
			if mean := m.stats[s].mean; !math.IsNaN(mean) {
				made += sum[s] / count[s]
				normal += mean
			}
		}
	}
	if !filled {
		return
	}
	if normal > 0.7*whole { // a day that was mostly explained by faults is no measure
		m.stray.remember(made/normal, usualDays)
	}
	m.days++
	m.summarise(v.step)
}

// summarise computes the figures of each quarter hour. If the step is longer
// than a quarter hour, a reading applies to all quarter hours it covers.
func (m *memory) summarise(step int64) {
	days := min(m.days, usualDays)
	wide := max(int(step/(86400/slots)), 1)
	for s := range slots {
		low, high, sum, n := math.Inf(1), 0.0, 0.0, 0
		for d := range days {
			y := float64(m.usual[d][s/wide*wide])
			if !math.IsNaN(y) {
				low, high, sum, n = min(low, y), max(high, y), sum+y, n+1
			}
		}
		m.stats[s] = typicalDay{math.NaN(), math.NaN(), math.NaN()}
		if n >= 3 {
			m.stats[s].mean, m.stats[s].high = sum/float64(n), high
		}
		if n >= 7 {
			m.stats[s].low = low
		}
	}
}

// siteYield returns the site's power over its rating at a cell, of the units
// that report and are unexplained, NaN if there are none.
func (m *memory) siteYield(v *view, units []Unit, i int) float64 {
	var power, rating float64
	for k := range units {
		uv := &v.units[k]
		if p := uv.power[i]; !math.IsNaN(p) && uv.claimed[i] == "" {
			power += max(p, 0)
			rating += m.units[k].rating()
		}
	}
	if rating <= 0 {
		return math.NaN()
	}
	return power / rating
}

// lightYield is power per kW of array under light of g W/m²: linear, less
// 0.37 % for each kelvin that the cells are above 25 °C (30 K above ambient at
// 1000 W/m²). Without a temperature 20 °C is taken.
func lightYield(g, ambientC float64) float64 {
	if math.IsNaN(ambientC) {
		ambientC = 20
	}
	return g / 1000 * (1 - 0.0037*(ambientC+0.03*g-25))
}

// forecastShare is a unit's part of a forecast of the site at a cell.
func forecastShare(forecast series.Series, v *view, i int, share float64) float64 {
	if forecast.Len() == 0 {
		return math.NaN()
	}
	return forecast.At(v.time(i)) * share
}
