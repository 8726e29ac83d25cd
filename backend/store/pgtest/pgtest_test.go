package pgtest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

const childEnv = "SUNLOOP_TEST_PGTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		s, err := start(Options{})
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strconv.Itoa(s.Port) + "\n" + s.Dir + "\n")
		select {} // until it is killed
	}
	goleak.VerifyTestMain(Main(m))
}

func ask(t *testing.T, url, sql string) (answer string, err error) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return "", err
	}
	defer c.Close(context.Background())
	err = c.QueryRow(t.Context(), sql).Scan(&answer)
	return answer, err
}

// TestDatabase: each test has its own empty database on one server.
func TestDatabase(t *testing.T) {
	a, b := Database(t), Database(t)
	if a == b {
		t.Fatalf("twice %s", a)
	}
	count := "SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'"
	if n, err := ask(t, a, count); n != "0" || err != nil {
		t.Errorf("%s tables in a new database, %v", n, err)
	}
	if _, err := ask(t, a, "CREATE TABLE x (n int)"); !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	for url, want := range map[string]string{a: "1", b: "0"} {
		if n, err := ask(t, url, count); n != want || err != nil {
			t.Errorf("%s tables, want %s, %v", n, want, err)
		}
	}
}

// TestFailover: what a primary acknowledged before it was killed is on the
// standby that takes its place. A pooler connects to the standby once that has
// replaced the primary; requests meanwhile fail, and later ones succeed.
func TestFailover(t *testing.T) {
	primary := Start(t, Options{})
	standby := primary.Standby(t)
	url := primary.Database(t)
	name := strings.TrimPrefix(parsed(t, url).Path, "/")
	p := pool(t, url, 2, 2)
	through := p.URL + "&default_query_exec_mode=exec"
	if _, err := ask(t, through, "CREATE TABLE kept AS SELECT 'yes'::text AS answer"); !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	if in, err := ask(t, standby.URL("postgres"), "SELECT pg_is_in_recovery()::text"); in != "true" || err != nil {
		t.Errorf("standby in recovery: %s, %v", in, err)
	}
	primary.Kill()
	if _, err := ask(t, through, "SELECT answer FROM kept"); err == nil {
		t.Error("a killed server answers")
	}
	standby.Promote(t)
	if kept, err := ask(t, standby.URL(name), "SELECT answer FROM kept"); kept != "yes" || err != nil {
		t.Errorf("after promotion: %q, %v", kept, err)
	}
	p.Retarget(t, standby.URL(name))
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		kept, err := ask(t, through, "SELECT answer FROM kept")
		if kept == "yes" && err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("by way of the pooler: %q, %v", kept, err)
		}
	}
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestKilled: a server ends with the process that started it.
func TestKilled(t *testing.T) {
	skipWithout(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^$")
	from, err := template()
	if err != nil {
		t.Fatal(err)
	}
	child.Env = append(os.Environ(), childEnv+"=1", templateEnv+"="+from)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	port := lines.Text()
	lines.Scan()
	t.Cleanup(func() { os.RemoveAll(lines.Text()[:len(lines.Text())-len("/data")]) })
	// An idle connection would delay the server's shutdown.
	dial := func() error {
		c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
	if err := dial(); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	for deadline := time.Now().Add(time.Minute); !errors.Is(dial(), syscall.ECONNREFUSED); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server of a killed process still listens")
		}
	}
}
