package ingest

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// magics are the first bytes of files that are often renamed to .csv.
var magics = []struct {
	prefix string
	kind   Kind
	what   string
}{
	{"PK\x03\x04", NotText, "a spreadsheet or zip archive"},
	{"\xd0\xcf\x11\xe0", NotText, "an old binary spreadsheet"},
	{"\x1f\x8b", NotText, "gzip-compressed data"},
	{"BZh", NotText, "bzip2-compressed data"},
	{"\x28\xb5\x2f\xfd", NotText, "zstd-compressed data"},
	{"7z\xbc\xaf", NotText, "a 7-Zip archive"},
	{"Rar!", NotText, "a RAR archive"},
	{"%PDF", NotText, "a PDF document"},
	{"SQLite format 3", NotText, "a database"},
	{"PAR1", NotText, "a Parquet file"},
	{"\x89PNG", NotText, "an image"},
	{"\xff\xd8\xff", NotText, "an image"},
	{"{", NotCSV, "JSON"},
	{"[{", NotCSV, "JSON"},
	{"<", NotCSV, "HTML or XML"},
}

// headBytes is the length of the start of a file that is examined to determine
// its encoding.
const headBytes = 64 << 10

// decodeText converts the bytes of a file to UTF-8 without a byte order mark,
// and names the encoding. It rejects content that is not delimited text.
func decodeText(raw []byte) (text []byte, name string, err error) {
	lead := bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), " \t\r\n")
	for _, m := range magics {
		if bytes.HasPrefix(lead, []byte(m.prefix)) {
			return nil, "", refuse(m.kind, 1, "the file is %s, not delimited text", m.what)
		}
	}
	if enc, name := utf16Of(raw); enc != nil {
		text, err := enc.NewDecoder().Bytes(raw)
		if err != nil {
			return nil, "", refuse(NotText, 0, "the file looks like %s text but cannot be decoded", name)
		}
		return text, name, nil
	}
	if share := controlShare(raw); share > 0.1 {
		return nil, "", refuse(NotText, 1, "%.0f %% of the first bytes are control characters: the file is not text", 100*share)
	}
	if text, ok := bytes.CutPrefix(raw, []byte("\xef\xbb\xbf")); ok && utf8.Valid(text) {
		return text, "UTF-8 with a byte order mark", nil
	}
	if utf8.Valid(raw) {
		return raw, "UTF-8", nil
	}
	if pairedHighBytes(raw) {
		if text, err := simplifiedchinese.GB18030.NewDecoder().Bytes(raw); err == nil && !bytes.ContainsRune(text, utf8.RuneError) {
			return text, "GB18030 (Chinese)", nil
		}
	}
	text, err = charmap.Windows1252.NewDecoder().Bytes(raw)
	if err != nil {
		return nil, "", fmt.Errorf("decode Windows-1252: %w", err)
	}
	return text, "Windows-1252", nil
}

// unquoteLines takes off the quotes around whole lines, which programs that
// hold a table for a single column of text add; quotes within are doubled then.
// ok is false, and the text as it was, where lines are written otherwise.
func unquoteLines(text []byte) (plain []byte, ok bool) {
	const looked = 20
	n := 0
	for rest := text; len(rest) > 0 && n < looked; {
		line, after, _ := cutLine(rest)
		rest = after
		if len(line) == 0 {
			continue
		}
		n++
		if len(line) < 3 || line[0] != '"' || line[len(line)-1] != '"' || !bytes.ContainsAny(line, ",;\t|") ||
			bytes.ContainsRune(bytes.ReplaceAll(line[1:len(line)-1], []byte(`""`), nil), '"') {
			return text, false
		}
	}
	if n < 2 {
		return text, false
	}
	plain = make([]byte, 0, len(text))
	for rest := text; len(rest) > 0; {
		line, after, _ := cutLine(rest)
		if len(line) > 1 && line[0] == '"' && line[len(line)-1] == '"' {
			line = bytes.ReplaceAll(line[1:len(line)-1], []byte(`""`), []byte(`"`))
		}
		plain = append(append(plain, line...), '\n')
		rest = after
	}
	return plain, true
}

// utf16Of recognises UTF-16 by its byte order mark, or by the zero high bytes
// of Latin text.
func utf16Of(raw []byte) (encoding.Encoding, string) {
	little := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	big := unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	switch {
	case bytes.HasPrefix(raw, []byte("\xff\xfe")):
		return little, "UTF-16, little endian"
	case bytes.HasPrefix(raw, []byte("\xfe\xff")):
		return big, "UTF-16, big endian"
	}
	head := raw[:min(len(raw), 4096)]
	if len(head) < 16 {
		return nil, ""
	}
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	const many, few = 0.35, 0.02
	pairs := float64(len(head) / 2)
	switch even, odd := float64(zeros[0])/pairs, float64(zeros[1])/pairs; {
	case odd > many && even < few:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16, little endian, without a byte order mark"
	case even > many && odd < few:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16, big endian, without a byte order mark"
	}
	return nil, ""
}

// controlShare is the part of control characters in the head. Loggers that
// lost power leave runs of NUL; those few do not make a file binary.
func controlShare(raw []byte) float64 {
	head := raw[:min(len(raw), headBytes)]
	if len(head) == 0 {
		return 0
	}
	n := 0
	for _, b := range head {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != '\v' {
			n++
		}
	}
	return float64(n) / float64(len(head))
}

// pairedHighBytes distinguishes Chinese from Western text: GBK characters are
// pairs of high bytes, while accents of Windows-1252 are single bytes between
// ASCII letters.
func pairedHighBytes(raw []byte) bool {
	high, paired := 0, 0
	for i := 0; i < len(raw) && i < headBytes; {
		j := i
		for j < len(raw) && raw[j] >= 0x80 {
			j++
		}
		if n := j - i; n > 0 {
			high += n
			if n%2 == 0 {
				paired += n
			}
			i = j
			continue
		}
		i++
	}
	return high > 0 && float64(paired) > 0.8*float64(high)
}
