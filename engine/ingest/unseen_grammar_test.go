package ingest_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"

	"app.sunloop/engine/ingest"
)

// export is one generated file with what a correct import of it gives.
type export struct {
	seed     uint64
	features []string // of the grammar, for reports
	text     []byte
	options  ingest.Options
	units    []exportUnit
	kind     string // ingest.KindPower …
	step     int64  // seconds
	exact    bool   // powers are comparable sample by sample, not by energy alone
}

// exportUnit is one unit of an export: a power in kW at each time, NaN where the file has no value.
type exportUnit struct {
	names []string // the file may give it several, such as a name and a serial number
	times []int64
	kW    []float64
	quant float64 // of one power in kW, by the decimals of the file
}

// place is a site's position, from which light is computed, and its zone.
type place struct {
	zone     string
	lat, lon float64
}

var places = []place{
	{"Europe/Berlin", 52.5, 13.4}, {"Europe/Paris", 48.8, 2.3}, {"Europe/Madrid", 40.4, -3.7}, {"Europe/Rome", 41.9, 12.5}, {"Europe/London", 51.5, -0.1},
	{"Europe/Warsaw", 52.2, 21}, {"Europe/Athens", 38, 23.7}, {"Europe/Helsinki", 60.2, 24.9}, {"Europe/Istanbul", 41, 29}, {"America/New_York", 40.7, -74},
	{"America/Chicago", 41.9, -87.6}, {"America/Los_Angeles", 34, -118.2}, {"America/Sao_Paulo", -23.5, -46.6}, {"America/Santiago", -33.4, -70.7},
	{"America/Mexico_City", 19.4, -99.1}, {"Africa/Johannesburg", -26.2, 28}, {"Africa/Nairobi", -1.3, 36.8}, {"Asia/Kolkata", 28.6, 77.2},
	{"Asia/Shanghai", 31.2, 121.5}, {"Asia/Tokyo", 35.7, 139.7}, {"Asia/Seoul", 37.6, 127}, {"Asia/Bangkok", 13.8, 100.5}, {"Asia/Jakarta", -6.2, 106.8},
	{"Asia/Riyadh", 24.7, 46.7}, {"Asia/Jerusalem", 31.8, 35.2}, {"Australia/Sydney", -33.9, 151.2}, {"Australia/Perth", -31.9, 115.9}, {"Pacific/Auckland", -36.8, 174.8},
}

// sinElevation returns the sine of the sun's elevation, good to about a degree.
func (p place) sinElevation(at int64) float64 {
	t := time.Unix(at, 0).UTC()
	year := 2 * math.Pi * (float64(t.YearDay()) - 81) / 365
	declination := 23.45 * math.Pi / 180 * math.Sin(year)
	equation := 9.87*math.Sin(2*year) - 7.53*math.Cos(year) - 1.5*math.Sin(year) // minutes
	hour := float64(t.Hour()) + float64(t.Minute())/60 + float64(t.Second())/3600 + p.lon/15 + equation/60
	angle := (hour - 12) * math.Pi / 12
	lat := p.lat * math.Pi / 180
	return math.Sin(lat)*math.Sin(declination) + math.Cos(lat)*math.Cos(declination)*math.Cos(angle)
}

// generator draws one export.
type generator struct {
	*rand.Rand
	lang     language
	place    place
	zone     *time.Location
	times    []int64
	step     int64
	light    []float64 // W/m²
	cloud    []float64
	capacity []float64 // kW, by unit
	power    [][]float64
	kind     string
	scale    float64 // kW or kWh in one of the file's unit
	unit     string
	unitless bool
	decimals int
	decimal  byte
	group    string // thousands mark
	missing  string
	labels   string // how a column's name carries its unit
	file     export
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// word returns one spelling of a vocabulary entry.
func (g *generator) word(entry string) string { return pick(g, strings.Split(entry, "|")...) }

func (g *generator) feature(format string, args ...any) {
	g.file.features = append(g.file.features, fmt.Sprintf(format, args...))
}

// generate draws the export of a seed.
func generate(seed uint64) export {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 20261129))}
	g.file.seed = seed
	g.lang = pick(g, languages...)
	if g.chance(0.25) {
		g.lang = languages[0]
	}
	g.feature("lang=%s", g.lang.code)
	g.simulate()
	g.chooseUnit()
	g.numberStyle()
	g.write()
	return g.file
}

func (g *generator) simulate() {
	g.place = pick(g, places...)
	zone, err := time.LoadLocation(g.place.zone)
	if err != nil {
		panic(err)
	}
	g.zone = zone
	g.step = pick[int64](g, 300, 300, 600, 900, 900, 900, 1800, 3600, 3600)
	g.file.step = g.step
	days := 2 + g.IntN(6)
	for {
		// From the 13th on day and month cannot be confused; changes to
		// and from summer time are covered elsewhere.
		start := time.Date(2019+g.IntN(8), time.Month(1+g.IntN(10)), 13+g.IntN(10), 0, 0, 0, 0, zone)
		_, a := start.Zone()
		_, b := start.AddDate(0, 0, days+1).Zone()
		if a != b {
			continue
		}
		for t := start.Unix(); t < start.AddDate(0, 0, days).Unix(); t += g.step {
			g.times = append(g.times, t)
		}
		break
	}
	n := len(g.times)
	g.cloud, g.light = make([]float64, n), make([]float64, n)
	cover := g.Float64()
	for i, t := range g.times {
		cover = math.Max(0, math.Min(1, cover+0.12*g.NormFloat64()))
		g.cloud[i] = 1 - 0.75*cover*cover
		g.light[i] = math.Max(0, 1050*math.Pow(math.Max(0, g.place.sinElevation(t)), 1.15)*g.cloud[i])
	}
	count := 1
	if g.chance(0.6) {
		count = 2 + g.IntN(5)
	}
	size := math.Pow(10, 0.5+3*g.Float64()) // 3 kW to 3 MW
	for range count {
		own := size * (0.6 + 0.4*g.Float64())
		g.capacity = append(g.capacity, own)
		p := make([]float64, n)
		for i, l := range g.light {
			p[i] = own * l / 1000 * 0.9 * (1 + 0.03*g.NormFloat64())
			if p[i] < own*0.004 {
				p[i] = 0
			}
		}
		g.power = append(g.power, p)
	}
}

// chooseUnit draws the kind of values and their unit.
func (g *generator) chooseUnit() {
	g.kind = pick(g, ingest.KindPower, ingest.KindPower, ingest.KindPower, ingest.KindIntervalEnergy, ingest.KindIntervalEnergy, ingest.KindCounter, ingest.KindDailyCounter)
	g.file.kind = g.kind
	g.file.exact = g.kind == ingest.KindPower || g.kind == ingest.KindIntervalEnergy
	suffix := "h"
	if g.kind == ingest.KindPower {
		suffix = ""
	}
	g.unit, g.scale = "k"+"W"+suffix, 1
	switch big := slices.Max(g.capacity); {
	case big < 60 && g.chance(0.5):
		g.unit, g.scale = "W"+suffix, 1e-3
	case big > 800 && g.chance(0.4):
		g.unit, g.scale = "M"+"W"+suffix, 1e3
	}
	g.feature("kind=%s", g.kind)
	g.feature("unit=%s", g.unit)
	g.file.options = ingest.Options{Zone: g.zone, Now: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)}
	total := 0.0
	for _, c := range g.capacity {
		total += c
	}
	g.unitless = g.chance(0.12)
	if g.unitless || g.chance(0.5) {
		g.file.options.CapacityKW = math.Round(total*10) / 10
		g.feature("capacity")
	}
	if g.unitless {
		g.feature("unitless")
	}
}

// numberStyle draws the decimal separator, the decimals and the mark of missing
// values.
func (g *generator) numberStyle() {
	g.decimal = '.'
	if g.lang.decimal == ',' && g.chance(0.7) {
		g.decimal = ','
	}
	quantum := slices.Min(g.capacity) * 1e-3
	if g.kind != ingest.KindPower {
		quantum = slices.Min(g.capacity) * float64(g.step) / 3600 * 2e-3
	}
	if g.kind == ingest.KindCounter || g.kind == ingest.KindDailyCounter {
		quantum *= 5
	}
	g.decimals = max(0, int(math.Ceil(-math.Log10(quantum/g.scale))))
	if g.chance(0.3) {
		g.decimals++
	}
	g.missing = pick(g, "", "", "", "-", "NaN", "null", "n/a", "--", "NULL", "#N/A", "---")
	if g.decimal == ',' {
		g.group = pick(g, "", "", "", "", ".", " ", "\u00a0")
	} else {
		g.group = pick(g, "", "", "", "", "", ",", "'")
	}
	if g.group != "" {
		g.feature("thousands=%q", g.group)
	}
}

// number writes a value with d decimals.
func (g *generator) number(v float64, d int) string {
	if math.IsNaN(v) {
		return g.missing
	}
	s := strconv.FormatFloat(v, 'f', d, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	if g.group != "" {
		sign := ""
		if strings.HasPrefix(whole, "-") {
			sign, whole = "-", whole[1:]
		}
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + g.group + whole[i:]
		}
		whole = sign + whole
	}
	if fraction == "" {
		return whole
	}
	return whole + string(g.decimal) + fraction
}

// source returns what the file writes for a unit's powers, and the powers that a correct import gives for it.
func (g *generator) source(power []float64) (written []float64, unit exportUnit) {
	n := len(power)
	written = make([]float64, n)
	unit = exportUnit{times: g.times, kW: make([]float64, n)}
	hours := float64(g.step) / 3600
	digit := math.Pow(10, -float64(g.decimals))
	round := func(v float64) float64 { return math.Round(v/digit) * digit }
	start, sum := 0.0, 0.0
	if g.kind == ingest.KindCounter {
		start = (200 + 1800*g.Float64()) * slices.Max(power)
	}
	for i, p := range power {
		switch g.kind {
		case ingest.KindPower:
			written[i] = round(p / g.scale)
			unit.kW[i] = written[i] * g.scale
		case ingest.KindIntervalEnergy:
			written[i] = round(p * hours / g.scale)
			unit.kW[i] = written[i] * g.scale / hours
		default:
			local := time.Unix(g.times[i], 0).In(g.zone)
			if g.kind == ingest.KindDailyCounter && local.Hour() == 0 && local.Minute() == 0 {
				sum = 0
			}
			sum += p * hours
			written[i] = round((start + sum) / g.scale)
			unit.kW[i] = p
		}
	}
	unit.quant = digit * g.scale
	if g.kind != ingest.KindPower {
		unit.quant /= hours
	}
	return written, unit
}

// table is a file that is being made: header lines, then rows.
type table struct {
	header [][]string
	rows   [][]string
}

func (g *generator) write() {
	var t table
	clock := g.timeStyle()
	layout := "single"
	switch r := g.Float64(); {
	case len(g.capacity) > 1 && r < 0.45:
		layout = "wide"
	case len(g.capacity) > 1 && r < 0.85:
		layout = "long"
	case len(g.capacity) > 1:
		layout = "measures"
	case r < 0.06 && g.step >= 900 && g.file.exact:
		layout = "hours"
	case r < 0.12 && g.kind == ingest.KindPower:
		layout = "phases"
	case r < 0.16:
		layout = "transposed"
	case r < 0.22:
		layout = "measures"
	}
	if layout == "transposed" || layout == "hours" {
		for clock = g.wholeTimes(); strings.HasSuffix(clock.name, "(UTC)"); clock = g.wholeTimes() {
		} // no column's name could carry the zone
	}
	g.feature("layout=%s", layout)
	g.feature("time=%s", clock.name)
	switch layout {
	case "wide":
		g.wide(&t, clock)
	case "long":
		g.long(&t, clock)
	case "measures":
		g.measures(&t, clock)
	case "hours":
		g.hours(&t)
	case "phases":
		g.phases(&t, clock)
	case "transposed":
		g.transposed(&t, clock)
	default:
		g.single(&t, clock)
	}
	g.assemble(t, layout)
}

// blank removes some values of a unit, from the file and from the truth.
func (g *generator) blank(written []float64, unit *exportUnit) {
	if g.missing == "" && g.chance(0.6) || g.chance(0.5) || !g.file.exact {
		return
	}
	for i := range written {
		if g.chance(0.015) {
			written[i], unit.kW[i] = math.NaN(), math.NaN()
		}
	}
}

// label puts a unit of measure behind a column's name, in one of the ways that exports have.
func (g *generator) label(name, unit string) string {
	if unit == "" {
		return name
	}
	if g.labels == "" {
		g.labels = pick(g, "%s (%s)", "%s (%s)", "%s [%s]", "%s [%s]", "%s_%s", "%s, %s", "%s %s", "%s in %s", "%s/%s")
	}
	return fmt.Sprintf(g.labels, name, unit)
}

// mainName returns the name of a column of production.
func (g *generator) mainName() string {
	switch g.kind {
	case ingest.KindPower:
		return g.word(g.lang.power)
	case ingest.KindCounter:
		return g.word(g.lang.counter)
	case ingest.KindDailyCounter:
		return g.word(g.lang.today)
	}
	return g.word(g.lang.energy)
}

func (g *generator) mainUnit() string {
	if g.unitless {
		return ""
	}
	return g.unit
}

// extra is a column other than production.
type extra struct {
	name  string
	cells func(i int) string
}

// extras draws columns other than production.
func (g *generator) extras() []extra {
	var out []extra
	add := func(p float64, what, name string, cells func(int) string) {
		if g.chance(p) {
			out = append(out, extra{name, cells})
			g.feature("extra=%s", what)
		}
	}
	value := func(d int, f func(i int) float64) func(int) string {
		return func(i int) string { return g.number(f(i), d) }
	}
	sum := 0.0
	for _, c := range g.capacity {
		sum += c
	}
	hours := float64(g.step) / 3600
	main := 1.0
	if g.kind != ingest.KindPower {
		main = hours
	}
	add(0.25, "irradiance", g.label(g.word(g.lang.light), pick(g, "W/m²", "W/m2")), value(0, func(i int) float64 { return g.light[i] }))
	add(0.2, "ambient", g.label(g.word(g.lang.ambient), pick(g, "°C", "C")), value(1, func(i int) float64 { return 14 + 6*g.light[i]/1000 }))
	add(0.15, "module", g.label(g.word(g.lang.module), "°C"), value(1, func(i int) float64 { return 14 + 35*g.light[i]/1000 }))
	running, idle := g.word(g.lang.running), g.word(g.lang.idle)
	add(0.15, "status", g.word(g.lang.status), func(i int) string {
		if g.light[i] > 20 {
			return running
		}
		return idle
	})
	add(0.06, "hour", g.word(g.lang.hour), func(i int) string { return strconv.Itoa(time.Unix(g.times[i], 0).In(g.zone).Hour()) })
	add(0.06, "forecast", g.label(g.word(g.lang.forecast), g.mainUnit()), value(g.decimals, func(i int) float64 {
		return sum * math.Max(0, g.place.sinElevation(g.times[i])) * 0.7 * main / g.scale
	}))
	add(0.06, "expected", g.label(g.word(g.lang.expected), g.mainUnit()), value(g.decimals, func(i int) float64 { return sum * g.light[i] / 1000 * 0.98 * main / g.scale }))
	add(0.08, "load", g.label(g.word(g.lang.load), g.mainUnit()), value(g.decimals, func(i int) float64 {
		return sum * (0.12 + 0.08*math.Sin(float64(g.times[i])/7000)) * main / g.scale
	}))
	add(0.06, "frequency", g.label(pick(g, "Frequency", "f", "fac"), "Hz"), value(2, func(int) float64 { return 50 + 0.02*g.NormFloat64() }))
	add(0.06, "voltage", g.label(pick(g, "U L1", "Voltage A", "Uac"), "V"), value(1, func(int) float64 { return 230 + 2*g.NormFloat64() }))
	add(0.05, "money", g.label(pick(g, "Revenue", "Income"), pick(g, "EUR", "€", "USD")), value(2, func(i int) float64 { return sum * g.light[i] / 1000 * hours * 0.1 }))
	add(0.05, "empty", pick(g, "Note", "Comment", "Remark"), func(int) string { return "" })
	g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// unitNames draws the names of the units.
func (g *generator) unitNames() []string {
	stem := g.word(g.lang.unit)
	style := g.IntN(5)
	names := make([]string, len(g.capacity))
	serial := 1000 + g.IntN(8000)
	letters := g.Perm(26)
	for i := range names {
		switch style {
		case 0, 1:
			names[i] = stem + strconv.Itoa(i+1)
		case 2:
			names[i] = fmt.Sprintf("%s%02d", stem, i+1)
		case 3:
			names[i] = fmt.Sprintf("%c%c%07d", 'A'+letters[0], 'A'+letters[1], serial*1000+37*i)
		default:
			names[i] = stem + string(rune('A'+letters[i]))
		}
		names[i] = strings.TrimSpace(names[i])
	}
	g.feature("names=%d", style)
	return names
}

func (g *generator) single(t *table, clock timeStyle) {
	written, unit := g.source(g.power[0])
	g.blank(written, &unit)
	g.file.units = []exportUnit{unit}
	columns := append([]extra{{g.label(g.mainName(), g.mainUnit()), func(i int) string { return g.number(written[i], g.decimals) }}}, g.extras()...)
	if g.chance(0.3) {
		g.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	}
	g.columns(t, clock, columns)
}

// columns lays out a table with one row for each time.
func (g *generator) columns(t *table, clock timeStyle, columns []extra) {
	header := slices.Clone(clock.header)
	for _, c := range columns {
		header = append(header, c.name)
	}
	t.header = [][]string{header}
	for i, at := range g.times {
		row := clock.cells(at)
		for _, c := range columns {
			row = append(row, c.cells(i))
		}
		t.rows = append(t.rows, row)
	}
}

func (g *generator) wide(t *table, clock timeStyle) {
	names := g.unitNames()
	main := g.mainName()
	style := g.IntN(4)
	g.feature("wide=%d", style)
	var columns []extra
	sum := make([]float64, len(g.times))
	for u, name := range names {
		written, unit := g.source(g.power[u])
		g.faultyCounter(written, &unit)
		g.blank(written, &unit)
		unit.names = []string{name}
		for i, v := range written {
			if !math.IsNaN(v) {
				sum[i] += v
			}
		}
		g.file.units = append(g.file.units, unit)
		title := g.label(name, g.mainUnit())
		switch style {
		case 1:
			title = g.label(name+" "+main, g.mainUnit())
		case 2:
			title = g.label(main+" "+name, g.mainUnit())
		case 3:
			title = name
		}
		columns = append(columns, extra{title, func(i int) string { return g.number(written[i], g.decimals) }})
	}
	if g.chance(0.35) {
		g.feature("total")
		title := g.word(g.lang.total)
		if style == 1 || style == 2 {
			title += " " + main
		}
		if style != 3 {
			title = g.label(title, g.mainUnit())
		}
		at := pick(g, 0, len(columns))
		columns = slices.Insert(columns, at, extra{title, func(i int) string { return g.number(sum[i], g.decimals) }})
	}
	if style != 3 {
		columns = append(columns, g.extras()...)
	}
	g.columns(t, clock, columns)
	if style == 3 && !g.unitless {
		// Units of measure in a line below the names.
		line := make([]string, len(t.header[0]))
		for i := len(clock.header); i < len(line); i++ {
			line[i] = g.unit
		}
		t.header = append(t.header, line)
		g.feature("unit-line")
	}
}

// faultyCounter puts a fault into a counter that a reader can distinguish from
// production.
func (g *generator) faultyCounter(written []float64, unit *exportUnit) {
	if g.kind != ingest.KindCounter || !g.chance(0.15) {
		return
	}
	g.feature("counter-glitch")
	for range 1 + g.IntN(3) {
		written[5+g.IntN(len(written)-10)] = 0
	}
	_ = unit // the energy of the unit is what it was
}

func (g *generator) long(t *table, clock timeStyle) {
	names := g.unitNames()
	type unitRows struct {
		written []float64
		serial  string
	}
	var all []unitRows
	hasSerial := g.chance(0.15)
	for u, name := range names {
		written, unit := g.source(g.power[u])
		g.faultyCounter(written, &unit)
		g.blank(written, &unit)
		unit.names = []string{name}
		serial := fmt.Sprintf("%07d", 2100000+g.IntN(800000))
		if hasSerial {
			unit.names = append(unit.names, serial)
		}
		g.file.units = append(g.file.units, unit)
		all = append(all, unitRows{written, serial})
	}
	keyName := g.word(g.lang.key)
	if g.chance(0.2) {
		keyName = g.word(languages[0].key)
	}
	g.feature("key=%s", keyName)
	more := g.extras()
	var t2 = t
	header := slices.Clone(clock.header)
	keyAt := pick(g, 0, len(header), len(header))
	header = slices.Insert(header, keyAt, keyName)
	if hasSerial {
		header = append(header, pick(g, "Serial", "S/N", "Serial number"))
		g.feature("serial")
	}
	header = append(header, g.label(g.mainName(), g.mainUnit()))
	for _, c := range more {
		header = append(header, c.name)
	}
	t2.header = [][]string{header}
	row := func(u, i int, name string, v float64) []string {
		cells := slices.Insert(clock.cells(g.times[i]), keyAt, name)
		if hasSerial {
			serial := ""
			if u >= 0 {
				serial = all[u].serial
			}
			cells = append(cells, serial)
		}
		cells = append(cells, g.number(v, g.decimals))
		for _, c := range more {
			cells = append(cells, c.cells(i))
		}
		return cells
	}
	withTotal := !hasSerial && g.file.exact && g.chance(0.15)
	totalName := g.word(g.lang.total)
	if withTotal {
		g.feature("total-rows")
	}
	if g.chance(0.6) {
		g.feature("by-time")
		for i := range g.times {
			sum := 0.0
			for u, name := range names {
				v := all[u].written[i]
				if !math.IsNaN(v) {
					sum += v
				}
				t2.rows = append(t2.rows, row(u, i, name, v))
			}
			if withTotal {
				t2.rows = append(t2.rows, row(-1, i, totalName, sum))
			}
		}
		return
	}
	g.feature("by-unit")
	for u, name := range names {
		for i := range g.times {
			t2.rows = append(t2.rows, row(u, i, name, all[u].written[i]))
		}
	}
	if withTotal {
		for i := range g.times {
			sum := 0.0
			for u := range names {
				if v := all[u].written[i]; !math.IsNaN(v) {
					sum += v
				}
			}
			t2.rows = append(t2.rows, row(-1, i, totalName, sum))
		}
	}
}

// measures has one row for each time, unit and quantity.
func (g *generator) measures(t *table, clock timeStyle) {
	names := g.unitNames()
	withKey := len(names) > 1 || g.chance(0.5)
	unitColumn := !g.unitless && g.chance(0.5)
	main := g.mainName()
	if !unitColumn {
		main = g.label(main, g.mainUnit())
	}
	light, module := g.word(g.lang.light), g.word(g.lang.module)
	if !unitColumn {
		light, module = light+" (W/m²)", module+" (°C)"
	}
	header := slices.Clone(clock.header)
	if withKey {
		header = append(header, g.word(g.lang.key))
	}
	header = append(header, g.word(g.lang.quantity), g.word(g.lang.value))
	if unitColumn {
		header = append(header, "Unit")
	}
	t.header = [][]string{header}
	var written [][]float64
	for u, name := range names {
		w, unit := g.source(g.power[u])
		g.blank(w, &unit)
		if withKey {
			unit.names = []string{name}
		}
		g.file.units = append(g.file.units, unit)
		written = append(written, w)
	}
	second := g.chance(0.7)
	row := func(i int, name, quantity, value, unit string) {
		cells := clock.cells(g.times[i])
		if withKey {
			cells = append(cells, name)
		}
		cells = append(cells, quantity, value)
		if unitColumn {
			cells = append(cells, unit)
		}
		t.rows = append(t.rows, cells)
	}
	for i := range g.times {
		for u, name := range names {
			row(i, name, main, g.number(written[u][i], g.decimals), g.unit)
			if second {
				row(i, name, module, g.number(14+35*g.light[i]/1000, 1), "°C")
				row(i, name, light, g.number(g.light[i], 0), "W/m²")
			}
		}
	}
}

// hours has a row for each day and a column for each interval.
func (g *generator) hours(t *table) {
	written, unit := g.source(g.power[0])
	g.file.units = []exportUnit{unit}
	header := []string{g.word(g.lang.date)}
	rows := map[string]int{}
	for i, at := range g.times {
		local := time.Unix(at, 0).In(g.zone)
		if day := local.Format("2006-01-02"); len(t.rows) == 0 || t.rows[len(t.rows)-1][0] != day {
			rows[day] = len(t.rows)
			t.rows = append(t.rows, []string{day})
		}
		if len(t.rows) == 1 {
			header = append(header, local.Format("15:04"))
		}
		last := len(t.rows) - 1
		t.rows[last] = append(t.rows[last], g.number(written[i], g.decimals))
	}
	t.header = [][]string{{g.label(g.mainName(), g.mainUnit())}, header}
}

// phases has three phases and their sum.
func (g *generator) phases(t *table, clock timeStyle) {
	written, unit := g.source(g.power[0])
	g.file.units = []exportUnit{unit}
	main := g.mainName()
	name := func(s string) string { return g.label(main+" "+s, g.mainUnit()) }
	third := func(k int) func(int) string {
		share := []float64{0.34, 0.33, 0.33}[k]
		return func(i int) string { return g.number(written[i]*share, g.decimals) }
	}
	marks := pick(g, []string{"L1", "L2", "L3"}, []string{"A", "B", "C"}, []string{"R", "S", "T"})
	columns := []extra{{name(marks[0]), third(0)}, {name(marks[1]), third(1)}, {name(marks[2]), third(2)}}
	total := extra{name(g.word(g.lang.total)), func(i int) string { return g.number(written[i], g.decimals) }}
	columns = slices.Insert(columns, pick(g, 0, 3), total)
	g.columns(t, clock, columns)
}

// transposed has a row for each unit and a column for each time.
func (g *generator) transposed(t *table, clock timeStyle) {
	if len(g.times) > 600 {
		g.times = g.times[:600]
	}
	names := g.unitNames()
	header := []string{g.word(g.lang.key)}
	for _, at := range g.times {
		header = append(header, clock.cells(at)[0])
	}
	t.header = [][]string{{g.label(g.mainName(), g.mainUnit())}, header}
	for u, name := range names {
		written, unit := g.source(g.power[u][:len(g.times)])
		unit.names = []string{name}
		g.file.units = append(g.file.units, unit)
		row := []string{name}
		for _, v := range written {
			row = append(row, g.number(v, g.decimals))
		}
		t.rows = append(t.rows, row)
	}
}

// assemble turns the table into bytes: preamble, order, quoting, footer, encoding.
func (g *generator) assemble(t table, layout string) {
	delim := pick(g, ",", ";", ";", "\t", "|")
	if g.decimal == '.' && g.chance(0.5) {
		delim = ","
	}
	if layout != "hours" && layout != "transposed" {
		if g.chance(0.1) {
			slices.Reverse(t.rows)
			g.feature("newest-first")
		} else if g.chance(0.15) && len(t.rows) > 100 {
			g.dropRows(&t)
		}
	}
	g.feature("delim=%q", delim)
	always := g.chance(0.2)
	var out strings.Builder
	eol := pick(g, "\n", "\r\n")
	line := func(cells []string) {
		for i, c := range cells {
			if i > 0 {
				out.WriteString(delim)
			}
			if always || strings.Contains(c, delim) || strings.Contains(c, `"`) {
				c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
			}
			out.WriteString(c)
		}
		out.WriteString(eol)
	}
	if g.chance(0.3) {
		g.feature("preamble")
		line([]string{g.word(g.lang.report)})
		if g.chance(0.5) {
			line([]string{pick(g, "Site: Hillside", "# export v3", "Plant;Hillside", "Customer: 1042")})
		}
		if g.chance(0.5) {
			line(nil)
		}
	}
	for _, h := range t.header {
		line(h)
	}
	for _, r := range t.rows {
		line(r)
	}
	if g.chance(0.2) && layout != "hours" && layout != "transposed" {
		g.feature("footer")
		line([]string{g.word(g.lang.footer)})
	}
	text := strings.TrimSuffix(out.String(), eol)
	if g.chance(0.7) {
		text += eol
	}
	g.encode(text)
}

// dropRows leaves out a run of rows, as a logger that was off would.
func (g *generator) dropRows(t *table) {
	per := max(1, len(t.rows)/len(g.times))
	if len(t.rows) != per*len(g.times) || per > 1 || !g.file.exact {
		return
	}
	g.feature("gap")
	from := 20 + g.IntN(len(t.rows)-60)
	n := 3 + g.IntN(20)
	t.rows = slices.Delete(t.rows, from, from+n)
	for u := range g.file.units {
		for i := from; i < from+n; i++ {
			g.file.units[u].kW[i] = math.NaN()
		}
	}
}

func (g *generator) encode(text string) {
	switch r := g.Float64(); {
	case r < 0.06:
		g.feature("utf16")
		var b bytes.Buffer
		b.Write([]byte{0xff, 0xfe})
		for _, c := range utf16.Encode([]rune(text)) {
			b.Write([]byte{byte(c), byte(c >> 8)})
		}
		g.file.text = b.Bytes()
	case r < 0.14:
		if b, err := charmap.Windows1252.NewEncoder().String(text); err == nil {
			g.feature("cp1252")
			g.file.text = []byte(b)
			return
		}
		g.file.text = []byte(text)
	case r < 0.4:
		g.file.text = append([]byte("\ufeff"), text...)
	default:
		g.file.text = []byte(text)
	}
}
