package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// remote is the address that a request comes from, for the slowing of sign-ins
// and the limits of those without an account. What X-Forwarded-For says counts
// only from a trusted proxy, and of it the last address that is none: all
// before it is what a caller may have written.
func (s *server) remote(q *http.Request) string {
	peer := addressOf(q.RemoteAddr)
	if !s.trusted(peer) {
		return peer
	}
	hops := strings.Split(strings.Join(q.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip, ok := hopAddress(hop)
		if !ok {
			return peer
		}
		if peer = ip.String(); !s.trusted(peer) {
			return peer
		}
	}
	return peer
}

// secure says that a request came over TLS, to us or to a trusted proxy.
func (s *server) secure(q *http.Request) bool {
	return q.TLS != nil || len(s.TrustedProxies) > 0 && strings.EqualFold(q.Header.Get("X-Forwarded-Proto"), "https") && s.trusted(addressOf(q.RemoteAddr))
}

func (s *server) trusted(address string) bool {
	if len(s.TrustedProxies) == 0 {
		return false
	}
	ip, ok := hopAddress(address)
	return ok && slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// hopAddress reads an address as proxies write it, with or without a port.
func hopAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddrPort(text); err == nil {
		return a.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return a.Unmap().WithZone(""), err == nil
}

// addressOf is the host of a remote address.
func addressOf(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}
