// Package contract holds the cases of the contract: for each operation a request
// that works, what its response has, and each error that a request can bring
// about. What follows from the declaration of an operation (missing, malformed
// and too long fields, credentials, methods) is derived from it; a case states
// only what the declaration cannot know. The package is for tests only.
package contract

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// Param is a parameter of a query, a part of a form or a field of a body.
type Param struct {
	Name string
	Good any   // a valid value; text in braces is an id that the test fills in
	Bad  []any // values that are refused by name, in addition to those of the field's rule

	required bool // by a rule of the domain
}

// ErrorCase is a request that fails, because of its values or of the state of the
// service.
type ErrorCase struct {
	Why   string
	With  map[string]any // instead of the good values; nil leaves one out
	Err   *api.Error
	State State
}

// State is a state of the service that an error requires.
type State string

// The states. The service behind Broken fails where the case says so.
const (
	Usual  State = ""
	Empty  State = "a customer without results"
	Broken State = "the store or the engine fails"
)

// Encoding is how parameters are sent.
type Encoding string

// The encodings. All of them fill in the parameters of the path.
const (
	InQuery Encoding = "query"
	InJSON  Encoding = "JSON"
	InForm  Encoding = "form"
)

// Case is what an operation promises.
type Case struct {
	op     *api.Operation
	As     Encoding // by default that of the route
	Params []Param
	Fields []string // of the response: "orders[].order_id" is one of each element
	Errors []ErrorCase

	TestedBy string // the tests of a good request, if it needs more than a running service
}

// For makes a case of an operation.
func For[Req, Resp any](e api.Endpoint[Req, Resp], c Case) Case {
	c.op = e.Operation
	switch {
	case c.As != "":
	case e.Route.Method == http.MethodGet:
		c.As = InQuery
	case e.Route.FormOnly:
		c.As = InForm
	default:
		c.As = InJSON
	}
	return c
}

// Rule is one row of the contract: a request and the expected response.
type Rule struct {
	Route      *api.Route
	Action     string
	As         Encoding
	Case       string         // description
	Params     map[string]any // what is sent
	Query      string         // a parameter that is added to the URL; empty: none
	Twice      string         // a parameter that is sent twice; empty: none
	Unfilled   bool           // refused by its names alone: ids in braces need no record
	Credential string         // one of the constants below
	Method     string
	State      State
	Status     int
	Message    string   // of an error
	Field      string   // in the details of the error
	Fields     []string // of the response
}

// The credential of a rule's request.
const (
	CredentialGood    = "good"
	CredentialMissing = "none"
	CredentialWrong   = "wrong"

	CredentialUnlimited = "unlimited" // a good one for all customers and sites
)

// Name returns the operation and the case.
func (r Rule) Name() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s: %s", r.Method, r.Route.Path, r.Action, r.Case)), " ")
}

// Rules returns all rules of the contract, in the order of [api.Routes].
func Rules() (out []Rule) {
	for _, route := range api.Routes() {
		var first *Rule // a good request, also of one that other tests try
		for _, c := range cases {
			if c.op.Route != route {
				continue
			}
			rows, good := c.rules()
			if out = append(out, rows...); first == nil {
				first = &good
			}
		}
		if first != nil {
			out = append(out, typeRules(route, *first)...)
			out = append(out, accessRules(route, *first)...)
		}
	}
	return out
}

// Tested reports whether the operation has a case.
func Tested(o *api.Operation) bool {
	return slices.ContainsFunc(cases, func(c Case) bool { return c.op == o })
}

// rules returns those of one operation: good requests, unless other tests try
// them, then each error. good has all parameters.
func (c Case) rules() (rows []Rule, good Rule) {
	all, needed := map[string]any{}, map[string]any{}
	for _, p := range c.Params {
		all[p.Name] = p.Good
	}
	absent := c.missingErrors(all)
	for _, p := range c.Params {
		if absent[p.Name] != nil || p.required || c.inPath(p.Name) {
			needed[p.Name] = p.Good
		}
	}
	with := func(changes map[string]any) map[string]any {
		m := maps.Clone(all)
		for k, v := range changes {
			if m[k] = v; v == nil {
				delete(m, k)
			}
		}
		return m
	}
	good = c.rule("all parameters", all, nil)
	if c.TestedBy == "" {
		rows = []Rule{good}
		if len(needed) < len(all) {
			rows = append(rows, c.rule("required parameters alone", needed, nil))
		}
	}
	for _, p := range c.Params {
		if err := absent[p.Name]; err != nil && !c.inPath(p.Name) && !c.explains(p.Name) {
			rows = append(rows, c.rule(p.Name+" left out", with(map[string]any{p.Name: nil}), err))
		}
		for _, bad := range append(c.malformed(p.Name), p.Bad...) {
			err := api.InvalidParameter(p.Name, "")
			if c.As == InJSON {
				err = api.InvalidField(p.Name, "")
			}
			rows = append(rows, c.rule(fmt.Sprintf("%s is %v", p.Name, bad), with(map[string]any{p.Name: bad}), err))
		}
	}
	for _, r := range c.nameRules(all) {
		r.Unfilled = true
		rows = append(rows, r)
	}
	for _, e := range c.Errors {
		r := c.rule(e.Why, with(e.With), e.Err)
		r.State = e.State
		if api.IsUnknownID(e.Err) {
			rows = append(rows, c.rule(e.Why+", with a limited credential", with(e.With), api.ErrForbidden))
			r.Credential = CredentialUnlimited
		}
		rows = append(rows, r)
	}
	return rows, good
}

// unknownName is a name that no operation has.
const unknownName = "no_such_name"

// nameRules are requests with an unknown name and with a name that is sent twice.
func (c Case) nameRules(good map[string]any) (rows []Rule) {
	why := "a parameter that the operation does not have"
	unknown, invalid := api.UnknownParameter, api.InvalidParameter
	if c.As != InQuery {
		r := c.rule(why, good, api.UnknownParameter(unknownName, nil))
		r.Query = unknownName
		rows = append(rows, r)
	}
	if c.As == InJSON {
		if !c.op.HasJSON() {
			return rows
		}
		why, unknown, invalid = "a field that the operation does not have", api.UnknownField, api.InvalidField
	}
	more := maps.Clone(good)
	more[unknownName] = "x"
	rows = append(rows, c.rule(why, more, unknown(unknownName, nil)))
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(good)), c.inPath)
	if c.op.Action != "" {
		names = []string{"action"}
	}
	if len(names) > 0 {
		r := c.rule(names[0]+" twice", good, invalid(names[0], ""))
		r.Twice = names[0]
		rows = append(rows, r)
	}
	return rows
}

// rule returns a request of the operation with its error, or a good one.
func (c Case) rule(why string, params map[string]any, err *api.Error) Rule {
	r := Rule{Route: c.op.Route, Action: c.op.Action, As: c.As, Case: why, Params: params, Credential: CredentialGood, Method: c.op.Route.Method, Status: http.StatusOK}
	if _, ok := params["action"]; c.op.Action != "" && !ok {
		r.Params = maps.Clone(params)
		r.Params["action"] = c.op.Action
	}
	if err == nil {
		r.Fields = c.Fields
		return r
	}
	r.Status, r.Message = err.Status, err.Message
	r.Field, _ = err.Details["field"].(string)
	return r
}

func (c Case) inPath(name string) bool { return strings.Contains(c.op.Route.Path, "{"+name+"}") }

// missingErrors returns the error of each parameter that is required, given the
// others.
func (c Case) missingErrors(good map[string]any) map[string]*api.Error {
	out := map[string]*api.Error{}
	if c.As == InForm {
		for _, f := range c.op.Route.Form {
			if f.Required {
				out[f.Name] = api.MissingParameter(f.Name)
			}
		}
		return out
	}
	for _, f := range c.op.Fields {
		if _, optional := good[f.Unless]; !f.Required || optional {
			continue
		}
		names := slices.DeleteFunc(append([]string{f.Name}, f.Alternative...), func(name string) bool { _, ok := good[name]; return !ok })
		if len(names) == 1 {
			out[names[0]] = f.MissingError()
		}
	}
	return out
}

// explains reports whether an error case is about the absence of the parameter
// alone.
func (c Case) explains(name string) bool {
	return slices.ContainsFunc(c.Errors, func(e ErrorCase) bool {
		v, ok := e.With[name]
		return len(e.With) == 1 && ok && v == nil
	})
}

// malformed returns values that the type and the rule of a field refuse.
func (c Case) malformed(name string) (bad []any) {
	if c.As == InForm || c.inPath(name) {
		return nil
	}
	t := c.op.TypeOfName(name)
	if t == nil {
		return nil
	}
	switch {
	case c.As == InJSON:
		bad = append(bad, wrongType(t))
	case t.Kind() == reflect.Int:
		bad = append(bad, "many")
	case t == reflect.TypeFor[api.Time](), t == reflect.TypeFor[api.Instant]():
		bad = append(bad, "yesterday")
	}
	for _, f := range c.op.Fields {
		switch {
		case f.Name != name || f.IsRule():
		case f.Values != nil:
			bad = append(bad, "no such word")
		case f.Max != 0 || f.Min != 0:
			low := f.Min - 1
			if low == 0 && c.As == InJSON {
				low = -1 // 0 is absent
			}
			if bad = append(bad, int64(low)); f.Max > 0 && !math.IsInf(f.Max, 1) {
				bad = append(bad, int64(f.Max)+1)
			}
		}
	}
	return bad
}

// wrongType is a JSON value that does not decode into the type.
func wrongType(t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.String {
		return 7
	}
	return "a text"
}

// typeRules are derived from the type of a JSON body: each field with a value of
// another type, and each text that is longer than its limit.
func typeRules(route *api.Route, good Rule) (rows []Rule) {
	if good.As != InJSON || route.Operations[0].Request == reflect.TypeFor[api.None]() {
		return nil
	}
	for _, f := range reflect.VisibleFields(route.Operations[0].Request) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		add := func(why string, value any) {
			r := good
			r.Case, r.Fields = name+why, nil
			r.Params = map[string]any{"action": good.Action, name: value}
			for key, v := range good.Params {
				if strings.Contains(route.Path, "{"+key+"}") {
					r.Params[key] = v
				}
			}
			err := api.InvalidField(name, "")
			r.Status, r.Message, r.Field = err.Status, err.Message, name
			rows = append(rows, r)
		}
		add(" of another type", wrongType(f.Type))
		if levels := limit.Of(f); len(levels) > 0 && f.Type.Kind() == reflect.String {
			add(" too long", strings.Repeat("a", levels[0]+1))
		}
	}
	return rows
}

// accessRules are those of all routes: no credential, a wrong credential, and a
// method that the path does not have.
func accessRules(route *api.Route, good Rule) []Rule {
	row := func(why string, change func(*Rule)) Rule {
		r := good
		r.Case, r.Fields, r.Field = why, nil, ""
		change(&r)
		return r
	}
	rows := []Rule{row("another method", func(r *Rule) {
		r.Method, r.Params = http.MethodDelete, nil
		r.Status, r.Message = api.ErrMethodNotAllowed.Status, api.ErrMethodNotAllowed.Message
	})}
	if route.Credential == api.CredentialNone {
		return rows
	}
	return append(rows,
		row("no credential", func(r *Rule) {
			r.Credential, r.Status, r.Message = CredentialMissing, api.ErrUnauthorized.Status, api.ErrUnauthorized.Message
		}),
		row("a wrong credential", func(r *Rule) {
			r.Credential, r.Status, r.Message = CredentialWrong, api.ErrUnauthorized.Status, "" // the message depends on the credential
		}))
}
