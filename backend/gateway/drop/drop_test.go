package drop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
)

// intake is an Intake in memory. A file that begins with "bad" is refused.
type intake struct {
	mu         sync.Mutex
	deliveries map[string]upload.Delivery // by name and hash
	position   upload.Position
	uploads    []string // names and contents, in order
	err        error    // of the next calls of Deliver
}

func newIntake() *intake { return &intake{deliveries: map[string]upload.Delivery{}} }

func (i *intake) Known(_ context.Context, _ string, files []upload.Delivery) (map[int]upload.Delivery, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := map[int]upload.Delivery{}
	for n, f := range files {
		for _, d := range i.deliveries {
			if d.Name == f.Name && d.Mark == f.Mark || f.Message != "" && d.Message == f.Message {
				out[n] = d
			}
		}
	}
	return out, nil
}

func (i *intake) Unfinished(context.Context, string) (out []upload.Delivery, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, d := range i.deliveries {
		if !d.Finished {
			out = append(out, d)
		}
	}
	return out, nil
}

func (i *intake) Deliver(_ context.Context, req api.UploadRequest, d upload.Delivery, again bool, r io.Reader) (upload.Delivery, error) {
	content := []byte("too large")
	if r != nil {
		var err error
		if content, err = io.ReadAll(r); err != nil {
			return d, err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return d, i.err
	}
	sum := sha256.Sum256(content)
	d.Hash = hex.EncodeToString(sum[:])
	key := d.Name + "\x00" + d.Hash
	if was, ok := i.deliveries[key]; ok && !(again && was.Finished) {
		was.Mark = d.Mark
		i.deliveries[key] = was
		return was, nil
	}
	i.uploads = append(i.uploads, req.Filename+": "+string(content))
	d.Error = "no table"
	d.UploadID, d.Status = fmt.Sprint("upl-", len(i.uploads)), api.UploadCompleted
	if r == nil || strings.HasPrefix(string(content), "bad") {
		d.Status = api.UploadRejected
	}
	i.deliveries[key] = d
	return d, nil
}

func (i *intake) SentAs(_ context.Context, _, name, id string) (bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, d := range i.deliveries {
		if d.Name == name && d.SendID == id {
			return true, nil
		}
	}
	return false, nil
}

func (i *intake) Finish(_ context.Context, d upload.Delivery) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	d.Finished = true
	i.deliveries[d.Name+"\x00"+d.Hash] = d
	return nil
}

func (i *intake) Forget(context.Context, string, time.Time, func(name, mark string) bool) error {
	return nil
}

func (i *intake) Position(context.Context, string) (upload.Position, error) { return i.position, nil }

func (i *intake) SetPosition(_ context.Context, p upload.Position) error {
	i.position = p
	return nil
}

// world is a source's surroundings, with a clock that the test sets.
type world struct {
	*intake
	t   *testing.T
	now time.Time
	log strings.Builder
}

func newWorld(t *testing.T) *world {
	return &world{intake: newIntake(), t: t, now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
}

func (w *world) options() Options {
	return Options{Intake: w.intake, Now: func() time.Time { return w.now }, Log: slog.New(slog.NewTextHandler(&w.log, nil))}
}

// scan looks once, after the files have settled.
func (w *world) scan(s *Source) error {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	_, err := s.Scan(w.t.Context())
	return err
}

// settled looks so often that files that rest are read.
func (w *world) settled(s *Source) {
	w.t.Helper()
	for range 2 {
		if err := w.scan(s); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) expect(want ...string) {
	w.t.Helper()
	got := slices.Clone(w.uploads)
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		w.t.Errorf("uploads %q, want %q", got, want)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func testConfig(move bool) Config {
	return Config{Name: "exports", Settle: 10 * time.Second, Poll: time.Second, Move: move}
}

// TestFolder: files that rest are read and moved by their outcome, those that are being
// written, hidden ones and links are not.
func TestFolder(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	s := NewFolder(Folder{Config: testConfig(true), Path: dir, Subfolders: true}, w.options())
	outside := filepath.Join(t.TempDir(), "secret.csv")
	put(t, outside, "outside")
	for name, content := range map[string]string{"a.csv": "1", "bad.csv": "bad", "sub/b.csv": "2", ".hidden.csv": "x", "c.csv.part": "half", "empty.csv": ""} {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), content)
	}
	for name, to := range map[string]string{"link.csv": outside, "linked": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.scan(s); err != nil || len(w.uploads) != 0 || s.Status().Waiting != 4 {
		t.Fatalf("%v, %q, %+v", err, w.uploads, s.Status())
	}
	put(t, filepath.Join(dir, "a.csv"), "1 and more") // still being written
	if err := w.scan(s); err != nil {
		t.Fatal(err)
	}
	w.expect("bad.csv: bad", "b.csv: 2")
	w.settled(s)
	w.expect("a.csv: 1 and more", "bad.csv: bad", "b.csv: 2")
	want := []string{".hidden.csv", "c.csv.part", "done/a.csv", "done/sub/b.csv", "empty.csv", "failed/bad.csv", "link.csv", "linked"}
	if got := listed(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A file that was moved is not taken again; one that a person puts back is.
	w.settled(s)
	if err := os.Rename(filepath.Join(dir, "failed", "bad.csv"), filepath.Join(dir, "bad.csv")); err != nil {
		t.Fatal(err)
	}
	w.settled(s)
	w.expect("a.csv: 1 and more", "bad.csv: bad", "bad.csv: bad", "b.csv: 2")
	if st := s.Status(); st.Taken != 4 || st.Refused != 2 || st.State != api.SourceReading || st.LastFile != "bad.csv" {
		t.Errorf("%+v", st)
	}
}

// TestRenamedIntoPlace: a file that was named as one being written, and is renamed, is
// complete without a further look.
func TestRenamedIntoPlace(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	s := NewFolder(Folder{Config: testConfig(false), Path: dir}, w.options())
	put(t, filepath.Join(dir, "a.csv.tmp"), "1")
	if err := w.scan(s); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "a.csv.tmp"), filepath.Join(dir, "a.csv")); err != nil {
		t.Fatal(err)
	}
	if err := w.scan(s); err != nil {
		t.Fatal(err)
	}
	w.expect("a.csv: 1")
}

// TestKept: files that stay are read once, again if their content changes, and not if only
// their time does.
func TestKept(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	path := filepath.Join(dir, "a.csv")
	put(t, path, "1")
	put(t, filepath.Join(dir, "a.pdf"), "no data")
	f := Folder{Config: testConfig(false), Path: dir}
	f.Patterns = []string{"*.CSV"}
	w.settled(NewFolder(f, w.options()))
	s := NewFolder(f, w.options()) // the process starts again
	w.settled(s)
	w.expect("a.csv: 1")
	at := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	w.settled(s)
	w.expect("a.csv: 1")
	put(t, path, "1 2")
	w.settled(s)
	w.expect("a.csv: 1", "a.csv: 1 2")
	if got := listed(t, dir); !slices.Equal(got, []string{"a.csv", "a.pdf"}) {
		t.Errorf("%q", got)
	}
}

// TestChangedWhileRead: a file that is written again before it is stored waits.
func TestChangedWhileRead(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	path := filepath.Join(dir, "a.csv")
	put(t, path, "1")
	p := &folder{Folder: Folder{Config: testConfig(true), Path: dir}, options: w.options(), settler: settler{after: time.Second}}
	defer p.end()
	for range 2 {
		w.now = w.now.Add(time.Minute)
		p.end()
		if _, _, err := p.list(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	f := file{name: "a.csv", mark: markOf(info.Size(), info.ModTime()), size: info.Size()}
	r, err := p.open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	put(t, path, "1 2")
	if b, err := io.ReadAll(r); !errors.Is(err, errChanged) {
		t.Errorf("%q, %v", b, err)
	}
	if err := p.move(t.Context(), f, "", false); !errors.Is(err, errChanged) {
		t.Errorf("moved although it changed: %v", err)
	}
	// A link in place of the file is not followed, nor a pipe waited for.
	if err := errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.open(t.Context(), f); !errors.Is(err, errChanged) {
		t.Errorf("a link is opened: %v", err)
	}
}

// TestErrorsOnce: an error is logged once and is the state of the source until it is over;
// one file does not hold up the others.
func TestErrorsOnce(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "later")
	s := NewFolder(Folder{Config: testConfig(true), Path: dir}, w.options())
	for range 3 {
		if w.scan(s) == nil {
			t.Fatal("a folder that does not exist is read")
		}
	}
	if st := s.Status(); st.State != api.SourceUnreachable || st.Error == "" || !st.ErrorAt.Equal(w.now.Add(-2*time.Minute)) || strings.Count(w.log.String(), "level=WARN") != 1 {
		t.Errorf("%+v\n%s", st, w.log.String())
	}
	put(t, filepath.Join(dir, "a\nb.csv"), "1")
	put(t, filepath.Join(dir, "c.csv"), "2")
	w.now = w.now.Add(time.Minute)
	_, _ = s.Scan(t.Context())
	if err := w.scan(s); err == nil || !strings.Contains(err.Error(), `"a\nb.csv"`) {
		t.Errorf("%v", err)
	}
	w.expect("c.csv: 2")
	if st := s.Status(); st.State != api.SourceSuspect || strings.ContainsRune(st.Error, '\n') {
		t.Errorf("%+v", st)
	}
	if err := os.Remove(filepath.Join(dir, "a\nb.csv")); err != nil {
		t.Fatal(err)
	}
	if err := w.scan(s); err != nil || s.Status().Error != "" || strings.Count(w.log.String(), "file source recovered") != 1 {
		t.Errorf("%v, %+v", err, s.Status())
	}
	// A store that is not available keeps the file where it is.
	put(t, filepath.Join(dir, "d.csv"), "3")
	w.err = errors.New("the disk is full")
	_ = w.scan(s)
	if err := w.scan(s); err == nil || len(w.uploads) != 1 {
		t.Errorf("%v, %q", err, w.uploads)
	}
	w.err = nil
	w.settled(s)
	w.expect("c.csv: 2", "d.csv: 3")
}

// TestTooLargeFile: a file above the limit is refused without being read.
func TestTooLargeFile(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	put(t, filepath.Join(dir, "a.csv"), "1")
	if err := os.Truncate(filepath.Join(dir, "a.csv"), api.MaxUploadBytes+1); err != nil {
		t.Fatal(err)
	}
	w.settled(NewFolder(Folder{Config: testConfig(true), Path: dir}, w.options()))
	w.expect("a.csv: too large")
	if got := listed(t, dir); !slices.Equal(got, []string{"failed/a.csv"}) {
		t.Errorf("%q", got)
	}
}

// TestHostileServer: a server that sends without end is left.
func TestHostileServer(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		for {
			if _, err := there.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	}()
	defer there.Close()
	m := &meter{Conn: here}
	m.left.Store(5000)
	if n, err := io.Copy(io.Discard, m); !errors.Is(err, errTooMuch) || n > 5000+1<<16 {
		t.Errorf("%d bytes were read: %v", n, err)
	}
}

// FuzzFileNames: names that a server states for attachments are names of files.
func FuzzFileNames(f *testing.F) {
	f.Add("filename", "../../etc/passwd", "name*", "utf-8''M%C3%A4rz.csv")
	f.Add("filename*0", "a", "filename*1", "b.csv")
	f.Add("filename", "=?utf-8?q?a=2Fb.csv?=", "name", `C:\x\y.csv`)
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2 string) {
		params := map[string]string{key1: value1, key2: value2}
		for _, part := range []*imap.BodyStructureSinglePart{{Params: params}, {Extended: &imap.BodyStructureSinglePartExt{Disposition: &imap.BodyStructureDisposition{Params: params}}}} {
			name := fileName(part)
			if strings.ContainsAny(name, "/\\") || name == "." || name == ".." || checkName(name) != "" {
				t.Errorf("%q", name)
			}
		}
	})
}

// TestFileNames: names in the forms of mail.
func TestFileNames(t *testing.T) {
	for want, params := range map[string]map[string]string{
		"a.csv":        {"name": "a.csv"},
		"passwd":       {"name": "../../etc/passwd"},
		"y.csv":        {"name": `C:\x\y.csv`},
		"März.csv":     {"name": "=?iso-8859-1?q?M=E4rz.csv?="},
		"Mai März.csv": {"name*": "utf-8''Mai%20M%C3%A4rz.csv"},
		"ab.csv":       {"name*0": "a", "name*1": "b.csv"},
		"":             {"name": ".."},
	} {
		if got := fileName(&imap.BodyStructureSinglePart{Params: params}); got != want {
			t.Errorf("%q: %q, want %q", params, got, want)
		}
	}
}
