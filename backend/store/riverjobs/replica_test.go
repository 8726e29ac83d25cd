//go:build !gateway

package riverjobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
)

// childEnv makes the test binary work on the database that it names.
const childEnv = "SUNLOOP_TEST_RIVER_WORKER"

// Leases of workers.
const (
	shortLease = 10 * time.Second // of one that is to lose it: long enough for a busy machine to renew it in time
	ownLease   = 5 * time.Minute  // of one that keeps it, whatever the machine does
)

// workUntilKilled prints when it runs a job. For a line of its input it writes
// a record for it, whatever its context's state, and prints the result.
func workUntilKilled(url string) {
	h, err := Open(context.Background(), url, postgres.Options{})
	if err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	panic(h.Work(context.Background(), store.Worker{Kinds: []string{"job"}, Workers: 1, Lease: shortLease, Tick: 100 * time.Millisecond,
		Run: func(ctx context.Context, _ store.Claimed) store.JobResult {
			fmt.Println("running")
			in.Scan()
			err := h.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
				return errors.Join(tx.Put("records", []byte("by"), []byte("child")), tx.Enqueue(store.Job{Kind: "follows"}))
			})
			fmt.Println("lost:", errors.Is(err, store.ErrLost))
			return store.JobResult{}
		}}))
}

// child is a process that works.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, url string) child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := child{Cmd: exec.Command(exe, "-test.run=^$")}
	c.Env, c.Stderr = append(os.Environ(), childEnv+"="+url), os.Stderr
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	return c
}

func (c child) says(t *testing.T, want string) {
	t.Helper()
	if !c.out.Scan() || c.out.Text() != want {
		t.Fatalf("the other process says %q, want %q", c.out.Text(), want)
	}
}

// runs runs a worker; each run is sent to the test, and ends with the result
// that the test sends.
func runs(t *testing.T, h *Storage) (begun <-chan store.Claimed, verdict chan<- store.JobResult) {
	t.Helper()
	out, in := make(chan store.Claimed), make(chan store.JobResult)
	work(t, h, store.Worker{Lease: ownLease, Run: func(ctx context.Context, c store.Claimed) store.JobResult {
		select {
		case out <- c:
		case <-ctx.Done():
			return store.JobResult{Outcome: store.Stopped}
		}
		select {
		case v := <-in:
			return v
		case <-ctx.Done():
			return store.JobResult{Outcome: store.Stopped}
		}
	}})
	return out, in
}

// TestKilled: the jobs of a worker that was killed go to another, and in their
// last attempt to be given up.
func TestKilled(t *testing.T) {
	t.Parallel() // it waits, mostly
	for attempts, spent := range map[int]bool{3: false, 1: true} {
		t.Run(fmt.Sprint(attempts), func(t *testing.T) {
			t.Parallel()
			url := pgtest.Database(t)
			h := openURL(t, url)
			enqueue(t, h, store.Job{Kind: "job", Unique: "u", MaxAttempts: attempts})
			other := startChild(t, url)
			other.says(t, "running")
			enqueue(t, h, store.Job{Kind: "job", Unique: "u", MaxAttempts: 9})
			begun, verdict := runs(t, h)
			select {
			case c := <-begun:
				t.Fatalf("%+v runs twice at a time", c)
			case <-time.After(time.Second):
			}
			if err := other.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			c := <-begun
			if c.Attempt != 2 || c.LostAttempts != 1 || c.Failures != 0 || c.AttemptsExhausted() != spent {
				t.Errorf("taken over: %+v", c)
			}
			t.Logf("taken over after %v of a lease of %v", time.Since(killed), shortLease)
			end, dead := store.JobResult{}, 0
			if spent {
				end, dead = store.JobResult{Outcome: store.Dead, Cause: "given up"}, 1
			}
			verdict <- end
			if c := <-begun; c.MaxAttempts != 9 || c.Attempt != 1 { // which was asked for meanwhile
				t.Errorf("then runs %+v", c)
			}
			verdict <- store.JobResult{}
			waitCounts(t, h, [3]int{0, 0, dead})
		})
	}
}

// TestFrozen: a worker that slept while another took its job over writes
// nothing for it, and does not end it.
func TestFrozen(t *testing.T) {
	t.Parallel() // it waits, mostly
	url := pgtest.Database(t)
	h := openURL(t, url)
	enqueue(t, h, store.Job{Kind: "job"})
	other := startChild(t, url)
	other.says(t, "running")
	if err := other.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun, verdict := runs(t, h)
	if c := <-begun; c.Attempt != 2 || c.LostAttempts != 1 {
		t.Errorf("taken over: %+v", c)
	}
	if _, err := io.WriteString(other.in, "continue\n"); err != nil {
		t.Fatal(err)
	}
	if err := other.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	other.says(t, "lost: true")
	// It polls for other jobs now, so it has settled this one, or tried to.
	enqueue(t, h, store.Job{Kind: "job"})
	other.says(t, "running")
	waitCounts(t, h, [3]int{0, 2, 0})
	err := h.View(t.Context(), func(tx store.Tx) error {
		_, err := tx.Get("records", []byte("by"))
		return err
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it left a record: %v", err)
	}
	verdict <- store.JobResult{}
	waitCounts(t, h, [3]int{0, 1, 0})
}

// TestSilent: a worker that cannot renew its row ends its jobs itself, and
// gives them back once it can.
func TestSilent(t *testing.T) {
	t.Parallel() // it waits, mostly
	h := openURL(t, pgtest.Database(t))
	causes, ran := make(chan error, 1), make(chan store.Claimed)
	work(t, h, store.Worker{Lease: shortLease, Run: func(ctx context.Context, c store.Claimed) store.JobResult {
		ran <- c
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return store.JobResult{}
	}})
	enqueue(t, h, store.Job{Kind: "job", MaxAttempts: 1})
	<-ran
	tx, err := h.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE sunloop.worker`); err != nil {
		t.Fatal(err)
	}
	if cause := <-causes; !errors.Is(cause, store.ErrLost) {
		t.Errorf("ended for %v", cause)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := <-ran; c.Attempt > 2 || c.LostAttempts > 1 {
		t.Errorf("given back: %+v", c)
	}
}

// counted counts the records that are logged at warning or above.
type counted struct{ n atomic.Int64 }

func (c *counted) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (c *counted) Handle(context.Context, slog.Record) error    { c.n.Add(1); return nil }
func (c *counted) WithAttrs([]slog.Attr) slog.Handler           { return c }
func (c *counted) WithGroup(string) slog.Handler                { return c }

// TestFailover: work continues after the server came back, or after another
// replaced it, and jobs that ended meanwhile are settled.
func TestFailover(t *testing.T) {
	t.Parallel() // it waits, mostly
	for _, promoted := range []bool{false, true} {
		t.Run(fmt.Sprint("promoted ", promoted), func(t *testing.T) {
			t.Parallel()
			primary := pgtest.Start(t, pgtest.Options{})
			url, back := primary.Database(t), primary.Restart
			if promoted {
				standby := primary.Standby(t)
				one, name := primary.URL("x"), url[strings.LastIndex(url, "/"):]
				two := standby.URL("x")
				url = one[:strings.LastIndex(one, "/")] + "," + two[strings.Index(two, "@")+1:strings.LastIndex(two, "/")] + name + "&target_session_attrs=read-write"
				back = func() error { standby.Promote(t); return nil }
			}
			h := openURL(t, url)
			log := new(counted)
			ran, end := make(chan string, 9), make(chan struct{})
			work(t, h, store.Worker{Lease: shortLease, Workers: 2, Logger: slog.New(log), Run: func(_ context.Context, c store.Claimed) store.JobResult {
				ran <- c.Unique
				if c.Unique == "before" {
					<-end
				}
				return store.JobResult{}
			}})
			enqueue(t, h, store.Job{Kind: "job", Unique: "before"})
			<-ran
			time.Sleep(time.Second) // a standby follows meanwhile; nothing else depends on it
			primary.Kill()
			close(end)
			time.Sleep(2 * time.Second) // some attempts at an unavailable database
			if err := back(); err != nil {
				t.Fatal(err)
			}
			wait(t, "the database", func() bool {
				return h.Update(t.Context(), func(tx store.Tx) error { return tx.Enqueue(store.Job{Kind: "job", Unique: "after"}) }) == nil
			})
			for unique := ""; unique != "after"; {
				unique = <-ran // "before" once more, where the outage lasted as long as the lease
			}
			waitCounts(t, h, [3]int{0, 0, 0})
			if n := log.n.Load(); n == 0 || n > 30 {
				t.Errorf("%d warnings and errors", n)
			}
		})
	}
}
