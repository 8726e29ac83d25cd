package format

import (
	"bufio"
	"bytes"
	"errors"
	"html"
	"io"
	"strings"
)

// markup reads XML and HTML as a stream of tags and text. It checks no nesting: files of portals that are
// called XML or HTML often have none that is valid.
type markup struct {
	r     *bufio.Reader
	names map[string]string // names seen, so that each is one string

	kind  markupKind
	name  string // of a tag, in lower case, without the prefix of a namespace
	attrs []attribute
	empty bool   // the tag ends itself: "<c/>"
	text  []byte // of text, undecoded; valid until next
	raw   bool   // text is a CDATA section: nothing is to be decoded
	inner string // name of the HTML element whose content is no markup: "script", "style"
	size  int
}

type attribute struct{ name, value string }

type markupKind uint8

const (
	markupText markupKind = iota
	markupStart
	markupEnd
)

// maxToken is the length of the longest tag or text in a file.
const maxToken = 1 << 20

func newMarkup(r io.Reader) *markup {
	return &markup{r: bufio.NewReaderSize(r, 32<<10), names: map[string]string{}}
}

// next moves to the next tag or text; io.EOF at the end, io.ErrUnexpectedEOF within a tag.
func (m *markup) next() error {
	for {
		m.text, m.raw = m.text[:0], false
		if m.inner != "" {
			if err := m.skipInner(); err != nil {
				return err
			}
			return m.tag()
		}
		c, err := m.r.ReadByte()
		if err != nil {
			return err
		}
		if c != '<' {
			m.kind = markupText
			if err := m.r.UnreadByte(); err != nil {
				return err
			}
			return m.until('<')
		}
		head, _ := m.r.Peek(8)
		switch {
		case bytes.HasPrefix(head, []byte("!--")):
			if err := m.through("-->"); err != nil {
				return err
			}
		case bytes.HasPrefix(head, []byte("![CDATA[")):
			if err := m.through("]]>"); err != nil {
				return err
			}
			m.text = bytes.TrimSuffix(bytes.TrimPrefix(m.text, []byte("![CDATA[")), []byte("]]>"))
			m.kind, m.raw = markupText, true
			return nil
		case bytes.HasPrefix(head, []byte("!")), bytes.HasPrefix(head, []byte("?")):
			if err := m.through(">"); err != nil {
				return err
			}
		default:
			return m.tag()
		}
	}
}

// until reads text up to a byte, which is not consumed.
func (m *markup) until(stop byte) error {
	for {
		part, err := m.r.ReadSlice(stop)
		m.text = append(m.text, part...)
		switch {
		case err == nil:
			m.text = m.text[:len(m.text)-1]
			return m.r.UnreadByte()
		case err == io.EOF && len(m.text) > 0:
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(m.text) > maxToken:
			return fail(TooLarge, "the file has a text of more than 1 MB between two tags")
		}
	}
}

// through reads text up to and including end.
func (m *markup) through(end string) error {
	last := end[len(end)-1]
	for {
		part, err := m.r.ReadSlice(last)
		m.text = append(m.text, part...)
		switch {
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		case bytes.HasSuffix(m.text, []byte(end)):
			return nil
		case len(m.text) > maxToken:
			return fail(TooLarge, "the file has a comment or declaration of more than 1 MB")
		}
	}
}

// skipInner moves past the "<" of the end tag of an element whose content is not markup.
func (m *markup) skipInner() error {
	end := "</" + m.inner
	m.inner = ""
	for {
		if _, err := m.r.ReadSlice('<'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		head, _ := m.r.Peek(len(end) - 1)
		if strings.EqualFold(string(head), end[1:]) {
			return nil
		}
	}
}

// tag reads a tag after its "<".
func (m *markup) tag() error {
	quote, first := byte(0), true
	for {
		c, err := m.r.ReadByte()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if c == '>' && quote == 0 {
			break
		}
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\'') && !first && m.text[len(m.text)-1] == '=':
			quote = c
		}
		m.text, first = append(m.text, c), false
		if len(m.text) > maxToken {
			return fail(TooLarge, "the file has a tag of more than 1 MB")
		}
	}
	t := m.text
	m.kind, m.empty, m.attrs = markupStart, false, m.attrs[:0]
	if len(t) > 0 && t[0] == '/' {
		m.kind, t = markupEnd, t[1:]
	} else if len(t) > 0 && t[len(t)-1] == '/' {
		m.empty, t = true, t[:len(t)-1]
	}
	end := bytes.IndexAny(t, " \t\r\n")
	if end < 0 {
		end = len(t)
	}
	m.name = m.intern(t[:end])
	if m.kind == markupStart {
		m.attributes(t[end:])
		if !m.empty && (m.name == "script" || m.name == "style") {
			m.inner = m.name
		}
	}
	return nil
}

func (m *markup) attributes(t []byte) {
	const most = 64
	for len(m.attrs) < most {
		t = bytes.TrimLeft(t, " \t\r\n")
		eq := bytes.IndexByte(t, '=')
		if eq < 0 {
			return
		}
		name := bytes.TrimRight(t[:eq], " \t\r\n")
		t = bytes.TrimLeft(t[eq+1:], " \t\r\n")
		var value []byte
		if len(t) > 0 && (t[0] == '"' || t[0] == '\'') {
			end := bytes.IndexByte(t[1:], t[0])
			if end < 0 {
				return
			}
			value, t = t[1:1+end], t[end+2:]
		} else {
			end := bytes.IndexAny(t, " \t\r\n")
			if end < 0 {
				end = len(t)
			}
			value, t = t[:end], t[end:]
		}
		if at := bytes.LastIndexAny(name, " \t\r\n"); at >= 0 { // an attribute without a value before it
			name = name[at+1:]
		}
		m.attrs = append(m.attrs, attribute{m.intern(name), decodeEntities(value)})
	}
}

// intern returns a name without its prefix, in lower case.
func (m *markup) intern(name []byte) string {
	if s, ok := m.names[string(name)]; ok {
		return s
	}
	plain := name
	if at := bytes.LastIndexByte(plain, ':'); at >= 0 {
		plain = plain[at+1:]
	}
	s := strings.ToLower(string(plain))
	if m.size += len(name); m.size < maxToken {
		m.names[string(name)] = s
	}
	return s
}

// attr returns the value of an attribute, "" if the tag has none.
func (m *markup) attr(name string) string {
	for _, a := range m.attrs {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

// content appends the decoded text to dst.
func (m *markup) content(dst []byte) []byte {
	if m.raw || bytes.IndexByte(m.text, '&') < 0 {
		return append(dst, m.text...)
	}
	return append(dst, html.UnescapeString(string(m.text))...)
}

func decodeEntities(b []byte) string {
	if bytes.IndexByte(b, '&') < 0 {
		return string(b)
	}
	return html.UnescapeString(string(b))
}
