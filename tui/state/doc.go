// Package state holds the console's data: each response of the service with its age,
// last error and next attempt ([Value]), and the planner that decides when each query
// is sent ([Planner]). Panes read it and never write it; its texts are safe to draw.
//
// Two clocks are used here: the wall clock decides when to request and how
// old a response is; the service's time (a simulated plant's may run faster)
// is the position of now on the day's axis.
package state
