// Package points reads the points of telemetry that programs send: as JSON, as
// InfluxDB's line protocol, or as Prometheus remote write. A point is one value of one
// quantity of one unit at one time. The result is a frame for each unit; one point that
// cannot be read refuses all of them.
package points

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"app.sunloop/engine/series"
)

// Limits of a batch.
const (
	MaxPoints  = 100_000
	MaxUnits   = 10_000
	MaxAssetID = 128 // bytes of the id of a unit

	// MaxAhead is how far the time of a point may be ahead of the clock.
	MaxAhead = 5 * time.Minute
)

// oldest is the earliest time of a point: clocks that were never set show an earlier one.
var oldest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// Options say how points are read.
type Options struct {
	Now         time.Time
	AssetTag    string        // the tag or the label with the id of the unit; empty: asset_id
	Precision   time.Duration // of the times of line protocol; 0: nanoseconds
	SkipUnknown bool          // quantities without a meaning are counted, not refused
	// Skip is called with each point of JSON that has a wrong value, time or quantity, and
	// the others are read; nil: such a point refuses all. An id that is none, and a body
	// that is none, refuse all in any case.
	Skip func(Error)
}

// Batch is what was read.
type Batch struct {
	Units   []Unit // by id
	Points  int
	Ignored int // points whose quantity is unknown
}

// Unit is what was read of a unit.
type Unit struct {
	AssetID string
	Frame   series.Frame
}

// Error is why points were refused.
type Error struct {
	Field  string // of the point, such as points[3].value, line 7 or series 2
	Reason string
}

// Error is a sentence.
func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// quantities are all names of quantities: their own, and those of the records that the
// API returns.
var quantities = quantityNames()

func quantityNames() map[string]series.Quantity {
	names := map[string]series.Quantity{
		"power": series.PowerKW, "kWh": series.EnergyKWh, "kVArh": series.ReactiveKVArh, "kVA": series.ApparentKVA, "PF": series.PowerFactor,
		"temperature": series.TemperatureC, "irradiance": series.IrradianceWM2, "soc": series.StateOfCharge, "soh": series.StateOfHealth, "voltage": series.VoltageV,
	}
	for q := series.Quantity(1); q < 128; q++ {
		if own, err := series.ParseQuantity(q.String()); err == nil && own == q {
			names[q.String()] = q
		}
	}
	return names
}

// bounds are the values that a quantity can have; the others are bounded by most.
var bounds = map[series.Quantity]struct {
	low, high float64
	whole     bool
}{
	series.PowerFactor: {-1, 1, false}, series.StateOfCharge: {0, 100, false}, series.StateOfHealth: {0, 100, false},
	series.IrradianceWM2: {-50, 2500, false}, series.PredictedGHIWM2: {-50, 2500, false}, series.WindSpeedMS: {0, 150, false},
	series.TemperatureC: {-100, 100, false}, series.PredictedTempC: {-100, 100, false}, series.ModuleTemperatureC: {-100, 250, false}, series.CabinetTempC: {-100, 250, false},
	series.InverterState: {0, math.MaxUint16, true}, series.RunState: {0, 1, true}, series.ErrorCode: {0, 1 << 53, true},
	series.VendorState: {0, math.MaxUint32, true}, series.VendorCode: {0, 1 << 53, true},
	series.CoveredS: {0, 7 * 86400, true}, series.StepS: {1, 86400, true},
}

// most bounds the size of values that have no bounds of their own.
const most = 1e12

// table is bounds by number, for speed.
var table = func() (t [256]struct {
	low, high float64
	whole     bool
}) {
	for q := range t {
		t[q].low, t[q].high = -most, most
	}
	for q, b := range bounds {
		t[q] = b
	}
	return t
}()

// wrongValue is why a value is none of the quantity, empty if it is one.
func wrongValue(q series.Quantity, v float64) string {
	b := &table[q]
	switch {
	case !(v >= b.low && v <= b.high):
		return fmt.Sprintf("%s is from %g to %g, not %g", q, b.low, b.high, v)
	case b.whole && v != math.Trunc(v):
		return fmt.Sprintf("%s is a whole number, not %g", q, v)
	}
	return ""
}

// collector builds the frames.
type collector struct {
	options Options
	latest  int64 // latest time of a point
	units   map[string]*unit
	last    *unit
	points  int
	ignored int
}

// unit is a unit with its columns in the order of their arrival.
type unit struct {
	id      string
	columns [256]*column
	used    []series.Quantity
}

type column struct {
	times  []int64
	values []float64
	sorted bool // times ascend strictly
}

func newCollector(o Options) *collector {
	if o.AssetTag == "" {
		o.AssetTag = "asset_id"
	}
	if o.Precision == 0 {
		o.Precision = time.Nanosecond
	}
	return &collector{options: o, latest: o.Now.Add(MaxAhead).Unix(), units: map[string]*unit{}}
}

// unit returns the one with the id, or why the id is none.
func (c *collector) unit(id []byte) (*unit, string) {
	if c.last != nil && c.last.id == string(id) {
		return c.last, ""
	}
	u := c.units[string(id)]
	if u == nil {
		if why := wrongID(string(id)); why != "" {
			return nil, why
		}
		if len(c.units) == MaxUnits {
			return nil, fmt.Sprintf("a batch has at most %d units", MaxUnits)
		}
		u = &unit{id: string(id)}
		c.units[u.id] = u
	}
	c.last = u
	return u, ""
}

func wrongID(id string) string {
	switch {
	case id == "":
		return "the id of the unit is empty"
	case len(id) > MaxAssetID:
		return fmt.Sprintf("the id of the unit is longer than %d bytes", MaxAssetID)
	case !utf8.ValidString(id):
		return "the id of the unit is not UTF-8"
	case strings.TrimSpace(id) != id || strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "the id of the unit has characters that cannot be printed, or spaces around it"
	}
	return ""
}

// wrongTime is why a time is refused, empty if it is not.
func (c *collector) wrongTime(t int64) string {
	switch {
	case t < oldest:
		return "the time is before the year 2000: the clock of the sender is not set, or the precision is another one"
	case t > c.latest:
		return fmt.Sprintf("the time is more than %s ahead of the service: the clock of the sender is wrong, or the precision is another one", MaxAhead)
	}
	return ""
}

// add adds a point whose time was checked.
func (c *collector) add(u *unit, q series.Quantity, t int64, v float64) string {
	if why := wrongValue(q, v); why != "" {
		return why
	}
	if c.points == MaxPoints {
		return fmt.Sprintf("a batch has at most %d points: send the rest in another one", MaxPoints)
	}
	c.points++
	col := u.columns[q]
	if col == nil {
		col = &column{sorted: true}
		u.columns[q] = col
		u.used = append(u.used, q)
	}
	if n := len(col.times); n > 0 && t <= col.times[n-1] {
		if t == col.times[n-1] {
			col.values[n-1] = v // the later one of a time
			return ""
		}
		col.sorted = false
	}
	col.times, col.values = append(col.times, t), append(col.values, v)
	return ""
}

// refuse is the error of a point, or nil if such points are left out.
func (c *collector) refuse(field, why string) error {
	if c.options.Skip == nil || c.points == MaxPoints {
		return &Error{field, why}
	}
	c.options.Skip(Error{field, why})
	return nil
}

// ignore counts a point whose quantity is unknown, or says why it is refused.
func (c *collector) ignore(name string) string {
	if c.options.SkipUnknown {
		c.ignored++
		return ""
	}
	return fmt.Sprintf("unknown quantity %q", shortened(name))
}

// shortened is a text from a request as an error repeats it.
func shortened(s string) string {
	const longest = 64
	if len(s) > longest {
		s = s[:longest] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// batch returns the frames of all units.
func (c *collector) batch() Batch {
	b := Batch{Points: c.points, Ignored: c.ignored}
	for _, u := range c.units {
		if f := u.frame(); f.Len() > 0 {
			b.Units = append(b.Units, Unit{u.id, f})
		}
	}
	slices.SortFunc(b.Units, func(a, b Unit) int { return cmp.Compare(a.AssetID, b.AssetID) })
	return b
}

// sort puts a column in the order of its times; of several values of a time the last
// one that arrived is kept.
func (c *column) sort() {
	if c.sorted {
		return
	}
	order := make([]int, len(c.times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.times[a], c.times[b]) })
	times, values := make([]int64, 0, len(order)), make([]float64, 0, len(order))
	for _, i := range order {
		if n := len(times); n > 0 && times[n-1] == c.times[i] {
			values[n-1] = c.values[i]
			continue
		}
		times, values = append(times, c.times[i]), append(values, c.values[i])
	}
	c.times, c.values, c.sorted = times, values, true
}

// frame joins the columns of a unit.
func (u *unit) frame() series.Frame {
	slices.Sort(u.used)
	var f series.Frame
	same := true
	for _, q := range u.used {
		c := u.columns[q]
		c.sort()
		same = same && (f.Times == nil || slices.Equal(f.Times, c.times))
		if f.Times == nil {
			f.Times = c.times
		}
	}
	if !same {
		var all []int64
		for _, q := range u.used {
			all = append(all, u.columns[q].times...)
		}
		slices.Sort(all)
		f.Times = slices.Compact(all)
	}
	f.Columns = make([]series.Column, 0, len(u.used))
	for _, q := range u.used {
		c := u.columns[q]
		values := c.values
		if !same {
			values = make([]float64, len(f.Times))
			k := 0
			for i, t := range f.Times {
				if k < len(c.times) && c.times[k] == t {
					values[i] = c.values[k]
					k++
				} else {
					values[i] = series.Missing()
				}
			}
		}
		f.Columns = append(f.Columns, series.Column{Quantity: q, Values: values})
	}
	return f
}
