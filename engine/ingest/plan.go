package ingest

import (
	"fmt"
	"regexp"
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

	style     numberStyle
	values    []float64 // one for each row, in base units
	units     []string  // units written in the cells, in order of appearance
	count     int       // usable values
	sentinels int
}

// plan says how the records below the header are to be read.
type plan struct {
	head    head
	timed   []sampled // sampled records below the header that have a time
	columns []*column
	time    timePlan
	id      int // column that names the row's asset, -1 none
	measure int // column that names the row's quantity, -1 none
	unitAt  int // column that names the row's unit, -1 none
	hours   []*column

	maker    string
	asset    string // named in the preamble
	context  header // of a title, for columns that name no quantity
	zone     *time.Location
	zoneFrom string
	order    dateOrder
	ordered  bool // the header's pattern decides the order
	cells    int  // cells of the header
}

// timePlan says in which columns the time is.
type timePlan struct {
	form   timeForm
	column int
	clock  int    // time of day, -1 none
	hour   int    // number of the hour, -1 none
	parts  [3]int // year, month, day of formParts
	minute int    // of formParts, -1 none

	now     stamp  // of the record last read
	dayText string // the date last read, and what it means
	day     stamp
}

// makePlan gives every column its meaning.
func makePlan(h head, maker string) (*plan, error) {
	p := &plan{head: h, id: -1, measure: -1, unitAt: -1, maker: maker}
	p.time = timePlan{form: h.form, column: h.column, clock: -1, hour: -1, minute: -1}
	for _, s := range h.stack {
		p.cells = max(p.cells, len(s.cells))
	}
	p.readPreamble()
	p.readTimeHeader()
	taken := map[int]bool{h.column: true}
	p.findClock(taken)
	p.findHours(taken)
	for c := range p.cells {
		if !taken[c] && !p.readsAsTime(c) {
			if col := p.describe(c); col != nil {
				p.columns = append(p.columns, col)
			}
		}
	}
	p.findKeys()
	p.splitDevices()
	return p, nil
}

// readPreamble takes unit, quantity, zone and identity from above the header.
func (p *plan) readPreamble() {
	for _, kv := range p.head.pairs() {
		key, value := takeApart(kv.key), takeApart(kv.value)
		switch {
		case kv.key == "":
			if p.context.name == "" && (meaningOf(value).role != roleNone) {
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
			if loc := zoneInWords(kv.value); loc != nil {
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
		if loc := zoneInWords(text); loc != nil {
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

// share is the part of the filled cells of column c for which ok holds.
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

// title is the lowest header text of a column that is not a mere unit.
func (p *plan) title(c int) string {
	for i := len(p.head.stack) - 1; i >= 0; i-- {
		text := p.head.stack[i].cell(c)
		if _, unit := parseUnit(text); text != "" && !unit {
			return text
		}
	}
	return ""
}

// findClock finds the time of day that stands beside a date.
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
		if taken[c] || p.time.clock >= 0 || takeApart(p.title(c)).unit.dim != dimNone {
			continue
		}
		named := takeApart(p.title(c)).any(cTime | cStart)
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
}

func isHour(cell string) bool {
	n, err := strconv.Atoi(cell)
	return err == nil && n >= 0 && n <= 25
}

func (p *plan) findParts(taken map[int]bool) {
	line := p.head.stack[len(p.head.stack)-1]
	p.time.parts, _ = partColumns(line.cells)
	for _, c := range p.time.parts {
		taken[c] = true
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
		values.means = meaning{role: roleEnergy} // meters' tables hold energy
		if values.unit.dim == dimPower {
			values.means.role = rolePower
		}
	}
	p.columns = append(p.columns, values)
}

// describe gives column c its meaning from all of its header lines; nil where
// it has none that is of use.
func (p *plan) describe(c int) *column {
	col := &column{index: c, style: plainStyle}
	for _, s := range p.head.stack {
		text := s.cell(c)
		if text == "" {
			continue
		}
		if u, ok := parseUnit(text); ok && (col.title != "" || len(p.head.stack) > 1) {
			col.unit = u
			continue
		}
		h := takeApart(text)
		serial, isSerial := strings.CutPrefix(text, "SN: ")
		switch {
		case isSerial:
			col.device = serial
		case identifier.MatchString(text):
			col.device = text
		case len(p.head.stack) > 1 && h.has&^(cDevice|cCabinet|cSite|cCount|cTotal|cLifetime) == 0 && h.unit.dim == dimNone && !h.any(cLifetime) && meaningOf(h).role == roleNone && !h.names():
			if col.device == "" && col.title == "" { // "Analog", "Mean" below a name is none
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
	h := takeApart(col.title)
	if h.unit.dim == dimNone {
		h.unit = col.unit
	}
	col.name, col.unit, col.means = h.name, h.unit, meaningOf(h)
	if col.means.role == roleValue || col.title == "" && len(p.head.stack) > 0 && h.unit.dim != dimNone {
		p.borrowContext(col)
	}
	if col.means.role == roleNone && !h.any(cSerial|cDevice|cSite|cMeasure|cUnit) {
		return nil
	}
	return col
}

// names says that the header is of a column of names, "Device" or "Serial no.",
// and no name itself, as "Inverter 2" is.
func (h header) names() bool {
	return h.unknown == 0 && h.any(cSerial|cDevice|cSite) && !strings.ContainsAny(h.name, "0123456789")
}

// borrowContext completes a column that is only called "Value".
func (p *plan) borrowContext(col *column) {
	if col.unit.dim == dimNone {
		col.unit = p.context.unit
	}
	h := header{name: p.context.name, unit: col.unit, has: p.context.has, tokens: p.context.tokens}
	if m := meaningOf(h); m.role != roleNone && m.role != roleValue {
		col.means = m
	}
}

// findKeys picks the columns that name a row's asset, quantity and unit.
func (p *plan) findKeys() {
	var keep []*column
	best := -1
	for _, col := range p.columns {
		h := takeApart(col.title)
		if col.means.role == roleValue && h.any(cMeasure) && p.names(col.index) {
			p.measure = col.index
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
		case h.any(cMeasure) && p.measure < 0 && !h.any(cSerial|cDevice) && p.names(col.index):
			p.measure = col.index
		case h.any(cUnit) && p.share(col.index, isUnit) > 0.8:
			p.unitAt = col.index
		case h.any(cSerial | cDevice | cSite):
			if rank := p.keyRank(col.index, h); best < rank {
				best, p.id = rank, col.index
			}
		}
	}
	p.columns = keep
	if p.measure < 0 {
		p.columns = named(p.columns)
	}
}

// noKey are words of columns that measure something and so name nothing.
const noKey = cPower | cEnergy | cConsumption | cGrid | cBattery | cAC | cDC | cVoltage | cCurrent | cTemperature | cIrradiance | cWind | cDirection |
	cEfficiency | cStatus | cError | cRating | cDuration | cSpecific | cMoney | cPartial

// names says that the cells of column c name quantities.
func (p *plan) names(c int) bool {
	return p.share(c, func(cell string) bool { return meaningOf(takeApart(cell)).role != roleNone }) > 0.2
}

func isUnit(cell string) bool { _, ok := parseUnit(cell); return ok }

// keyRank ranks a key column: one that tells several assets apart beats one
// that does not, then a serial number a device, a device a site.
func (p *plan) keyRank(c int, h header) int {
	seen := map[string]bool{}
	p.data(c, func(cell string) { seen[cell] = true })
	rank := 0
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

// named drops columns that are only called "value" where another column says
// what it is.
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
			col.means.role = rolePower
			if col.unit.dim == dimEnergy {
				col.means.role = roleEnergy
			}
		}
		out = append(out, col)
	}
	return out
}

// find is the first column of the roles, for messages.
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
