package style

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../.."

// TestPhrases finds no refused phrase in the tree, except for those of
// exceptions.txt, each of which must still be used.
func TestPhrases(t *testing.T) {
	phrases, err := Phrases()
	if err != nil {
		t.Fatal(err)
	}
	exceptions, err := Exceptions()
	if err != nil {
		t.Fatal(err)
	}
	hits, err := Find(os.DirFS(root), phrases)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, h := range hits {
		if used[h.Key()] = true; exceptions[h.Key()] == "" {
			t.Errorf("%v (docs/style.md)", h)
		}
	}
	for key := range exceptions {
		if !used[key] {
			t.Errorf("exceptions.txt: %q is not in the tree any more: remove the line", key)
		}
	}
}

// TestFind finds phrases where people read them, and nowhere else.
func TestFind(t *testing.T) {
	phrases, err := Phrases()
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{
		"a.go":          {Data: []byte("package a\n\n// The unit in\n// hand stands here.\nvar nobody = \"could not read\" // told\n\n// could not is a phrase of messages only.\nconst withstands = 1\n")},
		"b.md":          {Data: []byte("Anew, and again.\n\n```sh\nhouse\n```\n`house` and a house.\n")},
		"testdata/c.md": {Data: []byte("house\n")}, "d.txt": {Data: []byte("house\n")},
	}
	hits, err := Find(tree, phrases)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hits {
		text, _, _ := strings.Cut(h.String(), "; use")
		got = append(got, text)
	}
	want := `a.go:3: "in hand"
a.go:4: "stands"
a.go:5: "could not"
a.go:5: "told"
b.md:1: "anew"
b.md:6: "house"`
	if strings.Join(got, "\n") != want {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestExceptions: each exception has a reason.
func TestExceptions(t *testing.T) {
	all, err := Exceptions()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d exceptions, %v", len(all), err)
	}
	was := exceptionFile
	t.Cleanup(func() { exceptionFile = was })
	for _, bad := range []string{"a.go: house", "a.go: house => ", "a.go: house => one\na.go: house => two"} {
		if exceptionFile = bad; true {
			if _, err := Exceptions(); err == nil {
				t.Errorf("%q is read", bad)
			}
		}
	}
}
