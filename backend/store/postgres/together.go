//go:build !gateway

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
)

// Together calls do for 0 to n-1 in goroutines whose reads share one transaction. When all
// of them wait for a read, those of one kind are made in one query: the number of queries is
// that of the goroutine with the most reads, however many there are.
func (s *Store) Together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	if n == 0 {
		return nil
	}
	if store.JoinedTx(ctx) != nil || batchReaderOf(ctx) != nil {
		return errors.New("read together: a transaction is open")
	}
	return s.transact(ctx, snapshot, func(tx pgx.Tx) error {
		b := &batcher{tx: tx, asked: make(chan *request), ended: make(chan *batchReader), over: make(chan struct{})}
		errs := make([]error, n)
		for i := range n {
			reader := &batchReader{b: b}
			go func() {
				defer func() { b.ended <- reader }()
				errs[i] = do(store.WithTogether(ctx, reader), i)
			}()
		}
		if b.serve(ctx, n); b.broken != nil {
			return fault("read together", b.broken) // and not what followed from it
		}
		return errors.Join(errs...)
	})
}

// batchReaderOf returns the reader whose reads ctx has; nil outside of Together.
func batchReaderOf(ctx context.Context) *batchReader {
	s, _ := store.TogetherOf(ctx).(*batchReader)
	return s
}

// batcher answers the reads of a running Together.
type batcher struct {
	tx    pgx.Tx
	asked chan *request
	ended chan *batchReader
	over  chan struct{} // closed at the end
	held  int           // estimated bytes of rows that readers keep

	broken error // the first error of the database, which answers all further reads
}

// idle is after how long waiting reads are made although not all goroutines wait: one of
// them may wait for another.
const idle = 100 * time.Millisecond

// serve answers the reads of n readers until all have ended.
func (b *batcher) serve(ctx context.Context, n int) {
	defer close(b.over)
	tick := time.NewTicker(idle)
	defer tick.Stop()
	var waiting []*request
	for before := 0; n > 0; {
		select {
		case q := <-b.asked:
			waiting = append(waiting, q)
		case s := <-b.ended:
			b.held -= s.held
			n--
		case <-tick.C:
			if len(waiting) > 0 && len(waiting) == before {
				waiting = b.answer(ctx, waiting)
			}
			before = len(waiting)
		}
		if len(waiting) > 0 && len(waiting) >= n {
			waiting = b.answer(ctx, waiting)
		}
	}
}

// kind is the kind of a read.
type kind int

// The kinds.
const (
	readValues kind = iota
	readPage
	readSite
	readAssets
	readRows
	readOverlapping
	readAlone // is not gathered
	kinds
)

// request is a read that waits for its answer.
type request struct {
	kind   kind
	reader *batchReader
	alone  func(ctx context.Context, d direct) error

	bucket string
	keys   [][]byte
	within keyRange
	limit  int

	site         string
	section      telemetry.Section
	refs         []int32
	starts       []int64
	from, to     int64
	expect       int // bytes, estimated
	values       [][]byte
	entries      []store.Entry
	layout, list []byte
	assets       []telemetry.Asset
	cells        []telemetry.Cell

	err  error
	done chan struct{}
}

// maxHeld is how many bytes of rows of open days readers may keep together.
const maxHeld = 32 << 20

// answer answers requests, and returns those that wait for memory.
func (b *batcher) answer(ctx context.Context, requests []*request) (later []*request) {
	var by [kinds][]*request
	for i, q := range requests {
		if q.kind == readRows {
			if last := i == len(requests)-1 && len(later) == i; b.held > 0 && b.held+q.expect > maxHeld && !last {
				later = append(later, q)
				continue
			}
			b.held, q.reader.held = b.held+q.expect, q.reader.held+q.expect
		}
		by[q.kind] = append(by[q.kind], q)
	}
	for k, list := range by {
		if len(list) == 0 {
			continue
		}
		if b.broken == nil {
			b.broken = b.read(ctx, kind(k), list)
		}
		for _, q := range list {
			q.err = b.broken
			close(q.done)
		}
	}
	return later
}

// read makes reads of one kind.
func (b *batcher) read(ctx context.Context, k kind, list []*request) error {
	switch k {
	case readValues:
		return b.values(ctx, list)
	case readPage:
		return b.pages(ctx, list)
	case readSite:
		return b.sites(ctx, list)
	case readAssets:
		return b.assets(ctx, list)
	case readRows:
		return b.rows(ctx, list)
	case readOverlapping:
		return b.overlapping(ctx, list)
	}
	for _, q := range list {
		if err := q.alone(ctx, direct{b.tx}); err != nil {
			return err
		}
	}
	return nil
}

func (b *batcher) values(ctx context.Context, list []*request) error {
	w := wantedValues{}
	for _, q := range list {
		w.add(q.bucket, q.keys)
	}
	values, err := w.read(ctx, b.tx)
	if err != nil {
		return err
	}
	for _, q := range list {
		q.values, values = values[:len(q.keys):len(q.keys)], values[len(q.keys):]
	}
	return nil
}

// pages reads ranges within shards in one query for each form of it, others one by one.
func (b *batcher) pages(ctx context.Context, list []*request) error {
	forms := map[[2]bool][]*request{}
	for _, q := range list {
		_, _, end, ok := q.within.shard()
		if !ok {
			var err error
			if q.entries, err = (direct{b.tx}).page(ctx, q.within, q.limit); err != nil {
				return err
			}
			continue
		}
		form := [2]bool{q.within.reverse, end != nil}
		forms[form] = append(forms[form], q)
	}
	for form, list := range forms {
		if err := b.pagesOf(ctx, list, form[0], form[1]); err != nil {
			return err
		}
	}
	return nil
}

func (b *batcher) pagesOf(ctx context.Context, list []*request, reverse, bounded bool) error {
	var buckets []string
	var shards, begins, ends [][]byte
	var limits []int64
	for _, q := range list {
		shard, begin, end, _ := q.within.shard()
		buckets, shards, begins, limits = append(buckets, q.within.bucket), append(shards, shard), append(begins, begin), append(limits, int64(q.limit))
		if end == nil {
			end = []byte{}
		}
		ends = append(ends, end)
	}
	before, order := ``, ``
	if bounded {
		before = ` AND t.key < w.before`
	}
	if reverse {
		order = ` DESC`
	}
	rows, err := b.tx.Query(ctx, `SELECT w.n::integer, c.key, c.value FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[]) WITH ORDINALITY AS w (bucket, shard, begin, before, most, n)
		CROSS JOIN LATERAL (SELECT key, value FROM sunloop.kv t WHERE t.bucket = w.bucket COLLATE "C" AND t.shard = w.shard AND t.key >= w.begin`+before+`
			ORDER BY t.key`+order+` LIMIT w.most) c ORDER BY w.n, c.key`+order, buckets, shards, begins, ends, limits)
	if err != nil {
		return err
	}
	var n int
	var key, value pgtype.DriverBytes
	_, err = pgx.ForEachRow(rows, []any{&n, &key, &value}, func() error {
		q, shard := list[n-1], shards[n-1]
		of := len(shard) + len(key)
		b := make([]byte, 0, of+len(value))
		b = append(append(append(b, shard...), key...), value...)
		q.entries = append(q.entries, store.Entry{Key: b[:of:of], Value: b[of:]})
		return nil
	})
	return err
}

// sitesOf returns the ids of the sites of requests, and the requests by site.
func sitesOf(list []*request) (ids []string, of map[string][]*request) {
	of = map[string][]*request{}
	for _, q := range list {
		if of[q.site] == nil {
			ids = append(ids, q.site)
		}
		of[q.site] = append(of[q.site], q)
	}
	return ids, of
}

func (b *batcher) sites(ctx context.Context, list []*request) error {
	ids, of := sitesOf(list)
	rows, err := b.tx.Query(ctx, `SELECT site, layout, roster FROM sunloop.site WHERE site = ANY($1::text[])`, ids)
	if err != nil {
		return err
	}
	var id string
	var layout, roster []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &layout, &roster}, func() error {
		for _, q := range of[id] {
			q.layout, q.list = layout, roster // made for each row
		}
		return nil
	})
	return err
}

func (b *batcher) assets(ctx context.Context, list []*request) error {
	ids, of := sitesOf(list)
	rows, err := b.tx.Query(ctx, `SELECT site, asset, ref FROM sunloop.asset WHERE site = ANY($1::text[]) ORDER BY site, asset`, ids)
	if err != nil {
		return err
	}
	var id string
	var a telemetry.Asset
	_, err = pgx.ForEachRow(rows, []any{&id, &a.ID, &a.Ref}, func() error {
		for _, q := range of[id] {
			q.assets = append(q.assets, a)
		}
		return nil
	})
	return err
}

// rows reads rows of open days.
func (b *batcher) rows(ctx context.Context, list []*request) error {
	var sites []string
	var from, to []int64
	var limits []int64
	for _, q := range list {
		sites, from, to, limits = append(sites, q.site), append(from, q.from), append(to, q.to), append(limits, int64(q.limit))
	}
	rows, err := b.tx.Query(ctx, `SELECT w.n::integer, c.start, c.value FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS w (site, since, before, most, n)
		CROSS JOIN LATERAL (SELECT start, value FROM sunloop.tail t WHERE t.site = w.site COLLATE "C" AND t.ref = 0 AND t.start >= w.since AND t.start < w.before
			ORDER BY t.start LIMIT w.most) c`, sites, from, to, limits)
	if err != nil {
		return err
	}
	var n int
	var start int64
	var value pgtype.DriverBytes
	var memory []byte // of many values
	_, err = pgx.ForEachRow(rows, []any{&n, &start, &value}, func() error {
		if cap(memory)-len(memory) < len(value) {
			memory = make([]byte, 0, max(len(value), 1<<14))
		}
		at := len(memory)
		memory = append(memory, value...)
		q := list[n-1]
		q.cells = append(q.cells, telemetry.Cell{Location: telemetry.Location{Start: start}, Value: memory[at:len(memory):len(memory)]})
		return nil
	})
	for _, q := range list {
		slices.SortFunc(q.cells, func(a, b telemetry.Cell) int { return cmp.Compare(a.Start, b.Start) }) // they nearly always are
	}
	return err
}

// overlapping reads blocks and sums.
func (b *batcher) overlapping(ctx context.Context, list []*request) error {
	for _, p := range []telemetry.Section{telemetry.Blocks, telemetry.Sums} {
		var of []*request // of each ref
		var sites []string
		var refs []int32
		var sinces, ends, limits []int64
		for _, q := range list {
			if q.section != p {
				continue
			}
			for i, ref := range q.refs {
				of, sites, refs, sinces, ends, limits = append(of, q), append(sites, q.site), append(refs, ref), append(sinces, q.starts[i]), append(ends, q.to), append(limits, int64(q.limit))
			}
		}
		if len(of) == 0 {
			continue
		}
		rows, err := b.tx.Query(ctx, `SELECT r.n::integer, r.ref, c.start, c.value FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY AS r (site, ref, since, before, most, n)
			CROSS JOIN LATERAL (SELECT start, value FROM sunloop.`+tables[p]+` t WHERE t.site = r.site COLLATE "C" AND t.ref = r.ref AND t.start < r.before
				AND t.start >= coalesce((SELECT max(start) FROM sunloop.`+tables[p]+` b WHERE b.site = r.site COLLATE "C" AND b.ref = r.ref AND b.start <= r.since), r.since)
				ORDER BY t.start LIMIT r.most) c
			ORDER BY r.n, c.start`, sites, refs, sinces, ends, limits)
		if err != nil {
			return err
		}
		var n int
		var c telemetry.Cell
		_, err = pgx.ForEachRow(rows, []any{&n, &c.Ref, &c.Start, &c.Value}, func() error {
			if q := of[n-1]; len(q.cells) < q.limit {
				q.cells = append(q.cells, c) // its value is made for each row
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// batchReader has the reads of one goroutine of Together. What it read of a site's telemetry it
// keeps, and short records too, since the transaction sees one state.
type batchReader struct {
	b    *batcher
	held int // bytes of rows, estimated; belongs to the batcher

	mu    sync.Mutex
	sites map[string]*siteReads
	got   map[string][]byte        // values by bucket and key; nil for those that are absent
	pages map[string][]store.Entry // by range and number
	kept  int                      // bytes of got and pages
}

// maxKept is how many bytes of records a reader keeps.
const maxKept = 256 << 10

// keep reports whether a reader has room for n bytes more. The mutex is held.
func (s *batchReader) keep(n int) bool {
	if s.kept+n > maxKept {
		return false
	}
	s.kept += n
	return true
}

// siteReads is what was read of a site.
type siteReads struct {
	layout, roster []byte
	assets         []telemetry.Asset
	allAssets      bool // assets were read
	rows           []telemetry.Cell
	from, to       int64 // of the rows
}

// ask waits for the answer to a request.
func (s *batchReader) ask(ctx context.Context, q *request) error {
	q.reader, q.done = s, make(chan struct{})
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.b.asked <- q:
	case <-s.b.over:
		return errors.New("read together: all have ended")
	}
	<-q.done
	return q.err
}

// known returns what was read of a site; nil before its row was.
func (s *batchReader) known(id string) *siteReads {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sites[id]
}

func (s *batchReader) value(ctx context.Context, bucket string, key []byte) ([]byte, error) {
	values, err := s.values(ctx, bucket, [][]byte{key})
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

func (s *batchReader) values(ctx context.Context, bucket string, keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	q := &request{kind: readValues, bucket: bucket}
	var at []int // places of the keys that are asked for
	s.mu.Lock()
	for i, key := range keys {
		if v, ok := s.got[ident(bucket, key)]; ok {
			values[i] = v
			continue
		}
		q.keys, at = append(q.keys, key), append(at, i)
	}
	s.mu.Unlock()
	if len(at) == 0 {
		return values, nil
	}
	if err := s.ask(ctx, q); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got = map[string][]byte{}
	}
	for i, v := range q.values {
		values[at[i]] = v
		if id := ident(bucket, q.keys[i]); s.keep(len(id) + len(v)) {
			s.got[id] = v
		}
	}
	return values, nil
}

func (s *batchReader) page(ctx context.Context, r keyRange, n int) ([]store.Entry, error) {
	id := fmt.Sprintf("%q %q %q %t %d", r.bucket, r.from, r.to, r.reverse, n)
	if r.to == nil {
		id += " to the end"
	}
	s.mu.Lock()
	kept, ok := s.pages[id]
	s.mu.Unlock()
	if ok {
		return kept, nil
	}
	q := &request{kind: readPage, within: r, limit: n}
	if err := s.ask(ctx, q); err != nil {
		return nil, err
	}
	size := len(id)
	for _, e := range q.entries {
		size += len(e.Key) + len(e.Value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keep(size) {
		if s.pages == nil {
			s.pages = map[string][]store.Entry{}
		}
		s.pages[id] = q.entries
	}
	return q.entries, nil
}

func (s *batchReader) site(ctx context.Context, id string) (layout, roster []byte, err error) {
	if k := s.known(id); k != nil {
		return k.layout, k.roster, nil
	}
	q := &request{kind: readSite, site: id}
	if err := s.ask(ctx, q); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sites == nil {
		s.sites = map[string]*siteReads{}
	}
	s.sites[id] = &siteReads{layout: q.layout, roster: q.list}
	return q.layout, q.list, nil
}

func (s *batchReader) assets(ctx context.Context, site string, ids []string) ([]telemetry.Asset, error) {
	k := s.known(site)
	s.mu.Lock()
	list, read := k.assets, k.allAssets
	s.mu.Unlock()
	if !read {
		q := &request{kind: readAssets, site: site}
		if err := s.ask(ctx, q); err != nil {
			return nil, err
		}
		list = q.assets
		s.mu.Lock()
		k.assets, k.allAssets = list, true
		s.mu.Unlock()
	}
	if len(ids) == 0 {
		return slices.Clone(list), nil
	}
	named := make(map[string]bool, len(ids))
	for _, id := range ids {
		named[id] = true
	}
	var out []telemetry.Asset
	for _, a := range list {
		if named[a.ID] {
			out = append(out, a)
		}
	}
	return out, nil
}

func (s *batchReader) places(ctx context.Context, site string, p telemetry.Section, refs []int32, starts []int64) (values [][]byte, err error) {
	err = s.ask(ctx, &request{kind: readAlone, alone: func(ctx context.Context, d direct) (err error) {
		values, err = d.places(ctx, site, p, refs, starts)
		return err
	}})
	return values, err
}

func (s *batchReader) overlapping(ctx context.Context, site string, p telemetry.Section, refs []int32, sinces []int64, to int64, n int) ([]telemetry.Cell, error) {
	q := &request{kind: readOverlapping, site: site, section: p, refs: refs, starts: sinces, to: to, limit: n}
	err := s.ask(ctx, q)
	return q.cells, err
}

// rowsADay is how many rows of a day are expected, for an estimate of memory.
const rowsADay = 288

func (s *batchReader) ordered(ctx context.Context, site string, p telemetry.Section, from, to telemetry.Location, n int) (cells []telemetry.Cell, err error) {
	if p != telemetry.Tail || from.Ref != 0 || to.Ref != 0 {
		err = s.ask(ctx, &request{kind: readAlone, alone: func(ctx context.Context, d direct) (err error) {
			cells, err = d.ordered(ctx, site, p, from, to, n)
			return err
		}})
		return cells, err
	}
	if from.Start >= to.Start {
		return nil, nil
	}
	k := s.known(site)
	s.mu.Lock()
	if k.from < k.to && from.Start >= k.from && to.Start <= k.to {
		at := func(t int64) int {
			i, _ := slices.BinarySearchFunc(k.rows, t, func(c telemetry.Cell, t int64) int { return cmp.Compare(c.Start, t) })
			return i
		}
		cells = k.rows[at(from.Start):at(to.Start)]
		s.mu.Unlock()
		return cells[:min(n, len(cells))], nil
	}
	s.mu.Unlock()
	q := &request{kind: readRows, site: site, from: from.Start, to: to.Start, limit: n, expect: len(k.roster) * rowsADay}
	if err := s.ask(ctx, q); err != nil {
		return nil, err
	}
	if len(q.cells) < n { // all of the range
		s.mu.Lock()
		k.rows, k.from, k.to = q.cells, from.Start, to.Start
		s.mu.Unlock()
	}
	return q.cells, nil
}

var (
	_ reads = direct{}
	_ reads = (*batchReader)(nil)
)
