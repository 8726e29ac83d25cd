// Package openapi describes the service in the OpenAPI 3.1 format. The
// document is made from the route table and the Go types of backend/api, so
// it cannot describe a field or a path that the service does not know.
//
// [Build] makes the document, [JSON] writes it, [Page] is the same for
// readers and [Markdown] the table of routes of docs/api.md.
package openapi

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Document is the root of an OpenAPI document.
type Document struct {
	OpenAPI    string             `json:"openapi"`
	Info       Info               `json:"info"`
	Servers    []Server           `json:"servers"`
	Tags       []Tag              `json:"tags"`
	Paths      Ordered[*PathItem] `json:"paths"`
	Components Components         `json:"components"`
}

// Info names the service.
type Info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	Contact     Contact `json:"contact"`
	License     License `json:"license"`
}

// Contact says who is asked.
type Contact struct {
	Name string `json:"name"`
}

// License of the service.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"` // SPDX
}

// Server is where the paths are.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// Tag is a host of the specification.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// PathItem are the operations of a path.
type PathItem struct {
	Get  *Operation `json:"get,omitempty"`
	Post *Operation `json:"post,omitempty"`
}

// Operation is one method of a path.
type Operation struct {
	OperationID string                `json:"operationId"`
	Tags        []string              `json:"tags"`
	Summary     string                `json:"summary"`
	Description string                `json:"description"`
	Security    []map[string][]string `json:"security"`
	Parameters  []*Parameter          `json:"parameters,omitempty"`
	RequestBody *RequestBody          `json:"requestBody,omitempty"`
	Responses   Ordered[*Response]    `json:"responses"`
	Deprecated  bool                  `json:"deprecated,omitempty"`
}

// Parameter is a part of the path, the query or the header, or a reference to
// one of the components.
type Parameter struct {
	Ref         string  `json:"$ref,omitempty"`
	Name        string  `json:"name,omitempty"`
	In          string  `json:"in,omitempty"` // path, query, header
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Deprecated  bool    `json:"deprecated,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
	Example     any     `json:"example,omitempty"`
}

// RequestBody by content type.
type RequestBody struct {
	Required bool               `json:"required"`
	Content  Ordered[MediaType] `json:"content"`
}

// MediaType is a body of one content type.
type MediaType struct {
	Schema   *Schema            `json:"schema"`
	Examples map[string]Example `json:"examples,omitempty"`
}

// Example of a body.
type Example struct {
	Summary string `json:"summary,omitempty"`
	Value   any    `json:"value"`
}

// Response of a status, or a reference to one of the components.
type Response struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Headers     map[string]*Header `json:"headers,omitempty"`
	Content     Ordered[MediaType] `json:"content,omitempty"`
}

// Header of a response.
type Header struct {
	Description string  `json:"description"`
	Schema      *Schema `json:"schema"`
}

// Components are what the paths refer to.
type Components struct {
	Schemas         map[string]*Schema        `json:"schemas"`
	Parameters      map[string]*Parameter     `json:"parameters"`
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
}

// SecurityScheme is a way to show a credential.
type SecurityScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme,omitempty"`
	Name        string `json:"name,omitempty"`
	In          string `json:"in,omitempty"`
	Description string `json:"description"`
}

// Member is a name with its value.
type Member[T any] struct {
	Name  string
	Value T
}

// Ordered is a JSON object whose members keep their order.
type Ordered[T any] []Member[T]

// Find is the value of the name.
func (o Ordered[T]) Find(name string) (value T, ok bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
	}
	return value, false
}

// MarshalJSON writes the members in their order.
func (o Ordered[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// JSON is the document as it is served. The caller must not change the bytes.
var JSON = sync.OnceValue(func() []byte {
	b, err := json.Marshal(Build())
	if err != nil {
		panic(err) // the document is made of constants
	}
	return b
})
