// Package attack contains tests only. They attack a service that runs as a
// process, over real sockets and on a real data folder, and measure whether it
// keeps the bounds that SECURITY.md and docs/guarantees.md state. Each attack adds a
// row to a table that is printed at the end: what was tried, the bound, and what
// was measured.
package attack
