// Package e2e has end-to-end tests of the console: the real program loop over a
// real service, with a terminal at the other end.
package e2e
