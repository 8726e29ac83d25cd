package interpolate

// featureNames of the trees. Distances are in hours, indices are clear-sky
// indices, NaN if unknown.
var featureNames = []string{
	"bridge", "bridge_power", "clear_sky", "sun_turn",
	"left_last", "left_mean", "left_long", "right_last", "right_mean", "right_long",
	"hours_left", "hours_right", "hours_gap",
	"day_before", "day_after", "day_before_all", "day_after_all",
	"cloud", "cloud_since_left", "cloud_to_right",
}

// rows appends the features of daylight steps of the hole, those that pick
// names (all where it is nil), with the weather shown or hidden.
func (v *view) rows(dst []float32, h gapSteps, pick []int, weather bool) []float32 {
	s, m := v.s, v.s.edgeSteps()
	nan := nan32()
	end := [6]float32{nan, nan, nan, nan, nan, nan}
	cloudLeft, cloudRight := nan, nan
	weather = weather && s.cloud != nil
	// The nearest known steps on either side of the hole.
	l, r := v.a-1, v.b
	for l >= 0 && !v.known[l] {
		l--
	}
	for r < len(v.known) && !v.known[r] {
		r++
	}
	if l >= 0 {
		end[0], end[1], end[2] = v.index[l], v.edge(l, -1, m), v.edge(l, -1, 6*m)
		if weather {
			cloudLeft = s.cloud[v.step(l)]
		}
	}
	if r < len(v.known) {
		end[3], end[4], end[5] = v.index[r], v.edge(r, 1, m), v.edge(r, 1, 6*m)
		if weather {
			cloudRight = s.cloud[v.step(r)]
		}
	}
	one := func(k int) {
		i := v.step(k)
		before, beforeAll := s.likeness(i, -1, h)
		after, afterAll := s.likeness(i, 1, h)
		cloud := nan
		if weather {
			cloud = s.cloud[i]
		}
		left, right := min(v.left[k], longest), min(v.right[k], longest)
		dst = append(dst, v.base[k], float32(v.base[k]*s.clear[i]), s.clear[i], s.turn[i],
			end[0], end[1], end[2], end[3], end[4], end[5],
			left, right, min(left+right, longest), before, after, beforeAll, afterAll,
			cloud, cloud-cloudLeft, cloud-cloudRight)
	}
	if pick == nil {
		for k := v.a; k < v.b; k++ {
			one(k)
		}
		return dst
	}
	for _, k := range pick {
		one(k)
	}
	return dst
}

// longest is the gap in hours above which distances are capped: training has no
// longer gaps.
const longest = 72

// likeness is the index about the same time of day, and of that whole day, on
// the nearest day in direction d that was measured then and lies outside the
// hole; NaN where five days have none.
func (s *siteSeries) likeness(i, d int, h gapSteps) (around, all float32) {
	perDay := int(24 * s.perHour())
	half := int(s.perHour() / 2)
	for n := 1; n <= 5; n++ {
		j := i + d*n*perDay
		if j < 0 || j >= len(s.power) {
			break
		}
		from, to := max(0, j-half), min(len(s.power), j+half+1)
		if from < h.to && h.from < to {
			continue
		}
		around = s.indexOf(from, to)
		if around != around {
			continue
		}
		// Twelve hours to either side are the day, as far as the hole leaves it.
		from, to = max(0, j-perDay/2), min(len(s.power), j+perDay/2)
		if d < 0 {
			to = min(to, max(h.from, from))
		} else {
			from = max(from, min(h.to, to))
		}
		return around, s.indexOf(from, to)
	}
	return nan32(), nan32()
}

// indexOf is the index of steps [from, to), NaN where nothing was measured.
func (s *siteSeries) indexOf(from, to int) float32 {
	a, b := s.place[from], s.place[to]
	clear := s.sumClear[b] - s.sumClear[a]
	if !(clear > 1e-6) {
		return nan32()
	}
	return min(float32((s.sumPower[b]-s.sumPower[a])/clear), topIndex)
}

// The network's inputs for a step.
const (
	inIndex       = iota // where known, less a typical one
	inKnown              // 1 or 0
	inClear              // clear-sky power
	inTurn               // of the sun
	inTurnSquared        //
	inFirst              // the day's first step
	inBridge             // less a typical index
	inLeft               // distance to the edge, bent into 0..1
	inRight              //
	inCloud              // less a typical index, where known
	inCloudKnown         // 1 or 0
	inBefore             // index about this time of day on the day before, less a typical one
	inAfter              // the same on the day after
	inputCount
)

// typicalIndex is taken off indices, so that nothing known is about zero.
const typicalIndex = 0.7

// bend turns hours into 0..1.
func bend(hours float32) float32 { return hours / (hours + 8) }

// inputs writes the network's inputs for n steps of the view from k, with the
// gap h in it.
func (v *view) inputs(x []float32, h gapSteps, k, n int, weather bool) {
	s := v.s
	weather = weather && s.cloud != nil
	clear(x[:n*inputCount])
	for j := range n {
		r, i := x[j*inputCount:(j+1)*inputCount], v.step(k+j)
		r[inBridge] = v.base[k+j] - typicalIndex
		if v.known[k+j] {
			r[inIndex], r[inKnown] = v.index[k+j]-typicalIndex, 1
		} else {
			r[inLeft], r[inRight] = bend(min(v.left[k+j], longest)), bend(min(v.right[k+j], longest))
		}
		r[inClear], r[inTurn], r[inTurnSquared] = s.clear[i], s.turn[i], s.turn[i]*s.turn[i]
		if s.first[v.start+k+j] {
			r[inFirst] = 1
		}
		if !v.known[k+j] {
			if b, _ := s.likeness(i, -1, h); b == b {
				r[inBefore] = b - typicalIndex
			}
			if a, _ := s.likeness(i, 1, h); a == a {
				r[inAfter] = a - typicalIndex
			}
		}
		if weather {
			if c := s.cloud[i]; c == c {
				r[inCloud], r[inCloudKnown] = c-typicalIndex, 1
			}
		}
	}
}
