package kpi

import "math"

// RatingSource is where a rating is from. Every source but [RatingSet] is an
// inference, which surfaces mark as such.
type RatingSource string

// Sources of ratings, from the best to the weakest.
const (
	RatingSet       RatingSource = "set"         // given by a person
	RatingSiteShare RatingSource = "site_share"  // the site's rating, divided by capacity
	RatingRatio     RatingSource = "dc_ac_ratio" // AC rating times the DC/AC ratio of the site's other units
	RatingCapacity  RatingSource = "capacity"    // the capacity, which does not say whether it is of AC or DC
	RatingEstimate  RatingSource = "estimate"    // the highest power that was measured
	RatingUnknown   RatingSource = "unknown"
)

// rank orders sources; the weakest of several is that of their sum.
func (s RatingSource) rank() int {
	for i, o := range []RatingSource{RatingSet, RatingSiteShare, RatingRatio, RatingCapacity, RatingEstimate} {
		if s == o {
			return i
		}
	}
	return 5
}

// Rating is the rated power of a unit or a site in kW: DC under standard test
// conditions (the sum of its modules), and AC (that of its inverters). 0 is
// unknown.
type Rating struct {
	DCKW, ACKW         float64
	DCSource, ACSource RatingSource
}

// Inferred reports whether the DC or AC rating is not one that a person gave.
func (r Rating) Inferred() (dc, ac bool) { return r.DCSource != RatingSet, r.ACSource != RatingSet }

// DCRatio is the DC/AC ratio; NaN if a rating is unknown.
func (r Rating) DCRatio() float64 {
	if !(r.DCKW > 0) || !(r.ACKW > 0) {
		return math.NaN()
	}
	return r.DCKW / r.ACKW
}

// RatingInput is what is known of the rated power of a unit or a site; 0 is
// not given. Capacity is a rating whose side is not known; Estimated says that
// it was taken from measured power.
type RatingInput struct {
	CapacityKW, DCKW, ACKW float64
	Estimated              bool
}

// Ratings returns the ratings of a site's units. A rating of a unit is the
// given one, else its share by capacity of what the site's given rating leaves,
// else, of DC, its AC rating times the DC/AC ratio of the units that have both,
// else its capacity.
func Ratings(site RatingInput, units []RatingInput) []Rating {
	out := make([]Rating, len(units))
	side := func(given func(RatingInput) float64, of func(*Rating) (*float64, *RatingSource)) {
		rest, weight := given(site), 0.0
		for _, u := range units {
			if kW := given(u); kW > 0 {
				rest -= kW
			} else {
				weight += max(u.CapacityKW, 0)
			}
		}
		for i, u := range units {
			kW, source := of(&out[i])
			switch {
			case given(u) > 0:
				*kW, *source = given(u), RatingSet
			case !(u.CapacityKW > 0):
				*source = RatingUnknown
			case rest > 0:
				*kW, *source = rest*u.CapacityKW/weight, RatingSiteShare
			case u.Estimated:
				*kW, *source = u.CapacityKW, RatingEstimate
			default:
				*kW, *source = u.CapacityKW, RatingCapacity
			}
		}
	}
	side(func(r RatingInput) float64 { return r.ACKW }, func(r *Rating) (*float64, *RatingSource) { return &r.ACKW, &r.ACSource })
	side(func(r RatingInput) float64 { return r.DCKW }, func(r *Rating) (*float64, *RatingSource) { return &r.DCKW, &r.DCSource })
	var dc, ac float64
	for _, r := range out {
		if r.DCSource == RatingSet && r.ACKW > 0 {
			dc, ac = dc+r.DCKW, ac+r.ACKW
		}
	}
	for i, r := range out {
		if r.DCSource.rank() > RatingRatio.rank() && r.ACKW > 0 && ac > 0 {
			out[i].DCKW, out[i].DCSource = r.ACKW*dc/ac, RatingRatio
		}
	}
	return out
}

// SumRatings is the rating of units together; its sources are the weakest ones.
func SumRatings(units []Rating) Rating {
	sum := Rating{DCSource: RatingSet, ACSource: RatingSet}
	if len(units) == 0 {
		return Rating{DCSource: RatingUnknown, ACSource: RatingUnknown}
	}
	for _, u := range units {
		sum.DCKW, sum.ACKW = sum.DCKW+u.DCKW, sum.ACKW+u.ACKW
		if u.DCSource.rank() > sum.DCSource.rank() {
			sum.DCSource = u.DCSource
		}
		if u.ACSource.rank() > sum.ACSource.rank() {
			sum.ACSource = u.ACSource
		}
	}
	return sum
}
