// Package pgtest gives tests a real PostgreSQL server of their own: in a
// temporary folder, on a free port of the loopback, gone when the test binary
// is, however that ends. Where PostgreSQL's programs are not installed, tests
// are skipped.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }
//
//	func TestSomething(t *testing.T) { url := pgtest.Database(t) … }
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// User and Password are of the servers' one role, a superuser.
const (
	User     = "sunloop"
	Password = "only-for-tests"
)

// Options choose how a server runs.
type Options struct {
	// FSync makes a commit wait for the disk, as in production.
	FSync bool
	// Settings are further settings of the server by name.
	Settings map[string]string
}

// Server is a running PostgreSQL.
type Server struct {
	Dir  string // its data; in the parent folder, the log
	Port int

	options   Options
	process   *process
	databases atomic.Int64
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// templateEnv names the folder of the cluster that all servers are copied from.
// The first test binary that needs it makes it. Without the variable, each
// binary makes its own.
const templateEnv = "SUNLOOP_TEST_POSTGRES"

var (
	ownTemplate string // the folder around the template of this binary; empty without one

	// template is the folder of a cluster that no server has used: initdb costs
	// several times what a copy costs.
	template = sync.OnceValues(func() (string, error) {
		named := os.Getenv(templateEnv)
		if _, err := os.Stat(named); named != "" && err == nil {
			return named, nil
		}
		root, err := newFolder()
		if err != nil {
			return "", fmt.Errorf("make a folder for PostgreSQL: %w", err)
		}
		dir := filepath.Join(root, "data")
		if err := initialize(root, dir); err != nil {
			os.RemoveAll(root)
			return "", err
		}
		if named == "" {
			ownTemplate = root
			return dir, nil
		}
		defer os.RemoveAll(root)
		if err := os.Rename(dir, named); err != nil && !errors.Is(err, fs.ErrExist) { // another binary was first
			return "", err
		}
		return named, nil
	})
)

// initialize makes a new cluster in dir.
func initialize(root, dir string) error {
	password := filepath.Join(root, "password")
	if err := os.WriteFile(password, []byte(Password), 0o644); err != nil {
		return err
	}
	return run("initdb", nil, "-D", dir, "-U", User, "--pwfile", password, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "-N")
}

// Database makes an empty database, on a server that all tests of the binary
// share, and returns its URL. It is dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	skipWithout(t)
	shared.once.Do(func() { shared.server, shared.err = start(Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Database(t)
}

// Runner is what [testing.M] is to TestMain.
type Runner interface{ Run() int }

type runner struct{ m Runner }

func (r runner) Run() int {
	code := r.m.Run()
	if shared.server != nil {
		shared.server.Stop()
		os.RemoveAll(filepath.Dir(shared.server.Dir))
	}
	if ownTemplate != "" {
		os.RemoveAll(ownTemplate)
	}
	return code
}

// Main runs the tests of m, then ends the server they shared and removes the
// cluster that servers were copied from.
func Main(m Runner) Runner { return runner{m} }

// Start starts a server of the test's own, which ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	skipWithout(t)
	s, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		os.RemoveAll(filepath.Dir(s.Dir))
	})
	return s
}

// Installed reports whether PostgreSQL's programs are installed.
func Installed() bool { return programs() != "" }

func skipWithout(t testing.TB) {
	t.Helper()
	if programs() == "" {
		t.Skip("PostgreSQL's programs are not installed")
	}
}

// programs is the folder of PostgreSQL's newest programs; empty where there are
// none, or no way to run them safely.
var programs = sync.OnceValue(func() string {
	if !supported {
		return ""
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
})

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// start copies the template into a temporary folder and runs a server over it.
func start(o Options) (*Server, error) {
	from, err := template()
	if err != nil {
		return nil, err
	}
	root, err := newFolder()
	if err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	s := &Server{Dir: filepath.Join(root, "data"), options: o}
	if err := run("/bin/cp", nil, "-a", from, s.Dir); err != nil {
		os.RemoveAll(root)
		return nil, err
	}
	if err := s.listen(); err != nil {
		os.RemoveAll(root)
		return nil, err
	}
	return s, nil
}

// listen starts a new server on a free port. Another program may take that in
// between.
func (s *Server) listen() (err error) {
	for range 5 {
		if s.Port, err = freePort(); err != nil {
			return err
		}
		if err = s.Restart(); err == nil {
			return nil
		}
	}
	return err
}

// settings are the server's command line.
func (s *Server) settings() []string {
	set := map[string]string{
		"port": strconv.Itoa(s.Port), "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
		"fsync": strconv.FormatBool(s.options.FSync), "full_page_writes": strconv.FormatBool(s.options.FSync),
		"shared_buffers": "64MB", "max_connections": "200",
	}
	for name, value := range s.options.Settings {
		set[name] = value
	}
	args := []string{"-D", s.Dir}
	for name, value := range set {
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// Restart runs a server that was stopped or killed, or is new, and waits until
// it answers. What served the connections of a killed one may hold its memory
// for a moment more, for which the new one does not wait by itself.
func (s *Server) Restart() error {
	err := s.restart()
	for end := time.Now().Add(patience); err != nil && strings.Contains(err.Error(), "is still in use") && time.Now().Before(end); err = s.restart() {
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func (s *Server) restart() error {
	var err error
	if s.process, err = launch("postgres", s.settings(), s.log()); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err = s.ready(); err != nil {
		s.Kill()
	}
	return err
}

// patience is how long a server may take to come up on a busy machine.
const patience = 2 * time.Minute

func (s *Server) log() string { return filepath.Join(filepath.Dir(s.Dir), "log") }

// ready waits until the server answers.
func (s *Server) ready() error { return s.process.answers(s.URL("postgres"), s.log()) }

// answers waits until a program serves a database's URL.
func (p *process) answers(url, log string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := connects(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			text, _ := os.ReadFile(log)
			return fmt.Errorf("the server ended: %s", lastLines(string(text), 5))
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// connects tries for some seconds: another program may have taken the port, and
// wait for the first word.
func connects(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// URL names a database of the server.
func (s *Server) URL(database string) string { return urlOf(s.Port, database) }

func urlOf(port int, database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(User, Password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path: database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Database makes an empty database and returns its URL. It is dropped when the
// test ends, if the server still runs.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	if err := s.exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-s.process.ended:
			return
		default:
		}
		// The test's own context has ended.
		if err := s.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}

func (s *Server) exec(ctx context.Context, sql string) error {
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql)
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// Dump returns the tables and data of a database as SQL, for [Restore].
func Dump(t testing.TB, url string) []byte {
	t.Helper()
	return client(t, nil, "pg_dump", "--no-owner", "--no-privileges", "--dbname", url)
}

// Restore runs the SQL of a [Dump] in an empty database.
func Restore(t testing.TB, url string, sql []byte) {
	t.Helper()
	client(t, sql, "psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--output", os.DevNull, "--dbname", url)
}

// client runs one of PostgreSQL's clients to its end, and returns what it writes.
func client(t testing.TB, input []byte, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs(), program), args...)
	var failures bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &failures
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", program, err, lastLines(failures.String(), 5))
	}
	return out
}
