package httpapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
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
	most      api.Body   // that the route reads
	tooLarge  *api.Error // the response to a file above 10 MB; nil: api.ErrFileTooLarge
	claim     claim
	spoolDir  string
	query     url.Values
	malformed error // of the query, once it is read
	body      []byte
	onClose   []func()
}

// close ends what the request has taken.
func (in *input) close() {
	for _, f := range in.onClose {
		f()
	}
	in.claim.release()
}

// parameter is a query parameter, empty when it is not there.
func (in *input) parameter(name string) string {
	if in.query == nil {
		if in.query, in.malformed = url.ParseQuery(in.URL.RawQuery); in.malformed != nil {
			e := &api.Error{Status: http.StatusBadRequest, Message: "Invalid query string"}
			in.malformed = e.With("reason", in.malformed.Error())
		}
	}
	return in.query.Get(name)
}

// json reads the body into v. An empty body is {}; unknown fields are left. A
// field above the limit that it declares is a 400.
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
	values, err := shapeOf(b, reflect.TypeOf(v))
	if err != nil {
		return err
	}
	if name := duplicateName(b); name != "" {
		return api.InvalidField(name, "it is there twice")
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
	var b []byte
	for {
		if len(b) == cap(b) {
			room := min(max(firstRead, 2*int64(cap(b))), most+1)
			if err := in.claim.grow(room - int64(cap(b))); err != nil {
				return nil, err
			}
			b = append(make([]byte, 0, room), b...)
		}
		n, err := in.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > most:
			return nil, api.BodyTooLarge(most)
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, readFailure(err)
		}
	}
}

// duplicateName returns the first name that an object of a JSON text has twice, without
// regard to case, as the decoder reads names; empty if there is none. Proxies and programs
// differ in which of the values they take.
func duplicateName(b []byte) string {
	type object struct {
		names map[string]bool // nil: a list
		value bool            // the next text is a value
	}
	var open []object
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return "" // also of a text that is no JSON, which the decoder refuses
		}
		if t == json.Delim('}') || t == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].names != nil {
			if name, ok := t.(string); ok && !open[n-1].value {
				if folded := strings.ToLower(name); open[n-1].names[folded] {
					return name
				} else {
					open[n-1].names[folded], open[n-1].value = true, true
				}
				continue
			}
			open[n-1].value = false
		}
		switch t {
		case json.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		}
	}
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
