package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"github.com/google/go-cmp/cmp"
)

type world struct {
	*Trail
	t     *testing.T
	store *bolt.Store
	clock time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: time.Date(2025, 10, 1, 8, 0, 0, 0, time.UTC)}
	now := func() time.Time { return w.clock }
	var err error
	if w.store, err = bolt.Open(t.TempDir(), bolt.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Trail = New(w.store, now)
	return w
}

func (w *world) append(list ...api.AuditRecord) {
	w.t.Helper()
	for _, r := range list {
		if err := w.Append(context.Background(), r); err != nil {
			w.t.Fatal(err)
		}
	}
}

var all = api.Unlimited("")

// names lists the routes of all records that the query finds, page by page.
func (w *world) names(scope api.Scope, q api.AuditQuery) (names []string) {
	w.t.Helper()
	if q.Limit == 0 {
		q.Limit = 2
	}
	for range 1000 {
		list, next, err := w.List(context.Background(), scope, q)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range list {
			names = append(names, r.Route)
		}
		if q.Cursor = next; next == "" {
			return names
		}
	}
	w.t.Fatal("the list has no end")
	return nil
}

func TestListFiltersNewestFirst(t *testing.T) {
	w := newWorld(t)
	start := w.clock
	w.append(api.AuditRecord{Route: "a", Actor: "ana", ActorID: "usr_1", SiteID: "roof", CustomerIDs: []string{"acme"}})
	w.append(api.AuditRecord{Route: "b", Actor: "ana", ActorID: "usr_1", SiteID: "field", CustomerIDs: []string{"acme"}}) // the same millisecond
	w.clock = w.clock.Add(time.Hour)
	w.append(api.AuditRecord{Route: "c", Actor: "gateway", ActorID: "key_1", SiteID: "roof", CustomerIDs: []string{"acme"}})
	w.clock = w.clock.Add(time.Hour)
	w.append(api.AuditRecord{Route: "d", Actor: "anabel", ActorID: "usr_12", CustomerIDs: []string{"acme", "borealis"}})
	w.append(api.AuditRecord{Route: "e", Status: 401})
	for _, c := range []struct {
		name  string
		scope api.Scope
		query api.AuditQuery
		want  []string
	}{
		{"all", all, api.AuditQuery{}, []string{"e", "d", "c", "b", "a"}},
		{"a user's", all, api.AuditQuery{Actor: "ana"}, []string{"b", "a"}},
		{"by the user's id", all, api.AuditQuery{Actor: "usr_1"}, []string{"b", "a"}},
		{"a key's", all, api.AuditQuery{Actor: "key_1"}, []string{"c"}},
		{"nobody's", all, api.AuditQuery{Actor: "an"}, nil},
		{"a site's", all, api.AuditQuery{SiteID: "roof"}, []string{"c", "a"}},
		{"a user's at a site", all, api.AuditQuery{Actor: "ana", SiteID: "roof"}, []string{"a"}},
		{"a customer's", all, api.AuditQuery{CustomerID: "borealis"}, []string{"d"}},
		{"from an instant on", all, api.AuditQuery{From: api.At(start.Add(time.Hour))}, []string{"e", "d", "c"}},
		{"up to an instant", all, api.AuditQuery{To: api.At(start.Add(time.Hour))}, []string{"b", "a"}},
		{"an hour of a site", all, api.AuditQuery{SiteID: "roof", From: api.At(start), To: api.At(start.Add(time.Hour))}, []string{"a"}},
		{"an hour of a user", all, api.AuditQuery{Actor: "ana", From: api.At(start.Add(time.Hour))}, nil},
		{"of the own customer", api.Scope{Customers: []string{"acme"}, Sites: []string{"*"}}, api.AuditQuery{}, []string{"c", "b", "a"}},
		{"of both customers", api.Scope{Customers: []string{"acme", "borealis"}, Sites: []string{"*"}}, api.AuditQuery{}, []string{"d", "c", "b", "a"}},
		{"of the own site", api.Scope{Customers: []string{"*"}, Sites: []string{"roof"}}, api.AuditQuery{}, []string{"c", "a"}},
		{"the own, whatever it was about", api.Scope{ActorID: "usr_12", Customers: []string{"acme"}, Sites: []string{"roof"}}, api.AuditQuery{}, []string{"d", "c", "a"}},
		{"of no customer", api.Scope{Sites: []string{"*"}}, api.AuditQuery{}, nil},
	} {
		for limit := 1; limit <= 6; limit += 2 {
			c.query.Page = api.Page{Limit: limit}
			if d := cmp.Diff(c.want, w.names(c.scope, c.query)); d != "" {
				t.Errorf("%s by %d: %s", c.name, limit, d)
			}
		}
	}
	var refused *api.Error
	if _, _, err := w.List(context.Background(), all, api.AuditQuery{Page: api.Page{Limit: 1, Cursor: "zz"}}); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("a cursor of another list: %v", err)
	}
}

// TestRecordsKeepTheirOrder with parallel writers, each with its own id.
func TestRecordsKeepTheirOrder(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				w.append(api.AuditRecord{Route: "r", Actor: "a", ActorID: "usr_1", Status: 200})
			}
		})
	}
	wg.Wait()
	list, _, err := w.List(context.Background(), all, api.AuditQuery{Page: api.Page{Limit: 100}})
	if err != nil || len(list) != 40 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	for i := 1; i < len(list); i++ {
		if list[i].AuditID >= list[i-1].AuditID {
			t.Errorf("%s follows %s", list[i].AuditID, list[i-1].AuditID)
		}
	}
}

// TestUnauthenticatedRequestsCannotFillTheDisk: a flood from one network leaves some records,
// one from all networks a bounded number; the next record states the count.
func TestUnauthenticatedRequestsCannotFillTheDisk(t *testing.T) {
	w := newWorld(t)
	const flood = 5_000
	login := func(address string) { w.append(api.AuditRecord{Route: address, Status: 401, Address: address}) }
	count := func() map[string]int {
		n := map[string]int{}
		for _, name := range w.names(all, api.AuditQuery{Page: api.Page{Limit: 500}}) {
			n[name]++
		}
		return n
	}
	for i := range flood {
		login("192.0.2.1")
		login(fmt.Sprintf("2001:db8:1:2:%x::1", i)) // of one site's network
	}
	login("192.0.2.2")
	got, v6 := count(), 0
	for name, n := range got {
		if name[0] == '2' {
			v6 += n
		}
	}
	if got["192.0.2.1"] != limitOfNetwork.burst || got["192.0.2.2"] != 1 || v6 != limitOfNetwork.burst {
		t.Errorf("of two floods %v", got)
	}
	w.clock = w.clock.Add(limitOfNetwork.each)
	login("192.0.2.1")
	list, _, err := w.List(context.Background(), all, api.AuditQuery{Page: api.Page{Limit: 1}})
	if err != nil || list[0].Omitted != flood-limitOfNetwork.burst {
		t.Errorf("after the flood %+v, %v", list, err)
	}

	w = newWorld(t)
	for i := range flood {
		login(fmt.Sprintf("198.51.%d.%d", i/250, i%250))
	}
	if n := len(w.names(all, api.AuditQuery{Page: api.Page{Limit: 500}})); n != limitOfUnauthenticated.burst {
		t.Errorf("%d records of a flood from everywhere", n)
	}
	w.append(api.AuditRecord{Route: "login", Actor: "ana", ActorID: "usr_1", Status: 200}, api.AuditRecord{Route: "sites", Actor: "ana", ActorID: "usr_1", Status: 403})
	w.clock = w.clock.Add(limitOfUnauthenticated.each)
	login("192.0.2.3")
	login("192.0.2.4")
	list, _, err = w.List(context.Background(), all, api.AuditQuery{Page: api.Page{Limit: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Status != 401 || list[0].Omitted != flood-limitOfUnauthenticated.burst || list[1].Status != 403 || list[2].Status != 200 {
		t.Errorf("%+v", list)
	}
}

// TestRefusalsOfUsersAreBoundedSeparately: who sends refused requests spends the own
// budget, and what succeeds is kept always.
func TestRefusalsOfUsersAreBoundedSeparately(t *testing.T) {
	w := newWorld(t)
	burst := limitOfActor.burst
	for range 3 * burst {
		w.append(api.AuditRecord{Route: "refused", ActorID: "key_1", Status: 403}, api.AuditRecord{Route: "done", ActorID: "key_1", Status: 200})
	}
	w.append(api.AuditRecord{Route: "other", ActorID: "key_2", Status: 403})
	n := map[string]int{}
	for _, name := range w.names(all, api.AuditQuery{Page: api.Page{Limit: 100}}) {
		n[name]++
	}
	if d := cmp.Diff(map[string]int{"refused": burst, "done": 3 * burst, "other": 1}, n); d != "" {
		t.Error(d)
	}
}

func TestBudgetsOfManyActorsAreForgotten(t *testing.T) {
	var b budgets
	now := time.Date(2025, 10, 1, 8, 0, 0, 0, time.UTC)
	b.take("", "192.0.2.1", true, now)
	for i := range 3 * maxBudgets {
		b.take(fmt.Sprint(i), "", true, now)
		if len(b) > maxBudgets {
			t.Fatalf("%d budgets are held", len(b))
		}
	}
	if b[""] == nil || b[""].left != limitOfUnauthenticated.burst-1 {
		t.Error("the budget of unauthenticated clients was reset")
	}
}

// TestSweep deletes the records of unauthenticated clients after their time,
// and no others.
func TestSweep(t *testing.T) {
	w := newWorld(t)
	w.append(api.AuditRecord{Route: "old unauthenticated", Status: 401}, api.AuditRecord{Route: "old user", Actor: "ana", ActorID: "usr_1", SiteID: "s", Status: 403})
	w.clock = w.clock.Add(time.Minute)
	w.append(api.AuditRecord{Route: "new unauthenticated", Status: 401})
	w.clock = w.clock.Add(keepUnauthenticated)
	if err := w.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"new unauthenticated", "old user"}, w.names(all, api.AuditQuery{})); d != "" {
		t.Error(d)
	}
}

// failing is a store whose transactions fail.
type failing struct{ err error }

func (f failing) View(context.Context, func(store.Tx) error) error   { return f.err }
func (f failing) Update(context.Context, func(store.Tx) error) error { return f.err }
func (f failing) Together(context.Context, int, func(context.Context, int) error) error {
	return f.err
}

func TestFailureIsReported(t *testing.T) {
	broken := errors.New("disk on fire")
	trail := New(failing{broken}, time.Now)
	_, _, listed := trail.List(context.Background(), all, api.AuditQuery{})
	for _, err := range []error{trail.Append(context.Background(), api.AuditRecord{}), listed, trail.Sweep(context.Background())} {
		if !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
}
