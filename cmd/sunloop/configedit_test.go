package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"
)

func TestSetTOML(t *testing.T) {
	for name, tt := range map[string]struct {
		doc   string
		key   string // of [console]
		value any
		want  string
	}{
		"an empty file":           {"", "theme", "mono", "[console]\ntheme = 'mono'\n"},
		"a file without end":      {"data = \"/srv\"", "fps", 10, "data = \"/srv\"\n\n[console]\nfps = 10\n"},
		"a value":                 {"# mine\n[console] # look\ntheme = \"mono\"   # at night\ngraph = \"block\"\n", "theme", "daylight", "# mine\n[console] # look\ntheme = 'daylight'   # at night\ngraph = \"block\"\n"},
		"a new key":               {"[console]\ntheme = \"mono\" # at night\n\n# the service\n[serve]\ntls = \"self\"\n", "mouse", false, "[console]\ntheme = \"mono\" # at night\nmouse = false\n\n# the service\n[serve]\ntls = \"self\"\n"},
		"an empty table":          {"[console]\n\n[serve]\ntls = \"self\"", "mouse", false, "[console]\nmouse = false\n\n[serve]\ntls = \"self\""},
		"a list over lines":       {"[console]\nx = [ # why\n  'a', # first\n  'b',\n] # end\ny = 1\n", "x", []string{"c"}, "[console]\nx = ['c'] # end\ny = 1\n"},
		"taken away":              {"[console]\ntheme = 'mono'\nfps = 3\n", "theme", nil, "[console]\nfps = 3\n"},
		"taken away, but remarks": {"[console]\n  theme = 'mono' # at night\nfps = 3\n", "theme", nil, "[console]\n# at night\nfps = 3\n"},
		"not there":               {"[console]\nfps = 3\n", "theme", nil, "[console]\nfps = 3\n"},
		"dotted keys":             {"console.fps = 3 # slow\ndata = 'x'\n", "theme", "mono", "console.fps = 3 # slow\nconsole.theme = 'mono'\ndata = 'x'\n"},
		"a dotted key itself":     {"console.fps = 3 # slow\n", "fps", 4, "console.fps = 4 # slow\n"},
		"lines of Windows":        {"[console]\r\nfps = 3\r\n", "theme", "mono", "[console]\r\nfps = 3\r\ntheme = 'mono'\r\n"},
		"a table above a list":    {"[[provider]]\nname = 'a'\n[console]\nfps = 3\n[[provider]]\nname = 'b'\n", "fps", 5, "[[provider]]\nname = 'a'\n[console]\nfps = 5\n[[provider]]\nname = 'b'\n"},
		"quoted":                  {"[\"console\"]\n\"theme\"='mono'\n", "theme", "it's \"it\"", "[\"console\"]\n\"theme\"=\"it's \\\"it\\\"\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := setTOML([]byte(tt.doc), "console", tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is written in other ways is left alone, and says so.
func TestSetTOMLRefuses(t *testing.T) {
	for _, doc := range []string{"console = { fps = 3 }\n", "console = 3\n", "[[console]]\nfps = 3\n"} {
		if out, err := setTOML([]byte(doc), "console", "theme", "mono"); !errors.Is(err, errByHand) {
			t.Errorf("%q became %q: %v", doc, out, err)
		}
	}
	if out, err := setTOML([]byte("console = { fps = 3 }\n"), "console", "fps", nil); !errors.Is(err, errByHand) {
		t.Errorf("a key of an inline table was taken for absent: %q, %v", out, err)
	}
	if _, err := setTOML([]byte("[console\n"), "console", "theme", "mono"); err == nil {
		t.Error("a broken file was changed")
	}
}

// Whatever the document, one key is another and every comment is still there.
func TestSetTOMLKeepsTheRest(t *testing.T) {
	names := []string{"theme", "graph", "fps"}
	rapid.Check(t, func(t *rapid.T) {
		var doc strings.Builder
		comments := 0
		maybe := func(text string) {
			if rapid.Bool().Draw(t, "comment") {
				comments++
				text += " # remark"
			}
			doc.WriteString(text + rapid.SampledFrom([]string{"\n", "\n\n"}).Draw(t, "space"))
		}
		for _, table := range rapid.Permutation([]string{"", "console", "serve", "keys"}).Draw(t, "tables")[:rapid.IntRange(0, 4).Draw(t, "n")] {
			if table == "" {
				if doc.Len() == 0 {
					maybe("data = 'x'")
				}
				continue
			}
			maybe("[" + table + "]")
			for _, k := range rapid.Permutation(names).Draw(t, "keys")[:rapid.IntRange(0, 3).Draw(t, "m")] {
				maybe(k + " = " + rapid.SampledFrom([]string{"1", "'#'", "[1,\n2]", "\"a\\\"b\"", "'''x\n#y'''"}).Draw(t, "value"))
			}
		}
		key := rapid.SampledFrom(names).Draw(t, "key")
		var value any
		if rapid.Bool().Draw(t, "set") {
			value = rapid.SampledFrom([]any{"a#b", int64(7), true}).Draw(t, "to")
		}
		got, err := setTOML([]byte(doc.String()), "console", key, value)
		if err != nil {
			t.Fatalf("%q: %v", doc.String(), err)
		}
		var parsed map[string]any
		if err := toml.Unmarshal(got, &parsed); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		section, _ := parsed["console"].(map[string]any)
		if section[key] != value {
			t.Fatalf("%q: %s is %v, want %v", got, key, section[key], value)
		}
		if n := strings.Count(string(got), "# remark"); n != comments {
			t.Fatalf("%d comments of %d in %q, of %q", n, comments, got, doc.String())
		}
	})
}
