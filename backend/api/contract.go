package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// The contract as rows that can be tried: for each operation what a good
// request holds, what its answer holds, and what each wrong request is told.
// [Rules] spells them out one by one; `make contract` tries and prints them.

// Param is a parameter of a query, a part of a form or a field of a body.
type Param struct {
	Name     string
	Good     any // a value that works; text in braces stands for an id that the test fills in
	Required bool
	Bad      []any // values that are refused by name
}

// Wrong is a request that is refused for what it says, or for what is there.
type Wrong struct {
	Why   string
	With  map[string]any // in place of the good values; nil leaves one out
	Err   *Error
	State State
}

// State is what has to be so for a refusal that no request brings about alone.
type State string

// The states. The service behind Broken fails where the row says so.
const (
	Usual  State = ""
	Empty  State = "a customer without results"
	Broken State = "the store or the engine fails"
)

// Encoding is how the parameters travel.
type Encoding string

// The encodings. Path parameters are filled in, in all of them.
const (
	InQuery Encoding = "query"
	InJSON  Encoding = "JSON"
	InForm  Encoding = "form"
)

// Promise is what an operation promises.
type Promise struct {
	Route  string // of [Routes]
	Action string
	As     Encoding
	Params []Param
	Fields []string // of the answer: "orders[].order_id" is one of each element
	Wrongs []Wrong

	Elsewhere string // where a good request is tried, if it needs more than a service
}

// Rule is one row of the contract: a request and what it is told.
type Rule struct {
	Route      Route
	Action     string
	As         Encoding
	Case       string         // in words
	Params     map[string]any // what is sent
	Credential string         // of the Credential constants below
	Method     string
	State      State
	Status     int
	Message    string   // of a refusal
	Field      string   // that the refusal's details name
	Fields     []string // of the answer
}

// What a rule's request shows.
const (
	ShowsGood    = "good"
	ShowsNothing = "none"
	ShowsWrong   = "wrong"

	ShowsUnlimited = "unlimited" // a good one for all customers and sites
)

// Name of a rule: the operation and the case.
func (r Rule) Name() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s: %s", r.Method, r.Route.Path, r.Action, r.Case)), " ")
}

// Rules are all rows of the contract, in the order of [Routes].
func Rules() []Rule {
	var out []Rule
	for _, route := range Routes() {
		var first *Rule // a good request, also of one that is tried elsewhere
		for _, p := range promises {
			if p.Route != route.Name {
				continue
			}
			rows, good := p.rules(route)
			if out = append(out, rows...); first == nil {
				first = &good
			}
		}
		if first != nil {
			out = append(out, access(route, *first)...)
		}
	}
	return out
}

// rules of one operation: good requests, unless they are tried elsewhere, then
// every way to spoil them. good is one with all parameters.
func (p Promise) rules(route Route) (rows []Rule, good Rule) {
	row := func(words string, params map[string]any, err *Error) Rule {
		r := Rule{Route: route, Action: p.Action, As: p.As, Case: words, Params: params, Credential: ShowsGood, Method: route.Method, Status: http.StatusOK}
		if _, said := params["action"]; p.Action != "" && !said {
			r.Params = maps.Clone(params)
			r.Params["action"] = p.Action
		}
		if err == nil {
			r.Fields = p.Fields
			return r
		}
		r.Status, r.Message = err.Status, err.Message
		r.Field, _ = err.Details["field"].(string)
		return r
	}
	all, needed := map[string]any{}, map[string]any{}
	for _, q := range p.Params {
		all[q.Name] = q.Good
		if q.Required {
			needed[q.Name] = q.Good
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
	good = row("all parameters", all, nil)
	if p.Elsewhere == "" {
		rows = []Rule{good}
		if len(needed) < len(all) {
			rows = append(rows, row("required parameters alone", needed, nil))
		}
	}
	for _, q := range p.Params {
		if q.Required && !p.explains(q.Name) && !strings.Contains(route.Path, "{"+q.Name+"}") {
			err := MissingParameter(q.Name)
			if p.As == InJSON {
				err = MissingField(q.Name)
			}
			rows = append(rows, row(q.Name+" left out", with(map[string]any{q.Name: nil}), err))
		}
		for _, bad := range q.Bad {
			err := InvalidParameter(q.Name, "")
			if p.As == InJSON {
				err = InvalidField(q.Name, "")
			}
			rows = append(rows, row(fmt.Sprintf("%s is %v", q.Name, bad), with(map[string]any{q.Name: bad}), err))
		}
	}
	for _, w := range p.Wrongs {
		r := row(w.Why, with(w.With), w.Err)
		r.State = w.State
		if IsUnknownID(w.Err) {
			limited := row(w.Why+", with a limited credential", with(w.With), ErrForbidden)
			rows = append(rows, limited)
			r.Credential = ShowsUnlimited
		}
		rows = append(rows, r)
	}
	return rows, good
}

// explains says whether a wrong of the operation tells what a parameter's
// absence is answered.
func (p Promise) explains(name string) bool {
	return slices.ContainsFunc(p.Wrongs, func(w Wrong) bool {
		v, there := w.With[name]
		return len(w.With) == 1 && there && v == nil
	})
}

// access are the rows that all routes have: what a request is told without a
// credential, with a wrong one, and with a method that the path does not have.
func access(route Route, good Rule) []Rule {
	row := func(words string, change func(*Rule)) Rule {
		r := good
		r.Case, r.Fields, r.Field = words, nil, ""
		change(&r)
		return r
	}
	rows := []Rule{row("another method", func(r *Rule) {
		r.Method, r.Params = http.MethodDelete, nil
		r.Status, r.Message = ErrMethodNotAllowed.Status, ErrMethodNotAllowed.Message
	})}
	if route.Credential == CredentialNone {
		return rows
	}
	return append(rows,
		row("no credential", func(r *Rule) {
			r.Credential, r.Status, r.Message = ShowsNothing, ErrUnauthorized.Status, ErrUnauthorized.Message
		}),
		row("a wrong credential", func(r *Rule) {
			r.Credential, r.Status, r.Message = ShowsWrong, ErrUnauthorized.Status, "" // the words are the credential's
		}))
}

func words(text string) []string { return strings.Fields(text) }
