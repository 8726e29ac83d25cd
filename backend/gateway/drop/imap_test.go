package drop

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"strings"
	"testing"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/drop/droptest"
)

// attached is an attachment as it is written into a message.
type attached = droptest.Attachment

func attach(header, body string) attached { return attached{Header: header, Body: body} }

func csv(name, content string) attached {
	return attach(fmt.Sprintf("Content-Type: text/csv\r\nContent-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: base64", name), base64.StdEncoding.EncodeToString([]byte(content)))
}

// letter is a message with attachments.
func letter(from, id string, parts ...attached) string { return droptest.Message(from, id, parts...) }

// mailbox is a server with the mailbox INBOX.
type mailbox struct {
	*droptest.Mailbox
	t *testing.T
}

// add puts messages into the mailbox.
func (m *mailbox) add(letters ...string) {
	m.t.Helper()
	if err := m.Add(letters...); err != nil {
		m.t.Fatal(err)
	}
}

// do works in the mailbox as another program of the user does.
func (m *mailbox) do(work func(*imapclient.Client) error) {
	m.t.Helper()
	if err := m.Do(work); err != nil {
		m.t.Fatal(err)
	}
}

// config reads the mailbox.
func (m *mailbox) config() IMAP {
	return IMAP{Config: testConfig(false), Address: m.URL(), User: droptest.User, PasswordFile: m.PasswordFile, CAFile: m.Authority, Senders: []string{"@logger.example"}}
}

// serveIMAP serves a mailbox from memory, with the server of the same library.
func serveIMAP(t *testing.T) *mailbox {
	t.Helper()
	dir := t.TempDir()
	pair, authority := droptest.Certificate(t, dir)
	put(t, filepath.Join(dir, "password"), "s3cret\n")
	users := imapmemserver.New()
	u := imapmemserver.NewUser(droptest.User, droptest.Password)
	if err := u.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	users.AddUser(u)
	server := imapserver.New(&imapserver.Options{NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
		return users.NewSession(), nil, nil
	}, InsecureAuth: true, Logger: log.New(io.Discard, "", 0), Caps: imap.CapSet{imap.CapIMAP4rev1: {}}})
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return &mailbox{&droptest.Mailbox{Address: l.Addr().String(), Authority: authority, PasswordFile: filepath.Join(dir, "password")}, t}
}

// TestIMAP reads a mailbox of the same library's server; TestDovecot reads one of Dovecot.
func TestIMAP(t *testing.T) { readMailbox(t, serveIMAP(t)) }

// readMailbox checks that each attachment is read once.
func readMailbox(t *testing.T, m *mailbox) {
	t.Helper()
	w := newWorld(t)
	c := m.config()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	scan := func() *Source {
		t.Helper()
		s := NewIMAP(c, w.options())
		for again := true; again; {
			var err error
			if again, err = s.Scan(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	scan() // of an empty mailbox
	m.add(
		letter("reports@logger.example", "1", csv("a.csv", "1"), csv("bad.csv", "bad")),
		letter("someone@else.example", "2", csv("b.csv", "2")),
		letter("reports@logger.example", "3",
			attach("Content-Type: text/csv; charset=utf-8\r\nContent-Disposition: attachment; filename*0=\"long \"; filename*1=\"name.csv\"", "3"),
			attach("Content-Type: application/octet-stream; name=\"=?utf-8?q?M=C3=A4rz.csv?=\"\r\nContent-Transfer-Encoding: quoted-printable", "4=3B5"),
			attach("Content-Type: text/csv", "5"),
			attach("Content-Type: image/png; name=logo.png", "no"),
			attach("Content-Type: text/csv; name=\"../../etc/x.csv\"\r\nContent-Transfer-Encoding: base64", "no base64!")))
	w.err = errors.New("the disk is full")
	s := NewIMAP(c, w.options())
	if _, err := s.Scan(t.Context()); err == nil {
		t.Fatal("a file that is not stored is no error")
	}
	w.err = nil
	if st := scan().Status(); st.Skipped != 1 || st.Taken != 6 {
		t.Errorf("%+v", st)
	}
	scan() // after a start of the process
	want := []string{"a.csv: 1", "bad.csv: bad", "long name.csv: 3", "März.csv: 4;5", "attachment-4.csv: 5", "x.csv: no base64!"}
	w.expect(want...)

	// Messages that come later, and a copy of one that was read.
	m.add(letter("reports@logger.example", "4", csv("c.csv", "6")), letter("reports@logger.example", "1", csv("a.csv", "1")))
	scan()
	w.expect(append(want, "c.csv: 6")...)

	// Nothing was changed: all messages are unread.
	m.do(func(c *imapclient.Client) error {
		box, err := c.Select("INBOX", nil).Wait()
		if err != nil {
			return err
		}
		found, err := c.UIDSearch(&imap.SearchCriteria{NotFlag: []imap.Flag{imap.FlagSeen}}, nil).Wait()
		if err == nil && (len(found.AllUIDs()) != 5 || box.NumMessages != 5) {
			t.Errorf("%d of %d messages are unread", len(found.AllUIDs()), box.NumMessages)
		}
		return err
	})

	// Another UIDVALIDITY: all is read again, and known by its content.
	w.position.Validity--
	scan()
	w.expect(append(want, "c.csv: 6")...)

	// A message whose id was read is left out, whatever it has.
	c.OncePerID = true
	m.add(letter("reports@logger.example", "5", csv("d.csv", "7")))
	scan()
	m.add(letter("reports@logger.example", "5", csv("d.csv", "8")))
	scan()
	w.expect(append(want, "c.csv: 6", "d.csv: 7")...)

	put(t, m.PasswordFile, "wr0ng-s3cret")
	_, err := NewIMAP(c, w.options()).Scan(t.Context())
	if err == nil || strings.Contains(err.Error()+w.log.String(), "s3cret") {
		t.Errorf("wrong password: %v", err)
	}
	put(t, m.PasswordFile, "s3cret")
	c.CAFile = ""
	if _, err := NewIMAP(c, w.options()).Scan(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: %v", err)
	}
}

// TestManyMessages: a long mailbox is read in parts, and a message that is deleted
// meanwhile is left out.
func TestManyMessages(t *testing.T) {
	m, w := serveIMAP(t), newWorld(t)
	var letters []string
	for n := range maxMessages + 3 {
		letters = append(letters, letter("reports@logger.example", fmt.Sprint(n), csv(fmt.Sprintf("f%d.csv", n), fmt.Sprint(n))))
	}
	m.add(letters...)
	s := NewIMAP(m.config(), w.options())
	if again, err := s.Scan(t.Context()); err != nil || !again || len(w.uploads) != maxMessages {
		t.Fatalf("%v, %v, %d uploads", again, err, len(w.uploads))
	}
	if again, err := s.Scan(t.Context()); err != nil || again || len(w.uploads) != len(letters) {
		t.Fatalf("%v, %v, %d uploads", again, err, len(w.uploads))
	}
	if st := s.Status(); st.State != api.SourceReading {
		t.Errorf("%+v", st)
	}
}

// TestDovecot reads a mailbox of Dovecot.
func TestDovecot(t *testing.T) { readMailbox(t, &mailbox{droptest.Dovecot(t), t}) }
