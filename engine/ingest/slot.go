package ingest

import (
	"math"
	"slices"
	"strconv"
)

// daySlot is a column that counts the time of day of a date in another column: its seconds, its minutes or its intervals.
type daySlot struct {
	column  int     // -1 none
	seconds float64 // of one
	first   float64 // number of the one that begins at midnight
}

// slotWords name columns that count the intervals of a day.
var slotWords = []string{"slot", "interval", "period", "quarter", "block", "step", "index", "hour", "hours", "time", "sp", "zeitscheibe", "viertelstunde", "stunde", "periodo", "periode", "hora", "heure", "ora"}

// findMinutes finds the minute next to a column of the hour, or a column that counts the time of a day.
func (p *plan) findMinutes(taken map[int]bool) {
	p.time.slot.column = -1
	for c := range p.cells {
		if taken[c] {
			continue
		}
		tokens := tokensOf(p.title(c))
		if p.time.hour >= 0 {
			if slices.ContainsFunc(tokens, func(t string) bool { return slices.Contains(minuteWords, t) }) && p.share(c, isMinute) > 0.95 {
				p.time.minute, taken[c] = c, true
				return
			}
			continue
		}
		if slot, ok := p.slotOf(c, tokens); ok {
			p.time.slot, taken[c] = slot, true
			return
		}
	}
}

var (
	minuteWords = []string{"minute", "minutes", "min", "minuten", "minuto", "minutos", "minuti", "分"}
	secondWords = []string{"second", "seconds", "sec", "secs", "sekunde", "sekunden", "seconde", "secondes", "segundos", "secondi", "秒"}
)

func isMinute(cell string) bool {
	n, err := strconv.Atoi(cell)
	return err == nil && n >= 0 && n < 60
}

// slotOf reports whether the numbers of column c have even steps, and are those of a whole day or named as parts of one.
func (p *plan) slotOf(c int, tokens []string) (daySlot, bool) {
	const fewest = 12
	none := daySlot{column: -1}
	if p.share(c, isNumber) < 0.99 {
		return none, false
	}
	var values []float64
	p.data(c, func(cell string) {
		if v, _, ok := parseNumber([]byte(cell), plainStyle); ok {
			values = append(values, v)
		}
	})
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	if len(values) < fewest {
		return none, false
	}
	low, step := values[0], values[1]-values[0]
	near := func(a, b float64) bool { return math.Abs(a-b) < 0.01*step }
	if low < 0 || !near(low, 0) && !near(low, step) {
		return none, false
	}
	for i, v := range values {
		if math.Abs(v-low-float64(i)*step) > 0.01*step {
			return none, false
		}
	}
	whole := float64(len(values)) * step
	named := func(words []string) bool {
		return slices.ContainsFunc(tokens, func(t string) bool { return slices.Contains(words, t) })
	}
	slot := daySlot{column: c}
	switch {
	case near(whole, day) || named(secondWords) && whole <= day:
		slot.seconds = 1
	case near(whole, day/minute) && step > 1 || named(minuteWords) && whole <= day/minute:
		slot.seconds = minute
	case near(whole, 1):
		slot.seconds = day
	case near(whole, 24) && step < 1 && named(slotWords):
		slot.seconds = hour
	case near(step, 1) && named(slotWords) && slices.Contains([]int{24, 48, 96, 144, 288}, len(values)):
		slot.seconds, slot.first = day/whole, low
	default:
		return none, false
	}
	return slot, true
}

// read returns the second of the day of a cell.
func (s daySlot) read(cell []byte) (sec int, ok bool) {
	v, rest, ok := parseNumber(cell, plainStyle)
	at := math.Round((v - s.first) * s.seconds)
	if !ok || len(rest) > 0 || at < 0 || at > day+hour {
		return 0, false
	}
	return int(at), true
}
