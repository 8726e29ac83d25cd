package api

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fields are the rules of a request, in the order in which they are checked. A
// JSON body lists only the fields that have a rule; its other fields are
// optional. A query lists all of its parameters.
type Fields []Field

// Field is a rule for one field of a request.
type Field struct {
	Name        string
	Required    bool
	Alternative []string // other fields, one of which may be there instead
	Unless      string   // not required if this field is there

	// Of the value.
	Values   []string // the values that are allowed; nil: any
	Min, Max float64  // of a number; both 0: any
	Default  int      // of a number that is absent

	Deprecated *Deprecation // nil: it stays

	// For the OpenAPI document, of a query parameter.
	Description string
	Example     any

	foldCase bool   // Words are compared without case
	notBlank bool   // a text of spaces is absent
	present  bool   // a zero in the body is not absent
	open     bool   // Min itself is not allowed
	reason   string // of InvalidField; empty: made from the rule
	missing  *Error // nil: MissingField or MissingParameter
	rule     func(request any) error
	of       reflect.Type // of the rule's request
	path     bool         // a parameter of the path
	form     bool         // errors speak of parameters
	index    []int        // in the request's struct
	others   [][]int      // of Alternative and Unless
}

func required(name string) Field { return Field{Name: name, Required: true} }

func optional(name string) Field { return Field{Name: name} }

// rule is a check of several fields of a request.
func rule[Req any](check func(*Req) error) Field {
	return Field{rule: func(request any) error { return check(request.(*Req)) }, of: reflect.TypeFor[Req]()}
}

func (f Field) or(names ...string) Field { f.Alternative = names; return f }

func (f Field) unless(name string) Field { f.Unless = name; return f }

func (f Field) oneOf(words ...string) Field { f.Values, f.Example = words, nil; return f }

func (f Field) anyCase(words ...string) Field { f.foldCase = true; return f.oneOf(words...) }

func (f Field) between(low, high float64) Field { f.Min, f.Max = low, high; return f }

// text is a field for people: spaces alone are absent.
func (f Field) text() Field { f.notBlank = true; return f }

// above0 is a number of more than 0.
func (f Field) above0(high float64) Field { f.open = true; return f.between(0, high) }

// givenAsZero is a number whose zero in the body is a value, not absent.
func (f Field) givenAsZero() Field { f.present = true; return f }

func (f Field) withReason(reason string) Field { f.reason = reason; return f }

func (f Field) withMissing(e *Error) Field { f.missing = e; return f }

func (f Field) withDefault(n int) Field { f.Default = n; return f }

// about sets description and example of a query parameter.
func (f Field) about(description string, example any) Field {
	f.Description, f.Example = description, example
	return f
}

func (f Field) inPath() Field { f.path, f.Required = true, true; return f }

// InPath reports whether the field is a parameter of the path.
func (f Field) InPath() bool { return f.path }

// IsRule reports whether the field is a check of several fields.
func (f Field) IsRule() bool { return f.rule != nil }

// TypeOf returns the type of the field in the request.
func (o *Operation) TypeOf(f Field) reflect.Type { return o.Request.FieldByIndex(f.index).Type }

// TypeOfName returns the type of the request's field with the name, nil if it has
// none.
func (o *Operation) TypeOfName(name string) reflect.Type {
	if index := find(o.Request, name); index != nil {
		return o.Request.FieldByIndex(index).Type
	}
	return nil
}

// jsonName returns the name of a struct field in JSON, empty if it has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// find returns the index of the struct field with the name, by its tags json,
// query and path.
func find(t reflect.Type, name string) []int {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if jsonName(f) == name || f.Tag.Get("query") == name || f.Tag.Get("path") == name {
			return f.Index
		}
	}
	return nil
}

// findIDs finds the fields of the request's type that name the action and the
// target.
func (o *Operation) findIDs() {
	o.action, o.customerID = find(o.Request, "action"), find(o.Request, "customer_id")
	if !o.Target.NoSite {
		o.siteID = find(o.Request, cmp.Or(o.Target.Site, "site_id"))
	}
	if o.Target.Asset != "" {
		o.assetID = find(o.Request, o.Target.Asset)
	}
}

// compile finds the fields in the request's type. It panics for a name that the
// type does not have: such a declaration is wrong.
func (fs Fields) compile(o *Operation) {
	if !slices.ContainsFunc(fs, func(f Field) bool { return f.Name == sinceName }) {
		o.noSince = find(o.Request, sinceName)
	}
	at := func(name string) []int {
		index := find(o.Request, name)
		if index == nil {
			panic(fmt.Sprintf("api: %s: %s has no field %s", o.Name(), o.Request, name))
		}
		return index
	}
	for i := range fs {
		f := &fs[i]
		if f.rule != nil {
			if f.of != o.Request {
				panic(fmt.Sprintf("api: %s: a rule of %s", o.Name(), f.of))
			}
			continue
		}
		f.form = f.form || o.Route.Form != nil || o.Route.Raw != nil || o.Route.Method == http.MethodGet
		f.index = at(f.Name)
		for _, name := range f.Alternative {
			f.others = append(f.others, at(name))
		}
		if f.Unless != "" {
			f.others = append(f.others, at(f.Unless))
		}
	}
}

// MissingError returns the error of a request without the field.
func (f Field) MissingError() *Error {
	switch {
	case f.missing != nil:
		return f.missing
	case f.form:
		return MissingParameter(f.Name)
	}
	return MissingField(f.Name)
}

// InvalidError returns the error of a value that breaks the rule.
func (f Field) InvalidError() *Error {
	reason := f.reason
	switch {
	case reason != "":
	case f.Values != nil:
		reason = "it is one of " + strings.Join(f.Values, ", ")
	default:
		reason = fmt.Sprintf("a whole number from %d to %d", int64(f.Min), int64(f.most()))
	}
	if f.form {
		return InvalidParameter(f.Name, reason)
	}
	return InvalidField(f.Name, reason)
}

func (f Field) bounded() bool { return f.Min != 0 || f.Max != 0 || f.open }

func (f Field) most() float64 {
	if f.Max == 0 {
		return math.MaxInt32
	}
	return f.Max
}

// Check checks a decoded request by the rules, and sets defaults and the
// spelling of words in it. given reports whether the body has a field, which
// distinguishes a zero from a missing value; request is a pointer.
func (o *Operation) Check(request any, given func(name string) bool) error {
	v := reflect.ValueOf(request).Elem()
	if o.noSince != nil && !v.FieldByIndex(o.noSince).IsZero() {
		return InvalidField(sinceName, "it is for lists of records that keep the time of their changes")
	}
	if o.AllMissing {
		var absent []string
		for _, f := range o.Fields {
			if f.isMissing(v, given) {
				absent = append(absent, f.Name)
			}
		}
		if len(absent) > 0 {
			return MissingField(absent[0]).With("missing", absent)
		}
	}
	for _, f := range o.Fields {
		if f.rule != nil {
			if err := f.rule(request); err != nil {
				return err
			}
			continue
		}
		if f.isMissing(v, given) {
			return f.MissingError()
		}
		value := v.FieldByIndex(f.index)
		if f.outOfRangeAtZero() && value.IsZero() && given != nil && given(f.Name) {
			return f.InvalidError() // it is not absent
		}
		if err := f.checkValue(value); err != nil {
			return err
		}
	}
	return nil
}

// outOfRangeAtZero reports whether the field is a number for which zero is out of range,
// and not a word for its absence.
func (f Field) outOfRangeAtZero() bool {
	return f.rule == nil && f.Values == nil && (f.open || f.Min > 0)
}

func (f Field) isMissing(v reflect.Value, given func(string) bool) bool {
	if !f.Required || f.rule != nil {
		return false
	}
	value := v.FieldByIndex(f.index)
	if !value.IsZero() && !(f.notBlank && strings.TrimSpace(value.String()) == "") || f.present && given(f.Name) {
		return false
	}
	return !slices.ContainsFunc(f.others, func(index []int) bool { return !v.FieldByIndex(index).IsZero() })
}

// checkValue checks the value of a field, unless it is absent.
func (f Field) checkValue(value reflect.Value) error {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		value = value.Elem()
	} else if value.IsZero() && !f.present {
		if f.Default != 0 {
			value.SetInt(int64(f.Default))
		}
		return nil
	}
	switch {
	case f.Values != nil:
		if f.foldCase {
			value.SetString(strings.ToLower(value.String()))
		}
		if !slices.Contains(f.Values, value.String()) {
			return f.InvalidError()
		}
	case f.bounded():
		n := 0.0
		if value.CanInt() {
			n = float64(value.Int())
		} else {
			n = value.Float()
		}
		if !(n >= f.Min && n <= f.most()) || f.open && n == f.Min {
			return f.InvalidError()
		}
	}
	return nil
}

// DecodeQuery reads the parameters of path and query into a request, a pointer,
// and checks them in the order of the rules.
func (o *Operation) DecodeQuery(request any, query, path func(name string) string) error {
	v := reflect.ValueOf(request).Elem()
	for _, f := range o.Fields {
		if f.rule != nil {
			if err := f.rule(request); err != nil {
				return err
			}
			continue
		}
		text := ""
		if f.path {
			text = path(f.Name)
		} else {
			text = query(f.Name)
		}
		if text == "" {
			if f.isMissing(v, nil) {
				return f.MissingError()
			}
			if f.Default != 0 {
				v.FieldByIndex(f.index).SetInt(int64(f.Default))
			}
			continue
		}
		if err := f.decode(v.FieldByIndex(f.index), text); err != nil {
			return err
		}
	}
	return nil
}

func (f Field) decode(value reflect.Value, text string) error {
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
		return f.checkValue(value)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil || float64(n) < f.Min || float64(n) > f.most() {
			return f.InvalidError()
		}
		value.SetInt(int64(n))
		return nil
	}
	if err := value.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		return InvalidParameter(f.Name, "not an ISO 8601 time")
	}
	return nil
}

// EncodeQuery returns the path and the query of a request, a pointer. Absent values
// are left out.
func (o *Operation) EncodeQuery(request any) (path string, query url.Values) {
	v := reflect.ValueOf(request).Elem()
	path, query = o.Route.Path, url.Values{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		text := ""
		if value := v.FieldByIndex(f.Index); !value.IsZero() && !f.Anonymous {
			text = encodeText(value)
		}
		if name := f.Tag.Get("path"); name != "" {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
			continue
		}
		name := f.Tag.Get("query")
		if name == "" && o.Route.Method == http.MethodGet {
			name = jsonName(f)
		}
		if name != "" && text != "" {
			query.Set(name, text)
		}
	}
	return path, query
}

func encodeText(value reflect.Value) string {
	if m, ok := value.Interface().(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		if err != nil {
			return ""
		}
		return string(b)
	}
	return fmt.Sprint(value.Interface())
}

// IDs are the fields of a request that name its target, see [Target]; nil if the
// request has no such field.
type IDs struct{ Customer, Site, Asset *string }

// IDsOf returns the ids of a request, a pointer to a struct.
func (o *Operation) IDsOf(request any) IDs {
	v := reflect.ValueOf(request).Elem()
	id := func(index []int) *string {
		if index == nil {
			return nil
		}
		return v.FieldByIndex(index).Addr().Interface().(*string)
	}
	return IDs{Customer: id(o.customerID), Site: id(o.siteID), Asset: id(o.assetID)}
}

// SetAction sets the action of a request, a pointer to a struct, if it has one.
func (o *Operation) SetAction(request any) {
	if o.action != nil && o.Action != "" {
		reflect.ValueOf(request).Elem().FieldByIndex(o.action).SetString(o.Action)
	}
}

// ActionOf returns the action of a request, a pointer to a struct.
func (o *Operation) ActionOf(request any) string {
	if o.action == nil {
		return ""
	}
	return reflect.ValueOf(request).Elem().FieldByIndex(o.action).String()
}

// pageLimit and pageCursor are the rules of lists. They are functions, so that the
// operations of a route are initialised in the order of their declaration.
func pageLimit() Field { return optional("limit").between(1, MaxLimit).withDefault(DefaultLimit) }

func pageCursor() Field { return optional("cursor") }

// since is the rule of lists that take updated_since. Other operations refuse it.
func since() Field {
	return optional(sinceName).about("Only records that were made or changed at this instant or later, to the millisecond.", exampleStart)
}

const sinceName = "updated_since"

// Ids of the examples: those of the demo.
const (
	exampleCustomer = "customer123"
	exampleSite     = "Sibaya"
	exampleAsset    = "INV-1000000054495190"
	exampleDevice   = "TERM-1000000054495190"
	exampleStart    = "2025-10-01T00:00:00Z"
	exampleEnd      = "2025-10-02T00:00:00Z"
	exampleJWT      = "eyJhbGciOiJFZERTQSJ9.…"
	exampleKey      = "opa_prod_…"
)

// Times of the examples.
var (
	exampleNoon = At(time.Date(2025, 10, 1, 10, 0, 0, 0, time.UTC))
	exampleDue  = At(time.Date(2025, 12, 1, 8, 0, 0, 0, time.UTC)) // of planned work
)

// Parameters that several queries have.
var (
	querySite     = required("site_id").about("The site.", exampleSite)
	queryCustomer = optional("customer_id").about("The site's customer. It is required if the credential covers several customers that have a site of this id.", exampleCustomer)
	queryStart    = required("start").about("The first instant of the span, ISO 8601; without an offset it is UTC.", exampleStart)
	queryEnd      = required("end").about("The last instant of the span, which is in it; ISO 8601, without an offset UTC.", exampleEnd)
	recordCursor  = optional("cursor").about("The cursor of the last record of the part before.", nil)
)

// Errors that the documents of several routes have.
var (
	readErrors     = []*Error{MissingParameter("site_id"), InvalidParameter("start", "not an ISO 8601 time"), ErrForbidden, ErrSiteNotFound}
	listErrors     = []*Error{MissingField("customer_id"), ErrInvalidAction, ErrSiteNotFound}
	snapshotErrors = []*Error{MissingParameter("site_id"), ErrForbidden, ErrNotFound}
	assetErrors    = []*Error{ErrInvalidAction, MissingField("asset_id"), ErrAssetNotFound}
)

// endAfter is the rule that a span does not end before it starts.
func endAfter(start, end Time) error {
	if end.Before(start.Time) {
		return InvalidParameter("end", "lies before start")
	}
	return nil
}

// SetPath sets the fields of a request that are parameters of the path.
func (o *Operation) SetPath(request any, path func(name string) string) {
	for _, f := range o.Fields {
		if f.path {
			reflect.ValueOf(request).Elem().FieldByIndex(f.index).SetString(path(f.Name))
		}
	}
}
