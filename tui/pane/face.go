package pane

import (
	"fmt"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// face draws the faces in which there is nothing to show, and says whether it
// did: loading, empty and failed. A live or stale value is the caller's.
func (v View) face(r terminal.Region, f state.Face, err error, since, next time.Time, what, empty string) bool {
	switch f {
	case state.Loading:
		v.Paragraph(r, 0, 0, "Asking for "+what+" …", themes.Dim)
	case state.Empty:
		v.Paragraph(r, 0, 0, empty, themes.Dim)
	case state.Failed:
		y := v.Paragraph(r, 0, 0, fmt.Sprintf("No answer about %s since %s: %s.", what, When(since, v.Now, v.SiteNow.Location()), reason(err)), themes.Warning)
		v.Paragraph(r, 0, y, "Next try in "+state.Age(next.Sub(v.Now))+".", themes.Dim)
	default:
		return false
	}
	return true
}
