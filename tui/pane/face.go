package pane

import (
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// drawPlaceholder draws the faces in which there is nothing to show, and says whether it
// did: loading, empty and failed. A live or stale value is the caller's.
func drawPlaceholder(v view.Context, r terminal.Region, f state.Face, err error, since, next time.Time, what, empty string) bool {
	switch f {
	case state.Loading:
		v.Paragraph(r, 0, 0, "Asking for "+what+" …", themes.Dim)
	case state.Empty:
		v.Paragraph(r, 0, 0, empty, themes.Dim)
	case state.Failed:
		y := v.Paragraph(r, 0, 0, fmt.Sprintf("No answer about %s since %s: %s.", what, When(since, v.Now, v.SiteNow.Location()), state.Reason(err)), themes.Warning)
		v.Paragraph(r, 0, y, "Next try "+state.Soon(next.Sub(v.Now))+"; r asks now.", themes.Dim)
	default:
		return false
	}
	return true
}

// drawAge says in the last row how old what is shown is and why, and answers the
// region above it.
func drawAge(v view.Context, r terminal.Region, what string, at time.Time, err error) terminal.Region {
	w, h := r.Size()
	v.PutIn(r, 0, h-1, w, fmt.Sprintf("%s %s old: %s.", what, state.Age(v.Now.Sub(at)), state.Reason(err)), themes.Warning)
	return r.Region(terminal.Rect{W: w, H: h - 1})
}

// OnTheWay are the files that are being imported, trained or forecast.
func OnTheWay(v view.Context) []api.Upload {
	var out []api.Upload
	for _, u := range v.Site.Uploads.Data {
		if u.Kind == api.UploadTrain && !u.Ended() {
			out = append(out, u)
		}
	}
	return out
}

// drawOnTheWay draws how far those files are, and answers the rows it took.
func drawOnTheWay(r terminal.Region, v view.Context, most int) int {
	w, _ := r.Size()
	y := 0
	for _, u := range OnTheWay(v) {
		if y >= most {
			break
		}
		DrawBar(r.Region(terminal.Rect{Y: y, W: 12, H: 1}), v, u.Progress)
		v.PutIn(r, 13, y, w-13, fmt.Sprintf("%3.0f %%  %s  %s", u.Progress*100, UploadState(u), FileName(u)), themes.Text)
		y++
	}
	return y
}

// FileName is an upload's file, or its id when it came without one.
func FileName(u api.Upload) string {
	if u.Filename != "" {
		return u.Filename
	}
	return u.UploadID
}
