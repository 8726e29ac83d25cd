package compat

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// shape says what is wrong with a value of JSON, with its path; nothing when
// it is as clients read it.
type shape func(path string, v any) []string

func want(kind string, good func(v any) bool) shape {
	return func(path string, v any) []string {
		if good(v) {
			return nil
		}
		return []string{fmt.Sprintf("%s is no %s: %v", path, kind, v)}
	}
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

// The shapes of single values.
var (
	text    = want("text", func(v any) bool { s, ok := v.(string); return ok && s != "" })
	maybe   = want("text, empty perhaps", is[string])
	number  = want("number", is[float64])
	boolean = want("boolean", is[bool])
	integer = want("whole number", func(v any) bool { n, ok := v.(float64); return ok && n == math.Trunc(n) })
	share   = want("number from 0 to 1", func(v any) bool { n, ok := v.(float64); return ok && 0 <= n && n <= 1 })
	percent = want("percentage", func(v any) bool { n, ok := v.(float64); return ok && 0 <= n && n <= 1000 })
	instant = want("time in the one width", func(v any) bool {
		s, ok := v.(string)
		if !ok {
			return false
		}
		_, err := time.Parse(api.TimeLayout, s)
		return err == nil && len(s) == len(api.TimeLayout)
	})
)

// exactly is one of the values.
func exactly(values ...any) shape {
	return want(fmt.Sprintf("one of %v", values), func(v any) bool { return slices.Contains(values, v) })
}

// matches is a text of the pattern.
func matches(pattern string) shape {
	p := regexp.MustCompile(pattern)
	return want("text like "+pattern, func(v any) bool { s, ok := v.(string); return ok && p.MatchString(s) })
}

// list is an array, some one that is not empty, count one of so many.
func list(of shape) shape { return array(of, 0, math.MaxInt) }

func some(of shape) shape { return array(of, 1, math.MaxInt) }

func count(n int, of shape) shape { return array(of, n, n) }

func array(of shape, least, most int) shape {
	return func(path string, v any) []string {
		l, ok := v.([]any)
		if !ok || len(l) < least || len(l) > most {
			return []string{fmt.Sprintf("%s is no array of %d to %d: %v", path, least, most, v)}
		}
		for i, e := range l {
			if wrong := of(fmt.Sprintf("%s[%d]", path, i), e); wrong != nil {
				return wrong // one element is enough to see
			}
		}
		return nil
	}
}

// eachOf is an object whose names are ids: each value has the shape.
func eachOf(of shape) shape {
	return func(path string, v any) []string {
		o, ok := v.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is no object: %v", path, v)}
		}
		var wrong []string
		for _, name := range slices.Sorted(maps.Keys(o)) {
			wrong = append(wrong, of(path+"."+name, o[name])...)
		}
		return wrong
	}
}

// fields are those of an object that clients read; what else is there does not
// matter to them. A name with a question mark may be absent.
type fields map[string]shape

func object(all ...fields) shape {
	return func(path string, v any) []string {
		o, ok := v.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is no object: %v", path, v)}
		}
		var wrong []string
		for _, f := range all {
			for _, name := range slices.Sorted(maps.Keys(f)) {
				plain, optional := strings.CutSuffix(name, "?")
				value, there := o[plain]
				switch {
				case there:
					wrong = append(wrong, f[name](path+"."+plain, value)...)
				case !optional:
					wrong = append(wrong, fmt.Sprintf("%s.%s is not there", path, plain))
				}
			}
		}
		return wrong
	}
}

// both hold of the same value.
func both(shapes ...shape) shape {
	return func(path string, v any) []string {
		var wrong []string
		for _, s := range shapes {
			wrong = append(wrong, s(path, v)...)
		}
		return wrong
	}
}

// ascending holds of an array whose elements' texts of the name never fall:
// clients compare times as text.
func ascending(name string) shape { return ordered(name, 1) }

// descending is newest first.
func descending(name string) shape { return ordered(name, -1) }

func ordered(name string, sign int) shape {
	return func(path string, v any) []string {
		before := ""
		for i, e := range v.([]any) {
			now, _ := e.(map[string]any)[name].(string)
			if i > 0 && sign*strings.Compare(before, now) > 0 {
				return []string{fmt.Sprintf("%s[%d].%s is out of order: %s after %s", path, i, name, now, before)}
			}
			before = now
		}
		return nil
	}
}

var anyInstant = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$`)

// faultless reports what no response may contain anywhere: null, except
// for the given paths, and times in another width.
func faultless(path string, v any, nullable []string) []string {
	var wrong []string
	switch v := v.(type) {
	case nil:
		if !slices.Contains(nullable, path) {
			wrong = append(wrong, path+" is null")
		}
	case string:
		if anyInstant.MatchString(v) {
			wrong = append(wrong, instant(path, v)...)
		}
	case []any:
		for i, e := range v {
			wrong = append(wrong, faultless(fmt.Sprintf("%s[%d]", path, i), e, nullable)...)
		}
	case map[string]any:
		for name, e := range v {
			wrong = append(wrong, faultless(path+"."+name, e, nullable)...)
		}
	}
	return wrong
}
