// Package interpolate fills gaps in a site's measured power, and reports the
// method and its accuracy.
//
// The base method is clear-sky-index interpolation: the ratio of power to
// clear-sky power on either side is interpolated across the gap. Two learners
// trained on the site's own history, a small bidirectional LSTM and boosted
// trees, correct it. If the site's other units reported during the gap, their
// power is the best information about the sky. The method for a gap is chosen
// by its length and by the information about the sky, from errors on samples
// that were measured, hidden and filled. A result names the method that was
// actually used.
//
// Measured power is never changed. Filled power is between zero and the
// capacity, and zero at night.
package interpolate
