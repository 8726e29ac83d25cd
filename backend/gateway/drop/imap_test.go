package drop

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"app.sunloop/backend/api"
)

// certificate makes one for localhost; file has it in PEM.
func certificate(t *testing.T, dir string) (c tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "cert.pem")
	put(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	put(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// attached is an attachment as it is written into a message.
type attached struct{ header, body string }

func csv(name, content string) attached {
	return attached{fmt.Sprintf("Content-Type: text/csv\r\nContent-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: base64", name), base64.StdEncoding.EncodeToString([]byte(content))}
}

// letter is a message with attachments.
func letter(from, id string, parts ...attached) string {
	var b strings.Builder
	fmt.Fprintf(&b, "From: Logger <%s>\r\nTo: plant@example.com\r\nSubject: report\r\nMessage-ID: <%s@example.com>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b1\r\n\r\n--b1\r\nContent-Type: text/plain\r\n\r\nSee the attachment.\r\n", from, id)
	for _, p := range parts {
		fmt.Fprintf(&b, "--b1\r\n%s\r\n\r\n%s\r\n", p.header, p.body)
	}
	b.WriteString("--b1--\r\n")
	return b.String()
}

// mailbox is a server with the mailbox INBOX of "plant", whose password is "s3cret".
type mailbox struct {
	t                  *testing.T
	address, authority string
	password           string
}

// add puts messages into the mailbox.
func (m *mailbox) add(letters ...string) {
	m.t.Helper()
	m.do(func(c *imapclient.Client) error {
		for _, l := range letters {
			a := c.Append("INBOX", int64(len(l)), nil)
			if _, err := a.Write([]byte(l)); err != nil {
				return err
			}
			if err := a.Close(); err != nil {
				return err
			}
			if _, err := a.Wait(); err != nil {
				return err
			}
		}
		return nil
	})
}

// do works in the mailbox as another program of the user does.
func (m *mailbox) do(work func(*imapclient.Client) error) {
	m.t.Helper()
	_, port, _ := net.SplitHostPort(m.address)
	c, err := imapclient.DialTLS("localhost:"+port, &imapclient.Options{TLSConfig: &tls.Config{InsecureSkipVerify: true}}) //nolint:gosec // a server of the test
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	if err := c.Login("plant", "s3cret").Wait(); err != nil {
		m.t.Fatal(err)
	}
	if err := work(c); err != nil {
		m.t.Fatal(err)
	}
}

// config reads the mailbox.
func (m *mailbox) config() IMAP {
	_, port, _ := net.SplitHostPort(m.address)
	return IMAP{Config: testConfig(false), Address: "imaps://localhost:" + port, User: "plant", PasswordFile: m.password, CAFile: m.authority, Senders: []string{"@logger.example"}}
}

// serveIMAP serves a mailbox from memory, with the server of the same library.
func serveIMAP(t *testing.T) *mailbox {
	t.Helper()
	dir := t.TempDir()
	pair, authority := certificate(t, dir)
	put(t, filepath.Join(dir, "password"), "s3cret\n")
	users := imapmemserver.New()
	u := imapmemserver.NewUser("plant", "s3cret")
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
	return &mailbox{t: t, address: l.Addr().String(), authority: authority, password: filepath.Join(dir, "password")}
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
			attached{"Content-Type: text/csv; charset=utf-8\r\nContent-Disposition: attachment; filename*0=\"long \"; filename*1=\"name.csv\"", "3"},
			attached{"Content-Type: application/octet-stream; name=\"=?utf-8?q?M=C3=A4rz.csv?=\"\r\nContent-Transfer-Encoding: quoted-printable", "4=3B5"},
			attached{"Content-Type: text/csv", "5"},
			attached{"Content-Type: image/png; name=logo.png", "no"},
			attached{"Content-Type: text/csv; name=\"../../etc/x.csv\"\r\nContent-Transfer-Encoding: base64", "no base64!"}))
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

	put(t, m.password, "wr0ng-s3cret")
	_, err := NewIMAP(c, w.options()).Scan(t.Context())
	if err == nil || strings.Contains(err.Error()+w.log.String(), "s3cret") {
		t.Errorf("wrong password: %v", err)
	}
	put(t, m.password, "s3cret")
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
func TestDovecot(t *testing.T) {
	const dovecot = "/usr/sbin/dovecot"
	if _, err := os.Stat(dovecot); err != nil {
		t.Skip("Dovecot is not installed")
	}
	if os.Getuid() != 0 {
		t.Skip("Dovecot needs root for its processes")
	}
	dir, err := os.MkdirTemp("/tmp", "dovecot") // short, for the names of its sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // its processes are of several users
		t.Fatal(err)
	}
	_, authority := certificate(t, dir)
	put(t, filepath.Join(dir, "password"), "s3cret\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	mail := filepath.Join(dir, "mail")
	if err := errors.Join(os.Mkdir(mail, 0o700), os.Chown(mail, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "conf"), fmt.Sprintf(`protocols = imap
listen = 127.0.0.1
base_dir = %[1]s/run
state_dir = %[1]s/state
log_path = %[1]s/log
ssl = required
ssl_cert = <%[1]s/cert.pem
ssl_key = <%[1]s/key.pem
mail_location = maildir:%[2]s
first_valid_uid = 1
service imap-login {
  chroot =
  inet_listener imap {
    port = 0
  }
  inet_listener imaps {
    port = %[3]s
    ssl = yes
  }
}
service anvil {
  chroot =
}
passdb {
  driver = static
  args = password=s3cret
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=%[2]s
}
`, dir, mail, port))
	c := exec.Command(dovecot, "-F", "-c", filepath.Join(dir, "conf"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		if t.Failed() {
			b, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("%s", b)
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Skip("Dovecot does not start")
		}
	}
	readMailbox(t, &mailbox{t: t, address: address, authority: authority, password: filepath.Join(dir, "password")})
}
