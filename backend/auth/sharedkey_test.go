package auth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
)

func emptyRecords(t *testing.T) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestSharedKey: the first replica makes the key, one with its copy is let in,
// and one with another or without any is refused and makes none.
func TestSharedKey(t *testing.T) {
	records, dir := emptyRecords(t), t.TempDir()
	first, copied, other := filepath.Join(dir, "first"), filepath.Join(dir, "copied"), filepath.Join(dir, "other")
	key, err := SharedKey(t.Context(), records, first)
	if err != nil {
		t.Fatal(err)
	}
	var refused *KeyError
	if _, err := SharedKey(t.Context(), records, copied); !errors.As(err, &refused) || !strings.Contains(err.Error(), copied+" is missing") {
		t.Errorf("without a file: %v", err)
	}
	if _, err := os.Stat(copied); !os.IsNotExist(err) {
		t.Errorf("a key was made: %v", err)
	}
	if err := os.WriteFile(copied, key[:], 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if again, err := SharedKey(t.Context(), records, copied); again != key || err != nil {
			t.Errorf("with the copy: %v", err)
		}
	}
	if _, err := LoadKey(other); err != nil {
		t.Fatal(err)
	}
	if _, err := SharedKey(t.Context(), records, other); !errors.As(err, &refused) || !strings.Contains(err.Error(), other+" is not the one") {
		t.Errorf("with another: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another user's file is gone: %v", err)
	}
}

// TestSharedKeyOfOldRecords: records that were sealed before there was a mark
// know their key all the same.
func TestSharedKeyOfOldRecords(t *testing.T) {
	w := newWorld(t, nil)
	var refused *KeyError
	absent := filepath.Join(t.TempDir(), "absent")
	if _, err := SharedKey(t.Context(), w.store, absent); !errors.As(err, &refused) {
		t.Errorf("without a file: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if _, err := LoadKey(other); err != nil {
		t.Fatal(err)
	}
	if _, err := SharedKey(t.Context(), w.store, other); !errors.As(err, &refused) {
		t.Errorf("with another: %v", err)
	}
	if key, err := SharedKey(t.Context(), w.store, w.dir+"/auth.key"); key != w.key() || err != nil {
		t.Errorf("with theirs: %v", err)
	}
}

// TestSharedKeyRace: of replicas that start together on empty records, each with
// a separate folder, one has its key; the others are refused and keep none.
func TestSharedKeyRace(t *testing.T) {
	records, dir := emptyRecords(t), t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 8 {
		path := filepath.Join(dir, string(rune('a'+i)))
		wg.Go(func() {
			_, err := SharedKey(context.Background(), records, path)
			_, absent := os.Stat(path)
			mu.Lock()
			defer mu.Unlock()
			var refused *KeyError
			switch {
			case err == nil && absent == nil:
				won++
			case !errors.As(err, &refused) || !os.IsNotExist(absent):
				t.Errorf("%v, and of the file %v", err, absent)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d keys", won)
	}
}

// unsure stores what it is given, and once answers as if it were not known.
type unsure struct {
	store.Records
	answered bool
}

func (u *unsure) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	err := u.Records.Update(ctx, fn)
	if err == nil && !u.answered {
		u.answered = true
		return store.ErrUnavailable
	}
	return err
}

// TestSharedKeyUnsure: a key whose mark may have been stored is kept; without it
// the records could not be decrypted again.
func TestSharedKeyUnsure(t *testing.T) {
	records, path := &unsure{Records: emptyRecords(t)}, filepath.Join(t.TempDir(), "key")
	if _, err := SharedKey(t.Context(), records, path); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("%v", err)
	}
	if _, err := SharedKey(t.Context(), records, path); err != nil {
		t.Errorf("the next start: %v", err)
	}
}
