package pgtest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Standby makes and starts a standby that follows s by streaming. From then on
// a commit of s is acknowledged only when the standby has it on its disk. It
// ends with the test.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	root, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	b := &Server{Dir: filepath.Join(root, "data"), options: s.options}
	password := []string{"PGPASSWORD=" + Password}
	if err := run("pg_basebackup", password, "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-U", User, "-D", b.Dir, "-R", "-X", "stream", "-c", "fast", "-N"); err != nil {
		t.Fatal(err)
	}
	if err := b.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := s.exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Promote makes a standby a primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.exec(t.Context(), "SELECT pg_promote(true)"); err != nil {
		t.Fatal(err)
	}
}
