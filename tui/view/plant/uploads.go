package plant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// liveID is the row for all successful files of a live feed.
const liveID = "live feed"

// NewUploads lists the uploads of the site on screen, or of all sites, with what
// was inferred from each file. pathOf is where a file of that name was sent from,
// empty when not known.
func NewUploads(pathOf func(name string) string) *widget.TableView {
	u := &uploadList{pathOf: pathOf}
	u.TableView = widget.TableView{
		List: widget.List{SortBy: -1}, Detail: uploadDetail, Keys: keymap.UploadList, Act: u.act, Reason: whyNotUpload,
	}
	u.show(false)
	return &u.TableView
}

// uploadList is the screen of uploads.
type uploadList struct {
	widget.TableView
	pathOf func(name string) string
}

// show lists the uploads of all sites, or of the site on screen.
func (u *uploadList) show(all bool) {
	u.Heading, u.Query, u.Rows = "Uploads", state.QueryUploads, siteUploadRows
	u.Empty = "No file has been imported for this site; c imports one. a lists all sites."
	u.Columns = []widget.Column{
		{Title: "file", Min: 16, IDs: true}, {Title: "state", Width: 20}, {Title: "rows", Width: 8, Right: true, Rank: 1}, {Title: "when", Width: 12, Rank: 2},
	}
	u.Status = func(v view.Context) widget.ValueStatus {
		if v.Site == nil {
			return widget.ValueStatus{Status: state.Empty}
		}
		return widget.StatusOf(v.Site.Uploads, v.Now, len(v.Site.Uploads.Data) == 0)
	}
	if !all {
		return
	}
	u.Heading, u.Query, u.Rows = "Uploads of all sites", state.QueryAllUploads, allUploadRows
	u.Empty = "No file has been imported yet; c imports one."
	u.Columns = slices.Insert(u.Columns, 1, widget.Column{Title: "site", Min: 8, Width: 16})
	u.Status = func(v view.Context) widget.ValueStatus {
		if v.Admin == nil {
			return widget.ValueStatus{Status: state.Loading}
		}
		return widget.StatusOf(v.Admin.Uploads, v.Now, len(v.Admin.Uploads.Data) == 0)
	}
}

// act does an action of the list.
func (u *uploadList) act(a keymap.Action, id string, v view.Context) view.Request {
	if a == keymap.EverySite {
		u.show(u.Query != state.QueryAllUploads)
		return nil
	}
	return manageUpload(a, id, v, u.pathOf)
}

// uploadsOf returns all uploads that are known.
func uploadsOf(v view.Context) []api.Upload {
	var all []api.Upload
	if v.Site != nil {
		all = v.Site.Uploads.Data
	}
	if v.Admin != nil {
		all = append(slices.Clone(all), v.Admin.Uploads.Data...)
	}
	return all
}

// uploadOf returns the upload of that id; nil for none, and for the live feed.
func uploadOf(v view.Context, id string) *api.Upload {
	return widget.Find(uploadsOf(v), func(u api.Upload) bool { return u.UploadID == id })
}

// again reports whether an upload failed, so that it may be retried.
func again(u api.Upload) bool {
	return u.ProcessingStatus == api.UploadFailed || u.ProcessingStatus == api.UploadRejected
}

func whyNotUpload(a keymap.Action, id string, v view.Context) string {
	u := uploadOf(v, id)
	switch {
	case a == keymap.ImportFile, a == keymap.EverySite:
		return ""
	case u == nil:
		return "no single file is chosen"
	case a == keymap.RevertUpload && u.ProcessingStatus == api.UploadReverted:
		return "the import was reverted already"
	case a == keymap.RevertUpload && (!u.Ended() || again(*u)):
		return "the import has stored nothing that can be reverted"
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
	case a == keymap.RevertUpload:
		return view.OpenDialog{Dialog: NewUploadRevert(*u)}
	case a == keymap.RetryUpload && u.S3Path != "":
		return importAgain(*u)
	case a == keymap.RetryUpload: // the service has kept nothing of a refused file
		var site api.Site
		if v.Site != nil {
			site = v.Site.Site
		}
		if site.SiteID != u.SiteID || site.CustomerID != u.CustomerID {
			site = api.Site{SiteID: u.SiteID, CustomerID: u.CustomerID, Timezone: u.Timezone, Location: u.Location}
		}
		d := NewUpload(site)
		d.form.Fields[fieldFile].Set(pathOf(u.Filename))
		return view.OpenDialog{Dialog: d}
	}
	return nil
}

// importAgain lets the service import a stored file again.
func importAgain(u api.Upload) view.Call {
	return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		ack, err := c.Import(ctx, api.UploadRequest{CustomerID: u.CustomerID, SiteID: u.SiteID, Region: u.Region, Location: u.Location, Manufacturer: u.Manufacturer, S3Path: u.S3Path, Kind: u.Kind})
		if err != nil {
			return view.Result{}, err
		}
		return view.Result{Notice: view.Notice(FileName(u) + ": " + terminal.Printable(ack.Message)), Row: ack.UploadID, Refresh: []state.Query{state.QueryUploads}}, nil
	}}
}

// NewUploadCancel asks whether an import is cancelled.
func NewUploadCancel(u api.Upload) *widget.Confirm {
	return &widget.Confirm{
		Heading: "Cancel an import", No: "Continue the upload", Yes: "Cancel it",
		Question: "Cancel the import of " + FileName(u) + "? If its readings are not stored yet, nothing is kept; afterwards only the training is cancelled, and the readings are kept.",
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

// NewUploadRevert asks whether an import is undone.
func NewUploadRevert(u api.Upload) *widget.Confirm {
	question := fmt.Sprintf("Undo the import of %s into %s? Its %s removed; values that it replaced are restored.", FileName(u), u.SiteID, display.CountOf(u.RowsStored, "value is", "values are"))
	switch {
	case u.NewSite:
		question += " The site is removed too, if nothing else was imported into it."
	case len(u.NewAssetIDs) > 0:
		question += " It created " + shortList(u.NewAssetIDs, 4) + ": those without other data are removed too."
	}
	return &widget.Confirm{
		Heading: "Revert an import", No: "Keep the data", Yes: "Revert the import", Question: question,
		Send: func(from view.Caller) view.Request {
			return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
				is, err := c.RevertUpload(ctx, u.UploadID)
				if err != nil {
					return view.Result{}, err
				}
				return view.Result{
					Notice: view.Notice(fmt.Sprintf("%s is reverted: %s removed, %d restored.", FileName(u), display.CountOf(is.RowsRemoved, "value", "values"), is.RowsRestored)), Row: u.UploadID,
					Refresh: []state.Query{state.QueryUploads, state.QueryAllUploads, state.QuerySites, state.QueryAssets, state.QueryDay, state.QuerySummary},
				}, nil
			}}
		},
	}
}

// stages of an import, in order.
var stages = []string{"validating", "storing", "training", "forecasting", "detecting"}

// stageLines describes the progress of a running import.
func stageLines(u api.Upload) []widget.Detail {
	if u.Ended() {
		return nil
	}
	lines := []widget.Detail{{Heading: "In progress, " + display.Percent(u.Progress)}}
	at := slices.Index(stages, u.Stage)
	for i, stage := range stages {
		words, role := "to come", themes.Muted
		switch {
		case i < at:
			words, role = "done", themes.Dim
		case i == at && u.ProcessingStatus == api.UploadQueued:
			words, role = "queued", themes.Text
		case i == at:
			words, role = "now", themes.Accent
		}
		lines = append(lines, widget.Detail{Label: stage, Text: words, Role: role})
	}
	return lines
}

// live returns the successful uploads of a feed: they have one line.
func live(u api.Upload) bool { return u.Kind == api.UploadNowcast && u.Error == "" }

func siteUploadRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	return uploadRows(v, v.Site.Uploads.Data, false)
}

func allUploadRows(v view.Context) []widget.Row {
	if v.Admin == nil {
		return nil
	}
	return uploadRows(v, v.Admin.Uploads.Data, true)
}

// uploadRows returns the rows of a list; the live feed of each site has one.
func uploadRows(v view.Context, list []api.Upload, sites bool) []widget.Row {
	var rows []widget.Row
	type feed struct {
		newest     api.Upload
		files, sum int
	}
	var feeds []*feed
	for _, u := range list {
		if !live(u) {
			rows = append(rows, uploadRow(v, u.UploadID, FileName(u), u.RowsStored, u, sites))
			continue
		}
		at := slices.IndexFunc(feeds, func(f *feed) bool { return f.newest.SiteID == u.SiteID && f.newest.CustomerID == u.CustomerID })
		if at < 0 {
			feeds, at = append(feeds, &feed{newest: u}), len(feeds)
		}
		feeds[at].files++
		feeds[at].sum += u.RowsStored
	}
	for _, f := range feeds {
		words, id := fmt.Sprintf("live feed: the %d newest files", f.files), liveID
		if f.files == 1 {
			words = "live feed: one file"
		}
		if sites {
			id += " " + f.newest.CustomerID + "/" + f.newest.SiteID
		}
		rows = append(rows, uploadRow(v, id, words, f.sum, f.newest, sites))
	}
	return rows
}

func uploadRow(v view.Context, id, name string, stored int, u api.Upload, sites bool) widget.Row {
	zone := v.Zone()
	row := widget.Row{ID: id, Sort: []any{name, UploadState(u), float64(stored), u.CreatedAt.String()}, Cells: []widget.Cell{
		{Text: name, Role: themes.Text}, {Text: UploadState(u), Role: UploadRole(u)},
		{Text: fmt.Sprint(stored), Role: themes.Text}, {Text: display.When(u.CreatedAt.Time, v.SiteNow, zone), Role: themes.Dim},
	}}
	if sites {
		row.Sort = slices.Insert(row.Sort, 1, any(u.SiteID))
		row.Cells = slices.Insert(row.Cells, 1, widget.Cell{Text: u.SiteID, Role: themes.Text})
	}
	return row
}

func uploadDetail(v view.Context, id string) []widget.Detail {
	all := uploadsOf(v)
	i := slices.IndexFunc(all, func(u api.Upload) bool {
		return u.UploadID == id || live(u) && (id == liveID || id == liveID+" "+u.CustomerID+"/"+u.SiteID)
	})
	if i < 0 {
		return nil
	}
	feed := strings.HasPrefix(id, liveID)
	u := all[i]
	lines := []widget.Detail{{Heading: FileName(u)}}
	add := widget.FormatsOf(&lines)
	lines = append(lines, widget.Detail{Label: "state", Text: UploadState(u), Role: UploadRole(u)})
	if u.Error != "" {
		lines = append(lines, widget.Detail{Label: "why", Text: u.Error, Role: themes.Warning})
		if u.ErrorLine > 0 {
			add("line", "%d", u.ErrorLine)
		}
	}
	if !feed {
		lines = append(lines, stageLines(u)...)
	}
	return append(lines, uploadFacts(u, v)...)
}

// uploadFacts describe what was read from a file and what was stored.
func uploadFacts(u api.Upload, v view.Context) []widget.Detail {
	lines := []widget.Detail{{Heading: "The file"}}
	add := widget.FormatsOf(&lines)
	zone := v.Zone()
	if v.Site == nil || v.Site.SiteID != u.SiteID {
		zone = zoneNamed(u.Timezone)
	}
	add("upload", "%s", u.UploadID)
	if u.Source != "" {
		add("source", "%s", u.Source)
	}
	add("rows", "%d read, %d stored, %d missing", u.RowsRead, u.RowsStored, u.RowsMissing)
	if u.RowsReplaced > 0 {
		add("replaced", "%d stored values", u.RowsReplaced)
	}
	if u.ProcessingStatus == api.UploadReverted {
		add("reverted", "%s removed, %d restored, by %s", display.CountOf(u.RowsRemoved, "value", "values"), u.RowsRestored, u.RevertedBy)
	}
	for _, reason := range widget.SortedKeys(u.RowsSkipped) {
		add("skipped", "%d, %s", u.RowsSkipped[reason], reason)
	}
	if !u.FirstRecord.IsZero() {
		add("span", "%s to %s", display.DateTime(u.FirstRecord.In(zone)), display.DateTime(u.LastRecord.In(zone)))
	}
	if len(u.AssetIDs) > 0 {
		add("units", "%s", strings.Join(u.AssetIDs, ", "))
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Warnings", u.Warnings}, {"What was inferred", u.Decisions}} {
		if len(part.lines) == 0 {
			continue
		}
		lines = append(lines, widget.Detail{Heading: part.title})
		for _, words := range part.lines {
			lines = append(lines, widget.Detail{Text: words, Role: themes.Text})
		}
	}
	return lines
}

// Importing returns the files that are being imported, trained or forecast.
func Importing(v view.Context) []api.Upload {
	var out []api.Upload
	for _, u := range v.Site.Uploads.Data {
		if u.Kind == api.UploadTrain && !u.Ended() {
			out = append(out, u)
		}
	}
	return out
}

// DrawImporting draws the progress of those files, and returns the number of rows.
func DrawImporting(r terminal.Region, v view.Context, most int) int {
	w, _ := r.Size()
	y := 0
	line := func(share float64, pace state.Pace, words ...string) {
		if y >= most {
			return
		}
		text := fmt.Sprintf("%5s", display.Percent(share))
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

// IsLoading reports whether uploads of the site are in progress.
func IsLoading(v view.Context) bool { return v.Preparing != nil || len(Importing(v)) > 0 }

// importingState returns what is done with a file that is imported.
func importingState(u api.Upload) string {
	if words := stageWords[UploadState(u)]; words != "" {
		return words
	}
	return UploadState(u)
}

var stageWords = map[string]string{
	"validating": "checking the file", "storing": "storing the history", "training": "training the model", "forecasting": "issuing the forecast", "detecting": "detecting faults",
}

// FileName returns an upload's file, or its id when it came without one.
func FileName(u api.Upload) string {
	if u.Filename != "" {
		return u.Filename
	}
	return u.UploadID
}

// UploadState returns an upload's state in words.
func UploadState(u api.Upload) string {
	switch u.ProcessingStatus {
	case api.UploadWithWarnings:
		return "done, with warnings"
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

// UploadRole returns the look of an upload's state.
func UploadRole(u api.Upload) themes.Role {
	switch u.ProcessingStatus {
	case api.UploadFailed, api.UploadRejected:
		return themes.Warning
	case api.UploadCompleted, api.UploadWithWarnings:
		return themes.Dim
	}
	return themes.Accent
}
