//go:build linux

package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"app.sunloop/backend/store/pgtest"
)

// TestReplicaRotation: the password of the database's user changes while a
// replica serves, all its connections end, and then the file of the URL is
// replaced. The same process serves again, and its log says both once.
func TestReplicaRotation(t *testing.T) {
	database := pgtest.Start(t, pgtest.Options{}).Database(t)
	const role = "rotating"
	sql(t, database, `CREATE ROLE `+role+` LOGIN PASSWORD 'first-secret'`, `ALTER DATABASE `+databaseOf(t, database)+` OWNER TO `+role)
	file := filepath.Join(t.TempDir(), "store")
	write := func(password string) {
		t.Helper()
		text := edited(t, database, func(u *url.URL) { u.User = url.UserPassword(role, password) })
		if err := os.WriteFile(file+".new", []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("first-secret")
	r := serveReplica(t, t.TempDir(), "", "--store-file", file)
	r.until("it is ready", r.ready)
	sql(t, database, `ALTER ROLE `+role+` PASSWORD 'second-secret'`, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '`+role+`'`)
	r.until("it says so", func() bool { return r.part("store") == "the database refuses the user or the password" })
	if status, _, body := r.answer(http.MethodPost, "/api/auth/login"); status != http.StatusServiceUnavailable {
		t.Errorf("with the former password HTTP %d %s", status, body)
	}
	write("second-secret")
	r.until("it is ready again", r.ready)
	r.until("a sign-in is checked", func() bool {
		status, _, _ := r.answer(http.MethodPost, "/api/auth/login")
		return status == http.StatusUnauthorized
	})
	for _, want := range []string{"database credentials refused", "database credentials accepted"} {
		if n := strings.Count(r.log(), want); n != 1 {
			t.Errorf("the log has %q %d times:\n%s", want, n, r.log())
		}
	}
	if strings.Contains(r.log(), "-secret") {
		t.Errorf("a password is in the log:\n%s", r.log())
	}
}

// databaseOf is the name of the database in a URL.
func databaseOf(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}
