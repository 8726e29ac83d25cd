//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/s3test"
)

// replica is a process of `sunloop serve` over a database.
type replica struct {
	t       *testing.T
	url     string
	process *exec.Cmd
	ended   chan error
	mu      sync.Mutex
	said    bytes.Buffer
}

// Write keeps what the process says.
func (r *replica) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(p)
}

func (r *replica) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

var servingAt = regexp.MustCompile(`"msg":"serving","address":"(http://[^"]+)"`)

// serve starts a replica, and waits until it listens.
func serveReplica(t *testing.T, home, store string, args ...string) *replica {
	t.Helper()
	r := &replica{t: t, ended: make(chan error, 1)}
	p := program(t, home, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(home, "data")}, args...)...)
	r.process = exec.Command(p.Path, p.Args[1:]...) // it ends with the test, and not before its cleanup
	r.process.Dir, r.process.Env = p.Dir, slices.Concat(p.Env, []string{"SUNLOOP_STORE=" + store})
	r.process.Stderr = r
	if err := r.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.process.Wait() }()
	t.Cleanup(func() {
		_ = r.process.Process.Kill()
		<-r.ended
		if strings.Contains(r.log(), pgtest.Password) {
			t.Errorf("the password is in the log:\n%s", r.log())
		}
	})
	r.until("it listens", func() bool {
		if m := servingAt.FindStringSubmatch(r.log()); m != nil {
			r.url = m[1]
		}
		return r.url != ""
	})
	return r
}

// until waits for a condition.
func (r *replica) until(what string, met func() bool) {
	r.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !met(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited for: %s\n%s", what, r.log())
		}
		select {
		case err := <-r.ended:
			r.ended <- err
			r.t.Fatalf("it ended (%v) before %s\n%s", err, what, r.log())
		default:
		}
	}
}

// answer is the status of a path, and its body.
func (r *replica) answer(method, path string) (int, http.Header, string) {
	q, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(`{"username":"ana","password":"wrong"}`))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// part is why a part is not ready; empty: it is.
func (r *replica) part(name string) string {
	_, _, body := r.answer(http.MethodGet, "/readyz")
	var answer struct {
		api.Readiness
		Details api.Readiness `json:"details"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		r.t.Fatalf("%v: %s", err, body)
	}
	return cmp.Or(answer.NotReady[name], answer.Details.NotReady[name])
}

func (r *replica) ready() bool {
	status, _, _ := r.answer(http.MethodGet, "/readyz")
	return status == http.StatusOK
}

// sql runs statements on a database.
func sql(t *testing.T, url string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background()) //nolint:errcheck // it has done what it was to
	for _, s := range statements {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func edited(t *testing.T, text string, edit func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	edit(u)
	return u.String()
}

// TestReplicaWaits: a replica whose database cannot be opened is alive and not
// ready, gives the reason in a sentence, and becomes ready by itself when the
// cause is fixed.
func TestReplicaWaits(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	const versions = `sunloop.schema_version`
	for _, c := range []struct {
		name, why string
		store     func(at string) string
		harm      func(at string)
		mend      func(at string)
	}{
		{
			name: "wrong password", why: "the database refuses the user or the password",
			store: func(at string) string {
				sql(t, at, `CREATE ROLE late LOGIN SUPERUSER PASSWORD 'another'`)
				return edited(t, at, func(u *url.URL) { u.User = url.UserPassword("late", pgtest.Password) })
			},
			mend: func(at string) { sql(t, at, `ALTER ROLE late PASSWORD '`+pgtest.Password+`'`) },
		},
		{
			name: "wrong name", why: "there is no such database",
			store: func(at string) string { return edited(t, at, func(u *url.URL) { u.Path = "/absent" }) },
			mend:  func(at string) { sql(t, at, `CREATE DATABASE absent`) },
		},
		{
			name: "read-only", why: "it is read-only; Sunloop needs the primary and a user who may write",
			harm: func(at string) {
				sql(t, at, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
			},
			mend: func(at string) {
				sql(t, edited(t, at, func(u *url.URL) {
					q := u.Query()
					q.Set("default_transaction_read_only", "off")
					u.RawQuery = q.Encode()
				}),
					`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`)
			},
		},
		{
			name: "foreign", why: "it has tables of another program; Sunloop needs a separate database",
			harm: func(at string) { sql(t, at, `CREATE TABLE customers (id int)`) },
			mend: func(at string) { sql(t, at, `DROP TABLE customers`) },
		},
		{
			name: "newer schema", why: "data is of a newer version of Sunloop: schema 99, this one knows up to ",
			harm: func(at string) {
				s, err := postgres.Open(t.Context(), at, postgres.Options{Now: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
				sql(t, at, `INSERT INTO `+versions+` (version_id, is_applied) VALUES (99, true)`)
			},
			mend: func(at string) { sql(t, at, `DELETE FROM `+versions+` WHERE version_id = 99`) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := server.Database(t)
			store := at
			if c.store != nil {
				store = c.store(at)
			}
			if c.harm != nil {
				c.harm(at)
			}
			r := serveReplica(t, t.TempDir(), store)
			if why := r.part("store"); !strings.HasPrefix(why, "the database cannot be opened: "+c.why) {
				t.Errorf("not ready: %q, want %q", why, c.why)
			}
			if status, _, body := r.answer(http.MethodGet, "/healthz"); status != http.StatusOK {
				t.Errorf("health: HTTP %d %s", status, body)
			}
			status, header, body := r.answer(http.MethodPost, "/api/auth/login")
			if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, c.why) {
				t.Errorf("meanwhile HTTP %d, Retry-After %q, %s", status, header.Get("Retry-After"), body)
			}
			c.mend(at)
			r.until("it comes up", r.ready)
			if status, _, body := r.answer(http.MethodPost, "/api/auth/login"); status != http.StatusUnauthorized {
				t.Errorf("then HTTP %d %s", status, body)
			}
		})
	}
}

// TestReplicaUpgrades: tables of an older version are brought up by the first
// replica of a newer one.
func TestReplicaUpgrades(t *testing.T) {
	at := pgtest.Start(t, pgtest.Options{}).Database(t)
	s, err := postgres.Open(t.Context(), at, postgres.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sql(t, at, `DROP TABLE sunloop.job_again, sunloop.worker`, `DELETE FROM sunloop.schema_version WHERE version_id > 1`)
	r := serveReplica(t, t.TempDir(), at)
	r.until("it is ready", r.ready)
	if is, err := s.Schema(t.Context()); is != postgres.SchemaVersion() || err != nil {
		t.Errorf("schema %d of %d, %v", is, postgres.SchemaVersion(), err)
	}
}

// TestReplicaOutage: a database that becomes unavailable while a replica
// serves is a 503 with a sentence, for requests and for readiness, also at the
// start; with the database the replica is back.
func TestReplicaOutage(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	store := server.Database(t)
	first := serveReplica(t, t.TempDir(), store)
	first.until("it is ready", first.ready)
	server.Kill()
	first.until("it says so", func() bool { return first.part("store") == "the database cannot be reached" })
	for range 3 {
		status, header, body := first.answer(http.MethodPost, "/api/auth/login")
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, `"reason":"the database `) {
			t.Errorf("without a database HTTP %d, %s", status, body)
		}
	}
	home := t.TempDir()
	copyKey(t, first, home)
	second := serveReplica(t, home, store)
	if why := second.part("store"); !strings.HasPrefix(why, "the database cannot be opened: unreachable") {
		t.Errorf("at the start: %q", why)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	first.until("it is back", first.ready)
	second.until("it comes up", second.ready)
}

// copyKey gives a replica the key of another.
func copyKey(t *testing.T, from *replica, home string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from.process.Dir, "data", "sunloop.key"))
	if err == nil {
		err = os.Mkdir(filepath.Join(home, "data"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "data", "sunloop.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReplicaBucket: a bucket that is missing or full makes a replica not ready
// for uploads, and for nothing else, until that is over.
func TestReplicaBucket(t *testing.T) {
	bucket := s3test.Bucket(t)
	missing := edited(t, bucket, func(u *url.URL) { u.Host += "-absent" })
	full := s3test.NewProxy(t, bucket)
	full.Choose(func(q *http.Request) s3test.Fault {
		if q.Method == http.MethodPut {
			return s3test.Refuse(http.StatusInsufficientStorage, "InsufficientStorage")
		}
		return nil
	})
	server := pgtest.Start(t, pgtest.Options{})
	for place, want := range map[string]string{missing: "the bucket of the objects does not exist", full.URI: "the bucket of the objects is full"} {
		r := serveReplica(t, t.TempDir(), server.Database(t), "--objects", place)
		r.until("the database is open", func() bool { return r.part("store") == "" })
		if why := r.part("objects"); why != want {
			t.Errorf("not ready: %q, want %q", why, want)
		}
		for path, want := range map[string]int{"/readyz": 200, "/readyz?capability=writes": 200, "/readyz?capability=uploads": 503} {
			if status, _, body := r.answer(http.MethodGet, path); status != want {
				t.Errorf("%s: HTTP %d %s", path, status, body)
			}
		}
		if place == full.URI {
			full.Choose(nil)
			r.until("there is room", func() bool { return r.part("objects") == "" })
		}
	}
}

// TestReplicaRefuses: an error that waiting cannot fix ends the process
// immediately, with a sentence and without the password.
func TestReplicaRefuses(t *testing.T) {
	store := pgtest.Start(t, pgtest.Options{}).Database(t)
	first := serveReplica(t, t.TempDir(), store)
	first.until("it is ready", first.ready)
	for _, c := range []struct{ name, store, objects, want string }{
		{"no URL", "postgres://sunloop:" + pgtest.Password + "@[::/x", "", "invalid database URL"},
		{"another scheme", "mysql://sunloop:" + pgtest.Password + "@localhost/x", "", "invalid database URL"},
		{"no bucket", store, "s3://", "it names no bucket or folder"},
		{"no key", store, "", "sunloop.key is missing, and the database holds secrets of another one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program(t, t.TempDir(), "serve", "--listen", "127.0.0.1:0", "--data", "data", "--objects", c.objects)
			p.Env = append(p.Env, "SUNLOOP_STORE="+c.store)
			out, err := p.CombinedOutput()
			if err == nil || p.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), c.want) || strings.Contains(string(out), pgtest.Password) {
				t.Errorf("%v: %s", err, out)
			}
			if _, err := os.Stat(filepath.Join(p.Dir, "data", "sunloop.key")); !os.IsNotExist(err) {
				t.Errorf("a key was made: %v", err)
			}
		})
	}
}
