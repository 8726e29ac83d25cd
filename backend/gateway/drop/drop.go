// Package drop takes in the files that others leave for a site: in a folder, on an SFTP
// server, or as attachments of the messages of a mailbox. Each file is uploaded once.
package drop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
)

// Kinds of sources.
const (
	KindFolder = "folder"
	KindSFTP   = "sftp"
	KindIMAP   = "imap"
)

// Intake takes files in, each once. Its methods return after the store has what they say.
type Intake interface {
	// Known returns the deliveries of files that a source has delivered, by place in the list.
	Known(ctx context.Context, source string, files []upload.Delivery) (map[int]upload.Delivery, error)
	// Unfinished are the deliveries of a source with which it has something to do.
	Unfinished(ctx context.Context, source string) ([]upload.Delivery, error)
	// Deliver uploads a file, unless the source has delivered one of its name and content.
	// again: one whose delivery is finished is uploaded again. A nil file is larger than
	// one may be. After an error nothing is stored; a refused file is no error.
	Deliver(ctx context.Context, req api.UploadRequest, d upload.Delivery, again bool, file io.Reader) (upload.Delivery, error)
	// SentAs reports whether a delivery of a source and name is stored that has this SendID.
	SentAs(ctx context.Context, source, name, id string) (bool, error)
	// Finish records that a source has nothing more to do with a file.
	Finish(ctx context.Context, d upload.Delivery) error
	// Forget forgets finished deliveries from before a time whose files the source does not have.
	Forget(ctx context.Context, source string, before time.Time, has func(name, mark string) bool) error
	// Position is how far a mailbox was read.
	Position(ctx context.Context, source string) (upload.Position, error)
	SetPosition(ctx context.Context, p upload.Position) error
}

// Config is what all kinds of sources have.
type Config struct {
	Name     string        // unique among the sources of a site; deliveries belong to it
	Patterns []string      // of the names of files, as of [path.Match] without regard to case; nil: all of the kind
	Poll     time.Duration // between two looks at the source
	Settle   time.Duration // for which size and time of a file must not change before it is read
	Move     bool          // files are moved to the folders done and failed; otherwise they stay where they are
	Request  api.UploadRequest
}

// Options are what a source works with. All fields are required.
type Options struct {
	Intake Intake
	Now    func() time.Time
	Log    *slog.Logger
}

// file is a file at its source.
type file struct {
	name    string // at the source
	mark    string // changes with the content
	size    int64
	waits   bool   // it may still be written
	message string // of which it is an attachment; empty: that does not matter

	uid  uint32 // of the message
	part []int  // of the message
	code string // transfer encoding
}

// place is where the files of a source are.
type place interface {
	// list returns the files, in the order in which they are to be delivered. Files that
	// cannot be used are a [nameError], with the others. more: there are further ones.
	list(ctx context.Context) (files []file, more bool, err error)
	// open reads a file. Instead of io.EOF it returns errChanged for one that is not as listed.
	open(ctx context.Context, f file) (io.ReadCloser, error)
	// move puts a file aside.
	move(ctx context.Context, f file, hash string, failed bool) error
	// delivered is called when all listed files are delivered.
	delivered(ctx context.Context) error
	// end closes what list opened.
	end()
	// where is the place for people, without secrets.
	where() string
}

// errChanged says that a file has another content than it was listed with: it is read
// later.
var errChanged = errors.New("the file changed while it was read")

// errGone says that a file is not there any more.
var errGone = errors.New("the file is not there any more")

// nameError names files that cannot be used, while the others are.
type nameError struct {
	count int
	first string
	why   string
}

func (e *nameError) Error() string {
	if e.count == 1 {
		return fmt.Sprintf("a file is not read: %q: %s", e.first, e.why)
	}
	return fmt.Sprintf("%s not read, the first is %q: %s", display.CountOf(e.count, "file is", "files are"), e.first, e.why)
}

// add counts a file that cannot be used. e may be nil.
func (e *nameError) add(name, why string) *nameError {
	if e == nil {
		e = &nameError{first: name, why: why}
	}
	e.count++
	return e
}

// err returns e as an error, nil if nothing was counted.
func (e *nameError) err() error {
	if e == nil {
		return nil
	}
	return e
}

// Status is the state of a source.
type Status struct {
	Name     string     `json:"name"`
	Kind     string     `json:"kind"`
	Place    string     `json:"place"`
	State    string     `json:"state"`     // [api.SourceReading], [api.SourceWaiting] or [api.SourceUnreachable]
	LastRead *time.Time `json:"last_read"` // without an error
	Error    string     `json:"error,omitempty"`
	ErrorAt  *time.Time `json:"error_at,omitempty"` // of the first of equal ones in a row
	RetryAt  *time.Time `json:"retry_at,omitempty"`
	Taken    int        `json:"taken"`   // files, since the start of the process
	Refused  int        `json:"refused"` // of them
	Waiting  int        `json:"waiting"` // files that may still be written, or whose import has not ended
	Skipped  int        `json:"skipped"` // messages of other senders
	LastFile string     `json:"last_file,omitempty"`
	LastID   string     `json:"last_upload_id,omitempty"`
	Refusals []Refusal  `json:"refusals,omitempty"` // the last ones, newest last
}

// Refusal is a file that was refused.
type Refusal struct {
	File     string    `json:"file"`
	UploadID string    `json:"upload_id"`
	At       time.Time `json:"at"`
	Reason   string    `json:"reason"`
}

// maxRefusals is how many refused files the status names.
const maxRefusals = 20

// Source takes files in from a place while Run runs.
type Source struct {
	Config
	kind    string
	place   place
	options Options

	failures  int
	forgotten time.Time // when old deliveries were forgotten

	mu     sync.Mutex
	status Status
}

func newSource(kind string, c Config, p place, o Options) *Source {
	return &Source{Config: c, kind: kind, place: p, options: o, status: Status{Name: c.Name, Kind: kind, Place: p.where(), State: api.SourceWaiting}}
}

// Status returns the state of the source.
func (s *Source) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.status
	out.Refusals = slices.Clone(out.Refusals)
	return out
}

// refused reports a file that was refused, once.
func (s *Source) refused(name string, d upload.Delivery) {
	s.mu.Lock()
	known := slices.ContainsFunc(s.status.Refusals, func(r Refusal) bool { return r.UploadID == d.UploadID && r.File == name })
	if !known {
		s.status.Refused++
		s.status.Refusals = append(s.status.Refusals, Refusal{File: name, UploadID: d.UploadID, At: s.options.Now(), Reason: d.Error})
		s.status.Refusals = s.status.Refusals[max(len(s.status.Refusals)-maxRefusals, 0):]
	}
	s.mu.Unlock()
	if !known {
		s.options.Log.Warn("file refused", "source", s.Name, "file", name, "upload", d.UploadID, "reason", d.Error)
	}
}

// Pauses after errors.
const (
	firstPause = 10 * time.Second
	mostPause  = 10 * time.Minute
)

// Run looks at the source until ctx ends.
func (s *Source) Run(ctx context.Context) {
	for ctx.Err() == nil {
		again, err := s.Scan(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := s.Poll
		switch {
		case again:
			pause = 0
		case err == nil && s.Status().Waiting > 0:
			pause = min(s.Poll, s.Settle+time.Second)
		case s.failures > 0:
			pause = min(firstPause<<min(s.failures-1, 10), mostPause)
			pause += time.Duration(rand.Int64N(int64(pause / 5)))
			s.retryAt(s.options.Now().Add(pause))
		}
		if clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

func (s *Source) retryAt(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.RetryAt = &at
}

// Scan looks at the source once, and delivers what is new. again: there is more. An error
// is also in the status; files that it does not concern are delivered.
func (s *Source) Scan(ctx context.Context) (again bool, err error) {
	again, err = s.scan(ctx)
	s.place.end()
	if ctx.Err() == nil {
		s.note(err)
	}
	return again && err == nil, err
}

// note records the result of a scan.
func (s *Source) note(err error) {
	now := s.options.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	former := s.status.Error
	if err == nil {
		s.failures = 0
		s.status.State, s.status.LastRead, s.status.Error, s.status.ErrorAt, s.status.RetryAt = api.SourceReading, &now, "", nil, nil
		if former != "" {
			s.options.Log.Info("file source recovered", "source", s.Name)
		}
		return
	}
	text := oneLine(err.Error())
	var names *nameError
	if s.status.State = api.SourceUnreachable; errors.As(err, &names) {
		s.failures, s.status.State, s.status.LastRead, s.status.RetryAt = 0, api.SourceSuspect, &now, nil
	} else {
		s.failures++
	}
	if text != former {
		s.status.Error, s.status.ErrorAt = text, &now
		s.options.Log.Warn("file source failed", "source", s.Name, "kind", s.kind, "error", text)
	}
}

// maxError is the length of an error in the status, in bytes.
const maxError = 400

// oneLine makes a text of another machine fit for a line.
func oneLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	for len(text) > maxError {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}

func (s *Source) scan(ctx context.Context) (again bool, err error) {
	files, more, err := s.place.list(ctx)
	var names *nameError
	if err != nil && !errors.As(err, &names) {
		return false, err
	}
	asked := make([]upload.Delivery, len(files))
	for i, f := range files {
		asked[i] = upload.Delivery{Source: s.Name, Name: f.name, Mark: f.mark, Message: f.message}
	}
	known, err := s.options.Intake.Known(ctx, s.Name, asked)
	if err != nil {
		return false, err
	}
	waiting, listed := 0, make(map[[2]string]bool, len(files))
	var problem error // of a file; the others are delivered
	unusable := names
	for i, f := range files {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		d, ok := known[i]
		listed[[2]string{f.name, f.mark}] = true
		if !ok || d.Finished && s.Move {
			if f.waits {
				waiting++
				continue
			}
			switch d, err = s.deliver(ctx, f, asked[i]); {
			case errors.Is(err, errChanged):
				waiting++
				continue
			case errors.Is(err, errGone):
				continue
			case errors.Is(err, fs.ErrPermission): // of this file: the others do not wait for a next attempt
				unusable = unusable.add(f.name, "its permissions do not allow the gateway to read it")
				continue
			case err != nil:
				problem = cmp.Or(problem, fmt.Errorf("%s: %w", f.name, err))
				continue
			}
		}
		switch done, err := s.settle(ctx, f, d); {
		case err != nil:
			problem = cmp.Or(problem, fmt.Errorf("%s: %w", f.name, err))
		case !done:
			waiting++
		}
	}
	s.mu.Lock()
	s.status.Waiting = waiting
	s.mu.Unlock()
	if problem != nil {
		return false, problem
	}
	if err := s.place.delivered(ctx); err != nil {
		return false, err
	}
	if err := s.tidy(ctx, listed, more); err != nil {
		return false, err
	}
	return more, unusable.err()
}

// deliver uploads a file.
func (s *Source) deliver(ctx context.Context, f file, d upload.Delivery) (upload.Delivery, error) {
	req := s.Request
	req.Filename, req.Bytes = baseName(f.name), f.size
	d.Finished = !s.Move // a file that stays is done with once it is delivered
	var body io.Reader
	if f.size <= api.MaxUploadBytes {
		r, err := s.place.open(ctx, f)
		if err != nil {
			return d, err
		}
		defer r.Close()
		body = r
	}
	at := s.options.Now()
	out, err := s.options.Intake.Deliver(ctx, req, d, s.Move, body)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	s.status.Taken++
	s.status.LastFile, s.status.LastID = f.name, out.UploadID
	s.mu.Unlock()
	if out.Failed() {
		s.refused(f.name, out)
	}
	s.options.Log.Info("file uploaded", "source", s.Name, "file", f.name, "upload", out.UploadID, "status", out.Status, "bytes", f.size, "took", s.options.Now().Sub(at).String())
	return out, nil
}

// settle puts a file aside whose import has ended, and finishes its delivery. done is
// false if its import has not ended.
func (s *Source) settle(ctx context.Context, f file, d upload.Delivery) (done bool, err error) {
	switch {
	case d.Finished && !s.Move:
		return true, nil
	case s.Move && !d.Ended():
		return false, nil
	case s.Move:
		if d.Failed() {
			s.refused(f.name, d)
		}
		switch err := s.place.move(ctx, f, d.Hash, d.Failed()); {
		case errors.Is(err, errGone), errors.Is(err, errChanged): // the next scan sees what is there
		case err != nil:
			return false, err
		}
	}
	return true, s.options.Intake.Finish(ctx, d)
}

// Deliveries are kept as long as their file is at the source, and at least this long.
const (
	keepDeliveries = 90 * 24 * time.Hour
	keepMessages   = 400 * 24 * time.Hour
	forgetEvery    = 24 * time.Hour
)

// tidy finishes deliveries whose files are not there any more, and forgets old ones.
func (s *Source) tidy(ctx context.Context, listed map[[2]string]bool, more bool) error {
	if s.Move && !more {
		open, err := s.options.Intake.Unfinished(ctx, s.Name)
		if err != nil {
			return err
		}
		for _, d := range open {
			if listed[[2]string{d.Name, d.Mark}] {
				continue
			}
			if err := s.options.Intake.Finish(ctx, d); err != nil {
				return err
			}
		}
	}
	now := s.options.Now()
	if more || now.Sub(s.forgotten) < forgetEvery && !now.Before(s.forgotten) {
		return nil
	}
	keep := keepDeliveries
	if s.kind == KindIMAP { // which lists new messages alone
		keep = keepMessages
	}
	if err := s.options.Intake.Forget(ctx, s.Name, now.Add(-keep), func(name, mark string) bool { return listed[[2]string{name, mark}] }); err != nil {
		return err
	}
	s.forgotten = now
	return nil
}

// baseName is the last element of a name, cut to the length that a file name of an
// upload may have.
func baseName(name string) string {
	base := path.Base(name)
	for len(base) > 200 {
		_, n := utf8.DecodeRuneInString(base)
		base = base[n:]
	}
	return base
}

// maxName is the length of the name of a file at its source, in bytes.
const maxName = 500

// checkName says why a name cannot be used; empty if it can.
func checkName(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "the name is not valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the name has control characters"
	case len(name) > maxName:
		return fmt.Sprintf("the name has more than %d bytes", maxName)
	}
	return ""
}

// CheckPattern returns an error for a pattern that is not valid.
func CheckPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return fmt.Errorf("pattern %q: must be a name with *, ? or [a-z], such as *.csv", pattern)
	}
	return nil
}

// matches reports whether one of the patterns matches a name, without regard to case.
func matches(patterns []string, base string) bool {
	if len(patterns) == 0 {
		return true
	}
	base = strings.ToLower(base)
	for _, p := range patterns {
		if ok, _ := path.Match(strings.ToLower(p), base); ok {
			return true
		}
	}
	return false
}

// atEnd calls check at the end of a file, and returns its error in place of io.EOF.
type atEnd struct {
	io.ReadCloser
	check func() error
}

func (r *atEnd) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		if bad := r.check(); bad != nil {
			return n, bad
		}
	}
	return n, err
}
