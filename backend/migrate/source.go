//go:build !gateway

package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store/bolt"
)

// Names in a data folder.
const (
	keyFile       = "sunloop.key"
	objectsFolder = "objects"
)

// source is the data folder, open to be read.
type source struct {
	*bolt.Store
	id string
}

// openSource opens the folder and keeps services out of it. A folder is known
// by its key, which it keeps for life: so one in which a service has run since
// is the same, and not another.
func openSource(dir string) (*source, error) {
	key, err := regularfile.Read(filepath.Join(dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no %s in %s: it is not a data folder, or its key is lost; restore the key from a backup", keyFile, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of the data folder: %w", err)
	}
	db, err := bolt.OpenReadOnly(dir, nil)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("the house of this key\x00"), key...))
	return &source{db, hex.EncodeToString(sum[:16])}, nil
}
