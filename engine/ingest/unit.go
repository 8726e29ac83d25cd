package ingest

import (
	"regexp"
	"strconv"
	"strings"
)

// dimension is what a unit measures.
type dimension uint8

const (
	dimNone dimension = iota
	dimPower
	dimEnergy
	dimApparent
	dimReactive
	dimReactiveEnergy
	dimIrradiance
	dimTemperature
	dimVoltage
	dimCurrent
	dimSpeed
	dimPercent
	dimOther // known, but nothing a frame holds
)

// unit turns a written value into the base of its dimension: kW, kWh, kVA,
// kvar, kvarh, W/m², °C, V, A, m/s, percent. base = value·scale + offset.
type unit struct {
	name          string
	dim           dimension
	scale, offset float64
}

// base returns a written value in the base of the unit's dimension.
func (u *unit) base(v float64) float64 {
	if u.dim == dimNone {
		return v
	}
	return v*u.scale + u.offset
}

// kWhOfBTU is a British thermal unit (of the International Table) in kWh.
const kWhOfBTU = 1055.05585262 / 3.6e6

// units by their spelling without blanks. Spellings are tried as written, then
// in lower case.
var units = map[string]unit{
	"W": {"W", dimPower, 1e-3, 0}, "w": {"W", dimPower, 1e-3, 0}, "watt": {"W", dimPower, 1e-3, 0}, "watts": {"W", dimPower, 1e-3, 0},
	"kw": {"kW", dimPower, 1, 0}, "kwac": {"kW", dimPower, 1, 0}, "wac": {"W", dimPower, 1e-3, 0}, "瓦": {"W", dimPower, 1e-3, 0}, "千瓦": {"kW", dimPower, 1, 0},
	"mw": {"MW", dimPower, 1e3, 0}, "gw": {"GW", dimPower, 1e6, 0},
	"wh": {"Wh", dimEnergy, 1e-3, 0}, "kwh": {"kWh", dimEnergy, 1, 0}, "kw.h": {"kWh", dimEnergy, 1, 0}, "kw·h": {"kWh", dimEnergy, 1, 0},
	"kw-h": {"kWh", dimEnergy, 1, 0}, "度": {"kWh", dimEnergy, 1, 0}, "千瓦时": {"kWh", dimEnergy, 1, 0},
	"mwh": {"MWh", dimEnergy, 1e3, 0}, "gwh": {"GWh", dimEnergy, 1e6, 0},
	"kj": {"kJ", dimEnergy, 1. / 3600, 0}, "mj": {"MJ", dimEnergy, 1 / 3.6, 0}, "gj": {"GJ", dimEnergy, 1e3 / 3.6, 0},
	"kwhr": {"kWh", dimEnergy, 1, 0}, "kw-hr": {"kWh", dimEnergy, 1, 0}, "kwhrs": {"kWh", dimEnergy, 1, 0}, "kwhs": {"kWh", dimEnergy, 1, 0}, "kw-hrs": {"kWh", dimEnergy, 1, 0},
	"whr": {"Wh", dimEnergy, 1e-3, 0}, "w-hr": {"Wh", dimEnergy, 1e-3, 0}, "w-h": {"Wh", dimEnergy, 1e-3, 0}, "w.h": {"Wh", dimEnergy, 1e-3, 0}, "w·h": {"Wh", dimEnergy, 1e-3, 0},
	"mwhr": {"MWh", dimEnergy, 1e3, 0}, "mw-hr": {"MWh", dimEnergy, 1e3, 0}, "mw-h": {"MWh", dimEnergy, 1e3, 0}, "mw·h": {"MWh", dimEnergy, 1e3, 0},
	"kilowatthour": {"kWh", dimEnergy, 1, 0}, "kilowatthours": {"kWh", dimEnergy, 1, 0}, "kilowatt-hour": {"kWh", dimEnergy, 1, 0}, "kilowatt-hours": {"kWh", dimEnergy, 1, 0},
	"watthour": {"Wh", dimEnergy, 1e-3, 0}, "watthours": {"Wh", dimEnergy, 1e-3, 0}, "watt-hour": {"Wh", dimEnergy, 1e-3, 0}, "watt-hours": {"Wh", dimEnergy, 1e-3, 0},
	"megawatthour": {"MWh", dimEnergy, 1e3, 0}, "megawatthours": {"MWh", dimEnergy, 1e3, 0}, "megawatt-hours": {"MWh", dimEnergy, 1e3, 0},
	"kilowattstunden": {"kWh", dimEnergy, 1, 0}, "wattstunden": {"Wh", dimEnergy, 1e-3, 0},
	"kilowatt": {"kW", dimPower, 1, 0}, "kilowatts": {"kW", dimPower, 1, 0}, "megawatt": {"MW", dimPower, 1e3, 0}, "megawatts": {"MW", dimPower, 1e3, 0},
	"kwatt": {"kW", dimPower, 1, 0}, "mwatt": {"MW", dimPower, 1e3, 0},
	"j": {"J", dimEnergy, 1 / 3.6e6, 0}, "ws": {"Ws", dimEnergy, 1 / 3.6e6, 0}, "kws": {"kWs", dimEnergy, 1. / 3600, 0},
	"j/s": {"J/s", dimPower, 1e-3, 0}, "kj/s": {"kJ/s", dimPower, 1, 0}, "mj/s": {"MJ/s", dimPower, 1e3, 0},
	"wh/h": {"Wh/h", dimPower, 1e-3, 0}, "kwh/h": {"kWh/h", dimPower, 1, 0}, "mwh/h": {"MWh/h", dimPower, 1e3, 0}, "gwh/h": {"GWh/h", dimPower, 1e6, 0},
	"kj/h": {"kJ/h", dimPower, 1. / 3600, 0}, "mj/h": {"MJ/h", dimPower, 1 / 3.6, 0}, "gj/h": {"GJ/h", dimPower, 1e3 / 3.6, 0},
	"btu/h": {"BTU/h", dimPower, kWhOfBTU, 0}, "btu/hr": {"BTU/h", dimPower, kWhOfBTU, 0}, "btuh": {"BTU/h", dimPower, kWhOfBTU, 0},
	"kbtu/h": {"kBTU/h", dimPower, 1e3 * kWhOfBTU, 0}, "kbtu/hr": {"kBTU/h", dimPower, 1e3 * kWhOfBTU, 0}, "mmbtu/h": {"MMBTU/h", dimPower, 1e6 * kWhOfBTU, 0},
	"hp": {"hp", dimPower, 0.745699872, 0}, "ps": {"PS", dimPower, 0.73549875, 0},
	"btu": {"BTU", dimEnergy, kWhOfBTU, 0}, "kbtu": {"kBTU", dimEnergy, 1e3 * kWhOfBTU, 0}, "mbtu": {"kBTU", dimEnergy, 1e3 * kWhOfBTU, 0}, "mmbtu": {"MMBTU", dimEnergy, 1e6 * kWhOfBTU, 0},
	"va": {"VA", dimApparent, 1e-3, 0}, "kva": {"kVA", dimApparent, 1, 0}, "mva": {"MVA", dimApparent, 1e3, 0},
	"var": {"var", dimReactive, 1e-3, 0}, "kvar": {"kvar", dimReactive, 1, 0}, "mvar": {"Mvar", dimReactive, 1e3, 0},
	"varh": {"varh", dimReactiveEnergy, 1e-3, 0}, "kvarh": {"kvarh", dimReactiveEnergy, 1, 0}, "mvarh": {"Mvarh", dimReactiveEnergy, 1e3, 0},
	"w/m2": {"W/m²", dimIrradiance, 1, 0}, "w/m": {"W/m²", dimIrradiance, 1, 0}, "wm2": {"W/m²", dimIrradiance, 1, 0}, "wm-2": {"W/m²", dimIrradiance, 1, 0},
	"w/qm": {"W/m²", dimIrradiance, 1, 0}, "kw/m2": {"kW/m²", dimIrradiance, 1e3, 0},
	"°c": {"°C", dimTemperature, 1, 0}, "c": {"°C", dimTemperature, 1, 0}, "degc": {"°C", dimTemperature, 1, 0}, "celsius": {"°C", dimTemperature, 1, 0},
	"°f": {"°F", dimTemperature, 5. / 9, -160. / 9}, "degf": {"°F", dimTemperature, 5. / 9, -160. / 9}, "k": {"K", dimTemperature, 1, -273.15},
	"v": {"V", dimVoltage, 1, 0}, "kv": {"kV", dimVoltage, 1e3, 0}, "mv": {"mV", dimVoltage, 1e-3, 0}, "volt": {"V", dimVoltage, 1, 0},
	"a": {"A", dimCurrent, 1, 0}, "ma": {"mA", dimCurrent, 1e-3, 0}, "ampere": {"A", dimCurrent, 1, 0},
	"m/s": {"m/s", dimSpeed, 1, 0}, "ms": {"m/s", dimSpeed, 1, 0}, "km/h": {"km/h", dimSpeed, 1 / 3.6, 0}, "mph": {"mph", dimSpeed, 0.44704, 0},
	"%":       {"%", dimPercent, 1, 0},
	"kwh/kwp": {"kWh/kWp", dimOther, 1, 0}, "kwh/kw": {"kWh/kW", dimOther, 1, 0}, "w/kwp": {"W/kWp", dimOther, 1, 0}, "kw/kwp": {"kW/kWp", dimOther, 1, 0},
	"wh/kwp": {"Wh/kWp", dimOther, 1, 0}, "kwp": {"kWp", dimOther, 1, 0}, "wp": {"Wp", dimOther, 1, 0},
	"kwh/m2": {"kWh/m²", dimOther, 1, 0}, "wh/m2": {"Wh/m²", dimOther, 1, 0}, "j/m2": {"J/m²", dimOther, 1, 0}, "mj/m2": {"MJ/m²", dimOther, 1, 0},
	"hz": {"Hz", dimOther, 1, 0}, "h": {"h", dimOther, 1, 0}, "min": {"min", dimOther, 1, 0}, "s": {"s", dimOther, 1, 0},
	"hpa": {"hPa", dimOther, 1, 0}, "pa": {"Pa", dimOther, 1, 0}, "mbar": {"mbar", dimOther, 1, 0}, "bar": {"bar", dimOther, 1, 0},
	"°": {"°", dimOther, 1, 0}, "deg": {"°", dimOther, 1, 0}, "mm": {"mm", dimOther, 1, 0}, "lx": {"lx", dimOther, 1, 0},
	"kω": {"kΩ", dimOther, 1, 0}, "ω": {"Ω", dimOther, 1, 0}, "mω": {"MΩ", dimOther, 1, 0}, "ohm": {"Ω", dimOther, 1, 0},
	"€": {"€", dimOther, 1, 0}, "$": {"$", dimOther, 1, 0}, "£": {"£", dimOther, 1, 0}, "eur": {"€", dimOther, 1, 0}, "usd": {"$", dimOther, 1, 0}, "zar": {"ZAR", dimOther, 1, 0},
	"ah": {"Ah", dimOther, 1, 0}, "kg": {"kg", dimOther, 1, 0}, "t": {"t", dimOther, 1, 0}, "ct": {"ct", dimOther, 1, 0},
}

var unitSpelling = strings.NewReplacer(
	" ", "", "\u00a0", "", "²", "2", "^", "", "**2", "2", "℃", "°c", "℉", "°f", "º", "°", "Â", "", "Ω", "ω", "μ", "u", "\ufffd", "")

// parseUnit reads a unit as written in a header, a unit line or a cell.
func parseUnit(s string) (unit, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 24 {
		return unit{}, false
	}
	if factor, rest, ok := multiple(s); ok {
		u, ok := parseUnit(rest)
		u.scale *= factor
		return u, ok
	}
	for _, pair := range []string{"[]", "()", "{}"} {
		if len(s) > 1 && s[0] == pair[0] && s[len(s)-1] == pair[1] {
			s = s[1 : len(s)-1]
		}
	}
	low := strings.ToLower(s)
	for _, lead := range []string{"en ", "in ", "unit:", "unit ", "einheit:", "unite:", "unité:"} {
		if strings.HasPrefix(low, lead) && (len(s) > len(lead)+1 || lead != "unit ") { // "Unit T" is a name
			s = s[len(lead):]
			break
		}
	}
	s = unitSpelling.Replace(strings.TrimSpace(s))
	if u, ok := units[s]; ok {
		return u, true
	}
	u, ok := units[strings.ToLower(s)]
	return u, ok
}

// multiple reads "x100 W", "× 0.1 kWh" and "10x W": a unit with a factor. A number
// without the mark is something else, such as a size.
func multiple(s string) (factor float64, rest string, ok bool) {
	s = strings.Trim(s, "[](){} ")
	lead, marked := s, false
	for _, mark := range []string{"x", "X", "×", "*"} {
		if after, found := strings.CutPrefix(lead, mark); found {
			lead, marked = strings.TrimSpace(after), true
			break
		}
	}
	n := 0
	for n < len(lead) && (digit(lead[n]) || lead[n] == '.') {
		n++
	}
	factor, err := strconv.ParseFloat(lead[:n], 64)
	rest = strings.TrimSpace(lead[n:])
	if !marked {
		for _, mark := range []string{"x", "X", "×", "*"} {
			if after, found := strings.CutPrefix(rest, mark); found {
				rest, marked = strings.TrimSpace(after), true
				break
			}
		}
	}
	marked = marked || factor == 0.1 || factor == 0.01 || factor == 0.001 // no size: "0.1 kWh"
	return factor, rest, marked && err == nil && factor > 0 && factor <= 1e6
}

// energyOrPower are the spellings that are units at any position in a name.
var energyOrPower = map[string]bool{"kw": true, "mw": true, "wh": true, "kwh": true, "mwh": true, "kva": true, "kvar": true, "kvarh": true, "kj": true, "mj": true, "gj": true, "btu": true, "kbtu": true, "mmbtu": true}

// shortUnits are units only next to a word for the quantity that they measure.
var shortUnits = map[string]concept{
	"c": cTemperature, "k": cTemperature, "a": cCurrent, "v": cVoltage, "w": cPower | cProduction | cAC, "j": cEnergy | cProduction, "ws": cEnergy, "hp": cPower, "ps": cPower, "h": cDuration, "s": cDuration,
	"t": 0, "ms": cWind, "va": cApparent | cPower, "var": cReactive | cPower, "deg": cDirection, "min": cDuration, "mm": 0, "kg": 0, "ct": 0, "pa": 0, "bar": 0,
}

// dottedUnits are units with the dots of abbreviations.
var dottedUnits = strings.NewReplacer("k.W.h.", "kWh", "k.W.h", "kWh", "k.W.", "kW", "k.W", "kW")

// shareOfRating is a unit such as "(% of 10 kW)", in which kW is that of the rating.
var shareOfRating = regexp.MustCompile(`[\[({]?%\s+\pL+\s+[\d.,]+\s*\pL+[\])}]?`)

// splitUnit takes the unit out of a column's name: "[kWh]", "(en kW)",
// "power_kW", "kWh Import". rest is the name without it.
func splitUnit(name string) (rest string, u unit, ok bool) {
	if strings.Contains(name, "k.W") {
		name = dottedUnits.Replace(name)
	}
	if at := shareOfRating.FindStringIndex(name); at != nil {
		u, ok := parseUnit("%")
		return strings.TrimSpace(name[:at[0]] + name[at[1]:]), u, ok
	}
	rest = name
	for search := name; ; {
		open := strings.LastIndexAny(search, "[({")
		if open < 0 {
			break
		}
		end := strings.IndexAny(name[open:], "])}")
		if end < 0 {
			break
		}
		if u, ok := parseUnit(name[open+1 : open+end]); ok {
			rest := strings.TrimSpace(name[:open] + name[open+end+1:])
			if u.dim == dimCurrent { // "Returned energy Wh (A)": the letter is that of a phase
				if before, own, found := splitUnit(rest); found && (own.dim == dimEnergy || own.dim == dimPower) {
					return before + " " + name[open:open+end+1], own, true
				}
			}
			return rest, u, true
		}
		search = search[:open]
	}
	if u, ok := parseUnit(name); ok {
		return "", u, true
	}
	for i, r := range name { // "Light W/m²"
		if r != ' ' && r != '_' && r != ',' && r != '/' {
			continue
		}
		if last := name[i+1:]; strings.ContainsAny(last, "/²°") {
			if u, ok := parseUnit(last); ok {
				return strings.TrimSuffix(strings.TrimRight(name[:i], " _-:/,"), " in"), u, true
			}
		}
	}
	words := rawTokens(name)
	for i := len(words) - 1; i >= 0; i-- {
		w := words[i]
		u, ok := parseUnit(w.text)
		if !ok || !isUnitWord(strings.ToLower(w.text), name[:w.at], i == len(words)-1) {
			continue
		}
		before := strings.TrimRight(name[:w.at], " _-:/,")
		if in := len(before) - len(" in"); in > 0 && strings.HasSuffix(before, " in") {
			before = before[:in]
		}
		return strings.Trim(before+" "+name[w.at+len(w.text):], " _-:/,"), u, true
	}
	return rest, unit{}, false
}

// isUnitWord reports whether a word of a name is a unit without brackets:
// kW and the like at any position, others as the last word, and short ones only
// after a word for the quantity ("Phase A" holds no ampere).
func isUnitWord(word, before string, last bool) bool {
	if energyOrPower[word] {
		return true
	}
	needs, short := shortUnits[word]
	if !short {
		return last
	}
	if word == "w" && last && (strings.HasSuffix(before, ", ") || strings.HasSuffix(before, "/") || strings.HasSuffix(before, "_") || strings.HasSuffix(before, " in ")) {
		return true
	}
	return (last || word == "w") && conceptsOf(before)&needs != 0 || last && word == "w" && numbered(before)
}

// numbered reports whether a name ends with a number, as in "P1", "WR 2" and "Roof 12": the W after it is a unit, not west.
func numbered(name string) bool {
	tokens := tokensOf(name)
	return len(tokens) > 1 && digit(tokens[len(tokens)-1][0])
}

type token struct {
	text string
	at   int
}

// rawTokens splits a name at everything but letters and digits.
func rawTokens(name string) []token {
	var out []token
	start := -1
	for i, r := range name {
		if alphanumeric(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			out = append(out, token{name[start:i], start})
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, token{name[start:], start})
	}
	return out
}
