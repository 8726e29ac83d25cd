package ingest

import (
	"bytes"
	"fmt"
	"strings"
	letters "unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"app.sunloop/internal/display"
)

// headBytes is the length of the start of a file that is examined to determine
// its encoding.
const headBytes = 64 << 10

// decodeText converts the bytes of a file to UTF-8 without a byte order mark,
// and names the encoding. It rejects content that is not delimited text.
func decodeText(raw []byte) (text []byte, name string, err error) {
	if enc, name := utf32Of(raw); enc != nil {
		text, err := enc.NewDecoder().Bytes(raw)
		if err != nil {
			return nil, "", refuse(NotText, 0, "the file looks like %s text but cannot be decoded", name)
		}
		return text, name, nil
	}
	if enc, name := utf16Of(raw); enc != nil {
		text, err := enc.NewDecoder().Bytes(raw)
		if err != nil {
			return nil, "", refuse(NotText, 0, "the file looks like %s text but cannot be decoded", name)
		}
		return text, name, nil
	}
	if share := controlShare(raw); share > 0.1 {
		return nil, "", refuse(NotText, 1, "%s of the first bytes are control characters: the file is not text", display.Percent(share))
	}
	if text, ok := bytes.CutPrefix(raw, []byte("\xef\xbb\xbf")); ok && utf8.Valid(text) {
		return text, "UTF-8 with a byte order mark", nil
	}
	if utf8.Valid(raw) {
		return raw, "UTF-8", nil
	}
	if e, ok := encodingByWords(raw); ok {
		if text, err := e.NewDecoder().Bytes(raw); err == nil {
			return text, e.name, nil
		}
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

// namedEncoding is an encoding with the name that decisions show.
type namedEncoding struct {
	encoding.Encoding
	name string
}

// encodings are those that are distinguished by the words of the header.
var encodings = []namedEncoding{
	{charmap.Windows1252, "Windows-1252"}, {simplifiedchinese.GB18030, "GB18030 (Chinese)"}, {japanese.ShiftJIS, "Shift JIS (Japanese)"}, {korean.EUCKR, "EUC-KR (Korean)"},
	{traditionalchinese.Big5, "Big5 (Chinese)"}, {japanese.EUCJP, "EUC-JP (Japanese)"}, {charmap.Windows1251, "Windows-1251 (Cyrillic)"},
	{charmap.Windows1253, "Windows-1253 (Greek)"}, {charmap.KOI8R, "KOI8-R (Cyrillic)"},
}

// encodingByWords finds the encoding in which the first lines have more known words
// with letters beyond ASCII than in any other; ok is false if no other has more than
// Windows-1252.
func encodingByWords(raw []byte) (best namedEncoding, ok bool) {
	const looked = 4096
	head := raw[:min(len(raw), looked)]
	if i := bytes.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i]
	}
	most, first := 0, 0
	for i, e := range encodings {
		text, err := e.NewDecoder().Bytes(head)
		if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
			continue
		}
		n, seen := 0, map[string]bool{}
		_, oneByte := e.Encoding.(*charmap.Charmap)
		for _, t := range tokensOf(string(text)) {
			if strings.ContainsFunc(t, isLatin) {
				if oneByte && strings.ContainsFunc(t, isLetterBeyondLatin) { // "Vдli" is "Väli"
					n = 0
					break
				}
				continue
			}
			if !seen[t] && strings.ContainsFunc(t, func(r rune) bool { return r >= 0x80 }) && tokenConcepts(t) != 0 {
				seen[t] = true
				n += utf8.RuneCountInString(t)
			}
		}
		if i == 0 {
			first = n
		}
		if n > most {
			most, best = n, e
		}
	}
	return best, most > first
}

func isLatin(r rune) bool { return r < 0x80 && letters.IsLetter(r) }

func isLetterBeyondLatin(r rune) bool { return letters.IsLetter(r) && !letters.Is(letters.Latin, r) }

// unquoteLines removes the quotes around whole lines, which programs add that treat
// a line as a single column of text; quotes within are doubled then. ok is false, and
// the text unchanged, if lines have another form.
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

// utf32Of recognises UTF-32 by its byte order mark, or by the three zero bytes of each Latin character.
func utf32Of(raw []byte) (encoding.Encoding, string) {
	switch {
	case bytes.HasPrefix(raw, []byte("\xff\xfe\x00\x00")):
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM), "UTF-32, little endian"
	case bytes.HasPrefix(raw, []byte("\x00\x00\xfe\xff")):
		return utf32.UTF32(utf32.BigEndian, utf32.UseBOM), "UTF-32, big endian"
	}
	head := raw[:min(len(raw), 4096)]
	if len(head) < 32 {
		return nil, ""
	}
	var zeros [4]int
	for i, b := range head {
		if b == 0 {
			zeros[i%4]++
		}
	}
	const many, few = 0.9, 0.02
	quarter := float64(len(head) / 4)
	share := func(i int) float64 { return float64(zeros[i]) / quarter }
	switch {
	case share(0) < few && share(1) > many && share(2) > many && share(3) > many:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "UTF-32, little endian, without a byte order mark"
	case share(3) < few && share(0) > many && share(1) > many:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "UTF-32, big endian, without a byte order mark"
	}
	return nil, ""
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

// controlShare returns the part of control characters in the head. Loggers that
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
