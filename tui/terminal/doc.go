// Package terminal is the layer between Bubble Tea and the terminal line. Panes
// draw cells into a Grid. Output sends only the cells that changed and passes
// Bubble Tea's control sequences through; Input gives Bubble Tea whole escape
// sequences and whole runes however the connection split them. Printable cleans text
// from data, Width and Truncate measure it in cells, NewPalette turns a theme
// into styles for the terminal's colours. Of Sunloop's packages it imports
// themes only.
package terminal
