package backend

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/check"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
)

// replicas are services over one database and one folder of objects, each with a
// separate data folder and the same key.
func replicas(t *testing.T, n int, edit func(i int, cfg *Config)) []*instance {
	t.Helper()
	dir := t.TempDir()
	all := make([]*instance, n)
	url := pgtest.Database(t)
	for i := range all {
		cfg := Config{DataDir: filepath.Join(dir, string(rune('a'+i))), Now: time.Now, Store: url, Objects: filepath.Join(dir, "objects"), KeyFile: filepath.Join(dir, "sunloop.key")}
		if edit != nil {
			edit(i, &cfg)
		}
		all[i] = open(t, cfg)
	}
	return all
}

// ask sends a request to a replica's handler.
func (h *instance) ask(method, path, credential, body string, headers ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	q.Header.Set("Authorization", "Bearer "+credential)
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.service.Handler().ServeHTTP(w, q)
	return w
}

// atOnce runs n calls at the same time, over replicas by turns, and counts their
// answers.
func atOnce(all []*instance, n int, call func(h *instance, i int) string) map[string]int {
	counts := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			answer := call(all[i%len(all)], i)
			mu.Lock()
			defer mu.Unlock()
			counts[answer]++
		})
	}
	wg.Wait()
	return counts
}

// TestReplicasShareRates: of 120 requests over two replicas, of which one's clock
// is a minute ahead, 60 are accepted.
func TestReplicasShareRates(t *testing.T) {
	two := replicas(t, 2, func(i int, cfg *Config) {
		cfg.Wall = func() time.Time { return time.Now().Add(time.Duration(i) * time.Minute) }
		cfg.KeyRate = 60
	})
	got := atOnce(two, 120, func(h *instance, _ int) string {
		return strconv.Itoa(h.ask("POST", api.PathSites, two[0].key, `{"action":"list"}`).Code)
	})
	if want := map[string]int{"200": 60, "429": 60}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestReplicasCreateOnce: of 50 equal creates with one Idempotency-Key over two
// replicas, one makes the object, and all are answered with it.
func TestReplicasCreateOnce(t *testing.T) {
	two := replicas(t, 2, nil)
	answers := atOnce(two, 50, func(h *instance, _ int) string {
		w := h.ask("POST", api.PathKeys, two[0].key, `{"action":"create","name":"pump","role_id":"role_analyst","customer_ids":["c"]}`, "Idempotency-Key", "one")
		return fmt.Sprint(w.Code, " ", w.Body)
	})
	if len(answers) != 1 {
		t.Errorf("%d different answers: %v", len(answers), answers)
	}
	for answer := range answers {
		if !strings.HasPrefix(answer, "200 ") {
			t.Error(answer)
		}
	}
	list, _, err := two[1].service.Auth().As(api.Unlimited("test")).Keys(t.Context(), auth.KeyFilter{}, api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, k := range list {
		if k.Name == "pump" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d keys were made", made)
	}
}

// TestReplicasRevoke: a key that is revoked on one replica opens nothing on
// another, at the latest a minute later by its clock.
func TestReplicasRevoke(t *testing.T) {
	var later atomic.Int64
	two := replicas(t, 2, func(i int, cfg *Config) {
		cfg.Wall = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	key, record, err := two[0].service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "pump", Role: api.RoleAnalyst, Customers: []string{"c"}})
	if err != nil {
		t.Fatal(err)
	}
	list := func(h *instance) int { return h.ask("POST", api.PathSites, key, `{"action":"list"}`).Code }
	for _, h := range two {
		if code := list(h); code != 200 {
			t.Fatalf("HTTP %d", code)
		}
	}
	if _, _, err := two[0].service.Auth().As(api.Unlimited("test")).RevokeKey(t.Context(), record.ID); err != nil {
		t.Fatal(err)
	}
	if code := list(two[0]); code != 401 {
		t.Errorf("where it was revoked HTTP %d", code)
	}
	later.Store(int64(time.Minute))
	if code := list(two[1]); code != 401 {
		t.Errorf("a minute later HTTP %d", code)
	}
}

// TestReplicasRotate: tokens of a key that one replica made are good on the
// others at once, however long ago these looked.
func TestReplicasRotate(t *testing.T) {
	var later atomic.Int64
	two := replicas(t, 2, func(i int, cfg *Config) {
		cfg.Wall = func() time.Time { return time.Now().Add(time.Duration(later.Load() + int64(i)*int64(3*time.Second))) }
	})
	const password = "a very long one 7"
	if _, err := two[0].service.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ana", Password: password, Role: api.RoleAnalyst, Customers: []string{"c"}}); err != nil {
		t.Fatal(err)
	}
	signers := map[string]bool{}
	for range 12 {
		later.Add(int64(7 * time.Second))
		for i, h := range two {
			if err := h.service.Auth().RotateSigningKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			answer, err := h.service.Auth().Login(t.Context(), "ana", password, "192.0.2.1")
			if err != nil {
				t.Fatal(err)
			}
			header, _, _ := strings.Cut(answer.Token, ".")
			signers[header] = true
			for j, other := range two {
				if code := other.ask("POST", api.PathSites, answer.Token, `{"action":"list"}`).Code; code != 200 {
					t.Errorf("a token of replica %d is answered with HTTP %d by replica %d", i, code, j)
				}
			}
		}
	}
	if len(signers) < 10 {
		t.Errorf("%d keys have signed of 24 that were made", len(signers))
	}
}

// TestReplicasCodeOnce: in each of 100 races of one authenticator's code over two
// replicas one wins.
func TestReplicasCodeOnce(t *testing.T) {
	var later atomic.Int64
	two := replicas(t, 2, func(i int, cfg *Config) {
		cfg.Wall = func() time.Time { return time.Unix(1_800_000_000+30*later.Load(), 0).UTC() }
		cfg.Now, cfg.RequireMFA = cfg.Wall, true
	})
	const password = "a very long one 7"
	a := two[0].service.Auth()
	if _, err := a.CreateUser(t.Context(), auth.NewUser{Username: "ana", Password: password, Role: api.RoleAnalyst, Customers: []string{"c"}}); err != nil {
		t.Fatal(err)
	}
	challenge := func(h *instance) api.LoginResponse {
		t.Helper()
		c, err := h.service.Auth().Login(t.Context(), "ana", password, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := challenge(two[0])
	u, err := url.Parse(first.ProvisioningURI)
	if err != nil {
		t.Fatal(err)
	}
	code := func() string {
		text, err := totp.GenerateCode(u.Query().Get("secret"), two[0].cfg.Wall())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if _, err := a.VerifyMFA(t.Context(), first.MFAToken, code()); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		later.Add(31)
		tokens := []string{challenge(two[0]).MFAToken, challenge(two[1]).MFAToken}
		got := atOnce(two, 2, func(h *instance, i int) string {
			_, err := h.service.Auth().VerifyMFA(t.Context(), tokens[i], code())
			return fmt.Sprint(err)
		})
		if want := map[string]int{"<nil>": 1, api.ErrInvalidTOTP.Error(): 1}; !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestReplicaBackup: what a replica backs up fills another database, with the key
// and the objects, and is checked; what does not fit is refused in a sentence.
func TestReplicaBackup(t *testing.T) {
	one := replicas(t, 1, func(_ int, cfg *Config) { cfg.Objects = "" })[0]
	if _, err := one.SetSite(t.Context(), api.Site{SiteID: "Roof", CustomerID: "acme", Name: "Roof", Timezone: "Africa/Johannesburg"}); err != nil {
		t.Fatal(err)
	}
	if err := one.service.objects.Put(t.Context(), "models/a.bin", strings.NewReader("model")); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := one.service.Admin().Backup(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cfg := Config{DataDir: filepath.Join(dir, "data"), Now: time.Now, Wall: time.Now, Store: pgtest.Database(t)}
	m, err := admin.RestoreReplica(t.Context(), bytes.NewReader(file.Bytes()), cfg.Paths(), postgres.Options{Now: time.Now}, nil, false)
	if err != nil || len(m.Parts) != 3 {
		t.Fatalf("%d parts, %v", len(m.Parts), err)
	}
	again := open(t, cfg)
	again.SetCredential(one.key)
	if sites, err := again.Sites(t.Context(), api.ListQuery{}); err != nil || len(sites.Sites) != 1 {
		t.Errorf("%v, %v", sites, err)
	}
	found, err := check.Replica(t.Context(), cfg.Paths(), time.Now)
	if want := []string{"object models/a.bin is named by no record"}; err != nil || !slices.Equal(found.Faults, want) {
		t.Errorf("faults %v, %v", found.Faults, err)
	}
	for want, restore := range map[string]func() error{
		"the database is not empty": func() error {
			_, err := admin.RestoreReplica(t.Context(), bytes.NewReader(file.Bytes()), cfg.Paths(), postgres.Options{Now: time.Now}, nil, false)
			return err
		},
		"restore it into an empty one, with --store": func() error {
			_, err := admin.Restore(t.Context(), bytes.NewReader(file.Bytes()), filepath.Join(dir, "folder"), nil, false)
			return err
		},
		"is not the key of the backup": func() error {
			other := cfg
			other.DataDir, other.Store = filepath.Join(dir, "other"), pgtest.Database(t)
			other.KeyFile = filepath.Join(dir, "other.key")
			if err := os.WriteFile(other.KeyFile, make([]byte, 32), 0o600); err != nil {
				return err
			}
			_, err := admin.RestoreReplica(t.Context(), bytes.NewReader(file.Bytes()), other.Paths(), postgres.Options{Now: time.Now}, nil, false)
			return err
		},
	} {
		if err := restore(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestReplicasPostOnce: each event of an order is delivered to its subscriber,
// whichever replica changed the order, and none is posted twice at a time.
func TestReplicasPostOnce(t *testing.T) {
	var mu sync.Mutex
	posted, underWay := map[string]int{}, map[string]bool{}
	place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		id := q.Header.Get("webhook-id")
		mu.Lock()
		if underWay[id] {
			t.Errorf("%s is posted twice at a time", id)
		}
		underWay[id] = true
		mu.Unlock()
		time.Sleep(10 * time.Millisecond) // so that another replica would be seen
		mu.Lock()
		defer mu.Unlock()
		delete(underWay, id)
		posted[id]++
	}))
	defer place.Close()
	two := replicas(t, 2, func(i int, cfg *Config) {
		cfg.WebhookAllow = []string{"127.0.0.1"}
		cfg.Wall = func() time.Time { return time.Now().Add(time.Duration(i) * 5 * time.Second) }
	})
	two[1].SetCredential(two[0].key)
	worksite(t, two[0])
	const orders = 12
	for i := range orders {
		order := workOrder(t, two[i%2])
		if _, err := two[0].Subscribe(t.Context(), order, place.URL); err != nil {
			t.Fatal(err)
		}
		if _, err := two[1-i%2].MoveOrder(t.Context(), api.OrderRequest{Action: api.ActionComplete, OrderID: order, CompletionNotes: "Fan replaced"}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "all events", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(posted) == orders
	})
	mu.Lock()
	defer mu.Unlock()
	for id, n := range posted {
		if n != 1 {
			t.Errorf("%s was posted %d times", id, n)
		}
	}
}

// TestReplicasRedeemOnce: of 100 tries at once with the right code of a message,
// over two replicas, one has the forecast.
func TestReplicasRedeemOnce(t *testing.T) {
	two := replicas(t, 2, nil)
	if err := two[0].service.Freemium().SendCode(t.Context(), "ana@example.org", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	code := codeFor(t, two[0].cfg.DataDir, "ana@example.org")
	var file strings.Builder
	file.WriteString("timestamp,power_kw\n")
	for at := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -4); at.Before(time.Now()); at = at.Add(time.Hour) {
		fmt.Fprintf(&file, "%s,%d\n", at.Format(time.RFC3339), 40*max(0, 6-max(at.Hour()-11, 11-at.Hour())))
	}
	req := api.FreemiumRequest{Email: "ana@example.org", VerificationCode: code, SiteName: "Roof", Location: "Durban", CapacityKW: 250, TOUAccepted: true}
	got := atOnce(two, 100, func(h *instance, _ int) string {
		_, err := h.service.Freemium().Forecast(t.Context(), req, "192.0.2.1", strings.NewReader(file.String()))
		return fmt.Sprint(err)
	})
	if want := map[string]int{"<nil>": 1, api.ErrInvalidCode.Error(): 99}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestReplicasRenewOnce: of two renewals of a token at once, over two replicas,
// one wins, and the second use ends the session.
func TestReplicasRenewOnce(t *testing.T) {
	two := replicas(t, 2, nil)
	const password = "a very long one 7"
	a := two[0].service.Auth()
	if _, err := a.CreateUser(t.Context(), auth.NewUser{Username: "ana", Password: password, Role: api.RoleAnalyst, Customers: []string{"c"}}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		in, err := a.Login(t.Context(), "ana", password, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var fresh []string
		got := atOnce(two, 2, func(h *instance, _ int) string {
			r, err := h.service.Auth().Refresh(t.Context(), in.Token)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				fresh = append(fresh, r.Token)
			}
			return fmt.Sprint(err)
		})
		if want := map[string]int{"<nil>": 1, api.ErrInvalidToken.Error(): 1}; !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i, h := range two {
			if _, err := h.service.Auth().Authenticate(t.Context(), fresh[0]); !errors.Is(err, api.ErrInvalidToken) {
				t.Errorf("replica %d: the session continues: %v", i, err)
			}
		}
	}
}

// TestReplicaMetrics: a replica reports its transactions, its connections to the
// database and the jobs in it.
func TestReplicaMetrics(t *testing.T) {
	one := replicas(t, 1, func(_ int, cfg *Config) { cfg.Metrics = true })[0]
	w := httptest.NewRecorder()
	one.service.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{`sunloop_store_transactions_total\{kind="write",outcome="ok"\} [1-9]`, `sunloop_store_transactions_total\{kind="read",outcome="ok"\} [1-9]`,
		`sunloop_store_connections_open [1-9]`, `sunloop_store_connections_max 16\n`, `sunloop_store_size_bytes [1-9]`, `sunloop_jobs_waiting\{kind="train"\} 0`, `sunloop_ready\{part="store"\} 1`} {
		if !regexp.MustCompile(want).MatchString(w.Body.String()) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(w.Body.String(), "sunloop_store_free_pages ") {
		t.Error("it reports the pages of a file")
	}
}
