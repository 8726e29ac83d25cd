package style

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// verb is a verb of package fmt that writes a number.
const verb = `%[-+ 0#]*[0-9*]*(\.[0-9*]+)?(\[\d+\])?`

var (
	percentage = regexp.MustCompile(verb + `[fgd] ?%%`)
	quantity   = regexp.MustCompile(verb + `[fgd] ([kMG]?Wh?|[kKMG]i?B)\b`)
	counted    = regexp.MustCompile(`(\w+ )?%(?:\[\d+\])?d ([a-z]+s)\b`)
)

// limits precede a limit, which is a constant above one: at most, at least, more than,
// up to.
var limits = []string{"most ", "least ", "than ", "to "}

// notCounted are words on -s behind a number that are no nouns in the plural, and units of
// protocols whose number is exact.
var notCounted = strings.Fields("is has was does as this its lies counts needs holds gives follows bytes bits characters delivers")

// localNumber returns what is wrong with a format string of package fmt that writes a
// percentage, a quantity or a count itself; empty if nothing is.
func localNumber(format string) string {
	switch {
	case percentage.MatchString(format):
		return "a percentage; use display.Percent, Percentage or Change"
	case quantity.MatchString(format):
		return "a quantity; use display.Power, Energy or Bytes"
	}
	for _, m := range counted.FindAllStringSubmatch(format, -1) {
		if !slices.Contains(limits, m[1]) && !slices.Contains(notCounted, m[2]) {
			return "a count of " + m[2] + "; use display.CountOf, which knows the singular"
		}
	}
	return ""
}

// TestNumbers: what people read writes percentages, quantities and counts with
// internal/display, so that the same figure looks the same everywhere and one thing is not
// "1 units".
func TestNumbers(t *testing.T) {
	tree := os.DirFS(root)
	for _, dir := range []string{"tui", "cmd/sunloop", "backend", "engine"} {
		err := fs.WalkDir(tree, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains(programs, name):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.Contains(programs, name):
				return nil
			}
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && ofFormat(call) {
					return false
				}
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				value, _ := strconv.Unquote(literal.Value)
				if wrong := localNumber(value); wrong != "" {
					t.Errorf("%v: %q writes %s", files.Position(literal.Pos()), value, wrong)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for format, want := range map[string]bool{
		"%.1f %% of it": true, "%3.0f%%": true, "%d units": true, "%d rows and %d columns": true, "%.4g kW": true, "%d MiB": true,
		"at most %d days": false, "%d is too many": false, "%s of %d": false, "%g %%/K": true, "%d bytes": false, "%d h": false,
	} {
		if got := localNumber(format) != ""; got != want {
			t.Errorf("%q is refused: %v, want %v", format, got, want)
		}
	}
}

// programs are folders and files whose numbers are for programs, for developers, or a
// contract.
var programs = []string{
	"tui/chart", "tui/internal", "tui/terminal", "tui/view/golden",
	"engine/score", "engine/simulate", "engine/learn", "engine/series", "engine/place/gazetteer", "engine/interpolate/artifact.go",
	"engine/forecast/artifact.go", "engine/forecast/calibration.go", "engine/forecast/clearsky.go",
	"backend/store", "backend/openapi", "backend/limit", "backend/freemium", "backend/openmeteo/answer.go", "backend/stream",
	"backend/api/error.go", "backend/api/session.go", "backend/api/bulk.go",
}

// ofFormat reports whether a call describes data of a program that break their format, or
// has a message of the API, which is a contract.
func ofFormat(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "panic" || f.Name == "malformed"
	case *ast.SelectorExpr:
		return slices.Contains([]string{"Fail", "MustCompile", "LimitReached", "Conflict"}, f.Sel.Name)
	}
	return false
}
