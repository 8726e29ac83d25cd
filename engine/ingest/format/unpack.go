package format

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Part is one file of a container: its bytes, or its tables if it is a workbook or another binary format.
type Part struct {
	Name   string   // in the archive; "" if the file was not in one
	How    []string // how it was packed, outermost first: "gzip", "zip"
	Data   []byte   // nil if there are Tables
	Tables []Table
}

// maxDepth is the number of containers within each other: an archive of a compressed archive of workbooks.
const maxDepth = 4

// packed are the first bytes of compressed files, archives and workbooks.
var packed = []string{gzipMagic, zstdMagic, zipMagic, emptyZipMagic}

const (
	gzipMagic     = "\x1f\x8b"
	zstdMagic     = "\x28\xb5\x2f\xfd"
	zipMagic      = "PK\x03\x04"
	emptyZipMagic = "PK\x05\x06"
	parquetMagic  = "PAR1"
)

// Packed reports whether data, of which the beginning suffices, is compressed, an archive or another
// binary format that [Unpack] opens or refuses.
func Packed(data []byte) bool {
	for _, p := range packed {
		if bytes.HasPrefix(data, []byte(p)) {
			return true
		}
	}
	return isBzip2(data) || isParquet(data) || isTar(data) || Refusal(data) != nil
}

// isBzip2 reports whether data is compressed with bzip2: its magic is "BZh", a digit and the first block's.
func isBzip2(data []byte) bool {
	return len(data) > 10 && string(data[:3]) == "BZh" && (string(data[4:10]) == "1AY&SY" || string(data[4:10]) == "\x17\x72\x45\x38\x50\x90")
}

// isParquet distinguishes Parquet from a text that begins with a column called "PAR1".
func isParquet(data []byte) bool {
	if !bytes.HasPrefix(data, []byte(parquetMagic)) {
		return false
	}
	return bytes.ContainsFunc(data[:min(len(data), 64)], func(r rune) bool { return r < '\t' })
}

// Unpack opens compression, archives and binary formats until plain files and tables are left. Data that is
// none of these is returned as its only part.
func Unpack(data []byte, b *Budget) ([]Part, error) {
	return unpack(Part{Data: data}, b, 0)
}

func unpack(p Part, b *Budget, depth int) ([]Part, error) {
	if err := Refusal(p.Data); err != nil {
		return nil, err
	}
	has := func(prefix string) bool { return bytes.HasPrefix(p.Data, []byte(prefix)) }
	if depth >= maxDepth && Packed(p.Data) {
		return nil, fail(TooLarge, "the file contains more than %d archives within each other; extract it first", maxDepth)
	}
	switch {
	case has(gzipMagic):
		r, err := gzip.NewReader(bytes.NewReader(p.Data))
		if err != nil {
			return nil, damaged(err, "the gzip file")
		}
		return stream(p, r, "gzip", b, depth)
	case isBzip2(p.Data):
		return stream(p, bzip2.NewReader(bytes.NewReader(p.Data)), "bzip2", b, depth)
	case has(zstdMagic):
		r, err := zstd.NewReader(bytes.NewReader(p.Data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, damaged(err, "the zstd file")
		}
		defer r.Close()
		return stream(p, r, "zstd", b, depth)
	case has(zipMagic), has(emptyZipMagic):
		return unzip(p, b, depth)
	case isParquet(p.Data):
		tables, err := readParquet(p.Data, b)
		return []Part{{Name: p.Name, How: p.How, Tables: tables}}, err
	case isTar(p.Data):
		return untar(p, b, depth)
	}
	return []Part{p}, nil
}

// stream opens one compressed stream.
func stream(p Part, r io.Reader, how string, b *Budget, depth int) ([]Part, error) {
	data, err := b.expand(r, "the "+how+" file")
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fail(Empty, "the %s file is empty", how)
	}
	return unpack(Part{Name: p.Name, How: append(slices.Clip(p.How), how), Data: data}, b, depth+1)
}

// ignored reports whether a file of an archive is made by an operating system, or describes the others.
func ignored(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(name, "/") || strings.HasPrefix(base, ".") || strings.HasPrefix(name, "__MACOSX/") ||
		strings.EqualFold(base, "thumbs.db") || strings.EqualFold(base, "desktop.ini")
}

func unzip(p Part, b *Budget, depth int) ([]Part, error) {
	z, err := zip.NewReader(bytes.NewReader(p.Data), int64(len(p.Data)))
	if err != nil {
		return nil, damaged(err, "the file, a spreadsheet or zip archive,")
	}
	if tables, ok, err := readWorkbook(z, b); ok || err != nil {
		return []Part{{Name: p.Name, How: p.How, Tables: tables}}, err
	}
	var parts []Part
	for _, f := range z.File {
		if ignored(f.Name) {
			continue
		}
		if err := b.open(); err != nil {
			return nil, err
		}
		if f.Flags&1 != 0 {
			return nil, fail(Unsupported, "the zip archive is protected by a password; extract it first")
		}
		r, err := f.Open()
		if err != nil {
			return nil, damaged(err, "the zip archive")
		}
		inner, err := archived(p, r, f.Name, "zip", b, depth)
		r.Close()
		if err != nil {
			return nil, err
		}
		parts = append(parts, inner...)
	}
	if len(parts) == 0 {
		return nil, fail(Empty, "the zip archive contains no file")
	}
	return parts, nil
}

// archived opens one file of an archive.
func archived(p Part, r io.Reader, name, how string, b *Budget, depth int) ([]Part, error) {
	data, err := b.expand(r, "the file "+quote(name)+" of the "+how+" archive")
	if err != nil {
		return nil, err
	}
	inner := Part{Name: path.Join(p.Name, name), How: append(slices.Clip(p.How), how), Data: data}
	if Refusal(data) != nil {
		return []Part{inner}, nil // the caller leaves out files that cannot be read, if others can be
	}
	return unpack(inner, b, depth+1)
}

// isTar reports whether data is a tar archive, by the mark in its first header.
func isTar(data []byte) bool {
	const at = 257
	return len(data) > at+5 && string(data[at:at+5]) == "ustar"
}

func untar(p Part, b *Budget, depth int) ([]Part, error) {
	t := tar.NewReader(bytes.NewReader(p.Data))
	var parts []Part
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, damaged(err, "the tar archive")
		}
		if h.Typeflag != tar.TypeReg || ignored(h.Name) {
			continue
		}
		if err := b.open(); err != nil {
			return nil, err
		}
		inner, err := archived(p, t, h.Name, "tar", b, depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, inner...)
	}
	if len(parts) == 0 {
		return nil, fail(Empty, "the tar archive contains no file")
	}
	return parts, nil
}

// quote returns a name from a file, shortened and without control characters, for a message.
func quote(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	if runes := []rune(name); len(runes) > 60 {
		name = string(runes[:59]) + "…"
	}
	return `"` + name + `"`
}
