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
	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
)

// folder returns the working folder of a test, with files and a folder in it.
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
	d.shows("Import history.csv", "192 stored values", "enter import")
	d.press("esc")
	d.shows("Import a file", "history.csv")
	d.press("esc")
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
			d.shows("Import history.csv")
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
	d.shows("In progress, 60 %", "validating", "training", "now", "forecasting", "to come")
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
	d.press(filepath.Join(dir, "notes.txt"), "enter", "enter", "esc")
	d.press("R") // where the file came from is known now
	d.shows("Import a file")
	d.press("esc", "c")
	d.shows("enter choose a file")
}

// inspected opens the preview of a file.
func inspected(t *testing.T, prepare func(*Options, *plant.Service)) *world {
	t.Helper()
	dir := folder(t)
	d := start(t, 120, 36, prepare)
	d.press("U", filepath.Join(dir, "history.csv"), "enter")
	d.shows("Import history.csv", "The first day", "Forecast (W)", "its name says that it is a", "2     skipped: the time is not a time")
	return d
}

// count returns how often the service was asked for a path.
func (d *world) count(request string) int {
	n := 0
	for _, r := range d.service.Requests() {
		if r == request {
			n++
		}
	}
	return n
}

// The preview stores nothing; enter does, and the dialog shows the progress and
// the result, also if an alarm comes meanwhile. The new site is opened from it.
func TestImportIsPreviewedAndItsResultShown(t *testing.T) {
	state := api.Upload{ProcessingStatus: api.UploadProcessing, Stage: "storing", Progress: 0.3}
	d := inspected(t, func(_ *Options, s *plant.Service) {
		other := plant.New()
		other.SiteID = "Havelland"
		s.Plants = append(s.Plants, other)
		s.Imported(func(u *api.Upload) {
			u.SiteID, u.ProcessingStatus, u.Stage, u.Progress, u.NewSite = "Havelland", state.ProcessingStatus, state.Stage, state.Progress, true
		})
	})
	if n := d.count("POST " + api.PathUploadTrain); n != 0 {
		t.Fatalf("the preview stored the file %d times", n)
	}
	d.press("m", "enter") // the mapping as it is: the service reads again
	if n := d.count("POST " + api.PathUploadInspect); n != 2 {
		t.Errorf("the file was read %d times", n)
	}
	d.shows("Import history.csv", "Mapping in use")
	d.press("enter")
	d.shows("In progress, 30 %", "storing")
	d.m.notify("New critical: INV-03 stopped", themes.Critical)
	state = api.Upload{ProcessingStatus: api.UploadCompleted, Progress: 1}
	d.pass(3)
	d.shows("done", "Havelland, which is new", "enter open the site")
	d.press("enter")
	if site := d.m.data.siteRecord().SiteID; site != "Havelland" || d.m.dialogs.top() != nil {
		t.Errorf("site %s, dialog %v", site, d.m.dialogs.top())
	}
}

// A result that no dialog shows is a notice, which comes back after the notice of
// an alarm.
func TestImportResultComesBackAfterAnAlarm(t *testing.T) {
	state := api.UploadProcessing
	d := inspected(t, func(_ *Options, s *plant.Service) {
		s.Imported(func(u *api.Upload) { u.ProcessingStatus = state })
	})
	d.press("enter", "esc")
	if d.m.dialogs.top() != nil {
		t.Fatal("a dialog is open")
	}
	state = api.UploadCompleted
	d.pass(3)
	d.shows("history-2.csv is imported: 70080 rows")
	d.m.notify("New critical: INV-03 stopped", themes.Critical)
	d.shows("INV-03 stopped")
	d.pass(int(noticeFor/time.Second) + 1)
	d.shows("history-2.csv is imported: 70080 rows")
	d.pass(int(noticeFor/time.Second) + 1)
	d.hides("is imported")
}

// A file that would be refused is shown with its columns, and can be mapped.
func TestRefusedImportIsMapped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "q.csv")
	if err := os.WriteFile(path, []byte("no columns"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, 80, 24, nil)
	d.press("U", path, "enter")
	d.shows("Nothing would be stored: line 1: no column holds power", "Q1", "m assign the columns")
	d.hides("enter import")
	d.press("enter")
	if n := d.count("POST " + api.PathUploadTrain); n != 0 {
		t.Error("a refused file was stored")
	}
	d.press("m")
	d.shows("What the columns mean", "Q1")
}

// Tab completes a path as far as names agree, and moves to the next field when it is complete.
func TestPathIsCompleted(t *testing.T) {
	dir := folder(t)
	d := start(t, 120, 36, nil)
	d.press("U", dir+"/h", "tab")
	d.shows("history.csv, huge.csv")
	d.press("i", "tab")
	d.shows("history.csv")
	d.press("Xhosa-9") // in the field of the site now
	d.shows("Xhosa-9")
	d.press("shift+tab", "ctrl+u", dir+"/inn", "tab", "tab")
	d.shows("inner/later.csv")
}

// The list shows the uploads of all sites, and reverts one after a confirmation.
func TestUploadsOfAllSitesAndRevert(t *testing.T) {
	d := start(t, 120, 36, func(_ *Options, s *plant.Service) {
		other := plant.New()
		other.SiteID = "Havelland"
		s.Plants = append(s.Plants, other)
	})
	d.press("g", "u")
	d.hides("Havelland")
	d.press("a")
	d.shows("Uploads of all sites", "Havelland", "Sibaya")
	var moved []string
	d.service.Refuse(func(r *http.Request) *api.Error {
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/uploads/") {
			moved = append(moved, r.URL.Path)
			return api.Conflict("Upload upl-done is reverted")
		}
		return nil
	})
	d.press("/", "notes", "enter", "V")
	d.shows("has stored nothing that can be reverted")
	d.press("esc", "/", "history-1", "enter", "V")
	d.shows("Undo the import of history-1.csv into Sibaya? Its 35000")
	d.press("enter")
	if len(moved) > 0 {
		t.Fatal("enter alone reverted the import")
	}
	d.press("V", "tab", "enter")
	d.shows("Upload upl-done is reverted.")
	if fmt.Sprint(moved) != "[/uploads/upl-done]" {
		t.Errorf("asked for %v", moved)
	}
}
