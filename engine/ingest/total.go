package ingest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Limits for the detection of an asset that is the sum of the others.
const (
	totalTolerance = 0.01 // of the sum; in addition half a unit of each part's last digit
	totalShare     = 0.95 // of the times at which something is produced
	totalFewest    = 6    // such times

	// Units of 10, 20 and 30 kW under one sky, or units of constant power, fit these
	// bounds as well. An asset without a name that denotes a total is one only if its
	// values are the computed sum: equal to all digits, for several values, and with a
	// name that differs from those of the units by more than a number.
	computedTolerance = 0.001
	computedValues    = 6
)

// dropTotals leaves out the assets that are the sum of all others at nearly every time, so that a plant is not counted twice. Where the parts are the
// phases of one unit, the sum is the unit and they are left out instead.
func dropTotals(assets []*assetData, rep *report) []*assetData {
	var parts, sums []*assetData
	if slices.ContainsFunc(assets, func(a *assetData) bool { return a.main.fixed }) {
		return assets
	}
	for _, a := range assets {
		if a.main.means.total {
			sums = append(sums, a)
		} else {
			parts = append(parts, a)
		}
	}
	if len(sums) == 0 && len(assets) > 2 {
		// Production is not negative, so only the asset with the most can be the sum of the others.
		a := slices.MaxFunc(assets, func(a, b *assetData) int { return cmp.Compare(a.amount(), b.amount()) })
		others := slices.DeleteFunc(slices.Clone(assets), func(o *assetData) bool { return o == a })
		if !a.numberedLike(others) && a.values() >= computedValues && a.isSum(others, computedTolerance) {
			parts, sums = others, []*assetData{a}
		}
	}
	if len(sums) == 0 || len(parts) == 0 {
		return assets
	}
	for _, a := range sums {
		sum := a.isSumOf(parts)
		switch {
		case len(sums) == 1 && a.outputOf(parts):
			rep.decide("assets", "%s are the DC inputs of %s, which is used", shownAll(parts), a.main.label())
			a.name, a.main.device = "", ""
			return []*assetData{a}
		case phases(parts) && (sum || len(sums) == 1):
			rep.decide("assets", "%s are the phases of %s, which is used", shownAll(parts), a.shown())
			return []*assetData{a}
		case !sum && len(sums) == 1 && a.rivals(parts):
			for _, o := range parts {
				rep.addRunnerUp("columns", "%s instead of %s", o.shown(), a.main.label())
				rep.warn("columns", "%s is left out: %s is called production, and the values of both are alike, as those of a forecast are", o.shown(), a.main.label())
			}
			a.name = ""
			return []*assetData{a}
		case sum:
			rep.decide("assets", "%s is the sum of %s and is left out", a.shown(), shownAll(parts))
			if lastLetters(parts) == "abc" {
				rep.warn("assets", "%s may be the phases of one unit, whose power is %s", shownAll(parts), a.shown())
			}
		default:
			rep.decide("assets", "%s is left out: its name has another form than those of the units", a.shown())
		}
	}
	return parts
}

// rivals reports whether the parts of a possible sum are each about as large as
// it, so that they are other measurements of the same power, and only the sum's
// name denotes production.
func (a *assetData) rivals(parts []*assetData) bool {
	const most = 1.7
	if conceptsOf(a.main.name)&(cPower|cEnergy|cProduction) == 0 {
		return false
	}
	for _, o := range parts {
		if o.kind != a.kind || o.group != a.group || conceptsOf(o.main.name)&(cPower|cEnergy|cProduction|cDevice|cSite|cTotal) != 0 || strings.ContainsAny(o.main.name, "0123456789") {
			return false
		}
		own, other := 0.0, 0.0
		for i, v := range a.source {
			if w := o.source[i]; !math.IsNaN(v) && !math.IsNaN(w) {
				own += v
				other += w
			}
		}
		if own <= 0 || other > most*own || own > most*other {
			return false
		}
	}
	return true
}

// shown returns an asset's name for messages.
func (a *assetData) shown() string {
	if a.name == "" {
		return a.main.label()
	}
	return a.name
}

func shownAll(assets []*assetData) string {
	const most = 6
	var names []string
	for i, a := range assets {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, a.shown())
	}
	return strings.Join(names, ", ")
}

// phases reports whether assets are the phases of one unit, by the ends of their names: three of them, or two that are called so.
func phases(assets []*assetData) bool {
	if len(assets) == 3 && lastLetters(assets) == "rst" {
		return true
	}
	for _, a := range assets {
		main, own := parseHeader(a.main.name), parseHeader(a.name)
		if len(assets) != 3 && !(len(assets) == 2 && (main.any(cPhase) || own.any(cPhase))) || !main.oneOfThree() && !own.oneOfThree() {
			return false
		}
	}
	return true
}

// lastLetters returns the single letters that the names of assets end with, in order; "" if one has none.
func lastLetters(assets []*assetData) string {
	var letters []string
	for _, a := range assets {
		tokens := tokensOf(a.main.name)
		if len(tokens) == 0 || len(tokens[len(tokens)-1]) != 1 {
			return ""
		}
		letters = append(letters, tokens[len(tokens)-1])
	}
	slices.Sort(letters)
	return strings.Join(letters, "")
}

// amount returns the sum of an asset's source values, of a counter what it gained.
func (a *assetData) amount() float64 {
	sum, first, last := 0.0, math.NaN(), math.NaN()
	for _, v := range a.source {
		if math.IsNaN(v) {
			continue
		}
		if math.IsNaN(first) {
			first = v
		}
		last = v
		sum += v
	}
	if a.kind == KindCounter {
		return last - first
	}
	return sum
}

// values returns the number of different source values above zero, up to
// computedValues.
func (a *assetData) values() int {
	seen := map[float64]bool{}
	for _, v := range a.source {
		if v > 0 {
			seen[v] = true
		}
		if len(seen) == computedValues {
			break
		}
	}
	return len(seen)
}

// numberedLike reports whether the names of the asset and of all others are the
// same except for their numbers, as those of units are.
func (a *assetData) numberedLike(others []*assetData) bool {
	letters := func(o *assetData) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, o.shown())
	}
	own := letters(a)
	if len(own) == len(a.shown()) {
		return false
	}
	return !slices.ContainsFunc(others, func(o *assetData) bool { return letters(o) != own })
}

// isSumOf is isSum with the tolerance for assets that are named as totals.
func (a *assetData) isSumOf(others []*assetData) bool { return a.isSum(others, totalTolerance) }

// isSum reports whether an asset's source values are the sum of the others' at nearly all times at which it produces, except for a share of
// it. Counters are compared by what they gained.
func (a *assetData) isSum(others []*assetData, tolerance float64) bool {
	// The kind of the parts counts: a glitch in one of them is small in the
	// sum, which then does not look like a counter.
	kind := others[0].kind
	for _, o := range others {
		if o.kind != kind {
			return false
		}
	}
	sum := a.sumOf(others)
	counting := kind == KindCounter
	equal, n := 0, 0
	lastOwn, lastSum := math.NaN(), math.NaN()
	slack := a.quantum * float64(len(others)+1)
	for i, v := range a.source {
		s := sum[i]
		if math.IsNaN(v) || math.IsNaN(s) {
			continue
		}
		own, parts := v, s
		if counting {
			own, parts = v-lastOwn, s-lastSum
			lastOwn, lastSum = v, s
		}
		if math.IsNaN(own) || own <= 0 && parts <= 0 {
			continue
		}
		n++
		if math.Abs(own-parts) <= tolerance*math.Abs(parts)+slack {
			equal++
		}
	}
	return n >= totalFewest && float64(equal) >= totalShare*float64(n)
}

// sumOf returns the sum of the source values of others at each time of an asset, NaN where none of them has a value.
func (a *assetData) sumOf(others []*assetData) []float64 {
	sum := make([]float64, len(a.source))
	for i := range sum {
		sum[i] = math.NaN()
	}
	var at map[int64]int
	for _, o := range others {
		if o.group != a.group && at == nil {
			at = make(map[int64]int, len(a.group.times))
			for i, t := range a.group.times {
				at[t] = i
			}
		}
		for k, v := range o.source {
			i, ok := k, true
			if o.group != a.group {
				i, ok = at[o.group.times[k]]
			}
			switch {
			case !ok || math.IsNaN(v):
			case math.IsNaN(sum[i]):
				sum[i] = v
			default:
				sum[i] += v
			}
		}
	}
	return sum
}

// quantumOf returns the smallest difference between written values, at least as
// far as their decimals show.
func quantumOf(values []float64) float64 {
	const looked = 500
	finest := 1.0
	for i, v := range values {
		if i == looked {
			break
		}
		for q := finest; q >= 1e-9 && math.Abs(v/q-math.Round(v/q)) > 1e-6*math.Max(1, math.Abs(v/q)); {
			q /= 10
			finest = q
		}
	}
	return finest
}
