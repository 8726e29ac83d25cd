package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/backend/store"
)

// Records asserts what store.Records promises.
func Records(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, h Store)
	}{
		{"absent", recordsAbsent},
		{"rollback", recordsRollback},
		{"read only", recordsReadOnly},
		{"copies", recordsCopies},
		{"scan", recordsScan},
		{"scan of any range", recordsRanges},
		{"scan while writing", recordsScanWriting},
		{"scan over writes ahead", recordsScanAhead},
		{"own writes", recordsOwnWrites},
		{"model", recordsModel},
		{"table", recordsTable},
		{"versions", recordsVersions},
		{"concurrent", recordsConcurrent},
		{"cancelled", recordsCancelled},
		{"panic", recordsPanic},
		{"in commit", recordsInCommit},
		{"each", recordsEach},
		{"together", recordsTogether},
		{"together, one by one", recordsTogetherEnds},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t, newClock().Now)) })
	}
}

func put(t *testing.T, h store.Records, bucket string, kv ...string) {
	t.Helper()
	ok(t, h.Update(t.Context(), func(tx store.Tx) error {
		for i := 0; i < len(kv); i += 2 {
			if err := tx.Put(bucket, []byte(kv[i]), []byte(kv[i+1])); err != nil {
				return err
			}
		}
		return nil
	}))
}

func get(t *testing.T, h store.Records, bucket, key string) (value string, err error) {
	t.Helper()
	err = h.View(t.Context(), func(tx store.Tx) error {
		v, err := tx.Get(bucket, []byte(key))
		value = string(v)
		return err
	})
	return value, err
}

func keys(tx store.Tx, bucket, from, to string, reverse bool) ([]string, error) {
	var end []byte
	if to != "" {
		end = []byte(to)
	}
	out := []string{}
	for e, err := range tx.Scan(bucket, []byte(from), end, reverse) {
		if err != nil {
			return nil, err
		}
		out = append(out, string(e.Key))
	}
	return out, nil
}

func recordsAbsent(t *testing.T, h Store) {
	for _, bucket := range []string{"none", "some"} {
		if _, err := get(t, h, bucket, "k"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Get of an absent key of %s: %v", bucket, err)
		}
		ok(t, h.Update(t.Context(), func(tx store.Tx) error { return tx.Delete(bucket, []byte("k")) }))
		put(t, h, "some", "other", "")
	}
	if v, err := get(t, h, "some", "other"); v != "" || err != nil {
		t.Errorf("an empty value reads as %q, %v", v, err)
	}
}

func recordsRollback(t *testing.T, h Store) {
	put(t, h, "b", "k", "old")
	stop := errors.New("stop")
	err := h.Update(t.Context(), func(tx store.Tx) error {
		if err := errors.Join(tx.Put("b", []byte("k"), []byte("new")), tx.Put("c", []byte("x"), nil)); err != nil {
			return err
		}
		if err := tx.Enqueue(store.Job{Kind: "k"}); err != nil {
			return err
		}
		return stop
	})
	if err != stop { //nolint:errorlint // it must be the very error
		t.Errorf("Update returned %v", err)
	}
	if v, _ := get(t, h, "b", "k"); v != "old" {
		t.Errorf("after a rollback the value is %q", v)
	}
	if n := waiting(t, h); n != 0 {
		t.Errorf("after a rollback %d jobs wait", n)
	}
}

func recordsReadOnly(t *testing.T, h Store) {
	put(t, h, "b", "k", "v")
	ok(t, h.View(t.Context(), func(tx store.Tx) error {
		for name, err := range map[string]error{
			"Put":           tx.Put("b", []byte("k"), nil),
			"Put, new":      tx.Put("c", []byte("k"), nil),
			"Delete":        tx.Delete("b", []byte("k")),
			"Delete absent": tx.Delete("c", []byte("k")),
			"Enqueue":       tx.Enqueue(store.Job{Kind: "k"}),
		} {
			if !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("%s in a View: %v", name, err)
			}
		}
		return nil
	}))
}

func recordsCopies(t *testing.T, h Store) {
	key, value := []byte("key"), []byte("value")
	ok(t, h.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.Put("b", key, value); err != nil {
			return err
		}
		copy(key, "xxx")
		copy(value, "xxxxx")
		return nil
	}))
	if v, err := get(t, h, "b", "key"); v != "value" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

// recordsOwnWrites reads in a transaction what it wrote.
func recordsOwnWrites(t *testing.T, h Store) {
	put(t, h, "b", "old", "1", "gone", "2")
	ok(t, h.Update(t.Context(), func(tx store.Tx) error {
		see := func(when, key, want string) {
			v, err := tx.Get("b", []byte(key))
			if want == "" && !errors.Is(err, store.ErrNotFound) || want != "" && (err != nil || string(v) != want) {
				t.Errorf("%s: %s is %q, %v; want %q", when, key, v, err, want)
			}
		}
		see("before", "old", "1")
		if err := errors.Join(tx.Put("b", []byte("old"), []byte("3")), tx.Put("b", []byte("new"), []byte("4")), tx.Delete("b", []byte("gone"))); err != nil {
			return err
		}
		for _, when := range []string{"after", "after a scan"} {
			see(when, "old", "3")
			see(when, "new", "4")
			see(when, "gone", "")
			got, err := keys(tx, "b", "", "", false)
			if diff := cmp.Diff([]string{"new", "old"}, got); diff != "" || err != nil {
				t.Errorf("%s: %v %s", when, err, diff)
			}
		}
		if err := errors.Join(tx.Delete("b", []byte("new")), tx.Put("b", []byte("new"), []byte("5")), tx.Put("b", []byte("old"), nil), tx.Delete("b", []byte("old"))); err != nil {
			return err
		}
		see("at last", "new", "5")
		see("at last", "old", "")
		return nil
	}))
	if v, err := get(t, h, "b", "new"); v != "5" || err != nil {
		t.Errorf("committed %q, %v", v, err)
	}
	for _, key := range []string{"old", "gone"} {
		if _, err := get(t, h, "b", key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s is there: %v", key, err)
		}
	}
}

// recordsModel compares random transactions with a map.
func recordsModel(t *testing.T, h Store) {
	model := map[string]string{}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		if round > 40 { // each is a durable commit
			return
		}
		next := map[string]string{}
		for k, v := range model {
			next[k] = v
		}
		fail := rapid.Bool().Draw(rt, "fail")
		key := rapid.StringMatching(`[ab\x00\xff]{1,3}`)
		type op struct {
			Delete     bool
			Key, Value string
		}
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
			return op{rapid.Bool().Draw(t, "delete"), key.Draw(t, "key"), rapid.String().Draw(t, "value")}
		}), 0, 8).Draw(rt, "ops")
		for _, o := range ops {
			if o.Delete {
				delete(next, o.Key)
			} else {
				next[o.Key] = o.Value
			}
		}
		stop := errors.New("stop")
		err := h.Update(context.Background(), func(tx store.Tx) error {
			for _, o := range ops {
				err := tx.Put("m", []byte(o.Key), []byte(o.Value))
				if o.Delete {
					err = tx.Delete("m", []byte(o.Key))
				}
				if err != nil {
					return err
				}
			}
			if fail {
				return stop
			}
			return nil
		})
		if fail != errors.Is(err, stop) {
			rt.Fatal(err)
		}
		if !fail {
			model = next
		}
		got := map[string]string{}
		var order []string
		err = h.View(context.Background(), func(tx store.Tx) error {
			for e, err := range tx.Scan("m", nil, nil, false) {
				if err != nil {
					return err
				}
				got[string(e.Key)] = string(e.Value)
				order = append(order, string(e.Key))
			}
			return nil
		})
		if err != nil || !slices.IsSorted(order) {
			rt.Fatalf("%v, order %q", err, order)
		}
		if diff := cmp.Diff(model, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

type person struct{ Customer, ID, Name string }

var people = store.Table[person]{
	Bucket: "people",
	Key:    func(p person) []byte { return store.Key(p.Customer, p.ID) },
	Indexes: []store.Index[person]{{Name: "name", Key: func(p person) []byte {
		if p.Name == "" {
			return nil
		}
		return store.Key(p.Customer, p.Name)
	}}},
}

func recordsTable(t *testing.T, h Store) {
	ctx := t.Context()
	ok(t, h.Update(ctx, func(tx store.Tx) error {
		for i := range 10 {
			// Names repeat and fall as ids rise.
			if err := people.Insert(tx, person{"c1", strconv.Itoa(i), string(rune('z' - i/2))}); err != nil {
				return err
			}
		}
		return errors.Join(people.Put(tx, person{"c2", "0", "x"}), people.Put(tx, person{"c1", "nameless", ""}))
	}))
	if err := h.Update(ctx, func(tx store.Tx) error { return people.Insert(tx, person{"c2", "0", "y"}) }); !errors.Is(err, store.ErrExists) {
		t.Errorf("Insert of a key twice: %v", err)
	}
	ok(t, h.Update(ctx, func(tx store.Tx) error {
		// Index entries follow a change and a deletion.
		return errors.Join(people.Put(tx, person{"c1", "0", "a"}), people.Delete(tx, store.Key("c1", "9")), people.Delete(tx, store.Key("c1", "none")))
	}))
	list := func(q store.Query) (ids []string) {
		ok(t, h.View(ctx, func(tx store.Tx) error {
			for {
				page, next, err := people.List(tx, q)
				if err != nil {
					return err
				}
				if q.Limit > 0 && len(page) > q.Limit {
					t.Errorf("page of %d with limit %d", len(page), q.Limit)
				}
				for _, p := range page {
					ids = append(ids, p.Customer+p.ID)
				}
				if q.Cursor = next; next == "" {
					return nil
				}
			}
		}))
		return ids
	}
	byName := []string{"c10", "c18", "c16", "c17", "c14", "c15", "c12", "c13", "c11"}
	reversed := slices.Clone(byName)
	slices.Reverse(reversed)
	for _, limit := range []int{0, 1, 2, 9, 100} {
		c1 := store.Key("c1")
		if diff := cmp.Diff(byName, list(store.Query{Index: "name", Prefix: c1, Limit: limit})); diff != "" {
			t.Errorf("by name, limit %d: %s", limit, diff)
		}
		if diff := cmp.Diff(reversed, list(store.Query{Index: "name", Prefix: c1, Limit: limit, Reverse: true})); diff != "" {
			t.Errorf("by name, reversed, limit %d: %s", limit, diff)
		}
		if got := list(store.Query{Limit: limit}); len(got) != 11 || got[10] != "c20" {
			t.Errorf("all, limit %d: %q", limit, got)
		}
	}
	err := h.View(ctx, func(tx store.Tx) error {
		_, next, err := people.List(tx, store.Query{Prefix: store.Key("c1"), Limit: 1})
		if err != nil {
			return err
		}
		_, _, err = people.List(tx, store.Query{Prefix: store.Key("c2"), Cursor: next})
		return err
	})
	if err == nil {
		t.Error("a cursor of another customer's list is taken")
	}
	ok(t, h.View(ctx, func(tx store.Tx) error {
		p, err := people.Get(tx, store.Key("c1", "0"))
		if p.Name != "a" {
			t.Errorf("got %+v", p)
		}
		return err
	}))
}

// The records of a table in version 1, 2 and 3: version 2 splits the name and a Form
// stores it apart from the type that is used, version 3 renames a field.
type (
	named2 struct {
		Customer string `json:"Customer"`
		ID       string `json:"ID"`
		Given    string `json:"given,omitempty"`
		Family   string `json:"family" limit:"8 cut"`
	}
	named3 struct {
		Customer string `json:"Customer"`
		ID       string `json:"ID"`
		Given    string `json:"given,omitempty"`
		Family   string `json:"surname" limit:"8 cut"`
	}
)

func toNamed(p person) named3 {
	given, family, _ := strings.Cut(p.Name, " ")
	return named3{Customer: p.Customer, ID: p.ID, Given: given, Family: family}
}

func (n named3) person() person {
	return person{Customer: n.Customer, ID: n.ID, Name: strings.TrimSpace(n.Given + " " + n.Family)}
}

func splitName(fields map[string]json.RawMessage) error {
	var name string
	if err := json.Unmarshal(fields["Name"], &name); err != nil {
		return err
	}
	given, family, found := strings.Cut(name, " ")
	if !found {
		return errors.New("a name without a space")
	}
	delete(fields, "Name")
	fields["given"], fields["family"] = json.RawMessage(strconv.Quote(given)), json.RawMessage(strconv.Quote(family))
	return nil
}

func renameFamily(fields map[string]json.RawMessage) error {
	fields["surname"] = fields["family"]
	delete(fields, "family")
	return nil
}

// recordsVersions reads, lists, checks and changes records that former versions of a
// table stored, and refuses records of a later version.
func recordsVersions(t *testing.T, h Store) {
	ctx := t.Context()
	people2 := store.Table[person]{Bucket: people.Bucket, Key: people.Key, Indexes: people.Indexes, Upgrades: []store.Upgrade{splitName},
		Form: store.As(func(p person) named2 { return named2(toNamed(p)) }, func(n named2) person { return named3(n).person() })}
	people3 := people2
	people3.Form, people3.Upgrades = store.As(toNamed, named3.person), []store.Upgrade{splitName, renameFamily}
	one, two, three := person{"c", "1", "Ada Lovelace"}, person{"c", "2", "Alan Turing"}, person{"c", "3", "Grace Hopper"}
	ok(t, h.Update(ctx, func(tx store.Tx) error {
		return errors.Join(people.Put(tx, one), people2.Put(tx, two), people3.Put(tx, three))
	}))
	for _, p := range []struct{ id, want string }{
		{"1", `{"Customer":"c","ID":"1","Name":"Ada Lovelace"}`},
		{"2", `{"v":2,"Customer":"c","ID":"2","given":"Alan","family":"Turing"}`},
		{"3", `{"v":3,"Customer":"c","ID":"3","given":"Grace","surname":"Hopper"}`},
	} {
		if got, err := get(t, h, "people", string(store.Key("c", p.id))); got != p.want || err != nil {
			t.Errorf("stored %s, %v, want %s", got, err, p.want)
		}
	}
	check := func(want ...person) {
		t.Helper()
		ok(t, h.View(ctx, func(tx store.Tx) error {
			for _, q := range []store.Query{{}, {Index: "name", Prefix: store.Key("c")}} {
				list, _, err := people3.List(tx, q)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want, list); diff != "" {
					t.Errorf("list %+v: %s", q, diff)
				}
			}
			if n := people3.Check(tx, func(err error) { t.Error(err) }); n != len(want) {
				t.Errorf("checked %d records, want %d", n, len(want))
			}
			return nil
		}))
	}
	check(one, two, three)
	// A record is stored in the table's version when it is changed, and then within
	// the limits of what is stored.
	one.Name = "Augusta King-Noel"
	ok(t, h.Update(ctx, func(tx store.Tx) error { return people3.Put(tx, one) }))
	if got, err := get(t, h, "people", string(store.Key("c", "1"))); got != `{"v":3,"Customer":"c","ID":"1","given":"Augusta","surname":"King-No…"}` || err != nil {
		t.Errorf("stored %s, %v", got, err)
	}
	one.Name = "Augusta King-No…"
	ok(t, h.View(ctx, func(tx store.Tx) error {
		got, err := people3.Get(tx, store.Key("c", "1"))
		if diff := cmp.Diff(one, got); diff != "" {
			t.Error(diff)
		}
		if _, err := people2.Get(tx, store.Key("c", "3")); !errors.Is(err, store.ErrNewer) {
			t.Errorf("Get of a later version: %v, want ErrNewer", err)
		}
		return err
	}))
	if err := h.Update(ctx, func(tx store.Tx) error { return people2.Put(tx, three) }); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Put in place of a later version: %v, want ErrNewer", err)
	}
	put(t, h, "people", string(store.Key("c", "4")), `{"Customer":"c","ID":"4","Name":"Plato"}`, string(store.Key("c", "5")), `{"v":x,"Customer":"c"}`)
	ok(t, h.View(ctx, func(tx store.Tx) error {
		for _, id := range []string{"4", "5"} {
			if p, err := people3.Get(tx, store.Key("c", id)); err == nil {
				t.Errorf("record %s is read as %+v", id, p)
			}
		}
		return nil
	}))
}

// recordsConcurrent counts in one key from many goroutines; every third fails
// after it has written, which must undo its own work only.
func recordsConcurrent(t *testing.T, h Store) {
	const writers, each = 20, 15
	stop := errors.New("stop")
	var wg sync.WaitGroup
	errs := make(chan error, writers*each)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				fail := (w+i)%3 == 0
				err := h.Update(t.Context(), func(tx store.Tx) error {
					v, err := tx.Get("n", []byte("n"))
					if err != nil && !errors.Is(err, store.ErrNotFound) {
						return err
					}
					n, _ := strconv.Atoi(string(v))
					if err := tx.Put("n", []byte("n"), []byte(strconv.Itoa(n+1))); err != nil {
						return err
					}
					if fail {
						return stop
					}
					return tx.Enqueue(store.Job{Kind: "count"})
				})
				if fail != errors.Is(err, stop) || !fail && err != nil {
					errs <- fmt.Errorf("fail %v: %w", fail, err)
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	want := 0
	for w := range writers {
		for i := range each {
			if (w+i)%3 != 0 {
				want++
			}
		}
	}
	if v, err := get(t, h, "n", "n"); v != strconv.Itoa(want) || err != nil {
		t.Errorf("counted %s, want %d, %v", v, want, err)
	}
	if n := waiting(t, h); n != want {
		t.Errorf("%d jobs wait, want %d", n, want)
	}
}

func recordsCancelled(t *testing.T, h Store) {
	put(t, h, "b", "k", "v")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	fn := func(store.Tx) error { ran = true; return nil }
	if err := h.View(ctx, fn); !errors.Is(err, context.Canceled) || ran {
		t.Errorf("View with a cancelled context: %v, ran %v", err, ran)
	}
	if err := h.Update(ctx, fn); !errors.Is(err, context.Canceled) || ran {
		t.Errorf("Update with a cancelled context: %v, ran %v", err, ran)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := h.View(ctx, func(tx store.Tx) error {
		cancel()
		_, err := keys(tx, "b", "", "", false)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Scan with a cancelled context: %v", err)
	}
}

// recordsPanic asserts that a panic reaches its owner and leaves the store intact.
func recordsPanic(t *testing.T, h Store) {
	func() {
		defer func() {
			if p := recover(); p != "oops" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = h.Update(t.Context(), func(tx store.Tx) error {
			if err := tx.Put("b", []byte("k"), nil); err != nil {
				return err
			}
			panic("oops")
		})
	}()
	if _, err := get(t, h, "b", "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a panicked transaction left its work: %v", err)
	}
	put(t, h, "b", "k", "v")
}

// recordsInCommit is a mark that is there exactly when the change is.
func recordsInCommit(t *testing.T, h Store) {
	ctx := store.WithCommitHook(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Get("b", []byte("refused")); err == nil {
			return errors.New("no")
		}
		return tx.Put("marks", []byte("mark"), []byte("1"))
	})
	write := func(key string) func(store.Tx) error {
		return func(tx store.Tx) error { return tx.Put("b", []byte(key), []byte("1")) }
	}
	failed := errors.New("failed")
	for _, c := range []struct {
		name   string
		ctx    context.Context
		fn     func(store.Tx) error
		fails  bool
		keys   []string // that are there then
		marked bool
	}{
		{"nothing written", ctx, func(tx store.Tx) error { _, err := tx.Get("b", []byte("k")); return ignore(err) }, false, []string{}, false},
		{"failed", ctx, func(tx store.Tx) error { return errors.Join(write("k")(tx), failed) }, true, []string{}, false},
		{"refused by the mark", ctx, write("refused"), true, []string{}, false},
		{"aside", store.WithoutCommitHook(ctx), write("aside"), false, []string{"aside"}, false},
		{"written", ctx, write("k"), false, []string{"aside", "k"}, true},
	} {
		if err := h.Update(c.ctx, c.fn); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		ok(t, h.View(t.Context(), func(tx store.Tx) error {
			there, err := keys(tx, "b", "", "", false)
			if diff := cmp.Diff(c.keys, there); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
			return err
		}))
		if _, err := get(t, h, "marks", "mark"); c.marked != (err == nil) {
			t.Errorf("%s: the mark: %v", c.name, err)
		}
	}
}

func ignore(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// recordsEach does several things in one transaction, of which some are refused, also after they
// have written.
func recordsEach(t *testing.T, h Store) {
	refusal := errors.New("refused")
	runs := 0
	each := func(all bool) []error {
		t.Helper()
		errs, err := store.UpdateEach(t.Context(), h, 5, all, func(err error) bool { return errors.Is(err, refusal) }, func(ctx context.Context, i int) error {
			runs++
			if i == 1 {
				return refusal // without a write
			}
			return h.Update(ctx, func(tx store.Tx) error {
				if err := tx.Put("each", []byte{byte(i)}, []byte{byte(i)}); err != nil {
					return err
				}
				if i == 3 {
					return refusal
				}
				return h.View(ctx, func(tx store.Tx) error {
					_, err := tx.Get("each", []byte{byte(i)}) // what the transaction has written
					return err
				})
			})
		})
		ok(t, err)
		return errs
	}
	stored := func() (list []byte) {
		t.Helper()
		ok(t, h.View(t.Context(), func(tx store.Tx) error {
			list = nil
			for e, err := range tx.Scan("each", nil, nil, false) {
				ok(t, err)
				list = append(list, e.Value...)
			}
			return nil
		}))
		return list
	}
	if errs := each(true); fmt.Sprint(errs) != "[<nil> refused <nil> refused <nil>]" || len(stored()) != 0 {
		t.Errorf("all or none: %v, stored %v", errs, stored())
	}
	runs = 0
	if errs := each(false); fmt.Sprint(errs) != "[<nil> refused <nil> refused <nil>]" || fmt.Sprint(stored()) != "[0 2 4]" || runs != 8 {
		t.Errorf("%v after %d runs, stored %v", errs, runs, stored())
	}
	failure := errors.New("failed")
	_, err := store.UpdateEach(t.Context(), h, 2, false, func(error) bool { return false }, func(ctx context.Context, i int) error {
		return h.Update(ctx, func(tx store.Tx) error { return errors.Join(tx.Put("each", []byte{9}, []byte{9}), failure) })
	})
	if !errors.Is(err, failure) || fmt.Sprint(stored()) != "[0 2 4]" {
		t.Errorf("%v, stored %v", err, stored())
	}
}
