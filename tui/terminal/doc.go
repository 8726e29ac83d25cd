// Package terminal is the layer between Bubble Tea and the line.
//
// Panes draw cells into a Grid. Output sends only the cells that changed and lets Bubble Tea's control sequences through;
// Input hands Bubble Tea whole escape sequences and whole runes however the line cut them. Printable cleans text from data,
// Width and Truncate measure it in cells, NewPalette turns a theme into styles for the colours the terminal has.
//
// It knows themes and nothing else of ours.
package terminal
