package spool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// File is a file that is sent to another service. Its entry on disk is named by its
// number, of ten digits, and its state:
//
//	0000000001.pending  it is to be sent if its delivery is stored; see [Files.Confirm]
//	0000000001.file     it is to be sent
//	0000000001.sent     it was sent, and its outcome is not known yet
//
// An entry has 8 KiB with the File as JSON, filled up with spaces, and then the bytes.
type File struct {
	ID       string    `json:"id"`       // names the file at the service
	Source   string    `json:"source"`   // that had it
	Name     string    `json:"name"`     // at its source
	Filename string    `json:"filename"` // of the upload
	Kind     string    `json:"kind"`     // of the upload
	AssetID  string    `json:"asset_id,omitempty"`
	Timezone string    `json:"timezone,omitempty"`
	At       time.Time `json:"at"`
	Size     int64     `json:"size"`
	SHA256   string    `json:"sha256"`
	Refused  string    `json:"refused,omitempty"`   // why it cannot be sent: the entry has no bytes
	UploadID string    `json:"upload_id,omitempty"` // that it became at the service

	number int
	state  string
}

// States of an entry.
const (
	filePending = ".pending"
	fileWaiting = ".file"
	fileSent    = ".sent"
	fileDraft   = ".tmp"
)

const (
	fileHead = 8 << 10
	// DefaultFileBytes is the default room of a Files, in bytes.
	DefaultFileBytes = 256 << 20
	// MaxSent is how many files that were sent may wait for the outcome. The
	// oldest is given up.
	MaxSent = 1000
)

// ErrFileDamaged is the error of a file whose bytes are not those that were kept.
var ErrFileDamaged = errors.New("its bytes on the disk are damaged")

// FilesOptions are the options of a Files.
type FilesOptions struct {
	MaxBytes int64      // of all entries; 0: DefaultFileBytes
	Dropped  func(File) // is called with a file that was deleted before it was sent, as there was no room
}

// Files is a folder of files. Its methods are safe for concurrent use.
type Files struct {
	dir     string
	options FilesOptions
	changed chan struct{}

	mu      sync.Mutex
	entries []File // by number
	bytes   int64
	next    int
	damaged int // entries that could not be read
}

// OpenFiles opens a folder, which it makes.
func OpenFiles(dir string, o FilesOptions) (*Files, error) {
	q := &Files{dir: dir, options: o, changed: make(chan struct{}, 1), next: 1}
	q.options.MaxBytes = cmp.Or(o.MaxBytes, DefaultFileBytes)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open files to send: %w", err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open files to send: %w", err)
	}
	byNumber := map[int]File{}
	for _, e := range list {
		path, state := filepath.Join(dir, e.Name()), filepath.Ext(e.Name())
		number, err := strconv.Atoi(strings.TrimSuffix(e.Name(), state))
		switch {
		case state == fileDraft:
			if err := os.Remove(path); err != nil {
				return nil, fmt.Errorf("open files to send: %w", err)
			}
			continue
		case err != nil || number < 1 || state != filePending && state != fileWaiting && state != fileSent:
			continue
		}
		q.next = max(q.next, number+1)
		f, err := readFileHead(path)
		if err != nil { // nothing says whose it was
			q.damaged++
			if err := os.Rename(path, path+".damaged"); err != nil {
				return nil, fmt.Errorf("open files to send: %w", err)
			}
			continue
		}
		f.number, f.state = number, state
		if was, ok := byNumber[number]; ok { // the process ended before the entry was deleted that was sent
			if was.state == fileSent {
				f, was = was, f
			}
			if err := os.Remove(q.path(was)); err != nil {
				return nil, fmt.Errorf("open files to send: %w", err)
			}
		}
		byNumber[number] = f
	}
	for _, f := range byNumber {
		q.entries = append(q.entries, f)
		q.bytes += f.onDisk()
	}
	slices.SortFunc(q.entries, func(a, b File) int { return cmp.Compare(a.number, b.number) })
	return q, nil
}

func readFileHead(path string) (f File, err error) {
	r, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer r.Close()
	head := make([]byte, fileHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return f, err
	}
	if err = json.Unmarshal(head, &f); err == nil && f.ID == "" {
		err = ErrFileDamaged
	}
	return f, err
}

func (q *Files) path(f File) string {
	return filepath.Join(q.dir, fmt.Sprintf("%010d%s", f.number, f.state))
}

func (f *File) onDisk() int64 {
	if f.state == fileSent || f.Refused != "" {
		return fileHead
	}
	return fileHead + f.Size
}

// head are the first bytes of an entry.
func (f *File) head() ([]byte, error) {
	b, err := json.Marshal(f)
	if err == nil && len(b) > fileHead {
		err = fmt.Errorf("%s: its description has %d bytes, at most %d", f.Name, len(b), fileHead)
	}
	if err != nil {
		return nil, err
	}
	return append(b, bytes.Repeat([]byte{' '}, fileHead-len(b))...), nil
}

// Changed receives when there is something to send.
func (q *Files) Changed() <-chan struct{} { return q.changed }

// Draft is a file that is being written; it is no entry until it is kept.
type Draft struct {
	q      *Files
	is     File
	file   *os.File
	digest hash.Hash
	kept   bool
	closed bool
}

// Create begins a file. Close must be called.
func (q *Files) Create(f File) (*Draft, error) {
	w, err := os.CreateTemp(q.dir, "*"+fileDraft) // mode 0600
	if err != nil {
		return nil, fmt.Errorf("keep a file: %w", err)
	}
	d := &Draft{q: q, is: f, file: w, digest: sha256.New()}
	d.is.Size = 0
	if _, err := w.Seek(fileHead, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("keep a file: %w", err), d.Close())
	}
	return d, nil
}

// Write adds bytes of the file.
func (d *Draft) Write(b []byte) (int, error) {
	n, err := d.file.Write(b)
	d.is.Size += int64(n)
	d.digest.Write(b[:n])
	return n, err
}

// Size is the number of bytes that were written.
func (d *Draft) Size() int64 { return d.is.Size }

// Keep makes the file a pending entry, on stable storage.
func (d *Draft) Keep() error {
	d.is.SHA256 = hex.EncodeToString(d.digest.Sum(nil))
	return d.keep()
}

// Refuse makes the file an entry without its bytes, as it cannot be sent.
func (d *Draft) Refuse(why string) error {
	d.is.Refused = why
	if err := d.file.Truncate(fileHead); err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	return d.keep()
}

func (d *Draft) keep() error {
	head, err := d.is.head()
	if err == nil {
		_, err = d.file.WriteAt(head, 0)
	}
	if err == nil {
		err = d.file.Sync()
	}
	if err == nil { // some systems rename no open file
		d.closed = true
		err = d.file.Close()
	}
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	dropped, err := d.q.add(d)
	for _, f := range dropped {
		if d.q.options.Dropped != nil {
			d.q.options.Dropped(f)
		}
	}
	return err
}

// add adds a draft; the oldest files to send make room for it.
func (q *Files) add(d *Draft) (dropped []File, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d.is.state = filePending
	for q.bytes+d.is.onDisk() > q.options.MaxBytes {
		i := q.oldest(fileWaiting)
		if i < 0 {
			return dropped, fmt.Errorf("keep a file: %w", ErrFull)
		}
		f := q.entries[i]
		if err := q.remove(i); err != nil {
			return dropped, err
		}
		dropped = append(dropped, f)
	}
	d.is.number = q.next
	if err := os.Rename(d.file.Name(), q.path(d.is)); err != nil {
		return dropped, fmt.Errorf("keep a file: %w", err)
	}
	d.kept = true
	if err := syncFolder(q.dir); err != nil {
		return dropped, fmt.Errorf("keep a file: %w", err)
	}
	q.next++
	q.entries, q.bytes = append(q.entries, d.is), q.bytes+d.is.onDisk()
	return dropped, nil
}

// Close ends a draft; what was not kept is deleted.
func (d *Draft) Close() error {
	var err error
	if !d.closed {
		err = d.file.Close()
	}
	if !d.kept {
		err = errors.Join(err, os.Remove(d.file.Name()))
	}
	return err
}

// remove deletes an entry; q.mu is held.
func (q *Files) remove(i int) error {
	f := q.entries[i]
	if err := os.Remove(q.path(f)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("delete a file that was to be sent: %w", err)
	}
	q.bytes -= f.onDisk()
	q.entries = slices.Delete(q.entries, i, i+1)
	return nil
}

// list are the entries of a state, oldest first.
func (q *Files) list(state string) (out []File) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.entries {
		if f.state == state {
			out = append(out, f)
		}
	}
	return out
}

// Pending are the files of which it is not known whether they are to be sent.
func (q *Files) Pending() []File { return q.list(filePending) }

// Unanswered are the files that the service has, and whose outcome is not known.
func (q *Files) Unanswered() []File { return q.list(fileSent) }

// Next returns the oldest file to send; ok is false if there is none.
func (q *Files) Next() (f File, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := q.oldest(fileWaiting); i >= 0 {
		return q.entries[i], true
	}
	return f, false
}

// oldest returns the index of the oldest entry of a state, -1 if there is none; q.mu is held.
func (q *Files) oldest(state string) int {
	return slices.IndexFunc(q.entries, func(f File) bool { return f.state == state })
}

// Confirm says that a pending file is to be sent.
func (q *Files) Confirm(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.index(id)
	if i < 0 || q.entries[i].state != filePending {
		return nil
	}
	to := q.entries[i]
	to.state = fileWaiting
	if err := os.Rename(q.path(q.entries[i]), q.path(to)); err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	q.entries[i] = to
	select {
	case q.changed <- struct{}{}:
	default:
	}
	return syncFolder(q.dir)
}

// Remove deletes a file: it is not to be sent, or no more is to be known of it.
func (q *Files) Remove(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := q.index(id); i >= 0 {
		return q.remove(i)
	}
	return nil
}

func (q *Files) index(id string) int {
	return slices.IndexFunc(q.entries, func(f File) bool { return f.ID == id })
}

// Content returns the bytes of a file to send; [ErrFileDamaged] if they changed.
func (q *Files) Content(f File) ([]byte, error) {
	b, err := os.ReadFile(q.path(f))
	if err != nil {
		return nil, fmt.Errorf("read a file to send: %w", err)
	}
	if int64(len(b)) != fileHead+f.Size {
		return nil, ErrFileDamaged
	}
	if sum := sha256.Sum256(b[fileHead:]); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, ErrFileDamaged
	}
	return b[fileHead:], nil
}

// Sent records which upload a file became, and deletes its bytes.
func (q *Files) Sent(id, uploadID string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.index(id)
	if i < 0 {
		return nil
	}
	was := q.entries[i]
	is := was
	is.state, is.UploadID = fileSent, uploadID
	head, err := is.head()
	if err != nil {
		return err
	}
	w, err := os.CreateTemp(q.dir, "*"+fileDraft)
	if err != nil {
		return fmt.Errorf("record a file that was sent: %w", err)
	}
	_, err = w.Write(head)
	if err = errors.Join(err, w.Sync(), w.Close()); err == nil {
		err = os.Rename(w.Name(), q.path(is))
	}
	if err != nil {
		return fmt.Errorf("record a file that was sent: %w", errors.Join(err, os.Remove(w.Name())))
	}
	if err := errors.Join(syncFolder(q.dir), os.Remove(q.path(was))); err != nil {
		return fmt.Errorf("record a file that was sent: %w", err)
	}
	q.bytes += is.onDisk() - was.onDisk()
	q.entries[i] = is
	if q.status().Unanswered > MaxSent {
		return q.remove(q.oldest(fileSent))
	}
	return nil
}

// FilesStatus is the state of a Files.
type FilesStatus struct {
	Waiting    int            // to send
	BySource   map[string]int // to send
	Unanswered int
	Bytes      int64
	MaxBytes   int64
	Damaged    int // entries of which nothing could be read
}

// Status returns the state.
func (q *Files) Status() FilesStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.status()
}

// status is Status; q.mu is held.
func (q *Files) status() FilesStatus {
	s := FilesStatus{BySource: map[string]int{}, Bytes: q.bytes, MaxBytes: q.options.MaxBytes, Damaged: q.damaged}
	for _, f := range q.entries {
		switch f.state {
		case fileWaiting:
			s.Waiting++
			s.BySource[f.Source]++
		case fileSent:
			s.Unanswered++
		}
	}
	return s
}
