//go:build !gateway

package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// How much is put into the database in one transaction, and so held in memory.
var (
	batchRows  = 20_000 // but in tests
	batchBytes = 8 << 20
)

// progressEvery is the number of rows after which progress is reported.
const progressEvery = 4096

// tally is what a set of rows is known by.
type tally struct {
	rows, bytes int64
	sum         [sha256.Size]byte
}

// counter counts rows and sums them up in their order.
type counter struct {
	rows, bytes int64
	hash        hash.Hash
	head        []byte
}

func newCounter() *counter { return &counter{hash: sha256.New()} }

func (c *counter) add(row store.Entry) {
	c.head = binary.AppendUvarint(c.head[:0], uint64(len(row.Key)))
	c.head = binary.AppendUvarint(c.head, uint64(len(row.Value)))
	c.hash.Write(c.head)
	c.hash.Write(row.Key)
	c.hash.Write(row.Value)
	c.rows++
	c.bytes += int64(len(row.Key) + len(row.Value))
}

func (c *counter) tally() (t tally) {
	t.rows, t.bytes = c.rows, c.bytes
	c.hash.Sum(t.sum[:0])
	return t
}

// markAt is the mark of a set of which all that was counted is in the target.
func (c *counter) markAt(key []byte) postgres.Checkpoint {
	return postgres.Checkpoint{Last: bytes.Clone(key), Rows: c.rows, Bytes: c.bytes, Sum: c.hash.Sum(nil)}
}

// at reports whether the mark equals the counts.
func (c *counter) at(m postgres.Checkpoint) bool {
	return c.rows == m.Rows && c.bytes == m.Bytes && bytes.Equal(c.hash.Sum(nil), m.Sum)
}

// errChanged: what was copied of a set is not what the source holds by now.
var errChanged = errors.New("the source has changed")

// copySets copies sets of rows, several in a transaction where they are small.
func (m *mover) copySets(ctx context.Context, s *Step, sets []store.RowSet) error {
	var batch postgres.Batch
	for _, set := range sets {
		mark, begun := m.marks[set]
		delete(m.marks, set)
		err := m.copySet(ctx, s, &batch, set, mark)
		if errors.Is(err, errChanged) && begun {
			// Nothing of the set is in the batch: it was noticed before.
			if err := m.move.Clear(ctx, set); err != nil {
				return err
			}
			err = m.copySet(ctx, s, &batch, set, postgres.Checkpoint{})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", named(set), err)
		}
	}
	return m.move.Put(ctx, &batch)
}

// copySet adds the rows behind the mark to the batch, which is written when it
// is full.
func (m *mover) copySet(ctx context.Context, s *Step, batch *postgres.Batch, set store.RowSet, mark postgres.Checkpoint) error {
	c, copying := newCounter(), mark.Rows == 0
	var last []byte // of what the batch has of the set
	for row, err := range m.source.Rows(ctx, set) {
		if err != nil {
			return err
		}
		if !copying && bytes.Compare(row.Key, mark.Last) > 0 {
			if !c.at(mark) {
				return errChanged
			}
			copying = true
		}
		c.add(row)
		if !copying {
			continue
		}
		if err := batch.Add(set, row); err != nil {
			return err
		}
		last = append(last[:0], row.Key...)
		s.CopiedRows++
		s.CopiedBytes += int64(len(row.Key) + len(row.Value))
		if rows, size := batch.Size(); rows >= batchRows || size >= batchBytes {
			batch.Checkpoint(set, c.markAt(last))
			if err := m.move.Put(ctx, batch); err != nil {
				return err
			}
			last = last[:0]
			m.Progress(Progress{s.Name, s.CopiedRows, s.CopiedBytes})
		}
	}
	if !copying && !c.at(mark) {
		return errChanged
	}
	if len(last) > 0 {
		batch.Checkpoint(set, c.markAt(last))
	}
	m.known[set] = c.tally()
	return nil
}
