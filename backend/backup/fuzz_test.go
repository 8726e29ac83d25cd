package backup

import (
	"path"
	"testing"
)

// FuzzManifest asserts that a valid manifest names only parts of a data folder,
// each once, and none outside of it.
func FuzzManifest(f *testing.F) {
	const sum = "0000000000000000000000000000000000000000000000000000000000000000"
	for _, text := range []string{"{}", "null", `{"parts":[{"name":"../etc/passwd","size":1,"sha256":"` + sum + `"}]}`,
		`{"format":1,"schema":1,"parts":[{"name":"` + Database + `","size":9223372036854775807,"sha256":"` + sum + `"},{"name":"` + Key + `","size":1,"sha256":"` + sum + `"}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil || m.check(1<<20, Database) != nil {
			return
		}
		var whole int64
		seen := map[string]bool{}
		for _, p := range m.Parts {
			if seen[p.Name] || p.Name != path.Clean(p.Name) || path.IsAbs(p.Name) || len(p.Name) > 1 && p.Name[:2] == ".." {
				t.Fatalf("%q passes twice or leads out", p.Name)
			}
			if whole += p.Size; p.Size < 0 || whole < 0 {
				t.Fatalf("%d bytes in all", whole)
			}
			seen[p.Name] = true
		}
		if !seen[Database] || !seen[Key] {
			t.Fatalf("it lacks the database or the key: %v", seen)
		}
	})
}
