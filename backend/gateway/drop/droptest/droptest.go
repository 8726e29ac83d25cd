// Package droptest starts OpenSSH and Dovecot for tests, with the keys and certificates
// that they need.
package droptest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"
	"golang.org/x/crypto/ssh"
)

// User and Password are those of all mailboxes, and of SFTP servers with a password.
const (
	User     = "plant"
	Password = "s3cret"
)

// NewKey writes a private key, and returns it with the line of its public key.
func NewKey(t testing.TB, path string) (signer ssh.Signer, public string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, string(pem.EncodeToMemory(block)))
	return signer, string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
}

// Certificate makes a certificate for localhost: cert.pem and key.pem in a folder. file is
// the path of the first.
func Certificate(t testing.TB, dir string) (c tls.Certificate, file string) {
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

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// free is an address that nothing listens on.
func free(t testing.TB) (address, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	address = l.Addr().String()
	_, port, _ = net.SplitHostPort(address)
	return address, port
}

// start runs a server until the test ends, and waits until it listens.
func start(t testing.TB, address string, complaint func() string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	var out strings.Builder
	c.Stderr = &out
	c.WaitDelay = 5 * time.Second // its processes may have its standard error for longer
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // it ends its processes
		_ = c.Wait()
		if t.Failed() {
			t.Log(out.String(), complaint())
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Skipf("%s does not start: %s%s", name, out.String(), complaint())
		}
	}
}

// SSH is an SSH server of OpenSSH, with SFTP to all files of this user.
type SSH struct {
	Address string
	User    string
	HostKey string // fingerprint
	KeyFile string // private key of the user
}

// OpenSSH starts OpenSSH's server, or skips the test.
func OpenSSH(t testing.TB) SSH {
	t.Helper()
	const sshd = "/usr/sbin/sshd"
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("OpenSSH's server is not installed")
	}
	if me.Uid == "0" { // which separates privileges
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip(err)
		}
	}
	keys := t.TempDir()
	host, _ := NewKey(t, filepath.Join(keys, "host"))
	_, public := NewKey(t, filepath.Join(keys, "key"))
	put(t, filepath.Join(keys, "authorized"), public)
	address, port := free(t)
	put(t, filepath.Join(keys, "config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n",
		port, filepath.Join(keys, "host"), filepath.Join(keys, "authorized")))
	start(t, address, func() string { return "" }, sshd, "-D", "-e", "-f", filepath.Join(keys, "config"))
	return SSH{Address: address, User: me.Username, HostKey: ssh.FingerprintSHA256(host.PublicKey()), KeyFile: filepath.Join(keys, "key")}
}

// Mailbox is a server with the mailbox INBOX of [User].
type Mailbox struct {
	Address      string // host and port
	Authority    string // file with the certificate
	PasswordFile string
}

// Dovecot starts Dovecot with an empty mailbox, or skips the test.
func Dovecot(t testing.TB) *Mailbox {
	t.Helper()
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
	_, authority := Certificate(t, dir)
	put(t, filepath.Join(dir, "password"), Password+"\n")
	address, port := free(t)
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
  args = password=%[4]s
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=%[2]s
}
`, dir, mail, port, Password))
	start(t, address, func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "log"))
		return string(b)
	}, dovecot, "-F", "-c", filepath.Join(dir, "conf"))
	return &Mailbox{Address: address, Authority: authority, PasswordFile: filepath.Join(dir, "password")}
}

// URL is the address of the mailbox's server as the sources file has it.
func (m *Mailbox) URL() string {
	_, port, _ := net.SplitHostPort(m.Address)
	return "imaps://localhost:" + port
}

// Add puts messages into the mailbox.
func (m *Mailbox) Add(messages ...string) error {
	return m.Do(func(c *imapclient.Client) error {
		for _, text := range messages {
			a := c.Append("INBOX", int64(len(text)), nil)
			if _, err := a.Write([]byte(text)); err != nil {
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

// Do works in the mailbox as another program of the user does.
func (m *Mailbox) Do(work func(*imapclient.Client) error) error {
	c, err := imapclient.DialTLS(strings.TrimPrefix(m.URL(), "imaps://"), &imapclient.Options{TLSConfig: &tls.Config{InsecureSkipVerify: true}}) //nolint:gosec // a server of the test
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.Login(User, Password).Wait(); err != nil {
		return err
	}
	return work(c)
}

// Message is a message with attachments.
func Message(from, id string, parts ...Attachment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "From: Logger <%s>\r\nTo: plant@example.com\r\nSubject: report\r\nMessage-ID: <%s@example.com>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b1\r\n\r\n--b1\r\nContent-Type: text/plain\r\n\r\nSee the attachment.\r\n", from, id)
	for _, p := range parts {
		fmt.Fprintf(&b, "--b1\r\n%s\r\n\r\n%s\r\n", p.Header, p.Body)
	}
	b.WriteString("--b1--\r\n")
	return b.String()
}

// Attachment is an attachment as it is written into a message.
type Attachment struct{ Header, Body string }
