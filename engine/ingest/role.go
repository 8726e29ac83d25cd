package ingest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/engine/series"
)

// role is what a column can be used for.
type role uint8

const (
	roleNone     role = iota
	rolePower         // AC real power of production
	roleEnergy        // energy of production, kind by its values
	roleCounter       // lifetime energy counter by name
	roleDaily         // counter of the day so far by name
	roleFeedIn        // sold to the grid: production only if there is no other column of it
	roleValue         // a value without a name
	roleQuantity      // one of the other quantities of package series
	roleState         // operating state as text
	roleUnknown       // numbers under an unknown name; the values may show their meaning
)

// meaning is a role with what it needs.
type meaning struct {
	role     role
	quantity series.Quantity // of roleQuantity
	rank     int             // of two columns of one role, the one with the higher rank is used
	total    bool            // a sum over assets where there are several
	bare     bool            // neither name nor unit states power or energy
	energy   bool            // of roleFeedIn: energy, not power
	sunSpec  bool            // of roleState: numbers are SunSpec's states
}

// sensorID is the numeric tail that some data services add to column names.
var sensorID = regexp.MustCompile(`_{1,2}\d{3,5}$`)

// serialNumber matches a device's serial number with the letters before it, which are not words.
var serialNumber = regexp.MustCompile(`[A-Za-z]{0,4}\d{5,}[A-Za-z]?`)

// codes are bare letters that loggers use as names: "P1", "G_M2", "T_U0".
var codes = map[string]meaning{
	"p":  {role: rolePower},
	"e":  {role: roleEnergy},
	"gh": {role: roleQuantity, quantity: series.IrradianceWM2, rank: 1},
	"gm": {role: roleQuantity, quantity: series.IrradianceWM2, rank: 3},
	"gi": {role: roleQuantity, quantity: series.IrradianceWM2, rank: 3},
	"ta": {role: roleQuantity, quantity: series.TemperatureC, rank: 2},
	"tu": {role: roleQuantity, quantity: series.TemperatureC, rank: 2},
	"tm": {role: roleQuantity, quantity: series.ModuleTemperatureC, rank: 2},
	"tc": {role: roleQuantity, quantity: series.ModuleTemperatureC, rank: 1},
	"ws": {role: roleQuantity, quantity: series.WindSpeedMS, rank: 1},
}

// header is a parsed column name, the input of the rules.
type header struct {
	name    string // without unit and sensor number
	unit    unit   // dimNone where none is written
	has     concept
	tokens  []string
	unknown int // tokens that are neither words of the dictionary nor numbers
}

func parseHeader(name string) header {
	// The unit may precede the sensor number or follow it.
	h := header{}
	h.name, h.unit, _ = splitUnit(sensorID.ReplaceAllString(name, ""))
	h.has, h.tokens = conceptsOf(serialNumber.ReplaceAllString(h.name, "#")), tokensOf(h.name)
	for _, t := range h.tokens {
		if !digit(t[0]) && tokenConcepts(t) == 0 {
			h.unknown++
		}
	}
	return h
}

// any reports whether one of the concepts is in the name.
func (h header) any(c concept) bool { return h.has&c != 0 }

func (h header) dim(dims ...dimension) bool {
	for _, d := range dims {
		if h.unit.dim == d {
			return true
		}
	}
	return false
}

// input returns the number that follows the first word for DC, as in "PV2 input
// voltage" and "Udc1"; 1 where none does.
func (h header) input() int {
	dc := false
	for _, t := range h.tokens {
		if n, err := strconv.Atoi(t); err == nil && dc {
			return n
		}
		dc = dc || tokenConcepts(t)&(cDC|cProduction) != 0
	}
	return 1
}

// oneOfThree reports whether the name is that of one phase: "Phase A …", "L2
// …", "PacR".
func (h header) oneOfThree() bool {
	n := len(h.tokens)
	numbered := false // "ST-1" is a station
	for i, t := range h.tokens[:max(n-1, 0)] {
		if slices.Contains([]string{"rs", "st", "tr"}, t) && (digit(h.tokens[i+1][0]) || len(h.tokens[i+1]) == 1) {
			numbered = true
		} else if tokenConcepts(t)&cPhase != 0 {
			numbered = false
			break
		}
	}
	if h.any(cPhase) && !numbered {
		return true
	}
	for i, t := range h.tokens[:max(n-1, 0)] {
		if number := h.tokens[i+1]; t == "l" && len(number) == 1 && strings.Contains("123", number) {
			return true
		}
	}
	const measured = cPower | cEnergy | cProduction | cVoltage | cCurrent | cAC | cApparent | cReactive
	if n < 2 || len(h.tokens[n-1]) != 1 || !strings.Contains("rstuvwabc", h.tokens[n-1]) {
		return false
	}
	return (tokenConcepts(h.tokens[n-2])|conceptsOf(strings.Join(h.tokens[max(0, n-3):n-1], " ")))&measured != 0 &&
		(tokenConcepts(h.tokens[n-2]) != 0 || n > 2 && words().pairs[h.tokens[n-3]+h.tokens[n-2]] != 0)
}

// rules determine the meaning of a column; the first that matches applies. Rules
// for columns that are never production come first, so that the rules for power and
// energy can be general.
var rules = []struct {
	why  string
	when func(header) bool
	mean func(header) meaning
}{
	{"per kWp or a unit no frame holds", func(h header) bool { return h.dim(dimOther) || h.any(cSpecific|cMoney) }, nothing},
	{"irradiance", func(h header) bool {
		return h.dim(dimIrradiance) || h.dim(dimNone) && h.any(cIrradiance) && !h.any(cEnergy)
	}, irradiance},
	{"temperature", func(h header) bool { return h.dim(dimTemperature) || h.dim(dimNone) && h.any(cTemperature) }, temperature},
	{"wind", func(h header) bool {
		return h.dim(dimSpeed) && !h.any(cForecast|cRating) || h.dim(dimNone) && h.any(cWind) && !h.any(cDirection|cForecast|cRating)
	}, quantity(series.WindSpeedMS)},
	{"a forecast or model", func(h header) bool {
		return h.any(cForecast) && !h.any(cDirection|cWind|cIrradiance) && !h.dim(dimPower, dimEnergy)
	}, nothing},
	{"weather", func(h header) bool {
		return h.any(cDirection|cWind|cForecast|cIrradiance) && !h.dim(dimPower, dimEnergy)
	}, nothing},
	{"power factor", func(h header) bool {
		return h.dim(dimNone, dimPercent) && (h.any(cPowerFactor) || h.any(cPower) && contains(h.tokens, "factor"))
	}, quantity(series.PowerFactor)},
	{"voltage of no input", func(h header) bool { return h.any(cPartial) && !h.dim(dimPower, dimEnergy) }, nothing},
	{"voltage", func(h header) bool { return h.dim(dimVoltage) || h.dim(dimNone) && h.any(cVoltage) }, voltage},
	{"current", func(h header) bool {
		return h.dim(dimCurrent) || h.dim(dimNone) && h.any(cCurrent) && !h.any(cPower|cEnergy)
	}, current},
	{"apparent power", func(h header) bool { return h.dim(dimApparent) || h.any(cApparent) }, apparent},
	{"reactive energy", func(h header) bool { return h.dim(dimReactiveEnergy) }, quantity(series.ReactiveKVArh)},
	{"reactive power", func(h header) bool { return h.dim(dimReactive) || h.any(cReactive) }, nothing},
	{"state of charge", func(h header) bool { return h.any(cStateOfCharge) && h.dim(dimNone, dimPercent) }, quantity(series.StateOfCharge)},
	{"state of health", func(h header) bool { return h.any(cStateOfHealth) && h.dim(dimNone, dimPercent) }, quantity(series.StateOfHealth)},
	{"percent", func(h header) bool { return h.dim(dimPercent) || h.any(cEfficiency|cDuration) && h.dim(dimNone) }, nothing},
	{"error code", func(h header) bool { return h.any(cError) && h.dim(dimNone) }, quantity(series.ErrorCode)},
	// The two names that this service's own records use, with SunSpec's
	// numbers. A vendor's numbers under another name are unknown codes.
	{"operating state", func(h header) bool { return strings.Join(h.tokens, " ") == "inverter state" }, just(meaning{role: roleState, sunSpec: true})},
	{"run state", func(h header) bool { return strings.Join(h.tokens, " ") == "run state" }, quantity(series.RunState)},
	{"status", func(h header) bool { return h.any(cStatus) && !h.any(cLifetime) && h.dim(dimNone) }, just(meaning{role: roleState})},
	{"battery or consumption", func(h header) bool { return h.any(cBattery | cConsumption) }, nothing},
	{"fed into the grid", func(h header) bool { return h.any(cFeedIn) && !h.any(cDevice) }, feedIn},
	{"grid", func(h header) bool { return h.any(cGrid) && !(h.any(cFeedIn) && h.any(cDevice)) }, nothing},
	{"a forecast or model", func(h header) bool { return h.any(cForecast) }, nothing},
	{"a rating, limit or target", func(h header) bool { return h.any(cRating) }, nothing},
	{"another period", func(h header) bool { return h.any(cOtherPeriod) }, nothing},
	{"DC", func(h header) bool { return h.any(cDC) }, nothing},
	{"power", func(h header) bool {
		return h.dim(dimPower) || h.dim(dimNone) && h.any(cPower)
	}, power},
	{"energy", func(h header) bool { return h.dim(dimEnergy) || h.dim(dimNone) && h.any(cEnergy) }, energy},
	{"production", func(h header) bool { return h.dim(dimNone) && h.any(cProduction) && h.unknown == 0 }, power},
	{"bare value", func(h header) bool { return h.dim(dimNone) && h.any(cValue) && !h.any(cCount) }, just(meaning{role: roleValue})},
}

// statistics are words after the letter of a quantity that state how it was measured: "P_act", "P_mean".
var statistics = map[string]bool{"act": true, "actual": true, "ist": true, "meas": true, "measured": true, "avg": true, "mean": true, "inst": true, "real": true, "mom": true}

// withoutStatistic returns the tokens of a name without a word of [statistics] at the end.
func withoutStatistic(tokens []string) []string {
	if n := len(tokens); n > 1 && statistics[tokens[n-1]] {
		return tokens[:n-1]
	}
	return tokens
}

// meaningOf returns what a column with that header means.
func meaningOf(h header) meaning {
	m, _ := ruled(h)
	return m
}

// ruled returns the meaning of a column with that header. known is false if no
// rule applies.
func ruled(h header) (m meaning, known bool) {
	if len(h.tokens) <= 3 && h.dim(dimNone, dimPower, dimEnergy, dimTemperature) {
		letters := strings.Join(withoutStatistic(h.tokens), "")
		if m, ok := codes[strings.TrimRight(letters, "0123456789")]; ok && len(letters) <= 5 {
			return m, true
		}
	}
	for _, r := range rules {
		if r.when(h) {
			return r.mean(h), true
		}
	}
	return meaning{}, false
}

func contains(tokens []string, w string) bool {
	for _, t := range tokens {
		if t == w {
			return true
		}
	}
	return false
}

func nothing(header) meaning { return meaning{} }

func just(m meaning) func(header) meaning { return func(header) meaning { return m } }

func quantity(q series.Quantity) func(header) meaning {
	return func(h header) meaning {
		return meaning{role: roleQuantity, quantity: q, rank: -h.unknown}
	}
}

func irradiance(h header) meaning {
	switch {
	case h.any(cBeam | cDaily | cRating):
		return meaning{}
	case h.any(cForecast):
		return meaning{role: roleQuantity, quantity: series.PredictedGHIWM2}
	}
	rank := 2
	if contains(h.tokens, "poa") || contains(h.tokens, "gti") || h.any(cModule) {
		rank = 3 // in the plane of the modules, it predicts their power better
	}
	return meaning{role: roleQuantity, quantity: series.IrradianceWM2, rank: rank}
}

// weatherStation are marks of on-site weather stations in temperature columns.
var weatherStation = []string{"lmd", "met", "wx", "weather", "meteo", "t"}

func temperature(h header) meaning {
	m := meaning{role: roleQuantity, rank: 1}
	switch {
	case h.any(cBattery | cRating | cPartial):
		return meaning{}
	case h.any(cForecast):
		m.quantity = series.PredictedTempC
	case h.any(cAmbient):
		m.quantity, m.rank = series.TemperatureC, 3
	case h.any(cModule):
		m.quantity = series.ModuleTemperatureC
	case h.any(cCabinet):
		m.quantity = series.CabinetTempC
	case h.unknown == 0:
		m.quantity, m.rank = series.TemperatureC, 2
	default:
		for _, w := range weatherStation {
			if contains(h.tokens, w) {
				m.quantity = series.TemperatureC
			}
		}
		if m.quantity == 0 {
			return meaning{}
		}
	}
	return m
}

// maxInputs is the highest DC input that series can name.
const maxInputs = 31

// dcInput reports whether the name is that of a DC input, and of which.
func (h header) dcInput() (n int, ok bool) {
	n = h.input()
	return n, (h.any(cDC) || h.any(cProduction)) && n >= 1 && n <= maxInputs
}

func voltage(h header) meaning {
	if n, ok := h.dcInput(); ok && !h.any(cAC) {
		return meaning{role: roleQuantity, quantity: series.DCVoltage(n)}
	}
	switch {
	case h.any(cBattery | cDC | cRating):
		return meaning{}
	case contains(h.tokens, "line") || contains(h.tokens, "rs") || contains(h.tokens, "st") || contains(h.tokens, "tr"):
		return meaning{} // between two phases: √3 times the others
	case h.any(cAC|cPhase|cGrid) || h.unknown == 0:
		return meaning{role: roleQuantity, quantity: series.VoltageV}
	}
	return meaning{}
}

func current(h header) meaning {
	if n, ok := h.dcInput(); ok && !h.any(cAC|cBattery) {
		return meaning{role: roleQuantity, quantity: series.DCCurrent(n)}
	}
	return meaning{}
}

func apparent(h header) meaning {
	if h.oneOfThree() || h.any(cGrid|cConsumption|cBattery|cRating) || !h.dim(dimApparent, dimNone) {
		return meaning{}
	}
	return meaning{role: roleQuantity, quantity: series.ApparentKVA}
}

func feedIn(h header) meaning {
	switch {
	case h.any(cOtherPeriod | cRating):
		return meaning{}
	case h.dim(dimPower) || h.dim(dimNone) && h.any(cPower):
		return meaning{role: roleFeedIn}
	case h.dim(dimEnergy) || h.dim(dimNone) && h.any(cEnergy):
		return meaning{role: roleFeedIn, energy: true}
	}
	return meaning{}
}

func power(h header) meaning {
	m := meaning{role: rolePower, total: h.any(cTotal)}
	switch {
	case h.oneOfThree():
		m.rank = -1
	case h.any(cAC):
		m.rank = 3
	case h.any(cProduction):
		m.rank = 2
	case h.any(cPower):
		m.rank = 1
	}
	return m
}

func energy(h header) meaning {
	m := meaning{role: roleEnergy, total: h.any(cTotal)}
	if h.any(cProduction | cAC) {
		m.rank = 1
	}
	if h.oneOfThree() {
		m.rank = -1
	}
	switch {
	case h.any(cDaily):
		m.role, m.total = roleDaily, false
	case h.any(cLifetime), h.any(cTotal) && h.any(cEnergy):
		m.role, m.total = roleCounter, false
	}
	return m
}
