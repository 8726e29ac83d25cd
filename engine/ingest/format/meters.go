package format

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"app.sunloop/internal/display"
)

const (
	formatNEM12 = "interval data of a meter in Australia (NEM12)"
	formatESPI  = "Green Button data of a meter (ESPI)"
)

// isNEM12 recognises NEM12 without its first line, as the portals of distributors give it.
func isNEM12(lines [][]byte) bool {
	return len(lines) > 1 && bytes.HasPrefix(lines[1], []byte("300,")) && len(splitCSV(string(lines[0]))) >= 9
}

// nemTime is the time of the market in Australia: ten hours before UTC all year.
var nemTime = time.FixedZone("AEST", 10*3600)

// nem12 reads interval data by AEMO's Meter Data File Format: 200 describes a register, 300 holds the values of
// a day, 400 the quality of parts of it. Registers that begin with B are exported to the grid, those with E taken
// from it.
func nem12(text []byte, b *Budget) ([]Table, error) {
	l := newLong(b, "", formatNEM12)
	var meter, parameter, unit string
	var step, short, line int
	err := linesOf(text, func(row []byte) error {
		line++
		cells := strings.Split(string(row), ",")
		switch cells[0] {
		case "200":
			if len(cells) < 9 {
				return fail(Damaged, "line %d of the NEM12 file describes a register in %s; there are 9 at least", line, display.CountOf(len(cells), "field", "fields"))
			}
			meter, unit = strings.TrimSpace(cells[1]), strings.TrimSpace(cells[7])
			parameter = nemRegister(strings.TrimSpace(cells[4]))
			var err error
			if step, err = strconv.Atoi(strings.TrimSpace(cells[8])); err != nil || step < 1 || step > 60 || 1440%step != 0 {
				return fail(Damaged, "line %d of the NEM12 file has an interval of %s minutes; it is 5, 15 or 30", line, quote(cells[8]))
			}
		case "300":
			if step == 0 {
				return fail(Damaged, "line %d of the NEM12 file has values before the line 200 that describes their register", line)
			}
			if len(cells) < 3 {
				short++
				return nil
			}
			day, err := time.ParseInLocation("20060102", strings.TrimSpace(cells[1]), nemTime)
			if err != nil {
				return fail(Damaged, "line %d of the NEM12 file has the date %s; it is written as 20250601", line, quote(cells[1]))
			}
			n := 1440 / step
			if len(cells) < n+2 {
				short++
			}
			for i := 0; i < n && i+2 < len(cells); i++ {
				value := finite(strings.TrimSpace(cells[i+2]))
				if err := l.add(meter, parameter, nemUnit(unit), instant(day.Add(time.Duration(i*step)*time.Minute)), value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if short > 0 {
		l.table.Notes = append(l.table.Notes, strconv.Itoa(short)+" days of the NEM12 file have fewer values than intervals; the file may be cut")
	}
	return one(l, "the NEM12 file has no interval data (lines 300)")
}

// nemRegister names a register by its suffix: E1 is consumption, B1 feed-in, Q and K are reactive energy.
func nemRegister(suffix string) string {
	if suffix == "" {
		return "register"
	}
	switch suffix[0] | 0x20 {
	case 'e':
		return "grid import"
	case 'b':
		return "feed-in"
	case 'q', 'k':
		return "reactive energy " + suffix
	case 'g':
		return "production"
	}
	return "register " + suffix
}

// nemUnit returns a unit as it is usually written.
func nemUnit(u string) string {
	for _, known := range []string{"kWh", "Wh", "MWh", "kW", "W", "kVArh", "kVAh"} {
		if strings.EqualFold(known, u) {
			return known
		}
	}
	return u
}

// readingType is what the values of a meter reading are, by NAESB REQ.21.
type readingType struct {
	uom, flow, behaviour int
	power                int // of ten, that values are multiplied with
}

// espiTables reads an Atom feed or a file of Green Button. Entries refer to each other by links; in files of
// utilities, a meter reading is followed by its blocks, or preceded by its type.
func espiTables(text []byte, b *Budget) ([]Table, error) {
	types, byReading, err := espiTypes(text)
	if err != nil {
		return nil, err
	}
	l := newLong(b, "", formatESPI)
	e := espiEntry{}
	err = e.each(text, func(kind string) error {
		if kind != "intervalreading" {
			return nil
		}
		t, ok := byReading[e.reading()]
		if !ok && len(types) > 0 { // without links it is the type before it in the file
			t = types[max(0, min(e.types, len(types))-1)]
		}
		parameter, unit := t.names()
		if parameter == "" {
			return nil
		}
		value := ""
		if v, err := strconv.ParseFloat(e.value, 64); err == nil {
			value = number(v * math.Pow10(t.power))
		}
		seconds, err := strconv.ParseFloat(e.start, 64)
		if err != nil {
			return nil
		}
		return l.add(e.point(), parameter, unit, unixInstant(seconds), value)
	})
	if err != nil {
		return nil, err
	}
	return one(l, "the Green Button file has no interval readings of electricity; choose the download of interval usage, not of bills")
}

// names returns the quantity and the unit of a reading type; no quantity if it is not one of electric energy or power.
func (t readingType) names() (parameter, unit string) {
	switch t.uom {
	case 0, 72:
		unit, parameter = "Wh", "energy"
	case 38:
		unit, parameter = "W", "power"
	default:
		return "", ""
	}
	counter := ""
	if t.behaviour == 1 || t.behaviour == 3 { // bulk quantity, cumulative
		counter = " counter"
	}
	switch t.flow {
	case 19: // reverse: from the customer to the grid
		return "feed-in " + parameter + counter, unit
	case 1: // forward
		return "grid import " + parameter + counter, unit
	case 4: // net
		return "net grid " + parameter + counter, unit
	}
	return parameter + counter, unit
}

// espiEntry walks a file of Green Button.
type espiEntry struct {
	links        []string // of the current entry: "self", "up" and "related"
	self         string
	types        int // reading types so far
	start, value string
	t            readingType
}

// reading returns the path of the meter reading to which the current entry belongs.
func (e *espiEntry) reading() string { return part(e.self, "/MeterReading/") }

// point returns the identity of the usage point to which the current entry belongs.
func (e *espiEntry) point() string {
	_, id, ok := strings.Cut(part(e.self, "/UsagePoint/"), "/UsagePoint/")
	if !ok {
		return ""
	}
	return id
}

// part returns a path up to the identity after name, "" if it has none.
func part(path, name string) string {
	at := strings.Index(path, name)
	if at < 0 {
		return ""
	}
	rest := path[at+len(name):]
	id, _, _ := strings.Cut(rest, "/")
	return path[:at+len(name)+len(id)]
}

// each calls f at the end of each element of interest.
func (e *espiEntry) each(text []byte, f func(kind string) error) error {
	m := newMarkup(bytes.NewReader(text))
	var value []byte
	cost := 0
	inPeriod, inReading := false, false
	depth := 0
	for {
		err := m.next()
		if errors.Is(err, io.EOF) {
			if depth > 0 {
				return damaged(io.ErrUnexpectedEOF, "the Green Button file")
			}
			return nil
		}
		if err != nil {
			return damaged(err, "the Green Button file")
		}
		switch m.kind {
		case markupText:
			value = m.content(value[:0])
			continue
		case markupStart:
			if !m.empty {
				depth++
			}
			value = value[:0]
			switch m.name {
			case "entry":
				e.links, e.self = nil, ""
			case "link":
				if m.attr("rel") == "self" {
					e.self = m.attr("href")
				}
				if cost++; len(e.links) < 50 {
					e.links = append(e.links, m.attr("href"))
				}
			case "intervalreading":
				inReading, e.start, e.value = true, "", ""
			case "timeperiod":
				inPeriod = true
			case "readingtype":
				e.t = readingType{}
				e.types++
			}
			continue
		}
		depth--
		text := strings.TrimSpace(string(value))
		n, _ := strconv.Atoi(text)
		switch m.name {
		case "timeperiod":
			inPeriod = false
		case "start":
			if inPeriod && inReading {
				e.start = text
			}
		case "value":
			if inReading {
				e.value = text
			}
		case "uom":
			e.t.uom = n
		case "flowdirection":
			e.t.flow = n
		case "accumulationbehaviour":
			e.t.behaviour = n
		case "poweroftenmultiplier":
			if n > -13 && n < 13 {
				e.t.power = n
			}
		case "intervalreading":
			inReading = false
		}
		switch m.name {
		case "intervalreading", "readingtype", "entry":
			if err := f(m.name); err != nil {
				return err
			}
		}
		value = value[:0]
	}
}

// espiTypes finds the reading types, in the order of the file and by the path of the meter readings that refer
// to them.
func espiTypes(text []byte) ([]readingType, map[string]readingType, error) {
	var types []readingType
	bySelf := map[string]readingType{}
	refers := map[string][]string{}
	e := espiEntry{}
	last := 0
	err := e.each(text, func(kind string) error {
		switch {
		case kind == "readingtype" && len(types) < maxSeries:
			types = append(types, e.t)
			bySelf[part(e.self, "/ReadingType/")] = e.t
		case kind == "entry" && len(types) == last && part(e.self, "/MeterReading/") == e.self && len(refers) < maxSeries:
			refers[e.self] = e.links
		}
		last = len(types)
		return nil
	})
	byReading := map[string]readingType{}
	for reading, links := range refers {
		for _, link := range links {
			if t, ok := bySelf[part(link, "/ReadingType/")]; ok && link != "" && strings.Contains(link, "/ReadingType/") {
				byReading[reading] = t
			}
		}
	}
	return types, byReading, err
}
