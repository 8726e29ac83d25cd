package widget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// FilePicker chooses a file of this machine: a folder's names with sizes and
// times, narrowed as one types. No file is read before it is selected.
type FilePicker struct {
	view.Base
	folder string // that is shown; empty until the first answer
	query  Field
	all    []entry
	shown  []entry
	at     int
	wrong  string
	coming *listing // in progress; nil for none
	take   func(path string)
}

// entry is a name of a folder.
type entry struct {
	name     string
	folder   bool
	size     int64
	modified time.Time
}

// listing is a folder as it was read.
type listing struct {
	folder  string
	entries []entry
	err     error
}

// PickFile opens a [FilePicker] in a folder, the working one if that is empty;
// take is given the path that is chosen.
func PickFile(folder string, take func(path string)) view.Request {
	d := &FilePicker{folder: folder, query: NewField("›", "part of a name", ""), take: take}
	return view.Batch{view.OpenDialog{Dialog: d}, d.open(folder)}
}

// open reads a folder; the wait for a slow disk is elsewhere.
func (d *FilePicker) open(folder string) view.Call {
	l := &listing{}
	d.coming = l
	return view.Call{From: d, Do: func(context.Context, *client.Client) (view.Result, error) {
		l.folder, l.entries, l.err = readFolder(folder)
		return view.Result{}, nil
	}}
}

// readFolder returns the names of a folder that can be chosen: folders first, then
// files, the newest on top. What is hidden is left out.
func readFolder(folder string) (path string, entries []entry, err error) {
	if path, err = filepath.Abs(folder); err != nil {
		return folder, nil, err
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return path, nil, err
	}
	for _, e := range list {
		info, err := os.Stat(filepath.Join(path, e.Name())) // where a link leads
		if err != nil || strings.HasPrefix(e.Name(), ".") || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		entries = append(entries, entry{name: e.Name(), folder: info.IsDir(), size: info.Size(), modified: info.ModTime()})
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		switch {
		case a.folder != b.folder && a.folder:
			return -1
		case a.folder != b.folder:
			return 1
		case a.folder:
			return strings.Compare(a.name, b.name)
		}
		return cmp.Or(b.modified.Compare(a.modified), strings.Compare(a.name, b.name))
	})
	return path, entries, nil
}

// Answer shows the folder that was read.
func (d *FilePicker) Answer(err error) (done bool) {
	l := d.coming
	d.coming = nil
	if l == nil {
		return false
	}
	if err = cmp.Or(err, l.err); err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		d.wrong = terminal.Printable(l.folder + ": " + err.Error() + ".")
		return false
	}
	d.folder, d.wrong = l.folder, ""
	d.all = l.entries
	if filepath.Dir(d.folder) != d.folder {
		d.all = slices.Insert(d.all, 0, entry{name: "..", folder: true})
	}
	d.query.Set("")
	d.narrow()
	return false
}

// narrow keeps the names that hold what was typed.
func (d *FilePicker) narrow() {
	part := strings.ToLower(d.query.Value())
	d.shown = slices.DeleteFunc(slices.Clone(d.all), func(e entry) bool { return !strings.Contains(strings.ToLower(e.name), part) })
	d.at = 0
}

// Title names it.
func (d *FilePicker) Title() string { return "Choose a file" }

// Size takes most of the screen.
func (d *FilePicker) Size(w, h int) (int, int) { return min(90, w-4), min(30, h-4) }

// Draw draws the folder.
func (d *FilePicker) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	if v.ASCII {
		d.query.Label = ">"
	}
	r.PutIn(0, 0, w, terminal.TruncateMiddle(terminal.Printable(d.folder), 8, w, v.ASCII), v.Palette.Style(themes.Dim), v.ASCII)
	d.query.Draw(r, 1, 2, v, true)
	rows := max(h-5, 1)
	top := max(0, d.at-rows+1)
	for i := top; i < len(d.shown) && i < top+rows; i++ {
		d.drawEntry(r, 3+i-top, d.shown[i], v)
		if i == d.at {
			r.Shade(terminal.Rect{Y: 3 + i - top, W: w, H: 1}, v.Palette.Style(themes.Selection))
		}
	}
	switch {
	case d.wrong != "":
		v.Paragraph(r, 0, h-2, d.wrong, themes.Warning)
	case d.coming != nil:
		v.Paragraph(r, 0, h-2, "Reading the folder …", themes.Dim)
	case len(d.shown) == 0:
		v.Paragraph(r, 0, 3, "No file matches.", themes.Muted)
	}
	KeyLine(r, h-1, v, "enter", "choose", KeyNames("↑ ↓", v.ASCII), "move", "esc", "back")
	if len(d.shown) > rows {
		r.PutRight(w, h-1, fmt.Sprintf("%d of %d", d.at+1, len(d.shown)), v.Palette.Style(themes.Dim))
	}
}

func (d *FilePicker) drawEntry(r terminal.Region, y int, e entry, v view.Context) {
	w, _ := r.Size()
	name, role := terminal.Printable(e.name), themes.Text
	size := display.Bytes(e.size)
	switch {
	case e.folder:
		name, size, role = name+"/", "", themes.Dim
	case e.size > api.MaxUploadBytes:
		size, role = "too large, "+size, themes.Muted
	}
	const when = 16
	end := w
	if !e.modified.IsZero() && w > 50 {
		r.PutRight(w, y, display.DateTime(e.modified), v.Palette.Style(themes.Dim))
		end -= when + 2
	}
	end = r.PutRight(end, y, size, v.Palette.Style(themes.Dim)) - 1
	r.PutIn(0, y, max(end, 8), name, v.Palette.Style(role), v.ASCII)
}

// Key narrows, moves, goes into a folder or chooses a file.
func (d *FilePicker) Key(k tea.KeyMsg, v view.Context) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	switch {
	case action == keymap.Dismiss:
		return view.Close{}
	case d.coming != nil: // one folder at a time
	case action == keymap.Accept:
		return d.choose()
	case action == keymap.NextField:
		d.move(1)
	case action == keymap.PrevField:
		d.move(-1)
	case k.Type == tea.KeyPgDown:
		d.move(8)
	case k.Type == tea.KeyPgUp:
		d.move(-8)
	default:
		before := d.query.Value()
		d.query.Key(k)
		if d.query.Value() != before {
			d.narrow()
		}
	}
	return nil
}

func (d *FilePicker) move(by int) { d.at = min(max(d.at+by, 0), max(len(d.shown)-1, 0)) }

func (d *FilePicker) choose() view.Request {
	if d.at >= len(d.shown) {
		return nil
	}
	e := d.shown[d.at]
	path := filepath.Join(d.folder, e.name)
	switch {
	case e.folder:
		return d.open(path)
	case e.size > api.MaxUploadBytes:
		d.wrong = fmt.Sprintf("%s has %s: the limit is %s.", terminal.Printable(e.name), display.Bytes(e.size), display.Bytes(api.MaxUploadBytes))
		return nil
	}
	d.take(path)
	return view.Close{}
}
