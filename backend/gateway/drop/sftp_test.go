package drop

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// newKey writes a private key, and returns it with the line of its public key.
func newKey(t *testing.T, path string) (signer ssh.Signer, public string) {
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

// serveSFTP serves a folder with the library's own server. The user is "plant", the
// password "s3cret".
func serveSFTP(t *testing.T, dir string, host ssh.Signer) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	config := &ssh.ServerConfig{PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
		if c.User() == "plant" && string(password) == "s3cret" {
			return nil, nil
		}
		return nil, fmt.Errorf("wrong password %s", password)
	}}
	config.AddHostKey(host)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, channels, requests, err := ssh.NewServerConn(conn, config)
				if err != nil {
					return
				}
				go ssh.DiscardRequests(requests)
				for c := range channels {
					channel, requests, err := c.Accept()
					if err != nil {
						return
					}
					go func() {
						for r := range requests {
							_ = r.Reply(r.Type == "subsystem", nil)
						}
					}()
					server, err := sftp.NewServer(channel, sftp.WithServerWorkingDirectory(dir))
					if err != nil {
						return
					}
					_ = server.Serve()
					_ = channel.Close()
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestSFTP pulls from the server of the same library; TestOpenSSH pulls from OpenSSH.
func TestSFTP(t *testing.T) {
	w, dir, keys := newWorld(t), t.TempDir(), t.TempDir()
	host, _ := newKey(t, filepath.Join(keys, "host"))
	password := filepath.Join(keys, "password")
	put(t, password, "s3cret\n")
	c := SFTP{Config: testConfig(true), Address: serveSFTP(t, dir, host), User: "plant", HostKeys: []string{ssh.FingerprintSHA256(host.PublicKey())}, PasswordFile: password}
	pull(t, w, c, dir)

	// Another host key gets no password, a wrong password is not named.
	other, _ := newKey(t, filepath.Join(keys, "other"))
	c.HostKeys = []string{ssh.FingerprintSHA256(other.PublicKey())}
	err := w.scan(NewSFTP(c, w.options()))
	if err == nil || !strings.Contains(err.Error(), ssh.FingerprintSHA256(host.PublicKey())) {
		t.Errorf("another host key: %v", err)
	}
	c.HostKeys = []string{ssh.FingerprintSHA256(host.PublicKey())}
	put(t, password, "wr0ng-s3cret")
	if err = w.scan(NewSFTP(c, w.options())); err == nil || strings.Contains(err.Error()+w.log.String(), "s3cret") {
		t.Errorf("wrong password: %v", err)
	}
}

// pull checks a source whose files are in a folder of this machine.
func pull(t *testing.T, w *world, c SFTP, dir string) {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a.csv": "1", "bad.csv": "bad", "c.csv.filepart": "half", "sub/d.csv": "2"} {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), content)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	c.Subfolders = true
	s := NewSFTP(c, w.options())
	w.settled(s)
	w.settled(NewSFTP(c, w.options()))
	w.expect("a.csv: 1", "bad.csv: bad", "d.csv: 2")
	want := []string{"c.csv.filepart", "done/a.csv", "done/sub/d.csv", "failed/bad.csv", "link.csv"}
	if got := listed(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if st := s.Status(); st.Taken != 3 || st.Refused != 1 || st.Error != "" {
		t.Errorf("%+v", st)
	}
	// Kept files are read once, over a restart and a cut of the connection.
	c.Move, c.Name = false, "kept"
	put(t, filepath.Join(dir, "e.csv"), "3")
	c.Subfolders = false
	w.settled(NewSFTP(c, w.options()))
	w.settled(NewSFTP(c, w.options()))
	w.expect("a.csv: 1", "bad.csv: bad", "d.csv: 2", "e.csv: 3")
}

// TestOpenSSH pulls from the SSH server of OpenSSH, with a key.
func TestOpenSSH(t *testing.T) {
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
	w, dir, keys := newWorld(t), t.TempDir(), t.TempDir()
	host, _ := newKey(t, filepath.Join(keys, "host"))
	_, public := newKey(t, filepath.Join(keys, "key"))
	put(t, filepath.Join(keys, "authorized"), public)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	put(t, filepath.Join(keys, "config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n",
		port, filepath.Join(keys, "host"), filepath.Join(keys, "authorized")))
	c := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(keys, "config"))
	var out strings.Builder
	c.Stderr = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Skipf("OpenSSH's server does not start: %s", out.String())
		}
	}
	pull(t, w, SFTP{Config: testConfig(true), Address: address, User: me.Username, HostKeys: []string{ssh.FingerprintSHA256(host.PublicKey())}, KeyFile: filepath.Join(keys, "key"), Folder: dir}, dir)
	if t.Failed() {
		t.Log(out.String())
	}
}
