package drop

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"app.sunloop/backend/gateway/drop/droptest"
)

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
	host, _ := droptest.NewKey(t, filepath.Join(keys, "host"))
	password := filepath.Join(keys, "password")
	put(t, password, "s3cret\n")
	c := SFTP{Config: testConfig(true), Address: serveSFTP(t, dir, host), User: "plant", HostKeys: []string{ssh.FingerprintSHA256(host.PublicKey())}, PasswordFile: password}
	pull(t, w, c, dir)

	// Another host key gets no password, a wrong password is not named.
	other, _ := droptest.NewKey(t, filepath.Join(keys, "other"))
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
	w, dir, server := newWorld(t), t.TempDir(), droptest.OpenSSH(t)
	pull(t, w, SFTP{Config: testConfig(true), Address: server.Address, User: server.User, HostKeys: []string{server.HostKey}, KeyFile: server.KeyFile, Folder: dir}, dir)
}
