package plant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// liveID is the row for all successful files of a live feed.
const liveID = "live feed"

// NewUploads lists the site's uploads with what was inferred from each file.
// pathOf is where a file of that name was sent from, empty when not known.
func NewUploads(pathOf func(name string) string) *widget.TableView {
	return &widget.TableView{
		Heading: "Uploads", Query: state.QueryUploads,
		Empty: "No file has been imported for this site; c imports one.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "file", Min: 16, IDs: true}, {Title: "state", Width: 20}, {Title: "rows", Width: 8, Right: true, Rank: 1}, {Title: "when", Width: 12, Rank: 2},
		},
		Rows: uploadRows, Detail: uploadDetail, Keys: keymap.UploadList,
		Act:    func(a keymap.Action, id string, v view.Context) view.Request { return manageUpload(a, id, v, pathOf) },
		Reason: whyNotUpload,
		Status: func(v view.Context) widget.ValueStatus {
			if v.Site == nil {
				return widget.ValueStatus{Status: state.Empty}
			}
			return widget.StatusOf(v.Site.Uploads, v.Now, len(v.Site.Uploads.Data) == 0)
		},
	}
}

// uploadOf is the upload of that id; nil for none, and for the live feed.
func uploadOf(v view.Context, id string) *api.Upload {
	if v.Site == nil {
		return nil
	}
	return widget.Find(v.Site.Uploads.Data, func(u api.Upload) bool { return u.UploadID == id })
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
		d.form.Fields[fieldFile].Set(pathOf(u.Filename))
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
		return view.Result{Notice: view.Notice(FileName(u) + ": " + terminal.Printable(ack.Message)), Row: ack.UploadID, Refresh: []state.Query{state.QueryUploads}}, nil
	}}
}

// NewUploadCancel asks whether an import ends before its time.
func NewUploadCancel(u api.Upload) *widget.Confirm {
	return &widget.Confirm{
		Heading: "Cancel an import", No: "Continue the upload", Yes: "Cancel it",
		Question: "Cancel the import of " + FileName(u) + "? Before its readings are stored none of it is kept; afterwards only the training is cancelled, and the readings stay.",
		Send: func(from view.Caller) view.Request {
			return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
				is, err := c.CancelUpload(ctx, u.UploadID)
				if err != nil {
					return view.Result{}, err
				}
				return view.Result{Notice: view.Notice(FileName(u) + ": " + UploadState(*is) + "."), Row: u.UploadID, Refresh: []state.Query{state.QueryUploads}}, nil
			}}
		},
	}
}

// stages of an import, in order.
var stages = []string{"validating", "storing", "training", "forecasting", "detecting"}

// stageLines say how far an import is that has not ended.
func stageLines(u api.Upload) []widget.Detail {
	if u.Ended() {
		return nil
	}
	lines := []widget.Detail{{Heading: fmt.Sprintf("On its way, %.0f %%", 100*u.Progress)}}
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
		lines = append(lines, widget.Detail{Label: stage, Words: words, Role: role})
	}
	return lines
}

// live are the successful uploads of a feed: they have one line.
func live(u api.Upload) bool { return u.Kind == api.UploadNowcast && u.Error == "" }

func uploadRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	var rows []widget.Row
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
		rows = append(rows, uploadRow(v, u.UploadID, FileName(u), UploadState(u), u.RowsStored, u))
	}
	if feed > 0 {
		words := fmt.Sprintf("live feed: the %d newest files", feed)
		if feed == 1 {
			words = "live feed: one file"
		}
		rows = append(rows, uploadRow(v, liveID, words, UploadState(newest), sum, newest))
	}
	return rows
}

func uploadRow(v view.Context, id, name, words string, stored int, u api.Upload) widget.Row {
	return widget.Row{ID: id, Sort: []any{name, words, float64(stored), u.CreatedAt.String()}, Cells: []widget.Cell{
		{Text: name, Role: themes.Text}, {Text: words, Role: UploadRole(u)},
		{Text: fmt.Sprint(stored), Role: themes.Text}, {Text: widget.When(u.CreatedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim},
	}}
}

func uploadDetail(v view.Context, id string) []widget.Detail {
	i := slices.IndexFunc(v.Site.Uploads.Data, func(u api.Upload) bool { return u.UploadID == id || id == liveID && live(u) })
	if i < 0 {
		return nil
	}
	u := v.Site.Uploads.Data[i]
	lines := []widget.Detail{{Heading: FileName(u)}}
	add := widget.FormatsOf(&lines)
	lines = append(lines, widget.Detail{Label: "state", Words: UploadState(u), Role: UploadRole(u)})
	if u.Error != "" {
		lines = append(lines, widget.Detail{Label: "why", Words: u.Error, Role: themes.Warning})
		if u.ErrorLine > 0 {
			add("line", "%d", u.ErrorLine)
		}
	}
	if id != liveID {
		lines = append(lines, stageLines(u)...)
	}
	lines = append(lines, widget.Detail{Heading: "The file"})
	add("upload", "%s", u.UploadID)
	add("rows", "%d read, %d stored, %d missing", u.RowsRead, u.RowsStored, u.RowsMissing)
	for _, reason := range widget.SortedKeys(u.RowsSkipped) {
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
		lines = append(lines, widget.Detail{Heading: part.title})
		for _, words := range part.lines {
			lines = append(lines, widget.Detail{Words: words, Role: themes.Text})
		}
	}
	return lines
}

// Importing are the files that are being imported, trained or forecast.
func Importing(v view.Context) []api.Upload {
	var out []api.Upload
	for _, u := range v.Site.Uploads.Data {
		if u.Kind == api.UploadTrain && !u.Ended() {
			out = append(out, u)
		}
	}
	return out
}

// DrawImporting draws how far those files are, and answers the rows it took.
func DrawImporting(r terminal.Region, v view.Context, most int) int {
	w, _ := r.Size()
	y := 0
	line := func(share float64, pace state.Pace, words ...string) {
		if y >= most {
			return
		}
		text := fmt.Sprintf("%3.0f %%", share*100)
		for _, part := range append(words, pace.LeftWords()) {
			if part != "" {
				text += "  " + part
			}
		}
		widget.DrawBar(r.Region(terminal.Rect{Y: y, W: 12, H: 1}), v, share)
		v.PutIn(r, 13, y, w-13, text, themes.Text)
		y++
	}
	if p := v.Preparing; p != nil {
		line(p.Share, p.Pace, p.What)
	}
	if v.Site == nil {
		return y
	}
	for _, u := range Importing(v) {
		line(u.Progress, v.Site.PaceOf(u.UploadID), importingState(u), FileName(u))
	}
	return y
}

// IsLoading reports whether data of the site are on their way.
func IsLoading(v view.Context) bool { return v.Preparing != nil || len(Importing(v)) > 0 }

// importingState is what is done with a file that is imported.
func importingState(u api.Upload) string {
	if words := stageWords[UploadState(u)]; words != "" {
		return words
	}
	return UploadState(u)
}

var stageWords = map[string]string{
	"validating": "checking the file", "storing": "storing the history", "training": "training the model", "forecasting": "making the forecast", "detecting": "searching for faults",
}

// FileName is an upload's file, or its id when it came without one.
func FileName(u api.Upload) string {
	if u.Filename != "" {
		return u.Filename
	}
	return u.UploadID
}

// UploadState is an upload's state in words.
func UploadState(u api.Upload) string {
	switch u.ProcessingStatus {
	case api.UploadWithWarnings:
		return "done, worth a look"
	case api.UploadCompleted:
		return "done"
	case api.UploadProcessing, api.UploadValidating:
		if u.Stage != "" {
			return u.Stage
		}
	case api.UploadQueued:
		return "waiting"
	}
	return u.ProcessingStatus
}

// UploadRole is the look of an upload's state.
func UploadRole(u api.Upload) themes.Role {
	switch u.ProcessingStatus {
	case api.UploadFailed, api.UploadRejected:
		return themes.Warning
	case api.UploadCompleted, api.UploadWithWarnings:
		return themes.Dim
	}
	return themes.Accent
}
