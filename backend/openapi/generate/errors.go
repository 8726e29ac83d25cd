package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/openapi"
)

// statuses are the statuses of errors by their names in net/http.
var statuses = map[string]int{
	"StatusBadRequest": 400, "StatusUnauthorized": 401, "StatusForbidden": 403, "StatusNotFound": 404, "StatusMethodNotAllowed": 405, "StatusRequestTimeout": 408, "StatusConflict": 409,
	"StatusRequestEntityTooLarge": 413, "StatusUnsupportedMediaType": 415, "StatusUnprocessableEntity": 422, "StatusTooManyRequests": 429, "StatusInternalServerError": 500, "StatusBadGateway": 502, "StatusServiceUnavailable": 503, "StatusInsufficientStorage": 507,
}

// conflicts are the functions that make conflicts.
var conflicts = map[string]func(format string, args ...any) *api.Error{"Conflict": api.Conflict, "AlreadyExists": api.AlreadyExists, "VersionConflict": api.VersionConflict,
	"LimitReached": api.LimitReached, "InvalidTransition": api.InvalidTransition, "InProgress": api.InProgress, "RecordsRefused": api.RecordsRefused}

// errorsOf returns the codes of all errors that Go files below backend declare, by code and status.
func errorsOf(root string) ([]openapi.ErrorCode, error) {
	var list []openapi.ErrorCode
	var unknown []string // messages whose status is not one of statuses
	add := func(status int, code, message string) {
		if status == 0 {
			unknown = append(unknown, message)
		}
		message = verbs.Replace(message)
		at := slices.IndexFunc(list, func(c openapi.ErrorCode) bool { return c.Code == code && c.Status == status })
		if at < 0 {
			at, list = len(list), append(list, openapi.ErrorCode{Code: code, Status: status})
		}
		if !slices.Contains(list[at].Messages, message) {
			list[at].Messages = append(list[at].Messages, message)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "backend"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "/contract/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch name := nameOf(n.Fun); {
				case name == "newError" && len(n.Args) == 2:
					if message, ok := textOf(n.Args[1]); ok {
						add(statuses[nameOf(n.Args[0])], api.CodeOf(message), message)
					}
				case name == "UnknownID" && len(n.Args) == 1:
					if message, ok := textOf(n.Args[0]); ok {
						add(http.StatusNotFound, api.CodeOf(message), message)
					}
				case conflicts[name] != nil && len(n.Args) > 0:
					// Examples of routes contain ids.
					if message, ok := textOf(n.Args[0]); ok && !strings.Contains(message, "_01J9Z0") && strings.Contains(message, " ") {
						add(http.StatusConflict, conflicts[name](message).Code, message)
					}
				}
			case *ast.CompositeLit:
				if nameOf(n.Type) != "Error" {
					return true
				}
				status, message := 0, ""
				for _, e := range n.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						switch nameOf(pair.Key) {
						case "Status":
							status = statuses[nameOf(pair.Value)]
						case "Message":
							message, _ = textOf(pair.Value)
						}
					}
				}
				if status > 0 && message != "" {
					add(status, api.CodeOf(message), message)
				}
			}
			return true
		})
		return nil
	})
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("errors with a status that the generator does not know: %q", unknown)
	}
	slices.SortFunc(list, func(a, b openapi.ErrorCode) int {
		return strings.Compare(a.Code+strconv.Itoa(a.Status), b.Code+strconv.Itoa(b.Status))
	})
	for i := range list {
		slices.Sort(list[i].Messages)
	}
	return list, err
}

// verbs shows the values of a message.
var verbs = strings.NewReplacer("%s", "…", "%d", "…", "%q", "…", "%g", "…")

// nameOf returns the last name of an expression, empty if it has none.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// textOf returns the constant text of an expression, with … for the rest of it.
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		text, ok := textOf(e.X)
		return text + "…", ok
	case *ast.CallExpr: // fmt.Sprintf
		if len(e.Args) > 0 {
			return textOf(e.Args[0])
		}
	}
	return "", false
}

// errorsJSONOf are the codes for the page of the service.
func errorsJSONOf(root string) ([]byte, error) {
	list, err := errorsOf(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(list)
	return b.Bytes(), err
}

// errorsPageOf is docs/errors.md.
func errorsPageOf(root string) ([]byte, error) {
	list, err := errorsOf(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`# Errors of the API

<!-- made by ` + "`make generate`" + ` from the places that declare errors -->

Every error has the same body:

` + "```json" + `
{"success": false, "status": "error", "error": "Invalid field: priority", "request_id": "req_01J9Z0", "code": "invalid_field", "field": "priority", "docs": "/docs#error-invalid_field",
 "details": {"field": "priority", "reason": "it is one of high, medium, low"}}
` + "```" + `

To handle an error in a program, compare ` + "`code`" + `, which is stable, and the status; show ` + "`error`" + ` and ` + "`details.reason`" + ` to people. ` + "`field`" + ` is the field or parameter that is
refused, and ` + "`request_id`" + ` names the request in the log of the service. ` + "`docs`" + ` is the address of the code's row on the page of the service.

| code | status | messages |
|---|---|---|
`)
	for _, c := range list {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", c.Code, c.Status, strings.ReplaceAll(strings.Join(c.Messages, "<br>"), "|", "\\|"))
	}
	return b.Bytes(), nil
}
