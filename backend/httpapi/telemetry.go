package httpapi

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

func (s *server) telemetryHandlers() {
	handle(s, api.GetDataPeriod, s.dataPeriod)
	handleStream(s, api.ListRecords, s.listRecords, func(q *api.RecordsQuery) error { _, err := recordCursorOf(q); return err })
	handleStream(s, api.ListSiteRecords, s.listSiteRecords, func(q *api.RecordsQuery) error { _, err := siteCursorOf(q); return err })
	handleStream(s, api.GetLatest, s.latest)
}

// steps of the resolutions in seconds; daily is not one of them, as a site's
// days differ.
var steps = map[string]int64{"": 0, api.Resolution5Min: 300, api.Resolution15Min: 900, api.ResolutionHour: 3600}

// records are the parameters of the records of one unit.
type records struct {
	siteID, assetID string
	from, to        time.Time
	resolution      string
	limit           int // of the page
	after           int64
	cursor          bool             // after counts
	usual           map[string]int64 // usual steps of the site's units in seconds
}

// recordsOfQuery returns the parameters of a query, whose end is inclusive.
func recordsOfQuery(q *api.RecordsQuery) records {
	return records{siteID: q.SiteID, assetID: q.AssetID, from: q.Start.Time, to: api.At(q.End.Time).Add(time.Second), resolution: q.Resolution, limit: q.Limit}
}

func (s *server) dataPeriod(ctx context.Context, _ *caller, q *api.PeriodQuery) (api.DataPeriod, error) {
	p := api.DataPeriod{SiteID: q.SiteID, AssetID: q.AssetID}
	first, last, ok, err := s.Telemetry.Period(ctx, q.SiteID, q.AssetID)
	if err == nil && ok {
		from, to := api.At(first), api.At(last)
		p.FirstRecord, p.LastRecord = &from, &to
	}
	return p, err
}

// recordCursorOf returns the stamp that the records of a query follow; 0 if the
// query has no cursor.
func recordCursorOf(q *api.RecordsQuery) (int64, error) {
	if q.Cursor == "" {
		return 0, nil
	}
	return readCursor(q.Cursor, q.AssetID)
}

// siteCursorOf returns the unit and the time that the records of a query of a site follow;
// empty if the query has no cursor.
func siteCursorOf(q *api.RecordsQuery) (p position, err error) {
	if q.Cursor == "" {
		return p, nil
	}
	return readPosition(q.Cursor)
}

func (s *server) listRecords(ctx context.Context, c *caller, q *api.RecordsQuery) (any, error) {
	r := recordsOfQuery(q)
	var err error
	if r.after, err = recordCursorOf(q); err != nil {
		return nil, err
	}
	r.cursor = q.Cursor != ""
	if r.usual, err = s.Telemetry.Steps(ctx, q.SiteID); err != nil {
		return nil, err
	}
	varyAccept(c.request.w.Header())
	if form, err := compactForm(q, c.request); err != nil {
		return nil, err
	} else if form != nil {
		r.limit = q.Limit
		from := position{}
		if r.cursor {
			from = position{AssetID: q.AssetID, Timestamp: api.Unix(r.after)}
		}
		return s.writeCompact(ctx, form, r, q, c.site, []string{q.AssetID}, from)
	}
	return streamedArray("records", func(b *body) (int, error) { return s.writeRecords(ctx, b, r, c.site, nil) }), nil
}

func (s *server) listSiteRecords(ctx context.Context, c *caller, q *api.RecordsQuery) (any, error) {
	ids, err := s.unitsOf(ctx, c.scope, q.SiteID)
	if err != nil {
		return nil, err
	}
	r := recordsOfQuery(q)
	if r.usual, err = s.Telemetry.Steps(ctx, q.SiteID); err != nil {
		return nil, err
	}
	from, err := siteCursorOf(q)
	if err != nil {
		return nil, err
	}
	varyAccept(c.request.w.Header())
	if form, err := compactForm(q, c.request); err != nil {
		return nil, err
	} else if form != nil {
		r.limit = q.Limit
		return s.writeCompact(ctx, form, r, q, c.site, ids, from)
	}
	return streamedArrays("records", ids, func(b *body, id string, prefix []byte) (int, error) {
		if id < from.AssetID || r.limit == 0 {
			return 0, nil
		}
		if r.cursor = q.Cursor != "" && id == from.AssetID; r.cursor {
			r.after = from.Timestamp.Unix()
		}
		r.assetID = id
		n, err := s.writeRecords(ctx, b, r, c.site, prefix)
		r.limit -= n
		return n, err
	}), nil
}

func (s *server) unitsOf(ctx context.Context, scope api.Scope, siteID string) ([]string, error) {
	var ids []string
	q := api.ListQuery{SiteID: siteID, Page: api.Page{Limit: api.MaxLimit}}
	for {
		part, next, err := s.Assets.Assets(ctx, scope, q)
		if err != nil {
			return nil, err
		}
		for _, a := range part {
			ids = append(ids, a.AssetID)
		}
		if next == "" {
			slices.Sort(ids)
			return ids, nil
		}
		q.Cursor = next
	}
}

func (s *server) latest(ctx context.Context, c *caller, q *api.PeriodQuery) (any, error) {
	newest, err := s.Telemetry.Latest(ctx, q.SiteID)
	if err != nil {
		return nil, err
	}
	frames, err := s.around(ctx, q.SiteID, newest)
	if err != nil {
		return nil, err
	}
	usual, err := s.Telemetry.Steps(ctx, q.SiteID)
	if err != nil {
		return nil, err
	}
	zone, err := zoneOf(c.site)
	if err != nil {
		return nil, err
	}
	return streamed(func(b *body) error {
		b.buf = append(b.buf, `{"site_id":`...)
		b.buf = appendString(b.buf, q.SiteID)
		b.buf = append(b.buf, `,"records":[`...)
		first := true
		for _, unit := range newest {
			w := newRecordWriter(q.SiteID, unit.AssetID)
			at := unit.Frame.Times[0]
			m := averager{span: span{siteID: q.SiteID, assetID: unit.AssetID, from: at, to: at + 1, zone: zone, usual: usual[unit.AssetID]}, emit: func(v *sample) bool {
				if !first {
					b.buf = append(b.buf, ',')
				}
				first = false
				b.buf = w.append(b.buf, v, false)
				return true
			}}
			m.days(frames[unit.AssetID].Slice(at-padSeconds, at+1))
		}
		b.buf = append(b.buf, "]}\n"...)
		return nil
	}), nil
}

// pad is how far before a unit's newest sample telemetry is read, to show its
// step.
const (
	pad        = 2 * time.Hour
	padSeconds = int64(pad / time.Second)
)

// together is how far apart, in seconds, the newest samples of units may be that
// are read at a time.
const together = 3600

// around reads units around their newest samples, where they show their
// intervals. Those that are near each other are read at a time.
func (s *server) around(ctx context.Context, siteID string, newest []store.AssetFrame) (map[string]series.Frame, error) {
	at := func(f store.AssetFrame) int64 { return f.Frame.Times[0] }
	byTime := slices.SortedFunc(slices.Values(newest), func(a, b store.AssetFrame) int { return cmp.Compare(at(a), at(b)) })
	frames := make(map[string]series.Frame, len(newest))
	for len(byTime) > 0 {
		first, last := at(byTime[0]), at(byTime[0])
		var ids []string
		for _, f := range byTime {
			if at(f)-first > together {
				break
			}
			ids, last = append(ids, f.AssetID), at(f)
		}
		byTime = byTime[len(ids):]
		for f, err := range s.Telemetry.ReadUnits(ctx, siteID, ids, time.Unix(first, 0).Add(-pad), time.Unix(last+1, 0).Add(pad)) {
			if err != nil {
				return nil, err
			}
			frames[f.AssetID] = f.Frame
		}
	}
	return frames, nil
}

// writeRecords writes the array of one unit's records behind prefix and returns
// their number; it writes nothing if there are none. The last of a limited page
// carries the cursor of the next.
func (s *server) writeRecords(ctx context.Context, b *body, q records, site api.Site, prefix []byte) (n int, err error) {
	w := newRecordWriter(site.SiteID, q.assetID)
	var failed error
	emit := func(v *sample) bool {
		if q.cursor && v.at <= q.after {
			return true
		}
		if n == 0 {
			b.buf = append(append(b.buf, prefix...), '[')
		} else {
			b.buf = append(b.buf, ',')
		}
		n++
		b.buf = w.append(b.buf, v, n == q.limit)
		failed = b.pass()
		return failed == nil && n != q.limit
	}
	if q.resolution == api.ResolutionDaily {
		err = s.days(ctx, q, site, emit)
	} else {
		p := span{siteID: site.SiteID, assetID: q.assetID, from: q.from.Unix(), to: q.to.Unix(), step: steps[q.resolution], usual: q.usual[q.assetID]}
		if p.zone, err = zoneOf(site); err != nil {
			return n, err
		}
		if q.cursor {
			p.from = max(p.from, q.after+1)
		}
		err = samples(ctx, s.Telemetry, p, emit)
	}
	if err == nil {
		err = failed
	}
	if n > 0 {
		b.buf = append(b.buf, ']')
	}
	return n, err
}

// days emits a unit's stored days: the energy, and as power its mean over the
// whole day.
func (s *server) days(ctx context.Context, q records, site api.Site, emit func(*sample) bool) error {
	zone, err := zoneOf(site)
	if err != nil {
		return err
	}
	sums, err := s.Telemetry.Daily(ctx, site.SiteID, q.from, q.to, q.assetID)
	if err != nil {
		return err
	}
	v := unknown
	for i, d := range sums {
		v.at, v.day = d.Day.Unix(), &sums[i]
		v.energyKWh = rounded(d.EnergyKWh)
		v.powerKW = rounded(d.EnergyKWh / series.NextMidnight(d.Day, zone).Sub(d.Day).Hours())
		if !emit(&v) {
			return nil
		}
	}
	return nil
}

var zones sync.Map // name → *time.Location; there are some 600 names

func zoneOf(site api.Site) (*time.Location, error) {
	if z, ok := zones.Load(site.Timezone); ok {
		return z.(*time.Location), nil
	}
	z, err := time.LoadLocation(site.Timezone)
	if err == nil {
		zones.Store(site.Timezone, z)
	}
	return z, err
}
