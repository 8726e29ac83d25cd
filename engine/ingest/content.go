package ingest

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"app.sunloop/engine/ingest/format"
)

// content is one table of a file: the text of a plain file, or a sheet of a workbook, or a file of an archive.
type content struct {
	name     string  // in the file; "" if the file is this table only
	encoding string  // of its text, or its format
	text     []byte  // UTF-8
	dialect  dialect // zero: inferred from the text
	long     bool    // its columns have the names of [format.Table.Long]
	how      []string
	notes    []string
	refused  error // why it has no text
}

// CheckStart checks the beginning of a file, at least a few kilobytes. whole is true if only the whole file
// can be read, as with an archive, a workbook or JSON; the error is a *[Refusal] for formats that are not read.
func CheckStart(start []byte) (whole bool, err error) {
	if err := format.Refusal(start); err != nil {
		return true, formatRefusal(err, NotText)
	}
	return format.Packed(start) || format.Structured(start), nil
}

// open returns the tables of a file, at least one, or an error.
func open(raw []byte, maxBytes int64) ([]content, error) {
	budget := format.NewBudget(2 * maxBytes) // with markup and archives, most memory is for the text
	parts, err := format.Unpack(raw, budget)
	if err != nil {
		return nil, formatRefusal(err, NotText)
	}
	var contents []content
	for _, p := range parts {
		found := contentsOf(p, budget)
		for i := range found {
			found[i].how = p.How
			if p.Name == "" {
				continue
			}
			if found[i].name != "" {
				found[i].name = path.Base(p.Name) + ", " + found[i].name
			} else {
				found[i].name = path.Base(p.Name)
			}
		}
		contents = append(contents, found...)
	}
	return contents, nil
}

// contentsOf finds the tables of one file of an archive, or of the whole file.
func contentsOf(p format.Part, budget *format.Budget) []content {
	if p.Tables != nil {
		return tableContents(p.Tables)
	}
	if err := format.Refusal(p.Data); err != nil {
		return []content{{refused: formatRefusal(err, NotText)}}
	}
	text, encoding, err := decodeText(p.Data)
	if err != nil {
		return []content{{refused: err}}
	}
	tables, err := format.Parse(text, budget)
	if err != nil {
		return []content{{refused: formatRefusal(err, NotCSV)}}
	}
	if len(tables) > 0 {
		return tableContents(tables)
	}
	return []content{{encoding: encoding, text: text}}
}

func tableContents(tables []format.Table) []content {
	contents := make([]content, len(tables))
	for i, t := range tables {
		contents[i] = content{name: t.Name, encoding: t.Format, text: t.Text, notes: t.Notes, long: t.Long, dialect: dialect{delim: '\t', decimal: t.Decimal, line: 1, why: "between the cells of the " + t.Format}}
	}
	if len(contents) == 1 {
		contents[0].name = ""
	}
	return contents
}

// longKeys returns the columns of a long table that identify what its values are.
func (h *head) longKeys() keys {
	k := noKeys
	for i, name := range h.stack[len(h.stack)-1].cells {
		switch name {
		case "device":
			k.asset = i
		case "parameter":
			k.measure = i
		case "unit":
			k.unit = i
		}
	}
	return k
}

// report adds to the decisions how the table was found in the file.
func (c content) report(rep *report) {
	if len(c.how) > 0 {
		rep.decide("file", "packed with %s", strings.Join(c.how, ", then "))
	}
	for _, note := range c.notes {
		rep.warn("file", "%s", note)
	}
}

// formatRefusal returns a refusal of package format as one of this package.
func formatRefusal(err error, kind Kind) error {
	e, ok := errors.AsType[*format.Error](err)
	if !ok {
		return fmt.Errorf("open the file: %w", err)
	}
	switch e.Reason {
	case format.TooLarge:
		kind = TooLarge
	case format.Empty:
		kind = NoDataRows
	}
	return &Refusal{Kind: kind, Message: e.Message}
}
