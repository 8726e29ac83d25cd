package ingest

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"app.sunloop/engine/series"
)

// dayShape describes a column's values over the hours of the day.
type dayShape struct {
	values   int
	hours    int // of the day that have values
	highest  float64
	negative int     // values clearly below zero
	night    float64 // mean of the darkest four hours over the mean of the brightest four
	rises    int
	falls    int
	rests    int // successive values that are equal and not zero
}

// shapeOfDay examines a column by the hours of the file's wall clock. The
// darkest hours are found, not assumed, so that a wrong zone changes nothing.
func (t *table) shapeOfDay(c *column) dayShape {
	var s dayShape
	var sums [24]float64
	var counts [24]int
	lasts := make([]float64, max(1, len(t.names))) // by asset
	for i := range lasts {
		lasts[i] = math.NaN()
	}
	for i, v := range c.values {
		if math.IsNaN(v) || t.walls[i] == noWall {
			continue
		}
		asset := int32(0)
		if t.assets != nil {
			asset = t.assets[i]
		}
		last := lasts[asset]
		lasts[asset] = v
		h := (t.walls[i]%day + day) % day / hour
		sums[h] += v
		counts[h]++
		s.values++
		s.highest = math.Max(s.highest, v)
		switch {
		case v > last:
			s.rises++
		case v < last:
			s.falls++
		case v == last && v > 0:
			s.rests++
		}
	}
	if newestFirst(t.walls) {
		s.rises, s.falls = s.falls, s.rises
	}
	for _, v := range c.values {
		if v < -0.02*s.highest {
			s.negative++
		}
	}
	darkest, brightest := math.Inf(1), math.Inf(-1)
	const window = 4
	for from := range 24 {
		sum, n := 0.0, 0
		for k := range window {
			sum += sums[(from+k)%24]
			n += counts[(from+k)%24]
		}
		if n > 0 {
			darkest, brightest = math.Min(darkest, sum/float64(n)), math.Max(brightest, sum/float64(n))
		}
	}
	for _, n := range counts {
		if n > 0 {
			s.hours++
		}
	}
	s.night = darkest / brightest
	return s
}

// Bounds of what values of production show.
const (
	mostAtNight  = 0.02 // mean of the darkest hours over that of the brightest
	mostNegative = 0.05 // share of values below zero
)

// likeProduction reports whether values are zero for some hours of each day,
// and not negative except for self-consumption.
func (s dayShape) likeProduction() bool {
	return s.values > 0 && s.highest > 0 && s.night <= mostAtNight && float64(s.negative) <= mostNegative*float64(s.values)
}

// likeCounter reports whether values rarely fall, as those of a counter do except for
// glitches and daily resets.
func likeCounter(s dayShape) bool {
	return s.rises > 0 && s.falls <= max(3, s.rises/8) && s.falls < s.rises
}

// assignUnknown gives columns with unknown names the role that their values
// indicate, if no other column holds production. Columns that do not look like
// production are dropped.
func (t *table) assignUnknown(capacityKW float64, rep *report) {
	var keep, unknown []*column
	for _, c := range t.columns {
		if c.means.role == roleUnknown {
			unknown = append(unknown, c)
		} else {
			if c.means.bare && c.means.role == rolePower && likeCounter(t.shapeOfDay(c)) {
				c.means.role = roleEnergy
			}
			keep = append(keep, c)
		}
	}
	if len(unknown) == 0 {
		return
	}
	if slices.ContainsFunc(keep, func(c *column) bool { return mainRole(c.means.role) && c.count > 0 }) {
		t.columns = keep
		return
	}
	var assigned []*column
	devices := 0
	for _, c := range unknown {
		s := t.shapeOfDay(c)
		switch {
		case s.values < 4:
			continue
		case likeCounter(s):
			c.means.role = roleEnergy
			c.readings = c.readings && s.rests*5 > s.values // a row number is never constant
		case s.likeProduction():
			c.means.role, c.means.bare = rolePower, true
		default:
			continue
		}
		if c.device != "" {
			devices++
		}
		assigned = append(assigned, c)
	}
	if devices > 0 && devices < len(assigned) {
		assigned = slices.DeleteFunc(assigned, func(c *column) bool { return c.device == "" })
	}
	if devices == 0 && (len(assigned) > 1 || len(assigned) == 1 && !assigned[0].readings && (capacityKW <= 0 || t.likeIrradiance(assigned[0], keep))) {
		if len(assigned) == 1 && capacityKW <= 0 {
			t.doubted = assigned[0]
		}
		assigned = nil // more than one may be production, or it may be irradiance
	}
	for _, c := range assigned {
		if devices == 0 || c.device != "" {
			keep = append(keep, c)
			rep.warn("columns", "the name %s does not say what it holds; its values look like production", c.label())
		}
	}
	t.columns = keep
}

// likeIrradiance reports whether a column may be irradiance: its highest value is near that of a column that is irradiance by its name.
func (t *table) likeIrradiance(c *column, known []*column) bool {
	highest := t.shapeOfDay(c).highest
	for _, k := range known {
		if !isIrradiance(k) {
			continue
		}
		ratio := highest / t.shapeOfDay(k).highest
		for _, scale := range []float64{1, 1e-3} { // W/m², kW/m²
			if ratio > 0.5*scale && ratio < 2*scale {
				return true
			}
		}
	}
	return false
}

// dropLoads drops columns of power and interval energy that are not zero at
// night, if others are: they hold consumption, not production.
func (t *table) dropLoads(rep *report) {
	const (
		used     = 0.2 // mean of the darkest hours over that of the brightest
		wholeDay = 20  // hours of the day that have values
	)
	if !t.mayHoldLoads() {
		return
	}
	var dark, bright []*column
	for _, c := range t.columns {
		if c.means.role != rolePower && c.means.role != roleEnergy || c.fixed {
			continue
		}
		switch s := t.shapeOfDay(c); {
		case s.likeProduction(), likeCounter(s): // a counter is not a varying load
			dark = append(dark, c)
		case s.night > used && s.hours >= wholeDay && !likeCounter(s):
			bright = append(bright, c)
		}
	}
	if len(dark) == 0 {
		// A counter of production has priority, except over names that
		// denote production or AC power: a hybrid inverter delivers at
		// night as well.
		bright = slices.DeleteFunc(bright, func(c *column) bool {
			h := parseHeader(c.name)
			return h.unknown == 0 || h.any(cProduction|cAC|cPower)
		})
		for _, c := range t.columns {
			if c.count > 0 && (c.means.role == roleCounter || c.means.role == roleDaily) {
				dark = append(dark, c)
			}
		}
	}
	if len(dark) == 0 || len(bright) == 0 {
		return
	}
	for _, c := range bright {
		t.plan.ignore(c.index, "its values do not fall to zero at night, as those of other columns do")
		rep.decide("columns", "%s does not fall to zero at night, as other columns do: it is not production and is ignored", c.label())
	}
	t.columns = slices.DeleteFunc(t.columns, func(c *column) bool { return slices.Contains(bright, c) })
}

// mayHoldLoads reports whether one of several columns of power or energy has a
// name that does not clearly denote production. Most files have none, and their
// values need not be examined.
func (t *table) mayHoldLoads() bool {
	n, unclear := 0, false
	for _, c := range t.columns {
		if !mainRole(c.means.role) {
			continue
		}
		n++
		h := parseHeader(c.name)
		_, code := codes[strings.TrimRight(strings.Join(h.tokens, ""), "0123456789")]
		unclear = unclear || h.unknown > 0 && !code && !h.any(cProduction|cAC)
	}
	return n > 1 && unclear
}

// isIrradiance reports whether a column holds irradiance, so that other columns that are zero at night may be irradiance as well.
func isIrradiance(c *column) bool {
	return c.means.quantity == series.IrradianceWM2 || c.means.quantity == series.PredictedGHIWM2
}

// transposed converts a file whose times are columns into one whose times are rows; ok is false, and the text unchanged, for another file.
func transposed(text []byte, d dialect) (out []byte, ok bool) {
	const fewest, looked = 8, 20
	type record struct{ cells []string }
	var records []record
	header := -1
	r := newRecords(text, d.delim, d.offset, d.line)
	for r.next() {
		cells := make([]string, len(r.cells))
		for i, c := range r.cells {
			cells[i] = string(c)
		}
		records = append(records, record{cells})
		if header < 0 && (timesAsColumns(cells) >= fewest || daysAsColumns(cells)) {
			header = len(records) - 1
		}
		if header < 0 && len(records) == looked {
			return text, false
		}
	}
	if header < 0 || header+1 == len(records) {
		return text, false
	}
	names := len(records[header].cells) - timesAsColumns(records[header].cells)
	if names < 1 || names > 4 {
		return text, false
	}
	if len(records[header].cells)-names < fewest && !clocksBelow(records[header+1:], func(r record) []string { return r.cells }) {
		return text, false
	}
	var b bytes.Buffer
	write := func(cells []string) {
		for i, c := range cells {
			if i > 0 {
				b.WriteByte(d.delim)
			}
			if strings.IndexByte(c, d.delim) >= 0 || strings.ContainsAny(c, "\"\r\n") {
				c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
			}
			b.WriteString(c)
		}
		b.WriteByte('\n')
	}
	for _, rec := range records[:header] {
		write(rec.cells)
	}
	var rows []record
	for _, rec := range records[header+1:] {
		if len(rec.cells) > names {
			rows = append(rows, rec)
		}
	}
	line := []string{"Time"}
	for _, rec := range rows {
		line = append(line, strings.TrimSpace(strings.Join(rec.cells[:names], " ")))
	}
	write(line)
	for c := names; c < len(records[header].cells); c++ {
		line = append(line[:0], records[header].cells[c])
		for _, rec := range rows {
			cell := ""
			if c < len(rec.cells) {
				cell = rec.cells[c]
			}
			line = append(line, cell)
		}
		write(line)
	}
	return b.Bytes(), true
}

// timesAsColumns returns how many cells at the end of a record are rising times of one form.
func timesAsColumns(cells []string) int {
	n := 0
	form := formNone
	for i := len(cells) - 1; i >= 0; i-- {
		f := formOf(cells[i])
		if f == formNone || form != formNone && f != form {
			break
		}
		form = f
		n++
	}
	if form == formCompact || form == formSerial || form == formEpoch {
		// Bare numbers are times only if they rise.
		for i := len(cells) - n + 1; i < len(cells); i++ {
			if len(cells[i]) < len(cells[i-1]) || len(cells[i]) == len(cells[i-1]) && cells[i] <= cells[i-1] {
				return 0
			}
		}
	}
	return n
}

// daysAsColumns reports whether all cells of a record except the first are days, as above a table with a row for each time of day.
func daysAsColumns(cells []string) bool {
	for len(cells) > 1 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) < 2 || formOf(cells[0]) != formNone {
		return false
	}
	for _, c := range cells[1:] {
		s, ok := parseStamp([]byte(c))
		if !ok || s.hasClock || formOf(c) != formCalendar {
			return false
		}
	}
	return true
}

// clocksBelow reports whether nearly all records begin with a time of day.
func clocksBelow[R any](records []R, cells func(R) []string) bool {
	const fewest, share = 12, 0.9
	n, clocks := 0, 0
	for _, r := range records {
		c := cells(r)
		if len(c) < 2 {
			continue
		}
		n++
		if _, _, ok := parseClock([]byte(c[0])); ok {
			clocks++
		}
	}
	return clocks >= fewest && float64(clocks) >= share*float64(n)
}
