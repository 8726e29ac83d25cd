package limit

import (
	"reflect"
	"strings"
	"sync"
)

// Size is about the number of bytes of a value in JSON, which is also about what
// it takes in memory.
func Size(v any) int { return sizeOf(reflect.ValueOf(v)) }

// numberSize is about what a number, a boolean or a time takes.
const numberSize = 8

// sized is a field of a struct whose size is looked at, and what its name takes.
type sized struct {
	index int
	name  int
}

var sizes sync.Map // reflect.Type → []sized

func sizedFields(t reflect.Type) []sized {
	if known, ok := sizes.Load(t); ok {
		return known.([]sized)
	}
	var list []sized
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "-" && (f.IsExported() || f.Anonymous) {
			list = append(list, sized{i, len(name) + 4})
		}
	}
	sizes.Store(t, list)
	return list
}

func sizeOf(v reflect.Value) int {
	switch v.Kind() {
	case reflect.Invalid:
		return 0
	case reflect.String:
		return v.Len() + 2
	case reflect.Pointer, reflect.Interface:
		return sizeOf(v.Elem())
	case reflect.Slice, reflect.Array:
		n := 2
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
			for i := range v.Len() {
				n += sizeOf(v.Index(i)) + 1
			}
		case reflect.Uint8:
			n += v.Len() * 4 / 3
		default:
			n += v.Len() * numberSize
		}
		return n
	case reflect.Map:
		n := 2
		for entries := v.MapRange(); entries.Next(); {
			n += sizeOf(entries.Key()) + sizeOf(entries.Value()) + 2
		}
		return n
	case reflect.Struct:
		if opaque(v.Type()) {
			return 3 * numberSize
		}
		n := 2
		for _, f := range sizedFields(v.Type()) {
			n += f.name + sizeOf(v.Field(f.index))
		}
		return n
	}
	return numberSize
}
