package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// Source is a part to be written. It is opened twice, for its checksum and for
// its content, and must not change in between.
type Source struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// window bounds the memory of reading: 4 MiB.
const window = 4 << 20

// Write writes a backup of the sources to w. Format and parts of m are set
// here; it answers the whole.
func Write(ctx context.Context, w io.Writer, m Manifest, sources []Source) (Manifest, error) {
	m.Format, m.MadeAt = Format, m.MadeAt.UTC()
	m.Parts = make([]File, len(sources))
	for i, s := range sources {
		var err error
		if m.Parts[i], err = copyPart(ctx, io.Discard, s); err != nil {
			return m, err
		}
	}
	list, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	if len(list) > maxManifest {
		return m, fmt.Errorf("the data folder has too many files for a backup: %d", len(sources))
	}
	if err := writeFile(ctx, w, m, list, sources); err != nil {
		return m, err
	}
	return m, nil
}

func writeFile(ctx context.Context, w io.Writer, m Manifest, list []byte, sources []Source) error {
	sum := sha256.New()
	z, err := zstd.NewWriter(io.MultiWriter(w, sum), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(2))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	entry := func(name string, size int64) error {
		return t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: m.MadeAt, Format: tar.FormatPAX})
	}
	err = entry(manifestName, int64(len(list)))
	if err == nil {
		_, err = t.Write(list)
	}
	for i := 0; err == nil && i < len(sources); i++ {
		if err = entry(m.Parts[i].Name, m.Parts[i].Size); err != nil {
			break
		}
		var again File
		if again, err = copyPart(ctx, t, sources[i]); err == nil && again != m.Parts[i] {
			err = fmt.Errorf("%s changed while it was copied", again.Name)
		}
	}
	if err == nil {
		err = t.Close()
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if _, err := w.Write(trailer(sum.Sum(nil))); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

// copyPart copies a source, and answers what it was.
func copyPart(ctx context.Context, w io.Writer, s Source) (p File, err error) {
	r, err := s.Open()
	if err != nil {
		return p, fmt.Errorf("back up %s: %w", s.Name, err)
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), &Reader{ctx, r})
	if err != nil {
		return p, fmt.Errorf("back up %s: %w", s.Name, err)
	}
	return File{s.Name, n, hex.EncodeToString(sum.Sum(nil))}, nil
}

// Reader reads until its context ends.
type Reader struct {
	Context context.Context
	R       io.Reader
}

func (r *Reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.Context); err != nil {
		return 0, err
	}
	return r.R.Read(p)
}

// Encrypt is w for what only the passphrase opens again. It must be closed.
func Encrypt(w io.Writer, passphrase string) (io.WriteCloser, error) {
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, fmt.Errorf("encrypt the backup: %w", err)
	}
	return encrypt(w, recipient)
}

func encrypt(w io.Writer, recipient age.Recipient) (io.WriteCloser, error) {
	e, err := age.Encrypt(w, recipient)
	if err != nil {
		return nil, fmt.Errorf("encrypt the backup: %w", err)
	}
	return e, nil
}
