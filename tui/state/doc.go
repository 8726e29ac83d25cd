// Package state holds what the console knows: each answer of the service with
// its age, its last error and its next try ([Value]), and the one planner that
// decides what is asked when ([Planner]). Panes read it and never write it;
// text in it is clean for drawing.
//
// Two clocks run here: the wall clock decides when to ask and how old an
// answer is; the service's own time (a simulated plant's may run faster) says
// where on the day's axis now stands.
package state
