package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A certificate is accepted for a host and a port, and never replaced; a damaged file
// accepts none.
func TestKnownServices(t *testing.T) {
	at := func(address string) *url.URL {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	k := knownServices{filepath.Join(t.TempDir(), "sunloop", "known_services")}
	pin, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	if got := k.fingerprint(at("https://ops.example.com")); got != "" {
		t.Errorf("without a file: %q", got)
	}
	if err := k.accept(at("https://ops.example.com"), "ab"); err == nil {
		t.Error("a short fingerprint is accepted")
	}
	for address, p := range map[string]string{"https://OPS.example.com/sunloop": pin, "https://ops.example.com:8443": other} {
		if err := k.accept(at(address), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.accept(at("https://ops.example.com"), other); err == nil {
		t.Error("an accepted certificate is replaced")
	}
	for address, want := range map[string]string{
		"https://ops.example.com": pin, "https://ops.example.com:443/": pin, "https://ops.example.com:8443": other, "https://ops.example.com:9443": "", "https://example.com": "",
	} {
		if got := k.fingerprint(at(address)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	info, err := os.Stat(k.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	for _, damaged := range []string{"ops.example.com:443\n", "ops.example.com:443 " + pin[:10]} {
		if err := os.WriteFile(k.path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := k.fingerprint(at("https://ops.example.com")); got == "" || got == pin {
			t.Errorf("%q: %q", damaged, got)
		}
	}
	if err := os.Remove(k.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(k.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := k.fingerprint(at("https://ops.example.com")); got == "" {
		t.Error("a file that cannot be read is as none")
	}
}
