package httpapi

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// recordForm is a compact form of the records of the telemetry paths.
type recordForm struct {
	name, mediaType string
	new             func(r compact) encoder
}

// forms are the compact forms.
var forms = []recordForm{
	{api.FormatColumns, api.MediaColumns, func(r compact) encoder { return &columnsEncoder{compact: r} }},
	{api.FormatCSV, api.MediaCSV, func(r compact) encoder { return &csvEncoder{compact: r} }},
	{api.FormatNDJSON, api.MediaNDJSON, func(r compact) encoder { return &ndjsonEncoder{compact: r} }},
	{api.FormatArrow, api.MediaArrow, func(r compact) encoder { return &arrowEncoder{compact: r} }},
}

// encoder writes chunks in one of the forms.
type encoder interface {
	begin(b []byte) []byte
	chunk(b []byte, c *chunk) []byte
	// end has the cursor of the next page, empty if the page is not full.
	end(b []byte, cursor string) []byte
}

// field is a field of the records of the compact forms.
type field struct {
	name       string
	whole      bool              // it is a whole number
	quantities []series.Quantity // that it is read from; nil: it is computed from whole days
	of         func(s *sample) float64
}

// fields are those of [api.RecordFields], in their order.
var fields = func() []field {
	list := []field{
		{"power", false, []series.Quantity{series.PowerKW}, func(s *sample) float64 { return s.powerKW }},
		{"kWh", false, nil, func(s *sample) float64 { return s.energyKWh }},
		{"inverter_state", true, []series.Quantity{series.InverterState, series.PowerKW}, func(s *sample) float64 { return s.state }},
		{"run_state", true, []series.Quantity{series.RunState, series.PowerKW}, func(s *sample) float64 { return s.run }},
	}
	for i, o := range optional {
		name := strings.Trim(o.key, `,":`)
		list = append(list, field{name, false, []series.Quantity{o.quantity}, func(s *sample) float64 { return s.optional[i] }})
	}
	list = append(list, field{"error_code", true, []series.Quantity{series.ErrorCode}, func(s *sample) float64 { return s.errorCode }})
	for _, part := range []struct {
		name string
		of   func(d *store.DaySum) float64
	}{
		{"consumption_kwh", func(d *store.DaySum) float64 { return d.ConsumptionKWh }}, {"counter_kwh", func(d *store.DaySum) float64 { return d.Parts().CounterKWh }},
		{"interval_kwh", func(d *store.DaySum) float64 { return d.Parts().IntervalKWh }}, {"extrapolated_kwh", func(d *store.DaySum) float64 { return d.Parts().ExtrapolatedKWh }},
	} {
		list = append(list, field{part.name, false, nil, func(s *sample) float64 {
			if s.day == nil {
				return math.NaN()
			}
			return rounded(part.of(s.day))
		}})
	}
	return list
}()

// firstOfDay is the index of the first field that only records of days have.
const firstOfDay = 14

// compact is a request for records in a compact form.
type compact struct {
	records
	units     []string // that may have records, in the order of their chunks
	fields    []field
	selected  bool // the request names its fields
	step      int64
	aggregate string
}

// chunkRows is the number of records of a chunk: 28 days of 5 minutes.
const chunkRows = 8064

// chunk are records of one unit by field.
type chunk struct {
	assetID string
	times   []int64
	values  [][]float64 // of each field; NaN is not measured
	cursor  string      // of the last record, if the page is full with it
}

// compactForm returns the compact form that a request asks for, nil for records.
func compactForm(q *api.RecordsQuery, in *input) (*recordForm, error) {
	var i int
	if q.Format == "" {
		i = accepted(in.Header.Values("Accept"))
	} else {
		i = slices.IndexFunc(forms, func(f recordForm) bool { return f.name == q.Format })
	}
	given := func(name string) bool { return in.parameter(name) != "" }
	if i < 0 {
		for _, name := range []string{"fields", "step"} {
			if given(name) {
				return nil, api.InvalidParameter(name, "records take none: ask for format=columns, csv, ndjson or arrow")
			}
		}
		return nil, nil
	}
	f := &forms[i]
	if f.name == api.FormatCSV || f.name == api.FormatArrow {
		for _, name := range []string{"limit", "cursor"} {
			if given(name) {
				return nil, api.InvalidParameter(name, f.name+" has the whole span in one response")
			}
		}
	}
	if !given("limit") {
		q.Limit = 0
	}
	return f, nil
}

// accepted returns the index of the compact form that the headers Accept prefer, -1 for
// records, which are also the response where nothing known is accepted.
func accepted(headers []string) int {
	best, weight := -1, 0.0
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		media, rest, _ := strings.Cut(part, ";")
		media = strings.ToLower(strings.TrimSpace(media))
		i := slices.IndexFunc(forms, func(f recordForm) bool { return f.mediaType == media })
		if i < 0 && media != api.MediaJSON && media != "application/*" && media != "*/*" {
			continue
		}
		q := 1.0
		for parameter := range strings.SplitSeq(rest, ";") {
			if name, value, _ := strings.Cut(parameter, "="); strings.EqualFold(strings.TrimSpace(name), "q") {
				q, _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
			}
		}
		if q > weight {
			best, weight = i, q
		}
	}
	return best
}

// writeCompact returns the records of units in a compact form.
func (s *server) writeCompact(ctx context.Context, f *recordForm, r records, q *api.RecordsQuery, site api.Site, units []string, from position) (any, error) {
	c := compact{records: r, units: units, aggregate: q.Aggregate}
	if q.Step != "" {
		step, err := api.ParseStep(q.Step)
		if err != nil {
			return nil, err
		}
		c.step = int64(step / time.Second)
	} else {
		c.step = steps[q.Resolution]
	}
	if c.step == daySeconds || q.Resolution == api.ResolutionDaily {
		c.step = daySeconds
	}
	if names := q.SelectedFields(); names != nil {
		c.selected = true
		for _, name := range names {
			c.fields = append(c.fields, fields[slices.Index(api.RecordFields, name)])
		}
	} else if c.fields = fields; c.step != daySeconds {
		c.fields = fields[:firstOfDay]
	}
	zone, err := zoneOf(site)
	if err != nil {
		return nil, err
	}
	e := f.new(c)
	return typed{mediaType: f.mediaType, write: func(b *body) error {
		b.buf = e.begin(b.buf)
		g := &gatherer{compact: c, e: e, b: b}
		for _, id := range units {
			if id < from.AssetID || g.full {
				continue
			}
			g.begin(id)
			p := span{siteID: site.SiteID, assetID: id, from: r.from.Unix(), to: r.to.Unix(), step: c.step, usual: r.usual[id], zone: zone, all: true, aggregate: c.aggregate}
			if id == from.AssetID {
				p.from = max(p.from, from.Timestamp.Unix()+1)
			}
			if err := s.gather(ctx, g, p, q.Resolution == api.ResolutionDaily, site); err != nil {
				return err
			}
			if err := g.flush(); err != nil {
				return err
			}
		}
		b.buf = e.end(b.buf, g.cursor)
		return nil
	}}, nil
}

// gather passes the records of one unit to g.
func (s *server) gather(ctx context.Context, g *gatherer, p span, daily bool, site api.Site) error {
	switch {
	case daily:
		r := g.records
		r.assetID, r.from = p.assetID, time.Unix(p.from, 0)
		if err := s.days(ctx, r, site, g.add); err != nil {
			return err
		}
	case p.step == daySeconds:
		if err := s.stepsOfDays(ctx, g, p); err != nil {
			return err
		}
	case p.step == 0 && !g.computes():
		return s.frames(ctx, g, p)
	default:
		if err := samples(ctx, s.Telemetry, p, g.add); err != nil {
			return err
		}
	}
	return g.err
}

// stepsOfDays gathers days of the site. Their energy is that of the stored days, which
// has also what a counter shows of days without samples.
func (s *server) stepsOfDays(ctx context.Context, g *gatherer, p span) error {
	sums, err := s.Telemetry.Daily(ctx, p.siteID, time.Unix(p.from, 0), time.Unix(p.to, 0), p.assetID)
	if err != nil {
		return err
	}
	i := 0
	until := func(at int64) bool { // days before at, which have no samples
		for ; i < len(sums) && sums[i].Day.Unix() < at; i++ {
			v := unknown
			v.at, v.day, v.energyKWh = sums[i].Day.Unix(), &sums[i], rounded(sums[i].EnergyKWh)
			if !g.add(&v) {
				return false
			}
		}
		return true
	}
	p.step = daySeconds + 2*3600 // of any day
	more := true
	err = samples(ctx, s.Telemetry, p, func(v *sample) bool {
		if more = until(v.at); !more {
			return false
		}
		if i < len(sums) && sums[i].Day.Unix() == v.at {
			v.day, v.energyKWh = &sums[i], rounded(sums[i].EnergyKWh)
			i++
		}
		more = g.add(v)
		return more
	})
	if err == nil && more {
		until(math.MaxInt64)
	}
	return err
}

// unknown is a sample of which nothing was measured.
var unknown = func() sample {
	v := sample{powerKW: math.NaN(), energyKWh: math.NaN(), state: math.NaN(), run: math.NaN(), errorCode: math.NaN()}
	for i := range v.optional {
		v.optional[i] = math.NaN()
	}
	return v
}()

// frames passes what was measured to g, column by column: for fields that are not computed
// from whole days.
func (s *server) frames(ctx context.Context, g *gatherer, p span) error {
	var read []series.Quantity
	for _, f := range g.fields {
		for _, q := range f.quantities {
			if !slices.Contains(read, q) {
				read = append(read, q)
			}
		}
	}
	for f, err := range s.Telemetry.Read(ctx, p.siteID, p.assetID, time.Unix(p.from, 0), time.Unix(p.to, 0), read...) {
		if err != nil {
			return err
		}
		if !g.addFrame(f) {
			break
		}
	}
	return g.err
}

// gatherer makes chunks of the records of units, and writes them.
type gatherer struct {
	compact
	e      encoder
	b      *body
	c      chunk
	v      sample // is filled for each record
	n      int    // records
	full   bool
	cursor string
	err    error
}

// computes reports whether a field is computed from whole days.
func (g *gatherer) computes() bool {
	return slices.ContainsFunc(g.fields, func(f field) bool { return f.quantities == nil })
}

func (g *gatherer) begin(assetID string) {
	g.c.assetID = assetID
	if g.c.values == nil {
		g.c.values = make([][]float64, len(g.fields))
	}
}

// add adds a record; it reports whether to continue.
func (g *gatherer) add(s *sample) bool {
	g.v = *s
	g.v.fillStates()
	known := false
	for i, f := range g.fields {
		x := f.of(&g.v)
		known = known || finite(x)
		g.c.values[i] = append(g.c.values[i], x)
	}
	if !known {
		for i := range g.c.values {
			g.c.values[i] = g.c.values[i][:len(g.c.times)]
		}
		return true
	}
	g.c.times = append(g.c.times, s.at)
	g.n++
	return g.added()
}

// addFrame adds the records of a frame; it reports whether to continue.
func (g *gatherer) addFrame(f series.Frame) bool {
	columns := make([][]float64, len(g.fields))
	power, state, run, whole := f.Values(series.PowerKW), f.Values(series.InverterState), f.Values(series.RunState), true
	for i, field := range g.fields {
		if columns[i] = f.Values(field.quantities[0]); columns[i] == nil || len(field.quantities) > 1 {
			whole = false
		}
	}
	for i := 0; i < f.Len(); i++ {
		if whole {
			if n := g.addRun(f.Times[i:], columns, i); n > 0 {
				if g.n, i = g.n+n, i+n-1; !g.added() {
					return false
				}
				continue
			}
		}
		g.v = unknown
		g.v.at, g.v.powerKW = f.Times[i], value(power, i)
		g.v.state, g.v.run = value(state, i), value(run, i)
		g.v.fillStates()
		known := false
		for k, field := range g.fields {
			x := value(columns[k], i)
			if len(field.quantities) > 1 {
				x = field.of(&g.v)
			}
			known = known || finite(x)
			g.c.values[k] = append(g.c.values[k], x)
		}
		if !known {
			for k := range g.c.values {
				g.c.values[k] = g.c.values[k][:len(g.c.times)]
			}
			continue
		}
		g.c.times = append(g.c.times, f.Times[i])
		if g.n++; !g.added() {
			return false
		}
	}
	return true
}

// addRun adds records of a frame from index i on, up to the end of the chunk or page, as
// long as their first field is known, and returns their number.
func (g *gatherer) addRun(times []int64, columns [][]float64, i int) (n int) {
	most := min(len(times), chunkRows-len(g.c.times))
	if g.limit > 0 {
		most = min(most, g.limit-g.n)
	}
	first := columns[0][i:]
	for n < most && finite(first[n]) {
		n++
	}
	if n == 0 {
		return 0
	}
	g.c.times = append(g.c.times, times[:n]...)
	for k, column := range columns {
		g.c.values[k] = append(g.c.values[k], column[i:i+n]...)
	}
	return n
}

// added ends the page that is full with the records that were added, and writes the chunk
// if that is full. It reports whether to continue.
func (g *gatherer) added() bool {
	if g.limit > 0 && g.n == g.limit {
		g.full, g.cursor = true, cursorAt(g.c.assetID, g.c.times[len(g.c.times)-1])
		g.c.cursor = g.cursor
		return false
	}
	if len(g.c.times) < chunkRows {
		return true
	}
	g.err = g.flush()
	return g.err == nil
}

// flush writes the chunk, if it has records.
func (g *gatherer) flush() error {
	if len(g.c.times) == 0 {
		return nil
	}
	g.b.buf = g.e.chunk(g.b.buf, &g.c)
	g.c.times = g.c.times[:0]
	for i := range g.c.values {
		g.c.values[i] = g.c.values[i][:0]
	}
	return g.b.pass()
}

// fillStates sets the states that the unit does not report by its power, if that is known.
func (s *sample) fillStates() {
	if !finite(s.powerKW) {
		return
	}
	state, run := s.states()
	s.state, s.run = float64(state), float64(run)
}

// typed is a body of another media type than JSON.
type typed struct {
	mediaType string
	write     streamed
}

// columnsEncoder writes [api.ColumnsResponse].
type columnsEncoder struct {
	compact
	some bool
}

func (e *columnsEncoder) begin(b []byte) []byte {
	b = append(b, `{"site_id":`...)
	return append(appendString(b, api.PublicSiteID(e.siteID)), `,"chunks":[`...)
}

func (e *columnsEncoder) chunk(b []byte, c *chunk) []byte {
	if e.some {
		b = append(b, ',', '\n')
	}
	e.some = true
	b = append(b, `{"asset_id":`...)
	b = appendString(b, c.assetID)
	b = append(b, `,"count":`...)
	b = strconv.AppendInt(b, int64(len(c.times)), 10)
	b = append(b, `,"start":"`...)
	b = time.Unix(c.times[0], 0).UTC().AppendFormat(b, api.TimeLayout)
	b = append(b, '"')
	if step, even := evenStep(c.times); even {
		b = append(b, `,"step_s":`...)
		b = strconv.AppendInt(b, step, 10)
	} else {
		b = append(b, `,"deltas_s":[`...)
		for i := 1; i < len(c.times); i++ {
			if i > 1 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, c.times[i]-c.times[i-1], 10)
		}
		b = append(b, ']')
	}
	b = append(b, `,"values":{`...)
	first := true
	for i, f := range e.fields {
		column := c.values[i]
		if !slices.ContainsFunc(column, finite) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '"')
		b = append(b, f.name...)
		b = append(b, '"', ':', '[')
		for k, v := range column {
			if k > 0 {
				b = append(b, ',')
			}
			b = appendNullable(b, v)
		}
		b = append(b, ']')
	}
	return append(b, '}', '}')
}

func (e *columnsEncoder) end(b []byte, cursor string) []byte {
	b = append(b, ']')
	if cursor != "" {
		b = append(b, `,"next_cursor":"`...)
		b = append(b, cursor...)
		b = append(b, '"')
	}
	return append(b, '}', '\n')
}

// evenStep returns the step of even times; of one time it is even and 0.
func evenStep(times []int64) (step int64, even bool) {
	for i := 1; i < len(times); i++ {
		d := times[i] - times[i-1]
		if i > 1 && d != step {
			return 0, false
		}
		step = d
	}
	return step, len(times) > 1
}

func appendNullable(b []byte, v float64) []byte {
	if !finite(v) {
		return append(b, "null"...)
	}
	return appendNumber(b, v)
}

// csvEncoder writes CSV: asset_id, timestamp and the fields.
type csvEncoder struct {
	compact
	clock recordWriter
}

func (e *csvEncoder) begin(b []byte) []byte {
	e.clock.day = math.MinInt64
	b = append(b, "asset_id,timestamp"...)
	for _, f := range e.fields {
		b = append(b, ',')
		b = append(b, f.name...)
	}
	return append(b, '\r', '\n')
}

func (e *csvEncoder) chunk(b []byte, c *chunk) []byte {
	id := c.assetID
	if strings.ContainsAny(id, ",\"\r\n") {
		id = `"` + strings.ReplaceAll(id, `"`, `""`) + `"`
	}
	for i, at := range c.times {
		b = append(b, id...)
		b = append(b, ',')
		b = e.clock.appendTime(b, at)
		for _, column := range c.values {
			if b = append(b, ','); finite(column[i]) {
				b = appendNumber(b, column[i])
			}
		}
		b = append(b, '\r', '\n')
	}
	return b
}

func (e *csvEncoder) end(b []byte, _ string) []byte { return b }

// ndjsonEncoder writes one object a line.
type ndjsonEncoder struct {
	compact
	clock recordWriter
}

func (e *ndjsonEncoder) begin(b []byte) []byte {
	e.clock.day = math.MinInt64
	return b
}

func (e *ndjsonEncoder) chunk(b []byte, c *chunk) []byte {
	head := append(appendString([]byte(`{"asset_id":`), c.assetID), `,"timestamp":"`...)
	for i, at := range c.times {
		b = append(b, head...)
		b = e.clock.appendTime(b, at)
		b = append(b, '"')
		for k, f := range e.fields {
			if v := c.values[k][i]; finite(v) || e.selected {
				b = append(b, ',', '"')
				b = append(b, f.name...)
				b = append(b, '"', ':')
				b = appendNullable(b, v)
			}
		}
		if c.cursor != "" && i == len(c.times)-1 {
			b = append(b, `,"cursor":"`...)
			b = append(b, c.cursor...)
			b = append(b, '"')
		}
		b = append(b, '}', '\n')
	}
	return b
}

func (e *ndjsonEncoder) end(b []byte, _ string) []byte { return b }

// varyAccept says that the response depends on the header Accept.
func varyAccept(h http.Header) { h.Add("Vary", "Accept") }
