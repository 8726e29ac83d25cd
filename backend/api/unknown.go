package api

import (
	"encoding"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A request must not have fields, parameters or parts of a form that its operation does not
// declare: a name that is misspelt would have no effect, and the caller would not notice. What
// public clients send without effect is listed in [Operation.Tolerated].

// UnknownField refuses a field of a JSON body by its path. known are the names of the object
// that has it, one of which may be suggested.
func UnknownField(path string, known []string) *Error {
	return newError(http.StatusBadRequest, "Unknown field: "+path).unknown(path, known)
}

// UnknownParameter refuses a parameter of a query or a part of a form.
func UnknownParameter(name string, known []string) *Error {
	return newError(http.StatusBadRequest, "Unknown parameter: "+name).unknown(name, known)
}

func (e *Error) unknown(path string, known []string) *Error {
	prefix, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		prefix, name = path[:i+1], path[i+1:]
	}
	e = e.With("field", path)
	if near := nearest(name, known); near != "" {
		return e.With("did_you_mean", prefix+near).With("reason", "did you mean "+prefix+near+"?")
	}
	return e.With("reason", "there is no "+name+" here")
}

// nearest returns the one of names that was probably meant by a misspelt one, empty if none is
// similar. Case and separators do not count: assetId is similar to asset_id.
func nearest(name string, names []string) string {
	plain := func(s string) string {
		return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
	}
	best, least := "", 0
	for _, candidate := range names {
		d := distance(plain(name), plain(candidate))
		if d <= max(1, len(candidate)/3) && (best == "" || d < least || d == least && candidate < best) {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove, replace or exchange with the next one to
// make b of a. Texts of over 64 bytes are compared up to there.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	var before, row, next [65]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// JSONFields returns the types of the fields of an object that is decoded into a type, by their
// names; nil if its names are not known, such as those of a map.
func JSONFields(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	if fields, ok := jsonFields.Load(t); ok {
		return fields.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name := jsonName(f); name != "" && fields[name] == nil {
			fields[name] = f.Type
		}
	}
	jsonFields.Store(t, fields)
	return fields
}

var jsonFields sync.Map // reflect.Type → map[string]reflect.Type

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// Tolerates reports whether the operation accepts a name that has no effect.
func (o *Operation) Tolerates(name string) bool { return slices.Contains(o.Tolerated, name) }

// QueryNames returns the names of the parameters that the query of a request may have.
func (o *Operation) QueryNames() (names []string) {
	if o.Route.Method != http.MethodGet {
		for _, f := range reflect.VisibleFields(o.Request) {
			if name := f.Tag.Get("query"); name != "" {
				names = append(names, name)
			}
		}
		return names
	}
	for _, f := range o.Fields {
		if f.rule == nil && !f.path {
			names = append(names, f.Name)
		}
	}
	return names
}

// CheckQuery refuses a parameter that the operation does not have, or that is there twice.
func (o *Operation) CheckQuery(query url.Values) error {
	if len(query) == 0 {
		return nil
	}
	names := o.QueryNames()
	for _, name := range sortedKeys(query) {
		switch known := slices.Contains(names, name); {
		case known && len(query[name]) > 1:
			return InvalidParameter(name, "it is there twice")
		case !known && (o.Route.Method != http.MethodGet || !o.Tolerates(name)):
			return UnknownParameter(shown(name), names)
		}
	}
	return nil
}

// CheckPart refuses a part of a form that the route does not have. Operations of a route
// tolerate the same parts.
func (r *Route) CheckPart(name string) error {
	names := make([]string, len(r.Form))
	for i, f := range r.Form {
		names[i] = f.Name
	}
	if slices.Contains(names, name) || r.Operations[0].Tolerates(name) {
		return nil
	}
	return UnknownParameter(shown(name), names)
}

func sortedKeys(v url.Values) []string {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// shown is a name of the caller as it may be in a message: at most 64 bytes of it.
func shown(name string) string {
	if len(name) <= 64 {
		return name
	}
	return strings.ToValidUTF8(name[:64], "") + "…"
}
