package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// storedName is the file of [Spool.KeepStored].
const storedName = "stored"

// maxRanges is how many ranges of numbers are kept. There are more only if many batches
// were sent out of their order.
const maxRanges = 100

// stored is the content of the file, behind a checksum.
type stored struct {
	Epoch  string   `json:"epoch"`
	Ranges [][2]int `json:"ranges"`
}

// KeepStored notes which batches are stored elsewhere, by ranges of their first and last
// number. It serves what is shown before the receiver can be asked, so it is not synced:
// after a power cut it may be older, or not there.
func (s *Spool) KeepStored(ranges [][2]int) error {
	if len(ranges) > maxRanges {
		ranges = ranges[:maxRanges]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(stored{s.epoch, ranges})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, storedName), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// In its place: a new file, or one that is cut, would make some file systems sync.
	_, err = f.WriteAt(fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), 0)
	return errors.Join(err, f.Close())
}

// Stored returns what was noted of the current numbering; nil if that is not known.
func (s *Spool) Stored() [][2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := os.ReadFile(filepath.Join(s.dir, storedName))
	if err != nil {
		return nil
	}
	line, _, whole := bytes.Cut(b, []byte("\n"))
	sum, text, _ := bytes.Cut(line, []byte(" "))
	var out stored
	if !whole || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) || json.Unmarshal(text, &out) != nil || out.Epoch != s.epoch {
		return nil
	}
	return out.Ranges
}
