// Package attack contains tests only. They attack a service that runs as a
// process, over real sockets and on a real data folder, and measure whether it
// keeps the bounds that SECURITY.md and docs/guarantees.md state. Each attack adds a
// row to a table that is printed at the end: what was tried, the bound, and what
// was measured.
package attack

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/s3test"
)

func TestMain(m *testing.M) {
	status := servetest.Main(s3test.Main(pgtest.Main(m)).Run)
	table.print(os.Stdout)
	os.Exit(status)
}

// table collects the results of all attacks.
var table results

type results struct {
	mu   sync.Mutex
	rows []row
}

// row is the result of one attack.
type row struct {
	name     string
	tried    string // what the attacker did
	bound    string // what the service promises
	measured string
	ok       bool
}

// report adds a row to the table and fails the test if the bound was not kept.
func report(t testing.TB, r row) {
	t.Helper()
	table.mu.Lock()
	table.rows = append(table.rows, r)
	table.mu.Unlock()
	if !r.ok {
		t.Errorf("%s: tried %s: measured %s, want %s", r.name, r.tried, r.measured, r.bound)
	}
}

// print writes the rows by name, as a Markdown table.
func (r *results) print(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rows) == 0 {
		return
	}
	slices.SortStableFunc(r.rows, func(a, b row) int { return cmp.Compare(a.name, b.name) })
	columns := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.Debug)
	_, _ = fmt.Fprintln(columns, "\n attack\t tried\t bound\t measured\t result")
	for _, row := range r.rows {
		result := "ok"
		if !row.ok {
			result = "FAILED"
		}
		_, _ = fmt.Fprintf(columns, " %s\t %s\t %s\t %s\t %s\n", row.name, row.tried, row.bound, row.measured, result)
	}
	_ = columns.Flush()
}

// full says that the attacks run at the size that the documents name, instead
// of the short form of every test run.
func full() bool { return os.Getenv("SUNLOOP_TEST_ATTACK") == "full" }

// size returns short, or whole if the attacks run in full.
func size(short, whole int) int {
	if full() {
		return whole
	}
	return short
}

// The administrator of every target.
const (
	adminName     = "ada"
	adminPassword = "correct horse battery staple"
)

// target is a service under attack.
type target struct {
	*servetest.Process
	root string // API key with all permissions for all customers
}

// serve starts a service on a new folder with an administrator and a root key.
// Users need no second factor. The process is killed when the test ends.
func serve(t testing.TB, flags ...string) *target {
	t.Helper()
	dir := t.TempDir()
	servetest.Admin(t, dir, adminPassword+"\n", "user", "add", adminName, "--role", api.RoleAdmin, "--customers", "*")
	return serveFolder(t, dir, flags...)
}

// serveFolder starts a service as serve does on a folder with an administrator.
func serveFolder(t testing.TB, dir string, flags ...string) *target {
	t.Helper()
	v := &target{root: servetest.RootKey(t, dir)}
	v.Process = servetest.Start(t, dir, append([]string{"--no-mfa"}, flags...)...)
	return v
}

// owner returns a client that uses the root key.
func (v *target) owner(t testing.TB) *client.Client {
	c := v.Client(v.root)
	t.Cleanup(c.Close)
	return c
}

// key creates an API key of the customers.
func (v *target) key(t testing.TB, role string, customers ...string) string {
	t.Helper()
	for {
		made, err := v.owner(t).CreateKey(t.Context(), api.KeysRequest{Name: role, RoleID: role, CustomerIDs: customers})
		var refused *api.Error
		switch {
		case err == nil:
			return made.APIKey
		case errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests && refused.RetryAfter > 0:
			time.Sleep(time.Duration(refused.RetryAfter) * time.Second) // the rate of the owner's key
		default:
			t.Fatalf("create key: %v", err)
		}
	}
}

// site creates a site with one inverter, INV-1, of a customer.
func (v *target) site(t testing.TB, customer, site string) {
	t.Helper()
	c := v.owner(t)
	if _, err := c.SetSite(t.Context(), api.Site{SiteID: site, CustomerID: customer, Timezone: "Europe/Vienna", CapacityKW: 50}); err != nil {
		t.Fatalf("create site %s: %v", site, err)
	}
	if _, err := c.AddAsset(t.Context(), api.Asset{AssetID: "INV-1", SiteID: site, CustomerID: customer, Name: "INV-1", Type: "inverter", CapacityKW: 50, Location: "48.2,16.4"}); err != nil {
		t.Fatalf("create unit of site %s: %v", site, err)
	}
}

// address is the host and port of the service.
func (v *target) address() string {
	_, address, _ := strings.Cut(v.URL, "://")
	return address
}

// dial opens a TCP connection to the service. It is closed when the test ends,
// and its reads and writes fail after five minutes.
func (v *target) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", v.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
	return c
}

// post sends a body over a new connection and returns status and answer: 0 and
// the error if there is no answer. The credential may be empty.
func (v *target) post(t testing.TB, path, credential, contentType string, body io.Reader) (status int, answer string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if credential != "" {
		q.Header.Set("Authorization", "Bearer "+credential)
	}
	q.Header.Set("Content-Type", contentType)
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	resp, err := c.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// healthy says whether the service answers a health check.
func (v *target) healthy(t testing.TB) bool {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute}
	resp, err := c.Get(v.URL + api.PathHealth)
	if err != nil {
		t.Logf("health check: %v", err)
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// peak reports the maximum of the resident memory since the start of the
// process, or since its ResetPeak, against a bound in MB (10^6 bytes), and
// whether the service still answers. Pages of files are not counted: those of the
// program are 45 to 55 MB, by how much of it is in the page cache.
func (v *target) peak(t testing.TB, name, tried string, boundMB int) {
	t.Helper()
	u, ok := v.Usage()
	if !ok {
		t.Skip("the resident memory is known on Linux only")
	}
	mb := float64(u.PeakRSSBytes-u.FileBytes) / 1e6
	measured := fmt.Sprintf("%.0f MB", mb)
	healthy := v.healthy(t)
	if !healthy {
		measured += ", no answer to a health check"
	}
	report(t, row{name, tried, fmt.Sprintf("at most %d MB of resident memory without file pages", boundMB), measured, healthy && mb <= float64(boundMB)})
}

func TestMemoryAtRest(t *testing.T) {
	v := serve(t)
	v.site(t, "acme", "South")
	if status, _ := v.post(t, api.PathAssets, v.key(t, api.RoleOperator, "acme"), "application/json", strings.NewReader(`{"action":"list"}`)); status != http.StatusOK {
		t.Errorf("a good client: status %d", status)
	}
	v.peak(t, "memory at rest", "nothing", 35)
}
