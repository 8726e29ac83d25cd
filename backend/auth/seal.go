package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
)

// Key seals data that must not be readable in a copied store. It is stored in a
// separate file.
type Key [32]byte

// LoadKey reads the key file, or creates it with a random key if it does not
// exist.
func LoadKey(path string) (Key, error) {
	var k Key
	b, err := regularfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(path)
	}
	if err != nil {
		return k, fmt.Errorf("read the key file: %w", err)
	}
	if len(b) != len(k) {
		return k, fmt.Errorf("the key file %s holds %d bytes, not %d: restore it from a backup", path, len(b), len(k))
	}
	copy(k[:], b)
	return k, nil
}

// createKey links a finished file into place, so that of two processes one
// wins and none sees half a key.
func createKey(path string) (k Key, err error) {
	if _, err = rand.Read(k[:]); err != nil {
		return k, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return k, fmt.Errorf("make the key file: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(k[:])
	if err == nil {
		err = tmp.Sync()
	}
	if closing := tmp.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Link(tmp.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return LoadKey(path)
	}
	if err != nil {
		return k, fmt.Errorf("make the key file: %w", err)
	}
	return k, store.SyncFolder(filepath.Dir(path))
}

// Seal encrypts a secret of another part of the service and binds it to its
// place: it opens nowhere else.
func (k Key) Seal(secret []byte, place string) ([]byte, error) {
	s, err := newSealer(k)
	if err != nil {
		return nil, err
	}
	return s.seal(secret, place), nil
}

// Open is the inverse of Seal.
func (k Key) Open(sealed []byte, place string) ([]byte, error) {
	s, err := newSealer(k)
	if err != nil {
		return nil, err
	}
	return s.open(sealed, place)
}

// sealer encrypts with AES-256-GCM and makes keyed hashes, each under its own
// derived key (RFC 5869).
type sealer struct {
	aead cipher.AEAD
	mac  []byte
}

func newSealer(k Key) (*sealer, error) {
	enc, err := hkdf.Key(sha256.New, k[:], nil, "sunloop seal", 32)
	if err != nil {
		return nil, err
	}
	mac, err := hkdf.Key(sha256.New, k[:], nil, "sunloop mac", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(enc)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead: aead, mac: mac}, nil
}

// seal binds the secret to its place, so that a sealed value cannot be moved
// to another record.
func (s *sealer) seal(secret []byte, place string) []byte {
	return s.aead.Seal(nil, nil, secret, []byte(place)) //nolint:gosec // G407: NewGCMWithRandomNonce makes the nonce itself and requires nil here
}

func (s *sealer) open(sealed []byte, place string) ([]byte, error) {
	secret, err := s.aead.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("a secret does not open with this key file: %w", err)
	}
	return secret, nil
}

// hash is a keyed hash of a short secret, which a bare hash would not hide.
func (s *sealer) hash(secret, place string) []byte {
	h := hmac.New(sha256.New, s.mac)
	h.Write([]byte(place))
	h.Write([]byte{0})
	h.Write([]byte(secret))
	return h.Sum(nil)
}

// Seal encrypts what the service keeps for others and must not be read from a
// copied store; place is where it lies. Unseal is the inverse.
func (s *Service) Seal(secret []byte, place string) []byte { return s.sealer.seal(secret, place) }

// Unseal opens data sealed for the same place.
func (s *Service) Unseal(sealed []byte, place string) ([]byte, error) {
	return s.sealer.open(sealed, place)
}

// Fingerprint lets the holder of the store compare two secrets, and reveals
// nothing else of them.
func (s *Service) Fingerprint(secret []byte, place string) []byte {
	return s.sealer.hash(string(secret), place)
}
