package tui

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/plain"
	"app.sunloop/tui/view"
)

// exportTable is the content of a pane or a screen as a table.
type exportTable struct {
	what, site, zone string
	at               time.Time // of the site
	columns          []string
	rows             [][]string
}

// format writes a table.
type format struct {
	ending string
	write  func(exportTable) ([]byte, error)
}

var (
	asCSV  = format{"csv", exportTable.csv}
	asJSON = format{"json", exportTable.json}
)

// currentTable returns what the focused pane, or the further screen, shows; ok is false
// when that is nothing.
func (m *Model) currentTable() (t exportTable, ok bool) {
	var rows [][]string
	t.what, t.site, t.at, t.zone = m.nav.focus.String(), m.data.siteRecord().SiteID, m.siteNow(), "local time"
	if m.data.Site != nil {
		t.zone = m.data.Site.Zone.String()
	}
	if m.nav.screen() != nil || m.data.Site != nil {
		rows, t.what = m.nav.top().Export(m.focusedContext()), m.nav.top().Title()
	}
	if len(rows) < 2 {
		return t, false
	}
	t.columns, t.rows = withUnits(rows[0], rows[1:], t.zone)
	return t, true
}

var (
	oneUnit  = regexp.MustCompile(`^([-+]?[0-9]+(?:\.[0-9]+)?) ([A-Za-z%][A-Za-z%/]*)$`)
	siteTime = regexp.MustCompile(`^(?:\d\d:\d\d|\d\d [A-Z][a-z][a-z](?: \d{4}| \d\d:\d\d)?)$`)
)

// withUnits moves a unit that all numbers of a column share into its title,
// and puts the zone there where all are times of the site. A column whose
// title names a unit already stays as it is.
func withUnits(titles []string, rows [][]string, zone string) (columns []string, cells [][]string) {
	columns = append(columns, titles...)
	for _, row := range rows {
		cells = append(cells, append([]string(nil), row...))
	}
	for c, title := range columns {
		if strings.Contains(title, "(") {
			continue
		}
		unit, times, some := "", true, false
		for _, row := range cells {
			if c >= len(row) || row[c] == "" {
				continue
			}
			found := ""
			if m := oneUnit.FindStringSubmatch(row[c]); m != nil {
				found = m[2]
			}
			if !some {
				unit = found
			} else if found != unit {
				unit = ""
			}
			some = true
			times = times && siteTime.MatchString(row[c])
		}
		switch {
		case !some:
		case times:
			columns[c] += " (" + zone + ")"
		case unit != "":
			columns[c] += " (" + unit + ")"
			for _, row := range cells {
				if c < len(row) {
					row[c] = strings.TrimSuffix(row[c], " "+unit)
				}
			}
		}
	}
	return columns, cells
}

// csv returns the table with site and time in separate columns, so that no line is a
// comment. No cell is a formula.
func (t exportTable) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	write := func(row []string, site, at string) error {
		safe := make([]string, 0, len(row)+2)
		for _, cell := range append(row[:len(row):len(row)], site, at) {
			safe = append(safe, plain.Inert(cell))
		}
		return w.Write(safe)
	}
	if err := write(t.columns, "exported site_id", "exported at (UTC)"); err != nil {
		return nil, err
	}
	at := t.at.UTC().Format(time.RFC3339)
	for _, row := range t.rows {
		if err := write(row, t.site, at); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// json returns the table as an object with what, site, time, zone, columns and rows.
// Numbers are numbers, missing values null.
func (t exportTable) json() ([]byte, error) {
	rows := make([][]any, len(t.rows))
	for i, row := range t.rows {
		rows[i] = make([]any, len(row))
		for c, cell := range row {
			switch n, err := strconv.ParseFloat(cell, 64); {
			case cell == "":
			case err == nil && json.Valid([]byte(cell)):
				rows[i][c] = n
			default:
				rows[i][c] = cell
			}
		}
	}
	b, err := json.MarshalIndent(struct {
		What    string    `json:"what"`
		Site    string    `json:"site_id,omitempty"`
		At      time.Time `json:"exported_at"`
		Zone    string    `json:"timezone"`
		Columns []string  `json:"columns"`
		Rows    [][]any   `json:"rows"`
	}{t.what, t.site, t.at.UTC().Truncate(time.Second), t.zone, t.columns, rows}, "", "  ")
	return append(b, '\n'), err
}

// export writes what is shown into a file.
func (m *Model) export(f format) {
	t, ok := m.currentTable()
	if !ok {
		m.notify("There is nothing to export here yet.", themes.Dim)
		return
	}
	b, err := f.write(t)
	if err != nil {
		m.notify("Not written: "+err.Error(), themes.Warning)
		return
	}
	path, err := m.writeExport(t.what, t.site, f.ending, b)
	if err != nil {
		m.notify("Not written: "+err.Error(), themes.Warning)
		return
	}
	m.notify(fmt.Sprintf("%s written to %s", display.CountOf(len(t.rows), "row", "rows"), path), themes.Accent)
}

// writeExport writes a new file that only its owner can read. Its name contains
// content, site and time.
func (m *Model) writeExport(what, site, ending string, b []byte) (path string, err error) {
	if m.o.Remote {
		return "", errors.New(remoteFilesReason)
	}
	if err := os.MkdirAll(m.o.Exports, 0o700); err != nil {
		return "", err
	}
	base := filepath.Join(m.o.Exports, fileName(what, site, m.siteNow().Format("20060102T150405")))
	for n := 1; ; n++ {
		path = base + "." + ending
		if n > 1 {
			path = fmt.Sprintf("%s-%d.%s", base, n, ending)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) && n < 100 {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(b)
		return path, errors.Join(err, f.Close())
	}
}

// fileName returns a name for an export, without its ending.
func fileName(what, site, stamp string) string {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r == '-', r == '_':
				return r
			}
			return '-'
		}, s)
	}
	return "sunloop-" + clean(site) + "-" + clean(strings.ToLower(what)) + "-" + clean(stamp)
}

// copySelection puts the selection on the clipboard.
func (m *Model) copySelection() {
	text := m.selectionText()
	if text == "" {
		m.notify("Nothing is selected. Press Y to copy the whole view.", themes.Dim)
		return
	}
	m.copyText(text, "Copied: "+text, "in-hand")
}

// copyShown puts all that is shown on the clipboard, as a spreadsheet takes it.
func (m *Model) copyShown() {
	t, ok := m.currentTable()
	if !ok {
		m.notify("There is nothing to copy here yet.", themes.Dim)
		return
	}
	b, err := t.csv()
	if err != nil {
		m.notify("Not copied: "+err.Error(), themes.Warning)
		return
	}
	m.copyText(string(b), display.CountOf(len(t.rows), "row", "rows")+" sent to the terminal's clipboard. If the terminal has none, press e to write a file.", t.what)
}

// copyText puts text on the clipboard. Text that is too long for the terminal is
// written to a file named by what, unless what is empty.
func (m *Model) copyText(text, said, what string) {
	err := m.out.Copy(text)
	if err == nil {
		m.notify(said, themes.Dim)
		return
	}
	if what == "" {
		m.notify("Not copied: "+err.Error(), themes.Warning)
		return
	}
	path, fileErr := m.writeExport(what, m.data.siteRecord().SiteID, "txt", []byte(text))
	if fileErr != nil {
		m.notify("Not copied: "+err.Error()+"; and not written to a file: "+fileErr.Error(), themes.Warning)
		return
	}
	m.notify("Not copied: "+err.Error()+". Written to file "+path, themes.Warning)
}

// selectionText returns the selection in a line.
func (m *Model) selectionText() string {
	if m.data.Site != nil {
		for _, f := range m.data.Site.Findings.Data {
			if f.SummaryID == m.nav.selection.FindingID {
				return strings.Join([]string{f.SummaryID, f.AssetID, f.FaultFamily, f.Summary}, " | ")
			}
		}
	}
	return m.nav.selection.AssetID
}

// saveText writes a text into a file.
func (m *Model) saveText(r view.Save) {
	path, err := m.writeExport(r.Title, "", "log", []byte(r.Text))
	if err != nil {
		m.notify("Not written: "+err.Error(), themes.Warning)
		return
	}
	m.notify(fmt.Sprintf("%s written to %s", display.CountOf(strings.Count(r.Text, "\n"), "line", "lines"), path), themes.Accent)
}
