package backend

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"app.sunloop/backend/check"
)

// TestEveryTableIsChecked reads the source for what is kept in records: each
// table, and each bucket that is written without one, is claimed by a Tables
// function, so that the check of a folder reads it and a filled folder has it.
func TestEveryTableIsChecked(t *testing.T) {
	var claimed []string
	for _, table := range check.Tables() {
		claimed = append(claimed, table.Buckets()[0])
	}
	found := 0
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir == "store" { // the stores and what they are tested with
			return fs.SkipDir
		}
		found += bucketsOf(t, dir, claimed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < len(claimed) {
		t.Errorf("the source names %d buckets, but %d are claimed: the search for them is blind", found, len(claimed))
	}
}

// bucketsOf holds the buckets that a package names against those claimed, and
// answers how many there are.
func bucketsOf(t *testing.T, dir string, claimed []string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	constants := map[string]string{}
	var sources []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				for i, name := range v.Names {
					if i < len(v.Values) {
						if text, ok := literal(v.Values[i]); ok {
							constants[name.Name] = text
						}
					}
				}
			}
			return true
		})
	}
	seen := map[string]bool{}
	named := func(at token.Pos, bucket ast.Expr) {
		name, ok := literal(bucket)
		if id, isName := bucket.(*ast.Ident); isName {
			name, ok = constants[id.Name]
		}
		switch {
		case !ok:
			t.Errorf("%s: a bucket that is neither a text nor a constant of its package", files.Position(at))
		case !slices.Contains(claimed, name):
			t.Errorf("%s: the bucket %q is claimed by no table of its package's Tables", files.Position(at), name)
		}
		seen[name] = true
	}
	for _, f := range sources {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit: // store.Table[T]{Bucket: …}
				of, ok := n.Type.(*ast.IndexExpr)
				if !ok || !selects(of.X, "store", "Table") {
					return true
				}
				for _, field := range n.Elts {
					if kv, ok := field.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Bucket" {
						named(n.Pos(), kv.Value)
					}
				}
			case *ast.CallExpr: // tx.Put("…", key, value)
				if selects(n.Fun, "tx", "Put") && len(n.Args) == 3 {
					named(n.Pos(), n.Args[0])
				}
			}
			return true
		})
	}
	return len(seen)
}

func literal(e ast.Expr) (string, bool) {
	text, ok := e.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(text.Value)
	return s, err == nil
}

func selects(e ast.Expr, of, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == of
}
