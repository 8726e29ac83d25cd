package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// chunk is read at a time, in bytes.
const chunk = 32 << 10

var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	ageMagic  = []byte("age-encryption.org/")
)

// unpack reads a whole backup into an empty folder; dir "" only verifies it.
func unpack(ctx context.Context, r io.Reader, dir string, o Restoring) (Manifest, error) {
	in := bufio.NewReaderSize(&Reader{ctx, r}, chunk+trailerSize)
	switch head, err := in.Peek(len(ageMagic)); {
	case err != nil && !errors.Is(err, io.EOF):
		return Manifest{}, fmt.Errorf("read the backup: %w", err)
	case bytes.Equal(head, ageMagic):
		plain, err := decrypt(in, o.Passphrase)
		if err != nil {
			return Manifest{}, err
		}
		in = bufio.NewReaderSize(plain, chunk+trailerSize)
	case len(head) == 0:
		return Manifest{}, refuse("the backup is empty")
	case !bytes.HasPrefix(head, zstdMagic):
		return Manifest{}, refuse("this is not a backup of Sunloop")
	case o.Encrypted:
		return Manifest{}, refuse("the backup is not encrypted, but a passphrase is given")
	}
	var root *os.Root
	if dir != "" {
		var err error
		if root, err = os.OpenRoot(dir); err != nil {
			return Manifest{}, fmt.Errorf("unpack the backup: %w", err)
		}
		defer func() { _ = root.Close() }() // of the folder; its files are closed one by one
	}
	body := &trailed{r: in, sum: sha256.New()}
	m, err := unpackInto(body, root, o)
	var local *fileError
	if errors.As(err, &local) || ctx.Err() != nil {
		return m, errors.Join(err, context.Cause(ctx))
	}
	// A damaged file is reported as such before any other error.
	if damage := body.end(); damage != nil {
		return m, damage
	}
	return m, err
}

// decrypt is the content of an encrypted backup.
func decrypt(r io.Reader, passphrase func() (string, error)) (io.Reader, error) {
	if passphrase == nil {
		return nil, refuse("the backup is encrypted: its passphrase is needed")
	}
	words, err := passphrase()
	if err != nil {
		return nil, err
	}
	identity, err := age.NewScryptIdentity(words)
	if err != nil {
		return nil, refuse("the passphrase is wrong: %v", err)
	}
	plain, err := age.Decrypt(r, identity)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, refuse("wrong passphrase, or the header of the backup is damaged")
	case err != nil:
		return nil, fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	return plain, nil
}

// fileError is a fault of the folder that is written, not of the backup.
type fileError struct{ err error }

func (e *fileError) Error() string { return "unpack the backup: " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

func unpackInto(r io.Reader, root *os.Root, o Restoring) (m Manifest, err error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(2*window), zstd.WithDecoderMaxMemory(1<<62))
	if err != nil {
		return m, err
	}
	defer z.Close()
	t := tar.NewReader(z)
	head, err := next(t)
	if err != nil {
		return m, err
	}
	if head == nil || head.Name != manifestName || head.Size > maxManifest {
		return m, refuse("this is not a backup of Sunloop: it does not begin with its manifest")
	}
	list, err := io.ReadAll(io.LimitReader(t, head.Size))
	if err != nil {
		return m, err
	}
	if m, err = parseManifest(list); err != nil {
		return m, err
	}
	records := o.records()
	if root == nil && m.has(Tables) {
		records = Tables
	}
	if err := m.check(o.Schema, records); err != nil {
		return m, err
	}
	for _, part := range m.Parts {
		head, err := next(t)
		switch {
		case err != nil:
			return m, err
		case head == nil:
			return m, refuse("the backup lacks %s", part.Name)
		case head.Name != part.Name || head.Size != part.Size:
			return m, refuse("the backup has %q of %d bytes where its manifest names %s of %d", head.Name, head.Size, part.Name, part.Size)
		}
		if err := unpackPart(t, root, part); err != nil {
			return m, err
		}
	}
	if head, err := next(t); err != nil {
		return m, err
	} else if head != nil {
		return m, refuse("the backup has %q, which its manifest does not name", head.Name)
	}
	var more [1]byte
	if n, err := io.ReadFull(z, more[:]); n > 0 {
		return m, refuse("the backup has data after its last part")
	} else if !errors.Is(err, io.EOF) {
		return m, err
	}
	return m, nil
}

// next is the next file of the archive, nil at its end.
func next(t *tar.Reader) (*tar.Header, error) {
	head, err := t.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if head.Typeflag != tar.TypeReg {
		return nil, refuse("the backup has %q, which is not a plain file", head.Name)
	}
	return head, nil
}

// unpackPart writes one file, durable except for its name. Without a root it
// only verifies the part.
func unpackPart(r io.Reader, root *os.Root, part File) error {
	if root == nil {
		sum := sha256.New()
		if _, err := io.CopyN(sum, r, part.Size); err != nil {
			return err
		}
		return part.verify(sum)
	}
	if folder := path.Dir(part.Name); folder != "." {
		if err := root.MkdirAll(folder, 0o700); err != nil {
			return &fileError{err}
		}
	}
	f, err := root.OpenFile(part.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &fileError{err}
	}
	defer f.Close()
	sum := sha256.New()
	buf := make([]byte, chunk)
	for left := part.Size; left > 0; {
		n, err := io.ReadFull(r, buf[:min(left, chunk)])
		if err != nil {
			return err
		}
		sum.Write(buf[:n])
		if _, err := f.Write(buf[:n]); err != nil {
			return &fileError{err}
		}
		left -= int64(n)
	}
	if err := part.verify(sum); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return &fileError{err}
	}
	return nil
}

func (p File) verify(sum hash.Hash) error {
	if hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		return refuse("the backup's %s is not what its manifest says: the checksum differs", p.Name)
	}
	return nil
}

// Verify reads a whole backup, decrypts and unpacks it into nothing, and holds
// each part and the whole against their checksums. passphrase is asked for that
// of an encrypted file.
func Verify(ctx context.Context, r io.Reader, passphrase func() (string, error)) (Manifest, error) {
	return unpack(ctx, r, "", Restoring{Schema: math.MaxInt, Passphrase: passphrase, Encrypted: passphrase != nil})
}

// trailed reads all but the trailer.
type trailed struct {
	r   *bufio.Reader
	sum hash.Hash
}

func (t *trailed) Read(p []byte) (int, error) {
	b, err := t.r.Peek(min(len(p), chunk) + trailerSize)
	n := len(b) - trailerSize
	if n <= 0 {
		if err == nil {
			return 0, nil // asked for nothing
		}
		return 0, err
	}
	n = copy(p, b[:n])
	t.sum.Write(p[:n])
	_, _ = t.r.Discard(n)
	return n, nil
}

// end reads the rest and verifies the trailer.
func (t *trailed) end() error {
	if _, err := io.Copy(io.Discard, t); err != nil {
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	}
	last, _ := t.r.Peek(trailerSize)
	if !bytes.Equal(last, trailer(t.sum.Sum(nil))) {
		return ErrDamaged
	}
	return nil
}
