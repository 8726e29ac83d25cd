package openapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

const description = `Uploads of solar production data, forecasts, fault detection and diagnosis, telemetry and alerts.

Show an API key or a user's token as ` + "`Authorization: Bearer …` or `x-api-key: …`" + `; either header carries either.

Times are UTC, as ` + "`2006-01-02T15:04:05Z`" + `. Absent values are left out. Lists take ` + "`limit` and `cursor`" + ` and answer ` + "`next_cursor`" + ` while there is more.
Reads carry an ETag; send it as If-None-Match for a 304. Creating calls honour Idempotency-Key for 24 hours.
A key may make 60 requests a minute of each API, a person 600; beyond, 429 says in Retry-After how many seconds to wait.

Names that an operation does not have are refused with 400. The header API-Version is the date of the newest change; a request may ask for a version with it, and an unknown one is a 400. What will
be removed is answered with the headers Deprecation and Sunset.`

// hosts are the tags.
var hosts = []Tag{
	{string(api.HostMain), "Uploads, forecasts and the terminal API"},
	{string(api.HostTelemetry), "Telemetry of units and sites"},
	{string(api.HostAlerts), "Alerts of terminal devices"},
	{string(api.HostPartner), "Snapshots for partners, made beforehand"},
	{string(api.HostAuth), "Sign-in, tokens and API keys"},
	{string(api.HostFreemium), "The forecast without an account"},
}

const contentJSON = "application/json"

// Build makes the document of all routes.
func Build() *Document {
	one, most := 1.0, float64(api.MaxLimit)
	d := &Document{
		OpenAPI: "3.1.0",
		Info: Info{Title: "Sunloop", Version: "1.0.0", Description: description, Contact: Contact{"The operator of this service"},
			License: License{"Apache License 2.0", "Apache-2.0"}},
		Servers: []Server{{"/", "This service: one listener serves the paths of all hosts"}},
		Tags:    hosts,
		Components: Components{
			Schemas: map[string]*Schema{},
			Parameters: map[string]*Parameter{
				"limit":          {Name: "limit", In: "query", Description: "The length of the part.", Schema: &Schema{Type: "integer", Default: api.DefaultLimit, Minimum: &one, Maximum: &most}},
				"cursor":         {Name: "cursor", In: "query", Description: "The next_cursor of the part before.", Schema: &Schema{Type: "string"}},
				"IfNoneMatch":    {Name: "If-None-Match", In: "header", Description: "The ETag of an answer that is at hand: 304 when it still holds.", Schema: &Schema{Type: "string"}},
				"IdempotencyKey": {Name: api.HeaderIdempotencyKey, In: "header", Description: "A word of the caller's choice: the same call with the same word is done once in 24 hours.", Schema: &Schema{Type: "string"}},
			},
			SecuritySchemes: map[string]SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer", Description: "An API key or a user's token."},
				"apiKey": {Type: "apiKey", Name: "x-api-key", In: "header", Description: "An API key or a user's token."},
			},
		},
	}
	answers := &schemas{components: d.Components.Schemas}
	bodies := &schemas{components: d.Components.Schemas, request: true}
	answers.component(reflect.TypeFor[api.ErrorBody]())
	paths := map[string]*PathItem{}
	for _, r := range api.Routes() {
		item := paths[r.Path]
		if item == nil {
			item = &PathItem{}
			paths[r.Path] = item
			d.Paths = append(d.Paths, Member[*PathItem]{r.Path, item})
		}
		op := operation(r, answers, bodies)
		switch r.Method {
		case http.MethodGet:
			item.Get = op
		case http.MethodPost:
			item.Post = op
		default:
			panic("openapi: " + r.Name + " has the method " + r.Method)
		}
	}
	return d
}

func operation(r *api.Route, answers, bodies *schemas) *Operation {
	op := &Operation{OperationID: r.Name, Tags: []string{string(r.Host)}, Summary: r.Summary, Description: describe(r), Security: []map[string][]string{}, Parameters: parameters(r)}
	if r.Credential != api.CredentialNone {
		op.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}}
	}
	if cacheable(r) {
		op.Parameters = append(op.Parameters, &Parameter{Ref: "#/components/parameters/IfNoneMatch"})
	}
	if idempotent(r) {
		op.Parameters = append(op.Parameters, &Parameter{Ref: "#/components/parameters/IdempotencyKey"})
	}
	op.Deprecated = !slices.ContainsFunc(r.Operations, func(o *api.Operation) bool { return o.Deprecated == nil })
	op.RequestBody = requestBody(r, bodies)
	op.Responses = responses(r, answers)
	return op
}

func cacheable(r *api.Route) bool {
	return slices.ContainsFunc(r.Operations, func(o *api.Operation) bool { return o.Cacheable })
}

func idempotent(r *api.Route) bool {
	return slices.ContainsFunc(r.Operations, func(o *api.Operation) bool { return o.Idempotent })
}

// parameters returns those of the path, and of the query of a route without a
// body.
func parameters(r *api.Route) (list []*Parameter) {
	o := r.Operations[0]
	for _, f := range o.Fields {
		switch {
		case f.IsRule():
		case f.InPath():
			list = append(list, &Parameter{Name: f.Name, In: "path", Description: f.Description, Required: true, Schema: &Schema{Type: "string"}, Example: f.Example})
		case r.Method != http.MethodGet && r.Raw == nil:
		case f.Description == "": // limit and cursor of lists
			list = append(list, &Parameter{Ref: "#/components/parameters/" + f.Name})
		default:
			p := &Parameter{Name: f.Name, In: "query", Description: f.Description, Required: f.Required, Deprecated: f.Deprecated != nil, Schema: &Schema{Type: "string", Enum: f.Values}, Example: f.Example}
			if o.TypeOf(f).Kind() == reflect.Int {
				p.Schema = numberSchema(f)
			}
			list = append(list, p)
		}
	}
	return list
}

func numberSchema(f api.Field) *Schema {
	s := &Schema{Type: "integer", Minimum: &f.Min}
	if f.Default != 0 {
		s.Default = f.Default
	}
	if f.Max > 0 {
		s.Maximum = &f.Max
	}
	return s
}

// describe returns the text on what the route does and what each action requires.
func describe(r *api.Route) string {
	b := &strings.Builder{}
	b.WriteString(r.Description)
	switch r.Credential {
	case api.CredentialNone:
		b.WriteString(" No credential is needed.")
	case api.CredentialUser:
		b.WriteString(" Needs the token of a user.")
	}
	for _, o := range r.Operations {
		var says []string
		if d := o.Deprecated; d != nil {
			says = append(says, "is deprecated since "+d.Since.Format(time.DateOnly)+": use "+d.Instead)
		}
		if o.Permission != api.PermissionNone {
			says = append(says, "needs the permission "+permissionWords(o))
		}
		if fields := requiredFields(o); len(fields) > 0 && len(r.Operations) > 1 {
			says = append(says, "takes "+strings.ReplaceAll(strings.Join(fields, ", "), "|", " or "))
		}
		name := "Action " + o.Action
		if o.Action == "" {
			name = "Without an action"
		}
		switch {
		case len(says) == 0:
		case len(r.Operations) == 1:
			fmt.Fprintf(b, " It %s.", strings.Join(says, " and "))
		default:
			fmt.Fprintf(b, "\n- %s: %s.", name, strings.Join(says, "; "))
		}
	}
	return b.String()
}

// requiredFields returns the fields of the JSON body that the operation always
// requires. A word such as order_id|job_id requires at least one of several.
func requiredFields(o *api.Operation) (list []string) {
	for _, f := range o.Fields {
		if f.Required && f.Unless == "" && !f.InPath() {
			list = append(list, strings.Join(append([]string{f.Name}, f.Alternative...), "|"))
		}
	}
	return list
}

func requestBody(r *api.Route, bodies *schemas) *RequestBody {
	var content Ordered[MediaType]
	if r.Form != nil {
		content = append(content, Member[MediaType]{"multipart/form-data", MediaType{Schema: formSchema(r.Form)}})
	}
	if r.Body.JSON > 0 {
		m := MediaType{Schema: bodySchema(r, bodies)}
		if r.Example != nil {
			m.Examples = map[string]Example{"example": {Value: r.Example}}
		}
		content = append(content, Member[MediaType]{contentJSON, m})
	}
	for _, b := range r.Raw {
		m := MediaType{Schema: &Schema{Type: "string", Description: b.Description}}
		if b.Of != nil {
			m.Schema = bodies.object(reflect.TypeOf(b.Of))
			m.Schema.Description = b.Description
			m.Examples = map[string]Example{"example": {Value: r.Example}}
		}
		content = append(content, Member[MediaType]{b.Type, m})
	}
	if content == nil {
		return nil
	}
	return &RequestBody{Required: r.Raw == nil, Content: content}
}

func formSchema(fields []api.FormField) *Schema {
	s := &Schema{Type: "object"}
	for _, f := range fields {
		p := &Schema{Type: f.Kind, Description: f.Description}
		if f.Kind == "file" {
			p.Type, p.ContentMediaType = "string", "text/csv"
		}
		s.Properties = append(s.Properties, Member[*Schema]{f.Name, p})
		if f.Required {
			s.Required = append(s.Required, f.Name)
		}
	}
	return s
}

// bodySchema holds all fields of the body. Where an action selects, it is one of the
// components that [schemas.addActions] makes.
func bodySchema(r *api.Route, bodies *schemas) *Schema {
	s := bodies.object(r.Operations[0].Request)
	s.Required = nil
	for _, o := range r.Operations {
		for _, f := range o.Fields {
			if p, ok := s.Properties.Find(f.Name); ok && f.Deprecated != nil {
				p.Deprecated = true
			}
		}
	}
	action, selects := s.Properties.Find("action")
	if !selects {
		requires := requirement(requiredFields(r.Operations[0]))
		s.Required, s.AnyOf = requires.Required, requires.AnyOf
		return s
	}
	for _, o := range r.Operations {
		if o.Action != "" {
			action.Enum = append(action.Enum, o.Action)
		}
	}
	var list []actionSchema
	for _, o := range r.Operations {
		if o.DefaultAction && o.AliasOf == nil {
			continue // the same as without an action
		}
		one := actionSchema{o.Action, requirement(requiredFields(o))}
		if o.AliasOf != nil {
			one.action = o.AliasOf.Action
		} else if o.Action != "" {
			one.Required = append([]string{"action"}, one.Required...)
		}
		list = append(list, one)
	}
	if len(list) == 1 {
		s.Required, s.AnyOf = list[0].Required, list[0].AnyOf
		return s
	}
	bodies.addActions(r.Name, s, list)
	return s
}

// actionSchema is what the body of an action requires.
type actionSchema struct {
	action string
	*Schema
}

// addActions makes a component of all fields of a body for each action: these are disjoint,
// as each has another action, and at most one is without. The body is one of them, selected
// by its action.
func (s *schemas) addActions(route string, body *Schema, list []actionSchema) {
	body.Discriminator = &Discriminator{PropertyName: "action"}
	for _, one := range list {
		name := camel(route) + camel(one.action) + "Body"
		one.Type = "object"
		for _, p := range body.Properties {
			if p.Name == "action" {
				p.Value = &Schema{Type: "string", Const: one.action}
			}
			one.Properties = append(one.Properties, p)
		}
		s.add(name, one.Schema)
		body.OneOf = append(body.OneOf, &Schema{Ref: componentPath + name})
		body.Discriminator.Mapping = append(body.Discriminator.Mapping, Member[string]{one.action, componentPath + name})
	}
}

func (s *schemas) add(name string, c *Schema) {
	if _, ok := s.components[name]; ok {
		panic("openapi: two components are named " + name)
	}
	s.components[name] = c
}

// camel is a name such as upload-move as part of the name of a component: UploadMove.
func camel(name string) string {
	b := &strings.Builder{}
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// requirement is a schema that requires fields. At most one of them may be of
// several alternatives.
func requirement(fields []string) *Schema {
	s := &Schema{}
	for _, field := range fields {
		if !strings.Contains(field, "|") {
			s.Required = append(s.Required, field)
			continue
		}
		for name := range strings.SplitSeq(field, "|") {
			s.AnyOf = append(s.AnyOf, &Schema{Required: []string{name}})
		}
	}
	return s
}

// errorWords are the descriptions of the statuses of refusals.
var errorWords = map[int]string{
	http.StatusBadRequest:            "A parameter or field is missing or cannot be read",
	http.StatusUnauthorized:          "The credential is missing or not good",
	http.StatusForbidden:             "The credential does not allow this",
	http.StatusNotFound:              "What the request names is not there",
	http.StatusRequestTimeout:        "The body came too slowly",
	http.StatusConflict:              "What is there does not allow this",
	http.StatusRequestEntityTooLarge: "The body is too large",
	http.StatusUnsupportedMediaType:  "The body is compressed",
	http.StatusUnprocessableEntity:   "The Idempotency-Key was used with another body",
	http.StatusTooManyRequests:       "Too many requests: wait for Retry-After seconds",
	http.StatusInternalServerError:   "The service failed",
	http.StatusServiceUnavailable:    "The service cannot work at the moment",
	http.StatusInsufficientStorage:   "There is no room for the file",
}

// statuses returns the statuses of errors that a route may respond with,
// ascending.
func statuses(r *api.Route) []int {
	list := []int{http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusInternalServerError, http.StatusServiceUnavailable}
	for _, e := range r.Errors {
		list = append(list, e.Status)
	}
	if r.Credential != api.CredentialNone {
		list = append(list, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests)
	}
	if r.Body != (api.Body{}) {
		list = append(list, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests)
	}
	if len(parameters(r)) > 0 {
		list = append(list, http.StatusBadRequest)
	}
	if idempotent(r) {
		list = append(list, http.StatusConflict, http.StatusUnprocessableEntity)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func responses(r *api.Route, answers *schemas) Ordered[*Response] {
	ok := &Response{Description: "Done", Headers: map[string]*Header{"X-Request-Id": {"Names the request in the logs of the service.", &Schema{Type: "string"}}}}
	switch r.Operations[0].Response {
	case reflect.TypeFor[api.StreamEvent]():
		event := answers.of(reflect.TypeFor[api.StreamEvent]())
		ok.Content = Ordered[MediaType]{{api.MediaEvents, MediaType{Schema: &Schema{Type: "string", Description: "Events; the schema is of the data of one.", ContentMediaType: contentJSON, ContentSchema: event}}}}
	case reflect.TypeFor[api.DocsPage]():
		ok.Content = Ordered[MediaType]{{"text/html", MediaType{Schema: &Schema{Type: "string"}}}}
	case reflect.TypeFor[api.OpenAPIDocument]():
		ok.Content = Ordered[MediaType]{{contentJSON, MediaType{Schema: &Schema{Type: "object"}}}}
	default:
		m := MediaType{Schema: answerSchema(r, answers)}
		if r.Reply != nil {
			m.Examples = map[string]Example{"example": {Value: r.Reply}}
		}
		ok.Content = Ordered[MediaType]{{contentJSON, m}}
	}
	for _, form := range r.Media {
		m := MediaType{Schema: &Schema{Type: "string", Description: form.Description}}
		if form.Of != nil {
			m.Schema = answers.of(form.Of)
		}
		ok.Content = append(ok.Content, Member[MediaType]{form.Type, m})
	}
	list := Ordered[*Response]{{"200", ok}}
	if cacheable(r) {
		ok.Headers["ETag"] = &Header{"A strong tag over the body.", &Schema{Type: "string"}}
		list = append(list, Member[*Response]{"304", &Response{Description: "The answer at hand still holds", Headers: map[string]*Header{"ETag": ok.Headers["ETag"]}}})
	}
	for _, status := range statuses(r) {
		list = append(list, Member[*Response]{strconv.Itoa(status), errorResponse(status, r.Errors)})
	}
	return list
}

// answerSchema is that of the one type of response, or of any of several.
func answerSchema(r *api.Route, answers *schemas) *Schema {
	var list []*Schema
	seen := map[string]bool{}
	for _, o := range r.Operations {
		s := answers.of(o.Response)
		if !seen[s.Ref] {
			seen[s.Ref] = true
			list = append(list, s)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return &Schema{AnyOf: list}
}

// errorResponse is the response of a status, with the errors that the route is known for.
func errorResponse(status int, known []*api.Error) *Response {
	m := MediaType{Schema: &Schema{Ref: "#/components/schemas/ErrorBody"}}
	for _, e := range known {
		if e.Status == status {
			if m.Examples == nil {
				m.Examples = map[string]Example{}
			}
			m.Examples["example"+strconv.Itoa(len(m.Examples)+1)] = Example{e.Message, e.Body("", "req_01J9Z0")}
		}
	}
	r := &Response{Description: errorWords[status], Content: Ordered[MediaType]{{contentJSON, m}}}
	if status == http.StatusTooManyRequests {
		r.Headers = map[string]*Header{"Retry-After": {"Whole seconds to wait.", &Schema{Type: "integer"}}}
	}
	return r
}
