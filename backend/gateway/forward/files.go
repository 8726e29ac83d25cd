package forward

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/internal/clock"
)

// FileService is the one that files are sent to.
type FileService interface {
	// SendFile uploads a file of a site. If a file with the same delivery_id was sent before,
	// the response is that of the former upload.
	SendFile(ctx context.Context, req api.UploadRequest, file io.Reader) (*api.UploadAck, error)
	// Upload returns the outcome of a file.
	Upload(ctx context.Context, uploadID string) (*api.Upload, error)
}

// FileOptions are what a FileSender works with. Those without a default are required.
type FileOptions struct {
	Folder    string // of the files to send
	MaxBytes  int64  // of these; 0: [spool.DefaultFileBytes]
	Service   FileService
	SiteID    string
	GatewayID string
	Refused   string // file with what was refused
	Now       func() time.Time
	Log       *slog.Logger

	Pause func(context.Context, time.Duration) error // default: by the clock
}

// Times and numbers of a FileSender.
const (
	slowestUpload = 16 << 10 // bytes a second that a request may take at least
	firstLook     = 2 * time.Second
	maxRefusals   = 20 // that the status names
)

// Who refused a file.
const (
	ByGateway = api.RefusedByGateway
	ByService = api.RefusedByService
)

// Refusal is a file that the service does not have.
type Refusal struct {
	ID       string    `json:"id"`
	Source   string    `json:"source"`
	File     string    `json:"file"`
	At       time.Time `json:"at"`
	By       string    `json:"by"` // ByGateway or ByService
	Reason   string    `json:"reason"`
	UploadID string    `json:"upload_id,omitempty"` // the record of the refusal, at the service
}

// FileSender sends files while Run runs, each once, in the order in which they came.
type FileSender struct {
	options FileOptions
	queue   *spool.Files

	mu       sync.Mutex
	state    string
	lastErr  error
	errorAt  time.Time
	retryAt  time.Time
	failures int
	sent     int // files that the service accepted, since the start of the process
	refused  int // of this process
	dropped  int // of this process
	alarm    bool
	refusals []Refusal // the last ones, also of former processes
	looks    map[string]look
}

// look is when the service is asked next for the outcome of a file.
type look struct {
	at    time.Time
	pause time.Duration
}

// NewFileSender opens the folder of files to send.
func NewFileSender(o FileOptions) (*FileSender, error) {
	s := &FileSender{options: o, state: StateStarting, looks: map[string]look{}}
	var err error
	if s.refusals, err = lastRefusals(o.Refused); err != nil {
		return nil, err
	}
	s.queue, err = spool.OpenFiles(o.Folder, spool.FilesOptions{MaxBytes: o.MaxBytes, Dropped: func(f spool.File) {
		s.mu.Lock()
		s.dropped++
		s.mu.Unlock()
		s.refuse(f, ByGateway, "deleted before it was sent, as the disk space for files to send was full", "")
	}})
	return s, err
}

// lastRefusals reads the last lines of the file with what was refused.
func lastRefusals(path string) (list []Refusal, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Refusal
		if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line may not be whole
			list = append(list, r)
		}
	}
	return list[max(len(list)-maxRefusals, 0):], lines.Err()
}

// Queue returns the files to send.
func (s *FileSender) Queue() *spool.Files { return s.queue }

// Run sends until ctx ends.
func (s *FileSender) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := s.step(ctx)
		s.warnFull()
		if pause <= 0 {
			continue
		}
		if s.options.Pause != nil {
			if s.options.Pause(ctx, pause) != nil {
				return
			}
			continue
		}
		wake := s.queue.Changed()
		s.mu.Lock()
		if s.failures > 0 {
			wake = nil
		}
		s.mu.Unlock()
		clock.Wait(ctx, pause, wake)
	}
}

// warnFull logs once that files will be dropped.
func (s *FileSender) warnFull() {
	st := s.queue.Status()
	full := isFull(st)
	s.mu.Lock()
	changed := full != s.alarm
	s.alarm = full
	s.mu.Unlock()
	if full && changed {
		s.options.Log.Warn("disk space for files to send is nearly full: the oldest files will be dropped", "bytes", st.Bytes, "max_bytes", st.MaxBytes, "files", st.Waiting)
	}
}

func isFull(st spool.FilesStatus) bool { return float64(st.Bytes) > alarmShare*float64(st.MaxBytes) }

// step sends one file, and asks for the outcome of those that were sent; it returns how long
// to wait before the next one.
func (s *FileSender) step(ctx context.Context) time.Duration {
	next, err := s.ask(ctx)
	if err != nil {
		return s.fail(ctx, err)
	}
	f, ok := s.queue.Next()
	if !ok {
		return next
	}
	if err := s.send(ctx, f); err != nil {
		return s.fail(ctx, err)
	}
	return 0
}

// send sends a file. An error says that it is to be sent again.
func (s *FileSender) send(ctx context.Context, f spool.File) error {
	if f.Refused != "" {
		s.refuse(f, ByGateway, f.Refused, "")
		return s.queue.Remove(f.ID)
	}
	content, err := s.queue.Content(f)
	if errors.Is(err, spool.ErrFileDamaged) {
		s.refuse(f, ByGateway, err.Error(), "")
		return s.queue.Remove(f.ID)
	}
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, timeLimit+time.Duration(len(content)/slowestUpload)*time.Second)
	defer cancel()
	ack, err := s.options.Service.SendFile(limited, api.UploadRequest{SiteID: s.options.SiteID, Kind: f.Kind, Filename: f.Filename, Bytes: f.Size, AssetID: f.AssetID, Timezone: f.Timezone,
		Source: f.Source, DeliveryID: s.options.GatewayID + "/" + f.ID}, bytes.NewReader(content))
	var e *api.Error
	if errors.As(err, &e) && isOfFile(e) {
		s.succeed()
		id, _ := e.Details["upload_id"].(string)
		s.refuse(f, ByService, reasonOf(e), id)
		return s.queue.Remove(f.ID)
	}
	if err != nil {
		return err
	}
	s.succeed()
	if err := s.queue.Sent(f.ID, ack.UploadID); err != nil {
		return err
	}
	s.options.Log.Info("file sent", "source", f.Source, "file", f.Name, "upload", ack.UploadID, "status", ack.ProcessingStatus)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.looks[f.ID] = look{at: s.options.Now().Add(firstLook), pause: firstLook}
	return nil
}

// isOfFile reports whether an error refuses this file, and not the gateway: other files
// may be taken.
func isOfFile(e *api.Error) bool {
	if _, recorded := e.Details["upload_id"].(string); recorded {
		return e.Status < http.StatusInternalServerError
	}
	switch e.Status {
	case http.StatusBadRequest:
		// A service of a former version knows no such fields, and lets no gateway send files.
		return e.Details["field"] != "source" && e.Details["field"] != "delivery_id"
	case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// reasonOf is an error in one sentence.
func reasonOf(e *api.Error) string {
	reason, _ := e.Details["reason"].(string)
	if reason == "" {
		return e.Message
	}
	if e.Message == api.ErrInvalidCSV.Message {
		return reason
	}
	return e.Message + ": " + reason
}

// ask asks for the outcome of the files that were sent and are due, and returns when the next
// ones are.
func (s *FileSender) ask(ctx context.Context) (next time.Duration, err error) {
	next = idlePause
	for _, f := range s.queue.Unanswered() {
		s.mu.Lock()
		l := s.looks[f.ID]
		s.mu.Unlock()
		now := s.options.Now()
		if wait := l.at.Sub(now); wait > 0 && wait <= maxPause { // else the clock was set
			next = min(next, wait)
			continue
		}
		limited, cancel := context.WithTimeout(ctx, timeLimit)
		u, err := s.options.Service.Upload(limited, f.UploadID)
		cancel()
		var e *api.Error
		switch {
		case errors.As(err, &e) && (e.Status == http.StatusForbidden || e.Status == http.StatusNotFound):
			// The service had the file from another sender, or keeps no record of it any more.
		case err != nil:
			return 0, err
		case !u.Ended():
			pause := min(max(2*l.pause, firstLook), maxPause)
			s.mu.Lock()
			s.looks[f.ID] = look{at: now.Add(pause), pause: pause}
			s.mu.Unlock()
			next = min(next, pause)
			continue
		case u.ProcessingStatus == api.UploadRejected || u.ProcessingStatus == api.UploadFailed:
			s.refuse(f, ByService, u.Error, f.UploadID)
		}
		s.succeed()
		if err := s.queue.Remove(f.ID); err != nil {
			return 0, err
		}
		s.mu.Lock()
		delete(s.looks, f.ID)
		s.mu.Unlock()
	}
	return next, nil
}

// refuse reports a file that the service does not have, once.
func (s *FileSender) refuse(f spool.File, by, reason, uploadID string) {
	r := Refusal{ID: f.ID, Source: f.Source, File: f.Name, At: s.options.Now().UTC(), By: by, Reason: reason, UploadID: uploadID}
	s.mu.Lock()
	known := slices.ContainsFunc(s.refusals, func(is Refusal) bool { return is.ID == f.ID })
	if !known {
		s.refused++
		s.refusals = append(s.refusals, r)
		s.refusals = s.refusals[max(len(s.refusals)-maxRefusals, 0):]
	}
	s.mu.Unlock()
	if known { // the process ended before the file was removed
		return
	}
	s.options.Log.Warn("file not forwarded", "source", f.Source, "file", f.Name, "by", by, "reason", reason, "upload", uploadID)
	if err := appendLine(s.options.Refused, r); err != nil {
		s.options.Log.Warn("writing refused files failed", "error", err.Error())
	}
}

// succeed records that the service was reached.
func (s *FileSender) succeed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != StateSending && s.state != StateStarting {
		s.options.Log.Info("service accepts files again")
	}
	s.state, s.failures, s.lastErr, s.retryAt = StateSending, 0, nil, time.Time{}
}

// fail records a failure and returns the pause before the next attempt.
func (s *FileSender) fail(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return minPause
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	state := StateWaiting
	pause, e := pauseAfter(s.failures, err)
	if e != nil {
		switch {
		case e.Status == http.StatusForbidden || e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest || e.Status == http.StatusMethodNotAllowed:
			state, pause = StateRefused, refusedPause
			err = fmt.Errorf("the service does not accept files from this gateway; they are kept (a service of an older version must be updated): %w", err)
		case e.Status == http.StatusUnauthorized:
			state, pause = StateRefused, refusedPause
		}
	}
	if s.state != state || s.failures == 1 {
		s.options.Log.Warn("sending files failed", "state", state, "error", err.Error())
	}
	s.state, s.lastErr, s.errorAt = state, err, s.options.Now()
	s.retryAt = s.errorAt.Add(pause)
	return pause
}

// FileStatus is the state of a FileSender.
type FileStatus struct {
	State    string         `json:"state"`
	Error    string         `json:"error,omitempty"`
	ErrorAt  *time.Time     `json:"error_at,omitempty"`
	RetryAt  *time.Time     `json:"retry_at,omitempty"`
	Waiting  int            `json:"files"`               // to send
	BySource map[string]int `json:"by_source,omitempty"` // files to send
	Open     int            `json:"without_outcome"`     // files that the service has and has not imported yet
	Sent     int            `json:"sent"`                // since the start of the process
	Refused  int            `json:"refused"`             // since the start of the process
	Dropped  int            `json:"dropped"`             // of these, deleted before they were sent, as the room was full
	Damaged  int            `json:"damaged"`             // entries of which nothing could be read
	Bytes    int64          `json:"bytes"`
	MaxBytes int64          `json:"max_bytes"`
	Full     bool           `json:"nearly_full"`        // more than 80 % of the room is used
	Refusals []Refusal      `json:"refusals,omitempty"` // the last ones, newest last
}

// NeedsAttention reports whether a person has something to do.
func (s FileStatus) NeedsAttention() bool {
	return s.State == StateRefused && s.Waiting > 0 || s.Full || s.Refused > 0 || s.Damaged > 0
}

// Status returns the state.
func (s *FileSender) Status() FileStatus {
	st := s.queue.Status()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := FileStatus{State: s.state, Waiting: st.Waiting, BySource: st.BySource, Open: st.Unanswered, Sent: s.sent, Refused: s.refused, Dropped: s.dropped, Damaged: st.Damaged, Bytes: st.Bytes, MaxBytes: st.MaxBytes, Full: isFull(st),
		Refusals: slices.Clone(s.refusals)}
	if s.lastErr != nil {
		at, retry := s.errorAt, s.retryAt
		out.Error, out.ErrorAt, out.RetryAt = s.lastErr.Error(), &at, &retry
	}
	return out
}
