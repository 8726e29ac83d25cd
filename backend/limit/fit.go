package limit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Fit returns v with the fields that the service fills itself cut to their
// limits, or an [*Error] if another field is above its limit. If v replaces a
// former value, which may be nil, a field that is not larger than there stays: a
// record that was stored before its limit was introduced can be changed in its
// other fields. v itself is not changed.
func Fit[T any](v T, former *T) (T, error) {
	grown := overgrown(&v, former)
	if len(grown) == 0 {
		return v, nil
	}
	for _, e := range grown {
		if !e.cut {
			return v, e
		}
	}
	// The parts of v may be shared with the caller.
	b, err := json.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("copy a record: %w", err)
	}
	var c T
	if err := json.Unmarshal(b, &c); err != nil {
		return v, fmt.Errorf("copy a record: %w", err)
	}
	shorten(reflect.ValueOf(&c), nil, keepNone)
	return c, nil
}

// overgrown are the fields of v that are above their limit and larger than in the
// former value.
func overgrown[T any](v, former *T) (grown []*Error) {
	var over []*Error
	w := walker{report: func(e *Error) bool { over = append(over, e); return true }}
	w.value(reflect.ValueOf(v), nil, keepNone)
	if len(over) == 0 || former == nil {
		return over
	}
	was := map[string]int{}
	w = walker{report: func(e *Error) bool { was[e.field] = max(was[e.field], e.size); return true }}
	w.value(reflect.ValueOf(former), nil, keepNone)
	return slices.DeleteFunc(over, func(e *Error) bool { return e.size <= was[e.field] })
}

// shorten cuts v, which can be set, and what it holds.
func shorten(v reflect.Value, levels []int, k keep) {
	most, deeper := 0, levels
	if len(levels) > 0 {
		most, deeper = levels[0], levels[1:]
	}
	cut := k != keepNone && most > 0
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			shorten(v.Elem(), levels, k)
		}
	case reflect.String:
		if cut && len(v.String()) > most {
			v.SetString(shortened(v.String(), most))
		}
	case reflect.Interface:
		if cut && !v.IsNil() {
			if b, err := json.Marshal(v.Interface()); err == nil && len(b) > most {
				v.Set(reflect.ValueOf(fmt.Sprintf("left out: %d bytes", len(b))))
			}
		}
	case reflect.Slice:
		if n := v.Len(); cut && n > most {
			from := 0
			if k == keepEnd {
				from = n - most
			}
			v.Set(v.Slice(from, from+most))
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			shorten(v.Index(i), deeper, k)
		}
	case reflect.Map:
		shortenMap(v, most, deeper, k)
	case reflect.Struct:
		if opaque(v.Type()) {
			return
		}
		for _, f := range fieldsOf(v.Type()) {
			shorten(v.Field(f.index), f.levels, f.keep)
		}
	}
}

// shortenMap keeps the first entries by their keys.
func shortenMap(v reflect.Value, most int, deeper []int, k keep) {
	if v.IsNil() || v.Type().Key().Kind() != reflect.String {
		return
	}
	keys := 0
	if len(deeper) > 0 {
		keys, deeper = deeper[0], deeper[1:]
	}
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for i, name := range names {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(name))
		shorten(value, deeper, k)
		if k != keepNone && (most > 0 && i >= most || keys > 0 && len(name.String()) > keys) {
			v.SetMapIndex(name, reflect.Value{})
			if i >= most {
				continue
			}
			name = reflect.ValueOf(shortened(name.String(), keys)).Convert(v.Type().Key())
		}
		v.SetMapIndex(name, value)
	}
}

// shortened is a text of at most the number of characters, with an ellipsis where
// it was cut.
func shortened(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
