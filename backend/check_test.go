package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/check"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
)

// checkFolder checks a data folder with its key in it.
func checkFolder(ctx context.Context, dir string) (check.Report, error) {
	return check.Folder(ctx, check.Paths{DataDir: dir})
}

// state is all files of a folder, with their modes and contents.
func state(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if d.Type().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %v %x\n", path, info.Mode(), sha256.Sum256(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCheckDistinguishesLeftoversFromFaults: a leftover that the service drops by
// itself is reported, and is no fault.
func TestCheckDistinguishesLeftoversFromFaults(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, dir)
	key := filepath.Join(dir, "objects", "models", "acme", "North", "1", "model")
	err := errors.Join(os.MkdirAll(filepath.Dir(key), 0o700), os.WriteFile(key, []byte("half"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := checkFolder(t.Context(), dir); err != nil || len(c.Faults) != 1 || len(c.Notes) > 0 {
		t.Fatalf("not announced: %+v, %v", c, err)
	}
	db, err := bolt.Open(dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx store.Tx) error {
		return tx.Put("object-intents", store.Key("models/acme/North/1/model"), []byte(`{"life":"a former one"}`))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if c, err := checkFolder(t.Context(), dir); err != nil || len(c.Faults) > 0 || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "object models/acme/North/1/model was being stored") {
		t.Errorf("announced: %+v, %v", c, err)
	}
}

// A whole folder is well, and each kind of damage is named; a check changes
// nothing.
func TestCheckNamesDamage(t *testing.T) {
	if os.Getuid() < 0 {
		t.Skip("modes of files are another matter here")
	}
	whole := t.TempDir()
	if err := os.Chmod(whole, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, whole)
	before := state(t, whole)
	c, err := checkFolder(t.Context(), whole)
	if err != nil || len(c.Faults) > 0 || c.Records < 10 || c.Tables < 30 || c.Objects == 0 || c.ObjectBytes == 0 || c.Files < 3 {
		t.Fatalf("a whole folder: %+v, %v", c, err)
	}
	if state(t, whole) != before {
		t.Error("the check changed the folder")
	}
	entries := func(tx store.Tx, bucket string) (all []store.Entry) {
		for e, err := range tx.Scan(bucket, nil, nil, false) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, store.Entry{Key: bytes.Clone(e.Key), Value: bytes.Clone(e.Value)})
		}
		return all
	}
	stored := func(do func(tx store.Tx) error) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			db, err := bolt.Open(dir, bolt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(t.Context(), do), db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	records := func(do func(tx *bbolt.Tx) error) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			db, err := bbolt.Open(filepath.Join(dir, "sunloop.db"), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(do); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	object := func(do func(path string) error) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			err := filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					return do(path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		says   string
	}{
		{"record", stored(func(tx store.Tx) error {
			return tx.Put("orders", entries(tx, "orders")[0].Key, []byte("{"))
		}), "of orders cannot be read"},
		{"no longer indexed", stored(func(tx store.Tx) error {
			return tx.Delete("uploads/id", entries(tx, "uploads/id")[0].Key)
		}), "of uploads is not in its index id"},
		{"index to nothing", stored(func(tx store.Tx) error {
			return tx.Put("uploads/id", []byte("x"), []byte("unknown"))
		}), "index id of uploads names the record \"unknown\", which is not there"},
		{"index in the wrong place", stored(func(tx store.Tx) error {
			return tx.Put("uploads/id", []byte("x"), entries(tx, "uploads/id")[0].Value)
		}), "where it does not belong"},
		{"altered value", records(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("r/uploads"))
			k, v := b.Cursor().First()
			bad := append([]byte(nil), v...)
			bad[len(bad)/2] ^= 1
			return b.Put(k, bad)
		}), "of bucket \"r/uploads\" does not match its checksum"},
		{"key missing", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "sunloop.key")); err != nil {
				t.Fatal(err)
			}
		}, "sunloop.key is missing"},
		{"key altered", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "sunloop.key"), make([]byte, 32), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "does not open the signing key"},
		{"file of no bytes", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "sunloop.db"), 0); err != nil {
				t.Fatal(err)
			}
		}, "the file is empty"},
		{"unclaimed bucket", records(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("r/strange"))
			return err
		}), "records of strange belong to no table"},
		{"job", records(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("due")).Put([]byte("12345678nobody"), nil) }), "row \"12345678nobody\" of bucket \"due\" does not match its checksum"},
		{"block", records(func(tx *bbolt.Tx) error {
			telemetry := tx.Bucket([]byte("telemetry"))
			return telemetry.ForEachBucket(func(id []byte) error {
				b := telemetry.Bucket(id).Bucket([]byte("blocks"))
				return b.ForEach(func(k, v []byte) error {
					bad := append([]byte(nil), v...)
					bad[len(bad)/2] ^= 1
					return b.Put(append([]byte(nil), k...), bad)
				})
			})
		}), "blocks of the telemetry of site"},
		{"object changed", object(func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[len(b)/2] ^= 1
			return os.WriteFile(path, b, 0o600)
		}), "the checksum is not that of the record"},
		{"object cut", object(func(path string) error { return os.Truncate(path, 10) }), ": 10 bytes, not "},
		{"object gone", object(os.Remove), "which is not there"},
		{"object without a record", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "objects", "stray"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "object stray is named by no record"},
		{"mode", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "sunloop.key"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "sunloop.key has the mode 0644"},
		{"file cut", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "sunloop.db"), 64<<10); err != nil {
				t.Fatal(err)
			}
		}, "its end is missing"},
		{"no file", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "sunloop.db")); err != nil {
				t.Fatal(err)
			}
		}, "no database: it has sunloop.key"},
	} {
		t.Run(d.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			// The copy has separate modes.
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				mode := fs.FileMode(0o600)
				if err == nil && d.IsDir() {
					mode = 0o700
				}
				return os.Chmod(path, mode)
			})
			if err != nil {
				t.Fatal(err)
			}
			d.damage(t, dir)
			before := state(t, dir)
			c, err := checkFolder(t.Context(), dir)
			if err != nil || !strings.Contains(strings.Join(c.Faults, "\n"), d.says) {
				t.Errorf("it says %q, %v, and not %q", c.Faults, err, d.says)
			}
			if state(t, dir) != before {
				t.Error("the check changed the folder")
			}
		})
	}
}
