package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"app.sunloop/backend/store"
)

// Objects asserts what store.Objects promises of an empty store.
func Objects(t *testing.T, open func(t *testing.T) store.Objects) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, o store.Objects)
	}{
		{"put and open", objectsPut},
		{"refused keys", objectsKeys},
		{"failing reader", objectsFailing},
		{"one of many writers", objectsRace},
		{"streamed", objectsStreamed},
		{"deleted while read", objectsDeleted},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func content(t *testing.T, o store.Objects, key string) string {
	t.Helper()
	r, err := o.Open(t.Context(), key)
	ok(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	ok(t, err)
	return string(b)
}

// untouched fails the test when it is read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("read although the key is taken")
	return 0, io.EOF
}

func objectsPut(t *testing.T, o store.Objects) {
	ctx := t.Context()
	large := strings.Repeat("0123456789", 1<<17)
	for key, want := range map[string]string{"a": "one", "b/c/d.csv": large, "empty": ""} {
		ok(t, o.Put(ctx, key, strings.NewReader(want)))
		if got := content(t, o, key); got != want {
			t.Errorf("%s: %d bytes, want %d", key, len(got), len(want))
		}
		if err := o.Put(ctx, key, untouched{t}); !errors.Is(err, store.ErrExists) {
			t.Errorf("%s twice: %v", key, err)
		}
		if got := content(t, o, key); got != want {
			t.Errorf("%s has changed", key)
		}
		if back, ok := o.Key(o.URI(key)); back != key || !ok {
			t.Errorf("key of the URI of %s: %s, %v", key, back, ok)
		}
	}
	if _, err := o.Open(ctx, "b/c"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open an absent object: %v", err)
	}
	ok(t, o.Delete(ctx, "a"))
	ok(t, o.Delete(ctx, "a"))
	if _, err := o.Open(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open a deleted object: %v", err)
	}
	ok(t, o.Put(ctx, "a", strings.NewReader("two")))
}

func objectsKeys(t *testing.T, o store.Objects) {
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", ".a", "a b", "a\\b", "a\x00", "é", "a/" + strings.Repeat("x", 65), "a%2e"} {
		if err := o.Put(t.Context(), key, strings.NewReader("")); err == nil {
			t.Errorf("Put(%q) is taken", key)
		}
		if _, err := o.Open(t.Context(), key); err == nil {
			t.Errorf("Open(%q) is taken", key)
		}
		if back, ok := o.Key(o.URI(key)); ok {
			t.Errorf("the URI of %q has key %q", key, back)
		}
	}
	for _, uri := range []string{"", "a", "file:///a", "s3://bucket/a"} {
		if key, ok := o.Key(uri); ok {
			t.Errorf("%s has key %s", uri, key)
		}
	}
}

func objectsFailing(t *testing.T, o store.Objects) {
	stop := errors.New("stop")
	broken := io.MultiReader(bytes.NewReader(make([]byte, 100_000)), errReader{stop})
	if err := o.Put(t.Context(), "a", broken); !errors.Is(err, stop) {
		t.Errorf("put of a failing reader: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Put(ctx, "a", strings.NewReader("x")); err == nil {
		t.Error("put with a cancelled context")
	}
	if _, err := o.Open(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("half an object is there: %v", err)
	}
	ok(t, o.Put(t.Context(), "a", strings.NewReader("whole")))
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func objectsRace(t *testing.T, o store.Objects) {
	for _, key := range []string{"a", "b/c", "b/d"} {
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				err := o.Put(t.Context(), key, bytes.NewReader(bytes.Repeat([]byte{byte(i)}, 1000)))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrExists):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d writers of %s have won", won.Load(), key)
		}
		b := content(t, o, key)
		if len(b) != 1000 || strings.Trim(b, b[:1]) != "" {
			t.Errorf("%s is a mixture", key)
		}
	}
}

// stream hides all of a reader but Read.
type stream struct{ io.Reader }

// objectsStreamed puts more than a store would send or hold at once.
func objectsStreamed(t *testing.T, o store.Objects) {
	large := bytes.Repeat([]byte("0123456789abcde\n"), 20<<16)
	early := io.MultiReader(bytes.NewReader(large), errReader{io.ErrUnexpectedEOF})
	if err := o.Put(t.Context(), "a", early); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("put of a reader that ends too early: %v", err)
	}
	if _, err := o.Open(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the beginning of an object is there: %v", err)
	}
	for key, want := range map[string][]byte{"a": large, "b": large[:16<<20], "c": large[:16<<20+1]} {
		ok(t, o.Put(t.Context(), key, stream{bytes.NewReader(want)}))
		if got := content(t, o, key); got != string(want) {
			t.Errorf("%s: %d bytes, want %d, or others", key, len(got), len(want))
		}
		if err := o.Put(t.Context(), key, untouched{t}); !errors.Is(err, store.ErrExists) {
			t.Errorf("%s twice: %v", key, err)
		}
	}
}

// objectsDeleted reads on in an object that is deleted: the rest of it or an
// error, never an end that came too early.
func objectsDeleted(t *testing.T, o store.Objects) {
	want := bytes.Repeat([]byte("0123456789abcde\n"), 1<<18)
	ok(t, o.Put(t.Context(), "a", bytes.NewReader(want)))
	r, err := o.Open(t.Context(), "a")
	ok(t, err)
	defer r.Close()
	got := make([]byte, 100)
	_, err = io.ReadFull(r, got)
	ok(t, err)
	ok(t, o.Delete(t.Context(), "a"))
	rest, err := io.ReadAll(r)
	if got = append(got, rest...); err == nil && !bytes.Equal(got, want) {
		t.Errorf("%d bytes and an end, want %d", len(got), len(want))
	}
	if _, err := o.Open(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open a deleted object: %v", err)
	}
}
