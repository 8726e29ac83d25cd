package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// entry is a file of an archive or of a layer of an image.
type entry struct {
	name string
	mode fs.FileMode // with fs.ModeDir for a folder
	data []byte
	id   int // owner and group
}

// entries returns the files of the archive for a platform.
func (r release) entries(p platform) ([]entry, error) {
	var out []entry
	add := func(from, to string, mode fs.FileMode) error {
		data, err := os.ReadFile(from)
		out = append(out, entry{name: to, mode: mode, data: data})
		return err
	}
	var failed error
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		failed = errors.Join(failed, add(filepath.Join(r.tree, name), name, 0o644))
	}
	for _, pattern := range []string{"man/*.1", "completions/sunloop.*"} {
		files, err := filepath.Glob(filepath.Join(r.stage, pattern))
		failed = errors.Join(failed, err)
		for _, f := range files {
			failed = errors.Join(failed, add(f, path.Join(path.Dir(pattern), filepath.Base(f)), 0o644))
		}
	}
	if p.os == "linux" {
		units, err := os.ReadDir(filepath.Join(r.tree, "deploy/systemd"))
		failed = errors.Join(failed, err)
		for _, u := range units {
			mode := fs.FileMode(0o644)
			if u.Name() == "sunloop-backup" {
				mode = 0o755
			}
			failed = errors.Join(failed, add(filepath.Join(r.tree, "deploy/systemd", u.Name()), path.Join("deploy/systemd", u.Name()), mode))
		}
	}
	failed = errors.Join(failed, add(filepath.Join(r.stage, p.String(), p.program()), p.program(), 0o755))
	return out, failed
}

// archiveName is the name of the archive for a platform.
func (r release) archiveName(p platform) string {
	name := "sunloop_" + r.version + "_" + p.os + "_" + p.arch
	if p.os == "windows" {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// archive writes the archive for a platform: zip for Windows, else tar.gz.
func (r release) archive(p platform) (err error) {
	entries, err := r.entries(p)
	if err != nil {
		return err
	}
	folder := "sunloop_" + r.version
	for i := range entries {
		entries[i].name = path.Join(folder, entries[i].name)
	}
	f, err := os.Create(filepath.Join(r.out, r.archiveName(p)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if p.os == "windows" {
		return writeZip(f, entries, r.time)
	}
	return writeTarGz(f, entries, r.time)
}

func writeZip(w io.Writer, entries []entry, at time.Time) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err == nil {
			_, err = f.Write(e.data)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func writeTarGz(w io.Writer, entries []entry, at time.Time) error {
	z := gzip.NewWriter(w) // the best compression takes three times as long for one percent
	return errors.Join(writeTar(z, entries, at), z.Close())
}

// writeTar writes entries by name, so that folders come before their files.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.name < b.name:
			return -1
		case a.name > b.name:
			return 1
		}
		return 0
	})
	t := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.data)), ModTime: at, Uid: e.id, Gid: e.id, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	return t.Close()
}
