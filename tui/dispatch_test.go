package tui

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/tui/keymap"
	"app.sunloop/tui/view"
)

// TestEveryRequestIsPerformed compares the types of package view that have the
// method request with the cases of perform.
func TestEveryRequestIsPerformed(t *testing.T) {
	files := token.NewFileSet()
	parse := func(path string) *ast.File {
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var sealed, cases []string
	for _, d := range parse("view/request.go").Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "request" {
			sealed = append(sealed, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	for _, d := range parse("dispatch.go").Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "perform" {
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, e := range c.List {
						if s, ok := e.(*ast.SelectorExpr); ok {
							cases = append(cases, s.Sel.Name)
						}
					}
				}
				return true
			})
		}
	}
	slices.Sort(sealed)
	slices.Sort(cases)
	if len(sealed) == 0 {
		t.Fatal("no request type was found")
	}
	if d := cmp.Diff(sealed, cases); d != "" {
		t.Errorf("types of requests and cases of perform differ (-types +cases):\n%s", d)
	}
}

// TestRequestsOfOneEventAreBounded: a view that asks for itself again and again
// cannot hold the console.
func TestRequestsOfOneEventAreBounded(t *testing.T) {
	d := start(t, 120, 36, nil)
	var all view.Batch
	for range 3 * maxRequests {
		all = append(all, view.Run{Action: keymap.FocusNext})
	}
	before := d.m.nav.focus
	d.m.perform(all)
	if want := (int(before) + maxRequests - 1) % len(d.m.nav.panes); int(d.m.nav.focus) != want {
		t.Errorf("pane %d has the keys, want %d", d.m.nav.focus, want)
	}
}
