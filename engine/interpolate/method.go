package interpolate

import "time"

// Method is a way to fill a gap.
type Method string

// The methods, simpler ones first.
const (
	// Linear draws a straight line between the samples next to the gap.
	Linear Method = "linear"
	// Spline is a monotone cubic through six samples on either side: it does not
	// overshoot (Fritsch and Butland 1984).
	Spline Method = "spline"
	// ClearSkyIndex interpolates the clear-sky index from one edge to the
	// other. The last sample at an edge decays to the edge's mean over an
	// hour and a half.
	ClearSkyIndex Method = "clear_sky_index"
	// Siblings takes the clear-sky index of the site's other units, times
	// the ratio of the unit's index to theirs next to the gap; for gaps up
	// to 15 min, the mean of that and the spline.
	Siblings Method = "sibling_units"
	// Trees correct the bridge by boosted trees.
	Trees Method = "gradient_boosting"
	// AdaptiveLSTM corrects the clear-sky-index interpolation by a
	// recurrent network, alone or averaged with the trees.
	AdaptiveLSTM Method = "adaptive_lstm"
)

// methods in the order of their scores everywhere.
var methods = [...]Method{Linear, Spline, ClearSkyIndex, Siblings, Trees, AdaptiveLSTM}

const (
	isLinear = iota
	isSpline
	isBridge
	isSiblings
	isTrees
	isLSTM
	methodCount
)

// SkyInfo is the information about the sky that is available during a gap.
type SkyInfo string

// From none to the best.
const (
	SkyUnknown   SkyInfo = "nothing"
	ByWeather    SkyInfo = "weather"
	SkyFromPeers SkyInfo = "sibling units"
)

const (
	blind = iota
	byWeather
	bySiblings
	sightCount
)

var sights = [sightCount]SkyInfo{SkyUnknown, ByWeather, SkyFromPeers}

// Class is a span of gap lengths for which one method is chosen.
type Class string

// The classes by the time between a gap's first and last daylight.
const (
	UpTo15Min Class = "up to 15 min"
	UpTo45Min Class = "up to 45 min"
	UpTo2h    Class = "up to 2 h"
	UpTo12h   Class = "up to 12 h"
	Longer    Class = "longer than 12 h"
)

const (
	classCount   = 5
	firstLearned = 2 // the learners stay out of the classes before it
)

var classes = [classCount]struct {
	name Class
	upTo time.Duration
}{
	{UpTo15Min, 15 * time.Minute},
	{UpTo45Min, 45 * time.Minute},
	{UpTo2h, 2 * time.Hour},
	{UpTo12h, 12 * time.Hour},
	{Longer, 1 << 62},
}

func classOf(d time.Duration) int {
	for k, c := range classes {
		if d <= c.upTo {
			return k
		}
	}
	return classCount - 1
}

// ClassOf is the class of gaps of length d.
func ClassOf(d time.Duration) Class { return classes[classOf(d)].name }
