package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// table is what was read of a sheet: ascending times, as labels of their
// intervals' starts, and the wanted columns.
type table struct {
	times  []int64 // Unix seconds
	step   time.Duration
	values [][]float64 // NaN is missing
}

// row is where a record was, for errors.
type row struct {
	file string
	line int
}

// raw are the cells of a sheet in the order of its files.
type raw struct {
	stamps []string
	cells  [][]string
	rows   []row
}

// Opener opens a data file by its name in the site file.
type Opener func(name string) (io.ReadCloser, error)

// read reads the columns of a sheet.
func (s sheet) read(open Opener, columns []string) (table, error) {
	var r raw
	for _, name := range s.files {
		if err := s.readFile(open, name, columns, &r); err != nil {
			return table{}, err
		}
	}
	if len(r.stamps) == 0 {
		return table{}, fmt.Errorf("%s: there is no row of data", strings.Join(s.files, ", "))
	}
	times, err := s.parseTimes(&r)
	if err != nil {
		return table{}, err
	}
	values := make([][]float64, len(columns))
	for j, cells := range r.cells {
		values[j] = make([]float64, len(cells))
		for i, cell := range cells {
			v, ok := number(cell)
			if !ok {
				return table{}, fmt.Errorf("%s line %d: %s is %q, not a number", r.rows[i].file, r.rows[i].line, columns[j], cell)
			}
			values[j][i] = v
		}
	}
	t := inOrder(times, values)
	t.step = series.Interval(t.times)
	if t.step <= 0 {
		return table{}, fmt.Errorf("%s: one row says nothing of the interval; there must be more", strings.Join(s.files, ", "))
	}
	if s.endLabel {
		for i := range t.times {
			t.times[i] -= int64(t.step / time.Second)
		}
	}
	return t, nil
}

func (s sheet) readFile(open Opener, name string, columns []string, out *raw) error {
	f, err := open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s is not gzip: %w", name, err)
		}
		in = z
	}
	r, err := records(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is empty", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at, err := positions(head, append([]string{s.time}, columns...))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	where, err := s.conditions(head)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if out.cells == nil {
		out.cells = make([][]string, len(columns))
	}
	need := slices.Max(at)
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !where.meets(cells) {
			continue
		}
		line, _ := r.FieldPos(0)
		if len(cells) <= need {
			return fmt.Errorf("%s line %d has %s; %s is the %s", name, line, display.CountOf(len(cells), "cell", "cells"), head[need], ordinal(need+1))
		}
		out.stamps = append(out.stamps, strings.TrimSpace(cells[at[0]]))
		for j := range columns {
			out.cells[j] = append(out.cells[j], cells[at[j+1]])
		}
		out.rows = append(out.rows, row{name, line})
	}
}

// records reads a CSV whose separator is found in its first line: the one of
// comma, semicolon and tab that occurs most.
func records(in io.Reader) (*csv.Reader, error) {
	b := bufio.NewReaderSize(in, 1<<16)
	head, err := b.Peek(1 << 14)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if mark := []byte("\ufeff"); bytes.HasPrefix(head, mark) {
		if _, err := b.Discard(len(mark)); err != nil {
			return nil, err
		}
		head = head[len(mark):]
	}
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	r := csv.NewReader(b)
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	most := bytes.Count(head, []byte(","))
	for _, c := range ";\t" {
		if n := bytes.Count(head, []byte(string(c))); n > most {
			r.Comma, most = c, n
		}
	}
	return r, nil
}

// positions are where columns are. A column may also be named by its place,
// as in #1 for the first.
func positions(head, columns []string) ([]int, error) {
	at := make([]int, len(columns))
	for j, name := range columns {
		at[j] = slices.IndexFunc(head, func(h string) bool { return strings.TrimSpace(h) == name })
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "#")); at[j] < 0 && strings.HasPrefix(name, "#") && err == nil && n >= 1 && n <= len(head) {
			at[j] = n - 1
		}
		if at[j] < 0 {
			return nil, fmt.Errorf("there is no column %q; there are %s", name, strings.Join(head, ", "))
		}
	}
	return at, nil
}

type conditions []struct {
	at    int
	value string
}

func (s sheet) conditions(head []string) (conditions, error) {
	var out conditions
	for name, value := range s.where {
		at, err := positions(head, []string{name})
		if err != nil {
			return nil, err
		}
		out = append(out, struct {
			at    int
			value string
		}{at[0], value})
	}
	return out, nil
}

func (c conditions) meets(cells []string) bool {
	for _, x := range c {
		if x.at >= len(cells) || cells[x.at] != x.value {
			return false
		}
	}
	return true
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
		return fmt.Sprintf("%dth", n)
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// parseTimes reads the stamps.
func (s sheet) parseTimes(r *raw) ([]int64, error) {
	layout := s.layout
	if layout == "" {
		var at int
		var err error
		if layout, at, err = layoutFor(r.stamps); err != nil {
			return nil, fmt.Errorf("%s line %d: %s is %q: %w", r.rows[at].file, r.rows[at].line, s.time, r.stamps[at], err)
		}
	}
	times := make([]int64, len(r.stamps))
	for i, stamp := range r.stamps {
		t, err := time.ParseInLocation(layout, stamp, s.zone)
		if err != nil {
			return nil, fmt.Errorf("%s line %d: %s is %q; the others are written as %s", r.rows[i].file, r.rows[i].line, s.time, stamp, r.stamps[0])
		}
		if !strings.Contains(layout, "Z07:00") {
			t = pass(t, i > 0, times[max(i-1, 0)])
		}
		times[i] = t.Unix()
	}
	return times, nil
}

// pass chooses between the two passes of an hour that a clock shows twice: the
// first, unless that is not after the time before.
func pass(t time.Time, any bool, before int64) time.Time {
	_, offset := t.Zone()
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		other := t.Add(by)
		if _, o := other.Zone(); time.Duration(offset-o)*time.Second != by {
			continue
		}
		first, second := t, other
		if by < 0 {
			first, second = other, t
		}
		if any && first.Unix() <= before {
			return second
		}
		return first
	}
	return t
}

// blanks are what a logger writes for nothing.
var blanks = map[string]bool{"": true, "-": true, "--": true, "NaN": true, "nan": true, "NA": true, "N/A": true, "n/a": true, "null": true, "NULL": true, "None": true}

// number reads a cell, with a point or a comma for the decimals. Infinities
// are missing.
func number(cell string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(cell, 64)
	if err == nil {
		if math.IsInf(v, 0) {
			v = math.NaN()
		}
		return v, true
	}
	if cell = strings.TrimSpace(cell); blanks[cell] {
		return math.NaN(), true
	}
	if strings.Count(cell, ",") == 1 && !strings.Contains(cell, ".") {
		cell = strings.Replace(cell, ",", ".", 1)
	}
	v, err = strconv.ParseFloat(cell, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// inOrder sorts by time and drops rows with a time that was there before.
func inOrder(times []int64, values [][]float64) table {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	t := table{times: make([]int64, 0, len(times)), values: make([][]float64, len(values))}
	for j := range values {
		t.values[j] = make([]float64, 0, len(times))
	}
	for _, i := range order {
		if n := len(t.times); n > 0 && t.times[n-1] == times[i] {
			continue
		}
		t.times = append(t.times, times[i])
		for j := range values {
			t.values[j] = append(t.values[j], values[j][i])
		}
	}
	return t
}
