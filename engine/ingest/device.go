package ingest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// splitDevices gives the columns of a wide file their assets.
func (p *plan) splitDevices() {
	if p.keys.asset >= 0 || p.keys.measure >= 0 || len(p.hours) > 0 {
		for _, col := range p.columns {
			col.device = ""
		}
		return
	}
	stacked := map[string]bool{}
	for _, col := range p.columns {
		if col.device != "" {
			stacked[col.device] = true
		}
	}
	if len(stacked) > 0 { // serial numbers or devices are above the columns
		p.nameOthers(stacked)
		return
	}
	p.numberedTotals()
	for _, r := range []role{rolePower, roleEnergy, roleCounter, roleDaily, roleUnknown} {
		names := p.devicesOf(r)
		if len(names) < 2 {
			continue
		}
		for col, name := range names {
			col.device = name
		}
		// A column of the same kind with a name of another form is a unit until it is compared with the others: it may be their sum.
		for _, col := range p.columns {
			if col.means.role == r && names[col] == "" && col.device == "" && col.title != "" {
				col.device, col.means.total = col.name, true
			}
		}
		// Columns of other quantities belong to the unit that their name begins or ends with.
		for _, col := range p.columns {
			for _, name := range names {
				if col.device == "" && !col.means.total && holdsName(col.name, name) {
					col.device = name
				}
			}
		}
		return
	}
	for _, col := range p.columns {
		if rest := residue(col.name); col.means.role >= rolePower && col.means.role <= roleDaily && inverterName.MatchString(rest) {
			col.device = rest
		}
	}
}

// nameOthers uses the names of production columns as their units if a line of
// units of measure below assigns the columns with unknown names to them.
func (p *plan) nameOthers(stacked map[string]bool) {
	var others []*column
	named := 0
	for _, col := range p.columns {
		if !mainRole(col.means.role) {
			continue
		}
		switch {
		case col.device != "":
			if identifier.MatchString(col.device) || col.title != "" {
				return
			}
			named++
		case col.title == "" || stacked[col.title]:
			return
		default:
			others = append(others, col)
		}
	}
	if named != len(stacked) {
		return
	}
	for _, col := range others {
		col.device = col.name
	}
}

// numberedTotals corrects columns that a word of their name marks as totals
// although the names differ in a number or a letter only, as "Plant 1" and
// "Plant 2".
func (p *plan) numberedTotals() {
	families := map[string][]*column{}
	for _, col := range p.columns {
		if mainRole(col.means.role) && col.means.total {
			rest, lettered := withoutLetter(col.name)
			if numberless := strings.TrimRight(col.name, "0123456789 -_"); numberless != col.name || lettered {
				families[strings.TrimRight(rest, "0123456789 -_")] = append(families[strings.TrimRight(rest, "0123456789 -_")], col)
			}
			// A number in front of the word: "INV1/Total Active Power". Phases are no units.
			if family := p.family(col); strings.Contains(family, "#") && !parseHeader(col.name).oneOfThree() {
				families["# "+family] = append(families["# "+family], col)
			}
		}
	}
	for _, like := range families {
		if len(like) > 1 && ownNames(like) != nil {
			for _, col := range like {
				col.means.total = false
			}
		}
	}
	p.namedPlants()
}

// namedPlants corrects columns like "Plant North" and "Plant South": names of the same word of a total and a
// word without a known meaning.
func (p *plan) namedPlants() {
	byWord := map[string][]*column{}
	for _, col := range p.columns {
		tokens := tokensOf(col.name)
		if mainRole(col.means.role) && col.means.total && len(tokens) == 2 && tokenConcepts(tokens[0])&cTotal != 0 && conceptsOf(tokens[1]) == 0 {
			byWord[tokens[0]] = append(byWord[tokens[0]], col)
		}
	}
	for _, like := range byWord {
		if len(like) > 1 {
			for _, col := range like {
				col.means.total = false
			}
		}
	}
}

// holdsName reports whether a column's name has a unit's name as a whole word.
func holdsName(column, name string) bool {
	i := strings.Index(column, name)
	if i < 0 {
		return false
	}
	end := i + len(name)
	return (end == len(column) || !alphanumeric(rune(column[end]))) && (i == 0 || !alphanumeric(rune(column[i-1])))
}

// inverterName matches a device name that is unambiguous.
var inverterName = regexp.MustCompile(`(?i)^(inv|inverter|wr|wechselrichter|device)[ _-]?\d+$`)

// devicesOf returns the names of the units to which the columns of one role
// belong: the parts in which the columns' names differ, if they differ in a
// number or a letter only, or consist of the unit's name only. Known words for
// the measured quantity are removed.
func (p *plan) devicesOf(r role) map[*column]string {
	families := map[string][]*column{}
	for _, col := range p.columns {
		if col.means.role != r || col.means.total || col.title == "" {
			continue
		}
		families[p.family(col)] = append(families[p.family(col)], col)
	}
	names := map[*column]string{}
	if p.oneFamily(families) {
		var all []*column
		for _, col := range p.columns {
			if col.means.role == r && !col.means.total && col.title != "" {
				all = append(all, col)
			}
		}
		families = map[string][]*column{"": all}
		if directions(all) {
			for _, col := range all {
				names[col] = col.name
			}
			return names
		}
	}
	for _, like := range families {
		if len(like) < 2 {
			continue
		}
		own := ownNames(like)
		if own == nil {
			// The name that all others begin with may be their sum: "Plant 1", "Plant 2", "Plant".
			if like = withoutStem(like); len(like) > 1 {
				own = ownNames(like)
			}
		}
		if own == nil {
			continue
		}
		for i, col := range like {
			names[col] = own[i]
		}
	}
	return names
}

// oneFamily reports whether columns whose names differ in more than numbers and
// letters still belong to several units: they share words for the measured
// quantity, have one unit of measure, and differ only in words without a known
// meaning.
func (p *plan) oneFamily(families map[string][]*column) bool {
	const names = cDevice | cCabinet | cSite | cSerial | cCount | cUnit | cTotal | cModule
	var all []*column
	for _, like := range families {
		if len(like) > 1 {
			return false
		}
		all = append(all, like...)
	}
	if len(all) < 2 {
		return false
	}
	own := ownNames(all)
	if own == nil {
		return false
	}
	if directions(all) {
		return true
	}
	for i, col := range all {
		if col.unit.dim == dimNone || col.unit.name != all[0].unit.name || own[i] == col.name || conceptsOf(own[i])&^names != 0 {
			return false
		}
	}
	return true
}

// directions reports whether the names of columns of one unit of measure say that
// they are production, and differ in the direction of the modules only, as "PV
// East" and "PV West" do.
func directions(columns []*column) bool {
	for _, col := range columns {
		if col.unit.dim == dimNone || col.unit.name != columns[0].unit.name || conceptsOf(col.name)&(cPower|cEnergy|cProduction) == 0 {
			return false
		}
		found := false
		for _, t := range tokensOf(col.name) {
			shared := !slices.ContainsFunc(columns, func(o *column) bool { return !slices.Contains(tokensOf(o.name), t) })
			if direction := words().means(t, cCompass); !shared && !direction && !digit(t[0]) {
				return false
			} else if direction {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// family returns the common part of the names of several units' columns: the
// name without its numbers and single letters. Columns named by their unit only
// are one family if a unit of measure states what they hold.
func (p *plan) family(col *column) string {
	if conceptsOf(col.name)&(cPower|cEnergy|cProduction|cLifetime|cDaily) == 0 && col.unit.dim != dimNone {
		return ""
	}
	var family []string
	for _, t := range nameTokens(col.name) {
		letters := strings.TrimFunc(t.text, func(r rune) bool { return r >= '0' && r <= '9' })
		switch {
		case letters == "" || len([]rune(letters)) == 1:
			family = append(family, "#")
		case letters != t.text && len(t.text) >= 6: // a serial number
			family = append(family, "#")
		default:
			family = append(family, strings.ToLower(letters))
		}
	}
	return strings.Join(family, " ")
}

// firstUncased begins the scripts of East Asia, which put no blank between words.
const firstUncased = 0x2e80

// nameTokens splits a name like rawTokens, and between letters of another script and Latin letters or digits: "인버터A".
func nameTokens(name string) []token {
	var out []token
	for _, t := range rawTokens(name) {
		start, last := 0, rune(0)
		for i, r := range t.text {
			if i > start && (r >= firstUncased) != (last >= firstUncased) {
				out = append(out, token{t.text[start:i], t.at + start})
				start = i
			}
			last = r
		}
		out = append(out, token{t.text[start:], t.at + start})
	}
	return out
}

// withoutStem leaves out the column whose name is the beginning of all other names.
func withoutStem(columns []*column) []*column {
	shortest := slices.MinFunc(columns, func(a, b *column) int { return cmp.Compare(len(a.name), len(b.name)) })
	var out []*column
	for _, col := range columns {
		if col == shortest {
			continue
		}
		if !strings.HasPrefix(col.name, shortest.name) {
			return columns
		}
		out = append(out, col)
	}
	return out
}

// ownNames returns the names of units in the names of columns of one family, or
// nil if the names do not distinguish the columns.
func ownNames(columns []*column) []string {
	tokens := make([][]token, len(columns))
	for i, col := range columns {
		tokens[i] = nameTokens(col.name)
	}
	aligned := true // all names have as many words
	for _, ts := range tokens {
		aligned = aligned && len(ts) == len(tokens[0])
	}
	shared := func(text string, k int) bool {
		for _, ts := range tokens {
			if aligned {
				if ts[k].text != text {
					return false
				}
				continue
			}
			if !slices.ContainsFunc(ts, func(t token) bool { return t.text == text }) {
				return false
			}
		}
		return true
	}
	names := make([]string, len(columns))
	seen := map[string]bool{}
	for i, col := range columns {
		from, to := -1, -1
		for k, t := range tokens[i] {
			if shared(t.text, k) {
				continue
			}
			if from < 0 {
				from = k
			}
			to = k
		}
		if from < 0 {
			return nil
		}
		own := col.name[tokens[i][from].at : tokens[i][to].at+len(tokens[i][to].text)]
		switch rest := residue(col.name); {
		case len([]rune(own)) <= 3 && from > 0:
			// A number or letter is not a name: include the word before it, or two words.
			first := from - 1
			if first > 0 && statistics[fold(tokens[i][first].text)] { // "Pac_Avg(1)"
				first--
			} else if first > 0 && words().pairs[fold(tokens[i][first-1].text)+fold(tokens[i][first].text)]&(cDevice|cSite) != 0 {
				first--
			}
			own = col.name[tokens[i][first].at : tokens[i][to].at+len(tokens[i][to].text)]
			if strings.Count(own, "(") > strings.Count(own, ")") && strings.HasPrefix(col.name[tokens[i][to].at+len(tokens[i][to].text):], ")") {
				own += ")"
			}
		case strings.Contains(rest, own) && len(rest) > len(own):
			own = rest
		case len([]rune(own)) <= 3 && to+1 < len(tokens[i]) && !codeName.MatchString(own):
			own = col.name[tokens[i][from].at:]
		}
		if seen[own] {
			return nil
		}
		seen[own] = true
		names[i] = own
	}
	return names
}

// residue returns a column's name without the words for the measured quantity:
// "INV-01", "Inverter 2", "P7".
func residue(name string) string {
	words := rawTokens(name)
	from, to := -1, 0
	for i, w := range words {
		c := conceptsOf(w.text)
		measured := c&^(cDevice|cCabinet|cSite|cSerial|cCount|cModule|cUnit|cTotal) != 0 && c&(cDevice|cSite) == 0
		if measured && !codeName.MatchString(w.text) && !(from >= 0 && len([]rune(w.text)) == 1 && i == len(words)-1) {
			continue
		}
		if from < 0 {
			from = w.at
		}
		to = w.at + len(w.text)
	}
	if from < 0 {
		return ""
	}
	return name[from:to]
}

var codeName = regexp.MustCompile(`^[A-Za-z]{1,4}\d+$`)
