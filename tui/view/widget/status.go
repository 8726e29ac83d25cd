package widget

import (
	"fmt"
	"time"

	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// ValueStatus is the status of a value of the state.
type ValueStatus struct {
	Status  state.Status
	Err     error
	Age     time.Duration // of the last good answer
	NextTry time.Time
}

// drawEmpty draws the reason for an empty view, and returns the y after it; empty is the
// text without data.
func (now ValueStatus) drawEmpty(r terminal.Region, v view.Context, empty string) int {
	switch now.Status {
	case state.Failed:
		y := v.Paragraph(r, 0, 0, state.Sentence(now.Err), themes.Warning)
		return v.Paragraph(r, 0, y, "Next try "+state.Soon(now.NextTry.Sub(v.Now))+"; r asks now.", themes.Dim)
	case state.Loading:
		return v.Paragraph(r, 0, 0, "Asking the service …", themes.Dim)
	case state.Stale:
		y := v.Paragraph(r, 0, 0, empty, themes.Dim)
		return v.Paragraph(r, 0, y, "This is "+display.Age(now.Age)+" old: "+state.Reason(now.Err)+".", themes.Warning)
	}
	return v.Paragraph(r, 0, 0, empty, themes.Dim)
}

// KnowledgeRole returns the look of words about what is not known.
func KnowledgeRole(k state.Knowledge) themes.Role {
	if k.Certainty == state.Known || k.Awaited() {
		return themes.Dim
	}
	return themes.Warning
}

// NoneKnown returns the text for an empty value such as alarms: none if that is known,
// otherwise since when it is unknown, or how old it is.
func NoneKnown(v view.Context, n state.Need, what, none string) (string, themes.Role) {
	k := v.Know(n)
	switch k.Certainty {
	case state.Known:
		return none, themes.Dim
	case state.Outdated:
		return none + " " + display.Age(v.Now.Sub(k.Since)) + " ago; since then unknown: " + state.Reason(k.Err), themes.Warning
	}
	return k.Text(what, v.Now, v.Zone()), KnowledgeRole(k)
}

// drawNote draws the age of stale content.
func (now ValueStatus) drawNote(r terminal.Region, v view.Context) bool {
	if now.Err != nil {
		v.Paragraph(r, 0, 0, "These are "+display.Age(now.Age)+" old: "+state.Reason(now.Err)+".", themes.Warning)
	}
	return now.Err != nil
}

// DrawPlaceholder draws a value without content (loading, empty or failed) and reports
// whether it did. The caller draws live and stale values.
func DrawPlaceholder(v view.Context, r terminal.Region, f state.Status, err error, since, next time.Time, what, empty string) bool {
	switch f {
	case state.Loading:
		v.Paragraph(r, 0, 0, "Asking for "+what+" …", themes.Dim)
	case state.Empty:
		v.Paragraph(r, 0, 0, empty, themes.Dim)
	case state.Failed:
		y := v.Paragraph(r, 0, 0, fmt.Sprintf("No answer about %s since %s: %s.", what, display.When(since, v.Now, v.SiteNow.Location()), state.Reason(err)), themes.Warning)
		v.Paragraph(r, 0, y, "Next try "+state.Soon(next.Sub(v.Now))+"; r asks now.", themes.Dim)
	default:
		return false
	}
	return true
}

// DrawAge draws the age of the content and its reason in the last row, and returns the
// region above it.
func DrawAge(v view.Context, r terminal.Region, what string, at time.Time, err error) terminal.Region {
	w, h := r.Size()
	v.PutIn(r, 0, h-1, w, fmt.Sprintf("%s %s old: %s.", what, display.Age(v.Now.Sub(at)), state.Reason(err)), themes.Warning)
	return r.Region(terminal.Rect{W: w, H: h - 1})
}

// How often what administrators see is asked for, and how old it may be.
const (
	ListPeriod     = 10 * time.Second
	ListStaleAfter = time.Minute
)

// StatusOf returns the status of a value of administration.
func StatusOf[T any](value state.Value[T], now time.Time, empty bool) ValueStatus {
	return ValueStatus{Status: value.Status(now, ListStaleAfter, empty), Err: value.Err, Age: now.Sub(value.At), NextTry: value.NextTry}
}
