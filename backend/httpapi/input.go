package httpapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"app.sunloop/backend/api"
)

// input is a request while its parameters are read.
type input struct {
	*http.Request
	w         http.ResponseWriter
	route     *api.Route
	most      api.Body   // that the route reads
	tooLarge  *api.Error // the response to a file above 10 MB; nil: api.ErrFileTooLarge
	claim     claim
	spoolDir  string
	query     url.Values
	malformed error // of the query, once it is read
	body      []byte
	unknown   []unknownName // of the body
	onClose   []func()
}

// close ends what the request has taken.
func (in *input) close() {
	for _, f := range in.onClose {
		f()
	}
	in.claim.release()
}

// parseQuery reads the query, once.
func (in *input) parseQuery() {
	if in.query != nil {
		return
	}
	if in.query, in.malformed = url.ParseQuery(in.URL.RawQuery); in.malformed != nil {
		e := &api.Error{Status: http.StatusBadRequest, Message: "Invalid query string"}
		in.malformed = e.With("reason", in.malformed.Error())
	}
}

// parameter is a query parameter, empty when it is not there.
func (in *input) parameter(name string) string {
	in.parseQuery()
	return in.query.Get(name)
}

// json reads the body into v. An empty body is {}. A field above the limit that it declares, or
// one that is there twice, is a 400. Fields that v does not have are left in in.unknown: the
// operation, which the body selects, may tolerate them.
func (in *input) json(v any) error {
	b, err := in.readBody()
	if err != nil {
		return err
	}
	in.body = b
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return nil
	}
	if !utf8.Valid(b) {
		// The decoder would put U+FFFD in its place, and two ids might become one.
		return invalidBody("not UTF-8")
	}
	values, err := shapeOf(b, reflect.TypeOf(v), cmp.Or(in.most.Values, api.MaxJSONValues))
	if err != nil {
		return err
	}
	var twice string
	if twice, in.unknown = checkNames(b, reflect.TypeOf(v)); twice != "" {
		return api.InvalidField(twice, "it is there twice")
	}
	// Its texts, in the struct and once more for the audit trail, and its values.
	if err := in.claim.grow(2*int64(len(b)) + valueMemory*int64(values)); err != nil {
		return err
	}
	err = json.Unmarshal(b, v)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return api.InvalidField(fieldName(kind.Field), "is a JSON "+kind.Value)
	case err != nil && b[0] == '{' && json.Valid(b):
		// A field's own reader refused, as that of a time does.
		if name := refused(b, v); name != "" {
			return api.InvalidField(name, err.Error())
		}
		return invalidBody(err.Error())
	case err != nil || b[0] != '{':
		return invalidBody("not a JSON object")
	}
	return api.CheckLimits(v)
}

// firstRead is how much room a body without a length has at first, in bytes.
const firstRead = 512

// readBody reads the JSON body within the limit of the route. Room is taken from
// the account as the bytes come, so that a body that does not come takes none.
func (in *input) readBody() ([]byte, error) {
	most := in.most.JSON
	if in.ContentLength > most {
		return nil, api.BodyTooLarge(most)
	}
	return in.readMost(in.Body, most)
}

// unknownName is a field of a body that the type of the request does not have.
type unknownName struct {
	path  string // from the body, with dots
	known map[string]reflect.Type
	top   bool // a field of the body itself, which an operation may tolerate
}

// maxUnknown is how many unknown names of a body are kept: one that no operation tolerates is
// refused.
const maxUnknown = 16

// checkNames reads the names of the objects of a JSON text that is decoded into a type. It
// returns the first name that an object has twice, without regard to case (proxies and programs
// differ in which of the values they take), and the names that the type does not have, in their
// exact spelling.
func checkNames(b []byte, into reflect.Type) (twice string, unknown []unknownName) {
	type object struct {
		names map[string]bool // nil: a list
		value bool            // the next text is a value
		path  string
		known map[string]reflect.Type // nil: any
		next  reflect.Type            // of the next value; nil: any
	}
	var open []object
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return "", unknown // also of a text that is no JSON, which the decoder refuses
		}
		if t == json.Delim('}') || t == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		next, path := into, ""
		if n := len(open); n > 0 {
			o := &open[n-1]
			if name, ok := t.(string); ok && o.names != nil && !o.value {
				folded := strings.ToLower(name)
				if o.names[folded] {
					return name, unknown
				}
				o.names[folded], o.value = true, true
				o.path = name
				if len(name) > maxShownName {
					o.path = strings.ToValidUTF8(name[:maxShownName], "") + "…"
				}
				if n > 1 && open[n-2].path != "" {
					o.path = open[n-2].path + "." + o.path
				}
				if o.known != nil {
					if o.next = o.known[name]; o.next == nil && len(unknown) < maxUnknown {
						unknown = append(unknown, unknownName{o.path, o.known, n == 1})
					}
				}
				continue
			}
			o.value = false
			next, path = o.next, o.path
		}
		for next != nil && next.Kind() == reflect.Pointer {
			next = next.Elem()
		}
		switch t {
		case json.Delim('{'):
			o := object{names: map[string]bool{}}
			if next != nil && next.Kind() == reflect.Map {
				o.next = next.Elem()
			} else if next != nil {
				o.known = api.JSONFields(next)
			}
			open = append(open, o)
		case json.Delim('['):
			o := object{path: path}
			if next != nil && next.Kind() == reflect.Slice {
				o.next = next.Elem()
			}
			open = append(open, o)
		}
	}
}

// checkUnknown refuses the first field of the body that the operation does not tolerate; nil of
// an operation that tolerates none.
func (in *input) checkUnknown(o *api.Operation) error {
	for _, u := range in.unknown {
		if !u.top || o == nil || !o.Tolerates(u.path) {
			return api.UnknownField(u.path, slices.Sorted(maps.Keys(u.known)))
		}
	}
	return nil
}

// refused returns the first field of the body into which a value like v
// cannot be decoded, empty if no top-level field is the cause.
func refused(body []byte, v any) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil && json.Unmarshal(alone, reflect.New(reflect.TypeOf(v).Elem()).Interface()) != nil {
			return name
		}
	}
	return ""
}

// fieldName is a decoder's path to a field as the caller wrote it: the names
// of embedded structs, which Go begins with a capital, are none of the JSON's.
func fieldName(path string) string {
	for {
		first, rest, nested := strings.Cut(path, ".")
		if !nested || !unicode.IsUpper(rune(first[0])) {
			return path
		}
		path = rest
	}
}

// digest is of the body that json has read.
func (in *input) digest() []byte {
	d := sha256.Sum256(in.body)
	return d[:]
}

func invalidBody(why string) error {
	e := &api.Error{Status: http.StatusBadRequest, Message: "Invalid JSON body"}
	return e.With("reason", why)
}

// fileTooLarge is the refusal of a file above 10 MB.
func (in *input) fileTooLarge() *api.Error { return cmp.Or(in.tooLarge, api.ErrFileTooLarge) }

// formFailure is readFailure of a body that is a form.
func (in *input) formFailure(err error) error {
	if err = readFailure(err); errors.Is(err, api.ErrFileTooLarge) {
		return in.fileTooLarge()
	}
	return err
}

// readFailure distinguishes a body that is too large from one that came too slowly or
// broke off.
func readFailure(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return api.ErrFileTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return api.ErrTooSlow
	}
	return &api.Error{Status: http.StatusBadRequest, Message: "The request body broke off"}
}

// missing is the first of names and values in turn whose value is empty.
func missing(refusal func(string) *api.Error, namesAndValues ...string) error {
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] == "" {
			return refusal(namesAndValues[i])
		}
	}
	return nil
}
