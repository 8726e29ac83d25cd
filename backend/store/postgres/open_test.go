//go:build !gateway

package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
)

// changed is a database's URL with something else in it.
func changed(t *testing.T, raw string, change func(u *url.URL)) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func with(name, value string) func(u *url.URL) {
	return func(u *url.URL) {
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
	}
}

func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, sql := range statements {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// makeReader creates a user who may read the store's tables and write nothing.
func makeReader(t *testing.T, url, name, password string) {
	t.Helper()
	execute(t, url, `DROP ROLE IF EXISTS `+name, `CREATE ROLE `+name+` LOGIN PASSWORD '`+password+`'`,
		`GRANT USAGE ON SCHEMA sunloop TO `+name, `GRANT SELECT ON ALL TABLES IN SCHEMA sunloop TO `+name)
}

// TestReader: a user who may only read gets an error, and the database does not
// count as ready.
func TestReader(t *testing.T) {
	const password = "r3ader"
	base := pgtest.Database(t)
	openURL(t, base, fixed)
	makeReader(t, base, "looker", password)
	s, err := OpenWithoutMigration(t.Context(), changed(t, base, func(u *url.URL) { u.User = url.UserPassword("looker", password) }), Options{Now: fixed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) || store.Reason(err) != "the database's user may not write to it" {
		t.Errorf("ready: %v", err)
	}
	err = s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("b", store.Key("k"), []byte("v")) })
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write: %v", err)
	}
}

// TestRefused: what cannot be opened is refused in one sentence, without the
// password.
func TestRefused(t *testing.T) {
	const secret = "s3cret-w0rd"
	foreign, newer, empty := pgtest.Database(t), pgtest.Database(t), pgtest.Database(t)
	execute(t, foreign, `CREATE TABLE customers (id int)`)
	openURL(t, newer, fixed)
	execute(t, newer, `INSERT INTO `+versionTable+` (version_id, is_applied) VALUES (99, true)`)
	execute(t, empty, `DROP ROLE IF EXISTS weak`, `CREATE ROLE weak LOGIN PASSWORD '`+secret+`'`)
	makeReader(t, newer, "reader", secret)
	for name, c := range map[string]struct {
		url, want string
		is        error
	}{
		"no URL":      {"postgres://sunloop:" + secret + "@[::/x", "invalid database URL", nil},
		"unreachable": {"postgres://sunloop:" + secret + "@127.0.0.1:1/sunloop", "sunloop at 127.0.0.1:1: unreachable: connect: connection refused", nil},
		"password":    {changed(t, empty, func(u *url.URL) { u.User = url.UserPassword(pgtest.User, secret) }), "refuses the user or the password", nil},
		"user":        {changed(t, empty, func(u *url.URL) { u.User = url.UserPassword("unknown", secret) }), "refuses the user or the password", nil},
		"no database": {changed(t, empty, func(u *url.URL) { u.Path = "/absent" }), "there is no such database", nil},
		"read-only":   {changed(t, empty, with("default_transaction_read_only", "on")), "read-only", ErrReadOnly},
		"no rights":   {changed(t, empty, func(u *url.URL) { u.User = url.UserPassword("weak", secret) }), "create the tables: the user lacks the privilege", nil},
		"reader":      {changed(t, newer, func(u *url.URL) { u.User = url.UserPassword("reader", secret) }), "a user who may write", ErrReadOnly},
		"foreign":     {foreign, "has tables of another program", ErrForeign},
		"newer":       {newer, "schema 99, this one knows up to 2", store.ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), c.url, Options{})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q does not say %q in one line", err, c.want)
			}
			for _, password := range []string{secret, pgtest.Password} {
				if strings.Contains(err.Error(), password) {
					t.Errorf("%q holds the password", err)
				}
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
		})
	}
}

// TestOpenAsItIs: a read-only opener changes nothing, and gets the reason if
// there is nothing to read.
func TestOpenAsItIs(t *testing.T) {
	empty, old, newer, good := pgtest.Database(t), pgtest.Database(t), pgtest.Database(t), pgtest.Database(t)
	foreign := pgtest.Database(t)
	execute(t, foreign, `CREATE TABLE customers (id int)`)
	for _, url := range []string{old, newer, good} {
		openURL(t, url, fixed)
	}
	execute(t, old, `UPDATE `+versionTable+` SET version_id = 0`)
	execute(t, newer, `INSERT INTO `+versionTable+` (version_id, is_applied) VALUES (99, true)`)
	for url, want := range map[string]string{empty: "it has no tables of Sunloop", old: "its tables are of schema 0", newer: "schema 99, this one knows up to", foreign: "it has tables of another program"} {
		for range 2 {
			s, err := OpenWithoutMigration(t.Context(), url, Options{Now: fixed})
			if err == nil {
				s.Close()
				t.Fatalf("it is open, and should say %q", want)
			}
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), pgtest.Password) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	}
	s, err := OpenWithoutMigration(t.Context(), good, Options{Now: fixed})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := s.RecordBuckets(t.Context()); err != nil || len(names) != 0 || s.Ready(t.Context()) != nil {
		t.Errorf("buckets %v, %v", names, err)
	}
	s.Close()
}

// TestGone: when the database becomes unavailable, what clients may see
// names neither host, user nor password.
func TestGone(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	s, err := Open(t.Context(), server.Database(t), Options{Now: fixed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server.Kill()
	get := func(tx store.Tx) error {
		_, err := tx.Get("b", []byte("k"))
		return err
	}
	for name, call := range map[string]func() error{
		"View":   func() error { return s.View(t.Context(), get) },
		"Update": func() error { return s.Update(t.Context(), get) },
		"Latest": func() error { _, err := s.Latest(t.Context(), "site"); return err },
		"Ready":  func() error { return s.Ready(t.Context()) },
		"Allow":  func() error { _, _, _, err := s.Allow(t.Context(), "k", 1, 1); return err },
	} {
		err := call()
		if err == nil {
			t.Errorf("%s answers without a database", name)
			continue
		}
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v is not of an unavailable database", name, err)
		}
		for _, secret := range []string{"127.0.0.1", fmt.Sprint(server.Port), pgtest.User, pgtest.Password} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q names %s", name, err, secret)
			}
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	// Connections that broke are replaced.
	put := func(tx store.Tx) error { return tx.Put("b", []byte("k"), []byte("v")) }
	for range maxConnections + 1 {
		if err = s.Update(t.Context(), put); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("after a restart of the database: %v", err)
	}
}

// TestMigratedOnce: replicas that start at once make the tables once.
func TestMigratedOnce(t *testing.T) {
	url := pgtest.Database(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
	s := openURL(t, url, fixed)
	var versions, distinct int
	err := s.pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT version_id) FROM `+versionTable).Scan(&versions, &distinct)
	if err != nil || versions != distinct || versions != 3 { // goose begins with a version 0
		t.Errorf("%d rows of %d versions, %v", versions, distinct, err)
	}
	if v, err := s.Schema(t.Context()); v != 2 || err != nil {
		t.Errorf("schema %d, %v", v, err)
	}
}

// TestUpgrade: an older schema is upgraded with its data, and then rejected by
// the version that made it.
func TestUpgrade(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	first, err := fs.ReadFile(migrations, "migrations/00001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	old := fstest.MapFS{"migrations/00001_first.sql": {Data: first}}
	next := fstest.MapFS{"migrations/00001_first.sql": {Data: first}, "migrations/00002_more.sql": {Data: []byte("-- +goose Up\nALTER TABLE sunloop.kv ADD COLUMN more int;\n")}}
	if err := migrate(t.Context(), pool, old, nil); err != nil {
		t.Fatal(err)
	}
	s := newStore(pool, Options{Now: fixed})
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("b", []byte("k"), []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := migrate(t.Context(), pool, next, nil); err != nil {
			t.Fatal(err)
		}
	}
	var value []byte
	if err := pool.QueryRow(t.Context(), `SELECT value FROM sunloop.kv WHERE more IS NULL`).Scan(&value); err != nil || string(value) != "v" {
		t.Errorf("after the upgrade %q, %v", value, err)
	}
	if err := migrate(t.Context(), pool, old, nil); !errors.Is(err, store.ErrNewer) {
		t.Errorf("the older version opens it: %v", err)
	}
}
