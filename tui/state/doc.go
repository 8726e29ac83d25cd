// Package state holds what the console knows: each answer of the service with
// its age, its last error and its next try ([Value]), and the one planner that
// decides what is asked when ([Planner]). Panes read it and never write it;
// text in it is clean for drawing.
//
// Two clocks are used here: the wall clock decides when to request and how
// old a response is; the service's time (a simulated plant's may run faster)
// is the position of now on the day's axis.
package state
