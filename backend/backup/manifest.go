// Package backup writes a data folder to one file, and restores a folder from
// such a file.
//
// The file is a tar archive compressed by zstd, optionally encrypted by age
// with a passphrase. Its first entry, manifest.json, names every part with size
// and SHA-256; its last 40 bytes, which zstd skips, hold the SHA-256 of all
// bytes before them. The file can therefore be written and read as a stream,
// truncated or modified files are rejected, and tar and zstd are sufficient to
// unpack it.
package backup

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Format is the version of the file's make-up that this package writes, and
// the newest that it reads.
const Format = 1

// Names of the parts that a backup has: the key, and either the file of records
// of a data folder or the tables of a database that replicas share.
const (
	Database = "sunloop.db"
	Tables   = "sunloop.tables"
	Key      = "sunloop.key"
)

const (
	manifestName = "manifest.json"
	maxManifest  = 256 << 20 // bytes: parts by the million
)

// Manifest describes the contents of a backup.
type Manifest struct {
	Format  int       `json:"format"`  // see [Format]
	Schema  int       `json:"schema"`  // of the database
	Version string    `json:"version"` // of the Sunloop that made it
	MadeAt  time.Time `json:"made_at"`
	Parts   []File    `json:"parts"` // in the order of the file
}

// File is a file of the data folder.
type File struct {
	Name   string `json:"name"`   // path in the folder, with slashes
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // in hex
}

// Size is that of all parts, in bytes.
func (m Manifest) Size() (bytes int64) {
	for _, p := range m.Parts {
		bytes += p.Size
	}
	return bytes
}

// alone and folders are the contents of a data folder: files, and folders of
// files.
var (
	alone   = map[string]bool{Database: true, Tables: true, Key: true, "demo.json": true}
	folders = map[string]bool{"objects": true, "outbox": true, "ssh": true, "tls": true}
	plain   = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)
)

// Kept reports whether a path of a data folder, with slashes, belongs in a
// backup.
func Kept(name string) bool {
	if !plain.MatchString(name) || !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	folder, _, within := strings.Cut(name, "/")
	return within && folders[folder] || !within && alone[name]
}

// Refusal is why a file is not restored, in a sentence.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

func refuse(format string, a ...any) error { return &Refusal{fmt.Sprintf(format, a...)} }

// ErrDamaged is the refusal of a file of which a part is missing or changed.
var ErrDamaged = errors.New("the backup is damaged: it is truncated or was changed")

// check validates a decoded manifest; records is the part that holds the
// records.
func (m Manifest) check(schema int, records string) error {
	switch {
	case m.Format > Format:
		return refuse("the backup is of format %d, made by Sunloop %s; this one reads up to %d", m.Format, m.Version, Format)
	case m.Format < 1:
		return refuse("this is not a backup of Sunloop: its manifest names no format")
	case records == Database && m.has(Tables):
		return refuse("the backup is of a database that replicas share: restore it into an empty one, with --store")
	case records == Tables && m.has(Database):
		return refuse("the backup is of a data folder: restore it without --store, and move the folder by sunloop admin migrate")
	case m.Schema > schema:
		return refuse("the backup's data are of schema %d, made by Sunloop %s; this one knows up to %d", m.Schema, m.Version, schema)
	}
	seen, left := map[string]bool{}, int64(1)<<62
	for _, p := range m.Parts {
		sum, err := hex.DecodeString(p.SHA256)
		switch {
		case !Kept(p.Name):
			return refuse("the backup names %q, which is no part of a data folder", p.Name)
		case seen[p.Name]:
			return refuse("the backup names %s twice", p.Name)
		case p.Size < 0 || p.Size > left || err != nil || len(sum) != 32:
			return refuse("the backup's manifest says no size and checksum of %s", p.Name)
		}
		seen[p.Name], left = true, left-p.Size
	}
	for _, name := range []string{records, Key} {
		if !seen[name] {
			return refuse("the backup has no %s", name)
		}
	}
	return nil
}

func (m Manifest) has(name string) bool {
	return slices.ContainsFunc(m.Parts, func(p File) bool { return p.Name == name })
}

func parseManifest(b []byte) (m Manifest, err error) {
	if err := json.Unmarshal(b, &m); err != nil {
		return m, refuse("the backup's manifest cannot be read: %v", err)
	}
	return m, nil
}

// The end of the file: a frame that zstd skips.
const (
	trailerMagic = 0x184D2A5E
	trailerSize  = 8 + 32
)

func trailer(sum []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, trailerMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(sum)))
	return append(b, sum...)
}
