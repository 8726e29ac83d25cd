package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"app.sunloop/backend/api"
	"github.com/alexedwards/argon2id"
)

// hashes replaces Argon2id: a comparison ends when the test lets it.
type hashes struct {
	mu     sync.Mutex
	begun  []string // passwords, in the order of their turns
	finish chan struct{}
}

func (h *hashes) compare(password, _ string) (bool, *argon2id.Params, error) {
	h.mu.Lock()
	h.begun = append(h.begun, password)
	h.mu.Unlock()
	<-h.finish
	return false, &cheap, nil
}

// order are the passwords that had their turn, and forgets them.
func (h *hashes) order() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := strings.Join(h.begun, " ")
	h.begun = nil
	return text
}

// crowd signs in at a queue of a service whose hashes end one by one.
type crowd struct {
	*passwords
	hashes  *hashes
	refused []string
	mu      sync.Mutex
	wg      sync.WaitGroup
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	p, err := newPasswords(cheap)
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{passwords: p, hashes: &hashes{finish: make(chan struct{})}}
	p.compare = c.hashes.compare
	return c
}

// come adds callers of a network, one after the other; each has the name of the
// network and its number as password.
func (c *crowd) come(ctx context.Context, network string, known bool, from, n int) {
	for i := from; i < from+n; i++ {
		c.enter(ctx, fmt.Sprintf("%s%d", network, i), network, known, false)
	}
}

// comeLarge adds a caller whose hash needs more memory.
func (c *crowd) comeLarge(ctx context.Context, network string, known bool) {
	c.enter(ctx, network+"-large", network, known, true)
}

func (c *crowd) enter(ctx context.Context, name, network string, known, large bool) {
	c.wg.Go(func() {
		leave, err := c.queue.enter(ctx, network, known, large)
		if err != nil {
			c.mu.Lock()
			c.refused = append(c.refused, name)
			c.mu.Unlock()
			if !errors.Is(err, context.Canceled) && !errors.Is(err, api.ErrUnavailable) {
				panic(err)
			}
			return
		}
		defer leave()
		_, _, _ = c.check(name, "")
	})
	synctest.Wait()
}

// next ends n comparisons, one after the other.
func (c *crowd) next(n int) {
	for range n {
		c.hashes.finish <- struct{}{}
		synctest.Wait()
	}
}

func (c *crowd) end() {
	close(c.hashes.finish)
	c.wg.Wait()
}

// TestKnownNetworksDoNotWaitForOthers: however many others there are, a caller
// from a known network starts at once, and those who wait for the known ones
// still have a turn in five.
func TestKnownNetworksDoNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.end()
		ctx := t.Context()
		for i := range maxWaiting + 1 {
			c.come(ctx, fmt.Sprintf("s%d-", i), false, 0, 1)
		}
		if got := c.hashes.order(); got != "s0-0" {
			t.Errorf("of unknown networks run %q, want one", got)
		}
		c.come(ctx, "k", true, 0, 1)
		if got := c.hashes.order(); got != "k0" {
			t.Errorf("of the known runs %q", got)
		}
		c.come(ctx, "k", true, 1, 20)
		c.next(10)
		// The comparison that ends may be either one; what begins is counted.
		got := strings.Fields(c.hashes.order())
		known := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return name[0] != 'k' })
		if others := len(got) - len(known); others == 0 || others > 10/knownTurns {
			t.Errorf("of 10 turns unknown networks had %d in addition to the known: %v", others, got)
		}
		if len(c.refused) != 0 {
			t.Errorf("%v are refused", c.refused)
		}
	})
}

// TestNetworksTakeTurns: of two networks, the one with many callers has no more
// turns than the one with few.
func TestNetworksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.end()
		c.come(t.Context(), "a", false, 0, 10)
		c.come(t.Context(), "b", false, 0, 3)
		c.next(7)
		if got, want := c.hashes.order(), "a0 a1 b0 a2 b1 a3 b2 a4"; got != want {
			t.Errorf("turns %s, want %s", got, want)
		}
	})
}

// TestFullQueueMakesRoomForNetworksWithLess: the latest caller of the network
// with most goes, until the shares are equal; then the newcomer is refused.
func TestFullQueueMakesRoomForNetworksWithLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.end()
		c.come(t.Context(), "a", false, 0, 1+maxWaiting) // one runs
		c.come(t.Context(), "a", false, 90, 1)
		if got := fmt.Sprint(c.refused); got != "[a90]" {
			t.Fatalf("refused %s", got)
		}
		c.refused = nil
		c.come(t.Context(), "b", false, 0, maxWaiting)
		if n := c.queue.unknown.waiting; n != maxWaiting {
			t.Errorf("%d wait, bound %d", n, maxWaiting)
		}
		of := func(network string) (n int) {
			for _, s := range c.queue.unknown.networks {
				if s.network == network {
					n = len(s.callers)
				}
			}
			return n
		}
		if a, b := of("a"), of("b"); a != maxWaiting/2 || b != maxWaiting/2 {
			t.Errorf("shares %d and %d", a, b)
		}
		if c.refused[0] != fmt.Sprintf("a%d", maxWaiting) {
			t.Errorf("first refused %s, want the latest of a", c.refused[0])
		}
		// The lane of the known is another.
		c.come(t.Context(), "k", true, 0, 1)
		if !strings.Contains(c.hashes.order(), "k0") {
			t.Error("a full lane of others keeps a known caller out")
		}
	})
}

// TestLargeHashesRunAlone: a hash of parameters that need more memory runs while no
// other one does, in either lane, and callers behind it do not overtake it forever.
func TestLargeHashesRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.end()
		ctx := t.Context()
		c.come(ctx, "a", false, 0, 1)
		c.comeLarge(ctx, "b", false)
		if got := c.hashes.order(); got != "a0" {
			t.Errorf("next to a hash of an unknown network %q runs", got)
		}
		c.next(1)
		c.come(ctx, "k", true, 0, 1)
		c.comeLarge(ctx, "l", true)
		if got := c.hashes.order(); got != "b-large" {
			t.Errorf("next to a large hash %q runs", got)
		}
		c.come(ctx, "c", false, 0, 1)
		c.next(1)
		if got := c.hashes.order(); got != "k0" {
			t.Errorf("before the large hash of a known network %q runs", got)
		}
		c.next(1)
		if got := c.hashes.order(); got != "l-large" {
			t.Errorf("alone runs %q", got)
		}
		c.next(1)
		if got := c.hashes.order(); got != "c0" {
			t.Errorf("then runs %q", got)
		}
	})
}

// TestCancelledCallerFreesItsPlace.
func TestCancelledCallerFreesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.end()
		c.come(t.Context(), "a", false, 0, 1)
		ctx, cancel := context.WithCancel(t.Context())
		c.come(ctx, "b", false, 0, 3)
		cancel()
		synctest.Wait()
		if n := c.queue.unknown.waiting; n != 0 || len(c.queue.unknown.networks) != 0 || len(c.refused) != 3 {
			t.Errorf("%d wait in %d shares, refused %v", n, len(c.queue.unknown.networks), c.refused)
		}
		c.come(t.Context(), "c", false, 0, 1)
		c.next(1)
		if got := c.hashes.order(); got != "a0 c0" {
			t.Errorf("turns %s", got)
		}
	})
}

// TestRefusedByTheQueueIsNotCounted: a try that finds the queue full is no
// failure of its account, and costs no hash.
func TestRefusedByTheQueueIsNotCounted(t *testing.T) {
	w := newWorld(t, noMFA)
	w.user("owner", api.RoleAdmin)
	for _, full := range []bool{true, false} {
		worked := w.passwords.worked.Load()
		if full {
			w.passwords.queue.unknown.waiting = maxWaiting
			w.passwords.queue.unknown.networks = []*networkShare{{network: "198.51.100.0/24", callers: []*caller{{}}}}
		} else {
			w.passwords.queue.unknown = lane{}
		}
		for range 2 * freeTries {
			_, err := w.Login(t.Context(), "owner", goodPassword, "192.0.2.1")
			refused := (*api.Error)(nil)
			if full != (errors.As(err, &refused) && refused.Status == 503 && refused.RetryAfter > 0) || !full && err != nil {
				t.Fatalf("full %v: %v", full, err)
			}
		}
		if full && w.passwords.worked.Load() != worked {
			t.Error("a refused sign-in cost a hash")
		}
	}
}
