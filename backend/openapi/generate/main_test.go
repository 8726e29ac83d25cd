package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// TestCodesStay compares the codes of errors with those that programs know: a code is
// not removed, and an error keeps its code. testdata/codes.txt has a status, a code and
// a message in each line, and may get more.
func TestCodesStay(t *testing.T) {
	list, err := errorsOf("../../..")
	if err != nil {
		t.Fatal(err)
	}
	declared, codeOf := map[string]bool{}, map[string]string{}
	for _, e := range list {
		declared[fmt.Sprintf("%d %s", e.Status, e.Code)] = true
		for _, m := range e.Messages {
			codeOf[fmt.Sprintf("%d %s", e.Status, m)] = e.Code
		}
	}
	b, err := os.ReadFile("testdata/codes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		status, code, message := words[0], words[1], words[2]
		if !declared[status+" "+code] {
			t.Errorf("no error has the code %s with status %s any more", code, status)
		}
		if is, ok := codeOf[status+" "+message]; ok && is != code {
			t.Errorf("%s %q: code %s, was %s", status, message, is, code)
		}
	}
}
