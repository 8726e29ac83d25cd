package simulate

import (
	"math"
	"time"
)

// entry is what one fault did on one day.
type entry struct {
	fault   int     // index in the site's list
	lostKWh float64 // not made because of it, everything else being as it was
	fullKWh float64 // what would have been made without it in the cells in which it cost something
	shown   float64 // kWh by which it shows: the loss, or what was made while the data were wrong
	hours   float64 // unit hours of daylight in which it showed
	at      int64   // when what shows reached the onset share on this day alone; 0 if it did not
	last    int64   // end of the last cell in which it showed
}

// onsetShare of the energy of a usual day, four hours at the rating, is what a
// fault must show to have begun.
const onsetShare = 0.01

// book collects the entries of a day.
type book struct {
	faults []Fault
	startS int64
	today  []int // faults that overlap the day
	rows   map[int]*entry
	full   map[int]float64 // rating of all units of a fault, kW
}

func newBook(faults []Fault, units []Unit, start, end time.Time) *book {
	b := &book{faults: faults, startS: start.Unix()}
	for k := range faults {
		if faults[k].Overlaps(start, end) {
			b.today = append(b.today, k)
		}
	}
	if len(b.today) > 0 {
		b.rows, b.full = map[int]*entry{}, map[int]float64{}
	}
	for _, k := range b.today {
		for i := range units {
			if faults[k].Concerns(units[i].AssetID) {
				b.full[k] += units[i].CapacityKW
			}
		}
	}
	return b
}

func (b *book) row(fault int) *entry {
	e := b.rows[fault]
	if e == nil {
		e = &entry{fault: fault}
		b.rows[fault] = e
	}
	return e
}

// lost books a cell of one unit with and without a fault, in mean kW.
func (b *book) lost(fault int, rating float64, cell int, without, with float64) {
	d := (without - with) * cellHours
	if math.Abs(d) < 1e-6*rating {
		return
	}
	e := b.row(fault)
	e.lostKWh += d
	e.fullKWh += without * cellHours
	e.show(b.startS, b.full[fault], cell, math.Abs(d))
}

// hidden accounts for the production of a unit while its data showed something
// else.
func (b *book) hidden(u *Unit, c curve, startS int64) {
	for _, k := range b.today {
		f := &b.faults[k]
		if !dataOnly[f.Kind] || !f.Concerns(u.AssetID) {
			continue
		}
		held := 0.0
		if i := (f.From.Unix() - startS) / cellS; i > 0 && i < int64(len(c.left)) {
			held = c.right[i-1]
		}
		for i := range c.left {
			if t := startS + int64(i)*cellS; t < f.From.Unix() || !f.To.IsZero() && t >= f.To.Unix() {
				continue
			}
			if made := (c.left[i] + c.right[i]) / 2 * cellHours; made > 0.02*u.CapacityKW*cellHours {
				if f.Kind == StuckSensor && f.From.Unix() >= startS && math.Abs((c.left[i]+c.right[i])/2-held) < 0.02*u.CapacityKW {
					continue // it reads what is true
				}
				b.row(k).show(startS, b.full[k], i, made)
			}
		}
	}
}

func (e *entry) show(startS int64, rating float64, cell int, kWh float64) {
	e.shown += kWh
	e.hours += cellHours
	end := startS + int64(cell+1)*cellS
	if e.at == 0 && e.shown >= onsetShare*4*rating {
		e.at = end - cellS
	}
	e.last = max(e.last, end)
}

func (b *book) entries() []entry {
	var out []entry
	for _, k := range b.today {
		if e := b.rows[k]; e != nil {
			out = append(out, *e)
		}
	}
	return out
}
