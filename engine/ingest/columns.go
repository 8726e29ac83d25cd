package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Column is the inferred role of one column of a file.
type Column struct {
	Number int    `json:"number"` // from 1; of the values, where a row names its quantity
	Title  string `json:"title,omitempty"`
	Role   string `json:"role"` // a role of a [Mapping], "feed_in" or "ignored"
	Unit   string `json:"unit,omitempty"`
	Asset  string `json:"asset,omitempty"` // unit that it belongs to; empty: all of the file
	Reason string `json:"reason"`          // reason of the role, or for ignoring the column
}

// Roles of a [Column] that no mapping states.
const (
	RoleIgnored   = "ignored"
	RoleFeedIn    = "feed_in"
	RoleHour      = "hour"         // value of an hour or a quarter, named by the title
	RoleOffset    = "utc_offset"   // of the time
	RoleUnitNames = "unit_names"   // unit of measure of the row's value
	RoleState     = "state"        // operating state
	RoleDatePart  = "part_of_time" // year, month, day, hour or minute
)

// shape identifies the header of a file: files with the same titles have the same.
func (h *head) shape() string {
	hash := sha256.New()
	for _, s := range h.stack {
		for _, c := range s.cells {
			fmt.Fprintf(hash, "%q,", c)
		}
		hash.Write([]byte{'\n'})
	}
	return hex.EncodeToString(hash.Sum(nil)[:12])
}

// fixesProduction reports whether a mapping names quantities of a long file as production.
func (p *plan) fixesProduction() bool {
	for _, m := range p.fixed {
		if mainRole(m.role) {
			return true
		}
	}
	return false
}

// mappable returns the title by which a mapping names column c.
func (p *plan) mappable(c int) string {
	if titles := p.head.columnTitles(c); len(titles) > 0 {
		for _, title := range []string{titles[len(titles)-1], p.title(c)} {
			if found := p.head.findColumn(title); title != "" && len(found) == 1 && found[0] == c {
				return title
			}
		}
	}
	return "#" + strconv.Itoa(c+1)
}

// withColumns adds the roles of the columns to a refusal, so that the user can write a mapping.
func (p *plan) withColumns(err error) error {
	var r *Refusal
	if errors.As(err, &r) && r.Columns == nil {
		r.Columns = p.reportColumns(nil, nil)
	}
	return err
}

// reportColumns returns the role of each column. assets are those of the result.
func (p *plan) reportColumns(t *table, assets []*assetData) []Column {
	var out []Column
	for c := range p.cells {
		if r, ok := p.structural(c); ok {
			out = append(out, r)
			if r.Role == MapQuantity && t != nil {
				out = append(out, t.reportMeasures(assets)...)
			}
			continue
		}
		out = append(out, p.reportColumn(c, assets))
	}
	return out
}

// structural reports a column of the time or a key.
func (p *plan) structural(c int) (Column, bool) {
	out := Column{Number: c + 1, Title: clean(p.mappable(c))}
	byName := "its name and its values"
	if p.given {
		byName = "without it, rows of the same time contradict each other"
	}
	if p.mapped {
		byName = "the mapping says so"
	}
	switch {
	case p.time.form == formParts && slices.Contains(p.time.parts[:], c), c == p.time.minute && p.time.form == formParts, c == p.time.hour && c != p.time.column:
		out.Role, out.Reason = RoleDatePart, "it is a part of the time"
	case c == p.time.column && p.time.form != formParts:
		out.Role, out.Reason = MapTime, p.timeWords()
	case c == p.time.clock:
		out.Role, out.Reason = MapClock, "it is the time of day of the date"
	case c == p.time.offset:
		out.Role, out.Reason = RoleOffset, "its cells are offsets from UTC"
	case c == p.keys.asset || c == p.keys.second:
		out.Role, out.Reason = MapAsset, byName
	case c == p.keys.measure:
		out.Role, out.Reason = MapQuantity, "its cells name what a row's value is"
	case c == p.keys.unit:
		out.Role, out.Reason = RoleUnitNames, "its cells are units of measure"
	case p.keys.measure >= 0 && c == p.valueAt():
		out.Role, out.Reason = MapValue, "it holds the values of the quantities"
	case slices.ContainsFunc(p.hours, func(h *column) bool { return h.index == c }):
		out.Role, out.Reason = RoleHour, "its title is a time of day"
	default:
		return out, false
	}
	return out, true
}

// reportColumn returns the role of a column of measurements.
func (p *plan) reportColumn(c int, assets []*assetData) Column {
	out := Column{Number: c + 1, Title: clean(p.mappable(c)), Role: RoleIgnored}
	i := slices.IndexFunc(p.described, func(col *column) bool { return col.index == c })
	if i < 0 {
		out.Reason = cmp.Or(p.ignored[c], p.whyIgnored(c))
		return out
	}
	col := p.described[i]
	out.Unit, out.Asset = col.shownUnit(), col.device
	out.Role, out.Reason = col.use(assets)
	if out.Role == RoleIgnored {
		out.Reason = cmp.Or(p.ignored[c], out.Reason, p.whyIgnored(c))
	}
	return out
}

// reportMeasures returns the roles of the quantities of a long file.
func (t *table) reportMeasures(assets []*assetData) []Column {
	var out []Column
	for name, col := range t.measures {
		r := Column{Number: col.index + 1, Title: clean(name), Unit: col.shownUnit()}
		if r.Role, r.Reason = col.use(assets); r.Role == RoleIgnored && r.Reason == "" {
			h := parseHeader(name)
			r.Reason = reasonOf(ruleOf(h))
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Column) int { return cmp.Compare(a.Title, b.Title) })
	const most = 200
	return out[:min(len(out), most)]
}

func (c *column) shownUnit() string {
	switch {
	case len(c.units) > 0:
		return strings.Join(c.units, "|")
	case c.unit.dim != dimNone:
		return c.unit.name
	}
	return c.inferred
}

// use returns the role of a column in the frames of the assets.
func (c *column) use(assets []*assetData) (as, reason string) {
	because := func(why string) string {
		if c.fixed {
			return "the mapping says so"
		}
		return why
	}
	for _, a := range assets {
		if a.main != c {
			continue
		}
		as = map[string]string{KindPower: MapPower, KindIntervalEnergy: MapEnergy, KindCounter: MapCounter, KindDailyCounter: MapDayCounter}[a.kind]
		if c.means.role == roleFeedIn {
			return RoleFeedIn, "no column holds production; the energy fed into the grid is taken for it"
		}
		if c.parts {
			return as, "it is the sum of the other columns of power of its unit"
		}
		return as, because("power is derived from it: " + reasonOf(c.rule()))
	}
	for _, a := range assets {
		switch kept := a.uses[c]; kept {
		case "":
		case MapEnergy, MapCounter, MapDayCounter:
			return kept, because("it is kept in addition to the power: " + reasonOf(c.rule()))
		default:
			return kept, because(reasonOf(c.rule()))
		}
	}
	switch {
	case c.means.role == roleUnknown && len(assets) > 0:
		return RoleIgnored, "its name is unknown, and its values do not show that it is production"
	case len(assets) == 0 && c.means.role == roleQuantity:
		return quantityRole(c.means.quantity), because(reasonOf(c.rule()))
	case len(assets) == 0 && mainRole(c.means.role):
		return map[role]string{rolePower: MapPower, roleEnergy: MapEnergy, roleCounter: MapCounter, roleDaily: MapDayCounter}[c.means.role], because(reasonOf(c.rule()))
	case c.count == 0 && len(assets) > 0 && c.means.role != roleNone:
		return RoleIgnored, "it has no value that can be used"
	case mainRole(c.means.role) || c.means.role == roleFeedIn:
		return RoleIgnored, "another column of production is used: " + reasonOf(c.rule())
	case c.means.role == roleQuantity || c.means.role == roleState:
		return RoleIgnored, "another column of the same quantity is used"
	case c.means.role == roleUnknown:
		return RoleIgnored, "its name is unknown, and its values do not show that it is production"
	}
	return RoleIgnored, ""
}

// rule returns the rule that gave the column its meaning.
func (c *column) rule() string {
	h := parseHeader(c.title)
	if h.unit.dim == dimNone {
		h.unit = c.unit
	}
	if name := ruleOf(h); name != "" {
		return name
	}
	if c.means.role == roleUnknown || mainRole(c.means.role) {
		return "values"
	}
	return ""
}

// ruleOf returns the rule that applies to a header, "" if none does.
func ruleOf(h header) string {
	if len(h.tokens) <= 3 && h.dim(dimNone, dimPower, dimEnergy, dimTemperature) {
		letters := strings.Join(h.tokens, "")
		if _, ok := codes[strings.TrimRight(letters, "0123456789")]; ok && len(letters) <= 5 {
			return "code"
		}
	}
	for _, r := range rules {
		if r.when(h) {
			return r.why
		}
	}
	return ""
}

// reasonOf describes a rule.
func reasonOf(rule string) string {
	switch rule {
	case "":
		return "neither its name nor its unit is known"
	case "values":
		return "its values look like production"
	case "code":
		return "its name is a usual code of loggers"
	}
	return "its name or unit says " + rule
}

// whyIgnored returns the reason why a column is not used, by its name.
func (p *plan) whyIgnored(c int) string {
	switch h := parseHeader(p.title(c)); {
	case p.readsAsTime(c):
		return "it holds other times"
	case p.share(c, func(string) bool { return true }) == 0:
		return "it is empty"
	case ruleOf(h) != "":
		return reasonOf(ruleOf(h)) + ", which is not stored"
	case p.share(c, isNumber) < 0.5:
		return "it holds text"
	}
	return "its name is unknown, and its values do not look like measurements"
}

// suggest returns the mapping that reads the file in the same way.
func (p *plan) suggest(columns []Column) Mapping {
	var m Mapping
	units := map[string]bool{}
	named := map[string]int{}
	for _, c := range columns {
		named[c.Role+"["+c.Asset]++
	}
	for _, c := range columns {
		_, measured := quantityOf(c.Role)
		switch {
		case len(p.hours) > 0 && c.Role != MapTime:
			continue
		case productionRoles[c.Role] != roleNone:
			units[c.Unit] = true
			if named[c.Role+"["+c.Asset] > 1 && p.keys.measure < 0 {
				continue // two columns of one unit, of which the file has others without values
			}
		case measured && named[c.Role+"["+c.Asset] > 1, !measured && !slices.Contains(mappingColumns, c.Role):
			continue
		}
		if c.Role == MapAsset && p.keys.measure >= 0 && c.Number-1 == p.keys.second {
			continue
		}
		m.Entries = append(m.Entries, MappingEntry{Role: c.Role, Asset: c.Asset, Value: c.Title})
	}
	if len(units) == 1 {
		for name := range units {
			if u, ok := parseUnit(name); ok && (u.dim == dimPower || u.dim == dimEnergy) {
				m.Entries = append(m.Entries, MappingEntry{Role: MapUnit, Value: name})
			}
		}
	}
	if p.shortNames {
		m.Entries = append(m.Entries, MappingEntry{Role: MapNames, Value: shortNames})
	}
	if p.zone != nil && p.zone != time.UTC {
		if _, err := time.LoadLocation(p.zone.String()); err == nil && p.zone.String() != "Local" {
			m.Entries = append(m.Entries, MappingEntry{Role: MapZone, Value: p.zone.String()})
		}
	}
	return m
}
