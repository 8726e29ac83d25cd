package tui

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
)

// folder is the working folder of a test, with files and a folder in it.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, size := range map[string]int{"notes.txt": 10, "history.csv": 2000, "huge.csv": api.MaxUploadBytes + 1, "inner/later.csv": 5, ".hidden.csv": 5} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, noon, noon.Add(-time.Duration(size)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A file is chosen from the working folder, by a part of its name, also in
// folders below; what is too large or hidden is not sent.
func TestFilePicker(t *testing.T) {
	dir := folder(t)
	d := start(t, 100, 30, nil)
	d.press("U", "enter")
	d.shows("Choose a file", "history.csv", "2 kB", "huge.csv", "too large, 10.0 MB", "inner/", "../")
	d.hides(".hidden")
	d.press("huge", "enter")
	d.shows("huge.csv has 10.0 MB: the limit is 10 MB.")
	d.press("ctrl+u", "inner", "enter")
	d.shows("later.csv", filepath.Base(dir))
	d.hides("history.csv")
	d.press("..", "enter", "hist", "enter")
	d.shows("Import a file", filepath.Base(dir))
	d.hides("Choose a file")
	d.press("enter")
	d.shows("history.csv is taken")
	if err := os.Chmod(filepath.Join(dir, "inner"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "inner")); err != nil {
		t.Fatal(err)
	}
	d.press("U", "enter")
	d.press("esc")
	d.shows("Import a file")
}

// A path that is pasted or dropped anywhere opens the form with it; anything
// else that is pasted does nothing.
func TestDroppedPath(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "history.csv")
	paste := func(d *world, text string) { d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true}) }
	for _, text := range []string{path, "'" + path + "'", "file://" + path, path + "\n"} {
		for _, where := range [][]string{{"3"}, {"g", "u"}} {
			d := start(t, 120, 36, nil)
			d.press(where...)
			paste(d, text)
			d.shows("Import a file", "history.csv")
			d.press("enter")
			d.shows("history.csv is taken")
		}
	}
	d := start(t, 120, 36, nil)
	for _, text := range []string{"q", "two\nlines", "SELECT 1", ""} {
		paste(d, text)
		if place := d.place(); place != "Observe" {
			t.Errorf("%q leads to %s", text, place)
		}
	}
	d = start(t, 120, 36, func(o *Options, _ *plant.Service) { o.User.RoleID = api.RoleAnalyst })
	paste(d, path)
	d.shows("your role only reads")
}

// An import is cancelled and tried again from the list, which says how far each
// is.
func TestUploadsAreCancelledAndRetried(t *testing.T) {
	dir := folder(t)
	d := start(t, 120, 36, nil)
	d.press("g", "u", "/", "history-2", "enter")
	d.shows("On its way, 60 %", "validating", "training", "now", "forecasting", "to come")
	d.press("R")
	d.shows("the import did not fail")
	var moved []string
	d.service.Refuse(func(r *http.Request) *api.Error {
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/uploads/") {
			moved = append(moved, r.URL.Path)
			return api.Conflict("Upload upl-way has ended: it is completed")
		}
		return nil
	})
	d.press("X", "enter")
	if len(moved) > 0 {
		t.Fatal("enter alone cancelled the import")
	}
	d.press("X", "tab", "enter")
	d.shows("Upload upl-way has ended: it is completed.")
	if fmt.Sprint(moved) != "[/uploads/upl-way]" {
		t.Errorf("asked for %v", moved)
	}
	d.press("esc", "esc", "/", "notes", "enter", "X")
	d.shows("the import has ended")
	d.press("R")
	d.shows("Import a file")
	d.press(filepath.Join(dir, "notes.txt"), "enter")
	d.press("R") // where the file came from is known now
	d.shows("Import a file")
	d.press("esc", "c")
	d.shows("enter choose a file")
}
