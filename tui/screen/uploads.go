package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// liveID is the row that stands for all files of a live feed that went well.
const liveID = "live feed"

// NewUploads lists the site's uploads with what was inferred from each file.
// pathOf is where a file of that name was sent from, empty when not known.
func NewUploads(pathOf func(name string) string) *Sheet {
	return &Sheet{
		title: "Uploads", query: state.QueryUploads,
		empty: "No file has been imported for this site; c imports one.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "file", Min: 16, IDs: true}, {Title: "state", Width: 20}, {Title: "rows", Width: 8, Right: true, Rank: 1}, {Title: "when", Width: 12, Rank: 2},
		},
		rows: uploadRows, detail: uploadDetail, own: keymap.UploadList,
		act: func(a keymap.Action, id string, v view.Context) view.Request { return manageUpload(a, id, v, pathOf) },
		why: whyNotUpload,
		status: func(v view.Context) status {
			if v.Site == nil {
				return status{face: state.Empty}
			}
			return statusOf(v.Site.Uploads, v.Now, len(v.Site.Uploads.Data) == 0)
		},
	}
}

// uploadOf is the upload of that id; nil for none, and for the live feed.
func uploadOf(v view.Context, id string) *api.Upload {
	if v.Site == nil {
		return nil
	}
	return itemOf(v.Site.Uploads.Data, func(u api.Upload) bool { return u.UploadID == id })
}

// again says whether an upload came to nothing, so that it may be tried again.
func again(u api.Upload) bool {
	return u.ProcessingStatus == api.UploadFailed || u.ProcessingStatus == api.UploadRejected
}

func whyNotUpload(a keymap.Action, id string, v view.Context) string {
	u := uploadOf(v, id)
	switch {
	case a == keymap.ImportFile:
		return ""
	case u == nil:
		return "no single file is chosen"
	case a == keymap.CancelUpload && u.Ended():
		return "the import has ended"
	case a == keymap.RetryUpload && !again(*u):
		return "the import did not fail"
	}
	return ""
}

// manageUpload does an action on an upload. pathOf is where a file of that name
// was sent from, empty when it is not known.
func manageUpload(a keymap.Action, id string, v view.Context, pathOf func(name string) string) view.Request {
	u := uploadOf(v, id)
	switch {
	case a == keymap.ImportFile:
		return view.Run{Action: keymap.Upload}
	case u == nil: // no single file is chosen
	case a == keymap.CancelUpload:
		return view.OpenDialog{Dialog: NewUploadCancel(*u)}
	case a == keymap.RetryUpload && u.S3Path != "":
		return importAgain(*u)
	case a == keymap.RetryUpload: // the service has kept nothing of a refused file
		d := NewUpload(v.Site.Site)
		d.form.fields[fieldFile].Set(pathOf(u.Filename))
		return view.OpenDialog{Dialog: d}
	}
	return nil
}

// importAgain lets the service read a file that it has once more.
func importAgain(u api.Upload) view.Call {
	return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		ack, err := c.Import(ctx, api.UploadRequest{CustomerID: u.CustomerID, SiteID: u.SiteID, Region: u.Region, Location: u.Location, Manufacturer: u.Manufacturer, S3Path: u.S3Path, Kind: u.Kind})
		if err != nil {
			return view.Result{}, err
		}
		return view.Result{Notice: view.Notice(pane.FileName(u) + ": " + terminal.Printable(ack.Message)), Row: ack.UploadID, Refresh: []state.Query{state.QueryUploads}}, nil
	}}
}

// NewUploadCancel asks whether an import ends before its time.
func NewUploadCancel(u api.Upload) *Confirm {
	return &Confirm{
		title: "Cancel an import", keep: "Let it go on", do: "Cancel it",
		question: "Cancel the import of " + pane.FileName(u) + "? Before its readings are stored nothing of it is kept; afterwards it is the training that ends, and the readings stay.",
		send: func(from view.Caller) view.Request {
			return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
				is, err := c.CancelUpload(ctx, u.UploadID)
				if err != nil {
					return view.Result{}, err
				}
				return view.Result{Notice: view.Notice(pane.FileName(u) + ": " + pane.UploadState(*is) + "."), Row: u.UploadID, Refresh: []state.Query{state.QueryUploads}}, nil
			}}
		},
	}
}

// stages of an import, in order.
var stages = []string{"validating", "storing", "training", "forecasting", "detecting"}

// stageLines say how far an import is that has not ended.
func stageLines(u api.Upload) []Detail {
	if u.Ended() {
		return nil
	}
	lines := []Detail{{Heading: fmt.Sprintf("On its way, %.0f %%", 100*u.Progress)}}
	at := slices.Index(stages, u.Stage)
	for i, stage := range stages {
		words, role := "to come", themes.Muted
		switch {
		case i < at:
			words, role = "done", themes.Dim
		case i == at && u.ProcessingStatus == api.UploadQueued:
			words, role = "waiting for its turn", themes.Text
		case i == at:
			words, role = "now", themes.Accent
		}
		lines = append(lines, Detail{Label: stage, Words: words, Role: role})
	}
	return lines
}

// live are the uploads of a feed that went well: one line stands for them.
func live(u api.Upload) bool { return u.Kind == api.UploadNowcast && u.Error == "" }

func uploadRows(v view.Context) []pane.Row {
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

func uploadRow(v view.Context, id, name, words string, stored int, u api.Upload) pane.Row {
	return pane.Row{ID: id, Sort: []any{name, words, float64(stored), u.CreatedAt.String()}, Cells: []pane.Cell{
		{Text: name, Role: themes.Text}, {Text: words, Role: pane.UploadRole(u)},
		{Text: fmt.Sprint(stored), Role: themes.Text}, {Text: pane.When(u.CreatedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim},
	}}
}

func uploadDetail(v view.Context, id string) []Detail {
	i := slices.IndexFunc(v.Site.Uploads.Data, func(u api.Upload) bool { return u.UploadID == id || id == liveID && live(u) })
	if i < 0 {
		return nil
	}
	u := v.Site.Uploads.Data[i]
	lines := []Detail{{Heading: pane.FileName(u)}}
	add := formatsOf(&lines)
	lines = append(lines, Detail{Label: "state", Words: pane.UploadState(u), Role: pane.UploadRole(u)})
	if u.Error != "" {
		lines = append(lines, Detail{Label: "why", Words: u.Error, Role: themes.Warning})
		if u.ErrorLine > 0 {
			add("line", "%d", u.ErrorLine)
		}
	}
	if id != liveID {
		lines = append(lines, stageLines(u)...)
	}
	lines = append(lines, Detail{Heading: "The file"})
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
