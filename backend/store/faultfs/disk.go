package faultfs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// sectorBytes is the size that a disk writes atomically.
const sectorBytes = 512

// Disk is what of a folder is on stable storage, as POSIX promises it: the
// contents of a file by a sync of the file, its name by a sync of its folder.
// What came since is pending, and a power loss keeps any part of it.
type Disk struct {
	root *folder
	// Reached is asked, when a sync fails, of each sector that it was about:
	// those for which it answers false are lost, since the system takes them for
	// written and no later sync tries them again. nil: all are lost.
	Reached func() bool
}

type file struct {
	synced  []byte
	pending []Event // Write and Truncate
}

type folder struct {
	synced  map[string]any // *file or *folder
	now     map[string]any // as the running process sees it
	pending []change
}

// change is names that come and go together.
type change struct {
	gone  string // empty: none
	name  string // empty: none
	entry any
}

func newFolder() *folder { return &folder{synced: map[string]any{}, now: map[string]any{}} }

func (f *folder) alter(c change) {
	f.pending = append(f.pending, c)
	c.apply(f.now)
}

func (c change) apply(names map[string]any) {
	if c.gone != "" {
		delete(names, c.gone)
	}
	if c.name != "" {
		names[c.name] = c.entry
	}
}

// NewDisk is an empty folder, itself on stable storage.
func NewDisk() *Disk { return &Disk{root: newFolder()} }

// find returns the folder of a path and what the path names; nil if it does not
// exist, such as a file that has lost its name.
func (d *Disk) find(name string) (*folder, any) {
	if name == "." {
		return nil, d.root
	}
	in := d.root
	if dir := path.Dir(name); dir != "." {
		_, entry := d.find(dir)
		in, _ = entry.(*folder)
		if in == nil {
			return nil, nil
		}
	}
	return in, in.now[path.Base(name)]
}

// Apply applies one event. Failed events have no effect, except for syncs, see
// [Disk.Reached].
func (d *Disk) Apply(e Event) {
	in, entry := d.find(e.Path)
	f, _ := entry.(*file)
	if e.Err != 0 {
		if e.Op == Sync && f != nil {
			f.synced, f.pending = f.left(d.reached), nil
		}
		return
	}
	switch e.Op {
	case Create, MakeFolder:
		if in == nil || entry != nil {
			return
		}
		var made any = new(file)
		if e.Op == MakeFolder {
			made = newFolder()
		}
		in.alter(change{name: path.Base(e.Path), entry: made})
	case Write, Truncate:
		if f != nil {
			f.pending = append(f.pending, e)
		}
	case Sync:
		switch entry := entry.(type) {
		case *file:
			for _, p := range entry.pending {
				entry.synced = done(entry.synced, p, 0, len(p.Data))
			}
			entry.pending = nil
		case *folder:
			for _, c := range entry.pending {
				c.apply(entry.synced)
			}
			entry.pending = nil
		}
	case Remove:
		if in != nil && entry != nil {
			in.alter(change{gone: path.Base(e.Path)})
		}
	case Rename, Link:
		to, _ := d.find(e.To)
		if to == nil || entry == nil {
			return
		}
		c := change{name: path.Base(e.To), entry: entry}
		if e.Op == Rename && to == in {
			c.gone = path.Base(e.Path)
		} else if e.Op == Rename {
			in.alter(change{gone: path.Base(e.Path)})
		}
		to.alter(c)
	}
}

func (d *Disk) reached() bool { return d.Reached != nil && d.Reached() }

// done is contents after a write's bytes from..to, or after a truncation.
func done(b []byte, e Event, from, to int) []byte {
	size := e.Size
	if e.Op == Write {
		size = max(int64(len(b)), e.Offset+int64(to))
	}
	switch n := int(size); {
	case n > len(b):
		b = append(b, make([]byte, n-len(b))...)
	case n < len(b):
		b = b[:n]
	}
	if e.Op == Write {
		copy(b[e.Offset+int64(from):], e.Data[from:to])
	}
	return b
}

// WriteFolder writes the folder that a power loss now would leave into dir. keep is
// asked of each pending change, for a write of each of its sectors, in order.
func (d *Disk) WriteFolder(dir string, keep func() bool) error { return d.root.leave(dir, keep) }

func (f *folder) leave(dir string, keep func() bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a crash image: %w", err)
	}
	left := map[string]any{}
	for name, entry := range f.synced {
		left[name] = entry
	}
	for _, c := range f.pending {
		if keep() {
			c.apply(left)
		}
	}
	names := make([]string, 0, len(left))
	for name := range left {
		names = append(names, name)
	}
	slices.Sort(names) // keep is asked in the same order each time
	for _, name := range names {
		at := filepath.Join(dir, name)
		switch entry := left[name].(type) {
		case *folder:
			if err := entry.leave(at, keep); err != nil {
				return err
			}
		case *file:
			if err := os.WriteFile(at, entry.left(keep), 0o600); err != nil {
				return fmt.Errorf("make a crash image: %w", err)
			}
		}
	}
	return nil
}

// left is what a power loss leaves of a file.
func (f *file) left(keep func() bool) []byte {
	b := slices.Clone(f.synced)
	for _, e := range f.pending {
		if e.Op == Truncate {
			if keep() {
				b = done(b, e, 0, 0)
			}
			continue
		}
		for from := 0; from < len(e.Data); {
			to := min(len(e.Data), from+sectorBytes-int((e.Offset+int64(from))%sectorBytes))
			if keep() {
				b = done(b, e, from, to)
			}
			from = to
		}
	}
	return b
}
