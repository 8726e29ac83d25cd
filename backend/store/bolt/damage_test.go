package bolt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/storetest"
)

// things are records that a damaged file may lose or alter.
var things = store.Table[thing]{
	Bucket:  "things",
	Key:     func(t thing) []byte { return store.Key(t.ID) },
	Indexes: []store.Index[thing]{{Name: "group", Key: func(t thing) []byte { return store.Key(t.Group) }}},
}

type thing struct {
	ID    string `json:"id"`
	Group string `json:"group"`
	Text  string `json:"text"`
}

// damageable is a folder with records, an index, telemetry in blocks and rows,
// and jobs in each state; some of its pages are free.
func damageable(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := Open(dir, Options{Now: fixed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	for part := range 8 {
		err := s.Update(ctx, func(tx store.Tx) error {
			for i := range 40 {
				v := thing{fmt.Sprintf("thing-%d-%02d", i, part), strconv.Itoa(i % 7), string(make([]byte, 10+i*i))}
				if err := things.Put(tx, v); err != nil {
					return err
				}
			}
			return tx.Enqueue(store.Job{Kind: "work", Unique: strconv.Itoa(part)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err = s.Update(ctx, func(tx store.Tx) error {
		for i := range 40 {
			if err := things.Delete(tx, store.Key(fmt.Sprintf("thing-%d-03", i))); err != nil {
				return err
			}
		}
		return tx.Put("small", []byte("one"), []byte("alone"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"north", "south"} {
		var frames []store.AssetFrame
		for i := range 4 {
			frames = append(frames, store.AssetFrame{AssetID: strconv.Itoa(i), Frame: storetest.FleetPower(i, 30)})
		}
		if err := s.Append(ctx, store.SiteKey{ID: id, Zone: time.UTC}, frames); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Claim(ctx, fixed(), time.Hour, 2); err != nil {
		t.Fatal(err)
	}
	return dir
}

// answersOf reads everything in a folder; what cannot be read is an error.
func answersOf(ctx context.Context, s *Store) map[string]any {
	got := map[string]any{}
	note := func(name string, v any, err error) {
		if err != nil {
			v = err
		}
		got[name] = v
	}
	view := func(name string, read func(tx store.Tx) (any, error)) {
		var v any
		err := s.View(ctx, func(tx store.Tx) (err error) {
			v, err = read(tx)
			return err
		})
		note(name, v, err)
	}
	view("all", func(tx store.Tx) (any, error) { v, _, err := things.List(tx, store.Query{}); return v, err })
	view("backwards", func(tx store.Tx) (any, error) {
		v, _, err := things.List(tx, store.Query{Reverse: true, Limit: 50})
		return v, err
	})
	for i := range 7 {
		view(fmt.Sprint("group ", i), func(tx store.Tx) (any, error) {
			v, _, err := things.List(tx, store.Query{Index: "group", Prefix: store.Key(strconv.Itoa(i))})
			return v, err
		})
	}
	for i := range 40 {
		for _, part := range []int{0, 3, 5} {
			id := fmt.Sprintf("thing-%d-%02d", i, part)
			view(id, func(tx store.Tx) (any, error) {
				v, err := things.Get(tx, store.Key(id))
				if errors.Is(err, store.ErrNotFound) {
					return "absent", nil
				}
				return v, err
			})
		}
		view(fmt.Sprint("part of ", i), func(tx store.Tx) (any, error) {
			var keys []string
			for e, err := range tx.Scan("things", []byte(fmt.Sprintf("thing-%d-01", i)), []byte(fmt.Sprintf("thing-%d-04", i)), i%2 == 0) {
				if err != nil {
					return nil, err
				}
				keys = append(keys, string(e.Key))
			}
			return keys, nil
		})
	}
	view("small", func(tx store.Tx) (any, error) { v, err := tx.Get("small", []byte("one")); return string(v), err })
	for _, site := range []string{"north", "south"} {
		for _, asset := range []string{"0", "3", "none"} {
			f, err := store.Collect(s.Read(ctx, site, asset, time.Unix(0, 0), fixed().AddDate(1, 0, 0)))
			note(site+" "+asset, f, err)
			f, err = store.Collect(s.Read(ctx, site, asset, storetest.FleetEnd.AddDate(0, 0, -9), storetest.FleetEnd.AddDate(0, 0, -6)))
			note(site+" three days of "+asset, f, err)
		}
		days, err := s.Daily(ctx, site, time.Unix(0, 0), fixed().AddDate(1, 0, 0))
		note(site+" days", days, err)
		days, err = s.Daily(ctx, site, storetest.FleetEnd.AddDate(0, 0, -9), storetest.FleetEnd.AddDate(0, 0, -6), "1", "2")
		note(site+" some days", days, err)
		latest, err := s.Latest(ctx, site)
		note(site+" latest", latest, err)
		first, last, ok, err := s.Period(ctx, site, "2")
		note(site+" period", []any{first, last, ok}, err)
	}
	waiting, running, dead, err := s.Counts(ctx)
	note("counts", []int{waiting, running, dead}, err)
	at, ok, err := s.Next(ctx)
	note("next", []any{at, ok}, err)
	return got
}

// damageKinds change a file by chance.
var damageKinds = map[string]func(r *rand.Rand, b []byte) []byte{
	"a bit": func(r *rand.Rand, b []byte) []byte { b[r.IntN(len(b))] ^= 1 << r.IntN(8); return b },
	"50 bits": func(r *rand.Rand, b []byte) []byte {
		for range 50 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return b
	},
	"a head": func(r *rand.Rand, b []byte) []byte { // of a page, and its first entries
		b[r.IntN(len(b)/4096)*4096+r.IntN(64)] ^= 1 << r.IntN(8)
		return b
	},
	"truncation": func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b))] },
	"zeros": func(r *rand.Rand, b []byte) []byte {
		at := r.IntN(len(b)/4096) * 4096
		clear(b[at:min(at+4096<<r.IntN(5), len(b))])
		return b
	},
	"swapped pages": func(r *rand.Rand, b []byte) []byte {
		i, j := r.IntN(len(b)/4096)*4096, r.IntN(len(b)/4096)*4096
		for k := range 4096 {
			b[i+k], b[j+k] = b[j+k], b[i+k]
		}
		return b
	},
}

// TestDamage damages the file by chance: nothing crashes or hangs, no altered or
// missing value is returned, and a check that finds nothing is right.
func TestDamage(t *testing.T) {
	whole := damageable(t)
	original, err := os.ReadFile(filepath.Join(whole, fileName))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	s, err := OpenReadOnly(whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	want = answersOf(t.Context(), s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, v := range want {
		if err, bad := v.(error); bad {
			t.Fatalf("%s: %v", name, err)
		}
	}
	rounds := 60
	if n, err := strconv.Atoi(os.Getenv("SUNLOOP_TEST_DAMAGE")); err == nil {
		rounds = n
	}
	kinds := slices.Sorted(func(yield func(string) bool) {
		for k := range damageKinds {
			if !yield(k) {
				return
			}
		}
	})
	opened, refused, unharmed := 0, 0, 0
	for round := range rounds {
		kind := kinds[round%len(kinds)]
		r := rand.New(rand.NewPCG(uint64(round), 7))
		dir := filepath.Join(t.TempDir(), strconv.Itoa(round))
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, fileName), damageKinds[kind](r, slices.Clone(original)), 0o600)); err != nil {
			t.Fatal(err)
		}
		where := fmt.Sprintf("round %d, %s", round, kind)
		faults := 0
		if err := VerifyFolder(t.Context(), dir, func(error) { faults++ }); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		if s, err := OpenReadOnly(dir, nil); err == nil {
			if found := s.Check(t.Context()); len(found) > 0 && faults == 0 || len(found) == 0 && faults > 0 {
				t.Errorf("%s: %d faults in the file, and the check finds %v", where, faults, found)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		}
		s, err := Open(dir, Options{Now: fixed})
		if err != nil {
			if refused++; !errors.Is(err, store.ErrDamaged) || faults == 0 {
				t.Errorf("%s: %v, of %d faults", where, err, faults)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			continue
		}
		opened++
		harmed := false
		for name, got := range answersOf(t.Context(), s) {
			if err, bad := got.(error); bad {
				if harmed = true; !errors.Is(err, store.ErrDamaged) {
					t.Errorf("%s: %s: %v", where, name, err)
				}
			} else if !reflect.DeepEqual(got, want[name]) {
				t.Errorf("%s: %s is not what was stored", where, name)
			}
		}
		if harmed && faults == 0 {
			t.Errorf("%s: no fault was found in a damaged file", where)
		}
		if faults == 0 {
			unharmed++
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		if _, _, err := Compact(t.Context(), dir); err == nil {
			if err := VerifyFolder(t.Context(), dir, func(err error) { t.Errorf("%s: after a compaction: %v", where, err) }); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		} else if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: compact: %v", where, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d damages of %d bytes: %d files refused, %d opened, of which %d were without a fault", rounds, len(original), refused, opened, unharmed)
}

// TestFaultsOfTheMap: pages that go missing under a service that runs are
// errors, also of those who write, and it can be closed.
func TestFaultsOfTheMap(t *testing.T) {
	dir := damageable(t)
	s, err := Open(dir, Options{Now: fixed})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, fileName), 2*4096); err != nil {
		t.Fatal(err)
	}
	if err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.Get("things", []byte("k")); return err }); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("read: %v", err)
	}
	for range 2 {
		err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("things", []byte("k"), []byte("v")) })
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("write: %v", err)
		}
	}
	if _, err := s.Backup(t.Context(), new(discard)); err == nil {
		t.Error("a backup of half a file is made")
	}
	if len(s.Check(t.Context())) == 0 {
		t.Error("nothing is wrong with half a file")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFaultOfAValue: a value whose page goes missing while a closure reads it is
// an error of the transaction.
func TestFaultOfAValue(t *testing.T) {
	dir := damageable(t)
	s, err := Open(dir, Options{Now: fixed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var copied []byte
	err = s.View(t.Context(), func(tx store.Tx) error {
		v, err := tx.Get("things", store.Key("thing-39-05"))
		if err != nil {
			return err
		}
		if err := os.Truncate(filepath.Join(dir, fileName), 2*4096); err != nil {
			return err
		}
		copied = slices.Clone(v)
		return nil
	})
	if !errors.Is(err, store.ErrDamaged) || copied != nil {
		t.Errorf("%d bytes, %v", len(copied), err)
	}
}

// TestStructure: half a file is not mapped, and a page that counts fewer entries
// than it has is not taken for one from which some were removed.
func TestStructure(t *testing.T) {
	whole := damageable(t)
	original, err := os.ReadFile(filepath.Join(whole, fileName))
	if err != nil {
		t.Fatal(err)
	}
	opened := func(b []byte) error {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	if err := opened(original[:len(original)/2]); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "its end is missing") {
		t.Errorf("half a file: %v", err)
	}
	f, err := os.Open(filepath.Join(whole, fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := readMetas(f)
	if err != nil {
		t.Fatal(err)
	}
	v := &verify{ctx: t.Context(), file: f, meta: m, report: func(err error) error { return err }}
	if err := v.tree(); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for id, used := range v.used {
		at := int64(id) * m.pageSize
		if head := readHead(original[at:]); used && head.id == uint64(id) && (head.flags == leafPage || head.flags == branchPage) && head.count > 1 {
			if tried++; tried%17 != 1 {
				continue
			}
			fewer := slices.Clone(original)
			native.PutUint16(fewer[at+10:], uint16(head.count-1))
			if err := opened(fewer); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("page %d with %d of %d entries: %v", id, head.count-1, head.count, err)
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d pages tried", tried)
	}
}

// TestReadOnlyLeavesTheNote: what only reads removes nothing from the folder, which
// may be on a file system that cannot be written to.
func TestReadOnlyLeavesTheNote(t *testing.T) {
	dir := damageable(t)
	note := filepath.Join(dir, holderName)
	if err := os.WriteFile(note, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenReadOnly(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(note); err != nil {
		t.Error(err)
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

// TestPanicOfAClosure: a closure's own panic is no damage.
func TestPanicOfAClosure(t *testing.T) {
	s := openTest(t, fixed)
	for name, run := range map[string]func(func(store.Tx) error) error{
		"view":   func(fn func(store.Tx) error) error { return s.View(t.Context(), fn) },
		"update": func(fn func(store.Tx) error) error { return s.Update(t.Context(), fn) },
	} {
		for what, fn := range map[string]func(tx store.Tx) error{
			"a value":   func(store.Tx) error { panic("its own") },
			"nil":       func(store.Tx) error { var p *thing; p.ID = "x"; return nil },
			"its index": func(tx store.Tx) error { _ = []int{}[len(name)]; return nil },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s, %s: the panic is gone", name, what)
					}
				}()
				t.Errorf("%s, %s: %v", name, what, run(fn))
			}()
		}
	}
}

// TestUpgradeOfSchema1: values of a file without checksums get some, once; an
// upgrade that was cut off begins again.
func TestUpgradeOfSchema1(t *testing.T) {
	dir := damageable(t)
	path := filepath.Join(dir, fileName)
	s, err := OpenReadOnly(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := answersOf(t.Context(), s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	withoutSums(t, path)
	if err := os.WriteFile(filepath.Join(dir, compactName), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenReadOnly(dir, nil); err != nil {
		t.Fatal(err)
	}
	if got := answersOf(t.Context(), s); !reflect.DeepEqual(got, want) || s.Checksums() {
		t.Error("a file of schema 1 does not answer the same")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		calls := 0
		s, err := Open(dir, Options{Now: fixed, Upgrading: func(done, total int64) { calls++ }})
		if err != nil {
			t.Fatal(err)
		}
		if got := answersOf(t.Context(), s); !reflect.DeepEqual(got, want) || !s.Checksums() {
			t.Error("the upgraded file does not answer the same")
		}
		if faults := s.Check(t.Context()); len(faults) > 0 {
			t.Error(faults)
		}
		if (calls > 0) != (round == 0) {
			t.Errorf("round %d: %d calls while it was upgraded", round, calls)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

// withoutSums converts a file to schema 1.
func withoutSums(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	var strip func(b *bbolt.Bucket) error
	strip = func(b *bbolt.Bucket) error {
		rows := map[string][]byte{}
		err := b.ForEach(func(k, v []byte) error {
			if v == nil {
				return strip(b.Bucket(k))
			}
			rows[string(k)] = slices.Clone(v[:len(v)-sumBytes])
			return nil
		})
		for k, v := range rows {
			err = errors.Join(err, b.Put([]byte(k), v))
		}
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		err := errors.Join(meta.Put(schemaKey, []byte{0, 0, 0, 1}), meta.Delete(schemaSumKey))
		return errors.Join(err, tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if string(name) == string(metaBucket) {
				return nil
			}
			return strip(b)
		}))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// alter changes the stored row of a bucket: its key, its value, or both.
func alter(t *testing.T, dir, bucket string, change func(key, stored []byte) (newKey, newStored []byte)) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, fileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(recordPrefix + bucket))
		k, v := b.Cursor().Seek([]byte("k2"))
		k, v = slices.Clone(k), slices.Clone(v)
		newKey, newStored := change(slices.Clone(k), slices.Clone(v))
		return errors.Join(b.Delete(k), b.Put(newKey, newStored))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedRow: an altered value is not returned, and a row whose key was
// altered is neither found under another key nor reported as absent, in reads
// and writes.
func TestDamagedRow(t *testing.T) {
	for what, change := range map[string]func(key, stored []byte) (newKey, newStored []byte){
		"value": func(k, v []byte) ([]byte, []byte) { v[0] ^= 1; return k, v },
		"key":   func(k, v []byte) ([]byte, []byte) { return append(k, '!'), v },
		"order": func(_, v []byte) ([]byte, []byte) { return []byte("k1z"), v },
		"bound": func(k, v []byte) ([]byte, []byte) { return append(k, v[0]), v[1:] },
	} {
		dir := t.TempDir()
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(t.Context(), func(tx store.Tx) error {
			for i := range 5 {
				if err := tx.Put("b", fmt.Appendf(nil, "k%d", i), []byte("value")); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		alter(t, dir, "b", change)
		if s, err = Open(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		scan := func(from, to string, reverse bool) func(tx store.Tx) error {
			return func(tx store.Tx) error {
				for _, err := range tx.Scan("b", []byte(from), []byte(to), reverse) {
					if err != nil {
						return err
					}
				}
				return nil
			}
		}
		for name, read := range map[string]func(tx store.Tx) error{
			"get":             func(tx store.Tx) error { _, err := tx.Get("b", []byte("k2")); return err },
			"scan":            scan("k0", "k9", false),
			"scan back":       scan("k0", "k9", true),
			"scan of it":      scan("k2", "k2\x00", false),
			"scan of it back": scan("k2", "k2\x00", true),
		} {
			if err := s.View(t.Context(), read); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s altered: %s: %v", what, name, err)
			}
			if err := s.Update(t.Context(), read); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s altered: %s of a writer: %v", what, name, err)
			}
		}
		err = s.View(t.Context(), func(tx store.Tx) error {
			v, err := tx.Get("b", []byte("k0"))
			if string(v) != "value" {
				t.Errorf("the row before it is %q", v)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if len(s.Check(t.Context())) != 1 {
			t.Errorf("%s altered: the check finds %v", what, s.Check(t.Context()))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
