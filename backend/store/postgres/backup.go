//go:build !gateway

package postgres

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/store"
)

// A backup is the magic, the schema's version as 4 bytes big-endian, then for
// each table its name and its rows as COPY's binary format has them, then the
// SHA-256 of all that. A name is a uvarint of its length and its bytes, and
// empty at the end; rows come in chunks, each a uvarint of its length and its
// bytes, the last one empty.
const backupMagic = "sunloop tables 1\n"

// backupTables are those whose rows are kept. Counted requests and leaders are
// of the moment, and jobs are the queue's.
var backupTables = []struct{ name, columns string }{
	{"kv", "shard, bucket, key, value"},
	{"site", "site, layout, roster"},
	{"asset", "site, asset, ref"},
	{"block", "site, ref, start, value"},
	{"daysum", "site, ref, start, value"},
	{"tail", "site, ref, start, value"},
}

// maxChunk is the longest chunk that Restore takes.
const maxChunk = 1 << 20

var errBackup = errors.New("the backup is damaged")

// Backup writes records and telemetry, all as of one moment, to w and returns
// the size in bytes. Writers continue.
func (s *Store) Backup(ctx context.Context, w io.Writer) (int64, error) {
	ctx = long(ctx)
	schema, err := s.Schema(ctx)
	if err != nil {
		return 0, err
	}
	sum := sha256.New()
	out := &counter{w: io.MultiWriter(w, sum)}
	err = s.once(ctx, snapshot, func(tx pgx.Tx) error {
		out.write(binary.BigEndian.AppendUint32([]byte(backupMagic), uint32(schema)))
		for _, t := range backupTables {
			out.chunk([]byte(t.name))
			sql := fmt.Sprintf(`COPY (SELECT %s FROM sunloop.%s) TO STDOUT (FORMAT binary)`, t.columns, t.name)
			b := bufio.NewWriterSize(chunks{out}, 64<<10)
			if _, err := tx.Conn().PgConn().CopyTo(ctx, b, sql); err != nil {
				if out.err != nil {
					return out.err
				}
				return fault("copy "+t.name, err)
			}
			if err := b.Flush(); err != nil {
				return err
			}
			out.chunk(nil)
		}
		out.chunk(nil)
		out.write(sum.Sum(nil))
		return out.err
	})
	if err != nil {
		return out.n, fmt.Errorf("back up data: %w", err)
	}
	return out.n, nil
}

// counter counts what it writes and keeps the first error.
type counter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counter) write(b []byte) {
	if c.err == nil {
		var n int
		n, c.err = c.w.Write(b)
		c.n += int64(n)
	}
}

func (c *counter) chunk(b []byte) {
	c.write(binary.AppendUvarint(nil, uint64(len(b))))
	c.write(b)
}

// chunks is a Writer of chunks.
type chunks struct{ out *counter }

func (c chunks) Write(b []byte) (int, error) {
	for part := b; len(part) > 0; {
		n := min(len(part), maxChunk)
		c.out.chunk(part[:n])
		part = part[n:]
	}
	return len(b), c.out.err
}

// Restore reads what Backup wrote into the store, all of it or nothing. The
// store must be empty: store.ErrExists if it is not, store.ErrNewer for the
// backup of a newer version of Sunloop.
func (s *Store) Restore(ctx context.Context, r io.Reader) error {
	ctx = long(ctx)
	if err := s.restore(ctx, r); err != nil {
		return fmt.Errorf("restore data: %w", err)
	}
	return nil
}

func (s *Store) restore(ctx context.Context, r io.Reader) error {
	schema, err := s.Schema(ctx)
	if err != nil {
		return err
	}
	in := &source{r: bufio.NewReaderSize(r, 64<<10), hash: sha256.New()}
	head := make([]byte, len(backupMagic)+4)
	if err := in.full(head); err != nil || !bytes.HasPrefix(head, []byte(backupMagic)) {
		return fmt.Errorf("%w: it does not begin as one", errBackup)
	}
	switch of := int(binary.BigEndian.Uint32(head[len(backupMagic):])); {
	case of > schema:
		return fmt.Errorf("%w: schema %d, this one knows up to %d", store.ErrNewer, of, schema)
	case of < schema:
		return fmt.Errorf("the backup is of schema %d and the database of %d: restore it with the version of Sunloop that created it", of, schema)
	}
	return s.once(ctx, locking, func(tx pgx.Tx) error {
		for _, t := range backupTables {
			if err := restoreTable(ctx, tx, in, t.name, t.columns); err != nil {
				return err
			}
		}
		if name, err := in.chunk(); err != nil || len(name) > 0 {
			return fmt.Errorf("%w: it has more tables", errBackup)
		}
		sum, end := in.hash.Sum(nil), make([]byte, sha256.Size)
		if err := in.full(end); err != nil || !bytes.Equal(sum, end) {
			return fmt.Errorf("%w: its checksum is not that of its bytes", errBackup)
		}
		return nil
	})
}

func restoreTable(ctx context.Context, tx pgx.Tx, in *source, table, columns string) error {
	var filled bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sunloop.`+table+`)`).Scan(&filled); err != nil {
		return fault("look at "+table, err)
	}
	if filled {
		return fmt.Errorf("the database is not empty: %w", store.ErrExists)
	}
	name, err := in.chunk()
	if err != nil || string(name) != table {
		return fmt.Errorf("%w: it lacks %s", errBackup, table)
	}
	rows := &rowsOf{in: in}
	_, err = tx.Conn().PgConn().CopyFrom(ctx, rows, fmt.Sprintf(`COPY sunloop.%s (%s) FROM STDIN (FORMAT binary)`, table, columns))
	if rows.err != nil {
		return fmt.Errorf("%w: %s ends early", errBackup, table)
	}
	return fault("load "+table, err)
}

// source reads a backup and hashes what it read.
type source struct {
	r    *bufio.Reader
	hash hash.Hash
}

// full fills b.
func (s *source) full(b []byte) error {
	_, err := io.ReadFull(s.r, b)
	s.hash.Write(b)
	return err
}

// ReadByte reads the next byte, for binary.ReadUvarint.
func (s *source) ReadByte() (byte, error) {
	var b [1]byte
	err := s.full(b[:])
	return b[0], err
}

func (s *source) chunk() ([]byte, error) {
	n, err := binary.ReadUvarint(s)
	if err != nil || n > maxChunk {
		return nil, errBackup
	}
	b := make([]byte, n)
	return b, s.full(b)
}

// rowsOf are the bytes of one table's rows.
type rowsOf struct {
	in    *source
	rest  []byte
	ended bool
	err   error
}

func (r *rowsOf) Read(b []byte) (int, error) {
	if len(r.rest) == 0 && !r.ended && r.err == nil {
		r.rest, r.err = r.in.chunk()
		r.ended = len(r.rest) == 0
	}
	if r.err != nil {
		return 0, r.err
	}
	if r.ended {
		return 0, io.EOF
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
