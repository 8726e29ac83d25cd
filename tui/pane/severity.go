package pane

import (
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// SeverityRole is the look of a severity.
func SeverityRole(label string) themes.Role { return severityRole(label) }

// Severity draws the shape and letter of a severity and answers the x after.
func (v View) Severity(r terminal.Region, x, y int, label string) int {
	return v.severity(r, x, y, label)
}
