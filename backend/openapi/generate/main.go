// Command generate writes what is made from backend/api at build time: the
// doc comments that the OpenAPI document shows, and the table of docs/api.md.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"app.sunloop/backend/openapi"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	document := flag.Bool("document", false, "write nothing: print the OpenAPI document")
	clients := flag.String("clients", "", "write nothing else: the clients in other languages and the collection into this folder")
	flag.Parse()
	var err error
	switch {
	case *document:
		_, err = os.Stdout.Write(openapi.JSON())
	case *clients != "":
		err = writeClients(*clients)
	default:
		err = write(*root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writeClients writes the clients of a release into a folder.
func writeClients(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range openapi.Clients() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Files that are written, below the root.
const (
	commentsFile = "backend/openapi/comments.json"
	tableFile    = "docs/api.md"
	codesFile    = "backend/openapi/errors.json"
	errorsFile   = "docs/errors.md"
)

func write(root string) error {
	for name, make := range map[string]func(string) ([]byte, error){commentsFile: commentsOf, tableFile: pageOf, codesFile: errorsJSONOf, errorsFile: errorsPageOf} {
		b, err := make(root)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// commentsOf are the comments of backend/api's exported structs and their
// fields, as JSON.
func commentsOf(root string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(root, "backend/api/*.go"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			types, ok := decl.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					structComments(found, t, types.Doc)
				}
			}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(found)
	return b.Bytes(), err
}

func structComments(found map[string]string, t *ast.TypeSpec, doc *ast.CommentGroup) {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	if text := plain(doc); text != "" {
		found[t.Name.Name] = text
	}
	for _, f := range s.Fields.List {
		// The comment above a field may describe all that follow it.
		text := plain(f.Comment)
		if text == "" {
			text = plain(f.Doc)
		}
		for _, n := range f.Names {
			if text != "" && f.Tag != nil {
				found[t.Name.Name+"."+n.Name] = text
			}
		}
	}
}

// plain is a comment on one line, without the brackets of links to Go names.
func plain(c *ast.CommentGroup) string {
	return strings.NewReplacer("[", "", "]", "").Replace(strings.Join(strings.Fields(c.Text()), " "))
}

// The marks in docs/api.md around the table.
const (
	tableBegin = "<!-- routes: made by `make generate` from backend/api -->\n"
	tableEnd   = "<!-- end of routes -->\n"
)

// pageOf is docs/api.md with a fresh table.
func pageOf(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, tableFile))
	if err != nil {
		return nil, err
	}
	page := string(b)
	begin, end := strings.Index(page, tableBegin), strings.Index(page, tableEnd)
	if begin < 0 || end < begin {
		return nil, fmt.Errorf("%s has no marks for the table of routes", tableFile)
	}
	return []byte(page[:begin+len(tableBegin)] + openapi.Markdown() + page[end:]), nil
}
