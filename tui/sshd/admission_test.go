//go:build linux

package sshd_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/tui/sshd"
)

// TestUnauthenticatedSSHConnections: connections that never sign in, from many
// networks, take places from each other. Users sign in meanwhile, and who has
// signed in stays.
func TestUnauthenticatedSSHConnections(t *testing.T) {
	w := open(t, false, sshd.Limits{Waiting: 20, Sessions: 2})
	key := newKey(t)
	w.user("ana", key)
	before := w.signedIn("ana", key)
	var silent []net.Conn
	for i := range 60 { // three times twenty networks
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(i%20), byte(i/20+1))}}
		c, err := d.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	after := w.signedIn("ana", key)
	for name, c := range map[string]*gossh.Client{"before": before, "after": after} {
		s := w.openConsole(c)
		w.next()
		if _, err := s.in.Write([]byte("q")); err != nil || status(s.Wait()) != 0 {
			t.Errorf("the console of the connection from %s the flood came: %v", name, err)
		}
	}
	left := 0
	for _, c := range silent {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			left++
		}
	}
	if left > 20 {
		t.Errorf("%d silent connections are open", left)
	}
}

// TestAlgorithms reads the algorithms that the server offers: neither SHA-1 nor
// CBC. A client that knows only such algorithms is refused.
func TestAlgorithms(t *testing.T) {
	w := open(t, false, sshd.Limits{})
	c, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, "SSH-2.0-test\r\n"); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 1); b[0] != '\n'; { // its version
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(c, packet); err != nil {
		t.Fatal(err)
	}
	rest, lists := packet[1+1+16:], 0 // padding length, kind, cookie
	for ; lists < 8; lists++ {
		n := binary.BigEndian.Uint32(rest)
		names := string(rest[4 : 4+n])
		rest = rest[4+n:]
		for name := range strings.SplitSeq(names, ",") {
			if strings.Contains(name, "sha1") || strings.Contains(name, "cbc") || strings.Contains(name, "arcfour") || name == "ssh-rsa" || name == "ssh-dss" {
				t.Errorf("%s is offered", name)
			}
		}
	}
	if !bytes.Contains(packet, []byte("curve25519-sha256")) || !bytes.Contains(packet, []byte("aes256-gcm@openssh.com")) {
		t.Errorf("it offers %q", packet)
	}

	key := newKey(t)
	w.user("ana", key)
	for name, weak := range map[string]gossh.Config{
		"SHA-1 for the key exchange": {KeyExchanges: []string{"diffie-hellman-group14-sha1"}},
		"CBC":                        {Ciphers: []string{"aes128-cbc"}},
		"SHA-1 for integrity":        {Ciphers: []string{"aes128-ctr"}, MACs: []string{"hmac-sha1"}},
	} {
		config := &gossh.ClientConfig{Config: weak, User: "ana", Auth: []gossh.AuthMethod{gossh.PublicKeys(key)}, HostKeyCallback: gossh.FixedHostKey(w.host)}
		if c, err := gossh.Dial("tcp", w.address, config); err == nil || !strings.Contains(fmt.Sprint(err), "no common algorithm") {
			t.Errorf("%s: %v", name, err)
			if c != nil {
				_ = c.Close()
			}
		}
	}
}
