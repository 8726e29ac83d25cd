package drop

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds of a folder.
const (
	maxFiles = 100_000
	maxDepth = 16
)

// Folders that files are moved to.
const (
	doneFolder   = "done"
	failedFolder = "failed"
)

// listing collects the files of a folder and its subfolders, of this machine or of a server.
type listing struct {
	config   *Config
	files    []file
	partials map[string]bool // marks of files that are named as being written
	unusable *nameError
}

// enters reports whether the files of a subfolder are listed.
func (l *listing) enters(in, base string) bool {
	return !isPartial(base) && !(l.config.Move && in == "." && (base == doneFolder || base == failedFolder))
}

// add adds a regular file, if it is to be read.
func (l *listing) add(name string, info fs.FileInfo) error {
	mark := markOf(info.Size(), info.ModTime())
	if isPartial(path.Base(name)) {
		if l.partials == nil {
			l.partials = map[string]bool{}
		}
		l.partials[mark] = true
		return nil
	}
	if !matches(l.config.Patterns, path.Base(name)) {
		return nil
	}
	if why := checkName(name); why != "" {
		l.unusable = l.unusable.add(name, why)
		return nil
	}
	if l.files = append(l.files, file{name: name, mark: mark, size: info.Size()}); len(l.files) > maxFiles {
		return fmt.Errorf("the folder has more than %d files", maxFiles)
	}
	return nil
}

// settled returns the files by name; those that may still be written are marked.
func (l *listing) settled(s *settler, now time.Time) []file {
	slices.SortFunc(l.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	s.settle(l.files, l.partials, now)
	return l.files
}

// partialSuffixes are of files that are being written.
var partialSuffixes = []string{".part", ".partial", ".tmp", ".temp", ".filepart", ".crdownload", ".download", ".swp", ".writing", ".upload", "~"}

// isPartial reports whether a file is named as one that is being written, or hidden.
func isPartial(base string) bool {
	lower := strings.ToLower(base)
	for _, s := range partialSuffixes {
		if strings.HasSuffix(lower, s) {
			return true
		}
	}
	return strings.HasPrefix(base, ".")
}

// settler says which files of a listing are complete. It remembers the former listing.
type settler struct {
	after    time.Duration
	seen     map[string]observation // by name
	partials map[string]bool        // marks of files that were being written
}

type observation struct {
	mark  string
	since time.Time
}

// settle marks the files of a listing that may still be written. partials are the marks of
// those that are named so: a file with such a mark was renamed, and is complete.
func (s *settler) settle(files []file, partials map[string]bool, now time.Time) {
	seen := make(map[string]observation, len(files))
	for i := range files {
		f := &files[i]
		o, ok := s.seen[f.name]
		if !ok || o.mark != f.mark || now.Before(o.since) {
			o = observation{f.mark, now}
			if s.partials[f.mark] && !partials[f.mark] {
				o.since = now.Add(-s.after)
			}
		}
		seen[f.name] = o
		f.waits = f.size == 0 || now.Sub(o.since) < s.after
	}
	s.seen, s.partials = seen, partials
}

// markOf is the mark of a file with a size and a time.
func markOf(size int64, at time.Time) string { return fmt.Sprintf("%d %d", size, at.UnixNano()) }

// movedTo is the new name of a file: one that is taken gets a part of the hash.
func movedTo(name, hash string, failed bool, taken func(string) bool) string {
	folder := doneFolder
	if failed {
		folder = failedFolder
	}
	to := path.Join(folder, name)
	if taken(to) {
		ext := path.Ext(to)
		to = strings.TrimSuffix(to, ext) + "-" + hash[:min(8, len(hash))] + ext
	}
	return to
}
