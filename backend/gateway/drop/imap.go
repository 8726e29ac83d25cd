package drop

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
)

// IMAP is a mailbox. It is opened to be read only: no message is changed or marked.
type IMAP struct {
	Config
	Address      string // imaps://host:993, or imap://host:143, which must offer STARTTLS
	User         string
	PasswordFile string
	CAFile       string   // the only certificates that are trusted; empty: those of the system
	Mailbox      string   // empty: INBOX
	Senders      []string // addresses, or @domain; nil: all
	OncePerID    bool     // a message whose Message-ID was read before is left out
}

// attachmentPatterns are the names of attachments that the import may be able to read.
var attachmentPatterns = []string{"*.csv", "*.tsv", "*.txt", "*.xlsx", "*.ods", "*.xls", "*.xml", "*.json", "*.zip", "*.gz", "*.tgz", "*.tar", "*.bz2", "*.zst"}

// attachmentTypes are the types of attachments without a name, with the ending that they get.
var attachmentTypes = map[string]string{
	"text/csv": ".csv", "application/csv": ".csv", "text/tab-separated-values": ".tsv", "application/zip": ".zip", "application/x-zip-compressed": ".zip", "application/gzip": ".gz",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}

// Check returns an error if a configuration cannot work. It reads the files.
func (c *IMAP) Check() error {
	if _, _, err := c.server(); err != nil {
		return err
	}
	if c.User == "" {
		return errors.New("user: required")
	}
	if c.PasswordFile == "" {
		return errors.New("password_file: required")
	}
	for _, s := range c.Senders {
		if at := strings.LastIndexByte(s, '@'); at < 0 || at == len(s)-1 || strings.ContainsAny(s, " <>") {
			return fmt.Errorf("senders: %q is neither an address nor a domain such as @example.com", s)
		}
	}
	if _, err := readSecret("password_file", c.PasswordFile); err != nil {
		return err
	}
	_, err := c.tls()
	return err
}

// server returns host:port, and whether the connection begins with TLS.
func (c *IMAP) server() (address string, implicit bool, err error) {
	u, err := url.Parse(c.Address)
	wrong := fmt.Errorf("address %q: must be imaps://host:993, or imap://host:143 for a server with STARTTLS", c.Address)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Scheme != "imap" && u.Scheme != "imaps" {
		return "", false, wrong
	}
	port := cmp.Or(u.Port(), map[string]string{"imap": "143", "imaps": "993"}[u.Scheme])
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", false, wrong
	}
	return net.JoinHostPort(u.Hostname(), port), u.Scheme == "imaps", nil
}

func (c *IMAP) tls() (*tls.Config, error) {
	address, _, err := c.server()
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(address) // it was joined there
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if c.CAFile == "" {
		return out, nil
	}
	b, err := readSmall("ca_file", c.CAFile)
	if err != nil {
		return nil, err
	}
	if out.RootCAs = x509.NewCertPool(); !out.RootCAs.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("ca_file: %s has no certificate in PEM", c.CAFile)
	}
	return out, nil
}

// NewIMAP returns the source of a mailbox.
func NewIMAP(c IMAP, o Options) *Source {
	p := &imapPlace{IMAP: c, options: o}
	s := newSource(KindIMAP, c.Config, p, o)
	p.skipped = func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.status.Skipped += n
	}
	return s
}

// imapPlace is a place with one connection for each scan.
type imapPlace struct {
	IMAP
	options Options
	skipped func(messages int)

	meter   *meter
	client  *imapclient.Client
	stop    func() bool
	reached upload.Position // after the messages of the list
	listed  bool            // there were messages
}

// Bounds of a mailbox.
const (
	maxMessages    = 200 // of a list
	maxAttachments = 100 // of a message
)

func (p *imapPlace) mailbox() string { return cmp.Or(p.Mailbox, "INBOX") }

func (p *imapPlace) where() string {
	address, _, _ := p.server() // it was checked
	return "imap://" + p.User + "@" + address + "/" + p.mailbox()
}

func (p *imapPlace) end() {
	if p.stop != nil {
		p.stop()
	}
	if p.client != nil {
		_ = p.client.Close() // nothing was changed through it
	}
	p.client, p.stop, p.listed = nil, nil, false
}

func (p *imapPlace) connect(ctx context.Context) error {
	config, err := p.tls()
	if err != nil {
		return err
	}
	password, err := readSecret("password_file", p.PasswordFile)
	if err != nil {
		return err
	}
	address, implicit, err := p.server()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	p.meter = &meter{Conn: conn}
	p.meter.allow(0)
	abort := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = p.signIn(ctx, config, implicit, password)
	if !abort() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return withoutSecret(err, password)
	}
	return nil
}

func (p *imapPlace) signIn(ctx context.Context, config *tls.Config, implicit bool, password string) (err error) {
	options := &imapclient.Options{TLSConfig: config, WordDecoder: &mime.WordDecoder{}}
	if implicit {
		c := tls.Client(p.meter, config)
		if err := c.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("begin TLS: %w", err)
		}
		p.client = imapclient.New(c, options)
	} else if p.client, err = imapclient.NewStartTLS(p.meter, options); err != nil {
		return fmt.Errorf("begin TLS: %w", err)
	}
	if err := p.client.WaitGreeting(); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := p.client.Login(p.User, password).Wait(); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

func (p *imapPlace) list(ctx context.Context) (files []file, more bool, err error) {
	if err := p.connect(ctx); err != nil {
		return nil, false, err
	}
	conn := p.meter
	p.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	box, err := p.client.Select(p.mailbox(), &imap.SelectOptions{ReadOnly: true}).Wait()
	if err != nil {
		return nil, false, fmt.Errorf("open mailbox %s: %w", p.mailbox(), err)
	}
	if p.reached, err = p.options.Intake.Position(ctx, p.Name); err != nil {
		return nil, false, err
	}
	if p.reached.Validity != box.UIDValidity {
		p.reached.Validity, p.reached.Next = box.UIDValidity, 1
	}
	if box.NumMessages == 0 || box.UIDNext != 0 && uint32(box.UIDNext) <= p.reached.Next {
		return nil, false, nil
	}
	var span imap.UIDSet
	span.AddRange(imap.UID(p.reached.Next), 0)
	found, err := p.client.UIDSearch(&imap.SearchCriteria{UID: []imap.UIDSet{span}}, nil).Wait()
	if err != nil {
		return nil, false, fmt.Errorf("search mailbox %s: %w", p.mailbox(), err)
	}
	uids := slices.DeleteFunc(found.AllUIDs(), func(u imap.UID) bool { return uint32(u) < p.reached.Next }) // a server answers with the last message if none is new
	slices.Sort(uids)
	if len(uids) > maxMessages {
		uids, more = uids[:maxMessages], true
	}
	if len(uids) == 0 {
		return nil, false, nil
	}
	messages, err := p.client.Fetch(imap.UIDSetNum(uids...), &imap.FetchOptions{UID: true, Envelope: true, BodyStructure: &imap.FetchItemBodyStructure{Extended: true}}).Collect()
	if err != nil {
		return nil, false, fmt.Errorf("list messages: %w", err)
	}
	slices.SortFunc(messages, func(a, b *imapclient.FetchMessageBuffer) int { return cmp.Compare(a.UID, b.UID) })
	others := 0
	for _, m := range messages {
		if !slices.Contains(uids, m.UID) || m.BodyStructure == nil {
			continue
		}
		if !p.isSender(m.Envelope) {
			others++
			continue
		}
		files = append(files, p.attachments(m)...)
	}
	p.reached.Next = uint32(uids[len(uids)-1]) + 1
	p.reached.Source, p.listed = p.Name, true
	p.skipped(others)
	return files, more, nil
}

// isSender reports whether messages of the sender are read.
func (p *imapPlace) isSender(e *imap.Envelope) bool {
	if len(p.Senders) == 0 {
		return true
	}
	if e == nil || len(e.From) != 1 { // several authors: it is not clear who sent it
		return false
	}
	from := strings.ToLower(e.From[0].Addr())
	for _, s := range p.Senders {
		if s = strings.ToLower(s); from == s || strings.HasPrefix(s, "@") && strings.HasSuffix(from, s) {
			return true
		}
	}
	return false
}

// attachments are those of a message that are to be read.
func (p *imapPlace) attachments(m *imapclient.FetchMessageBuffer) (files []file) {
	m.BodyStructure.Walk(func(at []int, part imap.BodyStructure) bool {
		one, ok := part.(*imap.BodyStructureSinglePart)
		if !ok || len(files) == maxAttachments {
			return true
		}
		name := fileName(one)
		number := strings.Trim(strings.ReplaceAll(fmt.Sprint(at), " ", "."), "[]")
		if name == "" {
			ending, known := attachmentTypes[one.MediaType()]
			if !known {
				return true
			}
			name = "attachment-" + number + ending
		}
		patterns := p.Patterns
		if patterns == nil {
			patterns = attachmentPatterns
		}
		if !matches(patterns, name) {
			return true
		}
		f := file{name: name, mark: fmt.Sprintf("%d %d %s", p.reached.Validity, m.UID, number), size: int64(one.Size), uid: uint32(m.UID), part: slices.Clone(at), code: strings.ToLower(one.Encoding)}
		if f.code == "base64" {
			f.size = f.size / 4 * 3 // at least; with line ends it is less
			f.size -= f.size / 30
		}
		if p.OncePerID && m.Envelope != nil && m.Envelope.MessageID != "" {
			sum := sha256.Sum256([]byte(m.Envelope.MessageID + "\x00" + number))
			f.message = hex.EncodeToString(sum[:])
		}
		files = append(files, f)
		return true
	})
	return files
}

// fileName is the name of an attachment, without folders; empty without one. It reads
// names in the parts and encodings of RFC 2231 and the words of RFC 2047.
func fileName(part *imap.BodyStructureSinglePart) string {
	name := ""
	if d := part.Disposition(); d != nil {
		name = parameter(d.Params, "filename")
	}
	name = cmp.Or(name, parameter(part.Params, "name"))
	if decoded, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
		name = decoded
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = path.Base(strings.TrimSpace(strings.ReplaceAll(name, `\`, "/")))
	if name == "." || name == "/" || name == ".." {
		return ""
	}
	return baseName(name)
}

// parameter returns a parameter of a header field, which may be in parts.
func parameter(params map[string]string, key string) string {
	if v := params[key]; v != "" {
		return v
	}
	var text strings.Builder
	text.WriteString("x")
	for k, v := range params {
		if strings.HasPrefix(k, key+"*") {
			fmt.Fprintf(&text, "; %s=%q", k, v)
		}
	}
	_, all, err := mime.ParseMediaType(text.String())
	if err != nil {
		return ""
	}
	return all[key]
}

func (p *imapPlace) open(_ context.Context, f file) (io.ReadCloser, error) {
	p.meter.allow(f.size)
	section := &imap.FetchItemBodySection{Part: f.part, Peek: true}
	command := p.client.Fetch(imap.UIDSetNum(imap.UID(f.uid)), &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{section}})
	var body []byte
	got := false
	for m := command.Next(); m != nil; m = command.Next() {
		for item := m.Next(); item != nil; item = m.Next() {
			data, ok := item.(imapclient.FetchItemDataBodySection)
			if !ok || data.Literal == nil || got {
				continue
			}
			b, err := io.ReadAll(io.LimitReader(data.Literal, 2*api.MaxUploadBytes))
			if err != nil {
				_ = command.Close() // the connection failed
				return nil, fmt.Errorf("read attachment: %w", err)
			}
			body, got = b, true
		}
	}
	if err := command.Close(); err != nil {
		return nil, fmt.Errorf("read attachment: %w", err)
	}
	if !got {
		return nil, errGone // the message was deleted
	}
	return io.NopCloser(bytes.NewReader(decode(f.code, body))), nil
}

// decode undoes a transfer encoding. What is not encoded as it says stays as it is: the
// import refuses it with a record.
func decode(encoding string, body []byte) []byte {
	var r io.Reader
	switch encoding {
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, bytes.NewReader(body))
	case "quoted-printable":
		r = quotedprintable.NewReader(bytes.NewReader(body))
	default:
		return body
	}
	out, err := io.ReadAll(r)
	if err != nil {
		return body
	}
	return out
}

// move does nothing: messages stay where they are.
func (p *imapPlace) move(context.Context, file, string, bool) error { return nil }

func (p *imapPlace) delivered(ctx context.Context) error {
	if !p.listed {
		return nil
	}
	return p.options.Intake.SetPosition(ctx, p.reached)
}
