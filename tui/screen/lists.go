package screen

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// liveID is the row that stands for all files of a live feed that went well.
const liveID = "live feed"

// NewUploads lists the site's uploads with what was inferred from each file.
func NewUploads() *Sheet {
	return &Sheet{
		title: "Uploads", query: state.QueryUploads,
		empty: "No file has been imported for this site. Press esc, then U, to import one.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "file", Min: 16, IDs: true}, {Title: "state", Width: 20}, {Title: "rows", Width: 8, Right: true, Rank: 1}, {Title: "when", Width: 12, Rank: 2},
		},
		rows:   uploadRows,
		detail: uploadDetail,
	}
}

// live are the uploads of a feed that went well: one line stands for them.
func live(u api.Upload) bool { return u.Kind == api.UploadNowcast && u.Error == "" }

func uploadRows(v pane.View) []pane.Row {
	if v.Site == nil {
		return nil
	}
	var rows []pane.Row
	feed, newest, sum := 0, api.Upload{}, 0
	for _, u := range v.Site.Uploads.Data {
		if live(u) {
			if feed == 0 {
				newest = u
			}
			feed++
			sum += u.RowsStored
			continue
		}
		rows = append(rows, uploadRow(v, u.UploadID, pane.FileName(u), pane.UploadState(u), u.RowsStored, u))
	}
	if feed > 0 {
		words := fmt.Sprintf("live feed: the %d newest files", feed)
		if feed == 1 {
			words = "live feed: one file"
		}
		rows = append(rows, uploadRow(v, liveID, words, pane.UploadState(newest), sum, newest))
	}
	return rows
}

func uploadRow(v pane.View, id, name, words string, stored int, u api.Upload) pane.Row {
	return pane.Row{ID: id, Sort: []any{name, words, float64(stored), u.CreatedAt.String()}, Cells: []pane.Cell{
		{Text: name, Role: themes.Text}, {Text: words, Role: pane.UploadRole(u)},
		{Text: fmt.Sprint(stored), Role: themes.Text}, {Text: pane.When(u.CreatedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim},
	}}
}

func uploadDetail(v pane.View, id string) []Detail {
	i := slices.IndexFunc(v.Site.Uploads.Data, func(u api.Upload) bool { return u.UploadID == id || id == liveID && live(u) })
	if i < 0 {
		return nil
	}
	u := v.Site.Uploads.Data[i]
	lines := []Detail{{Heading: pane.FileName(u)}}
	add := func(label, format string, args ...any) {
		lines = append(lines, Detail{Label: label, Words: fmt.Sprintf(format, args...), Role: themes.Text})
	}
	lines = append(lines, Detail{Label: "state", Words: pane.UploadState(u), Role: pane.UploadRole(u)})
	if u.Error != "" {
		lines = append(lines, Detail{Label: "why", Words: u.Error, Role: themes.Warning})
		if u.ErrorLine > 0 {
			add("line", "%d", u.ErrorLine)
		}
	}
	add("upload", "%s", u.UploadID)
	add("rows", "%d read, %d stored, %d missing", u.RowsRead, u.RowsStored, u.RowsMissing)
	for _, reason := range sortedKeys(u.RowsSkipped) {
		add("skipped", "%d, %s", u.RowsSkipped[reason], reason)
	}
	if !u.FirstRecord.IsZero() {
		add("span", "%s to %s", u.FirstRecord.In(v.Site.Zone).Format("2006-01-02 15:04"), u.LastRecord.In(v.Site.Zone).Format("2006-01-02 15:04"))
	}
	if len(u.AssetIDs) > 0 {
		add("units", "%s", strings.Join(u.AssetIDs, ", "))
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Worth a look", u.Warnings}, {"What was inferred", u.Decisions}} {
		if len(part.lines) == 0 {
			continue
		}
		lines = append(lines, Detail{Heading: part.title})
		for _, words := range part.lines {
			lines = append(lines, Detail{Words: words, Role: themes.Text})
		}
	}
	return lines
}

// NewLog shows the console's own log, newest first; lines answers it anew each
// time it is drawn, newest last.
func NewLog(lines func() []string) *Sheet {
	if lines == nil {
		lines = func() []string { return nil }
	}
	return &Sheet{
		title: "Log", empty: "Nothing has been logged.", list: pane.List{SortBy: -1},
		columns: []pane.Column{{Title: "newest first"}},
		rows: func(pane.View) []pane.Row {
			var rows []pane.Row
			for i, l := range slices.Backward(lines()) {
				rows = append(rows, pane.Row{ID: fmt.Sprint(i), Cells: []pane.Cell{{Text: terminal.Printable(l), Role: themes.Text}}})
			}
			return rows
		},
		detail: func(_ pane.View, id string) []Detail {
			all := lines()
			var i int
			if _, err := fmt.Sscan(id, &i); err != nil || i >= len(all) {
				return nil
			}
			return []Detail{{Words: terminal.Printable(all[i]), Role: themes.Text}}
		},
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
