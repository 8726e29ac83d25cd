package webhook

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzGuard asserts for any URL and any result of the resolver: an accepted URL
// has a name or an address of the public internet, over HTTPS, without a user;
// only entries of the allow-list may differ.
func FuzzGuard(f *testing.F) {
	for _, place := range []string{"https://example.org/hook", "https://127.0.0.1", "https://2130706433", "https://0x7f.1", "https://[::ffff:10.0.0.1]:8443", "https://user@example.org",
		"http://example.org", "https://example.org:22", "https://localhost.", "https://example。org", "https://a.example.org#f", "https:example.org", "https://[fe80::1%25lo]/", "//example.org", "https://%31%32%37.0.0.1/"} {
		f.Add(place, []byte{93, 184, 215, 14})
		f.Add(place, []byte{10, 0, 0, 1})
	}
	f.Fuzz(func(t *testing.T, place string, answer []byte) {
		found, ok := netip.AddrFromSlice(answer)
		if !ok {
			found = netip.MustParseAddr("127.0.0.1")
		}
		g, err := NewGuard()
		if err != nil {
			t.Fatal(err)
		}
		g.LookUp = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{found}, nil }
		if err := g.Check(t.Context(), place); err != nil {
			if r, ok := refusal(err); !ok || r.Why == "" {
				t.Fatalf("%q: %v", place, err)
			}
			return
		}
		u, err := url.Parse(place)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" && u.Port() != portHTTPS && u.Port() != portHTTPAlt {
			t.Fatalf("%q passed", place)
		}
		to := found
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			to = a
		}
		to = to.Unmap()
		if to.IsLoopback() || to.IsPrivate() || to.IsLinkLocalUnicast() || to.IsMulticast() || to.IsUnspecified() || to.IsInterfaceLocalMulticast() || to.Zone() != "" {
			t.Fatalf("%q at %v passed", place, to)
		}
	})
}

// FuzzNewGuard asserts that an entry of the allow-list opens no address that
// it does not hold.
func FuzzNewGuard(f *testing.F) {
	for _, entry := range []string{"lab.example", "lab.example:8080", "10.1.0.0/16", "[::1]:80", "::1", "0.0.0.0/0", "a b", "lab.example:99999", "10.0.0.1:0", "", ":80", "*"} {
		f.Add(entry, "10.1.2.3")
	}
	f.Fuzz(func(t *testing.T, entry, address string) {
		g, err := NewGuard(entry)
		if err != nil {
			return
		}
		a, err := netip.ParseAddr(address)
		if err != nil || a.Zone() != "" || g.checkAddress(a) != nil {
			return
		}
		none, err := NewGuard()
		if err != nil {
			t.Fatal(err)
		}
		if none.checkAddress(a) == nil {
			return // it is public
		}
		network, notNetwork := netip.ParsePrefix(entry)
		if notNetwork == nil && network.Masked().Contains(a.Unmap()) {
			return
		}
		same, err := netip.ParseAddr(strings.ToLower(strings.Trim(entry, "[]")))
		if notNetwork != nil && (err == nil && same.Unmap() == a.Unmap() || strings.Contains(strings.ToLower(entry), a.Unmap().String())) {
			return
		}
		t.Fatalf("%q opens %v", entry, a)
	})
}
