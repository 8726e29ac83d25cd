// Package sunspec decodes SunSpec information models from Modbus registers. It
// reads no device: Walk calls a function for the registers, and Plan states which
// registers to read, so that each value and its scale factor come from one
// response.
package sunspec

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// Point is a value at a fixed place in a model.
type Point struct {
	Name     string
	Offset   int // from the register of the model's ID, or from the start of the group
	Length   int // registers
	Type     Type
	Scale    string // name of the point with the exponent; empty: Exponent
	Exponent int    // literal
}

// Model is the layout of a model as far as Sunloop reads it.
type Model struct {
	IDs    []uint16
	Name   string
	Points []Point
	Group  Group
}

// Group are points that repeat to the end of a model, such as the inputs of an
// inverter; Length is 0 if the model has none.
type Group struct {
	Offset, Length int
	Points         []Point
}

// Repeats returns how often the group is in a model of a length in registers
// without ID and L, at most maxRepeats.
func (m *Model) Repeats(length int) int {
	if m.Group.Length == 0 {
		return 0
	}
	return min(max((length+2-m.Group.Offset)/m.Group.Length, 0), maxRepeats)
}

// maxRepeats bounds the groups of a model: a Quantity names 31 inputs.
const maxRepeats = 31

//go:embed models.txt
var modelText string

var models = mustParse(modelText)

// Find returns the model with an ID; nil if Sunloop does not read it.
func Find(id uint16) *Model { return models[id] }

func mustParse(text string) map[uint16]*Model {
	all, err := parse(text)
	if err != nil {
		panic(err)
	}
	return all
}

// parse reads the layouts of models.
func parse(text string) (map[uint16]*Model, error) {
	all := map[uint16]*Model{}
	var m *Model
	group := false
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case words[0] == "model":
			m, group = new(Model), false
			for _, w := range words[1:] {
				id, err := strconv.ParseUint(w, 10, 16)
				if err != nil || m.Name != "" {
					m.Name = strings.TrimSpace(m.Name + " " + w)
					continue
				}
				m.IDs = append(m.IDs, uint16(id))
				all[uint16(id)] = m
			}
			if len(m.IDs) == 0 || m.Name == "" {
				return nil, fmt.Errorf("models, line %d: a model has an ID and a name", n)
			}
		case m == nil:
			return nil, fmt.Errorf("models, line %d: a point before the first model", n)
		case words[0] == "repeat" && len(words) == 3:
			offset, err := strconv.Atoi(strings.TrimPrefix(words[1], "@"))
			length, err2 := strconv.Atoi(words[2])
			if err != nil || err2 != nil || offset < 2 || length < 1 {
				return nil, fmt.Errorf("models, line %d: %q: repeat @OFFSET LENGTH", n, strings.TrimSpace(line))
			}
			m.Group.Offset, m.Group.Length, group = offset, length, true
		default:
			points, err := parsePoints(words)
			if err != nil {
				return nil, fmt.Errorf("models, line %d: %w", n, err)
			}
			if group {
				m.Group.Points = append(m.Group.Points, points...)
			} else {
				m.Points = append(m.Points, points...)
			}
		}
	}
	for _, m := range all {
		for _, p := range append(append([]Point{}, m.Points...), m.Group.Points...) {
			if p.Scale != "" && m.point(p.Scale) == nil {
				return nil, fmt.Errorf("model %d: %s is scaled by %s, which it does not have", m.IDs[0], p.Name, p.Scale)
			}
		}
	}
	return all, nil
}

// parsePoints reads "A B @2 uint16 X_SF".
func parsePoints(words []string) ([]Point, error) {
	at := 0
	for at < len(words) && !strings.HasPrefix(words[at], "@") {
		at++
	}
	if at == 0 || at+1 >= len(words) || at+3 < len(words) {
		return nil, fmt.Errorf("%q: NAMES @OFFSET TYPE [SF]", strings.Join(words, " "))
	}
	offset, err := strconv.Atoi(words[at][1:])
	if err != nil || offset < 0 {
		return nil, fmt.Errorf("%s: invalid offset", words[at])
	}
	p := Point{Type: Type(words[at+1])}
	if digits, ok := strings.CutPrefix(words[at+1], string(Text)); ok {
		p.Type = Text
		p.Length, _ = strconv.Atoi(digits)
	} else {
		p.Length = registers[p.Type]
	}
	if p.Length < 1 {
		return nil, fmt.Errorf("%s: unknown type", words[at+1])
	}
	if at+2 < len(words) {
		if e, err := strconv.Atoi(words[at+2]); err == nil {
			p.Exponent = e
		} else {
			p.Scale = words[at+2]
		}
	}
	var points []Point
	for _, name := range words[:at] {
		p.Name, p.Offset = name, offset
		points = append(points, p)
		offset += p.Length
	}
	return points, nil
}

// point returns a point outside of the group by its name.
func (m *Model) point(name string) *Point {
	for i := range m.Points {
		if m.Points[i].Name == name {
			return &m.Points[i]
		}
	}
	return nil
}
