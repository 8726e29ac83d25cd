package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatsHaveTests reads the table of threats: each row has a guard, a
// package that is there, and tests that are in the tree.
func TestThreatsHaveTests(t *testing.T) {
	const root = "../.."
	b, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(b), "| threat | guard | package | tests |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("there is no table of threats")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if len(rows) < 25 {
		t.Errorf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if len(cells) != 4 {
			t.Errorf("not four cells: %s", row)
			continue
		}
		threat := strings.TrimSpace(cells[0])
		if strings.TrimSpace(cells[1]) == "" {
			t.Errorf("%s: no guard", threat)
		}
		for name := range strings.SplitSeq(cells[2], ",") {
			if info, err := os.Stat(filepath.Join(root, strings.TrimSpace(name))); err != nil || !info.IsDir() || strings.TrimSpace(name) == "" {
				t.Errorf("%s: there is no package %q", threat, name)
			}
		}
		for name := range strings.SplitSeq(cells[3], ",") {
			if name = strings.TrimSpace(name); !tests[name] {
				t.Errorf("%s: there is no test %q", threat, name)
			}
		}
	}
}
