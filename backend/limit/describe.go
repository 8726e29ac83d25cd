package limit

import (
	"fmt"
	"reflect"
	"strings"
)

// Of returns the limits that a field declares, one for each level of its type;
// none if it declares none.
func Of(f reflect.StructField) []int {
	levels, _, err := parse(f.Tag.Get(Tag))
	if err != nil {
		return nil
	}
	return levels
}

// Missing returns the fields of a type, also of the types that it holds, which
// can hold a text, a list, a map or an any and declare no limit for it, each with
// what is wrong. Fields that are not in JSON are left out.
func Missing(t reflect.Type) []string {
	m := missing{seen: map[reflect.Type]bool{}}
	m.of(t, t.String())
	return m.faults
}

type missing struct {
	seen   map[reflect.Type]bool
	faults []string
}

func (m *missing) of(t reflect.Type, path string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		m.of(t.Elem(), path)
	case reflect.Struct:
		if m.seen[t] || opaque(t) {
			return
		}
		m.seen[t] = true
		for i := range t.NumField() {
			m.field(t, t.Field(i))
		}
	}
}

func (m *missing) field(t reflect.Type, f reflect.StructField) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if !f.IsExported() && !f.Anonymous || name == "-" {
		return
	}
	where := fmt.Sprintf("%s.%s", t, f.Name)
	levels, _, err := parse(f.Tag.Get(Tag))
	switch want := levelsOf(f.Type); {
	case err != nil:
		m.faults = append(m.faults, where+": "+err.Error())
	case len(levels) != want:
		m.faults = append(m.faults, fmt.Sprintf("%s: %s needs %d limits, and has %d", where, f.Type, want, len(levels)))
	}
	m.of(f.Type, where)
}

// levelsOf is the number of limits that a field of a type needs.
func levelsOf(t reflect.Type) int {
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		return 1
	case reflect.Pointer, reflect.Array:
		return levelsOf(t.Elem())
	case reflect.Slice:
		return 1 + levelsOf(t.Elem())
	case reflect.Map:
		n := 1 + levelsOf(t.Elem())
		if t.Key().Kind() == reflect.String {
			n++
		}
		return n
	}
	return 0
}

// ItemsAt returns the limit of the list at a path of field names in JSON, in a value
// of a type; lists on the way are passed through. ok is false if there is no such
// list.
func ItemsAt(t reflect.Type, path []string) (items int, ok bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || opaque(t) || len(path) == 0 {
		return 0, false
	}
	for _, f := range fieldsOf(t) {
		inner := t.Field(f.index).Type
		switch {
		case f.embedded:
			if items, ok = ItemsAt(inner, path); ok {
				return items, true
			}
		case !strings.EqualFold(f.name, path[0]): // as the decoder compares
		case len(path) > 1:
			return ItemsAt(inner, path[1:])
		default:
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Slice && len(f.levels) > 0 {
				return f.levels[0], true
			}
			return 0, false
		}
	}
	return 0, false
}
