// Package plain is the console in lines of text, for scripts, screen readers
// and terminals that show nothing else: tables of its facts, and [Watch], the
// mode that prints what changed once. It draws no boxes and moves no cursor.
package plain
