// Package spool keeps batches of samples on disk until another service has stored them.
//
// # Format, version 1
//
// A folder has segments, files named by the number of their first batch: 0000000001.seg.
// A segment begins with the line "sunloop-spool 1 EPOCH\n" and has records:
//
//	length    4 bytes, little-endian, of the payload
//	checksum  4 bytes, little-endian CRC-32C of the payload
//	payload   uvarint sequence number, uvarint number of points, uvarint number of units,
//	          and for each unit: uvarint length and bytes of its id, uvarint length and
//	          bytes of its samples as a block of package store/block
//
// A batch is on stable storage when [Spool.Append] returns. Batches are numbered from 1
// without holes; an epoch is one numbering.
package spool

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
)

// Limits and defaults.
const (
	DefaultMaxBytes = 1 << 30
	segmentBytes    = 1 << 20
	maxRecord       = 16 << 20
	maxUnits        = 10_000
	maxID           = 1024
	magic           = "sunloop-spool 1 "
	epochBytes      = 16
	epochName       = "epoch" // a file with the epoch that Renumber made
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrFull is the error of an append beyond the room of the spool, if nothing can be
// dropped.
var ErrFull = errors.New("the spool is full")

// Batch is what one append stored.
type Batch struct {
	Sequence    int
	Points      int
	First, Last int64 // times of its samples, Unix seconds
	Frames      []store.AssetFrame
}

// Extension is that of the names of segments.
const Extension = ".seg"

// Options of a spool.
type Options struct {
	MaxBytes int64 // of all segments; 0: DefaultMaxBytes
}

// segment is a file of batches, all but the last of which are never written again.
type segment struct {
	first  int // number of its first batch, if it has one
	count  int
	points int64
	size   int64
}

func (s segment) last() int { return s.first + s.count - 1 }

// Spool is a folder of batches. Its methods are safe for concurrent use.
type Spool struct {
	dir  string
	most int64

	mu       sync.Mutex
	epoch    string
	segments []segment
	file     *os.File // the last segment
	broken   bool     // the file may have a part of a record at its end
	damaged  int      // records that were not whole
	dropped  Dropped
}

// Dropped is what was deleted before it was sent, since the spool was full.
type Dropped struct {
	Batches int
	Points  int64
}

// Open opens the spool of a folder, which it makes. A record that was not written whole
// is cut off.
func Open(dir string, o Options) (*Spool, error) {
	s := &Spool{dir: dir, most: o.MaxBytes}
	if s.most == 0 {
		s.most = DefaultMaxBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open spool %s: %w", dir, err)
	}
	return s, nil
}

// load reads the segments.
func (s *Spool) load() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	switch b, err := os.ReadFile(filepath.Join(s.dir, epochName)); {
	case err == nil:
		s.epoch = strings.TrimSpace(string(b))
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	for _, e := range entries {
		first, err := strconv.Atoi(strings.TrimSuffix(e.Name(), Extension))
		if err != nil || !strings.HasSuffix(e.Name(), Extension) || first < 1 {
			continue
		}
		g := segment{first: first}
		epoch, whole, err := s.scan(&g)
		switch {
		case err != nil:
			return err
		case epoch == "": // it was made and not written: none of it was promised
			if err := os.Remove(s.path(first)); err != nil {
				return err
			}
			continue
		case s.epoch != "" && epoch != s.epoch: // of a numbering that was given up, or of one that did not begin
			if err := os.Remove(s.path(first)); err != nil {
				return err
			}
			continue
		case !whole:
			s.damaged++
			if err := os.Truncate(s.path(first), g.size); err != nil {
				return err
			}
		}
		s.epoch = epoch
		s.segments = append(s.segments, g)
	}
	slices.SortFunc(s.segments, func(a, b segment) int { return a.first - b.first })
	if len(s.segments) == 0 {
		return s.begin(1)
	}
	last := s.segments[len(s.segments)-1]
	if s.file, err = os.OpenFile(s.path(last.first), os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	return s.file.Sync() // what was cut off stays cut off
}

// begin makes an empty spool with a new epoch.
func (s *Spool) begin(first int) error {
	random := make([]byte, epochBytes)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	s.epoch = hex.EncodeToString(random)
	if err := os.Remove(filepath.Join(s.dir, epochName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.rotate(first)
}

func (s *Spool) path(first int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%010d%s", first, Extension))
}

// rotate makes a segment for the batches from first on.
func (s *Spool) rotate(first int) error {
	head := magic + s.epoch + "\n"
	f, err := os.OpenFile(s.path(first), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(head)
	if err = errors.Join(err, f.Sync()); err == nil {
		err = syncFolder(s.dir)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(s.path(first)))
	}
	if s.file != nil {
		_ = s.file.Close() // it is synced
	}
	s.file, s.broken = f, false
	s.segments = append(s.segments, segment{first: first, size: int64(len(head))})
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// scan counts the records of a segment. whole is false if something follows the last
// whole record, at g.size.
func (s *Spool) scan(g *segment) (epoch string, whole bool, err error) {
	f, err := os.Open(s.path(g.first))
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	epoch, n, err := readHead(r)
	if err != nil || epoch == "" {
		return "", false, err
	}
	g.size = int64(n)
	for {
		payload, err := readRecord(r)
		switch {
		case errors.Is(err, io.EOF):
			return epoch, true, nil
		case errors.Is(err, errDamaged):
			return epoch, false, nil
		case err != nil:
			return epoch, false, err
		}
		seq, n := binary.Uvarint(payload)
		if n <= 0 || seq != uint64(g.first+g.count) { //nolint:gosec // both are small
			return epoch, false, nil
		}
		points, n := binary.Uvarint(payload[n:])
		if n <= 0 || points > maxRecord {
			return epoch, false, nil
		}
		g.count++
		g.points += int64(points)
		g.size += int64(8 + len(payload))
	}
}

// readHead reads the first line of a segment; the epoch is empty if it is not one.
func readHead(r *bufio.Reader) (epoch string, n int, err error) {
	line := make([]byte, len(magic)+2*epochBytes+1)
	if n, err = io.ReadFull(r, line); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return "", n, err
	}
	text, isHead := bytes.CutPrefix(line, []byte(magic))
	if _, err := hex.DecodeString(string(text[:2*epochBytes])); !isHead || err != nil || text[2*epochBytes] != '\n' {
		return "", n, nil
	}
	return string(text[:2*epochBytes]), n, nil
}

// errDamaged is the error of a record that is not whole.
var errDamaged = errors.New("the record is not whole")

// readRecord reads a payload; io.EOF at the end of the segment.
func readRecord(r *bufio.Reader) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errDamaged
		}
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > maxRecord {
		return nil, errDamaged
	}
	var payload bytes.Buffer // grows as the bytes come: the length may be damaged
	if _, err := io.CopyN(&payload, r, int64(n)); errors.Is(err, io.EOF) {
		return nil, errDamaged
	} else if err != nil {
		return nil, err
	}
	if crc32.Checksum(payload.Bytes(), castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errDamaged
	}
	return payload.Bytes(), nil
}

// encode returns the record of a batch.
func encode(seq int, frames []store.AssetFrame) (b []byte, points int, err error) {
	for _, f := range frames {
		for _, c := range f.Frame.Columns {
			for _, v := range c.Values {
				if v == v {
					points++
				}
			}
		}
	}
	b = make([]byte, 8, 4096)
	b = binary.AppendUvarint(b, uint64(seq)) //nolint:gosec // from 1
	b = binary.AppendUvarint(b, uint64(points))
	b = binary.AppendUvarint(b, uint64(len(frames)))
	var samples []byte
	for _, f := range frames {
		b = binary.AppendUvarint(b, uint64(len(f.AssetID)))
		b = append(b, f.AssetID...)
		if samples, err = block.Encode(samples[:0], f.Frame); err != nil {
			return nil, 0, fmt.Errorf("asset %s: %w", f.AssetID, err)
		}
		b = binary.AppendUvarint(b, uint64(len(samples)))
		b = append(b, samples...)
	}
	if len(b)-8 > maxRecord {
		return nil, 0, fmt.Errorf("the batch has %d bytes; %d are the most", len(b)-8, maxRecord)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-8)) //nolint:gosec // at most maxRecord
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	return b, points, nil
}

// decode reads the payload of a record.
func decode(p []byte) (b Batch, err error) {
	number := func(most int) int {
		v, n := binary.Uvarint(p)
		if n <= 0 || v > uint64(most) { //nolint:gosec // positive
			err = errDamaged
			p = nil
			return 0
		}
		p = p[n:]
		return int(v) //nolint:gosec // at most most
	}
	part := func(most int) []byte {
		n := number(most)
		if n > len(p) {
			err = errDamaged
			n = 0
		}
		out := p[:n]
		p = p[n:]
		return out
	}
	b.Sequence = number(1<<31 - 1)
	b.Points = number(maxRecord)
	units := number(maxUnits)
	for range units {
		id := string(part(maxID))
		samples := part(maxRecord)
		if err != nil {
			return Batch{}, err
		}
		f, err := block.Decode(samples)
		if err != nil {
			return Batch{}, fmt.Errorf("%w: %w", errDamaged, err)
		}
		if n := f.Len(); n > 0 {
			if b.Last == 0 || f.Times[0] < b.First {
				b.First = f.Times[0]
			}
			b.Last = max(b.Last, f.Times[n-1])
		}
		b.Frames = append(b.Frames, store.AssetFrame{AssetID: id, Frame: f})
	}
	if err != nil || len(p) > 0 {
		return Batch{}, errDamaged
	}
	return b, nil
}

// Append stores samples as the next batch and returns its number. When it returns, the
// batch is on stable storage. If the spool is full, the oldest segment is dropped.
func (s *Spool) Append(frames []store.AssetFrame) (seq int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq = s.next()
	record, points, err := encode(seq, frames)
	if err != nil {
		return 0, fmt.Errorf("spool samples: %w", err)
	}
	last := &s.segments[len(s.segments)-1]
	if last.count > 0 && last.size+int64(len(record)) > segmentBytes || s.broken {
		if err := s.repair(); err != nil {
			return 0, fmt.Errorf("spool samples: %w", err)
		}
		if last.count > 0 {
			if err := s.rotate(seq); err != nil {
				return 0, fmt.Errorf("spool samples: %w", err)
			}
		}
	}
	for s.size()+int64(len(record)) > s.most && len(s.segments) > 1 {
		if err := s.dropOldest(); err != nil {
			return 0, fmt.Errorf("spool samples: %w", err)
		}
	}
	if s.size()+int64(len(record)) > s.most {
		return 0, fmt.Errorf("spool samples: %w", ErrFull)
	}
	if _, err = s.file.Write(record); err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.broken = true
		return 0, fmt.Errorf("spool samples: %w", err)
	}
	last = &s.segments[len(s.segments)-1]
	last.count++
	last.points += int64(points)
	last.size += int64(len(record))
	return seq, nil
}

// repair cuts off what a failed write left. After a failed sync, nothing is known of the
// file's cached part: the segment is closed, and another one begins.
func (s *Spool) repair() error {
	if !s.broken {
		return nil
	}
	last := s.segments[len(s.segments)-1]
	if err := s.file.Truncate(last.size); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	s.broken = false
	return nil
}

func (s *Spool) next() int {
	last := s.segments[len(s.segments)-1]
	return last.first + last.count
}

func (s *Spool) size() (n int64) {
	for _, g := range s.segments {
		n += g.size
	}
	return n
}

// dropOldest deletes the oldest segment, which was not sent.
func (s *Spool) dropOldest() error {
	g := s.segments[0]
	if err := os.Remove(s.path(g.first)); err != nil {
		return err
	}
	s.dropped.Batches += g.count
	s.dropped.Points += g.points
	s.segments = s.segments[1:]
	return nil
}

// Epoch names the numbering of the batches.
func (s *Spool) Epoch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// Range are the numbers of the batches that the spool has: from first, before next.
func (s *Spool) Range() (first, next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.segments[0].first, s.next()
}

// Forget deletes the segments whose batches all have numbers below a number: they are
// stored elsewhere. The newest segment stays, so that numbers continue.
func (s *Spool) Forget(below int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := &s.segments[len(s.segments)-1]
	if last.count > 0 && last.last() < below && last.size > segmentBytes/2 {
		if err := s.rotate(s.next()); err != nil {
			return fmt.Errorf("begin a segment of the spool: %w", err)
		}
	}
	for len(s.segments) > 1 && s.segments[0].last() < below {
		if err := os.Remove(s.path(s.segments[0].first)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("delete a segment of the spool: %w", err)
		}
		s.segments = s.segments[1:]
	}
	return nil
}

// Read passes the batches from a number on to visit, in their order, until it returns
// false. Batches that were dropped or are damaged are left out.
func (s *Spool) Read(from int, visit func(Batch) bool) error {
	s.mu.Lock()
	segments := slices.Clone(s.segments)
	s.mu.Unlock()
	for _, g := range segments {
		if g.count == 0 || g.last() < from {
			continue
		}
		more, err := s.readSegment(g, from, visit)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // dropped meanwhile
			return fmt.Errorf("read the spool: %w", err)
		}
		if !more && err == nil {
			return nil
		}
	}
	return nil
}

func (s *Spool) readSegment(g segment, from int, visit func(Batch) bool) (more bool, err error) {
	f, err := os.Open(s.path(g.first))
	if err != nil {
		return true, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.LimitReader(f, g.size), 64<<10)
	if _, _, err := readHead(r); err != nil {
		return true, err
	}
	for range g.count {
		payload, err := readRecord(r)
		if errors.Is(err, errDamaged) || errors.Is(err, io.EOF) {
			s.noteDamage()
			return true, nil
		}
		if err != nil {
			return true, err
		}
		if seq, _ := binary.Uvarint(payload); seq < uint64(from) { //nolint:gosec // positive
			continue
		}
		b, err := decode(payload)
		if err != nil {
			s.noteDamage()
			continue
		}
		if !visit(b) {
			return false, nil
		}
	}
	return true, nil
}

func (s *Spool) noteDamage() {
	s.mu.Lock()
	s.damaged++
	s.mu.Unlock()
}

// Renumber gives the batches from a number on a new epoch, and deletes those before. It
// is for a spool whose numbers are used elsewhere: it is a copy, or an older state of
// itself. A crash in between leaves the former numbering, or the new one.
func (s *Spool) Renumber(from int) error {
	var keep []Batch
	if err := s.Read(from, func(b Batch) bool { keep = append(keep, b); return true }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &Spool{dir: filepath.Join(s.dir, "renumbered"), most: s.most}
	if err := os.RemoveAll(next.dir); err != nil {
		return fmt.Errorf("renumber the spool: %w", err)
	}
	if err := os.MkdirAll(next.dir, 0o700); err != nil {
		return fmt.Errorf("renumber the spool: %w", err)
	}
	if err := next.begin(s.next()); err != nil {
		return fmt.Errorf("renumber the spool: %w", err)
	}
	for _, b := range keep {
		if _, err := next.Append(b.Frames); err != nil {
			return errors.Join(err, next.Close())
		}
	}
	// The names of the new segments are above all former ones. The file with the epoch
	// decides which of them count: it is replaced in one step.
	for _, g := range next.segments {
		if err := os.Rename(next.path(g.first), s.path(g.first)); err != nil {
			return fmt.Errorf("renumber the spool: %w", err)
		}
	}
	if err := s.putEpoch(next.epoch); err != nil {
		return fmt.Errorf("renumber the spool: %w", err)
	}
	for _, g := range s.segments {
		if err := os.Remove(s.path(g.first)); err != nil {
			return fmt.Errorf("renumber the spool: %w", err)
		}
	}
	_ = s.file.Close() // it is deleted
	s.epoch, s.segments, s.file, s.broken = next.epoch, next.segments, next.file, false
	return os.RemoveAll(next.dir)
}

// putEpoch makes an epoch the one that counts. The segments' names are on stable storage
// before it.
func (s *Spool) putEpoch(epoch string) error {
	if err := syncFolder(s.dir); err != nil {
		return err
	}
	name := filepath.Join(s.dir, epochName)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(epoch + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	return syncFolder(s.dir)
}

// Status is the state of a spool.
type Status struct {
	Epoch    string  `json:"epoch"`
	Batches  int     `json:"batches"`
	Points   int64   `json:"points"`
	Bytes    int64   `json:"bytes"`
	MaxBytes int64   `json:"max_bytes"`
	First    int     `json:"first_sequence"`
	Next     int     `json:"next_sequence"`
	Damaged  int     `json:"damaged_records"`
	Dropped  Dropped `json:"dropped"`
}

// Status returns the state.
func (s *Spool) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Epoch: s.epoch, Bytes: s.size(), MaxBytes: s.most, First: s.segments[0].first, Next: s.next(), Damaged: s.damaged, Dropped: s.dropped}
	for _, g := range s.segments {
		st.Batches += g.count
		st.Points += g.points
	}
	return st
}

// Close closes the spool.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
