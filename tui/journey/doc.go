// Package journey holds whole ways through the console, walked by tests: the
// real program loop over a real service, with a terminal at the other end.
package journey
