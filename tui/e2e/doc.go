// Package e2e has end-to-end tests of the console: the real program loop over a
// real service, with a terminal that reads its output.
package e2e
