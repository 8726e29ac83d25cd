package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"app.sunloop/tui"
)

// FuzzSetTOML asserts that a change of one key of any document leaves all
// others as they were, keeps the bytes before and behind, and can be done again
// without a further change.
func FuzzSetTOML(f *testing.F) {
	for _, doc := range []string{"", "[console]\ntheme = \"mono\" # at night\n", "console.fps = 3\n", "console = { fps = 3 }\n", "[console]\nx = [ # why\n 'a',\n]\n[[console.a]]\n", "[console]\r\ntheme='''\na'''\r\n",
		"a=1\n[\"console\"]\n'theme' = 'x'", "\xff", "[console]\n[console.theme]\nx=1\n"} {
		f.Add([]byte(doc), "it's \"mono\"")
	}
	f.Fuzz(func(t *testing.T, doc []byte, value string) {
		if !utf8.ValidString(value) {
			t.Skip("settings are text")
		}
		kept := bytes.Clone(doc)
		out, err := setTOML(doc, "console", "theme", value)
		if !bytes.Equal(doc, kept) {
			t.Fatal("the document itself was changed")
		}
		if err != nil {
			return
		}
		var was, is map[string]any
		if toml.Unmarshal(doc, &was) != nil || toml.Unmarshal(out, &is) != nil {
			t.Fatalf("%q became %q", doc, out)
		}
		if got := is["console"].(map[string]any)["theme"]; got != value {
			t.Fatalf("%q became %q: %v", doc, out, got)
		}
		again, err := setTOML(out, "console", "theme", value)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q, done again, is %q, %v", out, again, err)
		}
	})
}

// FuzzConfiguration asserts that a configuration file is read or refused with
// its name, and that what was read of it is bounded by what it says.
func FuzzConfiguration(f *testing.F) {
	for _, text := range []string{"data = '/srv'\n[keys]\nquit = ['q', 'ctrl+c']\n", "[keys]\nquit = 3\n", "[presets]\na = 'Orient 38x60'\n", "[presets]\na = 1\n",
		"[[provider]]\nname='x'\nissuer='https://example.org'\nclient-id='c'\n[provider.provision]\nrole='operator'\n", "[[provider]]\nnmae='x'\n", "provider = 3\n", "[[keys]]\n", "\x00"} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "config.toml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var c configFile
		if err := c.load(path, true); err != nil {
			if !bytes.Contains([]byte(err.Error()), []byte(path)) {
				t.Fatalf("%v does not name the file", err)
			}
			return
		}
		var values map[string]any
		if err := toml.Unmarshal(text, &values); err != nil {
			t.Fatalf("it is read, but is no TOML: %v", err)
		}
		for action, keys := range c.Keys {
			if table, ok := values["keys"].(map[string]any); !ok || table[action] == nil {
				t.Fatalf("%s is bound to %q, but not by the file", action, keys)
			}
		}
	})
}

// FuzzPlaces asserts that whatever the file of places holds, a place that is
// kept is found again, and the file stays within its bounds.
func FuzzPlaces(f *testing.F) {
	for _, text := range []string{"", "[]", "null", "{}", `[{"who":"s u","place":{"site":"a"}}]`, `[{"place":{"lists":{"a":null}}},null]`, "[[[["} {
		f.Add([]byte(text), "Sibaya")
	}
	path := filepath.Join(f.TempDir(), "places.json")
	f.Fuzz(func(t *testing.T, text []byte, site string) {
		if !utf8.ValidString(site) || site == "" || len(site) > 1000 {
			t.Skip("a site's id")
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		p := places{path, "service"}
		want := tui.Place{Site: site, Recent: []string{site}}
		if err := p.Keep("ana", want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.Place("ana")); diff != "" {
			t.Fatal(diff)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() > maxPlaceBytes || info.Mode().Perm() != 0o600 || len(p.read()) > maxPlaces {
			t.Fatalf("%v, %v", info, err)
		}
	})
}
