package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/internal/display"
)

// Read imports one file. The error is a *[Refusal] if the file itself cannot be
// imported, else the error of r. Read needs three to six times the memory of the
// file; [Options.MaxBytes] bounds it.
func Read(r io.Reader, o Options) (*Result, error) {
	o.ZoneFrom = cmp.Or(o.ZoneFrom, "the given zone")
	if o.Zone == nil {
		o.Zone, o.ZoneFrom = time.UTC, "as no zone is given"
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	raw, err := readAll(r, o.MaxBytes)
	if err != nil {
		return nil, err
	}
	contents, err := open(raw, o.MaxBytes)
	if err != nil {
		return nil, err
	}
	if len(contents) == 1 {
		return readContent(contents[0], o)
	}
	return readSeveral(contents, o)
}

// readContent imports one table.
func readContent(c content, o Options) (*Result, error) {
	if c.refused != nil {
		return nil, c.refused
	}
	encoding := c.encoding
	text := plainDigits(c.text)
	if err := bounded(text); err != nil {
		return nil, err
	}
	quoted := false
	d := c.dialect
	if d.delim == 0 {
		text, quoted = unquoteLines(text)
		d = sniff(text)
	}
	if d.delim == 0 {
		d.delim = ','
	}
	text, turned := transposed(text, d)
	sample := takeSample(text, d)
	mapping, from := o.Mapping, "given"
	if len(mapping.Entries) == 0 && o.Profile != nil {
		if h, err := locate(sample); err == nil {
			if profile, ok := o.Profile(h.shape()); ok && h.hasColumns(profile) {
				mapping, from = profile, "kept for files of this shape"
			}
		}
	}
	h, err := locateMapped(sample, mapping)
	if err != nil {
		return nil, err
	}
	headEnd := h.sample[min(h.first+1, len(h.sample)-1)].end
	maker, mark := makerOf(string(text[:min(headEnd, headBytes)]))
	if quoted {
		encoding += ", each line in quotes as a whole"
	}
	if turned {
		encoding += "; times are in columns, so rows and columns are swapped"
	}
	attempt := func(given *keys) (*plan, *Result, error) {
		p, err := makePlan(h, maker, given, mapping)
		if err != nil {
			return nil, nil, err
		}
		rep := &report{}
		c.report(rep)
		p.reportDecisions(encoding, d, mark, o, rep)
		if len(mapping.Entries) > 0 {
			rep.decide("mapping", "%s: %s", from, mapping)
		}
		t, err := p.fill(text, d)
		if err != nil {
			return p, nil, p.withColumns(err)
		}
		res, err := t.result(o, rep)
		if err != nil {
			return p, nil, p.withColumns(err)
		}
		res.Shape, res.Mapping, res.Applied = h.shape(), p.suggest(res.Columns), mapping
		res.DataLine = h.sample[h.first].line
		res.reportDigits(c.text)
		return p, res, nil
	}
	if c.long && !mapping.fixesKeys() && len(h.stack) > 0 {
		given := h.longKeys()
		_, res, err := attempt(&given)
		return res, err
	}
	p, res, err := attempt(nil)
	if p == nil || err == nil || !mayHaveOtherKeys(err) || mapping.fixesKeys() {
		return res, err
	}
	// Rows contradict each other: the columns that distinguish them have
	// unknown names.
	scan := p.scanKeys(text, d)
	byValues, ok := p.searchKeys(scan)
	if ok && byValues != p.keys {
		if _, res, again := attempt(&byValues); again == nil || !mayHaveOtherKeys(again) {
			return res, again
		}
	}
	if n, lines := scan.conflicts(scan.indexes(p.keys)...); n*100 > len(scan.times) {
		return nil, refuse(ConflictingRows, lines[1], "%d of %s contradict another row of the same unit and time, such as lines %d and %d; no column distinguishes the units", n, display.CountOf(len(scan.times), "row", "rows"), lines[0], lines[1])
	}
	return nil, err
}

// reportDigits reports the names of units of which the file has digits of another script.
func (res *Result) reportDigits(original []byte) {
	for _, a := range res.Assets {
		if strings.ContainsAny(a.Name, "0123456789") && !bytes.Contains(original, []byte(a.Name)) && bytes.Contains(plainDigits(original), []byte(a.Name)) {
			res.Decisions = append(res.Decisions, Decision{"assets", fmt.Sprintf("the unit %s has digits of another script in the file; names of units have the digits 0 to 9", a.Name)})
		}
	}
}

// mayHaveOtherKeys reports whether a reading failed in a way that other keys may avoid.
func mayHaveOtherKeys(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && (r.Kind == ConflictingRows || r.Kind == NoPowerOrEnergy || r.Kind == NoDataRows)
}

// readAll reads r up to a limit. Readers of memory and of objects know their
// size, which spares copies.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if sized, ok := r.(interface{ Size() int64 }); ok {
		buf.Grow(int(min(max(sized.Size(), 0), limit)) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	if n > limit {
		return nil, refuse(TooLarge, 0, "the file is larger than %d bytes", limit)
	}
	return buf.Bytes(), nil
}

// reportDecisions reports the decisions so far, and applies the caller's zone if the file
// names none.
func (p *plan) reportDecisions(encoding string, d dialect, mark string, o Options, rep *report) {
	rep.decide("encoding", "%s", encoding)
	rep.decide("delimiter", "%s: %s", delimiterNames[d.delim], d.why)
	from, to := p.head.stack[0].line, p.head.stack[len(p.head.stack)-1].line
	lines := fmt.Sprintf("line %d", from)
	if to > from {
		lines = fmt.Sprintf("lines %d to %d", from, to)
	}
	rep.decide("header", "%s, data from line %d", lines, p.head.sample[p.head.first].line)
	if p.maker != "" {
		rep.decide("manufacturer", "%s, by %q", p.maker, mark)
	}
	rep.decide("time", "%s", p.timeWords())
	p.reportLeft(rep)
	if p.zone == nil {
		p.zone = o.Zone
		rep.decide("zone", "times without an offset are in %s, %s", o.Zone, o.ZoneFrom)
	} else {
		rep.decide("zone", "times without an offset are in %s, named by %q", p.zone, p.zoneFrom)
	}
}

func (p *plan) timeWords() string {
	name := strings.TrimSpace(p.title(p.head.column))
	if name == "" {
		name = fmt.Sprintf("column %d", p.head.column+1)
	}
	how := map[timeForm]string{formCalendar: "calendar dates", formCompact: "digits without marks", formEpoch: "Unix time, UTC", formSerial: "a spreadsheet's day numbers", formParts: "parts in columns of their own"}
	words := fmt.Sprintf("%q, %s", name, how[p.time.form])
	switch {
	case p.time.clock >= 0:
		words += fmt.Sprintf(", with the time of day of %q", p.title(p.time.clock))
	case p.time.hour >= 0 && p.time.form != formParts:
		words += fmt.Sprintf(", with the hour of %q", p.title(p.time.hour))
	case p.time.slot.column >= 0:
		words += fmt.Sprintf(", with the part of the day of %q, %g seconds each", p.title(p.time.slot.column), p.time.slot.seconds)
	case len(p.hours) > 0:
		words += fmt.Sprintf(", with %s for the parts of the day", display.CountOf(len(p.hours), "column", "columns"))
	}
	return words
}

// result turns the table into frames.
func (t *table) result(o Options, rep *report) (*Result, error) {
	p := t.plan
	t.alignColumns()
	t.chooseOrder(p.zone, rep)
	t.assignUnknown(o.CapacityKW, rep)
	t.dropLoads(rep)
	if !slices.ContainsFunc(t.columns, func(c *column) bool { return mainRole(c.means.role) || c.means.role == roleFeedIn }) {
		if t.doubted != nil {
			return nil, t.noUnit()
		}
		if len(p.left) > 0 {
			return nil, refuse(NoPowerOrEnergy, p.head.stack[len(p.head.stack)-1].line, "no column holds measured power or energy of production: the name of %s says that it is %s",
				p.left[0].name, purposeText[p.left[0].what])
		}
		return nil, refuse(NoPowerOrEnergy, p.head.stack[len(p.head.stack)-1].line, "no column holds power or energy of production")
	}
	for _, c := range t.columns {
		if (c.means.role == roleEnergy || c.means.role == roleCounter) && c.withoutSign() {
			rep.decide("values", "the readings of %s are those of a signed register: after the highest number they continue at the lowest", c.label())
		}
		if mainRole(c.means.role) || c.means.role == roleFeedIn || c.means.role == roleQuantity {
			c.dropSentinels(o.CapacityKW)
		}
		if c.sentinels > 0 {
			rep.decide("values", "%s of %s counted as missing: the limit of a register that is not set", display.CountOf(c.sentinels, "reading", "readings"), c.label())
		}
	}
	utc, reversed := t.times(p.zone, o.Now, rep)
	groups := t.groups(utc, reversed)
	if len(groups) == 0 {
		return nil, refuse(NoDataRows, t.firstLine, "no row below the header has a possible time")
	}
	if n := t.conflicts(groups); n > fewConflicts && float64(n) > maxConflicts*float64(len(t.walls)) {
		return nil, refuse(ConflictingRows, t.firstLine, "%d of %s contradict another row of the same unit and time", n, display.CountOf(len(t.walls), "row", "rows"))
	}
	step := interval(groups)
	var assets []*assetData
	for _, a := range t.assetsOf(groups) {
		if !a.choose(step, o.EnergyKind, rep) {
			if a.name != "" {
				rep.warn("assets", "%s has no value of power or energy", a.name)
			}
			continue
		}
		if a.main.device == "" {
			a.name = a.group.name // the plant's column was preferred
		}
		a.source, a.scale = a.group.gather(a.main), 1
		assets = append(assets, a)
	}
	if len(assets) == 0 {
		return nil, refuse(NoDataRows, t.firstLine, "no row below the header has a value of power or energy")
	}
	p.startIntervals(assets, step, rep)
	assets = p.dropOtherUnits(assets, rep)
	p.withoutQuantities(assets, rep)
	for _, a := range assets {
		a.reverseSign(rep)
		a.quantum = quantumOf(a.source)
	}
	assets = sumPhases(assets, rep)
	kept := dropTotals(assets, rep)
	for _, a := range assets {
		if !slices.Contains(kept, a) && a.group.name == "" {
			p.ignore(a.main.index, "it is the sum of the units, a part of one, or another measurement of them")
		}
	}
	assets = kept
	settleMilliwatts(assets)
	unit := settleUnits(assets, step, o, p, rep)
	settleMarks(assets, step, o, rep)
	res := &Result{ValueKind: assets[0].kind, UnitSource: unit, Manufacturer: p.maker, Interval: step}
	t.finish(res, groups, assets, step, o, rep)
	if !usable(res) {
		return nil, refuse(NoDataRows, t.firstLine, "no value of power or energy is usable: %d of %d are missing or far beyond the capacity", res.Rows.Missing, res.Rows.Missing+res.Rows.Stored)
	}
	return res, nil
}

// startIntervals sets times that the header calls the end of an interval to its start.
// Readings of counters belong to the moment itself.
func (p *plan) startIntervals(assets []*assetData, step time.Duration, rep *report) {
	h := parseHeader(p.title(p.head.column))
	if !h.any(cEnd) || h.any(cStart) || step <= 0 || step > 24*time.Hour || len(p.hours) > 0 || p.head.column < 0 {
		return
	}
	shifted := map[*group]bool{}
	for _, a := range assets {
		if a.kind != KindPower && a.kind != KindIntervalEnergy {
			return
		}
	}
	for _, a := range assets {
		if shifted[a.group] {
			continue
		}
		shifted[a.group] = true
		for i, at := range a.group.times {
			if step == 24*time.Hour { // days of the zone are longer or shorter twice a year
				a.group.times[i] = time.Unix(at, 0).In(p.zone).AddDate(0, 0, -1).Unix()
			} else {
				a.group.times[i] = at - int64(step/time.Second)
			}
		}
	}
	rep.decide("time", "%q is the end of each interval of %s; the times that are stored are its start", p.title(p.head.column), step)
}

// settleUnits determines the unit of the source, and infers it if it is not written.
func settleUnits(assets []*assetData, step time.Duration, o Options, p *plan, rep *report) string {
	var open []*assetData
	var written []string
	add := func(name string) {
		if name != "" && !slices.Contains(written, name) {
			written = append(written, name)
		}
	}
	for _, a := range assets {
		if a.needsUnit() {
			open = append(open, a)
			continue
		}
		if len(a.main.units) == 0 {
			add(a.main.unit.name)
		}
		for _, u := range a.main.units {
			add(u)
		}
	}
	if len(open) > 0 {
		settleKind(open, step, o.CapacityKW, rep)
		l := load{capacityKW: o.CapacityKW, energy: open[0].kind != KindPower, maker: p.maker, whole: true}
		for _, a := range open {
			a.derive(step, o.Zone, 0)
			l.peakKW += peak(a.powerKW)
			whole, fine := grain(a.source)
			l.whole, l.fine = l.whole && whole, l.fine || fine
		}
		g := inferUnit(l)
		for _, a := range open {
			a.scale, a.main.inferred = g.scale, g.name
		}
		rep.decide("unit", "%s, which is not written: %s", g.name, g.why)
		if g.doubt != "" {
			rep.addRunnerUp("unit", "%s", g.doubt)
			rep.warn("unit", "%s was assumed; %s", g.name, g.doubt)
		}
		add(g.name)
	} else {
		rep.decide("unit", "%s, as written", strings.Join(written, "|"))
	}
	return strings.Join(written, "|")
}

// mostPowerKW is more than all plants of a country have.
const mostPowerKW = 1e9

// settleMilliwatts reads "mW" as milliwatts if no plant could have the power in megawatts, which "mW" mostly means.
func settleMilliwatts(assets []*assetData) {
	const milliOfMega = 1e-9
	highest := 0.0
	written := func(a *assetData) bool {
		return a.kind == KindPower && a.main.unit.name == "MW" && strings.Contains(a.main.title, "mW")
	}
	for _, a := range assets {
		if written(a) {
			highest = max(highest, peak(a.source))
		}
	}
	if highest < mostPowerKW {
		return
	}
	for _, a := range assets {
		if written(a) {
			a.main.unit.name = "mW"
			a.scale *= milliOfMega
		}
	}
}

// warnOfPower warns of a power above that of any plant: the unit is wrong.
func warnOfPower(assets []*assetData, rep *report) {
	for _, a := range assets {
		if p := peak(a.powerKW); p > mostPowerKW {
			rep.warn("values", "the highest power of %s is %s, more than any plant has: check the unit", a.main.label(), display.Power(p))
			return
		}
	}
}

// warnOfUnread warns of columns of production with cells that look like numbers and cannot be read.
func (t *table) warnOfUnread(assets []*assetData, rep *report) {
	const share = 0.01
	said := map[*column]bool{}
	for _, a := range assets {
		c := a.main
		if said[c] || float64(c.unread) <= share*float64(c.unread+c.count) {
			continue
		}
		said[c] = true
		rep.warn("values", "%s of %s with digits but no readable number counted as missing; %d are read", display.CountOf(c.unread, "cell", "cells"), c.label(), c.count)
	}
}

// settleKind decides by the capacity whether values are power or interval
// energy, if neither a name nor a unit states it.
func settleKind(open []*assetData, step time.Duration, capacityKW float64, rep *report) {
	if capacityKW <= 0 {
		return
	}
	total := 0.0
	for _, a := range open {
		if !a.main.means.bare || a.kind != KindPower && a.kind != KindIntervalEnergy {
			return
		}
		total += peak(a.source)
	}
	kind, other := KindPower, KindIntervalEnergy
	if energyFits(total, capacityKW, step) {
		kind, other = other, kind
	}
	for _, a := range open {
		a.kind = kind
	}
	rep.decide("values", "taken for %s, which fits the capacity better than %s; neither a name nor a unit says which", kindWords[kind], kindWords[other])
}

// settleMarks decides whether the separator in numbers like 1,234 is a decimal
// or a thousands separator, if nothing in the file determines it: by the
// capacity, otherwise with a warning.
func settleMarks(assets []*assetData, step time.Duration, o Options, rep *report) {
	const least, most = 0.02, mostOfCapacity
	var open []*assetData
	for _, a := range assets {
		if a.main.eitherMark && !a.needsUnit() {
			open = append(open, a)
		}
	}
	if len(open) == 0 {
		return
	}
	share, other := 0.0, 1000.0
	for _, a := range open {
		if a.main.style.decimal == a.main.mark {
			other = 1000
		} else {
			other = 1e-3
		}
		a.derive(step, o.Zone, 0)
		share += peak(a.powerKW)
	}
	if o.CapacityKW > 0 {
		share /= o.CapacityKW
		fits, otherFits := share >= least && share <= most, share*other >= least && share*other <= most
		switch {
		case fits && !otherFits:
			return
		case otherFits && !fits:
			for _, a := range open {
				a.scale *= other
			}
			rep.decide("numbers", "the mark in numbers such as 1%c234 is taken so that the values fit the capacity", open[0].main.mark)
			return
		}
	}
	rep.addRunnerUp("numbers", "all values %g times as large", other)
	rep.warn("numbers", "the mark in numbers such as 1%c234 may be a decimal mark or a thousands separator; with the other meaning, all values are %g times as large", open[0].main.mark, other)
}

// peak returns the highest power without the last thousandth, which may be faults.
func peak(power []float64) float64 {
	const share = 0.999
	n := 0
	for _, v := range power {
		if v > 0 {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	top := make([]float64, n-int(share*float64(n-1)+0.5)) // the highest values, in order
	for _, v := range power {
		if v > top[0] {
			i, _ := slices.BinarySearch(top, v)
			copy(top, top[1:i])
			top[i-1] = v
		}
	}
	return top[0]
}

// finish derives power, builds the frames and counts records.
func (t *table) finish(res *Result, groups []*group, assets []*assetData, step time.Duration, o Options, rep *report) {
	columns := map[string][]string{}
	var kinds []string
	for _, a := range assets {
		a.derive(step, t.plan.zone, holdFactor*o.CapacityKW)
		a.settleEnergy(step, rep)
		if o.CapacityKW > 0 {
			a.dropOutside(o.CapacityKW, step)
		}
		if a.mostlyOutside() { // then the capacity or the unit is wrong
			a.derive(step, t.plan.zone, 0)
			rep.warn("values", "most values of %s are far beyond the capacity of %s; check the capacity and the unit", a.main.label(), display.Power(o.CapacityKW))
		}
		a.notes.report(a.name, rep)
		if !slices.Contains(kinds, a.kind) {
			kinds = append(kinds, a.kind)
		}
		if label := a.main.label(); !slices.Contains(columns[a.kind], label) {
			columns[a.kind] = append(columns[a.kind], label)
		}
		name := a.name
		if name == "" {
			name = t.plan.asset
		}
		if name == "" && len(assets) == 1 {
			name = o.Asset
		}
		asset := Asset{Name: clean(name), Frame: a.assemble(), Times: a.count()}
		res.Assets = append(res.Assets, asset)
		res.Rows.Missing += a.missing
		res.countPower(a)
	}
	warnOfPower(assets, rep)
	t.warnOfUnread(assets, rep)
	for _, kind := range kinds {
		rep.decide("columns", "%s from %s", kindWords[kind], strings.Join(columns[kind], ", "))
	}
	t.reportUnused(assets, rep)
	t.reportDropped(rep)
	t.countRecords(res, groups, assets)
	if t.cutLine > 0 {
		rep.warn("rows", "line %d, the last one, is cut and left out; the rest of the file may be missing", t.cutLine)
	}
	if res.Rows.Stored == 0 {
		rep.warn("values", "no power can be derived; a counter needs two readings")
	}
	res.Decisions, res.Warnings, res.RunnersUp = rep.decisions, rep.warnings, rep.runnersUp
	res.Columns = t.plan.reportColumns(t, assets)
}

// usable reports whether a result holds a power, or a reading of a counter from which the next file gives one.
func usable(res *Result) bool {
	return slices.ContainsFunc(res.Assets, func(a Asset) bool { return a.Times.Stored+a.Times.Underived > 0 })
}

// count returns the results of the times of an asset.
func (a *assetData) count() Times {
	n := Times{Missing: a.missing}
	for _, v := range a.powerKW {
		if !math.IsNaN(v) {
			n.Stored++
		}
	}
	n.Underived = len(a.powerKW) - n.Stored - n.Missing
	return n
}

// countRecords counts the records from which the frames are built, and those of
// excluded units.
func (t *table) countRecords(res *Result, groups []*group, assets []*assetData) {
	res.Rows.Read, res.Rows.Skipped = t.read, t.skipped
	if len(t.plan.hours) > 0 {
		res.Rows.Used = t.kept
		return
	}
	for _, g := range groups {
		used := len(g.times)
		if t.plan.keys.measure >= 0 && !g.direct {
			used = len(g.rows) - g.repeated
			t.skipped[SkipDuplicate] += g.repeated
		}
		if slices.ContainsFunc(assets, func(a *assetData) bool { return a.group == g }) {
			res.Rows.Used += used
		} else {
			t.skipped[SkipLeftOut] += used
		}
	}
	maps.DeleteFunc(t.skipped, func(_ string, n int) bool { return n == 0 })
}

// countPower counts usable power and widens First and Last.
func (res *Result) countPower(a *assetData) {
	first, last := -1, -1
	for i, v := range a.powerKW {
		if math.IsNaN(v) {
			continue
		}
		res.Rows.Stored++
		if first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 {
		return
	}
	if at := time.Unix(a.group.times[first], 0).UTC(); res.First.IsZero() || at.Before(res.First) {
		res.First = at
	}
	if at := time.Unix(a.group.times[last], 0).UTC(); at.After(res.Last) {
		res.Last = at
	}
}

// reportUnused lists the columns of power and energy that were not used, so that the
// user can notice a wrong choice.
func (t *table) reportUnused(assets []*assetData, rep *report) {
	const most = 8
	used := map[*column]bool{}
	for _, a := range assets {
		used[a.main] = true
	}
	var left []string
	for _, c := range t.columns {
		if mainRole(c.means.role) && !used[c] && c.means.role == rolePower {
			left = append(left, c.label())
		}
	}
	if len(left) > most {
		left = append(left[:most], "…")
	}
	if len(left) > 0 {
		rep.decide("columns", "not used: %s", strings.Join(left, ", "))
	}
}

// reportDropped reports rows without a time; only a few, such as footers, are normal.
func (t *table) reportDropped(rep *report) {
	switch {
	case t.lost > fewLost:
		rep.warn("rows", "%d of %d data rows have no time that can be read and are left out, the first in line %d: %q", t.lost, t.read, t.lostLine, t.lostText)
	case t.lost > 0:
		rep.decide("rows", "%d without a time left out, the first in line %d: %q", t.lost, t.lostLine, t.lostText)
	}
}

// clean returns a name for display: valid text of bounded length.
func clean(name string) string {
	const longest = 120
	if len(name) > longest {
		name = name[:longest]
	}
	return strings.ToValidUTF8(name, "")
}
