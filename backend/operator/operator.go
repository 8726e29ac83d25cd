// Package operator is the way in for whoever runs the service on its own
// machine: a Unix socket in the data folder, on which the process that holds
// the folder answers its own operating-system user and nobody else. What is
// served there is on no other listener.
package operator

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

// socketName is the socket's in the data folder.
const socketName = "sunloop.sock"

// maxPath is the longest path of a socket that all systems take, in bytes.
const maxPath = 100

// ErrNobody is the answer of a folder in which no process listens.
var ErrNobody = errors.New("no process answers in the data folder")

// Service is what may be asked for.
type Service interface {
	// Backup writes a backup of the data folder to w, and says what it wrote.
	Backup(ctx context.Context, w io.Writer) (Backup, error)
	// Jobs are the queue's counts and its dead letters.
	Jobs(ctx context.Context) (Jobs, error)
	// Revive puts a dead job back to run at once with all its attempts. The
	// error is a sentence for whoever asked.
	Revive(ctx context.Context, id string) error
}

// Jobs says how the queue stands.
type Jobs struct {
	Waiting int       `json:"waiting"`
	Running int       `json:"running"`
	Dead    int       `json:"dead"`
	Letters []DeadJob `json:"dead_jobs"` // the latest first, at most [MaxLetters]
}

// MaxLetters is how many dead jobs are told of.
const MaxLetters = 1000

// DeadJob is a job that failed in its last attempt.
type DeadJob struct {
	ID       string    `json:"job_id"`
	Kind     string    `json:"kind"`
	About    string    `json:"about,omitempty"` // the site or upload
	Attempts int       `json:"attempts"`
	Cause    string    `json:"cause"`
	DiedAt   time.Time `json:"died_at"`
}

// Backup says what was backed up.
type Backup struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // of the files, before compression
}

// Listener is the open socket.
type Listener struct {
	net.Listener
	path    string         // by which the socket is removed
	user    int            // who may ask
	running sync.WaitGroup // requests
}

// Listen opens the socket in dir, which the caller must hold: a socket that is
// there already is of a process that was killed.
func Listen(dir string) (*Listener, error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of a former process: %w", err)
	}
	var l net.Listener
	err := reach(dir, func(short string) error {
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
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), l.Close(), os.Remove(path))
	}
	return &Listener{Listener: l, path: path, user: os.Getuid()}, nil
}

// reach calls do with a path of the socket that is short enough for one: that
// in dir, or one by a link to dir that is there while do runs.
func reach(dir string, do func(path string) error) error {
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

// patience is how long a client may take nothing of what is sent to it.
const patience = 10 * time.Minute

// resultTrailer says after a body how it went: a client that does not see it
// has not got all.
const resultTrailer = "Sunloop-Result"

type result struct {
	Backup
	Error string `json:"error,omitempty"`
}

// Serve answers until ctx ends, then cuts off what is under way and waits for
// its end. Now is the wall's clock.
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
			return context.WithValue(ctx, peerKey{}, askedBy(c))
		},
	}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		// What waits for the client to read ends by its connection, the rest by its context.
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

// peer is who is at the other end of a connection.
type peer struct {
	user int // ignored unless known
	// known is false where the system does not tell; the socket's mode is the guard then.
	known bool
	err   error
}

func askedBy(c net.Conn) peer {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return peer{err: errors.New("not a connection of this machine")}
	}
	return peerOf(u)
}

// handler serves the routes to the user who may ask.
func (l *Listener) handler(s Service, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /backup", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", resultTrailer)
		w.Header().Set("Content-Type", "application/octet-stream")
		done, err := s.Backup(r.Context(), &patient{w, http.NewResponseController(w), now})
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
		if err := s.Revive(r.Context(), r.PathValue("id")); err != nil {
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
			http.Error(w, "who asks is not known", http.StatusForbidden)
		case p.known && p.user != l.user:
			http.Error(w, fmt.Sprintf("the service is of user %d and answers nobody else; ask as that one, not as user %d", l.user, p.user), http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// patient is a writer to a client that must go on reading.
type patient struct {
	io.Writer
	control *http.ResponseController
	now     func() time.Time
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(p.now().Add(patience)); err != nil {
		return 0, err
	}
	return p.Writer.Write(b)
}

// ask sends a request to the process that holds dir. The error is [ErrNobody]
// when there is no such process, and what it said where it refused.
func ask(ctx context.Context, dir, method, path string) (*http.Response, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DisableKeepAlives:  true,
		DialContext: func(ctx context.Context, _, _ string) (c net.Conn, err error) {
			err = reach(dir, func(path string) error {
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
		return nil, ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("ask the process that holds %s: %w", dir, err)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	words, err := io.ReadAll(io.LimitReader(answer.Body, 1000))
	err = errors.Join(err, answer.Body.Close())
	refusal := strings.TrimSpace(string(words))
	if answer.StatusCode != http.StatusConflict {
		refusal = fmt.Sprintf("the process that holds %s refuses: %s", dir, refusal)
	}
	return nil, errors.Join(errors.New(refusal), err)
}

// Fetch asks the process that holds dir for a backup, and writes it to w. The
// error is [ErrNobody] when there is no such process.
func Fetch(ctx context.Context, dir string, w io.Writer) (Backup, error) {
	answer, err := ask(ctx, dir, http.MethodPost, "/backup")
	if err != nil {
		return Backup{}, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w, answer.Body); err != nil {
		return Backup{}, fmt.Errorf("receive the backup: %w", err)
	}
	var r result
	if err := json.Unmarshal([]byte(answer.Trailer.Get(resultTrailer)), &r); err != nil {
		return Backup{}, errors.New("receive the backup: the process that sends it has ended")
	}
	if r.Error != "" {
		return Backup{}, errors.New(r.Error)
	}
	return r.Backup, nil
}

// JobsOf asks the process that holds dir how its queue stands. The error is
// [ErrNobody] when there is no such process.
func JobsOf(ctx context.Context, dir string) (Jobs, error) {
	answer, err := ask(ctx, dir, http.MethodGet, "/jobs")
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

// Revive asks the process that holds dir to put a dead job back to run. The
// error is [ErrNobody] when there is no such process.
func Revive(ctx context.Context, dir, id string) error {
	answer, err := ask(ctx, dir, http.MethodPost, "/jobs/"+url.PathEscape(id)+"/revive")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
