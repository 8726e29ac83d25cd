// Package interpolate fills gaps in a site's measured power and says how, and
// how well, it did.
//
// Every gap is bridged on the clear-sky index: the power seen on either side,
// over what the site gives without clouds, is led across. Two learners trained on the
// site's own history, a small bidirectional LSTM and boosted trees, correct
// the bridge. Where the site's other units reported meanwhile, what they made
// of the sky is the best witness. Which method fills a gap is decided by its
// length and by what is known of the sky, from errors on samples that were
// measured, hidden and filled again; what a result claims is what filled it.
//
// Power that was measured is never changed. What is filled lies between
// nothing and the capacity and is zero at night.
package interpolate
