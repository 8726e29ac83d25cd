package laws

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// place is where a plant may be, with days whose clocks change there.
type place struct {
	zone     string
	location string
	changes  []string // days with 23 or 25 hours, or 23.5 and 24.5
}

var places = []place{
	{"Europe/Berlin", "52.52,13.40", []string{"2026-03-29", "2026-10-25"}},
	{"America/New_York", "40.71,-74.01", []string{"2026-03-08", "2026-11-01"}},
	{"Africa/Johannesburg", "-29.86,31.02", nil},
	{"Asia/Kathmandu", "27.72,85.32", nil},
	{"Australia/Lord_Howe", "-31.55,159.08", []string{"2026-04-05", "2026-10-04"}},
}

// unit has its power and what was uploaded of it, by minute from the plant's start.
type unit struct {
	id       string
	rating   float64
	powerKW  []float64
	covered  []bool  // a sample that was uploaded is of the minute
	counted  bool    // it has a lifetime counter
	factor   float64 // of the energy that its counter counts; 0: 1
	lastSeen int     // minute of the newest uploaded sample; -1: none
	first    int     // minute of the first one
}

// row is a sample of a unit: the mean power of a step, by its first minute.
type row struct{ unit, minute int }

// part is a file of samples of one step.
type part struct {
	kind string
	step int // minutes
	rows []row
	end  int // minute after the last sample
}

// plant is a draw.
type plant struct {
	seed    uint64
	words   string // the parameters
	place   place
	zone    *time.Location
	site    string
	start   time.Time // a local midnight
	days    []int     // minutes from start of the local midnights, the last one after now
	units   []*unit
	parts   []part // in the order of upload
	ordered bool   // of time
	end     int    // minute of the plant's clock after all uploads
	gaps    bool
	coarser bool // the live data overlap the history, with a longer step
	overlap int  // minutes for which history and live data overlap
}

func (p *plant) at(minute int) time.Time { return p.start.Add(time.Duration(minute) * time.Minute) }

func (p *plant) String() string {
	return fmt.Sprintf("seed %d (%s; SUNLOOP_TEST_LAWS_SEED=%d repeats it)", p.seed, p.words, p.seed)
}

// oneOf draws an element.
func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// draw makes a plant. The power is constant within a bin of the coarser of the two
// steps, so that what a sample says does not depend on its step.
func draw(seed uint64) *plant {
	r := rand.New(rand.NewPCG(seed, 18))
	p := &plant{seed: seed, site: fmt.Sprintf("site-%d", seed), place: places[int(seed)%len(places)]}
	var err error
	if p.zone, err = time.LoadLocation(p.place.zone); err != nil {
		panic(err)
	}
	span := 2 + r.IntN(3)
	day := oneOf(r, "2026-06-14", "2026-09-10")
	if len(p.place.changes) > 0 && r.IntN(3) > 0 {
		day = oneOf(r, p.place.changes...)
	}
	first, err := time.ParseInLocation(time.DateOnly, day, p.zone)
	if err != nil {
		panic(err)
	}
	first = first.AddDate(0, 0, -r.IntN(span))
	p.start = first
	for i := range span + 1 {
		p.days = append(p.days, int(first.AddDate(0, 0, i).Sub(first)/time.Minute))
	}
	steps := oneOf(r, [2]int{15, 5}, [2]int{15, 15}, [2]int{60, 15}, [2]int{60, 5}, [2]int{30, 10}, [2]int{5, 15}, [2]int{15, 1}, [2]int{10, 30})
	history, live := steps[0], steps[1]
	bin := max(history, live)
	lastDay := p.days[span-1]
	bins := (p.days[span] - lastDay) / bin
	p.end = lastDay + bin*(bins/3+r.IntN(bins-bins/3)+1)
	p.end = min(p.end, p.days[span])
	p.end -= (p.end) % bin // on the grid of both steps, which begins at the first midnight
	change := lastDay + r.IntN(max(p.end-lastDay, 1))
	if r.IntN(3) == 0 { // the day before
		change -= 8 * 60
	}
	change -= change % bin
	overlap := oneOf(r, 0, 0, bin, 4*bin)
	p.overlap, p.coarser = overlap, overlap > 0 && live > history
	profile := oneOf(r, "constant", "daylight", "clouds")
	counted := r.IntN(3) == 0
	p.gaps = r.IntN(2) == 0
	n := 1 + r.IntN(4)
	for i := range n {
		u := &unit{id: fmt.Sprintf("inv-%d-%d", seed, i+1), rating: float64(10 * (1 + r.IntN(9))), counted: counted, lastSeen: -1, first: -1}
		u.powerKW, u.covered = make([]float64, p.days[span]), make([]bool, p.days[span])
		level := 0.2 + 0.7*r.Float64()
		for b := 0; b < len(u.powerKW); b += bin {
			kw := u.rating * level
			local := p.at(b).In(p.zone)
			hour := float64(local.Hour()) + float64(local.Minute())/60
			switch {
			case profile != "constant" && (hour < 6 || hour >= 18):
				kw = 0
			case profile == "clouds":
				kw = u.rating * math.Sin(math.Pi*(hour-6)/12) * (0.3 + 0.7*r.Float64())
			}
			kw = math.Round(kw*1000) / 1000
			for m := b; m < min(b+bin, len(u.powerKW)); m++ {
				u.powerKW[m] = kw
			}
		}
		p.units = append(p.units, u)
	}
	p.words = fmt.Sprintf("%s from %s, %d days, %d units, %s power, steps %d then %d min, change at %s, overlap %d min, counters %v, gaps %v, now %s",
		p.place.zone, first.Format(time.DateOnly), span, n, profile, history, live, p.at(change).In(p.zone).Format(time.DateTime), overlap, counted, p.gaps, p.at(p.end).In(p.zone).Format(time.DateTime))
	p.divide(r, history, live, change, overlap)
	return p
}

// divide draws the files: history by days, live data by some hours, with the gaps
// of a unit left out of both.
func (p *plant) divide(r *rand.Rand, history, live, change, overlap int) {
	bin := max(history, live)
	missing := make([]map[int]bool, len(p.units)) // bins
	for i := range p.units {
		missing[i] = map[int]bool{}
		for range 3 {
			if !p.gaps || r.IntN(2) == 0 {
				continue
			}
			// Away from midnights, from the change of the step and from the ends: there
			// the neighbours of a sample may be of either step.
			length := 1 + r.IntN(max(180/bin, 1))
			at := r.IntN(p.end/bin) * bin
			from, to := at-6*bin, at+(length+6)*bin
			near := func(m int) bool { return from <= m && m <= to }
			if near(change) || near(change-overlap) || near(0) || near(p.end) || slices.ContainsFunc(p.days, near) {
				continue
			}
			for b := at; b < at+length*bin; b += bin {
				missing[i][b/bin] = true
			}
		}
	}
	file := func(kind string, step, from, to int) part {
		f := part{kind: kind, step: step, end: to}
		for m := from; m < to; m += step {
			for i := range p.units {
				if !missing[i][m/bin] {
					f.rows = append(f.rows, row{i, m})
				}
			}
		}
		return f
	}
	for i := range len(p.days) - 1 {
		from, to := p.days[i], min(p.days[i+1], change)
		if from += (bin - from%bin) % bin; from < to { // days of half hours begin off the grid
			if i+1 < len(p.days)-1 && to == p.days[i+1] {
				to += (bin - to%bin) % bin
			}
			p.parts = append(p.parts, file(api.UploadTrain, history, from, min(to, change)))
		}
	}
	for from := max(change-overlap, 0); from < p.end; {
		to := min(from+bin*(1+r.IntN(max(480/bin, 1))), p.end)
		p.parts = append(p.parts, file(api.UploadNowcast, live, from, to))
		from = to
	}
	p.parts = slices.DeleteFunc(p.parts, func(f part) bool { return len(f.rows) == 0 })
	p.ordered = true
	switch r.IntN(4) {
	case 0:
		p.ordered = false
		slices.Reverse(p.parts)
		p.words += ", files from the newest to the oldest"
	case 1:
		p.ordered = false
		r.Shuffle(len(p.parts), func(i, j int) { p.parts[i], p.parts[j] = p.parts[j], p.parts[i] })
		p.words += ", files in a random order"
	}
}

// csv is a file as a portal exports it, and what it covers from now on.
func (p *plant) csv(f part) string {
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw")
	if p.units[0].counted {
		b.WriteString(",energy_counter_kwh")
	}
	b.WriteString("\n")
	for _, s := range f.rows {
		u := p.units[s.unit]
		fmt.Fprintf(&b, "%s,%s,%s", p.at(s.minute).UTC().Format(time.RFC3339), u.id, strconv.FormatFloat(u.powerKW[s.minute], 'f', -1, 64))
		if u.counted {
			fmt.Fprintf(&b, ",%.4f", 1000+u.counterFactor()*sum(u.powerKW[:s.minute])/60)
		}
		b.WriteString("\n")
		for m := s.minute; m < min(s.minute+f.step, len(u.covered)); m++ {
			u.covered[m] = true
		}
		u.lastSeen = max(u.lastSeen, s.minute)
		if u.first < 0 || s.minute < u.first {
			u.first = s.minute
		}
	}
	return b.String()
}

func (u *unit) counterFactor() float64 {
	if u.factor == 0 {
		return 1
	}
	return u.factor
}

func sum(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}

// truth is the energy of a unit in a window, in kWh: of the minutes that its
// samples cover, and of those between two readings of its counter.
func (u *unit) truth(from, to int) (kwh float64) {
	for m := max(from, 0); m < min(to, len(u.powerKW)); m++ {
		if u.covered[m] || u.counted && u.first <= m && m < u.lastSeen {
			kwh += u.powerKW[m] / 60
		}
	}
	return kwh
}

// truth is that of all units.
func (p *plant) truth(from, to int) (kwh float64) {
	for _, u := range p.units {
		kwh += u.truth(from, to)
	}
	return kwh
}

// share is the part of the time of all units that samples cover.
func (p *plant) share(from, to int) float64 {
	n := 0
	for _, u := range p.units {
		for m := from; m < to; m++ {
			if u.covered[m] {
				n++
			}
		}
	}
	return float64(n) / float64((to-from)*len(p.units))
}
