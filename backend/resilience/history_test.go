package resilience

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/servetest"
)

// asked is one operation on an order: a move that demands a version (0: any),
// or a read with an empty action.
type asked struct {
	orderID, action string
	version         int
}

// answered is its result. An operation whose answer was lost may have
// been done or not.
type answered struct {
	lost    bool
	refused bool // 409: the status or the version does not allow it
	state   orderState
}

// orderState is what an order is, as far as its moves depend on it.
type orderState struct {
	status, heldFrom string
	version          int
}

// after is the state after a move; ok is false for one that is refused. A move
// to where an order is already changes nothing and demands no version.
func (s orderState) after(q asked) (next orderState, ok bool) {
	next, target := s, ""
	switch q.action {
	case "":
		return s, true
	case api.ActionHold:
		target, next.heldFrom = api.OrderOnHold, s.status
		ok = s.status == api.OrderInProgress
	case api.ActionResume:
		target, next.heldFrom = s.heldFrom, ""
		if ok = s.status == api.OrderOnHold; !ok {
			target = s.status // nothing to resume, unless the order has ended
			if s.status == api.OrderCompleted {
				return s, false
			}
		}
	case api.ActionComplete:
		target, ok = api.OrderCompleted, s.status == api.OrderInProgress
	case api.ActionReopen:
		target, ok = api.OrderInProgress, s.status == api.OrderCompleted
	}
	switch {
	case s.status == target:
		return s, true
	case !ok || q.version != 0 && q.version != s.version:
		return s, false
	}
	next.status, next.version = target, s.version+1
	return next, true
}

// orderModel is the work order that the service must look like: each operation
// happens at one instant between its begin and its end.
func orderModel(begin map[string]orderState) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			of := map[string]int{}
			for _, o := range history {
				id := o.Input.(asked).orderID
				i, ok := of[id]
				if !ok {
					i = len(parts)
					of[id], parts = i, append(parts, nil)
				}
				parts[i] = append(parts[i], o)
			}
			return parts
		},
		Init: func() []any {
			return []any{nil} // the first operation identifies the order
		},
		Step: func(state, input, output any) []any {
			q, a := input.(asked), output.(answered)
			s, ok := state.(orderState)
			if !ok {
				s = begin[q.orderID]
			}
			next, allowed := s.after(q)
			switch {
			case a.lost && next == s:
				return []any{s}
			case a.lost:
				return []any{s, next}
			case a.refused != !allowed:
				return nil
			case a.refused:
				return []any{s}
			case a.state.status != next.status || a.state.version != next.version:
				return nil
			}
			return []any{next}
		},
	}
	return model.ToModel()
}

// recorder notes what clients ask of orders, and what they are answered.
type recorder struct {
	ids   []string
	begin map[string]orderState
	zero  time.Time

	mu      sync.Mutex
	history []porcupine.Operation
}

// record makes orders to be moved.
func record(t *testing.T, c visitor, orders int) *recorder {
	t.Helper()
	r := &recorder{begin: map[string]orderState{}, zero: time.Now()}
	for range orders {
		bill, err := c.GenerateBOM(t.Context(), api.BOMRequest{AssetID: plants[0] + "-1", SiteID: plants[0], CustomerID: tenant, MaintenanceType: api.MaintenanceCorrective})
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.CreateOrder(t.Context(), api.OrderRequest{CustomerID: tenant, BOMID: bill.BOMID, AssignedTechnician: "grace", Additional: true})
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.MoveOrder(t.Context(), api.OrderRequest{Action: api.ActionStart, OrderID: made.OrderID, Force: true, Note: "test"})
		if err != nil {
			t.Fatal(err)
		}
		r.ids = append(r.ids, made.OrderID)
		r.begin[made.OrderID] = orderState{status: o.Order.Status, version: o.Order.Version}
	}
	return r
}

// ask does operations at random, until after, which is called for each,
// returns true.
func (r *recorder) ask(ctx context.Context, c *client.Client, id int, dice *rand.Rand, after func(n int, a answered) (enough bool)) {
	version := 0
	for n, enough := 0, false; !enough; n++ {
		q := asked{orderID: r.ids[dice.IntN(len(r.ids))], action: []string{"", api.ActionHold, api.ActionResume, api.ActionComplete, api.ActionReopen}[dice.IntN(5)]}
		if dice.IntN(3) == 0 {
			q.version = version
		}
		o := porcupine.Operation{ClientId: id, Input: q, Call: int64(time.Since(r.zero))}
		a := operate(ctx, c, q)
		o.Output, o.Return = a, int64(time.Since(r.zero))
		if version = a.state.version; a.lost {
			o.Return = math.MaxInt64 // it may yet be done, and never be seen to end
		}
		r.mu.Lock()
		r.history = append(r.history, o)
		r.mu.Unlock()
		enough = after(n, a)
	}
}

// check says whether what was recorded is such as one client after the other
// could have made.
func (r *recorder) check(t *testing.T) {
	t.Helper()
	lost, refused := 0, 0
	for _, o := range r.history {
		if a := o.Output.(answered); a.lost {
			lost++
		} else if a.refused {
			refused++
		}
	}
	t.Logf("%d operations, %d refused, %d with no answer", len(r.history), refused, lost)
	model := orderModel(r.begin)
	if result := porcupine.CheckOperationsTimeout(model, r.history, time.Minute); result != porcupine.Ok {
		t.Errorf("the history is %s: %+v", result, r.history)
	}
	// The check itself sees a move that was acknowledged and is not there.
	for i, o := range r.history {
		if a := o.Output.(answered); !a.lost && !a.refused {
			a.state.version += 1000
			r.history[i].Output = a
			break
		}
	}
	if result := porcupine.CheckOperationsTimeout(model, r.history, time.Minute); result != porcupine.Illegal {
		t.Errorf("a forged history is %s", result)
	}
}

// The moves and reads of eight clients at three orders, over kills of the
// service, are such as one client after the other could have made.
func TestOrdersAreLinearizable(t *testing.T) {
	dir, seed := t.TempDir(), uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	root := servetest.RootKey(t, dir)
	p := servetest.Start(t, dir, killFlags...)
	c := visitorAt(p.URL, root)
	newSite(t, c.Client, tenant, plants[0], plants[0]+"-1")
	keys := make([]string, 8)
	for i := range keys {
		keys[i] = newKey(t, c.Client, tenant, api.RoleOperator)
	}
	r := record(t, c, 3)
	for life := range 3 {
		if life > 0 {
			p = servetest.Start(t, dir, killFlags...)
		}
		ctx, cancel := context.WithTimeout(t.Context(), servetest.ReadyWithin)
		var clients sync.WaitGroup
		for i, key := range keys {
			clients.Go(func() {
				c := visitorAt(p.URL, key)
				defer c.Close()
				dice := rand.New(rand.NewPCG(seed, uint64(100*life+i)))
				r.ask(ctx, c.Client, i, dice, func(n int, a answered) bool {
					if i == 0 && n == 7+dice.IntN(4) && life < 2 {
						p.Kill() // the others are at work
					}
					return a.lost || n == 14
				})
			})
		}
		clients.Wait()
		cancel()
		p.Kill()
	}
	r.check(t)
}

// operate performs one operation and returns its result.
func operate(ctx context.Context, c *client.Client, q asked) answered {
	var o *api.Order
	var err error
	if q.action == "" {
		o, err = c.Order(ctx, q.orderID)
	} else {
		var moved *api.OrderResponse
		moved, err = c.MoveOrder(ctx, api.OrderRequest{Action: q.action, OrderID: q.orderID, Version: q.version, HoldReason: api.HoldOther, Reason: "test", CompletionNotes: "done"})
		if err == nil {
			o = moved.Order
		}
	}
	var e *api.Error
	switch {
	case err == nil:
		return answered{state: orderState{status: o.Status, version: o.Version}}
	case errors.As(err, &e) && e.Status == 409:
		return answered{refused: true}
	case errors.As(err, &e) && e.Status == 503: // it may have been done
	case errors.As(err, &e):
		panic(fmt.Sprintf("%+v: %v", q, err))
	}
	return answered{lost: true}
}
