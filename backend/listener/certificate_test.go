package listener

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is a clock that a test turns.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// shake makes one handshake with the service and returns the certificate.
func shake(t *testing.T, s *served, cfg *tls.Config) (*x509.Certificate, error) {
	t.Helper()
	if cfg == nil {
		cfg = &tls.Config{InsecureSkipVerify: true}
	}
	c, err := tls.Dial("tcp", s.Addresses()[0].Address, cfg)
	if err != nil {
		return nil, err
	}
	return c.ConnectionState().PeerCertificates[0], c.Close()
}

func presented(t *testing.T, s *served) *x509.Certificate {
	t.Helper()
	c, err := shake(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSelfSignedCertificate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tls")
	at := &clock{t: time.Now()}
	addresses := []Address{{Address: "127.0.0.1:0"}, {Address: ":0"}, {Address: "0.0.0.0:0"}, {Address: "[2001:DB8::7]:443"}, {Address: "plant.local:443"}}
	if _, err := ReadStored(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first start: %v", err)
	}
	own, err := SelfSigned(folder, "Machine", addresses, []string{"ops.example.com", "192.0.2.4"}, at.now, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Handler: all(func(w http.ResponseWriter, _ *http.Request) {}), Certificates: own})
	c := presented(t, s)
	want := []string{"127.0.0.1", "192.0.2.4", "2001:db8::7", "::1", "localhost", "machine", "ops.example.com", "plant.local"}
	if diff := cmp.Diff(want, certificateNames(c)); diff != "" {
		t.Error(diff)
	}
	if _, isECDSA := c.PublicKey.(*ecdsa.PublicKey); !isECDSA || c.IsCA {
		t.Errorf("a %v key, authority %v", c.PublicKeyAlgorithm, c.IsCA)
	}
	kept, err := ReadStored(folder)
	if err != nil || kept.Fingerprint != own.Fingerprint() || kept.Fingerprint != fingerprint(c.Raw) || len(kept.Fingerprint) != 64 {
		t.Errorf("kept %+v, %v; in use %s", kept, err, own.Fingerprint())
	}
	for path, mode := range map[string]fs.FileMode{"": 0o700, "key.pem": 0o600, "certificate.pem": 0o600} {
		info, err := os.Stat(filepath.Join(folder, path))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", path, info, err)
		}
	}
	// Its file serves clients as certificate authority, for its own names
	// only.
	authority, err := os.ReadFile(kept.File)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	for name, good := range map[string]bool{"": true, "localhost": true, "ops.example.com": true, "other.example.com": false} {
		if _, err := shake(t, s, &tls.Config{RootCAs: roots, ServerName: name}); (err == nil) != good {
			t.Errorf("as %q: %v", name, err)
		}
	}
	if _, err := shake(t, s, nil); err != nil {
		t.Errorf("unchecked: %v", err)
	}
	if _, err := shake(t, s, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	resp, err := client.Get("https://" + s.Addresses()[0].Address)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	client.CloseIdleConnections()
	if resp.ProtoMajor != 2 || resp.Header.Get("Server") != "" {
		t.Errorf("%s, by %q", resp.Proto, resp.Header.Get("Server"))
	}
}

func TestSelfSignedCertificateIsKeptWhileServing(t *testing.T) {
	folder := t.TempDir()
	at := &clock{t: time.Now()}
	start := func(extra ...string) string {
		t.Helper()
		own, err := SelfSigned(folder, "machine", []Address{{Address: ":0"}}, extra, at.now, nil)
		if err != nil {
			t.Fatal(err)
		}
		return own.Fingerprint()
	}
	first := start()
	if again := start(); again != first {
		t.Error("a second start makes another")
	}
	named := start("ops.example.com")
	if named == first {
		t.Error("a new name makes no other")
	}
	if fewer := start(); fewer != named {
		t.Error("a name that is not wanted any more makes another")
	}
	at.add(selfLifetime - selfRenewal - time.Minute)
	if soon := start(); soon != named {
		t.Error("it is renewed too early")
	}
	at.add(2 * time.Minute)
	renewed := start()
	if renewed == named {
		t.Error("it is not renewed before it expires")
	}
	certificate, key := selfFiles(folder)
	for _, path := range []string{key, certificate} {
		if err := os.WriteFile(path, []byte("no PEM"), 0o600); err != nil {
			t.Fatal(err)
		}
		if repaired := start(); repaired == renewed {
			t.Errorf("%s is damaged, and in use", path)
		} else {
			renewed = repaired
		}
	}
}

func TestSelfSignedCertificateIsRenewedWhileServing(t *testing.T) {
	folder := t.TempDir()
	at := &clock{t: time.Now()}
	own, err := SelfSigned(folder, "machine", nil, nil, at.now, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Handler: all(reader), Certificates: own})
	first := presented(t, s)
	at.add(selfLifetime - selfRenewal - time.Minute)
	if c := presented(t, s); !c.Equal(first) {
		t.Error("it is renewed too early")
	}
	at.add(2 * time.Minute)
	second := presented(t, s)
	if second.Equal(first) || !second.NotAfter.After(first.NotAfter) {
		t.Errorf("one until %v follows one until %v", second.NotAfter, first.NotAfter)
	}
	if c := presented(t, s); !c.Equal(second) {
		t.Error("it is renewed again")
	}
}

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	certificate, key := selfFiles(dir)
	pair := func(name string) (c, k []byte) {
		t.Helper()
		other := t.TempDir()
		if err := makeSelf(other, []string{name}, time.Now()); err != nil {
			t.Fatal(err)
		}
		cf, kf := selfFiles(other)
		c, err := os.ReadFile(cf)
		if err != nil {
			t.Fatal(err)
		}
		if k, err = os.ReadFile(kf); err != nil {
			t.Fatal(err)
		}
		return c, k
	}
	stamp := time.Now().Add(-time.Hour)
	write := func(path string, b []byte) {
		t.Helper()
		stamp = stamp.Add(time.Second) // a file system may not distinguish writes in fast succession
		if err := errors.Join(os.WriteFile(path, b, 0o600), os.Chtimes(path, stamp, stamp)); err != nil {
			t.Fatal(err)
		}
	}
	c1, k1 := pair("one.example.com")
	write(certificate, c1)
	write(key, k1)
	var logged bytes.Buffer
	files, err := Files(certificate, key, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Handler: all(reader), Certificates: files})
	name := func() string { return strings.Join(presented(t, s).DNSNames, " ") }
	if n := name(); n != "one.example.com" {
		t.Fatalf("it is %s", n)
	}
	c2, k2 := pair("two.example.com")
	write(certificate, c2)
	for range 3 {
		if n := name(); n != "one.example.com" {
			t.Errorf("with half of a change it is %s", n)
		}
	}
	write(key, k2)
	if n := name(); n != "two.example.com" {
		t.Errorf("after the change it is %s", n)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if n := name(); n != "two.example.com" {
		t.Errorf("without a key's file it is %s", n)
	}
	write(key, k2)
	if n := name(); n != "two.example.com" {
		t.Errorf("with the file again it is %s", n)
	}
	if n := strings.Count(logged.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings of two states that were of no use:\n%s", n, logged.String())
	}
	if !strings.Contains(logged.String(), fmt.Sprintf("tls_fingerprint=%s", files.Fingerprint())) {
		t.Errorf("the new fingerprint is not reported:\n%s", logged.String())
	}
}

func TestUnusableCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	if err := makeSelf(dir, []string{"localhost"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	certificate, key := selfFiles(dir)
	for _, c := range [][2]string{{certificate, filepath.Join(dir, "nowhere")}, {filepath.Join(dir, "nowhere"), key}, {key, certificate}} {
		if _, err := Files(c[0], c[1], nil); err == nil || !strings.Contains(err.Error(), c[0]) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestPlainTextOnTLS is of clients that speak HTTP where TLS is wanted.
func TestPlainTextOnTLS(t *testing.T) {
	own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Handler: all(reader), Certificates: own, Limits: quick})
	if sent := closed(t, s.dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); !strings.HasPrefix(sent, "HTTP/1.0 400 ") {
		t.Errorf("answer %q", sent)
	}
	if sent := closed(t, s.dial("")); sent != "" {
		t.Errorf("to one who says nothing: %q", sent)
	}
	// The door is open all the same.
	if c, err := tls.DialWithDialer(&net.Dialer{Timeout: 2 * time.Minute}, "tcp", s.Addresses()[0].Address, &tls.Config{InsecureSkipVerify: true}); err != nil {
		t.Error(err)
	} else {
		_ = c.Close()
	}
}

// TestASlowBodyOverHTTP2 is cut off as one over HTTP/1.1 is.
func TestASlowBodyOverHTTP2(t *testing.T) {
	own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Config{Handler: all(reader), Certificates: own, Limits: quick})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	resp, err := client.Post("https://"+s.Addresses()[0].Address, "text/plain", r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%s %s", resp.Proto, resp.Status)
	}
}
