package pane

import (
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// trail shows files on their way through import, training and forecast, and
// what the service and people did, that of the unit in hand first.
type trail struct {
	list   List
	listAt terminal.Rect
}

// trailStale is when the trail counts as old.
const trailStale = 5 * time.Minute

// draw draws the files on their way, then the trail.
func (a *trail) draw(r terminal.Region, v view.Context) {
	a.listAt = terminal.Rect{}
	w, h := r.Size()
	y := a.drawUploads(r, v)
	act := v.Site.Activities
	face := act.Face(v.Now, trailStale, len(act.Data) == 0)
	rest := r.Region(terminal.Rect{Y: y, W: w, H: h - y})
	if drawPlaceholder(v, rest, face, act.Err, act.FailedSince, act.NextTry, "what was done", "Nothing was done in the last 24 hours. Imports, trainings, forecasts, findings and what people do stand here.") {
		return
	}
	if face == state.Stale {
		drawAge(v, r, "This trail is", act.At, act.Err)
		h--
	}
	full := a.entry(v)
	below := 0
	if full != "" && h-y >= 12 { // what the line has no room for
		below = min(len(view.Wrap(full, w)), 3) + 1
	}
	rows, own := trailRows(v)
	a.listAt = terminal.Rect{Y: y + 1, W: w, H: h - y - 1 - below}
	a.list.Draw(r.Region(a.listAt), v, trailColumns(v), rows)
	notes := ""
	if v.Selection.AssetID != "" {
		notes = fmt.Sprintf("%d about %s", own, v.ShortID(v.Selection.AssetID, 20))
	}
	v.Heading(r, y, "Trail of 24 hours", notes, a.list.Range())
	if below > 0 {
		bottom := r.Region(terminal.Rect{Y: h - below, W: w, H: below})
		bottom.HLine(0, 0, w, terminal.LinesFor(v.ASCII), v.Style(themes.Border))
		v.Paragraph(bottom, 0, 1, full, themes.Dim)
	}
}

// entry is the marked entry in full, empty without one.
func (a *trail) entry(v view.Context) string {
	ids := entryIDs(v.Site.Activities.Data)
	for i, act := range v.Site.Activities.Data {
		if ids[i] == a.list.Selected {
			words := act.Title + ": " + act.Description
			if act.Actor != "" {
				words += " (" + act.Actor + ")"
			}
			return words
		}
	}
	return ""
}

// drawUploads draws the files under way, those that failed, and where there is
// room the newest done; it answers the rows it took.
func (a *trail) drawUploads(r terminal.Region, v view.Context) int {
	w, h := r.Size()
	ups := notable(v.Site.Uploads.Data)
	if len(ups) == 0 {
		return 0
	}
	note := "g u for all"
	if n := len(OnTheWay(v)); n > 0 {
		note = fmt.Sprintf("%d under way, %s", n, note)
	}
	v.Heading(r, 0, "Files", note)
	y := 1
	name := 0
	for _, u := range ups {
		name = max(name, terminal.Width(FileName(u)))
	}
	name = min(name, max(w*2/5, 10))
	for _, u := range ups[:min(len(ups), max(h/5, 2))] {
		v.Put(r, 0, y, terminal.TruncateMiddle(FileName(u), name/3, name, v.ASCII), themes.Text)
		x := name + 2
		if !u.Ended() {
			DrawBar(r.Region(terminal.Rect{X: x, Y: y, W: 12, H: 1}), v, u.Progress)
			x += 13
		}
		v.PutIn(r, x, y, w-x, uploadWords(u), UploadRole(u))
		y++
	}
	return y
}

// notable are the uploads worth a line: under way, then failed, then done. A
// live feed sends a small file every few seconds: of those only the failed
// count.
func notable(ups []api.Upload) []api.Upload {
	out := slices.DeleteFunc(slices.Clone(ups), func(u api.Upload) bool {
		return u.Kind == api.UploadNowcast && (!u.Ended() || u.Error == "")
	})
	rank := func(u api.Upload) int {
		switch {
		case !u.Ended():
			return 0
		case u.Error != "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b api.Upload) int { return rank(a) - rank(b) })
	return out
}

func uploadWords(u api.Upload) string {
	switch {
	case u.Error != "":
		return UploadState(u) + ": " + u.Error
	case u.Ended():
		return UploadState(u) + ", " + CountOf(u.RowsStored, "row", "rows")
	}
	return UploadState(u)
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

func trailColumns(v view.Context) []Column {
	when, what := 5, 4
	for _, a := range v.Site.Activities.Data {
		when = max(when, terminal.Width(When(a.Timestamp.Time, v.SiteNow, v.Site.Zone)))
		what = max(what, terminal.Width(a.Title))
	}
	return []Column{
		{Title: "when", Width: when}, {Title: "phase", Width: 7, Rank: 2}, {Title: "what", Width: min(what, 32), Min: min(what, 18)},
		{Title: "details", Min: 16, Rank: 1}, {Title: "who", Width: 12, Min: 8, Rank: 3},
	}
}

// entryIDs tell the entries apart, and stay when newer ones come in front.
func entryIDs(trail []api.Activity) []string {
	ids, seen := make([]string, len(trail)), map[string]int{}
	for i := len(trail) - 1; i >= 0; i-- {
		a := trail[i]
		id := a.Timestamp.String() + a.Phase + a.Title + a.AssetID + a.Description
		seen[id]++
		ids[i] = fmt.Sprint(id, seen[id])
	}
	return ids
}

// trailRows are the entries, and how many of them are about the unit in hand:
// those stand first.
func trailRows(v view.Context) (rows []Row, own int) {
	ids := entryIDs(v.Site.Activities.Data)
	for i, a := range v.Site.Activities.Data {
		mine := v.Selection.AssetID != "" && a.AssetID == v.Selection.AssetID
		title, rest := themes.Text, themes.Dim
		if v.Selection.AssetID != "" && !mine {
			title, rest = themes.Dim, themes.Muted
		}
		row := Row{ID: ids[i], Cells: []Cell{
			{Text: When(a.Timestamp.Time, v.SiteNow, v.Site.Zone), Role: rest}, {Text: a.Phase, Role: rest},
			{Text: a.Title, Role: title}, {Text: a.Description, Role: rest}, {Text: a.Actor, Role: rest},
		}, Sort: []any{a.Timestamp.String(), a.Phase, a.Title, a.Description, a.Actor}}
		if mine {
			rows = slices.Insert(rows, own, row)
			own++
			continue
		}
		rows = append(rows, row)
	}
	return rows, own
}

// strip shows what is under way, then what was done last, from y on.
func (a *trail) strip(r terminal.Region, v view.Context, y int) {
	w, h := r.Size()
	y += drawOnTheWay(r.Region(terminal.Rect{Y: y, W: w, H: max(h-y, 0)}), v, h-y)
	for _, act := range v.Site.Activities.Data {
		if y >= h {
			return
		}
		x := v.Put(r, 0, y, When(act.Timestamp.Time, v.SiteNow, v.Site.Zone)+"  ", themes.Dim)
		x = v.PutIn(r, x, y, w-x, act.Title, themes.Text)
		v.PutIn(r, x+2, y, w-x-2, act.Description, themes.Dim)
		y++
	}
	if y == 0 {
		v.PutIn(r, 0, 0, w, "nothing was done in the last 24 hours", themes.Dim)
	}
}

// do moves through the trail; enter takes the unit of an entry in hand.
func (a *trail) do(k keymap.Action, v view.Context) view.Request {
	if k == keymap.Open {
		ids := entryIDs(v.Site.Activities.Data)
		for i, act := range v.Site.Activities.Data {
			if ids[i] != a.list.Current() {
				continue
			}
			if act.AssetID == "" {
				return view.Notify{Text: "This entry is about the whole site, not about a unit.", Role: themes.Dim}
			}
			return view.Select{Selection: view.Selection{AssetID: act.AssetID, FindingID: findingOf(v, act.AssetID)}}
		}
		return nil
	}
	a.list.Do(k, len(trailColumns(v)))
	return nil
}

// export is the trail.
func (a *trail) export(v view.Context) [][]string {
	rows := [][]string{{"timestamp (UTC)", "phase", "title", "description", "asset_id", "actor"}}
	for _, act := range v.Site.Activities.Data {
		rows = append(rows, []string{act.Timestamp.String(), act.Phase, act.Title, act.Description, act.AssetID, act.Actor})
	}
	return rows
}
