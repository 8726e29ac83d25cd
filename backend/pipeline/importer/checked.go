package importer

import (
	"fmt"
	"sync"

	"app.sunloop/engine/ingest"
)

// maxChecked bounds the results that wait for their import: those of small files, at
// most some megabytes each.
const maxChecked = 8

// checkedFiles keeps what was read of small files when they were uploaded, so that their
// imports need not read them again. It belongs to one process: an import of another one,
// after a restart, or with other settings of the site, reads the file. The zero value is
// ready to use.
type checkedFiles struct {
	mu    sync.Mutex
	files []checkedFile // oldest first
}

type checkedFile struct {
	uploadID string
	result   *ingest.Result
	settings string
}

// put keeps the result of an upload.
func (c *checkedFiles) put(uploadID string, r *ingest.Result, o ingest.Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.files) == maxChecked {
		c.files = append(c.files[:0:0], c.files[1:]...)
	}
	c.files = append(c.files, checkedFile{uploadID, r, settingsOf(r, o)})
}

// take returns the result of an upload and forgets it. It returns nil if there is none,
// or if it was read with other settings.
func (c *checkedFiles) take(uploadID string, o ingest.Options) *ingest.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.files {
		if f.uploadID != uploadID {
			continue
		}
		c.files = append(c.files[:i:i], c.files[i+1:]...)
		if f.settings != settingsOf(f.result, o) {
			return nil
		}
		return f.result
	}
	return nil
}

// settingsOf describes the options that decide how a file is read, except for the time.
func settingsOf(r *ingest.Result, o ingest.Options) string {
	profile := ""
	if o.Profile != nil {
		if m, ok := o.Profile(r.Shape); ok {
			profile = m.String()
		}
	}
	return fmt.Sprint(zoneOf(o), o.ZoneFrom, o.CapacityKW, o.EnergyKind, o.Asset, o.MaxBytes, o.Mapping.String(), profile)
}
