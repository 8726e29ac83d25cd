// Package objects keeps whole files over gocloud.dev/blob: a folder on disk, a
// bucket of S3 that replicas share, or memory for tests. [Store] adds what these
// do not promise by themselves: a key is written once even by two writers at a
// time, and what Put has acknowledged is on stable storage. On disk that is
// file, name and folders; S3 promises it by its answer.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
)

// scheme begins the URIs that clients see, whichever bucket is behind it: they
// contain neither a path of this machine nor the name of a bucket.
const scheme = "sunloop://objects/"

// contentType is that of all objects: their real type is in the records.
const contentType = "application/octet-stream"

// Store is store.Objects over a bucket. It is safe for concurrent use.
type Store struct {
	bucket  *blob.Bucket
	remote  *remote // what is done by S3's own calls; nil when it is not there
	folder  string  // of the bucket, empty when it is not on disk
	disk    *store.Disk
	mu      sync.Mutex
	writing map[string]bool // keys
	durable map[string]bool // folders whose name is on the disk
	hold    *Snapshot       // of a backup, or nil
}

var _ store.Objects = (*Store)(nil)

// OpenFolder stores objects as files in dir, which is created if needed. No
// other process may write to it. disk is shared with the other stores of the
// data folder; if nil, the store has its own.
func OpenFolder(dir string, disk *store.Disk) (*Store, error) {
	return openFolder(dir, disk, sweep)
}

func openFolder(dir string, disk *store.Disk, sweep func(dir string) error) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	if err := errors.Join(sweep(dir), store.SyncFolder(dir), store.SyncFolder(filepath.Dir(dir))); err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		NoTempDir:   true, // a rename works only within a file system
		Metadata:    fileblob.MetadataDontWrite,
		DirFileMode: 0o700,
	})
	if err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	s := newStore(bucket)
	s.folder = dir
	if disk != nil {
		s.disk = disk
	}
	return s, nil
}

// InMemory stores objects in memory until it is closed.
func InMemory() *Store { return newStore(memblob.OpenBucket(nil)) }

func newStore(b *blob.Bucket) *Store {
	return &Store{bucket: b, disk: new(store.Disk), writing: map[string]bool{}, durable: map[string]bool{}}
}

// Close closes the bucket.
func (s *Store) Close() error {
	if s.remote != nil {
		s.remote.close()
	}
	return s.bucket.Close()
}

// temporary is how the bucket names a file that is being written.
var temporary = regexp.MustCompile(`\.[0-9a-f]{16}\.tmp$`)

// sweep removes the files that a killed process was writing. It never leaves
// dir, even if a folder in it is replaced by a symbolic link meanwhile.
func sweep(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !temporary.MatchString(name) {
			return err
		}
		return root.Remove(name)
	})
}

// Put stores an object.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) error {
	if err := check(key); err != nil {
		return err
	}
	if s.remote != nil {
		if err := s.remote.put(ctx, key, r); err != nil {
			return fmt.Errorf("put object %s: %w", key, err)
		}
		return nil
	}
	if err := s.disk.Failure(); err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	if err := s.reserve(ctx, key); err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	defer s.release(key)
	if err := s.disk.Written(s.write(ctx, key, r)); err != nil {
		return fmt.Errorf("put object %s: %w", key, err)
	}
	return nil
}

// reserve excludes a second writer of the key. The bucket's own IfNotExist
// checks and renames in two steps, so that two writers in one process could
// both succeed.
func (s *Store) reserve(ctx context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing[key] {
		return store.ErrExists
	}
	there, err := s.bucket.Exists(ctx, key)
	if err != nil {
		return err
	}
	if there {
		return store.ErrExists
	}
	s.writing[key] = true
	return nil
}

func (s *Store) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writing, key)
}

func (s *Store) write(ctx context.Context, key string, r io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		IfNotExist:  true,
		ContentType: contentType, // given, so that nothing is held back to guess it
		BeforeWrite: func(as func(any) bool) error {
			if as(&file) {
				return file.Chmod(0o600)
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if err == nil && file != nil {
		// Before it gets its name: a name never refers to a partial
		// file.
		err = file.Sync()
	}
	if err != nil {
		cancel() // so that Close throws away what was written
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		if gcerrors.Code(err) == gcerrors.FailedPrecondition {
			return store.ErrExists
		}
		return err
	}
	if err := s.syncName(key); err != nil {
		if s.folder != "" { // it is refused: none of it may be found
			_ = os.Remove(s.path(key))
		}
		return err
	}
	return nil
}

// syncName makes the names of the file and of its folders durable.
func (s *Store) syncName(key string) error {
	if s.folder == "" {
		return nil
	}
	for dir, own := path.Dir(key), true; ; dir, own = path.Dir(dir), false {
		s.mu.Lock()
		known := s.durable[dir]
		s.mu.Unlock()
		// The folder of the file always, the folders above while they are new.
		if own || !known {
			if err := store.SyncFolder(filepath.Join(s.folder, filepath.FromSlash(dir))); err != nil {
				return err
			}
		}
		if known || dir == "." {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		s.durable[dir] = true
	}
	return nil
}

// Open reads an object.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := check(key); err != nil {
		return nil, err
	}
	var r io.ReadCloser
	var err error
	if s.remote != nil {
		r, err = s.remote.open(ctx, s.bucket, key)
	} else {
		if s.folder != "" { // which the bucket would wait for if it is a named pipe
			err = regularfile.Check(s.path(key))
		}
		folder := (*regularfile.Error)(nil)
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, &folder) && folder.Mode.IsDir() {
			r, err = s.bucket.NewReader(ctx, key, nil)
			err = notFound(err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", key, err)
	}
	return r, nil
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(key); err != nil {
		return err
	}
	if s.remote != nil {
		if err := s.remote.delete(ctx, key); err != nil {
			return fmt.Errorf("delete object %s: %w", key, err)
		}
		return nil
	}
	if err := s.disk.Failure(); err != nil {
		return fmt.Errorf("delete object %s: %w", key, err)
	}
	aside, err := s.setAside(key)
	if err == nil && !aside {
		err = notFound(s.bucket.Delete(ctx, key))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
	}
	if err == nil {
		err = s.disk.Written(s.syncName(key))
	}
	if err != nil {
		return fmt.Errorf("delete object %s: %w", key, err)
	}
	return nil
}

// notFound hides the bucket's words for it, which have paths in them.
func notFound(err error) error {
	if err != nil && gcerrors.Code(err) == gcerrors.NotFound {
		return store.ErrNotFound
	}
	return err
}

// URI is the key as clients see it.
func (s *Store) URI(key string) string { return scheme + key }

// Key is the key in a URI of this store.
func (s *Store) Key(uri string) (string, bool) { return KeyOf(uri) }

// KeyOf returns the key in a URI of any store; ok is false if it is no such
// URI.
func KeyOf(uri string) (key string, ok bool) {
	key, ok = strings.CutPrefix(uri, scheme)
	if !ok || check(key) != nil {
		return "", false
	}
	return key, true
}
