package forward

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// ranges are numbers of batches, ascending, neither overlapping nor adjacent.
type ranges []api.SequenceRange

// rangesOf reads what a service says that it has; what is not in order is left out.
func rangesOf(list []api.SequenceRange) (out ranges) {
	for _, r := range list {
		if r.First >= 1 && r.Last >= r.First && r.First > out.last() {
			out = append(out, r)
		}
	}
	return out
}

// union are the numbers of both.
func union(a, b ranges) (out ranges) {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b api.SequenceRange) int { return cmp.Compare(a.First, b.First) })
	for _, r := range all {
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

func (r ranges) last() int {
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1].Last
}

func (r ranges) has(n int) bool {
	i, ok := slices.BinarySearchFunc(r, n, func(r api.SequenceRange, n int) int { return cmp.Compare(r.First, n) })
	return ok || i > 0 && n <= r[i-1].Last
}

// missing is the first number from n on that is not there.
func (r ranges) missing(n int) int {
	for _, x := range r {
		if x.First <= n && n <= x.Last {
			n = x.Last + 1
		}
	}
	return n
}

// count is how many numbers from first on, below next, are there.
func (r ranges) count(first, next int) (n int) {
	for _, x := range r {
		n += max(min(x.Last+1, next)-max(x.First, first), 0)
	}
	return n
}

// plan is a request: batches with neighbouring numbers in one body.
type plan struct {
	first, last int
	frames      []store.AssetFrame
	points      int
}

// plan chooses the batches of the next request: those since the connection was there
// again, else the oldest ones that are missing. nil: all are stored, or none can be sent
// yet.
func (f *Forwarder) plan() (*plan, error) {
	f.mu.Lock()
	received, liveFrom := f.received, f.liveFrom
	f.mu.Unlock()
	first, next := f.options.Spool.Range()
	if err := f.options.Spool.Forget(received.missing(first)); err != nil {
		return nil, err
	}
	first, _ = f.options.Spool.Range()
	if from := received.missing(max(liveFrom, first)); from < next {
		if p, err := f.part(from, next-1); p != nil || err != nil {
			return p, err
		}
	}
	until := min(liveFrom, next)
	if from := received.missing(first); from < until {
		return f.part(from, until-1)
	}
	return nil, nil
}

// part joins the batches from a number on up to another one, as many as fit into a
// request and can be sent now; nil if there are none.
func (f *Forwarder) part(from, to int) (*plan, error) {
	f.mu.Lock()
	received := f.received
	limit := f.options.Now().Add(f.offset + maxAhead).Unix()
	f.mu.Unlock()
	m := newMerge()
	p := &plan{}
	expected := from
	var lost ranges
	err := f.options.Spool.Read(from, func(b spool.Batch) bool {
		if b.Sequence > expected && b.Sequence <= to+1 {
			lost = append(lost, api.SequenceRange{First: expected, Last: b.Sequence - 1})
		}
		expected = b.Sequence + 1
		switch {
		case b.Sequence > to:
			return false
		case b.Last > limit || received.has(b.Sequence):
			return p.first == 0
		case p.first == 0:
			p.first = b.Sequence
		case b.Sequence != p.last+1 || m.points+b.Points > maxPoints || p.last-p.first+1 >= maxBatches:
			return false
		}
		p.last = b.Sequence
		for _, a := range b.Frames {
			m.add(a)
		}
		return true
	})
	if len(lost) > 0 {
		f.mu.Lock()
		f.lost = union(f.lost, lost)
		f.received = union(f.received, lost)
		f.mu.Unlock()
	}
	if err != nil || p.first == 0 {
		return nil, err
	}
	// An interval that was written again in a batch that is stored already is not written
	// back to what it was.
	if ahead := p.last + 1; received.count(ahead, ahead+lookAhead) > 0 {
		err := f.options.Spool.Read(ahead, func(b spool.Batch) bool {
			if received.has(b.Sequence) {
				for _, a := range b.Frames {
					m.remove(a)
				}
			}
			return b.Sequence < ahead+lookAhead
		})
		if err != nil {
			return nil, err
		}
	}
	p.frames = m.frames()
	for _, a := range p.frames {
		for _, c := range a.Frame.Columns {
			for _, v := range c.Values {
				if !math.IsNaN(v) {
					p.points++
				}
			}
		}
	}
	return p, nil
}

// maxAhead is how far the time of a sample may be ahead of the service; others wait.
const maxAhead = 4 * time.Minute

// merge joins the samples of batches; the later value of a time wins.
type merge struct {
	units  map[string]*rows
	points int
}

// rows are the samples of a unit in the order in which their times came.
type rows struct {
	at      map[int64]int
	times   []int64
	columns map[series.Quantity][]float64
}

func newMerge() *merge { return &merge{units: map[string]*rows{}} }

func (m *merge) add(a store.AssetFrame) {
	u := m.units[a.AssetID]
	if u == nil {
		u = &rows{at: map[int64]int{}, columns: map[series.Quantity][]float64{}}
		m.units[a.AssetID] = u
	}
	for i, t := range a.Frame.Times {
		row, known := u.at[t]
		if !known {
			row = len(u.times)
			u.at[t] = row
			u.times = append(u.times, t)
		}
		for _, c := range a.Frame.Columns {
			v := c.Values[i]
			if math.IsNaN(v) {
				continue
			}
			values := u.columns[c.Quantity]
			for len(values) <= row {
				values = append(values, series.Missing())
			}
			if math.IsNaN(values[row]) {
				m.points++
			}
			values[row] = v
			u.columns[c.Quantity] = values
		}
	}
}

// remove takes out the values that a frame has too.
func (m *merge) remove(a store.AssetFrame) {
	u := m.units[a.AssetID]
	if u == nil {
		return
	}
	for i, t := range a.Frame.Times {
		row, known := u.at[t]
		if !known {
			continue
		}
		for _, c := range a.Frame.Columns {
			if values := u.columns[c.Quantity]; row < len(values) && !math.IsNaN(c.Values[i]) {
				values[row] = series.Missing()
			}
		}
	}
}

// frames are the samples by unit and time.
func (m *merge) frames() (out []store.AssetFrame) {
	for id, u := range m.units {
		order := make([]int, len(u.times))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(u.times[a], u.times[b]) })
		f := series.Frame{Times: make([]int64, len(order))}
		for i, row := range order {
			f.Times[i] = u.times[row]
		}
		for q, values := range u.columns {
			sorted := make([]float64, len(order))
			for i, row := range order {
				sorted[i] = series.Missing()
				if row < len(values) {
					sorted[i] = values[row]
				}
			}
			f.Set(q, sorted)
		}
		out = append(out, store.AssetFrame{AssetID: id, Frame: f})
	}
	slices.SortFunc(out, func(a, b store.AssetFrame) int { return cmp.Compare(a.AssetID, b.AssetID) })
	return out
}

// body is an [api.PointBatch] of units as JSON.
func body(frames []store.AssetFrame) []byte {
	b := []byte(`{"units":[`)
	for i, a := range frames {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"asset_id":`...)
		b = appendText(b, a.AssetID)
		b = append(b, `,"timestamps":[`...)
		for k, t := range a.Frame.Times {
			if k > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, t, 10)
		}
		b = append(b, `],"values":{`...)
		for k, c := range a.Frame.Columns {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = append(b, c.Quantity.String()...)
			b = append(b, `":[`...)
			for n, v := range c.Values {
				if n > 0 {
					b = append(b, ',')
				}
				if math.IsNaN(v) || math.IsInf(v, 0) {
					b = append(b, "null"...)
				} else {
					b = strconv.AppendFloat(b, v, 'g', -1, 64)
				}
			}
			b = append(b, ']')
		}
		b = append(b, "}}"...)
	}
	return append(b, "]}"...)
}
