package ingest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// column is one column of the file that is read, and its values.
type column struct {
	index  int
	title  string // as the header has it
	name   string // without its unit
	unit   unit
	means  meaning
	device string // the asset it belongs to in a wide file; "" all of them
	slot   int    // start of the hour in seconds, in a file with a column for each hour

	style      numberStyle
	values     []float64 // one for each row, in base units
	units      []string  // units written in the cells, in order of appearance
	count      int       // usable values
	unread     int       // cells with digits that are no number that can be read
	sentinels  int
	mark       byte   // before three digits, of eitherMark
	readings   bool   // its name denotes the readings of a meter, but not the quantity
	parts      bool   // it is the sum of other columns of its unit
	fixed      bool   // a mapping states its role
	inferred   string // name of the unit that is not written and was inferred
	eitherMark bool   // its mark before three digits may be a decimal mark or one between thousands
}

// plan describes how the records below the header are read.
type plan struct {
	head    head
	timed   []sampled // sampled records below the header that have a time
	columns []*column
	time    timePlan
	keys    keys
	given   bool // keys were found by their values, or are those of a mapping
	hours   []*column

	maker    string
	asset    string // named in the preamble
	context  header // of a title, for columns that name no quantity
	zone     *time.Location
	zoneFrom string
	order    dateOrder
	ordered  bool // the header's pattern decides the order
	cells    int  // cells of the header

	mapped     bool               // a mapping was applied
	shortNames bool               // the names of units are without words for power or energy
	mappedUnit unit               // that it states; dimNone if none
	decimal    byte               // mark that it states; 0 if none
	fixed      map[string]meaning // of the quantities of a long file that it names
	described  []*column          // all columns with a meaning, also those that are dropped later
	left       []leftOut          // columns whose names denote something else than production of this plant
	ignored    map[int]string     // why columns were dropped, by index
}

// ignore records why a column is not used.
func (p *plan) ignore(c int, why string) {
	if p.ignored == nil {
		p.ignored = map[int]string{}
	}
	if p.ignored[c] == "" {
		p.ignored[c] = why
	}
}

// timePlan states in which columns the time is.
type timePlan struct {
	form   timeForm
	column int
	clock  int    // time of day, -1 none
	hour   int    // number of the hour, -1 none
	parts  [3]int // year, month, day of formParts
	minute int    // of formParts, -1 none
	offset int    // column that holds the offset from UTC, -1 none
	slot   daySlot

	now     stamp  // of the record last read
	dayText string // the date last read, and what it means
	day     stamp
}

// makePlan gives every column its meaning. The keys are found by the names of their columns unless given is set. What the mapping states has
// priority.
func makePlan(h head, maker string, given *keys, m Mapping) (*plan, error) {
	p := &plan{head: h, keys: noKeys, maker: maker}
	if given != nil {
		p.keys, p.given = *given, true
	}
	p.time = timePlan{form: h.form, column: h.column, clock: -1, hour: -1, minute: -1, offset: -1, slot: daySlot{column: -1}}
	for _, s := range h.stack {
		p.cells = max(p.cells, len(s.cells))
	}
	p.readPreamble()
	p.readTimeHeader()
	if err := p.applyTime(m); err != nil {
		return nil, err
	}
	p.applySettings(m)
	if mark := m.value(MapDecimal); mark != "" {
		p.decimal = mark[0]
	}
	taken := map[int]bool{p.time.column: true}
	if p.time.clock >= 0 {
		taken[p.time.clock] = true
	} else {
		p.findClock(taken)
	}
	p.findOffset(taken)
	if !m.fixesKeys() {
		p.findHours(taken)
	}
	for c := range p.cells {
		if !taken[c] && !p.readsAsTime(c) {
			if col := p.describe(c); col != nil {
				p.columns = append(p.columns, col)
			}
		}
	}
	p.described = slices.Clone(p.columns)
	if len(m.Entries) > 0 {
		p.applyColumns(m)
		if m.fixesKeys() {
			p.keys, p.given = p.keysOf(m), true
		}
		p.described = append(p.described, slices.DeleteFunc(slices.Clone(p.columns), func(col *column) bool { return slices.Contains(p.described, col) })...)
	}
	p.findKeys()
	if p.keys.measure >= 0 {
		p.findValue()
	}
	p.dropOthers()
	if p.keys.measure >= 0 || p.find(rolePower, roleEnergy, roleCounter, roleDaily) != nil {
		p.columns = slices.DeleteFunc(p.columns, func(col *column) bool { return col.means.role == roleUnknown })
	}
	if m.produces() && p.keys.measure < 0 { // the mapping names the units
		for _, col := range p.columns {
			if !col.fixed {
				col.device = ""
			}
		}
	} else {
		p.splitDevices()
	}
	p.applyUnit(m)
	return p, nil
}

// findValue ensures that a long file has a column of values: if no name denotes
// it, the one with the most numbers.
func (p *plan) findValue() {
	if p.find(roleValue, rolePower, roleEnergy) != nil {
		return
	}
	best, most := -1, 0.5
	for c := range p.cells {
		if slices.Contains(p.timeColumns(), c) || slices.Contains([]int{p.keys.asset, p.keys.second, p.keys.measure, p.keys.unit}, c) || p.readsAsTime(c) {
			continue
		}
		if share := p.share(c, isNumber); share > most {
			best, most = c, share
		}
	}
	if best >= 0 {
		p.columns = slices.DeleteFunc(p.columns, func(col *column) bool { return col.index == best })
		p.columns = append(p.columns, &column{index: best, title: p.title(best), name: p.title(best), means: meaning{role: roleValue}, style: plainStyle})
	}
}

// isNumber reports whether a cell holds a number with any marks, with or without a unit of power or energy.
func isNumber(cell string) bool {
	for _, style := range []numberStyle{{'.', ','}, {',', '.'}} {
		_, rest, ok := parseNumber([]byte(cell), style)
		if rest = withoutFlag(rest); ok && len(rest) == 0 {
			return true
		}
		if u, isUnit := parseUnit(string(rest)); ok && isUnit && (u.dim == dimPower || u.dim == dimEnergy) {
			return true
		}
	}
	return false
}

// readPreamble takes unit, quantity, zone and identity from above the header.
func (p *plan) readPreamble() {
	for _, kv := range p.head.pairs() {
		key, value := parseHeader(kv.key), parseHeader(kv.value)
		switch {
		case kv.key == "":
			// The title nearest to the header has priority, unless only another one names a unit.
			if meaningOf(value).role != roleNone && (p.context.unit.dim == dimNone || value.unit.dim != dimNone) {
				p.context = value
			}
		case key.any(cUnit):
			if u, ok := parseUnit(kv.value); ok {
				p.context.unit = u
			}
		case key.any(cSerial|cSite) && identifier.MatchString(kv.value) && p.asset == "":
			p.asset = kv.value
		}
		if low := fold(kv.key); strings.Contains(low, "zone") || strings.Contains(low, "fuseau") || strings.Contains(low, "fuso") || strings.Contains(low, "huso") {
			if loc := zoneNamedIn(kv.value); loc != nil {
				p.zone, p.zoneFrom = loc, kv.key+" "+kv.value
			}
		}
	}
}

// identifier is a serial or meter number, as opposed to a word.
var identifier = regexp.MustCompile(`^[A-Za-z0-9._-]*\d{5,}[A-Za-z0-9._-]*$`)

// readTimeHeader finds a date pattern and a zone above the time column.
func (p *plan) readTimeHeader() {
	for _, s := range p.head.stack {
		text := s.cell(p.head.column)
		if order, ok := patternOrder(text); ok {
			p.order, p.ordered = order, true
		}
		if loc := zoneNamedIn(text); loc != nil {
			p.zone, p.zoneFrom = loc, text
		}
		if strings.Contains(fold(text), "utc") && p.zone == nil { // "utc_time"
			p.zone, p.zoneFrom = time.UTC, text
		}
	}
}

// data calls f with the cells of column c in the sampled records that have a
// time.
func (p *plan) data(c int, f func(cell string)) {
	if p.timed == nil {
		for _, s := range p.head.sample[p.head.first:] {
			if p.time.form == formParts || formOf(s.cell(p.time.column)) != formNone {
				p.timed = append(p.timed, s)
			}
		}
	}
	for _, s := range p.timed {
		f(s.cell(c))
	}
}

// share returns the part of the filled cells of column c for which ok holds.
func (p *plan) share(c int, ok func(cell string) bool) float64 {
	n, good := 0, 0
	p.data(c, func(cell string) {
		if cell == "" {
			return
		}
		n++
		if ok(cell) {
			good++
		}
	})
	if n == 0 {
		return 0
	}
	return float64(good) / float64(n)
}

func (p *plan) readsAsTime(c int) bool {
	return p.share(c, func(cell string) bool { return formOf(cell) == formCalendar }) > 0.5
}

// title returns the lowest header text of a column that is not a mere unit.
func (p *plan) title(c int) string {
	for i := len(p.head.stack) - 1; i >= 0; i-- {
		text := p.head.stack[i].cell(c)
		if _, unit := parseUnit(text); text != "" && !unit {
			return text
		}
	}
	return ""
}

// findClock finds the column of the time of day that belongs to a date column.
func (p *plan) findClock(taken map[int]bool) {
	if p.time.form == formParts {
		p.findParts(taken)
		return
	}
	clockless := p.share(p.time.column, func(cell string) bool {
		s, ok := parseStamp([]byte(cell))
		return ok && !s.hasClock
	})
	if clockless < 0.9 || p.time.form == formEpoch || p.time.form == formSerial {
		return
	}
	for c := range p.cells {
		if taken[c] || p.time.clock >= 0 || parseHeader(p.title(c)).unit.dim != dimNone {
			continue
		}
		named := parseHeader(p.title(c)).any(cTime | cStart)
		clock := p.share(c, func(cell string) bool {
			_, _, ok := parseClock([]byte(cell))
			return ok && (named || strings.Contains(cell, ":"))
		})
		if clock > 0.8 {
			p.time.clock, taken[c] = c, true
			continue
		}
		if named && p.time.hour < 0 && p.share(c, isHour) > 0.9 {
			p.time.hour, taken[c] = c, true
		}
	}
	if p.time.clock >= 0 && p.time.hour >= 0 {
		taken[p.time.hour] = false
		p.time.hour = -1
	}
	if p.time.clock < 0 {
		p.findMinutes(taken)
	}
}

// findOffset finds a column with the offset from UTC of times that carry none.
func (p *plan) findOffset(taken map[int]bool) {
	if p.time.form != formCalendar && p.time.form != formCompact || p.zone == time.UTC {
		return
	}
	zoned := p.share(p.time.column, func(cell string) bool {
		s, ok := parseStamp([]byte(cell))
		return ok && (s.zone.known || s.zone.abbr != "")
	})
	if zoned > 0.5 {
		return
	}
	for c := range p.cells {
		named := strings.Contains(fold(p.title(c)), "offset")
		if !taken[c] && p.share(c, func(cell string) bool { return isOffset(cell) || named && isHourOffset(cell) }) > 0.95 {
			p.time.offset, taken[c] = c, true
			return
		}
	}
}

// isHoursMinutes reports whether a cell is a time of day as one number, "1430" and "5" for 14:30 and 0:05.
func isHoursMinutes(cell string) bool {
	n, err := strconv.Atoi(cell)
	return err == nil && n >= 0 && n <= 2400 && n%100 < 60
}

// reaches reports whether a cell of column c holds at least a number.
func (p *plan) reaches(c, least int) bool {
	found := false
	p.data(c, func(cell string) {
		n, err := strconv.Atoi(cell)
		found = found || err == nil && n >= least
	})
	return found
}

func isHour(cell string) bool {
	n, err := strconv.Atoi(cell)
	return err == nil && n >= 0 && n <= 25
}

func (p *plan) findParts(taken map[int]bool) {
	line := p.head.stack[len(p.head.stack)-1]
	for _, s := range p.head.stack {
		if parts, ok := partColumns(s.cells); ok {
			line, p.time.parts = s, parts
		}
	}
	for _, c := range p.time.parts {
		taken[c] = true
	}
	for c := range line.cells {
		if p.time.clock < 0 && !taken[c] && p.share(c, isHoursMinutes) > 0.95 && p.reaches(c, 100) {
			p.time.clock, taken[c] = c, true
		}
	}
	if p.time.clock >= 0 {
		return
	}
	for c, cell := range line.cells {
		switch fold(cell) {
		case "hour", "hh", "stunde", "heure", "ora", "hora", "uur", "时":
			p.time.hour, taken[c] = c, true
		case "minute", "min", "minuto", "分":
			p.time.minute, taken[c] = c, true
		}
	}
}

// hourNumber is a column name that is the number of an hour: "7", "H07".
var hourNumber = regexp.MustCompile(`(?i)^(?:h|hr|hour|he|ora|hora|heure|stunde|uur)?\.?[ _]?(\d{1,2})$`)

// findHours recognises a file with one record for each day and one column for
// each hour or quarter of an hour.
func (p *plan) findHours(taken map[int]bool) {
	const fewest = 12
	if p.time.clock >= 0 || p.time.hour >= 0 {
		return
	}
	line := p.head.stack[len(p.head.stack)-1]
	var found []*column
	lowest, number := 99, false
	for c, cell := range line.cells {
		if taken[c] || cell == "" {
			continue
		}
		if sec, _, ok := parseClock([]byte(cell)); ok {
			found = append(found, &column{index: c, title: cell, slot: sec})
		} else if m := hourNumber.FindStringSubmatch(cell); m != nil {
			n, _ := strconv.Atoi(m[1])
			lowest, number = min(lowest, n), true
			found = append(found, &column{index: c, title: cell, slot: n * hour})
		}
	}
	if len(found) < fewest {
		return
	}
	for _, col := range found {
		if number && lowest == 1 {
			col.slot -= hour // hour 1 starts at midnight
		}
		taken[col.index] = true
	}
	p.hours = found
	values := &column{index: -1, title: p.context.name, name: p.context.name, unit: p.context.unit, means: meaningOf(p.context), style: plainStyle}
	if values.means.role == roleNone || values.means.role == roleValue {
		values.means = meaning{role: roleEnergy, bare: values.unit.dim == dimNone} // meters' tables hold energy
		if values.unit.dim == dimPower {
			values.means.role = rolePower
		}
	}
	values.means.bare = values.means.bare || p.vague()
	p.columns = append(p.columns, values)
}

// describe gives column c its meaning from all of its header lines. It returns nil
// for a column that is not used.
func (p *plan) describe(c int) *column {
	col := &column{index: c, style: plainStyle}
	unitLine, letters := false, false
	for _, s := range p.head.stack {
		text := s.cell(c)
		if text == "" {
			continue
		}
		if u, ok := parseUnit(text); ok && !p.lettered(s, c) && (col.title != "" || len(p.head.stack) > 1) {
			col.unit = u
			unitLine = col.title != "" || col.device != ""
			continue
		}
		h := parseHeader(text)
		if p.lettered(s, c) {
			h, letters = parseLettered(text), true
		}
		serial, isSerial := strings.CutPrefix(text, "SN: ")
		switch {
		case isSerial:
			col.device = serial
		case identifier.MatchString(text) && h.unit.dim == dimNone:
			col.device = text
		case identifier.MatchString(h.name):
			col.device, col.unit = h.name, h.unit
		case len(p.head.stack) > 1 && h.has&^(cDevice|cCabinet|cSite|cCount) == 0 && h.unit.dim == dimNone && !h.any(cLifetime) && meaningOf(h).role == roleNone && !h.names():
			if col.device == "" && col.title == "" { // "Analog" or "Mean" below a name is not a unit
				col.device = text
			}
		default:
			if col.title != "" {
				col.title += " "
			}
			col.title += text
			if h.unit.dim != dimNone {
				col.unit = h.unit
			}
		}
	}
	if name, device, ok := strings.Cut(col.title, " | "); ok { // "Energie | Symo 8.2-3-M (1)"
		col.title, col.device = name, device
	}
	h := parseHeader(col.title)
	if letters {
		h = parseLettered(col.title)
	}
	if h.unit.dim == dimNone {
		h.unit = col.unit
	}
	if unitLine {
		h.name, h.unit = col.title, col.unit // "Array W" above "kWh" holds no watts
	}
	var known bool
	col.name, col.unit = h.name, h.unit
	col.means, known = ruled(h)
	if !known && !h.any(cTime|cDate|cStart|cEnd|cCount) && !(h.any(cSerial|cSite) && h.names()) && p.measures(c) {
		// The name is unknown: a title may give the meaning, or the
		// values.
		col.means = meaning{role: roleUnknown}
		col.readings = h.any(cLifetime)
		p.borrowContext(col)
		return col
	}
	if col.means.role == roleValue || col.title == "" && len(p.head.stack) > 0 && h.unit.dim != dimNone {
		p.borrowContext(col)
	}
	if col.means.role == roleNone && !h.any(cSerial|cDevice|cSite|cMeasure|cUnit) {
		return nil
	}
	return col
}

// lettered reports whether cell c of a header line has a single letter and
// another cell of the line differs from it in that letter only, so that the
// letter identifies units and is no unit of measure: "Roof V", "Roof W".
func (p *plan) lettered(s sampled, c int) bool {
	name, ok := withoutLetter(s.cell(c))
	if !ok {
		return false
	}
	for i := range s.cells {
		if other, ok := withoutLetter(s.cell(i)); ok && i != c && other == name && s.cell(i) != s.cell(c) {
			return true
		}
	}
	return false
}

// withoutLetter returns a name without the last single letter that is a word of it.
func withoutLetter(name string) (rest string, ok bool) {
	words := rawTokens(name)
	for i := len(words) - 1; i > 0; i-- {
		w := words[i]
		if len(w.text) == 1 && w.text[0] >= 'A' && w.text[0] <= 'Z' && !strings.ContainsRune("([{", rune(name[w.at-1])) {
			return strings.TrimRight(name[:w.at], " -_") + name[w.at+1:], true
		}
	}
	return name, false
}

// parseLettered parses a name in which one letter is neither a unit nor a word.
func parseLettered(name string) header {
	rest, _ := withoutLetter(name)
	h := parseHeader(rest)
	h.name = name
	if h.unit.dim != dimNone {
		h.name, _, _ = splitUnit(name)
	}
	h.tokens = tokensOf(h.name)
	return h
}

// names reports whether the header is that of a column of names, such as "Device"
// or "Serial no.", and not itself a name, such as "Inverter 2".
func (h header) names() bool {
	return h.unknown == 0 && h.any(cSerial|cDevice|cSite) && !strings.ContainsAny(h.name, "0123456789")
}

// measures reports whether the cells of column c look like measurements:
// numbers that differ, and have decimals or four digits or many values.
func (p *plan) measures(c int) bool {
	seen, n, long := map[string]bool{}, 0, 0
	p.data(c, func(cell string) {
		if cell == "" {
			return
		}
		n++
		seen[cell] = true
		if strings.ContainsAny(cell, ".,") || len(cell) > 3 {
			long++
		}
	})
	if mainRole(meaningOf(p.context).role) && p.share(c, isNumber) > 0.6 {
		return true // a night has zeros only
	}
	return len(seen) > 1 && p.share(c, isNumber) > 0.6 && (long*2 > n || len(seen)*5 > n)
}

// borrowContext completes the meaning of a column that is only called "Value" from the title.
func (p *plan) borrowContext(col *column) {
	if col.unit.dim == dimNone {
		col.unit = p.context.unit
	}
	h := header{name: p.context.name, unit: col.unit, has: p.context.has, tokens: p.context.tokens}
	if m := meaningOf(h); m.role != roleNone && m.role != roleValue {
		m.bare = p.vague()
		m.rank -= len(rules) // prefer a column whose own name states its meaning
		col.means = m
	}
}

// vague reports whether the title above the header names production without a unit, as "Production report" does, so that the values may be power or energy.
func (p *plan) vague() bool {
	return p.context.unit.dim == dimNone && p.context.any(cProduction) && !p.context.any(cLifetime|cDaily)
}

// findKeys picks the columns that name a row's asset, quantity and unit.
func (p *plan) findKeys() {
	if p.given {
		p.columns = slices.DeleteFunc(p.columns, func(col *column) bool {
			return col.means.role == roleNone && col.index >= 0 || slices.Contains([]int{p.keys.asset, p.keys.second, p.keys.measure, p.keys.unit}, col.index)
		})
		if p.keys.measure < 0 {
			p.columns = named(p.columns)
		}
		return
	}
	var keep []*column
	best := -1
	for _, col := range p.columns {
		h := parseHeader(col.title)
		if col.means.role == roleValue && p.keys.measure < 0 && p.share(col.index, isNumber) < 0.2 && p.names(col.index) {
			p.keys.measure = col.index
			continue
		}
		if col.means.role != roleNone || col.index < 0 {
			keep = append(keep, col)
			continue
		}
		if h.unit.dim != dimNone || h.any(noKey) {
			continue
		}
		switch {
		case h.any(cMeasure) && p.keys.measure < 0 && !h.any(cSerial|cDevice) && p.names(col.index):
			p.keys.measure = col.index
		case h.any(cUnit) && p.share(col.index, isUnit) > 0.8:
			p.keys.unit = col.index
		case h.any(cSerial | cDevice | cSite):
			if rank := p.keyRank(col.index, h); best < rank {
				best, p.keys.asset = rank, col.index
			}
		}
	}
	p.columns = keep
	p.findMeasure()
	if p.keys.measure < 0 {
		p.columns = named(p.columns)
	}
}

// findMeasure finds the column that names each row's quantity by its cells, where the values themselves have no name.
func (p *plan) findMeasure() {
	if p.keys.measure >= 0 || p.find(rolePower, roleEnergy, roleCounter, roleDaily, roleFeedIn) != nil {
		return
	}
	repeats := p.repeatsTimes()
	quantity := func(cell string) bool {
		h := parseHeader(cell)
		if !repeats { // there is one quantity only, or the words are those of a state
			return h.unit.dim != dimNone && mainRole(meaningOf(h).role)
		}
		return h.unit.dim != dimNone && h.name != "" || len(cell) > 2 && mainRole(meaningOf(h).role)
	}
	for c := range p.cells {
		if c == p.keys.asset || c == p.keys.unit || slices.Contains(p.timeColumns(), c) || p.share(c, isNumber) > 0.2 || p.share(c, quantity) < 0.3 {
			continue
		}
		p.keys.measure = c
		p.columns = slices.DeleteFunc(p.columns, func(col *column) bool { return col.index == c })
		return
	}
}

// repeatsTimes reports whether several rows have the same time, as those of a long file do.
func (p *plan) repeatsTimes() bool {
	const share = 0.8
	seen, n := map[string]bool{}, 0
	columns := p.timeColumns()
	p.data(p.time.column, func(string) {})
	for _, s := range p.timed {
		var key strings.Builder
		for _, c := range columns {
			key.WriteString(s.cell(c))
			key.WriteByte(0)
		}
		seen[key.String()] = true
		n++
	}
	return float64(len(seen)) < share*float64(n)
}

// noKey are words of columns that measure something and so name nothing.
const noKey = cPower | cEnergy | cConsumption | cGrid | cBattery | cAC | cDC | cVoltage | cCurrent | cTemperature | cIrradiance | cWind | cDirection |
	cEfficiency | cStatus | cError | cRating | cDuration | cSpecific | cMoney | cPartial

// names reports whether the cells of column c name quantities.
func (p *plan) names(c int) bool {
	return p.share(c, func(cell string) bool { return meaningOf(parseHeader(cell)).role != roleNone }) > 0.2
}

func isUnit(cell string) bool { _, ok := parseUnit(cell); return ok }

// keyRank ranks a key column: one that distinguishes several assets before one
// that does not, then a serial number before a device, a device before a site.
func (p *plan) keyRank(c int, h header) int {
	seen := map[string]bool{}
	p.data(c, func(cell string) { seen[cell] = true })
	rank := 0
	if namesTypes(h.tokens) { // several devices may be of one type
		return rank
	}
	switch {
	case h.any(cSerial):
		rank = 3
	case h.any(cDevice):
		rank = 2
	case h.any(cSite):
		rank = 1
	}
	if len(seen) > 1 && !h.any(cSite) {
		rank += 3
	}
	return rank
}

// named drops columns named only "value" if another column has a meaningful
// name.
func named(columns []*column) []*column {
	any := false
	for _, col := range columns {
		any = any || col.means.role == rolePower || col.means.role == roleEnergy || col.means.role == roleCounter || col.means.role == roleDaily
	}
	var out []*column
	for _, col := range columns {
		if col.means.role == roleValue {
			if any {
				continue
			}
			col.means.role, col.means.bare = rolePower, col.unit.dim == dimNone
			if col.unit.dim == dimEnergy {
				col.means.role = roleEnergy
			}
		}
		out = append(out, col)
	}
	return out
}

// find returns the first column of the roles, for messages.
func (p *plan) find(roles ...role) *column {
	for _, r := range roles {
		for _, col := range p.columns {
			if col.means.role == r {
				return col
			}
		}
	}
	return nil
}

func (c *column) label() string {
	switch {
	case c.title != "" && c.device != "" && !strings.Contains(c.title, c.device):
		return fmt.Sprintf("%q of %s", c.title, c.device)
	case c.title != "":
		return strconv.Quote(c.title)
	case c.unit.name != "":
		return strconv.Quote(c.unit.name)
	}
	return "column " + strconv.Itoa(c.index+1)
}
