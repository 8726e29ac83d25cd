package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// Bounds of the comparison of files that name no unit.
const (
	comparedFiles = 400
	comparedBytes = 64 << 20 // of all files
)

// unitFile is a file of one unit that it does not name.
type unitFile struct {
	path  string
	frame series.Frame
}

// unitsByValues names the units of files that do not name them, by path: if files
// have different values at the same times they are of different units. Those of
// different folders are named by the folder, those of one folder by the file. It
// returns nil if no two files contradict each other, or if they are too large to be
// compared.
func unitsByValues(sources []source, o ingest.Options, out io.Writer) map[string]string {
	if len(sources) < 2 || len(sources) > comparedFiles || o.Asset != "" {
		return nil
	}
	var files []unitFile
	left := int64(comparedBytes)
	for _, s := range sources {
		if s.path == "-" {
			return nil
		}
		r, _, err := s.open(nil)
		if err != nil {
			continue // the import reports it
		}
		data, err := io.ReadAll(io.LimitReader(r, min(left, int64(s.whole))+1))
		r.Close()
		if left -= int64(len(data)); err != nil || left < 0 || len(data) > s.whole {
			return nil
		}
		res, err := ingest.Read(bytes.NewReader(data), o)
		if err != nil || len(res.Assets) != 1 || res.Assets[0].Name != "" {
			continue
		}
		files = append(files, unitFile{s.path, res.Assets[0].Frame})
	}
	byFolder := map[string][]unitFile{}
	var folders []string
	for _, f := range files {
		folder := filepath.Dir(f.path)
		if byFolder[folder] == nil {
			folders = append(folders, folder)
		}
		byFolder[folder] = append(byFolder[folder], f)
	}
	units := map[string]string{}
	inFolders, between := false, false
	whole := map[string]series.Frame{}
	for _, folder := range folders {
		merged := series.Frame{}
		for _, f := range byFolder[folder] {
			inFolders = inFolders || ingest.Contradict(merged, f.frame)
			merged = series.Merge(merged, f.frame)
		}
		for _, other := range folders {
			if frame, ok := whole[other]; ok && ingest.Contradict(frame, merged) {
				between = true
			}
		}
		whole[folder] = merged
	}
	if !inFolders && !between {
		return nil
	}
	names := distinctNames(folders)
	for _, f := range files {
		folder := names[filepath.Dir(f.path)]
		file := strings.TrimSuffix(filepath.Base(f.path), ".gz")
		file = strings.TrimSuffix(file, filepath.Ext(file))
		switch {
		case inFolders && len(folders) > 1 && between:
			units[f.path] = folder + " " + file
		case inFolders:
			units[f.path] = file
		default:
			units[f.path] = folder
		}
	}
	var list []string
	for _, f := range files {
		if !slices.Contains(list, units[f.path]) {
			list = append(list, units[f.path])
		}
	}
	fmt.Fprintf(out, "units: %s; the files name none, and have different values at the same times\n", strings.Join(list, ", "))
	return units
}

// distinctNames names folders by the last part of their paths in which all differ,
// or by their whole paths.
func distinctNames(folders []string) map[string]string {
	parts := map[string][]string{}
	deepest := 0
	for _, f := range folders {
		abs, err := filepath.Abs(f)
		if err != nil {
			abs = f
		}
		parts[f] = strings.Split(filepath.ToSlash(abs), "/")
		deepest = max(deepest, len(parts[f]))
	}
	for back := 1; back <= deepest; back++ {
		names, seen := map[string]string{}, map[string]bool{}
		for _, f := range folders {
			if at := len(parts[f]) - back; at >= 0 && parts[f][at] != "" {
				names[f] = parts[f][at]
				seen[names[f]] = true
			}
		}
		if len(seen) == len(folders) {
			return names
		}
	}
	names := map[string]string{}
	for _, f := range folders {
		names[f] = filepath.ToSlash(f)
	}
	return names
}
