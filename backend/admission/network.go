package admission

import "net/netip"

// Network returns the network that an address shares with its neighbours: the /24
// of an IPv4 address, the /64 of an IPv6 address. It returns a text that is no
// address unchanged, such as the path of a socket.
func Network(address string) string { return NetworkWithin(address, 64) }

// NetworkWithin returns the /24 of an IPv4 address, or the network of an IPv6
// address with a prefix of ipv6Bits.
func NetworkWithin(address string, ipv6Bits int) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return networkOf(ip, ipv6Bits)
}

// Host returns what one host has: an IPv4 address, or the /64 of an IPv6 address,
// within which a host can choose its addresses.
func Host(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Unmap().Is4() {
		return ip.Unmap().String()
	}
	return Network(address)
}

func networkOf(ip netip.Addr, ipv6Bits int) string {
	bits := ipv6Bits
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}
