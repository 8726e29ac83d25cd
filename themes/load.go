package themes

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed *.toml
var embedded embed.FS

// Names of the embedded themes that code refers to.
const (
	// ControlRoom is the default on dark surroundings.
	ControlRoom = "control-room"
	// Daylight is the default on light ones.
	Daylight = "daylight"
	// Mono needs no colours; terminals without any get its attributes.
	Mono = "mono"
)

// order is how the embedded themes are listed.
var order = []string{ControlRoom, Daylight, "contrast", Mono, "sundown"}

// Builtin returns the embedded themes, the default first.
func Builtin() []Theme {
	all, err := Folder(embedded)
	if err != nil {
		// The files are part of the binary and a test loads them: this cannot be reached by a build that passed its tests.
		panic(fmt.Sprintf("BUG: embedded themes: %v", err))
	}
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	sort.SliceStable(all, func(i, j int) bool { return rank(all[i].Name) < rank(all[j].Name) })
	return all
}

// Find returns the theme of that name.
func Find(all []Theme, name string) (Theme, bool) {
	for _, t := range all {
		if t.Name == name {
			return t, true
		}
	}
	return Theme{}, false
}

// Folder reads every *.toml file at the top of a folder, sorted by name. Files that cannot be used are left out and named in
// the error, which joins one message for each; the good ones are returned all the same.
func Folder(files fs.FS) ([]Theme, error) {
	entries, err := fs.Glob(files, "*.toml")
	if err != nil {
		return nil, fmt.Errorf("list themes: %w", err)
	}
	var all []Theme
	var bad []error
	for _, name := range entries {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			bad = append(bad, fmt.Errorf("read theme %s: %w", name, err))
			continue
		}
		t, err := Load(name, text)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, t)
	}
	return all, errors.Join(bad...)
}

// file is a theme as written.
type file struct {
	Title   string            `toml:"title"`
	Dark    bool              `toml:"dark"`
	Colors  map[string]string `toml:"colors"`
	Sixteen map[string]string `toml:"sixteen"`
}

// Load reads one theme. Its name is the file's, without folder and ending. The error names the file and each wrong key.
func Load(name string, text []byte) (Theme, error) {
	var f file
	dec := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Theme{}, fmt.Errorf("theme %s: %w", name, explain(err))
	}
	t := Theme{Name: strings.TrimSuffix(path.Base(name), ".toml"), Title: f.Title, Dark: f.Dark}
	if t.Title == "" {
		t.Title = t.Name
	}
	bad := fill(&t.Tokens, "colors", f.Colors)
	bad = append(bad, fill(&t.Sixteen, "sixteen", f.Sixteen)...)
	for r, instead := range optional {
		if _, given := f.Colors[r.String()]; !given {
			t.Tokens[r], t.Sixteen[r] = t.Tokens[instead], t.Sixteen[instead]
		}
	}
	for r := range Roles {
		_, given := f.Colors[r.String()]
		if _, may := optional[r]; !given && !may {
			bad = append(bad, fmt.Errorf("colors.%s is missing", r))
		}
	}
	if len(bad) > 0 {
		return Theme{}, fmt.Errorf("theme %s: %w", name, errors.Join(bad...))
	}
	return t, nil
}

// optional are the roles that a theme may leave out, each with the role whose style
// it then has: files that were written before these roles existed stay valid.
var optional = map[Role]Role{Fill: Band, Loss: Range}

// fill parses one table of a theme file into tokens; each error names its key.
func fill(into *[Roles]Token, table string, from map[string]string) []error {
	keys := make([]string, 0, len(from))
	for k := range from {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var bad []error
	for _, k := range keys {
		r, known := roleOf(k)
		if !known {
			bad = append(bad, fmt.Errorf("%s.%s is not a known key", table, k))
			continue
		}
		tok, err := ParseToken(from[k])
		if err != nil {
			bad = append(bad, fmt.Errorf("%s.%s: %w", table, k, err))
			continue
		}
		into[r] = tok
	}
	return bad
}

// explain turns a TOML error into words with a line number or the unknown keys.
func explain(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var bad []error
		for _, e := range strict.Errors {
			bad = append(bad, fmt.Errorf("%s is not a known key", strings.Join(e.Key(), ".")))
		}
		return errors.Join(bad...)
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		row, column := at.Position()
		return fmt.Errorf("line %d, column %d: %w", row, column, err)
	}
	return err
}
