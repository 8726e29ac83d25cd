package admission

import "testing"

func TestNetworkOfAnAddress(t *testing.T) {
	for address, want := range map[string][3]string{
		"192.0.2.77":          {"192.0.2.0/24", "192.0.2.0/24", "192.0.2.77"},
		"::ffff:192.0.2.77":   {"192.0.2.0/24", "192.0.2.0/24", "192.0.2.77"},
		"2001:db8:1:2:3:4::6": {"2001:db8:1:2::/64", "2001:db8:1::/48", "2001:db8:1:2::/64"},
		"fe80::1%eth0":        {"fe80::/64", "fe80::/48", "fe80::/64"},
		"/run/sunloop.sock":   {"/run/sunloop.sock", "/run/sunloop.sock", "/run/sunloop.sock"},
		"":                    {"", "", ""},
	} {
		if got := [3]string{Network(address), NetworkWithin(address, 48), Host(address)}; got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
