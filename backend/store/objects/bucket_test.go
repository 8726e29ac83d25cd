//go:build !gateway

package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/s3test"
)

func readAll(t testing.TB, s *Store, key string) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unfinished are the keys of the uploads in the bucket that have not ended.
func unfinished(t testing.TB, s *Store) (keys []string) {
	t.Helper()
	page, err := s.remote.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &s.remote.bucket})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range page.Uploads {
		keys = append(keys, *u.Key)
	}
	return keys
}

// TestReplicasRaceForAKey has two stores, as of two processes, write one key at
// the same time, in one request and in parts: one wins, and its bytes stay.
func TestReplicasRaceForAKey(t *testing.T) {
	uri := s3test.Bucket(t)
	replicas := []*Store{openURI(t, uri), openURI(t, uri)}
	const large = partBytes + 1
	tries := 50
	if testing.Short() {
		tries = 10
	}
	for i := range tries + 3 {
		key, size := fmt.Sprintf("race/%d", i), 1000
		if i >= tries {
			size = large
		}
		errs := make([]error, len(replicas))
		var wg sync.WaitGroup
		for n, s := range replicas {
			wg.Go(func() { errs[n] = s.Put(t.Context(), key, bytes.NewReader(bytes.Repeat([]byte{byte('a' + n)}, size))) })
		}
		wg.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		if errs[winner] != nil || !errors.Is(errs[1-winner], store.ErrExists) {
			t.Fatalf("%s: %v", key, errs)
		}
		if got := readAll(t, replicas[1-winner], key); !bytes.Equal(got, bytes.Repeat([]byte{byte('a' + winner)}, size)) {
			t.Fatalf("%s of %d bytes has not its winner's bytes, but %d that begin %.5q", key, size, len(got), got)
		}
	}
	if left := unfinished(t, replicas[0]); left != nil {
		t.Errorf("parts are left of %q", left)
	}
}

// stores reports whether a request stores an object: the only one, or the last
// of parts.
func stores(r *http.Request) bool {
	q := r.URL.Query()
	return r.Method == http.MethodPut && !q.Has("partNumber") || r.Method == http.MethodPost && q.Has("uploadId")
}

// TestLostAnswer: the bucket has stored the object, the answer is lost, and the
// second try is refused because of the first. It is the writer's own.
func TestLostAnswer(t *testing.T) {
	for _, size := range []int{0, 1000, partBytes + 1} {
		p := s3test.NewProxy(t, s3test.Bucket(t))
		s := openURI(t, p.URI)
		lose := 1
		p.Choose(func(r *http.Request) s3test.Fault {
			if stores(r) && lose > 0 {
				lose--
				return s3test.Lose
			}
			return nil
		})
		want := bytes.Repeat([]byte("x"), size)
		if err := s.Put(t.Context(), "a", bytes.NewReader(want)); err != nil {
			t.Errorf("an object of %d bytes is there, and yet: %v", size, err)
		}
		if lose != 0 {
			t.Error("no answer was lost")
		}
		if got := readAll(t, s, "a"); !bytes.Equal(got, want) {
			t.Errorf("%d bytes, want %d", len(got), size)
		}
		// Another writer's is no success, however the response arrived.
		lose = 1
		other := openURI(t, p.URI)
		head := 1
		p.Choose(func(r *http.Request) s3test.Fault {
			if r.Method == http.MethodHead && head > 0 { // it comes between asking and writing
				head--
				return s3test.Refuse(http.StatusNotFound, "")
			}
			return nil
		})
		if err := other.Put(t.Context(), "a", strings.NewReader("other")); !errors.Is(err, store.ErrExists) {
			t.Errorf("another's object: %v", err)
		}
		if got := readAll(t, s, "a"); !bytes.Equal(got, want) {
			t.Error("the object has changed")
		}
	}
}

// once are limits without a second try.
var once = func() limits {
	l := usual
	l.tries = 1
	return l
}()

// openWith opens a bucket with other limits, and without a sweep.
func openWith(t testing.TB, uri string, l limits) *Store {
	t.Helper()
	s, err := openBucket(t.Context(), uri, slog.New(slog.NewTextHandler(t.Output(), nil)), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestLostForGood: the answer is lost, and so is every further try.
func TestLostForGood(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openWith(t, p.URI, once)
	p.Choose(func(r *http.Request) s3test.Fault {
		if stores(r) {
			return s3test.Lose
		}
		return nil
	})
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
		t.Errorf("an object is there, and yet: %v", err)
	}
}

// endless gives n bytes that no other reader gives, and then calls end, or ends.
type endless struct {
	n   int
	end func() (int, error)
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 && e.end != nil {
		return e.end()
	} else if e.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), e.n, 1<<16)]
	for i := range p {
		p[i] = byte((e.n - i) * 31 >> 7)
	}
	e.n -= len(p)
	return len(p), nil
}

// TestAbort breaks writings off after their first parts: nothing of them stays,
// whether what was to be stored failed or the caller went away.
func TestAbort(t *testing.T) {
	s := openURI(t, s3test.Bucket(t))
	stop := errors.New("stop")
	if err := s.Put(t.Context(), "a", &endless{2*partBytes + 5, func() (int, error) { return 0, stop }}); !errors.Is(err, stop) {
		t.Errorf("of a reader that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := &endless{2*partBytes + 5, func() (int, error) { cancel(); return 0, io.EOF }}
	if err := s.Put(ctx, "b", gone); !errors.Is(err, context.Canceled) {
		t.Errorf("of a caller that went away: %v", err)
	}
	if left := unfinished(t, s); left != nil {
		t.Errorf("parts are left of %q", left)
	}
	for _, key := range []string{"a", "b"} {
		if _, err := s.Open(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("half of %s is there: %v", key, err)
		}
	}
}

// TestSweep removes unfinished uploads and trials of the installation that
// are old enough, and nothing else.
func TestSweepOfABucket(t *testing.T) {
	ctx, uri := t.Context(), s3test.Bucket(t)
	s, next := openURI(t, in(uri, "site-1")), openURI(t, in(uri, "site-10"))
	begin := func(key string) {
		t.Helper()
		if _, err := s.remote.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.remote.bucket, Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"site-1/models/a", "site-10/models/a", "site-1/not a key of ours"} {
		begin(key)
	}
	if err := s.remote.put(ctx, trials+"x", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Put(ctx, "models/b", strings.NewReader("x")), next.Put(ctx, "models/b", strings.NewReader("x"))); err != nil {
		t.Fatal(err)
	}
	s.remote.sweep(ctx, abandoned)
	if left := unfinished(t, s); len(left) != 3 {
		t.Errorf("of three young uploads are left %q", left)
	}
	if _, err := s.remote.markOf(ctx, trials+"x"); err != nil {
		t.Errorf("a young trial: %v", err)
	}
	s.remote.sweep(ctx, -1<<40) // the bucket's clock counts seconds
	if left := fmt.Sprint(unfinished(t, s)); left != "[site-1/not a key of ours site-10/models/a]" {
		t.Errorf("left are %s", left)
	}
	if _, err := s.remote.markOf(ctx, trials+"x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an old trial: %v", err)
	}
	for _, s := range []*Store{s, next} {
		if got := readAll(t, s, "models/b"); string(got) != "x" {
			t.Errorf("an object is %q", got)
		}
	}
}

// TestSweepAtTheStart: opening a bucket begins it, and closing does not wait
// for an unavailable one.
func TestSweepAtTheStart(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	began := make(chan struct{})
	var once sync.Once
	p.Choose(func(r *http.Request) s3test.Fault {
		if r.URL.Query().Has("uploads") {
			once.Do(func() { close(began) })
		}
		return s3test.Hang
	})
	s := openURI(t, p.URI) // closed with the test
	<-began
	if s.remote.life.Err() != nil {
		t.Error("closed already")
	}
}

// TestInstallationsShareABucket: folders of a bucket are independent.
func TestInstallationsShareABucket(t *testing.T) {
	ctx, uri := t.Context(), s3test.Bucket(t)
	houses := map[string]*Store{"a": openURI(t, in(uri, "a")), "ab": openURI(t, in(uri, "ab")), "c/d": openURI(t, in(uri, "c/d"))}
	for name, s := range houses {
		if err := s.Put(ctx, "x/y", strings.NewReader(name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range houses {
		if got := readAll(t, s, "x/y"); string(got) != name {
			t.Errorf("%s reads %q", name, got)
		}
		if n, bytes, err := s.Usage(ctx); n != 1 || bytes != int64(len(name)) || err != nil {
			t.Errorf("%s has %d objects of %d bytes, %v", name, n, bytes, err)
		}
	}
	if err := houses["a"].Delete(ctx, "x/y"); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, houses["ab"], "x/y"); string(got) != "ab" {
		t.Errorf("a neighbour's object is %q", got)
	}
}

// TestBucketWithVersions: deleted objects are gone although the bucket keeps
// versions. S3 guarantees that a deleted key may be written again, which
// versitygw does not.
func TestBucketWithVersions(t *testing.T) {
	ctx, uri := t.Context(), s3test.Bucket(t)
	s3test.KeepVersions(t, uri)
	s := openURI(t, uri)
	if err := errors.Join(s.Ready(ctx), s.Put(ctx, "a/b", strings.NewReader("x"))); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, "a/b", strings.NewReader("y")); !errors.Is(err, store.ErrExists) {
		t.Errorf("twice: %v", err)
	}
	if got := readAll(t, s, "a/b"); string(got) != "x" {
		t.Errorf("it is %q", got)
	}
	if err := errors.Join(s.Delete(ctx, "a/b"), s.Delete(ctx, "a/b")); err != nil {
		t.Error(err)
	}
	if _, err := s.Open(ctx, "a/b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open a deleted object: %v", err)
	}
	if n, _, err := s.Usage(ctx); n != 0 || err != nil {
		t.Errorf("%d objects, %v", n, err)
	}
	if left := unfinished(t, s); left != nil {
		t.Errorf("parts are left of %q", left)
	}
}

// TestUsageIsBounded: a bucket with too many objects is listed once, up to the
// bound.
func TestUsageIsBounded(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	l := usual
	l.count = 2
	s := openWith(t, p.URI, l)
	for i, key := range []string{"a", "b", "c"} {
		if err := s.Put(t.Context(), key, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if n, _, err := s.Usage(t.Context()); i < 2 && (n != i+1 || err != nil) || i == 2 && !errors.Is(err, ErrNotCounted) {
			t.Errorf("%d objects, %v; there are %d", n, err, i+1)
		}
	}
	p.Seen()
	if _, _, err := s.Usage(t.Context()); !errors.Is(err, ErrNotCounted) {
		t.Errorf("again: %v", err)
	}
	if seen := p.Seen(); seen != nil {
		t.Errorf("it was listed again: %q", seen)
	}
}

// TestBucketIsNotHeld: a backup gets an error.
func TestBucketIsNotHeld(t *testing.T) {
	s := openURI(t, s3test.Bucket(t))
	if _, err := s.Snapshot(); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("a hold of a bucket: %v", err)
	}
}

// BenchmarkObjects puts and gets objects, each new, in a folder and in a bucket
// of a server on this machine, by turns.
func BenchmarkObjects(b *testing.B) {
	folder, err := OpenFolder(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer folder.Close()
	stores := []struct {
		name string
		*Store
	}{{"folder", folder}, {"bucket", openURI(b, s3test.Bucket(b))}}
	for _, size := range []int{1 << 20, 10 << 20} {
		data, err := io.ReadAll(&endless{n: size})
		if err != nil {
			b.Fatal(err)
		}
		for _, h := range stores {
			key := func(i int) string { return fmt.Sprintf("%d/%d", size, i) }
			puts := 0
			b.Run(fmt.Sprintf("put/%dMB/%s", size>>20, h.name), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					puts++
					if err := h.Put(b.Context(), key(puts), bytes.NewReader(data)); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("get/%dMB/%s", size>>20, h.name), func(b *testing.B) {
				b.SetBytes(int64(size))
				for i := 0; b.Loop(); i++ {
					r, err := h.Open(b.Context(), key(i%puts+1))
					if err != nil {
						b.Fatal(err)
					}
					n, err := io.Copy(io.Discard, r)
					if err := errors.Join(err, r.Close()); err != nil || n != int64(size) {
						b.Fatalf("%d bytes, %v", n, err)
					}
				}
			})
		}
	}
}

// TestLargeObject stores and reads 100 MB: the total allocation does not depend
// on the size.
func TestLargeObject(t *testing.T) {
	s := openURI(t, s3test.Bucket(t))
	const size = 100 << 20
	wrote := sha256.New()
	var before, put, read runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.Put(t.Context(), "large", io.TeeReader(&endless{n: size}, wrote)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&put)
	r, err := s.Open(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := sha256.New()
	n, err := io.Copy(got, r)
	if err != nil || n != size || !bytes.Equal(got.Sum(nil), wrote.Sum(nil)) {
		t.Errorf("%d bytes, want %d, or others; %v", n, size, err)
	}
	runtime.ReadMemStats(&read)
	if a, b := put.TotalAlloc-before.TotalAlloc, read.TotalAlloc-put.TotalAlloc; a > 3*partBytes || b > partBytes/2 {
		t.Errorf("to put and to read took %d and %d MiB", a>>20, b>>20)
	}
}
