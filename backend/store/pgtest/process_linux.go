package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// supported: on Linux a server can be made to end with the process that started
// it.
const supported = true

// owner is whom PostgreSQL runs as: it refuses to be root.
func owner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// newFolder is a temporary folder of the owner's.
func newFolder() (string, error) {
	who, err := owner()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "sunloop-postgres-")
	if err == nil && who != nil {
		err = os.Chown(dir, int(who.Uid), int(who.Gid))
	}
	return dir, err
}

// command is one of PostgreSQL's programs, or another by its path, to be run as
// the owner.
func command(program string, args ...string) (*exec.Cmd, error) {
	who, err := owner()
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(programs(), program)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = "/"
	// A signal from the terminal is the test binary's to handle.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
	return cmd, nil
}

// run runs a program to its end.
func run(program string, env []string, args ...string) error {
	cmd, err := command(program, args...)
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, lastLines(string(out), 5))
	}
	return nil
}

// process is a running server.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// launch starts a program that the kernel ends at once when this process dies.
func launch(program string, args []string, log string) (*process, error) {
	cmd, err := command(program, args...)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	p := &process{cmd, make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death that counts is that of the thread which started it: this one
		// stays for as long as the server.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		out.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait() // ended is all that matters
			close(p.ended)
		}
	}()
	return p, <-started
}

// Stop ends the server in order and waits for it.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Kill ends the server as a crash does, including the processes that serve its
// connections, which would otherwise run for a moment.
func (s *Server) Kill() {
	pid := s.process.cmd.Process.Pid
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	s.end(syscall.SIGKILL)
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// awaitStopped waits until a process that got SIGSTOP runs no more: the signal is
// delivered when it is scheduled next, and until then it may start others.
func awaitStopped(pid int) {
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return // it has ended
		}
		_, state, _ := strings.Cut(string(stat), ") ") // after the name, which may have spaces
		if strings.HasPrefix(state, "T") || strings.HasPrefix(state, "Z") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Freeze stops the server and the processes that serve its connections where
// they are, as a host that swaps or a hypervisor that pauses does: connections
// stay open and nothing answers. The returned function lets them continue; it
// is called at the end of the test too.
func (s *Server) Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	pid := s.process.cmd.Process.Pid
	var pids []int
	stop := func(pid int) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err == nil {
			pids = append(pids, pid)
			awaitStopped(pid)
		}
	}
	stop(pid) // first, so that it starts no other
	// The list of children is complete only while none of them ends, so it is read
	// until it has no other.
	for before := 0; before < len(pids); {
		before = len(pids)
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(child); err == nil && !slices.Contains(pids, pid) {
				stop(pid)
			}
		}
	}
	thaw = sync.OnceFunc(func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
		}
	})
	t.Cleanup(thaw)
	return thaw
}

func (s *Server) end(how syscall.Signal) { s.process.end(how) }

func (p *process) end(how syscall.Signal) {
	_ = p.cmd.Process.Signal(how) // it may have ended
	<-p.ended
}

func (p *process) stop() { p.end(syscall.SIGINT) }

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }
