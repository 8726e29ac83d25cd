package httpapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
)

// Limits of an upload's form in addition to the file.
const (
	maxFieldBytes   = 4096
	maxMappingBytes = 64 << 10
	maxParts        = 64
)

func (in *input) isForm() bool {
	kind, _, err := mime.ParseMediaType(in.Header.Get("Content-Type"))
	return err == nil && kind == "multipart/form-data"
}

// errUnsupportedType refuses a file that is sent as the body itself.
var errUnsupportedType = (&api.Error{Status: http.StatusUnsupportedMediaType, Message: "Unsupported content type"}).
	With("reason", "send the file as the field file of a multipart/form-data form, or its s3_path in a JSON body")

// mayBeJSON reports whether the body may be JSON by its Content-Type: some programs name
// none, or one of forms or plain texts, for JSON.
func (in *input) mayBeJSON() bool {
	header := in.Header.Get("Content-Type")
	if header == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(header)
	return err == nil && (strings.HasSuffix(kind, "json") || kind == "application/x-www-form-urlencoded" || kind == "text/plain")
}

// form is an upload's form, its parts in any order.
type form struct {
	req      api.UploadRequest
	fields   map[string]string // as text, those of req and others
	filename string
	offset   int64      // of a part of a file, in bytes
	spool    *spool     // nil: there was no file
	refusal  *api.Error // of the file, once it is known whose it is

	path func(name string) string // values of the path
}

// fingerprint is the same for the same fields and the same file, whatever the
// boundary and the order of the parts.
func (f *form) fingerprint() []byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %x", fmt.Sprintf("%+v", f.req), f.spool.digest.Sum(nil))
	return h.Sum(nil)
}

var errInvalidForm = &api.Error{Status: http.StatusBadRequest, Message: "Invalid multipart form"}

// form reads the whole form; the file goes to the spool, so that memory does
// not grow with running uploads.
func (in *input) form() (*form, error) {
	if err := in.claim.grow(formMemory); err != nil {
		return nil, err
	}
	in.Body = http.MaxBytesReader(in.w, in.Body, in.most.Form)
	return in.parts()
}

// parts reads the parts of the form, up to the first that is refused.
func (in *input) parts() (*form, error) {
	headers := &headerLimit{ReadCloser: in.Body}
	in.Body = headers
	parts, err := in.MultipartReader()
	if err != nil {
		return nil, errInvalidForm.With("reason", err.Error())
	}
	f := &form{fields: map[string]string{}, path: in.PathValue}
	for n := 0; ; n++ {
		headers.begin()
		part, err := parts.NextPart()
		headers.end()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if errors.Is(err, errPartHeader) {
			return nil, errInvalidForm.With("reason", fmt.Sprintf("the header of a field is longer than %d bytes", maxPartHeader))
		}
		var header textproto.ProtocolError
		if errors.As(err, &header) {
			return nil, errInvalidForm.With("reason", header.Error())
		}
		if err != nil {
			return nil, in.formFailure(err)
		}
		if n == maxParts {
			return nil, &api.Error{Status: http.StatusBadRequest, Message: "Too many form fields"}
		}
		if part.FormName() == "" {
			// Not one of the service's. NextPart would read it as if it were a header.
			if _, err := io.Copy(io.Discard, part); err != nil {
				return nil, in.formFailure(err)
			}
			continue
		}
		if len(part.FormName()) > maxFieldBytes { // the answer names fields
			return nil, errInvalidForm.With("reason", fmt.Sprintf("a field's name is longer than %d bytes", maxFieldBytes))
		}
		if err := in.route.CheckPart(part.FormName()); err != nil {
			return nil, err
		}
		if _, twice := f.fields[part.FormName()]; twice {
			return nil, api.InvalidParameter(part.FormName(), "it is there twice")
		}
		if part.FormName() == "file" {
			if f.spool != nil {
				return nil, api.InvalidParameter("file", "is there twice")
			}
			f.filename = part.FileName()
			f.spool, err = in.keep(part)
			switch {
			case !errors.As(err, &f.refusal):
			case f.refusal.Status == http.StatusRequestEntityTooLarge:
				return f, nil // the rest of it is not read
			default:
				err = nil
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		most := maxFieldBytes
		if part.FormName() == "mapping" { // of thousands of units
			most = maxMappingBytes
		}
		value, err := io.ReadAll(io.LimitReader(part, int64(most)+1))
		switch {
		case err != nil:
			return nil, in.formFailure(err)
		case len(value) > most:
			return nil, api.InvalidParameter(part.FormName(), fmt.Sprintf("at most %d bytes", most))
		}
		if err := in.claim.grow(int64(len(part.FormName()) + len(value))); err != nil {
			return nil, err
		}
		f.fields[part.FormName()] = string(value)
		if err := f.set(part.FormName(), string(value)); err != nil {
			return nil, err
		}
	}
}

// maxPartHeader is the longest header of a part of a form, in bytes. The reader
// of forms would hold up to 10 MB of it in memory.
const maxPartHeader = 32 << 10

var errPartHeader = errors.New("the header of a part is too long")

// headerLimit is a body that gives no more than maxPartHeader bytes between begin
// and end, while the reader of a form reads the header of a part.
type headerLimit struct {
	io.ReadCloser
	limited bool
	left    int
}

func (h *headerLimit) begin() { h.limited, h.left = true, maxPartHeader }
func (h *headerLimit) end()   { h.limited = false }

func (h *headerLimit) Read(p []byte) (int, error) {
	if !h.limited {
		return h.ReadCloser.Read(p)
	}
	if h.left == 0 {
		return 0, errPartHeader
	}
	n, err := h.ReadCloser.Read(p[:min(len(p), h.left)])
	h.left -= n
	return n, err
}

func (f *form) set(name, value string) error {
	switch name {
	case "customer_id":
		f.req.CustomerID = value
	case "site_id":
		f.req.SiteID = value
	case "region":
		f.req.Region = value
	case "location":
		f.req.Location = value
	case "manufacturer":
		f.req.Manufacturer = value
	case "data_type":
		f.req.DataType = value
	case "timezone":
		f.req.Timezone = value
	case "asset_id":
		f.req.AssetID = value
	case "mapping":
		f.req.Mapping = value
	case "source":
		f.req.Source = value
	case "delivery_id":
		f.req.DeliveryID = value
	case "capacity_kw":
		if value == "" {
			return nil
		}
		kw, err := strconv.ParseFloat(value, 64)
		if err != nil || !(kw > 0) || kw > 1e7 {
			return api.InvalidParameter(name, "a number of kW more than 0")
		}
		f.req.CapacityKW = kw
	}
	return nil
}

// spoolMemory is how much of a file is held before it goes to disk.
const spoolMemory = 64 << 10

// spool is a file of at most api.MaxUploadBytes that was read whole.
type spool struct {
	memory bytes.Buffer
	disk   *os.File // nil while memory is enough
	named  bool     // the file on disk has a name still
	size   int64
	lines  int // lines that are not empty
	digest hash.Hash

	text bool // the current line is not empty
}

// keep reads a part into a spool that ends with the request. One that is
// refused for its size is answered as far as it was read.
func (in *input) keep(r io.Reader) (*spool, error) {
	s := &spool{digest: sha256.New()}
	in.onClose = append(in.onClose, s.close)
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if s.size += int64(n); s.size > api.MaxUploadBytes {
			return s, in.fileTooLarge()
		}
		s.count(buf[:n])
		s.digest.Write(buf[:n])
		if err := s.write(buf[:n], in.spoolDir); err != nil {
			return nil, fmt.Errorf("spool an upload: %w", err)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, in.formFailure(err)
		}
	}
	if s.text {
		s.lines++
	}
	if s.size == 0 {
		return s, api.ErrCSVRequired
	}
	return s, nil
}

func (s *spool) count(b []byte) {
	for _, c := range b {
		switch c {
		case '\n':
			if s.text {
				s.lines++
			}
			s.text = false
		case '\r', ' ', '\t':
		default:
			s.text = true
		}
	}
}

func (s *spool) write(b []byte, dir string) error {
	if s.disk == nil && s.memory.Len()+len(b) <= spoolMemory {
		s.memory.Write(b)
		return nil
	}
	if s.disk == nil {
		f, err := os.CreateTemp(dir, "upload-*")
		if err != nil {
			return err
		}
		s.disk = f
		// Without a name, nothing is left behind by a process that dies.
		s.named = os.Remove(f.Name()) != nil
		if _, err := f.Write(s.memory.Bytes()); err != nil {
			return err
		}
		s.memory = bytes.Buffer{}
	}
	_, err := s.disk.Write(b)
	return err
}

// reader is the file from its start.
func (s *spool) reader() (io.Reader, error) {
	if s.disk == nil {
		return bytes.NewReader(s.memory.Bytes()), nil
	}
	if _, err := s.disk.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	return s.disk, nil
}

func (s *spool) close() {
	if s.disk != nil {
		_ = s.disk.Close()
	}
	if s.named { // where a file cannot be removed while open
		_ = os.Remove(s.disk.Name())
	}
}
