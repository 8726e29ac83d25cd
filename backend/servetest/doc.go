// Package servetest runs the sunloop program as a process for tests: it builds
// the program, starts `sunloop serve` on a free port of the loopback interface
// over a folder, and measures what the process uses.
package servetest
