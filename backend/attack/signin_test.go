package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/internal/longtest"
	"github.com/alexedwards/argon2id"
)

// from returns a client whose connections have the source address. The whole
// of 127.0.0.0/8 is the loopback interface on Linux.
func from(t testing.TB, source string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	probe, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(source)})
	if err != nil {
		t.Skipf("source addresses of the loopback interface are needed: %v", err)
	}
	_ = probe.Close()
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// signIn tries a password; status is 0 without an answer.
func (v *target) signIn(ctx context.Context, c *http.Client, name, password string) (status int, retryAfter string) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, v.URL+api.PathLogin, strings.NewReader(fmt.Sprintf(`{"username":%q,"password":%q}`, name, password)))
	if err != nil {
		return 0, ""
	}
	q.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(q)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("Retry-After")
}

// TestSignInDuringAFlood: while clients from many networks guess passwords, a
// user signs in from a network where it did before.
func TestSignInDuringAFlood(t *testing.T) {
	longtest.Mark(t)
	const owner, networks = "127.200.0.9", 150
	const bound = 2 * time.Second
	v := serve(t)
	home := from(t, owner)
	if status, _ := v.signIn(t.Context(), home, adminName, adminPassword); status != http.StatusOK {
		t.Fatalf("the first sign-in: HTTP %d", status)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	statuses, silent := map[int]int{}, 0
	flooded := make(chan struct{})
	var wg sync.WaitGroup
	for i := range networks {
		c := from(t, fmt.Sprintf("127.%d.%d.1", 1+i/100, i%100))
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// A guess on the account, then unknown names.
				name := adminName
				if n%5 > 0 {
					name = fmt.Sprintf("user-%d-%d", i, n)
				}
				status, retry := v.signIn(ctx, c, name, "not the password")
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				statuses[status]++
				if status >= 429 && retry == "" {
					silent++
				}
				if statuses[http.StatusServiceUnavailable] == 1 {
					select {
					case <-flooded:
					default:
						close(flooded)
					}
				}
				mu.Unlock()
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
	select {
	case <-flooded:
	case <-time.After(time.Minute):
		t.Error("the queue of unknown networks is never full")
	}
	n := size(10, 200)
	var took []time.Duration
	refused := 0
	for range n {
		begun := time.Now()
		if status, _ := v.signIn(t.Context(), home, adminName, adminPassword); status != http.StatusOK {
			refused++
			t.Logf("the owner: HTTP %d", status)
		}
		took = append(took, time.Since(begun))
	}
	stop()
	wg.Wait()
	slices.Sort(took)
	p99 := took[(len(took)*99-1)/100]
	if statuses[0] > 0 || silent > 0 {
		t.Errorf("attackers: %d without a response, %d refusals without Retry-After", statuses[0], silent)
	}
	// The time is a bound of the full form only: it depends on the machine.
	report(t, row{"sign-in during a flood", fmt.Sprintf("passwords guessed from %d networks (HTTP status: requests): %v", networks, statuses),
		fmt.Sprintf("a user of a known network signs in, p99 within %v", bound),
		fmt.Sprintf("%d of %d signed in, median %v, p99 %v", n-refused, n, took[n/2].Round(time.Millisecond), p99.Round(time.Millisecond)), refused == 0 && (!full() || p99 <= bound)})
}

// TestMemoryDuringAFloodOfSignIns: well-formed sign-ins with names of users and other
// names from many networks cost little memory, also if the hashes of the users have
// the parameters of earlier versions.
func TestMemoryDuringAFloodOfSignIns(t *testing.T) {
	longtest.Mark(t)
	const networks, users = 64, 8
	earlier := argon2id.Params{Memory: 64 << 10, Iterations: 3, Parallelism: 2, SaltLength: 16, KeyLength: 32}
	for _, c := range []struct {
		name    string
		params  argon2id.Params
		boundMB int
	}{
		{"memory during sign-ins", auth.DefaultParams(), 75},
		{"memory during sign-ins, earlier hashes", earlier, 95},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			addUsers(t, dir, c.params, users)
			v := serveFolder(t, dir)
			ctx := t.Context()
			const owner = "127.200.0.9"
			home := from(t, owner)
			if status, _ := v.signIn(ctx, home, adminName, adminPassword); status != http.StatusOK {
				t.Fatalf("the first sign-in: HTTP %d", status)
			}
			var mu sync.Mutex
			statuses := map[int]int{}
			var wg sync.WaitGroup
			for i := range networks {
				client := from(t, fmt.Sprintf("127.%d.%d.1", 1+i/100, i%100))
				wg.Go(func() {
					for n := range size(2, 30) {
						name := fmt.Sprintf("user-%d", (i+n)%users)
						if n%2 > 0 {
							name = fmt.Sprintf("unknown-%d-%d", i, n)
						}
						status, _ := v.signIn(ctx, client, name, "not the password")
						mu.Lock()
						statuses[status]++
						mu.Unlock()
					}
				})
			}
			// At the same time the administrator signs in from a known network.
			for range size(3, 20) {
				if status, _ := v.signIn(ctx, home, adminName, adminPassword); status != http.StatusOK {
					t.Errorf("the administrator: HTTP %d", status)
				}
			}
			wg.Wait()
			if statuses[0] > 0 || statuses[http.StatusUnauthorized] < networks {
				t.Errorf("statuses %v", statuses)
			}
			v.peak(t, c.name, fmt.Sprintf("sign-ins of %d users and of unknown names from %d networks (HTTP status: requests): %v", users, networks, statuses), c.boundMB)
		})
	}
}

// addUsers adds the administrator and users user-0, user-1, … to a new data folder,
// with password hashes of the parameters.
func addUsers(t testing.TB, dir string, params argon2id.Params, n int) {
	t.Helper()
	servetest.RootKey(t, dir) // creates the folder
	key, err := auth.LoadKey(filepath.Join(dir, "sunloop.key"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, err := auth.New(t.Context(), auth.Options{Records: db, Key: key, Now: time.Now, Argon: &params})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n + 1 {
		u := auth.NewUser{Username: fmt.Sprintf("user-%d", i), Password: adminPassword, Role: api.RoleAnalyst, Customers: []string{"acme"}}
		if i == n {
			u = auth.NewUser{Username: adminName, Password: adminPassword, Role: api.RoleAdmin}
		}
		if _, err := s.CreateUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGuessesOnOneAccount: of guesses from many networks at once only a few are
// compared.
func TestGuessesOnOneAccount(t *testing.T) {
	const networks, most = 150, 25
	v := serve(t)
	home := from(t, "127.200.0.9")
	if status, _ := v.signIn(t.Context(), home, adminName, adminPassword); status != http.StatusOK {
		t.Fatalf("the first sign-in: HTTP %d", status)
	}
	statuses := map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	begun := time.Now()
	for i := range networks {
		c := from(t, fmt.Sprintf("127.%d.%d.1", 1+i/100, i%100))
		wg.Go(func() {
			status, _ := v.signIn(t.Context(), c, adminName, "not the password")
			mu.Lock()
			statuses[status]++
			mu.Unlock()
		})
	}
	wg.Wait()
	// Beyond the 20 free guesses one is compared after 1, 2, 4 … s.
	allowed := most
	for wait := time.Second; wait < time.Since(begun); wait *= 2 {
		allowed++
	}
	status, _ := v.signIn(t.Context(), home, adminName, adminPassword)
	report(t, row{"guesses on one account", fmt.Sprintf("one guess from each of %d networks (HTTP status: requests): %v", networks, statuses),
		fmt.Sprintf("at most %d compared; the owner signs in from a known network", most),
		fmt.Sprintf("%d compared, the owner gets HTTP %d", statuses[http.StatusUnauthorized], status), statuses[http.StatusUnauthorized] <= allowed && status == http.StatusOK})
}
