package state

import (
	"reflect"

	"app.sunloop/tui/terminal"
)

// Printable returns a copy of an answer that is kept outside of the state, in
// which every string is safe to draw.
func Printable[T any](v T) T { return cleaned(v) }

// cleaned returns a deep copy of v in which every string is safe to draw. It is the
// one place where text from the service enters the console.
func cleaned[T any](v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	clean(out, reflect.ValueOf(&v).Elem())
	return out.Interface().(T)
}

func clean(dst, src reflect.Value) {
	switch src.Kind() {
	case reflect.String:
		dst.SetString(terminal.Printable(src.String()))
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			clean(dst.Elem(), src.Elem())
		}
	case reflect.Interface: // JSON of any form
		if !src.IsNil() {
			inside := reflect.New(src.Elem().Type()).Elem()
			clean(inside, src.Elem())
			dst.Set(inside)
		}
	case reflect.Slice:
		if !src.IsNil() {
			dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
			for i := range src.Len() {
				clean(dst.Index(i), src.Index(i))
			}
		}
	case reflect.Map:
		if !src.IsNil() {
			dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
			for it := src.MapRange(); it.Next(); {
				key, value := reflect.New(src.Type().Key()).Elem(), reflect.New(src.Type().Elem()).Elem()
				clean(key, it.Key())
				clean(value, it.Value())
				dst.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		dst.Set(src) // unexported fields, such as those of a time
		for i := range src.NumField() {
			if src.Type().Field(i).IsExported() {
				clean(dst.Field(i), src.Field(i))
			}
		}
	default:
		dst.Set(src)
	}
}
