package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"app.sunloop/backend/store"
)

const (
	// maxDepth is deeper than any tree of pages, so that a walk ends.
	maxDepth = 40
	// maxFaults is how many faults a verification reports.
	maxFaults = 1000
	// verifyCheck is the number of pages read between checks of the
	// context.
	verifyCheck = 64
)

// verify reads the pages of a file without mapping it and reports what is wrong
// with them. It always ends: each page is read once at most.
//
// The structure is verified in full: each page has the number of its position,
// a type that belongs there, and exactly the entries that its header counts;
// keys ascend within and between pages; no page is referenced twice, both free
// and in use, or outside the file; each bucket is one that belongs there, and
// holds a row whose checksum is of that bucket. What a bucket does not have was
// therefore never stored in it. With rows, the checksum of each row is
// verified.
type verify struct {
	ctx    context.Context
	file   io.ReaderAt
	meta   fileMeta
	used   []bool // by page
	sums   bool   // the rows carry checksums
	rows   bool   // verify each
	report func(error) error
	read   int // pages

	version uint32 // of the schema, once tree has read it
}

// verifyFile verifies a file in its newest state, with the list of free pages.
// report returns an error to end the walk.
func verifyFile(ctx context.Context, f *os.File, rows bool, report func(error) error) error {
	m, err := readMetas(f)
	if err != nil {
		return report(err)
	}
	v := &verify{ctx: ctx, file: f, meta: m, rows: rows, report: report}
	if err := v.tree(); err != nil {
		return err
	}
	return v.free()
}

// verifyStructure returns the schema of a file, or the first fault in its
// structure.
func verifyStructure(f *os.File) (schema uint32, err error) {
	m, err := readMetas(f)
	if err != nil {
		return 0, err
	}
	v := &verify{ctx: context.Background(), file: f, meta: m, report: func(err error) error {
		if errors.As(err, new(lostPages)) {
			return nil // nothing in use is affected
		}
		return err
	}}
	if err := v.tree(); err != nil {
		return 0, err
	}
	return v.version, v.free()
}

func (v *verify) fault(format string, args ...any) error { return v.report(damage(format, args...)) }

// tree verifies all buckets.
func (v *verify) tree() error {
	v.used = make([]bool, v.meta.high)
	v.used[0], v.used[1] = true, true
	schema, err := v.schema()
	if err != nil {
		return v.report(err)
	}
	v.version, v.sums = schema, schema >= sumSchema
	top := &level{v: v, kind: topLevel, name: "the list of buckets"}
	if err := v.page(top, v.meta.root, nil, nil, 0); err != nil {
		return err
	}
	return top.end(schema)
}

// free verifies the list of free pages, and reports pages that are neither free
// nor in use.
func (v *verify) free() error {
	if v.meta.freelist != noFreelist {
		if err := v.freelist(); err != nil {
			return err
		}
	}
	lost := 0
	for _, used := range v.used {
		if !used {
			lost++
		}
	}
	if lost > 0 && v.meta.freelist != noFreelist {
		return v.report(damage("%w", lostPages{lost}))
	}
	return nil
}

// lostPages are pages that are neither free nor in use.
type lostPages struct{ n int }

func (e lostPages) Error() string {
	return fmt.Sprintf("%d pages are neither in use nor free", e.n)
}

func (v *verify) freelist() error {
	id := v.meta.freelist
	head, err := v.head(id)
	if err != nil {
		return v.report(err)
	}
	if head.flags != freelistPage {
		return v.fault("page %d is not a list of free pages", id)
	}
	if err := v.use(id, head.overflow); err != nil {
		return v.report(err)
	}
	b, err := v.bytes(id, head.overflow)
	if err != nil {
		return v.report(err)
	}
	ids, count := b[pageHeadBytes:], uint64(head.count)
	if count == manyFree {
		count, ids = native.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return v.fault("the list of %d free pages is longer than its page %d", count, id)
	}
	last := uint64(0)
	for i := range count {
		free := native.Uint64(ids[i*8:])
		switch {
		case free <= last || free >= v.meta.high:
			return v.fault("the list of free pages has %d behind %d, of %d pages", free, last, v.meta.high)
		case v.used[free]:
			if err := v.fault("page %d is free and in use", free); err != nil {
				return err
			}
		}
		v.used[free], last = true, free
	}
	return nil
}

// head reads the head of a page.
func (v *verify) head(id uint64) (h pageHead, err error) {
	if v.read++; v.read%verifyCheck == 0 {
		if err := context.Cause(v.ctx); err != nil {
			return h, err
		}
	}
	if id < 2 || id >= v.meta.high {
		return h, damage("page %d is referenced, of %d pages", id, v.meta.high)
	}
	var b [pageHeadBytes]byte
	if _, err := v.file.ReadAt(b[:], int64(id)*v.meta.pageSize); err != nil {
		return h, damage("read page %d: %w", id, err)
	}
	if h = readHead(b[:]); h.id != id {
		return h, damage("page %d holds page %d", id, h.id)
	}
	if h.overflow >= v.meta.high-id {
		return h, damage("page %d has %d more pages, which the file does not have", id, h.overflow)
	}
	return h, nil
}

// use notes that a page and those that belong to it are referenced.
func (v *verify) use(id, overflow uint64) error {
	for i := id; i <= id+overflow; i++ {
		if v.used[i] {
			return damage("page %d is referenced twice", i)
		}
		v.used[i] = true
	}
	return nil
}

// bytes reads a page with those that belong to it.
func (v *verify) bytes(id, overflow uint64) ([]byte, error) {
	b := make([]byte, int64(overflow+1)*v.meta.pageSize)
	if _, err := v.file.ReadAt(b, int64(id)*v.meta.pageSize); err != nil {
		return nil, damage("read page %d: %w", id, err)
	}
	return b, nil
}

// page verifies a page of a bucket, and those under it. Its keys are within
// from <= key < to; nil is no bound.
func (v *verify) page(l *level, id uint64, from, to []byte, depth int) error {
	head, err := v.head(id)
	if err == nil && depth > maxDepth {
		err = damage("page %d of %s is %d pages below its root", id, l.name, depth)
	}
	if err == nil {
		err = v.use(id, head.overflow)
	}
	var b []byte
	if err == nil {
		b, err = v.content(l, id, head)
	}
	if err != nil {
		if cause := context.Cause(v.ctx); cause != nil {
			return cause
		}
		return v.report(err)
	}
	if head.flags == leafPage {
		return v.leaf(l, fmt.Sprint("page ", id), b, head.count, from, to)
	}
	return v.branch(l, id, b, head.count, from, to, depth)
}

// content reads a page of a tree. It is as long as its entries need, which is
// known before all of it is read.
func (v *verify) content(l *level, id uint64, head pageHead) ([]byte, error) {
	if head.flags != leafPage && head.flags != branchPage {
		return nil, damage("page %d of %s has the type %#x", id, l.name, head.flags)
	}
	whole := int64(head.overflow+1) * v.meta.pageSize
	entries := int64(pageHeadBytes) + int64(head.count)*elementBytes
	if entries > whole {
		return nil, damage("page %d of %s counts %d entries, for which it has no room", id, l.name, head.count)
	}
	first := make([]byte, max(entries, v.meta.pageSize))
	if _, err := v.file.ReadAt(first, int64(id)*v.meta.pageSize); err != nil {
		return nil, damage("read page %d: %w", id, err)
	}
	size, err := extent(first[pageHeadBytes:], head.count, head.flags == leafPage)
	if err != nil {
		return nil, damage("page %d of %s: %w", id, l.name, err)
	}
	size += pageHeadBytes
	if pages := (size + v.meta.pageSize - 1) / v.meta.pageSize; pages != int64(head.overflow)+1 {
		return nil, damage("page %d of %s has entries for %d pages, not %d", id, l.name, pages, head.overflow+1)
	}
	if size <= int64(len(first)) {
		return first[pageHeadBytes:size], nil
	}
	b := make([]byte, size)
	if _, err := v.file.ReadAt(b, int64(id)*v.meta.pageSize); err != nil {
		return nil, damage("read page %d: %w", id, err)
	}
	return b[pageHeadBytes:], nil
}

// extent is the size of a page's entries, of which each key and value lies
// behind the one before.
func extent(b []byte, count int, leaf bool) (int64, error) {
	end := int64(count) * elementBytes
	for i := range count {
		e := b[i*elementBytes:]
		at, size := int64(native.Uint32(e)), int64(native.Uint32(e[4:]))
		if leaf {
			at, size = int64(native.Uint32(e[4:])), int64(native.Uint32(e[8:]))+int64(native.Uint32(e[12:]))
		}
		if at+int64(i)*elementBytes != end {
			return 0, fmt.Errorf("entry %d lies where it does not belong", i)
		}
		end += size
	}
	return end, nil
}

// branch verifies a page that refers to others, by the first key of each.
func (v *verify) branch(l *level, id uint64, b []byte, count int, from, to []byte, depth int) error {
	if count == 0 {
		return v.fault("page %d of %s refers to nothing", id, l.name)
	}
	key := func(i int) []byte {
		e := b[i*elementBytes:]
		at := i*elementBytes + int(native.Uint32(e))
		return b[at : at+int(native.Uint32(e[4:]))]
	}
	for i := range count {
		first, end := key(i), to
		if i+1 < count {
			end = key(i + 1)
		}
		if !within(first, from, to) || end != nil && bytes.Compare(first, end) >= 0 {
			return v.fault("page %d of %s has keys that do not ascend", id, l.name)
		}
		if err := v.page(l, native.Uint64(b[i*elementBytes+8:]), first, end, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf verifies entries of a bucket, which lie in a page or in the entry of a
// small bucket.
func (v *verify) leaf(l *level, place string, b []byte, count int, from, to []byte) error {
	var last []byte
	at := count * elementBytes
	for i := range count {
		e := b[i*elementBytes:]
		flags, keySize, valueSize := native.Uint32(e), int(native.Uint32(e[8:])), int(native.Uint32(e[12:]))
		key, value := b[at:at+keySize], b[at+keySize:at+keySize+valueSize]
		at += keySize + valueSize
		if flags&^uint32(bucketElement) != 0 {
			return v.fault("entry %d of %s of %s has the type %#x", i, place, l.name, flags)
		}
		if !within(key, from, to) || last != nil && bytes.Compare(key, last) <= 0 || keySize == 0 {
			return v.fault("%s of %s has keys that do not ascend", place, l.name)
		}
		last = key
		var err error
		if flags == bucketElement {
			err = v.bucket(l, key, value)
		} else {
			err = l.row(key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket verifies a bucket within another.
func (v *verify) bucket(in *level, key, value []byte) error {
	l, err := in.inner(key)
	if err != nil {
		return v.report(err)
	}
	if len(value) < bucketBytes {
		return v.fault("%s has no root", l.name)
	}
	root := native.Uint64(value)
	switch {
	case root == 0:
		page := value[bucketBytes:]
		if len(page) < pageHeadBytes {
			return v.fault("%s has no page", l.name)
		}
		head := readHead(page)
		entries := page[pageHeadBytes:]
		if head.id != 0 || head.flags != leafPage || head.overflow != 0 {
			return v.fault("the page within %s is not one of entries", l.name)
		}
		if _, err := extentWithin(entries, head.count); err != nil {
			return v.fault("the page within %s: %w", l.name, err)
		}
		err = v.leaf(l, "the page", entries, head.count, nil, nil)
	case len(value) != bucketBytes:
		return v.fault("%s has a root and a page", l.name)
	default:
		err = v.page(l, root, nil, nil, 0)
	}
	if err != nil {
		return err
	}
	return l.end(0)
}

// Kinds of buckets, by what they may hold.
const (
	topLevel   = iota // buckets alone
	metaLevel         // the rows of the schema
	sitesLevel        // a bucket for each site
	siteLevel         // of a site: two rows, four buckets
	rowsLevel         // rows alone
)

// level is a bucket that is being verified.
type level struct {
	v      *verify
	kind   int
	name   string   // for people
	seed   uint32   // of its checksums
	inners []string // of the buckets in it
	rows   int
	proven bool // a row has a checksum of this bucket
}

// inner is a bucket in this one.
func (l *level) inner(key []byte) (*level, error) {
	name := string(key)
	l.inners = append(l.inners, name)
	in := &level{v: l.v, kind: rowsLevel, name: fmt.Sprintf("bucket %q", name), seed: bucketSeed(l.seed, key)}
	switch l.kind {
	case topLevel:
		switch {
		case name == string(metaBucket):
			in.kind = metaLevel
		case name == string(telemetryBucket):
			in.kind = sitesLevel
		case !bytes.HasPrefix(key, []byte(recordPrefix)) && !slices.ContainsFunc(ownBuckets, func(own []byte) bool { return string(own) == name }):
			return in, damage("%s is not one of this schema", in.name)
		}
	case sitesLevel:
		in.kind, in.name = siteLevel, fmt.Sprintf("the telemetry of site %q", name)
	case siteLevel:
		in.name = fmt.Sprintf("%s of %s", name, l.name)
		if !slices.ContainsFunc(siteBuckets, func(own []byte) bool { return string(own) == name }) {
			return in, damage("%s does not belong there", in.name)
		}
	default:
		return in, damage("%s is a bucket within %s", in.name, l.name)
	}
	return in, nil
}

// row verifies a row of the bucket.
func (l *level) row(key, value []byte) error {
	switch l.kind {
	case topLevel, sitesLevel:
		return l.v.fault("%s has a row where buckets belong", l.name)
	case metaLevel:
		return nil // verified by schema
	case siteLevel:
		if name := string(key); name != string(siteKey) && name != string(assetIndexKey) {
			return l.v.fault("%s has the row %q, which does not belong there", l.name, name)
		}
	}
	l.rows++
	if !l.v.sums || l.proven && !l.v.rows {
		return nil
	}
	_, ok := openValue(l.seed, key, value)
	if ok {
		l.proven = true
	} else if l.v.rows {
		return l.v.fault("the row %s of %s does not match its checksum", keyText(key), l.name)
	}
	return nil
}

// end verifies what the bucket should have had.
func (l *level) end(schema uint32) error {
	missing := func(names [][]byte) error {
		for _, name := range names {
			if !slices.Contains(l.inners, string(name)) {
				return l.v.fault("%s lacks the bucket %q", l.name, name)
			}
		}
		return nil
	}
	switch {
	case l.kind == topLevel && schema > 0:
		return missing(ownBuckets)
	case l.kind == siteLevel:
		if err := missing(siteBuckets); err != nil {
			return err
		}
	}
	if l.v.sums && l.rows > 0 && !l.proven {
		return l.v.fault("no row of %s matches its checksum", l.name)
	}
	return nil
}

// schema finds the version of the file's layout; 0 in a file without any data.
func (v *verify) schema() (uint32, error) {
	flags, value, any, err := v.find(v.meta.root, metaBucket)
	switch {
	case err != nil:
		return 0, err
	case value == nil && !any:
		return 0, nil
	case value == nil || flags != bucketElement || len(value) < bucketBytes:
		return 0, damage("the bucket of the schema is missing")
	}
	rows := map[string][]byte{}
	for _, key := range [][]byte{schemaKey, schemaSumKey} {
		var row []byte
		if root := native.Uint64(value); root != 0 {
			_, row, _, err = v.find(root, key)
		} else if page := value[bucketBytes:]; len(page) >= pageHeadBytes {
			head := readHead(page)
			if _, err = extentWithin(page[pageHeadBytes:], head.count); err == nil {
				_, row = search(page[pageHeadBytes:], head.count, key)
			}
		}
		if err != nil {
			return 0, damage("read the schema: %w", err)
		}
		rows[string(key)] = row
	}
	return schemaOf(rows[string(schemaKey)], rows[string(schemaSumKey)])
}

// find looks up an entry of a bucket; value is nil without one. any
// reports whether the bucket has entries.
func (v *verify) find(id uint64, key []byte) (flags uint32, value []byte, any bool, err error) {
	l := &level{name: "the buckets"}
	for range maxDepth {
		head, err := v.head(id)
		if err != nil {
			return 0, nil, false, err
		}
		b, err := v.content(l, id, head)
		if err != nil {
			return 0, nil, false, err
		}
		if head.flags == leafPage {
			flags, value = search(b, head.count, key)
			return flags, value, any || head.count > 0, nil
		}
		if head.count == 0 {
			break
		}
		any = true
		for i := range head.count {
			e := b[i*elementBytes:]
			at := i*elementBytes + int(native.Uint32(e))
			if i == 0 || bytes.Compare(b[at:at+int(native.Uint32(e[4:]))], key) <= 0 {
				id = native.Uint64(e[8:])
			}
		}
	}
	return 0, nil, any, damage("the tree of pages has no end")
}

// extentWithin is extent of entries that must lie within b.
func extentWithin(b []byte, count int) (int64, error) {
	if count*elementBytes > len(b) {
		return 0, fmt.Errorf("no room for %d entries", count)
	}
	size, err := extent(b, count, true)
	if err == nil && size != int64(len(b)) {
		err = fmt.Errorf("%d bytes of entries of %d", len(b), size)
	}
	return size, err
}

// search looks up an entry of a leaf whose extent was verified.
func search(b []byte, count int, key []byte) (flags uint32, value []byte) {
	at := count * elementBytes
	for i := range count {
		e := b[i*elementBytes:]
		keySize, valueSize := int(native.Uint32(e[8:])), int(native.Uint32(e[12:]))
		if bytes.Equal(b[at:at+keySize], key) {
			return native.Uint32(e), b[at+keySize : at+keySize+valueSize : at+keySize+valueSize]
		}
		at += keySize + valueSize
	}
	return 0, nil
}

// keyText is a key for people.
func keyText(key []byte) string {
	if parts := store.Parts(key); parts != nil {
		return fmt.Sprintf("%q", parts)
	}
	return fmt.Sprintf("%q", key)
}
