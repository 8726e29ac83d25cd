//go:build !gateway

package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
)

// objectsAtOnce is how many objects are copied concurrently, and announced how
// many at a time are.
const (
	objectsAtOnce = 8
	announced     = 256
)

// places are where objects come from and where they go to.
type places struct {
	folder string
	place  string // of the target, from wherever the command is run
	target *objects.Store
	mu     sync.Mutex // of the report
}

// openPlaces opens the target. It must not be in the data folder, which stays
// as it is.
func openPlaces(ctx context.Context, o Options) (*places, error) {
	p := &places{folder: filepath.Join(o.From, objectsFolder), place: o.Objects}
	to := filepath.FromSlash(strings.TrimPrefix(o.Objects, "file://"))
	if !strings.Contains(o.Objects, "://") {
		var err error
		if p.place, err = filepath.Abs(o.Objects); err != nil {
			return nil, err
		}
	}
	if inside, err := within(o.From, to); err != nil {
		return nil, err
	} else if inside {
		return nil, fmt.Errorf("--objects %s is in the data folder, which a migration does not change; name another place, or omit it to leave the objects where they are", to)
	}
	var err error
	if p.target, err = objects.Open(ctx, o.Objects, nil, o.Log); err != nil {
		return nil, err
	}
	if err := p.target.Ready(ctx); err != nil {
		return nil, errors.Join(err, p.target.Close())
	}
	return p, nil
}

// within reports whether a path is in a folder, or the folder itself.
func within(folder, path string) (bool, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return false, err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	for _, p := range []*string{&from, &to} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rest, err := filepath.Rel(from, to)
	return err == nil && filepath.IsLocal(rest), nil
}

// checkEmpty returns an error if a place holds anything.
func (p *places) checkEmpty(ctx context.Context) error {
	if p == nil {
		return nil
	}
	for o, err := range p.target.List(ctx) {
		if err != nil {
			return err
		}
		return fmt.Errorf("the storage of objects has %q, and a migration requires an empty one; nothing was written", o.Key)
	}
	return nil
}

// chunks are the listed objects, some at a time.
func chunks(all iter.Seq2[objects.ObjectInfo, error]) iter.Seq2[[]objects.ObjectInfo, error] {
	return func(yield func([]objects.ObjectInfo, error) bool) {
		var part []objects.ObjectInfo
		for o, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if part = append(part, o); len(part) == announced {
				if !yield(part, nil) {
					return
				}
				part = part[:0]
			}
		}
		if len(part) > 0 {
			yield(part, nil)
		}
	}
}

func keysOf(part []objects.ObjectInfo) []string {
	keys := make([]string, len(part))
	for i, o := range part {
		keys[i] = o.Key
	}
	return keys
}

// copy copies the objects that are missing.
func (p *places) copy(ctx context.Context, m *mover, s *Step) error {
	if err := p.tidy(ctx, m); err != nil {
		return err
	}
	for part, err := range chunks(objects.ListFolder(ctx, p.folder)) {
		if err != nil {
			return err
		}
		if err := m.move.Announce(ctx, keysOf(part)); err != nil {
			return err
		}
		err := each(ctx, part, func(ctx context.Context, o objects.ObjectInfo) error {
			put, err := p.put(ctx, o)
			if err != nil || !put {
				return err
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			s.CopiedRows++
			s.CopiedBytes += o.Size
			m.Progress(Progress{s.Name, s.CopiedRows, s.CopiedBytes})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tidy refuses a place with objects that the migration has not put there, and
// removes those of it that the source no longer has.
func (p *places) tidy(ctx context.Context, m *mover) error {
	for part, err := range chunks(p.target.List(ctx)) {
		if err != nil {
			return err
		}
		foreign, err := m.move.UnexpectedKeys(ctx, keysOf(part))
		if err != nil {
			return err
		}
		if len(foreign) > 0 {
			return fmt.Errorf("the storage of objects has %q, which is not of the migration", foreign[0])
		}
		for _, o := range part {
			there, err := p.has(o.Key)
			if err == nil && !there {
				err = p.target.Delete(ctx, o.Key)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// each runs do for all objects of a part, some at once.
func each(ctx context.Context, part []objects.ObjectInfo, do func(ctx context.Context, o objects.ObjectInfo) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(objectsAtOnce)
	for _, o := range part {
		g.Go(func() error { return do(ctx, o) })
	}
	return g.Wait()
}

func (p *places) path(key string) string { return filepath.Join(p.folder, filepath.FromSlash(key)) }

// has reports whether the source has an object.
func (p *places) has(key string) (bool, error) {
	_, err := os.Stat(p.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// put copies an object; false: the target has one of its key already, which a
// former run has put there.
func (p *places) put(ctx context.Context, o objects.ObjectInfo) (bool, error) {
	f, err := regularfile.Open(p.path(o.Key))
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = p.target.Put(ctx, o.Key, f)
	if !errors.Is(err, store.ErrExists) {
		return err == nil, err
	}
	// Whose content it has is seen when all is compared.
	return false, nil
}

// verify reads all objects of both places.
func (p *places) verify(ctx context.Context, m *mover, s *Step) error {
	progress := Progress{Step: "verify " + Objects}
	for part, err := range chunks(objects.ListFolder(ctx, p.folder)) {
		if err != nil {
			return err
		}
		err := each(ctx, part, func(ctx context.Context, o objects.ObjectInfo) error {
			difference, err := p.compare(ctx, o.Key)
			if err != nil {
				return err
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if difference != "" {
				m.differ("object %s: %s", o.Key, difference)
			}
			s.Rows, s.Bytes = s.Rows+1, s.Bytes+o.Size
			progress.Rows, progress.Bytes = s.Rows, s.Bytes
			m.Progress(progress)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for o, err := range p.target.List(ctx) {
		if err != nil {
			return err
		}
		if there, err := p.has(o.Key); err != nil {
			return err
		} else if !there {
			m.differ("object %s: it is in the target alone", o.Key)
		}
	}
	return nil
}

// compare is how an object of the target differs from the source's; empty: not.
func (p *places) compare(ctx context.Context, key string) (string, error) {
	f, err := regularfile.Open(p.path(key))
	if err != nil {
		return "", err
	}
	defer f.Close()
	want, wantSize, err := digest(f)
	if err != nil {
		return "", err
	}
	r, err := p.target.Open(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return "it is missing in the target", nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	got, gotSize, err := digest(r)
	switch {
	case err != nil:
		return "", fmt.Errorf("read object %s of the target: %w", key, err)
	case gotSize != wantSize:
		return fmt.Sprintf("it has %d bytes in the target, not %d", gotSize, wantSize), nil
	case !bytes.Equal(got, want):
		return "its checksum is another in the target", nil
	}
	return "", nil
}

func digest(r io.Reader) (sum []byte, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, r)
	return h.Sum(nil), size, err
}
