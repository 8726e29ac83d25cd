package pane

import (
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Act shows the work under way and done: files on their way through import,
// training and forecast, and the trail of what the service and people did.
type Act struct {
	trail   List
	trailAt terminal.Rect
}

// NewAct shows the trail newest first.
func NewAct() *Act { return &Act{trail: List{SortBy: -1}} }

// Needs are what the pane shows.
func (a *Act) Needs() []state.Need {
	return []state.Need{{Query: state.QueryActivities, Period: 10 * time.Second}, {Query: state.QueryUploads, Period: 20 * time.Second}}
}

// Filter is the filter of the trail.
func (a *Act) Filter() string { return a.trail.Filter }

// SetFilter narrows the trail.
func (a *Act) SetFilter(s string) { a.trail.Filter = s }

// Draw draws the files on their way, then the trail.
func (a *Act) Draw(r terminal.Region, v View) {
	w, h := r.Size()
	y := a.drawUploads(r, v)
	act := v.Site.Activities
	rest := r.Region(terminal.Rect{Y: y, W: w, H: h - y})
	if v.face(rest, act.Face(v.Now, 5*time.Minute, len(act.Data) == 0), act.Err, act.FailedSince, act.NextTry, "what was done", "Nothing was done in the last 24 hours.") {
		return
	}
	a.trailAt = terminal.Rect{Y: y + 1, W: w, H: h - y - 1}
	a.trail.Draw(r.Region(a.trailAt), v, trailColumns, trailRows(v))
	v.heading(r, y, "Trail of 24 hours", a.trail.Range())
}

// drawUploads draws the newest files with their stage; those under way first.
func (a *Act) drawUploads(r terminal.Region, v View) int {
	w, h := r.Size()
	ups := v.Site.Uploads.Data
	if len(ups) == 0 {
		return 0
	}
	open := 0
	for _, u := range ups {
		if !u.Ended() && u.Kind == api.UploadTrain {
			open++
		}
	}
	v.heading(r, 0, "Files", fmt.Sprintf("%d under way, g u for all", open))
	y := 1
	show := func(u api.Upload) {
		if y > max(h/3, 2) {
			return
		}
		name := u.Filename
		if name == "" {
			name = u.UploadID
		}
		v.putIn(r, 0, y, w/3-1, name, themes.Text)
		x := w / 3
		if !u.Ended() {
			drawBar(r.Region(terminal.Rect{X: x, Y: y, W: 12, H: 1}), v, u.Progress)
			x += 13
		}
		text := UploadState(u)
		if u.Ended() && u.Error == "" {
			text += fmt.Sprintf(", %d rows", u.RowsStored)
		} else if u.Error != "" {
			text += ": " + u.Error
		}
		v.putIn(r, x, y, w-x, text, UploadRole(u))
		y++
	}
	// A live feed sends a small file every few seconds: only those that did not
	// go well are worth a line.
	quiet := func(u api.Upload) bool { return u.Kind == api.UploadNowcast && (!u.Ended() || u.Error == "") }
	for _, ended := range []bool{false, true} {
		for _, u := range ups {
			if u.Ended() == ended && !quiet(u) {
				show(u)
			}
		}
	}
	return y
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

var trailColumns = []Column{{Title: "when", Width: 12}, {Title: "phase", Width: 8, Rank: 2}, {Title: "what", Width: 26}, {Title: "details", Rank: 1}}

func trailRows(v View) []Row {
	var rows []Row
	for i, a := range v.Site.Activities.Data {
		rows = append(rows, Row{ID: fmt.Sprint(a.Timestamp, i), Cells: []Cell{
			{Text: When(a.Timestamp.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim}, {Text: a.Phase, Role: themes.Dim},
			{Text: a.Title, Role: themes.Text}, {Text: a.Description, Role: themes.Dim},
		}, Sort: []any{a.Timestamp.String(), a.Phase, a.Title, a.Description}})
	}
	return rows
}

// Strip shows what was done last.
func (a *Act) Strip(r terminal.Region, v View) {
	w, h := r.Size()
	y := 0
	for _, u := range v.Site.Uploads.Data {
		if !u.Ended() && u.Kind == api.UploadTrain && y < h {
			drawBar(r.Region(terminal.Rect{Y: y, W: 10, H: 1}), v, u.Progress)
			v.putIn(r, 11, y, w-11, UploadState(u)+" "+u.Filename, themes.Text)
			y++
		}
	}
	for _, act := range v.Site.Activities.Data {
		if y >= h {
			return
		}
		x := v.put(r, 0, y, When(act.Timestamp.Time, v.SiteNow, v.Site.Zone)+" ", themes.Dim)
		v.putIn(r, x, y, w-x, act.Title, themes.Text)
		y++
	}
}

// Do moves through the trail.
func (a *Act) Do(k keymap.Action, v View) Intent {
	if k == keymap.Open {
		for i, act := range v.Site.Activities.Data {
			if fmt.Sprint(act.Timestamp, i) == a.trail.Current() && act.AssetID != "" {
				return Intent{Hand: &Hand{AssetID: act.AssetID, FindingID: findingOf(v, act.AssetID)}}
			}
		}
		return Intent{}
	}
	a.trail.Do(k, len(trailColumns))
	return Intent{}
}

// Click marks an entry.
func (a *Act) Click(x, y int, _ View) Intent {
	if a.trailAt.Contains(x, y) {
		a.trail.Click(y - a.trailAt.Y)
	}
	return Intent{}
}

// Export is the trail.
func (a *Act) Export(v View) [][]string {
	rows := [][]string{{"timestamp (UTC)", "phase", "title", "description", "asset_id", "actor"}}
	for _, act := range v.Site.Activities.Data {
		rows = append(rows, []string{act.Timestamp.String(), act.Phase, act.Title, act.Description, act.AssetID, act.Actor})
	}
	return rows
}
