package plant

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// ImportPreview shows what the import of a file would store, before anything is
// stored. After the file was sent it shows the progress and the result.
type ImportPreview struct {
	view.Base
	path     string
	request  api.UploadRequest // with which the file was inspected
	is       api.Inspection
	page     widget.Page
	busy     string // what the service is doing; empty: nothing
	wrong    string // the error of the last request
	uploadID string // of the import, when the file was accepted
	transfer
}

// transfer is the progress of sending a file.
type transfer struct{ sent, size atomic.Int64 }

// Sent stores how many bytes of the file were sent; it may be called on any goroutine.
func (t *transfer) Sent(sent, size int64) {
	t.sent.Store(sent)
	t.size.Store(size)
}

// words describe how much of the file was sent; empty if nothing is known.
func (t *transfer) words() string {
	size := t.size.Load()
	if size <= 0 {
		return ""
	}
	return fmt.Sprintf(", %s of %s", display.Percent(float64(min(t.sent.Load(), size))/float64(size)), display.Bytes(size))
}

// NewImportPreview shows an inspection of the file at path.
func NewImportPreview(path string, request api.UploadRequest, is api.Inspection) *ImportPreview {
	return &ImportPreview{path: path, request: request, is: is}
}

// fileName returns the name of the file, printable.
func (d *ImportPreview) fileName() string {
	return terminal.Printable(cmp.Or(d.request.Filename, filepath.Base(d.path)))
}

// Title names the file.
func (d *ImportPreview) Title() string { return "Import " + d.fileName() }

// Size takes most of the screen.
func (d *ImportPreview) Size(w, h int) (int, int) { return min(160, w-4), min(40, h-2) }

// Queries asks for the state of the import once the file was accepted.
func (d *ImportPreview) Queries(view.Context) []state.Need {
	if d.uploadID == "" {
		return nil
	}
	return []state.Need{{Query: state.QueryImport, Of: d.uploadID, Period: 2 * time.Second, Focused: true}}
}

// UploadID returns the import whose result the dialog shows; empty before the file was accepted.
func (d *ImportPreview) UploadID() string { return d.uploadID }

// imported returns the state of the import; nil while it is not known.
func (d *ImportPreview) imported(v view.Context) *api.Upload {
	if v.Admin == nil || v.Admin.Import.At.IsZero() || v.Admin.Import.Data.UploadID != d.uploadID || d.uploadID == "" {
		return nil
	}
	return &v.Admin.Import.Data
}

// Draw draws the preview or the result.
func (d *ImportPreview) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	foot := h - 1
	if words, role := d.note(); words != "" {
		lines := view.Wrap(view.Drawable(words, v.ASCII), w)
		lines = lines[:min(len(lines), 3)]
		foot -= len(lines)
		for i, line := range lines {
			v.PutIn(r, 0, foot+i, w, line, role)
		}
	}
	body := r.Region(terminal.Rect{W: w, H: max(foot-1, 1)})
	const wide = 110
	switch _, bodyH := body.Size(); {
	case d.uploadID != "":
		d.page.Draw(body, v, d.uploadID, func(r terminal.Region) int { return d.drawResult(r, v) })
	case w >= wide && d.is.FirstDay != nil:
		left := w * 6 / 10
		d.page.Draw(body.Region(terminal.Rect{W: left, H: bodyH}), v, d.request.Mapping, func(r terminal.Region) int { return d.drawPreview(r, v, false) })
		right := body.Region(terminal.Rect{X: left + 2, W: w - left - 2, H: bodyH})
		y := d.drawFirstDay(right, 0, v, min(bodyH, 18))
		d.drawRows(right, y+1, v)
	default:
		d.page.Draw(body, v, d.request.Mapping, func(r terminal.Region) int { return d.drawPreview(r, v, true) })
	}
	widget.KeyLine(r, h-1, v, d.keyWords(v)...)
}

// note returns the line above the keys.
func (d *ImportPreview) note() (string, themes.Role) {
	switch {
	case d.busy != "":
		return d.busy + d.words() + " …", themes.Dim
	case d.wrong != "":
		return d.wrong, themes.Warning
	}
	return "", themes.Dim
}

// keyWords returns the keys that have an effect.
func (d *ImportPreview) keyWords(v view.Context) []string {
	var scroll []string
	if d.page.Scrolls() {
		scroll = []string{"pgdn", "more"}
	}
	switch u := d.imported(v); {
	case d.uploadID != "" && u != nil && d.opensSite(v):
		return append(append([]string{"enter", "open the site"}, d.historyKey(v)...), append([]string{"esc", "close"}, scroll...)...)
	case d.uploadID != "":
		return append(append([]string{"enter", "close"}, d.historyKey(v)...), scroll...)
	case d.busy != "":
		return append([]string{"esc", "close"}, scroll...)
	case !d.is.Accept:
		return append([]string{"m", "assign the columns", "esc", "back"}, scroll...)
	}
	return append([]string{"enter", "import", "m", "change what columns mean", "esc", "back"}, scroll...)
}

// historyKey is the key that opens what the history of the file shows, once it is stored.
func (d *ImportPreview) historyKey(v view.Context) []string {
	if !d.showsHistory(v) {
		return nil
	}
	return []string{"h", "what this history shows"}
}

// showsHistory reports whether the file is stored and its site can be opened.
func (d *ImportPreview) showsHistory(v view.Context) bool {
	u := d.imported(v)
	return u != nil && u.Ended() && u.Error == "" && !u.FirstRecord.IsZero() && (d.opensSite(v) || v.Site != nil && v.Site.Ref() == d.siteRef(v))
}

// history closes the dialog and opens what the time of the file shows.
func (d *ImportPreview) history(v view.Context) view.Request {
	u := d.imported(v)
	out := view.Batch{view.Close{}, view.Close{}}
	if d.opensSite(v) {
		out = append(out, view.OpenSite{Site: d.siteRef(v)})
	}
	return append(out, view.OpenScreen{Screen: NewHistory(u.FirstRecord.Time, u.LastRecord.Add(time.Second))})
}

// opensSite reports whether the site of the import can be opened and is not on screen.
func (d *ImportPreview) opensSite(v view.Context) bool {
	ref := d.siteRef(v)
	there := slices.ContainsFunc(v.Sites, func(s api.Site) bool { return s.Ref() == ref })
	return there && (v.Site == nil || v.Site.Ref() != ref)
}

func (d *ImportPreview) siteRef(v view.Context) api.SiteRef {
	if u := d.imported(v); u != nil {
		return api.SiteRef{CustomerID: u.CustomerID, SiteID: u.SiteID}
	}
	return api.SiteRef{CustomerID: d.request.CustomerID, SiteID: d.request.SiteID}
}

// Key scrolls, stores the file, or opens the form of the mapping.
func (d *ImportPreview) Key(k tea.KeyMsg, v view.Context) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	list, _, _ := v.Keys.Match(k.String(), keymap.List)
	switch {
	case action == keymap.Dismiss && d.uploadID == "":
		return view.Close{}
	case d.uploadID != "" && (action == keymap.Accept || action == keymap.Dismiss):
		done := view.Batch{view.Close{}, view.Close{}} // the preview, and the form below it
		if action == keymap.Accept && d.opensSite(v) {
			done = append(done, view.OpenSite{Site: d.siteRef(v)})
		}
		return done
	case k.String() == "h" && d.showsHistory(v):
		return d.history(v)
	case list == keymap.PageDown, list == keymap.PageUp:
		d.page.Do(list)
	case list == keymap.Down:
		d.page.Move(1)
	case list == keymap.Up:
		d.page.Move(-1)
	case d.busy != "" || d.uploadID != "":
	case action == keymap.Accept && d.is.Accept:
		return d.store()
	case k.String() == "m":
		return view.OpenDialog{Dialog: newMappingForm(d)}
	}
	return nil
}

// Wheel scrolls.
func (d *ImportPreview) Wheel(_, _, by int, _ view.Context) view.Request {
	d.page.Move(3 * by)
	return nil
}

// store sends the file for import.
func (d *ImportPreview) store() view.Request {
	d.busy, d.wrong = "Sending "+d.fileName(), ""
	d.Sent(0, 0)
	return view.Upload{Path: d.path, Metadata: d.request, From: d, Stored: func(ack api.UploadAck) view.Request {
		d.uploadID = ack.UploadID
		return nil
	}}
}

// inspect inspects the file again with a mapping.
func (d *ImportPreview) inspect(mapping string) view.Request {
	d.busy, d.wrong = "Reading "+d.fileName()+" again", ""
	d.Sent(0, 0)
	request := d.request
	request.Mapping = mapping
	return view.Upload{Path: d.path, Metadata: request, From: d, Inspected: func(request api.UploadRequest, is api.Inspection) view.Request {
		d.request, d.is = request, is
		return nil
	}}
}

// Answer ends the request; the dialog stays open.
func (d *ImportPreview) Answer(err error) (done bool) {
	d.busy, d.wrong = "", ""
	if err != nil {
		d.wrong = terminal.Printable(err.Error())
	}
	return false
}

// drawPreview draws all sections from the top and returns the number of rows.
func (d *ImportPreview) drawPreview(r terminal.Region, v view.Context, all bool) int {
	is := d.is
	y := 0
	if !is.Accept {
		y = v.Paragraph(r, 0, y, "Nothing would be stored: "+is.Error+".", themes.Warning)
		return d.drawColumns(r, y+1, v)
	}
	y = widget.DrawDetails(r, v, d.summary(v))
	if len(is.Warnings) > 0 {
		v.Heading(r, y+1, "Warnings")
		y = d.drawLines(r, y+2, v, is.Warnings, themes.Warning)
	}
	if len(is.RunnersUp) > 0 {
		v.Heading(r, y+1, "Other readings that fit nearly as well")
		y = d.drawLines(r, y+2, v, is.RunnersUp, themes.Text)
	}
	if all {
		if is.FirstDay != nil {
			y = d.drawFirstDay(r, y+1, v, 9)
		}
		y = d.drawRows(r, y+1, v)
	}
	y = d.drawColumns(r, y+1, v)
	if d.request.Mapping != "" {
		v.Heading(r, y+1, "Mapping in use")
		y = d.drawLines(r, y+2, v, strings.Split(strings.TrimSpace(d.request.Mapping), "\n"), themes.Text)
	}
	if len(is.Decisions) > 0 {
		v.Heading(r, y+1, "What was inferred")
		y = d.drawLines(r, y+2, v, is.Decisions, themes.Text)
	}
	return y
}

// drawLines draws a list of sentences.
func (d *ImportPreview) drawLines(r terminal.Region, y int, v view.Context, lines []string, role themes.Role) int {
	mark := "•"
	if v.ASCII {
		mark = "*"
	}
	for _, line := range lines {
		v.Put(r, 0, y, mark, role)
		y = max(v.Paragraph(r, 2, y, terminal.Printable(line), role), y+1)
	}
	return y
}

// summary returns what an import would do, in a few lines.
func (d *ImportPreview) summary(v view.Context) []widget.Detail {
	is := d.is
	var lines []widget.Detail
	add := widget.FormatsOf(&lines)
	site := terminal.Printable(d.request.SiteID)
	if is.NewSite {
		site += ", which is new"
	}
	add("site", "%s", site)
	units := display.CountOf(len(is.AssetIDs), "unit", "units")
	if names := shortList(is.AssetIDs, 6); names != "" {
		units += ": " + names
	}
	if n := len(is.NewAssetIDs); n > 0 && n == len(is.AssetIDs) {
		units += ", all new"
	} else if n > 0 {
		units += fmt.Sprintf(", %d new: %s", n, shortList(is.NewAssetIDs, 6))
	}
	add("units", "%s", units)
	kind := strings.ReplaceAll(is.ValueKind, "_", " ")
	if is.Unit != "" {
		kind += " in " + is.Unit
	}
	if is.IntervalMinutes > 0 {
		kind += ", every " + display.Step(time.Duration(is.IntervalMinutes*float64(time.Minute)))
	}
	add("values", "%s", kind)
	zone := zoneNamed(is.Timezone)
	if !is.FirstRecord.IsZero() {
		add("time", "%s to %s, %s", display.DateTime(is.FirstRecord.In(zone)), display.DateTime(is.LastRecord.In(zone)), is.Timezone)
	}
	for _, d := range is.Decisions {
		if zone, ok := strings.CutPrefix(d, "zone: "); ok && strings.HasSuffix(zone, noZoneGiven) {
			lines = append(lines, widget.Detail{Label: "zone", Text: zone + "; press m to set it", Role: themes.Warning})
		}
	}
	replaced := widget.Detail{Label: "replaces", Text: "nothing that is stored", Role: themes.Text}
	if is.RowsReplaced > 0 {
		replaced.Text, replaced.Role = fmt.Sprintf("%d stored values; undoing the import restores them", is.RowsReplaced), themes.Warning
	}
	return append(lines, replaced)
}

// drawRows draws the rows by result.
func (d *ImportPreview) drawRows(r terminal.Region, y int, v view.Context) int {
	is := d.is
	v.Heading(r, y, "Rows")
	y++
	lines := []widget.Detail{
		{Label: fmt.Sprint(is.RowsRead), Text: "read", Role: themes.Text},
		{Label: fmt.Sprint(is.RowsUsed), Text: "used", Role: themes.Text},
	}
	for _, reason := range widget.SortedKeys(is.RowsSkipped) {
		lines = append(lines, widget.Detail{Label: fmt.Sprint(is.RowsSkipped[reason]), Text: "skipped: " + reason, Role: themes.Text})
	}
	lines = append(lines, widget.Detail{Label: fmt.Sprint(is.RowsStored), Text: "values of power to store", Role: themes.Text})
	if is.RowsMissing > 0 {
		lines = append(lines, widget.Detail{Label: fmt.Sprint(is.RowsMissing), Text: "without a usable value", Role: themes.Text})
	}
	w, h := r.Size()
	if y >= h {
		return y
	}
	return y + widget.DrawDetails(r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, lines)
}

// drawFirstDay draws the power of the first day in at most height rows.
func (d *ImportPreview) drawFirstDay(r terminal.Region, y int, v view.Context, height int) int {
	day := d.is.FirstDay
	zone := zoneNamed(d.is.Timezone)
	start, err := time.ParseInLocation(time.DateOnly, day.Day, zone)
	if err != nil {
		return y
	}
	v.Heading(r, y, "The first day, "+day.Day, d.is.Timezone)
	points := chart.Points{Step: time.Duration(day.StepMinutes * float64(time.Minute))}
	for _, p := range day.Points {
		points.At = append(points.At, p.Timestamp.Unix())
		points.Value = append(points.Value, p.PowerKW)
	}
	w, _ := r.Size()
	c := chart.Day{
		Pen: v.Pen, Palette: v.Palette, Start: start, Location: zone, Unit: "kW",
		Lines: []chart.Line{{Name: "power", Points: points, Role: themes.Actual, Filled: true}},
	}
	c.Draw(r.Region(terminal.Rect{Y: y + 1, W: w, H: height - 1}))
	return y + height
}

// drawColumns draws each column with its title, meaning and reason.
func (d *ImportPreview) drawColumns(r terminal.Region, y int, v view.Context) int {
	if len(d.is.Columns) == 0 {
		return y
	}
	w, _ := r.Size()
	v.Heading(r, y, "Columns", display.CountOf(len(d.is.Columns), "column", "columns"))
	y++
	titles := 8
	for _, c := range d.is.Columns {
		titles = max(titles, terminal.Width(columnTitle(c)))
	}
	titles = min(titles, w*3/10)
	means := min(26, w*3/10)
	for _, c := range d.is.Columns {
		role := themes.Text
		if c.Role == columnIgnored {
			role = themes.Dim
		}
		v.PutIn(r, 0, y, titles, columnTitle(c), role)
		next := y + 1
		for i, line := range view.Wrap(view.Drawable(columnMeaning(c), v.ASCII), means) {
			v.PutIn(r, titles+2, y+i, means, line, role)
			next = max(next, y+i+1)
		}
		next = max(next, v.Paragraph(r, titles+means+4, y, terminal.Printable(c.Reason), themes.Dim))
		y = next
	}
	return y
}

// columnIgnored is the role of a column that an import does not use.
const columnIgnored = "ignored"

// columnTitle names a column.
func columnTitle(c api.FileColumn) string {
	if c.Title != "" {
		return terminal.Printable(c.Title)
	}
	return fmt.Sprintf("column %d", c.Number)
}

// columnMeaning returns the role of a column with its unit of measure and its unit of the plant.
func columnMeaning(c api.FileColumn) string {
	words := roleText(c.Role)
	if c.Unit != "" {
		words += " in " + c.Unit
	}
	if c.Asset != "" {
		words += " of " + c.Asset
	}
	return terminal.Printable(words)
}

// drawResult draws the progress of the import, and the result when it has ended.
func (d *ImportPreview) drawResult(r terminal.Region, v view.Context) int {
	u := d.imported(v)
	if u == nil {
		return v.Paragraph(r, 0, 0, "The file was accepted. Asking the service for the progress …", themes.Dim)
	}
	lines := []widget.Detail{{Label: "state", Text: UploadState(*u), Role: UploadRole(*u)}}
	if u.Error != "" {
		lines = append(lines, widget.Detail{Label: "reason", Text: u.Error, Role: themes.Warning})
	}
	site := u.SiteID
	if u.NewSite {
		site += ", which is new"
	}
	lines = append(lines, widget.Detail{Label: "site", Text: site, Role: themes.Text})
	lines = append(lines, stageLines(*u)...)
	return widget.DrawDetails(r, v, append(lines, uploadFacts(*u, v)...))
}

// shortList joins at most n names.
func shortList(names []string, n int) string {
	if len(names) <= n {
		return terminal.Printable(strings.Join(names, ", "))
	}
	return terminal.Printable(strings.Join(names[:n], ", ")) + fmt.Sprintf(" and %d more", len(names)-n)
}

// noZoneGiven ends the decision about the zone of a file whose times have no offset, where
// neither the request nor the site names one.
const noZoneGiven = "as no zone is given"

func zoneNamed(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}
