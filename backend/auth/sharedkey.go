package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"app.sunloop/backend/store"
)

// sharedMark is what the replicas of a service store about their key: enough to
// recognise a different key, and nothing that reveals it.
type sharedMark struct {
	Name        string `json:"name" limit:"name"`
	Fingerprint []byte `json:"fingerprint" limit:"1024"`
}

var sharedMarks = store.Table[sharedMark]{
	Bucket: "auth/key",
	Key:    func(m sharedMark) []byte { return store.Key(m.Name) },
}

// sharedKeyName is the one mark that there is.
const sharedKeyName = "sunloop.key"

// KeyError states that the key file of a replica differs from that of the
// others, or is missing. Only the right file helps.
type KeyError struct{ text string }

func (e *KeyError) Error() string { return e.text }

// fingerprint identifies the key. It is a keyed hash, from which the key cannot
// be derived.
func (k Key) fingerprint() ([]byte, error) {
	s, err := newSealer(k)
	if err != nil {
		return nil, err
	}
	return s.hash("", "fingerprint"), nil
}

// SharedKey reads the key file of a replica and compares it with the mark of
// the other replicas' key in the records. If the records have no mark, this key
// becomes the common one, and is created if there is no file. The error is a
// [KeyError] for a different key, and for a missing file although there is a
// mark: then no key is created.
func SharedKey(ctx context.Context, records store.Records, path string) (Key, error) {
	known, err := knownFingerprint(ctx, records)
	if err != nil {
		return Key{}, err
	}
	_, absent := os.Stat(path)
	made := errors.Is(absent, fs.ErrNotExist)
	if made && known {
		return Key{}, &KeyError{fmt.Sprintf("the key file %s is missing, and the database holds secrets of another one: copy the key file of a replica that runs, or of a backup, to it", path)}
	}
	k, err := LoadKey(path)
	if err != nil {
		return k, err
	}
	err = k.verifyFingerprint(ctx, records, path)
	if made && errors.As(err, new(*KeyError)) {
		// It opens nothing: the next start must not take it for the replicas' own.
		// Any other error leaves open whether its mark was stored.
		err = errors.Join(err, os.Remove(path))
	}
	return k, err
}

// CheckSharedKey reports whether the key file of a replica exists and is the
// common one. It creates no key and stores no mark.
func CheckSharedKey(ctx context.Context, records store.Records, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &KeyError{fmt.Sprintf("the key file %s is missing", path)}
	}
	k, err := LoadKey(path)
	if err != nil {
		return err
	}
	return records.View(ctx, func(tx store.Tx) error {
		_, err := k.marked(tx, path)
		return err
	})
}

// FolderKey reads the key file of a data folder, and makes it in a new one. The
// error is a [KeyError] for a file that is missing although secrets in the
// records are sealed: a new key would open none of them.
func FolderKey(ctx context.Context, records store.Records, path string) (Key, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		known, err := knownFingerprint(ctx, records)
		if err != nil {
			return Key{}, err
		}
		if known {
			return Key{}, missingKey(path)
		}
	}
	return LoadKey(path)
}

func missingKey(path string) *KeyError {
	return &KeyError{fmt.Sprintf("the key file %s is missing, and secrets in the data are sealed with it: restore it from a backup", path)}
}

// CheckKey reports whether the key file is there and opens every signing key in
// the records. It changes nothing.
func CheckKey(ctx context.Context, records interface {
	View(ctx context.Context, fn func(tx store.Tx) error) error
}, path string,
) error {
	var keys []signingKey
	err := records.View(ctx, func(tx store.Tx) (err error) {
		keys, _, err = signingKeys.List(tx, store.Query{})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the signing keys: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if len(keys) == 0 {
			return nil // no service has worked with the folder yet
		}
		return missingKey(path)
	}
	k, err := LoadKey(path)
	if err != nil {
		return err
	}
	for _, s := range keys {
		if _, err := k.Open(s.Sealed, "signing/"+s.ID); err != nil {
			return &KeyError{fmt.Sprintf("the key file %s does not open the signing key %s: it is damaged or another one; restore it from a backup", path, s.ID)}
		}
	}
	return nil
}

// knownFingerprint says whether the records know a key, by its mark or by what
// was sealed before there were marks.
func knownFingerprint(ctx context.Context, records store.Records) (known bool, err error) {
	err = records.View(ctx, func(tx store.Tx) error {
		marks, _, err := sharedMarks.List(tx, store.Query{Limit: 1})
		if err != nil {
			return err
		}
		sealed, _, err := signingKeys.List(tx, store.Query{Limit: 1})
		known = len(marks)+len(sealed) > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look for the replicas' key: %w", err)
	}
	return known, nil
}

// verifyFingerprint leaves the key's mark in the records, or finds that theirs is another.
func (k Key) verifyFingerprint(ctx context.Context, records store.Records, path string) error {
	own, err := k.fingerprint()
	if err != nil {
		return err
	}
	err = records.Update(ctx, func(tx store.Tx) error {
		if marked, err := k.marked(tx, path); err != nil || marked {
			return err
		}
		return sharedMarks.Put(tx, sharedMark{sharedKeyName, own})
	})
	var differs *KeyError
	if err != nil && !errors.As(err, &differs) {
		return fmt.Errorf("agree on the replicas' key: %w", err)
	}
	return err
}

// marked says whether the records have the key's mark. The error is a [KeyError]
// when they have another's, or what another has sealed.
func (k Key) marked(tx store.Tx, path string) (bool, error) {
	own, err := k.fingerprint()
	if err != nil {
		return false, err
	}
	other := &KeyError{fmt.Sprintf("the key file %s is not the one that the database's secrets are sealed with: all replicas need the same", path)}
	m, err := sharedMarks.Get(tx, store.Key(sharedKeyName))
	switch {
	case err == nil && !bytes.Equal(m.Fingerprint, own):
		return false, other
	case err == nil:
		return true, nil
	case !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	sealed, _, err := signingKeys.List(tx, store.Query{Limit: 1})
	if err != nil {
		return false, err
	}
	for _, s := range sealed {
		if _, err := k.Open(s.Sealed, "signing/"+s.ID); err != nil {
			return false, other
		}
	}
	return false, nil
}
