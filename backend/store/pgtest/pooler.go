package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Pooler is pgbouncer in transaction mode before the server of one database.
type Pooler struct {
	URL string // of the database, by way of the pooler

	settings    string // its file
	port        int
	connections int
	wait        int // s that a query waits for a connection to the server
	process     *process
}

// Pooled puts a [Pooler] before the server of a database's URL, and returns the
// database's URL there.
func Pooled(t testing.TB, database string, connections int) string {
	t.Helper()
	return Pool(t, database, connections).URL
}

// Pool puts a pooler before the server of a database's URL. It has so many
// connections to the server, and ends with the test. Where it is not installed,
// the test is skipped.
func Pool(t testing.TB, database string, connections int) *Pooler {
	t.Helper()
	return pool(t, database, connections, 120)
}

func pool(t testing.TB, database string, connections, wait int) *Pooler {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil || !supported {
		t.Skip("pgbouncer is not installed")
	}
	root, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	p := &Pooler{settings: filepath.Join(root, "pgbouncer.ini"), connections: connections, wait: wait}
	if p.port, err = freePort(); err != nil {
		t.Fatal(err)
	}
	to, err := p.lead(database)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(root, "log")
	if p.process, err = launch(program, []string{p.settings}, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.process.stop)
	p.URL = urlOf(p.port, to.Database)
	if err := p.process.answers(p.URL+"&default_query_exec_mode=exec", log); err != nil {
		t.Fatal(err)
	}
	return p
}

// lead writes the pooler's settings for the database to which it connects.
func (p *Pooler) lead(database string) (*pgx.ConnConfig, error) {
	to, err := pgx.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	ini := fmt.Sprintf(`[databases]
%s = host=%s port=%d user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
ignore_startup_parameters = extra_float_digits
server_login_retry = 1
query_wait_timeout = %d
`, to.Database, to.Host, to.Port, User, Password, p.port, p.connections, p.wait)
	return to, os.WriteFile(p.settings, []byte(ini), 0o644)
}

// Retarget makes the pooler connect to the same database of another server, as
// an operator does after a failover. Connections of its clients stay open.
func (p *Pooler) Retarget(t testing.TB, database string) {
	t.Helper()
	_, err := p.lead(database)
	if err = errors.Join(err, p.process.signal(syscall.SIGHUP)); err != nil {
		t.Fatal(err)
	}
}
