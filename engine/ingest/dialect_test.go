package ingest

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

// writing is one way to write a production file.
type writing struct {
	delim    string
	decimal  string
	layout   string // of Go's time package
	zone     *time.Location
	encoding encoding.Encoding // nil: UTF-8
	bom      bool
	newline  string
	kind     string
	unit     string // of power or energy
	header   [3]string
	quoted   bool
	reversed bool
	preamble bool
	shape    string // "one", "wide" or "long"
	group    string // mark between thousands
	unitLine bool   // units stand below the header, not in it
	missing  string // a missing value
	footer   []string
	arrange  func(rows [][]string) [][]string
}

// headers are names of time, device, power and energy in several languages.
var headers = map[string][4]string{
	"en": {"Timestamp", "Device", "AC Power", "Energy produced"},
	"de": {"Zeitstempel", "Wechselrichter", "Leistung", "Erzeugung"},
	"nl": {"Tijdstip", "Omvormer", "Vermogen", "Opbrengst"},
	"fr": {"Horodate", "Onduleur", "Puissance", "Production"},
	"es": {"Fecha y hora", "Inversor", "Potencia", "Energía generada"},
	"it": {"Data e ora", "Dispositivo", "Potenza", "Energia prodotta"},
	"pt": {"Data e hora", "Inversor", "Potência", "Energia gerada"},
	"zh": {"时间", "设备名称", "有功功率", "发电量"},
}

func drawWriting(t *rapid.T) writing {
	w := writing{
		delim:    rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(t, "delimiter"),
		newline:  rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "newline"),
		kind:     rapid.SampledFrom([]string{KindPower, KindIntervalEnergy, KindCounter}).Draw(t, "kind"),
		shape:    rapid.SampledFrom([]string{"one", "wide", "long"}).Draw(t, "shape"),
		reversed: rapid.Bool().Draw(t, "reversed"),
		quoted:   rapid.Bool().Draw(t, "quoted"),
		preamble: rapid.Bool().Draw(t, "preamble"),
		bom:      rapid.Bool().Draw(t, "bom"),
		layout: rapid.SampledFrom([]string{"2006-01-02 15:04", "2006-01-02T15:04:05Z07:00", "02.01.2006 15:04:05", "02/01/2006 15:04", "01/02/2006 15:04",
			"1/2/2006 3:04 PM", "2006/01/02 15:04:05", "02-Jan-2006 15:04", "20060102 15:04", "2006-01-02 15:04:05 -0700", "200601021504", "02.01.06 15:04"}).Draw(t, "layout"),
	}
	w.decimal = "."
	if w.delim != "," || w.quoted {
		w.decimal = rapid.SampledFrom([]string{".", ","}).Draw(t, "decimal")
	}
	if groups := map[string][]string{".": {"", ",", " ", "'"}, ",": {"", ".", " ", "'"}}[w.decimal]; w.delim != "," || w.quoted {
		w.group = rapid.SampledFrom(groups).Draw(t, "thousands")
	}
	w.unitLine = rapid.Bool().Draw(t, "unit line")
	w.missing = rapid.SampledFrom([]string{"", "-", "--", "NaN", "null", "N/A", "n/a", "no data", "#N/A"}).Draw(t, "missing")
	w.footer = rapid.SampledFrom([][]string{nil, {"Total", "123"}, {"Summe"}, {"Exported by Portal"}}).Draw(t, "footer")
	zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "America/Sao_Paulo"}).Draw(t, "zone")
	var err error
	if w.zone, err = time.LoadLocation(zone); err != nil {
		t.Fatal(err)
	}
	language := rapid.SampledFrom([]string{"en", "de", "nl", "fr", "es", "it", "pt", "zh"}).Draw(t, "language")
	names := headers[language]
	w.unit = rapid.SampledFrom([]string{"W", "kW", "MW"}).Draw(t, "unit")
	w.header = [3]string{names[0], names[1], names[2]}
	if w.kind != KindPower {
		w.unit += "h"
		w.header[2] = names[3]
	}
	switch rapid.SampledFrom([]string{"utf-8", "utf-16le", "utf-16be", "1252"}).Draw(t, "encoding") {
	case "utf-16le":
		w.encoding = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "utf-16be":
		w.encoding = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case "1252":
		if language != "zh" {
			w.encoding = charmap.Windows1252
		}
	}
	return w
}

// plant is true power of devices at even times.
type plant struct {
	times []int64
	names []string
	kW    [][]float64 // by device
	gone  [][]bool    // values that were not written down
	step  int64
}

// drawPlant draws a few days, often those in which the zone changes its clocks.
func drawPlant(t *rapid.T, shape string, zone *time.Location) plant {
	p := plant{step: 60 * rapid.SampledFrom([]int64{5, 10, 15, 30, 60}).Draw(t, "step")}
	start := rapid.Int64Range(1_300_000_000, 1_700_000_000).Draw(t, "start") / hour * hour
	if _, change := time.Unix(start, 0).In(zone).ZoneBounds(); change.Year() > 2000 && change.Before(now) && rapid.Bool().Draw(t, "change") {
		start = change.Unix()/hour*hour - 18*hour
	}
	days := rapid.Int64Range(2, 5).Draw(t, "days")
	for at := start; at < start+days*day; at += p.step {
		p.times = append(p.times, at)
	}
	devices := 1
	if shape != "one" {
		devices = rapid.IntRange(2, 4).Draw(t, "devices")
	}
	peak := rapid.Float64Range(1, 500).Draw(t, "peak")
	for d := range devices {
		p.names = append(p.names, "INV-"+strconv.Itoa(d+1))
		var kW []float64
		for i, at := range p.times {
			sun := math.Max(0, -math.Cos(float64(at%day)/day*2*math.Pi))
			cloud := 0.6 + 0.4*math.Abs(math.Sin(float64(i*(d+3))))
			kW = append(kW, math.Round(peak*sun*cloud*1000)/1000)
		}
		p.kW = append(p.kW, kW)
		p.gone = append(p.gone, make([]bool, len(p.times)))
	}
	for range rapid.IntRange(0, 6).Draw(t, "missing values") {
		p.gone[rapid.IntRange(0, devices-1).Draw(t, "of")][rapid.IntRange(2, len(p.times)-2).Draw(t, "at")] = true
	}
	return p
}

var perUnit = map[string]float64{"W": 1000, "kW": 1, "MW": 0.001, "Wh": 1000, "kWh": 1, "MWh": 0.001}

// file writes the plant down.
func (w writing) file(p plant) []byte {
	counters := make([]float64, len(p.names))
	for d := range counters {
		counters[d] = 20000
	}
	hours := float64(p.step) / hour
	var rows [][]string
	for i, at := range p.times {
		stamp := time.Unix(at, 0).In(w.zone).Format(w.layout)
		values := make([]string, len(p.names))
		for d := range p.names {
			v := p.kW[d][i]
			switch w.kind {
			case KindIntervalEnergy:
				v *= hours
			case KindCounter:
				if i > 0 {
					counters[d] += v * hours
				}
				v = counters[d]
			}
			values[d] = w.number(v * perUnit[w.unit])
			if p.gone[d][i] {
				values[d] = w.missing
			}
		}
		if w.shape == "long" {
			for d, name := range p.names {
				rows = append(rows, []string{stamp, name, values[d]})
			}
			continue
		}
		rows = append(rows, append([]string{stamp}, values...))
	}
	if w.reversed {
		slices.Reverse(rows)
	}
	if w.arrange != nil {
		rows = w.arrange(rows)
	}
	title, units := []string{w.header[0]}, []string{""}
	named := func(name, form string) {
		if w.unitLine {
			title, units = append(title, name), append(units, w.unit)
			return
		}
		title = append(title, name+fmt.Sprintf(form, w.unit))
	}
	switch w.shape {
	case "one":
		named(w.header[2], " [%s]")
	case "wide":
		for _, name := range p.names {
			named(name+" "+w.header[2], " (%s)")
		}
	case "long":
		title, units = append(title, w.header[1]), append(units, "")
		named(w.header[2], " (%s)")
	}
	top := [][]string{title}
	if w.unitLine {
		top = append(top, units)
	}
	rows = append(top, rows...)
	if w.footer != nil {
		rows = append(rows, w.footer)
	}
	return w.encode(rows)
}

// number writes a value with its marks.
func (w writing) number(v float64) string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', 7, 64), ".")
	for at := len(whole) - 3; at > 0 && w.group != ""; at -= 3 {
		whole = whole[:at] + w.group + whole[at:]
	}
	return whole + w.decimal + fraction
}

func (w writing) encode(rows [][]string) []byte {
	var b strings.Builder
	if w.preamble {
		b.WriteString("Site: Rooftop 7" + w.newline + w.newline)
	}
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteString(w.delim)
			}
			if w.quoted {
				cell = `"` + cell + `"`
			}
			b.WriteString(cell)
		}
		b.WriteString(w.newline)
	}
	text := []byte(b.String())
	if w.encoding == nil {
		if w.bom {
			return append([]byte("\xef\xbb\xbf"), text...)
		}
		return text
	}
	out, err := w.encoding.NewEncoder().Bytes(text)
	if err != nil {
		panic(err)
	}
	return out
}

// TestAnyDialect writes the same plant in every dialect and reads it back.
func TestAnyDialect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWriting(t)
		p := drawPlant(t, w.shape, w.zone)
		res, err := Read(bytes.NewReader(w.file(p)), Options{Zone: w.zone, CapacityKW: 0, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if res.ValueKind != w.kind || res.UnitSource != w.unit || res.Interval != time.Duration(p.step)*time.Second {
			t.Fatalf("%s in %s every %s\n%v", res.ValueKind, res.UnitSource, res.Interval, res.Decisions)
		}
		compare(t, w, p, res)
	})
}

// TestAnyOrder asserts that the order of rows does not matter if each time is
// unambiguous.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWriting(t)
		w.layout = "2006-01-02T15:04:05Z07:00"
		w.arrange = func(rows [][]string) [][]string { return rapid.Permutation(rows).Draw(t, "rows") }
		p := drawPlant(t, w.shape, w.zone)
		res, err := Read(bytes.NewReader(w.file(p)), Options{Zone: w.zone, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(res.Assets, func(a, b Asset) int { return strings.Compare(a.Name, b.Name) })
		compare(t, w, p, res)
	})
}

func compare(t *rapid.T, w writing, p plant, res *Result) {
	if len(res.Assets) != len(p.names) {
		t.Fatalf("%d assets, want %v\n%v", len(res.Assets), p.names, res.Decisions)
	}
	for d, a := range res.Assets {
		if w.shape != "one" && a.Name != p.names[d] {
			t.Fatalf("asset %q, want %q", a.Name, p.names[d])
		}
		got := measured(a.Frame)
		want := p.usable(w.kind, d)
		for at, kW := range want {
			if v, ok := got[at]; !ok || math.Abs(v-kW) > 0.02 {
				t.Fatalf("%s at %d: %v kW (%v), want %v\n%v", a.Name, at, v, ok, kW, res.Decisions)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d values, want %d\n%v", a.Name, len(got), len(want), res.Decisions)
		}
	}
}

// usable returns the power that a file of the kind determines for a device: a
// counter determines nothing before its first reading, and only the mean over a
// missing one.
func (p plant) usable(kind string, device int) map[int64]float64 {
	out := map[int64]float64{}
	sum, n, first := 0.0, 0.0, true
	for i, at := range p.times {
		sum, n = sum+p.kW[device][i], n+1
		switch {
		case p.gone[device][i]:
			if kind == KindCounter {
				continue
			}
		case kind != KindCounter || !first:
			out[at] = sum / n
		}
		sum, n, first = 0, 0, false
	}
	return out
}

// measured returns the power that is there.
func measured(f series.Frame) map[int64]float64 {
	out := map[int64]float64{}
	for i, v := range f.Values(series.PowerKW) {
		if !math.IsNaN(v) {
			out[f.Times[i]] = v
		}
	}
	return out
}

// TestOverlap asserts that two overlapping files store what one file of the
// whole does.
func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWriting(t)
		w.kind, w.unit, w.shape, w.layout = KindPower, "kW", "one", "2006-01-02T15:04:05Z07:00"
		p := drawPlant(t, w.shape, w.zone)
		n := len(p.times)
		cut := rapid.IntRange(n/3, n/2).Draw(t, "cut")
		again := rapid.IntRange(n/2, n*2/3).Draw(t, "again")
		read := func(from, to int) series.Frame {
			part := plant{p.times[from:to], p.names, [][]float64{p.kW[0][from:to]}, [][]bool{p.gone[0][from:to]}, p.step}
			res, err := Read(bytes.NewReader(w.file(part)), Options{Zone: w.zone})
			if err != nil {
				t.Fatal(err)
			}
			return res.Assets[0].Frame
		}
		whole, merged := read(0, n), series.Merge(read(0, again), read(cut, n))
		if a, b := measured(whole), measured(merged); !maps.Equal(a, b) {
			t.Fatalf("%d values merged, want %d", len(b), len(a))
		}
	})
}
