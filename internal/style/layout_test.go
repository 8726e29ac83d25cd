package style

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// readable is a call that writes a time by a layout for people.
var readable = regexp.MustCompile(`\.(Append)?Format\("[^"]*(15:04|Jan|Mon|2006-01-02)[^"]*"`)

// TestTimeLayouts: what people read formats times by internal/display, so that the same
// time looks the same everywhere. The axes of charts have labels of their own.
func TestTimeLayouts(t *testing.T) {
	tree := os.DirFS(root)
	for _, dir := range []string{"tui", "cmd", "backend/notify", "backend/domain/report", "backend/pipeline", "engine/diagnose"} {
		err := fs.WalkDir(tree, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (name == "tui/chart" || name == "tui/internal"):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			text, err := fs.ReadFile(tree, name)
			for n, line := range strings.Split(string(text), "\n") {
				if readable.MatchString(line) {
					t.Errorf("%s:%d formats a time itself; use internal/display", name, n+1)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		`t.Format("15:04")`: true, `t.Format("02 Jan 2006")`: true, `b = t.AppendFormat(b, layout)`: false,
		`t.Format(time.RFC3339)`: false, `t.Format("20060102")`: false,
	} {
		if readable.MatchString(text) != want {
			t.Errorf("%s is refused: %v, want %v", text, !want, want)
		}
	}
}
