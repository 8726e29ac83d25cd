// Package limit reads the limits that struct fields declare for what they may
// hold, and checks, cuts and describes values by them. It imports nothing of ours.
//
// A field declares its limit next to its name in JSON:
//
//	Name  string            `json:"name" limit:"name"`
//	Sites []string          `json:"sites" limit:"1000 id"`
//	Notes map[string]string `json:"notes" limit:"50 word text"`
//	Why   []string          `json:"why" limit:"200 text cut"`
//
// The tag has one limit for each level of the field's type: the number of
// characters of a string, the number of items of a list, the number of entries
// of a map and then the limit of its keys if these are strings, the number of
// bytes of a []byte, and the number of bytes in JSON of an any. A limit is a
// number, a number with KiB or MiB, or the name of a [Kinds] entry. Structs
// declare the limits of their own fields. Numbers, booleans and types that
// encode themselves, such as times, need none.
//
// The word "cut" or "last" at the end marks a field that the service fills
// itself. [Fit] shortens such a field to its limit instead of refusing it: "cut"
// keeps the beginning, "last" keeps the end of a list.
package limit

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Kinds are the limits that have a name, in characters.
var Kinds = map[string]int{
	"word":  64,   // one of a set of words: an action, a status, a kind
	"id":    200,  // an id, also a customer's own
	"name":  200,  // a name, a place, a label
	"text":  Text, // what a person writes: a reason, a note, a description
	"line":  4000, // a sentence that the service makes, and may name ids in
	"url":   2048,
	"token": 4096, // a token, a key, a cursor
}

// Text is the limit of what a person writes, in characters.
const Text = 2000

// Tag is the key of the struct tag.
const Tag = "limit"

// Unit is what a limit counts.
type Unit string

// Units of limits.
const (
	Characters Unit = "characters"
	Items      Unit = "items"
	Bytes      Unit = "bytes"
)

// Error is a value above the limit of its field.
type Error struct {
	Path string // of the field, by the names in JSON: components[3].serial
	Max  int
	Unit Unit

	size  int
	field string // Path without the positions in lists
	cut   bool   // Fit shortens it
}

// Error names the field and the limit.
func (e *Error) Error() string { return e.Path + ": " + e.Reason() }

// Reason describes the limit.
func (e *Error) Reason() string { return fmt.Sprintf("at most %d %s", e.Max, e.Unit) }

// Check returns an [*Error] for the first field of v above its limit, or nil. v
// is a struct, a list or map of structs, or a pointer to one of these.
func Check(v any) error {
	w := walker{report: func(*Error) bool { return false }}
	w.value(reflect.ValueOf(v), nil, keepNone)
	if w.first != nil {
		return w.first
	}
	return nil
}

// keep is what Fit does with a field above its limit.
type keep int

const (
	keepNone  keep = iota // refuse it
	keepBegin             // "cut"
	keepEnd               // "last"
)

// field is one field of a struct that can hold something with a limit.
type field struct {
	index    int
	name     string // in JSON
	embedded bool
	levels   []int
	keep     keep
}

var structs sync.Map // reflect.Type → []field

// fieldsOf are the fields of a struct type that are looked at. It panics on a tag
// that cannot be read, as the program is wrong.
func fieldsOf(t reflect.Type) []field {
	if known, ok := structs.Load(t); ok {
		return known.([]field)
	}
	var list []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		tag, tagged := f.Tag.Lookup(Tag)
		if name == "-" && !tagged || !bounded(f.Type, nil) {
			continue
		}
		if name == "" || name == "-" {
			name = f.Name
		}
		levels, keep, err := parse(tag)
		if err != nil {
			panic(fmt.Sprintf("limit: %s.%s: %v", t, f.Name, err))
		}
		list = append(list, field{index: i, name: name, embedded: f.Anonymous && f.Tag.Get("json") == "", levels: levels, keep: keep})
	}
	structs.Store(t, list)
	return list
}

// parse reads a tag.
func parse(tag string) (levels []int, k keep, err error) {
	words := strings.Fields(tag)
	for i, word := range words {
		if i == len(words)-1 && word == "cut" {
			return levels, keepBegin, nil
		}
		if i == len(words)-1 && word == "last" {
			return levels, keepEnd, nil
		}
		n, ok := Kinds[word]
		if !ok {
			digits, unit := word, 1
			for suffix, size := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20} {
				if d, cut := strings.CutSuffix(word, suffix); cut {
					digits, unit = d, size
				}
			}
			if n, err = strconv.Atoi(digits); err != nil || n <= 0 {
				return nil, 0, fmt.Errorf("limit %q is neither a number nor a kind", word)
			}
			n *= unit
		}
		levels = append(levels, n)
	}
	return levels, keepNone, nil
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// opaque reports whether a struct encodes itself, as times do.
func opaque(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

// bounded reports whether a value of the type can hold a text, a list, a map or
// an any.
func bounded(t reflect.Type, within []reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	case reflect.Pointer, reflect.Array:
		return bounded(t.Elem(), within)
	case reflect.Struct:
		for _, outer := range within {
			if outer == t {
				return false // decided by its other fields
			}
		}
		if opaque(t) {
			return false
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if (f.IsExported() || f.Anonymous) && bounded(f.Type, append(within, t)) {
				return true
			}
		}
	}
	return false
}

// step is one part of the path to a value.
type step struct {
	name  string // of a field; empty: a position in a list
	index int
}

// walker visits the values of a record in the order of their declaration.
type walker struct {
	path   []step
	report func(*Error) (further bool)
	first  *Error
	ended  bool
}

func (w *walker) over(size, most int, unit Unit, k keep) {
	e := &Error{Max: most, Unit: unit, size: size, cut: k != keepNone}
	var path, name strings.Builder
	for _, s := range w.path {
		if s.name == "" {
			fmt.Fprintf(&path, "[%d]", s.index)
			continue
		}
		for _, b := range []*strings.Builder{&path, &name} {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	e.Path, e.field = path.String(), name.String()
	if w.first == nil {
		w.first = e
	}
	w.ended = !w.report(e)
}

// value visits v, whose type has the limits of levels.
func (w *walker) value(v reflect.Value, levels []int, k keep) {
	if w.ended || !v.IsValid() {
		return
	}
	most, deeper := 0, levels
	if len(levels) > 0 {
		most, deeper = levels[0], levels[1:]
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.value(v.Elem(), levels, k)
		}
	case reflect.String:
		if s := v.String(); most > 0 && len(s) > most {
			if n := utf8.RuneCountInString(s); n > most {
				w.over(n, most, Characters, k)
			}
		}
	case reflect.Interface:
		w.any(v, most, k)
	case reflect.Array:
		w.items(v, levels, k)
	case reflect.Slice:
		unit := Items
		if v.Type().Elem().Kind() == reflect.Uint8 {
			unit = Bytes
		}
		if most > 0 && v.Len() > most {
			w.over(v.Len(), most, unit, k)
		}
		if unit == Items {
			w.items(v, deeper, k)
		}
	case reflect.Map:
		w.entries(v, most, deeper, k)
	case reflect.Struct:
		w.fields(v)
	}
}

// any visits a value of which only the size in JSON is bounded.
func (w *walker) any(v reflect.Value, most int, k keep) {
	if v.IsNil() || most == 0 {
		return
	}
	if b, err := json.Marshal(v.Interface()); err == nil && len(b) > most {
		w.over(len(b), most, Bytes, k)
	}
}

func (w *walker) items(v reflect.Value, levels []int, k keep) {
	if !bounded(v.Type().Elem(), nil) {
		return
	}
	for i := 0; i < v.Len() && !w.ended; i++ {
		w.path = append(w.path, step{index: i})
		w.value(v.Index(i), levels, k)
		w.path = w.path[:len(w.path)-1]
	}
}

func (w *walker) entries(v reflect.Value, most int, deeper []int, k keep) {
	if most > 0 && v.Len() > most {
		w.over(v.Len(), most, Items, k)
	}
	keys := 0
	if v.Type().Key().Kind() == reflect.String && len(deeper) > 0 {
		keys, deeper = deeper[0], deeper[1:]
	}
	for entries := v.MapRange(); !w.ended && entries.Next(); {
		if name := entries.Key(); keys > 0 && len(name.String()) > keys {
			if n := utf8.RuneCountInString(name.String()); n > keys {
				w.over(n, keys, Characters, k)
			}
		}
		w.value(entries.Value(), deeper, k)
	}
}

func (w *walker) fields(v reflect.Value) {
	if opaque(v.Type()) {
		return
	}
	for _, f := range fieldsOf(v.Type()) {
		if w.ended {
			return
		}
		if !f.embedded {
			w.path = append(w.path, step{name: f.name})
		}
		w.value(v.Field(f.index), f.levels, f.keep)
		if !f.embedded {
			w.path = w.path[:len(w.path)-1]
		}
	}
}
