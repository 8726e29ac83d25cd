package ingest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// purpose is the use of values of power or energy by their name: production or something else.
type purpose uint8

const (
	purposeOpen     purpose = iota
	purposeMeasured         // "actual", "Ist": as opposed to a forecast
	purposeForecast         // a forecast, an estimate, a plan or a model
	purposeForeign          // of another plant, or a reference
	purposeConsumer         // a consumer, a battery or the grid
	purposeSource           // another source of energy, "Nuclear"
	purposeDoubtful         // a consumer only if its values are not zero at night, as "Barn" may be a roof or a meter
)

// purposeText describes a purpose.
var purposeText = map[purpose]string{
	purposeForecast: "a forecast, an estimate or a plan", purposeForeign: "another plant or a reference",
	purposeSource: "another source of energy", purposeConsumer: "a consumer, a battery or the grid", purposeDoubtful: "a consumer, a battery or the grid",
}

// purposeConcepts are the concepts of the dictionary that say what values are
// for, with the purpose of each.
var purposeConcepts = map[concept]purpose{cMeasured: purposeMeasured, cEstimate: purposeForecast, cReference: purposeForeign, cAppliance: purposeConsumer, cAmbiguous: purposeDoubtful}

// purposeOf returns the purpose that a name states.
func purposeOf(name string) purpose {
	tokens := tokensOf(name)
	joined := " " + strings.Join(tokens, " ") + " "
	found := purposeOpen
	for _, w := range words().purposes {
		at := strings.Index(joined, w.text)
		if at < 0 {
			continue
		}
		end := at + len(w.text)
		if (w.front || joined[at-1] == ' ') && (w.after || joined[end] == ' ') {
			found = purposeConcepts[w.means]
			break
		}
	}
	if words().allMean(tokens, cSource|cSourceWord) && slices.ContainsFunc(tokens, func(t string) bool { return words().means(t, cSource) }) {
		return purposeSource
	}
	has := conceptsOf(name)
	switch {
	case has&cForecast != 0 || found == purposeForecast:
		return purposeForecast
	case found != purposeOpen && found != purposeDoubtful && !(found == purposeConsumer && generates(tokens, has)):
		return found
	case generates(tokens, has):
		return purposeOpen
	case has&(cConsumption|cBattery) != 0:
		for _, t := range tokens {
			if tokenConcepts(t)&(cConsumption|cBattery) != 0 && !words().means(t, cUncertain) {
				return purposeConsumer
			}
		}
		return purposeDoubtful
	case found == purposeDoubtful || has&cGrid != 0:
		return purposeDoubtful
	}
	return purposeOpen
}

// generates reports whether a name has a word of a generator.
func generates(tokens []string, has concept) bool {
	return has&cProduction != 0 || slices.ContainsFunc(tokens, func(t string) bool {
		return words().means(t, cGenerator) || strings.HasPrefix(t, "inv") || strings.HasPrefix(t, "wechselrichter")
	})
}

// measuredOnly reports whether a name only states that the values were measured.
func measuredOnly(name string) bool {
	tokens := tokensOf(name)
	return len(tokens) > 0 && !slices.ContainsFunc(tokens, func(t string) bool { return purposeOf(t) != purposeMeasured })
}

// leftOut is a column that was left out for its name.
type leftOut struct {
	name string
	what purpose
	sole bool // nothing else is production, so it is used despite its name
}

// dropOthers leaves out the columns whose names say that they are a forecast, a consumer or another plant, if a
// column of production remains. Estimates without a unit and quantiles are left out in any case.
func (p *plan) dropOthers() {
	if p.keys.measure >= 0 || len(p.hours) > 0 || slices.ContainsFunc(p.columns, func(c *column) bool { return c.fixed }) {
		return
	}
	quantiles := quantilesOf(p.columns)
	others := map[*column]purpose{}
	remains := false
	for _, col := range p.columns {
		if !mainRole(col.means.role) && col.means.role != roleUnknown {
			continue
		}
		what := purposeOf(col.name)
		if quantiles[col] {
			what = purposeForecast
		}
		switch what {
		case purposeForecast, purposeForeign, purposeConsumer, purposeSource:
			others[col] = what
		default:
			remains = remains || mainRole(col.means.role) || what == purposeMeasured
		}
	}
	p.columns = slices.DeleteFunc(p.columns, func(col *column) bool {
		what, other := others[col]
		if !other {
			return false
		}
		drop := remains || quantiles[col] || col.means.role == roleUnknown
		p.left = append(p.left, leftOut{col.label(), what, !drop})
		if drop {
			p.ignore(col.index, "its name says that it is "+purposeText[what])
		}
		return drop
	})
	p.nameMeasured()
}

// nameMeasured takes the only column that is named as the measured one for power, if no other holds production.
func (p *plan) nameMeasured() {
	if p.find(rolePower, roleEnergy, roleCounter, roleDaily) != nil {
		return
	}
	var found []*column
	for _, col := range p.columns {
		if col.means.role == roleUnknown && measuredOnly(col.name) {
			found = append(found, col)
		}
	}
	if len(found) == 1 && len(p.left) > 0 {
		found[0].means = meaning{role: rolePower, bare: true}
	}
}

// quantilesOf returns the columns that are quantiles of a forecast, "P10", "P50" and "P90".
func quantilesOf(columns []*column) map[*column]bool {
	numbers := map[int]bool{}
	out := map[*column]bool{}
	for _, col := range columns {
		tokens := tokensOf(col.name)
		if n := len(tokens); n >= 2 && (tokens[n-2] == "p" || tokens[n-2] == "q") {
			if v, err := strconv.Atoi(tokens[n-1]); err == nil && len(tokens[n-1]) == 2 {
				numbers[v], out[col] = true, true
				continue
			}
			return nil // "P1" numbers units
		}
	}
	if numbers[10] && numbers[90] && !numbers[11] || numbers[50] && (numbers[10] || numbers[90]) && !numbers[51] {
		return out
	}
	return nil
}

// reportLeft reports the columns that were left out for their names.
func (p *plan) reportLeft(rep *report) {
	for _, l := range p.left {
		switch {
		case l.sole:
			rep.warn("columns", "the name of %s says that it is %s; it is used, as no other column is production", l.name, purposeText[l.what])
		case l.what == purposeForeign:
			rep.addRunnerUp("columns", "%s is a unit of the plant", l.name)
			rep.warn("columns", "%s is left out: its name says that it is %s", l.name, purposeText[l.what])
		default:
			rep.decide("columns", "%s is left out: its name says that it is %s", l.name, purposeText[l.what])
		}
	}
}

// namesTypes reports whether a title is that of a column of the kinds of devices.
func namesTypes(tokens []string) bool {
	return slices.ContainsFunc(tokens, func(t string) bool { return words().means(t, cType) })
}

// typesOf returns the cells of a column of the kinds of devices by the names of the units, from the first records.
func (p *plan) typesOf() map[string]string {
	if p.keys.asset < 0 {
		return nil
	}
	for c := range p.cells {
		tokens := tokensOf(p.title(c))
		if c == p.keys.asset || c == p.keys.measure || !namesTypes(tokens) || p.share(c, isNumber) > 0.2 {
			continue
		}
		out := map[string]string{}
		p.data(c, func(string) {})
		for _, s := range p.timed {
			out[s.cell(p.keys.asset)] = s.cell(c)
		}
		return out
	}
	return nil
}

// dropOtherUnits leaves out the units of a file with a row for each of them whose names, or types, say that they are a
// forecast, a consumer or another plant, if a unit of production remains.
func (p *plan) dropOtherUnits(assets []*assetData, rep *report) []*assetData {
	types := p.typesOf()
	others := map[*assetData]purpose{}
	for _, a := range assets {
		if a.group.name == "" {
			return assets
		}
		what := purposeOf(a.group.name)
		if kind := types[a.group.name]; kind != "" {
			switch byType := purposeOf(kind); {
			case byType == purposeDoubtful:
				what = purposeConsumer
			case byType != purposeOpen:
				what = byType
			case generates(tokensOf(kind), conceptsOf(kind)):
				what = purposeOpen
			}
		}
		if what != purposeOpen && what != purposeMeasured {
			others[a] = what
		}
	}
	if len(others) == 0 {
		p.doubtKinds(assets, rep)
		return p.withoutKinds(assets)
	}
	dark := slices.ContainsFunc(assets, func(a *assetData) bool { return others[a] == purposeOpen && a.nightShare() <= mostAtNight })
	kept := slices.DeleteFunc(slices.Clone(assets), func(a *assetData) bool {
		what := others[a]
		switch {
		case what == purposeOpen:
			return false
		case what == purposeDoubtful && (!dark || a.nightShare() <= mostAtNight):
			return false
		case len(others) == len(assets) || what == purposeConsumer && !dark && !p.produces(assets, others):
			rep.warn("assets", "the name of %s says that it is %s; it is used, as no other unit is surely production", a.shown(), purposeText[what])
			return false
		case what == purposeForeign:
			rep.addRunnerUp("assets", "%s is a unit of the plant", a.shown())
			rep.warn("assets", "%s is left out: its name says that it is %s", a.shown(), purposeText[what])
		default:
			rep.decide("assets", "%s is left out: its name or type says that it is %s", a.shown(), purposeText[what])
		}
		return true
	})
	if len(kept) == 1 && len(assets) > 1 && measuredOnly(kept[0].name) {
		kept[0].name = ""
	}
	return p.withoutKinds(kept)
}

// withoutKinds shortens names such as "INV-1 measured", which two columns make, to what
// names the unit, if the names stay different.
func (p *plan) withoutKinds(assets []*assetData) []*assetData {
	if p.keys.second < 0 {
		return assets
	}
	own, taken := map[*assetData]string{}, map[string]bool{}
	for _, a := range assets {
		if own[a] = a.name; a.name == a.group.name {
			own[a] = withoutKind(a.name, namesTypes(tokensOf(p.title(p.keys.second))) || namesTypes(tokensOf(p.title(p.keys.asset))))
		}
		if taken[own[a]] {
			return assets
		}
		taken[own[a]] = true
	}
	for a, name := range own {
		a.name = name
	}
	return assets
}

// withoutQuantities shortens the names of units that the rows state, such as "WR1
// Leistung", if all of them end in the words of a quantity and stay different.
//
// All units of a file or none are shortened, unless the mapping requires it: pieces of a
// file differ in their units.
func (p *plan) withoutQuantities(assets []*assetData, rep *report) {
	own, taken := make([]string, len(assets)), map[string]bool{}
	if p.shortNames {
		for _, a := range assets {
			taken[a.name] = true
		}
	}
	for i, a := range assets {
		own[i] = WithoutQuantity(a.name)
		single := len(assets) == 1 && !inverterName.MatchString(own[i]) && !codeName.MatchString(own[i])
		if !p.shortNames && (a.name == "" || a.name != a.group.name || own[i] == a.name || taken[own[i]] || single) {
			return
		}
		if a.name != a.group.name || taken[own[i]] {
			own[i] = a.name
		}
		taken[own[i]] = true
	}
	for i, a := range assets {
		if own[i] == a.name {
			continue
		}
		rep.decide("assets", "the unit of %q is called %s, without the quantity", a.name, own[i])
		a.name, p.shortNames = own[i], true
	}
}

// WithoutQuantity returns the name of a unit without the words for power or energy at
// its end, as of "WR1 Leistung". A name without other words is returned as it is.
func WithoutQuantity(name string) string {
	const measured = cPower | cEnergy | cAC
	tokens := rawTokens(name)
	n := len(tokens)
	for n > 0 {
		c := conceptsOf(tokens[n-1].text)
		if c&measured == 0 || c&^(measured|cProduction) != 0 || codeName.MatchString(tokens[n-1].text) || c&(cPower|cEnergy) == 0 && n == len(tokens) {
			break
		}
		n--
	}
	if n == 0 || n == len(tokens) {
		return name
	}
	return name[tokens[0].at : tokens[n-1].at+len(tokens[n-1].text)]
}

// withoutKind returns a name without the words at its beginning or end that say that
// values were measured, or produced if a column of kinds says so, unless it has no
// others.
func withoutKind(name string, produced bool) string {
	measuredOnly := func(word string) bool {
		c := conceptsOf(word)
		return measuredOnly(word) || produced && c&cProduction != 0 && c&^(cProduction|cEnergy) == 0
	}
	list := strings.Split(name, " ")
	from, to := 0, len(list)
	for from < to && measuredOnly(list[from]) {
		from++
	}
	for to > from && measuredOnly(list[to-1]) {
		to--
	}
	if from == to {
		return name
	}
	return strings.Join(list[from:to], " ")
}

// doubtKinds warns if only a column of kinds distinguishes the rows of units: its values
// may be a measurement and a forecast, and not two units.
func (p *plan) doubtKinds(assets []*assetData, rep *report) {
	if !p.given || len(assets) < 2 {
		return
	}
	for _, c := range []int{p.keys.asset, p.keys.second} {
		if c < 0 || !namesTypes(tokensOf(p.title(c))) {
			continue
		}
		cells := map[string]bool{}
		p.data(c, func(cell string) { cells[cell] = true })
		for cell := range cells {
			if generates(tokensOf(cell), conceptsOf(cell)) {
				return
			}
		}
		rep.addRunnerUp("assets", "the values of %q are kinds of values of one unit", p.title(c))
		rep.warn("assets", "only the column %q distinguishes rows of one time, so that each of %s is taken for a unit; if one is a forecast or a target, remove its rows from the file", p.title(c), shownAll(assets))
	}
}

// produces reports whether one of the other units is production by its name.
func (p *plan) produces(assets []*assetData, others map[*assetData]purpose) bool {
	return slices.ContainsFunc(assets, func(a *assetData) bool {
		return others[a] == purposeOpen && (generates(tokensOf(a.group.name), conceptsOf(a.group.name)) || purposeOf(a.group.name) == purposeMeasured)
	})
}

// nightShare returns the mean of the darkest four hours over that of the brightest.
func (a *assetData) nightShare() float64 {
	var sums, counts [24]float64
	for i, v := range a.source {
		if !math.IsNaN(v) {
			h := (a.group.times[i]%day + day) % day / hour
			sums[h] += math.Abs(v)
			counts[h]++
		}
	}
	darkest, brightest := math.Inf(1), 0.0
	for from := range 24 {
		sum, n := 0.0, 0.0
		for k := range 4 {
			sum, n = sum+sums[(from+k)%24], n+counts[(from+k)%24]
		}
		if n > 0 {
			darkest, brightest = min(darkest, sum/n), max(brightest, sum/n)
		}
	}
	if brightest == 0 {
		return 1
	}
	return darkest / brightest
}

// reverseSign turns the values of a unit that are negative all day.
func (a *assetData) reverseSign(rep *report) {
	const (
		clear  = 0.02 // of the largest value
		fewest = 8
	)
	if a.kind != KindPower && a.kind != KindIntervalEnergy {
		return
	}
	largest, below, above := 0.0, 0, 0
	for _, v := range a.source {
		if !math.IsNaN(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	for _, v := range a.source {
		switch {
		case v < -clear*largest:
			below++
		case v > clear*largest:
			above++
		}
	}
	if below < fewest || above*20 > below {
		return
	}
	if a.nightShare() > mostAtNight {
		rep.warn("values", "the values of %s are negative all day and all night, as those of a consumer are", a.shown())
		return
	}
	turned := make([]float64, len(a.source))
	for i, v := range a.source {
		turned[i] = 0 - v
	}
	a.source = turned
	rep.addRunnerUp("values", "%s is consumption", a.shown())
	rep.warn("values", "the values of %s are negative all day; the sign is reversed, as production is positive", a.shown())
}

// sumPhases makes one unit of three that are the phases of one, if no column is their sum.
func sumPhases(assets []*assetData, rep *report) []*assetData {
	if len(assets) != 3 {
		return assets
	}
	numbers := map[string]bool{}
	first := assets[0]
	for _, a := range assets {
		tokens := tokensOf(a.main.name)
		for i, t := range tokens {
			if i+1 < len(tokens) && t == "l" || i+1 < len(tokens) && tokenConcepts(t)&cPhase != 0 {
				numbers[tokens[i+1]] = true
			}
		}
		if a.group != first.group || a.kind != first.kind || a.kind != KindPower && a.kind != KindIntervalEnergy || a.main.fixed ||
			a.main.unit != first.main.unit || !parseHeader(a.main.name).oneOfThree() {
			return assets
		}
	}
	if !(numbers["1"] && numbers["2"] && numbers["3"]) {
		return assets
	}
	whole := *first
	whole.name = ""
	whole.source = make([]float64, len(first.source))
	whole.uses = nil
	for _, a := range assets {
		for i, v := range a.source {
			whole.source[i] += v
		}
		a.main.device = "" // no unit is called so
		if a != first {
			whole.use(a.main, MapPower)
		}
	}
	rep.decide("assets", "%s are the phases of one unit, whose power is their sum", shownAll(assets))
	return []*assetData{&whole}
}

// outputOf reports whether an asset is the output of an inverter of which the others are the inputs: a little less than their sum.
func (a *assetData) outputOf(parts []*assetData) bool {
	const lowest, highest = 0.85, 1.005
	if conceptsOf(a.main.name)&cAC == 0 || len(parts) < 2 {
		return false
	}
	for _, o := range parts {
		if o.group != a.group || o.kind != a.kind || o.main.unit.dim != a.main.unit.dim || conceptsOf(o.main.name)&(cProduction|cDC) == 0 || conceptsOf(o.main.name)&cAC != 0 {
			return false
		}
	}
	sum := a.sumOf(parts)
	fits, n := 0, 0
	for i, v := range a.source {
		if math.IsNaN(v) || !(sum[i] > 0) || v <= 0 {
			continue
		}
		n++
		if share := v / sum[i]; share >= lowest && share <= highest {
			fits++
		}
	}
	return n >= totalFewest && float64(fits) >= totalShare*float64(n)
}

// dropOtherTables leaves out the tables whose names say that they are a forecast or consumption, if another remains.
func dropOtherTables(tables []tableResult, rep *report) (kept, others []tableResult) {
	for _, t := range tables {
		switch purposeOf(tableUnit(t.name)) {
		case purposeForecast, purposeConsumer, purposeForeign:
			others = append(others, t)
		default:
			kept = append(kept, t)
		}
	}
	for _, t := range others {
		what := purposeText[purposeOf(tableUnit(t.name))]
		if len(kept) == 0 {
			rep.warn("file", "the name of %s says that it is %s; it is used, as no other table is production", t.name, what)
			continue
		}
		rep.decide("file", "%s is left out: its name says that it is %s", t.name, what)
	}
	if len(kept) == 0 {
		return tables, nil
	}
	return kept, others
}

// noUnit returns the refusal of a file with a column that may be production, but has neither a name nor a unit that states it.
func (t *table) noUnit() error {
	p := t.plan
	return refuse(NoPowerOrEnergy, p.head.stack[len(p.head.stack)-1].line, "%s",
		fmt.Sprintf("%s may be production, but neither its name nor a unit says so: state the capacity (--capacity-kw) or the column and its unit (--map)", t.doubted.label()))
}
