package mail

import (
	"bytes"
	"fmt"
	"io"
	netmail "net/mail"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	gomail "github.com/wneessen/go-mail"
)

// Message is an e-mail message. To is a bare address, as [Address] gives it.
type Message struct {
	To, Subject, Text string
	At                time.Time // its date

	// HTML is the same text for programs that show HTML; empty: plain text only.
	// It refers to a picture by its [Picture.URL].
	HTML     string
	Pictures []Picture

	// ID is the local part of the message's Message-ID; empty: a random one. A message
	// that is sent again has the same ID, so that a program may recognize the copy.
	ID string
	// Thread holds the IDs of the earlier messages that this one follows, first to
	// last. Programs that group messages by thread show it below them.
	Thread []string
}

// Picture is a PNG picture that the HTML text shows. Name is its file name, of the
// characters of an [Message.ID].
type Picture struct {
	Name string
	PNG  []byte
}

// contentID is the picture's Content-ID, without its brackets.
func (p Picture) contentID() string { return p.Name + "@sunloop" }

// URL is the address of the picture in the HTML text.
func (p Picture) URL() string { return "cid:" + p.contentID() }

// maxAddress is the longest path of RFC 5321, 4.5.3.1.3, without its brackets.
const maxAddress = 254

// Address returns the bare address in text, with its domain in lower case. A
// display name, a comment, a quoted local part and an address literal are
// rejected, because they are mistakes in a form.
func Address(text string) (string, error) {
	text = strings.TrimSpace(text)
	a, err := netmail.ParseAddress(text)
	if err != nil || a.Address != text || len(text) > maxAddress {
		return "", fmt.Errorf("%.80q is not an e-mail address", text)
	}
	at := strings.LastIndexByte(text, '@')
	local, domain := text[:at], strings.ToLower(text[at+1:])
	if len(local) > 64 || strings.ContainsAny(local, "\" ") || !hostname(domain) {
		return "", fmt.Errorf("%.80q is not an e-mail address", text)
	}
	return local + "@" + domain, nil
}

// hostname reports whether a domain has at least two labels, each of letters,
// digits and hyphens; letters beyond ASCII are left to the mail server.
func hostname(domain string) bool {
	labels := strings.Split(domain, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		for i := range len(l) {
			c := l[i]
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c < 0x80 {
				return false
			}
		}
	}
	return len(labels) > 1
}

// compose returns the message as it is transmitted.
func compose(from string, m Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg()
	if err := msg.From(from); err != nil {
		return nil, fmt.Errorf("sender %q: %w", from, err)
	}
	if bare, err := Address(m.To); err != nil || bare != m.To {
		return nil, fmt.Errorf("recipient: %.80q is not a bare e-mail address", m.To)
	}
	if err := msg.To(m.To); err != nil {
		return nil, fmt.Errorf("recipient %q: %w", m.To, err)
	}
	msg.Subject(m.Subject)
	msg.SetDateWithValue(m.At)
	domain := "@" + domainOf(from)
	id := m.ID
	if id == "" {
		id = ulid.MustNew(ulid.Timestamp(m.At), ulid.DefaultEntropy()).String()
	}
	if err := checkIDs(append([]string{id}, m.Thread...)); err != nil {
		return nil, err
	}
	msg.SetMessageIDWithValue(id + domain)
	if n := len(m.Thread); n > 0 {
		ids := make([]string, n)
		for i, t := range m.Thread {
			ids[i] = "<" + t + domain + ">"
		}
		msg.SetGenHeader(gomail.HeaderInReplyTo, ids[n-1])
		msg.SetGenHeader(gomail.HeaderReferences, strings.Join(ids, " "))
	}
	msg.SetUserAgent("Sunloop")
	// RFC 3834: an automatic message, which no other program should answer.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	for _, p := range m.Pictures {
		if err := checkIDs([]string{p.Name}); err != nil {
			return nil, fmt.Errorf("picture: %w", err)
		}
		if err := msg.EmbedReader(p.Name, bytes.NewReader(p.PNG), gomail.WithFileContentID("<"+p.contentID()+">"), gomail.WithFileContentType("image/png")); err != nil {
			return nil, fmt.Errorf("add picture %q: %w", p.Name, err)
		}
	}
	return msg, nil
}

func domainOf(from string) string {
	a, err := netmail.ParseAddress(from)
	if err != nil {
		return "localhost"
	}
	return a.Address[strings.LastIndexByte(a.Address, '@')+1:]
}

// write writes the message in the form of a file.
func write(w io.Writer, from string, m Message) error {
	msg, err := compose(from, m)
	if err != nil {
		return err
	}
	_, err = msg.WriteTo(w)
	return err
}

// maxID is the longest local part of a Message-ID, and maxThread how many messages a
// message may follow.
const (
	maxID     = 64
	maxThread = 20
)

// checkIDs refuses local parts of a Message-ID that are no dot-atom of RFC 5322.
func checkIDs(ids []string) error {
	if len(ids) > maxThread+1 {
		return fmt.Errorf("message follows more than %[2]d messages: %[1]d", len(ids)-1, maxThread)
	}
	for _, id := range ids {
		if id == "" || len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool {
			return !(r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
		}) {
			return fmt.Errorf("message ID %.80q: it has other characters than letters, digits, hyphens, underscores and dots, or not 1 to %d of them", id, maxID)
		}
	}
	return nil
}
