package faultfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// marker shows a process that it is observed.
const marker = "SUNLOOP_TEST_WATCHED"

// watcherFD is where a watched process finds the way to its watcher.
const watcherFD = 3

// Watch is a process under watch.
type Watch struct {
	cmd    *exec.Cmd
	dir    string
	decide func(Event) Effect
	events []Event
	ended  chan error
}

// Start runs cmd, whose program must call [Enter] before it opens a file in
// dir. decide, which may be nil, is asked of every event but Said, one at a
// time.
func Start(cmd *exec.Cmd, dir string, decide func(Event) Effect) (*Watch, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("watch a process: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("watch a process: %w", err)
	}
	defer unix.Close(pair[0]) //nolint:errcheck // nothing is lost with it
	theirs := os.NewFile(uintptr(pair[1]), "watcher")
	cmd.ExtraFiles = []*os.File{theirs}
	// A signal to change goroutines would cut calls off while they wait.
	cmd.Env = append(cmd.Environ(), marker+"=1", "GODEBUG=asyncpreemptoff=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	if closing := theirs.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("watch a process: %w", err)
	}
	listener, err := receive(pair[0])
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	w := &Watch{cmd: cmd, dir: dir, decide: decide, ended: make(chan error, 1)}
	go func() { w.ended <- w.serve(listener) }()
	return w, nil
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// Wait waits for the process and answers all that it did. The error is that of
// the process or of the watch.
func (w *Watch) Wait() ([]Event, error) {
	err := w.cmd.Wait()
	return w.events, errors.Join(<-w.ended, err)
}

// receive is the listener that the process sends.
func receive(socket int) (int, error) {
	control := make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, 0)
	if err != nil || n == 0 {
		return 0, errors.Join(ErrUnsupported, err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:size])
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(ErrUnsupported, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, errors.Join(ErrUnsupported, err)
	}
	return fds[0], nil
}

// watched are the intercepted system calls. Other ways of writing are included
// so that none is missed.
var watched = []uint32{
	unix.SYS_PWRITE64, unix.SYS_WRITE, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT,
	unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_FALLOCATE,
}

// Enter connects this process to the observer that started it by [Start]; it
// returns false without one.
func Enter() (bool, error) {
	if os.Getenv(marker) == "" {
		return false, nil
	}
	const load, equal, anySet, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{{Code: load, K: 0}} // the number of the call
	for i, call := range watched {
		program = append(program, unix.SockFilter{Code: equal, K: call, Jt: uint8(len(watched) - i + 3)})
	}
	program = append(program,
		unix.SockFilter{Code: equal, K: unix.SYS_OPENAT, Jf: 2},
		unix.SockFilter{Code: load, K: 16 + 2*8}, // its third argument
		unix.SockFilter{Code: anySet, K: unix.O_CREAT | unix.O_TRUNC, Jt: 1},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_USER_NOTIF})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// The calls before the listener has been handed over must not be watched.
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return false, fmt.Errorf("%w: %w", ErrUnsupported, errno)
	}
	if err := unix.Sendmsg(watcherFD, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return false, fmt.Errorf("notify watcher: %w", err)
	}
	return true, errors.Join(unix.Close(int(listener)), unix.Close(watcherFD))
}

// notice and reply are the kernel's seccomp_notif and seccomp_notif_resp.
type notice struct {
	id         uint64
	pid, flags uint32
	call, arch uint32
	ip         uint64
	args       [6]uint64
}

type reply struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// serve answers the calls of the process until it has ended.
func (w *Watch) serve(listener int) (err error) {
	defer func() { err = errors.Join(err, unix.Close(listener)) }()
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return fmt.Errorf("wait for a call: %w", err)
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return nil // no process is left
		}
		var n notice
		if err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) {
			continue // it was killed meanwhile
		} else if err != nil {
			return fmt.Errorf("receive notification of a call: %w", err)
		}
		answer := reply{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		value, errno, took, judgeErr := w.judge(&n)
		switch {
		case judgeErr != nil:
			err = errors.Join(err, judgeErr)
		case errno != 0:
			answer.flags, answer.err = 0, -int32(errno)
		case took:
			answer.flags, answer.value = 0, value
		}
		if err := control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("answer a call: %w", err)
		}
	}
}

func control(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// judge records a call and decides about it. took reports that its effect has
// already happened, with value as its result.
func (w *Watch) judge(n *notice) (value int64, errno syscall.Errno, took bool, err error) {
	e, ours, err := w.event(n)
	if err != nil || !ours {
		return 0, 0, false, err
	}
	if e.Op != Marker && w.decide != nil {
		v := w.decide(e)
		switch {
		case v.Short > 0 && v.Short < len(e.Data) && n.call == unix.SYS_PWRITE64:
			e.Data = e.Data[:v.Short]
			if err := w.write(n, e); err != nil {
				return 0, 0, false, err
			}
			value, took = int64(v.Short), true
		default:
			e.Err, errno = v.Err, v.Err
		}
	}
	w.events = append(w.events, e)
	return value, errno, took, nil
}

// write does a part of a write in the process's place.
func (w *Watch) write(n *notice, e Event) (err error) {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.args[0]), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write for the process: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteAt(e.Data, e.Offset)
	return err
}

// event is the call in this package's words; false for one that is about no
// file of the folder.
func (w *Watch) event(n *notice) (e Event, ours bool, err error) {
	a := n.args
	switch n.call {
	case unix.SYS_OPENAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT:
		e.Op = map[uint32]Op{unix.SYS_OPENAT: Create, unix.SYS_UNLINKAT: Remove, unix.SYS_MKDIRAT: MakeFolder}[n.call]
		e.Path, ours, err = w.named(n, a[0], a[1])
		if n.call == unix.SYS_OPENAT && a[2]&unix.O_TRUNC != 0 {
			_, missing := os.Lstat(filepath.Join(w.dir, e.Path))
			if ours && missing == nil {
				e.Op = Truncate
			}
		}
		return e, ours, err
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		e.Op = Rename
		if n.call == unix.SYS_LINKAT {
			e.Op = Link
		}
		if e.Path, ours, err = w.named(n, a[0], a[1]); err != nil || !ours {
			return e, ours, err
		}
		e.To, ours, err = w.named(n, a[2], a[3])
		return e, ours, err
	}
	if n.call == unix.SYS_WRITE && a[0] == 1 {
		e.Op = Marker
		e.Data, err = memory(n.pid, a[1], a[2])
		return e, true, err
	}
	if e.Path, ours, err = w.opened(n.pid, a[0]); err != nil || !ours {
		return e, ours, err
	}
	switch n.call {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		e.Op = Sync
	case unix.SYS_FTRUNCATE:
		e.Op, e.Size = Truncate, int64(a[1])
	case unix.SYS_PWRITE64, unix.SYS_WRITE:
		e.Op = Write
		if e.Offset = int64(a[3]); n.call == unix.SYS_WRITE {
			if e.Offset, err = position(n.pid, a[0]); err != nil {
				return e, false, err
			}
		}
		e.Data, err = memory(n.pid, a[1], a[2])
	default:
		err = fmt.Errorf("%s is written by call %d, which the watch does not know", e.Path, n.call)
	}
	return e, true, err
}

// named is the path that a call gives by a folder and a name in it.
func (w *Watch) named(n *notice, folder, name uint64) (string, bool, error) {
	text, err := memoryText(n.pid, name)
	if err != nil {
		return "", false, err
	}
	if !filepath.IsAbs(text) {
		at := fmt.Sprintf("/proc/%d/cwd", n.pid)
		if int32(folder) != unix.AT_FDCWD {
			at = fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(folder))
		}
		base, err := os.Readlink(at)
		if err != nil {
			return "", false, fmt.Errorf("find the folder of a call: %w", err)
		}
		text = filepath.Join(base, text)
	}
	rel, ours := w.within(text)
	return rel, ours, nil
}

// opened is the path of a file descriptor.
func (w *Watch) opened(pid uint32, fd uint64) (string, bool, error) {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil // the call will fail
	}
	if err != nil {
		return "", false, fmt.Errorf("find the file of a call: %w", err)
	}
	rel, ours := w.within(name)
	return rel, ours, nil
}

func (w *Watch) within(name string) (string, bool) {
	if name == w.dir {
		return ".", true
	}
	return strings.CutPrefix(filepath.Clean(name), w.dir+"/")
}

// position is where the next write to a descriptor goes.
func position(pid uint32, fd uint64) (at int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	if err == nil {
		_, err = fmt.Sscanf(string(b), "pos:\t%d", &at)
	}
	if err != nil {
		return 0, fmt.Errorf("find the place of a write: %w", err)
	}
	return at, nil
}

// memory copies bytes of the process.
func memory(pid uint32, at, size uint64) ([]byte, error) {
	b := make([]byte, size)
	for done := 0; done < len(b); {
		n, err := unix.ProcessVMReadv(int(pid), []unix.Iovec{{Base: &b[done], Len: size - uint64(done)}},
			[]unix.RemoteIovec{{Base: uintptr(at) + uintptr(done), Len: int(size) - done}}, 0)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("read the process's memory: %w", errors.Join(err, ErrUnsupported))
		}
		done += n
	}
	return b, nil
}

// memoryText copies text of the process up to its zero byte, page by page:
// what lies behind need not be there.
func memoryText(pid uint32, at uint64) (string, error) {
	var text []byte
	for page := uint64(os.Getpagesize()); len(text) < unix.PathMax; {
		b, err := memory(pid, at+uint64(len(text)), page-(at+uint64(len(text)))%page)
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(append(text, b[:end]...)), nil
		}
		text = append(text, b...)
	}
	return "", errors.New("a path has no end")
}
