package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Mapped is the kind of refusal of a file that does not match its mapping.
const Mapped Kind = "mapping"

// locateMapped finds the header of a file with a mapping: as without one, unless the columns that the mapping names are not in it.
func locateMapped(sample []sampled, m Mapping) (head, error) {
	h, err := locate(sample)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Kind == NoHeader && m.value(MapTime) != "" {
		h.stack = []sampled{{cells: make([]string, len(sample[h.first].cells)), line: sample[h.first].line, offset: sample[h.first].offset}}
		err = nil
	}
	if err == nil && h.hasColumns(m) {
		return h, nil
	}
	for i, s := range sample {
		own := head{sample: sample, first: i + 1, stack: []sampled{s}, preamble: sample[:i]}
		if m.value(MapTime) == "" || s.filled() == 0 || !own.hasColumns(m) {
			continue
		}
		for own.first < len(sample) && sample[own.first].filled() == 0 {
			own.first++
		}
		if own.first == len(sample) {
			break
		}
		return own, nil
	}
	if err != nil {
		return h, err
	}
	return h, h.columnError(m)
}

// titleIndex holds the titles by which a mapping may name the columns of a header:
// the lines of the header, and all of them joined.
type titleIndex struct {
	first, lines int // of the head that was indexed
	width        int
	exact        titleMaps
	fold         titleMaps
}

// titleMaps lead from a title to its columns.
type titleMaps struct{ whole, line map[string][]int }

func (m *titleMaps) add(c int, titles []string, form func(string) string) {
	if m.whole == nil {
		m.whole, m.line = map[string][]int{}, map[string][]int{}
	}
	last := len(titles) - 1
	for i, title := range titles {
		title = form(title)
		if at := m.line[title]; len(at) == 0 || at[len(at)-1] != c {
			m.line[title] = append(at, c)
		}
		if i == last {
			m.whole[title] = append(m.whole[title], c)
		}
	}
}

// columnTitles returns the titles by which a mapping may name a column.
func (h *head) columnTitles(c int) []string {
	var parts []string
	for _, s := range h.stack {
		if text := strings.TrimSpace(s.cell(c)); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) > 1 {
		return append(parts, strings.Join(parts, " "))
	}
	return parts
}

// indexed returns the titles of the header, which are read once.
func (h *head) indexed() *titleIndex {
	if x := h.index; x != nil && x.first == h.first && x.lines == len(h.stack) {
		return x
	}
	x := &titleIndex{first: h.first, lines: len(h.stack), width: len(h.sample[min(h.first, len(h.sample)-1)].cells)}
	for _, s := range h.stack {
		x.width = max(x.width, len(s.cells))
	}
	for c := range x.width {
		titles := h.columnTitles(c)
		x.exact.add(c, titles, func(s string) string { return s })
		x.fold.add(c, titles, fold)
	}
	h.index = x
	return x
}

// findColumn returns the columns that a mapping's value names, by its whole title, a line of it, or its number.
func (h *head) findColumn(name string) []int {
	x := h.indexed()
	for _, m := range []struct {
		titleMaps
		name string
	}{{x.exact, name}, {x.fold, fold(name)}} {
		if whole := m.whole[m.name]; len(whole) == 1 {
			return whole
		}
		if found := m.line[m.name]; len(found) > 0 {
			return found
		}
	}
	var n int
	if _, err := fmt.Sscanf(name, "#%d", &n); err == nil && fmt.Sprintf("#%d", n) == name && n >= 1 && n <= x.width {
		return []int{n - 1}
	}
	return nil
}

// columns returns the entries of a mapping that name columns. With a column of quantities, the others name quantities.
func (m Mapping) columns() []MappingEntry {
	long := m.value(MapQuantity) != ""
	return slices.DeleteFunc(slices.Clone(m.Entries), func(e MappingEntry) bool {
		return slices.Contains(mappingSettings, e.Role) || long && !slices.Contains([]string{MapTime, MapClock, MapAsset, MapQuantity, MapValue, MapIgnore}, e.Role)
	})
}

func (h *head) hasColumns(m Mapping) bool { return h.columnError(m) == nil }

// columnError refuses a file that does not have each column of a mapping once.
func (h *head) columnError(m Mapping) error {
	line := 0
	if len(h.stack) > 0 {
		line = h.stack[len(h.stack)-1].line
	}
	used := map[int]string{}
	for _, e := range m.columns() {
		found := h.findColumn(e.Value)
		switch {
		case len(found) == 0:
			return refuse(Mapped, line, "the mapping names the column %q for %s, which the file does not have", e.Value, e.Role)
		case len(found) > 1:
			return refuse(Mapped, line, "columns %d and %d are both called %q; the mapping has to name one by its number, as in %s=#%d", found[0]+1, found[1]+1, e.Value, e.Role, found[0]+1)
		case used[found[0]] != "":
			return refuse(Mapped, line, "the mapping takes column %q for %s and for %s", e.Value, used[found[0]], e.Role)
		}
		used[found[0]] = e.Role
	}
	return nil
}

// columnOf returns the column of an entry, which the file has.
func (h *head) columnOf(value string) int {
	if value == "" {
		return -1
	}
	return h.findColumn(value)[0]
}

// applyTime sets the columns of the time that the mapping names.
func (p *plan) applyTime(m Mapping) error {
	if value := m.value(MapTime); value != "" {
		c := p.head.columnOf(value)
		form, most := formNone, 0
		counts := map[timeForm]int{}
		for _, s := range p.head.sample[p.head.first:] {
			f := formOf(s.cell(c))
			if counts[f]++; f != formNone && counts[f] > most {
				form, most = f, counts[f]
			}
		}
		if form == formNone {
			return refuse(Mapped, p.head.sample[p.head.first].line, "the mapping says that column %q is the time, but its cells, such as %q, are no times", value, p.head.sample[p.head.first].cell(c))
		}
		p.head.column, p.head.form = c, form
		p.time.column, p.time.form = c, form
	}
	if m.value(MapClock) != "" {
		p.time.clock = p.head.columnOf(m.value(MapClock))
	}
	return nil
}

// applySettings sets the zone and the order of dates that the mapping states.
func (p *plan) applySettings(m Mapping) {
	if name := m.value(MapZone); name != "" {
		if zone, err := time.LoadLocation(name); err == nil {
			p.zone, p.zoneFrom = zone, "zone="+name+" of the mapping"
		}
	}
	p.shortNames = m.value(MapNames) == shortNames
	switch m.value(MapDates) {
	case "dmy":
		p.order, p.ordered = dayFirst, true
	case "mdy":
		p.order, p.ordered = monthFirst, true
	}
}

// applyColumns gives the columns of the mapping their roles.
func (p *plan) applyColumns(m Mapping) {
	p.mapped = true
	long := m.value(MapQuantity) != ""
	for _, e := range m.Entries {
		means, ok := meaningOfEntry(e)
		if !ok && e.Role != MapIgnore && e.Role != MapValue {
			continue
		}
		if long && ok {
			if p.fixed == nil {
				p.fixed = map[string]meaning{}
			}
			p.fixed[e.Value] = means
			continue
		}
		c := p.head.columnOf(e.Value)
		i := slices.IndexFunc(p.columns, func(col *column) bool { return col.index == c })
		if e.Role == MapIgnore {
			if i >= 0 {
				p.columns = slices.Delete(p.columns, i, i+1)
			}
			p.ignore(c, "the mapping says so")
			continue
		}
		if i < 0 {
			h := parseHeader(p.title(c))
			p.columns = append(p.columns, &column{index: c, title: p.title(c), name: h.name, unit: h.unit, style: plainStyle})
			i = len(p.columns) - 1
		}
		col := p.columns[i]
		col.means, col.device, col.fixed = means, e.Asset, true
		if e.Role == MapValue {
			col.means = meaning{role: roleValue}
		}
		if !col.fitsUnit() {
			col.unit = unit{}
		}
	}
	if !m.produces() || long {
		return
	}
	p.columns = slices.DeleteFunc(p.columns, func(col *column) bool {
		drop := !col.fixed && (mainRole(col.means.role) || col.means.role == roleFeedIn || col.means.role == roleUnknown || col.means.role == roleValue)
		if drop {
			p.ignore(col.index, "the mapping names other columns of production")
		}
		return drop
	})
}

// applyUnit sets the unit of production that the mapping states.
func (p *plan) applyUnit(m Mapping) {
	u, ok := parseUnit(m.value(MapUnit))
	if !ok {
		return
	}
	p.mappedUnit = u
	for _, col := range p.columns {
		col.setUnit(u)
	}
}

// setUnit sets the unit of a column of production if it is of the dimension of its role.
func (c *column) setUnit(u unit) {
	if (mainRole(c.means.role) || c.means.role == roleFeedIn || c.means.role == roleUnknown) && (c.means.role == rolePower) == (u.dim == dimPower) {
		c.unit, c.means.bare = u, false
	}
}

// fitsUnit reports whether the unit of a mapped column's name is one of its role.
func (c *column) fitsUnit() bool {
	switch {
	case c.unit.dim == dimNone || c.means.role == roleQuantity:
		return true
	case c.means.role == rolePower:
		return c.unit.dim == dimPower
	}
	return c.unit.dim == dimEnergy
}

// meaningOfEntry returns the meaning of an entry that names a measurement.
func meaningOfEntry(e MappingEntry) (meaning, bool) {
	const first = 100 // before all that are inferred
	if r := productionRoles[e.Role]; r != roleNone {
		return meaning{role: r, rank: first}, true
	}
	if q, ok := quantityOf(e.Role); ok {
		return meaning{role: roleQuantity, quantity: q, rank: first}, true
	}
	return meaning{}, false
}

// keysOf returns the key columns that a mapping names.
func (p *plan) keysOf(m Mapping) keys {
	k := noKeys
	for _, e := range m.Entries {
		switch {
		case e.Role == MapAsset && k.asset < 0:
			k.asset = p.head.columnOf(e.Value)
		case e.Role == MapAsset:
			k.second = p.head.columnOf(e.Value)
		case e.Role == MapQuantity:
			k.measure = p.head.columnOf(e.Value)
		}
	}
	if k.measure >= 0 {
		for c := range p.cells {
			if c != p.time.column && p.share(c, isUnit) > 0.8 {
				k.unit = c
			}
		}
	}
	return k
}
