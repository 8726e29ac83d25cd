// Package registermap reads devices that have no SunSpec map: which register of a vendor
// has which value is a text file. Sunloop has some (maps), and reads others that a person
// writes in the same format. The package reads no device: Requests says what to read.
package registermap

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/engine/reading"
)

// Map is the map of a make of devices.
type Map struct {
	Name, Title string
	Input       bool // read by function 4; otherwise by function 3
	lowFirst    bool // of the words of a longer value
	Registers   int  // most of a request
	gap         int  // of registers without a point that a request may have
	Settle      time.Duration
	Timeout     time.Duration
	Model       Text
	Serial      Text
	identify    Text
	begins      []string // the identifying text of a device of this map begins with one of them
	Inputs      int      // address of the number of DC inputs; -1: none
	rating      *Point
	points      []Point
}

// Text is a text in registers; Length 0: the map has none.
type Text struct{ Address, Length int }

// Point is a value in registers.
type Point struct {
	Address int
	kind    kind
	value   string // the name of a field, or alarm
	field   reading.Field
	input   int // of the DC input; 0: none
	factor  float64
	other   float64 // factor if the value is not within its limits; 0: none
	low     float64
	high    float64
	states  reading.States
}

// kind is a type of register values.
type kind struct {
	words  int
	signed bool
	float  bool
}

var kinds = map[string]kind{"u16": {1, false, false}, "i16": {1, true, false}, "u32": {2, false, false}, "i32": {2, true, false}, "u64": {4, false, false}, "i64": {4, true, false}, "f32": {2, true, true}}

// alarm is the name of a word of alarms by the vendor.
const alarm = "alarm"

// Bounds of a map.
const (
	maxPoints = 1000
	maxFile   = 256 << 10
	maxInput  = 31
)

//go:embed maps
var embedded embed.FS

var builtIn = mustLoad(embedded)

func mustLoad(files fs.FS) map[string]*Map {
	out := map[string]*Map{}
	list, err := fs.Glob(files, "maps/*.txt")
	for _, path := range list {
		b, err := fs.ReadFile(files, path)
		if err != nil {
			panic(err)
		}
		m, err := Parse(string(b))
		if err != nil {
			panic(path + ": " + err.Error())
		}
		out[m.Name] = m
	}
	if err != nil || len(out) == 0 {
		panic("no maps of registers")
	}
	return out
}

// Names are the names of the maps that Sunloop has.
func Names() []string {
	var names []string
	for name := range builtIn {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Load returns the map with a name, or that of a file, whose path has a separator.
func Load(name string) (*Map, error) {
	if m := builtIn[name]; m != nil {
		return m, nil
	}
	if !strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("unknown map %q: one of %s, or the path of a file", name, strings.Join(Names(), ", "))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read map: %w", err)
	}
	defer f.Close()
	b := make([]byte, maxFile+1)
	n := 0
	for n < len(b) {
		k, err := f.Read(b[n:])
		n += k
		if err != nil || k == 0 {
			break
		}
	}
	if n > maxFile {
		return nil, fmt.Errorf("read map: %s has more than %d bytes", name, maxFile)
	}
	m, err := Parse(string(b[:n]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// Parse reads and checks a map.
func Parse(text string) (*Map, error) {
	m := &Map{Registers: 125, gap: 16, Inputs: -1}
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		w := strings.Fields(line)
		if len(w) == 0 || strings.HasPrefix(w[0], "#") {
			continue
		}
		var err error
		switch {
		case w[0][0] >= '0' && w[0][0] <= '9':
			err = m.addPoint(w)
		case seen[w[0]]:
			err = fmt.Errorf("%s: there are two", w[0])
		default:
			seen[w[0]] = true
			err = m.set(w, line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for _, key := range []string{"name", "function", "words"} {
		if !seen[key] {
			return nil, fmt.Errorf("%s: required", key)
		}
	}
	if len(m.points) == 0 {
		return nil, errors.New("the map has no values")
	}
	for _, p := range m.points {
		if p.kind.words > m.Registers {
			return nil, fmt.Errorf("register %d: its value has more registers than a request", p.Address)
		}
	}
	slices.SortStableFunc(m.points, func(a, b Point) int { return a.Address - b.Address })
	return m, nil
}

// set reads a line about the whole map.
func (m *Map) set(w []string, line string) (err error) {
	if len(w) < 2 {
		return fmt.Errorf("%s: it has no value", w[0])
	}
	number := func(low, high int, to *int) {
		n, e := strconv.Atoi(w[1])
		if e != nil || n < low || n > high || len(w) != 2 {
			err = fmt.Errorf("%s: must be a number from %d to %d", w[0], low, high)
		}
		*to = n
	}
	duration := func(to *time.Duration) {
		d, e := time.ParseDuration(w[1])
		if e != nil || d < 0 || d > time.Minute || len(w) != 2 {
			err = fmt.Errorf(`%s: must be a duration such as "1s", at most 1m`, w[0])
		}
		*to = d
	}
	switch w[0] {
	case "name":
		m.Name = w[1]
	case "title":
		m.Title = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), w[0]))
	case "function":
		if w[1] != "3" && w[1] != "4" {
			return fmt.Errorf("function: must be 3 or 4: the functions that read registers")
		}
		m.Input = w[1] == "4"
	case "words":
		if w[1] != "high" && w[1] != "low" {
			return fmt.Errorf("words: must be high or low: the one that comes first")
		}
		m.lowFirst = w[1] == "low"
	case "registers":
		number(4, 125, &m.Registers)
	case "gap":
		number(0, 100, &m.gap)
	case "settle":
		duration(&m.Settle)
	case "timeout":
		duration(&m.Timeout)
	case "model":
		m.Model, err = text(w)
	case "serial":
		m.Serial, err = text(w)
	case "identify":
		if len(w) < 4 {
			return errors.New("identify: ADDRESS LENGTH and how the text begins")
		}
		m.begins = w[3:]
		m.identify, err = text(w[:3])
	case "inputs":
		number(0, 65535, &m.Inputs)
	case "rating":
		p, e := parsePoint(append([]string{w[1]}, append([]string{at(w, 2), "power_w"}, w[min(3, len(w)):]...)...))
		m.rating, err = &p, e
	default:
		return fmt.Errorf("unknown word %q", w[0])
	}
	return err
}

func at(w []string, i int) string {
	if i < len(w) {
		return w[i]
	}
	return ""
}

func text(w []string) (t Text, err error) {
	if len(w) == 3 {
		if t.Address, err = strconv.Atoi(w[1]); err == nil {
			t.Length, err = strconv.Atoi(w[2])
		}
	}
	if len(w) != 3 || err != nil || t.Address < 0 || t.Length < 1 || t.Length > 64 || t.Address+t.Length > 0x10000 {
		return t, fmt.Errorf("%s: ADDRESS and number of registers, at most 64", w[0])
	}
	return t, nil
}

// addPoint reads a line ADDRESS TYPE VALUE FACTOR [UNIT] [every N to N] [within A B] [or FACTOR] [states …].
func (m *Map) addPoint(w []string) error {
	every, to := 0, 1
	if i := slices.Index(w, "every"); i >= 0 {
		var err1, err2 error
		if len(w) >= i+4 && w[i+2] == "to" {
			every, err1 = strconv.Atoi(w[i+1])
			to, err2 = strconv.Atoi(w[i+3])
		}
		if len(w) < i+4 || w[i+2] != "to" || err1 != nil || err2 != nil || every < 1 || every > 100 || to < 1 || to > maxInput {
			return fmt.Errorf("every: must be REGISTERS to NUMBER, at most %d", maxInput)
		}
		w = slices.Delete(slices.Clone(w), i, i+4)
	}
	repeats := strings.Contains(at(w, 2), "{n}")
	if repeats != (every > 0) {
		return errors.New("a value with {n} needs every, and no other has it")
	}
	for n := 1; n <= to; n++ {
		line := slices.Clone(w)
		if len(line) > 2 {
			line[2] = strings.ReplaceAll(line[2], "{n}", strconv.Itoa(n))
		}
		p, err := parsePoint(line)
		if err != nil {
			return err
		}
		if p.Address += (n - 1) * every; p.Address+p.kind.words > 0x10000 {
			return fmt.Errorf("register %d: the last one is 65535", p.Address)
		}
		if repeats {
			p.input = n
		}
		if m.points = append(m.points, p); len(m.points) > maxPoints {
			return fmt.Errorf("a map has at most %d values", maxPoints)
		}
	}
	return nil
}

func parsePoint(w []string) (p Point, err error) {
	if len(w) < 3 {
		return p, errors.New("ADDRESS TYPE VALUE is required")
	}
	if p.Address, err = strconv.Atoi(w[0]); err != nil || p.Address < 0 || p.Address > 65535 {
		return p, fmt.Errorf("register %q: must be a number from 0 to 65535", w[0])
	}
	var ok bool
	if p.kind, ok = kinds[w[1]]; !ok {
		return p, fmt.Errorf("register %d: unknown type %q: u16, i16, u32, i32, u64, i64 or f32", p.Address, w[1])
	}
	if p.value = w[2]; p.value != alarm {
		if p.field, err = reading.ParseField(p.value); err != nil {
			return p, fmt.Errorf("register %d: %w", p.Address, err)
		}
	}
	p.factor, p.low, p.high = 1, math.Inf(-1), math.Inf(1)
	rest := w[3:]
	number := func(i int) float64 {
		v, e := strconv.ParseFloat(at(rest, i), 64)
		if e != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			err = fmt.Errorf("register %d: %q is no number", p.Address, at(rest, i))
		}
		return v
	}
	if len(rest) > 0 && rest[0] != "states" {
		if p.factor = number(0); p.factor == 0 && err == nil {
			err = fmt.Errorf("register %d: the factor is 0", p.Address)
		}
		rest = rest[1:]
	}
	for len(rest) > 0 && err == nil {
		switch rest[0] {
		case "within":
			p.low, p.high = number(1), number(2)
			rest = rest[min(3, len(rest)):]
		case "or":
			p.other = number(1)
			rest = rest[min(2, len(rest)):]
		case "states":
			p.states, err = reading.ParseStates(rest[1:])
			rest = nil
		default:
			if p.value == alarm {
				return p, fmt.Errorf("register %d: an alarm has no unit", p.Address)
			}
			f, e := p.field.Factor(rest[0])
			if e != nil {
				return p, fmt.Errorf("register %d: %w", p.Address, e)
			}
			p.factor *= f
			p.other *= f
			rest = rest[1:]
		}
	}
	return p, err
}

// IsDevice reports whether the identifying text of a device is one of this map.
func (m *Map) IsDevice(text string) bool {
	return slices.ContainsFunc(m.begins, func(b string) bool { return strings.HasPrefix(text, b) && len(text) > len(b)+3 })
}

// Identify is the text that says whether a device is one of this map; its length is 0 if
// there is none.
func (m *Map) Identify() Text { return m.identify }

// Decode reads a text of registers, two characters each, without what is no printable
// ASCII.
func (t Text) Decode(words []uint16) string {
	var b strings.Builder
	for _, w := range words {
		for _, c := range []byte{byte(w >> 8), byte(w & 0xFF)} {
			if c == 0 {
				return strings.TrimSpace(b.String())
			}
			if c >= ' ' && c < 0x7F {
				b.WriteByte(c)
			}
		}
	}
	return strings.TrimSpace(b.String())
}
