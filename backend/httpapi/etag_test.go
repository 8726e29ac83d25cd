package httpapi

import (
	"strings"
	"testing"
)

// TestMatching is the table of RFC 9110 sections 8.8.3.2 and 13.1.2.
func TestMatching(t *testing.T) {
	const tag = `"abc"`
	for _, c := range []struct {
		name    string
		headers []string
		member  string
		ok      bool
	}{
		{"no header", nil, "", false},
		{"the tag", []string{`"abc"`}, `"abc"`, true},
		{"another tag", []string{`"abd"`}, "", false},
		{"weak", []string{`W/"abc"`}, `W/"abc"`, true},
		{"a list", []string{`"x", "abc" ,"y"`}, `"abc"`, true},
		{"a list without it", []string{`"x","y"`}, "", false},
		{"any", []string{`*`}, `"abc"`, true},
		{"two headers", []string{`"x"`, `"abc"`}, `"abc"`, true},
		{"a comma inside a tag", []string{`"x,y", "abc"`}, `"abc"`, true},
		{"the tag inside another", []string{`"x,\"abc\""`}, "", false},
		{"without quotes", []string{`abc`}, "", false},
		{"half a quote", []string{`"abc`}, "", false},
		{"no comma between", []string{`"x" "abc"`}, "", false},
		{"empty members", []string{`,, "abc",`}, `"abc"`, true},
		{"lower-case weak", []string{`w/"abc"`}, "", false},
		{"of a gzip answer", []string{`"abc-gzip"`}, `"abc-gzip"`, true},
		{"of a zstd answer, weak", []string{`W/"abc-zstd"`}, `W/"abc-zstd"`, true},
		{"of a coding that is not", []string{`"abc-br"`}, "", false},
		{"empty", []string{``}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			member, ok := matching(c.headers, tag)
			if member != c.member || ok != c.ok {
				t.Errorf("matching %q: %q %v, want %q %v", c.headers, member, ok, c.member, c.ok)
			}
		})
	}
}

func FuzzMatching(f *testing.F) {
	for _, s := range []string{`"abc"`, `W/"abc", "x"`, `*`, `"`, `W/`, `, ,`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		member, ok := matching([]string{header}, `"abc"`)
		if ok && strings.TrimSpace(header) != "*" && !strings.Contains(header, member) {
			t.Errorf("member %q is not of %q", member, header)
		}
	})
}
