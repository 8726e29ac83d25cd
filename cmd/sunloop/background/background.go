// Package background keeps Bubble Tea from asking the terminal for its background colour.
//
// Bubble Tea v1 asks in a package init, for every command of the binary, and waits up to five seconds for an answer. It asks
// only if Lip Gloss does not know the answer yet. Go initialises ready packages in the order of their import paths, and this
// one imports nothing but Lip Gloss and sorts before github.com/charmbracelet/bubbletea, so it is first. It must not import
// anything else. The console asks on its own terms (terminal.QueryBackground) and never uses Lip Gloss's answer.
package background

import "github.com/charmbracelet/lipgloss"

func init() {
	lipgloss.SetHasDarkBackground(true)
}
