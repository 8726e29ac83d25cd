package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreFresh makes the files again and compares them with those of the
// tree.
func TestFilesAreFresh(t *testing.T) {
	const root = "../../.."
	for name, make := range map[string]func(string) ([]byte, error){commentsFile: commentsOf, tableFile: pageOf, codesFile: errorsJSONOf, errorsFile: errorsPageOf} {
		want, err := make(root)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is stale: run make generate", name)
		}
	}
}
