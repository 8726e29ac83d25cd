package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"app.sunloop/themes"
)

func TestUserThemesAreReloaded(t *testing.T) {
	source, err := os.ReadFile("../../themes/daylight.toml")
	if err != nil {
		t.Fatal(err)
	}
	f := &themeFolder{dir: filepath.Join(t.TempDir(), "themes")}
	if _, changed, err := f.reload(); changed || err != nil {
		t.Fatalf("without a folder: %v, %v", changed, err)
	}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(f.dir, "mine.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(string(source))
	all, changed, err := f.reload()
	if _, ok := themes.Find(all, "mine"); !ok || !changed || err != nil {
		t.Fatalf("a new file: %v, %v, %v", ok, changed, err)
	}
	if _, changed, _ := f.reload(); changed {
		t.Error("nothing changed, but it says so")
	}
	write("background = \"no colour\"\n")
	all, changed, err = f.reload()
	if _, ok := themes.Find(all, "mine"); ok || !changed || err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("a broken file: %v, %v, %v", ok, changed, err)
	}
	if err := os.Remove(filepath.Join(f.dir, "mine.toml")); err != nil {
		t.Fatal(err)
	}
	if all, changed, err := f.reload(); !changed || err != nil || len(all) != len(themes.Builtin()) {
		t.Errorf("the file gone: %d themes, %v, %v", len(all), changed, err)
	}
}
