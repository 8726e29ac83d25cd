package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Pooled puts pgbouncer in transaction mode before the server of a database's
// URL, and answers the database's URL there. It has so many connections to the
// server, and ends with the test. Where it is not installed, the test is skipped.
func Pooled(t testing.TB, database string, connections int) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil || !supported {
		t.Skip("pgbouncer is not installed")
	}
	to, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	root, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	settings, log := filepath.Join(root, "pgbouncer.ini"), filepath.Join(root, "log")
	ini := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
ignore_startup_parameters = extra_float_digits
`, to.Host, to.Port, User, Password, port, connections)
	if err := os.WriteFile(settings, []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := launch(program, []string{settings}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	here := urlOf(port, to.Database)
	if err := p.answers(here+"&default_query_exec_mode=exec", log); err != nil {
		t.Fatal(err)
	}
	return here
}
