package endure

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

// program is the sunloop that all tests start.
var program string

func TestMain(m *testing.M) {
	status, err := withProgram(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "endure:", err)
		status = 1
	}
	os.Exit(status)
}

// withProgram builds the program for f, unless SUNLOOP_TEST_PROGRAM names one
// that is there, as a release.
func withProgram(f func() int) (status int, err error) {
	if program = os.Getenv("SUNLOOP_TEST_PROGRAM"); program != "" {
		return f(), nil
	}
	dir, err := os.MkdirTemp("", "sunloop-endure-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program = filepath.Join(dir, "sunloop.exe")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "app.sunloop/cmd/sunloop")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return f(), nil
}

// command is the program over a data folder, with nothing of this machine's
// configuration.
func command(dir string, words ...string) *exec.Cmd {
	cmd := exec.Command(program, append(words, "--data", dir)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SUNLOOP_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "HOME=")
	})
	cmd.Env = append(cmd.Env, "HOME="+dir)
	return cmd
}

// admin runs `sunloop admin` beside a folder that nobody serves, types input,
// and answers what it prints.
func admin(t testing.TB, dir, input string, words ...string) string {
	t.Helper()
	cmd := command(dir, append([]string{"admin"}, words...)...)
	cmd.Stdin = strings.NewReader(input)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sunloop admin %s: %v\n%s", strings.Join(words, " "), err, &complaint)
	}
	return string(out)
}

// rootKey makes a key that opens everything, beside a folder that nobody serves.
func rootKey(t testing.TB, dir string) string {
	t.Helper()
	key, _, _ := strings.Cut(admin(t, dir, "", "key", "create", "root", "--role", "role_admin", "--customers", "*"), "\n")
	return key
}

// readyWithin bounds how long a service may take until it is ready, on a
// machine that has much else to do.
const readyWithin = time.Minute

// process is a service that runs, or has run.
type process struct {
	url   string // of all hosts; empty until the service said so
	dir   string
	cmd   *exec.Cmd
	ended chan struct{} // closed once the process is gone
	err   error         // why it is gone, after ended

	mu    sync.Mutex
	lines []string
	told  chan string // the address, once
}

// launch starts a service on a free port of loopback and does not wait for it.
func launch(dir string, flags ...string) (*process, error) {
	p := &process{dir: dir, ended: make(chan struct{}), told: make(chan string, 1)}
	p.cmd = command(dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	err = p.cmd.Start()
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	go func() {
		p.read(out)
		p.err = errors.Join(p.cmd.Wait(), out.Close())
		close(p.ended)
	}()
	return p, nil
}

// read keeps what the service says, and finds its address in it.
func (p *process) read(out io.Reader) {
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
			case p.told <- said.Address:
			default: // of a further listener
			}
		}
		if err != nil {
			return
		}
	}
}

// wait waits until the service is ready, or says why it will not be.
func (p *process) wait() error {
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	select {
	case p.url = <-p.told:
	case <-p.ended:
		return fmt.Errorf("the service ended (%s):\n%s", p.cmd.ProcessState, p.log())
	case <-late.C:
		return fmt.Errorf("the service does not listen after %s:\n%s", readyWithin, p.log())
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	c := p.client("")
	defer c.Close()
	for {
		err := c.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the service ended (%s) before it was ready:\n%s", p.cmd.ProcessState, p.log())
		case <-ctx.Done():
			return fmt.Errorf("the service is not ready after %s: %w\n%s", readyWithin, err, p.log())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// start serves a folder and waits until the service is ready. The process ends
// with the test at the latest.
func start(t testing.TB, dir string, flags ...string) *process {
	t.Helper()
	p, err := launch(dir, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	return p
}

// kill ends the process at once, wherever it is, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// term asks the service to end, and waits for nothing.
func (p *process) term() error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// stop asks the service to end and answers its exit status, -1 for one that a
// signal ended.
func (p *process) stop() (int, error) {
	if err := p.term(); err != nil {
		return -1, err
	}
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(readyWithin):
		p.kill()
		return -1, fmt.Errorf("the service did not end within %s:\n%s", readyWithin, p.log())
	}
}

// log is what the service said so far.
func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// client asks the service as the holder of a key or token, over connections of
// its own that are not kept. A certificate that the service made is believed.
func (p *process) client(credential string) *client.Client {
	return client.New(client.Options{BaseURL: p.url, Credential: credential, Transport: &http.Transport{MaxIdleConnsPerHost: 4, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}})
}

// usage is what a process takes of the machine.
type usage struct {
	rssBytes, peakRSSBytes int64
	threads, files         int
}

// usage reads /proc; ok is false where there is none.
func (p *process) usage() (u usage, ok bool) {
	proc := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return u, false
	}
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return u, false
	}
	u.files = len(files)
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
			u.rssBytes = n << 10
		case "VmHWM":
			u.peakRSSBytes = n << 10
		case "Threads":
			u.threads = int(n)
		}
	}
	return u, true
}
