package pane

import (
	"fmt"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// DrawSeverity draws the shape and letter of a severity and answers the x after.
func DrawSeverity(v view.Context, r terminal.Region, x, y int, label string) int {
	a, ok := alarms[label]
	if !ok {
		a = alarms["normal"]
	}
	shape := a.shape
	if v.ASCII {
		shape = a.ascii
	}
	s := v.Style(SeverityRole(label))
	r.PutRune(x, y, shape, s)
	return r.Put(x+1, y, a.letter, s)
}

func SeverityRole(label string) themes.Role {
	switch label {
	case "critical":
		return themes.Critical
	case "warning":
		return themes.Warning
	}
	return themes.Notice
}

// When is a time in the site's words: the clock today, the date before.
func When(t, now time.Time, zone *time.Location) string {
	a, b := t.In(zone), now.In(zone)
	if a.Year() == b.Year() && a.YearDay() == b.YearDay() {
		return a.Format("15:04")
	}
	if a.Year() == b.Year() {
		return a.Format("02 Jan 15:04")
	}
	return a.Format("02 Jan 2006")
}

// lasting is how long something has lasted, in the two units that matter.
func lasting(d time.Duration) string {
	d = d.Round(time.Minute)
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case hours == 0:
		return fmt.Sprintf("%d min", minutes)
	case hours < 48:
		return fmt.Sprintf("%d h %02d min", hours, minutes%60)
	}
	return fmt.Sprintf("%d d %d h", hours/24, hours%24)
}
