package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// tableResult is what was read from one table of a file, or from several with the same header.
type tableResult struct {
	content
	result *Result
	err    error
}

// readSeveral imports the sheets of a workbook, or the files of an archive. Tables with the same header that
// follow each other in time are read as one. Others are joined by the names of their units; units of the same
// name with different values at the same times are different units, named by their tables, unless one is a
// coarser version of the other. A table without production is left out, with its reason.
func readSeveral(contents []content, o Options) (*Result, error) {
	single := o
	single.Asset = "" // unnamed units are named below
	var tables []tableResult
	var left []tableResult
	for _, c := range contents {
		res, err := readContent(c, single)
		var refused *Refusal
		switch {
		case err == nil:
			tables = append(tables, tableResult{c, res, nil})
		case errors.As(err, &refused):
			left = append(left, tableResult{c, nil, refused})
		default:
			return nil, err
		}
	}
	if len(tables) == 0 {
		return nil, mostInformative(left)
	}
	rep := &report{}
	if how := contents[0].how; len(how) > 0 {
		rep.decide("file", "packed with %s", strings.Join(how, ", then "))
	}
	tables, others := dropOtherTables(tables, rep)
	tables = joinSequences(tables, single, rep)
	for _, t := range left {
		for _, note := range t.notes {
			rep.decide("file", "%s", note)
		}
		var r *Refusal
		if errors.As(t.err, &r) && (r.Kind == ConflictingRows || r.Kind == InconsistentColumns || r.Kind == TooLarge) {
			rep.warn("file", "%s is left out: %s", t.name, r.Error())
		} else {
			rep.decide("file", "%s is left out: %s", t.name, t.err.Error())
		}
	}
	out := joinResults(tables, o, rep)
	for _, t := range others {
		out.Rows.Read += t.result.Rows.Read
		for why, n := range t.result.Rows.Skipped {
			out.Rows.Skipped[why] += n
		}
		out.Rows.Skipped[SkipLeftOut] += t.result.Rows.Used
	}
	return out, nil
}

// mostInformative returns the refusal of the table for which the import got furthest.
func mostInformative(left []tableResult) error {
	order := []Kind{ConflictingRows, InconsistentColumns, TooLarge, NoPowerOrEnergy, NoDataRows, NoTimestampColumn, NoHeader, NotCSV, NotText}
	best, at := left[0], len(order)
	for _, t := range left {
		var r *Refusal
		if errors.As(t.err, &r) {
			if i := slices.Index(order, r.Kind); i >= 0 && i < at {
				best, at = t, i
			}
		}
	}
	var refused *Refusal
	if !errors.As(best.err, &refused) {
		return best.err
	}
	r := *refused
	if best.name != "" {
		r.Message = best.name + ": " + r.Error()
		r.Line = 0
	}
	return &r
}

// joinSequences reads the tables with the same header again as one text, in the order of their times, so that
// all of them are used to interpret each, if no two of them overlap.
func joinSequences(tables []tableResult, o Options, rep *report) []tableResult {
	byShape := map[string][]tableResult{}
	var shapes []string
	for _, t := range tables {
		key := fmt.Sprint(t.result.Shape, t.dialect.delim)
		if byShape[key] == nil {
			shapes = append(shapes, key)
		}
		byShape[key] = append(byShape[key], t)
	}
	var out []tableResult
	for _, key := range shapes {
		group := byShape[key]
		joined, ok := joinSequence(group, o)
		if !ok {
			out = append(out, group...)
			continue
		}
		rep.decide("file", "%s with the same header are read as one, from %s to %s", display.CountOf(len(group), "table", "tables"), group[0].name, group[len(group)-1].name)
		out = append(out, joined)
	}
	return out
}

func joinSequence(group []tableResult, o Options) (tableResult, bool) {
	if len(group) < 2 {
		return tableResult{}, false
	}
	slices.SortStableFunc(group, func(a, b tableResult) int { return a.result.First.Compare(b.result.First) })
	for i := 1; i < len(group); i++ {
		if group[i].result.First.Before(group[i-1].result.Last) || group[i].result.First.IsZero() {
			return tableResult{}, false
		}
	}
	whole := group[0].content
	whole.how = nil
	whole.text = slices.Clone(whole.text)
	for _, t := range group[1:] {
		rows, ok := rowsOf(t.content)
		if !ok {
			return tableResult{}, false
		}
		if n := len(whole.text); n > 0 && whole.text[n-1] != '\n' {
			whole.text = append(whole.text, '\n')
		}
		whole.text = append(whole.text, rows...)
		whole.notes = append(whole.notes, t.notes...)
	}
	res, err := readContent(whole, o)
	if err != nil {
		return tableResult{}, false
	}
	return tableResult{whole, res, nil}, true
}

// rowsOf returns the text of a table below its header.
func rowsOf(c content) ([]byte, bool) {
	text, d := c.text, c.dialect
	if d.delim == 0 {
		if _, quoted := unquoteLines(text); quoted {
			return nil, false
		}
		if d = sniff(text); d.delim == 0 {
			d.delim = ','
		}
	}
	if _, turned := transposed(text, d); turned {
		return nil, false
	}
	h, err := locate(takeSample(text, d))
	if err != nil {
		return nil, false
	}
	return text[h.sample[h.first].offset:], true
}

// unitFrame is a unit of the whole file.
type unitFrame struct {
	Asset
	table    string
	interval time.Duration
}

// joinResults makes one result of those of several tables.
func joinResults(tables []tableResult, o Options, rep *report) *Result {
	slices.SortStableFunc(tables, func(a, b tableResult) int {
		return cmp.Compare(b.result.Rows.Stored, a.result.Rows.Stored) // single values of the result, such as the zone, are those of the largest
	})
	most := tables[0].result
	out := &Result{
		ValueKind: most.ValueKind, Interval: most.Interval, Columns: most.Columns, Mapping: most.Mapping, Shape: most.Shape, RunnersUp: most.RunnersUp,
		Rows: Rows{Skipped: map[string]int{}},
	}
	var units []unitFrame
	var sources []string
	for _, t := range tables {
		r := t.result
		out.Manufacturer = cmp.Or(out.Manufacturer, r.Manufacturer)
		if !slices.Contains(sources, r.UnitSource) {
			sources = append(sources, r.UnitSource)
		}
		out.Rows.Read += r.Rows.Read
		for why, n := range r.Rows.Skipped {
			out.Rows.Skipped[why] += n
		}
		used := false
		for _, a := range r.Assets {
			var taken bool
			units, taken = addUnit(units, unitFrame{a, t.name, r.Interval}, rep)
			used = used || taken
		}
		if used {
			out.Rows.Used += r.Rows.Used
		} else {
			out.Rows.Skipped[SkipLeftOut] += r.Rows.Used
		}
		prefix := ""
		if len(tables) > 1 {
			prefix = t.name + ": "
		}
		for _, d := range r.Decisions {
			rep.decide(d.Topic, "%s%s", prefix, d.Text)
		}
		for _, w := range r.Warnings {
			rep.warn(w.Topic, "%s%s", prefix, w.Text)
		}
	}
	for i := range units {
		if units[i].Name == "" && len(units) == 1 {
			units[i].Name = o.Asset
		} else if units[i].Name == "" {
			units[i].Name = tableUnit(units[i].table)
		}
		out.Assets = append(out.Assets, units[i].Asset)
		out.count(units[i].Asset)
	}
	out.UnitSource = strings.Join(sources, "|")
	out.Decisions, out.Warnings = rep.decisions, rep.warnings
	return out
}

// count adds a unit to the counts and widens First and Last.
func (res *Result) count(a Asset) {
	res.Rows.Stored += a.Times.Stored
	res.Rows.Missing += a.Times.Missing
	power := a.Frame.Values(series.PowerKW)
	for i, v := range power {
		if math.IsNaN(v) {
			continue
		}
		at := time.Unix(a.Frame.Times[i], 0).UTC()
		if res.First.IsZero() || at.Before(res.First) {
			res.First = at
		}
		if at.After(res.Last) {
			res.Last = at
		}
	}
}

// addUnit adds a unit of a table to those of the tables before. It reports whether the unit was taken.
func addUnit(units []unitFrame, add unitFrame, rep *report) ([]unitFrame, bool) {
	same := func(u unitFrame) bool { return u.Name == add.Name }
	i := slices.IndexFunc(units, same)
	if i < 0 {
		return append(units, add), true
	}
	was := &units[i]
	common, different, overlap := compareFrames(was.Frame, add.Frame)
	switch {
	case !overlap || common > 0 && different*100 <= common:
		missing := was.Times.Missing + add.Times.Missing
		was.Frame = series.Merge(was.Frame, add.Frame)
		was.Times = timesOf(was.Frame, was.Times.Underived+add.Times.Underived, missing)
		return units, true
	case was.interval > 0 && add.interval >= 2*was.interval:
		rep.decide("file", "%s is left out: %s has the same period in shorter steps", add.table, was.table)
		return units, false
	case add.interval > 0 && was.interval >= 2*add.interval:
		rep.decide("file", "%s is left out: %s has the same period in shorter steps", was.table, add.table)
		units[i] = add
		return units, true
	}
	if add.Name == "" {
		units[i].Name, add.Name = tableUnit(was.table), tableUnit(add.table)
	} else {
		add.Name = clean(fmt.Sprintf("%s (%s)", add.Name, tableUnit(add.table)))
	}
	rep.decide("file", "%s and %s have different values at the same times, so they are different units", was.table, add.table)
	return append(units, add), true
}

// timesOf counts the times of a frame of which some have readings of a counter only and some were missing.
func timesOf(f series.Frame, underived, missing int) Times {
	n := Times{Underived: underived, Missing: missing}
	for _, v := range f.Values(series.PowerKW) {
		if !math.IsNaN(v) {
			n.Stored++
		}
	}
	return n
}

// tableUnit returns the name of a unit that only its table names: that of the sheet, or of the file without its ending.
func tableUnit(table string) string {
	file, sheet, ok := strings.Cut(table, ", ")
	if ok {
		return clean(sheet)
	}
	if ext := path.Ext(file); len(ext) > 1 && len(ext) <= 5 {
		file = strings.TrimSuffix(file, ext)
	}
	return clean(file)
}

// Contradict reports whether two frames have different power at more than one in a
// hundred of the times that both have, as those of different units do.
func Contradict(a, b series.Frame) bool {
	common, different, _ := compareFrames(a, b)
	return different*100 > common
}

// compareFrames counts the times at which two frames have a power, and those at which it differs. overlap
// reports whether their periods overlap.
func compareFrames(a, b series.Frame) (common, different int, overlap bool) {
	if a.Len() == 0 || b.Len() == 0 {
		return 0, 0, false
	}
	overlap = a.Times[0] < b.Times[b.Len()-1] && b.Times[0] < a.Times[a.Len()-1]
	pa, pb := a.Values(series.PowerKW), b.Values(series.PowerKW)
	if pa == nil || pb == nil {
		return 0, 0, overlap
	}
	for i, j := 0, 0; i < a.Len() && j < b.Len(); {
		switch {
		case a.Times[i] < b.Times[j]:
			i++
		case a.Times[i] > b.Times[j]:
			j++
		default:
			if !math.IsNaN(pa[i]) && !math.IsNaN(pb[j]) {
				common++
				if math.Abs(pa[i]-pb[j]) > 1e-6+1e-3*math.Abs(pa[i]) {
					different++
				}
			}
			i, j = i+1, j+1
		}
	}
	return common, different, overlap
}
