package forward

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/spool"
)

// takes is a service that takes files, each delivery once.
type takes struct {
	uploads []api.Upload
	names   []string // in the order in which they were taken
	byID    map[string]int
	before  func() error
	after   func() error
}

func (s *takes) SendFile(_ context.Context, req api.UploadRequest, file io.Reader) (*api.UploadAck, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return nil, err
		}
	}
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	i, known := s.byID[req.DeliveryID]
	if !known {
		u := api.Upload{UploadID: fmt.Sprint("upl_", len(s.uploads)), ProcessingStatus: api.UploadCompleted, Source: req.Source}
		if strings.HasPrefix(string(b), "bad") {
			u.ProcessingStatus, u.Error = api.UploadRejected, "no table"
		}
		i = len(s.uploads)
		s.byID[req.DeliveryID] = i
		s.uploads, s.names = append(s.uploads, u), append(s.names, req.Filename)
	}
	if s.after != nil {
		if err := s.after(); err != nil {
			return nil, err
		}
	}
	if !known && s.uploads[i].ProcessingStatus == api.UploadRejected {
		return nil, api.ErrInvalidCSV.With("reason", "no table").With("upload_id", s.uploads[i].UploadID)
	}
	return &api.UploadAck{UploadID: s.uploads[i].UploadID, ProcessingStatus: s.uploads[i].ProcessingStatus}, nil
}

func (s *takes) Upload(_ context.Context, id string) (*api.Upload, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return nil, err
		}
	}
	for _, u := range s.uploads {
		if u.UploadID == id {
			return &u, nil
		}
	}
	return nil, api.ErrUploadNotFound
}

// fileWorld is a folder of files to send, with a clock that the test sets.
type fileWorld struct {
	t   *testing.T
	dir string
	now time.Time
	log strings.Builder
	*takes
}

func newFileWorld(t *testing.T) *fileWorld {
	return &fileWorld{t: t, dir: t.TempDir(), now: day0, takes: &takes{byID: map[string]int{}}}
}

func (w *fileWorld) open() *FileSender {
	w.t.Helper()
	s, err := NewFileSender(FileOptions{Folder: filepath.Join(w.dir, "files"), Service: w.takes, SiteID: "roof", GatewayID: "g", Refused: filepath.Join(w.dir, "refused.jsonl"),
		Now: func() time.Time { return w.now }, Log: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *fileWorld) keep(s *FileSender, id, content string) {
	w.t.Helper()
	d, err := s.Queue().Create(spool.File{ID: id, Source: "exports", Name: id, Filename: id})
	if err != nil {
		w.t.Fatal(err)
	}
	if content == "" {
		err = d.Refuse("too large to be sent")
	} else if _, err = d.Write([]byte(content)); err == nil {
		err = d.Keep()
	}
	if err == nil {
		err = d.Close()
	}
	if err == nil {
		err = s.Queue().Confirm(id)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// steps lets a sender do n steps.
func (w *fileWorld) steps(s *FileSender, n int) {
	for range n {
		w.now = w.now.Add(10 * time.Second)
		s.step(w.t.Context())
	}
}

// TestFilesInOrder: files are sent once and in order over lost requests, lost answers and
// ends of the process; a file that is refused does not hold up those behind it, and is
// reported once.
func TestFilesInOrder(t *testing.T) {
	w := newFileWorld(t)
	s := w.open()
	names := []string{"a", "bad", "large", "b", "c"}
	for _, n := range names {
		content := map[bool]string{true: "bad", false: "content " + n}[n == "bad"]
		if n == "large" {
			content = ""
		}
		w.keep(s, n, content)
	}
	n := 0
	w.before = func() error {
		if n++; n%3 == 1 {
			return errLink
		}
		return nil
	}
	w.after = func() error {
		if n%4 == 2 {
			return errLink
		}
		return nil
	}
	for range 40 {
		w.steps(s, 1)
		s = w.open() // the process ended
	}
	if want := []string{"a", "bad", "b", "c"}; !slices.Equal(w.names, want) {
		t.Errorf("taken %q, want %q", w.names, want)
	}
	st := s.Status()
	if st.Waiting != 0 || st.Open != 0 || len(st.Refusals) != 2 || st.Refusals[0].File != "bad" || st.Refusals[0].By != ByService || st.Refusals[0].Reason != "no table" ||
		st.Refusals[1].File != "large" || st.Refusals[1].By != ByGateway || st.Refusals[1].Reason != "too large to be sent" {
		t.Errorf("%+v", st)
	}
	if got := strings.Count(w.log.String(), "file not forwarded"); got != 2 {
		t.Errorf("reported %d times: %s", got, w.log.String())
	}
}

// TestFilesNotAdmitted: files wait for a service that lets the gateway send none, as one
// of a former version, and are sent when it does.
func TestFilesNotAdmitted(t *testing.T) {
	for what, refusal := range map[string]*api.Error{"no permission": api.ErrForbidden, "unknown field": api.UnknownParameter("source", nil), "no such route": api.ErrNotFound} {
		w := newFileWorld(t)
		s := w.open()
		w.keep(s, "a", "content")
		w.keep(s, "b", "content of b")
		w.before = func() error { return refusal }
		w.steps(s, 5)
		if st := s.Status(); st.State != StateRefused || st.Waiting != 2 || st.Error == "" || len(st.Refusals) != 0 || !st.NeedsAttention() {
			t.Errorf("%s: %+v", what, st)
		}
		if got := strings.Count(w.log.String(), `msg="sending files failed"`); got != 1 {
			t.Errorf("%s: reported %d times: %s", what, got, w.log.String())
		}
		w.before = nil
		w.steps(s, 6)
		if st := s.Status(); st.State != StateSending || st.Waiting != 0 || st.Open != 0 || !slices.Equal(w.names, []string{"a", "b"}) {
			t.Errorf("%s: then %+v, %q", what, st, w.names)
		}
	}
	// A file may be refused without a record of it.
	w := newFileWorld(t)
	s := w.open()
	w.keep(s, "a", "content")
	w.keep(s, "b", "content of b")
	n := 0
	w.before = func() error {
		if n++; n == 1 {
			return &api.Error{Status: http.StatusRequestEntityTooLarge, Message: "too large for the proxy"}
		}
		return nil
	}
	w.steps(s, 4)
	if st := s.Status(); len(st.Refusals) != 1 || st.Refusals[0].Reason != "too large for the proxy" || !slices.Equal(w.names, []string{"b"}) {
		t.Errorf("%+v, %q", st, w.names)
	}
}
