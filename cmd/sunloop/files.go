package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/ingest/piece"
	"app.sunloop/internal/display"
)

// source is a file that a command reads.
type source struct {
	path  string // - is the standard input
	name  string
	whole int // bytes up to which it is read in one piece
	piece int // bytes of the pieces of a larger one
}

func newSource(path string) source {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	if path == "-" {
		name = "stdin.csv"
	}
	return source{path, name, api.MaxUploadBytes, pieceBytes}
}

// expandFiles returns the files that arguments name: files, all files of folders,
// those of patterns, and - for the standard input.
func expandFiles(args []string) ([]source, error) {
	var list []source
	add := func(path string) { list = append(list, newSource(path)) }
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-":
			add("-")
		case err == nil && info.IsDir():
			before := len(list)
			err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && !strings.HasPrefix(d.Name(), ".") {
					add(path)
				}
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("read the folder %s: %w", arg, err)
			}
			if len(list) == before {
				return nil, fmt.Errorf("the folder %s has no file", arg)
			}
		case err != nil && strings.ContainsAny(arg, "*?["):
			found, err := filepath.Glob(arg)
			if err != nil || len(found) == 0 {
				return nil, fmt.Errorf("no file matches %s", arg)
			}
			for _, path := range found {
				add(path)
			}
		default:
			add(arg)
		}
	}
	return list, nil
}

// open returns the bytes of a source, unpacked if they are gzip, and their number if
// it is known.
func (s source) open(stdin io.Reader) (r io.ReadCloser, size int64, err error) {
	if s.path == "-" {
		return io.NopCloser(stdin), 0, nil
	}
	f, err := os.Open(s.path) // also a pipe, as a shell makes for <(command)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && info.IsDir():
		return nil, 0, errors.Join(fmt.Errorf("%s is a folder, not a file", s.path), f.Close())
	case err == nil && info.Mode().IsRegular():
		size = info.Size()
	}
	type file struct {
		io.Reader
		io.Closer
	}
	in := bufio.NewReader(f)
	if start, _ := in.Peek(len(gzipMagic)); string(start) != gzipMagic {
		return file{in, f}, size, nil
	}
	zr, err := gzip.NewReader(in)
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("%s is not gzip: %w", s.path, err), f.Close())
	}
	return file{zr, f}, 0, nil
}

// gzipMagic are the first bytes of a gzip file.
const gzipMagic = "\x1f\x8b"

// gcPercentOfPieces is the share by which the heap may grow before it is collected while
// a large file is read.
const gcPercentOfPieces = 40

// pieceBytes is the size of the pieces in which a large file is read: about a
// sixth of the memory that reading takes.
const pieceBytes = 4 << 20

// pieces calls do with a file, or with pieces of a large one, each of which has the
// header of the file. read reads the first piece of several: its mapping is that of
// all. It reports the progress of several pieces.
func (s source) pieces(std streams, read func(data []byte) (*ingest.Result, error), do func(data []byte, name string, first *ingest.Result, last bool) error) error {
	r, size, err := s.open(std.in)
	if err != nil {
		return err
	}
	defer r.Close()
	in := bufio.NewReaderSize(r, 64<<10)
	limit := s.whole
	data, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", s.path, err)
	}
	if len(data) == 0 {
		return fmt.Errorf("%s: the file is empty", s.name)
	}
	if len(data) <= limit {
		return do(data, s.name, nil, true)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return fmt.Errorf("%s: only text is read in pieces; a file of another format may have %s", s.path, display.Bytes(limit))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercentOfPieces))
	begun, sent, n := time.Now(), int64(0), 0
	var first *ingest.Result
	return piece.Each(io.MultiReader(bytes.NewReader(data), in), s.piece, func(v piece.Piece) error {
		n++
		if err := do(v.Data, fmt.Sprintf("%s (part %d)", s.name, n), first, v.Last); err != nil {
			return err
		}
		sent += int64(len(v.Data))
		fmt.Fprintln(std.err, progress(s.name, sent, size, time.Since(begun)))
		return nil
	}, func(data []byte) (dataLine int, err error) {
		if first, err = read(data); err != nil {
			return 0, fmt.Errorf("%s: %w", s.name, err)
		}
		return first.DataLine, nil
	})
}

// progress says how much of a file is done, how fast, and how long the rest takes.
func progress(name string, done, size int64, took time.Duration) string {
	return progressFrom(name, 0, done, size, took)
}

// progressFrom is progress of a file of which a part was done before.
func progressFrom(name string, before, done, size int64, took time.Duration) string {
	rate := max(float64(done-before), 1) / max(took.Seconds(), 1e-3)
	text := fmt.Sprintf("%s: %s at %s", name, display.Bytes(done), display.ByteRate(rate))
	if size > 0 {
		const cells = 20
		share := min(1, float64(done)/float64(size))
		filled := int(share * cells)
		left := time.Duration(float64(size-done) / rate * float64(time.Second)).Round(time.Second)
		text += fmt.Sprintf(" [%s%s] %s, %s left", strings.Repeat("#", filled), strings.Repeat(".", cells-filled), display.Percent(share), max(left, 0))
	}
	return text
}
