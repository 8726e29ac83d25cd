package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"

	"app.sunloop/backend/store"
)

// The file format of bbolt, as far as its structure is verified here. Integers
// are in the byte order of the machine.
const (
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaBytes   = 64

	pageHeadBytes = 16
	elementBytes  = 16
	bucketBytes   = 16 // root page and sequence of a bucket

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10

	bucketElement = 0x01

	noFreelist = math.MaxUint64
	manyFree   = 0xFFFF // of a freelist page's count: the first id is the count

	minPageBytes, maxPageBytes = 512, 1 << 20
)

var native = binary.NativeEndian

// pageHead is the head of a page.
type pageHead struct {
	id       uint64
	flags    uint16
	count    int
	overflow uint64 // pages that belong to this one
}

func readHead(b []byte) pageHead {
	return pageHead{native.Uint64(b), native.Uint16(b[8:]), int(native.Uint16(b[10:])), uint64(native.Uint32(b[12:]))}
}

// fileMeta is a meta page: one committed state of the file.
type fileMeta struct {
	pageSize             int64
	root, freelist, high uint64 // high is the number of pages
	txid                 uint64
}

// readMeta reads a meta page and verifies its checksum.
func readMeta(r io.ReaderAt, id uint64, pageSize int64) (m fileMeta, err error) {
	page := make([]byte, pageHeadBytes+metaBytes)
	if _, err := r.ReadAt(page, int64(id)*pageSize); err != nil {
		return m, damage("read meta page %d: %w", id, err)
	}
	head, b := readHead(page), page[pageHeadBytes:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaBytes-8])
	switch {
	case head.id != id || head.flags != metaPage:
		return m, damage("page %d is not a meta page", id)
	case native.Uint32(b) != metaMagic || native.Uint32(b[4:]) != metaVersion:
		return m, damage("meta page %d is not of a database of this format", id)
	case native.Uint64(b[metaBytes-8:]) != sum.Sum64():
		return m, damage("meta page %d does not match its checksum", id)
	}
	m = fileMeta{
		pageSize: int64(native.Uint32(b[8:])), root: native.Uint64(b[16:]), freelist: native.Uint64(b[32:]),
		high: native.Uint64(b[40:]), txid: native.Uint64(b[48:]),
	}
	if m.pageSize < minPageBytes || m.pageSize > maxPageBytes || m.pageSize&(m.pageSize-1) != 0 {
		return m, damage("meta page %d gives pages of %d bytes", id, m.pageSize)
	}
	return m, nil
}

// readMetas reads both meta pages and returns the newer state. Both must be
// whole: bbolt would fall back to the older one, without the last commit. A
// power loss does not damage them, since a meta page lies within a sector.
func readMetas(f *os.File) (m fileMeta, err error) {
	info, err := f.Stat()
	if err != nil {
		return m, err
	}
	if info.Size() == 0 {
		return m, damage("the file is empty")
	}
	m, err = readMeta(f, 0, 0)
	if err != nil {
		return m, err
	}
	other, err := readMeta(f, 1, m.pageSize)
	if err != nil {
		return m, err
	}
	if other.pageSize != m.pageSize {
		return m, damage("the meta pages give pages of %d and of %d bytes", m.pageSize, other.pageSize)
	}
	if other.txid > m.txid {
		m = other
	}
	if have := info.Size() / m.pageSize; m.high > uint64(have) || m.high < 3 {
		return m, damage("%s has %d bytes of %d: its end is missing", fileName, info.Size(), int64(min(m.high, 1<<40))*m.pageSize)
	}
	return m, nil
}

// damage is an error that wraps [store.ErrDamaged].
func damage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", store.ErrDamaged, fmt.Errorf(format, args...))
}

// errStop ends a walk: its first fault was reported.
var errStop = errors.New("first fault found")
