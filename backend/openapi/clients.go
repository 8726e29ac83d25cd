package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"app.sunloop/backend/api"
)

// Clients returns the files of the clients of a release by name, made from the operations of
// backend/api: a Python module and a JavaScript module with its TypeScript types, both without
// dependencies, and a Postman collection. Operations that send a file are not in them.
func Clients() map[string][]byte {
	return map[string][]byte{
		"sunloop.py": []byte(pythonClient()), "sunloop.mjs": []byte(scriptClient()), "sunloop.d.mts": []byte(scriptTypes()), "sunloop.postman_collection.json": postmanCollection(),
	}
}

// call is an operation as a method of a client.
type call struct {
	*api.Operation
	words  []string // of its name
	fields []callField
}

// callField is a field of a body or a parameter.
type callField struct {
	name string
	of   reflect.Type
}

// calls are the operations of clients, in the order of documents.
func calls() (list []call) {
	for _, o := range api.Operations() {
		if o.Route.FormOnly || o.Response == reflect.TypeFor[api.DocsPage]() {
			continue
		}
		c := call{Operation: o, words: strings.FieldsFunc(o.Name(), func(r rune) bool { return r == ' ' || r == '-' || r == '.' })}
		names := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(o.Request) {
			if name := f.Tag.Get("path"); name != "" {
				names[name] = f.Type
			}
		}
		if o.Route.Method == http.MethodGet {
			for _, f := range o.Fields {
				if !f.IsRule() {
					names[f.Name] = o.TypeOf(f)
				}
			}
		} else if o.HasJSON() {
			maps.Copy(names, api.JSONFields(o.Request))
		}
		delete(names, "action")
		for _, name := range slices.Sorted(maps.Keys(names)) {
			c.fields = append(c.fields, callField{name, names[name]})
		}
		list = append(list, c)
	}
	return list
}

// summary says what the operation does, with its action.
func (c call) summary() string {
	if c.Action == "" {
		return c.Route.Summary
	}
	return c.Route.Summary + ": " + c.Action
}

// clientType is a Go type in the words of a language.
func clientType(t reflect.Type, words map[string]string, list string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType || t == reflect.TypeFor[api.Instant]() || t == reflect.TypeFor[api.NullTime]() || t == reflect.TypeFor[api.Date]():
		return words["text"]
	case t.Kind() == reflect.Slice:
		return fmt.Sprintf(list, clientType(t.Elem(), words, list))
	}
	switch t.Kind() {
	case reflect.String:
		return words["text"]
	case reflect.Bool:
		return words["bool"]
	case reflect.Int, reflect.Int64:
		return words["int"]
	case reflect.Float64:
		return words["float"]
	}
	return words["object"]
}

const pythonHead = `"""Client of the Sunloop API, made from the service's declarations. It needs Python 3.9 or newer and no packages.

    from sunloop import Client
    client = Client("https://sunloop.example.com", "opa_prod_...")
    for asset in client.pages(client.assets_list, "assets", customer_id="customer123"):
        print(asset["asset_id"])
"""
from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Iterator, Optional

VERSION = %q


class SunloopError(Exception):
    """A refusal of the service. Compare code, which is stable."""

    def __init__(self, status: int, body: dict):
        super().__init__(f"{body.get('error', 'no JSON')} (HTTP {status})")
        self.status = status
        self.code = body.get("code", "")
        self.field = body.get("field", "")
        self.request_id = body.get("request_id", "")
        self.details = body.get("details", {})


class Client:
    def __init__(self, url: str, key: str = "", timeout: float = 60, context: Optional[ssl.SSLContext] = None):
        self.url, self.key, self.timeout, self.context = url.rstrip("/"), key, timeout, context

    def _call(self, method: str, path: str, action: str, fields: dict[str, Any]) -> dict[str, Any]:
        fields = {name: value for name, value in fields.items() if value is not None}
        for name in list(fields):
            if "{" + name + "}" in path:
                path = path.replace("{" + name + "}", urllib.parse.quote(str(fields.pop(name)), safe=""))
        headers = {"API-Version": VERSION, "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = "Bearer " + self.key
        body = None
        if method == "GET":
            if fields:
                path += "?" + urllib.parse.urlencode(fields)
        else:
            if action:
                fields["action"] = action
            body = json.dumps(fields).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout, context=self.context) as response:
                return json.load(response)
        except urllib.error.HTTPError as e:
            try:
                answer = json.load(e)
            except ValueError:
                answer = {}
            raise SunloopError(e.code, answer) from None

    def pages(self, call: Callable[..., dict[str, Any]], items: str, **fields: Any) -> Iterator[Any]:
        """All items of a list, page by page."""
        while True:
            page = call(**fields)
            yield from page.get(items, [])
            if not page.get("next_cursor"):
                return
            fields["cursor"] = page["next_cursor"]
`

// pythonKeywords cannot be names of arguments.
var pythonKeywords = []string{"from", "class", "import", "global", "lambda", "pass"}

func pythonClient() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, pythonHead, api.Version)
	words := map[string]string{"text": "str", "bool": "bool", "int": "int", "float": "float", "object": "dict[str, Any]"}
	for _, c := range calls() {
		fmt.Fprintf(b, "\n    def %s(self", strings.Join(c.words, "_"))
		pass := []string{}
		if len(c.fields) > 0 {
			b.WriteString(", *")
		}
		for _, f := range c.fields {
			argument := f.name
			if slices.Contains(pythonKeywords, argument) {
				argument += "_"
			}
			fmt.Fprintf(b, ", %s: Optional[%s] = None", argument, clientType(f.of, words, "list[%s]"))
			pass = append(pass, fmt.Sprintf("%q: %s", f.name, argument))
		}
		fmt.Fprintf(b, ") -> dict[str, Any]:\n        \"\"\"%s.\"\"\"\n        return self._call(%q, %q, %q, {%s})\n", c.summary(), c.Route.Method, c.Route.Path, c.Action, strings.Join(pass, ", "))
	}
	return b.String()
}

const scriptHead = `// Client of the Sunloop API, made from the service's declarations; sunloop.d.mts has its types. It needs fetch (Node 18, Deno, browsers).
//
//   import { Client } from "./sunloop.mjs";
//   const client = new Client("https://sunloop.example.com", "opa_prod_...");
//   for await (const asset of client.pages((fields) => client.assetsList(fields), "assets", { customer_id: "customer123" })) console.log(asset.asset_id);
export const version = %q;

export class SunloopError extends Error {
  constructor(status, body) {
    super((body.error ?? "no JSON") + " (HTTP " + status + ")");
    this.status = status;
    this.code = body.code ?? "";
    this.field = body.field ?? "";
    this.requestId = body.request_id ?? "";
    this.details = body.details ?? {};
  }
}

export class Client {
  constructor(url, key = "", send = fetch) {
    this.url = url.replace(/\/+$/, "");
    this.key = key;
    this.send = send;
  }

  async call(method, path, action, fields = {}) {
    const rest = {};
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined || value === null) continue;
      if (path.includes("{" + name + "}")) path = path.replace("{" + name + "}", encodeURIComponent(value));
      else rest[name] = value;
    }
    const headers = { "API-Version": version, Accept: "application/json" };
    if (this.key) headers.Authorization = "Bearer " + this.key;
    const options = { method, headers };
    if (method === "GET") {
      const query = new URLSearchParams(rest).toString();
      if (query) path += "?" + query;
    } else {
      if (action) rest.action = action;
      headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(rest);
    }
    const response = await this.send(this.url + path, options);
    if (!response.ok) throw new SunloopError(response.status, await response.json().catch(() => ({})));
    return response.json();
  }

  async *pages(call, items, fields = {}) {
    for (let cursor; ; ) {
      const page = await call(cursor ? { ...fields, cursor } : fields);
      yield* page[items] ?? [];
      if (!(cursor = page.next_cursor)) return;
    }
  }
`

// methodName is the name of the operation in JavaScript.
func (c call) methodName() string {
	name := c.words[0]
	for _, w := range c.words[1:] {
		name += strings.ToUpper(w[:1]) + w[1:]
	}
	return name
}

func scriptClient() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, scriptHead, api.Version)
	for _, c := range calls() {
		fmt.Fprintf(b, "\n  /** %s. */\n  %s(fields) {\n    return this.call(%q, %q, %q, fields);\n  }\n", c.summary(), c.methodName(), c.Route.Method, c.Route.Path, c.Action)
	}
	return b.String() + "}\n"
}

func scriptTypes() string {
	b := &strings.Builder{}
	b.WriteString(`// Types of sunloop.mjs, made from the service's declarations.
export declare const version: string;
export declare class SunloopError extends Error {
  status: number;
  code: string;
  field: string;
  requestId: string;
  details: Record<string, unknown>;
}
`)
	words := map[string]string{"text": "string", "bool": "boolean", "int": "number", "float": "number", "object": "Record<string, unknown>"}
	methods := &strings.Builder{}
	d := Build()
	answers := &schemas{components: d.Components.Schemas}
	for _, c := range calls() {
		var fields []string
		for _, f := range c.fields {
			fields = append(fields, fmt.Sprintf("%s?: %s", f.name, clientType(f.of, words, "Array<%s>")))
		}
		answer := "Record<string, unknown>"
		if c.Response != reflect.TypeFor[api.OpenAPIDocument]() {
			answer = scriptType(answers.of(c.Response))
		}
		fmt.Fprintf(methods, "  /** %s. */\n  %s(fields?: { %s }): Promise<%s>;\n", c.summary(), c.methodName(), strings.Join(fields, "; "), answer)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		if s := d.Components.Schemas[name]; s != nil {
			fmt.Fprintf(b, "\nexport type %s = %s;\n", name, scriptType(s))
		}
	}
	b.WriteString(`
export declare class Client {
  constructor(url: string, key?: string, send?: typeof fetch);
  pages<F extends object, P extends object>(call: (fields: F) => Promise<P>, items: keyof P, fields?: F): AsyncGenerator<any>;
`)
	return b.String() + methods.String() + "}\n"
}

// scriptType is a schema as a type of TypeScript.
func scriptType(s *Schema) string {
	switch {
	case s == nil:
		return "unknown"
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, componentPath)
	case s.Const != nil:
		return fmt.Sprintf("%q", s.Const)
	case len(s.Enum) > 0:
		quoted := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			quoted[i] = fmt.Sprintf("%q", v)
		}
		return strings.Join(quoted, " | ")
	}
	kinds, ok := s.Type.([]string)
	if kind, plain := s.Type.(string); plain {
		kinds, ok = []string{kind}, true
	}
	if !ok {
		return "unknown"
	}
	var types []string
	for _, kind := range kinds {
		switch kind {
		case "integer", "number":
			types = append(types, "number")
		case "array":
			types = append(types, "Array<"+scriptType(s.Items)+">")
		case "object":
			if len(s.Properties) == 0 {
				types = append(types, "Record<string, "+scriptType(s.AdditionalProperties)+">")
				continue
			}
			var fields []string
			for _, p := range s.Properties {
				mark := "?"
				if slices.Contains(s.Required, p.Name) {
					mark = ""
				}
				fields = append(fields, fmt.Sprintf("%q%s: %s", p.Name, mark, scriptType(p.Value)))
			}
			types = append(types, "{ "+strings.Join(fields, "; ")+" }")
		default: // string, boolean, null
			types = append(types, kind)
		}
	}
	return strings.Join(types, " | ")
}

// postmanCollection is a collection of the format 2.1, with a folder for each host. Its variables
// are url and key.
func postmanCollection() []byte {
	type object = map[string]any
	folders := []object{}
	for _, h := range hosts {
		items := []object{}
		for _, c := range calls() {
			if string(c.Route.Host) != h.Name {
				continue
			}
			path, query := c.Route.Path, []object{}
			body := object{}
			if c.Action != "" {
				body["action"] = c.Action
			}
			for _, f := range c.Operation.Fields {
				switch {
				case f.IsRule():
				case f.InPath():
					path = strings.ReplaceAll(path, "{"+f.Name+"}", ":"+f.Name)
				case c.Route.Method == http.MethodGet:
					query = append(query, object{"key": f.Name, "value": fmt.Sprint(valueOr(f.Example, "")), "description": f.Description, "disabled": !f.Required})
				case f.Required:
					body[f.Name] = ""
				}
			}
			request := object{"method": c.Route.Method, "description": c.Route.Description, "url": object{"raw": "{{url}}" + path, "host": []string{"{{url}}"}, "path": strings.Split(strings.TrimPrefix(path, "/"), "/"), "query": query}}
			if c.HasJSON() {
				text, err := json.MarshalIndent(body, "", "  ")
				if err != nil {
					panic(err) // texts alone
				}
				request["header"] = []object{{"key": "Content-Type", "value": contentJSON}}
				request["body"] = object{"mode": "raw", "raw": string(text)}
			}
			items = append(items, object{"name": c.summary(), "request": request})
		}
		folders = append(folders, object{"name": h.Description, "item": items})
	}
	b, err := json.MarshalIndent(object{
		"info":     object{"name": "Sunloop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json", "version": api.Version},
		"auth":     object{"type": "bearer", "bearer": []object{{"key": "token", "value": "{{key}}", "type": "string"}}},
		"variable": []object{{"key": "url", "value": "http://localhost:8080"}, {"key": "key", "value": ""}},
		"item":     folders,
	}, "", " ")
	if err != nil {
		panic(err) // texts alone
	}
	return append(b, '\n')
}

func valueOr(v, otherwise any) any {
	if v == nil {
		return otherwise
	}
	return v
}
