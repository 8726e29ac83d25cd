// Package socket is the Unix socket in the data folder on which the process that
// holds the folder serves administrative requests to its own operating-system
// user. These requests are served on no other listener.
package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// socketName is the name of the socket in the data folder.
const socketName = "sunloop.sock"

// maxPath is the longest path of a socket that all systems accept, in bytes.
const maxPath = 100

// ErrNoProcess is the error if no process listens in the folder.
var ErrNoProcess = errors.New("no process listens in the data folder")

// Service carries out the requests.
type Service interface {
	// Backup writes a backup of the data folder to w and returns what it wrote.
	Backup(ctx context.Context, w io.Writer) (Backup, error)
	// Jobs returns the counts of the queue and its dead jobs.
	Jobs(ctx context.Context) (Jobs, error)
	// RetryJob returns a dead job to the queue, to run at once with all its
	// attempts. The error is for the client.
	RetryJob(ctx context.Context, id string) error
}

// Jobs is the state of the queue.
type Jobs struct {
	Waiting  int       `json:"waiting"`
	Running  int       `json:"running"`
	Dead     int       `json:"dead"`
	DeadJobs []DeadJob `json:"dead_jobs"` // the latest first, at most [MaxDeadJobs]
}

// MaxDeadJobs is the number of dead jobs that are listed.
const MaxDeadJobs = 1000

// DeadJob is a job that failed in its last attempt.
type DeadJob struct {
	ID       string    `json:"job_id"`
	Kind     string    `json:"kind"`
	About    string    `json:"about,omitempty"` // the site or upload
	Attempts int       `json:"attempts"`
	Cause    string    `json:"cause"`
	DiedAt   time.Time `json:"died_at"`
}

// Backup is the content of a backup.
type Backup struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // of the files, before compression
}

// Listener is the open socket.
type Listener struct {
	net.Listener
	path    string         // by which the socket is removed
	user    int            // whose requests are served
	running sync.WaitGroup // requests
}

// Listen opens the socket in dir, which the caller must hold: an existing socket
// belongs to a process that was killed.
//
//nolint:contextcheck // a local socket opens at once
func Listen(dir string) (*Listener, error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove socket of a former process: %w", err)
	}
	var l net.Listener
	err := withShortPath(dir, func(short string) error {
		var err error
		l, err = new(net.ListenConfig).Listen(context.Background(), "unix", short)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	// Go would remove it by the path it listened on, which may be another.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("restrict mode of socket: %w", err), l.Close(), os.Remove(path))
	}
	return &Listener{Listener: l, path: path, user: os.Getuid()}, nil
}

// withShortPath calls do with a path of the socket that is short enough for one: that
// in dir, or one by a link to dir that is there while do runs.
func withShortPath(dir string, do func(path string) error) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, socketName)
	if len(path) <= maxPath {
		return do(path)
	}
	near, err := os.MkdirTemp("", "sunloop-") // 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(near)
	link := filepath.Join(near, "d")
	path = filepath.Join(link, socketName)
	if len(path) > maxPath || runtime.GOOS == "windows" {
		return fmt.Errorf("the path of the data folder is too long for a socket in it: %d bytes, at most %d", len(dir), maxPath-len(socketName)-1)
	}
	if err := os.Symlink(dir, link); err != nil {
		return err
	}
	return do(path)
}

// Close ends listening and removes the socket.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // the server was faster
	}
	if rm := os.Remove(l.path); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// clientTimeout is how long a client may read nothing of a response.
const clientTimeout = 10 * time.Minute

// resultTrailer carries the result after a body. A client that does not receive
// it has an incomplete body.
const resultTrailer = "Sunloop-Result"

type result struct {
	Backup
	Error string `json:"error,omitempty"`
}

// Serve serves requests until ctx ends, then aborts running requests and waits
// for them. now is the wall clock.
func (l *Listener) Serve(ctx context.Context, s Service, now func() time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler:           l.handler(s, now),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peerOfConn(c))
		},
	}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		// Requests that wait for the client end with their connection, others with their context.
		ended <- errors.Join(server.Close(), l.Close())
	}()
	err := server.Serve(l.Listener)
	cancel()
	if closing := <-ended; err == nil || errors.Is(err, http.ErrServerClosed) {
		err = closing
	}
	l.running.Wait()
	return err
}

type peerKey struct{}

// peer returns the user of the peer of a connection.
type peer struct {
	user int // ignored unless known
	// known is false where the system does not report the user; then the mode of
	// the socket is the only guard.
	known bool
	err   error
}

// errNoPeer is the error of a system that does not report the user.
var errNoPeer = errors.New("the system does not report the user of a connection")

func peerOfConn(c net.Conn) peer {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return peer{err: errors.New("not a Unix socket")}
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return peer{err: err}
	}
	p := peer{known: true}
	var failed error
	err = raw.Control(func(fd uintptr) { p.user, failed = socketUser(int(fd)) })
	if errors.Is(failed, errNoPeer) {
		return peer{}
	}
	if err := errors.Join(err, failed); err != nil {
		return peer{err: err}
	}
	return p
}

// handler serves the routes to the listener's user only.
func (l *Listener) handler(s Service, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /backup", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", resultTrailer)
		w.Header().Set("Content-Type", "application/octet-stream")
		done, err := s.Backup(r.Context(), &deadlineWriter{w, http.NewResponseController(w), now})
		answer := result{Backup: done}
		if err != nil {
			answer.Error = err.Error()
		}
		words, err := json.Marshal(answer)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set(resultTrailer, string(words))
	})
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, r *http.Request) {
		jobs, err := s.Jobs(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(jobs); err != nil {
			panic(http.ErrAbortHandler)
		}
	})
	mux.HandleFunc("POST /jobs/{id}/revive", func(w http.ResponseWriter, r *http.Request) {
		if err := s.RetryJob(r.Context(), r.PathValue("id")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.running.Add(1)
		defer l.running.Done()
		p, ok := r.Context().Value(peerKey{}).(peer)
		switch {
		case !ok || p.err != nil:
			http.Error(w, "user of the client is unknown", http.StatusForbidden)
		case p.known && p.user != l.user:
			http.Error(w, fmt.Sprintf("the service serves user %d only, not user %d; run the command as that user", l.user, p.user), http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// deadlineWriter writes to a client that must continue to read.
type deadlineWriter struct {
	io.Writer
	control *http.ResponseController
	now     func() time.Time
}

func (p *deadlineWriter) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(p.now().Add(clientTimeout)); err != nil {
		return 0, err
	}
	return p.Writer.Write(b)
}

// request sends a request to the process that holds dir. The error is
// [ErrNoProcess] if there is no such process, or the text of its response.
func request(ctx context.Context, dir, method, path string) (*http.Response, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DisableKeepAlives:  true,
		DialContext: func(ctx context.Context, _, _ string) (c net.Conn, err error) {
			err = withShortPath(dir, func(path string) error {
				c, err = new(net.Dialer).DialContext(ctx, "unix", path)
				return err
			})
			return c, err
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://operator"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrNoProcess
	}
	if err != nil {
		return nil, fmt.Errorf("request to the process that holds %s: %w", dir, err)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	words, err := io.ReadAll(io.LimitReader(answer.Body, 1000))
	err = errors.Join(err, answer.Body.Close())
	refusal := strings.TrimSpace(string(words))
	if answer.StatusCode != http.StatusConflict {
		refusal = fmt.Sprintf("the process that holds %s rejected the request: %s", dir, refusal)
	}
	return nil, errors.Join(errors.New(refusal), err)
}

// Fetch requests a backup of the process that holds dir and writes it to w. The
// error is [ErrNoProcess] if there is no such process.
func Fetch(ctx context.Context, dir string, w io.Writer) (Backup, error) {
	answer, err := request(ctx, dir, http.MethodPost, "/backup")
	if err != nil {
		return Backup{}, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w, answer.Body); err != nil {
		return Backup{}, fmt.Errorf("receive the backup: %w", err)
	}
	var r result
	if err := json.Unmarshal([]byte(answer.Trailer.Get(resultTrailer)), &r); err != nil {
		return Backup{}, errors.New("receive the backup: the sending process ended")
	}
	if r.Error != "" {
		return Backup{}, errors.New(r.Error)
	}
	return r.Backup, nil
}

// JobsOf requests the state of the queue of the process that holds dir. The error
// is [ErrNoProcess] if there is no such process.
func JobsOf(ctx context.Context, dir string) (Jobs, error) {
	answer, err := request(ctx, dir, http.MethodGet, "/jobs")
	if err != nil {
		return Jobs{}, err
	}
	defer answer.Body.Close()
	var jobs Jobs
	if err := json.NewDecoder(answer.Body).Decode(&jobs); err != nil {
		return Jobs{}, fmt.Errorf("receive the jobs: %w", err)
	}
	return jobs, nil
}

// RetryJob requests that the process that holds dir returns a dead job to the
// queue. The error is [ErrNoProcess] if there is no such process.
func RetryJob(ctx context.Context, dir, id string) error {
	answer, err := request(ctx, dir, http.MethodPost, "/jobs/"+url.PathEscape(id)+"/revive")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
