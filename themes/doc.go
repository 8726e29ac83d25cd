// Package themes holds the console's colour themes: the files, what they mean and the colour arithmetic they need.
//
// A theme gives every Role (text, border, critical …) a colour and, where it helps without colour, attributes such as bold.
// Five themes are embedded; an operator's own files are read with Load and Folder. The package imports nothing of ours and
// writes no escape codes: terminal turns a theme into styles for the colours a terminal has.
package themes
