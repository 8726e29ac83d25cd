// Package servetest runs the sunloop program as a process for tests: it builds
// the program, starts `sunloop serve` on a free port of the loopback interface
// over a folder, and measures what the process uses.
package servetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/client"
)

// program is the path of the program that all functions run.
var program string

// Main builds the program, runs f, which is the Run method of a testing.M, and
// returns its exit status. The caller passes it to os.Exit. If
// SUNLOOP_TEST_PROGRAM names a program, that one is used instead.
func Main(f func() int) int {
	status, err := withProgram(f)
	if err != nil {
		fmt.Fprintln(os.Stderr, "servetest:", err)
		return 1
	}
	return status
}

func withProgram(f func() int) (status int, err error) {
	if program = os.Getenv("SUNLOOP_TEST_PROGRAM"); program != "" {
		return f(), nil
	}
	dir, err := os.MkdirTemp("", "sunloop-servetest-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program = filepath.Join(dir, "sunloop.exe")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "app.sunloop/cmd/sunloop")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return f(), nil
}

// Command returns a command that runs the program on a data folder without any
// configuration of the machine.
func Command(dir string, words ...string) *exec.Cmd {
	cmd := exec.Command(program, append(words, "--data", dir)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SUNLOOP_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "HOME=")
	})
	cmd.Env = append(cmd.Env, "HOME="+dir)
	return cmd
}

// Admin runs `sunloop admin` on a folder that is not being served, with input
// on its standard input, and returns what it prints.
func Admin(t testing.TB, dir, input string, words ...string) string {
	t.Helper()
	cmd := Command(dir, append([]string{"admin"}, words...)...)
	cmd.Stdin = strings.NewReader(input)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sunloop admin %s: %v\n%s", strings.Join(words, " "), err, &complaint)
	}
	return string(out)
}

// RootKey creates an API key with all permissions for all customers in a folder
// that is not being served.
func RootKey(t testing.TB, dir string) string {
	t.Helper()
	key, _, _ := strings.Cut(Admin(t, dir, "", "key", "create", "root", "--role", "role_admin", "--customers", "*"), "\n")
	return key
}

// ReadyWithin is how long a service may take to become ready or to end, on a very
// busy machine.
const ReadyWithin = 4 * time.Minute

// Process is a service that runs or has run.
type Process struct {
	URL   string // base URL of all hosts; empty until Wait has returned
	Dir   string // data folder
	Cmd   *exec.Cmd
	Ended chan struct{} // closed when the process has ended
	Err   error         // result of Cmd.Wait, valid after Ended is closed

	mu      sync.Mutex
	lines   []string
	address chan string // receives the base URL once
}

// Launch starts a service on a free port of the loopback interface and does not
// wait until it is ready.
func Launch(dir string, flags ...string) (*Process, error) {
	p := &Process{Dir: dir, Ended: make(chan struct{}), address: make(chan string, 1)}
	p.Cmd = Command(dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.Cmd.Stdout, p.Cmd.Stderr = in, in
	err = p.Cmd.Start()
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	go func() {
		p.read(out)
		p.Err = errors.Join(p.Cmd.Wait(), out.Close())
		close(p.Ended)
	}()
	return p, nil
}

// read keeps what the service logs and finds its address in it.
func (p *Process) read(out io.Reader) {
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			p.mu.Lock()
			p.lines = append(p.lines, line)
			p.mu.Unlock()
		}
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving" {
			select {
			case p.address <- said.Address:
			default: // another listener
			}
		}
		if err != nil {
			return
		}
	}
}

// Wait waits until the service is ready and sets URL. The error contains what
// the service has logged.
func (p *Process) Wait() error {
	late := time.NewTimer(ReadyWithin)
	defer late.Stop()
	select {
	case p.URL = <-p.address:
	case <-p.Ended:
		return fmt.Errorf("the service ended (%s):\n%s", p.Cmd.ProcessState, p.Log())
	case <-late.C:
		return fmt.Errorf("the service does not listen after %s:\n%s", ReadyWithin, p.Log())
	}
	ctx, cancel := context.WithTimeout(context.Background(), ReadyWithin)
	defer cancel()
	c := p.Client("")
	defer c.Close()
	for {
		err := c.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Ended:
			return fmt.Errorf("the service ended (%s) before it was ready:\n%s", p.Cmd.ProcessState, p.Log())
		case <-ctx.Done():
			return fmt.Errorf("the service is not ready after %s: %w\n%s", ReadyWithin, err, p.Log())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Start serves a folder and waits until the service is ready. The process is
// killed when the test ends.
func Start(t testing.TB, dir string, flags ...string) *Process {
	t.Helper()
	p, err := Launch(dir, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Kill kills the process and waits until it has ended.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	<-p.Ended
}

// Term sends SIGTERM and does not wait.
func (p *Process) Term() error { return p.Cmd.Process.Signal(syscall.SIGTERM) }

// Stop sends SIGTERM, waits until the process has ended, and returns its exit
// status: -1 for a process that was ended by a signal.
func (p *Process) Stop() (int, error) {
	if err := p.Term(); err != nil {
		return -1, err
	}
	select {
	case <-p.Ended:
		return p.Cmd.ProcessState.ExitCode(), nil
	case <-time.After(ReadyWithin):
		p.Kill()
		return -1, fmt.Errorf("the service did not end within %s:\n%s", ReadyWithin, p.Log())
	}
}

// Log returns what the service has logged so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// Client returns a client of the service with its own connections. It accepts
// a self-signed certificate. The credential may be empty.
func (p *Process) Client(credential string) *client.Client {
	return client.New(client.Options{BaseURL: p.URL, Credential: credential, Transport: &http.Transport{MaxIdleConnsPerHost: 4, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}})
}

// Usage is what a process uses of the machine's resources.
type Usage struct {
	RSSBytes, PeakRSSBytes int64 // resident memory now, and its maximum so far
	FileBytes              int64 // of the resident memory now: pages of files, which the kernel can drop
	Threads, Files         int   // threads and open file descriptors
}

// PeakMiB returns the maximum of the resident memory so far in MiB; 0 on a
// system without /proc.
func (p *Process) PeakMiB() float64 {
	u, _ := p.Usage()
	return float64(u.PeakRSSBytes) / (1 << 20)
}

// ResetPeak sets the maximum of the resident memory to its present value, so
// that later maxima are those of what follows. It does nothing on a system
// without /proc.
func (p *Process) ResetPeak() {
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid), "clear_refs"), []byte("5"), 0)
}

// Usage reads /proc; ok is false on a system without it.
func (p *Process) Usage() (u Usage, ok bool) {
	proc := filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return u, false
	}
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return u, false
	}
	u.Files = len(files)
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if len(words) == 0 {
			continue
		}
		n, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			u.RSSBytes = n << 10
		case "RssFile":
			u.FileBytes = n << 10
		case "VmHWM":
			u.PeakRSSBytes = n << 10
		case "Threads":
			u.Threads = int(n)
		}
	}
	return u, true
}
