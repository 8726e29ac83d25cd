package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// HTMLPage is a page with the policy that it is served under.
type HTMLPage struct {
	HTML   []byte
	Policy string // Content-Security-Policy: nothing but the page's own style
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// Page is the document for readers. The caller must not change its bytes.
var Page = sync.OnceValue(func() HTMLPage {
	sum := sha256.Sum256([]byte(pageCSS))
	style := base64.StdEncoding.EncodeToString(sum[:])
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"type": typeWords, "reference": referenceOf, "curl": curl, "operations": operations, "lines": lines, "rich": rich, "pretty": pretty, "names": names, "parameter": parameterOf, "errors": Errors,
		"style": func() template.HTML { return template.HTML("<style>" + pageCSS + "</style>") }, //nolint:gosec // our own file
	}).Parse(pageHTML))
	var b bytes.Buffer
	if err := t.Execute(&b, Build()); err != nil {
		panic(err) // template and document are parts of the program
	}
	return HTMLPage{HTML: b.Bytes(), Policy: "default-src 'none'; style-src 'sha256-" + style + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
})

// located is an operation with its place.
type located struct {
	Method, Path string
	*Operation
}

// operations of a tag, in the order of the document.
func operations(d *Document, tag string) []located {
	var list []located
	for _, p := range d.Paths {
		for _, o := range []located{{http.MethodGet, p.Name, p.Value.Get}, {http.MethodPost, p.Name, p.Value.Post}} {
			if o.Operation != nil && slices.Contains(o.Tags, tag) {
				list = append(list, o)
			}
		}
	}
	return list
}

// referenceOf is the schema that a schema, or its items, refer to.
func referenceOf(s *Schema) string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case s.Items != nil:
		return referenceOf(s.Items)
	case s.AdditionalProperties != nil:
		return referenceOf(s.AdditionalProperties)
	}
	return ""
}

// typeWords say what a schema holds.
func typeWords(s *Schema) string {
	kind := fmt.Sprint(s.Type)
	if list, several := s.Type.([]string); several {
		kind = strings.Join(list, " or ")
	}
	switch {
	case s.Ref != "":
		return referenceOf(s)
	case s.Items != nil:
		return "list of " + typeWords(s.Items)
	case s.AdditionalProperties != nil:
		return "map to " + typeWords(s.AdditionalProperties)
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, " | ")
	case s.AnyOf != nil:
		var list []string
		for _, a := range s.AnyOf {
			list = append(list, typeWords(a))
		}
		return "one of " + strings.Join(list, ", ")
	case s.Format != "":
		return s.Format
	case s.Type == nil:
		return "anything"
	}
	return kind
}

// parameterOf is the component that a parameter refers to.
func parameterOf(d *Document, ref string) *Parameter {
	return d.Components.Parameters[ref[strings.LastIndexByte(ref, '/')+1:]]
}

// rich returns a text with the parts between backquotes as code.
func rich(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			part = "<code>" + template.HTMLEscapeString(part) + "</code>"
		} else {
			part = template.HTMLEscapeString(part)
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // escaped above
}

// lines of a text, for paragraphs.
func lines(text string) []string { return strings.Split(text, "\n") }

// names of a map, sorted.
func names(m map[string]*Schema) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// pretty is a value as JSON on several lines.
func pretty(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.String(), err
}

// curl is a call of the operation in a shell.
func curl(o located) (string, error) {
	path, parameters := o.Path, url.Values{}
	for _, p := range o.Parameters {
		example, ok := p.Example.(string)
		switch {
		case !ok || !p.Required:
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(example))
		case p.In == "query":
			parameters.Set(p.Name, example)
		}
	}
	if len(parameters) > 0 {
		path += "?" + parameters.Encode()
	}
	parts := []string{"curl -s \"$SUNLOOP" + path + "\""}
	if len(o.Security) > 0 {
		parts = append(parts, `-H "Authorization: Bearer $TOKEN"`)
	}
	if o.RequestBody == nil {
		if o.Method == http.MethodPost {
			parts = append(parts, "-X POST")
		}
		return strings.Join(parts, " \\\n  "), nil
	}
	first := o.RequestBody.Content[0]
	if first.Name != contentJSON {
		for _, name := range first.Value.Schema.Required {
			value := strings.ToUpper(name)
			if name == "file" {
				value = "@data.csv"
			}
			parts = append(parts, "-F "+name+"="+value)
		}
		return strings.Join(parts, " \\\n  "), nil
	}
	value, err := exampleBody(first.Value)
	if err != nil {
		return "", err
	}
	parts = append(parts, "-H 'Content-Type: application/json'", "-d '"+strings.ReplaceAll(value, "'", `'\''`)+"'")
	return strings.Join(parts, " \\\n  "), nil
}

// exampleBody is the example of a body, or one of its required fields.
func exampleBody(m MediaType) (string, error) {
	if e, ok := m.Examples["example"]; ok {
		b, err := json.Marshal(e.Value)
		return string(b), err
	}
	fields := Ordered[any]{}
	need := m.Schema.Required
	if len(m.Schema.OneOf) > 0 {
		need = []string{"action"}
	}
	for _, name := range need {
		p, _ := m.Schema.Properties.Find(name)
		var value any = strings.ToUpper(name)
		switch {
		case len(p.Enum) > 0:
			value = p.Enum[0]
		case p.Type != "string":
			value = Ordered[any]{}
		}
		fields = append(fields, Member[any]{name, value})
	}
	b, err := json.Marshal(fields)
	return string(b), err
}

//go:embed errors.json
var errorsJSON []byte

// ErrorCode is a code of errors with the status and the messages that have it.
type ErrorCode struct {
	Code     string   `json:"code"`
	Status   int      `json:"status"`
	Messages []string `json:"messages"`
}

// Errors returns all codes of errors, by code. The generator makes them from the places
// that declare errors.
var Errors = sync.OnceValue(func() []ErrorCode {
	var list []ErrorCode
	if err := json.Unmarshal(errorsJSON, &list); err != nil {
		panic(err) // the file is a part of the program
	}
	return list
})
